#!/usr/bin/env python3
"""ops_key_averages.py VRAMTRACE - `ops` against torch.profiler's key_averages() of the same run, on the CPU.

Needs a Python with torch (this one, or $VT_TORCH_PYTHON); exit status 77 without. The program runs on one thread, where
both count the same: calls, self memory and total memory of every op, to the byte.
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import json, sys, torch, torch.nn as nn
from torch.profiler import profile, ProfilerActivity
torch.set_num_threads(1)
torch.manual_seed(0)
first = torch.empty(1)  # the recording of ops begins with the first allocation
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.LayerNorm(256), nn.Linear(256, 64))
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(3):
        x = torch.randn(128, 64)
        with torch.profiler.record_function("forward"):
            loss = ((net(x) - x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
rows = [{"op": e.key, "calls": e.count, "self": e.self_cpu_memory_usage, "total": e.cpu_memory_usage}
        for e in prof.key_averages()]
json.dump(rows, open(sys.argv[1], "w"))
"""


def main():
    vramtrace = os.path.abspath(sys.argv[1])
    python = os.environ.get("VT_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch.profiler"], capture_output=True).returncode:
        print(f"{python} has no torch")
        return 77
    with tempfile.TemporaryDirectory() as work:
        program, truth, trace = (os.path.join(work, name) for name in ("program.py", "truth.json", "run.vramtrace"))
        with open(program, "w") as out:
            out.write(PROGRAM)
        subprocess.run([vramtrace, "record", "--quiet", "--host", "-o", trace, "--", python, program, truth], check=True)
        ours = json.loads(subprocess.run([vramtrace, "ops", "--json", "--top", "100000", trace], check=True,
                                         capture_output=True).stdout)
        with open(truth) as file:
            theirs = {row["op"]: row for row in json.load(file)}
    check(ours["losses"] == [], "nothing was lost")
    (device,) = [d for d in ours["devices"] if d["device_type"] == "cpu"]
    compare({row["op"]: row for row in device["ops"]}, theirs)
    return 0


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL: {what}")


def compare(ours, theirs):
    same = 0
    for op, row in sorted(theirs.items()):
        # Rows of the profiler itself: what happened outside all ops, and its own ranges.
        if op == "[memory]" or op.startswith("ProfilerStep"):
            continue
        mine = ours.get(op)
        check(mine, f"{op} is in both")
        for key, name in (("calls", "calls"), ("self", "self_memory_bytes"), ("total", "total_memory_bytes")):
            check(mine[name] == row[key], f"{op}: {name} {mine[name]}, key_averages {row[key]}")
        same += 1
    check(same > 30, f"only {same} ops were compared")
    print(f"{same} ops: calls, self and total memory are equal")


if __name__ == "__main__":
    sys.exit(main())
