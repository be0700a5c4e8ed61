"""Writes small .rpd files of schema v3 with plain SQL, and reads what an export of any .rpd must
hold. Independent of Sonde's Writer and Reader: standard library only. Used by the exporters' tests.
"""
import sqlite3
from collections import defaultdict

V3 = """
CREATE TABLE rocpd_metadata (id integer PRIMARY KEY AUTOINCREMENT, tag varchar(4096),
  value varchar(4096));
CREATE TABLE rocpd_string (id integer PRIMARY KEY AUTOINCREMENT, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_ustring (id integer PRIMARY KEY AUTOINCREMENT, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_api (id integer PRIMARY KEY AUTOINCREMENT, pid integer, tid integer,
  start integer, end integer, apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint);
CREATE TABLE rocpd_copyapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), size integer,
  width integer, height integer, kind integer, dst varchar(18), src varchar(18), dstDevice integer,
  srcDevice integer, sync bool, pinned bool);
CREATE TABLE rocpd_kernelapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), gridX integer,
  gridY integer, gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer,
  groupSegmentSize integer, privateSegmentSize integer, kernelName_id bigint);
CREATE TABLE rocpd_op (id integer PRIMARY KEY AUTOINCREMENT, gpuId integer, queueId integer,
  sequenceId integer, start integer, end integer, description_id bigint, opType_id bigint);
CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY AUTOINCREMENT, api_id bigint, op_id bigint);
CREATE TABLE rocpd_monitor (id integer PRIMARY KEY AUTOINCREMENT, deviceType varchar(16),
  deviceId integer, monitorType varchar(16), start integer, end integer, value varchar(255));
CREATE TABLE rocpd_counter (id integer PRIMARY KEY AUTOINCREMENT, value real, op_id bigint,
  name_id bigint);
CREATE TABLE rocpd_stackframe (id integer PRIMARY KEY AUTOINCREMENT, api_ptr_id bigint,
  depth integer, name_id bigint);
INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3');
INSERT INTO rocpd_string(id, string) VALUES (1, '');
INSERT INTO rocpd_ustring(id, string) VALUES (1, '');
"""


class Fixture:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript(V3)
        self.strings = {b"": 1}

    def string(self, value):
        value = value if isinstance(value, bytes) else value.encode()
        if value not in self.strings:
            self.strings[value] = self.database.execute(
                "INSERT INTO rocpd_string(string) VALUES (CAST(? AS TEXT))", (value,)).lastrowid
        return self.strings[value]

    def ustring(self, value):
        value = value if isinstance(value, bytes) else value.encode()
        return self.database.execute(
            "INSERT INTO rocpd_ustring(string) VALUES (CAST(? AS TEXT))", (value,)).lastrowid

    def api(self, start, end, name, args="", pid=100, tid=100, domain="hip", name_id=None):
        return self.database.execute(
            "INSERT INTO rocpd_api(pid, tid, start, end, apiName_id, category_id, domain_id, "
            "args_id) VALUES (?,?,?,?,?,1,?,?)",
            (pid, tid, start, end, name_id or self.string(name), self.string(domain),
             self.ustring(args) if args else 1)).lastrowid

    def op(self, start, end, name, kind="KernelExecution", gpu=0, queue=0, apis=(), name_id=None):
        op = self.database.execute(
            "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, "
            "opType_id) VALUES (?,?,0,?,?,?,?)",
            (gpu, queue, start, end, name_id or self.string(name), self.string(kind))).lastrowid
        for api in apis:
            self.database.execute("INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (?,?)",
                                  (api, op))
        return op

    def kernel_api(self, api, grid, group, name):
        self.database.execute("INSERT INTO rocpd_kernelapi VALUES (?,'0x0',?,?,?,?,?,?,0,0,?)",
                              (api, *grid, *group, self.string(name)))

    def copy_api(self, api, size, to_gpu=0, from_gpu=0):
        self.database.execute("INSERT INTO rocpd_copyapi VALUES (?,'0x0',?,0,0,1,'','',?,?,1,0)",
                              (api, size, to_gpu, from_gpu))

    def op_counter(self, op, name, value):
        self.database.execute("INSERT INTO rocpd_counter (value, op_id, name_id) VALUES (?,?,?)",
                              (value, op, self.string(name)))

    def monitor(self, start, value, device=0, kind="sclk"):
        self.database.execute(
            "INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, end, value) "
            "VALUES ('gpu',?,?,?,?,?)", (device, kind, start, start + 10, value))

    def close(self):
        self.database.commit()
        self.database.close()


def nested(path, names):
    """For each name a marker around a launch of a kernel of that name and a copy by another process,
    and a mark. The caller closes it."""
    fixture = Fixture(path)
    for i, name in enumerate(names):
        at = 1000 + i * 1000
        fixture.api(at, at + 500, "UserMarker", args=name)
        launch = fixture.api(at + 100, at + 200, "hipLaunchKernel", args="a = 1 | b = two")
        copy = fixture.api(at + 250, at + 300, "hipMemcpy", pid=7, tid=7)
        fixture.kernel_api(launch, (4, 2, 1), (64, 1, 1), name)
        fixture.copy_api(copy, 1 << 33)
        fixture.op(at + 600, at + 700, name, gpu=i % 2, apis=[launch])
        fixture.op(at + 700, at + 790, "", kind="CopyHostToDevice", gpu=i % 2, apis=[copy])
        fixture.api(at + 210, at + 210, "UserMarker", args="an instant")
    return fixture


def shown(data):
    """The text a viewer gets: every byte that is not part of valid UTF-8 becomes U+FFFD."""
    text, at = [], 0
    while at < len(data):
        for size in (1, 2, 3, 4):
            try:
                text.append(data[at:at + size].decode("utf-8"))
                at += size
                break
            except UnicodeDecodeError:
                continue
        else:
            text.append("\ufffd")
            at += 1
    return "".join(text)


def cut(data, limit):
    """`data` of at most `limit` bytes, not in the middle of a character, with "..." where cut."""
    if limit is None or len(data) <= limit:
        return shown(data)
    while limit > 0 and data[limit] & 0xC0 == 0x80:
        limit -= 1
    return shown(data[:limit]) + "..."


def expected(path, text_limit=None, window=None):
    """What an export must hold, from the tables of the file."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.text_factory = bytes
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    strings = dict(database.execute("SELECT id, string FROM rocpd_string"))
    ustrings = dict(database.execute("SELECT id, string FROM rocpd_ustring")) \
        if b"rocpd_ustring" in tables else strings

    def name_of(id_):
        return strings.get(id_, b"<string %d>" % id_)

    def wanted(start, end):
        if window is None:
            return True
        return start < window[1] and (end > window[0] or start >= window[0])

    names = defaultdict(lambda: [0, 0])
    result = {"ops": 0, "ops_ns": 0, "apis": 0, "apis_ns": 0, "instants": 0, "skipped": 0}
    valid = {"op": {}, "api": {}}

    def count(kind, id_, start, end, name):
        if not wanted(start, end):
            return
        if start <= 0 or end < start:
            result["skipped"] += 1
            return
        valid[kind][id_] = end - start
        result[f"{kind}s"] += 1
        result[f"{kind}s_ns"] += end - start
        entry = names[f"{kind} {cut(name, text_limit)}"]
        entry[0] += 1
        entry[1] += end - start

    for id_, start, end, name, kind in database.execute(
            "SELECT id, start, end, description_id, opType_id FROM rocpd_op"):
        count("op", id_, start, end, name_of(name) or name_of(kind))
    for id_, start, end, name, args in database.execute(
            "SELECT id, start, end, apiName_id, args_id FROM rocpd_api"):
        name = name_of(name)
        if name == b"UserMarker":
            name = ustrings.get(args, b"") or name
        count("api", id_, start, end, name)
        result["instants"] += wanted(start, end) and 0 < start == end
    links = set(database.execute("SELECT api_id, op_id FROM rocpd_api_ops"))
    result["links"] = sum(a in valid["api"] and o in valid["op"] for a, o in links)
    result["launches"] = sum(valid["api"].get(a, 0) > 0 and o in valid["op"] for a, o in links)
    result["arrows"] = sum(valid["api"].get(a, 0) > 0 and valid["op"].get(o, 0) > 0
                           for a, o in links)
    result["names"] = {name: list(entry) for name, entry in names.items()}
    result["gpus"] = [row[0] for row in
                      database.execute("SELECT DISTINCT gpuId FROM rocpd_op ORDER BY 1")]
    return result
