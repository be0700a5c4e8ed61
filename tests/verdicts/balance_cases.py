"""Two GPUs of one process: when sonde check says that one has too little to do, and when not."""
from trace import Trace
from verdict import Verdict

MS = 1_000_000


def shared_out(first, second, period=1000, steps=10, process=7, late=0, trace=None):
    """Steps in which GPU 0 computes for `first` us and GPU 1 for `second`, both launched at once; `late`
    is how much later the second one begins."""
    trace = trace or Trace(process=process)
    for i in range(steps):
        at = 100 + period * i
        trace.kernel("gemm", at, first, launched=at - 20)
        if second:
            trace.kernel("gemm", at + late, second, launched=at - 10, device=1)
    return trace


class Balance(Verdict):
    def test_one_gpu_has_little_work(self):
        """Of each millisecond GPU 0 computes for 900 us and GPU 1 for 200: it could take over a half of the 700."""
        found = self.findings(shared_out(900, 200))
        self.assertEqual(list(found)[0], "uneven-gpus")
        self.assertEqual((found["uneven-gpus"]["saving_ns"], found["uneven-gpus"]["cost_ns"]), (7 * MS, 7 * MS))
        said = " ".join(self.text("check", shared_out(900, 200)).split())
        self.assertIn("GPU 0 computes for 9.00 ms, GPU 1 for 2.00 ms, and has nothing to do for 7.00 ms", said)

    def test_the_work_of_one_gpu_ends_early(self):
        """One long kernel each, of 9 and of 3 ms: what comes after the end of the second counts."""
        found = self.findings(shared_out(9000, 3000, steps=1))
        self.assertEqual(found["uneven-gpus"]["saving_ns"], 6 * MS)
        self.assertAlmostEqual(found["uneven-gpus"]["saving_percentage"], 100 * 6 / 18, places=1)

    def test_equal_work(self):
        self.assert_not_found("uneven-gpus", shared_out(900, 900))
        self.assert_not_found("uneven-gpus", shared_out(900, 830))

    def test_gpus_that_take_turns(self):
        """A pipeline without overlap: GPU 1 begins where GPU 0 ends. Other shares would not help."""
        self.assert_not_found("uneven-gpus", shared_out(600, 300, late=600))

    def test_a_program_that_launches_too_late(self):
        """GPU 0 computes for a tenth of the time, GPU 1 for a twentieth: the host is the limit."""
        self.assert_not_found("uneven-gpus", shared_out(100, 50))

    def test_two_processes(self):
        """Each has a GPU of its own: how much work a program has is its own business."""
        trace = shared_out(900, 0, process=7)
        trace.correlation, trace.process = 1000, 8
        for i in range(10):
            trace.kernel("gemm", 100 + 1000 * i, 300, launched=90 + 1000 * i, device=1)
        self.assert_not_found("uneven-gpus", trace)

    def test_a_gpu_that_copies_meanwhile(self):
        """GPU 1 computes for 300 us and copies for the 600 after that: it has something to do."""
        trace = shared_out(900, 300)
        for i in range(10):
            trace.copy("d2h", 400 + 1000 * i, 600, 1 << 20, launched=90 + 1000 * i, device=1)
        self.assert_not_found("uneven-gpus", trace)

    def test_a_gpu_that_waits_in_collectives(self):
        """GPU 1 waits for GPU 0 in an allreduce kernel: that is the straggler's finding, not this one."""
        trace = Trace()
        for i in range(10):
            at = 100 + 1000 * i
            trace.kernel("gemm", at, 800, launched=at - 20)
            trace.kernel("gemm", at, 300, launched=at - 10, device=1)
            trace.collective("allreduce", at + 800, 50, [0, 1], launched=at - 5, number=i)
            trace.collective("allreduce", at + 300, 550, [0, 1], launched=at - 4, number=i, device=1)
        self.assert_not_found("uneven-gpus", trace)

    def test_three_gpus(self):
        """900, 900 and 300 us: the third could have more, by 600 us a step."""
        trace = shared_out(900, 900)
        for i in range(10):
            trace.kernel("gemm", 100 + 1000 * i, 300, launched=95 + 1000 * i, device=2)
        self.assertEqual(self.findings(trace)["uneven-gpus"]["saving_ns"], 6 * MS)
