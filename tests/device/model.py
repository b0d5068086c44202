"""A transformer with nothing clever in it: many small kernels, many short-lived tensors, attention that is kept."""
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm_attention(x)
        # need_weights: the attention matrix is formed, of (heads x length x length) a sequence.
        y, _ = self.attention(y, y, y, need_weights=True)
        x = x + y
        return x + self.mlp(self.norm_mlp(x))


def build(layers, width, heads, classes):
    return nn.Sequential(*[Block(width, heads) for _ in range(layers)], nn.LayerNorm(width), nn.Linear(width, classes))
