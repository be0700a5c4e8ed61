"""CPU time of recorded PyTorch work against the same work unrecorded, in turns in one process, for
tests/bench/torch.py: torch_cost.py CIFAR_FOLDER.

Prints a JSON object: operator_ns, of an operator on one number, and step_ms, of a training step of
examples/cifar as it is run by default; of each the values with recording and without, one after the
other.
"""

import json
import sys
import time

import torch
from torch.utils import _python_dispatch

import sonde

LOOPS, CALLS = 101, 1000
STEPS = 61


class Recording:
    """Switches recording, and all that the backend does to be called."""

    def __init__(self):
        self._mode = _python_dispatch._get_current_dispatch_mode()
        self._on = True

    def set(self, on):
        if on == self._on:
            return
        self._on = on
        torch.autograd._enable_record_function(on)
        if self._mode is not None:
            _ = self._mode.__enter__() if on else self._mode.__exit__(None, None, None)
        _ = sonde.start() if on else sonde.stop()


def in_turns(clock_ns, unit, count, work):
    recording, times = Recording(), {"on": [], "off": []}
    for index in range(count):
        recording.set(index % 2 == 0)
        began = clock_ns()
        work()
        if index > 0:
            times["on" if index % 2 == 0 else "off"].append((clock_ns() - began) / unit)
    recording.set(True)
    return times


def operators():
    number, one = torch.zeros(1), torch.ones(1)

    def work():
        for _ in range(CALLS):
            number.add_(one)
    return in_turns(time.thread_time_ns, CALLS, LOOPS, work)


def steps(folder):
    sys.path.insert(0, folder)
    sys.argv = ["train_cifar.py"]
    import data  # pylint: disable=import-error
    import train_cifar  # pylint: disable=import-error
    args = train_cifar.parse()
    trainer = train_cifar.Trainer(args, torch.device("cpu"), 1)
    pictures, labels, _ = data.load("none", seed=args.seed)
    batch = next(data.batches(pictures, labels, args.batch_size, 0, 1, args.seed))
    return in_turns(time.process_time_ns, 1_000_000, STEPS, lambda: trainer.step(*batch))


if __name__ == "__main__":
    print(json.dumps({"operator_ns": operators(), "step_ms": steps(sys.argv[1])}))
