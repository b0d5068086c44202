#!/usr/bin/env python3
"""requested.py VRAMTRACE - bytes asked for, on a real PyTorch on the CPU, whose allocator does not round: each block's
are its size, for all but the first block, and a program that is told to be left alone has none. Exit status 77 without torch.
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import torch
first = torch.empty(64)
kept = [torch.empty(n, dtype=torch.uint8) for n in (1, 7, 100, 1000, 12345)]
product = torch.randn(100, 100) @ torch.randn(100, 100)
print(sum(t.numel() for t in kept) + product.numel())
try:
    torch.empty(1 << 60, dtype=torch.uint8)
except RuntimeError:
    print("refused")
kept.append(torch.empty(777, dtype=torch.uint8))
"""


def record(vramtrace, python, work, name, environment):
    trace = os.path.join(work, name + ".vramtrace")
    done = subprocess.run([vramtrace, "record", "--host", "-o", trace, "--", python, "-c", PROGRAM], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))
    lines = subprocess.run([vramtrace, "export", "--format", "json", trace], check=True, stdout=subprocess.PIPE).stdout
    events = [json.loads(line) for line in lines.splitlines()]
    blocks = [e for e in events if e["event"] == "tensor" and e["size_bytes"] > 0]
    notes = [e for e in events if e["event"] == "note" and e["code_text"] == "bytes asked for are not captured"]
    return done.stdout, blocks, notes


def main():
    vramtrace, python = os.path.abspath(sys.argv[1]), os.environ.get("VT_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        print("SKIPPED: %s has no torch; set VT_TORCH_PYTHON" % python)
        return 77
    failures = []
    with tempfile.TemporaryDirectory(prefix="vt-requested.") as work:
        said, blocks, notes = record(vramtrace, python, work, "with", {})
        if said.split() != [b"23453", b"refused"]:
            failures.append("the program says %r" % said)
        if notes:
            failures.append("a note: %s" % notes[0].get("text_text"))
        wrong = [b for b in blocks[1:] if b["slack_bytes"] != 1]
        if len(blocks) < 9 or wrong:
            failures.append("%d blocks, %d of them with another request than their size: %s" % (len(blocks), len(wrong), wrong[:2]))
        said, blocks, notes = record(vramtrace, python, work, "without", {"VRAMTRACE_REQUESTED": "0"})
        if len(blocks) < 9 or any(b["slack_bytes"] for b in blocks) or len(notes) != 1:
            failures.append("switched off: %d blocks, %d notes" % (len(blocks), len(notes)))
    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
