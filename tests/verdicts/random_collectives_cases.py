"""Random jobs: clocks, groups, arrivals and transfers are drawn, and so is the rank that is late."""
import random

from job import Job
from verdict import Verdict


class Drawn:
    """A job whose truth is known: `late` comes `delay` us late to everything, or no rank does."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.ranks = draw.choice([2, 3, 4, 6])
        self.ahead = [draw.choice([0, draw.randrange(-10_000_000, 10_000_000)]) for _ in range(self.ranks)]
        self.late = draw.choice([None, *range(self.ranks)])
        self.delay = draw.randrange(300, 6000)
        self.numbered = draw.random() < 0.5
        self.jitter = draw.choice([0, 1, 3])
        self.job = Job(self.ahead)
        self.count = draw.randrange(12, 40)
        # All ranks, or pairs that never meet.
        everyone = list(range(self.ranks))
        self.groups = [everyone] if self.ranks % 2 or draw.random() < 0.5 else \
            [everyone[i:i + 2] for i in range(0, self.ranks, 2)]
        self.waits = [0] * self.ranks  # true, us
        at = 1000
        for number in range(self.count):
            at += draw.randrange(8000, 20_000)
            for name, members in enumerate(self.groups):
                self.collective(draw, members, at, number, f"group{name}")

    def collective(self, draw, members, at, number, name):
        begins = [at + draw.randrange(self.jitter + 1) for _ in members]
        if self.late in members:
            begins[members.index(self.late)] += self.delay
            for rank in members:
                self.waits[rank] += self.delay if rank != self.late else 0
        end = max(begins) + draw.randrange(80, 400)
        ends = [end + draw.randrange(self.jitter + 1) for _ in members]
        self.job.collective(begins, ends, members, number=number if self.numbered else None, group=name)


class RandomCollectives(Verdict):
    def test_who_is_late_and_whose_clock_is_off(self):
        """40 jobs of 2 to 6 ranks."""
        for seed in range(40):
            drawn = Drawn(seed)
            with self.subTest(seed=seed, late=drawn.late, groups=drawn.groups):
                self.check(drawn, self.ask("collectives", *drawn.job.ranks))

    def test_the_same_when_merged(self):
        for seed in range(100, 106):
            drawn = Drawn(seed)
            with self.subTest(seed=seed, late=drawn.late, groups=drawn.groups):
                path = self.folder / f"job{seed}.rpd"
                self.run_sonde("merge", *self.write(*drawn.job.ranks), "-o", path)
                self.check(drawn, self.ask("collectives", path))
                said = " ".join(self.ask("check", path, options=("--least", "0"))["check_remarks"])
                if drawn.late is None:
                    self.assertNotIn("straggler", said)
                else:
                    self.assertIn(f"straggler: rank {drawn.late} came last", said)

    def check(self, drawn, told):
        late = told["time_facts"]["late"]
        if drawn.late is None:
            self.assertRegex(late, "^no rank is late")
        else:
            self.assertRegex(late, f"^rank {drawn.late} comes last in {drawn.count} of {drawn.count} ")
        rows = {row["rank"]: row for row in told["ranks"]}
        slack = 4 * (drawn.jitter + 1)  # us, each time
        for members in drawn.groups:
            first = rows[members[0]]["clock_ahead_ns"]
            for rank in members:
                self.assertEqual(rows[rank]["clock_group"], rows[members[0]]["clock_group"])
                ahead = (rows[rank]["clock_ahead_ns"] - first) / 1000
                self.assertAlmostEqual(ahead, drawn.ahead[rank] - drawn.ahead[members[0]], delta=slack)
                self.assertAlmostEqual(rows[rank]["waited_ns"] / 1000, drawn.waits[rank],
                                       delta=slack * drawn.count)
        self.assertEqual(len({row["clock_group"] for row in told["ranks"]}), len(drawn.groups))
