"""What PyTorch itself says about the memory of this process, written down for check_torch.py.

The numbers are read with memory_stats() and the process then ends at once: what the interpreter would free on its way
out is in no counter of PyTorch's that could still be read, so it must not be in the trace either.
"""
import json
import os
import sys


def read(device, exception=None):
    """The truth as a dictionary; on the CPU there is no allocator to ask."""
    import torch

    truth = {"torch": torch.__version__, "python": sys.version.split()[0], "device": device, "pid": os.getpid(),
             "exception": None if exception is None else str(exception)}
    if device == "cuda":
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        truth.update(backend=torch.cuda.get_allocator_backend(), name=torch.cuda.get_device_name(),
                     stats=dict(torch.cuda.memory_stats()), free_bytes=free, total_bytes=total)
    return truth


def write_and_exit(path, truth):
    if path:
        with open(path, "w") as f:
            json.dump(truth, f, indent=1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
