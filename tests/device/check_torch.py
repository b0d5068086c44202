"""Compares what vramtrace says of a trace with what PyTorch said in the recorded process, to the byte.

  check_torch.py VRAMTRACE TRACE TRUTH LABEL

TRUTH is what truth.py wrote. One line a number: PASS or FAIL, both values where they differ. Exit status 1: a FAIL.
"""
import json
import re
import subprocess
import sys

# Words of torch.cuda.memory_stats -> words of `vramtrace report --json --at end`.
CURRENT = {"allocated_bytes.all.current": "allocated_bytes", "reserved_bytes.all.current": "reserved_bytes",
           "allocated_bytes.all.peak": "peak_allocated_bytes", "reserved_bytes.all.peak": "peak_reserved_bytes"}
COUNTS = {"allocation.all.allocated": "allocations", "allocation.all.freed": "frees",
          "allocation.all.current": "live_blocks", "allocated_bytes.all.allocated": "allocations_bytes",
          "allocated_bytes.all.freed": "frees_bytes"}
# What the exception's text says, and where `vramtrace oom --json` has it. The last four: backend cudaMallocAsync.
EXCEPTION = (("tried_bytes", r"Tried to allocate ([\d.]+ \w+)"), ("total_bytes", r"total capacity of ([\d.]+ \w+)"),
             ("free_bytes", r"of which ([\d.]+ \w+) is free"), ("process_bytes", r"this process has ([\d.]+ \w+)"),
             ("allocated_bytes", r"allocated memory ([\d.]+ \w+) is allocated by PyTorch"),
             ("unallocated_bytes", r"([\d.]+ \w+) is reserved by PyTorch but unallocated"),
             ("allocated_bytes", r"Currently allocated\s*: ([\d.]+ \w+)"), ("requested_bytes", r"Requested\s*: ([\d.]+ \w+)"),
             ("total_bytes", r"Device limit\s*: ([\d.]+ \w+)"), ("free_bytes", r"Free \(according to CUDA\)\s*: ([\d.]+ \w+)"))


class Check:
    def __init__(self, label):
        self.label = label
        self.failed = False

    def equal(self, what, ours, theirs):
        same = ours == theirs
        self.failed |= not same
        print("%s  %-14s %-34s %s" % ("PASS" if same else "FAIL", self.label, what,
                                      theirs if same else "vramtrace %s, PyTorch %s" % (ours, theirs)))


def ask(vramtrace, *arguments):
    return json.loads(subprocess.run([vramtrace, *arguments, "--json"], check=True, stdout=subprocess.PIPE).stdout)


def cuda_device(report):
    found = [d for d in report["devices"] if d["device_type"] == "cuda" and d["device"] == 0]
    return found[0] if len(found) == 1 else {}


def size_text(size):
    """As PyTorch's exception writes a size (c10/cuda/CUDACachingAllocator.cpp, format_size)."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size > unit:
            return "%.2f %s" % (size / unit, name)
    return "%d bytes" % size


def check_stats(check, report, truth):
    device, stats = cuda_device(report), truth["stats"]
    # The stream-ordered backend keeps these four alone; the rest of its memory_stats stays 0.
    words = dict(CURRENT, **COUNTS) if truth["backend"] == "native" else CURRENT
    for theirs, ours in words.items():
        check.equal(theirs, device.get(ours), stats.get(theirs))
    for kind in ("current", "peak") if truth["backend"] == "native" else ():
        theirs = "requested_bytes.all." + kind
        if theirs in stats:
            check.equal(theirs, device.get("peak_requested_bytes" if kind == "peak" else "requested_bytes"), stats[theirs])
    check.equal("mem_get_info total", device.get("total_bytes"), truth["total_bytes"])


def check_exception(check, ooms, truth):
    """The numbers of the exception's text are rounded; ours, rounded alike, must give the same words."""
    text, last = truth["exception"], ooms[-1] if ooms else {}
    for ours, pattern in EXCEPTION:
        said = re.search(pattern, text)
        if said:
            value = last.get(ours)
            check.equal("exception: " + ours, None if value is None else size_text(value), said.group(1))


def check_ooms(check, vramtrace, trace, truth):
    ooms = ask(vramtrace, "oom", trace)["ooms"]
    expected = truth["stats"].get("num_ooms", 0) if truth["backend"] == "native" else int(truth["exception"] is not None)
    check.equal("num_ooms", len(ooms), expected)
    if truth["exception"]:
        check_exception(check, ooms, truth)


def main():
    vramtrace, trace, truth_path, label = sys.argv[1:]
    check = Check(label)
    with open(truth_path) as f:
        truth = json.load(f)
    report = ask(vramtrace, "report", "--at", "end", trace)
    check_stats(check, report, truth)
    check.equal("events lost", sum(loss["count"] for loss in report["losses"]), 0)
    check.equal("totals that moved differently", cuda_device(report).get("mismatches"), 0)
    check_ooms(check, vramtrace, trace, truth)
    whole = subprocess.run([vramtrace, "check", trace], stdout=subprocess.DEVNULL).returncode
    check.equal("vramtrace check", whole, 0)
    sys.exit(check.failed)


if __name__ == "__main__":
    main()
