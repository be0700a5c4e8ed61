from trace import Trace
from verdict import Verdict


def steps_that_run_late(steps=3):
    """Each step launches one kernel of 1 ms in 100 us of CPU time; the GPU runs behind, without a
    gap: step 2's kernel runs when its range is long over."""
    trace = Trace()
    for step in range(steps):
        trace.step(step, at=step * 100, lasts=100)
        trace.kernel(f"k{step}", at=50 + step * 1000, lasts=1000, launched=10 + step * 100)
    trace.range("tail", 0, 50 + steps * 1000)
    return trace


def two_steps():
    trace = Trace()
    for step in range(2):
        trace.step(step, at=100 * step, lasts=100)
    return trace


class Breakdown(Verdict):
    def steps(self, trace, options=()):
        answer = self.ask("breakdown", trace, options=["--per", "step", *options])
        return {row["step"]: row for row in answer["breakdown"]}

    def test_work_belongs_to_the_step_that_launched_it(self):
        """Three kernels of 1 ms, one of each step."""
        rows = self.steps(steps_that_run_late())
        self.assertEqual([rows[f"ProfilerStep#{i}"]["compute_ns"] for i in range(3)],
                         [1_000_000] * 3)
        self.assertEqual([rows[f"ProfilerStep#{i}"]["idle_ns"] for i in range(3)], [0] * 3)

    def test_work_of_another_step_is_not_idle(self):
        """Step 0 launches a and c, step 1 launches b, which runs between them for 300 of 400 us."""
        trace = two_steps()
        trace.kernel("a", at=200, lasts=100, launched=10, stream=1)
        trace.kernel("b", at=350, lasts=300, launched=110, stream=2)
        trace.kernel("c", at=700, lasts=100, launched=20, stream=1)
        row = self.steps(trace)["ProfilerStep#0"]
        self.assertEqual((row["total_ns"], row["compute_ns"], row["other_steps_ns"],
                          row["idle_ns"]), (600_000, 200_000, 300_000, 100_000))

    def test_overlap_with_another_step_is_the_steps_own(self):
        """What runs beside work of another step is compute, not other steps."""
        trace = two_steps()
        trace.kernel("a", at=200, lasts=400, launched=10, stream=1)
        trace.kernel("b", at=300, lasts=500, launched=110, stream=2)
        rows = self.steps(trace)
        self.assertEqual((rows["ProfilerStep#0"]["compute_ns"],
                          rows["ProfilerStep#0"]["other_steps_ns"]), (400_000, 0))
        self.assertEqual((rows["ProfilerStep#1"]["compute_ns"], rows["ProfilerStep#1"]["idle_ns"]),
                         (500_000, 0))

    def test_as_the_cpu_saw_it_when_asked(self):
        """In the 100 us of step 2 on the CPU, kernel 0 ran, whoever launched it."""
        row = self.steps(steps_that_run_late(), ["--steps", "ran"])["ProfilerStep#2"]
        self.assertEqual((row["total_ns"], row["compute_ns"], row["idle_ns"]),
                         (100_000, 100_000, 0))

    def test_hidden_communication_is_not_exposed(self):
        """An all-reduce of 300 us lies under a kernel for 200 of them."""
        trace = Trace()
        trace.kernel("gemm", at=0, lasts=200, launched=None)
        trace.collective("allreduce", at=0, lasts=300, ranks=[0, 1], launched=None)
        row = self.ask("breakdown", trace)["breakdown"][0]
        self.assertEqual((row["compute_ns"], row["exposed_communication_ns"], row["idle_ns"]),
                         (200_000, 100_000, 0))

    def test_idle_of_the_program_counts_its_start_and_its_end(self):
        """200 us of kernels in a program of 1 ms: no gap, and idle for 80 % of it."""
        trace = Trace()
        trace.range("program", 0, 1000)
        trace.kernel("gemm", at=500, lasts=200)
        row = self.ask("breakdown", trace)["breakdown"][0]
        self.assertEqual((row["idle_ns"], row["idle_of_program_percentage"]), (0, 80.0))

    def test_numbered_steps_and_layers_are_one_row(self):
        """Steps 0 to 2 launch a kernel each, in layers Linear_0 to Linear_2."""
        trace = steps_that_run_late()
        for i in range(3):
            trace.python(f"nn.Module: Linear_{i}", at=5 + i * 100, lasts=90)
        rows = self.ask("kernels", trace, options=["--by", "module"])["kernels"]
        self.assertEqual([(row["module"], row["calls"]) for row in rows],
                         [("nn.Module: Linear_N", 3)])
        calls = {row["name"]: row["calls"] for row in self.ask("api", trace)["api"]}
        self.assertEqual((calls["ProfilerStep#N"], calls["tail"]), (3, 1))

    def test_ranges_that_overlap_have_no_negative_time(self):
        """Two ranges of 60 us in one of 100 us, which overlap for 20."""
        trace = Trace()
        trace.operator("outer", 0, 100)
        trace.operator("one", 0.5, 59.5)
        trace.operator("two", 40, 59)
        rows = {row["operator"]: row["cpu_self_ns"]
                for row in self.ask("operators", trace)["operators"]}
        self.assertEqual(rows, {"outer": 1_500, "one": 39_500, "two": 59_000})
        frames = self.ask("stacks", trace, options=["--weight", "wall", "--by", "tree",
                                                    "--min-share", "0"])["stacks"]
        self.assertEqual({row["frame"]: row["self_ns"] for row in frames}, rows)
        self.assertEqual(frames[0]["total_ns"], 100_000)
