from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict


def copy_behind_a_kernel(**kernel):
    """A kernel of 1 s and a blocking copy that is asked for right after its launch."""
    trace = RuntimeTrace()
    trace.kernel("matmul", at=100, lasts=1_000_000, launched=50, **kernel)
    trace.copy("d2h", at=1_000_120, lasts=1000, launched=60, returns=1_001_150)
    return trace


class CriticalPath(Verdict):
    def path(self, *traces, options=()):
        """Time on the path by name, in whole microseconds."""
        answer = self.ask("critical-path", *traces, options=options)
        found = {}
        for row in answer.get("names", []):
            found[row["name"]] = found.get(row["name"], 0) + row["time_ns"] // 1000
        return found

    def edges(self, *traces):
        answer = self.ask("critical-path", *traces, options=["--show", "edges", "--limit", "0"])
        return [(row["kind"], row["from"], row["to"]) for row in answer["edges"]]

    def test_a_copy_waits_for_the_kernel_before_it_in_the_null_stream(self):
        """Kernel and copy are on different queues of the hardware, and in one stream: the kernel's
        second is on the path, and no launch took it."""
        found = self.path(copy_behind_a_kernel())
        self.assertEqual(found, {"matmul": 1_000_050, "CopyDeviceToHost": 1020})

    def test_a_stage_on_another_gpu_is_waited_for(self):
        """A model in two parts on two GPUs of one process: the second waits for what the first's copy brings. The
        first begins 15 us after its launch."""
        trace = Trace()
        for i in range(10):
            at = 10_000 * i
            trace.step(i, at, 10_000)
            trace.kernel("first", at + 20, 4900, launched=at + 5)
            trace.copy("p2p", at + 4925, 60, 1 << 20, launched=at + 8)
            trace.call("cudaEventRecord", at + 9, 1)
            trace.call("cudaStreamWaitEvent", at + 10, 1)
            trace.kernel("second", at + 4990, 4950, launched=at + 12, device=1)
            trace.call("cudaStreamSynchronize", at + 14, 9930)
        found = self.path(trace)
        self.assertEqual((found["first"], found["second"]), (10 * 4915, 10 * 4950))

    def test_two_processes_on_one_gpu_are_waited_for_by_their_own_calls(self):
        """Two processes put ten kernels each into queues of one number, in turn, and wait: their kernels fill the
        time, and neither call has work to do."""
        first, second = RuntimeTrace(process=100), RuntimeTrace(process=200)
        for i in range(5):
            at = 7000 * i
            for j in range(10):
                first.kernel("gemm_a", at + 20 + 600 * j, 299, launched=at + 6 * j)
                second.kernel("gemm_b", at + 320 + 600 * j, 299, launched=at + 6 * j + 2)
            first.call("hipDeviceSynchronize", at + 70, at + 5722)
            second.call("hipDeviceSynchronize", at + 71, at + 6022)
        first.join(second)
        found = self.path(first)
        self.assertGreater(found["gemm_a"] + found["gemm_b"], 0.8 * sum(found.values()), found)

    def test_a_copy_in_a_stream_of_its_own_does_not(self):
        """The kernel runs in a non-blocking stream: the copy in the null stream begins at once, and
        the kernel is over long after it."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0, non_blocking=True)
        trace.kernel("matmul", at=100, lasts=1000, launched=50, stream=0x10)
        trace.copy("d2h", at=80, lasts=2000, launched=60, returns=2090)
        self.assertEqual(self.edges(trace)[-1], ("sync", "end of CopyDeviceToHost", "end of hipMemcpy"))
        self.assertNotIn("matmul", self.path(trace))

    def test_the_null_stream_waits_for_a_blocking_stream(self):
        """The stream was made without flags: a copy in the null stream waits for its kernel."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0)
        trace.kernel("matmul", at=100, lasts=1000, launched=50, stream=0x10)
        trace.copy("d2h", at=1110, lasts=100, launched=60, returns=1220)
        self.assertEqual(self.path(trace)["matmul"], 1050)

    def test_a_blocking_stream_waits_for_the_null_stream(self):
        trace = RuntimeTrace()
        trace.stream(0x10, at=0)
        trace.kernel("first", at=100, lasts=1000, launched=50)
        trace.kernel("second", at=1105, lasts=100, launched=60, stream=0x10, queue=5)
        self.assertEqual(self.path(trace),
                         {"hipStreamCreateWithFlags": 1, "first": 1050, "second": 105})

    def test_a_threads_own_stream_is_not_the_null_stream(self):
        """Two threads launch with hipLaunchKernel_spt and no stream: each waits for its own kernel."""
        trace = RuntimeTrace()
        trace.kernel("of thread 1", at=20, lasts=1000, launched=10, thread=1, queue=0,
                     by="hipLaunchKernel_spt")
        trace.kernel("of thread 2", at=500, lasts=490, launched=30, thread=2, queue=1,
                     by="hipLaunchKernel_spt")
        trace.call("hipStreamSynchronize_spt", 40, 1025, thread=2, stream="0x0")
        trace.kernel("next of thread 2", at=1100, lasts=500, launched=1030, thread=2, queue=1,
                     by="hipLaunchKernel_spt")
        trace.call("hipStreamSynchronize_spt", 1040, 1610, thread=2, stream="0x0")
        self.assertIn(("sync", "end of of thread 2", "end of hipStreamSynchronize_spt"),
                      self.edges(trace))
        self.assertNotIn("of thread 1", self.path(trace))

    def test_the_null_streams_of_two_processes_do_not_wait_for_each_other(self):
        """Both GPUs are number 0 of their process; the second process' kernel begins when it was
        launched."""
        trace = RuntimeTrace()
        trace.kernel("a", at=100, lasts=1000, launched=50)
        other = RuntimeTrace(process=200)
        other.kernel("b", at=1110, lasts=5000, launched=1090, queue=5)
        self.assertIn(("launch delay", "start of hipLaunchKernel", "start of b"),
                      self.edges(trace.join(other)))

    def test_an_event_carries_the_order_over(self):
        """Stream 2 waits for an event that was recorded behind stream 1's kernel."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0, non_blocking=True)
        trace.stream(0x20, at=2, non_blocking=True)
        trace.kernel("first", at=100, lasts=1000, launched=50, stream=0x10, queue=3)
        trace.call("hipEventRecord", 52, 53, event="0xe", stream="0x10")
        trace.call("hipStreamWaitEvent", 54, 55, stream="0x20", event="0xe", flags=0)
        trace.kernel("second", at=1110, lasts=100, launched=60, stream=0x20, queue=4)
        self.assertIn(("sync", "end of first", "start of second"), self.edges(trace))

    def test_synchronising_the_null_stream_waits_for_blocking_streams(self):
        """hipStreamSynchronize(0) returns when the blocking stream's kernel is over, not with that
        of the non-blocking one, which ended in between."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0)
        trace.stream(0x20, at=2, non_blocking=True)
        trace.kernel("joined", at=100, lasts=1000, launched=50, stream=0x10, queue=3)
        trace.kernel("apart", at=100, lasts=1003, launched=60, stream=0x20, queue=4)
        trace.call("hipStreamSynchronize", 70, 1105, stream="0x0")
        self.assertIn(("sync", "end of joined", "end of hipStreamSynchronize"), self.edges(trace))

    def test_a_handle_that_is_given_out_again_is_another_stream(self):
        """The first stream 0x10 was non-blocking; the second blocks, and the null stream waits."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0, non_blocking=True)
        trace.kernel("old", at=20, lasts=10, launched=10, stream=0x10, queue=3)
        trace.stream(0x10, at=40)
        trace.kernel("new", at=100, lasts=1000, launched=50, stream=0x10, queue=3)
        trace.copy("h2d", at=1110, lasts=100, launched=60, returns=1215)
        self.assertEqual(self.path(trace)["new"], 1050)

    def test_hip_free_waits_for_the_device(self):
        """The kernel ends while hipFree runs: the program waited for it."""
        trace = RuntimeTrace()
        trace.kernel("matmul", at=100, lasts=1000, launched=50)
        trace.call("hipFree", 60, 1120, ptr="0x7f00")
        self.assertEqual(self.path(trace)["matmul"], 1050)

    def test_opencl_reading_that_blocks_waits_for_the_kernel(self):
        """clEnqueueReadBuffer takes a second because the kernel before it does: no CPU time."""
        trace = RuntimeTrace("opencl")
        trace.kernel("matmul", at=100, lasts=1_000_000, launched=50, stream=0x55, blocking=0)
        trace.copy("d2h", at=1_000_110, lasts=1000, launched=60, returns=1_001_150, queue=0,
                   stream=0x55, by="clEnqueueReadBuffer", blocking=1)
        found = self.path(trace)
        self.assertEqual(found["matmul"], 1_000_050)
        self.assertNotIn("clEnqueueReadBuffer", found)

    def test_opencl_reading_that_does_not_block_does_not(self):
        """The call takes 500 us of its own, and returns before its copy is over."""
        trace = RuntimeTrace("opencl")
        trace.kernel("matmul", at=60, lasts=100, launched=50, stream=0x55)
        trace.copy("d2h", at=165, lasts=2000, launched=70, returns=570, queue=0, stream=0x55,
                   by="clEnqueueReadBuffer", blocks=False, blocking=0)
        self.assertNotIn(("sync", "end of CopyDeviceToHost", "end of clEnqueueReadBuffer"),
                         self.edges(trace))

    def test_cudas_blocking_copy_waits_behind_its_stream(self):
        """In a trace of PyTorch the queue is the stream; cudaMemcpy waits for kernel and copy."""
        trace = Trace()
        trace.kernel("gemm", at=20, lasts=1000, launched=10)
        trace.copy("d2h", at=1025, lasts=50, size=4096, launched=15, by="cudaMemcpy", call_lasts=1065)
        found = self.path(trace)
        self.assertEqual((found["gemm"], found.get("cudaMemcpy")), (1010, None))

    def test_a_copy_from_pageable_memory_waits_for_what_was_before_it(self):
        """Its call returns 40 us before the copy is over, when the program may use its memory again: the kernel
        before it in the stream was waited for."""
        trace = Trace()
        for i in range(20):
            at = i * 10_700
            trace.step(i, at, 10_700)
            trace.kernel("train", at + 30, 10_000, launched=at + 10)
            trace.copy("pageable", at + 10_040, 500, 6_000_000, launched=at + 100, call_lasts=10_400)
        found = self.path(trace)
        self.assertGreater(found["train"], 19 * 9900)
        small = Trace()  # kept by the driver: the call returns at once
        small.kernel("train", 30, 10_000, launched=10)
        small.copy("pageable", 10_040, 5, 4096, launched=100, call_lasts=20)
        small.operator("work", at=0, lasts=20_300)
        small.kernel("next", at=20_200, lasts=10, launched=20_190)
        self.assertNotIn("train", self.path(small))

    def test_a_copy_to_pageable_memory_is_awaited(self):
        """PyTorch's .cpu(): the call is cudaMemcpyAsync and returns 5 us after its copy, which
        waited a second for the kernel."""
        trace = Trace()
        trace.kernel("gemm", at=20, lasts=1_000_000, launched=10)
        trace.copy("to_pageable", at=1_000_025, lasts=20, size=4, launched=30, call_lasts=1_000_020)
        trace.kernel("next", at=1_000_100, lasts=500_000, launched=1_000_080)
        found = self.path(trace)
        self.assertEqual((found["gemm"], found.get("cudaMemcpyAsync")), (1_000_010, None))

    def test_a_recorded_copy_that_returns_after_its_end_was_awaited(self):
        """The same of HIP, where the file says neither that the call blocks nor which memory it
        is: it returns 15 us after its copy."""
        trace = RuntimeTrace()
        trace.stream(0x10, at=0)
        trace.kernel("gemm", at=20, lasts=1_000_000, launched=10, stream=0x10)
        trace.copy("d2h", at=1_000_025, lasts=20, launched=30, returns=1_000_060, blocks=False, stream=0x10)
        trace.kernel("next", at=1_000_100, lasts=500_000, launched=1_000_080, stream=0x10)
        found = self.path(trace)
        self.assertEqual((found["gemm"], found.get("hipMemcpyAsync")), (1_000_010, None))

    def test_an_asynchronous_copy_from_pinned_memory_is_not(self):
        """The call takes 500 us of its own; its copy began and was over meanwhile."""
        trace = Trace()
        trace.copy("d2h", at=20, lasts=400, size=4096, launched=10, call_lasts=500)
        trace.kernel("next", at=530, lasts=10, launched=520)
        self.assertNotIn(("sync", "end of Memcpy DtoH (Device -> Pinned)", "end of cudaMemcpyAsync"),
                         self.edges(trace))
        self.assertEqual(self.path(trace)["cudaMemcpyAsync"], 500)

    def test_launches_tell_waiting_from_launching(self):
        """The copy began 1,000,060 us after its call, all but 20 of them behind the kernel."""
        answer = self.ask("launches", copy_behind_a_kernel())
        phases = {row["phase"][0]: row for row in answer["launches"]}
        self.assertEqual(phases["W"]["total_ns"], 1_000_040_000)
        self.assertEqual(phases["S"]["max_ns"], 50_000)  # of the kernel
        self.assertEqual(answer["slow_starts_facts"]["slow_starts_count"], 0)

    def test_queues_know_the_stream(self):
        """One stream on two queues, never two operations at a time."""
        rows = self.ask("queues", copy_behind_a_kernel())["streams"]
        self.assertEqual([(row["stream"], row["ops"], row["queues"], row["overlapping_starts"])
                          for row in rows], [("null stream of GPU 0", 2, 2, 0)])
