"""The worker process that pool.py starts: worker.py PID_OF_THE_RUNNER.

Reads tasks, the arguments of run_case, from stdin and writes their outcomes to stdout, one at a
time, until stdin ends.
"""

import os
import pickle
import shutil
import signal
import sys

from execute import run_case
from processes import become_reaper, end_below, end_with_parent


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    become_reaper()
    current = []  # the folder of the case that runs
    signal.signal(signal.SIGTERM, lambda number, frame: give_up(current))
    end_with_parent(int(sys.argv[1]))
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(run_case(*task, current), answers)
        answers.flush()


def give_up(current):
    """The runner is gone. Nothing is raised, which would end wherever the case is just now."""
    end_below(os.getpid())
    for directory in current:
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
