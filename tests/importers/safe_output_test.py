#!/usr/bin/python3
"""Names that would drive a terminal, turn the order of letters around, run in a spreadsheet or in a
browser: no command prints them so, in any format, nor in errors and progress lines.

    safe_output_test.py --sonde PATH [unittest options]"""
import csv
import io
import json
import os
import pty
import re
import subprocess

import import_case

# C0 but line ends and tabs, DEL, C1, and what sets the direction of text.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1"]
NAMES = FORMULAS + ["-5", "+3.5e2", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
                    "clear\x1b[2Jscreen", "title\x1b]0;x\x07", "csi\u009b31mred", "rlo\u202egnp.exe",
                    "isolate\u2066x\u2069", "lrm\u200e", "alm\u061c", "bell\x07", "del\x7f",
                    "line\u000aend", "back\x08space", "colour\x1b[31m"]
COMMANDS = ["top", "ktop", "kernels", "api", "idle", "launches", "queues", "busy", "breakdown",
            "operators", "stacks", "check", "analyze", "sequences", "variability", "critical-path",
            "overlap", "copies", "info", "perf", "memory", "collectives"]
FORMATS = ["text", "csv", "json", "markdown", "html"]


def document():
    events = []
    for i, name in enumerate(NAMES):
        at = 1000 * i
        events += [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": 7, "ts": at,
                    "dur": 500, "args": {}},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
                    "ts": at + 2, "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 10,
                    "dur": 800, "args": {"device": 0, "stream": 7, "correlation": i + 1}},
                   {"ph": "X", "cat": "user_annotation", "name": name, "pid": 7, "tid": 8, "ts": at,
                    "dur": 900, "args": {}}]
    events.append({"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "x\u202e\x1b[2J"}})
    events.append({"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "\u009b"}})
    return {"schemaVersion": 1, "note\u202e": "value\x1b[2J\u009b", "traceEvents": events,
            "deviceProperties": [{"id": 0, "name": "GPU\x1b[2J"}]}


class SafeOutput(import_case.ImportCase):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "evil.json"
        self.trace.write_text(json.dumps(document()))

    def printed(self, *arguments):
        return self.run_sonde(*arguments, status=None, text=False)

    def is_safe(self, output, what):
        text = output.decode("utf-8")  # strict
        found = HIDDEN.search(COLOUR.sub("", text))
        self.assertIsNone(found, f"{what}: {text[max(0, found.start() - 40):][:80]!r}"
                          if found else "")
        return text

    def test_every_command_in_every_format(self):
        self.run_sonde("import", self.trace, "-o", "evil.rpd")
        for command in COMMANDS:
            for format in FORMATS:
                done = self.printed(command, "evil.rpd", "--format", format)
                if b"is not one of" in done.stderr:
                    continue  # a command without that format
                self.assertLess(done.returncode, 2, done.stderr)
                self.is_safe(done.stdout + done.stderr, f"{command} --format {format}")
        for sql in ("SELECT string, string || 'x' FROM rocpd_string", "SELECT x'1b5b324a' AS a"):
            for format in FORMATS:
                done = self.printed("query", "evil.rpd", sql, "--format", format)
                self.is_safe(done.stdout + done.stderr, f"query --format {format}")
        done = self.printed("query", "evil.rpd", "SELECT 1 AS 'a\x1b[2J\u202e'")
        self.is_safe(done.stdout + done.stderr, "a column's name")

    def test_cells_that_a_spreadsheet_would_run(self):
        """They are texts there; numbers stay numbers."""
        done = self.printed("query", "evil.json", "--format", "csv",
                              "SELECT string, -5 AS negative, -2.5 AS half, '-7' AS text "
                              "FROM rocpd_string WHERE string <> ''")
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        for row in rows:
            self.assertEqual((row["negative"], row["half"], row["text"]), ("-5", "-2.5", "-7"))
            cell = row["string"]
            if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                self.assertIn(cell, ("-5", "+3.5e2"))
        cells = {row["string"] for row in rows}
        self.assertLessEqual({"-5", "+3.5e2"} | {"'" + text for text in FORMULAS[:4]}, cells)
        for command in ("top", "kernels", "operators"):
            done = self.printed(command, "evil.json", "--format", "csv")
            for row in csv.reader(io.StringIO(done.stdout.decode(), newline="")):
                for cell in row:
                    self.assertFalse(re.match(r"[=@\t\r]|[+-](?![\d.]+(e[+-]?\d+)?$)", cell), cell)

    def test_pages_and_pictures_hold_no_code(self):
        for command, form in (("top", "html"), ("stacks", "svg"), ("report", "html"),
                              ("top", "markdown")):
            done = self.printed(command, "evil.json", "--format", form)
            if command == "report":
                done = self.printed("report", "evil.json", "-o", "page.html")
                self.assertEqual(done.returncode, 0, done.stderr)
                text = self.is_safe((self.folder / "page.html").read_bytes(), "page")
                text = re.sub(r"(?s)^.*?<body>", "", text)
            else:
                text = self.is_safe(done.stdout, f"{command} {form}")
            self.assertNotRegex(text, r"(?<!\\)<script>alert|(?<!\\)<img", f"{command} {form}")

    def test_errors(self):
        for arguments in (["top", "no\x1b[2Jsuch\u202e\u009bfile"],
                          ["no\x1b[2Jsuch\u202ecommand"], ["top", "evil.json", "--no\x1b[2J\u202e"],
                          ["query", "evil.json", "SELECT no\u202e\u009bsuch"],
                          ["top", "evil.json", "--kernel", "(\x1b[2J\u202e"]):
            done = self.printed(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.is_safe(done.stdout + done.stderr, arguments)

    def test_summaries_and_lines_of_progress(self):
        """On a terminal, of a file whose name is as bad."""
        name = "out\x1b[2J\u202e\u009b"
        main, other = pty.openpty()
        done = subprocess.Popen([self.sonde, "import", self.trace, "-o", name + ".rpd"],
                                stdout=other, stderr=other, stdin=subprocess.DEVNULL,
                                cwd=self.folder, env={**os.environ, "TERM": "xterm"})
        os.close(other)
        said = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        os.close(main)
        self.assertEqual(done.wait(), 0, said)
        self.is_safe(said.replace(b"\r\n", b"\n").replace(b"\r\x1b[K", b""), "import")
        done = self.printed("export", self.trace, "-o", name + ".json")
        self.is_safe(done.stdout + done.stderr, "export")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    import_case.main()
