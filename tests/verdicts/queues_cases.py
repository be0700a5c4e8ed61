"""How deep queues are: by construction, and at every microsecond of random traces."""
import random

from trace import Trace
from verdict import Verdict


class Queues(Verdict):
    def queue(self, trace, stream, options=()):
        return next(row for row in self.ask("queues", trace, options=options)["queues"]
                    if row["queue_id"] == stream)

    def told_to_wait(self):
        """Stream 7 works for 1 s. Stream 9 waits for it with two copies, launched at the beginning, which
        then take 1 ms each."""
        trace = Trace()
        for i in range(10):
            trace.kernel("gemm", 100 + i * 100_000, 100_000, launched=10 + i)
        for i in range(2):
            trace.copy("d2h", 1_000_200 + i * 1000, 1000, 1 << 24, launched=22 + i * 2, stream=9)
        return trace

    def test_what_waits_before_the_first_start_is_not_in_the_means(self):
        """From the first start on, one copy waits for half of the time; two, then one, are outstanding."""
        row = self.queue(self.told_to_wait(), 9)
        self.assertEqual((row["max_waiting"], row["max_outstanding"]), (2, 2))
        self.assertAlmostEqual(row["mean_waiting"], 0.5, 9)
        self.assertAlmostEqual(row["mean_outstanding"], 1.5, 9)

    def test_a_queue_may_be_full_before_it_starts(self):
        """The second call ends at 25 us, the first copy at 1,001,200."""
        row = self.queue(self.told_to_wait(), 9, options=["--full", "2"])
        self.assertEqual(row["full_ns"], (1_001_200 - 25) * 1000)

    def test_what_waits_after_the_first_start_is(self):
        """The same stream copied something at once, too: both wait for 1 s of 1.002."""
        trace = self.told_to_wait()
        trace.copy("d2h", 200, 1000, 1 << 24, launched=12, stream=9)
        row = self.queue(trace, 9)
        self.assertEqual(row["max_outstanding"], 3)
        self.assertAlmostEqual(row["mean_waiting"], (1_000_000 + 1_001_000) / 1_002_000, 9)


class RandomQueues(Verdict):
    def made(self, seed):
        """Two streams in order, now and then with an overlap; operations as (stream, call's end, start,
        end)."""
        of = random.Random(seed)
        trace, ops, ends, now = Trace(), [], {7: 0, 8: 0}, 0
        for _ in range(of.randint(1, 40)):
            now += of.randint(1, 30)
            lasts, stream = of.randint(1, 20), of.choice(list(ends))
            at = max(ends[stream], now + of.choice([of.randint(0, 40), of.randint(0, 400)]))
            if of.random() < 0.2:
                at = max(now, at - of.randint(0, 5))
            length = of.choice([0, 1, 5, 20, 50])
            trace.kernel("gemm", at, length, launched=now, call_lasts=lasts, stream=stream)
            ends[stream] = max(ends[stream], at + length)
            ops.append((stream, now + lasts, at, at + length))
            now += lasts
        return trace, ops

    def test_by_the_microsecond(self):
        for seed in range(30):
            trace, ops = self.made(seed)
            for row in self.ask("queues", trace, options=["--full", "2"])["queues"]:
                mine = [op for op in ops if op[0] == row["queue_id"]]
                first, last = min(op[2] for op in mine), max(op[3] for op in mine)
                times = range(min(op[1] for op in mine), last)
                outstanding = {time: sum(call <= time < end for _, call, _, end in mine) for time in times}
                waiting = {time: sum(call <= time < at for _, call, at, _ in mine) for time in times}
                with self.subTest(seed=seed, queue=row["queue_id"]):
                    self.assertEqual(row["full_ns"], 1000 * sum(depth >= 2 for depth in outstanding.values()))
                    for kind, depth in (("outstanding", outstanding), ("waiting", waiting)):
                        self.check(row, kind, depth, first, last)

    def check(self, row, kind, depth, first, last):
        # Several that come and go at the same moment are all there at it, which no microsecond shows.
        self.assertGreaterEqual(row["max_" + kind], max(depth.values(), default=0))
        mean = row["mean_" + kind]
        if first == last:
            self.assertIsNone(mean)
            return
        self.assertAlmostEqual(mean, sum(depth.get(time, 0) for time in range(first, last)) / (last - first), 9)
        self.assertLessEqual(mean, row["max_" + kind])
