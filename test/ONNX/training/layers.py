# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with layers and operations that no other case has."""

import torch
import torch.nn.functional as F
from torch import nn


class SpatialTransformer(nn.Module):
    """A grid that the input decides, sampled."""

    def __init__(self):
        super().__init__()
        self.loc = nn.Linear(3 * 64, 6)
        self.conv, self.head = nn.Conv2d(3, 6, 3, padding=1), nn.Linear(6, 4)

    def forward(self, x):
        theta = 0.3 * self.loc(x.flatten(1)).view(-1, 2, 3) + torch.tensor([[1.0, 0, 0], [0, 1, 0]])
        grid = F.affine_grid(theta, [x.shape[0], 3, 8, 8], align_corners=False)
        x = F.grid_sample(x, grid, align_corners=False)
        return self.head(F.relu(self.conv(x)).amax((2, 3)))


class Detector(nn.Module):
    """CSP block, SPPF, upsampling neck, detection heads put together."""

    def __init__(self):
        super().__init__()

        def conv(i, o, k=1, s=1):
            return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU())

        self.stem, self.down = conv(3, 8, 3, 2), conv(8, 16, 3, 2)
        self.a, self.b, self.m, self.c = conv(16, 8), conv(16, 8), conv(8, 8, 3), conv(16, 16)
        self.p, self.q = conv(16, 8), conv(32, 16)
        self.up, self.h1, self.h2 = conv(24, 8), nn.Conv2d(8, 5, 1), nn.Conv2d(16, 5, 1)

    def forward(self, x):
        s = self.stem(x)
        d = self.down(s)
        d = self.c(torch.cat([self.m(self.a(d)) + self.a(d), self.b(d)], 1))
        y = self.p(d)
        ys = [y]
        for _ in range(3):
            ys.append(F.max_pool2d(ys[-1], 3, 1, 1))
        d = self.q(torch.cat(ys, 1))
        u = self.up(torch.cat([F.interpolate(d, scale_factor=2.0, mode="nearest"), s], 1))
        return torch.cat([self.h1(u).flatten(2), self.h2(d).flatten(2)], 2).transpose(1, 2).sigmoid()


class Shifted(nn.Module):
    """Rolled, flipped and summed up along axes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 4)
        self.norm = nn.LayerNorm([6])

    def forward(self, x):
        x = torch.roll(self.norm(x), (2, -1), (1, 2))
        x = F.silu(self.a(x)).flip(1)
        return self.b(x.cumsum(1).mean((1, 2)))


class AttentivePooling(nn.Module):
    """A bias of one element behind a product of three dimensions."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 10, 2, batch_first=True, bidirectional=True)
        self.score, self.leave = nn.Linear(20, 1), nn.Linear(20, 4)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.leave((torch.softmax(self.score(torch.tanh(h)), 1) * h).sum(1))


class RotaryDecoder(nn.Module):
    """Rotary positions, grouped queries, SwiGLU, tied embeddings."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.q, self.o = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        self.k, self.v = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)
        self.n1, self.n2, self.n3 = nn.RMSNorm(16), nn.RMSNorm(16), nn.RMSNorm(16)
        self.a, self.b, self.c = nn.Linear(16, 24, bias=False), nn.Linear(16, 24, bias=False), nn.Linear(24, 16, bias=False)
        t = torch.outer(torch.arange(9).float(), 100.0 ** (-torch.arange(2) / 2))
        self.register_buffer("cos", torch.cat([t.cos(), t.cos()], -1))
        self.register_buffer("sin", torch.cat([t.sin(), t.sin()], -1))

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, ids):
        x = self.embed(ids)
        h = self.n1(x)
        q = self.rotate(self.q(h).view(-1, 9, 4, 4).transpose(1, 2))
        k = self.rotate(self.k(h).view(-1, 9, 2, 4).transpose(1, 2))
        v = self.v(h).view(-1, 9, 2, 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(-1, 9, 16))
        h = self.n2(x)
        x = x + self.c(F.silu(self.a(h)) * self.b(h))
        return self.n3(x) @ self.embed.weight.T


class Recommender(nn.Module):
    """DLRM: embeddings, dot interactions of the lower triangle."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(10, 6), nn.Embedding(14, 6)])
        self.bottom, self.top = nn.Sequential(nn.Linear(5, 6), nn.ReLU()), nn.Sequential(nn.Linear(9, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x, a, b):
        d = self.bottom(x)
        z = torch.stack([d, self.tables[0](a), self.tables[1](b)], 1)
        s = torch.bmm(z, z.transpose(1, 2))
        i, j = torch.tril_indices(3, 3, -1)
        return self.top(torch.cat([d, s[:, i, j]], 1))


class Activations(nn.Module):
    """Activations that no other case has, one behind the other, and a bilinear form."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(12, 32), nn.Linear(30, 3)
        self.bilinear = nn.Bilinear(12, 12, 14)
        self.acts = [
            nn.Softplus(2.0),
            nn.Mish(),
            nn.ELU(0.7),
            nn.CELU(1.3),
            nn.SELU(),
            nn.Softsign(),
            nn.LogSigmoid(),
            nn.Tanhshrink(),
            nn.Hardtanh(-0.5, 0.6),
            nn.Softshrink(0.2),
            nn.Hardshrink(0.1),
            nn.Threshold(0.1, 0.0),
            nn.ReLU6(),
            nn.SiLU(),
            nn.GELU("tanh"),
        ]

    def forward(self, x):
        h = F.glu(self.enter(x))
        b = self.bilinear(x, torch.sin(x))
        for act in self.acts:
            h = h + act(1.5 * h)
            h = h - h.mean(-1, keepdim=True)
            h = h / (1 + h.abs().amax(-1, keepdim=True))
        return self.leave(torch.cat([h, b], -1))


class Spectrum(nn.Module):
    """Powers of a discrete Fourier transform."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(9))
        self.leave = nn.Linear(18, 4)

    def forward(self, x):
        spectrum = torch.view_as_real(torch.fft.rfft(x, dim=-1)) * self.scale[:, None].exp()
        return self.leave(torch.log1p(spectrum.pow(2)).flatten(1))


class Capsules(nn.Module):
    """Routing by agreement."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(16, 24)
        self.w = nn.Parameter(torch.zeros(6, 3, 4, 5))

    def forward(self, x):
        u = self.enter(x).view(-1, 6, 4)
        votes = torch.einsum("bic,ijcd->bijd", u, self.w)
        logits = torch.zeros_like(votes[..., 0])
        for _ in range(3):
            s = (logits.softmax(-1).unsqueeze(-1) * votes).sum(1)
            n = (s * s).sum(-1, keepdim=True)
            v = s * n / (1 + n) / torch.sqrt(n + 1e-8)
            logits = logits + (votes * v.unsqueeze(1)).sum(-1)
        return v.norm(dim=-1)


class Gathered(nn.Module):
    """A table read by rows, the largest elements picked and added where they were."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(10, 6))
        self.leave = nn.Linear(6, 4)

    def forward(self, x, where):
        h = self.table[where] * x
        top, place = h.abs().topk(3, dim=1)
        picked = torch.gather(h, 1, place)
        added = torch.zeros_like(h).scatter_add(1, place, picked * top)
        return self.leave((h + added).amax(1) + torch.var(h, 1) + h.std(1, unbiased=False))


CASES = {
    "spatial_transformer": (SpatialTransformer, {"x": [3, 8, 8]}, ("classes", [], 4)),
    "detector": (Detector, {"x": [3, 16, 16]}, ("numbers", [80, 5], None)),
    "shifted": (Shifted, {"x": [5, 7, 6]}, ("classes", [], 4)),
    "attentive_pooling": (AttentivePooling, {"x": [9, 6]}, ("classes", [], 4)),
    "rotary_decoder": (RotaryDecoder, {"ids": ([9], 20)}, ("classes", [9], 20)),
    "recommender": (Recommender, {"x": [5], "a": ([], 10), "b": ([], 14)}, ("bits", [1], None)),
    "activations": (Activations, {"x": [12]}, ("classes", [], 3)),
    "spectrum": (Spectrum, {"x": [16]}, ("classes", [], 4)),
    "capsules": (Capsules, {"x": [16]}, ("bits", [3], None)),
    "gathered": (Gathered, {"x": [5, 6], "where": ([5], 10)}, ("classes", [], 4)),
}  # fmt: skip
