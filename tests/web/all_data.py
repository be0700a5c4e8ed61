#!/usr/bin/python3
"""Every real trace in the browser's server: panels of every analysis have the bytes of the command line, and for random
windows what tiles count is what SQL counts, and how long GPUs are busy in them what `sonde busy` says.

all_data.py --build DIR [--only REGEX] [--seconds N]. Prints a line for each trace, and ends with 77 without any.
"""

import argparse
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

from serving import SHARED, Server, starts_in_tile

ANALYSES = ["api", "breakdown", "busy", "copies", "counters", "critical-path", "idle", "kernels", "ktop", "launches", "memory",
            "operators", "overlap", "perf", "queues", "sequences", "stacks", "steps", "top", "variability"]
WINDOWS = 6
KINDS = (".rpd", ".rpd.gz", ".json.gz", ".json", ".db")


def asked(server, path, **query):
    status, body = server.get(path, trace=0, **query)
    assert status == 200, (path, query, status, body[:300])
    return body


def panels(sonde, server, path):
    compared = 0
    for analysis in ANALYSES:
        for options in ({}, {"from": "10%", "to": "60%"}):
            words = [f"--{key}={value}" for key, value in options.items()]
            done = subprocess.run([sonde, analysis, path, "--format", "json", *words], capture_output=True, check=False)
            status, body = server.get("/api/panel", trace=0, analysis=analysis, **{f"{key}_": value for key, value in options.items()})
            if done.returncode == 0:
                assert (status, body) == (200, done.stdout), (analysis, options, status, body[:300], done.stdout[:300])
                compared += 1
            else:
                assert status != 200, (analysis, options)
    return compared


def busy_by_gpu(sonde, path, begin, end):
    done = subprocess.run([sonde, "busy", path, "--from", f"{begin}ns", "--to", f"{end}ns", "--format", "json"],
                          capture_output=True, check=True)
    return {row["gpu_id"]: row["busy_ns"] for row in json.loads(done.stdout)["busy"] if row["busy_ns"]}


def windows(sonde, server, path):
    tracks = json.loads(asked(server, "/api/tracks"))["tracks"]
    info = json.loads(server.get("/api/traces")[1])["traces"][0]
    origin, = json.loads(asked(server, "/api/sql", sql="SELECT min(t) FROM (SELECT min(start_ns) AS t FROM v_op UNION ALL "
                                                       "SELECT min(start_ns) FROM v_api)"))["rows"][0]
    rng = random.Random(path)
    span = info["end_ns"] - info["start_ns"]
    for _ in range(WINDOWS):
        level = rng.randrange(6, max(7, (span // 512).bit_length() + 1))
        tile = rng.randrange(span // (512 << level) + 1)
        begin = info["start_ns"] + tile * (512 << level)
        end = begin + (512 << level)
        for kind, view in (("queue", "v_op"), ("thread", "v_api")):
            lanes = [track["first_lane"] + i for track in tracks if track["kind"] == kind for i in range(track["lanes"])]
            counted = 0
            for i in range(0, len(lanes), 64):
                body = asked(server, "/api/tiles", level=level, tile=tile, lanes=",".join(map(str, lanes[i:i + 64])))
                for starts, added in starts_in_tile(body).values():
                    assert starts == added, (kind, level, tile)
                    counted += starts
            sql = f"SELECT count(*) FROM {view} WHERE start_ns >= {int(origin) + begin} AND start_ns < {int(origin) + end}"
            expected = json.loads(asked(server, "/api/sql", sql=sql))["rows"][0][0]
            assert counted == expected, (kind, level, tile, counted, expected)
        gpus = [track for track in tracks if track["kind"] == "gpu"]
        if not gpus or begin < 0:
            continue
        drawn = {}
        for i in range(0, len(gpus), 64):
            body = asked(server, "/api/tiles", level=level, tile=tile, lanes=",".join(str(gpu["first_lane"]) for gpu in gpus[i:i + 64]))
            for k, gpu in enumerate(gpus[i:i + 64]):
                busy_ns, = struct.unpack_from("<Q", body, 32 + 32 * k + 24)
                if busy_ns:
                    drawn[gpu["owner"]] = busy_ns
        expected = busy_by_gpu(sonde, path, begin, end)
        assert drawn == expected, ("busy", level, tile, drawn, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further trace after this time")
    options = parser.parse_args()
    sonde = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    begin = time.monotonic()
    looked_at = 0
    for path in sorted((SHARED / "data").rglob("*")):
        if not path.name.endswith(KINDS) or not re.search(options.only, str(path)) or time.monotonic() - begin > options.seconds:
            continue
        if subprocess.run([sonde, "info", path], capture_output=True, check=False).returncode != 0:
            print(f"{path.name}: no trace", flush=True)
            continue
        with Server(sonde, path) as server:
            while json.loads(server.get("/api/state")[1])["traces"][0]["state"] == "reading":
                time.sleep(0.1)
            windows(sonde, server, str(path))
            print(f"{path.name}: {panels(sonde, server, str(path))} panels", flush=True)
        looked_at += 1
    return 0 if looked_at else 77


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="sonde-web-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        sys.exit(main())
