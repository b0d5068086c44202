"""Marks, steps and ranges of a program, through vramtrace.h, NVTX, and Python, in a recording and without one.

VT_NVTX_PYTHON names a Python that has the package nvtx; without it the real NVTX is left out.
"""
import json
import os
import subprocess
import sys

from recording import BIN, FAKE, path, record, run_tests, same

PROGRAM = os.path.join(FAKE, "marks_program")
NVTX_PYTHON = os.environ.get("VT_NVTX_PYTHON", sys.executable)
CTYPES = """
import ctypes
process = ctypes.CDLL(None)
print(hasattr(process, "vramtrace_agent_mark"))
if hasattr(process, "vramtrace_agent_mark"):
    process.vramtrace_agent_step(ctypes.c_uint64(2**40))
    process.vramtrace_agent_range_push(b"forward")
    process.vramtrace_agent_mark(b"inside")
    process.vramtrace_agent_range_pop()
"""
NVTX = """
import nvtx
@nvtx.annotate("train", domain="app")
def train():
    with nvtx.annotate("inner"):
        nvtx.mark("here", domain="app")
train()
nvtx.end_range(nvtx.start_range("loading"))
"""


def events(trace, *kinds):
    done = subprocess.run([os.path.join(BIN, "vramtrace"), "export", "--format=json", "--kind=" + ",".join(kinds), trace],
                          stdout=subprocess.PIPE, text=True, timeout=60)
    same(done.returncode, 0, "export")
    return [json.loads(line) for line in done.stdout.splitlines()]


def nodes(trace):
    done = subprocess.run([os.path.join(BIN, "vramtrace"), "export", "--format=json", "--all", trace],
                          stdout=subprocess.PIPE, text=True, timeout=60)
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines()) if row["event"] == "op_node"}


def op_path(tree, node):
    names = []
    while node:
        names.append(tree[node]["name_text"])
        node = tree[node]["parent"]
    return names


def test_ranges_own_what_is_allocated_inside():
    trace = path("marks.vramtrace")
    done = record(trace, PROGRAM)
    same((done.returncode, done.stdout), (0, "tool\n"), done.stderr)
    tree = nodes(trace)
    allocs = [e for e in events(trace, "tensor") if e["size_bytes"] > 0]
    same([op_path(tree, e["op"]) for e in allocs], [["layer", "forward"]] * 3 + [[]], "ops of allocations")
    marks = events(trace, "mark")
    same([(m["kind_text"], m.get("name_text"), m["value"]) for m in marks],
         [("step", "step", 0), ("step", "step", 1), ("step", "step", 2), ("mark", "written", 0)], "marks")
    ops = events(trace, "op")
    same([o["node_name"] for o in ops], ["layer", "forward"] * 3, "op events")
    assert {tree[o["node"]]["scope_text"] for o in ops} == {"range of NVTX"}, tree


def test_without_a_recording_nothing_happens():
    done = subprocess.run([PROGRAM], stdout=subprocess.PIPE, text=True, timeout=30)
    same((done.returncode, done.stdout), (0, "no tool\n"), "alone")


def test_the_users_tool_stays():
    trace = path("taken.vramtrace")
    os.environ["NVTX_INJECTION64_PATH"] = "/nonexistent/tool.so"
    try:
        done = record(trace, PROGRAM, quiet=False)
    finally:
        del os.environ["NVTX_INJECTION64_PATH"]
    same((done.returncode, done.stdout), (0, "no tool\n"), done.stderr)
    assert "NVTX_INJECTION64_PATH is set already" in done.stderr, done.stderr
    same(len(events(trace, "mark")), 4, "marks of vramtrace.h")


def test_python_through_ctypes():
    trace = path("ctypes.vramtrace")
    same(subprocess.run([sys.executable, "-c", CTYPES], stdout=subprocess.PIPE, text=True).stdout, "False\n", "alone")
    done = record(trace, sys.executable, "-c", CTYPES)
    same((done.returncode, done.stdout), (0, "True\n"), done.stderr)
    same([(m["kind_text"], m["value"], m.get("op_name")) for m in events(trace, "mark")],
         [("step", 2**40, None), ("mark", 0, "forward")], "marks")


def test_the_real_nvtx_of_python():
    if subprocess.run([NVTX_PYTHON, "-c", "import nvtx"], stderr=subprocess.DEVNULL).returncode != 0:
        print("  no package nvtx in %s (VT_NVTX_PYTHON): left out" % NVTX_PYTHON)
        return
    trace = path("nvtx.vramtrace")
    done = record(trace, NVTX_PYTHON, "-c", NVTX)
    same(done.returncode, 0, done.stderr)
    tree = nodes(trace)
    same([op_path(tree, o["node"]) for o in events(trace, "op")], [["inner", "app: train"], ["app: train"]], "ops")
    same([(m["kind_text"], m["name_text"], m.get("op_name")) for m in events(trace, "mark")],
         [("mark", "app: here", "inner"), ("range", "loading", None)], "marks")


run_tests(globals())
