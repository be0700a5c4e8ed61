"""Random programs of one thread and several streams, run by a simulation that follows the runtime's
rules; what decided when each thing began is known from the simulation, and walking back along that
from the last moment gives the path. Nothing is simulated without a cause that the graph has, so the
whole program must be explained."""
import random

from runtime_trace import RuntimeTrace
from verdict import Verdict

SEEDS = range(40)
NULL, JOINED, APART = 0, 0x10, 0x20  # the null stream, one that waits for it, one that does not
STREAMS = (NULL, JOINED, APART)


class Program:
    """Times are in microseconds. A moment is (time, what it belongs to, the moment that decided it,
    how long that took on the path)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.trace = RuntimeTrace()
        self.last = {stream: None for stream in STREAMS}  # end of the last operation
        self.now = (0, None, None)
        self.step("hipStreamCreateWithFlags", 1, args=dict(stream=hex(JOINED), flags=0))
        self.step("hipStreamCreateWithFlags", 1, args=dict(stream=hex(APART), flags=1))
        self.count = 0

    def step(self, name, lasts, args=None):
        """A call in which the host works."""
        at = self.now[0]
        self.trace.call(name, at, at + lasts, **(args or {}))
        self.now = (at + lasts, name, self.now)

    def awaited_by(self, stream):
        """What an operation of a stream has to wait for."""
        if stream == NULL:
            return [self.last[NULL], self.last[JOINED]]
        return [self.last[stream]] + ([self.last[NULL]] if stream == JOINED else [])

    def op(self, stream, lasts, latency, name, delay):
        """The end of an operation that is launched now: begun when its launch has come through, or
        `delay` after the last that it waits for, whichever is later."""
        begun = (self.now[0] + latency, name, self.now)
        before = [end for end in self.awaited_by(stream) if end is not None]
        if before:
            latest = max(before, key=lambda end: end[0])
            if latest[0] > self.now[0]:
                begun = (max(latest[0] + delay, self.now[0] + 1), name, latest)
            elif latest[0] >= begun[0]:
                raise AssertionError
        self.last[stream] = (begun[0] + lasts, name, begun)
        return begun, self.last[stream]

    def kernel(self):
        stream = self.random.choice(STREAMS)
        self.count += 1
        name = f"k{self.count}_x"
        at = self.now[0]
        begun, end = self.op(stream, self.random.randint(5, 400), self.random.randint(4, 20), name,
                             self.random.randint(1, 3))
        self.trace.kernel(name, at=begun[0], lasts=end[0] - begun[0], launched=at, returns=at + 3,
                          stream=stream, queue=self.random.randint(0, 1) * 10 + stream)
        self.now = (at + 3, "hipLaunchKernel", self.now)

    def copy(self):
        """Blocks: goes on when it is done."""
        at = self.now[0]
        begun, end = self.op(NULL, self.random.randint(5, 50), self.random.randint(4, 20),
                             "CopyDeviceToHost", self.random.randint(1, 3))
        self.trace.copy("d2h", at=begun[0], lasts=end[0] - begun[0], launched=at, returns=end[0],
                        queue=99)
        self.now = (end[0], None, end)

    def wait(self):
        stream = self.random.choice(STREAMS)
        ends = ([self.last[NULL], self.last[JOINED]] if stream == NULL else [self.last[stream]])
        ends = [end for end in ends if end is not None and end[0] > self.now[0]]
        if not ends:
            return
        latest = max(ends, key=lambda end: end[0])
        self.trace.call("hipStreamSynchronize", self.now[0], latest[0], stream=hex(stream))
        self.now = (latest[0], None, latest)

    def run(self):
        for _ in range(self.random.randint(5, 60)):
            self.random.choice((self.kernel, self.kernel, self.kernel, self.copy, self.wait,
                                lambda: self.step("hipMalloc", self.random.randint(1, 30),
                                                  dict(size=8))))()
        # The last moment of all is a wait for everything.
        ends = [end for end in self.last.values() if end is not None and end[0] > self.now[0]]
        if ends:
            latest = max(ends, key=lambda end: end[0])
            self.trace.call("hipDeviceSynchronize", self.now[0], latest[0])
            self.now = (latest[0], None, latest)
        return self.trace

    def path(self):
        """Time by name, of what decided the last moment."""
        found, moment = {}, self.now
        while moment[2] is not None:
            time, name, before = moment
            if name is not None and time > before[0]:
                found[name] = found.get(name, 0) + time - before[0]
            moment = before
        return found


class RandomCriticalPath(Verdict):
    def test_the_path_is_what_decided(self):
        """40 random programs; the path's time by name is the simulation's, and is all of the time."""
        for seed in SEEDS:
            program = Program(seed)
            trace = program.run()
            answer = self.ask("critical-path", trace)
            found = {}
            for row in answer["names"]:
                found[row["name"]] = found.get(row["name"], 0) + row["time_ns"] // 1000
            with self.subTest(seed=seed):
                self.assertEqual(answer["bound_by_facts"]["unexplained_ns"], 0)
                self.assertEqual(answer["bound_by_facts"]["length_ns"] // 1000, program.now[0])
                self.assertEqual(found, program.path())
