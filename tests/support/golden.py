"""The real PyTorch traces of which another program computed exact figures, in SONDE_SHARED (default
../shared beside the project)."""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

from tool_case import SHARED

TRACES, GOLDEN = SHARED / "data" / "kineto", SHARED / "golden" / "kineto-exact"
SKIPPED = 77


class Check:
    """What the tool says of a file, and which of it is wrong."""

    def __init__(self, sonde, path):
        self.sonde, self.path, self.count, self.problems = sonde, path, 0, []

    def output(self, command, *words):
        return subprocess.run([self.sonde, command, self.path, *words], capture_output=True, text=True,
                              check=True).stdout

    def ask(self, command, *words):
        return json.loads(self.output(command, *words, "--format", "json"))

    def equal(self, what, is_, should):
        self.count += 1
        if is_ != should:
            self.problems.append(f"{self.path.name}: {what} is {short(is_)}, not {short(should)}")


def short(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def main(compare):
    """Of `--sonde PATH NAME`: compare(direct, imported, golden) gets a Check of the trace itself, one of the
    .rpd that it is imported into, and the figures."""
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
    with tempfile.TemporaryDirectory() as folder:
        direct = Check(options.sonde, trace)
        imported = Check(options.sonde, pathlib.Path(folder) / f"{trace.name}.rpd")
        told = direct.output("import", "-o", imported.path)
        direct.equal("what was skipped", "nothing skipped" in told, True)
        compare(direct, imported, golden)
    problems = direct.problems + imported.problems
    print("\n".join(problems) or f"{options.name}: {direct.count + imported.count} figures are exact")
    return 1 if problems else 0
