"""CIFAR-100 as tensors: the files that its authors publish where they are there, else pictures
made from a seed.

Either form of the data set is taken: cifar-100-binary/train.bin, or cifar-100-python/train.
"""

import os
import pickle
import sys

import torch

CLASSES = 100
PICTURE = (3, 32, 32)
ROW = 2 + 3 * 32 * 32  # of the binary form: coarse label, fine label, pixels


def _read_binary(path):
    rows = torch.frombuffer(bytearray(open(path, "rb").read()), dtype=torch.uint8)
    if len(rows) == 0 or len(rows) % ROW:
        sys.exit(f"{path}: {len(rows)} bytes are not rows of {ROW}; download the data set again")
    rows = rows.reshape(-1, ROW)
    return rows[:, 2:].reshape(-1, *PICTURE), rows[:, 1].long()


def _read_python(path):
    with open(path, "rb") as file:
        content = pickle.load(file, encoding="bytes")
    pictures = torch.as_tensor(content[b"data"], dtype=torch.uint8)
    return pictures.reshape(-1, *PICTURE), torch.tensor(content[b"fine_labels"])


def _generated(count, seed):
    """Pictures whose class shows in their colours, so that there is something to learn."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    tints = torch.rand((CLASSES, 3, 1, 1), generator=generator) * 160
    noise = torch.rand((count, *PICTURE), generator=generator) * 95
    return (tints[labels] + noise).to(torch.uint8), labels


def load(path, count=2048, seed=0):
    """Pictures (n, 3, 32, 32) of uint8, labels (n) of int64, and where they are from."""
    readers = {"cifar-100-binary/train.bin": _read_binary, "cifar-100-python/train": _read_python}
    for name, read in readers.items():
        file = os.path.join(path, name)
        if os.path.exists(file):
            return *read(file), file
    return *_generated(count, seed), "generated"


def download(path):
    """Fetches the data set with torchvision; the only thing here that uses the network."""
    try:
        from torchvision.datasets import CIFAR100
    except ImportError:
        sys.exit("--download-only needs torchvision; or put cifar-100-binary/ into " + path)
    CIFAR100(path, train=True, download=True)


def batches(pictures, labels, size, rank, ranks, seed):
    """Shuffled batches of one rank, without end: the same on every run."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(labels), generator=generator)[rank::ranks]
        if len(order) < size:
            order = order.repeat(-(-size // max(1, len(order))))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start:start + size]
            yield pictures[chosen].float().div_(255).sub_(0.5), labels[chosen]
