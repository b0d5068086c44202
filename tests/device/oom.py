"""A training that runs out of memory: its sequences grow until an attention matrix does not fit any more.

  oom.py [--truth FILE]

The length doubles every other step. The error is caught, printed and written to FILE with PyTorch's own counters as they
are at that moment; then the process ends as it stands.
"""
import argparse

import torch
from torch import nn

import model
import truth

LAYERS, WIDTH, HEADS, CLASSES, BATCH = 8, 1024, 16, 1000, 8
STEPS_PER_LENGTH = 2


def train_until_oom():
    torch.manual_seed(0)
    network = model.build(LAYERS, WIDTH, HEADS, CLASSES).cuda()
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4)
    for step in range(64):
        length = 512 << (step // STEPS_PER_LENGTH)
        print("step %d: sequences of %d" % (step, length), flush=True)
        x = torch.randn(BATCH, length, WIDTH, device="cuda")
        y = torch.randint(0, CLASSES, (BATCH * length,), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(x).flatten(0, 1), y).backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--truth")
    options = parser.parse_args()
    try:
        train_until_oom()
    except torch.cuda.OutOfMemoryError as error:
        # The traceback keeps the frames and so the tensors: the counters are those of the error.
        found = truth.read("cuda", error)
        print(found["exception"], flush=True)
        truth.write_and_exit(options.truth, found)
    raise SystemExit("no out-of-memory error in 64 steps")


if __name__ == "__main__":
    main()
