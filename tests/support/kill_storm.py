#!/usr/bin/env python3
"""Kills a recorded program, its recorder, or both, at random moments; no operation is lost.

    kill_storm.py [--moments N] [--seed N] [--folder DIR] [--every-full N] SONDE OP_STORM

Each moment is a recording of its own, of a program that makes operations with numbers and counts
those that it has seen end (tests/programs/op_storm.c). What must hold afterwards, once the recorder
or `sonde recover` is done:

- of every thread the operations 1, 2 ... k are there, each once, and k is at least what the program
  has counted, and at most one more;
- nothing is admitted as lost;
- the session directory is gone.

Every N-th moment (--every-full) the recorder is killed and the room for what comes after that is
made full: then k may be less, and what is admitted as lost must be what is missing.

Prints one JSON line; exit status 1 if something does not hold, with what to repeat it by.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402

QUERY = """
SELECT s.string, d.bytes, count(*)
FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id JOIN rocpd_string s ON s.id = o.description_id
GROUP BY 1, 2"""
LIMIT_S = 60


def words_of(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    return struct.unpack(f"{len(data) // 8}Q", data[:len(data) // 8 * 8])


def wait_until(true, what):
    deadline = time.monotonic() + LIMIT_S
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} within {LIMIT_S} s")
        time.sleep(0.001)


def kill(pid):
    processes.send(pid, signal.SIGKILL)


class Moment:
    def __init__(self, options, number):
        self.options, self.number = options, number
        self.rng = random.Random(options.seed * 1_000_003 + number)
        self.threads = self.rng.randint(1, 3)
        self.full = options.every_full and number % options.every_full == options.every_full - 1
        self.whom = "recorder" if self.full else self.rng.choice(["program", "recorder", "both"])
        self.ops = self.missing = 0

    def run(self):
        with tempfile.TemporaryDirectory(dir=self.options.folder) as folder:
            self.folder, self.trace = folder, f"{folder}/t.rpd"
            self.progress = f"{folder}/p"
            command = [self.options.sonde, "record", "-q", "--metrics", "none", "--sample", "off",
                       "--spool-dir", folder, "-o", self.trace]
            command += ["--orphan-limit", "2M"] if self.full else []
            command += ["--", self.options.op_storm, self.progress, str(self.threads)]
            command += ["fast"] if self.full else []
            self.recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL)
            try:
                self.strike()
                self.finish()
                self.check()
            finally:
                kill(self.recorder.pid)
                self.recorder.wait()
                if self.program():
                    kill(self.program())

    def program(self):
        words = words_of(self.progress)
        return words[self.threads] if len(words) > self.threads else 0

    def pause(self, most):
        time.sleep(self.rng.random() * most)

    def strike(self):
        wait_until(lambda: sum(words_of(self.progress)[:self.threads]) > 0,
                   f"the program begins nothing (recorder: {self.recorder.poll()})")
        self.pause(0.02 if self.full else 0.25)
        pids = {"program": [self.program()], "recorder": [self.recorder.pid],
                "both": [self.program(), self.recorder.pid]}[self.whom]
        self.rng.shuffle(pids)
        for pid in pids:
            kill(pid)
            if self.rng.random() < 0.5:
                self.pause(0.02)
        if self.whom == "recorder":
            if self.full:
                self.wait_until_full()
            self.pause(0.1)
            if self.rng.random() < 0.5:
                kill(self.program())
            else:
                self.stop_program()

    def wait_until_full(self):
        """Until the session does not grow although operations are made."""
        before, made = -1, 0
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            time.sleep(0.3)
            size = sum(os.path.getsize(os.path.join(root, name))
                       for root, _, names in os.walk(self.session()) for name in names)
            now = sum(words_of(self.progress)[:self.threads])
            if size == before and now > made + 100_000:
                return
            before, made = size, now

    def stop_program(self):
        with open(self.progress, "r+b") as file:
            file.seek((self.threads + 1) * 8)
            file.write(struct.pack("Q", 1))

    def finish(self):
        self.recorder.wait(LIMIT_S)
        wait_until(lambda: not processes.runs(self.program()), "the program does not end")
        session = self.session()
        if session:
            what = self.rng.choice([session, self.trace])
            done = subprocess.run([self.options.sonde, "recover", what], capture_output=True,
                                  text=True, timeout=LIMIT_S, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"recover {what}: {done.stderr}")
        if self.session():
            raise RuntimeError("the session directory is left")

    def session(self):
        found = [f"{self.folder}/{name}" for name in os.listdir(self.folder)
                 if os.path.exists(f"{self.folder}/{name}/control")]
        return found[0] if found else None

    def check(self):
        made = words_of(self.progress)[:self.threads]
        connection = sqlite3.connect(f"file:{self.trace}?mode=ro", uri=True)
        numbers = {index: {} for index in range(self.threads)}
        for name, number, count in connection.execute(QUERY):
            numbers[int(name.rpartition(" ")[2])][number] = count
        lost = dict(connection.execute("SELECT source, sum(count) FROM sonde_drop GROUP BY 1"))
        connection.close()
        self.ops = sum(map(len, numbers.values()))
        for thread, there in numbers.items():
            if any(count != 1 for count in there.values()):
                raise RuntimeError(f"thread {thread} has operations twice")
            if there and max(there) != len(there):
                raise RuntimeError(f"thread {thread}: {len(there)} operations, the last {max(there)}")
            if len(there) > made[thread] + 1:
                raise RuntimeError(f"thread {thread} has {len(there)} of {made[thread]} operations")
            if not self.full and len(there) < made[thread]:
                raise RuntimeError(f"thread {thread} lost {made[thread] - len(there)} operations")
        self.missing = sum(made) - self.ops
        if not self.full and lost:
            raise RuntimeError(f"admitted as lost: {lost}")
        if self.full and not 0 <= lost.get("ops", 0) - self.missing <= self.threads:
            raise RuntimeError(f"{self.missing} are missing, {lost.get('ops', 0)} admitted as lost")
        if self.full and not lost:
            raise RuntimeError("the room was not full: nothing is shown by that")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--folder")
    parser.add_argument("--every-full", type=int, default=10)
    parser.add_argument("sonde")
    parser.add_argument("op_storm")
    options = parser.parse_args()
    facts = {"moments": 0, "program": 0, "recorder": 0, "both": 0, "full": 0, "ops": 0,
             "after_full": 0}
    problems = []
    for number in range(options.moments):
        moment = Moment(options, number)
        try:
            moment.run()
        except (RuntimeError, sqlite3.Error, subprocess.TimeoutExpired, OSError) as error:
            problems.append(f"moment {number} ({moment.whom}, --seed {options.seed}): {error}")
        facts["moments"] += 1
        facts[moment.whom] += 1
        facts["full"] += 1 if moment.full else 0
        facts["ops"] += moment.ops
        facts["after_full"] += moment.missing
    print(json.dumps({**facts, "problems": len(problems), "seed": options.seed}), flush=True)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
