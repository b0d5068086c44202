#!/usr/bin/env python3
"""views_json.py REPORT OOM OPS STACKS TREE FRAGMENTATION - checks the JSON of the reports over the trace of tests/unit/views_scenario.h."""
import json
import sys

MIB = 1 << 20


def check(condition, what):
    if not condition:
        print("FAIL:", what)
        sys.exit(1)


report, oom, ops, stacks, tree, space = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:7])
for name, command in ((report, "report"), (oom, "oom"), (ops, "ops"), (stacks, "ops"), (tree, "tree"),
                      (space, "fragmentation")):
    check(name["vramtrace"]["command"] == command and name["vramtrace"]["schema"] == 1, f"head of {command}")
    check(name["losses"] == [], "losses")
    check(name["processes"][0]["pid"] == 4242, "pid")

(device,) = report["devices"]
check(device["name"] == "Toy GPU" and device["device"] == 0 and device["device_type"] == "cuda", "device")
check(device["total_bytes"] == 1024 * MIB and device["free_bytes"] == 478 * MIB, "device bytes")
check(device["peak_allocated_bytes"] == 821 * MIB // 2 and device["peak_time_ns"] == 30_000_000, "peak")
held = sum(h["live_bytes"] for h in device["holders"]) + device["holders_rest"]["live_bytes"]
check(held == device["allocated_bytes"] == 821 * MIB // 2, "holders add up to what is allocated")
used = {c["category"]: c["live_bytes"] for c in device["estimates"]["categories"]}
check(sum(used.values()) == held, "categories add up to what is allocated")
check(used["gradient"] == 200 * MIB and used["activation"] == 200 * MIB, "categories")
check(device["sentence"].startswith("At the peak (410.50 MiB, step 1, backward)"), "sentence")
gaps = sum(level["bytes"] for level in device["levels"] if level["kind"] == "between")
check(gaps + device["allocated_bytes"] == device["total_bytes"], "levels are closed")
check(device["holders"][0]["stack"][0] == {
    "function": "Net.forward", "file": "/home/me/project/nets/model.py", "line": 21}, "stack")
check(max(device["timeline"]["max_allocated_bytes"]) == device["peak_allocated_bytes"], "timeline")
check(max(device["timeline"]["max_reserved_bytes"]) == device["peak_reserved_bytes"], "timeline's reserved")

(story,) = oom["ooms"]
check(story["requested_bytes"] == 300 * MIB and story["failed_call"]["failures"] == 2, "failed call")
check(story["free_space"]["largest_free_bytes"] == 50 * MIB, "largest free range")
check(story["other_processes_bytes"] == 500 * MIB, "other processes")
check([step["rule"] for step in story["next_steps"]] ==
      ["other_processes", "step_memory", "shortfall"], "next steps")
check(story["asker"]["op_stack"] == ["aten::mm", "aten::linear"], "asker")

(device,) = ops["devices"]
check(sum(row["self_memory_bytes"] for row in device["ops"]) == 725 * MIB // 2, "self memory adds up to what is live")
check(sum(row["live_bytes"] for row in device["ops"]) == device["live_bytes"] == 821 * MIB // 2, "live at the peak")
(device,) = stacks["devices"]
check(sum(row["allocations"] for row in device["ops"]) == 8, "allocations by stack")

(device,) = tree["devices"]
nodes = {node["node"]: node for node in device["nodes"]}
check(nodes[0]["live_bytes"] == 821 * MIB // 2 and nodes[0]["parent"] is None, "the root holds all")
below = dict.fromkeys(nodes, 0)
for node in nodes.values():
    if node["node"]:
        below[node["parent"]] += node["live_bytes"]
check(all(below[n] + node["self_bytes"] == node["live_bytes"] for n, node in nodes.items()), "a node is what is below it")
lines = [nodes[n["parent"]]["label"] for n in nodes.values() if n["label"] == "Net.forward  model.py:21"]
check(lines == ["activation"], "line below its category")

peak, error = space["moments"]
check((peak["at"], error["at"]) == ("peak", "oom") and space["out_of_memory_errors"] == 1, "moments")
for moment in space["moments"]:
    free = sum(pool["free_bytes"] for pool in moment["pools"])
    check(free == moment["reserved_bytes"] - moment["allocated_bytes"], "free ranges add up to what is unallocated")
    for pool in moment["pools"]:
        check(sum(c["free_bytes"] for c in pool["free_by_size"]) == pool["free_bytes"], "classes add up")
        check(pool["live_bytes"] + pool["free_bytes"] == pool["segment_bytes"], "segments are full of blocks and free ranges")
check(error["pools"][1]["largest_free_bytes"] == 50 * MIB and error["request"]["obstacle"] == "too_little", "the error's room")
check(error["request"]["short_bytes"] == 397 * MIB // 2, "how short")
check(peak["request"] is None and peak["pins"][0]["free_bytes"] == 10 * MIB, "pins")
