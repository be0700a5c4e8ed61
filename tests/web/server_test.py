#!/usr/bin/python3
"""Asks a real server of `sonde serve` what a browser asks, and what an attacker would.

server_test.py --build DIR. Figures are held against the command line and against SQL on the file itself.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from rpd_fixture import Fixture  # noqa: E402
from serving import SHARED, Server, starts_in_tile  # noqa: E402

SONDE = ""
REAL = ["rpd/matmul_result.rpd", "kineto/mi250_minitoy.json.gz"]
ANALYSES = ["top", "kernels", "breakdown", "busy", "idle", "operators", "launches", "copies", "api", "stacks"]
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def make_trace(path):
    """40 calls, each with a kernel, one with a name that wants to be run."""
    fixture = Fixture(path)
    for i in range(40):
        api = fixture.api(1000 * i, 1000 * i + 300, f"call{i % 7}")
        names = {3: "<img src=x onerror=alert(1)>", 7: "void space::scale<float, 4>(float*, int)"}
        name = names.get(i, f"kernel{i % 5}")
        fixture.op(1000 * i + 400, 1000 * i + 900, name, apis=(api,))
    fixture.close()


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sonde-web-")
        cls.trace = os.path.join(cls.folder.name, "a trace.rpd")
        make_trace(cls.trace)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Asked(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(SONDE, cls.trace)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        super().tearDownClass()

    def json(self, path, **query):
        status, body = self.server.get(path, **query)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_token_becomes_a_cookie(self):
        status, headers, _ = self.server.ask(f"/?token={self.server.token}")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Set-Cookie"], f"sonde_{self.server.port}={self.server.token}; HttpOnly; "
                                                "SameSite=Strict; Path=/")
        for path in ("/", "/app.js", "/app.css", "/LICENSES.txt", "/api/traces"):
            status, headers, body = self.server.ask(path, self.server.cookie)
            self.assertEqual((status, headers["Content-Security-Policy"]), (200, POLICY))
            self.assertGreater(len(body), 100)

    def test_who_is_not_let_in(self):
        port, token = self.server.port, self.server.token
        cookie = self.server.cookie
        wrong = "0" * 32
        for path, headers in (
                ("/", {}), ("/app.js", {}), ("/api/traces", {}),
                (f"/?token={wrong}", {}), (f"/?token={token}0", {}), (f"/?token={token}&token={wrong}", {}),
                ("/", {"Cookie": f"sonde_{port}={wrong}"}), ("/", {"Cookie": f"sonde={token}"}),
                ("/", {**cookie, "Host": "evil.example"}), ("/", {**cookie, "Host": f"127.0.0.1.evil.example:{port}"}),
                ("/", {**cookie, "Host": f"127.0.0.1:{port}@evil.example"}), (f"/?token={token}", {"Host": "evil.example"}),
                ("/api/traces", {**cookie, "Origin": "http://evil.example"}), ("/api/traces", {**cookie, "Origin": "null"}),
                ("/api/traces", {**cookie, "Sec-Fetch-Site": "cross-site"})):
            with self.subTest(path=path, headers=headers):
                status, answered, body = self.server.ask(path, headers)
                self.assertEqual(status, 403)
                self.assertNotIn("Set-Cookie", answered)
                self.assertNotIn(token.encode(), body)
        for host in (f"localhost:{port}", f"[::1]:{port}", "127.0.0.1:9"):  # as through ssh -L
            self.assertEqual(self.server.ask("/", {**cookie, "Host": host})[0], 200)

    def test_paths_lead_nowhere_else(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/app.js/..%2f..%2fetc/passwd", "/app.ts",
                     "/api/", "/api/traces/x", "//app.js", "/app.js%00.css", self.trace.replace(" ", "%20")):
            with self.subTest(path=path):
                status, _, body = self.server.ask(path, self.server.cookie)
                self.assertIn(status, (400, 404))
                self.assertNotIn(b"root:", body)

    def test_only_sql_that_reads(self):
        status, body = self.server.get("/api/sql", trace=0, sql="SELECT count(*) FROM rocpd_op")
        self.assertEqual((status, json.loads(body)["rows"]), (200, [[40]]))
        for sql in ("DELETE FROM rocpd_op", "ATTACH '/etc/passwd' AS x", "PRAGMA query_only = 0", "SELECT readfile('/etc/passwd')",
                    "SELECT load_extension('x')", "SELECT 1; SELECT 2", "VACUUM INTO 'x.db'", "nonsense", ""):
            with self.subTest(sql=sql):
                self.assertEqual(self.server.get("/api/sql", trace=0, sql=sql)[0], 400)

    def test_finds_by_name(self):
        hits = self.json("/api/search", trace=0, text="KERNEL1", from_=0, to=40000, bins=40)
        self.assertEqual((hits["events"], hits["names"]), (8, 1))
        self.assertEqual([each["bins"] for each in hits["lanes"]], [[1, 6, 11, 16, 21, 26, 31, 36]])
        starts = []
        at = {"start_ns": 0, "lane": 0}
        while at := self.json("/api/next", trace=0, lane=at["lane"], time=at["start_ns"], back=0, text="kernel1"):
            starts.append(at["start_ns"])
        self.assertEqual(starts, [1000 * i + 400 for i in range(40) if i % 5 == 1])
        last = self.json("/api/next", trace=0, lane=0, time=39999, back=1, text="kernel1")
        self.assertEqual(last["start_ns"], starts[-1])
        for query in ({"text": ""}, {"text": "x" * 257}, {"text": "x", "bins": 0}, {"text": "x", "bins": 5000},
                      {"text": "x", "to": 0}):
            asked = {"from_": 0, "to": 9, "bins": 9, **query}
            self.assertEqual(self.server.get("/api/search", trace=0, **asked)[0], 400, query)

    def test_leads_from_operation_to_call_and_back(self):
        operation = self.json("/api/event", trace=0, table="op", row=3)
        self.assertEqual(operation["name"], "<img src=x onerror=alert(1)>")
        self.assertEqual((operation["call"]["name"], operation["call"]["start_ns"]), ("call3", 3000))
        call = self.json("/api/event", trace=0, table="api", row=operation["call"]["row"])
        self.assertEqual((call["launched"], [each["row"] for each in call["operations"]]), (1, [3]))
        after = self.json("/api/next", trace=0, lane=operation["lane"], time=operation["start_ns"], back=0)
        self.assertEqual((after["name"], after["row"]), ("kernel4", 4))
        before = self.json("/api/next", trace=0, lane=operation["lane"], time=operation["start_ns"], back=1)
        self.assertEqual(before["row"], 2)
        self.assertIsNone(self.json("/api/next", trace=0, lane=operation["lane"], time=39400, back=0))

    def test_pictures_are_those_of_the_command(self):
        for analysis in ("perf", "steps", "stacks"):
            done = subprocess.run([SONDE, analysis, self.trace, "--format", "svg"], capture_output=True, check=True)
            status, headers, body = self.server.ask(f"/api/panel?trace=0&analysis={analysis}&format=svg", self.server.cookie)
            self.assertEqual((status, headers["Content-Type"], body), (200, "image/svg+xml", done.stdout))
        for other in ("html", "", "SVG"):
            self.assertEqual(self.server.get("/api/panel", trace=0, analysis="perf", format=other)[0], 400)

    def test_spells_names(self):
        def spelled(body, kind="application/json"):
            headers = {**self.server.cookie, "Content-Type": kind}
            return self.server.ask("/api/names?trace=0", headers, "POST", body)
        self.assertEqual(json.loads(spelled(b'["kernel1", "<none>", "void space::scale<float, 4>(float*, int)"]')[2]),
                         ["kernel1", "<none>", "space::scale"])
        for body in (b"", b"[", b"[1]", b"{}", b'"x"', b"[" * 60000, b"[" + b'"x",' * 5000 + b'"x"]'):
            self.assertEqual(spelled(body)[0], 400, body[:20])
        self.assertEqual(spelled(b'["x"]', "text/plain")[0], 415)
        self.assertEqual(self.server.ask("/api/names?trace=0", {**self.server.cookie, "Content-Type": "application/json",
                                         "Content-Length": str((2 << 20) + 1)}, "POST")[0], 413)
        self.assertEqual(self.server.ask("/api/sql?trace=0&sql=SELECT+1", {**self.server.cookie, "Content-Type": "application/json"},
                                         "POST", b"[]")[0], 400)

    def test_findings_are_those_of_check(self):
        findings = self.json("/api/findings", trace=0)
        done = subprocess.run([SONDE, "check", self.trace, "--format", "json"], capture_output=True, check=True)
        checked = json.loads(done.stdout)["check"]
        self.assertEqual([(each["finding"], each["title"], each["cost_ns"]) for each in findings["findings"]],
                         [(each["finding"], each["title"], each["cost_ns"]) for each in checked])
        self.assertGreaterEqual(len(checked), 1)
        for each in findings["findings"]:
            self.assertLess(each["from_ns"], each["to_ns"])
            self.assertLessEqual(each["to_ns"] - each["from_ns"], each["cost_ns"])


class Life(Folder):
    def run_serve(self, *words, sonde=None):
        return subprocess.run([sonde or SONDE, "serve", *words], capture_output=True, text=True, timeout=120, check=False)

    def one_line(self, done, *parts):
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_signals_end_it_well_and_the_file_is_as_it_was(self):
        before = hashlib.sha256(Path(self.trace).read_bytes()).hexdigest()
        files = os.listdir(self.folder.name)
        for number in (signal.SIGINT, signal.SIGTERM):
            with Server(SONDE, self.trace) as server:
                for path in ("/api/findings", "/api/tracks", "/api/traces"):
                    self.assertEqual(server.get(path, trace=0)[0], 200)
                self.assertEqual(server.get("/api/sql", trace=0, sql="SELECT count(*) FROM rocpd_op")[0], 200)
                self.assertEqual(server.end(number), (0, "", ""))
        self.assertEqual(hashlib.sha256(Path(self.trace).read_bytes()).hexdigest(), before)
        self.assertEqual(os.listdir(self.folder.name), files)

    def test_clients_that_went_cost_nothing(self):
        def cpu_ticks(pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        with Server(SONDE, self.trace) as server:
            for _ in range(8):  # all the threads there are
                self.assertEqual(server.get("/api/traces")[0], 200)
            before = cpu_ticks(server.process.pid)
            time.sleep(2)
            self.assertLess(cpu_ticks(server.process.pid) - before, 0.2 * os.sysconf("SC_CLK_TCK"))

    def test_idle_end(self):
        with Server(SONDE, "--idle", "0.3s", self.trace) as server:
            self.assertEqual(server.end(None), (0, "", ""))

    def test_a_port_that_is_taken_and_a_file_that_is_none(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.one_line(self.run_serve("--port", str(port), self.trace), f"127.0.0.1:{port}", "--port 0")
        self.one_line(self.run_serve(f"{self.folder.name}/none.rpd"), "none.rpd")
        for words in (["--port", "65536"], ["--port", "x"], ["--idle", "soon"]):
            done = self.run_serve(*words, self.trace)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(words[0], done.stderr)

    def test_without_its_library(self):
        folder = Path(self.folder.name) / "elsewhere/bin"
        folder.mkdir(parents=True)
        shutil.copy(SONDE, folder / "sonde")
        self.one_line(self.run_serve(self.trace, sonde=folder / "sonde"), "libsonde-http.so", "libcpp-httplib")
        shutil.rmtree(folder.parent)

    def test_open_tells_others_no_token(self):
        """A stand-in for xdg-open keeps what it was given and what that holds."""
        tools = Path(self.folder.name) / "tools"
        tools.mkdir()
        (tools / "xdg-open").write_text('#!/bin/sh\nstat -c %a "$1" >"$SEEN.new"\ncat "$1" >>"$SEEN.new"\n'
                                        'echo "$*" >>"$SEEN.new"\nmv "$SEEN.new" "$SEEN"\n')
        (tools / "xdg-open").chmod(0o755)
        seen = tools / "seen"
        before = dict(os.environ)
        os.environ.update(PATH=f"{tools}:{before['PATH']}", SEEN=str(seen), XDG_RUNTIME_DIR=str(tools))
        try:
            with Server(SONDE, "--open", self.trace) as server:
                for _ in range(20000):  # asks take the time that the shell needs
                    if seen.exists():
                        break
                    self.assertEqual(server.get("/api/traces")[0], 200)
                mode, page, words = seen.read_text().splitlines()
                self.assertEqual(mode, "600")
                self.assertIn(f'url={server.url}"', page)
                self.assertNotIn(server.token, words)
                self.assertEqual(server.end()[0], 0)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.assertFalse(Path(words).exists())
        shutil.rmtree(tools)


class Real(unittest.TestCase):
    """Real traces: what the page shows is what the command line prints, and what SQL counts."""

    def server(self, name):
        path = SHARED / "data" / name
        if not path.exists():
            self.skipTest(f"no {path}")
        return path, Server(SONDE, path)

    def test_panels_are_the_bytes_of_the_command(self):
        for name in REAL:
            path, server = self.server(name)
            with server:
                for analysis in ANALYSES:
                    for options in ({}, {"from": "1000ns", "to": "30000000ns", "limit": "50"}):
                        words = [word for key, value in options.items() for word in (f"--{key}", value)]
                        done = subprocess.run([SONDE, analysis, str(path), "--format", "json", *words],
                                              capture_output=True, check=False)
                        status, body = server.get("/api/panel", trace=0, analysis=analysis,
                                                  **{f"{key}_": value for key, value in options.items()})
                        with self.subTest(name=name, analysis=analysis, options=options):
                            self.assertEqual((status, body), (200, done.stdout))

    def test_tiles_count_as_sql_does(self):
        path, server = self.server(REAL[0])
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        origin = database.execute("SELECT min(start) FROM (SELECT start FROM rocpd_op UNION ALL "
                                  "SELECT start FROM rocpd_api)").fetchone()[0]
        rng = random.Random(7)
        with server:
            tracks = json.loads(server.get("/api/tracks", trace=0)[1])["tracks"]
            info = json.loads(server.get("/api/traces")[1])["traces"][0]
            compared = 0
            for kind, table in (("queue", "rocpd_op"), ("thread", "rocpd_api")):
                lanes = [track["first_lane"] + i for track in tracks if track["kind"] == kind
                         for i in range(track["lanes"])]
                for _ in range(30):
                    level = rng.randrange(4, 28)
                    width = 512 << level
                    tile = rng.randrange(0, (info["end_ns"] - info["start_ns"]) // width + 1)
                    begin = origin + info["start_ns"] + tile * width
                    expected = database.execute(f"SELECT count(*) FROM {table} WHERE start >= ? AND start < ?",
                                                (begin, begin + width)).fetchone()[0]
                    counts = {}
                    for i in range(0, len(lanes), 64):
                        status, body = server.get("/api/tiles", trace=0, level=level, tile=tile,
                                                  lanes=",".join(map(str, lanes[i:i + 64])))
                        self.assertEqual(status, 200)
                        counts.update(starts_in_tile(body))
                    self.assertEqual(sum(starts for starts, _ in counts.values()), expected)
                    self.assertEqual(sum(added for _, added in counts.values()), expected)
                    compared += expected > 0
            self.assertGreater(compared, 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    SONDE = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    unittest.main(argv=[sys.argv[0], *rest])
