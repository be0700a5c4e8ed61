#!/usr/bin/python3
"""Exports an .rpd to another format, imports that, and compares the rows of both files: what a
format can carry must come back, in every field. What it cannot carry is listed in docs/formats.md
and left out of the comparison here.

    round_trip_test.py --sonde PATH [unittest options]

The real file comes from SONDE_SHARED (default ../shared beside the project); without it that case
is skipped by name."""
import gzip
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from rpd_fixture import nested  # noqa: E402

SHARED = pathlib.Path(os.environ.get("SONDE_SHARED", ROOT.parent / "shared"))
REAL = SHARED / "data" / "rpd" / "mytrace.rpd.gz"
SONDE = None
NAMES = ['say "hi", twice', "a;b", "line\nbreak", "it's", "é漢字🙂", "x" * 10_000, "\\"]

# The types that all formats know by themselves; others come back as these.
KIND = """CASE WHEN ot.string LIKE 'Copy%' OR ot.string LIKE 'Fill%' THEN ot.string
          ELSE 'KernelExecution' END"""
OPS = f"""SELECT o.gpuId, o.start, o.end, n.string, {KIND} FROM rocpd_op o
          JOIN rocpd_string n ON n.id = o.description_id
          JOIN rocpd_string ot ON ot.id = o.opType_id"""
# Markers by their text; calls by their name.
APIS = """SELECT a.pid, a.tid, a.start, a.end,
          CASE n.string WHEN 'UserMarker' THEN u.string ELSE n.string END,
          n.string = 'UserMarker'
          FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id
          LEFT JOIN {ustring} u ON u.id = a.args_id"""
LINKS = """SELECT a.start, a.tid, o.start, o.end FROM rocpd_api_ops l
           JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id"""


def rows(path, sql):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {name for name, in database.execute("SELECT name FROM sqlite_master")}
    ustring = "rocpd_ustring" if "rocpd_ustring" in tables else "rocpd_string"
    return Counter(database.execute(sql.format(ustring=ustring)))


class RoundTrip(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde_round."))
        self.addCleanup(shutil.rmtree, self.folder)

    def real(self):
        if not REAL.exists():
            self.skipTest(f"no {REAL}")
        plain = self.folder / "real.rpd"
        plain.write_bytes(gzip.decompress(REAL.read_bytes()))
        return plain

    def fixture(self):
        path = self.folder / "in.rpd"
        nested(path, NAMES).close()
        return path

    def back(self, source, form, given=None):
        out = self.folder / f"out.{form}"
        subprocess.run([SONDE, "export", source, "--format", form, "-o", out], check=True,
                       capture_output=True)
        done = subprocess.run([SONDE, "import", out / given if given else out, "-o",
                               self.folder / f"{form}.rpd"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing skipped", done.stdout)
        return self.folder / f"{form}.rpd"

    def same(self, source, made, *queries):
        for query in queries:
            before, after = rows(source, query), rows(made, query)
            self.assertGreater(len(before), 0)
            self.assertEqual(list((before - after).items())[:3], [], query)
            self.assertEqual(list((after - before).items())[:3], [], query)

    def test_rocpd(self):
        for source in (self.fixture(), *([self.real()] if REAL.exists() else [])):
            made = self.back(source, "rocpd")
            self.same(source, made, OPS, APIS, LINKS)
            made.unlink()
            (self.folder / "out.rocpd").unlink()

    def test_rocprofv3(self):
        for source in (self.fixture(), *([self.real()] if REAL.exists() else [])):
            made = self.back(source, "rocprofv3", "results_kernel_trace.csv")
            self.same(source, made, OPS, LINKS)
            self.same(source, made, APIS)
            made.unlink()
            shutil.rmtree(self.folder / "out.rocprofv3")

    def test_sizes_come_back(self):
        for form, given in (("rocpd", None), ("rocprofv3", "results_hip_api_trace.csv")):
            made = self.back(self.fixture(), form, given)
            self.assertEqual(set(rows(made, "SELECT bytes FROM sonde_op_detail WHERE bytes >= 0")),
                             {(1 << 33,)})
            self.assertEqual(set(rows(made, "SELECT grid_x, grid_y, grid_z, group_x FROM "
                                            "sonde_op_detail WHERE grid_x > 0")),
                             {(256, 2, 1, 64)})
            shutil.rmtree(self.folder)
            self.folder.mkdir()

    def test_rocprof_kernels(self):
        source = self.fixture()
        made = self.back(source, "rocprof", "results.csv")
        kernels = OPS + " WHERE ot.string = 'KernelExecution'"
        self.same(source, made, kernels)


if __name__ == "__main__":
    at = sys.argv.index("--sonde")
    SONDE = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    unittest.main()
