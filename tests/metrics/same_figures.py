#!/usr/bin/python3
"""Compares two files of `sonde sol --all --format json`: same_figures.py ONE.json OTHER.json.

Prints the metrics that only the other has figures for, and how many figures are equal; fails on the first
difference but for the name of the file.
"""

import json
import sys


def walk(one, other, place, found):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            walk(one.get(key), other.get(key), [*place, one.get("metric", key)], found)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other)):
            walk(*pair, [*place, number], found)
    elif one is None and other is not None:
        found["more"][place[-1]] = True
    elif one != other:
        sys.exit(f"{place}: {one!r}, but {other!r}")
    elif isinstance(one, (int, float)):
        found["equal"] += 1


def main():
    one, other = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    one.pop("file"), other.pop("file")
    found = {"more": {}, "equal": 0}
    walk(one, other, [], found)
    print(f"{'more than 100' if found['equal'] > 100 else found['equal']} equal; more:", ", ".join(sorted(found["more"])) or "none")


if __name__ == "__main__":
    main()
