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
from story import STEPS, write_large, write_story

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


class Sent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sonde-web-")
        cls.trace = write_story(os.path.join(cls.folder.name, "story.rpd"))
        cls.server = Server(SONDE, "--no-cache", cls.trace)
        cls.server.get("/api/tracks", trace=0)  # until it has been read

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def post(self, what, body, **headers):
        sent = {**self.server.cookie, "Content-Type": "application/json", **headers}
        status, _, answer = self.server.ask(f"/api/{what}?trace=0", sent, "POST", json.dumps(body, ensure_ascii=False).encode())
        return status, answer

    def test_all_notes_that_may_be(self):
        for count, long in ((200, 500), (500, 2000)):
            notes = [{"from_ns": i, "to_ns": i + 1, "text": "n" * long, "track": ""} for i in range(count)]
            version = json.loads(self.server.get("/api/notes", trace=0)[1])["version"]
            status, answer = self.post("notes", {"version": version, "notes": notes})
            self.assertEqual(status, 200, answer[:200])
            self.assertEqual(json.loads(self.server.get("/api/notes", trace=0)[1])["notes"], notes)
        self.assertEqual(self.post("notes", {"version": "", "notes": [{"from_ns": 0, "to_ns": 1, "text": "n"}] * 501})[0], 400)

    def test_long_names(self):
        names = [f"k{i}_" + "x" * 1500 for i in range(60)]
        status, answer = self.post("names", names)
        self.assertEqual((status, json.loads(answer)), (200, names))

    def test_long_sql(self):
        sql = "SELECT count(*), '" + "x" * 12_000 + "' FROM v_op"
        status, answer = self.post("sql", [sql])
        self.assertEqual((status, json.loads(answer)["rows"]), (200, [[5 * STEPS, "x" * 12_000]]))
        for body in ([], [sql, sql], sql, [5], {"sql": sql}, ["DELETE FROM rocpd_op"]):
            self.assertEqual(self.post("sql", body)[0], 400, body)
        # Who may not ask otherwise may not here.
        self.assertEqual(self.post("sql", ["SELECT 1"], Origin="http://evil.example")[0], 403)
        self.assertEqual(self.post("sql", ["SELECT 1"], Cookie="")[0], 403)
        self.assertEqual(self.post("sql", ["SELECT 1"], **{"Sec-Fetch-Site": "cross-site"})[0], 403)
        self.assertEqual(self.post("sql", ["SELECT 1"], **{"Content-Type": "text/plain"})[0], 415)

    def test_more_than_that_is_refused(self):
        headers = {**self.server.cookie, "Content-Type": "application/json", "Content-Length": str((2 << 20) + 1)}
        for what in ("notes", "names", "sql"):
            self.assertEqual(self.server.ask(f"/api/{what}?trace=0", headers, "POST")[0], 413, what)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    SONDE = os.path.abspath(os.path.join(options.build, "bin/sonde"))
    unittest.main(argv=[sys.argv[0], *rest])
