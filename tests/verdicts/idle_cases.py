from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def two_kernels(gap, sync=None, **second):
    """kernel a from 100 to 1100, kernel b `gap` later, launched just before; the call before it
    waits from 110 until `sync`."""
    trace = Trace()
    trace.kernel("a", at=100, lasts=1000)
    if sync is not None:
        trace.call("cudaStreamSynchronize", at=110, lasts=sync - 110)
    trace.kernel("b", at=1100 + gap, lasts=1000, **second)
    return trace


class Idle(Verdict):
    def reasons(self, *traces, options=()):
        return {row["reason"]: row["total_ns"] // 1000
                for row in self.ask("idle", *traces, options=options)["idle"]}

    def host(self, trace, when="between"):
        """What the host did, by kind, in whole microseconds."""
        found = {}
        for row in self.ask("idle", trace)["host"]:
            if row["when"] == when:
                found[row["what"]] = found.get(row["what"], 0) + row["total_ns"] // 1000
        return found

    def test_loading_after_a_sync_is_no_waiting(self):
        """The sync is over 150 us after the kernel; for 500 ms after that a data loader runs."""
        trace = two_kernels(gap=500_200, sync=1250)
        trace.range(LOADER, at=1260, lasts=500_000)
        self.assertEqual(self.reasons(trace), {"sync": 150, "launch-bound": 500_050})
        self.assertEqual(self.host(trace)["data loading"], 500_000)
        longest = self.ask("idle", trace)["gaps"][0]
        self.assertEqual(longest["host"], "data loading: " + LOADER)
        self.assertEqual(longest["host_ns"], 500_000_000)

    def test_waiting_for_the_whole_gap_is_waiting(self):
        """The sync returns 3 ms after the kernel, and b is launched at once."""
        trace = two_kernels(gap=3000, sync=4098)
        self.assertEqual(self.reasons(trace), {"sync": 2998, "launch latency": 2})

    def test_a_sync_that_was_over_before_the_gap_waits_for_nothing(self):
        """The sync returned while a ran; the host then did something that was not recorded."""
        trace = two_kernels(gap=3000, sync=1050)
        self.assertEqual(self.reasons(trace), {"launch-bound": 3000})
        self.assertEqual(self.host(trace), {"no call": 2999, "call": 1})

    def test_another_threads_sync_is_not_the_launching_threads(self):
        """Thread 9 waits all the time; thread 7, which launches, is in Python."""
        trace = two_kernels(gap=3000)
        trace.call("cudaDeviceSynchronize", at=110, lasts=3900, thread=9)
        trace.python("train.py(7): prepare", at=1100, lasts=2990)
        self.assertEqual(self.reasons(trace), {"launch-bound": 3000})
        self.assertEqual(self.host(trace)["Python"], 2990)

    def test_two_syncs_with_work_between_them(self):
        """The host waits 100, works 400, waits 200, works until it launches."""
        trace = two_kernels(gap=1002, sync=1200)
        trace.operator("aten::copy_", at=1200, lasts=400)
        trace.call("cudaEventSynchronize", at=1600, lasts=200)
        self.assertEqual(self.reasons(trace), {"sync": 300, "launch-bound": 702})
        self.assertEqual(self.host(trace)["operator"], 400)

    def test_the_longest_work_of_a_gap_is_its_evidence(self):
        """1 ms in a data loader, 5 ms loading code: the gap is one of loading modules."""
        trace = two_kernels(gap=7000)
        trace.range(LOADER, at=1100, lasts=1000)
        trace.call("cuModuleLoadData", at=2100, lasts=5000)
        self.assertEqual(self.ask("idle", trace)["gaps"][0]["host"],
                         "loading modules: cuModuleLoadData")
        self.assertEqual(self.host(trace),
                         {"loading modules": 5000, "data loading": 1000, "no call": 999, "call": 1})

    def test_a_function_that_calls_many_short_ones_is_named(self):
        """The loop is in tokenise() for 9 of 10 ms, which calls three others 100 times each."""
        trace = two_kernels(gap=10_000)
        trace.python("train.py(1): main", at=0, lasts=20_000)
        trace.python("text.py(3): tokenise", at=1200, lasts=9000)
        for i in range(100):
            for function in range(3):
                trace.python(f"text.py({function}): part_{function}", 1200 + 90 * i + 30 * function, 29)
        self.assertEqual(self.ask("idle", trace)["gaps"][0]["host"], "Python: text.py(3): tokenise")
        self.assert_first("host-work", trace)
        self.assertIn("9.00 ms of it in text.py(3): tokenise", self.ask("check", trace)["check_remarks"][0])
        self.assert_not_found("launch-bound", trace)

    def test_a_function_that_calls_itself_is_counted_once(self):
        """walk() is in walk() is in walk(), for 9 of 10 ms, of which others that it calls have most."""
        trace = two_kernels(gap=10_000)
        trace.python("train.py(1): main", at=0, lasts=20_000)
        for depth in range(3):
            trace.python("tree.py(3): walk", at=1200 + depth, lasts=9000 - 2 * depth)
        for i in range(100):
            for function in range(3):
                trace.python(f"tree.py({function}): part_{function}", 1210 + 89 * i + 29 * function, 28)
        self.assertEqual(self.ask("idle", trace)["gaps"][0]["host"], "Python: tree.py(3): walk")
        self.assertIn("9.00 ms of it in tree.py(3): walk", self.ask("check", trace)["check_remarks"][0])

    def test_a_function_that_launches_at_its_end_is_not_named(self):
        """All 10 ms are in forward(), which launches the kernel after many short calls."""
        trace = two_kernels(gap=10_000)
        trace.python("model.py(3): forward", at=1200, lasts=10_000)
        for i in range(100):
            for function in range(3):
                trace.python(f"ops.py({function}): part_{function}", 1200 + 90 * i + 30 * function, 29)
        self.assert_first("launch-bound", trace)
        self.assert_not_found("host-work", trace)

    def test_free_allocation_and_collection_have_names(self):
        """hipFree 1 ms, hipMalloc 2 ms and Python's collector 4 ms, one after the other."""
        trace = two_kernels(gap=7100)
        trace.call("hipFree", at=1100, lasts=1000)
        trace.call("hipMalloc", at=2100, lasts=2000)
        trace.python("<built-in function collect>", at=4100, lasts=4000)
        found = self.host(trace)
        self.assertEqual((found["freeing"], found["allocating"], found["garbage collection"]),
                         (1000, 2000, 4000))

    def test_what_a_loader_calls_is_data_loading(self):
        """A loader's operators and its sync are inside of it; the sync still waits."""
        trace = two_kernels(gap=5000)
        trace.range(LOADER, at=1100, lasts=4900)
        trace.operator("aten::stack", at=1200, lasts=3000)
        self.assertEqual(self.host(trace)["data loading"], 4900)

    def test_a_launched_kernel_that_does_not_begin_is_nobodys_loading(self):
        """b is launched during a and begins 2 ms after it: the loader that runs meanwhile is not
        the cause."""
        trace = two_kernels(gap=2000, launched=500)
        trace.range(LOADER, at=600, lasts=2400)
        self.assertEqual(self.reasons(trace), {"other": 2000})
        self.assert_first("slow-start", trace)
        self.assert_not_found("data-loading", trace)

    def test_the_longest_is_cited_whatever_the_host_did(self):
        """The same, and then c, launched early too, begins 1 ms after b: no data loader has another finding."""
        trace = two_kernels(gap=2000, launched=500)
        trace.range(LOADER, at=600, lasts=2400)
        trace.kernel("c", at=5100, lasts=1000, launched=3200)
        self.assertIn("2 gaps, 1.50 ms on average; the longest, 2.00 ms, ends with b",
                      self.ask("check", trace)["check_remarks"][0])

    def test_what_the_host_does_delays_nothing_that_is_launched(self):
        """Between a and b the program loads data, allocates memory and collects garbage. That is why b is late if
        it is launched thereafter, and not if it was before and waits for an event or for what is not known."""
        of_host = {"data-loading", "allocations", "python-gc"}
        for launched, waits, finding in (("just before", False, "data-loading"), (500, False, "slow-start"),
                                         (500, True, "stream-waits")):
            trace = two_kernels(gap=2000, launched=launched)
            if waits:
                trace.call("cudaStreamWaitEvent", at=400, lasts=2)
            trace.range(LOADER, at=1100, lasts=1000)
            for i in range(12):
                trace.call("cudaMalloc", at=2150 + 50 * i, lasts=40)
            trace.python("<built-in function collect>", at=2750, lasts=300)
            found = self.findings(trace)
            self.assertIn(finding, found)
            self.assertEqual(of_host & set(found), of_host if finding in of_host else set(), finding)

    def test_launches_out_of_a_loader_that_are_early_enough(self):
        """A data loader launches each kernel of 100 us 40 us before the one before ends; 20 us later it begins."""
        trace = Trace()
        for i in range(40):
            trace.kernel("augment", at=100 + 120 * i, lasts=100, launched=40 + 120 * i)
        trace.range(LOADER, at=30, lasts=5000)
        self.assertEqual(self.reasons(trace), {"launch latency": 39 * 20})
        self.assertIn("launch-latency", self.findings(trace))
        self.assert_not_found("data-loading", trace)

    def test_a_copy_that_blocks_waits_for_its_end_only(self):
        """cudaMemcpy returns 100 us after its copy; b comes 900 us after that."""
        trace = Trace()
        trace.copy("d2h", at=100, lasts=1000, size=1 << 20, launched=50, by="cudaMemcpy",
                   call_lasts=1150)
        trace.kernel("b", at=2100, lasts=100)
        self.assertEqual(self.reasons(trace), {"copy": 1000, "sync": 100, "launch-bound": 900})

    def test_a_copy_to_pageable_memory_waits_for_its_end(self):
        """The same of cudaMemcpyAsync to pageable memory; to pinned memory its call waits for
        nothing."""
        for kind, reasons in (("to_pageable", {"copy": 1000, "sync": 100, "launch-bound": 900}),
                              ("d2h", {"copy": 1000, "launch-bound": 1000})):
            trace = Trace()
            trace.copy(kind, at=100, lasts=1000, size=1 << 20, launched=50, call_lasts=1150)
            trace.kernel("b", at=2100, lasts=100)
            self.assertEqual(self.reasons(trace), reasons)

    def test_time_before_and_after_the_operations_is_told(self):
        """10 s: 4.9 s of loading, 0.1 s of GPU, 5 s of saving. The GPU has no gap, and is idle for
        99 % of the program."""
        trace = Trace()
        trace.python("train.py(10): load", at=0, lasts=4_900_000)
        trace.kernel("gemm", at=4_900_010, lasts=100_000, launched=4_900_000)
        trace.python("train.py(20): save", at=5_000_010, lasts=4_999_990)
        answer = self.ask("idle", trace)
        self.assertEqual(answer["idle"], [])
        self.assertEqual(answer["program"][0]["idle_percentage"], 99.0)
        self.assertEqual({(row["when"], row["name"]): row["total_ns"] // 1_000_000
                          for row in answer["host"] if row["what"] == "Python"},
                         {("before", "train.py(10): load"): 4900,
                          ("after", "train.py(20): save"): 4999})

    def test_one_operation_has_no_gap(self):
        trace = Trace()
        trace.kernel("only", at=100, lasts=50)
        self.assertEqual(self.ask("idle", trace)["idle"], [])

    def test_a_call_that_launches_for_long_is_no_dependency(self):
        """The stream was told to wait, but the call that launched b returned 2 ms after its start, as it
        loaded code; b began 90 us later."""
        trace = two_kernels(gap=2100, launched=1105, call_lasts=2000)
        trace.call("cudaStreamWaitEvent", at=1102, lasts=2)
        self.assertEqual(self.reasons(trace), {"launch-bound": 5, "other": 2000, "dependency": 95})

    def test_another_stream_that_was_told_to_wait_is_no_dependency(self):
        """Stream 0x20 waits for an event; b, in stream 0x10, does not."""
        def trace(told):
            made = RuntimeTrace()
            made.kernel("a", at=100, lasts=1000, launched=50, stream=0x10)
            made.call("hipStreamWaitEvent", 60, 62, stream=told, event="0x99")
            made.kernel("b", at=3100, lasts=1000, launched=70, stream=0x10)
            return made
        self.assertEqual(self.reasons(trace("0x20")), {"other": 2000})
        self.assertEqual(self.reasons(trace("0x10")), {"dependency": 2000})
        self.assertEqual(self.reasons(trace("0x0")), {"dependency": 2000})

    def test_a_thread_that_launches_for_another_had_nothing_to_do(self):
        """Thread 9 launches b when thread 7, which launched a, is done with loading data for 5 ms."""
        trace = two_kernels(gap=5200, thread=9)
        trace.range(LOADER, at=1110, lasts=5000)
        self.assertEqual(self.host(trace)["data loading"], 5000)
        self.assertEqual(self.ask("idle", trace)["gaps"][0]["host"], "data loading: " + LOADER)

    def test_a_thread_that_launches_nothing_is_not_the_cause(self):
        """Thread 8 loads data, and launches nothing: it may load ahead."""
        trace = two_kernels(gap=5200)
        trace.range(LOADER, at=1110, lasts=5000, thread=8)
        self.assertNotIn("data loading", self.host(trace))

    def test_operations_that_overlap_have_no_gap(self):
        trace = Trace()
        for stream in range(4):
            trace.kernel("k", at=100 + stream * 50, lasts=200, stream=stream)
        self.assertEqual(self.ask("idle", trace)["idle"], [])

    def test_an_empty_trace_was_not_idle(self):
        trace = Trace()
        trace.operator("aten::relu", at=0, lasts=10)
        self.assertEqual(self.ask("idle", trace)["idle"], [])
        self.assertIn("No device operations", self.text("idle", trace))
