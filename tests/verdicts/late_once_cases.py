"""A rank that is late in one collective, which has most of the waiting: for whom it had waited before."""
from job import Job, JobVerdict


class LateOnce(JobVerdict):
    def once_late(self, before):
        """What is said of rank 1, which is 50 ms late to one of 20 collectives of ranks 0, 1 and 3, where
        `before` adds collectives before some of these (job, at, number) and returns when rank 1 is done."""
        job = Job([0, 700, -7, 0, 0])
        for i in range(20):
            t = before(job, 1000 + 190_000 * i, i) + 200
            begins = [t - (50_000 if i == 10 else 0), t, t - (50_000 if i == 10 else 0)]
            job.collective(begins, t + 100, [0, 1, 3], number=i, group="dp0")
        told = {told["time_facts"]["late"] for told in self.each_way(job)}
        self.assertEqual(len(told), 1, told)
        self.assertRegex(*told, "is in one, to which rank 1 came 50.0 ms late")
        return told.pop().partition("50.0 ms late")[2]

    def test_late_in_a_pair_and_to_all(self):
        """Rank 1 is 0.4 ms late to each of its pair's, and 1.6 ms to those of ranks 1 and 3; rank 0, its pair, is
        as late for ranks 0 and 2, because it waited. What is said of a group is that group's, and rank 0 is
        not to blame."""
        job = Job([0] * 4)
        for i in range(20):
            t = 1000 + 20_000 * i
            for part in range(4):
                begin = t + 1500 * part
                job.collective([begin, begin + 400], begin + 500, [0, 1], number=4 * i + part, group="tp0")
                job.collective([begin, begin], begin + 100, [2, 3], number=4 * i + part, group="tp1")
            t += 7000
            job.collective([t + 1600, t], t + 1700, [0, 2], number=i, group="dp0")
            job.collective([t + 1600, t], t + 1700, [1, 3], number=i, group="dp1")
        said = self.ask("collectives", *job.ranks)["time_facts"]["late"]
        self.assertRegex(said, "^rank 1 comes last in 20 of 20 collectives of its group 'dp1.*', 1.60 ms late on "
                         "average; others waited 32.0 ms for it, and 64.0 ms in all its groups$")
        self.assertIn("for rank 0, which came 1.60 ms late, after it had waited 1.60 ms for rank 1",
                      self.remarks(*job.ranks))

    def test_once_late_after_a_wait(self):
        """Rank 2 is 50 ms late to the pair's, once."""
        def before(job, at, i):
            late = 50_000 if i == 10 else 0
            job.collective([at, at + late], at + late + 100, [1, 2], number=i, group="pp1")
            return at + late + 100
        self.assertEqual(self.once_late(before), ", after it had waited 50.0 ms for rank 2")

    def test_once_late_after_several_waits(self):
        """Rank 2 is 12.5 ms late to each of four, once."""
        def before(job, at, i):
            late = 12_500 if i == 10 else 0
            for number in range(4):
                job.collective([at, at + late], at + late + 10, [1, 2], number=4 * i + number, group="pp1")
                at += late + 10
            return at
        self.assertEqual(self.once_late(before), ", after it had waited 50.0 ms for rank 2")

    def test_once_late_after_two_that_came_together(self):
        """Rank 1 waits 10 ms for rank 2, then 40 ms for ranks 2 and 4, which come together, once."""
        def before(job, at, i):
            late = 10_000 if i == 10 else 0
            job.collective([at, at + late], at + late + 10, [1, 2], number=i, group="pp1")
            begin = at + late + 20
            at = begin + 4 * late
            job.collective([begin, at, at], at + 10, [1, 2, 4], number=i, group="tp1")
            return at + 10
        self.assertEqual(self.once_late(before), ", after it had waited 50.0 ms, most of it for others")

    def test_once_late_after_two_waits_at_once(self):
        """Rank 1 waits 25 ms in two pairs at the same time, and is 25 ms late by itself."""
        def before(job, at, i):
            late = 25_000 if i == 10 else 0
            for other in (2, 4):
                job.collective([at, at + late], at + late + 100, [1, other], number=i, group=f"pp{other}")
            return at + 2 * late + 100
        self.assertEqual(self.once_late(before), "")

    def test_once_late_long_after_a_wait(self):
        """All three, and rank 2, leave one of another group together before rank 1 is late."""
        def before(job, at, i):
            late = 50_000 if i == 10 else 0
            job.collective([at, at + late], at + late + 100, [1, 2], number=i, group="pp1")
            at += late + 1000
            job.collective([at] * 4, at + 100, [0, 1, 2, 3], number=i, group="all")
            return at + 100 + late
        self.assertEqual(self.once_late(before), "")

    def test_once_late_to_the_first_collective(self):
        """What rank 1 waited before the group's first collective may be long ago."""
        job = Job([0, 700, -7, 0])
        for i in range(20):
            t, late = 1000 + 100_000 * i, 50_000 if i == 10 else 0
            job.collective([t, t + late], t + late + 100, [1, 2], number=i, group="pp1")
        for i in range(20):
            late = 30_000 if i == 0 else 0
            t = 5_000_000 + 90_000 * i
            job.collective([t, t + late, t], t + late + 100, [0, 1, 3], number=i, group="dp0")
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], "is in one, to which rank 1 came 30.0 ms late$")
