"""What check says of communication and copies that no kernel hides: how much of it could be hidden, and that it
is not passed over where little could."""
from trace import Trace
from verdict import Verdict

MS = 1_000_000


def steps(count, compute_us, collective_us, wait_us=0):
    """Steps of computation, and then a collective with nothing beside it. `wait_us`: how long a collective
    of one element takes that follows half of the steps."""
    trace, at = Trace(rank=0, world=8), 0
    for i in range(count):
        length = compute_us + collective_us + 20
        trace.step(i, at, length)
        trace.kernel("gemm", at + 10, compute_us, launched=at + 2)
        trace.collective("allreduce", at + 15 + compute_us, collective_us, range(8), elements=1 << 24,
                         launched=at + 4, number=i)
        at += length
        if wait_us and i == count // 2:
            trace.collective("allreduce", at + 5, wait_us, range(8), elements=1, launched=at + 1, number=count)
            at += wait_us + 10
    return trace


class Exposed(Verdict):
    def test_communication_that_takes_nearly_all_the_time_is_listed(self):
        """4 % of the time is computation, so no more than that could hide communication; it takes 96 %."""
        trace = steps(20, compute_us=400, collective_us=9600)
        self.assertNotIn("Nothing stands out", self.text("check", trace))
        self.assert_first("exposed-communication", trace)

    def test_a_little_communication_is_not(self):
        """It takes 2 % of the time."""
        trace = steps(20, compute_us=9800, collective_us=200)
        self.assertIn("too small to list", self.text("check", trace).split("exposed-communication")[0].lower())

    def test_a_wait_is_hidden_by_no_other_step(self):
        """40 steps of 45 ms have collectives of 5 ms, which could be hidden: 0.2 s. One collective of 5 s is a
        wait for other ranks; the computation of the other steps cannot be moved beside it."""
        trace = steps(40, compute_us=40_000, collective_us=5000, wait_us=5_000_000)
        found = self.findings(trace)["exposed-communication"]
        self.assertLess(found["saving_ns"], 260 * MS)
