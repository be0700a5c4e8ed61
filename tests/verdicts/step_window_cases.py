"""What is said of one step of a trace, chosen by --window step:N."""
from trace import Trace
from verdict import Verdict

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class OneStep(Verdict):
    def remark(self, finding, trace, step):
        told = self.ask("check", trace, options=("--window", f"step:{step}"))["check_remarks"]
        return next(text for text in told if text.startswith(finding))

    def test_evidence_is_of_the_window(self):
        """Each of 20 steps of 50 ms loads data for 20 ms, begins a second load in its last 2 ms, which the next step
        ends, and allocates memory 20 times for 0.2 ms."""
        trace = Trace()
        for step in range(20):
            at = 50_000 * step
            trace.step(step, at, 50_000)
            trace.range(LOADER, at + 2000, 20_000)
            trace.range(LOADER, at + 48_000, 4000)
            trace.kernel("a", at + 23_000, 5000)
            for i in range(20):
                trace.call("cudaMalloc", at + 29_000 + 500 * i, 200)
            trace.kernel("b", at + 40_000, 5000)
        self.assertIn(": 3 ranges of data loaders take 24.0 ms", self.remark("data-loading", trace, 7))
        self.assertIn("20 calls ", self.remark("allocations", trace, 7))
        self.assertIn(" take 4.00 ms, and the GPUs are idle for 4.00 ms", self.remark("allocations", trace, 7))

    def test_evidence_is_of_the_time_of_gpus(self):
        """Data is loaded for 1 s before the first kernel, which costs no time of the GPU."""
        trace = Trace()
        trace.range(LOADER, 0, 1_000_000)
        trace.kernel("a", 1_000_010, 5000)
        trace.range(LOADER, 1_006_000, 20_000)
        trace.kernel("b", 1_027_000, 5000)
        told = self.ask("check", trace)["check_remarks"]
        self.assertTrue(told[0].startswith("data-loading: 1 range of data loaders takes 20.0 ms, and the GPUs are idle for 20.0 ms"), told)
