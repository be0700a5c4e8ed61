#!/usr/bin/python3
"""Pids and tids that viewers have no room for (negative, 0, beyond 31 bits), arrows with ids that are no
numbers, several arrows of a call, counters and threads that only have samples: in both formats for
viewers they are what Perfetto's reader keeps apart, and come back as they were.

    foreign_numbers_test.py --sonde PATH [unittest options]"""
import json
import pathlib
import subprocess
import sys

import import_case
import chrome_check
from tool_case import change, sql

# Texts become numbers below -999.
PLACES = [(-1, -1), (-1, 5), ("Spans", "PyTorch Profiler (0)"), ("Traces", "x"), (7, 7), (7, 0),
          (7, -5), (7, 1 << 40), (1 << 33, 3), (1 << 33, 1 << 33), (0, 0), (1_000_000_000, 1),
          (1_000_000_000, 1_000_000_000)]
PLACES_SQL = "SELECT pid, tid, start, apiName FROM api ORDER BY start"
LINKS_SQL = """SELECT a.pid, a.start, o.start FROM rocpd_api_ops l JOIN rocpd_api a ON a.id = l.api_id
               JOIN rocpd_op o ON o.id = l.op_id ORDER BY o.start"""
NAMES_SQL = """SELECT pid, coalesce(nullif(command, ''), executable) FROM sonde_process
               WHERE pid IN (SELECT pid FROM rocpd_api) ORDER BY pid"""
COUNTERS_SQL = """SELECT p.pid, c.tid, c.time_ns, n.string, c.value FROM sonde_counter c
                  JOIN sonde_process p ON p.id = c.process_id
                  JOIN rocpd_string n ON n.id = c.name_id ORDER BY c.time_ns"""
FLOWS_SQL = """SELECT f.flow, f.phase, p.pid, f.tid, f.time_ns FROM sonde_flow f
               JOIN sonde_process p ON p.id = f.process_id ORDER BY f.time_ns"""
MANGLED = "_Z6squarePfi"


def document():
    events = []
    for i, (pid, tid) in enumerate(PLACES):
        at = 1000 * i
        events += [{"ph": "X", "cat": "cpu_op", "name": f"op {i}", "pid": pid, "tid": tid, "ts": at,
                    "dur": 100, "args": {}},
                   {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": pid,
                    "tid": tid, "ts": at + 10, "dur": 20, "args": {"correlation": 812 + i}}]
        for k in range(3):  # a graph: three operations of one call
            events.append({"ph": "X", "cat": "kernel", "name": MANGLED, "pid": 0, "tid": 3,
                           "ts": at + 200 + 10 * k, "dur": 5,
                           "args": {"device": 0, "stream": 3, "correlation": 812 + i}})
        events.append({"ph": "C", "name": "loss", "pid": pid, "ts": at + 50, "args": {"value": i}})
    for i, number in enumerate((12, "0x1f", "fwd/1", "-3", 1 << 60)):
        for phase, at in (("s", 20), ("f", 1020)):
            events.append({"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": 7,
                           "tid": -5 if i == 1 else 7, "ts": at + i, "bp": "e"})
    events.append({"ph": "M", "name": "process_name", "pid": -1, "args": {"name": "overhead"}})
    events.append({"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python3"}})
    events.append({"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}})
    return {"schemaVersion": 1, "traceEvents": events}


class ForeignNumbers(import_case.ImportCase):
    def setUp(self):
        super().setUp()
        trace = self.folder / "foreign.json"
        trace.write_text(json.dumps(document()))
        self.source = self.folder / "source.rpd"
        self.run_sonde("import", trace, "-o", self.source)
        change(self.source, "INSERT INTO rocpd_monitor (deviceType, deviceId, monitorType, start, end, "
                            "value) VALUES ('gpu', 1, 'sclk', 5000, 5000, '1700.5'), "
                            "('host', 0, 'mem_used_bytes', 5000, 5000, '4096')")

    def pftrace(self, path):
        script = pathlib.Path(chrome_check.__file__).with_name("pftrace_check.py")
        done = subprocess.run([sys.executable, script, path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of_source(self, query):
        return sql(self.source, query)

    def same(self, out, *queries):
        self.load_file(out)
        for query in queries:
            self.assertEqual(self.rows(query), self.of_source(query), query)

    def check_numbers(self, shown, threads):
        """`shown`: real pid by that which is shown; `threads`: (shown pid, shown tid, real tid)."""
        pids = {pid for pid, _, _, _ in self.of_source(PLACES_SQL)}
        self.assertEqual(sorted(shown.values()), sorted(pids))  # each once
        places = {(shown[pid], tid) for pid, _, tid in threads if pid in shown}
        self.assertLessEqual({(pid, tid) for pid, tid, _, _ in self.of_source(PLACES_SQL)}, places)
        # None of them became the main thread of its process, unless it is that.
        for pid, tid, real in threads:
            if pid in shown and pid == tid:
                self.assertEqual(real, shown[pid])

    def test_chrome(self):
        out = self.export(self.source, "out.json")
        found = chrome_check.check(str(out))
        gpus = {pid for pid, (name, _) in found["processes"].items() if name.startswith("GPU")}
        shown = {int(pid): real for pid, (name, real) in found["processes"].items()
                 if pid not in gpus and name != "Monitors"}
        threads = [(*map(int, place.split("/")), real)
                   for place, (_, real) in found["threads"].items()]
        self.check_numbers(shown, threads)
        names = {real: name for name, real in found["processes"].values()}
        self.assertEqual((names[-1], names[7]), ("overhead", "python3"))
        # An arrow for each operation, all told apart; one track for each counter.
        self.assertEqual(found["flows"], 3 * len(PLACES))
        self.assertEqual(len(found["counter_tracks"]), len({pid for pid, _ in PLACES}) + 2)
        events = json.loads(out.read_text())["traceEvents"]
        first = [e["id"] for e in events if e["ph"] == "s" and e["cat"] == "ac2g"]
        self.assertLessEqual({812 + i for i in range(len(PLACES))}, set(first))
        other = {}
        for event in events:
            if event.get("cat") == "fwdbwd":
                other.setdefault(event["id"], []).append(event["ph"])
        self.assertEqual(sorted(map(sorted, other.values())), [["f", "s"]] * 5)
        self.assertIn(12, other)
        self.same(out, PLACES_SQL, LINKS_SQL, NAMES_SQL, COUNTERS_SQL, FLOWS_SQL)
        self.assertEqual(self.rows("SELECT deviceType, deviceId, monitorType, start, value "
                                   "FROM rocpd_monitor ORDER BY 1"),
                         [("gpu", 1, "sclk", 5000, "1700.5"), ("host", 0, "mem_used_bytes", 5000,
                                                               "4096")])

    def ranks(self, numbers_of_second, stray=78):
        """A trace of two processes that launch, each on a GPU of its own and with its own numbers;
        the first two calls of the second have no kernels. Exported and imported again, its links
        are the same. Returns the numbers that the export has and that the trace has, with the
        categories of their events."""
        events = []
        for pid, first, base in ((100, 0, 0), (200, 2, numbers_of_second)):
            for i in range(4):
                number, at = base + i + 1, 1000 * i + pid
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel",
                               "pid": pid, "tid": pid, "ts": at, "dur": 5,
                               "args": {"correlation": number}})
                if i >= first:
                    events.append({"ph": "X", "cat": "kernel", "name": f"kernel of {pid}",
                                   "pid": pid // 200, "tid": 3, "ts": at + 10, "dur": 5,
                                   "args": {"device": pid // 200, "stream": 3,
                                            "correlation": number}})
        # Launched before the recording. 77 as `stray` is a call of the other process.
        events.append({"ph": "X", "cat": "kernel", "name": "kernel of 200", "pid": 1, "tid": 3,
                       "ts": 1, "dur": 5, "args": {"device": 1, "stream": 3, "correlation": 77}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipEventRecord", "pid": 100,
                       "tid": 100, "ts": 9000, "dur": 5,
                       "args": {"correlation": stray}})
        trace = self.folder / "ranks.json"
        trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        self.source.unlink()
        self.run_sonde("import", trace, "-o", self.source)
        out = self.export(self.source, "out.json")
        self.assertEqual(len(self.of_source(LINKS_SQL)), 6)
        self.same(out, LINKS_SQL)
        return [(e["args"]["correlation"], e["cat"])
                for e in json.loads(out.read_text())["traceEvents"]
                if "correlation" in e.get("args", {})], [
                    (e["args"]["correlation"], e["cat"]) for e in events]

    def test_numbers_of_two_processes_are_kept_where_each_is_one_call(self):
        written, given = self.ranks(numbers_of_second=10)
        self.assertEqual(sorted(written), sorted(given))

    def test_an_operation_without_a_call_finds_none_of_another_process(self):
        written, _ = self.ranks(numbers_of_second=10, stray=77)
        self.assertNotIn((77, "kernel"), written)

    def test_numbers_that_two_processes_use_become_ids(self):
        written, _ = self.ranks(numbers_of_second=0)
        calls = [number for number, category in written if category == "cuda_runtime"]
        kernels = [number for number, category in written if category == "kernel"]
        self.assertEqual(len(calls), 6)  # those that launched something here
        self.assertEqual(sorted(calls), sorted(set(calls)))
        self.assertEqual(sorted(calls), sorted(kernels))

    def test_pftrace(self):
        for options in ((), ("--track-events",)):
            out = self.export(self.source, "out.pftrace", *options)
            found = self.pftrace(out)
            real = found["real"]
            shown = {int(pid): real.get(f"pid {pid}", int(pid)) for pid in found["process_names"]}
            threads = [(pid, tid, real.get(f"tid {pid}/{tid}", tid)) for pid, tid in
                       (map(int, place.split("/")) for place in found["thread_names"])]
            self.check_numbers(shown, threads)
            names = {real: found["process_names"][str(pid)] for pid, real in shown.items()}
            self.assertEqual((names[-1], names[7]), ("overhead", "python3"))
            self.assertEqual(found["counter_tracks"]["gpu 1 sclk"], ["gpu 1", "MHz"])
            self.assertEqual(found["counter_tracks"]["host 0 mem_used_bytes"], ["host 0", "bytes"])
            self.assertEqual(found["names"].keys() & {"op square(float*, int)", f"op {MANGLED}"},
                             {"op square(float*, int)"})
            self.assertEqual(found["kernels"], {"square(float*, int)": MANGLED})
            self.same(out, PLACES_SQL, LINKS_SQL, NAMES_SQL,
                      COUNTERS_SQL.replace("c.tid", "0"))
            self.assertEqual(self.rows("SELECT DISTINCT description FROM op"), [(MANGLED,)])
            self.assertEqual(self.rows("SELECT deviceType, deviceId, monitorType, start FROM "
                                       "rocpd_monitor ORDER BY 1"),
                             [("gpu", 1, "sclk", 5000), ("host", 0, "mem_used_bytes", 5000)])

    def test_command_lines_and_threads_with_samples_only(self):
        process = self.of_source("SELECT id FROM sonde_process WHERE pid = 7")[0][0]
        change(self.source, f"""
            UPDATE sonde_process SET command = '/usr/bin/train.py --fast', rank = 3 WHERE pid = 7;
            INSERT INTO sonde_thread (process_id, tid, name) VALUES ({process}, 4242, 'worker');
            INSERT INTO sonde_frame (id, kind, address, function) VALUES (1, 'native', 16, 'main'),
              (2, 'native', 32, 'spin');
            INSERT INTO sonde_stack (id, parent_id, frame_id) VALUES (1, NULL, 1), (2, 1, 2);
            INSERT INTO sonde_sample (process_id, tid, time_ns, stack_id, cpu_ns, missed, cost_ns,
              truncated, by_timer) VALUES ({process}, 4242, 2500, 2, 1000, 0, 0, 0, 1),
              ({process}, 4242, 12500, 1, 1000, 0, 0, 0, 1),
              ({process}, 4242, 1500, 2, 1000, 0, 0, 0, 1);""")
        found = chrome_check.check(str(self.export(self.source, "out.json")))
        self.assertEqual(found["threads"]["7/4242"][0], "worker")
        self.assertEqual(found["profiles"], {"7/4242": [[1, ("main", "spin")], [2, ("main", "spin")],
                                                        [12, ("main",)]]})
        found = self.pftrace(self.export(self.source, "out.pftrace"))
        self.assertEqual(found["thread_names"]["7/4242"], "worker")
        self.assertEqual((found["process_names"]["7"], found["command_lines"]["7"]),
                         ("rank 3: train.py", "rank 3: train.py --fast"))


if __name__ == "__main__":
    import_case.main()
