"""Trains a small transformer on random data; the workload of the demo, of the tests and of the overhead benchmark.

  train.py [--device cuda|cpu] [--steps N] [--layers N] [--width N] [--leak]
           [--tool none|history|history-python|profiler] [--times FILE] [--truth FILE]

--leak   keeps a validation loss of each step without torch.no_grad, and with it the graph behind it: a classic mistake
--tool   runs the steps under one of PyTorch's own recorders, and writes its file
--times  seconds of each step after five that are not counted, as JSON
--truth  PyTorch's own counters at the end, as JSON; the process then ends without the interpreter's clean-up
"""
import argparse
import contextlib
import json
import os
import tempfile
import time

import torch
from torch import nn

import model
import truth

WARM_UP = 5
CLASSES = 1000


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--leak", action="store_true")
    parser.add_argument("--tool", choices=("none", "history", "history-python", "profiler"), default="none")
    parser.add_argument("--times")
    parser.add_argument("--truth")
    return parser.parse_args()


class Training:
    def __init__(self, options):
        torch.manual_seed(0)
        self.device = options.device
        self.model = model.build(options.layers, options.width, 8, CLASSES).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-4)
        self.x = torch.randn(8, 128, options.width)
        self.y = torch.randint(0, CLASSES, (8, 128))
        self.kept = [] if options.leak else None

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        x, y = self.x.to(self.device, non_blocking=True), self.y.to(self.device)
        loss = nn.functional.cross_entropy(self.model(x).flatten(0, 1), y.flatten())
        loss.backward()
        self.optimizer.step()
        if self.kept is not None:
            self.kept.append(self.model(x).square().mean())

    def timed_step(self):
        begin = time.perf_counter()
        self.step()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin


@contextlib.contextmanager
def recorded(tool, result):
    """Runs the body under one of PyTorch's own recorders; its file's size and the time to write it go to result."""
    path = os.path.join(tempfile.mkdtemp(prefix="vt-tool."), "out")
    if tool in ("history", "history-python"):
        stacks = {} if tool == "history" else {"stacks": "python"}
        torch.cuda.memory._record_memory_history(max_entries=10_000_000, **stacks)
        yield
        begin = time.perf_counter()
        torch.cuda.memory._dump_snapshot(path)
    elif tool == "profiler":
        from torch.profiler import ProfilerActivity, profile
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        with profile(activities=activities, profile_memory=True) as prof:
            yield
        begin = time.perf_counter()
        prof.export_chrome_trace(path)
    else:
        yield
        return
    result["tool_write_s"] = time.perf_counter() - begin
    result["tool_file_bytes"] = os.path.getsize(path)
    os.remove(path)
    os.rmdir(os.path.dirname(path))


def main():
    options = parse()
    training = Training(options)
    result = {"tool": options.tool}
    if options.times:
        for _ in range(WARM_UP):
            training.step()
    with recorded(options.tool, result):
        result["step_s"] = [training.timed_step() for _ in range(options.steps)]
    if options.times:
        with open(options.times, "w") as f:
            json.dump(result, f)
    print("%d steps on %s, the last in %.1f ms" % (options.steps, options.device, 1e3 * result["step_s"][-1]))
    if options.truth:
        truth.write_and_exit(options.truth, truth.read(options.device))


if __name__ == "__main__":
    main()
