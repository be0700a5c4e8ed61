"""Shapes of whole jobs: what happens now and then, beside other processes, or between recordings."""
from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict


class Loop:
    """A training loop without a gap: four kernels of 245 us in each step of 1 ms."""

    def __init__(self, trace=None, at=0):
        self.trace, self.at, self.number = trace or Trace(), at, 0

    def steps(self, count, more=0, begin=0):
        """`more` us pass at the end of each, `begin` us at its start. Returns when the last one's kernels
        are over."""
        for _ in range(count):
            self.trace.step(self.number, self.at, 1000 + more + begin)
            self.at += begin
            for part in range(4):
                self.trace.kernel(f"kernel{part}", self.at + 5 + part * 245, 245, launched=self.at + 1 + part * 0.5,
                                  call_lasts=0.4)
            self.at += 1000 + more
            self.number += 1
        return self.at - more


class NowAndThen(Verdict):
    def evidence(self, finding, *traces):
        return next(text for text in self.ask("check", *traces)["check_remarks"] if text.startswith(finding))

    def test_one_long_collection(self):
        """Python collects garbage once, for 80 ms, in 20 steps of 1 ms."""
        loop = Loop()
        loop.steps(12)
        done = loop.steps(1, more=80_000)
        loop.trace.python("<built-in function collect>", done - 10, 80_000)
        loop.steps(7)
        self.assert_first("python-gc", loop.trace)
        self.assertIn("collect", self.ask("steps", loop.trace)["slow"][0]["difference"])

    def test_a_collection_beside_late_launches(self):
        """A collection of 5 ms, and 0.2 ms of Python before each step: the launches' longest gap is not the
        collection, of which a finding of its own tells."""
        loop = Loop()
        loop.steps(20, begin=200)
        done = loop.steps(1, more=5000)
        loop.trace.python("<built-in function collect>", done + 1, 4998)
        loop.steps(20, begin=200)
        self.assertIn("python-gc", self.findings(loop.trace))
        told = self.evidence("launch-bound", loop.trace)
        self.assertNotIn("function collect", told)
        self.assertIn("the longest without data loading, garbage collection or allocations, 220 us, ends with kernel0", told)

    def test_logging_every_fifth_step(self):
        """Every fifth step waits for the GPU and then logs for 3 ms; the waiting is 10 us of it."""
        loop = Loop()
        for _ in range(8):
            loop.steps(4)
            done = loop.steps(1, more=3000)
            loop.trace.call("cudaStreamSynchronize", done - 990, 985)
            loop.trace.python("logging.py(1): log_metrics", done, 2990)
        self.assert_first("host-work", loop.trace)
        self.assertIn("log_metrics", self.evidence("host-work", loop.trace))
        self.assert_not_found("waits", loop.trace)

    def test_the_loader_is_slow_on_every_eighth_step(self):
        """It takes 8 ms then, and 5 us else: 8 of 16 ms."""
        loop = Loop()
        for _ in range(8):
            loop.steps(7)
            at = loop.at
            loop.steps(1, begin=8000)
            loop.trace.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 1, 7999)
        self.assert_first("data-loading", loop.trace)
        self.assertEqual(self.ask("steps", loop.trace)["steps_facts"]["slow"], 8)

    def test_saving_a_checkpoint(self):
        """Each tenth step copies 64 MB to pageable memory for 5 ms and writes it for 45 ms."""
        loop = Loop()
        for _ in range(3):
            loop.steps(9)
            done = loop.steps(1, more=50_000)
            loop.trace.copy("to_pageable", done, 5000, 1 << 26, launched=done - 10, call_lasts=5020)
            loop.trace.python("torch/serialization.py(1): save", done - 20, 50_000)
        loop.steps(2)
        rows = self.findings(loop.trace, options=["--least", "1"])
        self.assertEqual(list(rows)[:2], ["host-work", "pageable-copies"])
        self.assertIn("save", self.evidence("host-work", loop.trace))
        self.assertAlmostEqual(rows["host-work"]["cost_ns"], 3 * 45_000_000, delta=300_000)

    def test_an_evaluation_in_the_middle(self):
        """Between the steps 1,000 kernels of 60 us, one each 200 us; the steps lack nothing."""
        loop = Loop()
        loop.steps(20)
        begin = loop.at
        loop.trace.range("evaluate", begin, 200_000)
        for i in range(1000):
            loop.trace.kernel("evaluation", begin + 20 + i * 200, 60, launched=begin + 10 + i * 200)
        loop.at += 200_000
        loop.steps(20)
        self.assert_first("launch-bound", loop.trace)
        self.assertIn("of it in evaluate", self.evidence("launch-bound", loop.trace))
        self.assertEqual(self.ask("check", loop.trace)["check_facts"]["step_median_ns"], 1_000_000)

    def test_steps_of_two_models_in_turns(self):
        """Steps of 1 and of 2 ms, ten of each: none is slow, and both commands tell one median."""
        trace, at = Trace(), 0
        for number in range(20):
            lasts = 1000 + 1000 * (number % 2)
            trace.step(number, at, lasts)
            trace.kernel(f"model{number % 2}", at + 10, lasts - 20, launched=at + 1)
            at += lasts
        facts = self.ask("steps", trace)["steps_facts"]
        self.assertEqual((facts["median_ns"], facts["slow"]), (1_500_000, 0))
        self.assertEqual(self.ask("check", trace)["check_facts"]["step_median_ns"], 1_500_000)

    def test_gradients_of_four_micro_batches(self):
        """One all-reduce of 0.5 ms for four forward and backward passes of 1 ms: no rank waits."""
        ranks = []
        for rank in range(2):
            trace = Trace(rank=rank, world=2, process=100 + rank)
            for step in range(10):
                at = step * 4600
                trace.step(step, at, 4600)
                for part in range(4):
                    trace.kernel("forward", at + 10 + part * 1000, 400, launched=at + 2 + part * 1000)
                    trace.kernel("backward", at + 411 + part * 1000, 585, launched=at + 3.5 + part * 1000)
                trace.collective("allreduce", at + 4000, 500, [0, 1], launched=at + 3100)
                trace.kernel("optimizer", at + 4505, 80, launched=at + 3200)
            ranks.append(trace)
        self.assertRegex(self.ask("collectives", *ranks)["time_facts"]["late"], "^no rank is late: ")
        found = self.findings(*ranks)
        self.assertEqual(found["exposed-communication"]["cost_ns"], 2 * 10 * 500_000)
        self.assertFalse({"straggler", "collective-waits"} & set(found))

    def test_replayed_graphs(self):
        """Each step launches a graph of 50 kernels of 19 us at once: one launch, nothing to blame."""
        trace = Trace()
        for step in range(40):
            at = step * 1000
            trace.step(step, at, 1000)
            trace.correlation += 1
            trace.call("cudaGraphLaunch", at + 1, 8, trace.correlation)
            for node in range(50):
                trace.event("kernel", f"k{node % 5}", at + 15 + node * 19, 18.5, process=0, thread=7, device=0,
                            stream=7, correlation=trace.correlation)
        self.assertEqual(list(self.findings(trace)), [])
        facts = self.ask("launches", trace)["launches_facts"]
        self.assertEqual((facts["calls"], facts["calls_with_many_ops"]), (40, 40))


class LittleOfTheProgram(Verdict):
    def test_a_compiler_before_the_first_of_a_few_steps(self):
        """5 s before the first kernel, then four steps: what check says is about 4 ms, and it says so."""
        loop = Loop(at=5_000_000)
        loop.trace.range("main", 0, 1)
        loop.steps(4)
        notes = " ".join(self.ask("check", loop.trace)["notes"])
        self.assertIn("0.1 % of the program's 5.00 s", notes)

    def test_a_program_that_works_from_its_beginning_to_its_end(self):
        loop = Loop()
        loop.steps(20)
        self.assertNotIn("of the program's", " ".join(self.ask("check", loop.trace).get("notes", [])))

    def test_a_pause_of_the_recording(self):
        """Ten steps, 5 s of which the file has nothing, ten steps: the pause is offered as a reason."""
        loop = Loop()
        loop.steps(10)
        loop.at += 5_000_000
        loop.steps(10)
        self.assert_first("host-unknown", loop.trace)
        self.assertIn("If recording was paused meanwhile", self.text("check", loop.trace))

    def test_a_thread_that_launches_for_another(self):
        """As DataParallel: the main thread loads data for 6 of 10 ms, and other threads launch. What those wait
        for is not in the file, but who may have held them up is; one that loads ahead all the time as well."""
        trace = Trace()
        for i in range(20):
            at = i * 10_000
            trace.range("enumerate(DataLoader)#_Iter.__next__", at, 6000)
            trace.kernel("forward", at + 6060, 3800, launched=at + 6040, thread=200)
        self.assert_first("host-unknown", trace)
        said = self.ask("check", trace)["check_remarks"][0]
        self.assertIn("it may have waited for thread 7, which was in enumerate(DataLoader)#_Iter.__next__ for "
                      "6.00 ms of it", said)

    def test_operations_whose_calls_are_missing(self):
        """40 of each 100 us are idle, and nothing is known of the host."""
        trace = Trace()
        for i in range(30):
            trace.kernel("k", 10 + i * 100, 60, launched=None)
        self.assertAlmostEqual(self.findings(trace)["idle-unexplained"]["saving_ns"], 29 * 40_000)

    def test_nothing_but_one_long_kernel(self):
        """10 s: no gap, no overhead, half of it at stake."""
        trace = Trace()
        trace.kernel("persistent", 100, 10_000_000, launched=10)
        trace.call("cudaDeviceSynchronize", 20, 10_000_090)
        self.assertEqual(list(self.findings(trace)), ["one-kernel"])
        self.assertEqual(self.ask("critical-path", trace)["bound_by"][0]["bound_by"], "gpu_compute")


class Clocks(Verdict):
    def test_a_gpu_whose_clock_is_behind(self):
        """Each kernel is shown 290 us before its launch: causes of idle time are not to be trusted."""
        def job(behind):
            trace = Trace()
            for i in range(50):
                at = 1000 + i * 1000
                trace.kernel("k", at + 20 - behind, 500, launched=at + 10)
                trace.call("cudaDeviceSynchronize", at + 15, 520)
            return trace
        for verb in ("check", "idle"):
            with self.subTest(verb):
                said = " ".join(self.ask(verb, job(300))["notes"])
                self.assertIn("50 of 50 operations begin before the calls that launched them, by up to 290", said)
                self.assertNotIn("clocks", " ".join(self.ask(verb, job(0)).get("notes", [])))


class SharedGpu(Verdict):
    def two_processes(self, first_lasts=400):
        """Process 200 launches when process 100 does, and its kernel runs behind that one."""
        first, second = RuntimeTrace(process=100), RuntimeTrace(process=200)
        for i in range(50):
            at = i * 1000
            first.kernel("first", at=at + 20, lasts=first_lasts, launched=at + 5)
            first.call("hipDeviceSynchronize", at + 10, at + 25 + first_lasts)
            second.kernel("second", at=at + 430, lasts=400, launched=at + 10, queue=5)
            second.call("hipDeviceSynchronize", at + 15, at + 835)
        return first.join(second)

    def bounds(self, trace):
        return {row["bound_by"]: row["time_ns"] for row in self.ask("critical-path", trace)["bound_by"]}

    def test_waiting_for_another_process_is_no_launch_overhead(self):
        """410 of the 420 us between launch and begin the GPU worked for the other process."""
        bounds = self.bounds(self.two_processes())
        self.assertEqual(bounds["gpu_other_work"], 50 * 420_000)
        self.assertNotIn("kernel_launch_overhead", bounds)

    def test_a_slow_launch_beside_a_short_kernel_is(self):
        """The other process' kernel takes 40 of the 420 us."""
        bounds = self.bounds(self.two_processes(first_lasts=40))
        self.assertEqual(bounds["kernel_launch_overhead"], 50 * 420_000)
        self.assertNotIn("gpu_other_work", bounds)

    def test_busy_is_of_both(self):
        row = self.ask("busy", self.two_processes())["busy"][0]
        self.assertEqual(row["busy_ns"], 50 * 800_000)


class Jobs(Verdict):
    def job(self, late, ranks=4, steps=20, hidden=False):
        """`late(step, rank)`: by how much longer its kernel takes. With `hidden`, other kernels run beside
        the all-reduces from their begins to their ends."""
        traces = [Trace(rank=rank, world=ranks, process=100 + rank) for rank in range(ranks)]
        at = 0
        for step in range(steps):
            most = max(late(step, rank) for rank in range(ranks))
            for rank, trace in enumerate(traces):
                mine = late(step, rank)
                trace.step(step, at, 1500 + most)
                trace.kernel("gemm", at + 10, 900 + mine, launched=at + 2)
                begin, end = at + 920 + mine, at + 920 + most + 400
                trace.collective("allreduce", begin, end - begin, range(ranks), launched=at + 5)
                if hidden:
                    trace.kernel("beside", begin, end - begin, launched=at + 8, stream=9)
            at += 1500 + most
        return traces

    def test_a_rank_that_is_late_once(self):
        """Rank 3 is 20 ms late once in 20 steps: 60 of 92 ms of communication wait for it then."""
        job = self.job(lambda step, rank: 20_000 if (step, rank) == (11, 3) else 0)
        late = self.ask("collectives", *job)["time_facts"]["late"]
        self.assertRegex(late, "^no rank is late in most .*; most waiting, 60.* is in one, to which rank 3 came 20")
        rows = self.findings(*job)
        self.assertEqual(rows["collective-waits"]["saving_ns"], 60_000_000)
        self.assertLess(rows["exposed-communication"]["saving_ns"], 32_100_000)
        self.assertNotIn("straggler", rows)

    def test_ranks_that_are_late_in_turns(self):
        """Each is 1 ms late in every fourth step: three wait for it, and no rank is to blame."""
        rows = self.findings(*self.job(lambda step, rank: 1000 if step % 4 == rank else 0))
        self.assertEqual(rows["collective-waits"]["saving_ns"], 20 * 3 * 1_000_000)
        self.assertNotIn("straggler", rows)

    def test_all_in_time(self):
        self.assertFalse({"collective-waits", "straggler"} & set(self.findings(*self.job(lambda step, rank: 0))))

    def test_waits_for_a_straggler_are_told_once(self):
        """Rank 3 is always 1 ms late: it is named, and nothing is left for the others."""
        rows = self.findings(*self.job(lambda step, rank: 1000 if rank == 3 else 0))
        self.assertEqual(rows["straggler"]["saving_ns"], 20 * 3 * 1_000_000)
        self.assertNotIn("collective-waits", rows)

    def test_who_waits_beside_work_loses_nothing(self):
        """The same, but all ranks compute all the time beside the all-reduces."""
        for late in (lambda step, rank: 1000 if rank == 3 else 0,
                     lambda step, rank: 1000 if step % 4 == rank else 0):
            rows = self.ask("check", *self.job(late, hidden=True), options=["--least", "0"])["check"]
            self.assertFalse({"straggler", "collective-waits", "exposed-communication"}
                             & {row["finding"] for row in rows})

    def test_pairs_within_groups(self):
        """Rank 2 is late in its pair {2, 3}, then each meets one of the other pair: 0 and 1 wait for 2 and 3,
        and rank 2 is to blame, not rank 3, which waited for it."""
        traces = [Trace(rank=rank, world=4, process=100 + rank) for rank in range(4)]
        for i in range(20):
            at = 1000 + i * 2000
            for rank, trace in enumerate(traces):
                trace.kernel("gemm", at, 500)
                begin = at + 510 + (300 if rank == 2 else 0)
                end = at + 610 + (300 if rank >= 2 else 0)
                trace.collective("reducescatter", begin, end - begin, [0, 1] if rank < 2 else [2, 3],
                                 group="12"[rank // 2])
                trace.collective("allreduce", end + 10, at + 1120 - end - 10, [rank % 2, rank % 2 + 2],
                                 group="34"[rank % 2], elements=1 << 19)
        self.assertRegex(self.ask("collectives", *traces)["time_facts"]["late"], "^rank 2 comes last in 20 of 20")
        remarks = self.ask("check", *traces)["check_remarks"]
        self.assertTrue(any("straggler" in text and "rank 2 came last" in text for text in remarks), remarks)
