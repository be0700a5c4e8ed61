#!/usr/bin/python3
"""Imports of .pftrace files that are written here, from the description of the format, and compared
with what the rows of the .rpd must be. Shares no code with Sonde's exporter.

    perfetto_test.py --sonde PATH [unittest options]"""
import gzip
import zlib

import import_case
from protobuf import Fixed, message
from tool_case import sql

# TracePacket
CLOCKS, TIME, SEQUENCE, EVENT, INTERNED, FLAGS, COMPRESSED, GPU_COUNTER, STAGE, CLOCK, DEFAULTS, \
    TRACK, GPUS = 6, 8, 10, 11, 12, 13, 50, 52, 53, 58, 59, 60, 128
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6


def packet(*fields, sequence=1, flags=2):
    return message((1, [*fields, (SEQUENCE, sequence), (FLAGS, flags)]))


def first(*fields, sequence=1):
    return packet(*fields, sequence=sequence, flags=3)


def event(time, kind, track, *fields, sequence=1, name=None, category=None, flags=2):
    body = [(9, kind), (11, track)]
    body += [(23, name)] if name is not None else []
    body += [(22, category)] if category is not None else []
    return packet((TIME, time), (EVENT, body + list(fields)), sequence=sequence, flags=flags)


def slice_(start, end, track, *fields, **more):
    return event(start, BEGIN, track, *fields, **more) + event(end, END, track,
                                                               sequence=more.get("sequence", 1))


def note(name, value):
    """A debug annotation."""
    kind = {bool: 2, int: 4, float: 5, str: 6, list: 11}[type(value)]
    if kind == 11:
        return (4, [(10, name)] + [(11, [(10, key), (4, number)]) for key, number in value])
    return (4, [(10, name), (kind, value)])


def track(uuid, *fields):
    return packet((TRACK, [(1, uuid), *fields]))


def process(uuid, pid, name):
    return track(uuid, (3, [(1, pid), (6, name)]))


def thread(uuid, parent, pid, tid, name=""):
    return track(uuid, (5, parent), (4, [(1, pid), (2, tid), (5, name)]))


class Perfetto(import_case.ImportCase):
    def test_slices_moments_and_tracks(self):
        self.load(first() + process(1, 7, "python3") + thread(2, 1, 7, 9, "worker") +
                  track(3, (5, 1), (2, "requests")) + track(4, (5, 2), (2, "below the thread")) +
                  slice_(100, 200, 2, name="outer", category="app") +
                  event(120, INSTANT, 2, name="now") +
                  slice_(150, 300, 3, name="request") + slice_(160, 170, 4, name="deep") +
                  event(400, BEGIN, 2, name="open"))
        self.assertEqual(self.apis(", category"), [
            (7, 9, 100, 200, "outer", "app"), (7, 9, 120, 120, "now", ""),
            (7, self.rows("SELECT tid FROM sonde_thread WHERE name = 'requests'")[0][0], 150, 300,
             "request", ""), (7, 9, 160, 170, "deep", ""), (7, 9, 400, 400, "open", "")])
        self.assertEqual(self.rows("SELECT pid, executable FROM sonde_process"), [(7, "python3")])
        self.assertIn(("worker",), self.rows("SELECT name FROM sonde_thread"))
        self.assertEqual(len(self.rows("SELECT * FROM sonde_unfinished")), 1)

    def test_order_of_begins_and_ends(self):
        # Whole slices that overlap, in no order: as they are written.
        self.load(first() + thread(2, 0, 7, 7) + slice_(150, 250, 2, name="b") +
                  slice_(100, 200, 2, name="a"))
        self.assertEqual([row[2:] for row in self.apis()], [(100, 200, "a"), (150, 250, "b")])
        # Begins and ends of two writers: in the order of time.
        self.load(first() + first(sequence=2) + thread(2, 0, 7, 7) +
                  event(200, END, 2, sequence=2) + event(100, BEGIN, 2, name="a"))
        self.assertEqual([row[2:] for row in self.apis()], [(100, 200, "a")])
        # A track may be described after its events.
        self.load(first() + slice_(1, 2, 5, name="early") + thread(5, 0, 3, 4))
        self.assertEqual(self.apis(), [(3, 4, 1, 2, "early")])

    def test_interned_texts_per_sequence(self):
        def names(sequence, name):
            return first((INTERNED, [(1, [(1, 1), (2, "cat")]), (2, [(1, 1), (2, name)]),
                                     (3, [(1, 1), (2, "key")]), (29, [(1, 1), (2, "value")])]),
                         sequence=sequence)

        def use(time, sequence):
            return event(time, INSTANT, 2, (10, 1), (3, 1), (4, [(1, 1), (17, 1)]),
                         sequence=sequence)
        self.load(names(1, "one") + names(2, "two") + thread(2, 0, 7, 7) + use(10, 1) + use(20, 2) +
                  names(1, "again") + use(30, 1) + use(40, 1))
        self.assertEqual([row[4:] for row in self.apis(", category, args")],
                         [(name, "cat", '{"key":"value"}')
                          for name in ("one", "two", "again", "again")])
        # State that the file does not have: a sequence that was never cleared, an unknown number.
        self.load(thread(2, 0, 7, 7) + use(10, 1), skipped=2)
        self.assertIn("packets that need data of their sequence that the file does not have", self.said)
        self.load(first() + thread(2, 0, 7, 7) + event(10, INSTANT, 2, (10, 9)))
        self.assertIn("1 texts that the file refers to but does not have", self.said)

    def test_arguments_are_json(self):
        self.load(first() + thread(2, 0, 7, 7) + event(
            1, INSTANT, 2, note("n", -3), note("yes", True), note("r", 0.5), note('q"', "a\nb"),
            note("d", [("x", 1), ("y", 2)]), (4, [(10, "list"), (12, [(4, 1)]), (12, [(6, "b")])]),
            (4, [(10, "j"), (9, '{"k":1}')]), (4, [(10, "empty"), (9, "")]),
            (4, [(10, "p"), (7, 255)]), (4, [(10, "big"), (3, 1 << 63)]), (4, [(10, "nan"),
                                                                          (5, float("nan"))])))
        self.assertEqual(self.apis(", args")[0][5],
                         r'{"n":-3,"yes":true,"r":0.5,"q\"":"a\nb","d":{"x":1,"y":2},'
                         r'"list":[1,"b"],"j":{"k":1},"empty":"","p":"0xff","big":9223372036854775808,"nan":null}')

    def test_clocks(self):
        snapshot = (CLOCKS, [(1, [(1, BOOTTIME), (2, 5000)]), (1, [(1, MONOTONIC), (2, 4000)]),
                             (1, [(1, REALTIME), (2, 1_700_000_000_000_000_000)]),
                             (1, [(1, 64), (2, 5000), (3, 1)]),
                             (1, [(1, 65), (2, 5), (4, 1000)])])
        self.load(first(snapshot, (DEFAULTS, [(CLOCK, 64)])) + thread(2, 0, 7, 7) +
                  event(10, INSTANT, 2, name="5010") + event(5, INSTANT, 2, name="5015") +
                  packet((TIME, 4100), (CLOCK, MONOTONIC), (EVENT, [(9, 3), (11, 2), (23, "5100")])) +
                  packet((TIME, 6), (CLOCK, 65), (EVENT, [(9, 3), (11, 2), (23, "6000")])) +
                  packet((TIME, 7000), (CLOCK, BOOTTIME), (EVENT, [(9, 3), (11, 2), (23, "7000")])) +
                  packet((TIME, 7000), (CLOCK, 90), (EVENT, [(9, 3), (11, 2), (23, "lost")])),
                  skipped=1)
        self.assertEqual([(row[2], row[4]) for row in self.apis()],
                         [(time, str(time)) for time in (5010, 5015, 5100, 6000, 7000)])
        self.assertIn("a clock that nothing relates to the others", self.said)
        self.assertEqual(self.rows("SELECT value - monotonic_ns FROM sonde_clock_snapshot "
                                   "WHERE clock = 'realtime'"), [(1_700_000_000_000_000_000 - 5000,)])

    def test_files_merge_by_the_time_of_day(self):
        def one(name, realtime):
            (self.folder / name).write_bytes(
                first((CLOCKS, [(1, [(1, BOOTTIME), (2, 1000)]), (1, [(1, REALTIME), (2, realtime)])]))
                + thread(2, 0, 7, 7) + event(1000, INSTANT, 2, name=name))
            return self.folder / name
        self.run_sonde("import", one("a.pftrace", 10**18), one("b.pftrace", 10**18 + 5), "-o", "m.rpd")
        self.assertEqual(sql(self.folder / "m.rpd", "SELECT start FROM rocpd_api ORDER BY 1"), [(1000,), (1005,)])

    def test_counters_and_flows(self):
        self.load(first() + process(1, 7, "p") + thread(2, 1, 7, 7) +
                  track(3, (5, 1), (2, "loss"), (8, [])) +
                  track(4, (5, 1), (2, "bytes"), (8, [(4, 1024), (5, 1)])) +
                  event(10, COUNTER, 3, (44, 0.25)) + event(20, COUNTER, 3, (30, -2)) +
                  event(10, COUNTER, 4, (30, 1)) + event(20, COUNTER, 4, (30, 2)) +
                  event(30, COUNTER, 3) +
                  slice_(10, 20, 2, (47, Fixed(77)), (31, 3), (12, 9), name="from") +
                  slice_(30, 40, 2, (48, Fixed(77)), name="to"), skipped=1)
        self.assertEqual(self.rows("""SELECT n.string, c.time_ns, c.value FROM sonde_counter c
            JOIN rocpd_string n ON n.id = c.name_id ORDER BY 1, 2, 3"""),
                         [("bytes", 10, 1024), ("bytes", 20, 3072), ("loss", 10, 0.25),
                          ("loss", 10, 9), ("loss", 20, -2)])
        self.assertEqual(self.rows("SELECT flow, phase, tid, time_ns FROM sonde_flow ORDER BY id"),
                         [("77", "s", 7, 10), ("77", "f", 7, 30)])

    def test_call_stacks(self):
        names = (INTERNED, [(5, [(1, 1), (2, "main")]), (5, [(1, 2), (2, "leaf")]),
                            (6, [(1, 1), (2, 1)]), (6, [(1, 2), (2, 2)]),
                            (7, [(1, 1), (2, 1), (2, 2)])])
        self.load(first(names) + thread(2, 0, 7, 7) + event(1, INSTANT, 2, (56, 1), name="a") +
                  event(2, INSTANT, 2, (55, [(1, [(1, "outer")]), (1, [(1, "inner")])]), name="b"))
        self.assertEqual(self.rows("""SELECT f.api_ptr_id, f.depth, n.string FROM rocpd_stackframe f
            JOIN rocpd_string n ON n.id = f.name_id ORDER BY 1, 2"""),
                         [(1, 0, "leaf"), (1, 1, "main"), (2, 0, "inner"), (2, 1, "outer")])

    def test_render_stages(self):
        names = (INTERNED, [(23, [(1, 1), (2, 7), (3, 5)]),
                            (24, [(1, 1), (2, "Queue 3")]), (24, [(1, 2), (2, "Kernels"), (4, 2)]),
                            (24, [(1, 3), (2, "Vertex"), (4, 1)]),
                            (1000, [(1, 1), (2, "_Z4gemmPf"), (3, "gemm(float*)"), (4, "gfx942")]),
                            (1001, [(1, 1), (2, "device")]), (1001, [(1, 2), (2, "stream")])])
        launch = (21, [(1, [(1, 4), (2, 2), (3, 1)]), (2, [(1, 64), (2, 1), (3, 1)]),
                       (3, [(1, 1), (3, 2)]), (3, [(1, 2), (3, 5)]),
                       (3, [(2, "registers_per_thread"), (4, 96)])])

        def stage(time, *fields):
            return packet((TIME, time), (STAGE, [(5, 1), (11, 0), (13, 1), *fields]))
        self.load(first(names) + thread(2, 0, 7, 7) + packet((GPUS, [(1, [(1, "GPU"), (2, "AMD")])])) +
                  slice_(10, 20, 2, (3000, [(1, 31), (1, 32)]), name="hipGraphLaunch") +
                  stage(30, (1, 31), (2, 5), (14, 2), (19, 1), launch) +
                  stage(32, (1, 32), (2, 0), (14, 2), (17, "second"), launch) +
                  stage(33, (1, 33), (2, 9), (14, 3), (17, "draw"), (6, [(1, "pass"), (2, "7")])) +
                  stage(34, (1, 34), (2, 1 << 63), (14, 3)), skipped=1)
        self.assertEqual(self.ops(), [(2, 5, 30, 35, "_Z4gemmPf", "KernelExecution"),
                                      (2, 5, 32, 32, "second", "KernelExecution"),
                                      (0, 1, 33, 42, "draw", "Vertex")])
        self.assertEqual(self.rows("SELECT api_id, op_id FROM rocpd_api_ops"), [(1, 1), (1, 2)])
        self.assertEqual(self.rows("SELECT grid_x, grid_y, group_x FROM sonde_op_detail LIMIT 1"),
                         [(256, 2, 64)])
        self.assertEqual(self.rows("SELECT args FROM sonde_op_args ORDER BY op_id"),
                         [('{"registers_per_thread":96}',)] * 2 + [('{"pass":"7"}',)])
        self.assertIn("impossible duration", self.said)

    def test_gpu_counters(self):
        def values(time, *fields):
            return packet((TIME, time), (GPU_COUNTER, [*fields, (3, 1)]))
        spec = (1, [(1, [(1, 1), (2, "clock"), (11, 2)]), (1, [(1, 2), (2, "busy")])])
        self.load(first() + values(10, spec, (2, [(1, 1), (2, 1700)]), (2, [(1, 2), (3, 0.5)])) +
                  values(20, (2, [(1, 1), (2, 1800)]), (2, [(1, 2), (3, 0.75)]), (2, [(1, 9), (2, 1)])),
                  skipped=2)
        self.assertEqual(self.rows("SELECT deviceId, monitorType, start, value FROM rocpd_monitor "
                                   "ORDER BY 2, 3"),
                         [(1, "busy", 10, "0.75"), (1, "clock", 10, "1700"), (1, "clock", 20, "1800")])

    def rocprofv3(self):
        def call(start, end, name, number, category="hip_api"):
            return slice_(start, end, 2, (47, Fixed(number)), note("corr_id", number),
                          note("begin_ns", start), note("tid", 9), name=name, category=category)
        kernel = slice_(40, 60, 3, (48, Fixed(2)), note("corr_id", 2), note("agent", 4),
                        note("queue", 1), note("stream_ID", 6), note("kernel_id", 11),
                        note("LDS_Block_Size", 512), note("Scratch_Size", 0),
                        note("workgroup_size", 64), note("grid_size", 4096), name="gemm",
                        category="kernel_dispatch")
        copy = slice_(70, 90, 3, (48, Fixed(3)), note("corr_id", 3), note("src_agent", 0),
                      note("dst_agent", 4), note("copy_bytes", 1 << 33), note("stream_ID", 6),
                      name="MEMORY_COPY_HOST_TO_DEVICE", category="memory_copy")
        return (first() + process(1, 7, "app") + track(2, (2, "THREAD 0 (9)")) +
                track(3, (2, "STREAM [6]")) + track(4, (2, "COPY BYTES to [4] GPU"), (8, [])) +
                call(10, 20, "hipLaunchKernel", 2) + call(5, 30, "hipGraphLaunch", 1) + copy + kernel +
                call(31, 35, "hipMemcpyAsync", 3) + call(1, 99, "epoch 1", 4, "marker_api") +
                slice_(50, 50, 2, name="roctxMark", category="marker_api") +
                event(70, COUNTER, 4, (30, 1 << 33)))

    def test_rocprofv3(self):
        self.load(self.rocprofv3())
        self.assertEqual(self.apis(", domain"), [
            (7, 9, 1, 99, "UserMarker", "roctx"), (7, 9, 5, 30, "hipGraphLaunch", "hip"),
            (7, 9, 10, 20, "hipLaunchKernel", "hip"), (7, 9, 31, 35, "hipMemcpyAsync", "hip"),
            (7, 9, 50, 50, "UserMarker", "roctx")])
        self.assertEqual(self.ops(), [(4, 1, 40, 60, "gemm", "KernelExecution"),
                                      (4, -1, 70, 90, "", "CopyHostToDevice")])
        self.assertEqual(self.links(), [(10, 40), (31, 70)])
        self.assertEqual(self.rows("""SELECT bytes, grid_x, group_x, group_segment_bytes
            FROM sonde_op_detail ORDER BY op_id"""),
                         [(1 << 33, None, None, None), (None, 4096, 64, 512)])
        self.assertEqual(self.rows("SELECT stream FROM rocpd_kernelapi"), [("0x6",)])
        self.assertEqual(self.rows("SELECT string FROM rocpd_ustring WHERE string = 'epoch 1'"),
                         [("epoch 1",)])

    def test_systems_profiler(self):
        self.load(first() + process(1, 7, "app") + thread(2, 1, 7, 9, "Thread 0") +
                  track(3, (5, 1), (2, "GPU Kernel Dispatch [1] Queue 2")) +
                  track(4, (5, 1), (2, "HIP Activity Stream 3")) +
                  slice_(10, 20, 2, (47, Fixed(2)), note("corr_id", 2), note("args", "stream=3"),
                         name="hipLaunchKernel", category="rocm_hip_api") +
                  slice_(40, 60, 3, (48, Fixed(2)), note("corr_id", 2), note("dispatch_id", 1),
                         note("workgroup_size", "(64,2,1)"), note("grid_size", "(4096,2,1)"),
                         note("group_segment_size", 512), name="gemm",
                         category="rocm_kernel_dispatch") +
                  slice_(61, 65, 4, note("stream_id", 3), name="MEMORY_COPY_DEVICE_TO_HOST",
                         category="rocm_memory_copy") +
                  slice_(1, 5, 2, name="main", category="user") +
                  slice_(70, 80, 2, name="epoch", category="rocm_marker_api"))
        self.assertEqual(self.apis(", domain"), [
            (7, 9, 1, 5, "main", ""), (7, 9, 10, 20, "hipLaunchKernel", "hip"),
            (7, 9, 70, 80, "UserMarker", "roctx")])
        self.assertEqual(self.ops(), [(1, 2, 40, 60, "gemm", "KernelExecution"),
                                      (0, -1, 61, 65, "", "CopyDeviceToHost")])
        self.assertEqual(self.rows("SELECT grid_x, grid_y, group_x, group_y FROM sonde_op_detail "
                                   "WHERE grid_x"), [(4096, 2, 64, 2)])

    def test_compressed_in_every_way(self):
        plain = self.rocprofv3()
        forms = {"zlib": message((1, [(COMPRESSED, zlib.compress(plain))])), "gzip": gzip.compress(plain),
                 "both": gzip.compress(message((1, [(COMPRESSED, zlib.compress(plain))])))}
        for name, data in forms.items():
            with self.subTest(name):
                self.load(data, name)
                self.assertEqual((len(self.apis()), len(self.ops())), (5, 2))

    def test_what_breaks_off_keeps_what_came_before(self):
        plain = self.rocprofv3()
        self.load(plain[:-3], skipped=1)
        self.assertIn("1 packets cut off by the end of the file", self.said)
        self.assertEqual((len(self.apis()), len(self.ops())), (5, 2))
        packed = gzip.compress(plain, 1)
        self.load(packed[:-40], skipped=1)
        self.assertIn("the compressed file is cut off", self.said)
        self.assertGreater(len(self.apis()), 0)
        block = zlib.compress(plain, 0)
        self.load(message((1, [(COMPRESSED, block[:-100])])), skipped=1)
        self.assertIn("compressed packets that cannot be unpacked to their end", self.said)
        self.load(plain + b"\x0b\x00")
        self.assertIn("place where the file is broken", self.said)
        self.load(first() + thread(2, 0, 7, 7) + packet((SEQUENCE, 1), (FLAGS, 2), (1, [(1, 1)]),
                                                       (66, [(1, 1)]), (999, 5)) +
                  event(5, END, 2), skipped=4)

    def test_hostile_texts_and_times(self):
        long = "x" * 10_000
        names = ['say "hi"', "line\nbreak", long, b"bad \xff byte", "", "é漢🙂", "\0"]
        late = (1 << 53) + 12345
        self.load(first() + thread(2, 0, 7, 7) + b"".join(
            slice_(late + i * 10, late + i * 10 + i, 2, name=name) for i, name in enumerate(names)) +
                  slice_(1, (1 << 63) - 1, 2, name="endless"), skipped=1)
        self.assertIn("impossible times", self.said)
        self.assertIn("1 texts that are not valid UTF-8", self.said)
        got = self.apis()
        self.assertEqual([row[4] for row in got][:4], ['say "hi"', "line\nbreak", long, "bad � byte"])
        self.assertEqual([row[2:4] for row in got],
                         [(late + i * 10, late + i * 10 + i) for i in range(len(names))])


if __name__ == "__main__":
    import_case.main()
