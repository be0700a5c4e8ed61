"""A PyTorch program that does a little of everything, the same each time: torch_work.py [OPTION...]

    --profile FILE       torch.profiler runs as well, and its events of the main thread go to FILE
    --averages FILE      then how often each name came, and what key_averages() says of it
    --chrome FILE        then the trace that torch.profiler exports
    --threads N          as many threads do the work too, started before the profiled part
    --workers fork|spawn a DataLoader with two workers
    --fork               a child made by os.fork() does the work too

Prints the losses in full, and facts as a JSON object: {"losses": "...", "errors": 3}.
"""

import argparse
import collections
import contextlib
import hashlib
import json
import os
import threading
import time

import torch
from torch import nn
from torch.profiler import record_function

import sonde

STEPS = 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4, 5)

    def forward(self, pictures):
        return self.head(torch.cat([self.features(pictures).mean((2, 3))] * 2)[::2])


@torch.jit.script
def scripted(x):
    y = x
    for i in range(3):
        y = torch.relu(y * i + x)
    return y


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((3, 8, 8), float(index)).sin()


def wrong():
    """Raises inside an operator, and inside a module; returns how many errors came."""
    errors = 0
    for attempt in (lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)),
                    lambda: nn.Sequential(nn.Linear(2, 2))(torch.ones(1, 3))):
        try:
            attempt()
        except RuntimeError:
            errors += 1
    return errors


def work(seed):
    """The losses, and the number of errors."""
    generator = torch.Generator().manual_seed(seed)
    net, losses, errors = Net(), [], 0
    with torch.no_grad():  # threads share the generator that a new module takes its numbers from
        for parameter in net.parameters():
            parameter.uniform_(-0.5, 0.5, generator=generator)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        pictures = torch.randn(6, 3, 8, 8, generator=generator)
        with record_function(f"step {step}"):
            loss = net(pictures).square().mean() + scripted(pictures[0, 0]).sum() * 0.001
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        losses.append(loss.item())
        errors += wrong()
    return losses, errors


def profiled(path):
    return torch.profiler.profile(record_shapes=True) if path else contextlib.nullcontext()


def write_events(profiler, path):
    # Not profiler.events(), which takes an operator for the one around it if their times agree.
    rows = [[event.name(), [list(shape) for shape in event.shapes()], event.sequence_nr()]
            for event in profiler.profiler.kineto_results.events()]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file)


def write_averages(profiler, path):
    events = collections.Counter(
        event.name() for event in profiler.profiler.kineto_results.events())
    rows = {row.key: row.count for row in profiler.key_averages()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"events": events, "averages": rows}, file)


def in_threads(count, results):
    ready = threading.Event()
    threads = []
    for number in range(count):
        def run(number=number):
            ready.wait()
            results[number] = work(number)[0]
        threads.append(threading.Thread(target=run))
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()


def in_child():
    child = os.fork()
    if child == 0:
        work(99)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def load(kind):
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=2, num_workers=2,
                                         multiprocessing_context=kind)
    return [float(batch.sum()) for batch in loader]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--averages", metavar="FILE")
    parser.add_argument("--chrome", metavar="FILE")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--workers", choices=["fork", "spawn"])
    parser.add_argument("--fork", action="store_true")
    args = parser.parse_args()
    results = {}
    if args.fork:  # first: PyTorch 2 computes no gradients in the child of a process that did
        in_child()
    in_threads(args.threads, results)
    results["workers"] = load(args.workers) if args.workers else []
    with profiled(args.profile) as profiler:
        time.sleep(0.001)
        with sonde.range("profiled"):
            results["main"], errors = work(1)
        time.sleep(0.001)
    if args.profile:
        write_events(profiler, args.profile)
    if args.averages:
        write_averages(profiler, args.averages)
    if args.chrome:
        profiler.export_chrome_trace(args.chrome)
    text = json.dumps([sorted(results.items(), key=str)])
    print(json.dumps({"losses": hashlib.sha256(text.encode()).hexdigest(), "errors": errors}))


if __name__ == "__main__":
    main()
