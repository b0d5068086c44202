#!/usr/bin/env python3
"""modules.py VRAMTRACE [--device cuda] - the modules that memory belongs to, against paths known by hand.

Every leaf of the model below makes tensors of a size of its own, forward and backward. Exit status 77: no PyTorch
(VT_TORCH_PYTHON).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = r'''
import sys, torch
from torch import nn
from torch.utils.checkpoint import checkpoint

device = sys.argv[1]
torch.set_num_threads(1)
made, moved = {}, {}


class Leaf(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.n = 30080 + 1024 * len(made)  # 128 elements are 512 bytes: CUDA's allocator rounds to that
        made[path] = self.n
        moved[path] = m = 60032 + 1152 * len(moved)
        self.unused = nn.Parameter(torch.ones(m))

    def forward(self, x):
        return (x.expand(self.n) * 2).sin().sum()


class Hooked(Leaf):
    """With hooks torch calls forward() from an inner function."""

    def __init__(self, path):
        super().__init__(path)
        self.register_forward_pre_hook(lambda *_: None)


class Block(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.first, self.second = Leaf(path + " > Leaf[0]"), Leaf(path + " > Leaf[1]")
        self.hooked = Hooked(path + " > Hooked")

    def forward(self, x):
        return self.second(self.first(x)) + self.hooked(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block("Net > Block[%d]" % i) for i in range(3))
        self.again = Block("Net > Block[3]")
        self.early = Block("Net > Block[4]")
        self.row = nn.Sequential(nn.Identity(), Leaf("Net > Sequential > Leaf[0]"), nn.Identity(), Leaf("Net > Sequential > Leaf[1]"))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = checkpoint(self.again, x, use_reentrant=False)
        x = checkpoint(self.early, x, use_reentrant=True)
        return self.row(x)


net, x = Net().to(device).double(), torch.ones(1, device=device, requires_grad=True)
outside = torch.ones(20096, device=device, requires_grad=True)
for _ in range(2):
    (net(x) + outside.sin().sum()).backward()
for path, n in list(made.items()) + [("(outside of modules)", 20096)]:
    print("%d %s" % (4 * n, path))
# What double() makes.
for path, n in moved.items():
    print("%d %s" % (8 * n, path))
'''


def paths_of(tree):
    """Size -> labels of the modules, of each block of the run."""
    found = {}
    for device in tree["devices"]:
        nodes = {n["node"]: n for n in device["nodes"]}
        for node in device["nodes"]:
            if not node["self_count"]:
                continue
            labels = []
            while node["node"]:
                labels.insert(0, node["label"])
                node = nodes[node["parent"]]
            size = int(re.search(r"\+(\d+) B", labels[0]).group(1))
            found.setdefault(size, []).append(" > ".join(labels[1:]))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vramtrace")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    python = os.environ.get("VT_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch; set VT_TORCH_PYTHON" % python)
        return 77
    vramtrace, bad = os.path.abspath(options.vramtrace), 0
    with tempfile.TemporaryDirectory(prefix="vt-modules.") as work:
        program, trace = os.path.join(work, "program.py"), os.path.join(work, "modules.vramtrace")
        with open(program, "w") as f:
            f.write(PROGRAM)
        host = ["--host"] if options.device == "cpu" else []
        words = subprocess.run([vramtrace, "record", "--quiet", "-o", trace] + host + ["--", python, program, options.device],
                               check=True, capture_output=True, text=True).stdout
        subprocess.run([vramtrace, "check", "--quiet", trace], check=True, stdout=subprocess.DEVNULL)
        found = paths_of(json.loads(subprocess.run([vramtrace, "tree", "--json", "--run", "--by", "block,module", trace],
                                                   check=True, capture_output=True).stdout))
    for line in words.splitlines():
        size, path = line.split(" ", 1)
        have = found.get(int(size), [])
        # Forward and backward of two steps; or a parameter.
        good = bool(have) and set(have) == {path}
        bad += not good
        print("%s  %-28s %2d blocks%s" % ("PASS" if good else "FAIL", path, len(have), "" if good else ": " + str(set(have))))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
