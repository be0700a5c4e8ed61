#!/usr/bin/env python3
"""Trains a small classifier on CIFAR-100, to have something real to profile.

    sonde record -- python3 train_cifar.py --model vit
    sonde record -- torchrun --nproc_per_node 2 train_cifar.py
    srun sonde record -- python3 train_cifar.py

One GPU of ROCm or CUDA for each process where there are any, else the CPU. The job is that of the
variables that torchrun, Slurm or Open MPI set. Marks its steps for Sonde where the package `sonde`
is installed. Prints the loss of each step, the same on each run, and the rate as its last line.
"""

import argparse
import contextlib
import os
import time

import torch
import torch.distributed as dist
from torch.nn import functional as F

import data
import models

try:
    import sonde
except ImportError:
    sonde = None


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(models.MODELS), default="resnet")
    parser.add_argument("--batch-size", "-bs", type=int, default=64, help="of each rank (64)")
    parser.add_argument("--precision", choices=["float32", "automixed", "bfloat16"],
                        default="float32", help="automixed: autocast, with scaled gradients on GPUs")
    parser.add_argument("--max-steps", "-ms", type=int, default=20, help="stop after so many (20)")
    parser.add_argument("--max-epochs", type=int, default=1000, help="or after so many passes")
    parser.add_argument("--data-path", "-dp", default="data",
                        help="folder with cifar-100-binary/ or cifar-100-python/; else the "
                             "pictures are generated")
    parser.add_argument("--download-only", action="store_true",
                        help="fetch the data set into --data-path and stop")
    parser.add_argument("--torch-profile", metavar="FILE", nargs="?", const="torch_profile.json",
                        help="run torch.profiler as well and write its trace")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def first_of(*names, default):
    return next((int(os.environ[name]) for name in names if os.environ.get(name)), default)


def join_job():
    """Rank, ranks and local rank; connects the ranks of a job."""
    rank = first_of("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", default=0)
    ranks = first_of("WORLD_SIZE", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE", default=1)
    local = first_of("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", default=0)
    if ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
        os.environ.setdefault("USE_LIBUV", "0")  # which Debian's PyTorch is built without
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, rank=rank, world_size=ranks)
    return rank, ranks, local


def mark(text):
    return sonde.range(text) if sonde else contextlib.nullcontext()


class Trainer:
    """A model, its optimiser, and how numbers are kept."""

    def __init__(self, args, device, ranks):
        torch.manual_seed(args.seed)
        self.device = device
        self.model = models.MODELS[args.model](data.CLASSES).to(device)
        self.autocast = contextlib.nullcontext
        if args.precision == "bfloat16":
            self.model = self.model.to(torch.bfloat16)
        elif args.precision == "automixed":
            kind = torch.float16 if device.type == "cuda" else torch.bfloat16
            self.autocast = lambda: torch.autocast(device.type, dtype=kind)
        self.dtype = torch.bfloat16 if args.precision == "bfloat16" else torch.float32
        scales = args.precision == "automixed" and device.type == "cuda"
        # PyTorch 2 has moved it, and warns of the old place.
        self.scaler = (torch.amp.GradScaler("cuda", enabled=scales) if hasattr(torch.amp, "GradScaler")
                       else torch.cuda.amp.GradScaler(enabled=scales))
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.wrapped = self.model
        if ranks > 1:
            on = [device] if device.type == "cuda" else None
            self.wrapped = torch.nn.parallel.DistributedDataParallel(self.model, device_ids=on)

    def step(self, pictures, labels):
        with mark("copy"):
            pictures = pictures.to(self.device, self.dtype, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
        with mark("forward"), self.autocast():
            loss = F.cross_entropy(self.wrapped(pictures).float(), labels)
        with mark("backward"):
            self.optimiser.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
        with mark("optimiser"):
            self.scaler.step(self.optimiser)
            self.scaler.update()
        return loss.item()


def torch_profiler(args, rank):
    if not args.torch_profile:
        return contextlib.nullcontext()
    name, extension = os.path.splitext(args.torch_profile)
    path = args.torch_profile if rank == 0 else f"{name}.rank{rank}{extension}"
    return torch.profiler.profile(record_shapes=True,
                                  on_trace_ready=lambda p: p.export_chrome_trace(path))


def train(args, trainer, rank, ranks):
    pictures, labels, origin = data.load(args.data_path, seed=args.seed)
    per_epoch = max(1, len(labels) // (args.batch_size * ranks))
    steps = min(args.max_steps, args.max_epochs * per_epoch)
    if rank == 0:
        print(f"{args.model} on {trainer.device}, {ranks} ranks, {len(labels)} pictures "
              f"({origin}), {steps} steps of {args.batch_size}", flush=True)
    source = data.batches(pictures, labels, args.batch_size, rank, ranks, args.seed)
    started = time.perf_counter()
    with torch_profiler(args, rank) as profiler, \
            sonde.profile() if sonde else contextlib.nullcontext() as recorded:
        for step in range(steps):
            with mark("load"):
                batch = next(source)
            loss = trainer.step(*batch)
            if rank == 0:
                print(f"step {step} loss {loss:.9g}", flush=True)
            if sonde:
                sonde.counter("loss", loss)
            for follower in filter(None, (profiler, recorded)):
                if step + 1 < steps:
                    follower.step()
    return steps * args.batch_size * ranks / (time.perf_counter() - started)


def main():
    args = parse()
    if args.download_only:
        data.download(args.data_path)
        return
    rank, ranks, local = join_job()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", local % torch.cuda.device_count())
        torch.cuda.set_device(device)
    rate = train(args, Trainer(args, device, ranks), rank, ranks)
    if rank == 0:
        print(f"{rate:.1f} pictures/s")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
