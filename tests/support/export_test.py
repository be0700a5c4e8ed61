#!/usr/bin/python3
"""Exports real and hostile .rpd files with `sonde export` and compares what independent decoders
find in the result with the tables of the file.

    export_test.py --sonde PATH [unittest options]

Real files come from SONDE_SHARED (default ../shared beside the project), a trace_processor_shell
from SONDE_TRACE_PROCESSOR; without them the tests that want them are skipped by name."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "importers"))
from protobuf import message  # noqa: E402
from rpd_fixture import Fixture, expected  # noqa: E402
from tool_case import SHARED, ToolCase, change, main  # noqa: E402

REAL = SHARED / "data" / "rpd"
PERFETTO_TEXT_LIMIT = 64 * 1024
FORMATS = {"json": ("chrome_check.py", None), "json.gz": ("chrome_check.py", None),
           "pftrace": ("pftrace_check.py", PERFETTO_TEXT_LIMIT)}
NASTY = ['say "hi"', "back\\slash", "line\nbreak\r\n", "tab\tbell\x07esc\x1bnul\x01", "é漢字🙂",
         b"bad \xff\xfe utf8 \xc3", b"cut \xe2\x82 and \xf0\x9f\x99", b"\xed\xa0\x80 surrogate",
         "x" * 10_000, "y" * 70_000 + "é" * 40, "</script><!--", "\x7f", "{}[],:", " "]


def check(script, path):
    done = subprocess.run([sys.executable, HERE / script, path], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class ExportCase(ToolCase):
    def export(self, source, extension, *options):
        output = super().export(source, f"out.{extension}", *options)
        self.assertEqual(len(self.said.splitlines()), 1, self.said)
        return output

    def compare(self, source, extension, window=None, options=()):
        """Exports, decodes, and compares with the tables. Returns what was decoded."""
        script, limit = FORMATS[extension]
        output = self.export(source, extension, *options)
        found, want = check(script, output), expected(source, limit, window)
        if "kernels" in found:  # .pftrace shows names demangled
            found["names"] = {self.recorded(name, found["kernels"]): times
                              for name, times in found["names"].items()}
        for key in ("ops", "ops_ns", "apis", "apis_ns", "instants", "names"):
            self.assertEqual(found[key], want[key], f"{extension} {key}")
        self.assertEqual(found["flows"], want["launches" if extension == "pftrace" else "arrows"])
        if want["skipped"]:
            self.assertIn(f"; {want['skipped']} skipped", self.said)
        else:
            self.assertNotIn("skipped", self.said)
        self.judge(output)
        return found

    @staticmethod
    def recorded(name, kernels):
        kind, shown = name.split(" ", 1)
        return f"{kind} {kernels.get(shown, shown)}" if kind == "op" else name

    def judge(self, output):
        """Loads the export in Perfetto's own trace_processor, where there is one."""
        shell = os.environ.get("SONDE_TRACE_PROCESSOR")
        if not shell:
            return
        query = self.folder / "query.sql"
        query.write_text("select name, value from stats where value > 0 and severity in "
                         "('error', 'data_loss');")
        done = subprocess.run([shell, "query", "-f", query, output], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)


class RealFiles(ExportCase):
    def source(self, name):
        if not (REAL / name).exists():
            self.skipTest(f"no {REAL / name}")
        if not name.endswith(".gz"):
            return REAL / name
        plain = self.folder / name[:-3]
        plain.write_bytes(gzip.decompress((REAL / name).read_bytes()))
        return plain

    def test_every_event_once_with_its_duration(self):
        for name, ops, apis, counters in (("matmul_result.rpd", 85, 125, 15),
                                          ("matmul_result_large.rpd", 85, 125, 62),
                                          ("mytrace.rpd.gz", 10_124, 14_736, 81)):
            for extension in FORMATS:
                with self.subTest(name=name, extension=extension):
                    found = self.compare(self.source(name), extension)
                    self.assertEqual((found["ops"], found["apis"], found["counters"]),
                                     (ops, apis, counters))
                    self.assertEqual(found["flows"], ops)
                if not name.endswith("gz"):
                    self.compare(self.source(name), "pftrace", options=("--track-events",))

    def test_gzipped_input_gives_the_same(self):
        plain = self.source("mytrace.rpd.gz")
        for extension in ("json", "pftrace"):
            from_plain = self.export(plain, extension).read_bytes()
            from_gzip = self.export(REAL / "mytrace.rpd.gz", extension).read_bytes()
            # Chrome JSON names its source.
            self.assertEqual(from_plain.replace(str(plain).encode(), b""),
                             from_gzip.replace(str(REAL / "mytrace.rpd.gz").encode(), b""))

    def test_overlapping_operations_stand_on_lanes(self):
        found = self.compare(self.source("mytrace.rpd.gz"), "json")
        self.assertEqual(found["gpu_tracks"], 2)

    def test_pftrace_is_a_fifth_of_the_json(self):
        source = self.source("mytrace.rpd.gz")
        json_size = self.export(source, "json").stat().st_size
        self.assertLess(self.export(source, "pftrace").stat().st_size * 5, json_size)


class HostileFiles(ExportCase):
    def fixture(self, fill):
        path = self.folder / "in.rpd"
        path.unlink(missing_ok=True)
        fixture = Fixture(path)
        fill(fixture)
        fixture.close()
        return path

    def compare_all(self, fill):
        source = self.fixture(fill)
        self.compare(source, "pftrace", options=("--track-events",))
        return {extension: self.compare(source, extension) for extension in FORMATS}

    def test_empty_file(self):
        for found in self.compare_all(lambda f: None).values():
            self.assertEqual((found["ops"], found["apis"], found["packets"] > 0
                              if "packets" in found else True), (0, 0, True))

    def test_names_of_every_kind(self):
        def fill(f):
            for i, name in enumerate(NASTY):
                at = 1000 + i * 100
                api = f.api(at, at + 50, name, args=name)
                f.op(at + 60, at + 90, name, apis=[api])
                f.op(at + 60, at + 90, name, kind=name, queue=1)
                for again in range(3):
                    f.api(at + 60 + 3 * again, at + 61 + 3 * again, "UserMarker", args=name, tid=7)
        found = self.compare_all(fill)
        self.assertEqual(found["json"]["args_texts"], len(NASTY))

    def test_overlaps_of_calls_and_operations(self):
        def fill(f):
            a = f.api(1000, 2000, "outer")
            f.api(1500, 2500, "across")
            f.api(1000, 2000, "same span")
            f.api(1200, 1300, "inner")
            f.api(2000, 2100, "touches")
            f.api(2400, 2600, "across again")
            for start, end in ((1000, 5000), (1100, 1200), (1200, 1300), (4998, 5002),
                               (4999, 5001), (5000, 6000)):
                f.op(start, end, "kernel", apis=[a])
        found = self.compare_all(fill)
        self.assertEqual(found["json"]["api_tracks"], 2)
        self.assertEqual(found["json"]["gpu_tracks"], 3)
        self.assertEqual(found["pftrace"]["lanes"], 1)
        self.assertEqual(found["pftrace"]["gpu_tracks"], 1)

    def test_two_thousand_ranges_that_never_nest(self):
        def fill(f):
            for i in range(2000):
                f.api(1000 + i, 10_000 + i, "UserMarker", args=f"request {i}")
        self.assertEqual(self.compare_all(fill)["json"]["api_tracks"], 2000)

    def test_nesting_deeper_than_viewers_go(self):
        def fill(f):
            for i in range(1200):
                f.api(1000 + i, 100_000 - i, f"level {i % 7}")
        self.assertEqual(self.compare_all(fill)["pftrace"]["max_nesting"], 500)

    def test_lengths_and_times_that_break_viewers(self):
        def fill(f):
            launch = f.api(1000, 2000, "launch")           # 1 us with an arrow
            mark = f.api(1500, 1500, "UserMarker", args="mark")
            f.op(2500, 2500, "zero", apis=[launch])
            f.op(2500, 2600, "kernel", apis=[launch, mark])
            f.op(0, 700, "never started", apis=[launch])
            f.op(3000, 2900, "backwards", apis=[launch])
            f.op(-5, 10, "before the boot")
            f.op(3000, 3100, "not launched here")
            f.api(0, 100, "no start")
            f.api(3000, 0, "no end")
            f.database.execute("INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (999, 1), (1, 999)")
        found = self.compare_all(fill)
        self.assertEqual(found["json"]["flows"], 1)
        self.assertEqual(found["pftrace"]["flows"], 2)

    def test_times_beyond_what_a_double_holds(self):
        base = (1 << 60) + 1
        def fill(f):
            f.api(base, base + (1 << 53) + 1, "long")
            for i in range(50):
                api = f.api(base + 7 * i, base + 7 * i + 3, "call", tid=9)
                f.op(base + 7 * i + 3, base + 7 * i + 4, "kernel", apis=[api])
        found = self.compare_all(fill)
        self.assertEqual(found["json"]["base_ns"], base)
        self.assertEqual(found["pftrace"]["first_ns"], base)

    def test_numbers_that_collide(self):
        def fill(f):
            for gpu in (100, 101, 1_000_000_000, -3, 1 << 40):
                f.op(1000, 1100, "kernel", gpu=gpu, queue=gpu)
            f.api(1000, 1100, "a", pid=100, tid=101)
            f.api(1000, 1100, "b", pid=101, tid=101)
            f.api(1050, 1150, "c", pid=101, tid=101)
            f.api(1000, 1100, "d", pid=1_000_000_000, tid=1_000_000_000)
            f.api(1050, 1150, "e", pid=1_000_000_000, tid=1_000_000_000)
        found = self.compare_all(fill)
        self.assertEqual(len(found["pftrace"]["gpus"]), 5)

    def test_numbers_at_the_edge_of_64_bits(self):
        most = (1 << 63) - 1
        def fill(f):
            for number in (most, most - 1, -most - 1, 0):
                api = f.api(most - 10, most, "call", pid=number, tid=number)
                f.api(most - 5, most, "call", pid=number, tid=number)
                f.op(most - 10, most, "kernel", gpu=number, queue=number, apis=[api])
                f.copy_api(api, number)
            f.op(-most, most, "wraps")
            f.database.execute("UPDATE rocpd_op SET id = 9223372036854775807 WHERE id = 1")
        self.compare_all(fill)

    def test_ids_that_point_nowhere(self):
        def fill(f):
            f.op(1000, 1100, "", name_id=777)
            f.api(1000, 1100, "", name_id=778)
            f.database.execute("UPDATE rocpd_api SET args_id = 12345, domain_id = 12345")
        self.compare_all(fill)

    def test_sizes_and_launches(self):
        def fill(f):
            launch = f.api(1000, 1100, "hipLaunchKernel")
            f.kernel_api(launch, (64, 2, 1), (256, 1, 1), "kernel")
            f.op(1200, 1300, "kernel", apis=[launch])
            copy = f.api(1300, 1400, "hipMemcpy")
            f.copy_api(copy, 20_000_000_000)
            f.op(1400, 2400, "", kind="CopyHostToDevice", apis=[copy])
        source = self.fixture(fill)
        events = json.loads(self.export(source, "json").read_text())["traceEvents"]
        arguments = {e["cat"]: e["args"] for e in events if e["ph"] == "X"}
        self.assertEqual(arguments["kernel"]["grid"], [64, 2, 1])
        self.assertEqual(arguments["kernel"]["block"], [256, 1, 1])
        self.assertEqual(arguments["kernel"]["correlation"], 1)
        self.assertEqual(arguments["gpu_memcpy"]["bytes"], 20_000_000_000)
        self.assertEqual(arguments["gpu_memcpy"]["memory bandwidth (GB/s)"], 20_000_000)

    def test_counters(self):
        def fill(f):
            f.api(500, 600, "call")
            for i, value in enumerate(("1.5", "2e3", "", "nan", "inf", "none", "-7")):
                f.monitor(1000 + i, value)
            f.monitor(0, "5")
        source = self.fixture(fill)
        for extension in FORMATS:
            output = self.export(source, extension)
            self.assertEqual(check(FORMATS[extension][0], output)["counters"], 3)
            self.assertIn("; 5 skipped", self.said)

    def test_window(self):
        def fill(f):
            for i in range(100):
                api = f.api(1000 + 100 * i, 1150 + 100 * i, f"call {i}", args=f"n={i}", tid=i % 3)
                f.op(1160 + 100 * i, 1190 + 100 * i, "kernel", apis=[api])
        source = self.fixture(fill)
        for extension in FORMATS:
            found = self.compare(source, extension, window=(3000, 5000),
                                 options=("--from", "2us", "--to", "4us"))
            self.assertEqual(found["args_texts"], found["apis"])
            found = self.compare(source, extension, options=("--no-args",))
            self.assertEqual(found["args_texts"], 0)


class Recorded(ExportCase):
    """Two processes with a queue 1 of GPU 0 each, whose operations overlap, and what Sonde's own tables say of them."""

    def recorded(self):
        fixture = Fixture(self.folder / "plain.rpd")
        for pid in (200, 100):
            call = fixture.api(1000, 1900, "clEnqueueNDRangeKernel", pid=pid, tid=101, domain="opencl")
            fixture.op(2000, 2500, "tile", queue=1, apis=[call])
        fixture.close()
        path = self.folder / "in.rpd"
        self.run_sonde("upgrade", "plain.rpd", "-o", path)
        change(path, """
            DELETE FROM sonde_process; DELETE FROM sonde_thread; DELETE FROM sonde_device;
            INSERT INTO sonde_process(id, pid, start_ns, command, rank) VALUES
              (1, 100, 500, '/bin/sh -c solver', 0), (2, 200, 600, 'solver', 1),
              (3, 100, 700, '/opt/solver --fast', 0);
            INSERT INTO sonde_thread(process_id, tid, name) VALUES (3, 101, 'io');
            INSERT INTO sonde_device(process_id, gpu_id, backend, name, vendor)
              VALUES (3, 0, 'opencl', 'pthread-"cpu"', 'PoCL');
            INSERT INTO sonde_clock_snapshot(process_id, clock, value, monotonic_ns)
              VALUES (3, 'boottime', 5000, 1000), (3, 'realtime', 901000, 1000);
            UPDATE sonde_op_detail SET process_id = op_id + 1, grid_x = 1000, grid_y = 8, bytes = 4096;
            UPDATE sonde_op_detail SET group_x = 64 WHERE process_id = 3;
            INSERT INTO rocpd_string(id, string) VALUES (99, 'queue depth');
            INSERT INTO sonde_counter(process_id, tid, time_ns, name_id, value)
              VALUES (3, 101, 1500, 99, 2.5);""")
        return path

    def exported(self, extension):
        output = self.export(self.recorded(), extension)
        self.assertIn("2 operations, 2 API calls and markers, 2 launch arrows, 1 counter values,", self.said)
        self.assertNotIn("skipped", self.said)
        return output, check(FORMATS[extension][0], output)

    def test_chrome(self):
        output, found = self.exported("json")
        self.assertEqual(found["gpu_tracks"], 2)
        text = output.read_text()
        for part in ('"name":"rank 0: solver"', '"labels":"/opt/solver --fast"', '"name":"rank 1: solver"',
                     '"name":"io"', 'GPU 0: pthread-\\"cpu\\"', '"name":"Queue 1 of 100"', '"name":"Queue 1 of 200"',
                     '"cat":"opencl"', '"grid":[16,8,1],"block":[64,1,1]', '"work items":[1000,8,1]',
                     '"bytes":4096,"memory bandwidth (GB/s)":8.192', '"args":{"value":2.5}'):
            self.assertIn(part, text)

    def test_perfetto(self):
        _, found = self.exported("pftrace")
        self.assertEqual((found["names"]["op tile"], found["gpus"]), ([2, 1000], ['pthread-"cpu"']))
        self.assertEqual((found["gpu_tracks"], found["processes"], found["counters"]), (2, 2, 1))
        self.assertEqual(found["clocks"], {"3": 1000, "6": 5000, "1": 901000})


class CommandLine(ExportCase):
    def setUp(self):
        super().setUp()
        fixture = Fixture(self.folder / "in.rpd")
        fixture.api(1000, 2000, "call")
        fixture.close()

    def test_default_name_and_never_overwriting(self):
        (self.folder / "in.pftrace").write_text("mine")
        done = self.run_sonde("export", "in.rpd")
        self.assertIn("in.pftrace exists; writing in-2.pftrace", done.stderr)
        self.assertIn("in-2.pftrace: 0 operations, 1 API calls", done.stdout)
        self.assertEqual((self.folder / "in.pftrace").read_text(), "mine")
        self.run_sonde("export", "in.rpd", "--format", "chrome")
        self.assertEqual(check("chrome_check.py", self.folder / "in.json")["apis"], 1)

    def test_errors_are_one_line(self):
        (self.folder / "text.rpd").write_text("no database")
        for status, *arguments in ((1, "missing.rpd"), (1, "text.rpd"), (2, "in.rpd", "-o", "out.txt"),
                                   (1, "in.rpd", "-o", "no/folder/out.json"), (2, "in.rpd", "--from", "soon")):
            done = self.run_sonde("export", *arguments, status=status)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["in.rpd", "text.rpd"])


class Decoders(ToolCase):
    """The decoders must see what is wrong, or the tests above prove nothing."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "trace"

    def refuses(self, script, content, message):
        self.path.write_bytes(content)
        with self.assertRaisesRegex(AssertionError, message):
            check(script, self.path)

    def chrome(self, *events, base=1):
        names = [f'{{"ph":"M","name":"{kind}_name","pid":1,"tid":{tid},"ts":0.000,'
                 '"args":{"name":"t"}}' for kind, tid in (("process", 0), ("thread", 1),
                                                          ("thread", 2))]
        texts = ",".join((*names, *events))
        return f'{{"baseTimeNanoseconds":{base},"traceEvents":[{texts}]}}'.encode()

    @staticmethod
    def slice(ts, dur, cat="x"):
        return (f'{{"ph":"X","cat":"{cat}","name":"n","pid":1,"tid":1,"ts":{ts},"dur":{dur},'
                '"args":{}}')

    @staticmethod
    def flow(phase, ts, tid=1, number="1"):
        return (f'{{"ph":"{phase}","cat":"ac2g","name":"n","id":{number},"pid":1,"tid":{tid},'
                f'"ts":{ts}}}')

    def test_chrome_json(self):
        refuses = lambda message, *events: \
            self.refuses("chrome_check.py", self.chrome(*events), message)
        whole = self.slice("0.000", "9.000")
        refuses("three decimals", self.slice("1.5", "9.000"))
        refuses("not a decimal", self.slice("1", "9.000"))
        refuses("partial overlap", whole, self.slice("8.000", "2.000"))
        refuses("operations overlap", self.slice("0.000", "9.000", "kernel"),
                self.slice("1.000", "2.000", "kernel"))
        refuses("not sorted", whole, self.slice("0.000", "10.000"))
        refuses("negative", self.slice("0.000", "-1.000"))
        refuses("one end only", whole, self.flow("s", "1.000"))
        refuses("flow s .* in no slice", whole, self.flow("s", "9.000"), self.flow("f", "1.000"))
        refuses("flow f .* in no slice", whole, self.flow("s", "1.000"), self.flow("f", "1.000", 2))
        refuses("number that all readers take", whole, self.flow("s", "1.000", number='"812/1"'))
        refuses("no number of 31 bits", whole.replace('"pid":1', '"pid":-1'))
        refuses("thread 0 of a process", whole.replace('"tid":1', '"tid":0'))
        refuses("process has no name", whole.replace('"pid":1', '"pid":2'))
        refuses("more than one track", '{"ph":"C","name":"c","pid":1,"ts":1.000,'
                                       '"args":{"value":1,"sonde monitor":1}}')
        refuses("NaN", whole.replace('"args":{}', '"args":{"a":NaN}'))
        refuses("duplicate key", whole.replace('"args":{}', '"ph":"X"'))
        refuses("Decode", whole.replace('"n"', '"a\n"'))
        refuses("number of a process", whole, self.slice("9.000", "1.000", "kernel"))
        self.refuses("chrome_check.py", self.chrome(whole).replace(b'"n"', b'"\xff"'), "Unicode")
        self.refuses("chrome_check.py", self.chrome(whole)[:-1], "JSONDecode")

    @staticmethod
    def packet(*fields, flags=2):
        return message((1, [(10, 1), (13, flags), *fields]))

    def event(self, time, kind, *fields, track=1):
        return self.packet((8, time), (11, [(9, kind), (11, track), *fields]))

    def begin(self, time):
        return self.event(time, 1, (10, 1), (3, 1))

    def prelude(self):
        clock = (1, [(1, 3), (2, 5)])
        texts = (12, [(2, [(1, 1), (2, "name")]), (1, [(1, 1), (2, "category")])])
        thread = (4, [(1, 1), (2, 1), (5, "t")])
        return [self.packet((87, 1), (59, [(58, 3)]), flags=3), self.packet((6, [clock, (2, 3)])),
                self.packet(texts), self.packet((60, [(1, 1), thread]))]

    def test_pftrace(self):
        good = [*self.prelude(), self.begin(10), self.event(20, 2)]
        self.path.write_bytes(b"".join(good))
        self.assertEqual(check("pftrace_check.py", self.path)["names"], {"api name": [1, 10]})

        def refuses(message, *packets):
            self.refuses("pftrace_check.py", b"".join(packets), message)
        for cut in range(1, 6):
            refuses("cut|broken", b"".join(good)[:-cut])
        refuses("state it needs", *good[1:])
        refuses("unknown clock", *good[:1], *good[2:])
        refuses("unknown category|unknown event name", *good[:2], *good[3:])
        refuses("unknown track", *good[:3], *good[4:])
        refuses("slice without end", *good[:-1])
        refuses("end without begin", *good[:4], self.event(20, 2))
        refuses("not in time order", *good, self.begin(5), self.event(6, 2))
        refuses("not one name", *good, self.event(30, 1, (3, 1)))
        refuses("twice", *good, good[2])
        refuses("described twice", *good, good[3])
        refuses("packet of", *good, self.packet((200, b"x" * (512 << 10))))
        refuses("unknown operation 7", *good,
                self.event(30, 3, (10, 1), (3, 1), (3000, [(1, 7)])))
        refuses("Unicode", *good, self.packet((12, [(2, [(1, 2), (2, b"\xff")])])))
        refuses("without time", *good, self.packet((11, [(9, 2)])))


class TraceProcessor(unittest.TestCase):
    def test_judge_is_there(self):
        if not os.environ.get("SONDE_TRACE_PROCESSOR"):
            self.skipTest("SONDE_TRACE_PROCESSOR is not set: Perfetto's own reader judges nothing")
        self.assertTrue(os.access(os.environ["SONDE_TRACE_PROCESSOR"], os.X_OK))


if __name__ == "__main__":
    main()
