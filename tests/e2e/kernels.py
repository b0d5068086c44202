#!/usr/bin/env python3
"""kernels.py VRAMTRACE TRACE - `kernels` against a count of its own over the events of the JSON export: runs, times, the
launching op, by kernel and by op."""
import collections
import json
import subprocess
import sys

vramtrace, trace = sys.argv[1:3]
failures = []


def ask(*arguments):
    return subprocess.run([vramtrace, *arguments], check=True, stdout=subprocess.PIPE).stdout


def same(what, ours, theirs):
    if ours != theirs:
        failures.append("%s: kernels has %s, the events say %s" % (what, ours, theirs))


events = [json.loads(line) for line in ask("export", "--format", "json", "--all", trace).splitlines()]
strings = {(e["process"], e["id"]): e["text"] for e in events if e["event"] == "string" and "text" in e}
names = {(e["process"], e["id"]): (e["process"], e["name"]) for e in events if e["event"] == "kernel_config"}
launches = {(e["process"], e["correlation"]): e for e in events if e["event"] == "launch"}
kernels = [e for e in events if e["event"] == "kernel"]
by_name, by_op = collections.defaultdict(list), collections.defaultdict(list)
for kernel in kernels:
    launch = launches.get((kernel["process"], kernel["correlation"]))
    by_name[names[kernel["process"], kernel["config"]]].append(kernel["end_ns"] - kernel["start_ns"])
    by_op[launch.get("op_name", "(not known)") if launch else "(not known)"].append(kernel["end_ns"] - kernel["start_ns"])

report = json.loads(ask("kernels", "--json", "--top", "100000", trace))
same("runs", report["runs"], len(kernels))
same("time", report["busy_ns"], sum(k["end_ns"] - k["start_ns"] for k in kernels))
ours = sorted((row["busy_ns"], row["runs"], row["min_ns"], row["max_ns"]) for row in report["rows"])
same("by kernel", ours, sorted((sum(v), len(v), min(v), max(v)) for v in by_name.values()))
same("busiest first", [row["busy_ns"] for row in report["rows"]], sorted((row["busy_ns"] for row in report["rows"]), reverse=True))
same("launches seen", sum(row["launches_seen"] for row in report["rows"]),
     sum((k["process"], k["correlation"]) in launches for k in kernels))

report = json.loads(ask("kernels", "--by", "op", "--json", "--top", "100000", trace))
same("by op", {row["name"]: (row["busy_ns"], row["runs"]) for row in report["rows"]},
     {name: (sum(v), len(v)) for name, v in by_op.items()})
report = json.loads(ask("kernels", "--by", "line", "--json", "--top", "100000", trace))
same("runs by line", sum(row["runs"] for row in report["rows"]), len(kernels))
same("lines are there once", len({row["name"] for row in report["rows"]}), len(report["rows"]))

print("%d kernels, %d names, %d ops; %d differences" % (len(kernels), len(by_name), len(by_op), len(failures)))
for failure in failures:
    print("FAIL:", failure[:2000])
sys.exit(1 if failures or len(kernels) < 1000 else 0)
