# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that read series, sentences and tables, as modules.py has them."""

import torch
import torch.nn.functional as F
from torch import nn


class TemporalConvolutions(nn.Module):
    """A TCN: dilated convolutions padded on both sides and cut, weights by direction and length."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(i, 6, 3, padding=2 * d, dilation=d)) for i, d in ((3, 1), (6, 2)))
        self.shortcut, self.head = nn.Conv1d(3, 6, 1), nn.Linear(6, 4)

    def forward(self, x):
        y = x
        for conv in self.convs:
            y = F.relu(conv(y)[..., : x.shape[-1]])
        return self.head(F.relu(y + self.shortcut(x))[..., -1])


class SelectiveScan(nn.Module):
    """Mamba's recurrence, step by step, with a gate and a causal depthwise convolution in front."""

    def __init__(self):
        super().__init__()
        self.enter, self.conv, self.rates = nn.Linear(6, 16), nn.Conv1d(8, 8, 3, padding=2, groups=8), nn.Linear(8, 8)
        self.reads, self.writes, self.decay = nn.Linear(8, 4, bias=False), nn.Linear(8, 4, bias=False), nn.Parameter(torch.zeros(8, 4))
        self.skip, self.leave = nn.Parameter(torch.ones(8)), nn.Linear(8, 3)

    def forward(self, x):
        x, gate = self.enter(x).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        rate, reads, writes = F.softplus(self.rates(x)), self.reads(x), self.writes(x)
        factor = torch.exp(-rate.unsqueeze(-1) * torch.exp(self.decay))
        added = (rate * x).unsqueeze(-1) * writes.unsqueeze(2)
        state, steps = torch.zeros_like(added[:, 0]), []
        for step in range(x.shape[1]):
            state = factor[:, step] * state + added[:, step]
            steps.append((state * reads[:, step].unsqueeze(1)).sum(-1))
        return self.leave((torch.stack(steps, 1) + x * self.skip) * F.silu(gate))


class Cells(nn.Module):
    """nn.LSTMCell and nn.GRUCell, called once a step."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.LSTMCell(5, 7), nn.GRUCell(7, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 7)
        state = x.new_zeros(x.shape[0], 6)
        for step in range(x.shape[1]):
            h, c = self.first(x[:, step], (h, c))
            state = self.second(h, state)
        return self.head(state)


class Conformer(nn.Module):
    """Half steps of a feed-forward layer, GLU, a depthwise convolution over time, attention over its steps."""

    def __init__(self):
        super().__init__()
        self.before, self.after = (nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8)) for _ in range(2))
        self.norm1, self.attention = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm2, self.point, self.depthwise, self.norm3, self.back = nn.LayerNorm(8), nn.Conv1d(8, 16, 1), nn.Conv1d(8, 8, 5, padding=2, groups=8), nn.BatchNorm1d(8), nn.Conv1d(8, 8, 1)
        self.norm4, self.head = nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x):
        x = x + 0.5 * self.before(x)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = F.glu(self.point(self.norm2(x).transpose(1, 2)), 1)
        x = x + self.back(F.silu(self.norm3(self.depthwise(y)))).transpose(1, 2)
        return self.head(self.norm4(x + 0.5 * self.after(x)))


class RelativeAttention(nn.Module):
    """T5's: buckets of distances, no scale, RMSNorm and a gated GELU."""

    def __init__(self):
        super().__init__()
        self.tokens, self.biases = nn.Embedding(25, 12), nn.Embedding(6, 3)
        self.q, self.k, self.v, self.o = (nn.Linear(12, 12, bias=False) for _ in range(4))
        self.norm1, self.norm2 = nn.RMSNorm(12, eps=1e-6), nn.RMSNorm(12, eps=1e-6)
        self.gate, self.up, self.down = nn.Linear(12, 18, bias=False), nn.Linear(12, 18, bias=False), nn.Linear(18, 12, bias=False)

    def forward(self, ids):
        steps = torch.arange(ids.shape[1], device=ids.device)
        distance = steps[None] - steps[:, None]
        bucket = torch.where(distance > 0, 3, 0) + torch.clamp(torch.log2(distance.abs().float() + 1).long(), max=2)
        x = self.tokens(ids)
        y = self.norm1(x)
        q, k, v = (layer(y).unflatten(-1, (3, 4)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(2, 3)) + self.biases(bucket).permute(2, 0, 1).unsqueeze(0)
        x = x + self.o((scores.float().softmax(-1).type_as(scores) @ v).transpose(1, 2).flatten(2))
        y = self.norm2(x)
        x = x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))
        return x @ self.tokens.weight.t() * 12**-0.5


class PaddedEncoder(nn.Module):
    """BERT's: three sums of embeddings, a mask of the padding, the mean of what is none."""

    def __init__(self):
        super().__init__()
        self.tokens, self.kinds, self.positions, self.norm = nn.Embedding(30, 12), nn.Embedding(2, 12), nn.Embedding(16, 12), nn.LayerNorm(12, eps=1e-12)
        self.encoder, self.pool, self.head = nn.TransformerEncoderLayer(12, 3, 24, 0.0, "gelu", batch_first=True), nn.Linear(12, 12), nn.Linear(12, 3)

    def forward(self, ids, kinds):
        x = self.norm(self.tokens(ids) + self.kinds(kinds) + self.positions.weight[: ids.shape[1]])
        keep = (ids > 5).float()
        q = k = v = None
        bias = (1.0 - keep)[:, None, None, :] * torch.finfo(torch.float32).min
        layer = self.encoder
        q, k, v = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias).unflatten(-1, (3, 3, 4)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
        x = layer.norm1(x + layer.self_attn.out_proj(y))
        x = layer.norm2(x + layer.linear2(F.gelu(layer.linear1(x))))
        mean = (x * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True).clamp(min=1e-9)
        return self.head(torch.tanh(self.pool(mean)))


class Perceiver(nn.Module):
    """Latent vectors that read an input by cross attention, norms of queries and keys, a learnt temperature."""

    def __init__(self):
        super().__init__()
        self.latents, self.temperature = nn.Parameter(torch.zeros(4, 10)), nn.Parameter(torch.ones(2, 1, 1))
        self.q, self.kv, self.out, self.norm, self.head = nn.Linear(10, 8), nn.Linear(6, 16), nn.Linear(8, 10), nn.LayerNorm(10), nn.Linear(40, 3)

    def forward(self, x):
        batch = x.shape[0]
        latents = self.latents.unsqueeze(0).expand(batch, -1, -1)
        q = F.normalize(self.q(latents).view(batch, 4, 2, 4).transpose(1, 2), dim=-1)
        k, v = self.kv(x).view(batch, -1, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.softmax(q @ F.normalize(k, dim=-1).mT * self.temperature, -1) @ v
        return self.head(self.norm(latents + self.out(y.transpose(1, 2).reshape(batch, 4, 8))).flatten(1))


class Experts(nn.Module):
    """A mixture of experts: the two best of four for each token, their weights scattered."""

    def __init__(self):
        super().__init__()
        self.router, self.first, self.second = nn.Linear(8, 4, bias=False), nn.Parameter(torch.zeros(4, 8, 12)), nn.Parameter(torch.zeros(4, 12, 8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        y = self.norm(x)
        weights, chosen = torch.topk(torch.softmax(self.router(y), -1), 2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        gates = weights.new_zeros(*x.shape[:-1], 4).scatter(-1, chosen, weights)
        y = F.silu(torch.einsum("bsd,edh->bseh", y, self.first))
        y = torch.einsum("bseh,ehd->bsed", y, self.second)
        return self.head(x + (gates.unsqueeze(-1) * y).sum(2))


class LinearAttention(nn.Module):
    """Kernels of elu + 1, cumulative sums in place of a softmax, causal."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.head = nn.Linear(6, 18), nn.Linear(6, 6), nn.Linear(6, 4)

    def forward(self, x):
        q, k, v = self.qkv(x).tensor_split(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.cumsum(k.unsqueeze(-1) * v.unsqueeze(-2), 1)
        y = torch.einsum("bsd,bsde->bse", q, state) / (q * torch.cumsum(k, 1)).sum(-1, keepdim=True)
        return self.head(x + self.out(y))


class Pools(nn.Module):
    """Pooling of one dimension: by maximum, by power, to a given length; a linear resize; deviations."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv1d(2, 6, 4, 2), nn.Linear(6 * 10, 4)

    def forward(self, x):
        x = F.softsign(self.conv(x))
        parts = [F.max_pool1d(x, 3, 2), F.lp_pool1d(x.abs() + 0.1, 2, 3, 2), F.adaptive_avg_pool1d(x, 5), F.interpolate(x, size=7, mode="linear")]
        means = torch.cat([part.mean(-1) for part in parts], 1)
        return self.head(torch.cat([means, x.std(-1), x.var(-1, unbiased=False), x.logsumexp(-1), x.norm(dim=-1), x.prod(-1), x.amin(-1)], 1))


CASES = {
    "temporal_convolutions": (TemporalConvolutions, {"x": [3, 14]}, ("classes", [], 4)),
    "selective_scan": (SelectiveScan, {"x": [7, 6]}, ("classes", [7], 3)),
    "cells": (Cells, {"x": [6, 5]}, ("classes", [], 3)),
    "conformer": (Conformer, {"x": [9, 8]}, ("classes", [9], 4)),
    "relative_attention": (RelativeAttention, {"ids": ([8], 25)}, ("classes", [8], 25)),
    "padded_encoder": (PaddedEncoder, {"ids": ([10], 30), "kinds": ([10], 2)}, ("classes", [], 3)),
    "perceiver": (Perceiver, {"x": [9, 6]}, ("classes", [], 3)),
    "experts": (Experts, {"x": [6, 8]}, ("classes", [6], 3)),
    "linear_attention": (LinearAttention, {"x": [8, 6]}, ("classes", [8], 4)),
    "pools": (Pools, {"x": [2, 24]}, ("classes", [], 4)),
}  # fmt: skip
