"""Children of a fork end as fast as ever, whatever the threads that they have not inherited were about at the fork."""
import ctypes
import os
import sys
import threading
import time

FORKS = 100
# The agent waits at least two seconds for a thread that does not come.
TOO_LONG = 1.9

alloc = ctypes.CDLL(sys.argv[1]).fake_alloc
alloc.argtypes = [ctypes.c_uint64, ctypes.c_uint16]


def work(depth):
    if depth:
        work(depth - 1)
    while True:
        alloc(512, 1)


for _ in range(4):
    threading.Thread(target=work, args=(200,), daemon=True).start()
time.sleep(0.1)
for i in range(FORKS):
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        sys.exit(0)  # by way of the interpreter's end
    assert os.waitpid(child, 0)[1] == 0
    took = time.monotonic() - begin
    assert took < TOO_LONG, "child %d of %d took %.1f s to end" % (i + 1, FORKS, took)
