"""What the agent costs: ns per tensor report and per op, measured inside C loops of the fakes.

  bench_agent.py FAKE_DIR

Run under the agent (LD_PRELOAD, VRAMTRACE_SESSION) or without it; see bench_agent.sh. Prints name and median ns.
"""
import ctypes
import os
import statistics
import sys

BATCHES, EVENTS = 21, 2000  # 42,000 events fit a ring of 4 MiB: nobody drains it here


def library(name):
    return ctypes.CDLL(os.path.join(sys.argv[1], name), mode=ctypes.RTLD_GLOBAL)


def below(depth, run):
    if depth > 1:
        return below(depth - 1, run)
    return run(EVENTS)


def median(run, depth):
    return statistics.median(below(depth, run) for _ in range(BATCHES))


which, depth = sys.argv[2], int(sys.argv[3])
aten = library("libtorch_cpu.so")
c10 = library("libc10.so")
report, op = c10.fake_c10_bench, aten.fake_op_bench
for run in report, op:
    run.restype, run.argtypes = ctypes.c_double, [ctypes.c_uint64]
if which == "op":
    report(1)  # the agent starts, and registers its callback, at the first report
print("%.1f" % median(report if which == "report" else op, depth))
