"""Steps marked by torch.profiler and by sonde.profile() at once: four, of which torch.profiler
keeps the last two. Each multiplies once, and convolves through oneDNN."""

import json

import torch
from torch.profiler import profile, schedule

import sonde

STEPS = 4


def step():
    torch.mm(torch.ones(4, 4), torch.ones(4, 4))
    # Two pictures: with one, PyTorch would not call oneDNN on every machine; nor with bfloat16.
    torch.nn.functional.conv2d(torch.ones(2, 3, 16, 16), torch.ones(4, 3, 3, 3))


def main():
    kept = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2),
                 on_trace_ready=lambda p: kept.extend(p.events())) as theirs, \
            sonde.profile() as ours:
        for number in range(STEPS):
            step()
            if number + 1 < STEPS:
                theirs.step()
                ours.step()
    print(json.dumps({"active": sum(event.name == "aten::mm" for event in kept)}))


if __name__ == "__main__":
    main()
