"""Python stacks as the agent reads them, against the interpreter's own frames.

  python_stacks.py target LIBC10 EXPECTED   allocates (through the fake libc10) from many kinds of frames and writes the
                                            stack of each as Python itself gives it
  python_stacks.py check EXPECTED DUMP      compares those with what dump_rings printed; same interpreter

Each allocation has a size of its own, by which the two sides find each other.
"""
import ctypes
import gc
import json
import sys
import threading

CUDA0 = 1
DEPTH_MAX = 128
expected = {}
lock = threading.Lock()
size = 0
alloc = None


def frames(frame):
    out = []
    while frame and len(out) < DEPTH_MAX:
        code = frame.f_code
        out.append([code.co_filename, getattr(code, "co_qualname", code.co_name), code.co_firstlineno, frame.f_lineno])
        frame = frame.f_back
    return out


# Both on one line: the call that allocates and the look at the frame that does it.
HERE = "take(); alloc(size * 512, CUDA0); expected[size * 512] = frames(sys._getframe())"


def take():
    global size
    with lock:
        size += 1


def plain():
    take(); alloc(size * 512, CUDA0); expected[size * 512] = frames(sys._getframe())


def lines():
    take(); alloc(size * 512, CUDA0); expected[size * 512] = frames(sys._getframe())
    take(); alloc(size * 512, CUDA0); expected[size * 512] = frames(sys._getframe())

    take(); alloc(size * 512, CUDA0); expected[size * 512] = frames(sys._getframe())


def generator():
    for _ in range(3):
        plain()
        yield 1


def recurse(n):
    if n:
        recurse(n - 1)
    else:
        plain()


class Thing:
    def method(self):
        plain()

    @staticmethod
    def static():
        (lambda: plain())()

    @property
    def value(self):
        plain()
        return 1

    def __del__(self):
        plain()


def größe_λ():
    plain()


async def coroutine():
    plain()


def drive(c):
    try:
        c.send(None)
    except StopIteration:
        pass


def closure(n):
    def inner():
        plain()
        return n
    return inner()


def every_kind():
    plain()
    lines()
    for _ in generator():
        plain()
    [plain() for _ in range(2)]
    sorted([2, 1], key=lambda x: plain() or x)
    list(map(lambda x: plain(), [1, 2]))
    recurse(10)
    recurse(200)
    recurse(10)
    thing = Thing()
    thing.method()
    thing.static()
    thing.value
    del thing
    größe_λ()
    drive(coroutine())
    closure(1)
    try:
        raise ValueError
    except ValueError:
        plain()
    # Code objects that come and go at one address.
    for i in range(20):
        exec(compile("\n" * i + HERE, "<exec %d>" % i, "exec"), globals())
        gc.collect()
    names = {}
    for i in range(20):
        exec("\n" * i + "def made():\n" + "\n" * (i % 3) + "    " + HERE, globals(), names)
        names["made"].__globals__.update(globals())
        names["made"]()


def in_thread():
    with run_lock:
        recurse(5)
        every_kind()


run_lock = threading.Lock()


def target(library, path):
    global alloc
    alloc = ctypes.CDLL(library).fake_alloc
    alloc.restype = ctypes.c_uint64
    alloc.argtypes = [ctypes.c_uint64, ctypes.c_uint16]
    every_kind()
    for _ in range(3):
        threads = [threading.Thread(target=in_thread) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    every_kind()
    with open(path, "w") as f:
        json.dump(expected, f)


def line_of(table, first, instruction):
    """The line of an instruction, decoded by this interpreter."""
    if sys.version_info >= (3, 10):
        code = (lambda: 0).__code__.replace(co_linetable=table, co_firstlineno=first)
        for start, end, line in code.co_lines():
            if start <= instruction < end:
                return line
        return None
    line, address = first, 0
    for delta, step in zip(table[::2], table[1::2]):
        address += delta
        if address > instruction:
            break
        line += step - 256 if step >= 128 else step
    return line


def check(path, dump):
    with open(path) as f:
        want = {int(k): v for k, v in json.load(f).items()}
    tables = {"string": {}, "code": {}, "frame": {}, "stack": {}}
    tensors = []
    with open(dump) as f:
        for row in map(json.loads, f):
            if row["kind"] in tables:
                tables[row["kind"]][row["id"]] = row
            elif row["kind"] == "tensor":
                tensors.append(row)
    text = {k: v["bytes"].encode("latin-1") for k, v in tables["string"].items()}

    def resolve(stack):
        out = []
        while stack:
            node = tables["stack"][stack]
            frame = tables["frame"][node["frame"]]
            code = tables["code"][frame["code"]]
            assert code["python"] == sys.hexversion >> 16
            out.append([text[code["filename"]].decode(), text[code["qualname"]].decode(), code["first_line"],
                        line_of(text[code["linetable"]], code["first_line"], frame["instruction"])])
            assert node["depth"] == 1 or node["parent"], node
            stack = node["parent"]
        return out

    seen, bad = {}, 0
    for row in tensors:
        seen[row["size_bytes"]] = resolve(row["stack"])
    for size, stack in want.items():
        have = seen.get(size)
        if have != stack:
            bad += 1
            if bad <= 3:
                print("size", size)
                for i in range(max(len(stack), len(have or []))):
                    pair = [s[i] if s and i < len(s) else None for s in (stack, have)]
                    if pair[0] != pair[1]:
                        print("  frame", i, "want", pair[0], "have", pair[1])
    print("%s: %d allocations, %d stacks differ, %d nodes" % (sys.version.split()[0], len(want), bad,
                                                              len(tables["stack"])))
    return 1 if bad or not want or len(seen) != len(want) else 0


if __name__ == "__main__":
    if sys.argv[1] == "target":
        target(sys.argv[2], sys.argv[3])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]))
