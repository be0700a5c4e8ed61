#!/usr/bin/python3
"""`sonde serve` on generated .rpd of 1 M and 10 M events (half operations, half calls; SONDE_SERVE_EVENTS names other
numbers): when the URL is there, the first picture, and the whole index; the same with a kept index; tiles with four
clients; anonymous memory; and what an idle server costs. A file is not in the page cache when its first reader begins."""
# runs: 1
import http.client
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

from measuring import BUILD, FOLDER, SONDE, cpu_seconds, make_cold, row

os.environ["XDG_CACHE_HOME"] = str(FOLDER / "cache")
EVENTS = [int(word) for word in os.environ.get("SONDE_SERVE_EVENTS", "1000000,10000000").split(",")]
CLIENTS, TILES, LANES = 4, 250, 8
IDLE_SECONDS = 10


class Served:
    def __init__(self, path):
        self.begin = time.monotonic()
        self.process = subprocess.Popen([SONDE, "serve", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        port, self.token = re.search(r":(\d+)/\?token=(\w+)", self.process.stdout.readline().decode()).groups()
        self.port = int(port)
        self.url_s = self.since()
        self.connection = self.connect()

    def since(self):
        return time.monotonic() - self.begin

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def get(self, path, connection=None):
        connection = connection or self.connection
        while True:
            connection.request("GET", "/api/" + path, headers={"Cookie": f"sonde_{self.port}={self.token}"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 503 and b'"reading"' not in body:
                continue
            return answer.status, body

    def state(self):
        return json.loads(self.get("state")[1])["traces"][0]

    def wait(self):
        while self.state()["state"] == "reading":
            time.sleep(0.02)

    def picture(self):
        """What a page needs for tracks and density: seconds since the start."""
        status, body = self.get("tracks?trace=0")
        if status == 503:
            status, body = self.get("preview?trace=0")
        else:
            tracks = json.loads(body)["tracks"]
            span = json.loads(self.get("traces")[1])["traces"][0]["end_ns"]
            level = max(0, (span // 1024).bit_length())
            lanes = ",".join(str(track["first_lane"]) for track in tracks[:LANES])
            status, body = self.get(f"tiles?trace=0&lanes={lanes}&level={level}&tile=0")
        assert status == 200, body
        return self.since()

    def memory_mb(self):
        """Anonymous memory: the server's own."""
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.M).group(1)) / 1024

    def cpu_s(self):
        return cpu_seconds(self.process.pid)

    def end(self):
        self.process.terminate()
        self.process.wait()


def tile_times(server):
    """Of four clients at once, each of which asks for tiles of eight lanes at random places and levels."""
    tracks = json.loads(server.get("tracks?trace=0")[1])["tracks"]
    lanes = [track["first_lane"] + i for track in tracks for i in range(track["lanes"])]
    span = json.loads(server.get("traces")[1])["traces"][0]["end_ns"]
    top = max(0, (span // 512).bit_length())
    times = []

    def client(seed):
        rng = random.Random(seed)
        connection = server.connect()
        for _ in range(TILES):
            level = rng.randrange(max(0, top - 16), top + 1)
            tile = rng.randrange(span // (512 << level) + 1)
            asked = ",".join(str(rng.choice(lanes)) for _ in range(LANES))
            begin = time.monotonic()
            status, _ = server.get(f"tiles?trace=0&lanes={asked}&level={level}&tile={tile}", connection)
            times.append((time.monotonic() - begin) * 1000)
            assert status == 200

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times)


def measure(events):
    label = f"sonde serve, {events / 1e6:g} M events"
    path = FOLDER / f"{events}.rpd"
    if not path.exists():
        subprocess.run([f"{BUILD}/tests/bench/export_bench", str(events), "1", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
    for kept in (FOLDER / "cache/sonde/serve").glob("*"):
        kept.unlink()
    for cold in (True, False):
        kind = "no cache" if cold else "cached"
        make_cold(path)
        server = Served(path)
        row(f"{label}: URL, {kind}", server.url_s, "s")
        row(f"{label}: first picture, {kind}", server.picture(), "s", goal=1 if cold else 0.3)
        server.wait()
        row(f"{label}: all of it, {kind}", server.since(), "s", goal=30 if cold else 0.5)
        if cold:
            row(f"{label}: memory after the index is made", server.memory_mb(), "MB", goal=1000)
            row(f"{label}: CPU of making the index", server.cpu_s(), "s CPU")
        else:
            before = server.cpu_s()
            times = tile_times(server)
            row(f"{label}: CPU of a tile of 8 lanes", (server.cpu_s() - before) / len(times) * 1000, "ms CPU")
            row(f"{label}: tile of 8 lanes, 4 clients, p50", times[len(times) // 2], "ms", goal=5)
            row(f"{label}: tile of 8 lanes, 4 clients, p99", times[len(times) * 99 // 100], "ms", goal=50)
            row(f"{label}: memory", server.memory_mb(), "MB", goal=1000)
            before = server.cpu_s()
            time.sleep(IDLE_SECONDS)
            row(f"{label}: idle", (server.cpu_s() - before) / IDLE_SECONDS * 100, "% of a core", goal=0.5)
        server.end()
    kept = sum(each.stat().st_size for each in (FOLDER / "cache/sonde/serve").glob("*"))
    row(f"{label}: index", kept / events, "B/event")
    path.unlink()


if __name__ == "__main__":
    for number in EVENTS:
        measure(number)
    sys.exit(0)
