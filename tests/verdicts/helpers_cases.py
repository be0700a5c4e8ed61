"""What other threads, GPUs and ranks do meanwhile, and what of it keeps a GPU waiting."""
from job import Job, JobVerdict
from trace import Trace
from verdict import Verdict

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
MS = 1_000_000


class CopyingThread(Verdict):
    """Of each 10 ms the GPU computes for 4, while the thread that launches this is in a function of Python;
    another thread copies the next batch, which takes 0.3 ms beside the kernel."""

    def training(self, name, kind):
        trace = Trace()
        for i in range(20):
            at = 10_000 * i
            trace.step(i, at, 10_000)
            trace.kernel("gemm", at + 20, 4000, launched=at + 5)
            trace.python("metrics.py(9): confusion_matrix", at + 30, 9950)
            trace.copy("h2d", at + 1010, 300, 1 << 22, launched=at + 1000, stream=9, thread=55)
            getattr(trace, kind)(name, at + 4200, 5700, thread=55)
        return trace

    def test_loading_ahead_keeps_nobody_waiting(self):
        trace = self.training(LOADER, "range")
        self.assert_first("host-work", trace)
        self.assert_not_found("data-loading", trace)
        self.assertIn("confusion_matrix", self.ask("check", trace)["check_remarks"][0])

    def test_allocating_ahead_keeps_nobody_waiting(self):
        trace = self.training("cudaMalloc", "call")
        self.assert_first("host-work", trace)
        self.assert_not_found("allocations", trace)

    def test_a_small_kernel_of_another_thread_while_data_is_loaded(self):
        """8 of each 20 ms the main thread is in its data loader; 7.8 ms into that another thread, which does
        nothing else, launches a kernel of 20 us, as for a moving average: it is still the loader."""
        trace = Trace()
        for i in range(30):
            at = 20_000 * i
            trace.step(i, at, 20_000)
            trace.range(LOADER, at, 8000)
            for k in range(9):
                trace.kernel(f"k{k}", at + 8100 + k * 1300, 1300, launched=at + 8010 + k * 5)
            trace.kernel("ema_update", at + 7800, 20, launched=at + 7790, thread=55, stream=30)
        self.assert_first("data-loading", trace)
        self.assertGreater(self.findings(trace)["data-loading"]["saving_ns"], 29 * 7.9 * MS)
        self.assert_not_found("launch-bound", trace)

    def test_the_thread_that_launches_what_comes_next_does(self):
        """The same, but the other thread launches the kernels, too."""
        trace = Trace()
        for i in range(20):
            at = 10_000 * i
            trace.kernel("gemm", at + 20, 4000, launched=at + 5, thread=55)
            trace.python("metrics.py(9): confusion_matrix", at + 30, 9950)
            trace.range(LOADER, at + 4200, 5700, thread=55)
        self.assert_first("data-loading", trace)

    def test_copies_in_the_gap_are_nobodys_delay(self):
        """Of 12 ms the main thread, which launches the kernel, works for 6 when it is over. Another waits for
        the next batch, and copies it in four parts."""
        trace = Trace()
        for i in range(20):
            at = i * 12_000
            trace.kernel("train", at + 20, 5900, launched=at + 10)
            trace.python("train.py(30): tokenize", at + 100, 11_800)
            for part in range(4):
                trace.python("threading.py(320): wait", at + 5500 + part * 1500, 1400, thread=9)
                trace.copy("h2d", at + 6950 + part * 1500, 40, 1 << 20, launched=at + 6930 + part * 1500,
                           stream=9, thread=9)
        self.assert_first("host-work", trace)
        self.assertIn("tokenize", self.ask("check", trace)["check_remarks"][0])

    def test_a_thread_whose_kernels_are_not_known_is_not_exchanged_for_none(self):
        """One thread works for 5.9 of 12 ms and copies; the file does not say who launches the kernels."""
        trace = Trace()
        for i in range(20):
            at = i * 12_000
            trace.kernel("train", at + 60, 5900, launched=None)
            trace.python("train.py(30): tokenize", at + 6000, 5900)
            trace.copy("h2d", at + 11_950, 40, 1 << 20, launched=at + 11_930)
        self.assert_first("host-work", trace)

    def test_the_thread_that_copies_may_be_what_is_waited_for(self):
        """The main thread waits in a queue for the batch that the other prepares and copies."""
        trace = Trace()
        for i in range(20):
            at = i * 12_000
            trace.kernel("train", at + 20, 5900, launched=at + 10)
            trace.python("queue.py(154): get", at + 5000, 6950)
            trace.python("load.py(7): decode", at + 5000, 6850, thread=9)
            trace.copy("h2d", at + 11_900, 40, 1 << 20, launched=at + 11_880, stream=9, thread=9)
        self.assert_first("host-work", trace)
        self.assertIn("decode", self.ask("check", trace)["check_remarks"][0])

    def test_who_waits_for_the_data_is_not_who_copies_them(self):
        """The main thread is in the loader for 6 of 10 ms, and launches the kernel when it has the data; the
        other thread copies them shortly before."""
        trace = Trace()
        for i in range(20):
            at = 10_000 * i
            trace.kernel("gemm", at + 20, 4000, launched=at + 5)
            trace.range(LOADER, at + 4010, 5985)
            trace.copy("h2d", at + 9850, 100, 1 << 22, launched=at + 9840, stream=9, thread=55)
        self.assert_first("data-loading", trace)


class TwoGpus(Verdict):
    def stages(self, waits, first=1000, second=5000):
        """A process whose GPU 1 works on what GPU 0 has made, in turns; the host waits for each."""
        trace = Trace()
        period = first + second + 50
        for i in range(20):
            at = period * i
            trace.step(i, at, period)
            trace.kernel("stage0", at + 10, first, launched=at + 2)
            begin = at + 25 + first
            trace.kernel("stage1", begin, second, launched=begin - 7 if waits else at + 5, device=1)
            if waits:
                trace.call("cudaStreamSynchronize", at + 5, first + 10)
                trace.call("cudaStreamSynchronize", begin - 3, second + 10)
        return trace

    def saved(self, trace):
        return sum(row["saving_ns"] or 0 for name, row in self.findings(trace, options=["--least", "0"]).items()
                   if name != "one-kernel")

    def test_no_gpu_is_done_sooner_than_the_busiest(self):
        """GPU 1 computes for 100 of 121 ms: whatever overlaps, 21 ms of each GPU's time can be saved at most."""
        for waits in (True, False):
            trace = self.stages(waits)
            self.assertLessEqual(self.saved(trace), 2 * 21.5 * MS)
            self.assertGreaterEqual(self.saved(trace), 2 * 15 * MS)
            self.assertIn("GPU 1 of the process works for 83 % of the time", " ".join(
                self.ask("check", trace)["check_remarks"]))

    def test_a_gpu_that_waits_in_a_collective_is_not_the_busiest(self):
        """The host loads data for 6 of 10 ms. That GPU 1 waits meanwhile in an all-reduce, for GPU 0 which is
        idle, does not make the loading cheaper."""
        trace = Trace()
        for i in range(20):
            at = 10_000 * i
            trace.range(LOADER, at + 5, 5900)
            trace.kernel("gemm", at + 6000, 3000, launched=at + 5960)
            trace.kernel("gemm", at + 10, 20, launched=at + 1, device=1)
            trace.collective("allreduce", at + 9010, 900, [0, 1], launched=at + 5970)
            trace.collective("allreduce", at + 100, 9810, [0, 1], launched=at + 3, device=1)
        found = self.findings(trace, options=["--least", "0"])
        self.assertGreaterEqual(found["data-loading"]["saving_ns"], 100 * MS)

    def test_equal_stages_could_run_at_the_same_time(self):
        """Each computes for half of the time."""
        self.assertGreaterEqual(self.saved(self.stages(True, 1000, 1000)), 2 * 19 * MS)


class Ranks(JobVerdict):
    def test_a_receive_may_wait_for_the_stage_before(self):
        """Rank 0 computes for 900 us of each ms and sends; rank 1 receives most of the time. To hide that
        would save nothing."""
        job = Job([0, 0])
        for i in range(40):
            at = 100 + 1000 * i
            job.ranks[0].kernel("layers0", at, 900, launched=at - 20)
            job.ranks[0].collective("send", at + 905, 40, [0, 1], launched=at - 10)
            job.ranks[1].collective("recv", at + 305, 645, [0, 1], launched=at + 290)
            job.ranks[1].kernel("layers1", at + 950, 300, launched=at + 295)
        found = self.findings(*job.ranks)
        self.assertEqual(list(found)[0], "one-kernel")
        self.assertIsNone(found["transfer-waits"]["saving_ns"])
        self.assertNotIn("exposed-communication", found)

    def test_the_path_is_that_of_the_late_rank(self):
        """Ten steps; rank 0 computes for 400 us and rank 1 for 1000, then both meet for 20 us. The path is
        rank 1's kernels, however long rank 0 waits in its collectives."""
        job, at = Job([0, 0]), 1000
        for i in range(10):
            for rank, computes in enumerate((400, 1000)):
                job.ranks[rank].kernel("gemm", at, computes - 1, launched=10 * i + 6 * rank, call_lasts=3)
                job.ranks[rank].collective("allreduce", at + computes, 1020 - computes, [0, 1],
                                           launched=10 * i + 5 + 4 * rank, stream=7)
            at += 1021
        told = self.ask("critical-path", self.merged(job))
        by = {row["bound_by"]: row["time_ns"] / MS for row in told["bound_by"]}
        self.assertAlmostEqual(by["gpu_compute"], 9.99, delta=0.1)
        self.assertAlmostEqual(by["gpu_communication"], 0.2, delta=0.05)

    def stopping(self, missing_from, hang, second=None):
        """Three ranks with 20 steps; one of them has no collective from a step on, in which the others are
        for `hang` us more. `second`: how long after it they are in that of a second group, and for how long."""
        job = Job([0, 0, 0])
        for i in range(20):
            at, is_last = 100 + 1010 * i, i == missing_from
            here = [0, 1] if i >= missing_from else [0, 1, 2]
            for rank in here:
                job.ranks[rank].kernel("gemm", at, 900, launched=at - 20)
            end = at + 1000 + (hang if is_last else 0)
            for rank in here:
                job.ranks[rank].collective("allreduce", at + 905, end - at - 905, [0, 1, 2])
                if second:
                    begin, lasts = second if is_last else (0, 95)
                    job.ranks[rank].collective("allreduce", at + 905 + begin, lasts, [0, 1, 2], group="second",
                                               launched=at + 885 + begin, stream=21)
            if is_last and hang:
                break
        return job

    def test_a_rank_that_does_not_come(self):
        """Ranks 0 and 1 are in the 13th all-reduce for 200 ms, to which rank 2 does not come: overlap is no
        remedy."""
        found = self.findings(*self.stopping(12, 200_000).ranks)
        self.assertEqual(list(found), ["missing-ranks"])
        self.assertIsNone(found["missing-ranks"]["saving_ns"])
        self.assertIn("rank 2 did not come to the last allreduce", self.remarks(*self.stopping(12, 200_000).ranks))

    def test_a_rank_that_comes_to_no_collective_of_two_groups(self):
        """They are in both for the same 200 ms, or in the second for 6 ms after those."""
        for begin, lasts, waits_us in ((0, 200_095, 200_095), (200_095, 6000, 206_095)):
            job = self.stopping(12, 200_000, second=(begin, lasts))
            found = self.findings(*job.ranks)
            self.assertEqual({name: row["cost_ns"] for name, row in found.items()},
                             {"missing-ranks": 2 * 1000 * waits_us})
            self.assertRegex(self.remarks(*job.ranks), "rank 2 did not come to the last allreduce of group '0 .*"
                             "rank 0 waits 200 ms in it; so it is in 1 more group")

    def test_a_recording_that_ends_earlier(self):
        """Rank 2's ends after 12 steps, and the others go on as before."""
        self.assert_not_found("missing-ranks", *self.stopping(12, 0).ranks)
