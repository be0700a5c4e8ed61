"""Steps of programs without step markers: found by kernels that repeat."""
import random

from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict


class Loops(Verdict):
    def setUp(self):
        super().setUp()
        self.trace, self.at = Trace(), 0

    def run_kernels(self, names, each=100):
        for name in names:
            self.trace.kernel(name, self.at + 10, 90)
            self.at += each

    def loop(self, turns, each=100):
        """Turns of 12 kernels, 1.2 ms if each begins after 100 us."""
        for _ in range(turns):
            self.run_kernels([f"layer{k}" for k in range(12)], each)

    def steps(self):
        answer = self.ask("steps", self.trace)
        return answer["steps_facts"] if answer["steps"] else {"count": 0}

    def test_the_set_up_is_no_step(self):
        """1,000 kernels without an order, each after 200 us, then 100 turns: as many steps, none slow."""
        numbers = random.Random(3)
        self.run_kernels([f"init{numbers.randrange(40)}" for _ in range(1000)], each=200)
        self.loop(100)
        facts = self.steps()
        self.assertEqual((facts["count"], facts["median_ns"], facts["slow"]), (100, 1_200_000, 0))

    def test_a_kernel_behind_the_loop(self):
        """It adds up the result. The first three turns take 20 times as long, and are the warm-up."""
        self.loop(3, each=2000)
        self.loop(97)
        self.run_kernels(["checksum"])
        facts = self.ask("check", self.trace)["check_facts"]
        self.assertEqual((facts["steps"], facts["warm_up_steps"]), (100, 3))
        self.assert_not_found("host-unknown", self.trace)

    def test_many_kernels_behind_the_loop(self):
        """An evaluation of 50 kernels."""
        self.loop(40)
        self.run_kernels([f"evaluate{k * k % 50}" for k in range(50)])
        self.assertEqual(self.steps()["count"], 40)

    def test_a_first_turn_that_does_more(self):
        """It fills 30 buffers in the middle of its work: one step, the warm-up."""
        self.run_kernels([f"layer{k}" for k in range(6)])
        self.run_kernels(["fill"] * 30)
        self.run_kernels([f"layer{k}" for k in range(6, 12)])
        self.loop(19)
        facts = self.ask("check", self.trace)["check_facts"]
        self.assertEqual((facts["steps"], facts["warm_up_steps"]), (20, 1))

    def test_an_evaluation_between_two_parts_of_the_loop(self):
        """200 kernels after 30 of 100 turns: they are of no step, and all turns are there."""
        self.loop(30)
        self.run_kernels([f"evaluate{k % 7}" for k in range(200)])
        self.loop(70)
        facts = self.steps()
        self.assertEqual((facts["count"], facts["median_ns"], facts["slow"]), (100, 1_200_000, 0))

    def test_each_process_has_steps(self):
        """Process 200 has other kernels, and fewer turns; that of the first GPU is not all there is."""
        def process(number, turns, period):
            trace = RuntimeTrace(process=number)
            for i in range(turns * period):
                trace.kernel(f"k{number}_{i % period}", at=i * 100 + 20, lasts=80, launched=i * 100 + 5,
                             gpu=number // 100 - 1)
            return trace
        job = process(100, 30, 5).join(process(200, 12, 8))
        answer = self.ask("steps", job, options=["--limit", "0"])
        self.assertEqual(answer["steps_facts"]["count"], 30 + 12)
        self.assertEqual({row["ops"] for row in answer["steps"]}, {5, 8})

    def test_two_processes_on_one_gpu(self):
        """Their kernels come in turns as it happens; each has its own period."""
        numbers = random.Random(5)
        first, second, at = RuntimeTrace(process=100), RuntimeTrace(process=200), 0
        done = {100: 0, 200: 0}
        while min(done.values()) < 120:
            trace = numbers.choice([first, second])
            number = done[trace.process]
            trace.kernel(f"k{trace.process}_{number % 6}", at=at + 20, lasts=80, launched=at + 5,
                         queue=trace.process // 100)
            done[trace.process] += 1
            at += 100
        steps = self.ask("steps", first.join(second))["steps_facts"]["count"]
        self.assertEqual(steps, done[100] // 6 + done[200] // 6)

    def test_kernels_without_an_order_are_no_steps(self):
        numbers = random.Random(4)
        self.run_kernels([f"k{numbers.randrange(20)}" for _ in range(2000)])
        self.assertEqual(self.steps()["count"], 0)
