#!/usr/bin/env python3
"""test_check_truth.py: check_truth.py accepts a right recording and finds each kind of wrong one."""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRUTH = [
    {"event": "driver_memory", "thread": 5, "api": "cuMemAlloc", "result": 0, "address": 4096, "size_bytes": 100},
    {"event": "driver_memory", "thread": 6, "api": "cuMemAllocAsync", "result": 0, "address": 8192, "stream": 2},
    {"event": "driver_memory", "thread": 5, "api": "cuMemFree", "result": 0, "address": 4096},
    {"event": "device_sample", "free_bytes": 7, "total_bytes": 9, "device": 0},
    {"event": "end", "program": "none"},
]
SEEN = [
    {"event": "driver_memory", "process": 1, "time_ns": 30, "start_ns": 29, "thread": 5, "api": "cuMemFree",
     "result": 0, "address": 4096, "size_bytes": 0, "stream": 0},
    {"event": "driver_memory", "process": 1, "time_ns": 20, "start_ns": 19, "thread": 5, "api": 1, "result": 0,
     "address": "0x1000", "size_bytes": 100, "stream": 0},
    {"event": "driver_memory", "process": 1, "time_ns": 21, "start_ns": 21, "thread": 6, "api": 9, "result": 0,
     "address": 8192, "size_bytes": 64, "stream": 2},
    {"event": "device_sample", "process": 1, "time_ns": 22, "free_bytes": 7, "total_bytes": 9, "device": 0},
    {"event": "op", "process": 1, "end_ns": 5},
]


def run(truth, seen, *more):
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for name, events in (("truth", truth), ("seen", seen)):
            paths.append(os.path.join(directory, name))
            with open(paths[-1], "w", encoding="utf-8") as f:
                f.writelines(json.dumps(event) + "\n" for event in events)
        done = subprocess.run([sys.executable, os.path.join(HERE, "check_truth.py"), *paths, *more],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def expect(status, words, truth, seen, *more):
    got, output = run(truth, seen, *more)
    assert got == status and words in output, f"status {got} instead of {status}, or no '{words}' in:\n{output}"


def changed(index, **columns):
    seen = copy.deepcopy(SEEN)
    seen[index].update(columns)
    return seen


def main():
    between = SEEN + [dict(SEEN[1], time_ns=25, api="cuMemHostAlloc")]
    expect(0, "3 calls and 1 samples named by the program, 0 differences", TRUTH, SEEN)
    expect(1, "size_bytes: 101 instead of 100", TRUTH, changed(1, size_bytes=101))
    expect(1, "result: 2 instead of 0", TRUTH, changed(0, result=2))
    expect(1, "api: cuMemRelease instead of cuMemFree", TRUTH, changed(0, api=15))
    expect(1, "stream: 0 instead of 2", TRUTH, changed(2, stream=0))
    expect(1, "ends before it begins", TRUTH, changed(0, start_ns=31))
    expect(1, "not recorded: api=cuMemFree", TRUTH, SEEN[1:])
    expect(1, "api: cuMemFree instead of cuMemAlloc", TRUTH, changed(1, time_ns=40))
    expect(1, "no device_sample with", TRUTH, changed(3, free_bytes=8))
    expect(1, "api: cuMemHostAlloc instead of cuMemFree", TRUTH, between)
    expect(0, "0 differences", TRUTH, between, "--allow-extra")
    expect(1, "not a call of the program", TRUTH, SEEN + [dict(SEEN[1], time_ns=50)])
    expect(1, "of which the program says nothing", TRUTH, SEEN + [dict(SEEN[1], thread=7)])
    expect(1, "did not reach its end", TRUTH[:-1], SEEN)
    expect(1, "nothing would be checked", TRUTH[-1:], SEEN)


if __name__ == "__main__":
    main()
