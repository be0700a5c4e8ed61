"""What an operation waited for after its call: work before it, or nothing that the trace knows."""
import random

from trace import Trace
from verdict import Verdict

PHASES = ("W: behind other operations", "S: to its start, without W")


class LaunchVerdict(Verdict):
    def waits(self, trace, *options):
        """(count, sum in us) of W and of S, the number of late starts, and of operations of which neither
        W nor S is known."""
        answer = self.ask("launches", trace, options=options)
        rows = {row["phase"]: row for row in answer["launches"]}
        found = [(rows[phase]["count"], rows[phase]["total_ns"] / 1000) if phase in rows else (0, 0)
                 for phase in PHASES]
        notes = [note for note in answer.get("notes", []) if "before the window" in note]
        unknown = int(notes[0].split()[0]) if notes else 0
        return *found, answer["slow_starts_facts"]["slow_starts_count"], unknown


class Launches(LaunchVerdict):
    def test_work_before_the_window_makes_no_late_start(self):
        """Four streams are always busy, and launched into 50 ms ahead. A window of 1 ms shows 11 operations
        of each, the first of which waited for one that it does not show."""
        trace = Trace()
        for stream in range(4):
            for i in range(700):
                launched = max(1, i * 100 - 50_000) + stream * 3
                trace.kernel("gemm", 100 + i * 100, 100, launched, stream=7 + stream)
        whole = self.waits(trace)
        self.assertEqual(whole[0][0], 4 * 699)
        self.assertEqual(whole[2:], (0, 0))
        behind, start, late, unknown = self.waits(trace, "--from", "60ms", "--to", "61ms")
        self.assertEqual((behind[0], start, late, unknown), (40, (40, 0), 0, 4))

    def idle_before(self, launched):
        """A kernel runs from 0.1 to 1.1 ms, the next, which nothing keeps, from 5.2 ms, and others in time."""
        trace = Trace()
        trace.kernel("gemm", 100, 1000, launched=1)
        trace.kernel("gemm", 5200, 100, launched)
        for i in range(10):
            trace.kernel("gemm", 6000 + 100 * i, 10)
        return self.waits(trace, "--from", "1ms")

    def test_what_was_launched_in_the_window_starts_late_there(self):
        """4 ms after its call. Of the ten others each starts 2 us after its own; of the first one, launched
        before the window, what it waited for is not known."""
        self.assertEqual(self.idle_before(1200), ((0, 0), (11, 4000 + 20), 1, 1))

    def test_what_the_window_shows_is_known(self):
        """Launched before the window, it waits for the first for 1,050 us, and is late after that."""
        self.assertEqual(self.idle_before(50), ((1, 1050), (11, 4100 + 20), 1, 1))

    def test_the_end_of_a_window_cuts_nothing_off(self):
        """Of ten kernels back to back, the window shows the first five, all launched at the beginning."""
        trace = Trace()
        for i in range(10):
            trace.kernel("gemm", 100 + i * 100, 100, launched=2 * i)
        behind, start, late, unknown = self.waits(trace, "--to", "550us")
        self.assertEqual((behind[0], start, late, unknown), (4, (5, 100), 0, 0))


class RandomWindows(LaunchVerdict):
    def made(self, seed):
        """Two streams in order; operations as (call's begin, start, end, end of the one before)."""
        of = random.Random(seed)
        trace, ops, ends, now = Trace(), [], {7: None, 8: None}, 0
        for _ in range(of.randint(2, 40)):
            stream, lasts = of.choice(list(ends)), of.randint(1, 60)
            before = ends[stream]
            at = max(before or 0, now + 2 + of.choice([0, of.randint(0, 100)]))
            trace.kernel("gemm", at, lasts, launched=now, stream=stream)
            ends[stream] = at + lasts
            ops.append((now, at, at + lasts, before))
            now += of.randint(2, 30)
        return trace, ops, of.randint(0, max(op[2] for op in ops) - 1)

    def test_a_window_says_of_an_operation_what_the_whole_trace_says(self):
        for seed in range(30):
            trace, ops, begin = self.made(seed)
            behind, start, unknown = [], [], 0
            for launched, at, end, before in ops:
                if end <= begin:
                    continue
                if launched < begin and (before is None or before <= begin):
                    unknown += 1
                    continue
                waited = max(0, min(before or 0, at) - launched)
                behind += [waited] if waited else []
                start.append(at - launched - waited)
            with self.subTest(seed=seed, begin=begin):
                found = self.waits(trace, "--from", f"{begin}us")
                self.assertEqual(found[0], (len(behind), sum(behind)))
                self.assertEqual(found[1], (len(start), sum(start)))
                self.assertEqual(found[3], unknown)
