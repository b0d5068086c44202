#!/usr/bin/env python3
"""flame.py VRAMTRACE MAKE_TRACE TRACE...: the flame graph formats against a count in Python over `export --format json`.

pprof's bytes are read by a reader of the wire format written here from pprof's own description, and, where Go is
installed, by pprof itself.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

ENGINE, STEP = "autograd::engine::evaluate_function", "ProfilerStep#"
BACKWARD = 1
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def run(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(done.returncode == status, f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode()[:300]}")
    return done.stdout


class Truth:
    """What lives when, by stacks as flame.h has them: [(function, file, line), ...], the outermost first."""

    def __init__(self, vramtrace, path):
        self.events = [json.loads(line) for line in
                       run(vramtrace, "export", "--format", "json", "--all", "--stacks", path).decode().splitlines()]
        self.nodes = {(e["process"], e["id"]): e for e in self.events if e["event"] == "op_node"}
        tensors = [e for e in self.events if e["event"] == "tensor"]
        self.devices = {(e["process"], e["device_type_text"], e["device"]) for e in tensors}
        self.total, self.live, self.peak, self.peaks = Counter(), {}, {}, defaultdict(int)
        for event in tensors:
            self.take(event)
        self.end = self.sum_up(None)

    def take(self, event):
        device = (event["process"], event["device_type_text"], event["device"])
        if event["size_bytes"] > 0:
            place = self.place(event)
            self.live[device, event["address"]] = (place, event["size_bytes"])
            self.total[place] += event["size_bytes"]
        else:
            self.live.pop((device, event["address"]), None)
        if event["allocated_bytes"] > self.peaks[device]:
            self.peaks[device] = event["allocated_bytes"]
            self.peak[device] = self.sum_up(device)

    def sum_up(self, device):
        sums = Counter()
        for (of, _), (place, size) in self.live.items():
            if device in (None, of):
                sums[place] += size
        return sums

    def place(self, event):
        """The whole stack; of backward memory, whose forward line is an estimate, the innermost op alone."""
        ops, node, backward = [], event["op"], False
        while node:
            entry = self.nodes[event["process"], node]
            node = entry["parent"]
            backward |= entry["scope"] == BACKWARD or entry["name_text"].startswith(ENGINE)
            if not entry["name_text"].startswith((ENGINE, STEP)):
                ops.append((entry["name_text"], "", 0))
        frames = [(f["function"] or "?", f["file"], f["line"]) for f in event.get("stack_frames", ())]
        stack = tuple(reversed(ops + frames)) or (("(no op and no Python line)", "", 0),)
        return ("backward", stack[-1]) if backward else stack


def merged(sums, truth):
    """Stacks with a node of autograd in them become their innermost op."""
    names = {e["name_text"] for e in truth.nodes.values() if e["scope"] == BACKWARD} | {"(autograd engine)"}
    out = Counter()
    for stack, value in sums.items():
        out[("backward", stack[-1]) if any(f[0] in names and not f[1] for f in stack) else stack] += value
    return out


def read_folded(text):
    sums = Counter()
    for line in text.decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        expect(stack not in sums, f"folded: two lines of {stack[-100:]}")
        sums[stack] += int(value)
    return sums


def as_folded(sums):
    out = Counter()
    for stack, value in sums.items():
        out[";".join(f"{name} ({os.path.basename(file)}:{line})".replace(";", ",") if file else name.replace(";", ",")
                     for name, file, line in stack)] += value
    return out


def read_speedscope(text):
    data = json.loads(text)
    expect(data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "speedscope: another schema")
    frames = [(f["name"], f.get("file", ""), f.get("line", 0)) for f in data["shared"]["frames"]]
    profiles = []
    for profile in data["profiles"]:
        expect(profile["type"] == "sampled" and profile["unit"] == "bytes", "speedscope: type or unit")
        expect(len(profile["samples"]) == len(profile["weights"]), "speedscope: samples and weights")
        expect(profile["endValue"] - profile["startValue"] == sum(profile["weights"]), "speedscope: endValue")
        sums = Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            sums[tuple(frames[i] for i in sample)] += weight
        profiles.append((profile["name"], sums))
    return profiles


def fields(data):
    """(number, value) of a message of protocol buffers, value an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            length = varint()
            yield tag >> 3, data[at:at + length]
            at += length


def packed(value):
    return [value] if isinstance(value, int) else [v for v in unpack(value)]


def unpack(data):
    value, shift = 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value, shift = 0, 0


def read_pprof(data):
    """pprof's Profile: sample_type 1, sample 2 {location 1, value 2, label 3}, location 4 {id 1, line 4 {function 1,
    line 2}}, function 5 {id 1, name 2, filename 4}, string_table 6, default_sample_type 14."""
    top = defaultdict(list)
    for number, value in fields(gzip.decompress(data)):
        top[number].append(value)
    strings = [s.decode() for s in top[6]]
    expect(strings[0] == "", "pprof: string 0 is not empty")
    types = [tuple(strings[dict(fields(t))[k]] for k in (1, 2)) for t in top[1]]
    functions = {f[1]: (strings[f.get(2, 0)], strings[f.get(4, 0)]) for f in (dict(fields(m)) for m in top[5])}
    locations = {}
    for message in top[4]:
        location = dict(fields(message))
        line = dict(fields(location[4]))
        locations[location[1]] = (*functions[line[1]], line.get(2, 0))
    sums = {name: Counter() for name, _ in types}
    for message in top[2]:
        ids, values = [], []
        for number, value in fields(message):
            if number == 1:
                ids += packed(value)
            elif number == 2:
                values += packed(value)
        stack = tuple(locations[i] for i in reversed(ids))
        expect(len(values) == len(types), "pprof: values and types")
        for (name, _), value in zip(types, values):
            sums[name][stack] += value
    return types, sums, strings[top[14][0]]


def clean(sums):
    return Counter({k: v for k, v in sums.items() if v})


def same(found, wanted, message):
    found, wanted = clean(found), clean(wanted)
    if found != wanted:
        expect(False, f"{message}: {str(found - wanted)[:400]} instead of {str(wanted - found)[:400]}")


def ask_pprof(path, type_name, wanted):
    """pprof's own word: the flat bytes of each function."""
    if not shutil.which("go"):
        return
    text = run("go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-unit=B", f"-sample_index={type_name}",
               path).decode()
    flat = Counter()
    for line in text.split("flat%", 1)[-1].splitlines()[1:]:
        words = line.split(None, 5)
        if len(words) == 6:
            flat[words[5].removesuffix(" (inline)")] += int(words[0].removesuffix("B"))
    leaves = Counter()
    for stack, value in wanted.items():
        leaves[stack[-1][0]] += value
    same(flat, leaves, f"go tool pprof -sample_index={type_name}")


def check(vramtrace, path, work):
    name = os.path.basename(path)
    truth = Truth(vramtrace, path)
    several = len(truth.devices) > 1
    peak = sum(truth.peak.values(), Counter())
    folded = {what: read_folded(run(vramtrace, "export", "--quiet", "--format", "folded", *args, path))
              for what, args in {"live": (), "end": ("--at", "end"), "total": ("--what", "total"),
                                 "temporary": ("--what", "temporary")}.items()}
    speedscope = read_speedscope(run(vramtrace, "export", "--quiet", "--format", "speedscope", path))
    file = os.path.join(work, "profile.pb.gz")
    run(vramtrace, "export", "--quiet", "--format", "pprof", "--what", "total", "-o", file, path)
    types, sums, default = read_pprof(open(file, "rb").read())
    expect(default == "alloc_space", f"{name}: pprof opens with {default}")
    expect(types == [("inuse_objects", "count"), ("inuse_space", "bytes"), ("alloc_objects", "count"),
                     ("alloc_space", "bytes"), ("temporary_objects", "count"), ("temporary_space", "bytes")],
           f"{name}: pprof's types: {types}")
    same(merged(sums["alloc_space"], truth), truth.total, f"{name}: pprof, total")
    same(merged(sums["inuse_space"], truth), peak, f"{name}: pprof, live at the peak")
    expect(sum(sums["alloc_objects"].values()) == sum(e["event"] == "tensor" and e["size_bytes"] > 0 for e in truth.events),
           f"{name}: pprof's count of allocations")
    expect(not sums["temporary_space"] - sums["alloc_space"], f"{name}: more temporary than allocated")
    for type_name in ("alloc_space", "inuse_space"):
        ask_pprof(file, type_name, sums[type_name])
    # The formats say the same.
    if not several:
        for what, type_name in (("live", "inuse_space"), ("total", "alloc_space"), ("temporary", "temporary_space")):
            same(folded[what], as_folded(clean(sums[type_name])), f"{name}: folded, {what}")
    expect(sum(folded["end"].values()) == sum(truth.end.values()), f"{name}: folded, at the end")
    expect(len(speedscope) == 3 * len(truth.devices), f"{name}: {len(speedscope)} profiles in speedscope")
    for part, type_name in (("live at the peak", "inuse_space"), ("allocated over the run", "alloc_space"),
                            ("temporary", "temporary_space")):
        together = sum((s for n, s in speedscope if part in n), Counter())
        same(together, sums[type_name], f"{name}: speedscope, {part}")
    expect("live at the peak" in speedscope[0][0], f"{name}: speedscope opens with {speedscope[0][0]}")
    return sum(truth.total.values())


def main():
    vramtrace, make, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as work:
        made = os.path.join(work, "made.vramtrace")
        run(make, made)
        for path in [made, *traces]:
            expect(check(vramtrace, path, work) > 0, f"{path}: nothing was allocated")
        # By hand, from views_scenario.h: at the OOM 8 + 0.5 + 200 + 2 * 2 + 150 MiB.
        text = run(vramtrace, "export", "--quiet", "--format", "folded", "--at", "oom", made)
        expect(sum(read_folded(text).values()) == int(362.5 * (1 << 20)), "made: live at the OOM")
        expect(b"main (train.py:30);Net.forward (model.py:21);aten::linear;aten::mm 209715200\n" in text,
               f"made: the activation at the OOM: {text.decode()}")
        run(vramtrace, "export", "--format", "folded", "--what", "all", made, status=2)
        run(vramtrace, "export", "--format", "folded", "--what", "total", "--at", "end", made, status=2)
        run(vramtrace, "export", "--format", "json", "--what", "total", made, status=2)
        run(vramtrace, "export", "--format", "folded", "--kind", "tensor", made, status=2)
        if os.path.exists("/dev/full"):
            run(vramtrace, "export", "--format", "pprof", "-o", "/dev/full", made, status=4)
    print("pprof itself agrees" if shutil.which("go") else "pprof itself was not asked: no go here")
    sys.exit(failures > 0)


main()
