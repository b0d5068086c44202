"""The modules of torch.nn that the agent finds in Python's frames, against the program's own record of its calls.

  python_modules.py target LIBC10 EXPECTED   calls modules whose base class lies in a file as PyTorch's does, and allocates
                                             (through the fake libc10) inside
  python_modules.py check EXPECTED DUMP      compares those with what dump_rings printed

Each allocation has a size of its own, by which the two sides find each other.
"""
import ctypes
import json
import os
import sys
import tempfile

CUDA0 = 1
# As in PyTorch 2: a plain function around one whose `self` is in a cell; and as in 1.13: one function.
MODULE = '''
class Module:
    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        def inner():
            return self.forward(*args, **kwargs)
        return inner()

    def _apply(self, function):
        function(self)

    __call__ = _wrapped_call_impl
'''
OLD_MODULE = '''
class Module:
    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def _apply(self, function):
        function(self)

    __call__ = _call_impl
'''
expected = {}
calls = []
size = 0
alloc = None


def take(stack):
    global size
    size += 512
    alloc(size, CUDA0)
    expected[size] = list(stack)


def load(text, work):
    path = os.path.join(work, "torch/nn/modules")
    os.makedirs(path, exist_ok=True)
    path = os.path.join(path, "module.py")
    names = {}
    exec(compile(text, path, "exec"), names)
    return names["Module"]


def run(base):
    class Leaf(base):
        def forward(self, depth):
            calls.append(["Leaf", id(self)])
            take(calls)
            calls.pop()

    class Slots(base):
        __slots__ = ("inner",)

        def __init__(self, inner):
            self.inner = inner

        def forward(self, depth):
            calls.append(["Slots", id(self)])
            take(calls)
            for module in self.inner:
                module(depth)
            take(calls)
            calls.pop()

    class Again(base):
        """Calls itself."""

        def forward(self, depth):
            calls.append(["Again", id(self)])
            take(calls)
            if depth:
                self(depth - 1)
            calls.pop()

    leaves = [Leaf() for _ in range(3)]
    leaves[1]._apply(lambda module: take([["Leaf", id(module)]]))
    blocks = [Slots(leaves), Slots(leaves[:1] + [Leaf()]), Slots([Again()])]
    for _ in range(2):
        take([])
        Slots(blocks)(0) if _ else blocks[0](0)
        for block in blocks:
            block(3)


def target(library, path):
    global alloc
    alloc = ctypes.CDLL(library).fake_alloc
    alloc.argtypes = [ctypes.c_int64, ctypes.c_uint16]
    with tempfile.TemporaryDirectory() as work:
        bases = [load(MODULE, work), load(OLD_MODULE, work)]
    for base in bases:
        run(base)
    with open(path, "w") as f:
        json.dump(expected, f)


def once(path):
    """A module that calls itself is one in two frames of a call, and so stands for one."""
    return [m for i, m in enumerate(path) if not i or m != path[i - 1]]


def check(expected, dump):
    with open(expected) as f:
        want = {int(k): once(v) for k, v in json.load(f).items()}
    with open(dump) as f:
        rows = [json.loads(row) for row in f]
    strings = {r["id"]: r["bytes"] for r in rows if r["kind"] == "string"}
    stacks = {r["id"]: r for r in rows if r["kind"] == "stack"}
    modules = {r["id"]: [strings[r["class"]], r["address"]] for r in rows if r["kind"] == "module"}
    bad = 0
    for row in rows:
        if row["kind"] != "tensor" or row["size_bytes"] not in want:
            continue
        stack, path = row["stack"], []
        while stack:
            if stacks[stack]["module"]:
                path.insert(0, modules[stacks[stack]["module"]])
            stack = stacks[stack]["parent"]
        have = want.pop(row["size_bytes"])
        if once(path) != have:
            bad += 1
            print("size %d: want %s, have %s" % (row["size_bytes"], have, once(path)))
    print("%s: %d modules, %d paths differ, %d not seen" % (sys.version.split()[0], len(modules), bad, len(want)))
    return 1 if bad or want or not modules else 0


if __name__ == "__main__":
    if sys.argv[1] == "target":
        target(sys.argv[2], sys.argv[3])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]))
