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

EXACT_OPS = """SELECT o.gpuId, o.queueId, o.start, o.end, n.string, ot.string FROM rocpd_op o
               JOIN rocpd_string n ON n.id = o.description_id
               JOIN rocpd_string ot ON ot.id = o.opType_id"""
QUEUES = "SELECT gpuId, queueId, start, end FROM rocpd_op"
DOMAINS = """SELECT a.start, a.tid, d.string FROM rocpd_api a
             JOIN rocpd_string d ON d.id = a.domain_id"""
ARGUMENTS = """SELECT a.start, a.tid, u.string FROM rocpd_api a JOIN {ustring} u ON u.id = a.args_id
               JOIN rocpd_string n ON n.id = a.apiName_id"""
SHAPES = """SELECT o.start, d.grid_x, d.grid_y, d.grid_z, d.group_x, d.group_y, d.group_z
            FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id WHERE grid_x > 0"""
DETAILS = """SELECT o.start, p.pid, d.bytes, d.group_segment_bytes, d.private_segment_bytes, d.status
             FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id
             JOIN sonde_process p ON p.id = d.process_id WHERE d.api_id"""
COUNTERS = """SELECT p.pid, c.time_ns, n.string, c.value FROM sonde_counter c
              JOIN rocpd_string n ON n.id = c.name_id JOIN sonde_process p ON p.id = c.process_id"""
MONITORS = "SELECT deviceType, deviceId, monitorType, start, value FROM rocpd_monitor"
PROCESSES = "SELECT pid, command, rank FROM sonde_process WHERE command IS NOT NULL"
THREADS = """SELECT p.pid, t.tid, t.name FROM sonde_thread t
             JOIN sonde_process p ON p.id = t.process_id WHERE t.name IS NOT NULL"""
DEVICES = "SELECT gpu_id, backend, name, vendor FROM sonde_device"
CLOCK = """SELECT DISTINCT value - monotonic_ns FROM sonde_clock_snapshot
           WHERE lower(clock) LIKE '%realtime'"""


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

    def back(self, source, form, given=None, options=()):
        out = self.folder / f"out.{form}"
        form_option = [] if form == "pftrace" else ["--format", form]
        subprocess.run([SONDE, "export", source, *form_option, *options, "-o", out], check=True,
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

    def test_pftrace(self):
        """In both of its forms. Render stages have the type as it was."""
        for source in (self.fixture(), *([self.real()] if REAL.exists() else [])):
            made = self.back(source, "pftrace")
            self.same(source, made, EXACT_OPS, APIS, ARGUMENTS, LINKS)
            made.unlink()
            (self.folder / "out.pftrace").unlink()
            made = self.back(source, "pftrace", options=["--track-events"])
            self.same(source, made, OPS, QUEUES, APIS, ARGUMENTS, LINKS)
            made.unlink()
            (self.folder / "out.pftrace").unlink()

    def test_pftrace_of_an_import(self):
        """Everything an .rpd of Sonde can say that the format has a place for."""
        source = self.back(self.fixture(), "rocpd")  # a file with Sonde's own tables
        with sqlite3.connect(source) as database:
            database.executescript("""
                UPDATE sonde_process SET command = 'train.py -x', rank = 3 WHERE pid = 100;
                UPDATE sonde_thread SET name = 'main' WHERE tid = 100;
                DELETE FROM sonde_device; DELETE FROM sonde_op_detail; DELETE FROM sonde_clock_snapshot;
                INSERT INTO sonde_device (gpu_id, backend, name, vendor)
                  VALUES (0, 'hip', 'Test GPU', 'AMD'), (1, 'hip', 'Other GPU', 'AMD');
                INSERT INTO rocpd_string (string) VALUES ('Task'), ('Barrier'), ('loss');
                UPDATE rocpd_op SET queueId = 5, opType_id =
                  (SELECT id FROM rocpd_string WHERE string = 'Task') WHERE id = 1;
                INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, end, description_id,
                  opType_id) SELECT 1, 6, 0, 400, 410, 1, id FROM rocpd_string
                  WHERE string = 'Barrier';
                INSERT INTO sonde_op_detail (op_id, process_id, api_id, bytes, grid_x, grid_y, grid_z,
                  group_x, group_y, group_z, group_segment_bytes, private_segment_bytes, status)
                  SELECT op_id, (SELECT id FROM sonde_process WHERE pid = 100), api_id, op_id * 8, 512, 4, 2, 64, 2, 1, 128, 16, op_id % 2
                  FROM rocpd_api_ops;
                INSERT INTO sonde_counter (process_id, tid, time_ns, name_id, value)
                  SELECT p.id, 100, 1000 + value, s.id, value + 0.5 FROM rocpd_string s,
                    sonde_process p,
                    (SELECT 1 AS value UNION SELECT 2) WHERE s.string = 'loss' AND p.pid = 100;
                INSERT INTO rocpd_monitor (deviceType, deviceId, monitorType, start, end, value)
                  VALUES ('gpu', 1, 'sclk', 1500, 1510, '1700'), ('gpu', 1, 'sclk', 1600, 1610, '1.5');
                INSERT INTO sonde_clock_snapshot (process_id, clock, value, monotonic_ns)
                  VALUES (1, 'CLOCK_REALTIME', 1700000000000001000, 1000);
            """)
        database.close()
        made = self.back(source, "pftrace")
        self.same(source, made, EXACT_OPS, APIS, DOMAINS, ARGUMENTS, LINKS, SHAPES, DETAILS, COUNTERS,
                  MONITORS, PROCESSES, THREADS, DEVICES, CLOCK)
        made.unlink()
        (self.folder / "out.pftrace").unlink()
        made = self.back(source, "pftrace", options=["--track-events"])
        self.same(source, made, QUEUES, APIS, DOMAINS, ARGUMENTS, LINKS, COUNTERS, MONITORS,
                  PROCESSES, THREADS, CLOCK)

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
