#!/usr/bin/env python3
"""Compares an .rpd with the progress that mark_storm --mode unique wrote to shared memory.

    check_progress.py TRACE.rpd PROGRESS [--drops]

A thread's counter is stored after each finished range. What must hold for every thread, however the
program or the recorder ended:

- the finished ranges in the file are 0, 1, ... k-1 without a gap or a double, and progress <= k <=
  progress + 1: the one more is a range that was committed and not yet counted;
- at most one range is unfinished, and it is number k.

With --drops, gaps are allowed, and their number must be the drops that the file admits to, but for
one a thread. Prints the facts as JSON; exit status 1 if something does not hold.
"""

import collections
import json
import re
import struct
import sys

from tool_case import sql

QUERY = """
SELECT s.string, a.id IN (SELECT api_id FROM sonde_unfinished)
FROM rocpd_api a JOIN rocpd_ustring s ON s.id = a.args_id"""


def thread_problems(index, progress, finished, unfinished, drops):
    problems = []
    doubled = [n for n, count in collections.Counter(finished).items() if count > 1]
    if doubled:
        problems.append(f"thread {index}: {len(doubled)} ranges are there twice, first {doubled[0]}")
    top = max(finished, default=-1) + 1
    if top > progress + 1:
        problems.append(f"thread {index}: range {top - 1} was never made ({progress} were)")
    if not drops:
        if len(finished) < progress:
            missing = next(n for n in range(progress) if n not in set(finished))
            problems.append(f"thread {index}: {len(finished)} of {progress} ranges, {missing} is lost")
        if top != len(set(finished)):
            problems.append(f"thread {index}: gaps below {top}")
        if len(unfinished) > 1 or any(n != top for n in unfinished):
            problems.append(f"thread {index}: unfinished {unfinished} after {top} ranges")
    return problems


def main(trace, progress_file, drops=False):
    with open(progress_file, "rb") as file:
        data = file.read()
    progress = struct.unpack(f"{len(data) // 8}Q", data)
    finished, unfinished = collections.defaultdict(list), collections.defaultdict(list)
    for text, is_open in sql(trace, QUERY):
        match = re.fullmatch(r"thread (\d+) range (\d+)", text)
        if match:
            (unfinished if is_open else finished)[int(match[1])].append(int(match[2]))
    dropped = sql(trace, "SELECT coalesce(sum(count), 0) FROM sonde_drop WHERE source <> 'samples'")[0][0]
    problems = []
    for index, done in enumerate(progress):
        problems += thread_problems(index, done, finished[index], unfinished[index], drops)
    rows = sum(map(len, finished.values()))
    if drops and abs(sum(progress) - rows - dropped) > len(progress):
        problems.append(f"{sum(progress)} made, {rows} in the file, {dropped} admitted as lost")
    if not drops and dropped:
        problems.append(f"{dropped} admitted as lost")
    if sum(progress) == 0:
        problems.append("the program made nothing: nothing is shown by that")
    print(json.dumps({"made": sum(progress), "rows": rows, "dropped": dropped,
                      "unfinished": sum(map(len, unfinished.values()))}))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*[a for a in sys.argv[1:] if a != "--drops"], drops="--drops" in sys.argv))
