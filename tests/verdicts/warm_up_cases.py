"""Which first steps are warm-up, and left out, and which are the program's work."""
from check_cases import training
from trace import Trace
from verdict import Verdict


class WarmUp(Verdict):
    def test_the_first_steps_are_left_out(self):
        """Two steps of 50 ms that wait for a compiler, then ten of 1 ms that lack nothing."""
        slow = training(steps=12, compute=990, warm_up=50_000)
        facts = self.ask("check", slow)["check_facts"]
        self.assertEqual((facts["steps"], facts["warm_up_steps"]), (12, 2))
        self.assertNotIn("launch-bound", self.findings(slow))

    def test_the_header_is_about_the_whole_program(self):
        """Two steps of 3 ms, in which kernels are tried out, and three of 1 ms, each with 0.1 ms without work
        at both ends: 8 of 9 ms are work, and 0.1 ms was before it."""
        trace, at = Trace(), 0
        for number, lasts in enumerate((3000, 3000, 1000, 1000, 1000)):
            trace.step(number, at, lasts)
            if lasts == 3000:
                trace.kernel("candidate", at + 100, 2000)
            trace.kernel("k", at + lasts - 900, 800)
            at += lasts
        facts = self.ask("check", trace)["check_facts"]
        self.assertEqual((facts["warm_up_steps"], facts["wall_ns"], facts["before_gpu_ns"]),
                         (2, 9_000_000, 100_000))
        self.assertAlmostEqual(facts["gpu_busy_percentage"], 100 * 8 / 9, places=3)

    def test_a_job_that_is_always_as_slow_has_no_warm_up(self):
        slow = training(steps=12, compute=400)
        self.assertEqual(self.ask("check", slow)["check_facts"]["warm_up_steps"], 0)
        self.assert_first("launch-bound", slow)

    def test_training_before_a_longer_evaluation_is_no_warm_up(self):
        """Two steps of 50 ms and 18 of 4 ms, then 40 of 1 ms, which make up the median."""
        def job(warm_up):
            trace = Trace()
            at = 0
            for number in range(60):
                lasts = 50_000 if number < warm_up else 4000 if number < 20 else 1000
                trace.step(number, at, lasts)
                trace.kernel("kernel", at + 5, 900, launched=at + 1)
                at += lasts
            return trace
        for warm_up in (2, 0):
            self.assertEqual(self.ask("check", job(warm_up))["check_facts"]["warm_up_steps"], warm_up)

    def warm_up_of(self, *traces):
        return self.ask("check", *traces)["check_facts"]["warm_up_steps"]

    def test_a_longer_prompt_is_work(self):
        """A server reads a prompt for 480 ms, then writes 60 words in 4.8 ms each, by the same kernels; it has
        no markers. Those of other names are no warm-up, either."""
        trace, at = Trace(), 0
        for word in range(61):
            for layer in range(12):
                lasts = 400 if word else 40_000
                trace.kernel(f"layer{layer}", at + 20, lasts)
                at += lasts + 20
        self.assertEqual(self.warm_up_of(trace), 0)
        named, at = Trace(), 0
        for i in range(40):
            lasts, name, kernel = (20_000, "execute_", "decode") if i > 4 else (200_000, "execute_context_", "prefill")
            named.range(f"{name}{i}", at, lasts)
            named.kernel(kernel, at + 100, lasts - 200, launched=at + 20)
            at += lasts
        self.assertEqual(self.warm_up_of(named), 0)

    def test_what_comes_again_is_no_warm_up(self):
        """Every fourth step, from the first on, reports for 15 ms to a server."""
        trace, at = Trace(), 0
        for i in range(12):
            lasts = 10_000 if i % 4 else 25_000
            trace.step(i, at, lasts)
            trace.kernel("k", at + 50, 9800, launched=at + 20)
            at += lasts
        self.assertEqual(self.warm_up_of(trace), 0)

    def test_a_tail_of_the_warm_up_takes_none_of_it_away(self):
        """50 ms, 5 ms and 1.6 ms, then 57 steps of 1 ms, each tenth of which takes 1.25 ms."""
        trace, at = Trace(), 0
        for i in range(60):
            lasts = {0: 50_000, 1: 5000, 2: 1600}.get(i, 1000 if i % 10 else 1250)
            trace.step(i, at, lasts)
            trace.kernel("k", at + lasts - 950, 900, launched=at + lasts - 960)
            at += lasts
        self.assertEqual(self.warm_up_of(trace), 2)

    def test_trying_out_is_warm_up(self):
        """The first step calls the kernel 1,000 times, with as many settings; each of 39 others once."""
        trace, at = Trace(), 0
        for i in range(40):
            lasts = 1000 if i else 120_000
            trace.step(i, at, lasts)
            for setting in range(1 if i else 1000):
                trace.kernel("triton_mm", at + 10 + setting * 110, 100)
            trace.kernel("gemm", at + lasts - 800, 700)
            at += lasts
        self.assertEqual(self.warm_up_of(trace), 1)

    def test_processes_with_other_steps_have_another_warm_up(self):
        """One makes 100 steps of 10 ms, of which the first eight take 40 ms; the other 9 of 120 ms."""
        def process(number, steps, lasts, slow):
            trace, at = Trace(rank=number, world=2, process=100 + number), 0
            for i in range(steps):
                length = 4 * lasts if i < slow else lasts
                trace.step(i, at, length)
                trace.kernel("work", at + length - 9000, 8000)
                trace.collective("broadcast", at + length - 900, 500, [0, 1], number=i)
                at += length
            return trace
        self.assertEqual(self.warm_up_of(process(0, 100, 10_000, 8), process(1, 9, 120_000, 0)), 8)

    def test_the_warm_up_of_one_rank_is_that_of_all(self):
        """Rank 0 compiles for 3 s in its first step. The host of rank 1 runs ahead, so that its first step is
        short, and its GPU waits in the first all-reduce."""
        def rank(number):
            trace = Trace(rank=number, world=2, process=100 + number)
            host = 0
            for i in range(30):
                lasts = 10_000 if i else (3_001_000, 1000)[number]
                trace.step(i, host, lasts)
                launched = host + (3_000_000 if number == i == 0 else 30)
                ready = 3_001_000 + 10_000 * i
                begin = ready if i else launched + 5
                trace.kernel("gemm", begin, 9000 if i else 700, launched=launched)
                reduce = begin + (9005 if i else 705)
                trace.collective("allreduce", reduce, ready + (9900 if i else 800) - reduce, [0, 1],
                                 launched=launched + 10, number=i)
                host += lasts
            return trace
        answer = self.ask("check", rank(0), rank(1))
        self.assertEqual(answer["check_facts"]["warm_up_steps"], 1)  # of each
        self.assertLess(answer["check_facts"]["communication_percentage"], 12)
        exposed = self.findings(rank(0), rank(1))["exposed-communication"]
        self.assertLess(exposed["cost_ns"], 60_000_000)  # 0.9 ms of each of 29 steps, on both ranks

    def test_without_a_gpu_there_is_no_warm_up(self):
        """Two steps of 50 ms and ten of 1 ms, of a program whose work is all on the CPU."""
        trace, at = Trace(), 0
        for number in range(12):
            lasts = 50_000 if number < 2 else 1000
            trace.step(number, at, lasts)
            trace.range("forward", at + 10, lasts - 20)
            at += lasts
        facts = self.ask("check", trace)["check_facts"]
        self.assertEqual((facts["steps"], facts["warm_up_steps"], facts["wall_ns"]), (12, 0, 110_000_000))

    def test_a_window_is_taken_as_it_is(self):
        slow = training(steps=12, compute=990, warm_up=50_000)
        answer = self.ask("check", slow, options=["--to", "100%"])
        self.assertEqual(answer["check_facts"]["warm_up_steps"], 0)
