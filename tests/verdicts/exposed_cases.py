"""What check says of communication and copies that no kernel hides: how much of it could be hidden, and that it
is not passed over where little could."""
from runtime_trace import RuntimeTrace
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


def copies_by_kernels(name, compute_us, beside=False):
    """20 times 6 ms of a kernel of AMD's runtime, and computation after it or beside it."""
    trace = Trace()
    for i in range(20):
        at = 10_000 * i
        trace.kernel(name, at + 10, 6000, launched=at + 2)
        trace.kernel("gemm", at + (10 if beside else 6010), compute_us, launched=at + 4, stream=8)
    return trace


class Exposed(Verdict):
    def test_copies_by_kernels_of_amds_runtime(self):
        """In each 10 ms one copies, or fills, for 6, and a product takes 4: breakdown has the same time, 4 of the
        6 ms could be hidden, and sonde copies does not know such kernels."""
        for name, kind in (("__amd_rocclr_copyBuffer", "copy"), ("__amd_rocclr_fillBufferAligned", "memset")):
            trace = copies_by_kernels(name, 4000)
            self.assert_first("exposed-copies", trace)
            found = self.findings(trace)["exposed-copies"]
            self.assertEqual((found["cost_ns"], found["saving_ns"]), (120 * MS, 80 * MS))
            self.assertEqual(self.ask("breakdown", trace)["breakdown"][0][f"exposed_{kind}_ns"], 120 * MS)
            self.assertIn("120 ms of it in 20 kernels of the runtime", self.ask("check", trace)["check_remarks"][0])

    def test_such_kernels_beside_computation_cost_nothing(self):
        trace = copies_by_kernels("__amd_rocclr_copyBuffer", 6000, beside=True)
        self.assertNotIn("exposed-copies", self.findings(trace, options=["--least", "0"]))

    def test_such_kernels_are_no_small_copies(self):
        """200 kernels of 1 ms are what hipMemcpyAsync of 4 KiB launched: that they are small is not why."""
        trace = RuntimeTrace()
        for i in range(200):
            trace.copy("d2d", at=10 + 1010 * i, lasts=1000, launched=1010 * i, returns=1010 * i + 1,
                       by="hipMemcpyAsync", blocks=False)
        trace.kernel("gemm", at=210_000, lasts=100_000, launched=200_000)
        trace.ops = [(call, "KernelExecution", "__amd_rocclr_copyBuffer" if kind != "KernelExecution" else name, *rest)
                     for call, kind, name, *rest in trace.ops]
        found = self.findings(trace)
        self.assertIn("exposed-copies", found)
        self.assertFalse({"small-copies", "device-copies", "pageable-copies"} & set(found), found)

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
