"""Three small image classifiers for 32 x 32 pictures, one of each common kind: convolutions, global
attention, attention in shifted windows. They are made for profiling: a training step of each takes
a fraction of a second on a CPU, and they use the operators that the large models of their kind use.
"""

import torch
from torch import nn
from torch.nn import functional as F


class ResidualBlock(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet(classes):
    widths = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
    blocks = [ResidualBlock(*width) for width in widths]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


class LayerNorm(nn.LayerNorm):
    """Computes in the type of its weights: the CPU's autocast of torch 1.13 does not do that."""

    def forward(self, x):
        return super().forward(x.to(self.weight.dtype))


class Attention(nn.Module):
    """Attention of several heads over the tokens of (batch, tokens, width)."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1)
        return self.project((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, classes, width=64, depth=3, heads=4, patch=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.positions = nn.Parameter(torch.zeros(1, (32 // patch) ** 2, width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads) for _ in range(depth)))
        self.norm = LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


class WindowBlock(nn.Module):
    """A transformer block inside windows of (batch, height, width, channels), shifted or not."""

    def __init__(self, channels, heads, window, shift):
        super().__init__()
        self.block = TransformerBlock(channels, heads)
        self.window, self.shift = window, shift

    def forward(self, x):
        batch, height, width, channels = x.shape
        w = self.window
        x = torch.roll(x, (-self.shift, -self.shift), (1, 2)) if self.shift else x
        x = x.reshape(batch, height // w, w, width // w, w, channels).transpose(2, 3)
        x = self.block(x.reshape(-1, w * w, channels))
        x = x.reshape(batch, height // w, width // w, w, w, channels).transpose(2, 3)
        x = x.reshape(batch, height, width, channels)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


class WindowTransformer(nn.Module):
    """In the manner of Swin: windows, every second block shifted, halved resolution between."""

    def __init__(self, classes, width=48, heads=4, patch=2, window=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.stage1 = nn.Sequential(WindowBlock(width, heads, window, 0),
                                    WindowBlock(width, heads, window, window // 2))
        self.merge = nn.Conv2d(width, 2 * width, 2, 2)
        self.stage2 = nn.Sequential(WindowBlock(2 * width, heads, window, 0),
                                    WindowBlock(2 * width, heads, window, window // 2))
        self.norm = LayerNorm(2 * width)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.stage1(self.patches(x).permute(0, 2, 3, 1))
        x = self.stage2(self.merge(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))
        return self.head(self.norm(x).mean(dim=(1, 2)))


MODELS = {"resnet": resnet, "vit": VisionTransformer, "swinv2": WindowTransformer}
