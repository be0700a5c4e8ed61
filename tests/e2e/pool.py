"""Runs cases in worker processes, several at a time, for run.py.

A worker is started afresh (worker.py), never forked from here: this process has threads, and a fork
would give the child their locks as they are held at that moment. A thread for each worker hands it
one case after the other. What a case started is ended by the worker; where a worker does not answer
in time, this side ends it with all that is below it.
"""

import os
import pickle
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import processes
from execute import Outcome

WORKER = str(Path(__file__).resolve().parent / "worker.py")
ASKED_SECONDS = 5  # that a worker has to end by itself


class Worker:
    """One process that runs cases, and the pipe to it."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, WORKER, str(os.getpid())], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True)
        self.ending = threading.Lock()

    def run(self, task, seconds):
        """The outcome; an exception where there is none."""
        pickle.dump(task, self.process.stdin)
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise TimeoutError(f"no end within {seconds:.0f} s, all its time limits together")
        return pickle.load(self.process.stdout)

    def end(self):
        """With all below it."""
        with self.ending:  # no other code waits for it, so the pid is its own until then
            if self.process.returncode is not None:
                return
            processes.send(self.process.pid, signal.SIGTERM)  # it cleans up
            try:
                self.process.wait(ASKED_SECONDS)
            except subprocess.TimeoutExpired:
                processes.send(self.process.pid, signal.SIGSTOP)  # it shall start nothing more
                processes.end_below(self.process.pid)
                processes.send(self.process.pid, signal.SIGKILL)
                self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # what was not written yet has no reader any more


class Pool:
    """A context: on leaving it, for whatever reason, everything that runs is ended."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.tasks = queue.SimpleQueue()
        self.outcomes = queue.SimpleQueue()
        self.leaving = False
        self.threads = []
        self.workers = {}  # by slot

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leaving = True
        while any(thread.is_alive() for thread in self.threads):
            for worker in list(self.workers.values()):
                worker.end()
            time.sleep(0.01)

    def run(self, tasks):
        """Yields the outcome of each (task, seconds it may take), in their order."""
        for item in enumerate(tasks):
            self.tasks.put(item)
        for slot in range(min(self.jobs, len(tasks))):
            self.threads.append(threading.Thread(target=self._serve, args=(slot,)))
            self.threads[-1].start()
        ready = {}
        for index in range(len(tasks)):
            while index not in ready:
                number, outcome = self.outcomes.get()
                ready[number] = outcome
            yield ready.pop(index)

    def _serve(self, slot):
        worker = None
        while not self.leaving:
            try:
                index, (task, seconds) = self.tasks.get_nowait()
            except queue.Empty:
                break
            started = time.monotonic()
            try:
                worker = worker or Worker()
                self.workers[slot] = worker
                outcome = worker.run(task, seconds)
            except Exception as error:  # the case fails, and the others go on
                outcome = Outcome([f"{type(error).__name__}: {error}"],
                                  time.monotonic() - started, spoilt=True)
            if outcome.spoilt and worker is not None:
                worker.end()
                worker = None
            self.outcomes.put((index, outcome))
        if worker is not None:
            worker.end()
