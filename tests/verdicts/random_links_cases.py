"""Random files of several processes that use the same correlation numbers: each kernel's name says who
launched it."""
import random

from links_cases import Launchers, joined
from trace import Trace


class RandomLinks(Launchers):
    def test_each_kernel_finds_its_process(self):
        """20 files of 2 to 4 processes with 1 to 3 GPUs each; in lockstep, or one after the other."""
        for seed in range(20):
            draw = random.Random(seed)
            pids = draw.sample(range(1000, 9999), draw.randrange(2, 5))
            gpus = draw.randrange(1, 4)
            lag = draw.choice([0, 0, 50_000])
            count = draw.randrange(30, 80)
            traces = []
            for number, pid in enumerate(pids):
                trace = Trace(process=pid)
                at = lag * number
                for _ in range(count):
                    at += 500
                    called = at + draw.randrange(0, 200)
                    trace.kernel(f"k_of_{pid}", at=called + draw.randrange(3, 90), lasts=40, launched=called,
                                 device=number * gpus + draw.randrange(gpus))
                traces.append(trace)
            whole = joined(*traces)
            if draw.random() < 0.5:
                draw.shuffle(whole.events)
            with self.subTest(seed=seed, pids=pids, gpus=gpus, lag=lag):
                self.assertEqual(self.launchers(whole), {f"k_of_{pid}": {pid: count} for pid in pids})
