#!/usr/bin/python3
"""What each command answers about a trace that lacks what it asks for: a sentence that says so in every
form, and no row or figure that is only zeros; and a warning where the times jump.

    missing_test.py --sonde PATH"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

EPOCH_US = 1_700_000_000_000_000  # what a wall clock shows, where a device counts from its start
IDS = re.compile(r"(_id|^rank|^pid|^tid|^file|^name|^frame)$")


def event(category, name, start, length, tid=1, pid=1, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
            "dur": length, "args": arguments}


def kernel(name, start, length, correlation):
    return event("kernel", name, start, length, 7, 0, device=0, stream=7, correlation=correlation)


def fixtures():
    calls = [event("cpu_op", "aten::mm", 0, 50),
             event("cuda_runtime", "cudaLaunchKernel", 10, 10, correlation=1),
             event("cuda_runtime", "cudaLaunchKernel", 25, 10, correlation=2)]
    work = calls + [kernel("gemm", 30, 100, 1), kernel("add", 140, 10, 2)]
    jumped = [dict(one, ts=one["ts"] + EPOCH_US) for one in work]
    return {
        "nothing": [],
        "no kernels": [event("cpu_op", "aten::mm", 0, 50), event("cpu_op", "aten::add", 60, 10)],
        "no communication": work,
        "one kernel": work[3:4],
        "one call": calls[:1],
        "one marker": [event("user_annotation", "step", 0, 50)],
        "no durations": calls + [kernel("gemm", 30, 0, 1), kernel("add", 140, 0, 2)],
        "clock jump": calls[:1] + [kernel("never filled in", 0, 0, 9)] + jumped,
        "clock jump of calls": calls[:1] + jumped[:3],
    }


class Check:
    def __init__(self, sonde):
        self.sonde, self.count, self.problems = sonde, 0, []

    def hold(self, what, holds):
        self.count += 1
        if not holds:
            self.problems.append(what)

    def run(self, *words):
        made = subprocess.run([self.sonde, *words], capture_output=True, text=True, timeout=60)
        self.hold(f"{' '.join(words)} ends with {made.returncode}: {made.stderr}",
                  made.returncode == 0)
        return made

    def commands(self, path):
        known = subprocess.run([self.sonde, "analyze", "--only", "?", path], capture_output=True,
                               text=True).stderr
        analyses = re.search(r"there are: ([a-z, -]+)", known)[1].split(", ")
        self.hold("there are many analyses", len(analyses) > 15)
        for name in (*analyses, "ranks", "collectives", "check"):
            yield name, (name, path)
        yield "diff", ("diff", path, path)

    def check_json(self, where, name, answer):
        tables = {key: rows for key, rows in answer.items() if isinstance(rows, list)
                  and not key.endswith("_remarks") and key not in ("notes", "warnings")}
        for key, rows in tables.items():
            if not rows:
                text = answer.get(f"{key}_missing", "")
                self.hold(f"{where}: {key} does not say what is missing", text.endswith("."))
            for row in rows:
                figures = [value for column, value in row.items()
                           if isinstance(value, (int, float)) and not IDS.search(column)]
                named = any(isinstance(value, str) for value in row.values())
                self.hold(f"{where}: a row of zeros: {row}", named or not figures or any(figures))
        main = next(iter(tables), None)
        facts = answer.get(f"{main}_facts", {})
        figures = [value for value in facts.values() if isinstance(value, (int, float))]
        if main and not tables[main]:
            self.hold(f"{where}: facts of zeros: {facts}", not figures or any(figures))
        return main and not tables[main]

    def check_forms(self, where, words, is_empty, sentence):
        """The same in the forms for people, and in CSV on the standard error."""
        for form in ("text", "markdown", "html", "csv"):
            made = self.run(*words, "--format", form)
            text = made.stderr if form == "csv" else made.stdout
            self.hold(f"{where}: {form} says nothing", made.stdout.strip() != "")
            if is_empty:
                plain = re.sub(r"\s+", " ", text)
                if form == "markdown":  # where it escapes what would be markup
                    plain = re.sub(r"\\(\W|_)", r"\1", plain)
                self.hold(f"{where}: {form} does not say '{sentence}'", sentence in plain)

    def check_trace(self, label, path):
        for name, words in self.commands(path):
            where = f"{label}, {name}"
            answer = json.loads(self.run(*words, "--format", "json").stdout)
            is_empty = self.check_json(where, name, answer)
            sentence = next((text for key, text in answer.items() if key.endswith("_missing")), "")
            self.check_forms(where, words, is_empty, sentence)
            if label in ("nothing", "one marker") and name not in ("api", "diff", "stacks"):
                self.hold(f"{where}: an answer from nothing", is_empty)
            if label == "no durations" and name not in ("api", "memory", "collectives",
                                                                 "diff"):
                said = f"{sentence} {' '.join(answer.get('notes', []))}"
                self.hold(f"{where}: no times, and no word of it", "times" in said)
            if label.startswith("clock jump"):
                asks_calls = name in ("api", "operators", "critical-path", "diff")
                if label == "clock jump" and name != "api" or asks_calls:
                    warnings = " ".join(answer.get("warnings", []))
                    self.hold(f"{where}: no warning", "times jump" in warnings)
        for form in ("text", "markdown"):
            page = self.run("report", path, "--format", form).stdout
            what_ran = page.partition("What stands out")[0]
            self.hold(f"{label}: the page shows a bare zero",
                      not re.search(r"\b0( ns)?( \|)?$", what_ran, re.MULTILINE))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    check = Check(parser.parse_args().sonde)
    with tempfile.TemporaryDirectory() as folder:
        for label, events in fixtures().items():
            path = pathlib.Path(folder) / f"{label.replace(' ', '_')}.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
            check.check_trace(label, str(path))
    print("\n".join(check.problems) or f"{check.count} answers say what is missing")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
