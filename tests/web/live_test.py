#!/usr/bin/python3
"""The page of a trace that grows while it is looked at, or that is still being read.

live_test.py --build DIR [--pictures FOLDER]. Skipped by name (77) without Chromium.
"""

import json
import os
import sys
import unittest

import browser_test
from browser import Browser
from browser_test import WithBrowser
from serving import Server
from story import KERNELS, STEPS, write_large, write_story
from tool_case import change


class Live(WithBrowser):
    def grow(self, trace, operations, statements):
        """Until the page shows the `operations` that there are then."""
        change(trace, f"BEGIN; {statements}; COMMIT")
        self.browser.wait(lambda: self.browser.text(".topline .note").startswith(f"{operations} operations"))
        self.browser.settle()

    def hovers(self, label, time_ns, *texts, lane=0):
        self.browser.wait(lambda: self.browser.hover_time(label, time_ns, lane)[:len(texts)] == list(texts))

    def test_a_trace_that_grows(self):
        trace = write_story(os.path.join(self.folder, "story.rpd"))
        browser = self.open(trace)
        before = browser.text(".topline .note")
        self.assertFalse(browser.all(".live"))
        change(trace, "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) "
                      "SELECT gpuId, queueId, 0, start + 40000000, end + 40000000, description_id, opType_id FROM rocpd_op")
        browser.wait(lambda: browser.text(".topline .note") == before.replace(f"{5 * STEPS} operations", f"{10 * STEPS} operations"))
        browser.wait(lambda: browser.all(".live"))
        browser.settle()
        self.picture("live")
        self.assertGreater(browser.view()[1], 70_000_000)  # who looked at all of it still does
        browser.find("#timeline").click()
        browser.press("w")
        browser.find("#follow").click()
        browser.wait(lambda: browser.find("#follow").get_attribute("aria-pressed") == "true")
        self.assertEqual(browser.complaints(), [])

    def test_names_stay_with_their_events(self):
        trace = write_story(os.path.join(self.folder, "story.rpd"))
        self.open(trace)
        self.hovers("Thread 100", 2_500_000, "hipDeviceSynchronize", lane=1)
        # The string is new, and that of an operation: it is read before those of calls.
        self.grow(trace, 5 * STEPS + 1, "INSERT INTO rocpd_string(string) VALUES ('new_kernel'); "
                  "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) "
                  "SELECT gpuId, queueId, 0, 42000000, 46000000, (SELECT id FROM rocpd_string WHERE string = 'new_kernel'), opType_id "
                  f"FROM rocpd_op WHERE description_id = (SELECT id FROM rocpd_string WHERE string = '{KERNELS[0]}') LIMIT 1")
        self.hovers("Queue 0", 43_000_000, "new_kernel")
        self.hovers("Queue 0", 2_000_000, KERNELS[0])
        self.hovers("Thread 100", 2_500_000, "hipDeviceSynchronize", lane=1)
        self.assertEqual(self.browser.complaints(), [])

    def test_metrics_stay_with_their_values(self):
        trace = write_story(os.path.join(self.folder, "story.rpd"))
        browser = self.open(trace)
        browser.find("#filter").send_keys("metrics of")
        browser.settle()
        self.hovers("sclk", 30_500_000, "GPU 0 sclk", "830 MHz")
        # It comes before the one that is there.
        self.grow(trace, 5 * STEPS + 1, "INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, end, value) "
                  "VALUES ('gpu', 0, 'power_w', 1000000, 41000000, '500'); "
                  "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) "
                  "SELECT gpuId, queueId, 0, 42000000, 42100000, description_id, opType_id FROM rocpd_op LIMIT 1")
        shown = browser.wait(lambda: browser.hover_time("sclk", 30_500_000))
        self.assertEqual(shown, ["GPU 0 sclk", "830 MHz"])  # also while it grows
        self.hovers("power_w", 30_500_000, "GPU 0 power_w", "500 W")
        self.assertEqual(browser.complaints(), [])


class Unread(WithBrowser):
    def test_all_of_a_trace_that_is_read_late_is_compared(self):
        """It is read after sixteen others, and is 72 ms long; the first one is 40 ms long."""
        paths = [os.path.join(self.folder, f"{i}.rpd") for i in range(18)]
        write_story(paths[0])
        write_story(paths[-1], 8_000_000)
        write_large(paths[1], 300_000)
        for path in paths[2:-1]:
            os.link(paths[1], path)
        browser = self.enterContext(Browser(self.folder))
        server = self.enterContext(Server(browser_test.SONDE, "--no-cache", *paths))
        browser.driver.get(server.url)
        browser.wait(lambda: browser.js("return document.documentElement.dataset.ready") == "yes")
        if json.loads(server.get("/api/state")[1])["traces"][-1]["state"] != "reading":
            self.skipTest("all traces were read before the page was there")
        browser.js("location.hash = '#/compare'")
        browser.wait(lambda: browser.js("const s = document.querySelector('main.page select'); s.value = '17'; "
                                        "s.dispatchEvent(new Event('change', {bubbles: true})); return s.value") == "17")
        strips = ".stripcanvas[aria-label*='17.rpd']"
        browser.wait(lambda: browser.all(strips))

        def seen():
            browser.find(strips).send_keys("s")  # further out, as far as that goes
            return browser.find(strips).get_attribute("aria-label")
        browser.wait(lambda: ": 72.0 ms from" in seen())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *browser_test.prepare()[1]])
