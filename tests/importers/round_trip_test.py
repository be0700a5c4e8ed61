#!/usr/bin/python3
"""Exports an .rpd to another format, imports that, and compares the rows of both files: what a
format can carry must come back, in every field. What it cannot carry is listed in docs/formats.md
and left out of the comparison here.

    round_trip_test.py --sonde PATH [unittest options]

The real files come from SONDE_SHARED (default ../shared beside the project); without them those
cases are skipped by name."""
import json
import pathlib
import shutil
import sys
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from rpd_fixture import Fixture, nested  # noqa: E402
from tool_case import SHARED, ToolCase, change, main, sql  # noqa: E402

KINETO = SHARED / "data" / "kineto"
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

# Everything that Chrome JSON carries.
ALL_OPS = """SELECT o.gpuId, o.queueId, o.start, o.end, n.string, ot.string, o.sequenceId
             FROM rocpd_op o
             JOIN rocpd_string n ON n.id = o.description_id
             JOIN rocpd_string ot ON ot.id = o.opType_id"""
DETAILS = """SELECT o.start, o.end, o.queueId, d.bytes, d.grid_x, d.grid_y, d.grid_z, d.group_x,
             d.group_y, d.group_z, d.group_segment_bytes, d.private_segment_bytes, d.status, p.pid,
             d.queued_ns, d.submitted_ns
             FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id
             LEFT JOIN sonde_process p ON p.id = d.process_id"""
ALL_APIS = """SELECT a.pid, a.tid, a.start, a.end, n.string, c.string, d.string, u.string
              FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id
              LEFT JOIN rocpd_string c ON c.id = a.category_id
              LEFT JOIN rocpd_string d ON d.id = a.domain_id
              LEFT JOIN {ustring} u ON u.id = a.args_id"""
OP_ARGS = """SELECT o.start, o.end, o.queueId, a.args FROM sonde_op_args a
             JOIN rocpd_op o ON o.id = a.op_id"""
COUNTERS = """SELECT p.pid, c.tid, c.time_ns, n.string, c.value FROM sonde_counter c
              JOIN rocpd_string n ON n.id = c.name_id
              JOIN sonde_process p ON p.id = c.process_id"""
OP_COUNTERS = """SELECT o.start, o.end, n.string, c.value FROM rocpd_counter c
                 JOIN rocpd_op o ON o.id = c.op_id JOIN rocpd_string n ON n.id = c.name_id"""
UNFINISHED = """SELECT a.start, a.pid, n.string FROM sonde_unfinished f
                JOIN rocpd_api a ON a.id = f.api_id JOIN rocpd_string n ON n.id = a.apiName_id"""
MONITORS = "SELECT deviceType, deviceId, monitorType, start, CAST(value AS real) FROM rocpd_monitor"
FLOWS = """SELECT f.flow, c.string, n.string, f.phase, p.pid, f.tid, f.time_ns FROM sonde_flow f
           JOIN rocpd_string c ON c.id = f.category_id JOIN rocpd_string n ON n.id = f.name_id
           JOIN sonde_process p ON p.id = f.process_id"""
# Of threads and processes that did something; a counter's process has no row of its own to say so.
PROCESSES = """SELECT p.pid, p.rank, p.executable, p.command FROM sonde_process p
               WHERE p.pid IN (SELECT pid FROM rocpd_api)"""
THREADS = """SELECT p.pid, t.tid, t.name FROM sonde_thread t JOIN sonde_process p
             ON p.id = t.process_id WHERE t.name IS NOT NULL AND EXISTS (SELECT 1 FROM rocpd_api a
             WHERE a.pid = p.pid AND a.tid = t.tid)"""
CLOCK = "SELECT value - monotonic_ns FROM sonde_clock_snapshot WHERE clock = 'realtime'"


def plain(value):
    """JSON arguments without their blanks and order; operations' three numbers may be added."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        found = json.loads(value, parse_float=str)
    except ValueError:
        return value
    return json.dumps(found, sort_keys=True) if found else ""


def rows(path, query):
    tables = {name for name, in sql(path, "SELECT name FROM sqlite_master")}
    ustring = "rocpd_ustring" if "rocpd_ustring" in tables else "rocpd_string"
    return Counter(tuple(map(plain, row)) for row in sql(path, query.format(ustring=ustring)))


def extend(path):
    """Adds to an .rpd of Sonde's own what RPD's files have no place for: times beyond what a double
    holds, calls that overlap, operations of two processes, counters, names of threads, ranks."""
    far = 1 << 60
    change(path, f"""
        DELETE FROM sonde_op_detail; DELETE FROM sonde_thread; DELETE FROM sonde_process;
        UPDATE rocpd_api SET start = start + {far}, end = end + {far};
        UPDATE rocpd_op SET start = start + {far}, end = end + {far};
        INSERT INTO sonde_process(id, pid, rank, executable, command) VALUES
          (1, 100, 3, '/usr/bin/solver', 'solver --fast'), (2, 7, 4, NULL, 'helper');
        INSERT INTO sonde_thread(process_id, tid, name) VALUES (1, 100, 'main "thread"');
        INSERT INTO sonde_device(process_id, gpu_id, name, memory_bytes) VALUES (1, 1, 'GPU', 64);
        INSERT INTO sonde_op_detail(op_id, process_id, api_id, bytes, grid_x, grid_y, grid_z,
          group_x, group_y, group_z, group_segment_bytes, private_segment_bytes, status)
          SELECT o.id, CASE l.api_id % 2 WHEN 0 THEN 1 ELSE 2 END, l.api_id,
          CASE o.id % 2 WHEN 0 THEN 12345678901 END, 1000, 1, 1, 64, 1, 1, 512, 16, 0
          FROM rocpd_op o JOIN rocpd_api_ops l ON l.op_id = o.id;
        UPDATE sonde_op_detail SET process_id = (SELECT p.id FROM rocpd_api a JOIN sonde_process p
          ON p.pid = a.pid WHERE a.id = api_id);
        INSERT INTO rocpd_string(string) VALUES ('queue depth'), ('Odd type'), ('my category'),
          ('roctx'), ('opencl'), ('clFinish');
        INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id)
          SELECT 1, 5, 0, {far} + 50000, {far} + 50010, 1, id FROM rocpd_string
          WHERE string = 'Odd type';
        INSERT INTO sonde_op_detail(op_id, process_id, status) SELECT max(id), 2, -5 FROM rocpd_op;
        INSERT INTO rocpd_api(pid, tid, start, end, apiName_id, category_id, domain_id, args_id)
          SELECT 100, 100, {far} + 90000 + 7 * n, {far} + 95000 + 7 * n, f.id, c.id, d.id, 1
          FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3), rocpd_string f, rocpd_string c,
          rocpd_string d WHERE f.string = 'clFinish' AND c.string = 'my category'
          AND d.string = 'opencl';
        UPDATE rocpd_api SET domain_id = (SELECT id FROM rocpd_string WHERE string = 'roctx')
          WHERE apiName_id = (SELECT id FROM rocpd_string WHERE string = 'UserMarker');
        INSERT INTO rocpd_ustring(string) VALUES ('{{"looks": "like JSON"}}');
        UPDATE rocpd_api SET args_id = last_insert_rowid() WHERE id = (SELECT max(id) FROM rocpd_api);
        UPDATE rocpd_op SET sequenceId = id;
        UPDATE sonde_op_detail SET queued_ns = {far} + op_id, submitted_ns = {far} + op_id + 7
          WHERE op_id % 3 = 0;
        INSERT INTO rocpd_counter(op_id, name_id, value) SELECT o.id, n.id, o.id + 0.5
          FROM rocpd_op o, rocpd_string n
          WHERE n.string IN ('queue depth', 'my category') AND o.id % 2 = 0;
        INSERT INTO sonde_unfinished SELECT id FROM rocpd_api WHERE id % 5 = 0;
        INSERT INTO sonde_counter(process_id, tid, time_ns, name_id, value)
          SELECT 1, 100, {far} + 1500, id, 2.5 FROM rocpd_string WHERE string = 'queue depth';
        INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, end, value)
          VALUES ('gpu', 1, 'sclk', {far} + 100, {far} + 100, '1700.5');
        INSERT INTO sonde_clock_snapshot(process_id, clock, value, monotonic_ns)
          VALUES (1, 'realtime', {far} + 500, {far});
        """)


class RoundTrip(ToolCase):
    def fixture(self):
        path = self.folder / "in.rpd"
        nested(path, NAMES).close()
        return path

    def sondes(self):
        path = self.folder / "made.rpd"
        self.run_sonde("upgrade", self.fixture(), "-o", path)
        extend(path)
        return path

    def back(self, source, form, given=None, options=()):
        out = self.export(source, f"out.{form}", "--format", "chrome" if form.startswith("json") else form, *options)
        made = out.with_name("made.rpd")
        done = self.run_sonde("import", out / given if given else out, "-o", made)
        self.assertIn("nothing skipped", done.stdout)
        return made

    def same(self, source, made, *queries, empty=False):
        for query in queries:
            before, after = rows(source, query), rows(made, query)
            if not empty:
                self.assertGreater(len(before), 0)
            self.assertEqual(list((before - after).items())[:3], [], query)
            self.assertEqual(list((after - before).items())[:3], [], query)

    def test_rocpd_and_rocprofv3s_json(self):
        for form in ("rocpd", "rocprofv3-json"):
            for source in self.both():
                made = self.back(source, form)
                self.same(source, made, OPS, APIS, LINKS)
                source.unlink()

    def test_rocprofv3(self):
        for source in self.both():
            made = self.back(source, "rocprofv3", "results_kernel_trace.csv")
            self.same(source, made, OPS, LINKS, APIS)

    def test_chrome_of_rpds_recordings(self):
        for old in self.both():
            source = self.folder / f"new_{old.name}"
            self.run_sonde("upgrade", old, "-o", source)
            made = self.back(source, "json")
            # Old files have no domains; an import fills them in.
            self.same(source, made, ALL_OPS, ALL_APIS.replace("d.string, ", ""), LINKS)
            self.same(source, made, MONITORS, empty=old.name == "in.rpd")

    def test_chrome_of_sondes_recordings(self):
        source = self.sondes()
        made = self.back(source, "json")
        self.same(source, made, ALL_OPS, DETAILS, ALL_APIS, LINKS, COUNTERS, MONITORS, PROCESSES,
                  THREADS, OP_COUNTERS, UNFINISHED)
        # The second time everything is an import.
        again = self.back(source, "json.gz")
        self.same(made, again, ALL_OPS, DETAILS, ALL_APIS, LINKS, COUNTERS, MONITORS, PROCESSES,
                  THREADS, OP_COUNTERS, UNFINISHED, CLOCK)

    def test_chrome_of_one_gpu(self):
        source = self.sondes()
        made = self.back(source, "json", options=["--gpu", "1"])
        for query in (ALL_OPS, DETAILS, OP_COUNTERS):
            before, after = rows(source, query + " WHERE o.gpuId = 1"), rows(made, query)
            self.assertGreater(len(before), 1)
            self.assertEqual(before, after, query)

    def test_chrome_of_pytorchs_traces(self):
        traces = sorted(KINETO.glob("*.json.gz"))
        if not traces:
            self.skipTest(f"no {KINETO}")
        for trace in traces:
            with self.subTest(trace.name):
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                source = self.folder / "source.rpd"
                self.run_sonde("import", trace, "-o", source)
                made = self.back(source, "json")
                self.same(source, made, ALL_APIS, PROCESSES)
                self.same(source, made, ALL_OPS, DETAILS, OP_ARGS, LINKS, COUNTERS, FLOWS, THREADS,
                          CLOCK, empty=True)

    def test_sizes_come_back(self):
        for form, given in (("rocpd", None), ("rocprofv3-json", None), ("rocprofv3", "results_hip_api_trace.csv")):
            made = self.back(self.fixture(), form, given)
            self.assertEqual(set(rows(made, "SELECT bytes FROM sonde_op_detail WHERE bytes >= 0")),
                             {(1 << 33,)})
            self.assertEqual(set(rows(made, "SELECT grid_x, grid_y, grid_z, group_x FROM "
                                            "sonde_op_detail WHERE grid_x > 0")),
                             {(256, 2, 1, 64)})
            (self.folder / "in.rpd").unlink()

    def launches(self, name):
        """1,024 groups of 256, which RPD's tracer stores as the call has them: groups or work items."""
        path = self.folder / name
        fixture = Fixture(path)
        for i, (call, grid) in enumerate((("hipLaunchKernel", 1024), ("hipExtModuleLaunchKernel", 262144),
                                          ("hipHccModuleLaunchKernel", 262144))):
            launch = fixture.api(1000 + 100 * i, 1050 + 100 * i, call)
            fixture.kernel_api(launch, (grid, 1, 1), (256, 1, 1), "scale")
            fixture.op(2000 + 100 * i, 2050 + 100 * i, "scale", apis=[launch])
        fixture.close()
        return path

    def test_grids_of_rpds_recordings(self):
        old, upgraded, merged = self.launches("old.rpd"), self.folder / "upgraded.rpd", self.folder / "merged.rpd"
        self.run_sonde("upgrade", old, "-o", upgraded)
        self.run_sonde("merge", "--align", "none", old, self.launches("other.rpd"), "-o", merged)
        grids = "SELECT grid_x, group_x FROM sonde_op_detail WHERE grid_x > 0"
        for path in upgraded, merged:
            self.assertEqual(set(rows(path, grids)), {(262144, 256)}, path)
        for source in old, upgraded, merged:
            self.assertEqual({row["grid"] for row in self.ask("kernels", source)["kernels"]}, {"262144"})
            for form, given in (("json", None), ("perfetto", None), ("rocpd", None), ("rocprofv3-json", None),
                                ("rocprofv3", "results_hip_api_trace.csv"), ("rocprof", "results.csv")):
                made = self.back(source, form, given)
                self.assertEqual(set(rows(made, grids)), {(262144, 256)}, (source, form))
            text = self.export(source, "out.json", "--format", "chrome").read_text()
            self.assertEqual(text.count('"grid":[1024,1,1]'), text.count('"grid":'))

    def test_rocprof_kernels(self):
        source = self.fixture()
        made = self.back(source, "rocprof", "results.csv")
        kernels = OPS + " WHERE ot.string = 'KernelExecution'"
        self.same(source, made, kernels)


if __name__ == "__main__":
    main()
