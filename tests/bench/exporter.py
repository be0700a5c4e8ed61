#!/usr/bin/python3
# runs: 1
"""sonde exporter under 200 scrapes a second of 20 clients that keep their connections, beside 8 that read slowly and 8 that never finish their request."""

import http.client
import socket
import statistics
import subprocess
import threading
import time
from pathlib import Path

from measuring import FOLDER, SONDE, cpu_seconds, row

SOURCE = Path(__file__).resolve().parents[2]
CLIENTS, RATE, SECONDS = 20, 10, 15


def status(pid, key):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key + ":")).split()[1])


def ask(port, seconds, times):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begin = time.monotonic()
    for number in range(seconds * RATE):
        time.sleep(max(0, begin + number / RATE - time.monotonic()))
        asked = time.monotonic()
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        answer.read()
        times.append(1000 * (time.monotonic() - asked) if answer.status == 200 else float("inf"))
    connection.close()


def load(port, seconds):
    slow = []
    for number in range(16):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.connect(("127.0.0.1", port))
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: loc" + (b"alhost\r\n\r\n" if number % 2 else b""))
        slow.append(one)
    times = []
    threads = [threading.Thread(target=ask, args=(port, seconds, times)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in slow:
        one.close()
    return times


def main():
    tree = FOLDER / "m"
    subprocess.run(["/usr/bin/python3", str(SOURCE / "tests/support/watch_tree.py"), "make", str(tree)], check=True,
                   stdout=subprocess.DEVNULL)
    with subprocess.Popen([SONDE, "exporter", "--port", "0", "--sys-root", str(tree / "sys"), "--proc-root",
                           str(tree / "proc")], stdout=subprocess.PIPE, text=True) as exporter:
        port = int(exporter.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        load(port, 3)
        before, cpu = status(exporter.pid, "VmRSS"), cpu_seconds(exporter.pid)
        times = sorted(load(port, SECONDS))
        grown, cpu = status(exporter.pid, "VmRSS") - before, cpu_seconds(exporter.pid) - cpu
        exporter.terminate()
    note = f"{len(times)} scrapes in {SECONDS} s, five GPUs"
    for name, value, unit, goal in [
            ("exporter, 200 scrapes/s: answered", 100 * sum(each < float("inf") for each in times) / (CLIENTS * RATE * SECONDS), "%", 100),
            ("exporter, 200 scrapes/s: median", statistics.median(times), "ms", 5),
            ("exporter, 200 scrapes/s: 99th percentile", times[int(0.99 * len(times))], "ms", None),
            ("exporter, 200 scrapes/s: CPU", 100 * cpu / SECONDS, "% of a core", None),
            ("exporter, 200 scrapes/s: memory grown", grown, "KB", 1024)]:
        row(name, round(value, 2), unit, note=note, goal=goal, better="higher" if unit == "%" else None)


main()
