"""Encoders for hostile_test.py: the same kernels in each kind of trace that Sonde imports, written
from the formats' descriptions. A row is (name, start, end), and a text may hold surrogates for bytes
that are not UTF-8. FORMATS says what each can express."""
import dataclasses
import json
import pathlib
import sqlite3
import tempfile
import typing

from protobuf import message

OPS = "SELECT description, start, end FROM op ORDER BY start, id"


@dataclasses.dataclass
class Format:
    file: str
    encode: typing.Callable  # rows -> bytes
    sql: str = OPS  # what comes out
    early: str = "skipped"  # a row that ends before it starts: skipped, kept, or "" (not expressible)
    lines: bool = True  # texts may hold line ends
    times: typing.Callable = staticmethod(lambda i, start, end: (start, end))  # as they come out
    whole: bool = False  # a database: of a part nothing can be read
    tail: bool = False  # the last row of a file that breaks off may be a part of one


def encoded(text):
    return text.encode("utf-8", "surrogateescape")


def kineto(rows):
    def us(ns):
        return f"{ns // 1000}.{ns % 1000:03}" if ns >= 0 else f"-{-ns // 1000}.{-ns % 1000:03}"
    events = [f'{{"ph":"X","cat":"kernel","name":{json.dumps(name, ensure_ascii=False)},"pid":0,"tid":3,'
              f'"ts":{us(start)},"dur":{us(end - start)},"args":{{"device":0,"stream":3}}}}'
              for name, start, end in rows]
    return encoded('{"traceEvents":[\n' + ",\n".join(events) + "\n]}")


def rocprofv3_json(rows):
    names = list(dict.fromkeys(name for name, _, _ in rows))
    symbols = [{"kernel_id": 0}] + [{"kernel_id": i + 1, "kernel_name": name}
                                    for i, name in enumerate(names)]
    records = [{"kind": 1, "operation": 0, "thread_id": 8, "correlation_id": {"internal": i},
                "start_timestamp": start, "end_timestamp": end,
                "dispatch_info": {"agent_id": {"handle": 4}, "queue_id": {"handle": 3},
                                  "kernel_id": names.index(name) + 1, "dispatch_id": i}}
               for i, (name, start, end) in enumerate(rows)]
    return encoded(json.dumps({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7}, "agents": [{"id": {"handle": 4}, "type": 2}],
        "strings": {"buffer_records": [{"kind": "NONE"}, {"kind": "KERNEL_DISPATCH"}]},
        "kernel_symbols": symbols, "buffer_records": {"kernel_dispatch": records}}]},
        ensure_ascii=False))


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def rocprofv3_csv(rows):
    return encoded("Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,"
                   "Start_Timestamp,End_Timestamp\n" + "".join(
                       f'"KERNEL_DISPATCH","Agent 0",3,8,{i},{quoted(name)},{i},{start},{end}\n'
                       for i, (name, start, end) in enumerate(rows)))


def rocprof_csv(rows):
    return encoded("Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,BeginNs,EndNs\n" + "".join(
        f"{i},{quoted(name)},0,3,7,8,64,64,{start},{end}\n" for i, (name, start, end) in enumerate(rows)))


def rocprof_stats(rows):
    return encoded('"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n' + "".join(
        f"{quoted(name)},1,{end - start},{end - start},1.0\n" for name, start, end in rows))


def rocprof_json(rows):
    events = [{"ph": "X", "name": name, "pid": 6, "tid": 1, "ts": str(start // 1000), "dur": "1",
               "args": {"BeginNs": str(start), "EndNs": str(end), "pid": "7", "tid": "8", "Name": name,
                        "dev-id": "0", "queue-id": "3", "stream-id": "1"}} for name, start, end in rows]
    head = '{ "traceEvents":[{}\n,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name"}\n'
    return encoded(head + "".join("," + json.dumps(event, ensure_ascii=False) + "\n"
                                  for event in events) + '],\n"otherData": {"CMD": "./app"}}')


def database(script, insert, rows):
    """The bytes of an SQLite file. Texts are stored as the bytes they are."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "made.db"
        made = sqlite3.connect(path)
        made.executescript(script)
        for row in rows:
            made.execute(insert[0], row)
        for more in insert[1:]:
            made.execute(more)
        made.commit()
        made.close()
        return path.read_bytes()


ROCPROF_OPS = "".join(f"""
CREATE TABLE {table} (BeginNs INTEGER, EndNs INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, Name TEXT,
  pid INTEGER, tid INTEGER, "roctx-range" TEXT, "stream-id" INTEGER, "Index" INTEGER, Data TEXT,
  __section INTEGER, __lane INTEGER, DurationNs INTEGER);""" for table in ("OPS", "COPY"))


def rocprof_db(rows):
    return database(ROCPROF_OPS,
                    ["INSERT INTO OPS VALUES (?,?,0,3,CAST(? AS TEXT),7,8,'',1,?,'',6,1,5)"],
                    [(start, end, encoded(name), i) for i, (name, start, end) in enumerate(rows)])


ROCPD = """
CREATE TABLE rocpd_metadata{g} (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE rocpd_string{g} (id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_info_node{g} (id INTEGER PRIMARY KEY, hostname TEXT);
CREATE TABLE rocpd_info_process{g} (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, ppid INTEGER,
  command TEXT, extdata TEXT);
CREATE TABLE rocpd_info_thread{g} (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
CREATE TABLE rocpd_info_agent{g} (id INTEGER PRIMARY KEY, pid INTEGER, type TEXT, type_index INTEGER,
  name TEXT, product_name TEXT, vendor_name TEXT);
CREATE TABLE rocpd_info_queue{g} (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE rocpd_info_pmc{g} (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE rocpd_info_kernel_symbol{g} (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
CREATE TABLE rocpd_event{g} (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, extdata TEXT);
CREATE TABLE rocpd_arg{g} (event_id INTEGER, position INTEGER, name TEXT, value TEXT);
CREATE TABLE rocpd_region{g} (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER,
  "end" INTEGER, name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_track{g} (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER);
CREATE TABLE rocpd_sample{g} (id INTEGER PRIMARY KEY, track_id INTEGER, timestamp INTEGER,
  event_id INTEGER);
CREATE TABLE rocpd_pmc_event{g} (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE TABLE rocpd_kernel_dispatch{g} (id INTEGER PRIMARY KEY, pid INTEGER, agent_id INTEGER,
  kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start INTEGER, "end" INTEGER,
  private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER,
  workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER,
  grid_size_z INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_copy{g} (id INTEGER PRIMARY KEY, pid INTEGER, start INTEGER, "end" INTEGER,
  name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, queue_id INTEGER,
  stream_id INTEGER, event_id INTEGER, extdata TEXT);
CREATE TABLE rocpd_memory_allocate{g} (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER,
  "end" INTEGER, type TEXT, level TEXT, agent_id INTEGER, address INTEGER, size INTEGER);
INSERT INTO rocpd_metadata{g} (tag, value) VALUES ('schema_version', '3');
INSERT INTO rocpd_info_process{g} (id, pid) VALUES (7, 7);
INSERT INTO rocpd_info_agent{g} (id, pid, type, type_index, name) VALUES (1, 7, 'GPU', 0, 'gfx942');
INSERT INTO rocpd_info_queue{g} VALUES (3, 'Queue 3');
""".replace("{g}", "_0a1b")


def rocpd(rows):
    return database(ROCPD, [
        """INSERT INTO rocpd_kernel_dispatch_0a1b (pid, agent_id, queue_id, start, "end", kernel_id,
           private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y,
           workgroup_size_z, grid_size_x, grid_size_y, grid_size_z)
           VALUES (7, 1, 3, ?, ?, ?, 0, 0, 64, 1, 1, 64, 1, 1)""",
        *[f"INSERT INTO rocpd_info_kernel_symbol_0a1b VALUES ({i}, CAST(x'{encoded(name).hex()}' AS TEXT), '')"
          for i, (name, _, _) in enumerate(rows)]],
        [(start, end, i) for i, (_, start, end) in enumerate(rows)])


NSYS = """CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);"""


def nsys(rows):
    return database(NSYS, [
        """INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 3, 1, 117440512, ?, 0)""",
        *[f"INSERT INTO StringIds VALUES ({i}, CAST(x'{encoded(name).hex()}' AS TEXT))"
          for i, (name, _, _) in enumerate(rows)]],
        [(start, end, i) for i, (_, start, end) in enumerate(rows)])


SEQUENCE = [(10, 1), (13, 2)]


def stages(rows):
    """GPU render stages of Perfetto."""
    names = (12, [(23, [(1, 1), (2, 7), (3, 5)]), (24, [(1, 1), (2, "Queue 3")]),
                  (24, [(1, 2), (2, "Kernels"), (4, 2)]), (1001, [(1, 1), (2, "device")]),
                  (1001, [(1, 2), (2, "stream")])])
    launch = (21, [(3, [(1, 1), (3, 0)]), (3, [(1, 2), (3, 3)])])
    return message((1, [names, (10, 1), (13, 3)])) + b"".join(
        message((1, [(8, start), (53, [(1, i + 1), (2, end - start), (5, 1), (11, 0), (13, 1), (14, 2),
                                       (17, encoded(name)), launch]), *SEQUENCE]))
        for i, (name, start, end) in enumerate(rows))


def slices(rows):
    """Track events, as rocprofv3 writes kernels."""
    head = [(60, [(1, 3), (2, "STREAM [3]")]), (10, 1), (13, 3)]
    notes = [(4, [(10, name), (4, value)])
             for name, value in (("agent", 0), ("queue", 3), ("stream_ID", 3), ("kernel_id", 1))]

    def packet(time, *fields):
        return message((1, [(8, time), (11, [(11, 3), *fields]), *SEQUENCE]))
    return message((1, head)) + b"".join(
        packet(start, (9, 1), (22, "kernel_dispatch"), (23, encoded(name)), *notes) + packet(end, (9, 2))
        for name, start, end in rows)


def xplane(rows):
    base = min(start for _, start, _ in rows)
    names = {name: i + 1 for i, name in enumerate(dict.fromkeys(name for name, _, _ in rows))}
    events = [(4, [(1, names[name]), (2, (start - base) * 1000), (3, (end - start) * 1000)])
              for name, start, end in rows]
    line = (3, [(1, 3), (2, "Stream #3(Kernel)"), (3, base), *events])
    known = [(4, [(1, number), (2, [(1, number), (2, encoded(name))])]) for name, number in names.items()]
    # Names first, so that a file that breaks off has them.
    return message((1, [(1, 1), (2, "/device:GPU:0"), *known, line]))


def hip_log(rows):
    head = ":3:hip_module.cpp           :501 : {:010} us: 7: [tid:0x8] "
    lines = []
    for name, start, _ in rows:
        us = start // 1000
        lines += [head.format(us) + f"hipLaunchKernel ( {name} )",
                  head.format(us + 1) + "ShaderName : " + name,
                  head.format(us + 2) + "HWq=0x7f2, Dispatch Header = 0xb02 (type=2), "
                  "grid=[64, 1, 1], workgroup=[64, 1, 1]",
                  head.format(us + 5) + "hipLaunchKernel: Returned hipSuccess : "]
    return encoded("\n".join(lines) + "\n")


def miopen_log(rows):
    """Without times: a call of three lines each."""
    return encoded("".join(f"MIOpen(HIP): miopenStatus_t miopenForward(miopenHandle_t){{\n"
                           f"MIOpen(HIP): \t{name}\nMIOpen(HIP): }}\n" for name, _, _ in rows))


# By the kind that `sonde import --as` names; some have two forms.
FORMATS = {
    "kineto": [Format("t.json", kineto, early="kept")],
    "rocprofv3-json": [Format("results.json", rocprofv3_json)],
    "rocprofv3-csv": [Format("t_kernel_trace.csv", rocprofv3_csv, tail=True)],
    "rocprof-csv": [Format("t.csv", rocprof_csv, tail=True)],
    "rocprof-stats": [Format(
        "results.stats.csv", rocprof_stats, early="", tail=True, times=lambda i, start, end: (0, 0),
        sql="SELECT substr(key, 13), 0, 0 FROM sonde_note WHERE key LIKE 'statistics: %' ORDER BY rowid")],
    "rocprof-json": [Format("results.json", rocprof_json)],
    "rocprof-db": [Format("results.db", rocprof_db, whole=True)],
    "rocpd": [Format("results_v3.db", rocpd, whole=True)],
    "nsys": [Format("report.sqlite", nsys, whole=True)],
    "perfetto": [Format("stages.pftrace", stages), Format("slices.pftrace", slices, early="", tail=True)],
    "xplane": [Format("vm.xplane.pb", xplane)],
    "amd-log": [Format("hip.log", hip_log, early="", lines=False, tail=True,
                       times=lambda i, start, end: (start // 1000 * 1000 + 2000,) * 2)],
    "miopen-log": [Format(
        "miopen.log", miopen_log, early="", lines=False, tail=True,
        times=lambda i, start, end: (i * 3000 + 1000, i * 3000 + 3000),
        sql="""SELECT u.string, a.start, a.end FROM rocpd_api a
               JOIN rocpd_ustring u ON u.id = a.args_id ORDER BY a.start""")],
}
