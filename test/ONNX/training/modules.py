# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules of the kinds that people export, small enough to train twenty steps in a second."""

import math

import images
import layers
import series
import torch
import torch.nn.functional as F
from torch import nn


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 5))

    def forward(self, x):
        return self.layers(x)


class NormalizedPerceptron(nn.Module):
    """BatchNorm1d, PReLU and a skip connection."""

    def __init__(self):
        super().__init__()
        self.enter, self.inner, self.leave = nn.Linear(16, 24), nn.Linear(24, 24), nn.Linear(24, 3)
        self.first, self.second, self.slopes = nn.BatchNorm1d(24), nn.BatchNorm1d(24), nn.PReLU(24)

    def forward(self, x):
        x = self.slopes(self.first(self.enter(x)))
        return self.leave(x + self.slopes(self.second(self.inner(x))))


class ResidualBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResidualNetwork(nn.Module):
    """As ResNet-18, with fewer channels and blocks."""

    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(ResidualBlock(8, 8, 1), ResidualBlock(8, 16, 2), ResidualBlock(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.stem(x))), 3, 2, 1)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.blocks(x), 1), 1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(6, 12, 3, padding=1)
        self.bottom, self.up = nn.Conv2d(12, 12, 3, padding=1), nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.merge, self.leave = nn.Conv2d(12, 6, 3, padding=1), nn.Conv2d(6, 1, 1)

    def forward(self, x):
        fine = F.relu(self.down1(x))
        coarse = F.relu(self.down2(F.max_pool2d(fine, 2)))
        coarse = self.up(F.relu(self.bottom(coarse)))
        return self.leave(F.relu(self.merge(torch.cat([fine, coarse], 1))))


class Attention(nn.Module):
    """Self-attention with one product for query, key and value."""

    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, steps, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, steps, width))


class Block(nn.Module):
    """A transformer's block, normalised first."""

    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, causal)
        self.norm2, self.mlp = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, 16)), nn.Parameter(torch.zeros(1, 17, 16))
        self.block, self.norm, self.head = Block(16, 4), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.block(x))[:, 0])


class CausalDecoder(nn.Module):
    """A language model: embeddings, causal blocks, logits of every step."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(30, 16), nn.Embedding(12, 16)
        self.blocks, self.norm, self.head = nn.Sequential(Block(16, 2, True), Block(16, 2, True)), nn.LayerNorm(16), nn.Linear(16, 30, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


class Translator(nn.Module):
    """nn.Transformer's layers: an encoder, a decoder that attends to it."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(12, 2, 24, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
        self.head = nn.Linear(12, 6)

    def forward(self, source, target):
        return self.head(self.decoder(target, self.encoder(source)))


class Recurrence(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(6, 10, batch_first=True, **options)
        self.head = nn.Linear(10 * (2 if options.get("bidirectional") else 1), 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Steps(nn.Module):
    """A recurrence in PyTorch's own layout, [steps, batch, features], with results of every step."""

    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(6, 10, **options)
        self.head = nn.Linear(10 * (2 if options.get("bidirectional") else 1), 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


class StepsEncoder(nn.Module):
    """nn.TransformerEncoder in its own layout, [steps, batch, features]."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.encoder(x))


class GroupNormalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.conv2, self.norm2 = nn.Conv2d(8, 12, 3, 2, 1), nn.GroupNorm(4, 12)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = F.silu(self.norm1(self.conv1(x)))
        return self.head(F.silu(self.norm2(self.conv2(x))).mean((2, 3)))


class Depthwise(nn.Module):
    """An inverted residual of MobileNet with squeeze and excitation."""

    def __init__(self):
        super().__init__()
        self.stem, self.bn0 = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.expand, self.bn1 = nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.depthwise, self.bn2 = nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False), nn.BatchNorm2d(24)
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.project, self.bn3, self.head = nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, x):
        x = F.hardswish(self.bn0(self.stem(x)))
        y = F.relu6(self.bn2(self.depthwise(F.relu6(self.bn1(self.expand(x))))))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return self.head((x + self.bn3(self.project(y))).mean((2, 3)))


class BagOfWords(nn.Module):
    """Embeddings, pooled by mean and maximum."""

    def __init__(self):
        super().__init__()
        self.embedding, self.hidden, self.head = nn.Embedding(40, 12), nn.Linear(24, 16), nn.Linear(16, 3)

    def forward(self, ids):
        x = self.embedding(ids)
        return self.head(torch.sigmoid(self.hidden(torch.cat([x.mean(1), x.amax(1)], 1))))


class Waveform(nn.Module):
    """Dilated causal convolutions with gates, as WaveNet's."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(2, 8, 1)
        self.filters = nn.ModuleList(nn.Conv1d(8, 8, 2, dilation=2**i) for i in range(3))
        self.gates = nn.ModuleList(nn.Conv1d(8, 8, 2, dilation=2**i) for i in range(3))
        self.leave = nn.Conv1d(8, 1, 1)

    def forward(self, x):
        x = self.enter(x)
        for i, (signal, gate) in enumerate(zip(self.filters, self.gates)):
            padded = F.pad(x, (2**i, 0))
            x = x + torch.tanh(signal(padded)) * torch.sigmoid(gate(padded))
        return self.leave(x)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.ELU(), nn.Conv2d(6, 8, 3, 2, 1), nn.ELU())
        self.decode = nn.Sequential(nn.ConvTranspose2d(8, 6, 3, 2, 1, 1), nn.LeakyReLU(0.1), nn.ConvTranspose2d(6, 1, 4, 2, 1))

    def forward(self, x):
        return torch.sigmoid(self.decode(self.encode(x)))


class RootMeanSquare(nn.Module):
    """A block of Llama: RMSNorm, rotary positions, grouped heads, a gated SiLU."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(16, eps=1e-6), nn.RMSNorm(16, eps=1e-6)
        self.q, self.k, self.v, self.o = (nn.Linear(16, width, bias=False) for width in (16, 8, 8, 16))
        self.gate, self.up, self.down = nn.Linear(16, 24, bias=False), nn.Linear(16, 24, bias=False), nn.Linear(24, 16, bias=False)
        self.head = nn.Linear(16, 6, bias=False)
        angles = torch.arange(8).float()[:, None] * torch.tensor([1.0, 0.1])
        self.register_buffer("cosines", torch.cos(angles).repeat(1, 2), persistent=False)
        self.register_buffer("sines", torch.sin(angles).repeat(1, 2), persistent=False)

    def rotate(self, x):
        first, second = x.chunk(2, -1)
        return x * self.cosines + torch.cat([-second, first], -1) * self.sines

    def forward(self, x):
        batch, steps, _ = x.shape
        y = self.norm1(x)
        q, k, v = (layer(y).view(batch, steps, -1, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        q, k = self.rotate(q), self.rotate(k).repeat_interleave(2, 1)
        logits = (q @ k.transpose(-2, -1)) / math.sqrt(4)
        y = torch.softmax(logits, -1) @ v.repeat_interleave(2, 1)
        x = x + self.o(y.transpose(1, 2).reshape(batch, steps, 16))
        y = self.norm2(x)
        return self.head(x + self.down(F.silu(self.gate(y)) * self.up(y)))


class Upsampling(nn.Module):
    """Instance normalisation, reflected padding and resizing, as generators of images have them."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True)
        self.conv2, self.conv3 = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x):
        x = F.leaky_relu(self.norm(self.conv1(F.pad(x, (1, 1, 1, 1), mode="reflect"))), 0.2)
        x = F.interpolate(self.conv2(F.avg_pool2d(x, 2)), scale_factor=2, mode="nearest")
        return torch.tanh(self.conv3(F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)))


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.head = nn.Conv3d(1, 4, 3, padding=1), nn.Conv3d(4, 6, 3, 2, 1), nn.Linear(6, 3)

    def forward(self, x):
        x = F.softplus(self.conv1(x))
        return self.head(F.relu(self.conv2(F.avg_pool3d(x, 2))).amax((2, 3, 4)))


class GraphConvolution(nn.Module):
    """Products with an adjacency that is an input, an einsum and a soft gate over nodes."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.score = nn.Linear(5, 12), nn.Linear(12, 12), nn.Parameter(torch.zeros(12))
        self.head = nn.Linear(12, 2)

    def forward(self, nodes, edges):
        x = F.gelu(self.first(torch.bmm(edges, nodes)), approximate="tanh")
        x = F.mish(self.second(torch.bmm(edges, x)))
        weights = torch.log_softmax(torch.einsum("bnd,d->bn", x, self.score), 1).exp()
        return self.head(torch.einsum("bn,bnd->bd", weights, x))


class ConvNext(nn.Module):
    """Channels last for the normalisation and the products, a scale of each channel."""

    def __init__(self):
        super().__init__()
        self.stem, self.depthwise, self.norm = nn.Conv2d(3, 8, 2, 2), nn.Conv2d(8, 8, 5, padding=2, groups=8), nn.LayerNorm(8)
        self.widen, self.narrow, self.scale, self.head = nn.Linear(8, 24), nn.Linear(24, 8), nn.Parameter(torch.ones(8)), nn.Linear(8, 4)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(F.gelu(self.widen(y)))
        return self.head((x + y.permute(0, 3, 1, 2)).mean((-2, -1)))


class DenselyConnected(nn.Module):
    """DenseNet's order: normalisation, activation, convolution; and a Dropout that drops nothing."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(6 + 4 * i) for i in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(6 + 4 * i, 4, 3, padding=1, bias=False) for i in range(3))
        self.drop, self.head = nn.Dropout(0.0), nn.Linear(18, 4)

    def forward(self, x):
        x = self.stem(x)
        for norm, conv in zip(self.norms, self.convs):
            x = torch.cat([x, conv(F.relu(norm(x)))], 1)
        return self.head(self.drop(F.avg_pool2d(x, 4).flatten(1)[:, ::4]))



# Each: the module, the inputs (shape; for numbers of rows of tables their count), what is learnt, and by which loss. A
# fourth item is the dimension that the module has the batch in, which then is open in the exported graph.
CASES = {
    "perceptron": (Perceptron, {"x": [20]}, ("classes", [], 5)),
    "normalized_perceptron": (NormalizedPerceptron, {"x": [16]}, ("numbers", [3], None)),
    "residual_network": (ResidualNetwork, {"x": [3, 16, 16]}, ("classes", [], 10)),
    "u_net": (UNet, {"x": [2, 12, 12]}, ("bits", [1, 12, 12], None)),
    "vision_transformer": (VisionTransformer, {"x": [3, 16, 16]}, ("classes", [], 4)),
    "causal_decoder": (CausalDecoder, {"ids": ([12], 30)}, ("classes", [12], 30)),
    "translator": (Translator, {"source": [7, 12], "target": [5, 12]}, ("classes", [5], 6)),
    "lstm": (lambda: Recurrence(nn.LSTM), {"x": [9, 6]}, ("classes", [], 4)),
    "gru": (lambda: Recurrence(nn.GRU), {"x": [9, 6]}, ("classes", [], 4)),
    "elman": (lambda: Recurrence(nn.RNN), {"x": [9, 6]}, ("numbers", [4], None)),
    "stacked_lstm": (lambda: Recurrence(nn.LSTM, num_layers=2, bidirectional=True), {"x": [6, 6]}, ("numbers", [4], None)),
    "lstm_of_steps": (lambda: Steps(nn.LSTM), {"x": [9, 6]}, ("numbers", [9, 4], None), 1),
    "gru_of_steps": (lambda: Steps(nn.GRU, bidirectional=True), {"x": [9, 6]}, ("classes", [9], 4), 1),
    "stacked_lstm_of_steps": (lambda: Steps(nn.LSTM, num_layers=2, bidirectional=True), {"x": [6, 6]}, ("numbers", [6, 4], None), 1),
    "encoder_of_steps": (StepsEncoder, {"x": [7, 12]}, ("classes", [7], 5), 1),
    "group_normalized": (GroupNormalized, {"x": [3, 10, 10]}, ("classes", [], 5)),
    "depthwise": (Depthwise, {"x": [3, 16, 16]}, ("classes", [], 5)),
    "bag_of_words": (BagOfWords, {"ids": ([10], 40)}, ("classes", [], 3)),
    "waveform": (Waveform, {"x": [2, 32]}, ("numbers", [1, 32], None)),
    "autoencoder": (Autoencoder, {"x": [1, 12, 12]}, ("numbers", [1, 12, 12], None)),
    "root_mean_square": (RootMeanSquare, {"x": [8, 16]}, ("classes", [8], 6)),
    "upsampling": (Upsampling, {"x": [3, 8, 8]}, ("numbers", [2, 16, 16], None)),
    "volumes": (Volumes, {"x": [1, 6, 6, 6]}, ("classes", [], 3)),
    "graph_convolution": (GraphConvolution, {"nodes": [7, 5], "edges": [7, 7]}, ("classes", [], 2)),
    "convnext": (ConvNext, {"x": [3, 12, 12]}, ("classes", [], 4)),
    "densely_connected": (DenselyConnected, {"x": [3, 8, 8]}, ("classes", [], 4)),
    **images.CASES,
    **layers.CASES,
    **series.CASES,
}  # fmt: skip
