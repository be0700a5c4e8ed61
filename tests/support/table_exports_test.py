#!/usr/bin/python3
"""Exports .rpd files to the formats that are tables, databases and profiles, and compares what
Python's own readers (csv, sqlite3, json) and otf2-print find there with the tables of the file.

    table_exports_test.py --sonde PATH [unittest options]

Real files come from SONDE_SHARED (default ../shared beside the project); otf2-print from
otf2-tools. Without them the tests that want them are skipped by name."""
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import defaultdict

from pftrace_check import fields
from rpd_fixture import Fixture, expected, nested
from tool_case import ROOT, SHARED, ToolCase, change, main, sql

NASTY = ['say "hi", twice', "a;b", "line\nbreak", "it's", "é漢字🙂", "x" * 10_000, " ", "\\"]


def rows_of(path):
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def spans_by_name(rows, name, start, end):
    names = defaultdict(lambda: [0, 0])
    for row in rows:
        entry = names[row[name]]
        entry[0] += 1
        entry[1] += int(row[end]) - int(row[start])
    return {key: list(entry) for key, entry in names.items()}


def self_times(slices):
    """{path: ns} of nested slices (start, end, name), by looking at every elementary interval."""
    times = sorted({time for start, end, _ in slices for time in (start, end)})
    found = defaultdict(int)
    for begin, until in zip(times, times[1:]):
        over = [s for s in slices if s[0] <= begin and s[1] >= until]
        over.sort(key=lambda s: (s[0], -s[1]))
        if over:
            found[tuple(name for _, _, name in over)] += until - begin
    return dict(found)


class TableCase(ToolCase):
    def fixture(self):
        """Nested calls of two processes, markers, kernels and copies with every nasty name."""
        path = self.folder / "in.rpd"
        fixture = nested(path, NASTY)
        fixture.op(50_000, 50_010, "launched by nobody")
        fixture.close()
        return path

    def export(self, source, form, *options):
        return super().export(source, f"out.{form}", "--format", form, *options)


class Rocprofv3(TableCase):
    def test_every_event_stands_in_its_table(self):
        for source in self.both():
            want = expected(source)
            out = self.export(source, "rocprofv3")
            ops = spans_by_name(rows_of(out / "results_kernel_trace.csv"), "Kernel_Name",
                                "Start_Timestamp", "End_Timestamp")
            copies = rows_of(out / "results_memory_copy_trace.csv")
            apis = {}
            for file in out.glob("results_*_api_trace.csv"):
                apis.update(spans_by_name(rows_of(file), "Function", "Start_Timestamp",
                                          "End_Timestamp"))
            kernels = {f"op {name}": entry for name, entry in ops.items()}
            calls = {f"api {name}": entry for name, entry in apis.items()}
            self.assertEqual(calls, {k: v for k, v in want["names"].items() if k[:4] == "api "})
            others = {k: v for k, v in want["names"].items()
                      if k[:3] == "op " and not re.match("op (Copy|Fill)", k)}
            self.assertEqual(kernels, others)
            self.assertEqual(sum(e[0] for e in ops.values()) + len(copies), want["ops"])

    def test_geometry_bytes_and_agents(self):
        out = self.export(self.fixture(), "rocprofv3")
        kernel = rows_of(out / "results_kernel_trace.csv")[0]
        self.assertEqual([kernel[f"Grid_Size_{a}"] for a in "XYZ"], ["256", "2", "1"])
        self.assertEqual([kernel[f"Workgroup_Size_{a}"] for a in "XYZ"], ["64", "1", "1"])
        copy = rows_of(out / "results_memory_copy_trace.csv")[1]
        self.assertEqual((copy["Direction"], copy["Size_Bytes"]),
                         ("MEMORY_COPY_HOST_TO_DEVICE", str(1 << 33)))
        self.assertEqual((copy["Source_Agent_Id"], copy["Destination_Agent_Id"]),
                         ("Agent 0", "Agent 2"))
        agents = rows_of(out / "results_agent_info.csv")
        self.assertEqual([a["Agent_Type"] for a in agents], ["CPU", "GPU", "GPU"])
        self.assertEqual(len(agents[0]), 53)

    def test_statistics_are_those_of_the_rows(self):
        out = self.export(self.fixture(), "rocprofv3")
        rows = rows_of(out / "results_memory_copy_stats.csv")
        self.assertEqual([(r["Name"], r["Calls"], r["TotalDurationNs"], r["MinNs"], r["StdDev"])
                          for r in rows],
                         [("MEMORY_COPY_HOST_TO_DEVICE", "8", "720", "90", "0.000000")])


class Rocprof(TableCase):
    def test_kernels_and_statistics(self):
        for source in self.both():
            want = expected(source)["names"]
            out = self.export(source, "rocprof")
            kernels = spans_by_name(rows_of(out / "results.csv"), "KernelName", "BeginNs", "EndNs")
            stats = {}
            for file in out.glob("results.*stats.csv"):
                kind = "op" if file.name in ("results.stats.csv", "results.copy_stats.csv") \
                    else "api"
                for row in rows_of(file):
                    stats[f"{kind} {row['Name']}"] = [int(row["Calls"]),
                                                      int(row["TotalDurationNs"])]
            self.assertEqual(stats, want)
            self.assertEqual({f"op {k}": v for k, v in kernels.items()},
                             {k: v for k, v in want.items()
                              if k[:3] == "op " and not re.match("op (Copy|Fill)", k)})


class CountersOfKernels(TableCase):
    """Three kernels, of which the first has a counter in two parts and the last none."""

    def counted(self):
        path = self.folder / "in.rpd"
        fixture = Fixture(path)
        ops = [fixture.op(1000 + 100 * i, 1050 + 100 * i, name) for i, name in enumerate("abc")]
        for op, name, value in ((ops[0], "SQ_WAVES", 16), (ops[0], "TCC_HIT", 2 ** 40),
                                (ops[0], "TCC_HIT", 1), (ops[1], 'say, "x"', 0.25),
                                (ops[1], "SQ_WAVES", 3)):
            fixture.op_counter(op, name, value)
        fixture.close()
        return path

    def test_rocprof_has_a_column_for_each(self):
        rows = rows_of(self.export(self.counted(), "rocprof") / "results.csv")
        columns = list(rows[0])
        between = columns[columns.index("obj") + 1:columns.index("DispatchNs")]
        self.assertEqual(between, ["SQ_WAVES", "TCC_HIT", 'say, "x"'])
        self.assertEqual([[row[name] for name in between] for row in rows],
                         [["16", str(2 ** 40 + 1), ""], ["3", "", "0.25"], ["", "", ""]])

    def test_rocprofv3_has_a_row_for_each(self):
        out = self.export(self.counted(), "rocprofv3")
        rows = rows_of(out / "results_counter_collection.csv")
        self.assertEqual([(row["Dispatch_Id"], row["Kernel_Name"], row["Counter_Name"],
                           row["Counter_Value"], row["Start_Timestamp"]) for row in rows],
                         [("1", "a", "SQ_WAVES", "16", "1000"),
                          ("1", "a", "TCC_HIT", str(2 ** 40 + 1), "1000"),
                          ("2", "b", "SQ_WAVES", "3", "1100"),
                          ("2", "b", 'say, "x"', "0.25", "1100")])
        kernels = {row["Kernel_Name"]: row["Kernel_Id"]
                   for row in rows_of(out / "results_kernel_trace.csv")}
        self.assertEqual([row["Kernel_Id"] for row in rows],
                         [kernels[row["Kernel_Name"]] for row in rows])


    def test_rocpd_has_them_and_they_are_read_back(self):
        source = self.counted()
        out = self.export(source, "rocpd")
        found = sql(out, "SELECT kernel_name, counter_name, value FROM counters_collection ORDER BY dispatch_id, "
                         "counter_id")
        self.assertEqual(found, [("a", "SQ_WAVES", 16), ("a", "TCC_HIT", 2 ** 40 + 1),
                                 ("b", "SQ_WAVES", 3), ("b", 'say, "x"', 0.25)])
        back = self.folder / "back.rpd"
        self.run_sonde("import", out, "-o", back)
        want, read = (sql(
            path, "SELECT o.start - (SELECT min(start) FROM rocpd_op), s.string, sum(c.value) FROM "
            "rocpd_counter c JOIN rocpd_op o ON o.id = c.op_id JOIN rocpd_string s ON "
            "s.id = c.name_id GROUP BY 1, 2 ORDER BY 1, 2") for path in (source, back))
        self.assertEqual(read, want)


class Rocpd(TableCase):
    def test_every_event_and_its_name(self):
        for source in self.both():
            want = expected(source)
            out = self.export(source, "rocpd")
            one = lambda query: sql(out, query)[0]
            kernels = one("SELECT count(*), sum(duration) FROM kernels")
            copies = one("SELECT count(*), coalesce(sum(duration), 0) FROM memory_copies")
            self.assertEqual((kernels[0] + copies[0], kernels[1] + copies[1]),
                             (want["ops"], want["ops_ns"]))
            regions = one("SELECT count(*), sum(duration) FROM regions")
            instants = one("SELECT count(*) FROM rocpd_sample S LEFT JOIN rocpd_pmc_event P "
                           "ON P.event_id = S.event_id WHERE P.id IS NULL")
            self.assertEqual((regions[0] + instants[0], regions[1]),
                             (want["apis"], want["apis_ns"]))
            self.assertEqual(instants[0], want["instants"])
            self.assertEqual(one("SELECT value FROM rocpd_metadata WHERE tag='schema_version'"),
                             ("3",))
            self.assertEqual(one("PRAGMA integrity_check"), ("ok",))

    def test_columns_are_those_of_the_real_schema(self):
        schema = SHARED / "data" / "rocpd" / "rocpd_schema_v3_instantiated.sql"
        if not schema.exists():
            self.skipTest(f"no {schema}")
        real = sqlite3.connect(":memory:")
        real.executescript(schema.read_text())
        ours = sqlite3.connect(self.export(self.fixture(), "rocpd"))
        def tables(database):
            return {re.sub("_[0-9a-f]{8}_.*", "", name):
                    [(c[1], c[2], c[3]) for c in database.execute(f"PRAGMA table_info('{name}')")]
                    for name, in database.execute(
                        "SELECT name FROM sqlite_master WHERE type='table' AND "
                        "name LIKE 'rocpd%'")}
        self.assertEqual(tables(ours), tables(real))

    def test_arguments_and_messages(self):
        out = self.export(self.fixture(), "rocpd")
        arguments = sql(out, "SELECT DISTINCT position, name, value FROM rocpd_arg ORDER BY 1")
        self.assertEqual(arguments, [(0, "a", "1"), (1, "b", "two")])
        messages = {json.loads(text)["message"] for text, in sql(
            out, "SELECT extdata FROM regions WHERE name = 'roctxThreadRangeA'")}
        self.assertEqual(messages, set(NASTY))


class Otf2(TableCase):
    def setUp(self):
        super().setUp()
        if shutil.which("otf2-print") is None:
            self.skipTest("no otf2-print")
        if "otf2" not in self.run_sonde("export", "--help").stdout:
            self.skipTest("sonde was built without OTF2")

    def printed(self, out, *options):
        done = subprocess.run(["otf2-print", *options, out / "trace.otf2"], capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def metrics(self, out):
        """[(name, time, value)] of the archive, and {name: where its instance belongs}."""
        values = re.findall(r'METRIC +\d+ +(\d+) +Metric: \d+, 1 Value: '
                            r'\("(.*)" <\d+>; DOUBLE; (.*)\)', self.printed(out).decode())
        text = self.printed(out, "-G").decode()
        name_of = dict(re.findall(r'METRIC_CLASS +(\d+) .* 1 Member: "(.*)" <', text))
        scopes = {name_of[number]: scope for number, scope in re.findall(
            r'METRIC_INSTANCE +\d+  Class: (\d+), .* Scope: (\w+ ".*") <', text)}
        return sorted((name, int(time), float(value)) for time, name, value in values), scopes

    def test_counters_of_the_machine(self):
        source = self.folder / "in.rpd"
        fixture = nested(source, ["a"])
        for i, value in enumerate(("1200.5", "1300", "-2e300", "no number")):
            fixture.monitor(1500 + i * 100, value)
            fixture.monitor(1510 + i * 100, str(i), device=1, kind="power_w")
        fixture.close()
        found, scopes = self.metrics(self.export(source, "otf2"))
        want = sql(source, "SELECT deviceType || ' ' || deviceId || ' ' || monitorType, start, value + 0 FROM "
                           "rocpd_monitor WHERE value != 'no number' ORDER BY 1, 2")
        self.assertEqual(found, want)
        machine = 'SYSTEM_TREE_NODE "machine::machine"'
        self.assertEqual(scopes, {"gpu 0 sclk": machine, "gpu 1 power_w": machine})

    def test_counters_of_processes(self):
        events = [{"ph": "C", "name": name, "pid": pid, "ts": ts, "args": {"value": value}}
                  for name, pid, ts, value in (("load", 8, 3, 0.5), ("load", 9, 1, 7),
                                               ("depth", 8, 2, 1), ("load", 8, 4, 1e-3))]
        events.append({"ph": "X", "cat": "cpu_op", "name": "f", "pid": 8, "tid": 8, "ts": 1,
                       "dur": 5})
        document = self.folder / "in.json"
        document.write_text(json.dumps({"traceEvents": events}))
        found, scopes = self.metrics(self.export(document, "otf2"))
        self.assertEqual(found, [("depth", 2000, 1), ("load", 1000, 7), ("load", 3000, 0.5),
                                 ("load", 4000, 0.001)])
        self.assertEqual(scopes["depth"], 'LOCATION_GROUP "process 8"')

    def test_otf2_print_finds_every_event(self):
        for source in self.both():
            want = expected(source)
            out = self.export(source, "otf2")
            open_at = defaultdict(list)
            total = count = 0
            for line in self.printed(out).splitlines():
                match = re.match(rb"(ENTER|LEAVE)\s+(\d+)\s+(\d+)  Region: ", line)
                if match is None:
                    continue
                kind, location, time = match[1], match[2], int(match[3])
                if kind == b"ENTER":
                    open_at[location].append(time)
                else:
                    total += time - open_at[location].pop()
                    count += 1
            self.assertFalse(any(open_at.values()))
            self.assertEqual((count, total), (want["ops"] + want["apis"],
                                              want["ops_ns"] + want["apis_ns"]))


class Profiles(TableCase):
    def want(self):
        """{path: ns} of the fixture's thread 1 of process 1, found by brute force."""
        slices = []
        for i, name in enumerate(NASTY):
            at = 1000 + i * 1000
            slices += [(at, at + 500, name), (at + 100, at + 200, "hipLaunchKernel")]
        return self_times(slices)

    def test_folded(self):
        found = {}
        for line in self.export(self.fixture(), "folded").read_text().splitlines():
            path, value = line.rsplit(" ", 1)
            found[tuple(path.split(";"))[2:]] = int(value)
        want = {tuple(n.replace(";", ":").replace("\n", " ") for n in path): value
                for path, value in self.want().items()}
        self.assertEqual({p: v for p, v in found.items() if p != ("hipMemcpy",)}, want)
        self.assertEqual(found[("hipMemcpy",)], 8 * 50)

    def test_device_time_hangs_below_its_call(self):
        text = self.export(self.fixture(), "folded-gpu").read_text()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines())
        self.assertEqual(sum(map(int, lines.values())), 8 * 190 + 10)
        self.assertEqual(lines["(launched by no recorded call);launched by nobody"], "10")
        copies = [v for k, v in lines.items() if k.endswith(";hipMemcpy;CopyHostToDevice")]
        self.assertEqual(copies, ["720"])

    def test_speedscope(self):
        for source in self.both():
            want = expected(source)
            found = json.loads(self.export(source, "speedscope").read_text())
            host, device = found["profiles"]
            self.assertEqual(device["endValue"], sum(device["weights"]))
            self.assertEqual(sum(device["weights"]), want["ops_ns"])
            self.assertEqual(len(host["samples"]), len(host["weights"]))
            self.assertLessEqual(sum(host["weights"]), want["apis_ns"])
            for stack in host["samples"] + device["samples"]:
                self.assertLess(max(stack), len(found["shared"]["frames"]))

    def test_pprof(self):
        for source in self.both():
            want = expected(source)
            data = gzip.decompress(self.export(source, "pprof").read_bytes())
            strings, functions, calls, device = [], {}, 0, 0
            for field, value in fields(data):
                if field == 6:
                    strings.append(bytes(value).decode())
                elif field == 5:
                    parts = dict(fields(value))
                    functions[parts[1]] = parts[2]
                elif field == 2:
                    values = [v for f, v in fields(value) if f == 2]
                    calls += values[0]
                    device += values[2]
            self.assertEqual(strings[0], "")
            self.assertEqual(calls, want["ops"] + want["apis"])
            self.assertEqual(device, want["ops_ns"])
            names = {strings[index] for index in functions.values()}
            for name in want["names"]:
                self.assertIn(name.split(" ", 1)[1], names)


class Wanted(TableCase):
    def test_one_gpu_or_rank(self):
        source = self.fixture()
        events = json.loads(self.export(source, "chrome", "--gpu", "1").read_text())["traceEvents"]
        devices = {e["args"]["device"] for e in events
                   if e["ph"] == "X" and "device" in e["args"]}
        self.assertEqual(devices, {1})
        none = self.export(source, "chrome", "--rank", "5")
        self.assertEqual([e for e in json.loads(none.read_text())["traceEvents"]
                          if e["ph"] == "X"], [])


class Split(TableCase):
    def test_each_event_is_in_one_part_and_parts_are_small(self):
        for source in self.both():
            want = expected(source)
            limit = 3000 if "in.rpd" in str(source) else 1 << 20
            done = self.run_sonde("export", source, "-o", "a.json", "--split-size", limit)
            self.assertEqual(done.stderr, "")
            parts = list(self.folder.glob("a.part*.json"))
            self.assertEqual(len(parts), len(done.stdout.splitlines()))
            self.assertGreater(len(parts), 2)
            count = 0
            for part in parts:
                slices = [e for e in json.loads(part.read_text())["traceEvents"]
                          if e["ph"] in "Xi"]
                count += len(slices)
                self.assertTrue(part.stat().st_size <= limit or len(slices) == 1, part)
                part.unlink()
            self.assertEqual(count, want["ops"] + want["apis"])

    def test_a_pause_makes_no_empty_parts(self):
        source = self.fixture()
        for table in ("rocpd_api", "rocpd_op"):  # the second half is ten years later
            change(source, f"""UPDATE {table} SET start = start + 315360000000000000,
                "end" = "end" + 315360000000000000 WHERE id > (SELECT max(id) / 2 FROM {table})""")
        lines = self.run_sonde("export", source, "-o", "a.json", "--split-size", "3000").stdout.splitlines()
        self.assertGreater(len(lines), 2)
        for line in lines:
            self.assertNotIn("0 operations, 0 API calls", line)

    def test_what_fits_is_one_file(self):
        self.run_sonde("export", self.fixture(), "-o", "a.pftrace", "--split-size", "10M")
        self.assertEqual([p.name for p in self.folder.glob("a*")], ["a.pftrace"])


class Rpd2tracing(TableCase):
    def run_script(self, *arguments, **variables):
        script = ROOT / "python" / "rpd2tracing.py"
        return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True,
                              cwd=self.folder, env=variables or {**os.environ, "SONDE": self.sonde})

    def test_from_the_sources_it_takes_the_sonde_of_the_path(self):
        """Beside the script is a folder of that name, Python's package."""
        self.fixture()
        variables = {key: value for key, value in os.environ.items() if key != "SONDE"}
        variables["PATH"] = f"{pathlib.Path(self.sonde).resolve().parent}:{variables['PATH']}"
        done = self.run_script("in.rpd", **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.folder / "in.json").exists())

    def test_an_array_of_a_recording_with_sampled_stacks(self):
        """What stands behind the events in a document has no place in an array."""
        source = self.fixture()
        self.run_sonde("upgrade", source, "-o", "new.rpd")
        change(self.folder / "new.rpd", """
            INSERT INTO sonde_frame (id, kind, address, function) VALUES (1, 'native', 1, 'f');
            INSERT INTO sonde_stack (id, frame_id) VALUES (1, 1);
            INSERT INTO sonde_sample (process_id, tid, time_ns, stack_id, cpu_ns, missed, cost_ns, truncated, by_timer)
              SELECT min(id), 100, 1500, 1, 10, 0, 0, 0, 1 FROM sonde_process;
            INSERT INTO sonde_note (key, value) VALUES ('odd', '{"traceEvents":[1, 2]}');""")
        done = self.run_script("new.rpd", "new.json", "--format", "array")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        events = json.loads((self.folder / "new.json").read_text())
        self.assertIsInstance(events, list)
        self.assertIn("ProfileChunk", {event["name"] for event in events})

    def slices(self, path, array=False):
        content = json.loads((self.folder / path).read_text())
        return [e for e in (content if array else content["traceEvents"]) if e["ph"] in "Xi"]

    def test_the_command_line_of_rpd(self):
        want = expected(self.fixture())
        self.assertEqual(self.run_script("in.rpd").returncode, 0)
        self.assertEqual(len(self.slices("in.json")), want["ops"] + want["apis"])
        self.assertEqual(self.run_script("in.rpd", "in.json", "--format", "array").returncode, 0)
        self.assertEqual(len(self.slices("in.json", array=True)), want["ops"] + want["apis"])
        # From 2 us to 3 us of the trace's clock: the second round of the fixture.
        self.run_script("in.rpd", "part.json", "--start", "2", "--end", "3")
        self.assertEqual({e["args"]["correlation"] for e in self.slices("part.json")},
                         {5, 6, 7, 8})
        self.assertEqual(self.run_script("none.rpd", "x.json").returncode, 1)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["in.json", "in.rpd", "part.json"])


if __name__ == "__main__":
    main()
