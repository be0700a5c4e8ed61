"""Random traces on a grid of microseconds, and what busy, breakdown and idle must say of them, found
by looking at every microsecond for itself."""
import random

from trace import Trace
from verdict import Verdict

SEEDS = range(30)
LENGTH = 400
HOST = {"enumerate(DataLoader)#next": ("range", "data loading"),
        "cudaDeviceSynchronize": ("call", "waiting"), "cudaFree": ("call", "freeing"),
        "aten::add": ("operator", "operator"), "train.py(3): f": ("python", "Python")}
COMPUTE, COMMUNICATION, COPY, MEMSET = range(4)
EXPOSED = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "exposed_memset_ns")


class Random:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.trace = Trace()
        self.ops = []  # (category, at, end)

    def interval(self, longest):
        at = self.random.randrange(LENGTH)
        return at, self.random.randint(1, longest)

    def add_op(self):
        at, lasts = self.interval(25)
        category = self.random.randrange(4)
        place = dict(stream=self.random.randrange(3), launched=None)
        if category == COMPUTE:
            self.trace.kernel("gemm", at, lasts, **place)
        elif category == COMMUNICATION:
            self.trace.collective("allreduce", at, lasts, ranks=[0, 1], **place)
        elif category == COPY:
            self.trace.copy("h2d", at, lasts, size=64, **place)
        else:
            self.trace.memset(at, lasts, size=64, **place)
        self.ops.append((category, at, at + lasts))


def line_of_steps(seed):
    """Steps that launch and run at random, on one GPU; and by microsecond who ran."""
    of = random.Random(seed)
    trace, ran, first, last = Trace(), {}, {}, {}
    steps = of.randint(1, 6)
    for step in range(steps):
        trace.step(step, at=step * 50, lasts=50)
        for _ in range(of.randint(0, 5)):
            launched = step * 50 + of.randrange(48)
            at, lasts = launched + of.randint(2, 300), of.randint(1, 60)
            trace.kernel("gemm", at, lasts, launched, stream=of.randrange(3))
            for time in range(at, at + lasts):
                ran.setdefault(time, set()).add(step)
            first[step] = min(first.get(step, at), at)
            last[step] = max(last.get(step, 0), at + lasts)
    return trace, ran, first, last


class RandomGpuTime(Verdict):
    def test_busy_and_breakdown_by_the_microsecond(self):
        for seed in SEEDS:
            made = Random(seed)
            made.trace.range("program", 0, LENGTH + 50)
            for _ in range(made.random.randint(1, 40)):
                made.add_op()
            first = min(at for _, at, _ in made.ops)
            last = max(end for _, _, end in made.ops)
            parts = dict.fromkeys(EXPOSED, 0)
            busy = 0
            for time in range(first, last):
                running = {category for category, at, end in made.ops if at <= time < end}
                if running:
                    busy += 1
                    parts[EXPOSED[min(running)]] += 1000
            with self.subTest(seed=seed):
                row = self.ask("busy", made.trace)["busy"][0]
                self.assertEqual((row["busy_ns"], row["span_ns"], row["program_ns"]),
                                 (busy * 1000, (last - first) * 1000, (LENGTH + 50) * 1000))
                self.assertAlmostEqual(row["busy_of_program"], busy / (LENGTH + 50), 9)
                row = self.ask("breakdown", made.trace)["breakdown"][0]
                self.assertEqual({key: row[key] for key in EXPOSED}, parts)
                self.assertEqual(row["idle_ns"], (last - first - busy) * 1000)
                self.assertAlmostEqual(row["idle_of_program_percentage"],
                                       100 - 100 * busy / (LENGTH + 50), 9)

    def test_steps_by_the_microsecond(self):
        for seed in SEEDS:
            trace, ran, first, last = line_of_steps(seed)
            should = {}
            for step in first:
                times = range(first[step], last[step])
                own = sum(step in ran.get(time, ()) for time in times)
                other = sum(bool(ran.get(time)) and step not in ran[time] for time in times)
                should[f"ProfilerStep#{step}"] = (own * 1000, other * 1000,
                                                  (len(times) - own - other) * 1000)
            with self.subTest(seed=seed):
                rows = self.ask("breakdown", trace, options=["--per", "step"])["breakdown"]
                self.assertEqual({row["step"]: (row["compute_ns"], row["other_steps_ns"],
                                                row["idle_ns"]) for row in rows}, should)

    def test_idle_by_the_microsecond(self):
        """Kernels one after the other; between them the host does one thing after the other and then
        launches. Each microsecond of a gap before the launch is waiting if the host was in the
        synchronisation, and else of what it did; all gaps are longer than any latency."""
        for seed in SEEDS:
            of, trace = random.Random(seed), Trace()
            now = 10_000
            for _ in range(of.randint(2, 12)):
                lasts = of.randint(50, 2000)
                trace.kernel("gemm", at=now + 100, lasts=lasts, launched=now, call_lasts=5)
                end = now + 100 + lasts
                now += 5
                for _ in range(of.randint(1, 5)):
                    now += of.randint(0, 30)
                    name, length = of.choice(list(HOST)), of.randint(1, 900)
                    getattr(trace, HOST[name][0])(name, now, length)
                    now += length
                now = max(now, end + 1)
            with self.subTest(seed=seed):
                self.check_gaps(trace, self.ask("idle", trace))

    def check_gaps(self, trace, answer):
        kernels = sorted((event["ts"], event["ts"] + event["dur"], event["args"]["correlation"])
                         for event in trace.events if event["cat"] == "kernel")
        launches = {event["args"]["correlation"]: event["ts"] for event in trace.events
                    if event["name"] == "cudaLaunchKernel"}
        calls = [event for event in trace.events if event["name"] in HOST]
        reasons, host = {}, {}
        for (_, end, _), (begin, _, correlation) in zip(kernels, kernels[1:]):
            for time in range(end, begin):
                if time >= launches[correlation]:
                    reasons["other"] = reasons.get("other", 0) + 1
                    continue
                at = [HOST[event["name"]][1] for event in calls
                      if event["ts"] <= time < event["ts"] + event["dur"]]
                reason = "sync" if "waiting" in at else "launch-bound"
                reasons[reason] = reasons.get(reason, 0) + 1
                if reason == "launch-bound":
                    what = at[0] if at else "no call"
                    host[what] = host.get(what, 0) + 1
        self.assertEqual({row["reason"]: row["total_ns"] // 1000 for row in answer["idle"]}, reasons)
        told = {}
        for row in answer["host"]:
            if row["when"] == "between":
                told[row["what"]] = told.get(row["what"], 0) + row["total_ns"] // 1000
        self.assertEqual(told, host)
