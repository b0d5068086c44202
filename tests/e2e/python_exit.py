"""Ends the interpreter while daemon threads allocate, and allocates from destructors that run at the very end."""
import atexit
import ctypes
import sys
import threading
import time

alloc = ctypes.CDLL(sys.argv[1]).fake_alloc
alloc.argtypes = [ctypes.c_uint64, ctypes.c_uint16]


class Late:
    def __del__(self):
        alloc(512, 1)


def work():
    while True:
        alloc(512, 1)


late = Late()
sys.late = Late()
atexit.register(alloc, 512, 1)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.01)
