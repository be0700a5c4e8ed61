"""Programs that wait, but not for a GPU: for requests, other threads, a timer."""
from runtime_trace import RuntimeTrace
from trace import Trace
from verdict import Verdict

POLL = "<built-in method poll of select.epoll object at 0x7f3a5c0d1e70>"


class Blocked(Verdict):
    def loop(self, frame, gap=5000, thread=None):
        """20 kernels of 1 ms; before each of them the launching thread is in `frame` for `gap` us."""
        trace = Trace()
        for i in range(20):
            at = i * (gap + 1010)
            trace.python(frame, at, gap, thread=thread)
            trace.kernel("infer", at + gap + 5, 1000)
        return trace

    def evidence(self, finding, trace):
        return next(text for text in self.ask("check", trace)["check_remarks"] if text.startswith(finding))

    def test_a_server_waits_for_requests(self):
        """5 of 6 ms it is in epoll: no function is slow."""
        trace = self.loop(POLL)
        self.assert_first("host-blocked", trace)
        self.assert_not_found("host-work", trace)
        self.assertIn("poll of select.epoll", self.evidence("host-blocked", trace))
        host = {row["what"]: row["total_ns"] for row in self.ask("idle", trace)["host"]
                if row["when"] == "between"}
        self.assertEqual(host["blocked"], 19 * 5_000_000)

    def test_what_only_sounds_like_waiting_is_work(self):
        """torch.select, the program's own wait(), and reading of a file."""
        for frame in ("<built-in method select of type object at 0x7f61e5026e80>", "server.py(3): wait",
                      "<built-in method get of dict object at 0x7f468be6f440>", "<built-in function read>"):
            with self.subTest(frame):
                self.assert_first("host-work", self.loop(frame))
                self.assert_not_found("host-blocked", self.loop(frame))

    def test_frames_of_pythons_library_without_its_builtins(self):
        for frame in ("/usr/lib/python3.11/queue.py(154): get", "threading.py(359): wait",
                      "C:\\Python\\lib\\selectors.py(314): select", "subprocess.py(1259): wait"):
            with self.subTest(frame):
                self.assert_first("host-blocked", self.loop(frame))

    def test_what_is_called_within_a_wait(self):
        """A worker reads its requests from a pipe, which is that wait. A function of the program's that is named
        as a library's, and decodes, works."""
        for outer, inner, finding, named in (
                ("multiprocessing/connection.py(390): _recv", "<built-in function read>", "host-blocked", "_recv"),
                ("app/queue.py(30): get", "app/codec.py(9): decode", "host-work", "decode")):
            with self.subTest(outer):
                trace = self.loop(outer)
                for i in range(20):
                    trace.python(inner, i * 6010 + 10, 4980)
                self.assert_first(finding, trace)
                self.assertIn(named, self.evidence(finding, trace))

    def test_short_waits_are_launches(self):
        """300 us between two kernels: locks are taken for each launch."""
        trace = self.loop("<built-in method acquire of _thread.lock object at 0x7f3a>", gap=300)
        self.assert_not_found("host-blocked", trace)
        self.assertIn("launch-bound", self.findings(trace))

    def test_a_worker_that_waits_for_the_thread_that_prepares(self):
        """Thread 9 launches b, and waits for it 5 ms in a queue; thread 7, which launched a, works on it."""
        trace = Trace()
        trace.kernel("a", at=10, lasts=1000)
        trace.python("queue.py(154): get", at=20, lasts=5990, thread=9)
        trace.python("train.py(3): preprocess", at=20, lasts=5980)
        trace.kernel("b", at=6100, lasts=1000, launched=6020, thread=9)
        self.assert_first("host-work", trace)
        self.assertIn("preprocess", self.evidence("host-work", trace))

    def test_calls_of_the_operating_system(self):
        """As Nsight Systems records them; writing is no waiting for others."""
        def trace(call):
            made = RuntimeTrace(domain="")
            for i in range(20):
                made.call(call, at=i * 6000, returns=i * 6000 + 4980)
                made.kernel("k", at=i * 6000 + 5000, lasts=1000, launched=i * 6000 + 4990, by="hipLaunchKernel")
            return made
        for call in ("epoll_wait", "pthread_cond_timedwait", "sem_wait", "nanosleep"):
            self.assert_first("host-blocked", trace(call))
        for call in ("fwrite", "pthread_cond_signal"):
            self.assert_first("host-work", trace(call))
