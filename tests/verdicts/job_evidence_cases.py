"""What check says of a job's files: of which rank a figure is, and what a late rank did."""
from job import Job, JobVerdict
from trace import Trace

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class JobEvidence(JobVerdict):
    def job(self, before, compute=lambda rank, step: 1000, ranks=4, steps=20, loads=100):
        """Steps of a loader of `loads` us, what `before(trace, at, rank, step)` adds to it, which returns when it
        is over, a kernel and an all-reduce of 200 us."""
        traces = [Trace(rank=rank, world=ranks, process=100 + rank) for rank in range(ranks)]
        at = 1000
        for step in range(steps):
            begins = []
            for rank, trace in enumerate(traces):
                trace.range(LOADER, at, loads)
                done = before(trace, at + loads, rank, step)
                lasts = compute(rank, step)
                trace.kernel("gemm", done + 10, lasts, launched=done + 2)
                begins.append(done + 11 + lasts)
            end = max(begins) + 200
            for trace, begin in zip(traces, begins):
                trace.collective("allreduce", begin, end - begin, range(ranks), launched=begin - lasts - 2)
                trace.call("cudaDeviceSynchronize", begin, end - begin + 3)
            at = end + 10
        return traces

    def evidence(self, finding, *traces):
        said = [text for text in self.ask("check", *traces, options=["--least", "0"])["check_remarks"]
                if text.startswith(f"{finding}: ")]
        self.assertEqual(len(said), 1, said)
        return said[0]

    def each_evidence(self, finding, ranks):
        """Of the files of the ranks, and of all of them merged."""
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*ranks), "-o", path)
        for traces in (ranks, [path]):
            yield self.evidence(finding, *traces)

    @staticmethod
    def load(of, lasts=8000):
        def before(trace, at, rank, _):
            if rank != of:
                return at
            trace.range(LOADER, at, lasts)
            return at + lasts
        return before

    def test_a_figure_of_the_whole_job_has_no_rank(self):
        """Rank 1 is late; others wait, and the sentence is about all: it begins with the late rank."""
        ranks = self.job(self.load(of=1))
        said = self.evidence("straggler", *ranks)
        self.assertRegex(said, "^straggler: rank 1 came last in 20 of 20 ")
        self.assertNotIn("more file", said)

    def test_transfers_of_all_ranks(self):
        """20 sends and 20 receives in two files, of which rank 1's take longest."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in (0, 1)]
        for i in range(20):
            ranks[0].collective("send", 1000 + 5000 * i, 300, [0, 1], group="pp")
            ranks[1].collective("recv", 1000 + 5000 * i, 800, [0, 1], group="pp")
        self.assertRegex(self.evidence("transfer-waits", *ranks), "^transfer-waits: 40 sends and receives take 22.0 ms")

    def test_files_in_which_it_costs_nothing_are_not_counted(self):
        """The loader takes 8.1 ms of each step on rank 1, and 0.1 on the others."""
        said = self.evidence("data-loading", *self.job(self.load(of=1)))
        self.assertRegex(said, "^data-loading: rank 1: ")
        self.assertNotIn("more file", said)

    def test_files_in_which_it_costs_as_much_are(self):
        said = self.evidence("data-loading", *self.job(lambda trace, at, rank, step: at, loads=3000))
        self.assertRegex(said, r"^data-loading: rank \d: .*\(and in 3 more files\)")

    def test_a_late_rank_that_loads_data(self):
        """It loads for 8 ms more than the others in each step."""
        for said in self.each_evidence("straggler", self.job(self.load(of=1))):
            self.assertIn("before these, data-loading takes 152 ms longer on it than on others", said)

    def test_a_late_rank_that_logs(self):
        """All load for 3 ms; rank 2 logs for 2 ms besides."""
        def log(trace, at, rank, _):
            if rank != 2:
                return at
            trace.python("logger.py(20): write_images", at, 2000)
            return at + 2000
        said = self.evidence("straggler", *self.job(log, loads=1100))
        self.assertRegex(said, "before these, host-work takes .* ms longer on it than on others: .*write_images")

    def test_a_late_rank_that_computes(self):
        """All load for 3 ms; rank 2 computes for 2 ms more than the others."""
        ranks = self.job(lambda trace, at, rank, step: at, compute=lambda rank, step: 3000 if rank == 2 else 1000,
                         loads=3000)
        for said in self.each_evidence("straggler", ranks):
            self.assertIn("before these, its kernels run 38.0 ms longer than those of others", said)

    def test_a_late_rank_of_which_nothing_is_known(self):
        """Files of nothing but collectives: its GPU was idle, which rules out its kernels."""
        job = Job([0, 0, 0])
        for i in range(20):
            t = 1000 + 9000 * i
            job.collective([t, t, t + 5000], t + 5200, number=i)
        for rank in job.ranks:
            rank.events = [event for event in rank.events if event["cat"] == "kernel"]
        self.assertIn("before these, idle-unexplained takes 95.0 ms longer on it than on others",
                      self.evidence("straggler", *job.ranks))

    def limit(self, ranks, options=()):
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*ranks), "-o", path)
        return self.ask("steps", path, options=options)["steps_facts"]["data_loader_bound"]

    def steps(self, *loads):
        """Ranks whose loaders take so many us of each of 20 steps."""
        ranks = self.job(lambda trace, at, rank, step: at + loads[rank] - 100, ranks=len(loads))
        for trace in ranks:
            for event in [event for event in trace.events if event["name"] == LOADER]:
                event["dur"] = loads[trace.document["distributedInfo"]["rank"]]
                trace.step(event["ts"] // 100, event["ts"], max(loads) + 1200)
        return ranks

    def test_one_slow_loader_is_the_limit_of_all(self):
        """One of eight ranks loads for 8 ms of each step of 9.2 ms, the others for 0.1."""
        said = self.limit(self.steps(*[8000 if rank == 4 else 100 for rank in range(8)]))
        self.assertRegex(said, r"^yes, on rank 4: there it takes 8\d\.\d % of the steps, and in 8\d\.\d % the GPU ")

    def test_all_loaders_are_the_limit(self):
        self.assertRegex(self.limit(self.steps(3000, 3000, 3100, 2900)), r"^yes: it takes 6\d\.\d % of the steps")

    def test_no_loader_is_the_limit(self):
        self.assertRegex(self.limit(self.steps(50, 60, 90, 80)), r"^no: it takes \d\.\d % of the steps")
