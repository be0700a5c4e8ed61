"""Processes by their ids: who descends from whom, and their end.

Of a process that is its descendants' reaper (PR_SET_CHILD_SUBREAPER) everything it started, orphans
and daemons included, is below it in the tree and can be ended without knowing a name.
"""

import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def become_reaper():
    """Of the orphans among this process's descendants."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent):
    """Sends this process SIGTERM when the thread that started it is gone, killed ones included."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def descendants(root, without=()):
    """Pids below `root`, parents first; the trees below `without` are left out."""
    found, queue = [], [root]
    while queue:
        children = [child for child in children_of(queue.pop(0)) if child not in without]
        found += children
        queue += children
    return found


def children_of(pid):
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def runs(pid):
    """Neither gone nor ended and waiting to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""  # it is gone, or not for us to see


def where_below(root):
    """A line for each thread below `root`: its state and CPU time, in clock ticks, and where it
    waits in the kernel. For a test that hangs on a machine that nobody sees."""
    lines = []
    for pid in descendants(root):
        command = " ".join(read(f"/proc/{pid}/cmdline").replace("\0", " ").split())
        lines.append(f"{pid} {command[:200]}")
        try:
            threads = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
        except OSError:
            continue
        for thread in threads:
            folder = f"/proc/{pid}/task/{thread}"
            fields = read(f"{folder}/stat").rpartition(")")[2].split()
            if fields:
                lines.append(f"  {thread} {read(folder + '/comm')} {fields[0]} user={fields[11]} "
                             f"system={fields[12]} waits={read(folder + '/wchan')} "
                             f"call={read(folder + '/syscall')}")
    return lines


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end_below(root, limits=((signal.SIGTERM, 2.0), (signal.SIGKILL, 20.0))):
    """Ends all that runs below `root`; returns what could not be ended. As long as the limit of a
    signal lasts, in seconds, what has appeared since gets it, too."""
    left = []
    for number, seconds in limits:
        deadline = time.monotonic() + seconds
        told = set()
        while True:
            if root == os.getpid():
                reap()
            left = [pid for pid in descendants(root) if runs(pid)]
            if not left:
                return []
            for pid in left:
                if pid not in told:
                    send(pid, number)
                    send(pid, signal.SIGCONT)  # a stopped process is not asked otherwise
                    told.add(pid)
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
    return left


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def wait_below(deadline, without=()):
    """Until nothing is left below this process."""
    while True:
        reap()
        if not descendants(os.getpid(), without):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
