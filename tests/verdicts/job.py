"""Jobs of several ranks, and what cases about their collectives share."""
from trace import Trace
from verdict import Verdict


class Job:
    """Ranks of a job, each with a clock of its own that is `ahead` (us) of the true time."""

    def __init__(self, ahead):
        self.ahead = ahead
        self.ranks = [Trace(rank=rank, world=len(ahead), process=100 + rank) for rank in range(len(ahead))]

    def collective(self, begins, end, members=None, kind="allreduce", number=None, group="0", **more):
        """Begins on each of `members` at its time, and ends on all at `end` (or each at its own)."""
        members = list(range(len(self.ranks))) if members is None else members
        ends = end if isinstance(end, list) else [end] * len(members)
        for rank, begin, done in zip(members, begins, ends):
            self.ranks[rank].collective(kind, self.ahead[rank] + begin, done - begin, members,
                                        number=number, group=group, **more)

    def forget_groups(self):
        """As where only kernels were recorded."""
        for rank in self.ranks:
            rank.events = [event for event in rank.events if event["name"] != "record_param_comms"]


class JobVerdict(Verdict):
    def told(self, *traces, options=()):
        return self.ask("collectives", *traces, options=options)

    def remarks(self, *traces):
        """What check says of what it found, however little it costs."""
        return " ".join(self.ask("check", *traces, options=("--least", "0"))["check_remarks"])

    def merged(self, job):
        path = self.folder / "job.rpd"
        self.run_sonde("merge", *self.write(*job.ranks), "-o", path)
        return path

    def each_way(self, job):
        """The answer to the files of the ranks, and to all of them merged."""
        for name, traces in (("files", job.ranks), ("merged", [self.merged(job)])):
            with self.subTest(name):
                yield self.told(*traces)

    def assert_late(self, told, rank, times):
        self.assertRegex(told["time_facts"]["late"], rf"^rank {rank} comes last in {times} of {times} ")

    def assert_matched(self, job, count, late):
        """So many collectives match, in each of which this rank came last."""
        for told in self.each_way(job):
            self.assertEqual(told["collectives"][0]["count"], count)
            self.assert_late(told, late, count)

    def assert_nobody_late(self, told):
        self.assertRegex(told["time_facts"]["late"], "^no rank is late")
        self.assertEqual({row["waited_ns"] for row in told["ranks"]}, {0})
