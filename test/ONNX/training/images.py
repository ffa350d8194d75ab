# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that read images, as modules.py has them."""

import torch
import torch.nn.functional as F
from torch import nn


class GroupedConvolutions(nn.Module):
    """ResNeXt's block, and ShuffleNet's order of channels behind it."""

    def __init__(self):
        super().__init__()
        self.enter, self.norm1 = nn.Conv2d(4, 12, 1, bias=False), nn.BatchNorm2d(12)
        self.groups, self.norm2 = nn.Conv2d(12, 12, 3, padding=1, groups=4, bias=False), nn.BatchNorm2d(12)
        self.leave, self.norm3 = nn.Conv2d(12, 4, 1, bias=False), nn.BatchNorm2d(4)
        self.split, self.head = nn.Conv2d(4, 8, 3, 2, 1, groups=2), nn.Linear(8, 6)

    def forward(self, x):
        y = F.relu(self.norm2(self.groups(F.relu(self.norm1(self.enter(x))))))
        x = F.relu(x + self.norm3(self.leave(y)))
        x = F.channel_shuffle(self.split(x), 4)
        return self.head(F.adaptive_max_pool2d(x, 1).flatten(1))


class SpatialPyramid(nn.Module):
    """DeepLab's: dilated convolutions side by side, the mean of the image, resized logits."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.rates = nn.ModuleList([nn.Conv2d(8, 6, 1), nn.Conv2d(8, 6, 3, padding=2, dilation=2), nn.Conv2d(8, 6, 3, padding=3, dilation=3)])
        self.whole, self.merge, self.leave = nn.Conv2d(8, 6, 1), nn.Conv2d(24, 8, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        size = x.shape[-2:]
        x = F.relu(self.stem(x))
        whole = F.interpolate(self.whole(F.adaptive_avg_pool2d(x, 1)), size=x.shape[-2:], mode="bilinear", align_corners=False)
        x = torch.cat([F.relu(rate(x)) for rate in self.rates] + [F.relu(whole)], 1)
        x = self.leave(F.relu(self.merge(x)))
        return F.interpolate(x, size=size, mode="bilinear", align_corners=True)


class NormalizedPyramid(nn.Module):
    """The same as DeepLabV3 has it: batch normalisation behind every convolution, whose biases it takes away again."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        taps = [{"kernel_size": 1}, {"kernel_size": 3, "padding": 2, "dilation": 2}, {"kernel_size": 3, "padding": 3, "dilation": 3}]
        self.rates = nn.ModuleList([nn.Sequential(nn.Conv2d(8, 6, **each), nn.BatchNorm2d(6), nn.ReLU()) for each in taps])
        self.whole = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6), nn.ReLU())
        self.merge, self.leave = nn.Sequential(nn.Conv2d(24, 8, 1), nn.BatchNorm2d(8), nn.ReLU()), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        size = x.shape[-2:]
        x = self.stem(x)
        whole = F.interpolate(self.whole(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        x = torch.cat([rate(x) for rate in self.rates] + [whole], 1)
        return F.interpolate(self.leave(self.merge(x)), size=size, mode="bilinear", align_corners=False)


class Variational(nn.Module):
    """A variational autoencoder whose noise is an input, clamped logarithms of variances, grouped transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU6(), nn.Conv2d(4, 8, 4, 2, 1), nn.ReLU6(), nn.Flatten())
        self.mean, self.variance, self.enter = nn.Linear(72, 5), nn.Linear(72, 5), nn.Linear(5, 72)
        self.decode = nn.Sequential(nn.ConvTranspose2d(8, 8, 3, 2, 1, 1, groups=2), nn.CELU(), nn.ConvTranspose2d(8, 1, 3, 2, 1, 1, dilation=1))

    def forward(self, x, noise):
        x = self.encode(x)
        z = self.mean(x) + noise * torch.exp(0.5 * self.variance(x).clamp(-4, 4))
        return self.decode(self.enter(z).unflatten(1, (8, 3, 3)))


class Styled(nn.Module):
    """Instance normalisation without weights, whose scale and shift another input decides."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.norm = nn.Conv2d(3, 6, 3, padding=1, padding_mode="circular"), nn.Conv2d(6, 3, 3, padding=1), nn.InstanceNorm2d(6)
        self.style = nn.Linear(4, 12)

    def forward(self, x, style):
        scale, shift = self.style(style)[:, :, None, None].chunk(2, 1)
        x = self.norm(self.conv1(x)) * (1 + scale) + shift
        return self.conv2(F.pad(F.hardtanh(x, -2, 2), (1, 1, 1, 1), mode="replicate"))[:, :, 1:-1, 1:-1]


class Inception(nn.Module):
    """Branches of 1x5 and 5x1, of average and maximum pooling, and local response normalisation."""

    def __init__(self):
        super().__init__()
        self.stem, self.point, self.wide, self.high = nn.Conv2d(2, 6, 3), nn.Conv2d(6, 4, 1), nn.Conv2d(6, 4, (1, 5), padding=(0, 2)), nn.Conv2d(4, 4, (5, 1), padding=(2, 0))
        self.pooled, self.head = nn.Conv2d(6, 3, 1), nn.Linear(68, 3)

    def forward(self, x):
        x = F.local_response_norm(F.relu(self.stem(x)), 3)
        pooled = self.pooled(F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))
        x = torch.cat([self.point(x), F.relu(self.high(self.wide(x))), pooled, F.max_pool2d(x, 3, 1, 1)], 1)
        return self.head(F.avg_pool2d(x, 5, 3, ceil_mode=True).flatten(1)[:, :68])


class WindowAttention(nn.Module):
    """Swin's: shifted windows, their mask, a table of relative positions."""

    def __init__(self):
        super().__init__()
        self.patches, self.norm, self.qkv, self.out, self.head = nn.Conv2d(2, 8, 2, 2), nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 3)
        self.table = nn.Parameter(torch.zeros(9, 2))
        rows, columns = torch.arange(4) // 2, torch.arange(4) % 2
        place = (rows[:, None] - rows[None] + 1) * 3 + columns[:, None] - columns[None] + 1
        self.register_buffer("place", place.reshape(-1), persistent=False)
        region = torch.tensor([0, 0, 1, 2])
        regions = (region[:, None] * 3 + region[None]).reshape(2, 2, 2, 2).permute(0, 2, 1, 3).reshape(4, 4)
        self.register_buffer("mask", (regions[:, :, None] != regions[:, None]).float() * -100.0, persistent=False)

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 1)
        batch = x.shape[0]
        y = torch.roll(self.norm(x), (-1, -1), (1, 2))
        y = y.reshape(batch, 2, 2, 2, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(batch * 4, 4, 8)
        q, k, v = self.qkv(y).reshape(batch * 4, 4, 3, 2, 4).permute(2, 0, 3, 1, 4)
        scores = q * 0.5 @ k.transpose(-2, -1) + self.table[self.place].reshape(4, 4, 2).permute(2, 0, 1)
        scores = (scores.reshape(batch, 4, 2, 4, 4) + self.mask[:, None]).reshape(batch * 4, 2, 4, 4)
        y = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch * 4, 4, 8))
        y = y.reshape(batch, 2, 2, 2, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(batch, 4, 4, 8)
        return self.head((x + torch.roll(y, (1, 1), (1, 2))).mean((1, 2)))


CASES = {
    "grouped_convolutions": (GroupedConvolutions, {"x": [4, 10, 10]}, ("classes", [], 6)),
    "spatial_pyramid": (SpatialPyramid, {"x": [3, 16, 16]}, ("bits", [2, 16, 16], None)),
    "normalized_pyramid": (NormalizedPyramid, {"x": [3, 16, 16]}, ("bits", [2, 16, 16], None)),
    "variational": (Variational, {"x": [1, 12, 12], "noise": [5]}, ("bits", [1, 12, 12], None)),
    "styled": (Styled, {"x": [3, 8, 8], "style": [4]}, ("numbers", [3, 8, 8], None)),
    "inception": (Inception, {"x": [2, 12, 12]}, ("classes", [], 3)),
    "window_attention": (WindowAttention, {"x": [2, 8, 8]}, ("classes", [], 3)),
}  # fmt: skip
