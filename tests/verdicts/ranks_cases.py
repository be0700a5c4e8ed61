"""Ranks side by side."""
from trace import Trace
from verdict import Verdict


class Ranks(Verdict):
    def rows(self, *traces):
        return {row["rank"]: row for row in self.ask("ranks", *traces)["ranks"]}

    def test_ranks_without_a_gpu(self):
        """Rank 1 computes for 8 ms and rank 0 for 5 ms of each step of 10 ms; rank 0 waits in gloo."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in (0, 1)]
        for i in range(5):
            t = 10_000 * i
            for rank, compute in enumerate((5000, 8000)):
                ranks[rank].operator("aten::mm", t, compute)
                ranks[rank].operator("c10d::allreduce_", t + compute, 9000 - compute)
                ranks[rank].operator("gloo:all_reduce", t + compute, 9000 - compute)
        rows = self.rows(*ranks)
        self.assertEqual([rows[rank]["compute_ns"] for rank in (0, 1)], [25_000_000, 40_000_000])
        self.assertEqual([rows[rank]["exposed_communication_ns"] for rank in (0, 1)],
                         [20_000_000, 5_000_000])
        self.assertEqual({rows[rank]["idle_ns"] for rank in (0, 1)}, {4_000_000})
        self.assertEqual({rows[rank]["gpu_id"] for rank in (0, 1)}, {None})

    def test_the_same_when_merged(self):
        ranks = [Trace(rank=rank, world=2, process=100) for rank in (0, 1)]
        for rank, compute in enumerate((5000, 8000)):
            ranks[rank].operator("aten::mm", 0, compute)
            ranks[rank].operator("gloo:all_reduce", compute, 9000 - compute)
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*ranks), "-o", path)
        rows = self.rows(path)
        self.assertEqual([rows[rank]["compute_ns"] for rank in (0, 1)], [5_000_000, 8_000_000])

    def test_communication_hidden_behind_another_thread(self):
        """gloo works on a thread of its own for 6 ms, while the program computes 4 of them."""
        trace = Trace(rank=0, process=100)
        trace.operator("aten::mm", 0, 4000)
        trace.operator("gloo:all_reduce", 0, 6000, thread=101)
        row = self.rows(trace)[0]
        self.assertEqual((row["compute_ns"], row["exposed_communication_ns"]), (4_000_000, 2_000_000))

    def test_a_helper_is_no_rank(self):
        """A job of one GPU and a data loader, which is a process of its own."""
        trace = Trace(rank=0, process=100)
        trace.kernel("gemm", 100, 50)
        trace.python("loader.py(3): next", 0, 900, process=101)
        self.assertEqual([row["gpu_id"] for row in self.ask("ranks", trace)["ranks"]], [0])

    def test_a_clock_ahead_changes_no_rank(self):
        """Two ranks do the same, one with a clock 10 s ahead, in one file: equal rows."""
        ranks = [Trace(rank=rank, world=2, process=100) for rank in (0, 1)]
        for rank, ahead in enumerate((0, 10_000_000)):
            for i in range(5):
                ranks[rank].kernel("gemm", ahead + 1000 * i, 600)
                ranks[rank].collective("allreduce", ahead + 1000 * i + 700, 100, [0, 1], number=i)
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*ranks), "-o", path)
        rows = self.rows(path)
        for key in ("compute_ns", "exposed_communication_ns", "idle_ns", "total_ns"):
            self.assertEqual(rows[0][key], rows[1][key])
