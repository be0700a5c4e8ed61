"""Runs a recorder so that all of its program's records are still to be stored when that has ended,
and presses Ctrl-C then.

    backlog.py PRESSES sonde record ... -- PROGRAM ...

The recorder is stopped (SIGSTOP) while the program runs. PRESSES SIGINTs follow, 0.3 s apart,
the first as soon as records are being stored. Exits as the recorder does.
"""

import os
import signal
import subprocess
import sys
import time


def states(pid):
    """State letters of the children of `pid` by their names; Z: ended."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    found = {}
    for child in children:
        try:
            with open(f"/proc/{child}/stat", encoding="ascii") as file:
                before, _, after = file.read().rpartition(")")
        except OSError:
            continue
        found[before.partition("(")[2]] = after.split()[0]
    return found


def wait_until(true, what):
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            sys.exit(f"backlog.py: {what}")
        time.sleep(0.002)


def main():
    presses, command = int(sys.argv[1]), sys.argv[2:]
    program = os.path.basename(command[command.index("--") + 1])[:15]
    # A shell may have started us to ignore it, and that is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    recorder = subprocess.Popen(command)
    wait_until(lambda: program in states(recorder.pid), "the program does not start")
    recorder.send_signal(signal.SIGSTOP)
    wait_until(lambda: states(recorder.pid).get(program) == "Z", "the program does not end")
    recorder.send_signal(signal.SIGCONT)
    # Taken note of: it is a child no longer.
    wait_until(lambda: program not in states(recorder.pid), "the recorder does not go on")
    for press in range(presses):
        if press != 0:
            time.sleep(0.3)
        recorder.send_signal(signal.SIGINT)
    status = recorder.wait()
    sys.exit(status if status >= 0 else 128 - status)


main()
