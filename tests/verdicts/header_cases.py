"""What check says before its findings: what ran, in which steps, and how busy the GPUs were."""
import subprocess

from check_cases import training
from trace import Trace
from verdict import Verdict


class Header(Verdict):
    def facts(self, *traces):
        return self.ask("check", *traces)["check_facts"]

    def test_what_ran_comes_first(self):
        """10 steps of 1 ms on one GPU that is busy for 0.8 ms of each."""
        facts = self.facts(training())
        self.assertEqual(facts["device"], "Test GPU")
        self.assertEqual(facts["steps"], 10)
        self.assertEqual(facts["step_median_ns"], 1_000_000)
        self.assertAlmostEqual(facts["gpu_busy_percentage"], 80, delta=1)
        self.assertEqual(facts["communication_percentage"], 0)

    def test_busy_of_wall_is_not_busy_of_work(self):
        """The program lasts 10 s, and the GPU works for 0.1 s in its middle."""
        trace = Trace()
        trace.range("main", 0, 10_000_000)
        trace.kernel("work", 5_000_000, 100_000)
        facts = self.facts(trace)
        self.assertAlmostEqual(facts["gpu_busy_percentage"], 1)
        self.assertEqual(facts["work_busy_percentage"], 100)
        self.assertEqual(facts["before_gpu_ns"], 5_000_000_000)

    def test_steps_of_several_processes(self):
        """Ten steps of 2 ms on one rank and of 6 ms on the other: ten steps of a job, not twenty, whose
        median would be nobody's."""
        def rank(number, length):
            trace = Trace(rank=number, world=2, process=100 + number)
            for step in range(10):
                trace.step(step, step * length, length)
                trace.kernel("k", step * length + 20, length - 100, launched=step * length + 5)
            return trace
        facts = self.facts(rank(0, 2000), rank(1, 6000))
        self.assertEqual((facts["steps"], facts["step_median_ns"]), (10, 6_000_000))
        printed = self.text("check", rank(0, 2000), rank(1, 6000))
        self.assertRegex(printed, r"Steps of each process +10\n")
        self.assertRegex(printed, r"Median step, slowest process +6.00 ms\n")

    def test_busy_after_the_warm_up_says_so(self):
        """Two steps that compile for 45 of 50 ms, then ten that the GPU fills: the one share has the warm-up,
        the other has not, and is not called that of all operations."""
        trace, at = Trace(), 0
        for step in range(12):
            compiles = 45_000 if step < 2 else 0
            trace.step(step, at, compiles + 5000)
            if compiles:
                trace.python("compile_fx.py(1): compile_fx", at + 10, compiles - 100)
            trace.kernel("k", at + compiles + 50, 4800, launched=at + compiles + 10)
            at += compiles + 5000
        printed = self.text("check", trace)
        self.assertIn("GPU busy, first to last operation after the warm-up  96.4 %", printed)
        self.assertRegex(self.text("check", training()), "GPU busy, first to last operation  81.6 %")

    def test_operations_cannot_be_chosen_where_all_count(self):
        """Half of the time another kernel runs: that is no idle time, so these commands take no --kernel."""
        trace = Trace()
        for i in range(10):
            trace.kernel("k0", i * 5000 + 20, 2000)
            trace.kernel("k1", i * 5000 + 2030, 2500)
        path, = self.write(trace)
        for command in (["check"], ["idle"], ["breakdown"], ["critical-path"], ["launches"], ["analyze"], ["diff", path]):
            refused = subprocess.run([self.sonde, *command, path, "--kernel", "k1"], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("unknown option '--kernel'", refused.stderr)
        self.assertEqual(len(self.ask("kernels", path, options=("--kernel", "k1"))["kernels"]), 1)

    def test_clocks_of_machines_are_no_wall_time(self):
        """Two ranks of 100 ms, merged; the clock of one is 10 s ahead, which their all-reduces tell."""
        def rank(number, ahead_s):
            trace = Trace(rank=number, world=2, process=100 + number,
                          base_ns=1_700_000_000_000_000_000 + ahead_s * 1_000_000_000)
            for i in range(20):
                trace.kernel("gemm", 5000 * i + 20, 3900)
                trace.collective("allreduce", 5000 * i + 3930, 1000, [0, 1], number=i)
            return trace
        for ahead_s in (10, 0):
            path = self.folder / f"{ahead_s}.rpd"
            self.run_sonde("merge", *self.write(rank(0, 0), rank(1, ahead_s)), "-o", path)
            answer = self.ask("check", path)
            told = [note for note in answer["notes"] if note.startswith("the clocks of the ranks differ by 10.0 s")]
            self.assertEqual(len(told), 1 if ahead_s else 0)

    def test_an_empty_trace_has_no_header(self):
        answer = self.ask("check", Trace())
        self.assertEqual(answer["check"], [])
        self.assertNotIn("check_facts", answer)
