#!/usr/bin/python3
"""Runs the cases of a subject, or of all: run.py --sonde PATH [SUBJECT...] [-k PATTERN] [-v]."""
import argparse
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from verdict import Verdict  # noqa: E402  (found through the line above)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("-k", dest="pattern", help="only tests whose name has this in it")
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("subjects", nargs="*", help="NAME of NAME_cases.py; all by default")
    options = parser.parse_args()
    Verdict.sonde = str(pathlib.Path(options.sonde).resolve())
    subjects = options.subjects or sorted(path.stem[:-len("_cases")] for path in HERE.glob("*_cases.py"))
    loader = unittest.TestLoader()
    if options.pattern:
        loader.testNamePatterns = [f"*{options.pattern}*"]
    suite = loader.loadTestsFromNames([f"{subject}_cases" for subject in subjects])
    result = unittest.TextTestRunner(verbosity=1 + options.verbose).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
