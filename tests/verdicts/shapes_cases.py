"""No command is ended by what a trace lacks or has too much of: traces of random parts, each command on each."""
import os
import random

import hostile
from trace import COLLECTIVES, COPIES, Trace
from verdict import Verdict

TRACES = int(os.environ.get("SONDE_SHAPES", "24"))
# What a trace may have; each trace has about half of these.
PARTS = ["kernels", "copies", "memsets", "collectives", "calls", "operators", "python", "ranges", "steps",
         "slow first steps", "slow last step", "second GPU", "second thread", "no launches", "loaders"]


class Shape:
    """`numbers` decides about everything that the parts leave open."""

    def __init__(self, parts, numbers, rank=None):
        self.parts, self.numbers = parts, numbers
        self.trace = Trace(rank=rank)
        at = 0
        for number in range(numbers.choice([1, 2, 5, 12])):
            lasts = self.length(number)
            self.fill(number, at, lasts)
            at += lasts
        self.last_step(at)

    def length(self, number):
        if "slow first steps" in self.parts and number < 3:
            return 20_000
        return self.numbers.choice([0, 1, 1000, 1000, 1000, 1500])

    def last_step(self, at):
        if "slow last step" in self.parts:
            self.trace.step(99, at, 50_000)

    def moment(self, at, lasts):
        return at + self.numbers.uniform(0, 1.2) * lasts

    def fill(self, number, at, lasts):
        trace, numbers, parts = self.trace, self.numbers, self.parts
        if "steps" in parts or "slow first steps" in parts:
            trace.step(number, at, lasts)
        for _ in range(numbers.choice([0, 1, 7])):
            where = {"thread": 3} if "second thread" in parts and numbers.random() < 0.5 else {}
            start, size = self.moment(at, lasts), numbers.choice([0, 0.5, 40, 400])
            for part in parts:
                self.add(part, start, size, where)

    def add(self, part, start, size, where):
        trace, numbers = self.trace, self.numbers
        launched = None if "no launches" in self.parts else "just before"
        device = {"device": 1} if "second GPU" in self.parts and numbers.random() < 0.3 else {}
        if part == "kernels":
            trace.kernel(numbers.choice(["gemm", "", "add<float>", "k" * 500]), start, size, launched, **device, **where)
        elif part == "copies":
            trace.copy(numbers.choice(sorted(COPIES)), start, size, numbers.choice([0, 8, 1 << 40]), launched, **where)
        elif part == "memsets":
            trace.memset(start, size, 4096, launched, **where)
        elif part == "collectives":
            trace.collective(numbers.choice(sorted(COLLECTIVES)), start, size, [0, 1], launched=launched)
        elif part == "calls":
            trace.call(numbers.choice(["cudaDeviceSynchronize", "hipMalloc", "hipModuleLoad"]), start, size, **where)
        elif part == "operators":
            trace.operator(numbers.choice(["aten::conv2d", "aten::mm"]), start, size, **where,
                           **{"Input Dims": numbers.choice(["", "[[2, 3], [3, 4]]", "[[", [[8, 3, 9, 9]]])})
        elif part == "python":
            trace.python(numbers.choice(["train.py(3): step", "(", "<built-in>"]), start, size, **where)
        elif part == "ranges":
            trace.range(numbers.choice(["main", "", "ProfilerStep#", "Iteration 7"]), start, size, **where)
        elif part == "loaders":
            trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, size, **where)


class Shapes(Verdict):
    def commands(self):
        lines = [line for line in hostile.commands_with_files(self.sonde) if line[0] != "record"]
        return lines + [["report", "--format", "html", "FILE"], ["check", "--from", "50%", "FILE"]]

    def assert_ends(self, seed, line):
        made = hostile.run(self.sonde, line, str(self.folder))
        said = made.stderr.decode("utf-8", "replace")
        self.assertIn(made.returncode, (0, 1), f"seed {seed}: {line}: {said[-500:]}")
        self.assertNotRegex(said, hostile.STRANGE, f"seed {seed}: {line}")
        if made.returncode:
            self.assertEqual(len(said.splitlines()), 1, f"seed {seed}: {line}: {said[-500:]}")

    def test_every_command_ends_on_every_trace(self):
        commands = self.commands()
        for seed in range(TRACES):
            numbers = random.Random(seed)
            parts = [part for part in PARTS if numbers.random() < 0.5]
            with self.subTest(seed=seed, parts=parts):
                files = self.write(Shape(parts, numbers, 0).trace, Shape(parts, numbers, 1).trace)
                file = str(self.folder / f"trace{seed}.rpd")
                self.run_sonde("import", files[0], "-o", file)
                file = file if seed % 2 else files[0]
                for line in commands:
                    self.assert_ends(seed, [file if word == "FILE" else word for word in line])
                for verb in ("check", "diff", "collectives", "ranks"):
                    self.assert_ends(seed, [verb, *files])
