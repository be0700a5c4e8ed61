"""What was different in a slow step, and steps of several processes."""
from trace import Trace
from verdict import Verdict


class Steps(Verdict):
    def loading(self, inside=None):
        """20 steps of 10.5 ms: half a millisecond in the data loader (3.5 in step 7), and 10 in no call,
        or in a numbered range `inside`."""
        trace, at = Trace(), 0
        for i in range(20):
            load = 3500 if i == 7 else 500
            trace.step(i, at, 10_000 + load)
            trace.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 1, load)
            if inside:
                trace.range(f"{inside} {i}", at + load + 10, 9980)
            trace.kernel("gemm", at + load + 200, 9000, launched=at + load + 100)
            at += 10_000 + load
        return trace

    def assert_slow(self, trace, difference):
        told = self.ask("steps", trace)["slow"]
        self.assertEqual([(row["step"], row["more_ns"], row["difference"]) for row in told],
                         [("ProfilerStep#7", 3_000_000, difference)])

    def test_a_wait_within_an_asynchronous_copy(self):
        """The copy of .item() waits for the step's kernels, whatever its name says. Of the steps that log, one
        in five, it takes the place of the synchronisation: what is longer is the log."""
        trace, slower, at = Trace(), Trace(), 0
        for i in range(30):
            logs, more = i % 5 == 4, 10_000 * (i == 12)
            trace.step(i, at, 10_000 + 3200 * logs)
            trace.kernel("gemm", at + 500, 9000, launched=at + 10)
            if logs:
                trace.copy("to_pageable", at + 9510, 2, 4, launched=at + 70, call_lasts=9445)
                trace.python("logger.py(5): write", at + 9750, 3200)
            else:
                trace.call("cudaDeviceSynchronize", at + 70, 9440)
            at += 10_000 + 3200 * logs
            begin = 11_000 * i + 10_000 * (i > 12)
            slower.step(i, begin, 10_000 + more)
            slower.kernel("gemm", begin + 100, 9000 + more, launched=begin + 10)
            slower.copy("to_pageable", begin + 9110 + more, 2, 4, launched=begin + 70, call_lasts=9050 + more)
        self.assertEqual({row["difference"] for row in self.ask("steps", trace)["slow"]},
                         {"logger.py(5): write +3.20 ms"})
        self.assertEqual([row["difference"] for row in self.ask("steps", slower)["slow"]],
                         ["waiting for the GPU +10.0 ms; on the GPU gemm +10.0 ms"])

    def test_a_steps_own_marker_is_no_difference(self):
        """Each step's marker has a name of its own, in which as much time passes as in any other."""
        self.assert_slow(self.loading(),
                         "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ +3.00 ms")

    def test_a_numbered_range_is_no_difference(self):
        """The same for ranges within the step that have its number."""
        self.assert_slow(self.loading("forward batch"),
                         "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ +3.00 ms")

    def test_a_kernel_that_was_waited_for(self):
        """The kernel of step 7 takes 3 ms more, and its thread waits for it."""
        trace, at = Trace(), 0
        for i in range(20):
            lasts = 4000 if i == 7 else 1000
            trace.step(i, at, 10_000 + lasts)
            trace.kernel("gemm", at + 8200, lasts, launched=at + 8100)
            trace.call("cudaDeviceSynchronize", at + 8150, lasts + 60)
            at += 10_000 + lasts
        self.assert_slow(trace, "waiting for the GPU +3.00 ms; on the GPU gemm +3.00 ms")

    def running_ahead(self, every):
        """40 steps of 5 ms on the GPU, which the host launches in 350 us each; every so many it waits."""
        trace, at = Trace(), 0
        for i in range(40):
            waits = i % every == every - 1
            lasts = (i + 1) * 5000 + 60 - at if waits else 350
            trace.step(i, at, lasts)
            trace.kernel("train", i * 5000 + 50, 5000, launched=at + 10)
            if waits:
                trace.call("cudaDeviceSynchronize", at + 20, lasts - 30)
            at += lasts
        return trace

    def test_a_host_that_runs_ahead(self):
        """A step takes 5 ms, so 32 images each are 6,400 a second, and no step is slow."""
        told = self.ask("steps", self.running_ahead(10), options=("--batch", "32"))
        self.assertEqual(told["slow"], [])
        self.assertEqual(told["steps_facts"]["slow"], 0)
        self.assertAlmostEqual(told["steps_facts"]["pace_ns"], 5_000_000, delta=10_000)
        self.assertRegex(told["steps_facts"]["per_second"], "^6,(39|40).* ")

    def test_a_host_that_runs_ahead_hides_no_step_from_check(self):
        """The step that check speaks of is that of 5 ms, not the median on the host."""
        facts = self.ask("check", self.running_ahead(10))["check_facts"]
        self.assertAlmostEqual(facts["step_pace_ns"], 5_000_000, delta=10_000)
        self.assertNotIn("step_median_ns", facts)
        facts = self.ask("check", self.running_ahead(1))["check_facts"]
        self.assertAlmostEqual(facts["step_median_ns"], 5_000_000, delta=10_000)
        self.assertNotIn("step_pace_ns", facts)

    def test_a_queue_that_fills_is_no_trend(self):
        """Each step takes the GPU 5 ms, and the host 0.5 ms until 30 are queued, then 5 ms as well."""
        for steps in (60, 90):
            trace, host, gpu, ends = Trace(), 0, 10, []
            for i in range(steps):
                wait = max(0, ends[i - 30] - host - 10) if i >= 30 else 0
                begin = max(gpu, host + wait + 15)
                trace.step(i, host, 500 + wait)
                trace.kernel("gemm", begin, 5000, launched=host + 10, call_lasts=2 + wait)
                gpu = begin + 5000
                ends.append(gpu)
                host += 500 + wait
            self.assertNotIn("trend_percentage", self.ask("steps", trace)["steps_facts"])

    def test_gradients_that_are_accumulated(self):
        """A step of four passes of 8 images is no step of 8 images: how many it has is not known."""
        def training(passes):
            trace = Trace()
            for i in range(10):
                trace.step(i, 10_000 * i, 10_000)
                for part in range(passes):
                    at = 10_000 * i + 10_000 // passes * part + 10
                    trace.operator("aten::conv2d", at, 20, **{
                        "Input Dims": [[32 // passes, 3, 224, 224], [64, 3, 7, 7]], "Input type": ["float", "float"]})
                    trace.kernel("conv", at + 20, 10_000 // passes - 50, launched=at + 2)
            return self.ask("steps", trace)["steps_facts"]["per_second"]
        self.assertRegex(training(1), "^3,200 .*32 per step")
        self.assertRegex(training(4), "^not known: the input of aten::conv2d has 8, 4 times a step")

    def test_waiting_in_each_step_makes_none_slower(self):
        """Both runs take 5 ms a step, whether the host waits for each or for every tenth."""
        verdict = self.ask("diff", self.running_ahead(10), self.running_ahead(1))["wall_facts"]["verdict"]
        self.assertRegex(verdict, r"a step takes (1\.00|0\.99)\d times as long, 5\.0\d ms in the mean of 40 and "
                                  r"5\.0\d ms in the median of 40; the host of A launches steps before")

    def test_a_second_thread_with_steps_of_its_own(self):
        """One thread has 20 steps of 10 ms with a kernel of 3 ms each; another one, half a step later,
        20 with 5 ms each, which overlap the first thread's and are left out, with their kernels."""
        trace = Trace()
        for i in range(20):
            trace.step(i, 10_000 * i, 10_000)
            trace.kernel("small", 10_000 * i + 200, 3000, launched=10_000 * i + 100)
            trace.step(i, 10_000 * i + 5000, 10_000, thread=71)
            trace.kernel("large", 10_000 * i + 5200, 4000, stream=8, launched=10_000 * i + 5100, thread=71)
        told = self.ask("steps", trace)
        self.assertEqual([row["busy_ns"] for row in told["steps"]], 20 * [3_000_000])
        self.assertTrue(any("20 that overlap those of another thread are left out" in note
                            for note in told["notes"]), told["notes"])

    def merged(self, *traces):
        path = self.folder / "merged.rpd"
        self.run_sonde("merge", *self.write(*traces), "-o", path)
        return self.ask("steps", path)["steps_facts"]

    def program(self, process, steps, step_us, ahead_us=0, slow=None):
        trace, at = Trace(process=process), ahead_us
        for i in range(steps):
            lasts = 2 * step_us if i == slow else step_us
            trace.step(i, at, lasts)
            trace.kernel("gemm", at + 10, step_us - 100, launched=at + 2)
            at += lasts
        return trace

    def test_two_programs_with_steps_of_their_own(self):
        """30 steps of 1 ms, and 20 of 2 ms in another process: none is slow, and none gets slower."""
        facts = self.merged(self.program(100, 30, 1000), self.program(200, 20, 2000))
        self.assertEqual((facts["count"], facts["slow"], facts["trend_percentage"]), (50, 0, 0))

    def test_a_slow_step_of_the_faster_program(self):
        """Step 5 of the first program takes 2 ms, as all of the second do."""
        facts = self.merged(self.program(100, 30, 1000, slow=5), self.program(200, 20, 2000))
        self.assertEqual((facts["count"], facts["slow"]), (50, 1))

    def test_a_clock_that_is_ahead_is_no_trend(self):
        """Two processes with steps of 1.0 and 1.2 ms; all of the second's have later time stamps."""
        facts = self.merged(self.program(100, 30, 1000), self.program(200, 30, 1200, ahead_us=10_000_000))
        self.assertEqual(facts["trend_percentage"], 0)

    def test_a_trimmed_file_is_as_busy_as_the_window(self):
        """The GPU is busy all the time; so it is in a part of the file that `sonde trim` makes."""
        trace = Trace()
        for i in range(20):
            trace.step(i, 10_000 * i, 10_000)
            trace.kernel("gemm", 10_000 * i + 1, 9999, launched=10_000 * i)
        whole, part = self.folder / "whole.rpd", self.folder / "part.rpd"
        self.run_sonde("import", *self.write(trace), "-o", whole)
        self.run_sonde("trim", whole, "-o", part, "--from", "57ms", "--to", "73ms")
        facts = self.ask("check", part)["check_facts"]
        self.assertEqual(facts["wall_ns"], 30_000_000)  # what reaches beyond the window is whole
        self.assertGreater(facts["gpu_busy_percentage"], 99)

    def test_steps_of_a_window(self):
        """Steps of 8 ms: of a window of 10 ms none is whole, of one of 24 ms two are."""
        trace = self.program(100, 20, 8000)
        for begin, end, whole in (("17ms", "27ms", 0), ("57ms", "81ms", 2)):
            told = self.ask("check", trace, options=("--from", begin, "--to", end))["check_facts"]
            self.assertEqual(told.get("steps", 0), whole)


class NoneIsSlow(Verdict):
    """Where no step stands out, the text says so, and no more than that."""

    def slow(self, lengths, ahead_us=None):
        """The text of the slow steps: each has a kernel that fills it."""
        trace, at = Trace(), 0
        for i, length in enumerate(lengths):
            trace.step(i, at, ahead_us or length)
            trace.kernel("gemm", at + 10, length - 20, launched=at + 2)
            at += length
        text = self.text("steps", trace, options=("--limit", "1"))
        return text[text.index("What was different"):].splitlines()[1]

    def test_steps_that_alternate(self):
        """Every second one takes four times as long."""
        self.assertIn("No step stands out", self.slow([5000, 20_000] * 15))

    def test_steps_that_take_longer_and_longer(self):
        """From 10 to 20 ms."""
        self.assertIn("longer and longer", self.slow([10_000 + 300 * i for i in range(34)]))
        self.assertNotIn("longer and longer", self.slow([10_000] * 34))

    def test_a_host_that_runs_ahead(self):
        """Launching a step takes 1 ms and the GPU 10: the times of the steps say nothing."""
        self.assertIn("runs ahead", self.slow([10_000] * 10, ahead_us=1000))

    def test_steps_told_by_kernels_name_the_idle_gpu(self):
        """No marker tells the steps, 4 kernels repeat; before the 12th round the GPU idles for 200 ms."""
        trace, at = Trace(), 0
        for i in range(20):
            at += 200_000 if i == 12 else 0
            for part in range(4):
                trace.kernel(f"kernel{part}", at + 10 + 1000 * part, 990, launched=at + part)
            at += 4000
        rows = self.ask("steps", trace)["slow"]
        self.assertEqual([row["difference"] for row in rows], ["the GPU idle; sonde idle shows why"])
