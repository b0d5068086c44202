#!/usr/bin/env python3
"""perfetto_sql.py VRAMTRACE SQL TRACE...: the queries of docs/perfetto.sql, held against `report --json` and `oom --json`.

SQLite answers them, over tables of the names and columns that Perfetto's trace_processor has, filled from the decoded file
(perfetto_trace.py): what a query means is tested here, not the importer.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
try:
    import perfetto.protos  # noqa: F401
except ImportError:
    python = os.environ.get("VT_PERFETTO_PYTHON")
    if python and not os.environ.get("VT_PERFETTO_RERUN"):
        os.execve(python, [python, *sys.argv], {**os.environ, "VT_PERFETTO_RERUN": "1"})
    print("SKIP: the Python package `perfetto` is not installed; set VT_PERFETTO_PYTHON to a Python that has it")
    sys.exit(77)
sys.path.insert(0, HERE)
from perfetto_trace import Trace  # noqa: E402

failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def read_queries(path):
    """{name: SQL}"""
    parts = re.split(r"^-- name: (\w+)\..*\n", open(path).read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def fill(trace):
    database = sqlite3.connect(":memory:")
    database.executescript("""
        CREATE TABLE track(id, name, parent_id); CREATE TABLE counter(track_id, ts, value);
        CREATE TABLE slice(id, ts, dur, name, track_id, arg_set_id, depth); CREATE TABLE gpu_slice(ts, dur, name);
        CREATE TABLE heap_profile_allocation(ts, upid, heap_name, callsite_id, count, size);
        CREATE TABLE stack_profile_callsite(id, parent_id, frame_id); CREATE TABLE stack_profile_frame(id, name);
        CREATE INDEX counter_by_track ON counter(track_id, ts);""")
    arguments = []
    database.create_function("extract_arg", 2, lambda number, key: arguments[number].get(key.removeprefix("debug."))
                             if number is not None else None)
    database.executemany("INSERT INTO track VALUES(?, ?, ?)",
                         [(uuid, row.name, row.parent_uuid or None) for uuid, row in trace.tracks.items()])
    for uuid, values in trace.counters.items():
        database.executemany("INSERT INTO counter VALUES(?, ?, ?)", [(uuid, time, float(value)) for time, value in values])
    for item in trace.slices + trace.instants:
        arguments.append(item["args"])
        database.execute("INSERT INTO slice VALUES(?, ?, ?, ?, ?, ?, ?)",
                         (len(arguments), item["start"], item.get("end", item["start"]) - item["start"], item["name"], item["track"],
                          len(arguments) - 1, item.get("depth", 0)))
    database.executemany("INSERT INTO gpu_slice VALUES(?, ?, ?)", [(s["start"], s["duration"], s["name"]) for s in trace.stages])
    sites = {}
    for (pid, heap), dumps in trace.dumps.items():
        before = {}
        for time, stacks in dumps:
            for stack, (size, count) in stacks.items():
                if stack not in sites:
                    sites[stack] = len(sites)
                    database.execute("INSERT INTO stack_profile_callsite VALUES(?, NULL, ?)", (sites[stack], sites[stack]))
                    database.execute("INSERT INTO stack_profile_frame VALUES(?, ?)", (sites[stack], stack[-1][0]))
                old = before.get(stack, (0, 0))
                database.execute("INSERT INTO heap_profile_allocation VALUES(?, ?, ?, ?, ?, ?)",
                                 (time, pid, heap, sites[stack], count - old[1], size - old[0]))
                before[stack] = (size, count)
    return database


def report(vramtrace, command, path, *options):
    return json.loads(subprocess.run([vramtrace, command, "--json", *options, path], stdout=subprocess.PIPE, check=True).stdout)


def check(vramtrace, queries, path, folder):
    label, out = os.path.basename(path), os.path.join(folder, "out.pftrace")
    subprocess.run([vramtrace, "export", "--quiet", "--format", "perfetto", "--detail", "full", "-o", out, path], check=True)
    trace = Trace(out)
    database = fill(trace)
    rows = {name: database.execute(query).fetchall() for name, query in queries.items()}
    at_peak, at_end = report(vramtrace, "report", path), report(vramtrace, "report", path, "--at", "end")
    errors = report(vramtrace, "oom", path)["ooms"]
    (device,), (last,) = at_peak["devices"], at_end["devices"]
    peaks = {counter: value for _, counter, value in rows["peaks"]}
    expect(peaks["Allocated"] == device["peak_allocated_bytes"], f"{label}: peaks: {peaks}")
    expect(peaks["Reserved"] == device["peak_reserved_bytes"], f"{label}: peaks: {peaks}")
    expect(peaks["Driver"] == device["peak_driver_bytes"], f"{label}: peaks: {peaks}")
    expect(rows["peak_time"][0][1:] == (device["peak_time_ns"] + at_peak["origin_ns"], device["peak_allocated_bytes"]),
           f"{label}: peak_time: {rows['peak_time']}")
    expect(sum(r[2] for r in rows["held_by_stack"]) == last["allocated_bytes"], f"{label}: held_by_stack")
    expect(sum(r[3] for r in rows["held_by_stack"]) == last["live_blocks"], f"{label}: held_by_stack, blocks")
    expect(max(r[3] for r in rows["steps"]) == device["peak_allocated_bytes"], f"{label}: steps: {rows['steps'][:3]}")
    categories = {c["category"]: c["live_bytes"] for c in device["estimates"]["categories"]}
    found = dict(rows["categories_at_peak"])
    expect(found == {k: v for k, v in categories.items() if v}, f"{label}: categories_at_peak: {found}, report: {categories}")
    expect(sum(r[1] for r in rows["allocations_by_op"]) == device["allocations"], f"{label}: allocations_by_op")
    expect(sum(r[2] for r in rows["allocations_by_op"]) == device["allocations_bytes"], f"{label}: allocations_by_op, bytes")
    expect([r[1:] for r in rows["out_of_memory"]] ==
           [(e["requested_bytes"], e["allocated_bytes"], e["reserved_bytes"]) for e in errors], f"{label}: out_of_memory")
    expect(len(rows["largest_blocks"]) >= min(100, device["allocations"]), f"{label}: largest_blocks: {len(rows['largest_blocks'])}")
    expect(sum(r[1] for r in rows["kernels"]) == len(trace.stages), f"{label}: kernels")
    expect(sum(r[1] for r in rows["lost"]) == sum(l["count"] for l in at_peak["losses"]), f"{label}: lost")


def main():
    vramtrace, sql, *traces = sys.argv[1:]
    queries = read_queries(sql)
    expect(len(queries) == 10 and traces, f"{len(queries)} queries, {len(traces)} traces")
    with tempfile.TemporaryDirectory() as folder:
        for path in traces:
            check(vramtrace, queries, path, folder)
    sys.exit(failures > 0)


main()
