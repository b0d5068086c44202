"""Attribution on a GPU against PyTorch's own records of the same run; one PASS or FAIL line a check, status 1: a FAIL.

  attrib.py BIN_DIR [--device cuda|cpu] [--out DIR] [--only WORD...]

stacks      _record_memory_history(stacks="python") in the recorded process: the frames of each allocation, by address,
            size and order, equal those of the trace
ops         torch.profiler(profile_memory=True) in the recorded process: each allocation's op equals the innermost op that
            the profiler has around it on that thread
categories  tests/e2e/categories.py: at least 95% of the bytes at the peak as torch.profiler's memory timeline has them
links       tests/e2e/links.py, modules: tests/e2e/modules.py: lines and modules known by hand, with the backward in threads
            that have no Python frames; compiled: tests/e2e/compiled.py, the names in torch.compile's code
"""
import argparse
import bisect
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
PYTHON = os.environ.get("VT_TORCH_PYTHON", sys.executable)
MODELS = ("resnet50", "gpt2", "checkpoint", "reentrant")
# Sizes of two blocks that mark where the other record begins and ends: small ones, which the allocator never rounds further.
BEGIN, END = 512 * 1031, 512 * 1033


# ------------------------------------------------------------------ in the recorded process

def mark(torch, size, device="cuda"):
    torch.empty(size, dtype=torch.uint8, device=device)


def record_history(torch, train, device, path):
    """The allocator's own history: [action, address, size, [[file, name, line], ...]] in its order."""
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=10_000_000)
    mark(torch, BEGIN)
    train()
    mark(torch, END)
    (trace,) = [t for t in torch.cuda.memory._snapshot()["device_traces"] if t]
    torch.cuda.memory._record_memory_history(enabled=None)
    rows = [[e["action"], e.get("addr", 0), e["size"], [[f["filename"], f["name"], f["line"]] for f in e["frames"]]]
            for e in trace if e["action"] in ("alloc", "free_requested")]
    with open(path, "w") as f:
        json.dump(rows, f)


def record_profile(torch, train, device, path):
    """The profiler's events: ops [name, begin, end, thread] and memory [size, time, thread]."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        mark(torch, BEGIN, device)
        train()
        mark(torch, END, device)
    events = prof.profiler.kineto_results.events()
    begin = (lambda e: e.start_ns()) if hasattr(events[0], "start_ns") else (lambda e: e.start_us() * 1000)
    length = (lambda e: e.duration_ns()) if hasattr(events[0], "duration_ns") else (lambda e: e.duration_us() * 1000)
    ops = [[e.name(), begin(e), begin(e) + length(e), e.start_thread_id()] for e in events if e.name() != "[memory]"]
    memory = [[e.nbytes(), begin(e), e.start_thread_id()] for e in events
              if e.name() == "[memory]" and e.device_type() == getattr(torch.autograd.DeviceType, device.upper())]
    with open(path, "w") as f:
        json.dump({"ops": ops, "memory": memory, "exact": hasattr(events[0], "start_ns")}, f)


def target(what, model, device, path):
    sys.path.insert(0, E2E)
    import torch
    import torch_models

    torch.manual_seed(0)
    torch_models.train(model, device, steps=1)

    def train():
        torch_models.train(model, device, steps=2)

    {"stacks": record_history, "ops": record_profile}[what](torch, train, device, path)


# ------------------------------------------------------------------ outside

def ask(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout


def record(vramtrace, work, what, model, device):
    """The events of the trace on the device between the marks, and the other record's file."""
    trace, truth = (os.path.join(work, "%s_%s.%s" % (what, model, end)) for end in ("vramtrace", "json"))
    subprocess.run([vramtrace, "record", "--quiet", "--force", "-o", trace] + (["--host"] if device == "cpu" else []) +
                   ["--", PYTHON, __file__, "--target", what, model, device, truth], check=True)
    events = [json.loads(line) for line in ask(vramtrace, "export", "--format", "json", "--kind", "tensor", "--stacks", trace).splitlines()]
    events = [e for e in events if e["device_type"] == (device == "cuda")]
    with open(truth) as f:
        return between(events, lambda event: event["size_bytes"]), json.load(f)


def short(name):
    """The history has co_name, the trace co_qualname."""
    return name.rpartition(".")[2]


def between(rows, size_of):
    """The rows from the first mark's to the last one's."""
    sizes = [size_of(row) for row in rows]
    return rows[sizes.index(BEGIN):sizes.index(END) + 1]


def compare_stacks(model, events, rows):
    # The history has the bytes asked for, the trace those of the block.
    order = [(e["address"], e["size_bytes"] > 0) for e in events]
    theirs = [(r[1], r[0] == "alloc") for r in rows]
    too_small = sum(abs(e["size_bytes"]) < r[2] for e, r in zip(events, rows))
    judged = with_frames = bad = 0
    example = ""
    for event, row in zip(events, rows):
        if row[0] != "alloc":
            continue
        ours = [[f["file"], short(f["function"]), f["line"]] for f in event.get("stack_frames", ())]
        want = [[file, short(name), line] for file, name, line in row[3]][:128]
        judged += 1
        with_frames += bool(want)
        if ours != want:
            bad += 1
            example = example or "; ours %s, PyTorch %s" % (ours[:3], want[:3])
    good = order == theirs and not too_small and not bad and with_frames > 200
    return good, "%s: %d allocations (%d with frames): %d stacks differ from _record_memory_history's%s%s" % (
        model, judged, with_frames, bad, "" if order == theirs and not too_small else "; addresses or sizes differ", example)


def check_stacks(vramtrace, work, model, device):
    events, rows = record(vramtrace, work, "stacks", model, device)
    return compare_stacks(model, events, between(rows, lambda row: row[2]))


def innermost_ops(ops, memory):
    """The name of the innermost op around each memory event on its thread; None outside of all."""
    names = [None] * len(memory)
    by_thread = collections.defaultdict(list)
    for i, (_, at, thread) in enumerate(memory):
        by_thread[thread].append((at, i))
    for name, begin, end, thread in sorted(ops, key=lambda o: (o[1], -o[2])):
        times = by_thread.get(thread)
        if not times:
            continue
        times.sort()
        for k in range(bisect.bisect_left(times, (begin, -1)), len(times)):
            if times[k][0] > end:
                break
            names[times[k][1]] = name
    return names


def compare_ops(model, events, memory, ops):
    same_order = [m[0] for m in memory] == [e["size_bytes"] for e in events]
    names = innermost_ops(ops, memory)
    judged = bad = 0
    example = ""
    for event, name in zip(events, names):
        if event["size_bytes"] < 0:
            continue
        judged += 1
        if event.get("op_name") != name:
            bad += 1
            example = example or "; ours %s, the profiler's %s" % (event.get("op_name"), name)
    good = same_order and judged > 200 and not bad
    return good, "%s: %d allocations: the op of %d differs from torch.profiler's%s%s" % (
        model, judged, bad, "" if same_order else "; the order of sizes differs", example)


def check_ops(vramtrace, work, model, device):
    events, truth = record(vramtrace, work, "ops", model, device)
    if not truth["exact"]:
        return None, "%s: this PyTorch's profiler rounds to microseconds: what it says of an op's memory is off" % model
    return compare_ops(model, events, between(truth["memory"], lambda row: row[0]), truth["ops"])


def check_script(vramtrace, device, script, *words):
    done = subprocess.run([sys.executable, os.path.join(E2E, script), vramtrace, "--device", device, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, VT_TORCH_PYTHON=PYTHON))
    lines = [line for line in done.stdout.splitlines() if done.returncode or line[:1] != " "]
    return done.returncode == 0, "%s: %s" % (script, "\n      ".join(lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--device", default="cuda", help="cpu: all but the stacks, to test this program")
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    vramtrace = os.path.join(os.path.abspath(options.bin_dir), "vramtrace")
    work = tempfile.mkdtemp(prefix="vt-attrib.")
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch; set VT_TORCH_PYTHON" % PYTHON)
        return 77
    device, scale = options.device, "large" if options.device == "cuda" else "small"
    jobs = [("stacks", check_stacks, (vramtrace, work, m, device)) for m in MODELS[1:]]
    jobs += [("ops", check_ops, (vramtrace, work, m, device)) for m in MODELS]
    jobs += [("categories", check_script, (vramtrace, device, "categories.py", "--scale", scale, "--model", m)) for m in MODELS]
    jobs += [("links", check_script, (vramtrace, device, "links.py")), ("modules", check_script, (vramtrace, device, "modules.py")),
             ("compiled", check_script, (vramtrace, device, "compiled.py"))]
    jobs = [j for j in jobs if (not options.only or j[0] in options.only) and (device == "cuda" or j[0] != "stacks")]
    failed, skipped, lines = 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for (name, _, _), future in [(j, pool.submit(j[1], *j[2])) for j in jobs]:
            try:
                good, text = future.result()
            except Exception as error:
                good, text = False, repr(error)
            failed += good is False
            skipped += good is None
            lines.append("%s  %-10s %s" % ({None: "SKIP", True: "PASS", False: "FAIL"}[good], name, text))
            print(lines[-1], flush=True)
    with open(os.path.join(options.out, "attrib.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    return 1 if failed else 77 if skipped == len(lines) else 0


if __name__ == "__main__":
    if sys.argv[1] == "--target":
        target(*sys.argv[2:])
    else:
        sys.exit(main())
