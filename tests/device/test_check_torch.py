"""check_torch.py passes a truth that is right and fails every number that is not.

  test_check_torch.py BIN_DIR

The trace is the hand-made one of tests/unit/views_scenario.c; the truth below is what PyTorch would have said of it.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
TEXT = ("CUDA out of memory. Tried to allocate 300.00 MiB. GPU 0 has a total capacity of 1024.00 MiB of which 42.00 MiB is free. "
        "Including non-PyTorch memory, this process has 482.00 MiB memory in use. Of the allocated memory 362.50 MiB is "
        "allocated by PyTorch, and 59.50 MiB is reserved by PyTorch but unallocated.")


def truth(report):
    device = report["devices"][0]
    stats = {"allocated_bytes.all.current": 725 * MIB // 2, "reserved_bytes.all.current": 422 * MIB,
             "allocated_bytes.all.peak": device["peak_allocated_bytes"], "reserved_bytes.all.peak": 422 * MIB,
             "allocation.all.allocated": device["allocations"], "allocation.all.freed": device["frees"],
             "allocation.all.current": device["allocations"] - device["frees"],
             "allocated_bytes.all.allocated": device["allocations_bytes"],
             "allocated_bytes.all.freed": device["allocations_bytes"] - 725 * MIB // 2, "num_ooms": 1}
    return {"backend": "native", "stats": stats, "exception": TEXT, "total_bytes": 1024 * MIB, "free_bytes": 42 * MIB}


def check(vramtrace, trace, said, path):
    with open(path, "w") as f:
        json.dump(said, f)
    done = subprocess.run([sys.executable, os.path.join(HERE, "check_torch.py"), vramtrace, trace, path, "hand-made"],
                          stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    return done.returncode, [line for line in lines if line.startswith("FAIL")], len(lines)


def main():
    vramtrace = os.path.join(sys.argv[1], "vramtrace")
    with tempfile.TemporaryDirectory(prefix="vt-check.") as work:
        trace, path = os.path.join(work, "made.vramtrace"), os.path.join(work, "truth.json")
        subprocess.run([os.path.join(sys.argv[1], "make_views_trace"), trace], check=True)
        report = json.loads(subprocess.run([vramtrace, "report", "--json", "--at", "end", trace], check=True, stdout=subprocess.PIPE).stdout)
        right = truth(report)
        status, failed, lines = check(vramtrace, trace, right, path)
        assert (status, failed) == (0, []) and lines == 20, (status, failed, lines)
        for name in right["stats"]:
            wrong = dict(right, stats=dict(right["stats"], **{name: right["stats"][name] + 1}))
            status, failed, lines = check(vramtrace, trace, wrong, path)
            assert status == 1 and len(failed) == 1 and name in failed[0], (name, failed)
        for old, new in (("300.00", "301.00"), ("42.00", "42.01"), ("482.00", "480.00"), ("362.50", "362.49"), ("59.50", "59.00")):
            status, failed, lines = check(vramtrace, trace, dict(right, exception=TEXT.replace(old, new)), path)
            assert status == 1 and len(failed) == 1 and new in failed[0], (new, failed)
    print("20 numbers, each of which was caught when it was wrong")


if __name__ == "__main__":
    main()
