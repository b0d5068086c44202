#!/usr/bin/env python3
"""compiled.py VRAMTRACE [--device cuda] - memory of code that torch.compile made, at the program's names.

The matrix products below have results of sizes of their own, the fused operations between them too; the report must name
them by what Inductor wrote into its code, and the backward's. Exit status 77: no PyTorch (VT_TORCH_PYTHON), or it cannot
compile here.
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

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 352))
        self.other = nn.Parameter(torch.randn(352, 96))

    def forward(self, x):
        wide = x @ self.weight
        return wide.relu() @ self.other


net = torch.compile(Net().to(sys.argv[1]))
for _ in range(2):
    net(torch.randn(512, 32, device=sys.argv[1])).sum().backward()
'''
# Size of a block and phase -> what the report must say of one such block.
WANTED = {(4 * 512 * 352, "forward"): r"graph 0_forward: wide \(aten\.mm\)",
          (4 * 352 * 96, "backward"): r"graph 0_backward: .*aten\.mm\)",
          (4 * 32 * 352, "backward"): r"graph 0_backward: .*aten\.mm\)"}


def labels_of(tree):
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
            found.setdefault((size, labels[1]), []).append(labels[-1])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vramtrace")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    python, vramtrace = os.environ.get("VT_TORCH_PYTHON", sys.executable), os.path.abspath(options.vramtrace)
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch; set VT_TORCH_PYTHON" % python)
        return 77
    bad = 0
    with tempfile.TemporaryDirectory(prefix="vt-compiled.") as work:
        program, trace = os.path.join(work, "program.py"), os.path.join(work, "compiled.vramtrace")
        with open(program, "w") as f:
            f.write(PROGRAM)
        env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=os.path.join(work, "torchinductor_test"))
        plain = subprocess.run([python, program, options.device], env=env, capture_output=True, text=True)
        if plain.returncode:
            print("SKIPPED: torch.compile does not work here: %s" % (plain.stderr.strip().splitlines() or [""])[-1])
            return 77
        host = ["--host"] if options.device == "cpu" else []
        subprocess.run([vramtrace, "record", "--quiet", "-o", trace] + host + ["--", python, program, options.device], check=True, env=env)
        found = labels_of(json.loads(subprocess.run([vramtrace, "tree", "--json", "--run", "--by", "block,phase,op", trace],
                                                    check=True, capture_output=True).stdout))
    for (size, phase), pattern in WANTED.items():
        have = found.get((size, phase), [])
        good = any(re.fullmatch(pattern, label) for label in have)
        bad += not good
        print("%s  %7d bytes, %s: %s" % ("PASS" if good else "FAIL", size, phase, sorted(set(have))))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
