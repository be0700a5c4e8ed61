#!/usr/bin/python3
"""Runs every tool command line that the shared texts print: seeds_test.py BUILD_DIR.

The lines are taken from the files in $SONDE_SHARED/seeds, not from here; seeds.toml names all that is
replaced, and what must be there afterwards. Skipped without the shared folder or the software GPU.
"""

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
import unittest
from glob import glob
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build"
SHARED = Path(os.environ.get("SONDE_SHARED") or ROOT.parent / "shared")
TABLE = tomllib.loads((Path(__file__).parent / "seeds.toml").read_text())

NAMES = (r"(?:(?:runTracer|loadTracer|rpdRemote)\.sh|rpd(?:2tracing|2table|_trim|_autograd_summary)\.py|rpd_trim|"
         r"rocprof(?:v[23](?:-\w+)?|-sys-\w+|-compute)?|rocpd|omniperf|omnitrace(?:-\w+)?|nsys|ncu|"
         r"rocm-smi|amd-smi|sqlite3)")
TOOL = re.compile(rf"(?<![\w.-]){NAMES}(?![\w/-]|\.\w)")
VARIABLE = re.compile(r"(?<!\w)(?:HSA_TOOLS_LIB|ROCM_DEBUG_AGENT_OPTIONS|AMD_LOG_LEVEL|MIOPEN_ENABLE_LOGGING\w*|"
                      r"ROCPROFSYS_\w+|OMNITRACE_\w+|RPDT_\w+)=")
# In running text: a tool, and at once an option or a file.
SPOKEN = re.compile(rf"(?<![\w.-]){NAMES}(?: +(?:--?\w[\w=-]*|<[^>]*>|[\w/.-]+\.(?:rpd|json|db|sqlite|csv|py))"
                    r"(?![\w(`]))+")
CODE = ("", "bash", "sh", "shell", "console", "text", "none")


def blocks(lines):
    """(number, text, kind) of each line: "code" in a fence or a code block of reStructuredText, "other" in one
    of another language, or "text"."""
    fence = indent = None
    kind = "text"
    for number, line in enumerate(lines, 1):
        start = re.match(r"\s*```(\w*)\s*$", line)
        directive = re.match(r"(\s*)\.\. code(?:-block)?::\s*(\w*)", line)
        if start and fence is None:
            fence, kind = start[1], "code" if start[1] in CODE else "other"
        elif start:
            fence, kind = None, "text"
            yield number, "", kind
        elif fence is None and directive:
            indent, kind = len(directive[1]), "code" if directive[2] in CODE else "other"
        elif indent is not None and line.strip() and len(line) - len(line.lstrip()) <= indent:
            indent, kind = None, "text"
            yield number, line, kind
        else:
            yield number, line, kind


def whole(text):
    """Whether quotes are closed and no backslash ends it."""
    if text.rstrip().endswith("\\"):
        return False
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def is_command(text):
    """A tool with arguments, or a variable that is set; not a mere name."""
    found = TOOL.search(text)
    return bool(VARIABLE.search(text) or (found and len(text.split()) > 1))


def extract(text):
    """[(line number, command line)]"""
    found, open_number, opened = [], 0, ""
    for number, line, kind in blocks(text.splitlines()):
        if opened and kind != "code":  # a quote that the block does not close
            found += [(open_number, opened.strip())] if is_command(opened) else []
            opened = ""
        if kind == "code":
            opened, open_number = (opened + "\n" + line, open_number) if opened else (line, number)
            if whole(opened):
                found += [(open_number, opened.strip())] if is_command(opened) else []
                opened = ""
            continue
        if kind != "text":
            continue
        rest = line
        for span in re.findall(r"``(.+?)``|`([^`]+)`", line):
            words = (span[0] or span[1]).strip()
            if (TOOL.match(words) or VARIABLE.match(words)) and is_command(words):
                found.append((number, words))
            rest = rest.replace(span[0] or span[1], "")
        if re.match(rf"(?:python3? +)?\S*?(?<![\w.-]){NAMES} +\S", rest) and not rest.rstrip().endswith("."):
            found.append((number, rest.strip()))
        else:
            found += [(number, one.group().rstrip(".,")) for one in SPOKEN.finditer(rest)]
    return found


def entry(kind, text):
    return next((one for one in TABLE[kind] if one["text"] in text), None)


class Extraction(unittest.TestCase):
    def test_every_way_of_printing_a_command_line_is_seen(self):
        text = "\n".join((
            "The `rocprof` utility; set `AMD_LOG_LEVEL=4`, or `rocprof-sys-avail -G x.cfg -d` once.",
            "```bash", "srun \\", "rocprofv3 -s -- \\", " a b", "python3 x.py", "```",
            "```", "bash -c 'cd x ; \\", "  rocprof --stats y'", "```",
            "```python", "rocprof = 1", "```", "```", "echo it's; rocprof -i x", "```",
            "runTracer.sh -o a.rpd python m.py --x 3",
            "python3 ../tools/rpd2tracing.py a.rpd a.json",
            "by running sqlite3 a.rpd, or with the sqlite3 class; rocprof is a tool.",
            ".. code-block:: shell", "", "   ``", "   nsys stats r.sqlite", "", "The end of rocprof text here",
            "*  ``HSA_TOOLS_LIB=/x.so ./p``"))
        self.assertEqual([line for _, line in extract(text.replace("   ``\n", ""))], [
            "AMD_LOG_LEVEL=4", "rocprof-sys-avail -G x.cfg -d", "srun \\\nrocprofv3 -s -- \\\n a b",
            "bash -c 'cd x ; \\\n  rocprof --stats y'", "echo it's; rocprof -i x", "runTracer.sh -o a.rpd python m.py --x 3",
            "python3 ../tools/rpd2tracing.py a.rpd a.json", "sqlite3 a.rpd", "nsys stats r.sqlite",
            "HSA_TOOLS_LIB=/x.so ./p"])

    def test_each_replacement_has_a_reason(self):
        for kind, entries in TABLE.items():
            for one in entries:
                if kind != "check" or "alone" in one or "run" in one:
                    self.assertTrue(one.get("why"), one)


@unittest.skipUnless((SHARED / "seeds").is_dir(), "no shared folder ($SONDE_SHARED)")
@unittest.skipUnless((BUILD / "tests/programs/hip_calls").exists() and (BUILD / "bin/softgpu").exists(),
                     "no HIP, or no software GPU")
class Seeds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="sonde-seeds-")
        cls.folder = Path(cls.temporary.name)
        cls.bin = cls.folder / "bin"
        cls.bin.mkdir()
        for one in TABLE["stand-in"]:
            (cls.bin / one["name"]).write_text(one["script"].lstrip())
            (cls.bin / one["name"]).chmod(0o755)
        cls.printed = [(path.name, number, line) for path in sorted((SHARED / "seeds").iterdir())
                       for number, line in extract(path.read_text(encoding="utf-8"))]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def environment(self, folder):
        path = [BUILD / "lib/sonde/drop-in", BUILD / "bin", self.bin, BUILD / "tests/programs"]
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("SONDE_", "SLURM_", "LD_")) or name == "SONDE_SHARED"}
        return {**kept, "PATH": ":".join([*map(str, path), "/usr/bin:/bin"]), "LC_ALL": "C.UTF-8",
                **{one["name"]: one["value"].format(folder=folder) for one in TABLE["variable"]}}

    def prepare(self, name):
        """The folder of a text, with its workloads and the tools that it has cloned."""
        folder = self.folder / name[:3] / "work"
        if not folder.is_dir():
            folder.mkdir(parents=True)
            for one in TABLE["workload"]:
                (folder / one["name"]).write_text('import subprocess, sys\n'
                                                  'sys.exit(subprocess.call(["hip_calls", "--launches", "20"]))\n')
            tools = folder.parent / "rocmProfileData/tools"
            tools.mkdir(parents=True)
            (tools / "rpd2tracing.py").symlink_to(BUILD / "lib/sonde/drop-in/rpd2tracing.py")
        return folder

    def command(self, printed, check, folder):
        line = printed
        for way in ("alone", "run"):
            if way in check and (way == "run" or printed == check["text"]):
                line = check[way].replace("{line}", printed)
        for one in TABLE["replace"]:
            line = line.replace(one["text"], one["with"].format(folder=folder))
        return line

    def test_every_line_runs_and_leaves_what_the_text_says(self):
        used = set()
        self.assertGreater(len(self.printed), 0)
        for name, number, printed in self.printed:
            other = entry("other", printed)
            if other is not None:
                used.add(other["text"])
                continue
            with self.subTest(place=f"{name}:{number}", line=printed):
                check = entry("check", printed)
                self.assertIsNotNone(check, "neither checked nor named in seeds.toml")
                used.add(check["text"])
                self.run_line(printed, check, self.prepare(name))
        stale = {one["text"] for kind in ("check", "other") for one in TABLE[kind]} - used
        every = "\n".join(line for _, _, line in self.printed)
        stale |= {one["text"] for one in TABLE["replace"] if one["text"] not in every}
        self.assertEqual(stale, set(), "entries of seeds.toml that no line needs")

    def run_line(self, printed, check, folder):
        before = self.files(check, folder)
        done = subprocess.run([BUILD / "bin/softgpu", "--", "bash", "-c", self.command(printed, check, folder)],
                              cwd=folder, env=self.environment(folder), input=check.get("stdin", ""), timeout=120,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(check.get("prints", ""), done.stdout)
        self.assertIn(check.get("says", ""), done.stderr)
        if "leaves" in check:
            made = self.files(check, folder) - before
            self.assertEqual(len(made), check["leaves"]["are"], (made, done.stderr))
            for path in made:
                self.assertGreater(os.path.getsize(path), 0, path)
        if "has" in check:
            self.assertIn(check["has"]["text"], (folder / check["has"]["file"]).read_text())
        if "sql" in check:
            with sqlite3.connect(folder / check["sql"]["file"]) as database:
                self.assertEqual(database.execute(check["sql"]["query"]).fetchone()[0], check["sql"]["is"])
        if "json" in check:
            events = json.loads((folder / check["json"]["file"]).read_text())["traceEvents"]
            found = [one for one in events if one.get("ph") == "X" and
                     check["json"]["events"] in str(one.get("name"))]
            self.assertEqual(len(found), check["json"]["is"])

    @staticmethod
    def files(check, folder):
        return set(glob(str(folder / check["leaves"]["files"]))) if "leaves" in check else set()


if __name__ == "__main__":
    unittest.main()
