"""What check names first, what it must not blame, and that savings never add up to more than the time."""
import json

from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict


def training(steps=10, compute=800, length=1000, warm_up=None, gap_by=None):
    """A training job on one GPU: `compute` us of kernels in each step of `length` us. `gap_by` adds what the
    host does in the rest: gap_by(trace, from, to)."""
    trace = Trace()
    at = 0
    for number in range(steps):
        lasts = warm_up if warm_up and number < 2 else length
        trace.step(number, at, lasts)
        for part in range(4):
            trace.kernel(f"kernel{part}", at + 5 + part * compute / 4, compute / 4, launched=at + 1 + part * 0.5,
                         call_lasts=0.4)
        if gap_by:
            gap_by(trace, at + 10 + compute, at + lasts)
        at += lasts
    return trace


class Ranking(Verdict):
    def test_the_cause_stands_before_what_it_makes_idle(self):
        """Nothing is launched for half of each step because the data loader is not done."""
        def load(trace, begin, end):
            trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, end - begin)
        found = list(self.findings(training(compute=500, gap_by=load)))
        self.assertEqual(found[0], "data-loading")
        self.assertNotIn("launch-bound", found)

    def test_a_graph_in_place_of_its_kernels_is_no_kernel(self):
        """A file of nsys has one row for each CUDA graph: no kernel of it is known, but how to record them is."""
        trace = Trace()
        for i in range(10):
            trace.kernel("CUDA graph 3", 10 + 1000 * i, 900)
        self.assert_first("one-kernel", trace)
        self.assertIn("--cuda-graph-trace=node", self.text("check", trace))

    def test_a_kernel_that_could_be_twice_as_fast_saves_half(self):
        """One kernel of 6 ms, and 4 ms without work: the gap could be saved whole."""
        trace = Trace()
        trace.kernel("slow", 10, 6000)
        trace.kernel("last", 10_010, 1)
        rows = self.findings(trace)
        self.assertEqual(list(rows), ["host-unknown", "one-kernel"])
        self.assertEqual(rows["one-kernel"]["saving_ns"], 3_000_000)
        self.assertEqual(rows["one-kernel"]["cost_ns"], 6_000_000)

    def test_no_time_is_saved_twice(self):
        """Small pageable copies that nothing hides: three findings are about the same time."""
        trace = Trace()
        trace.kernel("work", 10, 1000)
        for i in range(200):
            trace.copy("pageable", 1020 + i * 10, 9, 4096)
        rows = self.ask("check", trace, options=["--least", "0"])["check"]
        self.assertLessEqual(sum(row["saving_percentage"] for row in rows), 100)
        copies = [row for row in rows if row["finding"].endswith("copies")]
        self.assertEqual(copies[0]["saving_ns"], 200 * 9000)
        self.assertEqual(sum(row["saving_ns"] for row in copies), 200 * 9000)

    def test_one_of_four_equal_kernels_is_not_most(self):
        """Each has a quarter of the time of all."""
        rows = self.findings(training(compute=1000))
        self.assertEqual(rows["one-kernel"]["title"], "One kernel takes at least a quarter of all kernels' time")

    def test_one_operation_saves_no_more_than_it_took(self):
        trace = Trace()
        trace.kernel("only", 10, 1000)
        rows = self.findings(trace)
        self.assertEqual(list(rows), ["one-kernel"])
        self.assertEqual(rows["one-kernel"]["saving_percentage"], 50)


class HostCauses(Verdict):
    def remark(self, finding, trace):
        return next(text for text in self.ask("check", trace)["check_remarks"] if text.startswith(finding))

    def gap(self, lasts):
        trace = Trace()
        trace.kernel("a", 10, 100)
        trace.kernel("b", 200 + lasts, 1000)
        return trace

    def test_a_range_about_a_loader_is_no_loader(self):
        """The program writes statistics of its data loader for 7 of 10 ms."""
        trace = Trace()
        for i in range(10):
            trace.kernel("k", 10 + i * 10_000, 2000)
            trace.range("update dataloader_statistics", 2500 + i * 10_000, 7000)
        self.assert_not_found("data-loading", trace)
        for event in trace.events:
            event["name"] = event["name"].replace("_statistics", "_next")
        self.assert_first("data-loading", trace)

    def test_loading_code_is_named(self):
        """2 s of cuModuleLoadData: larger batches would not help."""
        trace = self.gap(2_000_000)
        trace.call("cuModuleLoadData", 130, 2_000_000)
        self.assert_first("code-loading", trace)
        self.assert_not_found("launch-bound", trace)
        self.assertIn("cuModuleLoadData", self.remark("code-loading", trace))

    def gaps_with(self, *calls):
        """Five gaps of 50 ms with these calls in each: (name, from, how long) in us."""
        trace = Trace()
        for i in range(5):
            trace.kernel("a", 10 + i * 100_000, 100)
            for name, begin, lasts in calls:
                trace.call(name, begin + i * 100_000, lasts)
            trace.kernel("b", 51_000 + i * 100_000, 48_000)
        return trace

    def test_freeing_is_named(self):
        self.assertIn("cudaFree", self.remark("memory-calls", self.gaps_with(("cudaFree", 20, 50_000))))

    def test_freeing_and_allocating_are_one_use_of_memory(self):
        """Neither fills half of a gap, both together do."""
        trace = self.gaps_with(("cudaFree", 120, 20_000), ("cudaMalloc", 20_200, 19_000))
        self.assertIn("39.0 ms of it in cudaFree and similar calls", self.remark("memory-calls", trace))
        self.assert_not_found("launch-bound", trace)

    def test_calls_beside_a_kernel_keep_nobody_waiting(self):
        """The GPU is busy while the program loads code and frees memory; after that it is idle for
        2 ms without a call."""
        trace = Trace()
        trace.kernel("a", 10, 100_000)
        trace.call("cuModuleLoadData", 130, 50_000)
        trace.call("cudaFree", 50_200, 40_000)
        trace.kernel("b", 102_010, 1000)
        self.assertEqual(list(self.findings(trace))[0], "one-kernel")
        found = self.findings(trace, options=["--least", "0"])
        self.assertIn("host-unknown", found)
        self.assertFalse({"code-loading", "memory-calls"} & set(found), found)

    def test_a_function_of_python_is_named(self):
        trace = self.gap(5000)
        trace.python("train.py(3): preprocess", 120, 5000)
        self.assertIn("preprocess", self.remark("host-work", trace))

    def test_ranges_of_a_loader_within_one_another_are_counted_once(self):
        def load(trace, begin, end):
            trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, end - begin)
            trace.python("torch/utils/data/dataloader.py(630): __next__", begin, end - begin)
        # 490 us in 9 steps; after the last kernel nothing waits.
        self.assertIn("take 4.41 ms", self.remark("data-loading", training(compute=500, gap_by=load)))

    def test_a_script_named_after_a_loader_is_none(self):
        def work(trace, begin, end):
            trace.python("bench_dataloader.py(9): step", begin, end - begin)
            trace.python("metrics.py(7): update", begin + 1, end - begin - 2)
        trace = training(compute=500, length=4000, gap_by=work)
        self.assert_not_found("data-loading", trace)
        self.assertIn("update", self.remark("host-work", trace))

    def test_launches_that_a_wait_held_back(self):
        """The host needs 400 us a step for launches of 800 us of work, and could be ahead but for the wait."""
        def wait(trace, begin, end):
            trace.call("cudaDeviceSynchronize", begin - 500, 500)
        remark = self.remark("launch-bound", training(length=1200, gap_by=wait))
        self.assertIn("follows calls that wait for the GPU", remark)
        self.assertIn("Let the program launch ahead", remark)
        remark = self.remark("launch-bound", training(length=1200))
        self.assertNotIn("follows calls that wait", remark)
        self.assertIn("larger batches, fused operators", remark)

    def test_gaps_within_a_graph_are_not_of_launches(self):
        """One call launches 200 kernels of 8 us, with 2 us between them, or 40 us, which is no short time: it
        is still the graph's own, and nobody else's."""
        for gap in (2, 40):
            trace = Trace()
            trace.call("cudaGraphLaunch", 0, 20, correlation=500)
            for i in range(200):
                trace.kernel("node", 30 + i * (8 + gap), 8, launched=None)
                trace.events[-1]["args"]["correlation"] = 500
            found = self.findings(trace)
            self.assertEqual(found["graph-gaps"]["cost_ns"], 199 * gap * 1000)
            self.assertEqual(set(found) - {"graph-gaps", "one-kernel"}, set())

    def test_short_gaps_within_python_are_launches(self):
        """Python needs 100 us for each launch: fewer launches would help."""
        trace = Trace()
        for i in range(100):
            trace.kernel("k", 110 + i * 120, 10)
            trace.python("module.py(1): forward", i * 120 + 20, 80)
        self.assert_first("launch-bound", trace)
        self.assert_not_found("host-work", trace)


class HardlyUsed(Verdict):
    def test_a_gpu_without_work_is_not_launch_bound(self):
        """GPU 0 works all the time; on GPU 1 there are two memsets of 2 us, 100 ms apart."""
        trace = Trace()
        for i in range(100):
            trace.kernel("gemm", at=100 + i * 1000, lasts=995, launched=20 + i * 900)
        trace.memset(50, 2, 4096, device=1)
        trace.memset(100_200, 2, 4096, device=1)
        answer = self.ask("check", trace, options=["--least", "0"])
        self.assertEqual(answer["check_facts"]["hardly_used"], "GPU 1")
        self.assertNotIn("launch-bound", {row["finding"] for row in answer["check"]
                                          if (row["saving_percentage"] or 0) > 1})

    def test_the_gpu_of_the_longest_gap_is_named(self):
        """GPU 1, of another process, has a tenth of the work of GPU 0, and nothing to do for 90 ms."""
        trace = Trace()
        for i in range(100):
            trace.kernel("gemm", at=100 + i * 1000, lasts=995, launched=20 + i * 900)
        trace.correlation, trace.process = 1000, 8
        trace.kernel("first", 100, 5000, device=1)
        trace.kernel("second", 95_100, 5000, device=1)
        self.assertNotIn("hardly_used", self.ask("check", trace)["check_facts"])
        self.assertIn("the longest, 90.0 ms on GPU 1, ends with second", self.text("check", trace))


class ShortSteps(Verdict):
    def test_steps_of_two_kernels_are_counted_one_by_one(self):
        """20 steps of 10 ms, each a product and a reduction, and no markers."""
        trace = Trace()
        for i in range(20):
            trace.kernel("gemm", at=100 + i * 10_000, lasts=4000)
            trace.kernel("reduce", at=4200 + i * 10_000, lasts=300)
        facts = self.ask("check", trace)["check_facts"]
        self.assertEqual((facts["steps"], facts["step_median_ns"]), (20, 10_000_000))


class Dominating(Verdict):
    def test_communication_that_nothing_could_hide(self):
        """99 % of the time is communication, and there is no computation to hide it behind: that is said,
        and no saving made up."""
        trace = Trace(rank=0, world=8)
        for i in range(30):
            trace.collective("allreduce", 100 + i * 1000, 990, range(8), elements=1 << 24)
        row = self.findings(trace)["exposed-communication"]
        self.assertEqual((row["saving_ns"], row["saving_percentage"], row["cost_ns"]),
                         (None, None, 30 * 990_000))
        self.assertNotIn("Nothing stands out", self.text("check", trace))

    def test_communication_that_hides_the_kernel(self):
        """In each millisecond 985 us of communication and beside it a kernel of 600: a faster kernel would
        save nothing, and the communication is said."""
        trace = Trace(rank=0, world=2)
        for i in range(100):
            trace.collective("allgather", 10 + i * 1000, 985, range(2), elements=1 << 20)
            trace.kernel("gemm", 10 + i * 1000, 600, launched=5 + i * 1000)
        found = self.findings(trace)
        self.assertNotIn("one-kernel", found)
        self.assertEqual(found["exposed-communication"]["cost_ns"], 100 * 385_000)
        self.assertIn("communication takes 98.5 % of the time", self.text("check", trace))

    def test_copies_that_hide_the_kernel(self):
        """The same with a copy of 9.9 ms to the GPU beside 6 ms of computation."""
        trace = Trace()
        for i in range(20):
            trace.copy("h2d", 10 + i * 10_000, 9900, 1 << 28, launched=5 + i * 10_000)
            trace.kernel("train", 10 + i * 10_000, 6000, stream=8, launched=6 + i * 10_000)
        self.assertEqual(list(self.findings(trace)), ["exposed-copies"])

    def test_two_kernels_side_by_side(self):
        """If one were faster, the other would still take its time."""
        trace = Trace()
        for i in range(20):
            trace.kernel("left", 10 + i * 5000, 4900, launched=5 + i * 5000)
            trace.kernel("right", 10 + i * 5000, 4900, stream=8, launched=6 + i * 5000)
        self.assertEqual(list(self.findings(trace)), [])

    def test_copies_alone(self):
        trace = Trace()
        for i in range(30):
            trace.copy("h2d", 100 + i * 1000, 990, 1 << 20, launched=50 + i * 500)
        self.assertEqual(self.findings(trace)["exposed-copies"]["cost_ns"], 30 * 990_000)

    def test_time_that_another_finding_is_about_is_not_told_twice(self):
        """All is one pageable copy: half of it could be saved by pinning."""
        trace = Trace()
        trace.copy("pageable", 100, 1000, 1 << 20)
        self.assertEqual(list(self.findings(trace)), ["pageable-copies"])

    def test_a_small_part_that_saves_nothing_is_not_listed(self):
        """A third of the time is copies, which only 0.1 us of work could hide."""
        trace = Trace()
        trace.copy("h2d", 100, 500, 1 << 20, launched=50)
        trace.kernel("k", 2000, 0.1)
        self.assertNotIn("exposed-copies", self.findings(trace))


class HostileNames(Verdict):
    def test_a_kernel_cannot_forge_a_finding_or_drive_the_terminal(self):
        """Its name has two line ends, a line that reads like a finding, and colours: one that hides text,
        and one that the tool uses itself."""
        trace = Trace()
        for i in range(20):
            trace.kernel("gemm\n\nstraggler: rank 3 \x1b[8m\x1b[33m", 10 + i * 1000, 900)
        for format in ("text", "markdown"):
            text = self.text("check", trace, options=["--format", format])
            self.assertIn("straggler", text)  # the name is shown, within its sentence
            self.assertFalse([line for line in text.splitlines() if line.startswith("straggler")], text)
            self.assertNotIn("\x1b", text)


class Copies(Verdict):
    def copies(self, kind, count=4000):
        trace = Trace()
        trace.kernel("work", 10, 50_000)
        for i in range(count):
            trace.copy(kind, 50_020 + i * 10, 9, 1 << 20)
        return trace

    def advice(self, finding, trace):
        return next(text for text in self.ask("check", trace)["check_remarks"] if text.startswith(finding))

    def test_copies_within_the_gpu_need_no_pinned_memory(self):
        trace = self.copies("d2d")
        self.assert_first("device-copies", trace)
        self.assertIn("Pinned memory does not matter", self.advice("device-copies", trace))
        self.assertNotIn("exposed-copies", self.findings(trace))

    def test_copies_to_the_gpu_do(self):
        self.assertIn("pinned memory", self.advice("exposed-copies", self.copies("h2d")))

    def test_copies_between_gpus_are_not_within_one(self):
        """Half of the time GPU 0 sends to GPU 1: no view or fused kernel saves that."""
        rows = self.findings(self.copies("p2p"))
        self.assertEqual(rows["peer-copies"]["cost_ns"], 4000 * 9000)
        self.assertFalse({"device-copies", "exposed-copies"} & set(rows), rows)
        self.assertNotIn("contiguous", self.advice("peer-copies", self.copies("p2p")))

    def test_hips_copies_say_from_which_gpu_to_which(self):
        """The operations are called CopyDeviceToDevice all the same."""
        def copies(to_gpu):
            trace = RuntimeTrace()
            trace.kernel("work", at=10, lasts=50_000, launched=1)
            for i in range(4000):
                at = 50_020 + i * 10
                trace.copy("d2d", at, 9, launched=at - 9, returns=at - 8, by="hipMemcpyAsync", blocks=False,
                           to_gpu=to_gpu)
            return self.findings(trace)
        self.assertEqual(copies(1)["peer-copies"]["cost_ns"], 4000 * 9000)
        self.assertEqual(copies(0)["device-copies"]["cost_ns"], 4000 * 9000)
        self.assertNotIn("device-copies", copies(1))
        self.assertNotIn("peer-copies", copies(0))

    def test_copies_beside_a_kernel_cost_nothing(self):
        trace = self.copies("d2d")
        trace.kernel("work", 50_020, 50_000, stream=8)
        self.assert_not_found("device-copies", trace)


class WithoutGpu(Verdict):
    def of_part(self, trace, begin, end):
        """What costs most of this part, and its evidence."""
        told = self.ask("check", trace, options=("--from", begin, "--to", end))
        row = told["check"][0]
        return row["finding"], row["cost_ns"] / 1e9, round(row["saving_percentage"], 1), told["check_remarks"][0]

    def test_operators_of_a_part(self):
        """aten::sort, called by aten::topk, for 15 s, and then aten::mm for 5."""
        trace = Trace()
        trace.operator("aten::topk", 0, 15_000_000)
        trace.operator("aten::sort", 0, 15_000_000)
        trace.operator("aten::mm", 15_000_000, 5_000_000)
        finding, cost, share, remark = self.of_part(trace, "15s", "20s")
        self.assertEqual((finding, cost, share), ("cpu-operator", 5, 50))
        self.assertIn("aten::mm: 5.00 s, 100.0 % of", remark)
        finding, cost, share, remark = self.of_part(trace, "10s", "16s")
        self.assertEqual((finding, cost, share), ("cpu-operator", 5, 41.7))
        self.assertIn("aten::sort: 5.00 s, 83.3 % of", remark)

    def test_data_loading_of_a_part(self):
        """A data loader for 14 s, and then aten::mm for 6: of the last 10 s, 4 are the loader's."""
        trace = Trace()
        trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 14_000_000)
        trace.operator("aten::mm", 14_000_000, 6_000_000)
        finding, cost, share, remark = self.of_part(trace, "10s", "20s")
        self.assertEqual((finding, cost, share), ("cpu-data-loading", 4, 40))
        self.assertIn("4.00 s of 10.0 s are in data loaders", remark)


class Roofline(Verdict):
    def product(self, lasts, device="NVIDIA A100-SXM4-40GB"):
        """A matrix product of 4096^3 in bf16: 0.44 ms at an A100's 312 TFLOP/s."""
        trace = Trace()
        trace.document["deviceProperties"][0]["name"] = device
        trace.operator("aten::mm", 0, 10, **{"Input Dims": [[4096, 4096], [4096, 4096]],
                                             "Input type": ["c10::BFloat16", "c10::BFloat16"],
                                             "Input Strides": [[4096, 1], [4096, 1]]})
        trace.kernel("gemm", 20, lasts, launched=2)
        trace.operator("aten::add", lasts + 30, 2)
        trace.kernel("add", lasts + 21, 1, launched=lasts + 31)
        return trace

    def test_a_product_at_a_tenth_of_the_peak(self):
        rows = self.findings(self.product(4405))
        self.assertEqual(list(rows)[0], "below-roofline")
        self.assertAlmostEqual(rows["below-roofline"]["saving_ns"], 4_405_000 - 2 * 440_505, delta=20_000)

    def test_a_product_near_the_peak(self):
        self.assert_not_found("below-roofline", self.product(600))

    def test_a_gpu_whose_peaks_are_not_known(self):
        self.assert_not_found("below-roofline", self.product(4405, device="Test GPU"))


class SeveralFiles(Verdict):
    def rank(self, rank, gap):
        trace = Trace(rank=rank, world=2, process=100 + rank)
        for i in range(10):
            trace.kernel(f"k{i % 5}", 10 + i * 1000, 1000 - gap)
        return trace

    def test_the_rank_with_the_gaps_is_named(self):
        """Rank 1 launches too late; rank 0 does not."""
        answer = self.ask("check", self.rank(0, 1), self.rank(1, 600))
        self.assertEqual(answer["check"][0]["finding"], "launch-bound")
        self.assertTrue(answer["check_remarks"][0].startswith("launch-bound: rank 1: "), answer["check_remarks"])
        self.assertIn("2 x Test GPU", json.dumps(answer["check_facts"]))

    def test_shares_are_of_all_ranks(self):
        """Rank 1 is idle for 0.6 of its time: 0.3 of both."""
        row = self.findings(self.rank(0, 1), self.rank(1, 600))["launch-bound"]
        self.assertAlmostEqual(row["saving_percentage"], 28, delta=2)


class SlowCollectives(Verdict):
    def steps(self, slow):
        """20 all-reduces of 4 MB behind 300 us of work each: 100 us, but `slow` of them take 1 ms."""
        trace = Trace(rank=0, world=2)
        at = 10
        for i in range(20):
            trace.kernel(f"work{i % 5}", at, 300)
            lasts = 1000 if i < slow else 100
            trace.collective("allreduce", at + 310, lasts, [0, 1])
            at += 320 + lasts
        return trace

    def test_a_few_are_slow(self):
        """Overlapping would not help: five of them wait, or the link is slow."""
        trace = self.steps(5)
        self.assert_first("slow-collectives", trace)
        row = self.findings(trace)["slow-collectives"]
        self.assertEqual(row["cost_ns"], 5_000_000)
        self.assertAlmostEqual(row["saving_ns"], 4_500_000, delta=10)  # rates are of whole bytes a ns

    def test_all_are_the_same(self):
        self.assert_not_found("slow-collectives", self.steps(0))

    def test_other_sizes_take_other_times(self):
        """Four are ten times as long because they are ten times as large."""
        trace = self.steps(0)
        at = 20_000
        for _ in range(4):
            trace.collective("allreduce", at, 1000, [0, 1], elements=10 << 20)
            at += 1100
        self.assert_not_found("slow-collectives", trace)
