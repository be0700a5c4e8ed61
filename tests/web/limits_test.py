#!/usr/bin/python3
"""How long a server of `sonde serve` makes a page wait, and how much the page may send.

limits_test.py --build DIR
"""

import argparse
import json
import os
import sys
import tempfile
import time
import unittest

from serving import Server
from story import write_large

SONDE = ""


class Many(unittest.TestCase):
    def test_the_list_does_not_wait_for_each_trace(self):
        with tempfile.TemporaryDirectory(prefix="sonde-web-") as folder:
            paths = [os.path.join(folder, f"{i}.rpd") for i in range(20)]
            write_large(paths[0], 300_000)
            for path in paths[1:]:
                os.link(paths[0], path)
            with Server(SONDE, "--no-cache", *paths) as server:
                begin = time.monotonic()
                status, body = server.get("/api/traces")
                took = time.monotonic() - begin
                traces = json.loads(body)["traces"]
                self.assertEqual((status, [each["path"] for each in traces]), (200, paths))
                self.assertEqual(traces[-1]["state"], "reading")  # they take longer than the answer
                self.assertLess(took, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    SONDE = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    unittest.main(argv=[sys.argv[0], *rest])
