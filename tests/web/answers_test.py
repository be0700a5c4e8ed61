#!/usr/bin/python3
"""What else the page asks a server of `sonde serve`: layers, steps, counters, notes, several traces.

answers_test.py --build DIR. Each figure is held against the command line or SQL on the file itself.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from rpd_fixture import Fixture  # noqa: E402
from serving import SHARED, Server, starts_in_tile  # noqa: E402
from tool_case import change  # noqa: E402

SONDE = PROGRAMS = ""
BINS = 512


def printed(*words, form="json"):
    done = subprocess.run([SONDE, *map(str, words), "--format", form], capture_output=True, check=True)
    return done.stdout


def answer(server, path, **query):
    status, body = server.get(path, **query)
    assert status == 200, (path, query, body)
    return json.loads(body)


def end_of(server):
    answer(server, "/api/tracks", trace=0)  # is asked again until the trace has been read
    return answer(server, "/api/traces")["traces"][0]["end_ns"]


def events_of_lane(server, lane, end, **query):
    """(start, duration, row, name) of each event of a lane, from tiles of single events."""
    level = 0
    found = {}
    while (BINS << level) * 64 < end:
        level += 1
    while True:
        again = False
        for tile in range(end // (BINS << level) + 1):
            body = server.get("/api/tiles", trace=0, lanes=lane, level=level, tile=tile, **query)[1]
            _, form, rows, offset, _, _ = struct.unpack_from("<IIIIQQ", body, 32)
            if form == 0:
                again = True
                break
            starts = struct.unpack_from(f"<{rows}d", body, offset)
            durations = struct.unpack_from(f"<{rows}d", body, offset + 8 * rows)
            for i in range(rows):
                row, name = (struct.unpack_from("<I", body, offset + (16 + 4 * k) * rows + 4 * i)[0] for k in (0, 1))
                found[row] = (int(starts[i]) + tile * (BINS << level), int(durations[i]), name)
        if not again:
            return found
        level -= 1
        found.clear()


def counter_rows(body, entry=0):
    counter, rows, offset, _ = struct.unpack_from("<IIII", body, 32 + 16 * entry)
    columns = [struct.unpack_from(f"<{rows}f", body, offset + 4 * rows * k) for k in range(3)]
    bins = struct.unpack_from(f"<{rows}H", body, offset + 12 * rows)
    return counter, dict(zip(bins, zip(*columns)))


class Real(unittest.TestCase):
    def server(self, *names):
        paths = [SHARED / "data" / name for name in names]
        for path in paths:
            if not path.exists():
                self.skipTest(f"no {path}")
        return paths, Server(SONDE, *paths)

    def test_gaps_are_those_of_idle(self):
        for name in ("rpd/matmul_result.rpd", "kineto/mi250_minitoy.json.gz"):
            (path,), server = self.server(name)
            idle = json.loads(printed("idle", path, "--gaps", "100000"))
            expected = {(row["gpu_id"], row["reason"]): (row["gaps"], row["total_ns"]) for row in idle["idle"]}
            hosts = {(row["gpu_id"], row["start_ns"]): row for row in idle["gaps"]}
            with server:
                end = end_of(server)
                layer = answer(server, "/api/layer", trace=0, layer="idle")
                found = Counter()
                compared = 0
                for track in layer["tracks"]:
                    self.assertEqual(track["lanes"], 1)
                    for row, (start, duration, kind) in events_of_lane(server, track["first_lane"], end, layer="idle").items():
                        reason = layer["classes"][kind]
                        found[track["owner"], reason, "gaps"] += 1
                        found[track["owner"], reason, "total_ns"] += duration
                        known = hosts.get((track["owner"], start))
                        if known and known["duration_ns"] == duration and compared < 20:
                            compared += 1
                            event = answer(server, "/api/layer-event", trace=0, layer="idle", row=row)
                            self.assertEqual((event["class"], event["start_ns"], event["duration_ns"]),
                                             (known["reason"], start, duration))
                            roles = {each["role"]: each["name"] for each in event["events"]}
                            self.assertEqual((roles.get("after"), roles.get("before")), (known["previous"], known["next"]))
                            if known["host"]:
                                self.assertEqual(event["facts"][0]["text"], known["host"])
                self.assertGreater(compared, 0)
                self.assertEqual({key: (found[*key, "gaps"], found[*key, "total_ns"]) for key in expected}, expected)
                self.assertEqual(sum(value for key, value in found.items() if key[2] == "gaps"),
                                 sum(gaps for gaps, _ in expected.values()))

    def test_the_path_is_that_of_critical_path(self):
        (path,), server = self.server("kineto/simple_add_critical_path.json.gz")
        edges = [row for row in json.loads(printed("critical-path", path, "--show", "edges", "--limit", "0"))["edges"]
                 if row["elapsed_ns"] > 0]
        with server:
            end = end_of(server)
            layer = answer(server, "/api/layer", trace=0, layer="critical-path")
            track, = layer["tracks"]
            events = events_of_lane(server, track["first_lane"], end, layer="critical-path")
            self.assertEqual([(duration, layer["classes"][kind]) for _, (_, duration, kind) in sorted(events.items())],
                             [(row["elapsed_ns"], row["bound_by"]) for row in edges])
            self.assertEqual(track["total_ns"], sum(row["elapsed_ns"] for row in edges))
            for row in list(sorted(events))[:30]:
                event = answer(server, "/api/layer-event", trace=0, layer="critical-path", row=row)
                self.assertEqual(event["events"][0]["name"], edges[row]["name"])
                self.assertIsNotNone(event["events"][0]["lane"])

    def test_steps_are_those_of_steps(self):
        (path,), server = self.server("kineto/mi300_bert_small.json.gz")
        expected = json.loads(printed("steps", path))["steps"]
        with server:
            steps = answer(server, "/api/steps", trace=0)
            self.assertEqual([(each["name"], each["end_ns"] - each["start_ns"]) for each in steps["steps"]],
                             [(row["step"], row["time_ns"]) for row in expected])
            self.assertGreater(len(expected), 0)

    def test_panels_of_other_commands_have_their_bytes(self):
        for name, asked in (("rpd/matmul_result.rpd", (("info", {}), ("info", {"environment": "yes"}))),
                            ("rocprof-v1/ctr.csv", (("sol", {}), ("sol", {"all": "yes", "per": "wave", "gpu-model": "MI210"}),
                                                    ("roofline", {"gpu-model": "MI100"}), ("roofline", {"by": "nothing"}),
                                                    ("roofline", {"by": "dispatch", "limit": "2", "gpu-model": "MI210"}),
                                                    ("roofline", {"by": "dispatch", "gpu-model": "MI210", "from": "10%", "to": "60%"}),
                                                    ("sol", {"gpu-model": "MI210", "from": "10%", "to": "60%"}), ("sol", {"from": "1x"})))):
            (path,), server = self.server(name)
            with server:
                for command, options in asked:
                    words = [f"--{key}" if value == "yes" else f"--{key}={value}" for key, value in options.items()]
                    done = subprocess.run([SONDE, command, path, *words, "--format", "json"], capture_output=True, check=False)
                    status, body = server.get("/api/panel", trace=0, analysis=command, **options)
                    with self.subTest(command=command, options=options):
                        if done.returncode == 0:
                            self.assertEqual((status, body), (200, done.stdout))
                        elif done.returncode == 1:
                            self.assertIn(json.loads(body)["error"], done.stderr.decode())
                        else:
                            self.assertEqual(status, 400)
                if asked[0][0] == "sol":  # and the pictures of the page
                    for command, options in (("sol", {"gpu-model": "MI210"}), ("sol", {"panel": "3", "gpu-model": "MI210"}), ("roofline", {"gpu-model": "MI210"})):
                        done = printed(command, path, *[f"--{key}={value}" for key, value in options.items()], form="svg")
                        self.assertEqual(server.get("/api/panel", trace=0, analysis=command, format="svg", **options), (200, done))
                if asked[0][0] == "info":
                    self.assertEqual(server.get("/api/info", trace=0)[1], printed("info", path))
                self.assertEqual(server.get("/api/panel", trace=0, analysis=asked[0][0], output="x")[0], 400)

    def test_what_figures_mean_is_what_explain_says(self):
        _, server = self.server("rpd/matmul_result.rpd")
        with server:
            for analysis in ("idle", "kernels", "critical-path"):
                done = subprocess.run([SONDE, analysis, "--explain"], capture_output=True, text=True, check=True)
                words = answer(server, "/api/explain", analysis=analysis)["text"].split()
                self.assertEqual(done.stdout.split()[:len(words)], words or None, analysis)  # but for where lines end
            self.assertEqual(server.get("/api/explain", analysis="nothing")[0], 404)

    def test_two_traces_are_compared_as_by_diff(self):
        (a, b), server = self.server("kineto/diff_control.json.gz", "kineto/diff_test.json.gz")
        with server:
            self.assertEqual(server.get("/api/diff", base=0, trace=1)[1], printed("diff", a, b))
            aligned = answer(server, "/api/align", base=0, trace=1)
            steps = [answer(server, "/api/steps", trace=i)["steps"] for i in (0, 1)]
            self.assertEqual(aligned["by"], "steps" if all(steps) else "start")
            for pair in aligned["pairs"]:
                self.assertIn((pair["base_start_ns"], pair["base_end_ns"]),
                              [(each["start_ns"], each["end_ns"]) for each in steps[0]])
                self.assertIn((pair["start_ns"], pair["end_ns"]),
                              [(each["start_ns"], each["end_ns"]) for each in steps[1]])
            for query in ({"base": 0}, {"base": 2, "trace": 1}, {"base": 0, "trace": 1, "output": "x"}):
                self.assertIn(server.get("/api/diff", **query)[0], (400, 404), query)

    def test_ranks_stand_where_their_collectives_end_together(self):
        paths, server = self.server("kineto/legacy_torch113_ddp_rank0.json.gz", "kineto/legacy_torch113_ddp_rank1.json.gz")
        with server:
            for name in ("collectives", "ranks"):
                self.assertEqual(server.get("/api/joint-panel", analysis=name)[1], printed(name, *paths))
            ranks = answer(server, "/api/ranks")
            self.assertEqual([each["trace"] for each in ranks["traces"]], [0, 1])
            self.assertEqual(ranks["traces"][0]["shift_ns"], 0)
            self.assertEqual([each["trace"] for each in ranks["ranks"]], [0, 1])
            # Each collective where it ends in each trace, those with the ranks furthest apart first.
            skews = [each["skew_ns"] for each in ranks["instances"]]
            self.assertEqual(skews, sorted(skews, reverse=True))
            self.assertEqual(len(skews), 10)
            for each in ranks["instances"]:
                for trace, (start, end) in enumerate(each["times"]):
                    at = answer(server, "/api/sql", trace=trace, sql="SELECT count(*) FROM v_api JOIN v_string n ON n.id = name_id WHERE "
                                f"string LIKE 'gloo:%' AND end_ns - start_ns = {end - start}")
                    self.assertGreaterEqual(at["rows"][0][0], 1)


def make_trace(path, begin=5_000, steps=3, step_ns=100_000, metrics=True):
    """Steps with a marker each, a kernel each, a clock that changes, and a process that ends."""
    fixture = Fixture(path)
    for i in range(steps):
        start = begin + i * step_ns
        fixture.api(start, start + step_ns - 1000, "UserMarker", args=f"ProfilerStep#{i}", domain="user")
        call = fixture.api(start + 100, start + 300, "hipLaunchKernel")
        fixture.op(start + 1000, start + step_ns // 2, "kernel", apis=(call,))
    if metrics:
        rows = [("gpu", 0, "sclk", begin, begin + 50_000, "1000"), ("gpu", 0, "sclk", begin + 50_000, begin + 90_000, "1700"),
                ("gpu", 0, "sclk", begin + 90_000, begin + 300_000, "900.5"), ("process", 7, "cpu_percent", begin, begin + 10_000, "50"),
                ("gpu", 0, "power_w", begin, begin + 9, "nonsense")]
        fixture.database.executemany("INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, end, value) "
                                     "VALUES (?,?,?,?,?,?)", rows)
    fixture.close()


class Packed(unittest.TestCase):
    def test_a_call_leads_to_all_that_it_launched_and_queues_are_packed(self):
        """A graph of six kernels on three queues, two of which run at once."""
        with tempfile.TemporaryDirectory(prefix="sonde-web-") as folder:
            path = os.path.join(folder, "graph.rpd")
            fixture = Fixture(path)
            call = fixture.api(1000, 2000, "hipGraphLaunch")
            for i in range(6):
                fixture.op(3000 + 500 * i, 4000 + 500 * i, f"kernel{i}", queue=i % 3, apis=(call,))
            fixture.close()
            with Server(SONDE, path) as server:
                tracks = answer(server, "/api/tracks", trace=0)["tracks"]
                queues = [track for track in tracks if track["kind"] == "queue"]
                packed, = [track for track in tracks if track["kind"] == "packed"]
                self.assertEqual((len(queues), packed["lanes"], packed["lane_events"]), (3, 2, [3, 3]))
                event = answer(server, "/api/event", trace=0, table="api", row=0)
                self.assertEqual(event["launched"], 6)
                self.assertEqual([(each["name"], each["row"], each["packed"] - packed["first_lane"]) for each in event["operations"]],
                                 [(f"kernel{i}", i, i % 2) for i in range(6)])
                self.assertEqual({each["lane"] for each in event["operations"]}, {track["first_lane"] for track in queues})
                # Nothing is counted twice for that.
                hits = answer(server, "/api/search", trace=0, text="kernel", **{"from": 0, "to": 9000, "bins": 9})
                self.assertEqual((hits["events"], hits["names"]), (6, 6))
                seen, at = [], {"start_ns": 0, "lane": 0}
                while at := answer(server, "/api/next", trace=0, lane=at["lane"], time=at["start_ns"], back=0, text="kernel"):
                    seen.append(at["name"])
                self.assertEqual(seen, [f"kernel{i}" for i in range(6)])


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sonde-web-")
        cls.paths = [os.path.join(cls.folder.name, name) for name in ("a.rpd", "b.rpd")]
        make_trace(cls.paths[0])
        make_trace(cls.paths[1], begin=9_000, step_ns=150_000, metrics=False)
        cls.server = Server(SONDE, *cls.paths)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def test_counters_hold_until_the_next_reading(self):
        counters = answer(self.server, "/api/counters", trace=0)["counters"]
        by_title = {each["title"]: each for each in counters}
        clock = by_title["GPU 0 sclk"]
        self.assertEqual((clock["unit"], clock["gpu"], clock["min"], clock["max"]), ("MHz", 0, 900.5, 1700))
        self.assertIn("process 7 cpu_percent", by_title)
        asked = f"{clock['counter']},{by_title['process 7 cpu_percent']['counter']}"
        status, body = self.server.get("/api/counter-tiles", trace=0, counters=asked, level=10, tile=0)
        self.assertEqual((status, body[:4]), (200, b"SNDC"))
        _, bins = counter_rows(body)
        # From 0 to 299,000, where the last step ends.
        self.assertEqual(sorted(bins), list(range(299_000 // 1024 + 1)))
        self.assertEqual(bins[10], (1000, 1000, 1000))
        self.assertEqual(bins[50_000 // 1024], (1000, 1700, 1700))
        self.assertEqual(bins[90_000 // 1024], (900.5, 1700, 900.5))
        _, process = counter_rows(body, 1)
        self.assertEqual(sorted(process), list(range(10_000 // 1024 + 1)))  # it ended then
        for query in ({"counters": "99"}, {"counters": "x"}, {"counters": ""}):
            self.assertIn(self.server.get("/api/counter-tiles", trace=0, level=10, tile=0, **query)[0], (400, 404))
        self.assertEqual(answer(self.server, "/api/counters", trace=1), {"counters": []})

    def test_steps_of_two_traces_stand_beside_each_other(self):
        aligned = answer(self.server, "/api/align", base=0, trace=1)
        self.assertEqual(aligned["by"], "steps")
        self.assertEqual([(each["name"], each["base_start_ns"], each["start_ns"], each["end_ns"]) for each in aligned["pairs"]],
                         [(f"ProfilerStep#{i}", 100_000 * i, 150_000 * i, 150_000 * i + 149_000) for i in range(3)])

    def test_schema_is_what_can_be_asked(self):
        tables = {each["name"]: each for each in answer(self.server, "/api/schema", trace=0)["tables"]}
        self.assertEqual(tables["v_op"]["view"], True)
        self.assertEqual(tables["rocpd_op"]["columns"][:3], ["id", "gpuId", "queueId"])
        for name, table in tables.items():
            columns = ", ".join(f'"{each}"' for each in table["columns"])
            status, body = self.server.get("/api/sql", trace=0, sql=f'SELECT {columns} FROM "{name}" LIMIT 1')
            self.assertEqual(status, 200, (name, body))

    def test_layers_that_are_none(self):
        for query in ({}, {"layer": "x"}, {"layer": "../idle"}, {"layer": ""}):
            self.assertIn(self.server.get("/api/layer", trace=0, **query)[0], (400, 404))
        self.assertEqual(self.server.get("/api/layer-event", trace=0, layer="idle", row=99999)[0], 404)
        self.assertEqual(self.server.get("/api/tiles", trace=0, layer="idle", lanes=77, level=3, tile=0)[0], 404)

    def test_notes_are_kept_beside_the_trace(self):
        def post(body, kind="application/json"):
            headers = {**self.server.cookie, "Content-Type": kind}
            return self.server.ask("/api/notes?trace=0", headers, "POST", json.dumps(body).encode())
        path = self.paths[0] + ".sonde-notes.json"
        before = answer(self.server, "/api/notes", trace=0)
        self.assertEqual((before["notes"], before["path"], os.path.exists(path)), ([], path, False))
        notes = [{"from_ns": 5, "to_ns": 9, "text": "<img src=x onerror=alert(1)> \u00e9", "track": "GPU 0"}]
        self.assertEqual(post({"version": before["version"], "notes": notes}, "text/plain")[0], 415)
        status, _, body = post({"version": before["version"], "notes": notes})
        self.assertEqual((status, json.loads(body)["notes"]), (200, notes))
        self.assertEqual(json.loads(Path(path).read_text())["notes"], notes)
        self.assertEqual(post({"version": before["version"], "notes": []})[0], 409)
        self.assertEqual(answer(self.server, "/api/notes", trace=0)["notes"], notes)
        self.assertEqual(answer(self.server, "/api/notes", trace=1)["notes"], [])
        status, headers, _ = self.server.ask("/api/notes?trace=0", {"Origin": "http://evil.example", **self.server.cookie,
                                             "Content-Type": "application/json"}, "POST", b"{}")
        self.assertEqual(status, 403)
        os.unlink(path)


class Reading(unittest.TestCase):
    """Traces while they are read, kept indexes, and files that grow."""

    def setUp(self):
        self.begin = time.monotonic()
        self.folder = tempfile.TemporaryDirectory(prefix="sonde-web-")
        self.addCleanup(self.folder.cleanup)
        self.trace = os.path.join(self.folder.name, "a.rpd")
        self.cache = os.path.join(self.folder.name, "cache")
        self.addCleanup(os.environ.__setitem__, "XDG_CACHE_HOME", os.environ["XDG_CACHE_HOME"])
        os.environ["XDG_CACHE_HOME"] = self.cache

    def kept(self):
        return sorted(Path(self.cache).glob("sonde/serve/*"))

    def many(self, count, path=None):
        fixture = Fixture(path or self.trace)
        name, kind = fixture.string("kernel"), fixture.string("KernelExecution")
        fixture.database.executemany(
            "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) VALUES (?,0,0,?,?,?,?)",
            ((i % 2, 1000 * i, 1000 * i + 700, name, kind) for i in range(count)))
        fixture.close()

    def add(self, start):
        change(self.trace, "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) "
               f"SELECT 0, 0, 0, {start}, {start} + 500, description_id, opType_id FROM rocpd_op LIMIT 1")

    @staticmethod
    def ready(server):
        while (state := answer(server, "/api/state")["traces"][0])["state"] == "reading":
            assert 0 <= state["done"] <= 1
        return state

    def ops(self, server):
        return answer(server, "/api/sql", trace=0, sql="SELECT count(*) FROM v_op")["rows"][0][0]

    def test_an_index_is_kept_and_never_a_wrong_one(self):
        self.many(60_000)
        with Server(SONDE, self.trace) as server:
            self.assertEqual(self.ready(server)["version"], 1)
            first = server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0)
        index, = self.kept()
        self.assertEqual((index.stat().st_mode & 0o777, index.parent.stat().st_mode & 0o777), (0o600, 0o700))
        inode = index.stat().st_ino
        with Server(SONDE, self.trace) as server:  # used
            self.ready(server)
            self.assertEqual(server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0), first)
        self.assertEqual(index.stat().st_ino, inode)
        # The same size and time, other bytes: a copy of the file with one name changed.
        before = os.stat(self.trace)
        change(self.trace, "UPDATE rocpd_op SET start = 5, end = 900 WHERE id = 1")
        os.utime(self.trace, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(os.stat(self.trace).st_size, before.st_size)
        with Server(SONDE, self.trace) as server:
            self.ready(server)
            self.assertNotEqual(server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0), first)
            changed = server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0)
        index, = self.kept()
        self.assertNotEqual(index.stat().st_ino, inode)
        # A damaged index is made again, and one that cannot be kept is not needed.
        index.write_bytes(index.read_bytes()[:-100])
        with Server(SONDE, self.trace) as server:
            self.ready(server)
            self.assertEqual(server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0), changed)
        for path in self.kept():
            path.unlink()
        with Server(SONDE, "--no-cache", self.trace) as server:
            self.ready(server)
            self.assertEqual(server.get("/api/tiles", trace=0, lanes=0, level=16, tile=0), changed)
        self.assertEqual(self.kept(), [])

    def test_a_folder_of_others_is_no_cache(self):
        self.many(60_000)
        folder = Path(self.cache) / "sonde/serve"
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        with Server(SONDE, self.trace) as server:
            self.ready(server)
            self.assertEqual(server.get("/api/tracks", trace=0)[0], 200)
        self.assertEqual(self.kept(), [])

    def test_a_file_that_grows_is_read_again(self):
        self.many(10)
        with Server(SONDE, self.trace) as server:
            self.assertEqual(self.ready(server)["version"], 1)
            self.assertEqual(answer(server, "/api/traces")["traces"][0]["ops"], 10)
            self.add(20_000)
            while (state := answer(server, "/api/state")["traces"][0])["version"] == 1:
                self.assertEqual(state["state"], "ready")  # all goes on
                self.assertEqual(server.get("/api/tracks", trace=0)[0], 200)
            self.assertTrue(state["growing"])
            info = answer(server, "/api/traces")["traces"][0]
            self.assertEqual((info["ops"], info["end_ns"]), (11, 20_500))
            self.assertEqual(self.ops(server), 11)
            body = server.get("/api/tiles", trace=0, lanes=1, level=20, tile=0)[1]
            self.assertEqual(starts_in_tile(body), {1: (6, 6)})
            os.unlink(self.trace)  # what is gone stays as it was
            self.assertEqual(answer(server, "/api/state")["traces"][0]["version"], 2)
            self.assertEqual(server.get("/api/tracks", trace=0)[0], 200)

    def test_a_recording_that_is_running_is_seen_to_grow(self):
        program = f"{PROGRAMS}/mark_storm --threads 2 --pairs 500"
        recording = subprocess.Popen([SONDE, "record", "-o", self.trace, "--", "sh", "-c", f"{program}; sleep 2; {program}; sleep 2"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        counts = []
        while not os.path.exists(self.trace) or os.path.getsize(self.trace) == 0:  # until SQLite has begun it
            self.assertIsNone(recording.poll())
        with Server(SONDE, self.trace) as server:
            while not counts or counts[-1] < 2000:
                running = recording.poll() is None
                state = answer(server, "/api/state")["traces"][0]
                self.assertEqual(state["error"], "")
                trace = answer(server, "/api/traces")["traces"][0]
                if trace.get("apis") not in (None, *counts):
                    counts.append(trace["apis"])
                if not running and counts[-1:] != [2000]:
                    self.assertLess(time.monotonic(), self.begin + 60)
            self.assertIn(1000, counts)  # it was seen while the program slept
            self.assertEqual(counts, sorted(counts))
        self.assertEqual((recording.wait(), recording.communicate()[1].count(b"warning")), (0, 0))

    def test_a_preview_says_about_what_there_is(self):
        self.many(50_000)
        with Server(SONDE, self.trace) as server:
            preview = answer(server, "/api/preview", trace=0)
            self.assertAlmostEqual(preview["ops"], 50_000, delta=2_000)
            self.assertAlmostEqual(preview["end_ns"], 50_000_000, delta=500_000)
            kinds = [(each["kind"], each["owner"]) for each in preview["tracks"]]
            self.assertEqual(sorted(kinds), [("gpu", 0), ("gpu", 1), ("queue", 0), ("queue", 1)])
            for track in preview["tracks"]:
                mean = sum(track["bins"]) / len(track["bins"])
                self.assertAlmostEqual(mean, 0.35, delta=0.05)  # 700 of 2000 ns

    def test_an_analysis_that_takes_too_much_says_so(self):
        self.many(200_000)
        with Server(SONDE, "--analysis-memory", "20M", "--analysis-time", "60s", self.trace) as server:
            status, body = server.get("/api/panel", trace=0, analysis="breakdown")
            self.assertEqual(status, 500)
            self.assertIn("needs more than 20.0 MiB of memory", json.loads(body)["error"])
            self.assertEqual(server.get("/api/tracks", trace=0)[0], 200)
        for words in (["--analysis-memory", "x"], ["--analysis-time", "0"], ["--analysis-memory", "0"]):
            done = subprocess.run([SONDE, "serve", *words, self.trace], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(words[0], done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    SONDE = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    PROGRAMS = os.path.abspath(os.path.join(options.build, "tests/programs"))
    with tempfile.TemporaryDirectory(prefix="sonde-web-") as cache:  # not the user's own
        os.environ["XDG_CACHE_HOME"] = cache
        unittest.main(argv=[sys.argv[0], *rest])
