#!/usr/bin/python3
"""Imports of rocprof v1's results.db and results.json, written here from their description.

    rocprof_test.py --sonde PATH [unittest options]"""
import json
import sqlite3

import import_case
from hostile_formats import ROCPROF_OPS

NAMES = ['say "hi"', "line\nbreak", "x" * 10_000, "it's", "é漢🙂"]
LATE = (1 << 53) + 12345


def database(path):
    made = sqlite3.connect(path)
    calls = "(BeginNs INTEGER, EndNs INTEGER, pid INTEGER, tid INTEGER, Name TEXT, args TEXT, " \
        '"Index" INTEGER, Data TEXT, __section INTEGER, __lane INTEGER, DurationNs INTEGER)'
    made.executescript(f"CREATE TABLE HIP {calls}; CREATE TABLE HSA {calls}; CREATE TABLE rocTX {calls};" +
                       ROCPROF_OPS)

    def call(table, begin, end, name, index, args=""):
        made.execute(f"INSERT INTO {table} VALUES (?,?,100,101,?,?,?,'',2,101,?)",
                     (begin, end, name, args, index, None if begin is None else end - begin))

    def op(table, begin, end, name, index, stream=1):
        made.execute(f"INSERT INTO {table} VALUES (?,?,1,2,?,100,101,'',?,?,'',6,1,?)",
                     (begin, end, name, stream, index, end - begin))
    call("HIP", 1000, 2000, "hipLaunchKernel", 0, "( kernel(vadd) stream(1))")
    call("HIP", 3000, 4000, "hipMemcpyAsync", 1)
    call("HIP", 4500, 4600, "hipMalloc", 2)
    call("HIP", 9000, 8000, "hipFree", 3)
    call("HIP", None, None, "hipFree", 4)
    call("HSA", 1100, 1200, "hsa_signal_create", 0)
    call("rocTX", 500, 9500, "epoch 1", 0)
    op("OPS", 1500, 2500, "vadd(float*)", 0)
    op("OPS", 5000, 5100, "early(float*)", 1)  # its call makes copies
    op("OPS", 2600, 2600, "<barrier packet>", 9)
    op("COPY", 3500, 3900, "CopyHostToDevice", 1)
    op("COPY", 3300, 3400, "CopyDeviceToHost2D", 7)
    return made


class Rocprof(import_case.ImportCase):
    def test_database(self):
        path = self.folder / "results.db"
        made = database(path)
        made.commit()
        made.close()
        self.load_file(path, skipped=2)
        self.assertIn("1 records that end before they start", self.said)
        self.assertIn("1 records without times", self.said)
        self.assertEqual(self.apis(", domain, args"), [
            (100, 101, 500, 9500, "UserMarker", "roctx", "epoch 1"),
            (100, 101, 1000, 2000, "hipLaunchKernel", "hip", "( kernel(vadd) stream(1))"),
            (100, 101, 1100, 1200, "hsa_signal_create", "hsa", ""),
            (100, 101, 3000, 4000, "hipMemcpyAsync", "hip", ""),
            (100, 101, 4500, 4600, "hipMalloc", "hip", "")])
        self.assertEqual(self.ops(), [
            (1, 2, 1500, 2500, "vadd(float*)", "KernelExecution"), (1, 2, 2600, 2600, "", "Barrier"),
            (1, 2, 3300, 3400, "", "CopyDeviceToHost2D"), (1, 2, 3500, 3900, "", "CopyHostToDevice"),
            (1, 2, 5000, 5100, "early(float*)", "KernelExecution")])
        self.assertEqual(self.links(), [(1000, 1500), (3000, 3500)])
        self.assertEqual(self.rows("SELECT stream FROM rocpd_kernelapi"), [("0x1",)])

    def test_database_of_counters(self):
        path = self.folder / "results.db"
        made = sqlite3.connect(path)
        made.execute("""CREATE TABLE KERN ("Index" INTEGER, KernelName TEXT, "gpu-id" INTEGER,
            "queue-id" INTEGER, pid INTEGER, tid INTEGER, grd INTEGER, wgr INTEGER, lds INTEGER,
            scr INTEGER, sig TEXT, SQ_WAVES INTEGER, DispatchNs INTEGER, BeginNs INTEGER,
            EndNs INTEGER, CompleteNs INTEGER, DurationNs INTEGER)""")
        for i, name in enumerate(NAMES):
            made.execute("INSERT INTO KERN VALUES (?,?,0,0,7,7,4096,256,64,0,'0x0',?,?,?,?,?,5)",
                         (i, name, 64 + i, LATE, LATE + i, LATE + i + 5, LATE + 9))
        made.commit()
        made.close()
        self.load_file(path)
        self.assertEqual(self.ops(), [(0, 0, LATE + i, LATE + i + 5, name, "KernelExecution")
                                      for i, name in enumerate(NAMES)])
        self.assertEqual(self.rows("""SELECT n.string, c.value FROM rocpd_counter c
            JOIN rocpd_string n ON n.id = c.name_id ORDER BY 2"""),
                         [("SQ_WAVES", 64.0 + i) for i in range(len(NAMES))])
        self.assertEqual(self.rows("SELECT DISTINCT grid_x, group_x, group_segment_bytes "
                                   "FROM sonde_op_detail"), [(4096, 256, 64)])

    def results_json(self):
        def event(pid, tid, begin, end, name, **more):
            args = {"BeginNs": str(begin), "EndNs": str(end), "pid": "7", "tid": "8", "Name": name,
                    **more}
            return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": str(begin // 1000),
                    "dur": str(max((end - begin) // 1000, 1)), "args": args}

        def flow(phase, number, pid, tid, at):
            return {"ts": at // 1000, "ph": phase, "cat": "DataFlow", "id": number, "pid": pid,
                    "tid": tid, "name": "dep"}
        device = {"dev-id": "0", "queue-id": "3", "stream-id": "1"}
        events = [{}, {"args": {"name": "GPU0"}, "ph": "M", "pid": 6, "name": "process_name"}]
        for i, name in enumerate(NAMES):
            at = 1_000_000 + i * 100_000
            events += [event(2, 8, at, at + 5000, "hipLaunchKernel", args="( kernel(k) )"),
                       event(6, 1, at + 9000, at + 9500, name, **device),
                       flow("s", i, 2, 8, at + 2000), flow("t", i, 6, 1, at + 9000)]
        events += [event(0, 0, 900_000, 2_000_000, "epoch"), event(518, 1, 5000, 5000,
                                                                  "<barrier packet>", **device),
                   event(3, 8, 10, 20, "hsa_init"), event(1, 0, 50, 40, "CopyHostToDevice", **device),
                   event(4, 0, 1, 2, "unknown")]
        return '{ "traceEvents":[{}\n' + "".join("," + json.dumps(e) + "\n" for e in events[1:]) + \
            '],\n"otherData": {"CMD": "./app"}}'

    def test_json(self):
        self.load(self.results_json().encode(), "results.json", skipped=2)
        self.assertIn("1 records that end before they start", self.said)
        self.assertIn("1 events of a process that rocprof does not have", self.said)
        at = [1_000_000 + i * 100_000 for i in range(len(NAMES))]
        self.assertEqual([row for row in self.ops() if row[5] == "KernelExecution"],
                         [(0, 3, t + 9000, t + 9500, name, "KernelExecution")
                          for t, name in zip(at, NAMES)])
        self.assertEqual(self.links(), [(t, t + 9000) for t in at])
        self.assertEqual([row[2:5] for row in self.apis(", args") if row[4] != "hipLaunchKernel"],
                         [(10, 20, "hsa_init"), (900_000, 2_000_000, "UserMarker")])
        self.assertEqual(self.rows("SELECT value FROM sonde_note WHERE key = 'otherData'"),
                         [('{"CMD":"./app"}',)])

    def test_json_that_breaks_off(self):
        whole = self.results_json()
        cut = whole[:whole.index('"hsa_init"')]
        self.load(cut.encode(), "results.json", skipped=1)
        self.assertIn("1 events cut off by the end of the file", self.said)
        self.assertEqual(len(self.links()), len(NAMES))


if __name__ == "__main__":
    import_case.main()
