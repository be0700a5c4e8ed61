#!/usr/bin/python3
"""What each command answers about a trace that lacks what it asks for: a sentence that says so in every
form, and no row or figure that is only zeros; and a warning where the times jump.

    missing_test.py --sonde PATH"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from direct import analyses  # noqa: E402
from tool_case import ToolCase, main  # noqa: E402

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


class Missing(ToolCase):
    def hold(self, what, holds):
        with self.subTest(what):
            self.assertTrue(holds)

    def commands(self, path):
        self.hold("there are many analyses", len(analyses(self.sonde)) > 15)
        for name in (*analyses(self.sonde), "ranks", "collectives", "check"):
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
            made = self.run_sonde(*words, "--format", form)
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
            answer = self.ask(*words)
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
            page = self.run_sonde("report", path, "--format", form).stdout
            what_ran = page.partition("What stands out")[0]
            self.hold(f"{label}: the page shows a bare zero",
                      not re.search(r"\b0( ns)?( \|)?$", what_ran, re.MULTILINE))

    def test_every_trace(self):
        for label, events in fixtures().items():
            path = self.folder / f"{label.replace(' ', '_')}.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
            self.check_trace(label, path)


if __name__ == "__main__":
    main()
