"""What `vramtrace record --host` says of a real PyTorch training equals what torch.profiler counts in the same run.

  torch_truth.py BIN_DIR           records the training, compares; exit status 77: no PyTorch (VT_TORCH_PYTHON)
  torch_truth.py target EXPECTED   the training, under torch.profiler(profile_memory=True)

The profiler is an independent count: it hooks in below PyTorch's allocator on its own. Two blocks of unusual sizes mark
where it begins and ends. Compared are every allocation and free in order, the sums, the calls of each op, and the memory
that key_averages() gives to each op.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

BEGIN, END = 4 * 1234567, 4 * 1234577
OUTSIDE = "[memory]"  # key_averages' row for what happens outside of all ops


def training_step(torch, model, optimizer, x, y, number):
    with torch.profiler.record_function("step_%d" % number):
        loss = torch.nn.functional.cross_entropy(model(x).mean(1), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def target(path):
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.Sequential(nn.Linear(32, 64), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(8, 16, 32), torch.randint(0, 10, (8,))
    training_step(torch, model, optimizer, x, y, 0)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        torch.empty(BEGIN // 4)
        for number in range(1, 6):
            training_step(torch, model, optimizer, x, y, number)
        torch.empty(END // 4)
    events = prof.profiler.kineto_results.events()
    averages = {row.key: [row.count, row.self_cpu_memory_usage] for row in prof.key_averages()}
    with open(path, "w") as f:
        json.dump({"torch": torch.__version__, "sizes": [e.nbytes() for e in events if e.name() == OUTSIDE],
                   "names": collections.Counter(e.name() for e in events if e.name() != OUTSIDE),
                   "averages": averages}, f)


def ask(vramtrace, *arguments):
    return subprocess.run([vramtrace, *arguments], stdout=subprocess.PIPE, check=True).stdout


def marked(tensors):
    """The events from the allocation of the first marking block to the free of the last one."""
    sizes = [t["size_bytes"] for t in tensors]
    return tensors[sizes.index(BEGIN):sizes.index(-END) + 1]


def ops_between(ops, first, last):
    """The ops from the one that made the first marking block to the one that made the last; both belong to it."""
    begin = max(o["start_ns"] for o in ops if o["start_ns"] < first["time_ns"] < o["end_ns"])
    end = min(o["end_ns"] for o in ops if o["start_ns"] < last["time_ns"] < o["end_ns"])
    return [o for o in ops if o["start_ns"] >= begin and o["end_ns"] <= end]


def differing(here, there):
    return {key: (here.get(key, 0), there.get(key, 0)) for key in set(here) | set(there) if here.get(key, 0) != there.get(key, 0)}


def compare(vramtrace, trace, want):
    events = [json.loads(line) for line in ask(vramtrace, "export", "--format", "json", trace).splitlines()]
    tensors = marked([e for e in events if e["event"] == "tensor" and e["device_type"] == 0])
    here = [t["size_bytes"] for t in tensors]
    assert here == want["sizes"], "%d events here, %d in the profiler" % (len(here), len(want["sizes"]))
    print("torch %s: %d allocations and frees equal the profiler's, in order: %d bytes allocated, %d freed" % (
        want["torch"], len(here), sum(s for s in here if s > 0), -sum(s for s in here if s < 0)))

    last = next(t for t in tensors if t["size_bytes"] == END)
    ops = ops_between([e for e in events if e["event"] == "op"], tensors[0], last)
    calls = collections.Counter(o["node_name"] for o in ops)
    assert not differing(calls, want["names"]), "calls (here, there): %s" % differing(calls, want["names"])
    print("%d calls of %d ops equal the profiler's" % (sum(calls.values()), len(calls)))

    memory = collections.Counter()
    for t in tensors:
        memory[t.get("op_name", OUTSIDE)] += t["size_bytes"]
    theirs = {name: row[1] for name, row in want["averages"].items()}
    assert not differing(memory, theirs), "self memory (here, there): %s" % differing(memory, theirs)
    print("the memory of each op equals key_averages()")


def check_reports(vramtrace, trace):
    """The reports add up what the events say."""
    events = [json.loads(line) for line in ask(vramtrace, "export", "--format", "json", "--kind", "tensor", trace).splitlines()]
    report = json.loads(ask(vramtrace, "report", "--json", "--at", "end", trace))
    device = next(d for d in report["devices"] if d["device_type"] == "cpu")
    allocated = [e["size_bytes"] for e in events if e["device_type"] == 0 and e["size_bytes"] > 0]
    assert (device["allocations"], device["allocations_bytes"]) == (len(allocated), sum(allocated)), device
    assert device["mismatches"] == 0 and report["losses"] == [], (device["mismatches"], report["losses"])
    print("report: %d allocations, %d bytes, nothing lost" % (len(allocated), sum(allocated)))


def main(bin_dir):
    python = os.environ.get("VT_TORCH_PYTHON", "python3")
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        print("no PyTorch in %s; set VT_TORCH_PYTHON" % python)
        sys.exit(77)
    vramtrace = os.path.join(bin_dir, "vramtrace")
    with tempfile.TemporaryDirectory(prefix="vt-truth.") as work:
        trace, expected = os.path.join(work, "run.vramtrace"), os.path.join(work, "expected.json")
        subprocess.run([vramtrace, "record", "--quiet", "--host", "-o", trace, "--", python, __file__, "target", expected], check=True)
        subprocess.run([vramtrace, "check", "--quiet", trace], check=True, stdout=subprocess.DEVNULL)
        with open(expected) as f:
            compare(vramtrace, trace, json.load(f))
        check_reports(vramtrace, trace)


if __name__ == "__main__":
    if sys.argv[1] == "target":
        target(sys.argv[2])
    else:
        main(sys.argv[1])
