#!/usr/bin/python3
"""What takes too long for each test run: the page on every real trace of the shared folder, on a recording while it runs, and
pictures of a small trace against those that are checked in.

soak_test.py --build DIR [--pictures FOLDER] [--write]: --write makes the checked-in pictures again. Skipped (77) without
Chromium. The parts of a test that take little are in browser_test.py.
"""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import browser_test
from accessibility import lacks
from browser import difference
from browser_test import PAGES, WithBrowser
from serving import SHARED
from story import write_story
from tool_case import sql

KEPT = Path(__file__).resolve().parent / "pictures"
WRITE = False
BUILD = ""

def is_trace(path):
    done = subprocess.run([browser_test.SONDE, "info", path, "--format", "json"], capture_output=True, check=False)
    return done.returncode == 0


class RealTraces(WithBrowser):
    def test_each_opens_and_each_page_of_it(self):
        traces = [path for folder in ("kineto", "rpd", "rocpd", "rocprofv3", "logs") for path in sorted((SHARED / "data" / folder).glob("*")) if is_trace(path)]
        if not traces:
            self.skipTest(f"no traces in {SHARED}")
        for path in traces:
            with self.subTest(trace=path.name):
                browser = self.open(path, width=1920, height=1080, dark=True)
                browser.wait(lambda browser=browser: browser.all(".finding, .findings p"))
                self.picture(f"soak-{path.name}")
                for page in PAGES:
                    browser.go(page)
                    self.assertEqual(lacks(browser), [], page)
                    self.assertEqual([each.text for each in browser.all("main.page > .error, [role=alert]")], [], page)
                self.assertEqual(browser.complaints(), [])
                self.doCleanups()
                self.setUp()


class Recording(WithBrowser):
    def test_a_recording_while_it_runs(self):
        program = Path(BUILD) / "examples/training/hip/training_hip"
        if not program.exists():
            self.skipTest(f"no {program}")
        trace = os.path.join(self.folder, "live.rpd")
        words = [browser_test.SONDE, "record", "--softgpu", "-o", trace, "--", str(program), "--steps", "200"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recording:
            try:
                end = time.monotonic() + 60
                while not is_trace(trace) and time.monotonic() < end:
                    time.sleep(0.2)
                browser = self.open(trace)
                browser.wait(lambda: browser.all(".live"))
                first = self.operations(browser)
                browser.wait(lambda: self.operations(browser) > first)
                self.picture("recording")
            finally:
                recording.terminate()
        browser.wait(lambda: not browser.all(".live"))  # and it is seen that it ended
        browser.settle()
        self.assertEqual([(self.operations(browser),)], sql(trace, "SELECT count(*) FROM rocpd_op"))
        self.assertEqual(browser.complaints(), [])

    def operations(self, browser):
        return int(browser.text(".topline .note").split()[0].replace(",", ""))


class Pictures(WithBrowser):
    def test_they_look_as_they_did(self):
        for width, height, dark in ((1280, 800, False), (1920, 1080, True)):
            trace = write_story(os.path.join(self.folder, "story.rpd"))
            browser = self.open(trace, width=width, height=height, dark=dark)
            browser.wait(lambda browser=browser: browser.all(".finding"))
            browser.settle()
            for page in ("", "idle", "path"):
                browser.go(page)
                name = f"{page or 'timeline'}-{width}{'-dark' if dark else ''}"
                self.picture(f"look-{name}")
                shades = browser.shades()
                kept = KEPT / f"{name}.json"
                if WRITE:
                    KEPT.mkdir(exist_ok=True)
                    kept.write_text("\n".join(json.dumps(shades[i:i + 64], separators=(",", ":")) for i in range(0, len(shades), 64)) + "\n")
                    continue
                old = [shade for line in kept.read_text().splitlines() for shade in json.loads(line)]
                with self.subTest(picture=name):
                    self.assertEqual(len(old), len(shades))
                    mean, others = difference(old, shades)
                    self.assertLess(mean, 4, "on average, of 255")
                    self.assertLess(others, 0.02, "places that are quite another shade")
            self.doCleanups()
            self.setUp()


if __name__ == "__main__":
    options, rest = browser_test.prepare("--write")
    BUILD, WRITE = options.build, options.write
    unittest.main(argv=[sys.argv[0], *rest])
