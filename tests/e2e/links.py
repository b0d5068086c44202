#!/usr/bin/env python3
"""links.py VRAMTRACE [--device cuda] - memory of backward passes is shown at the forward line that it belongs to.

Runs the program below under `record`; every case has tensors of a size of its own, and the comment on a line says which
backward sizes belong to that line: "# <- mul" for the case `mul`. Exit status 77: no PyTorch (VT_TORCH_PYTHON).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = r'''
import sys, threading, torch
from torch.utils.checkpoint import checkpoint

device = sys.argv[1]
torch.set_num_threads(1)
cases = {}


def leaf(name):
    """Each case's tensors have a number of elements that no other one has."""
    cases[name] = n = 50048 + 1024 * len(cases)  # 128 elements are 512 bytes: CUDA's allocator rounds to that
    return torch.full((n,), 0.5, device=device, requires_grad=True)


def plain(x):
    a = x * x  # <- mul
    return a


def no_memory(x):
    # None of these allocates in the forward pass: the line is known from the op alone.
    a = x.view(1, -1)[0]  # <- narrow
    return a.narrow(0, 0, 7)  # <- narrow


def in_place(x):
    y = x * 1.0  # <- inplace
    y[5:9].mul_(2)  # <- inplace
    return y


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 3 * grad * x * x


def custom(x):
    return Cube.apply(x)  # <- custom


def inner(x):
    y = x.sin()  # <- reentrant nonreentrant
    return y.cos()  # <- reentrant nonreentrant


def expanded(x):
    return x.expand(3, -1)  # <- expand


def second(x):
    y = x.exp()  # <- double
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g.tanh()  # <- double


def run(function, x):
    y = function(x)
    y.sum().backward()
    x.grad = None


def main():
    run(plain, leaf("mul"))
    run(no_memory, leaf("narrow"))
    run(in_place, leaf("inplace"))
    run(custom, leaf("custom"))
    run(expanded, leaf("expand"))
    # What AccumulateGrad copies: the sum's gradient is one element, expanded.
    leaf("accumulate").sum().backward()  # <- accumulate
    run(lambda x: checkpoint(inner, x, use_reentrant=True), leaf("reentrant"))
    run(lambda x: checkpoint(inner, x, use_reentrant=False), leaf("nonreentrant"))
    run(second, leaf("double"))
    # The forward in this thread, the backward in another one.
    x = leaf("thread")
    y = (x * 3).sigmoid()  # <- thread
    z = y.sum()
    thread = threading.Thread(target=z.backward)
    thread.start()
    thread.join()
    # The forward in another one, whose sequence numbers count from 0 again.
    x, made = leaf("other"), []
    def other():
        made.append(x.exp().sum())  # <- other
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    made[0].backward()


main()
for name, n in cases.items():
    print(name, 4 * n)
'''


def record(vramtrace, python, device, work):
    program, trace = os.path.join(work, "links_program.py"), os.path.join(work, "links.vramtrace")
    with open(program, "w") as f:
        f.write(PROGRAM)
    words = subprocess.run([vramtrace, "record", "--quiet", "-o", trace] + (["--host"] if device == "cpu" else []) +
                           ["--", python, program, device], check=True, capture_output=True, text=True).stdout
    lines = {}
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        for name in line.partition("# <- ")[2].split():
            lines.setdefault(name, set()).add(number)
    return trace, dict(w.split() for w in words.splitlines() if len(w.split()) == 2), lines


def backward_lines(vramtrace, trace, device):
    """Size -> op and line of each block that a backward op allocated, over the whole run."""
    tree = json.loads(subprocess.run([vramtrace, "tree", "--json", "--run", "--by", "block,phase,line,op", trace], check=True,
                                     capture_output=True).stdout)
    found = {}
    for dev in tree["devices"]:
        nodes = {n["node"]: n for n in dev["nodes"]}
        for node in dev["nodes"]:
            if not node["self_count"]:
                continue
            labels = []
            while node["node"]:
                labels.insert(0, node["label"])
                node = nodes[node["parent"]]
            size = int(re.search(r"\+(\d+) B", labels[0]).group(1))
            if labels[1] == "backward":
                found.setdefault(size, []).append((labels[3:], labels[2]))
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
    bad = 0
    with tempfile.TemporaryDirectory(prefix="vt-links.") as work:
        trace, sizes, lines = record(os.path.abspath(options.vramtrace), python, options.device, work)
        found = backward_lines(os.path.abspath(options.vramtrace), trace, options.device)
    for name, size in sizes.items():
        blocks = found.get(int(size), [])
        have = {int(label.rpartition(":")[2]) for _, label in blocks if ":" in label}
        good = blocks and have == lines[name] and all("links_program.py:" in label for _, label in blocks)
        bad += not good
        print("%s  %-14s %2d backward blocks at lines %s" % ("PASS" if good else "FAIL", name, len(blocks), sorted(lines[name])))
        for ops, label in blocks if not good else ():
            print("      %s: %s" % (label, " > ".join(ops)))
    return 1 if bad or len(sizes) != len(lines) else 0


if __name__ == "__main__":
    sys.exit(main())
