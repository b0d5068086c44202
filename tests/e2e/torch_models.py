"""Models of well-known shape in plain torch, for tests that must not depend on torchvision or transformers.

  build(NAME, device, scale) -> model, optimizer, batch: batch() gives inputs and targets on the device

resnet50   the network of "Deep Residual Learning" (He et al. 2015), 50 layers, 25.6 million parameters; SGD with momentum
gpt2       GPT-2 as its paper and its published weights have it: learned positions, pre-norm, one matrix for query, key and
           value ("Conv1D"), tanh GELU, head tied to the embedding; AdamW. scale "large": the published 124 million
checkpoint the same blocks under torch.utils.checkpoint (not reentrant); AdamW
reentrant  the same, reentrant
mlp        three layers; SGD with momentum
"""
import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

NAMES = ("mlp", "resnet50", "gpt2", "checkpoint", "reentrant")


class Bottleneck(nn.Module):
    def __init__(self, inside, planes, stride):
        super().__init__()
        outside = 4 * planes
        self.conv1, self.bn1 = nn.Conv2d(inside, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = nn.Conv2d(planes, outside, 1, bias=False), nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, depths, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inside = 64
        for i, depth in enumerate(depths):
            blocks = []
            for j in range(depth):
                blocks.append(Bottleneck(inside, 64 << i, 2 if i and not j else 1))
                inside = 256 << i
            setattr(self, "layer%d" % (i + 1), nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inside, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class Conv1D(nn.Module):
    """GPT-2's linear layer, its weight transposed."""

    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inside, outside))
        self.bias = nn.Parameter(torch.zeros(outside))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        size = x.size()[:-1] + (self.bias.numel(),)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(size)


class GPT2Attention(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.register_buffer("bias", torch.tril(torch.ones(positions, positions, dtype=torch.bool))[None, None])
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, 2))
        weights = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        weights = weights.masked_fill(~self.bias[:, :, :length, :length], torch.finfo(weights.dtype).min)
        return self.c_proj((weights.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class GPT2MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj, self.act = Conv1D(width, 4 * width), Conv1D(4 * width, width), nn.GELU("tanh")

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class GPT2Block(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = GPT2Attention(width, heads, positions), GPT2MLP(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    def __init__(self, layers, width, heads, words, positions, again):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(GPT2Block(width, heads, positions) for _ in range(layers))
        self.ln_f, self.again = nn.LayerNorm(width), again

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1), device=ids.device))
        for block in self.h:
            x = block(x) if self.again is None else checkpoint(block, x, use_reentrant=self.again)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    def __init__(self, layers, width, heads, words, positions, again=None):
        super().__init__()
        self.transformer = GPT2Model(layers, width, heads, words, positions, again)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, ids):
        return self.lm_head(self.transformer(ids))


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.01, momentum=0.9)


def build(name, device, scale="small"):
    large = scale == "large"
    if name == "mlp":
        model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
        optimizer, shape, classes, targets = sgd, (512, 256), 10, (512,)
    elif name == "resnet50":
        model, optimizer, classes = ResNet((3, 4, 6, 3), 1000), sgd, 1000
        shape, targets = ((32, 3, 224, 224), (32,)) if large else ((4, 3, 96, 96), (4,))
    else:
        again = {"gpt2": None, "checkpoint": False, "reentrant": True}[name]
        size = (12, 768, 12, 50257, 1024) if large else (4, 128, 4, 1000, 64)
        model, optimizer, classes = GPT2LMHeadModel(*size, again), torch.optim.AdamW, size[3]
        shape, targets = (None, (8, 512)) if large else (None, (8, 64))
    model = model.to(device)

    def batch():
        x = torch.randn(shape) if shape else torch.randint(0, classes, targets)
        return x.to(device), torch.randint(0, classes, targets).to(device)

    return model, optimizer(model.parameters()), batch


def train(name, device, scale="small", steps=3):
    model, optimizer, batch = build(name, device, scale)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
