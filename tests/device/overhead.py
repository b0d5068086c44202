"""What capture costs beside PyTorch's own recorders, on the same work in the same call.

  overhead.py VRAMTRACE OUT.json [--device cuda|cpu] [--rounds N] [--steps N] [--layers N] [--width N] [--budget SECONDS]

Each round starts every tool once, in a process of its own, one after the other, and each other round in reverse, so that
a machine that slows down or warms up does so to all. No round is begun when the budget would be exceeded. Given are the
medians over the rounds of each process's median step and the least step of all, and their ratios to no tool. The cost of
the collector is the CPU time of `vramtrace record` itself, sampled while it runs.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

# name -> options of `vramtrace record` (None: not under it), --tool of train.py, needs a GPU
TOOLS = {
    "none": (None, "none", False),
    "vramtrace, tensors": (["--stacks", "none", "--ops", "off"], "none", False),
    "vramtrace, ops": (["--stacks", "none"], "none", False),
    "vramtrace, ops and Python": (["--stacks", "python"], "none", False),
    "vramtrace, and kernels": (["--stacks", "python", "--kernels", "on"], "none", True),
    "_record_memory_history": (None, "history", True),
    "torch.profiler": (None, "profiler", False),
}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("vramtrace")
    parser.add_argument("out")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--budget", type=float, default=1e9)
    return parser.parse_args()


def cpu_seconds(pid):
    """User and system time of one process, its children not included."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S
    except (OSError, IndexError):
        return 0.0


class CpuWatch(threading.Thread):
    """Follows a process's CPU time until told to stop; its last look is at most 20 ms old."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seconds, self.stopped = pid, 0.0, threading.Event()

    def run(self):
        while not self.stopped.wait(0.02):
            self.seconds = max(self.seconds, cpu_seconds(self.pid))


def events_in(vramtrace, trace):
    info = subprocess.run([vramtrace, "info", "--json", trace], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(info)["events"]


def run_once(options, tool, work):
    record, own, _ = TOOLS[tool]
    times, trace = os.path.join(work, "times.json"), os.path.join(work, "run.vramtrace")
    command = [sys.executable, os.path.join(HERE, "train.py"), "--device", options.device, "--steps", str(options.steps),
               "--layers", str(options.layers), "--width", str(options.width), "--tool", own, "--times", times]
    if record is not None:
        host = ["--host"] if options.device == "cpu" else []
        command = [options.vramtrace, "record", "--force", "--quiet", "-o", trace, *host, *record, "--", *command]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watch = CpuWatch(process.pid)
    watch.start()
    said = process.communicate()[1]
    watch.stopped.set()
    if process.returncode:
        raise RuntimeError("exit status %d: %s" % (process.returncode, said.strip().rsplit("\n", 1)[-1]))
    with open(times) as f:
        result = json.load(f)
    result["wall_s"] = time.monotonic() - begin
    if record is not None:
        result.update(collector_cpu_s=watch.seconds, file_bytes=os.path.getsize(trace), events=events_in(options.vramtrace, trace))
    return result


def measure(options, work):
    tools = [t for t, (_, _, gpu) in TOOLS.items() if options.device == "cuda" or not gpu]
    rounds, failures = {t: [] for t in tools}, {}
    begin, longest = time.monotonic(), 0.0
    for number in range(options.rounds):
        started = time.monotonic()
        if started - begin + longest > options.budget:
            break
        for tool in reversed(tools) if number % 2 else tools:
            if tool in failures:
                continue
            try:
                rounds[tool].append(run_once(options, tool, work))
            except (RuntimeError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
                failures[tool] = str(error)
        longest = max(longest, time.monotonic() - started)
    return rounds, failures


def summarize(rounds):
    summary = {}
    for tool, runs in rounds.items():
        if not runs:
            continue
        row = {"rounds": len(runs), "median_ms": 1e3 * statistics.median(statistics.median(r["step_s"]) for r in runs),
               "min_ms": 1e3 * min(min(r["step_s"]) for r in runs)}
        for key in ("collector_cpu_s", "wall_s", "tool_write_s", "tool_file_bytes", "file_bytes", "events"):
            if key in runs[0]:
                row[key] = statistics.median(r[key] for r in runs)
        if row.get("events"):
            row["bytes_per_event"] = row["file_bytes"] / row["events"]
        summary[tool] = row
    for row in summary.values():
        for key in ("median", "min"):
            if "none" in summary:
                row[key + "_ratio"] = row[key + "_ms"] / summary["none"][key + "_ms"]
    return summary


def print_table(summary, failures):
    print("%-27s %6s %10s %7s %8s %7s %11s %9s %8s" % ("tool", "rounds", "median ms", "ratio", "min ms", "ratio", "file bytes",
                                                     "B/event", "CPU s"))
    for tool, row in summary.items():
        size = row.get("file_bytes", row.get("tool_file_bytes"))
        print("%-27s %6d %10.3f %7.3f %8.3f %7.3f %11s %9s %8s" % (
            tool, row["rounds"], row["median_ms"], row.get("median_ratio", 0), row["min_ms"], row.get("min_ratio", 0),
            "" if size is None else "%d" % size, "%.2f" % row["bytes_per_event"] if "bytes_per_event" in row else "",
            "%.2f" % row["collector_cpu_s"] if "collector_cpu_s" in row else ""))
    for tool, why in failures.items():
        print("%-27s failed: %s" % (tool, why))


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="vt-overhead.") as work:
        rounds, failures = measure(options, work)
    summary = summarize(rounds)
    with open(options.out, "w") as f:
        json.dump({"device": options.device, "steps": options.steps, "layers": options.layers, "width": options.width,
                   "summary": summary, "failures": failures, "rounds": rounds}, f, indent=1)
    print_table(summary, failures)
    sys.exit(bool(failures) or not summary)


if __name__ == "__main__":
    main()
