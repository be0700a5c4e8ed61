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

    def steps(self, work=lambda trace, at: None, launched=None, count=4):
        """Steps of 50 ms, in each of which the GPU works from 20 to 30 ms. `launched`: how long before it begins
        the kernel is launched."""
        trace = Trace()
        for step in range(count):
            at = 50_000 * step
            trace.step(step, at, 50_000)
            work(trace, at)
            trace.kernel("gemm", at + 20_000, 10_000, launched=at + 20_000 - launched if launched else "just before")
        return trace

    def told(self, trace, step, window="step"):
        """Findings, and idle time by reason in whole milliseconds; check and idle have the same."""
        options = ("--window", f"{window}:{step}")
        rows = self.ask("idle", trace, options=options)["idle"]
        reasons = {row["reason"]: round(row["total_ns"] / 1e6) for row in rows if row["total_ns"] >= 500_000}
        return list(self.findings(trace, options=options)), reasons

    def test_what_begins_a_step(self):
        """Data is loaded in the first 19 ms, and after the kernel the program is in a function for 19 ms."""
        def work(trace, at):
            trace.range(LOADER, at + 100, 19_000)
            trace.python("train.py(9): validate", at + 30_500, 19_000)
        trace = self.steps(work)
        found, reasons = self.told(trace, 2)
        self.assertEqual((sorted(found[:2]), reasons), (["data-loading", "host-work"], {"launch-bound": 40}))
        host = {row["name"]: row["total_ns"] for row in
                self.ask("idle", trace, options=("--window", "step:2"))["host"] if row["when"] == "between"}
        self.assertEqual((host[LOADER], host["train.py(9): validate"]), (19_000_000, 19_000_000))
        self.assertIn("ends with the end of the window; 19.0 ms of it in train.py(9): validate",
                      self.remark("host-work", trace, 2))

    def test_what_was_launched_before_the_step(self):
        """The kernel of each step is launched in the step before, 25 ms before it can begin, and the function that
        runs meanwhile keeps nobody waiting."""
        trace = self.steps(lambda trace, at: trace.python("train.py(9): validate", at + 100, 19_000), launched=25_000)
        found, reasons = self.told(trace, 2)
        self.assertNotIn("host-work", found)
        # From 30 ms, when the kernel ends, to the launch of the next at 45 ms the host is late, and not thereafter.
        self.assertEqual(reasons, {"edge": 25, "launch-bound": 15})

    def test_loading_while_what_was_launched_before_does_not_begin(self):
        """The same with a data loader, which keeps nobody waiting either."""
        trace = self.steps(lambda trace, at: trace.range(LOADER, at + 100, 19_000), launched=25_000)
        found, reasons = self.told(trace, 2)
        self.assertNotIn("data-loading", found)
        self.assertEqual(reasons, {"edge": 25, "launch-bound": 15})

    def test_what_ends_the_recording(self):
        """Nothing is launched after the last step's kernel, so nobody waited for what follows."""
        trace = self.steps(lambda trace, at: trace.python("train.py(9): validate", at + 30_500, 19_000))
        self.assertEqual(self.told(trace, 3)[1], {"edge": 20, "launch-bound": 20})
        self.assertEqual(self.told(trace, 2)[1], {"launch-bound": 40})

    def test_another_processs_launch_is_not_the_next(self):
        """Process 8 launches work for its own GPU all the time; process 7 is late."""
        trace = self.steps(lambda trace, at: trace.python("train.py(9): validate", at + 30_500, 19_000))
        for i in range(40):
            trace.event("cuda_runtime", "cudaLaunchKernel", 5000 * i + 10, 3, process=8, correlation=10_000 + i)
        self.assertEqual(self.told(trace, 2)[1], {"launch-bound": 40})

    def test_adjacent_windows_have_all_idle_time(self):
        trace = self.steps(lambda trace, at: trace.python("train.py(9): validate", at + 30_500, 19_000), count=6)
        of = lambda options: sum(row["total_ns"] for row in self.ask("idle", trace, options=options)["idle"])
        steps = sum(of(("--window", f"step:{step}")) for step in (1, 2, 3))
        self.assertEqual(steps, of(("--window", "step:1..3")))
