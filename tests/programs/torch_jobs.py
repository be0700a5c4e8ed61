"""Trainings whose work others do: torch_jobs.py compile|ddp|fsdp [--profile FILE]

    compile  torch.compile makes kernels of the model, with the compiler that the system has
    ddp      two processes, DistributedDataParallel over gloo
    fsdp     two processes, FullyShardedDataParallel over gloo

Each gives the work to a DataLoader with two workers and does four steps. Prints every loss in full, and says
on stderr why a job cannot be done here: exit status 77. With --profile, torch.profiler runs as well, and what it
counts goes to FILE (of rank 0), as torch_work.py --averages writes it.
"""

import argparse
import contextlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch_work import write_averages

STEPS = 4


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, index):
        return torch.full((16,), float(index)).sin()


def model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))


def train(net, rank, profile):
    """Four steps, and what they lost."""
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2)
    wanted = torch.profiler.profile() if profile and rank == 0 else contextlib.nullcontext()
    losses = []
    with wanted as profiler:
        for step, batch in enumerate(loader):
            with torch.profiler.record_function(f"step {step}"):
                loss = net(batch + rank).square().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            losses.append(loss.item())
    if profiler is not None:
        write_averages(profiler, profile)
    return losses


def compiled(_job, _rank, profile):
    if not hasattr(torch, "compile"):
        unable("torch.compile came with PyTorch 2.0")
    net = torch.compile(model())
    try:
        net(torch.zeros(8, 16))
    except Exception as error:  # noqa: BLE001 - of dynamo, inductor or the compiler
        unable(f"torch.compile: {' '.join(str(error).split())[:400]}")
    return train(net, 0, profile)


def distributed(job, rank, profile):
    if job == "ddp":
        net = nn.parallel.DistributedDataParallel(model())
    else:
        try:
            from torch.distributed.fsdp import FullyShardedDataParallel
            net = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
            net(torch.zeros(8, 16)).sum().backward()
            net.zero_grad()
        except (AssertionError, RuntimeError, ValueError) as error:  # 1.13: not on CPUs, not on 3.11
            unable(f"FullyShardedDataParallel: {str(error).splitlines()[0]}")
    return train(net, rank, profile)


def unable(why):
    print(f"cannot be done here: {why}", file=sys.stderr, flush=True)
    os._exit(77)


def rank_of_two(rank, job, store, profile):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    losses = distributed(job, rank, profile)
    both = [None, None]
    dist.all_gather_object(both, losses)
    if rank == 0:
        print(json.dumps({"losses": str(both)}), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=["compile", "ddp", "fsdp"])
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--store", default="store", help="a file that does not exist yet")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.job == "compile":
        print(json.dumps({"losses": str(compiled(args.job, 0, args.profile))}))
        return 0
    context = torch.multiprocessing.get_context("spawn")
    ranks = [context.Process(target=rank_of_two,
                             args=(rank, args.job, os.path.abspath(args.store), args.profile))
             for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    return max(process.exitcode for process in ranks)


if __name__ == "__main__":
    sys.exit(main())
