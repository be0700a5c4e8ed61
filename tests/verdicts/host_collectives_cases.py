"""Jobs whose ranks meet on the host, in collectives of gloo and MPI, while their GPUs stand still."""
from job import JobVerdict
from trace import Trace


class HostCollectives(JobVerdict):
    def job(self, late, call="gloo:all_reduce", transfer=100, also_nccl=False, kernels=True, beside=False):
        """20 steps of 8 ms of kernels and a collective of the host, for which rank 3 logs for `late` us. With
        `beside`, a kernel of each rank runs until the collective is over."""
        ranks = [Trace(rank=rank, world=4, process=100 + rank) for rank in range(4)]
        at = 1000
        for i in range(20):
            for rank, trace in enumerate(ranks):
                if kernels:
                    trace.kernel("gemm", at + 10, 8000 + (late if beside else 0), launched=at)
                if also_nccl:
                    trace.collective("allreduce", at + 8020, 200, range(4), launched=at + 5)
                mine = late if rank == 3 else 0
                begin = at + (20 if beside else 8300)
                trace.call("cudaStreamSynchronize", at + 8, begin - at - 10)
                if mine:
                    trace.python("logger.py(20): write_images", begin, mine)
                trace.operator(call, begin + mine, late - mine + transfer)
            at += 8300 + late + transfer + 10
        return ranks

    def said(self, finding, *traces):
        return next((text for text in self.ask("check", *traces)["check_remarks"] if text.startswith(finding)), "")

    def test_waiting_for_a_late_rank(self):
        """Rank 3 logs for 10 ms before each; the others wait for it, and it is to blame."""
        for call in ("gloo:all_reduce", "MPI_Allreduce"):
            with self.subTest(call):
                ranks = self.job(late=10_000, call=call)
                self.assert_first("straggler", *ranks)
                said = self.said("straggler", *ranks)
                self.assertRegex(said, "^straggler: rank 3 came last in 20 of 20 .* 10.0 ms late on average; the others "
                                 "waited 600 ms for it; before these, host-work takes .*write_images")
                self.assertRegex(self.said("host-work", *ranks), "^host-work: rank 3: .*write_images[^(]*$")
                self.assertAlmostEqual(self.findings(*ranks)["straggler"]["cost_ns"], 3 * 19 * 10_000_000, delta=400_000)

    def test_the_same_when_merged(self):
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*self.job(late=10_000)), "-o", path)
        self.assertRegex(self.said("straggler", path), "^straggler: rank 3 came last in 20 of 20 ")

    def test_waiting_in_gloo_beside_collectives_of_gpus(self):
        """Sonde compares those of the GPUs; the time in gloo's is waiting for others, and no work of the host."""
        ranks = self.job(late=10_000, also_nccl=True)
        self.assertIn("gloo:all_reduce", self.said("host-blocked", *ranks))
        self.assertRegex(self.said("host-work", *ranks), "^host-work: rank 3: .*write_images")

    def test_one_rank_alone(self):
        """Rank 0 is 10 of each 18 ms in MPI: it waits for other ranks, of which nothing is known."""
        for call in ("MPI_Barrier", "MPI_Waitall", "gloo:barrier"):
            with self.subTest(call):
                self.assert_first("host-blocked", self.job(late=10_000, call=call)[0])

    def test_work_of_the_host_is_no_waiting(self):
        """The same with an operator of another name, and with calls of MPI that wait for no one."""
        for call in ("my_gloo:reduce", "MPI_Init", "MPI_Reduce_local", "aten::sort"):
            with self.subTest(call):
                self.assert_first("host-work", self.job(late=10_000, call=call)[0])

    def test_who_waits_beside_work_loses_nothing(self):
        """The kernels run until the collective is over."""
        rows = self.ask("check", *self.job(late=7000, beside=True), options=["--least", "0"])["check"]
        self.assertFalse({"straggler", "collective-waits", "host-blocked"} & {row["finding"] for row in rows})
