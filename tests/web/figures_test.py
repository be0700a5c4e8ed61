#!/usr/bin/python3
"""Figures of the page as a reader takes them: moments count from the start of the trace and lead there, the roofline is that of
the selection, and what figures mean is said beside them.

figures_test.py --build DIR [--pictures FOLDER]. Skipped (77) without a browser, as browser_test.py.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

import browser_test
from accessibility import lacks
from browser_test import WithBrowser

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verdicts"))
from counter_trace import CounterTrace  # noqa: E402
from rpd_fixture import Fixture  # noqa: E402

MS = 1_000_000


def printed(*words):
    return subprocess.run([browser_test.SONDE, *map(str, words), "--format", "json"], capture_output=True, check=True).stdout


class Moments(WithBrowser):
    def write(self):
        """Far from 0 on its clock: a kernel at its start, which nothing waits for; work of a thread from 20 ms on, memory from 30 ms on."""
        path = os.path.join(self.folder, "moments.rpd")
        fixture = Fixture(path)
        begin = 5_000_000 * MS
        fixture.op(begin, begin + MS, "early")
        launch = fixture.api(begin + 20 * MS, begin + 25 * MS, "hipLaunchKernel")
        fixture.op(begin + 30 * MS, begin + 60 * MS, "late", apis=(launch,))
        for at, size, pointer in ((30, 1 << 20, "0x1000"), (40, 1 << 21, "0x2000"), (50, 1 << 10, "0x9000")):
            fixture.api(begin + at * MS, begin + at * MS + 1000, "hipMalloc", args=f"ptr = {pointer} | size = {size}")
        fixture.api(begin + 45 * MS, begin + 45 * MS + 1000, "hipFree", args="ptr = 0x2000")
        fixture.close()
        return path

    def leads_to(self, browser, selector, time_ns):
        """The button goes to the timeline, which then shows this moment near its middle."""
        browser.find(selector).click()
        browser.wait(lambda: browser.all("#timeline"))
        browser.settle()
        view = browser.view()
        self.assertTrue(view[0] <= time_ns <= view[1], (view, time_ns))
        self.assertLess(view[1] - view[0], 60 * MS)

    def test_they_count_from_the_start_and_lead_there(self):
        trace = self.write()
        path = json.loads(printed("critical-path", trace))["bound_by_facts"]
        self.assertEqual(path["at_ns"], 20 * MS)
        memory, = json.loads(printed("memory", trace))["memory"]
        self.assertEqual(memory["peak_at_ns"], 40 * MS + 1000)
        edges = json.loads(printed("critical-path", trace, "--show", "edges"))["edges"]
        self.assertEqual(edges[0]["at_ns"], 20 * MS)
        # Also of a part of the trace: a gap is where it is.
        gaps = json.loads(printed("idle", trace, "--from", "10ms", "--to", "40ms"))["gaps"]
        self.assertEqual([(gap["start_ns"], gap["duration_ns"]) for gap in gaps],
                         [(10 * MS, 10 * MS), (20 * MS, 10 * MS)])  # before the launch, and behind it

        browser = self.open(trace)
        browser.go("path")
        self.picture("moments-path")
        self.assertIn("Begins at20.0 ms", browser.text("#page-path"))
        self.assertIn("GPU kernels", browser.text("[aria-label='Bound by'] table"))
        about = browser.find("[aria-label='Bound by'] dl button").get_attribute("title")
        self.assertIn("5000.020000 s on the clock of the file", about)
        browser.find("[aria-label='Bound by'] .meaning summary").click()
        browser.settle()
        self.assertIn("At and Begins at count from the start of the trace", browser.text("[aria-label='Bound by'] .meaning"))
        self.assertEqual(lacks(browser), [])
        self.leads_to(browser, "[aria-label='Bound by'] dl button", 20 * MS)
        browser.press("0")
        browser.go("memory")
        self.picture("moments-memory")
        self.leads_to(browser, "[aria-label='Memory in use'] td.number button", 40 * MS)
        self.assertEqual(browser.complaints(), [])


class Counted(WithBrowser):
    def test_the_roofline_is_that_of_the_selection(self):
        counters = CounterTrace()
        for i, fmas in enumerate((8_000_000, 4_000_000, 2_000_000, 1_000_000)):
            counters.kernel(f"kernel_{i}", 100, read=64 << 20, fmas=fmas, gap=50)
        trace = counters.write(os.path.join(self.folder, "counted.json"))
        browser = self.open(trace)
        browser.find("#tab-roofline").click()
        browser.wait(lambda: browser.text("#command").startswith("sonde roofline "))
        browser.settle()
        self.assertEqual(self.kernels(browser), [f"kernel_{i}" for i in range(4)])
        url = browser.driver.current_url.split("#")[0]
        browser.driver.get("about:blank")
        browser.open(f"{url}#/?select=120000-320000")
        browser.find("#tab-roofline").click()
        browser.wait(lambda: "--to 320000ns" in browser.text("#command"))
        browser.settle()
        self.picture("roofline")
        self.assertEqual(self.kernels(browser), ["kernel_1", "kernel_2"])
        numbers = [re.match(r"-?[\d,.]+", each.text) for each in browser.all("#panel td.number")]
        digits = [re.sub(r"^[0.]+|[.,]", "", number.group()) for number in numbers if number and "." in number.group()]
        self.assertGreater(len(digits), 3)
        self.assertEqual([text for text in digits if len(text) > 3], [])  # three significant digits, as in a terminal
        words = shlex.split(browser.text("#command"))
        expected = printed(*words[1:])
        options = dict(zip([word[2:] for word in words[3::2]], words[4::2]))
        self.assertEqual(self.server.get("/api/panel", trace=0, analysis="roofline", **{f"{key}_": value for key, value in options.items()}), (200, expected))
        self.assertEqual([row["kernel"] for row in json.loads(expected)["points"]], ["kernel_1", "kernel_2"])
        browser.wait(lambda: len(browser.all("#panel .picture circle")) >= 2)
        # The page of it, too, with the speed of light of the same part.
        browser.find("nav a[href='#/compute']").click()
        browser.settle()
        self.picture("compute")
        commands = [each.text for each in browser.all("#page-compute code") if each.text.startswith(("sonde sol", "sonde roofline"))]
        self.assertEqual(len(commands), 2)
        for command in commands:
            self.assertIn("--from 120000ns --to 320000ns", command)
        self.assertEqual(lacks(browser), [])
        self.assertEqual(browser.complaints(), [])

    def kernels(self, browser):
        return sorted(browser.js("return [...document.querySelectorAll('#panel table')[0].querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent)"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *browser_test.prepare()[1]])
