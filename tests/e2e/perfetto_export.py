#!/usr/bin/env python3
"""perfetto_export.py VRAMTRACE MAKE_TRACE...: what `export --format perfetto` writes, decoded strictly (perfetto_trace.py) and
held against a replay of `export --format json` in Python.

Further files or recorded traces may be given after the makers. Runs under the Python that VT_PERFETTO_PYTHON names, or
any with the PyPI package `perfetto`.
"""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

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
from perfetto_trace import Malformed, Trace  # noqa: E402

TEXT_MAX = 4096
WINDOW = 1 << 15  # slices that the exporter puts in order at a time
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def same(found, wanted, message):
    if found != wanted:
        if isinstance(found, Counter):
            found, wanted = found - wanted, wanted - found
        expect(False, f"{message}: {str(found)[:300]} instead of {str(wanted)[:300]}")


def cut(text):
    return text.encode()[:TEXT_MAX].decode(errors="ignore") if text else text


def read_events(vramtrace, path, window):
    """The trace by the other exporter, split by kind."""
    out = subprocess.run([vramtrace, "export", "--format", "json", "--all", "--stacks", *window, path],
                         stdout=subprocess.PIPE, check=True)
    events = defaultdict(list)
    for line in out.stdout.decode().splitlines():
        event = json.loads(line)
        events[event["event"]].append(event)
    return events


class Replay:
    """What is live, by hand."""

    def __init__(self, events):
        self.events = events
        self.pids = {e["process"]: e["pid"] for e in events["process"]}
        self.nodes = {(e["process"], e["id"]): (e["name_text"], e["parent"]) for e in events["op_node"]}
        self.live, self.totals = {}, defaultdict(lambda: [0, 0, ()])
        self.counters, self.peaks = defaultdict(list), {}
        for event in sorted(events["tensor"], key=lambda e: e["time_ns"]):
            self.take(event)

    def stack(self, event):
        """Frames from the outermost, as the exporter shows them: Python first, then the ops."""
        frames = [(cut(f["function"] or "?"), cut(f["file"]), f["line"]) for f in event.get("stack_frames", ())]
        node = event["op"]
        ops = []
        while node:
            name, node = self.nodes[event["process"], node]
            ops.append((cut(name), "", 0))
        return tuple(reversed(ops + frames))[-256:] or (("(no op and no Python frame)", "", 0),)

    def take(self, event):
        device = (event["process"], event["device_type_text"], event["device"])
        key = (*device, event["address"])
        if event["size_bytes"] > 0:
            self.live[key] = (event["size_bytes"], self.stack(event))
        else:
            self.live.pop(key, None)
        self.counters[device].append((event["time_ns"], event["allocated_bytes"]))
        if event["allocated_bytes"] > self.peaks.get(device, (0,))[0]:
            self.peaks[device] = (event["allocated_bytes"], event["time_ns"], self.held(device))

    def held(self, device):
        groups = defaultdict(lambda: [0, 0])
        for key, (size, stack) in self.live.items():
            if key[:3] == device:
                groups[stack][0] += size
                groups[stack][1] += 1
        return {stack: tuple(values) for stack, values in groups.items()}


def device_path(replay, device, leaf):
    pid = replay.pids[device[0]]
    return lambda path: path[0] == pid and path[-1] == leaf and (
        path[2] == "cpu" if device[1] == "cpu" else path[2].split()[0] == f"{device[1]}:{device[2]}")


def find_counter(trace, replay, device, leaf):
    wanted = device_path(replay, device, leaf)
    found = [values for uuid, values in trace.counters.items() if wanted(trace.path(uuid))]
    expect(len(found) <= 1, f"{len(found)} counters {leaf} of {device}")
    return found[0] if found else []


def changes(values):
    kept, last = [], 0
    for time, value in values:
        if value != last:
            kept.append((time, value))
        last = value
    return kept


def check_memory(trace, replay, label, detail):
    for device, values in replay.counters.items():
        same(find_counter(trace, replay, device, "Allocated"), values, f"{label}: Allocated of {device}")
        reserved = [(e["time_ns"], e["reserved_bytes"]) for e in sorted(replay.events["tensor"], key=lambda e: e["time_ns"])
                    if (e["process"], e["device_type_text"], e["device"]) == device]
        if device[1] != "cpu":
            found = dict(find_counter(trace, replay, device, "Reserved"))
            expect(dict(changes(reserved)).items() <= found.items(), f"{label}: Reserved of {device}")
    samples = Counter((e["time_ns"], e["total_bytes"] - e["free_bytes"]) for e in replay.events["device_sample"])
    same(Counter((time, size) for time, _, pid, size in trace.totals if pid == 0), samples, f"{label}: device totals")
    own = Counter((e["time_ns"], replay.pids[e["process"]], e["process_bytes"])
                  for e in replay.events["device_sample"] if e["process_bytes"])
    same(Counter((time, pid, size) for time, _, pid, size in trace.totals if pid), own, f"{label}: process totals")
    if detail == "low":
        return
    found = Counter()
    for item in trace.instants:
        if trace.path(item["track"])[-1] in ("Allocations", "Frees"):
            path = trace.path(item["track"])
            found[path[0], path[-1], item["start"]] += 1
            if detail == "full":
                expect(item["weight"] in (0, item["args"]["bytes"]), f"{label}: weight of an instant")
    wanted = Counter((replay.pids[e["process"]], "Allocations" if e["size_bytes"] > 0 else "Frees", e["time_ns"])
                     for e in replay.events["tensor"])
    same(found, wanted, f"{label}: allocations and frees")


def held_around(replay, device, dumps):
    """What was live at the time of each dump, or up to a few nanoseconds before: dumps of one moment are set apart."""
    events = [e for e in sorted(replay.events["tensor"], key=lambda e: e["time_ns"])
              if (e["process"], e["device_type_text"], e["device"]) == device]
    live, at, out = {}, 0, []

    def snapshot():
        groups = defaultdict(lambda: [0, 0])
        for size, stack in live.values():
            groups[stack][0] += size
            groups[stack][1] += 1
        return {stack: tuple(values) for stack, values in groups.items()}
    for time, _ in dumps:
        states = []
        while at < len(events) and events[at]["time_ns"] < time:
            event = events[at]
            at += 1
            if event["size_bytes"] > 0:
                live[event["address"]] = (event["size_bytes"], replay.stack(event))
            else:
                live.pop(event["address"], None)
            if at == len(events) or events[at]["time_ns"] >= time - 1 - len(replay.counters) - 20:
                states.append(snapshot())
        out.append(states or [snapshot()])
    return out


def check_heaps(trace, replay, label, detail):
    ooms = Counter((e["process"], e["device"]) for e in replay.events["oom"])
    for device, (_, _, held) in replay.peaks.items():
        name = "cpu" if device[1] == "cpu" else f"cuda.gpu{device[2]}"
        dumps = trace.dumps[replay.pids[device[0]], name]
        least = 2 + min(16, ooms[device[0], device[2]])
        most = least + (0 if detail == "low" else 24)
        expect(least <= len(dumps) <= most, f"{label}: {len(dumps)} heap profiles of {device}, not {least} to {most}")
        live = [{k: v for k, v in d[1].items() if v != (0, 0)} for d in dumps]
        expect(held in live, f"{label}: no heap profile holds what {device} held at its peak")
        same(live[-1], replay.held(device), f"{label}: heap at the end")
        for dump, states in zip(live, held_around(replay, device, dumps)):
            expect(dump in states, f"{label}: a heap profile of {device} is of no moment around its time")


def is_life(trace, item):
    return any(name in ("Steps", "Largest blocks") for name in trace.path(item["track"]))


def check_lives(trace, replay, label, whole):
    """Steps one behind the other; blocks that were live, from allocation to free; categories that add up."""
    live, lives = {}, set()
    last = max(e["time_ns"] for e in replay.events["tensor"])
    for e in sorted(replay.events["tensor"], key=lambda e: e["time_ns"]):
        key = (replay.pids[e["process"]], e["address"], e["device_type_text"], e["device"])
        if e["size_bytes"] > 0:
            live[key] = (e["time_ns"], e["size_bytes"])
        elif key in live:
            lives.add((key[0], key[1], *live.pop(key), e["time_ns"]))
    open_lives = {(key[0], key[1], *life) for key, life in live.items()}
    steps, blocks = defaultdict(list), 0
    for item in filter(lambda i: is_life(trace, i), trace.slices):
        path = trace.path(item["track"])
        if path[-1] == "Steps":
            steps[path].append((item["start"], item["end"]))
            continue
        if item["name"] == "in use by kernels":
            expect(item["depth"] == 1, f"{label}: use outside of a block")
            continue
        blocks += 1
        life = (path[0], item["args"]["address"], item["start"], item["args"]["bytes"])
        expect((*life, item["end"]) in lives or (life in open_lives and item["end"] >= last), f"{label}: no such block: {life}")
        expect(item["depth"] == 0, f"{label}: blocks that overlap in a lane")
    expect(blocks >= min(100, len(lives) + len(open_lives)), f"{label}: {blocks} blocks in lanes")
    for times in steps.values():
        expect(all(a[1] == b[0] for a, b in zip(times, times[1:])), f"{label}: steps that are not one behind the other")
    groups = defaultdict(list)
    for uuid, values in trace.counters.items():
        path = trace.path(uuid)
        if "By category" in path:
            groups[path[:-2]].append(values)
    expect(groups, f"{label}: no categories")
    for path, series in groups.items():
        device = next(d for d in replay.counters if path[0] == replay.pids[d[0]] and
                      (path[2] == "cpu" if d[1] == "cpu" else path[2].split()[0] == f"{d[1]}:{d[2]}"))
        totals = dict(replay.counters[device])
        changes_at = defaultdict(dict)
        for i, values in enumerate(series):
            for time, value in values:
                changes_at[time][i] = value
        now = [0] * len(series)
        for time in sorted(changes_at):
            for i, value in changes_at[time].items():
                now[i] = value
            if time in totals and whole:
                expect(sum(now) == totals[time], f"{label}: categories at {time}: {sum(now)}, allocated {totals[time]}")


def thread_of(trace, uuid):
    return trace.path(uuid)[:2]


def check_calls(trace, replay, label):
    wanted, found = Counter(), Counter()
    names = {"driver_memory": "api_text", "launch": "api_text", "wait": "api_text", "op": "node_name"}
    for kind, name in names.items():
        for e in replay.events[kind]:
            end = e.get("end_ns", e["time_ns"] if kind != "op" else 0)
            wanted[replay.pids[e["process"]], e["thread"], cut(e.get(name)) or "?", min(e["start_ns"], end), end] += 1
    for item in trace.slices:
        if not is_life(trace, item):
            found[(*thread_of(trace, item["track"]), item["name"], item["start"], item["end"])] += 1
    same(found, wanted, f"{label}: slices")


def check_work(trace, replay, label, detail):
    wanted = Counter((replay.pids[e["process"]], "Kernel", e["start_ns"], e["end_ns"] - e["start_ns"], e["stream"])
                     for e in replay.events["kernel"])
    for e in replay.events["copy"]:
        stage = "Memory set" if e["kind_text"] == "memory set" else "Copy"
        wanted[replay.pids[e["process"]], stage, e["start_ns"], e["end_ns"] - e["start_ns"], e["stream"]] += 1
    found = Counter((s["pid"], s["stage"], s["start"], s["duration"], int(s["queue"].split()[1])) for s in trace.stages)
    same(found, wanted, f"{label}: kernels and copies")
    ids = {s["id"]: s for s in trace.stages}
    expect(len(ids) == len(trace.stages) and 0 not in ids, f"{label}: an id of two kernels")
    names = {(e["process"], e["id"]): e["name_text"] for e in replay.events["kernel_config"]}
    same(Counter(s["kernel"] for s in trace.stages if s["kernel"]),
         Counter(names[e["process"], e["config"]] for e in replay.events["kernel"] if (e["process"], e["config"]) in names),
         f"{label}: kernels' names")
    # Each launch whose work is in the file points to it: to the kernel of that number; of a graph, to the first to end.
    ends = {}
    for e in replay.events["kernel"] + replay.events["copy"]:
        key = (replay.pids[e["process"]], e["correlation"])
        if e["correlation"]:
            ends[key] = min(ends.get(key, (1 << 63, 0)), (e["end_ns"], e["start_ns"]))
    arrows, drawn = Counter(), Counter()
    for e in replay.events["launch"]:
        key = (replay.pids[e["process"]], e["correlation"])
        if key in ends:
            arrows[(key[0], e["start_ns"], *ends[key])] += 1
    for item in trace.slices:
        for target in item["launches"]:
            if target in ids:
                stage = ids[target]
                drawn[stage["pid"], item["start"], stage["start"] + stage["duration"], stage["start"]] += 1
                expect(thread_of(trace, item["track"])[0] == stage["pid"], f"{label}: an arrow to another process")
    same(drawn, arrows, f"{label}: arrows from launches")


def check_flows(trace, replay, label):
    """Forward to backward: of the forward ops of a number the last to begin, of the backward ones the outermost."""
    makers, ends = {}, {}
    for e in replay.events["op"]:
        if e["sequence"] < 0:
            continue
        key = (e["process"], e["forward_thread"] or e["torch_thread"], e["sequence"])
        place = (replay.pids[e["process"]], e["thread"], e["start_ns"])
        if e["forward_thread"]:
            ends[key] = min(ends.get(key, (place, 0)), (place, -e["end_ns"]))
        else:
            makers[key] = max(makers.get(key, place), place)
    wanted = Counter((makers[key], ends[key][0]) for key in ends if key in makers)
    begun = {flow: item for item in trace.slices for flow in item["flows"]}
    expect(len(begun) == sum(len(item["flows"]) for item in trace.slices), f"{label}: an arrow that begins twice")
    found = Counter()
    for item in trace.slices:
        for flow in item["ends"]:
            if flow in begun:
                pair = tuple((*thread_of(trace, i["track"]), i["start"]) for i in (begun[flow], item))
                found[pair] += 1
    same(found - wanted, Counter(), f"{label}: arrows that nobody wants")
    # At the end of a window the maker is not known yet: one arrow a thread and window is left out.
    missing = sum((wanted - found).values())
    expect(missing <= len(trace.slices) // WINDOW * 2, f"{label}: {missing} of {sum(wanted.values())} arrows are missing")


def check(vramtrace, path, detail, folder):
    label = f"{os.path.basename(path)}, {detail}"
    out = os.path.join(folder, "out.pftrace")
    subprocess.run([vramtrace, "export", "--quiet", "--format", "perfetto", "--detail", detail, "-o", out, path], check=True)
    replay = Replay(read_events(vramtrace, path, []))
    try:
        trace = Trace(out)
    except Malformed as error:
        expect(False, f"{label}: {error}")
        return
    expect(trace.lost == sum(e["count"] for e in replay.events["loss"]), f"{label}: the warning of lost events")
    expect(len(trace.logs) == len(replay.events["oom"]), f"{label}: OOMs in the log")
    check_memory(trace, replay, label, detail)
    check_heaps(trace, replay, label, detail)
    if detail == "low":
        expect(not trace.slices and not trace.stages, f"{label}: calls in a file of little detail")
    else:
        check_calls(trace, replay, label)
        check_work(trace, replay, label, detail)
        check_flows(trace, replay, label)
        check_lives(trace, replay, label, "perfetto_trace" not in label)
    if os.environ.get("VT_PERFETTO_SIZES"):
        for kind, (count, size) in sorted(trace.kinds.items()):
            print(f"{label}: {kind}: {count} of {size / count:.1f} bytes")


def check_sizes(vramtrace, path, folder):
    """--max-size holds, with whatever detail fits, and the peak is in all of them."""
    out = os.path.join(folder, "small.pftrace")
    replay = Replay(read_events(vramtrace, path, []))
    seen = set()
    for size in (8 << 20, 800 << 10, 300 << 10, 50 << 10):
        done = subprocess.run([vramtrace, "export", "--format", "perfetto", "--max-size", str(size), "-o", out, path],
                              stderr=subprocess.PIPE)
        if done.returncode == 2:
            expect(b"--max-size" in done.stderr, f"{path}: {done.stderr}")
            seen.add("none")
            continue
        expect(done.returncode == 0 and os.path.getsize(out) <= size, f"{path}: {os.path.getsize(out)} bytes, not {size}")
        seen.add(done.stderr.split(b": ")[1][:30])
        trace = Trace(out)
        for device, (peak, _, _) in replay.peaks.items():
            values = find_counter(trace, replay, device, "Allocated")
            expect(max((v for _, v in values), default=0) == peak, f"{path}: the peak is not in {size} bytes")
    expect(len(seen) > 2, f"{path}: sizes make no difference: {seen}")


def main():
    vramtrace, *sources = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            path = source
            if not source.endswith(".vramtrace"):
                path = os.path.join(folder, os.path.basename(source) + ".vramtrace")
                subprocess.run([source, path], check=True)
            for detail in ("normal",) if "h200" in path else ("low", "normal", "full"):
                check(vramtrace, path, detail, folder)
            if "h200_train" in path:
                check_sizes(vramtrace, path, folder)
    if failures:
        sys.exit(1)
    print("ok")


main()
