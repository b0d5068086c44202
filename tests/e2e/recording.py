"""Runs vramtrace-record for the end-to-end tests and reads what it left.

The tests are started as: TEST.py BIN_DIR FAKE_DIR, with the programs of the build and tests/fake.
"""
import atexit
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

BIN, FAKE = (os.path.abspath(p) for p in sys.argv[1:3])
RECORDER = os.path.join(BIN, "vramtrace-record")
FAKE_TORCH = os.path.join(FAKE, "fake_torch")
KILLED, EXITED = -1, 2

work = tempfile.mkdtemp(prefix="vt-e2e-", dir="/dev/shm")
atexit.register(shutil.rmtree, work, True)
for name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "VRAMTRACE_SESSION"):
    os.environ.pop(name, None)


def same(have, want, what):
    assert have == want, "%s: have %r, want %r" % (what, have, want)


def path(name):
    return os.path.join(work, name)


def start(output, *program, options=(), quiet=True, **popen):
    """Starts a recording of program into output."""
    command = [RECORDER, "record", "-o", output, *(["-q"] if quiet else []), *options, "--", *program]
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen(command, text=True, **popen)


def record(output, *program, input=None, timeout=60, **more):
    """A whole recording: returncode, stdout, stderr."""
    process = start(output, *program, **dict(more, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL))
    out, err = process.communicate(input, timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def facts(trace):
    """What tests/fake/print_facts counts in a trace; it has passed every check."""
    done = subprocess.run([os.path.join(FAKE, "print_facts"), trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    same(done.returncode, 0, "print_facts: " + done.stderr)
    found = json.loads(done.stdout)
    for name in ("unsorted", "doubled", "undefined"):
        same(found[name], 0, "%s in %s" % (name, trace))
    return found


def counted(counters):
    """Allocations, frees and OOMs that a fake_torch counted in its own shared memory."""
    with open(counters, "rb") as f:
        data = f.read(24)
    return struct.unpack("3Q", data) if len(data) == 24 else (0, 0, 0)


def total(found, name):
    return sum(p[name] for p in found["processes"])


def lost(found):
    return {kind: n for p in found["processes"] for kind, n in p["lost"].items()}


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "never: " + what
        time.sleep(0.01)


def run_tests(names):
    for name, test in sorted(names.items()):
        if name.startswith("test_"):
            begin = time.monotonic()
            test()
            print("%s: ok, %.1f s" % (name, time.monotonic() - begin), flush=True)
