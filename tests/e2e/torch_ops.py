"""What the agent records of a real PyTorch run, against torch.profiler in the same run.

  torch_ops.py target EXPECTED     trains a small model on the CPU under torch.profiler(profile_memory=True)
  torch_ops.py check EXPECTED DUMP compares the profiler's account with what dump_rings printed

Two allocations of unusual sizes mark the profiled stretch in the rings.
"""
import collections
import json
import os
import sys

BEGIN, END, PLACE = 4 * 1234567, 4 * 1234577, 4 * 1234573


def line():
    return sys._getframe(1).f_lineno


def target(path):
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, record_function

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def step(number):
        # The name of a user range is a temporary string: each must be read while it is there.
        with record_function("step_%d" % number):
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    step(0)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        torch.empty(BEGIN // 4)
        for i in range(5):
            step(i)
        torch.empty(PLACE // 4); place = line()
        torch.empty(END // 4)
    events = prof.profiler.kineto_results.events()
    sizes = [e.nbytes() for e in events if e.name() == "[memory]"]
    names = [e.name() for e in events if e.name() != "[memory]"]
    # The fork of a process that follows ops: the child must neither hang nor disturb the parent's file.
    child = os.fork()
    if child == 0:
        torch.ones(10).sum()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with open(path, "w") as f:
        json.dump({"sizes": sizes, "names": names, "torch": torch.__version__, "place": place}, f)


def between(sizes):
    """From behind the free of the BEGIN block to before the END block."""
    return sizes[sizes.index(-BEGIN) + 1:sizes.index(END)]


def parent_rows(rows):
    """The rows of the one file whose process is no other one's child."""
    starts = [i for i, r in enumerate(rows) if r["kind"] == "FILE"]
    files = [rows[i:j] for i, j in zip(starts, starts[1:] + [len(rows)])]
    pids = [f[0]["pid"] for f in files]
    parents = [f for f in files if f[0]["parent_pid"] not in pids]
    assert len(parents) == 1 and len(files) == 2, "%d files, %d parents" % (len(files), len(parents))
    return parents[0]


def check(path, dump):
    with open(path) as f:
        want = json.load(f)
    with open(dump) as f:
        rows = [json.loads(row) for row in f]
    parent = parent_rows(rows)
    strings = {r["id"]: r["bytes"] for r in parent if r["kind"] == "string"}
    nodes = {r["id"]: r for r in parent if r["kind"] == "op_node"}
    name = {i: strings[n["name"]] for i, n in nodes.items()}

    def stack(op):
        while op:
            yield name[op]
            op = nodes[op]["parent"]

    notes = {r["code"]: strings.get(r["text"]) for r in parent if r["kind"] == "note"}
    # A distribution's PyTorch has its version file elsewhere: then the library's path is noted.
    assert notes[2] == want["torch"] or "libtorch_cpu.so" in notes[2], notes
    assert 3 in notes and 5 in notes, notes
    assert all(sum(r["lost"]) == 0 for r in parent if r["kind"] in ("FILE", "RING")), "events were lost"
    tensors = [r for r in parent if r["kind"] == "tensor"]
    tensors.sort(key=lambda r: r["time_ns"])
    begin = next(r["time_ns"] for r in tensors if r["size_bytes"] == -BEGIN)
    end = next(r["time_ns"] for r in tensors if r["size_bytes"] == END)

    have_sizes = between([r["size_bytes"] for r in tensors])
    want_sizes = between(want["sizes"])
    assert have_sizes == want_sizes, "sizes: %d here, %d there" % (len(have_sizes), len(want_sizes))
    print("torch %s: %d allocations and frees equal the profiler's, in order" % (want["torch"], len(have_sizes)))

    ops = [r for r in parent if r["kind"] == "op" and r["start_ns"] > begin and r["end_ns"] < end]
    have = collections.Counter(name[r["node"]] for r in ops)
    there = collections.Counter(want["names"])
    # The two marking ops themselves lie outside of the marks.
    there["aten::empty"] -= 2
    different = {k: (have[k], there[k]) for k in have | there if have[k] != there[k]}
    assert not different, "op counts (here, there): %s" % different
    print("%d ops of %d names equal the profiler's" % (sum(have.values()), len(have)))

    linked = [r for r in ops if name[r["node"]] == "AddmmBackward0"]
    forward = {r["sequence"] for r in ops if name[r["node"]] == "aten::addmm"}
    assert linked and all(r["sequence"] in forward and r["forward_thread"] == r["torch_thread"] for r in linked)
    inner = [list(stack(r["op"])) for r in tensors if begin < r["time_ns"] < end and r["size_bytes"] > 0]
    assert all(s for s in inner), "an allocation without an op"
    assert ["aten::addmm", "aten::linear", "step_3"] in inner, inner[:10]

    frames = {r["id"]: r for r in parent if r["kind"] == "frame"}
    codes = {r["id"]: r for r in parent if r["kind"] == "code"}
    stacks = {r["id"]: r for r in parent if r["kind"] == "stack"}
    for r in tensors:
        if begin < r["time_ns"] < end and r["size_bytes"] > 0:
            assert r["stack"], "an allocation without a Python line"
    mark = next(r for r in tensors if r["size_bytes"] == PLACE)
    frame = frames[stacks[mark["stack"]]["frame"]]
    code = codes[frame["code"]]
    table = strings[code["linetable"]].encode("latin-1")
    if sys.version_info >= (3, 10):
        decoded = (lambda: 0).__code__.replace(co_linetable=table, co_firstlineno=code["first_line"]).co_lines()
        lines = [n for a, b, n in decoded if a <= frame["instruction"] < b]
        assert (strings[code["qualname"]], lines) == ("target", [want["place"]]), (lines, want["place"])
        print("the line of an allocation: %s:%d" % (strings[code["qualname"]], lines[0]))


if __name__ == "__main__":
    if sys.argv[1] == "target":
        target(sys.argv[2])
    else:
        check(sys.argv[2], sys.argv[3])
