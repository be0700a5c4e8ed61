#!/usr/bin/python3
"""Works with the page of `sonde serve` as a user would, in Debian's Chromium: keys, mouse, selection, search.

browser_test.py --build DIR [--pictures FOLDER]. Skipped by name (77) where there is no Chromium, driver or
python3-selenium. Figures on the page are held against the command line and SQL.
"""

import argparse
import json
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from browser import Browser, Keys, missing  # noqa: E402
from rpd_fixture import Fixture  # noqa: E402
from serving import SHARED, Server  # noqa: E402

SONDE = PICTURES = ""
REAL = "kineto/mi300_qwen_0.5b.json.gz"
HOSTILE = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=2</script>"


class WithBrowser(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sonde-browser-"))

    def open(self, trace, **options):
        self.server = self.enterContext(Server(SONDE, trace))
        self.browser = self.enterContext(Browser(self.folder, **options))
        self.browser.open(self.server.url)
        return self.browser

    def picture(self, name):
        if PICTURES:
            self.browser.picture(os.path.join(PICTURES, f"{name}.png"))


class RealTrace(WithBrowser):
    def test_a_real_trace(self):
        trace = SHARED / "data" / REAL
        if not trace.exists():
            self.skipTest(f"no {trace}")
        browser = self.open(trace)
        self.picture("first")
        self.assertEqual(browser.js("return document.cookie"), "")
        self.assertNotIn(self.server.token, browser.driver.current_url)
        tracks = [each.text for each in browser.all("[role=treeitem] button[aria-expanded]")]
        self.assertTrue(any("GPU " in text for text in tracks), tracks)
        whole = browser.view()
        self.navigate(browser, whole)
        self.select(browser, trace)
        self.search(browser)
        self.go_to_a_finding(browser, whole)
        self.assertEqual(browser.complaints(), [])

    def navigate(self, browser, whole):
        browser.find("#timeline").click()
        browser.press("w")
        browser.settle()
        near = browser.view()
        self.assertAlmostEqual((near[1] - near[0]) / (whole[1] - whole[0]), 0.6, places=3)
        browser.press("a")
        browser.settle()
        self.assertAlmostEqual((near[0] - browser.view()[0]) / (near[1] - near[0]), 0.2, places=3)
        browser.press("d", "s", "s")
        browser.settle()
        self.assertEqual(browser.view(), whole)
        browser.press("?")
        browser.find("[role=dialog]")
        self.assertEqual(browser.js("return document.activeElement.id"), "close")
        browser.press(Keys.ESCAPE)
        browser.wait(lambda: not browser.all("[role=dialog]"))

    def select(self, browser, trace):
        browser.drag("#timeline", (-100, 40), (150, 40))
        browser.settle()
        self.picture("selected")
        self.assertIn("Selected", browser.text(".panelhead h2"))
        command = shlex.split(browser.text("#command"))
        self.assertEqual(command[:3], ["sonde", "kernels", str(trace)])
        self.assertIn("--from", command)
        done = subprocess.run([SONDE, *command[1:], "--format", "json"], capture_output=True, check=True)
        expected = json.loads(done.stdout)["kernels"]
        self.assertGreater(len(expected), 0)
        shown = [cell.get_attribute("data-name") for cell in browser.all("#panel table tbody tr td.name button")]
        self.assertEqual(shown, [row["name"] for row in expected])
        browser.find("#tab-idle").click()
        browser.wait(lambda: browser.text("#command").startswith("sonde idle "))
        browser.settle()
        self.assertGreater(len(browser.all("#panel table")), 0)
        browser.find("#timeline").send_keys(Keys.ESCAPE)
        browser.wait(lambda: browser.text(".panelhead h2") == "The whole trace")
        for tab in browser.all("[role=tab]"):
            tab.click()
            browser.wait(lambda name=tab.get_attribute("id"): browser.find("#panel").get_attribute("aria-labelledby") == name)
            browser.settle()
            self.assertEqual(browser.text("#panel .error"), "")
            self.assertNotEqual(browser.text("#panel"), browser.text("#panel .command"))

    def search(self, browser):
        word = "memcpy"
        done = subprocess.run([SONDE, "query", str(SHARED / "data" / REAL), "--format", "json",
                               "SELECT (SELECT count(*) FROM v_op_detail WHERE coalesce(nullif(name, ''), type) LIKE '%memcpy%') + "
                               "(SELECT count(*) FROM v_api WHERE name LIKE '%memcpy%') AS hits"], capture_output=True, check=False)
        browser.press("/", word)
        browser.settle()
        self.assertRegex(browser.text("#hits"), r"^[\d,]+ events of \d+ names$")
        if done.returncode == 0:
            hits = json.loads(done.stdout)["query"][0]["hits"]
            self.assertEqual(browser.text("#hits").split()[0].replace(",", ""), str(hits))
        browser.press(Keys.ENTER)
        browser.wait(lambda: word in browser.text(".eventname").lower())
        first = browser.text(".details dl")
        browser.press(Keys.ENTER)
        browser.wait(lambda: browser.text(".details dl") != first)
        browser.settle()
        self.picture("found")
        browser.press(Keys.ESCAPE)
        browser.wait(lambda: browser.text("#hits") == "")

    def go_to_a_finding(self, browser, whole):
        browser.press("0")
        browser.settle()
        self.assertEqual(browser.view(), whole)
        browser.find(".finding button.show").click()
        browser.settle()
        view = browser.view()
        self.assertLess(view[1] - view[0], whole[1] - whole[0])
        words = shlex.split(browser.text("#command"))
        begin, end = (float(words[words.index(name) + 1][:-2]) for name in ("--from", "--to"))
        self.assertTrue(view[0] <= begin < end <= view[1], (view, begin, end))
        self.picture("finding")


class Hostile(WithBrowser):
    def test_names_are_text(self):
        trace = os.path.join(self.folder, HOSTILE.replace("/", "_")[:60] + ".rpd")
        fixture = Fixture(trace)
        for i in range(30):
            api = fixture.api(10000 * i, 10000 * i + 5000, HOSTILE, args=HOSTILE, domain=HOSTILE)
            fixture.op(10000 * i + 6000, 10000 * i + 9000, HOSTILE, kind=HOSTILE, apis=(api,))
        fixture.database.commit()
        fixture.database.close()
        browser = self.open(trace, dark=True)
        for tab in ("kernels", "idle", "api", "launches"):
            browser.find(f"#tab-{tab}").click()
            browser.settle()
        browser.press("/", "<img")
        browser.press(Keys.ENTER)
        browser.wait(lambda: browser.text(".eventname") == HOSTILE)
        browser.settle()
        self.picture("hostile")
        self.assertEqual(browser.text("#hits"), "60 events of 1 names")
        self.assertIsNone(browser.js("return window.pwned"))
        self.assertEqual(browser.all("#root img, #root script"), [])
        self.assertEqual(browser.complaints(), [])
        # The policy holds should something be written as HTML after all.
        browser.js("document.body.insertAdjacentHTML('beforeend', arguments[0])", HOSTILE)
        browser.wait(lambda: any("Content Security Policy" in text for text in browser.complaints()))
        self.assertIsNone(browser.js("return window.pwned"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--pictures", default="", help="a folder for what is seen on the way")
    options, rest = parser.parse_known_args()
    SONDE, PICTURES = os.path.abspath(os.path.join(options.build, "bin/sonde")), options.pictures
    if missing():
        print(f"skip: no {missing()}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
