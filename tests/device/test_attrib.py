"""attrib.py finds what differs: its comparisons over small cases by hand."""
import attrib


def event(address, size, line, op="aten::mm"):
    frames = [{"function": "Net.forward", "file": "model.py", "line": line}] if line else []
    return {"address": address, "size_bytes": size, "stack_frames": frames, "op_name": op}


def row(address, size, line, action="alloc"):
    return [action, address, size, [["model.py", "forward", line]] if line else []]


def many(make, n=300):
    return [make(4096 * i, 512, 7) for i in range(n)]


def test_stacks():
    events, rows = many(event), many(row)
    # What was asked for is rounded up; a thread without Python has no frames.
    events += [event(8, 1024, 0), event(8, -1024, 0)]
    rows += [row(8, 1000, 0), row(8, 1000, 0, "free_requested")]
    assert attrib.compare_stacks("x", events, rows)[0]
    assert not attrib.compare_stacks("x", events, rows[:-2] + [row(8, 1000, 9), rows[-1]])[0], "a line"
    assert not attrib.compare_stacks("x", events, rows[:-2] + [row(16, 1000, 0), rows[-1]])[0], "an address"
    assert not attrib.compare_stacks("x", events, rows[:-2] + [row(8, 2000, 0), rows[-1]])[0], "a size"
    assert not attrib.compare_stacks("x", events, rows[:-1])[0], "one less"
    assert not attrib.compare_stacks("x", events[-2:], rows[-2:])[0], "too few to say anything"


def test_ops():
    events = many(event) + [event(0, -512, 0)]
    memory = [[512, 10 * i + 5, 1] for i in range(300)] + [[-512, 9000, 1]]
    ops = [["aten::linear", 0, 5000, 1], ["aten::mm", 1, 4000, 1], ["aten::add", 0, 9000, 2]]
    assert attrib.compare_ops("x", events, memory, ops)[0]
    assert not attrib.compare_ops("x", events, memory, ops[:1])[0], "the inner op"
    assert not attrib.compare_ops("x", events, memory, ops[:1] + [["aten::mm", 16, 4000, 1]])[0], "outside of it"
    assert not attrib.compare_ops("x", events, memory, ops[:1] + [["aten::mm", 1, 4000, 2]])[0], "another thread"
    assert not attrib.compare_ops("x", events[:-1], memory, ops)[0], "one less"


def test_between():
    sizes = [1, attrib.BEGIN, 5, attrib.END, attrib.END, 7]
    assert attrib.between(sizes, lambda s: s) == [attrib.BEGIN, 5, attrib.END]


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
        print("PASS ", name)
