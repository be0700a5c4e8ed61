"""The real PyTorch traces of which another program computed exact figures, in SONDE_SHARED (default
../shared beside the project)."""
import argparse
import gzip
import json

from tool_case import SHARED

TRACES, GOLDEN = SHARED / "data" / "kineto", SHARED / "golden" / "kineto-exact"
SKIPPED = 77


def main(compare):
    """Of `--sonde PATH NAME`: compare(PATH, trace, golden) returns the number of figures and what is
    wrong with them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("name")
    options = parser.parse_args()
    trace, golden_file = TRACES / f"{options.name}.json.gz", GOLDEN / f"{options.name}.json.gz"
    if not trace.is_file() or not golden_file.is_file():
        print(f"skipped: no {options.name} under SONDE_SHARED")
        return SKIPPED
    with gzip.open(golden_file, "rt") as file:
        golden = json.load(file)
    count, problems = compare(options.sonde, trace, golden)
    print("\n".join(problems) or f"{options.name}: {count} figures are exact")
    return 1 if problems else 0
