"""What tests of the built tool share: its path from the command line, a folder for each test, and how it is asked."""
import contextlib
import gzip
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("SONDE_SHARED", ROOT.parent / "shared")).absolute()
REAL = SHARED / "data" / "rpd" / "mytrace.rpd.gz"


def take(option, fallback=None):
    """The VALUE of `OPTION VALUE`, which are no longer among the arguments then."""
    if option not in sys.argv:
        return fallback
    at = sys.argv.index(option)
    _, value = sys.argv[at:at + 2]
    del sys.argv[at:at + 2]
    return value


def take_sonde():
    path = take("--sonde")
    if path is None:
        sys.exit(f"usage: {sys.argv[0]} --sonde PATH [unittest options]")
    return os.path.abspath(path)


def sql(path, text):
    """The rows of a query of a trace."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(text).fetchall()


def change(path, script):
    """Runs SQL on a database, which need not be there."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(script)


class ToolCase(unittest.TestCase):
    maxDiff = 3000
    sonde = ""  # the tool; main() below sets it, or what runs the tests otherwise

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sonde_test.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_sonde(self, *words, status=0, timeout=60, text=True, cwd=None, **how):
        """A run of the tool, in the folder of the test or in `cwd`, which has to end with `status` (None: with any)."""
        done = subprocess.run([self.sonde, *map(str, words)], text=text, capture_output=True, stdin=subprocess.DEVNULL,
                              cwd=cwd or self.folder, timeout=timeout, check=False, **how)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done

    def ask(self, *words):
        """What `sonde WORDS` answers as JSON."""
        return json.loads(self.run_sonde(*words, "--format", "json").stdout)

    def export(self, source, name, *options):
        """What `sonde export` makes of a trace: a new file of this name; self.said is what the tool printed."""
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / name
        done = self.run_sonde("export", source, *options, "-o", path)
        self.assertEqual(done.stderr, "")
        self.said = done.stdout
        return path

    def real(self):
        if not REAL.exists():
            self.skipTest(f"no {REAL}")
        plain = self.folder / "real.rpd"
        plain.write_bytes(gzip.decompress(REAL.read_bytes()))
        return plain

    def both(self):
        """The test's own file, and a real one where there is one."""
        yield self.fixture()
        if REAL.exists():
            yield self.real()


def main():
    """Runs the tests of the script with the tool that its command line names; what is skipped is told by name."""
    ToolCase.sonde = take_sonde()
    unittest.main(verbosity=2)
