from trace import Trace
from verdict import Verdict


class Busy(Verdict):
    def busy(self, trace, options=()):
        return self.ask("busy", trace, options=options)["busy"][0]

    def test_a_gpu_in_the_middle_of_a_long_program_is_idle(self):
        """The program lasts 10 s, the GPU works for 0.1 s of it, without a gap."""
        trace = Trace()
        trace.range("program", 0, 10_000_000)
        trace.kernel("gemm", at=4_900_000, lasts=100_000)
        row = self.busy(trace)
        self.assertEqual((row["busy"], row["busy_of_program"]), (1.0, 0.01))
        self.assertEqual(row["program_ns"], 10_000_000_000)

    def test_a_gpu_that_works_all_the_time_is_busy(self):
        """Kernels touch each other, and the program has nothing before or after them."""
        trace = Trace()
        for i in range(10):
            trace.kernel("k", at=i * 100, lasts=100, launched=None)
        row = self.busy(trace)
        self.assertEqual((row["busy"], row["busy_of_program"]), (1.0, 1.0))

    def test_overlap_counts_once(self):
        """Two kernels run side by side for 100 of 150 us."""
        trace = Trace()
        trace.kernel("a", at=0, lasts=150, stream=1, launched=None)
        trace.kernel("b", at=50, lasts=100, stream=2, launched=None)
        row = self.busy(trace)
        self.assertEqual((row["busy_ns"], row["sum_ns"]), (150_000, 250_000))
        self.assertEqual(row["busy_of_program"], 1.0)

    def test_half_of_it(self):
        trace = Trace()
        trace.kernel("a", at=0, lasts=50, launched=None)
        trace.kernel("b", at=150, lasts=50, launched=None)
        self.assertEqual(self.busy(trace)["busy"], 0.5)

    def test_a_window_is_the_program_of_its_own(self):
        """Of the window from 0 to 200 us, 100 us are busy; what the program does later is not in
        it."""
        trace = Trace()
        trace.range("program", 0, 1_000_000)
        trace.kernel("a", at=100, lasts=200, launched=50)
        row = self.busy(trace, options=["--to", "200us"])
        self.assertEqual((row["busy"], row["busy_of_program"]), (0.5, 0.5))
