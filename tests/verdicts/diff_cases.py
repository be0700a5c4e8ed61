"""What changed between two traces, and what only looks like a change."""
from trace import Trace
from verdict import Verdict


def training(steps, kernel_us=400, name="gemm", first_us=0, process=7, **more):
    """Steps of 1000 us, each with three kernels; the first may take `first_us` more."""
    trace = Trace(process=process, **more)
    at = 0
    for i in range(steps):
        lasts = 1000 + kernel_us - 400 + (first_us if i == 0 else 0)
        trace.step(i, at, lasts)
        start = at + 100 + (first_us if i == 0 else 0)
        trace.kernel("load", start, 50, launched=at + 10)
        trace.kernel(name, start + 100, kernel_us, launched=at + 20)
        trace.kernel("store", start + 200 + kernel_us, 50, launched=at + 30)
        at += lasts
    return trace


class Diff(Verdict):
    def verdict(self, *traces):
        told = self.ask("diff", *traces)
        return told["wall_facts"]["verdict"], told

    def changes(self, told):
        return {row["name"]: row["change"] for row in told["operations"]}

    def test_the_same_twice(self):
        """A trace and itself: nothing is longer, added or renamed."""
        verdict, told = self.verdict(training(10), training(10))
        self.assertIn("a step takes 1.000 times as long", verdict)
        self.assertEqual(set(self.changes(told).values()), {"unchanged"})
        self.assertNotIn("renamed", told)
        self.assertEqual(told["wall_facts"]["delta_ns"], 0)

    def test_more_steps_are_no_change(self):
        """B has 15 steps and A 10; each does the same in the same time."""
        verdict, told = self.verdict(training(10), training(15))
        self.assertIn("a step takes 1.000 times as long", verdict)
        self.assertEqual(set(self.changes(told).values()), {"unchanged"})

    def test_fewer_steps_hide_no_slowdown(self):
        """B has 5 steps of 1200 us and A 10 of 1000: B is shorter, and its steps are slower."""
        verdict, _ = self.verdict(training(10), training(5, kernel_us=600))
        self.assertIn("a step takes 1.200 times as long", verdict)

    def two_ranks(self, second_us):
        """20 steps of two ranks, each with 20 gemms of 50 us, on rank 1 of `second_us`, and an all-reduce of
        100 us in which the faster one waits."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in range(2)]
        at = 100
        for i in range(20):
            ends = [at + 20 * us for us in (50, second_us)]
            for rank, us in enumerate((50, second_us)):
                ranks[rank].step(i, at - 40, max(ends) + 145 - at)
                for part in range(20):
                    ranks[rank].kernel("gemm", at + us * part, us - 1, launched=at - 30 + part)
                ranks[rank].collective("allreduce", ends[rank], max(ends) + 100 - ends[rank], [0, 1],
                                       launched=at - 5)
            at = max(ends) + 150
        path = self.folder / f"ranks{second_us}.rpd"
        self.run_sonde("merge", *self.write(*ranks), "-o", path)
        return path

    def test_waiting_for_a_slower_rank_is_not_the_cause(self):
        """In B the gemms of rank 1 take twice as long: the 20 ms are theirs, not the all-reduce's."""
        _, told = self.verdict(self.two_ranks(50), self.two_ranks(100))
        delta = {row["name"]: row["delta_ns"] / 1e6 for row in told["wall"]}
        self.assertAlmostEqual(delta["gemm"], 20, delta=0.5)
        self.assertAlmostEqual(sum(ms for name, ms in delta.items() if "AllReduce" in name), 0, delta=0.5)

    def test_too_few_steps_in_one(self):
        """B has 2 steps and A 6: B takes a third, which says nothing of a step, and diff says so."""
        verdict, told = self.verdict(training(6), training(2))
        self.assertNotIn("a step takes", verdict)
        self.assertTrue(any(note.startswith("B has fewer than 3 steps") for note in told["notes"]))
        _, told = self.verdict(training(2), training(2))
        self.assertFalse(any("fewer than" in note for note in told.get("notes", [])))

    def test_a_warm_up_in_one(self):
        """The first step of B takes 50 ms, and all others are as those of A."""
        verdict, _ = self.verdict(training(10), training(10, first_us=50_000))
        self.assertIn("a step takes 1.000 times as long", verdict)
        self.assertIn("the first step of B takes 51.0 ms, as in a warm-up", verdict)

    def test_a_warm_up_in_both_is_not_told_of_one(self):
        verdict, _ = self.verdict(training(10, first_us=50_000), training(10, first_us=50_000))
        self.assertIn("the first step of A", verdict)
        self.assertIn("the first step of B", verdict)

    def test_steps_of_two_kinds(self):
        """The same work with and without markers of its steps."""
        unmarked = training(30)
        unmarked.events = [one for one in unmarked.events if not one["name"].startswith("ProfilerStep")]
        verdict, told = self.verdict(training(30), unmarked)
        self.assertNotIn("a step takes", verdict)
        self.assertIn("steps are not compared: those of A are markers, those of B kernels that repeat",
                      told["notes"])

    def test_a_kernel_renamed(self):
        """"gemm" is called "gemm_v2" in B, between the same kernels, and takes 100 us less."""
        _, told = self.verdict(training(10), training(10, name="gemm_v2", kernel_us=300))
        row, = told["renamed"]
        self.assertEqual((row["name_a"], row["name_b"], row["delta_ns"]), ("gemm", "gemm_v2", -1_000_000))

    def test_a_kernel_renamed_in_its_arguments(self):
        """What differs in the two names of a row can be read there, although names are shortened."""
        a, b = (training(10, name=f"void gemm<{type}>({type}*)") for type in ("float", "half"))
        text = self.text("diff", a, b)
        renamed = text[text.index("Kernels that may have been renamed"):]
        self.assertRegex(renamed, r"\n *gemm<float> +gemm<half> ")

    def test_a_kernel_gone_and_another_new(self):
        """A has one at the end of each step, B another twice a step: not the same under a new name."""
        a, b = training(10), training(10)
        for i in range(10):
            a.kernel("old", 1000 * i + 950, 10)
            b.kernel("new", 1000 * i + 20, 10)
            b.kernel("new", 1000 * i + 40, 10)
        _, told = self.verdict(a, b)
        self.assertNotIn("renamed", told)
        self.assertEqual([self.changes(told)[name] for name in ("old", "new")], ["removed", "added"])

    def test_two_possible_names_are_a_guess(self):
        """Two kernels go and two come at the same place: which is which cannot be known."""
        a, b = training(10), training(10)
        for i in range(10):
            for j in range(2):
                a.kernel(f"a{j}", 1000 * i + 20 + 20 * j, 10, stream=9)
                b.kernel(f"b{1 - j}", 1000 * i + 20 + 20 * j, 10, stream=9)
        _, told = self.verdict(a, b)
        self.assertEqual(sorted(name for name, change in self.changes(told).items()
                                if change != "unchanged"), ["a0", "a1", "b0", "b1"])

    def test_ranks_swapped(self):
        """The same job, merged in another order of its files."""
        files = self.write(*[training(10, rank=rank, world=2, process=100) for rank in (0, 1)])
        for name, order in (("ab", files), ("ba", files[::-1])):
            self.run_sonde("merge", *order, "-o", self.folder / f"{name}.rpd")
        verdict, told = self.verdict(self.folder / "ab.rpd", self.folder / "ba.rpd")
        self.assertIn("B takes 1.000 times as long", verdict)
        self.assertEqual(set(self.changes(told).values()), {"unchanged"})

    def test_a_clock_ahead_is_no_time(self):
        """In B the clock of rank 1 is 10 s ahead of that of rank 0, and the job is the same."""
        jobs = []
        for name, ahead in (("a", 0), ("b", 10_000_000)):
            ranks = [Trace(rank=rank, world=2, process=100) for rank in (0, 1)]
            for rank, offset in enumerate((0, ahead)):
                for i in range(8):
                    ranks[rank].kernel("gemm", offset + 1000 * i, 600)
                    ranks[rank].collective("allreduce", offset + 1000 * i + 700, 100, [0, 1], number=i)
            jobs.append(self.folder / f"{name}.rpd")
            self.run_sonde("merge", *self.write(*ranks), "-o", jobs[-1])
        verdict, told = self.verdict(*jobs)
        self.assertIn("B takes 1.000 times as long", verdict)
        self.assertEqual(told["wall_facts"]["wall_b_ns"], told["wall_facts"]["wall_a_ns"])

    def test_one_side_without_times(self):
        """B says which kernels ran, and not how long: nothing got faster."""
        b = training(10)
        for event in b.events:
            if event["cat"] == "kernel":
                event["dur"] = 0
        verdict, _ = self.verdict(training(10), b)
        self.assertIn("B has no operation times", verdict)
        self.assertNotIn("times as long", verdict)

    def test_an_empty_side(self):
        """B has nothing: it has no figures."""
        verdict, _ = self.verdict(training(10), Trace())
        self.assertEqual(verdict, "one of the traces has no events")

    def test_more_calls_a_step_in_fewer_steps(self):
        """A launches `extra` once in each of 20 steps, B three times in each of 5."""
        def job(steps, times):
            trace = training(steps)
            for i in range(steps):
                for k in range(times):
                    trace.kernel("extra", 1000 * i + 750 + 60 * k, 50, launched=1000 * i + 40 + k)
            return trace
        _, told = self.verdict(job(20, 1), job(5, 3))
        self.assertEqual(self.changes(told)["extra"], "increased")

    def test_two_of_five_steps_are_no_warm_up(self):
        """In B, two of every five steps take 5 ms, the first one among them: the median is that of A."""
        slow, at = Trace(), 0
        for i in range(25):
            lasts = 5000 if i % 5 < 2 else 1000
            slow.step(i, at, lasts)
            slow.kernel("gemm", at + 100, lasts - 200, launched=at + 10)
            at += lasts
        verdict, _ = self.verdict(training(20), slow)
        self.assertIn("(2.600 times as long in the mean)", verdict)
        self.assertNotIn("warm-up", verdict)
