"""A rank that others wait for in fewer than most collectives, and for longer than for all others."""
import random

from job import Job, JobVerdict


class LateShare(JobVerdict):
    def late_in(self, delays, ranks=4, apart=40_000):
        """Ranks that come `delays[i]` (us, by rank) late to collective i, and else together."""
        job = Job([0] * ranks)
        for i, late in enumerate(delays):
            t = 1000 + apart * i
            begins = [t + late.get(rank, 0) for rank in range(ranks)]
            job.collective(begins, max(begins) + 200, number=i)
        return job

    def assert_straggler(self, job, said):
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], f"^{said}")
        rank = said.partition(" comes")[0]
        self.assertIn(f"straggler: {rank} came last", self.remarks(self.merged(job)))

    def assert_no_straggler(self, job, said="^no rank is late"):
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], said)
        self.assertNotIn("straggler", self.remarks(*job.ranks))

    def test_one_unbalanced_collective_of_two(self):
        """As with a hot expert: all come together to each first exchange, and rank 2 is 1 ms late to each second."""
        job = self.late_in([{2: 1000} if i % 2 else {} for i in range(40)])
        self.assert_straggler(job, "rank 2 comes last in 20 of 40 collectives .*, 1.00 ms late on average; others "
                              "waited 60.0 ms for it, of 60.0 ms in the group$")

    def test_a_rank_that_becomes_slow(self):
        """All are up to 50 us late by chance; from collective 36 of 60 on, rank 2 is 3 ms late."""
        draw = random.Random(1)
        job = self.late_in([{rank: draw.randrange(50) + (3000 if rank == 2 and i >= 36 else 0) for rank in range(4)}
                            for i in range(60)])
        self.assert_straggler(job, r"rank 2 comes last in (2[4-9]|3\d) of 60 ")

    def test_one_of_two_that_are_late(self):
        """Rank 2 is 1 ms late to every second, rank 0 by 100 us to all others."""
        job = self.late_in([{2: 1000} if i % 2 else {0: 100} for i in range(40)])
        self.assert_straggler(job, "rank 2 comes last in 20 of 40 ")

    def test_last_most_often_by_little(self):
        """Rank 0 is 100 us late to two of three, and rank 2 by 5 ms to the third: that is the one to look at."""
        job = self.late_in([{2: 5000} if i % 3 == 2 else {0: 100} for i in range(60)])
        self.assert_straggler(job, "rank 2 comes last in 20 of 60 ")

    def test_random_lateness(self):
        """Each rank is late by what is drawn for it, from 0 to 2 ms, or seldom, or in a few of many by much more."""
        for seed, ranks in enumerate((2, 4, 8)):
            draw = random.Random(seed)
            for name, delay in (("each", lambda draw: draw.randrange(2000)),
                                ("seldom", lambda draw: 3000 * (draw.random() < 0.05)),
                                ("heavy", lambda draw: int(10 * draw.paretovariate(0.8)) % 30_000)):
                with self.subTest(ranks=ranks, lateness=name):
                    job = self.late_in([{rank: delay(draw) for rank in range(ranks)} for _ in range(60)], ranks)
                    self.assert_no_straggler(job)

    def test_late_three_times(self):
        """Rank 2 is late to three of 60: that may be chance."""
        self.assert_no_straggler(self.late_in([{2: 3000} if i % 20 == 9 else {} for i in range(60)]))

    def test_late_much_once_and_little_twice(self):
        """One collective has nearly all of the waiting: that one is named."""
        delays = [{2: 20_000} if i == 30 else {2: 100} if i in (10, 50) else {} for i in range(60)]
        self.assert_no_straggler(self.late_in(delays), "most waiting, .*, is in one, to which rank 2 came 20.0 ms late")

    def test_two_that_are_late_together(self):
        """Ranks 2 and 3 come 1 ms late to every second, at the same moment."""
        self.assert_no_straggler(self.late_in([{2: 1000, 3: 1000} if i % 2 else {} for i in range(40)]))

    def test_who_waited_before_is_not_to_blame(self):
        """Rank 3 is late to every second of its pair's; rank 2 waits there, and so is late to every second with 0."""
        job = Job([0] * 4)
        for i in range(40):
            t, late = 1000 + 20_000 * i, 5000 * (i % 2)
            job.collective([t, t + late], t + late + 100, [2, 3], number=i, group="tp1")
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp0")
            job.collective([t + 200, t + 200 + late], t + late + 300, [0, 2], number=i, group="dp0")
        self.assert_straggler(job, "rank 3 comes last in 20 of 40 ")
        for told in self.each_way(job):
            self.assertNotIn("more rank", told["time_facts"]["late"])

    def test_the_group_in_which_others_wait(self):
        """Rank 1 is 10 us late to all of one group, and 5 ms to every second of another."""
        job = Job([0] * 3)
        for i in range(40):
            t, late = 1000 + 20_000 * i, 5000 * (i % 2)
            job.collective([t, t + 10], t + 60, [0, 1], number=i, group="small")
            job.collective([t + 1000 + late, t + 1000], t + late + 1100, [1, 2], number=i, group="large")
        self.assert_straggler(job, "rank 1 comes last in 20 of 40 collectives of its group 'large.*, 5.00 ms late")

    def assert_waits(self, delays, said):
        self.assertIn(said, self.remarks(*self.late_in(delays, 8).ranks))

    def test_a_slow_node(self):
        """Ranks 4 to 7 are 3 ms late each time, one of them in turns by 70 us more, which is no reason for 12 ms of
        waiting."""
        for more in (70, 0):
            with self.subTest(more=more):
                self.assert_waits([{rank: 3000 + more * (i % 4 == rank - 4) for rank in range(4, 8)} for i in range(20)],
                                  "for ranks 4, 5, 6, 7, which came 3.00 ms after the others")

    def test_one_rank_in_front(self):
        """All but rank 2 are 3 ms late."""
        self.assert_waits(20 * [{rank: 3000 for rank in range(8) if rank != 2}],
                          "for all but rank 2, which came 3.00 ms before them")

    def test_one_after_the_other(self):
        """Each rank comes 1 ms after another, in turns."""
        self.assert_waits([{rank: 1000 * ((rank + i) % 8) for rank in range(8)} for i in range(24)],
                          "to which they came one after the other within 7.00 ms")
