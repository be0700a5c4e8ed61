#!/usr/bin/python3
"""How smooth the page is: ten seconds of zooming and moving over a generated trace at 1920 x 1080, in Chromium without a GPU.

frames.py --build DIR [--events N] [--seconds S]. Prints one JSON object: median and 95th percentile of the time between
frames and of the script in a frame, the first picture, and the memory of the tab: the heap of its script, and what its
process alone has (private pages), at the end. A measurement, not a test: times depend on
the machine, so say which it was and whether it was idle.
"""

import argparse
import json
import os
import pathlib
import random
import re
import sqlite3
import sys
import tempfile
import time

from browser import Browser
from serving import Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from rpd_fixture import Fixture  # noqa: E402

QUEUES, THREADS, DEPTH = 16, 6, 4  # 1 + 16 + 24 lanes, besides those of idle time and the critical path

# Keys, one each frame, and what a frame takes. The browser calls requestAnimationFrame when it has shown the one before.
DRIVE = """
const [seconds, done] = arguments, canvas = document.getElementById("timeline");
const keys = [..."wwwwwwwwdddddddddddddddddddddddddddddddddddddddaaaaaaaaaaaaaaaaaaaassssssss"];
const frames = [], scripts = [];
let last, script, painted, at = 0;
const begin = performance.now();
const step = (now) => {
  const total = Number(canvas.dataset.script), count = Number(canvas.dataset.painted);
  if (last !== undefined) {
    frames.push(now - last);
    if (count > painted) scripts.push((total - script) / (count - painted));
  }
  [last, script, painted] = [now, total, count];
  if (now - begin > 1000 * seconds) return done({frames, scripts});
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: keys[at++ % keys.length], bubbles: true}));
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def write(path, events):
    """Half operations, half calls around each other; a launch for each operation."""
    fixture = Fixture(path)
    rng = random.Random(1)
    names = [fixture.string(f"kernel_{i}_of_a_model_with_a_long_name") for i in range(200)]
    kernel, hip, none = fixture.string("KernelExecution"), fixture.string("hip"), 1
    half = events // 2

    def operations():
        at = [2000] * QUEUES
        for i in range(half):
            queue = i % QUEUES
            long = rng.randrange(2000, 60000)
            yield i + 1, 0, queue, 0, at[queue], at[queue] + long, rng.choice(names), kernel
            at[queue] += long + rng.randrange(200, 9000)

    def calls():
        at = [0] * THREADS
        for i in range(half // DEPTH):
            thread = i % THREADS
            begin, long = at[thread], rng.randrange(20000, 90000)
            for depth in range(DEPTH):
                yield i * DEPTH + depth + 1, 1, thread + 1, begin + 500 * depth, begin + long - 500 * depth, rng.choice(names), none, hip, none
            at[thread] += long + rng.randrange(100, 5000)
    database = fixture.database
    database.executemany("INSERT INTO rocpd_op(id, gpuId, queueId, sequenceId, start, end, description_id, opType_id) VALUES (?,?,?,?,?,?,?,?)", operations())
    database.executemany("INSERT INTO rocpd_api(id, pid, tid, start, end, apiName_id, category_id, domain_id, args_id) VALUES (?,?,?,?,?,?,?,?,?)", calls())
    database.execute("INSERT INTO rocpd_api_ops(api_id, op_id) SELECT id, id FROM rocpd_op")
    database.commit()
    fixture.close()


def quantile(values, share):
    return round(sorted(values)[min(int(len(values) * share), len(values) - 1)], 2) if values else None


def tab_bytes(browser):
    browser.driver.execute_cdp_cmd("Performance.enable", {})
    metrics = {each["name"]: each["value"] for each in browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    return int(metrics["JSHeapUsedSize"])


def process_bytes(browser):
    """Private memory of the process that shows the page: of those of this browser, the renderer with the most."""
    children = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(") ", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(int(status.parent.name))
        except (OSError, IndexError):
            continue
    most, todo = 0, [browser.driver.service.process.pid]
    while todo:
        pid = todo.pop()
        todo += children.get(pid, [])
        try:
            if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                most = max(most, 1024 * sum(int(kb) for kb in re.findall(r"^Private_\w+:\s+(\d+) kB", rollup, re.M)))
        except OSError:
            continue
    return most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    sonde = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    with tempfile.TemporaryDirectory(prefix="sonde-frames-") as folder:
        trace = os.path.join(folder, "frames.rpd")
        write(trace, options.events)
        with Server(sonde, trace) as server, Browser(folder, width=1920, height=1080) as browser:
            begin = time.monotonic()
            browser.driver.get(server.url)
            browser.wait(lambda: int(browser.js("return document.getElementById('timeline')?.dataset.painted ?? 0")) > 0)
            first = time.monotonic() - begin
            browser.wait(lambda: browser.all(".finding, .findings p"))
            browser.settle()
            browser.driver.set_script_timeout(options.seconds + 60)
            taken = browser.driver.execute_async_script(DRIVE, options.seconds)
            heap, process = tab_bytes(browser), process_bytes(browser)
        print(json.dumps({"events": options.events, "first_picture_s": round(first, 2), "frames": len(taken["frames"]),
                          "frame_median_ms": quantile(taken["frames"], 0.5), "frame_p95_ms": quantile(taken["frames"], 0.95),
                          "frame_max_ms": quantile(taken["frames"], 1), "script_median_ms": quantile(taken["scripts"], 0.5),
                          "script_p95_ms": quantile(taken["scripts"], 0.95), "heap_mb": round(heap / 1e6, 1),
                          "tab_private_mb": round(process / 1e6, 1),
                          "sqlite": sqlite3.sqlite_version}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
