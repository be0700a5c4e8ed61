"""Several files of one rank: a profiler that records in cycles writes one for each."""
import subprocess

from job import JobVerdict
from trace import Trace


class Cycles(JobVerdict):
    def cycles(self, numbered=True, ahead=0, process=lambda cycle, rank: 100 + rank, apart=5_000_000):
        """Two ranks, recorded for 8 steps twice, 5 s apart. Rank 1 computes for 500 us longer in each; the all-reduce
        ends on both 9 ms after the step began. The clock of rank 1 is `ahead`."""
        files = []
        for cycle in (0, 1):
            for rank in (0, 1):
                trace = Trace(rank=rank, world=2, process=process(cycle, rank))
                for step in range(8):
                    at = cycle * apart + 10_000 * step + (ahead if rank else 0)
                    compute = 6500 if rank else 6000
                    begin = at + 100 + compute
                    trace.step(100 * cycle + step, at, 10_000)
                    trace.kernel("gemm", at + 100, compute, launched=at + 10)
                    trace.collective("allreduce", begin, at + 9000 - begin, [0, 1], launched=at + 20,
                                     number=100 * cycle + step if numbered else None)
                files.append(trace)
        return files

    def assert_one_rank_each(self, told, files=2):
        self.assert_late(told, 1, 16)
        self.assertEqual([row["rank"] for row in told["ranks"]], [0, 1])
        self.assertEqual([row["collectives"] for row in told["ranks"]], [16, 16])
        self.assertEqual([row["late_ns"] for row in told["ranks"]], [0, 16 * 500_000])
        self.assertEqual({row["file"].count(", ") for row in told["ranks"]}, {files - 1})
        self.assertIn("rank 0, rank 1: recorded several times", " ".join(told["notes"]))

    def test_one_rank(self):
        for numbered in (True, False):
            with self.subTest(numbered=numbered):
                files = self.write(*self.cycles(numbered))
                self.assert_one_rank_each(self.told(*files))
                self.assertIn("rank 1 came last in 16 of 16 collectives of its group", self.remarks(*files))

    def test_in_any_order_of_the_files(self):
        files = self.write(*self.cycles())
        self.assert_one_rank_each(self.told(files[3], files[0], files[2], files[1]))

    def test_with_a_clock_ahead(self):
        told = self.told(*self.cycles(ahead=700))
        self.assert_one_rank_each(told)
        self.assertEqual([row["clock_ahead_ns"] for row in told["ranks"]], [0, 700_000])

    def test_merged(self):
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*self.cycles()), "-o", path)
        self.assert_one_rank_each(self.told(path), files=1)
        self.assertEqual(self.ask("check", path)["check_facts"]["device"], "2 x Test GPU")

    def test_gpus_count_once(self):
        told = self.ask("check", *self.cycles())
        self.assertEqual(told["check_facts"]["device"], "2 x Test GPU")
        self.assertIn("rank 0, rank 1: recorded several times", " ".join(told["notes"]))

    def test_waits_are_found_in_each_file(self):
        """500 us in each of 16 all-reduces, of 4 x 78.9 ms in which the GPUs work."""
        found = self.findings(*self.cycles(), options=("--least", "0"))["straggler"]
        self.assertEqual(found["saving_ns"], 16 * 500_000)

    def test_ranks_has_a_row_for_each(self):
        told = self.ask("ranks", *self.cycles())
        self.assertEqual([row["rank"] for row in told["ranks"]], [0, 0, 1, 1])
        self.assertIn("each time has its row", " ".join(told["notes"]))

    def test_several_runs(self):
        """Another process is another run, and the same at the same time cannot be: nothing is said of who is late."""
        for case in ({"process": lambda cycle, rank: 100 + 10 * cycle + rank}, {"apart": 20_000}):
            files = self.write(*self.cycles(**case))
            told = self.told(*files)
            self.assertIn("the files are of several runs", " ".join(told["notes"]))
            self.assertNotIn("straggler", self.findings(*files, options=("--least", "0")))
            for verb in ("check", "collectives", "ranks"):
                self.assertRegex(" ".join(self.ask(verb, *files)["warnings"]),
                                 "rank 0, rank 1 were recorded several times, as other processes or at the same time")

    def test_ranks_of_their_own(self):
        """Nothing of this is said of a job whose ranks have a file each, helpers and numbers of processes alike."""
        ranks = self.cycles(process=lambda cycle, rank: 100)[:2]
        for trace in ranks:
            trace.python("loader.py(3): next", 0, 900, process=101)
        for verb in ("check", "collectives", "ranks"):
            told = self.ask(verb, *ranks)
            said = " ".join(told.get("warnings", []) + told.get("notes", []))
            self.assertNotRegex(said, "several times|several runs", verb)


class GivenTwice(JobVerdict):
    def test_is_an_error(self):
        trace = Trace(rank=0, world=2)
        trace.kernel("gemm", 10, 100)
        path, = self.write(trace)
        link = self.folder / "link.json"
        link.symlink_to(path)
        for verb in ("check", "collectives", "ranks"):
            for other in (path, link):
                done = subprocess.run([self.sonde, verb, path, other], capture_output=True, text=True, check=False,
                                      stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (2, ""), verb)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertRegex(done.stderr, rf"{other}: is (given twice|the same file as {path})")

    def test_is_a_comparison_with_itself(self):
        trace = Trace()
        for i in range(10):
            trace.kernel("gemm", 10 + 1000 * i, 100)
        path, = self.write(trace)
        self.assertEqual(self.ask("diff", path, path)["wall_facts"]["delta_ns"], 0)
