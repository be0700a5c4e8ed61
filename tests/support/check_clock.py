#!/usr/bin/python3
"""Checks that each mark of mark_clock lies between the readings of CLOCK_MONOTONIC around it.

usage: check_clock.py READINGS TRACE.rpd [TOLERANCE_NS]
Prints by how much the worst mark lies outside (0: none does); exit 1 beyond the tolerance (100 ns).
"""

import sys

from tool_case import sql


def outside(before, start, after):
    """How far a mark is from where it was made."""
    return max(before - start, start - after, 0)


def main(readings_path, trace_path, tolerance=100):
    with open(readings_path, encoding="ascii") as file:
        readings = [tuple(map(int, line.split())) for line in file]
    starts = [start for start, in sql(trace_path, "SELECT start FROM api WHERE args = 'now' ORDER BY id")]
    if not readings or len(starts) != len(readings):
        print(f"{len(readings)} readings but {len(starts)} marks")
        return 1
    misses = [outside(b, s, a) for (b, a), s in zip(readings, starts)]
    worst = max(misses)
    wrong = sum(miss > int(tolerance) for miss in misses)
    print(f"worst mark: {worst} ns outside, {wrong} of {len(misses)} beyond {tolerance} ns")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
