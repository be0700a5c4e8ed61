"""--from and --to of several files, which are the ranks of one job."""
from trace import Trace
from verdict import Verdict

DAY = 86_400_000_000_000


class Windows(Verdict):
    def ranks(self, base_ns=None):
        """Both ranks do the same at the same time: 10 steps with 8 ms of compute from 100 ms on, then 10 with 2 ms.
        The recording of rank 1 begins 60 ms earlier, with 40 us of work; `base_ns`: the clock of rank 1."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in (0, 1)]
        ranks[0].kernel("setup", 60_000, 40)
        ranks[1].kernel("setup", 0, 40, launched=None)
        for step in range(20):
            at = 100_000 + 10_000 * step
            for rank in ranks:
                compute = 8000 if step < 10 else 2000
                rank.step(step, at, 10_000)
                rank.kernel("gemm", at + 100, compute, launched=at + 10)
                rank.collective("allreduce", at + 100 + compute, 1500, [0, 1], launched=at + 20, number=step)
        if base_ns is not None:
            ranks[1].document["baseTimeNanoseconds"] = base_ns
        return ranks

    def compute_ms(self, *traces, options):
        told = self.ask("ranks", *traces, options=options)
        return [row["compute_ns"] / 1e6 for row in told["ranks"]]

    def assert_each_its_own(self, ranks, why):
        """Rank 1 is asked 60 ms earlier, and the answer says so."""
        options = ("--from", "100ms", "--to", "180ms")
        # From its own start at 60 ms rank 0 does 4 steps of 8 ms and 4 of 2 ms in that time.
        self.assertEqual(self.compute_ms(*ranks, options=options), [40.0, 64.0])
        for verb in ("ranks", "collectives", "check"):
            warnings = " ".join(self.ask(verb, *ranks, options=options)["warnings"])
            self.assertIn("count from the start of each file", warnings)
            self.assertRegex(warnings, why)

    def test_the_same_moments(self):
        options = ("--from", "100ms", "--to", "180ms")
        self.assertEqual(self.compute_ms(*self.ranks(), options=options), [64.0, 64.0])
        self.assertEqual(self.ask("ranks", *self.ranks(), options=options).get("warnings", []), [])

    def test_as_when_merged(self):
        files = self.write(*self.ranks())
        merged = self.folder / "job.rpd"
        self.run_sonde("merge", *files, "-o", merged)
        for window in (("100ms", "180ms"), ("150ms", "400ms"), ("25%", "75%"), ("-60ms", "-20ms"), ("50%", "100%")):
            options = (f"--from={window[0]}", f"--to={window[1]}")
            self.assertEqual(self.compute_ms(*files, options=options), self.compute_ms(merged, options=options), window)

    def test_recordings_of_any_kind(self):
        """The clock of an .rpd is that of the file that it was made of."""
        files = self.write(*self.ranks())
        one = self.folder / "one.rpd"
        self.run_sonde("import", files[0], "-o", one)
        self.assertEqual(self.compute_ms(one, files[1], options=("--from", "100ms", "--to", "180ms")), [64.0, 64.0])

    def test_all_is_all(self):
        """A window over everything cuts nothing, and does not make a recording longer."""
        wanted = self.ask("check", *self.ranks())["check_facts"]["wall_ns"]
        told = self.ask("check", *self.ranks(), options=("--from", "0%", "--to", "100%"))
        self.assertEqual(told["check_facts"]["wall_ns"], wanted)

    def test_before_a_recording_begins(self):
        told = self.ask("ranks", *self.ranks(), options=("--from", "0", "--to", "50ms"))
        self.assertEqual([(row["rank"], row["compute_ns"]) for row in told["ranks"]], [(1, 40_000)])
        self.assertRegex(" ".join(told["warnings"]), r"trace0\.json was not recorded at the time of the window")

    def test_another_day(self):
        base = Trace().document["baseTimeNanoseconds"]
        self.assert_each_its_own(self.ranks(base + DAY),
                                 r"trace1\.json begins 86,400 s after the end of .*trace0\.json")

    def test_no_clock(self):
        ranks = self.ranks()
        del ranks[1].document["baseTimeNanoseconds"]
        self.assert_each_its_own(ranks, r"at what time of day .*trace1\.json was recorded is not known")

    def test_runs_that_are_compared(self):
        """diff has a window of its own for each run: the same work 5 ms later is no difference."""
        runs = [Trace(), Trace()]
        for run, begin in zip(runs, (0, 5000)):
            for i in range(10):
                run.kernel("gemm", begin + 1000 * i, 500, launched=begin + 1000 * i - 5)
        told = self.ask("diff", *runs, options=("--from", "0", "--to", "5ms"))
        self.assertEqual((told["wall_facts"]["wall_b_ns"], told["wall_facts"]["delta_ns"]), (5_000_000, 0))
        self.assertEqual(told.get("warnings", []), [])
