"""A server of `sonde serve` that a test starts and ends, and asks over HTTP as a browser would."""

import http.client
import os
import re
import select
import signal
import struct
import subprocess
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SONDE_SHARED", ROOT.parent / "shared"))
LIMIT_SECONDS = 120


class Server:
    """`with Server(sonde, "trace.rpd") as server`: .url, .port, .token; get() asks with the cookie."""

    def __init__(self, sonde, *words):
        self.process = subprocess.Popen([sonde, "serve", *map(str, words)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self._line()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})\n", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"no URL: {line!r} {self.process.communicate()[1]!r}")
        self.url = line.strip()
        self.port = int(found.group(1))
        self.token = found.group(2)

    def _line(self):
        if not select.select([self.process.stdout], [], [], LIMIT_SECONDS)[0]:
            return ""
        return self.process.stdout.readline().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self, number=signal.SIGTERM):
        """(exit status, what else was printed, errors)"""
        if number is not None:
            self.process.send_signal(number)
        try:
            out, err = self.process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, out.decode(), err.decode()

    def ask(self, path, headers=None, method="GET", body=None):
        """(status, headers, bytes) of a request with just these headers, and Host if they have none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        try:
            headers = dict(headers or {})
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    @property
    def cookie(self):
        return {"Cookie": f"sonde_{self.port}={self.token}"}

    def get(self, path, **query):
        """(status, bytes); asked again where the server says so."""
        words = urllib.parse.urlencode({name.rstrip("_"): value for name, value in query.items()})
        end = time.monotonic() + LIMIT_SECONDS
        while True:
            status, _, body = self.ask(f"{path}?{words}", self.cookie)
            if status != 503 or time.monotonic() > end:
                return status, body


def starts_in_tile(body):
    """By lane, how many events start in a tile, as its entries say and as its rows add up to."""
    magic, _, lanes, _, _, _ = struct.unpack_from("<4sHHIIQ", body)
    assert magic == b"SNDT"
    counts = {}
    for i in range(lanes):
        lane, form, rows, offset, starts, _ = struct.unpack_from("<IIIIQQ", body, 32 + 32 * i)
        if form == 0:
            added = sum(struct.unpack_from(f"<{rows}I", body, offset))
        else:
            added = sum(start >= 0 for start in struct.unpack_from(f"<{rows}d", body, offset))
        counts[lane] = (starts, added)
    return counts
