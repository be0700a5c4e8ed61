"""Who is late, whose clock is off, and what takes the time of collectives."""
from job import Job, JobVerdict
from trace import Trace


class Collectives(JobVerdict):
    def test_late_in_its_pair(self):
        """Ranks 0 and 1 come together 40 times; rank 3 comes 5 ms after rank 2, 15 times."""
        job = Job([0, 0, 0, 0])
        for i in range(40):
            t = 1000 + 20_000 * i
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp0")
            if i < 15:
                job.collective([t, t + 5000], t + 5100, [2, 3], number=i, group="tp1")
        for told in self.each_way(job):
            self.assert_late(told, 3, 15)
            waited = {row["rank"]: row["waited_ns"] for row in told["ranks"]}
            self.assertEqual(waited, {0: 0, 1: 0, 2: 15 * 5_000_000, 3: 0})
        self.assertIn("straggler: rank 3 came last in 15 of 15 collectives of its group",
                      self.remarks(self.merged(job)))

    def exchanges(self, with_sums):
        """20 steps on one clock, in which all come together to four all-to-alls; rank 2 has less to send and
        get, and leaves 300 us earlier. With one all-reduce each, the clocks can be compared."""
        job = Job([0, 0, 0, 0])
        for i in range(20):
            t = 1000 + 10_000 * i
            for k in range(4):
                at = t + 1000 * k
                job.collective(4 * [at], [at + 600, at + 600, at + 300, at + 600], kind="all_to_allv", number=5 * i + k)
            if with_sums:
                job.collective(4 * [t + 5000], t + 6500, number=5 * i + 4)
        return job

    def test_who_has_less_to_exchange_is_not_late(self):
        for told in self.each_way(self.exchanges(with_sums=True)):
            self.assert_nobody_late(told)
            self.assertEqual({row["clock_ahead_ns"] for row in told["ranks"]}, {0})
        job = self.exchanges(with_sums=False)
        self.assertRegex(self.told(*job.ranks)["time_facts"]["late"], "^not known")
        self.assertNotIn("straggler", self.remarks(*job.ranks))

    def test_a_clock_that_is_set_meanwhile(self):
        """The clock of rank 2 is set 5 ms ahead before the last of 20 all-reduces, to which all come together."""
        job = Job([0, 0, 0, 0])
        for i in range(20):
            job.ahead[2] = 5000 if i == 19 else 0
            job.collective(4 * [1000 + 6000 * i], 2000 + 6000 * i, number=i)
        for told in self.each_way(job):
            self.assert_nobody_late(told)
        self.assertNotIn("straggler", self.remarks(*job.ranks))

    def test_a_clock_that_nobody_shares(self):
        """Pairs {0, 1} and {2, 3} come together each time; the clock of rank 3 is 10 s ahead."""
        job = Job([0, 0, 0, 10_000_000])
        for i in range(15):
            t = 1000 + 1000 * i
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp0")
            job.collective([t, t], t + 100, [2, 3], number=i, group="tp1")
        for told in self.each_way(job):
            self.assert_nobody_late(told)
            ahead = {row["rank"]: row["clock_ahead_ns"] for row in told["ranks"]}
            self.assertEqual(ahead, {0: 0, 1: 0, 2: 0, 3: 10_000_000_000})
            groups = {row["rank"]: row["clock_group"] for row in told["ranks"]}
            self.assertEqual([groups[0] == groups[1], groups[2] == groups[3], groups[0] == groups[2]],
                             [True, True, False])
        self.assertNotIn("straggler", self.remarks(self.merged(job)))

    def test_clocks_compared_through_others(self):
        """0 with 1, 1 with 2: the clock of 2 is known by that of 0, though they never meet."""
        job = Job([0, 700, -30_000])
        for i in range(10):
            t = 1000 + 1000 * i
            job.collective([t, t], t + 100, [0, 1], number=i, group="a")
            job.collective([t + 300, t + 300], t + 400, [1, 2], number=i, group="b")
        for told in self.each_way(job):
            self.assert_nobody_late(told)
            self.assertEqual([row["clock_ahead_ns"] for row in told["ranks"]], [0, 700_000, -30_000_000])

    def test_ties_within_the_jitter(self):
        """Rank 1 comes last each time, by 1 us of a transfer of 100 us whose ends jitter by 4 us."""
        job = Job([0, 0])
        for i in range(20):
            t = 1000 + 1000 * i
            job.collective([t, t + 1], [t + 100, t + 100 + (4 if i % 2 else -4)], number=i)
        for told in self.each_way(job):
            self.assert_nobody_late(told)

    def test_ends_that_always_differ_are_no_lateness(self):
        """All begin together; rank 1 ends 3 us after rank 0 each time, which is no clock."""
        job = Job([0, 0])
        for i in range(20):
            t = 1000 + 1000 * i
            job.collective([t, t], [t + 100, t + 103], number=i)
        for told in self.each_way(job):
            self.assert_nobody_late(told)

    def test_late_in_turns(self):
        """Each rank is 500 us late in every third collective: there is waiting, and no straggler."""
        job = Job([0, 0, 0])
        for i in range(30):
            t = 1000 + 5000 * i
            job.collective([t + (500 if i % 3 == rank else 0) for rank in range(3)], t + 600, number=i)
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], "^no rank is late")
            self.assertEqual({row["waited_ns"] for row in told["ranks"]}, {20 * 500_000})
            self.assertEqual({row["last"] for row in told["ranks"]}, {10})
        self.assertNotIn("straggler", self.remarks(self.merged(job)))

    def test_two_late_together(self):
        """Ranks 2 and 3 come 2 ms late, at the same moment: no single one is to blame, 0 and 1 wait."""
        job = Job([0, 0, 0, 0])
        for i in range(12):
            t = 1000 + 9000 * i
            job.collective([t, t, t + 2000, t + 2000], t + 2100, number=i)
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], "^no rank is late")
            self.assertEqual({row["rank"]: row["waited_ns"] for row in told["ranks"]},
                             {0: 24_000_000, 1: 24_000_000, 2: 0, 3: 0})

    def test_who_waited_is_not_to_blame(self):
        """Rank 3 is late; rank 2 waits for it in their pair, and so comes late to that with rank 0."""
        job = Job([0, 50_000, -7, 123_456])
        for i in range(10):
            t = 1000 + 20_000 * i
            job.collective([t, t + 5000], t + 5100, [2, 3], number=i, group="tp1")
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp0")
            job.collective([t + 200, t + 5200], t + 5300, [0, 2], number=i, group="dp0")
        for told in self.each_way(job):
            self.assert_late(told, 3, 10)
            self.assertNotIn("more rank", told["time_facts"]["late"])

    def test_one_more_in_front(self):
        """Rank 0's recording begins one collective earlier, and nothing is numbered."""
        job = Job([0, 0])
        for i in range(30):
            t = 1000 + 1000 * i
            job.collective([t + 40], t + 100, [0])
            if i > 0:
                job.collective([t], t + 100, [1])
        job.forget_groups()
        for told in self.each_way(job):
            self.assertEqual(told["collectives"][0]["count"], 29)
            self.assert_late(told, 0, 29)
            self.assertEqual([row["waited_ns"] for row in told["ranks"]], [0, 29 * 40_000])

    def test_windows_that_differ_at_both_ends(self):
        """Both ranks have 20 collectives, rank 1 those that are three later; its clock is 9 s ahead. The
        times between them vary, so that only one alignment lets them end together."""
        job = Job([0, 9_000_000])
        t = 1000
        for i in range(23):
            t += 1000 + (i * 7919) % 400
            for rank in (0, 1):
                if i < 20 if rank == 0 else i >= 3:
                    job.collective([t + 30 * rank], t + 100, [rank])
        job.forget_groups()
        told = self.told(*job.ranks)
        self.assertEqual(told["collectives"][0]["count"], 17)
        self.assertEqual(told["ranks"][1]["clock_ahead_ns"], 9_000_000_000)
        self.assert_late(told, 1, 17)

    def test_one_lost_in_the_middle(self):
        """Rank 1's recording lacks collective 12 of 30, and nothing is numbered: the others still match."""
        job = Job([0, 4_000])
        t = 1000
        for i in range(30):
            t += 1000 + (i * 7919) % 500
            job.collective([t + 50], t + 100, [0])
            if i != 12:
                job.collective([t], t + 100, [1])
        job.forget_groups()
        self.assert_matched(job, 29, late=0)

    def test_a_number_that_one_lacks(self):
        """Numbered, and rank 1 lacks 3: 9 of 10 match, and who is late is known."""
        job = Job([0, 0])
        for i in range(10):
            t = 1000 + 3000 * i
            job.collective([t, t + 1000][:1 if i == 3 else 2], t + 1100, [0, 1], number=i)
        self.assert_matched(job, 9, late=1)

    def test_nothing_in_common(self):
        """The ranks have other operations: nothing is matched, and no rank is named."""
        job = Job([0, 0])
        for i in range(8):
            t = 1000 + 1000 * i
            job.collective([t], t + 100, [0])
            job.collective([t + 50], t + 100, [1], kind="allgather")
        job.forget_groups()
        for told in self.each_way(job):
            self.assertEqual(told["collectives"], [])
            self.assertNotIn("late", told.get("time_facts", {}))
            self.assertTrue(any("not matched" in note for note in told["notes"]))
        self.assertNotIn("straggler", self.remarks(self.merged(job)))

    def test_a_name_of_several_groups(self):
        """Both pairs call their group "tp", and the files do not list its ranks: not one group of four."""
        job = Job([0, 0, 0, 0])
        for i in range(8):
            t = 1000 + 1000 * i
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp")
            job.collective([t + 500, t + 500], t + 600, [2, 3], number=i, group="tp")
        for rank in job.ranks:
            for event in rank.events:
                event["args"].pop("Process Group Ranks", None)
        for told in self.each_way(job):
            self.assertNotIn("late", told.get("time_facts", {}))
            self.assertTrue(any("several groups share it" in note for note in told["notes"]))

    def test_the_root_of_a_broadcast_leaves_early(self):
        """A root is done 400 us before the others; its clock is right, and no rank is late."""
        job = Job([0, 0, 0])
        for i in range(12):
            t = 1000 + 5000 * i
            job.collective([t, t, t], [t + 100, t + 500, t + 500], kind="broadcast", number=3 * i)
            job.collective([t + 1000] * 3, t + 1100, number=3 * i + 1)
        for told in self.each_way(job):
            self.assertEqual([row["clock_ahead_ns"] for row in told["ranks"]], [0, 0, 0])
            self.assertRegex(told["time_facts"]["late"], "^no rank is late")

    def assert_nothing_compared(self, job):
        for told in self.each_way(job):
            self.assertRegex(told["time_facts"]["late"], "^not known: ")
            self.assertEqual({(row["waited_ns"], row["clock_ahead_ns"]) for row in told["ranks"]},
                             {(None, None)})
            self.assertEqual({row["skew_ns"] for row in told["collectives"]}, {None})
            self.assertTrue(any("without a common clock" in note for note in told["notes"]))
        self.assertNotIn("straggler", self.remarks(self.merged(job)))

    def assert_sets_no_clock(self, kind, *lasts_us):
        job = Job([0, 0])
        for i in range(20):
            t = 1000 + 3000 * i
            job.collective([t, t], [t + us for us in lasts_us], kind=kind, number=i)
        self.assert_nothing_compared(job)

    def test_broadcasts_alone_set_no_clock(self):
        """All begin together and the root is done 400 us earlier, or a clock is off, or the root was late:
        broadcasts alone do not show it, and no rank is named."""
        self.assert_sets_no_clock("broadcast", 100, 500)

    def test_reduces_alone_set_no_clock(self):
        """All begin together, and the root has the sum 400 us after the other is done."""
        self.assert_sets_no_clock("reduce", 500, 100)

    def test_transfers_between_groups_set_no_clock(self):
        """Two pairs that meet in allreduces, joined by transfers only; the clock of the second is 9 s ahead.
        Within a pair all is known, between them nothing."""
        job = Job([0, 0, 9_000_000, 9_000_000])
        for i in range(12):
            t = 1000 + 9000 * i
            job.collective([t, t], t + 100, [0, 1], number=i, group="tp0")
            job.collective([t, t + 700], t + 800, [2, 3], number=i, group="tp1")
            job.collective([t + 2000, t + 2000], [t + 2100, t + 2500], [1, 2], kind="sendrecv", number=i,
                           group="pp")
        for told in self.each_way(job):
            self.assert_late(told, 3, 12)
            self.assertNotIn("more rank", told["time_facts"]["late"])
            self.assertEqual([row["waited_ns"] for row in told["ranks"]], [0, 0, 12 * 700_000, 0])
            self.assertEqual([row["clock_ahead_ns"] for row in told["ranks"]], [0, 0, 0, 0])

    def test_a_root_that_is_late(self):
        """The root comes 2 ms late to each broadcast, and in time to the allreduces, which set the clocks."""
        job = Job([0, 77_000, 0])
        for i in range(12):
            t = 1000 + 9000 * i
            job.collective([t, t + 2000, t], [t + 2500, t + 2100, t + 2500], kind="broadcast", number=2 * i,
                           group="b")
            job.collective([t + 4000] * 3, t + 4100, number=2 * i + 1, group="a")
        for told in self.each_way(job):
            self.assert_late(told, 1, 12)
            self.assertEqual([row["waited_ns"] for row in told["ranks"]], [24_000_000, 0, 24_000_000])

    def test_late_after_the_root_has_left(self):
        """The same, but rank 1 is not the root, which sent and left: no rank waited for it."""
        job = Job([0, 77_000])
        for i in range(12):
            t = 1000 + 9000 * i
            job.collective([t, t + 2000], [t + 100, t + 2100], kind="broadcast", number=2 * i, group="b")
            job.collective([t + 4000] * 2, t + 4100, number=2 * i + 1, group="a")
        for told in self.each_way(job):
            self.assert_nobody_late(told)
        self.assertNotIn("straggler", self.remarks(self.merged(job)))

    def test_slow_link(self):
        """All come together; six of ten transfers of 4 MiB take 1 ms, four 9 ms."""
        job = Job([0, 0])
        for i in range(10):
            t = 1000 + 20_000 * i
            job.collective([t, t], t + (9000 if i % 5 > 2 else 1000), number=i)
        for told in self.each_way(job):
            self.assertEqual(told["time_facts"]["verdict"], "slow link")
            self.assertEqual(told["collectives"][0]["slow"], 4)
            self.assertEqual({row["part"]: row["time_ns"] for row in told["time"]},
                             {"slow link": 2 * 4 * 8_000_000, "transfer": 2 * 10_000_000})

    def test_between_nodes_is_not_slow(self):
        """4 MiB take 200 us within the node and 2 ms between nodes, each time: the usual of each."""
        trace = Trace(rank=0, world=4)
        for i in range(20):
            t = 1000 + 20_000 * i
            trace.collective("allreduce", t, 200, [0, 1], group="tp")
            trace.collective("allreduce", t + 500, 200, [0, 1], group="tp")
            trace.collective("allreduce", t + 5000, 2000, [0, 2], group="dp")
        told = self.told(trace)
        self.assertEqual({row["group"]: row["slow"] for row in told["collectives"]},
                         {"tp [0, 1]": 0, "dp [0, 2]": 0})
        usual = {row["group"]: row["usual_gb_per_s"] for row in told["collectives"]}
        self.assertAlmostEqual(usual["tp [0, 1]"], 10 * usual["dp [0, 2]"], places=3)
        self.assertNotIn("slow-collectives", self.remarks(trace))

    def test_slow_within_one_group_of_two(self):
        """The same, and six of the twenty between nodes take 9 ms: those alone are slow."""
        trace = Trace(rank=0, world=4)
        for i in range(20):
            t = 1000 + 20_000 * i
            trace.collective("allreduce", t, 200, [0, 1], group="tp")
            trace.collective("allreduce", t + 5000, 9000 if i % 3 == 1 and i < 18 else 2000, [0, 2], group="dp")
        told = self.told(trace)
        self.assertEqual({row["group"]: row["slow"] for row in told["collectives"]},
                         {"tp [0, 1]": 0, "dp [0, 2]": 6})
        self.assertIn("slow-collectives: 6 of 40 collectives", self.remarks(trace))

    def test_waiting_and_no_slow_link(self):
        """The same durations on rank 0, but because rank 1 comes 8 ms late."""
        job = Job([0, 0])
        for i in range(10):
            t = 1000 + 20_000 * i
            late = 8000 if i % 5 > 2 else 0
            job.collective([t, t + late], t + late + 1000, number=i)
        for told in self.each_way(job):
            self.assertEqual(told["collectives"][0]["slow"], 0)
            self.assertEqual(told["ranks"][0]["waited_ns"], 4 * 8_000_000)

    def test_one_rank_cannot_tell(self):
        """Rank 0 alone: 8 of 21 collectives take nine times as long, waiting or a slow link."""
        job = Job([0, 0])
        for i in range(21):
            t = 1000 + 20_000 * i
            job.collective([t, t], t + (9000 if i % 5 > 2 else 1000), number=i)
        told = self.told(job.ranks[0])
        self.assertEqual(told["time_facts"]["verdict"], "waiting or a slow link")
        self.assertNotIn("late", told.get("time_facts", {}))

    def test_calls_of_gloo(self):
        """Ranks without a GPU: rank 1 comes 2 ms late to each allreduce of gloo."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in (0, 1)]
        for i in range(10):
            t = 1000 + 10_000 * i
            for rank, begin in enumerate((t, t + 2000)):
                ranks[rank].operator("gloo:all_reduce", begin, t + 2300 - begin)
        told = self.told(*ranks)
        self.assert_late(told, 1, 10)
        self.assertEqual(told["ranks"][0]["waited_ns"], 20_000_000)

    def test_receives_are_no_transfers(self):
        """Rank 1 waits 2 ms in each of 20 receives: what of them is a transfer is not known."""
        ranks = [Trace(rank=rank, world=2, process=100 + rank) for rank in (0, 1)]
        for i in range(20):
            t = 1000 + 5000 * i
            ranks[0].collective("send", t + 2000, 100, [0, 1], group="pp")
            ranks[1].collective("recv", t, 2100, [0, 1], group="pp")
        told = self.told(*ranks)
        self.assertEqual(told["time_facts"]["verdict"], "waiting or transfer")
        self.assertEqual({row["part"]: row["time_ns"] for row in told["time"]},
                         {"waiting or transfer": 20 * 2_200_000})
        self.assertNotIn("late", told["time_facts"])

    def test_one_rank_alone_knows_no_transfer(self):
        """All collectives of rank 0 take 2 ms, and nothing is known of rank 1."""
        job = Job([0, 0])
        for i in range(20):
            job.collective([1000 + 9000 * i] * 2, 3000 + 9000 * i, number=i)
        self.assertEqual(self.told(job.ranks[0])["time_facts"]["verdict"], "waiting or transfer")
        self.assertEqual(self.told(*job.ranks)["time_facts"]["verdict"], "transfer")

    def both_ways(self, numbered):
        """Rank 0 sends to 1, which has waited 900 us, and then the other way round."""
        job = Job([0, 0])
        for i in range(40):
            t = 10_000 * i
            for sender, begin in ((0, t), (1, t + 5000)):
                for rank, kind, after in ((sender, "send", 900), (1 - sender, "recv", 0)):
                    job.ranks[rank].collective(kind, begin + after, 960 - after, [0, 1], group="pp",
                                               number=2 * i + (begin > t) if numbered else None)
            job.collective([t + 8000] * 2, t + 8100, group="dp", number=i if numbered else None)
        return job

    def test_a_send_is_no_pair_of_a_send(self):
        """That both ranks have as many sends and receives makes the forward ones no pairs of the backward
        ones: nothing is told of their skew, and none is left out for want of a partner."""
        for numbered in (False, True):
            for told in self.each_way(self.both_ways(numbered)):
                self.assertEqual([row["op"] for row in told["collectives"]], ["allreduce"])
                self.assertEqual({row["part"]: row["time_ns"] for row in told["time"]},
                                 {"waiting or transfer": 80 * 1_020_000, "transfer": 80 * 100_000})
                self.assertNotIn("left out", " ".join(told.get("notes", [])))

    def test_a_rank_that_becomes_slower(self):
        """Rank 2 is 100 us late at first and 2 ms at the end: the mean is no lateness of each time."""
        job = Job([0] * 3)
        for i in range(20):
            t, late = 1000 + 9000 * i, 100 + 100 * i
            job.collective([t, t, t + late], t + late + 250, number=i)
        said = "1.05 ms late on average, from 100 us to 2.00 ms"
        self.assertIn(said, self.told(*job.ranks)["time_facts"]["late"])
        self.assertIn(said, self.text("check", *job.ranks).replace("\n ", ""))

    def test_waiting_for_a_rank_that_is_not_there(self):
        """Rank 3 of 4 is 5 ms late each time. Without its file, nobody knows whether that is waiting."""
        job = Job([0] * 4)
        for i in range(20):
            t = 1000 + 9000 * i
            job.collective([t, t, t, t + 5000], t + 5250, number=i)
        self.assert_late(self.told(*job.ranks), 3, 20)
        told = self.told(*job.ranks[:3])
        self.assertEqual(told["time_facts"]["verdict"], "waiting or transfer")
        self.assertRegex(told["time_facts"]["late"], "^no rank of those in the files is late")
        self.assertIn("3 of the 4 ranks", " ".join(told["notes"]))

    def pipeline(self, compute, received):
        """Rank 1 receives from rank 0 and comes to the allreduce with rank 2 after it has computed."""
        ranks = [Trace(rank=rank, world=3, process=100 + rank) for rank in range(3)]
        for i in range(20):
            t = 1000 + 10_000 * i
            ranks[0].collective("send", t + received - 100, 100, [0, 1], group="pp")
            ranks[1].collective("recv", t, received, [0, 1], group="pp")
            ranks[1].kernel("gemm", t + received + 100, compute)
            begin = t + received + compute + 200
            ranks[1].collective("allreduce", begin, 300, [1, 2], group="dp", number=i)
            ranks[2].collective("allreduce", t + 700, begin + 300 - t - 700, [1, 2], group="dp", number=i)
        return ranks

    def test_who_waited_in_a_receive_is_not_to_blame(self):
        """Rank 1 waits 3.1 ms for rank 0 before each allreduce, to which it then is 3.2 ms late."""
        ranks = self.pipeline(compute=500, received=3200)
        told = self.told(*ranks)
        self.assertRegex(told["time_facts"]["late"], "^not known: rank 1 comes last in 20 of 20 .*'dp")
        self.assertEqual([row["waited_ns"] for row in told["ranks"]], [None, 0, 20 * 3_200_000])
        self.assertNotIn("straggler", " ".join(
            self.ask("check", *ranks, options=("--least", "0"))["check_remarks"]))

    def test_late_after_a_short_receive(self):
        """The same, but rank 1 receives within 100 us and computes for 3.6 ms: it is late by itself."""
        told = self.told(*self.pipeline(compute=3600, received=100))
        self.assert_late(told, 1, 20)

    def two_gpus(self, late, numbered=True):
        """One process whose two GPUs meet 20 times; GPU 1 comes `late` us after GPU 0."""
        trace = Trace(rank=0, world=2)
        for i in range(20):
            t = 1000 + 10_000 * i
            for gpu, begin in enumerate((t, t + late)):
                trace.collective("allreduce", begin, t + late + 300 - begin, [0, 1], device=gpu,
                                 launched=t - 20 + 8 * gpu, number=i if numbered else None)
        return trace

    def test_two_gpus_of_one_process(self):
        """GPU 1 is 2 ms late 20 times: GPU 0 waits for it, though both are of one process."""
        for numbered in (True, False):
            trace = self.two_gpus(2000, numbered)
            told = self.told(trace)
            self.assertEqual([row["count"] for row in told["collectives"]], [20])
            self.assertRegex(told["time_facts"]["late"], r"^rank 0 \(GPU 1\) comes last in 20 of 20 ")
            self.assertEqual(told["time_facts"]["verdict"], "waiting")
            self.assertEqual([(row["gpu_id"], row["waited_ns"]) for row in told["ranks"]],
                             [(0, 20 * 2_000_000), (1, 0)])
            self.assertIn("straggler: rank 0 (GPU 1) came last in 20 of 20", self.remarks(trace))

    def test_two_gpus_in_time(self):
        """The two GPUs of the process come together: no rank is late, and the transfers are transfers."""
        told = self.told(self.two_gpus(0))
        self.assert_nobody_late(told)
        self.assertEqual(told["time_facts"]["verdict"], "transfer")

    def test_a_gpu_that_only_computes_is_no_rank(self):
        """The process communicates on GPU 0 and computes on GPU 1 as well: one rank."""
        trace = Trace(rank=0, world=2)
        for i in range(5):
            trace.collective("allreduce", 1000 + 1000 * i, 100, [0, 1], number=i)
            trace.kernel("gemm", 1200 + 1000 * i, 300, device=1)
        self.assertEqual([(row["rank"], row["gpu_id"]) for row in self.told(trace)["ranks"]], [(0, None)])

    def test_no_collectives(self):
        """Two ranks with kernels and no collective: no rank is late."""
        ranks = [Trace(rank=rank) for rank in (0, 1)]
        for rank in ranks:
            rank.kernel("gemm", 100, 50)
        told = self.told(*ranks)
        self.assertEqual(told["collectives"], [])
        self.assertNotIn("time", told)
