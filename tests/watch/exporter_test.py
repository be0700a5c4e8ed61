#!/usr/bin/python3
"""sonde exporter as collectors see it: exporter_test.py --sonde PATH [unittest options].

The machine is tests/support/watch_tree.py's, whose state is known, so figures are compared with what
was written there. Where Debian's prometheus is installed it really scrapes and is asked what it has.
"""
import http.client
import http.server
import json
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from tool_case import ROOT, ToolCase, main  # noqa: E402

SERIES = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)(?:\{(.*)\})? (-?[0-9.e+-]+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')
LIMIT_SECONDS = 60
TOKEN = "0123456789abcdef" * 4


def parse(text):
    """{(name, ((label, value), ...)): number}; every line must be one of the format's."""
    found = {}
    for line in text.splitlines():
        if re.fullmatch(r"# (HELP [a-zA-Z_0-9]+ \S.*|TYPE [a-zA-Z_0-9]+ (gauge|counter))", line):
            continue
        match = SERIES.fullmatch(line)
        assert match, line
        labels = tuple(LABEL.findall(match[2] or ""))
        assert ",".join(f'{name}="{value}"' for name, value in labels) == (match[2] or ""), line
        assert (match[1], labels) not in found, f"twice: {line}"
        found[match[1], labels] = float(match[3])
    return found


def started(target, count):
    threads = [threading.Thread(target=target) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


class Exporter:
    """`with Exporter(sonde, ...) as exporter`: .port; get() asks for the metrics."""

    def __init__(self, sonde, *words):
        self.process = subprocess.Popen([sonde, "exporter", "--port", "0", *words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready = select.select([self.process.stdout], [], [], LIMIT_SECONDS)[0]
        line = self.process.stdout.readline() if ready else ""
        found = re.fullmatch(r"http://\S+:(\d+)/metrics\n", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"no URL: {line!r} {self.process.communicate()[1]!r}")
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.status = self.process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()
            self.process.stderr.close()

    def get(self, path="/metrics", method="GET", address="127.0.0.1", **headers):
        connection = http.client.HTTPConnection(address, self.port, timeout=LIMIT_SECONDS)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def memory_kb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def descriptors(self):
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


class ExporterCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "m"
        subprocess.run(["/usr/bin/python3", str(HERE.parent / "support/watch_tree.py"), "make", str(self.tree)],
                       check=True, stdout=subprocess.DEVNULL)
        for sensors in self.tree.glob("sys/devices/*/*/hwmon/hwmon7"):
            (sensors / "temp1_label").write_text("edge\n")
            (sensors / "temp1_input").write_text("30000\n")
        self.roots = ["--sys-root", str(self.tree / "sys"), "--proc-root", str(self.tree / "proc")]

    def exporter(self, *words):
        return Exporter(self.sonde, *self.roots, *words)

    def once(self, *words):
        return parse(self.run_sonde("exporter", "--once", *self.roots, *words).stdout)


class Figures(ExporterCase):
    def test_each_is_the_machines(self):
        """What watch_tree.py writes, under omnistat's names."""
        found = self.once()
        for name, card, value in [("rocm_utilization_percentage", 0, 100), ("rocm_utilization_percentage", 3, 95),
                                  ("rocm_average_socket_power_watts", 0, 140), ("rocm_num_compute_units", 0, 110),
                                  ("sonde_gpu_power_cap_watts", 0, 560), ("rocm_sclk_clock_mhz", 0, 1700),
                                  ("sonde_gpu_ecc_uncorrected_total", 3, 2), ("sonde_gpu_awake", 2, 0)]:
            self.assertEqual(found[name, (("card", str(card)),)], value, name)
        self.assertEqual(found["rocm_num_gpus", ()], 5)
        self.assertEqual(found["rocm_temperature_celsius", (("card", "3"), ("location", "junction"))], 107)
        used = sum(value for (name, labels), value in found.items()
                   if name == "sonde_gpu_process_vram_bytes" and ("pid", "100") in labels)
        self.assertEqual(used, 67645734912)
        jobs = [dict(labels) for name, labels in found if name == "rmsjob_info"]
        self.assertEqual(jobs, [{"jobid": "4711", "user": "root", "jobstep": "2", "type": "slurm"}])

    def test_a_gpu_that_sleeps_and_a_die_without_a_sensor_have_no_figures(self):
        cards = {}
        for name, labels in self.once():
            cards.setdefault(name, set()).add(dict(labels).get("card"))
        self.assertEqual(cards["rocm_utilization_percentage"], {"0", "1", "3", "4"})
        self.assertEqual(cards["rocm_average_socket_power_watts"], {"0", "3", "4"})

    def test_other_names_have_the_same_figures(self):
        ours, dme, dcgm = self.once(), self.once("--names", "dme"), self.once("--names", "dcgm")

        def by(found, name, label):
            return {dict(labels)[label]: value for (key, labels), value in found.items() if key == name}
        busy = by(ours, "rocm_utilization_percentage", "card")
        self.assertEqual(by(dme, "gpu_gfx_activity", "gpu_id"), busy)
        self.assertEqual(by(dcgm, "DCGM_FI_DEV_GPU_UTIL", "gpu"), busy)
        total = by(ours, "rocm_vram_total_bytes", "card")
        self.assertEqual({card: mib * 2**20 for card, mib in by(dme, "gpu_total_vram", "gpu_id").items()}, total)
        free, used = by(dcgm, "DCGM_FI_DEV_FB_FREE", "gpu"), by(dcgm, "DCGM_FI_DEV_FB_USED", "gpu")
        self.assertEqual({card: (free[card] + used[card]) * 2**20 for card in free}, total)


class Dashboard(unittest.TestCase):
    def test_it_asks_for_what_there_is(self):
        """Every name in examples/grafana/gpus.json is one of the exporter's source."""
        dashboard = json.loads((ROOT / "examples/grafana/gpus.json").read_text())
        asked = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
        names = re.findall(r"\b(?:rocm|sonde)_[a-z_]+", asked)
        self.assertGreaterEqual(len(names), 8)
        source = (ROOT / "src/watch/exposition.cpp").read_text()
        for name in names:
            self.assertIn(f'"{name}"', source)


class Asked(ExporterCase):
    def test_who_is_answered(self):
        with self.exporter() as exporter:
            status, text = exporter.get()
            self.assertEqual(status, 200)
            self.assertIn(("rocm_num_gpus", ()), parse(text))
            self.assertEqual(exporter.get("/")[0], 200)
            self.assertEqual(exporter.get("/else")[0], 404)
            self.assertEqual(exporter.get(Host="attacker.example")[0], 403)
            self.assertEqual(exporter.get(Origin="http://attacker.example")[0], 403)
            self.assertEqual(exporter.get(method="DELETE")[0], 405)
        self.assertEqual(exporter.status, 0)
        with self.exporter("--address", "127.0.0.2") as exporter:
            self.assertEqual(exporter.get(address="127.0.0.2")[0], 200)

    def test_with_a_token_who_sends_it_is_answered(self):
        secret = self.folder / "token"
        secret.write_text(TOKEN + "\n")
        with self.exporter("--token-file", str(secret)) as exporter:
            self.assertEqual(exporter.get()[0], 403)
            self.assertEqual(exporter.get(Authorization="Bearer " + TOKEN[::-1])[0], 403)
            self.assertEqual(exporter.get("/metrics?token=" + TOKEN)[0], 403)
            self.assertEqual(exporter.get(Authorization="Bearer " + TOKEN)[0], 200)
            # Of another address than loopback, unit.http tests the rules; tests listen on no such.

    def test_what_is_refused_at_the_start(self):
        short = self.folder / "short"
        short.write_text("secret")
        for words, said in [(["--address", "0.0.0.0"], "another address needs --token-file"),
                            (["--token-file", str(short)], "holds no token of 32 or more characters"),
                            (["--token-file", str(self.folder / "none")], "cannot be read"),
                            (["--port", "70000"], "not a number from 0 to 65535")]:
            made = self.run_sonde("exporter", *words, status=None)
            self.assertNotEqual(made.returncode, 0)
            self.assertIn(said, made.stderr)
            self.assertEqual(len(made.stderr.splitlines()), 1, made.stderr)

    def test_many_slow_and_malformed_ones_leave_nothing_behind(self):
        """20 clients ask 20 times each beside one that sends half a request and one that sends rubbish."""
        with self.exporter() as exporter:
            exporter.get()
            memory, descriptors = exporter.memory_kb(), exporter.descriptors()
            slow = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(2)]
            slow[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: loc")
            answers = []

            def ask():
                for _ in range(20):
                    try:
                        answers.append(exporter.get()[0])
                    except (OSError, http.client.HTTPException):
                        answers.append(None)  # too many at once are told so, and closed
            threads = started(ask, 20)
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", exporter.port)) as rubbish:
                    rubbish.sendall(b"\x00\xff" * 40 + b"\r\n\r\n")
            for thread in threads:
                thread.join()
            self.assertEqual(len(answers), 400)
            self.assertGreater(answers.count(200), 100)
            self.assertLessEqual({*answers}, {200, 503, None})
            for connection in slow:
                connection.close()
            self.assertEqual(exporter.get()[0], 200)
            deadline = time.monotonic() + LIMIT_SECONDS  # connections are kept for some seconds
            while exporter.descriptors() > descriptors + 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertLessEqual(exporter.descriptors(), descriptors + 2)
            self.assertLess(exporter.memory_kb(), memory + 32 * 1024)


    CLIENTS, SECONDS, RATE = 20, 2, 10  # requests a second of each

    def load(self, exporter):
        """20 clients that keep their connections; how many of their requests were answered."""
        answers = []

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=LIMIT_SECONDS)
            begin = time.monotonic()
            try:
                for number in range(self.SECONDS * self.RATE):
                    time.sleep(max(0, begin + number / self.RATE - time.monotonic()))
                    connection.request("GET", "/metrics")
                    answer = connection.getresponse()
                    text = answer.read()
                    answers.append(answer.status == 200 and b"rocm_num_gpus 5" in text)
            finally:
                connection.close()
        threads = started(ask, self.CLIENTS)
        yield  # the others do something beside it
        for thread in threads:
            thread.join()
        self.assertEqual(answers.count(True), self.CLIENTS * self.SECONDS * self.RATE, len(answers))

    def test_every_scrape_of_two_hundred_a_second_is_answered_beside_slow_ones(self):
        requests = [b"GET /metrics HTTP/1.1\r\nHost: loc", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"]
        with self.exporter() as exporter:
            sizes = []
            for _ in range(2):
                for _ in self.load(exporter):
                    slow = []
                    for number in range(16):  # half a request, and answers that are not read
                        one = socket.socket()
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                        one.connect(("127.0.0.1", exporter.port))
                        one.sendall(requests[number % 2] * (1 if number % 2 == 0 else 50))
                        slow.append(one)
                    for number in range(50):
                        with socket.create_connection(("127.0.0.1", exporter.port)) as rubbish:
                            rubbish.sendall([b"\x00\xff" * 40 + b"\r\n\r\n", b"GET " + b"x" * 20000,
                                             b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"][number % 3])
                for one in slow:
                    one.close()
                threads = len(list(Path(f"/proc/{exporter.process.pid}/task").iterdir()))
                sizes.append((threads, exporter.memory_kb()))
            self.assertEqual({threads for threads, _ in sizes}, {sizes[0][0]})
            self.assertLess(sizes[1][1], sizes[0][1] + 8 * 1024, sizes)  # in KB


class Server(ExporterCase):
    """With a server that Debian has, which is asked over HTTP."""

    def free_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def serve(self, *command):
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(server.wait, LIMIT_SECONDS)
        self.addCleanup(server.terminate)

    def ask_until_there(self, port, query):
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
                rows = json.loads(connection.getresponse().read())["data"]["result"]
                if rows:
                    return rows
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.2)
        self.fail((self.folder / "log").read_text()[-2000:])
        return []

    def check(self, port):
        rows = self.ask_until_there(port, "sum by (card) (sonde_gpu_process_vram_bytes)")
        found = {row["metric"]["card"]: float(row["value"][1]) for row in rows}
        self.assertEqual(found["4"], 4294967296)
        self.assertEqual(found["3"], 53687091200 + 2147483648)


    def check_card(self, port, node):
        server = f"http://127.0.0.1:{port}"
        card = self.ask("job-report", "--from", server, "--job", "4711")
        told = self.once()
        rows = {row["gpu"]: row for row in card["gpus"]}
        self.assertEqual(sorted(rows), [0, 1, 3, 4])
        for gpu, row in rows.items():
            self.assertAlmostEqual(row["busy_mean"], told["rocm_utilization_percentage", (("card", str(gpu)),)])
            junction = told["rocm_temperature_celsius", (("card", str(gpu)), ("location", "junction"))]
            self.assertEqual(row["temperature_max_c"], junction)  # the edge is cooler
            power = told.get(("rocm_average_socket_power_watts", (("card", str(gpu)),)))
            self.assertEqual(row["power_mean_w"] is None, power is None)
            if power is not None:  # the values are the same for all of the time
                self.assertAlmostEqual(row["power_mean_w"], power)
                self.assertAlmostEqual(row["energy_wh"], power * row["told_ns"] / 3.6e12, places=9)
            self.assertEqual(row["node"], node)
        self.assertEqual(card["gpus_facts"]["job"], "4711")
        made = self.run_sonde("job-report", "--from", server, "--job", "no", status=1)
        self.assertIn("job no: the server has no metrics of it from the last 7d", made.stderr)


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
class Prometheus(Server):
    def test_it_scrapes_and_has_what_was_there(self):
        port = self.free_port()
        with self.exporter() as exporter:
            (self.folder / "prometheus.yml").write_text(
                "global: {scrape_interval: 1s}\n"
                "scrape_configs: [{job_name: sonde, static_configs: "
                f"[{{targets: ['127.0.0.1:{exporter.port}']}}]}}]\n")
            self.serve("prometheus", f"--config.file={self.folder}/prometheus.yml",
                       f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{port}")
            self.check(port)
            self.ask_until_there(port, 'count_over_time(rmsjob_info{jobid="4711"}[1h]) > 2')
            self.check_card(port, "127.0.0.1")


class Importer(http.server.BaseHTTPRequestHandler):
    """Takes what is pushed, but refuses as often as it is told."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        refused = self.server.refusals > 0
        self.server.refusals -= refused
        if not refused:
            self.server.got.append((self.path, self.headers.get("Authorization"), body))
        self.send_response(503 if refused else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Push(Server):
    def push(self, url, *words):
        pushing = subprocess.Popen([self.sonde, "exporter", *self.roots, "--push", url, "--interval", "300ms", *words],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(pushing.wait)
        self.addCleanup(pushing.kill)
        return pushing

    def end(self, pushing):
        pushing.send_signal(signal.SIGTERM)
        text = pushing.communicate(timeout=LIMIT_SECONDS)[1]
        self.assertEqual(pushing.returncode, 0)
        return text

    def test_what_is_refused_is_sent_again_in_its_order_with_its_time(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Importer)
        server.refusals, server.got = 3, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        (self.folder / "token").write_text(TOKEN)
        pushing = self.push(f"http://127.0.0.1:{server.server_port}", "--token-file", str(self.folder / "token"))
        deadline = time.monotonic() + LIMIT_SECONDS
        while len(server.got) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        text = self.end(pushing)
        self.assertEqual(len(text.splitlines()), 2, text)
        self.assertIn("refuses it with status 503; will retry", text)
        self.assertIn("pushing works again, and nothing was lost", text)
        self.assertEqual({(path, token) for path, token, _ in server.got},
                         {(f"/api/v1/import/prometheus?extra_label=instance={socket.gethostname()}", f"Bearer {TOKEN}")})
        times = []
        for _, _, body in server.got:
            rows = [line for line in body.splitlines() if not line.startswith("#")]
            stamps = {int(line.rsplit(" ", 1)[1]) for line in rows}
            self.assertEqual(len(stamps), 1)
            times += stamps
            parse("\n".join(line.rsplit(" ", 1)[0] for line in rows))
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(set(times)), len(times))

    def test_a_server_that_is_not_there_is_named(self):
        pushing = self.push(f"http://127.0.0.1:{self.free_port()}")
        self.assertIn(f"/api/v1/import/prometheus?extra_label=instance={socket.gethostname()} every 300 ms", pushing.stdout.readline())
        time.sleep(1)
        self.assertEqual(self.end(pushing).count("cannot be reached"), 1)
        made = self.run_sonde("exporter", "--push", "here", status=None)
        self.assertIn("'here' is not a URL", made.stderr)

    @unittest.skipUnless(shutil.which("victoria-metrics"), "victoria-metrics is not installed")
    def test_victoria_metrics_has_what_was_there(self):
        port = self.free_port()
        self.serve("victoria-metrics", f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{port}",
                   "-search.latencyOffset=0s")
        pushing = self.push(f"http://127.0.0.1:{port}")
        self.check(port)
        self.ask_until_there(port, 'count_over_time(rmsjob_info{jobid="4711"}[1h]) > 3')
        self.end(pushing)
        self.check_card(port, socket.gethostname())


if __name__ == "__main__":
    main()
