"""The model of PyTorch's allocator against PyTorch's allocator, on a GPU.

  simulate.py BIN_DIR OUT_DIR

Records one varied workload under eight settings at once, with torch.cuda.memory_stats() beside each trace, and compares:
- own: the model of a run's own settings with that run: every block's address, reserved bytes after every request, errors;
- forecast: what the trace of the native run says of other settings, with what the runs under those settings measured (within
  1 %).
Prints PASS and FAIL lines. Traces and truths go to OUT_DIR; a trace is to be below 300 KB. Exit status 1: a FAIL.

  simulate.py BIN_DIR DIR --recorded   the same comparisons over what a GPU recorded before: tests/data/simulate
  simulate.py --work CASE TRUTH        the workload itself
"""
import json
import os
import subprocess
import sys

MIB = 1 << 20
GC = "garbage_collection_threshold:0.5,per_process_memory_fraction:0.02"
# name: (settings, what the workload does besides)
CASES = {
    "native": ("backend:native", "plain"),
    "expandable": ("expandable_segments:True", "plain"),
    "max_split": ("max_split_size_mb:64", "plain"),
    "roundup": ("roundup_power2_divisions:4", "plain"),
    "gc": (GC, "plain"),
    "fraction_oom": ("per_process_memory_fraction:0.02", "oom"),
    "streams": ("backend:native", "streams"),
    "graphs": ("backend:native", "graphs"),
}
FORECAST = ("expandable", "max_split", "roundup", "gc")
STATS = ("reserved_bytes.all.peak", "reserved_bytes.all.current", "allocated_bytes.all.peak", "num_alloc_retries", "num_ooms",
         "num_device_alloc", "num_device_free", "inactive_split_bytes.all.current", "segment.all.current",
         "requested_bytes.all.peak")


def churn(torch, chance, rounds, streams):
    """Tensors of many sizes that come and go in an order that depends on the seed alone."""
    held = []
    for i in range(rounds):
        if held and chance.random() < 0.48:
            held.pop(chance.randrange(len(held)))
            continue
        kind = chance.random()
        size = chance.randrange(1, 1 << 18) if kind < 0.5 else chance.randrange(1 << 18, 12 * MIB) if kind < 0.9 else \
            chance.randrange(12 * MIB, 120 * MIB)
        with torch.cuda.stream(streams[i % len(streams)]):
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        if len(held) > 40:
            held.pop(0)
        if i % 500 == 499:
            torch.cuda.empty_cache()
    return held


def train(torch, steps):
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        net(torch.randn(64 * (1 + step % 5), 512, device="cuda")).square().mean().backward()
        optimizer.step()
    return net, optimizer


def capture(torch):
    x = torch.randn(1024, 1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        (x @ x).relu()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = (x @ x).relu() + 1
    graph.replay()
    return x, y, graph


def run_out(torch):
    kept = []
    try:
        for _ in range(10000):
            kept.append(torch.empty(37 * MIB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError as error:
        return str(error)
    raise SystemExit("no out-of-memory error")


def work(case, path):
    import random
    import torch

    extra, chance = CASES[case][1], random.Random(5)
    torch.cuda.init()
    streams = [torch.cuda.current_stream()] + ([torch.cuda.Stream()] if extra == "streams" else [])
    kept = [churn(torch, chance, 2500, streams), train(torch, 8)]
    error = run_out(torch) if extra == "oom" else None
    kept.append(capture(torch) if extra == "graphs" else None)
    kept.append(churn(torch, chance, 500, streams))
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    with open(path, "w") as f:
        json.dump({"case": case, "conf": CASES[case][0], "torch": torch.__version__, "name": torch.cuda.get_device_name(),
                   "exception": error, "stats": {name: stats.get(name) for name in STATS}}, f, indent=1)
    sys.stdout.flush()
    os._exit(0)


def record(bin_dir, out):
    runs = {}
    for case, (conf, _) in CASES.items():
        base = os.path.join(out, "simulate_" + case)
        environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=conf)
        environment.pop("PYTORCH_ALLOC_CONF", None)
        command = [os.path.join(bin_dir, "vramtrace"), "record", "--force", "-o", base + ".vramtrace", "--", sys.executable,
                   os.path.abspath(__file__), "--work", case, base + ".truth.json"]
        with open(base + ".log", "wb") as log:
            runs[case] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    return [case for case, run in runs.items() if run.wait() == 0]


def simulate(bin_dir, out, case, *options):
    done = subprocess.run([os.path.join(bin_dir, "vramtrace"), "simulate", "--json", "--quiet", *options,
                           os.path.join(out, "simulate_%s.vramtrace" % case)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["devices"][0]


def truth(out, case):
    with open(os.path.join(out, "simulate_%s.truth.json" % case)) as f:
        return json.load(f)["stats"]


class Verdict:
    def __init__(self):
        self.failed = False

    def say(self, good, case, what):
        self.failed |= not good
        print("%s  simulate %-13s %s" % ("PASS" if good else "FAIL", case, what))


def check_own(verdict, bin_dir, out, case):
    device, stats = simulate(bin_dir, out, case), truth(out, case)
    agreement = device["agreement"]
    model = [p for p in device["policies"] if p["name"] == "recorded settings"][0]
    verdict.say(agreement["exact"], case, "own: %s" % json.dumps(agreement))
    for ours, theirs in (("peak_reserved_bytes", "reserved_bytes.all.peak"), ("reserved_bytes", "reserved_bytes.all.current"),
                         ("retries", "num_alloc_retries"), ("out_of_memory_errors", "num_ooms"),
                         ("device_allocations", "num_device_alloc"), ("device_frees", "num_device_free")):
        verdict.say(model[ours] == stats[theirs], case, "own: %s %s, PyTorch %s" % (ours, model[ours], stats[theirs]))
    size = os.path.getsize(os.path.join(out, "simulate_%s.vramtrace" % case))
    verdict.say(size < 300000, case, "trace of %d bytes" % size)


def check_forecast(verdict, bin_dir, out, case):
    device = simulate(bin_dir, out, "native", "--conf", CASES[case][0])
    model = [p for p in device["policies"] if p["name"] not in ("recorded settings", "(the defaults)")][0]
    measured = truth(out, case)["reserved_bytes.all.peak"]
    error = model["peak_reserved_bytes"] / measured - 1
    verdict.say(abs(error) <= 0.01, case, "forecast: peak reserved %d, measured %d (%+.3f %%)" %
                (model["peak_reserved_bytes"], measured, 100 * error))


def main():
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
    bin_dir, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    verdict, recorded = Verdict(), list(CASES) if "--recorded" in sys.argv else record(bin_dir, out)
    for case in CASES:
        if case not in recorded:
            verdict.say(False, case, "the recording failed: see simulate_%s.log" % case)
            continue
        check_own(verdict, bin_dir, out, case)
        if case in FORECAST and "native" in recorded:
            check_forecast(verdict, bin_dir, out, case)
    sys.exit(verdict.failed)


if __name__ == "__main__":
    main()
