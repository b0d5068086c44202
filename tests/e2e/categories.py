#!/usr/bin/env python3
"""categories.py VRAMTRACE [--device cuda] [--scale large] [--model NAME] [--verbose] - categories against torch.profiler's own.

Trains the models of torch_models.py under both, and compares what each block was for that is live at the peak of torch.profiler's
memory timeline: block by block (address and size), weighed by bytes. torch.profiler follows the data flow and knows the
module's and the optimizer's tensors from its Python tracer: it is taken for the truth. At least 95% must agree.

Needs a Python with torch (this one, or $VT_TORCH_PYTHON); exit status 77 without.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

MODELS = ("mlp", "resnet50", "gpt2", "checkpoint", "reentrant")
AGREE_MIN = 0.95
# Of the bytes at the peak, the part that the profiler must have judged for a comparison to mean something. It follows data
# flow, and an input that it knows nothing of (a mask made on the way) hides all that is made from it: of GPT-2 on a GPU it
# judges 41%.
JUDGED_MIN = 1 / 3

# Their category: those of ours that mean the same. What the profiler calls autograd detail is all that a backward pass
# makes and drops; what checkpointing computes again is among it.
SAME = {
    "PARAMETER": {"parameter"},
    "GRADIENT": {"gradient"},
    "OPTIMIZER_STATE": {"optimizer_state"},
    "ACTIVATION": {"activation"},
    "INPUT": {"input"},
    "TEMPORARY": {"temporary"},
    "AUTOGRAD_DETAIL": {"temporary", "recomputed_activation"},
}

PROGRAM = r'''
import json, sys, torch
from torch.profiler import profile, ProfilerActivity

name, device, scale, out, models = sys.argv[1:]
sys.path.insert(0, models)
import torch_models

torch.manual_seed(0)
# With one thread 1x1 convolutions resize their results from nothing; torch.profiler takes all such tensors for one.
torch.set_num_threads(2)

first = torch.empty(1, device=device)  # the recording of ops begins with the first allocation
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
with profile(activities=activities, record_shapes=True, with_stack=True, profile_memory=True) as prof:
    torch_models.train(name, device, scale)

memory = prof._memory_profile()
categories = memory._categories
live, total, peak, best = {}, 0, -1, {}
for time, action, (key, version), size in memory.timeline:
    if key.device.type != device:
        continue
    kind, begins = action.name, action.name in ("PREEXISTING", "CREATE")
    total += size if begins else -abs(size) if kind == "DESTROY" else 0
    # Memory that was seen in no tensor counts, but has no address here.
    ident = (key.id, key.storage.ptr) if hasattr(key, "id") else None
    if ident and begins:
        live[ident] = [key, version, size]
    elif kind == "INCREMENT_VERSION" and ident in live:
        live[ident][1] = version + 1
    elif kind == "DESTROY":
        live.pop(ident, None)
    if total > peak:
        peak = total
        best = {k: list(v) for k, v in live.items()}
rows = []
for key, version, size in best.values():
    category = categories.get(key, version)
    rows.append({"address": key.storage.ptr, "size": size, "category": category.name if category else None})
json.dump({"peak": peak, "blocks": rows}, open(out, "w"))
'''


def run(vramtrace, python, name, options, work):
    device, here = options.device, os.path.dirname(os.path.abspath(__file__))
    program, truth = os.path.join(work, "program.py"), os.path.join(work, name + ".json")
    trace = os.path.join(work, name + ".vramtrace")
    with open(program, "w") as f:
        f.write(PROGRAM)
    record = [vramtrace, "record", "-o", trace] + (["--host"] if device == "cpu" else [])
    command = [python, program, name, device, options.scale, truth, here]
    if subprocess.run(record + ["--"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        # torch.profiler's Python tracer crashes with some Pythons (PyTorch 2.6 with 3.13), recorded or not.
        status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        if status:
            print("SKIPPED: under torch.profiler alone the program ends with status %d" % status)
            sys.exit(77)
        raise RuntimeError("the program fails under vramtrace record alone")
    tree = subprocess.run([vramtrace, "tree", "--by", "block,category", "--json", trace], check=True,
                          capture_output=True)
    with open(truth) as f:
        return json.load(f), json.loads(tree.stdout)


def our_blocks(tree, device):
    """(address, size) -> category, of the device that holds most."""
    devices = [d for d in tree["devices"] if d["device_type"] == device]
    nodes = max(devices, key=lambda d: d["nodes"][0]["live_bytes"])["nodes"]
    labels = {n["node"]: n["label"] for n in nodes}
    blocks = {}
    for node in nodes:
        if node["self_count"]:
            words = labels[node["parent"]].split()
            blocks[int(words[0], 16), int(words[1])] = node["label"]
    return blocks


def compare(name, truth, tree, device, verbose):
    ours, agree, judged, missing = our_blocks(tree, device), 0, 0, 0
    pairs = collections.Counter()
    for block in truth["blocks"]:
        mine = ours.get((block["address"], block["size"]))
        pairs[block["category"], mine] += block["size"]
        if mine is None:
            missing += block["size"]
        if block["category"]:
            judged += block["size"]
            agree += block["size"] if mine in SAME[block["category"]] else 0
    held = sum(size for _, size in ours)
    share = agree / judged if judged else 0
    print("%-12s %5.1f%% agree of %.2f MiB that the profiler judges; %.2f MiB at its peak, %.2f MiB at ours; "
          "%.2f MiB of its blocks not live at our peak"
          % (name, 100 * share, judged / 2**20, truth["peak"] / 2**20, held / 2**20, missing / 2**20))
    if verbose or share < AGREE_MIN:
        for (theirs, mine), size in pairs.most_common():
            print("    %10.3f MiB  profiler %-16s vramtrace %s" % (size / 2**20, theirs, mine))
    return share >= AGREE_MIN and judged >= truth["peak"] * JUDGED_MIN


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vramtrace")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", default="small")
    parser.add_argument("--model", action="append")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    python = os.environ.get("VT_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch.profiler._memory_profiler"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch with a memory profiler; set VT_TORCH_PYTHON" % python)
        return 77
    good = True
    with tempfile.TemporaryDirectory(prefix="vt-categories.") as work:
        for name in options.model or MODELS:
            truth, tree = run(os.path.abspath(options.vramtrace), python, name, options, work)
            good &= compare(name, truth, tree, options.device, options.verbose)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
