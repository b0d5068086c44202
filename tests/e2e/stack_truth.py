#!/usr/bin/env python3
"""stack_truth.py BIN_DIR [MODEL...] - Python stacks of real PyTorch allocations and ops, against CPython's own frames.

  stack_truth.py target MODEL EXPECTED   trains a model of torch_models.py under sys.setprofile

The interpreter calls a profile function before and after every C function that Python calls. What is allocated and which
op begins between the two on that thread, but not inside of something that Python called meanwhile, did so below exactly
those frames: their files, names and lines are noted, and must be those of the trace. What happens outside of all C calls
(operators) is not judged. Exit status 77: no PyTorch (VT_TORCH_PYTHON).
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

DEPTH_MAX = 128


class Calls:
    """Notes [begin, end, stack number or None for Python's own functions] of each call, by thread."""

    def __init__(self):
        self.stacks, self.numbers = [], {}
        self.by_thread = collections.defaultdict(list)
        self.open = threading.local()

    def number(self, frame):
        stack = []
        while frame and len(stack) < DEPTH_MAX:
            code = frame.f_code
            stack.append((code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno))
            frame = frame.f_back
        key = tuple(stack)
        if key not in self.numbers:
            self.numbers[key] = len(self.stacks)
            self.stacks.append(stack)
        return self.numbers[key]

    def __call__(self, frame, event, argument):
        if not hasattr(self.open, "list"):
            self.open.list, self.open.done = [], self.by_thread[threading.get_native_id()]
        if event in ("call", "c_call"):
            number = self.number(frame) if event == "c_call" else None
            self.open.list.append([time.monotonic_ns(), 0, number])
        elif self.open.list:
            call = self.open.list.pop()
            call[1] = time.monotonic_ns()
            self.open.done.append(call)


def target(model, path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import torch
    import torch_models

    torch.set_num_threads(1)
    torch_models.train(model, "cpu", steps=1)
    calls = Calls()
    threading.setprofile(calls)

    def other():
        torch_models.train("mlp", "cpu", steps=1)

    thread = threading.Thread(target=other)
    sys.setprofile(calls)
    torch_models.train(model, "cpu", steps=2)
    thread.start()
    thread.join()
    sys.setprofile(None)
    with open(path, "w") as f:
        json.dump({"stacks": calls.stacks, "calls": calls.by_thread}, f)


def innermost(calls, times):
    """For each time the innermost of the calls around it, or None."""
    marks = sorted([(c[0], 1, -c[1], c) for c in calls] + [(c[1], 0, 0, c) for c in calls] + [(t, 2, 0, None) for t in times],
                   key=lambda m: m[:3])
    open_calls, found = [], {}
    for at, kind, _, call in marks:
        if kind == 1:
            open_calls.append(call)
        elif kind == 0:
            while open_calls and open_calls.pop() is not call:
                pass
        else:
            found[at] = open_calls[-1] if open_calls else None
    return found


def events_of(lines):
    """(kind, thread) -> [(time, frames)] of allocations, and of ops that autograd counts as they began."""
    found = collections.defaultdict(list)
    for event in map(json.loads, lines):
        frames = [(f["function"], f["file"], f["line"]) for f in event.get("stack_frames", ())]
        if event["event"] == "tensor" and event["size_bytes"] > 0:
            found["allocations", str(event["thread"])].append((event["time_ns"], frames))
        elif event["event"] == "op" and event["sequence"] >= 0:
            found["ops", str(event["thread"])].append((event["start_ns"], frames))
    return found


def compare(model, kind, want, events):
    judged = bad = 0
    for thread, calls in want["calls"].items():
        mine = events[kind, thread]
        found = innermost(calls, [time for time, _ in mine])
        for at, ours in mine:
            call = found[at]
            if not call or call[2] is None:
                continue
            judged += 1
            theirs = [(name, file, line) for file, name, line in want["stacks"][call[2]]]
            bad += ours != theirs
            if ours != theirs and bad <= 3:
                print("    ours %s\n    CPython %s" % (ours[:4], theirs[:4]))
    good = judged > 300 and not bad
    print("%s  %-12s %5d %s below C calls of %d threads: %d stacks differ from CPython's"
          % ("PASS" if good else "FAIL", model, judged, kind, len(want["calls"]), bad))
    return good


def main(bin_dir, models):
    python = os.environ.get("VT_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch; set VT_TORCH_PYTHON" % python)
        return 77
    vramtrace, good = os.path.join(os.path.abspath(bin_dir), "vramtrace"), True
    with tempfile.TemporaryDirectory(prefix="vt-stacks.") as work:
        for model in models or ("gpt2", "checkpoint"):
            trace, expected = os.path.join(work, "run.vramtrace"), os.path.join(work, "expected.json")
            subprocess.run([vramtrace, "record", "--force", "--quiet", "--host", "-o", trace, "--", python, __file__, "target",
                            model, expected], check=True)
            events = subprocess.run([vramtrace, "export", "--format", "json", "--kind", "tensor,op", "--stacks", trace], check=True,
                                    stdout=subprocess.PIPE).stdout
            with open(expected) as f:
                want, events = json.load(f), events_of(events.splitlines())
            good &= compare(model, "allocations", want, events)
            good &= compare(model, "ops", want, events)
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1] == "target":
        target(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
