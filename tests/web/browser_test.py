#!/usr/bin/python3
"""Works with the page of `sonde serve` as a user would, in Debian's Chromium: keys, mouse, selection, search, every page.

browser_test.py --build DIR [--pictures FOLDER]. Skipped by name (77) where there is no Chromium, driver or
python3-selenium. Figures on the page are held against the command line, SQL, and what story.py says by hand.
soak_test.py has what takes longer, drawn_test.py what draws the timeline, live_test.py traces that grow.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from accessibility import lacks  # noqa: E402
from browser import Browser, Keys, missing  # noqa: E402
from rpd_fixture import Fixture  # noqa: E402
from serving import SHARED, Server  # noqa: E402
from story import KERNELS, STEP, STEPS, add_samples, write_calls, write_story  # noqa: E402

SONDE = PICTURES = ""
REAL = "kineto/mi300_qwen_0.5b.json.gz"
PAGES = ["", "findings", "kernels", "operators", "copies", "memory", "steps", "path", "idle", "ranks", "compare", "compute", "sql", "about"]
HOSTILE = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=2</script>"


def prepare(*flags):
    """The options of the command line and what is left of it; ends by name where there is no browser."""
    global SONDE, PICTURES
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--pictures", default="", help="a folder for what is seen on the way")
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    options, rest = parser.parse_known_args()
    SONDE, PICTURES = os.path.abspath(os.path.join(options.build, "bin/sonde")), options.pictures
    if missing():
        print(f"skip: no {missing()}")
        sys.exit(77)
    return options, rest


class WithBrowser(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sonde-browser-"))

    def open(self, *traces, **options):
        self.server = self.enterContext(Server(SONDE, *traces))
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
        self.assertTrue(any(text.endswith("Process 23232: python3") for text in tracks), tracks)
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


class Story(WithBrowser):
    """One browser for all of it: starting one takes longer than most of what is done with it."""

    def test_a_training_job(self):
        self.trace = write_story(os.path.join(self.folder, "story.rpd"))
        browser = self.open(self.trace)
        self.picture("story")
        self.first_screen(browser)
        self.why_idle(browser)
        self.steps(browser)
        self.links(browser)
        self.tracks(browser)
        self.measure(browser)
        self.notes(browser)
        self.pages(browser)
        self.questions(browser)
        self.assertEqual(browser.complaints(), [])

    def idle(self):
        done = subprocess.run([SONDE, "idle", self.trace, "--format", "json"], capture_output=True, check=True)
        return {row["reason"]: row["total_ns"] for row in json.loads(done.stdout)["idle"]}

    def first_screen(self, browser):
        facts = dict(zip([each.text for each in browser.all(".story dt")], [each.text for each in browser.all(".story dd")]))
        self.assertEqual(facts["Steps"], str(STEPS))
        self.assertEqual(facts["Communication"], "0.0 %")
        self.assertIn(f"{STEPS} steps", browser.text(".corner"))
        self.assertNotIn("On the timeline", facts)
        # The legend says which cause how much is of, as the command does.
        legend = {each.get_attribute("data-name"): each.text for each in browser.all("[aria-label^='Why the GPUs'] li[data-name]")}
        idle = {reason: total_ns for reason, total_ns in self.idle().items() if total_ns > 0}
        self.assertEqual(legend, {reason: f"{reason} {100 * total_ns / sum(idle.values()):.0f} %" for reason, total_ns in idle.items()})
        self.assertIn("launch-bound", legend)
        # What to try about the first finding is open, and the table below is the one that says more of it.
        self.assertGreaterEqual(len(browser.all(".finding")), 1)
        self.assertTrue(browser.find(".finding details").get_attribute("open"))
        self.assertEqual(browser.find(".tabs [aria-selected=true]").get_attribute("id"), "tab-idle")
        labels = browser.text("[aria-label=Tracks]")
        for part in ("Critical path", "GPU 0", "Idle, by cause", "Queue 0", "Queue 1", "Thread 100", "sclk"):
            self.assertIn(part, labels)

    def why_idle(self, browser):
        # The second kernel ends 4.3 ms after the start; the host launches the next one at 5.3 ms.
        browser.click_time("Idle, by cause", 5_000_000)
        self.assertIn("GPU idle: launch-bound", browser.text(".eventname"))
        self.picture("gap")
        buttons = browser.text(".details .buttons")
        self.assertIn("gemm_64x64", buttons)
        browser.find(".details .buttons button").click()
        browser.settle()
        self.assertRegex(browser.text(".eventname"), "softmax_forward|gemm_64x64")
        browser.press("0")
        browser.settle()
        # A finding leads to the longest gap that it is about, with its evidence, and to figures of it.
        browser.find(".finding button.show").click()
        browser.wait(lambda: "GPU idle: launch-bound" in browser.text(".eventname"))
        browser.settle()
        self.picture("finding")
        self.assertIn("launch-bound", browser.text("#panel table"))
        browser.find("#tab-kernels").click()
        browser.press(Keys.ESCAPE, "0")
        browser.settle()
        # While a step's data are copied nothing computes.
        browser.click_time("Idle, by cause", STEP + 800_000)
        self.assertIn("GPU idle: copy", browser.text(".eventname"))
        browser.click_time("Critical path", 2_000_000)
        self.assertIn("Critical path: GPU kernels", browser.text(".eventname"))
        browser.find("#timeline").send_keys(Keys.ESCAPE)
        browser.wait(lambda: not browser.all(".details"))

    def steps(self, browser):
        for step in (0, 1, 2):
            browser.press("j")
            browser.wait(lambda step=step: f"Selected: ProfilerStep#{step}, 10.0 ms" in browser.text(".panelhead h2"))
            browser.settle()
            begin, end = step * STEP, (step + 1) * STEP
            view = browser.view()
            self.assertTrue(view[0] <= begin < end <= view[1] < end + STEP, (step, view))
        browser.press("k")
        browser.wait(lambda: "Selected: ProfilerStep#1," in browser.text(".panelhead h2"))
        browser.settle()
        words = shlex.split(browser.text("#command"))
        self.assertEqual(words[words.index("--from") + 1:words.index("--from") + 4], [f"{STEP}ns", "--to", f"{2 * STEP}ns"])
        # Each step has each kernel once.
        shown = {cell.get_attribute("data-name") for cell in browser.all("#panel table tbody tr td.name button")}
        self.assertEqual(shown, set(KERNELS))
        # The same place in the next step, where less than a step is seen.
        browser.press("w", "w")
        browser.settle()
        before = browser.view()
        browser.press("j")
        browser.settle()
        self.assertEqual([round(now - then) for now, then in zip(browser.view(), before)], [STEP, STEP])
        view = "-".join(str(round(time)) for time in browser.view())
        browser.wait(lambda: f"view={view}&select={STEP}-{2 * STEP}" in browser.js("return location.hash"))
        address = browser.js("return location.href")
        browser.driver.get("about:blank")
        browser.open(address)  # as if the URL had been sent to another user
        self.assertIn("Selected: ProfilerStep#1,", browser.text(".panelhead h2"))
        self.assertEqual([round(now - then) for now, then in zip(browser.view(), before)], [STEP, STEP])
        browser.find("#timeline").send_keys(Keys.ESCAPE, "0")
        browser.settle()

    def links(self, browser):
        browser.click_time("Queue 0", 2_000_000)
        self.assertEqual(browser.text(".eventname"), KERNELS[0])
        for part in ("16384 x 1 x 1", "256 x 1 x 1", "1.50 ms"):
            self.assertIn(part, browser.text(".details"))
        browser.press("[")
        browser.wait(lambda: browser.text(".eventname") == "hipLaunchKernel")
        browser.settle()
        self.picture("arrow")
        browser.press("]")
        browser.wait(lambda: browser.text(".eventname") == KERNELS[0])
        browser.press(Keys.ARROW_RIGHT)
        browser.wait(lambda: browser.text(".eventname") == KERNELS[2])  # of the same queue
        browser.press(Keys.ESCAPE, "0")
        browser.settle()

    def tracks(self, browser):
        browser.js("document.querySelector('[aria-label=\"Pin Queue 1 to the top\"]').click()")
        browser.settle()
        self.assertIn("Queue 1", browser.text("[aria-label='Pinned tracks']"))
        browser.js("document.querySelector('[aria-label=\"Hide Queue 0\"]').click()")
        browser.settle()
        self.assertNotIn("Queue 0", browser.text("[aria-label=Tracks]"))
        browser.find("#unhide").click()
        browser.settle()
        self.assertIn("Queue 0", browser.text("[aria-label=Tracks]"))
        browser.find("#filter").send_keys("sclk")
        browser.settle()
        self.assertIn("sclk", browser.text("[aria-label=Tracks]"))
        self.assertNotIn("Thread 100", browser.text("[aria-label=Tracks]"))
        browser.press(Keys.ESCAPE)
        browser.find("#compact").click()
        browser.settle()
        self.picture("compact")
        labels = browser.text("[aria-label=Tracks]")
        self.assertIn("All queues", labels)  # on as few lanes as hold them
        self.assertNotIn("Queue 1", labels.replace("All queues", ""))
        browser.click_at("#timeline", *browser.at_time("All queues", 2_000_000))
        browser.settle()
        self.assertEqual(browser.text(".eventname"), KERNELS[0])
        browser.find("#timeline").send_keys(Keys.ESCAPE)
        self.assertEqual(browser.find("#compact").get_attribute("aria-pressed"), "true")
        browser.find("#compact").click()
        browser.js("document.querySelector('[aria-label^=Unpin]').click()")
        browser.settle()

    def measure(self, browser):
        start = browser.at_time("Queue 0", 1_300_000 + 40_000)  # near the start of the first kernel: it is taken
        end = browser.at_time("Queue 0", 2_800_000 - 40_000)
        browser.drag("#timeline", start, end, Keys.ALT)
        browser.wait(lambda: browser.text("#said") == "measured 1.50 ms")
        self.picture("measure")

    def notes(self, browser):
        browser.press("j")
        browser.wait(lambda: browser.all(".panelhead .addnote"))
        browser.find(".panelhead .addnote").click()
        browser.press("slow <b>here</b>", Keys.ENTER)
        browser.wait(lambda: "1 note" in browser.text(".notes"))
        with open(browser.js("return document.querySelector('.notes summary').textContent.split('kept in ')[1]"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertIn("slow <b>here</b>", json.dumps(kept))
        self.assertEqual(browser.all(".notes b"), [])
        browser.find("#timeline").send_keys(Keys.ESCAPE, "0")
        browser.settle()

    def pages(self, browser):
        for theme, pages in (("light", PAGES), ("dark", ["", "findings", "idle"])):
            for page in pages:
                browser.go(page)
                with self.subTest(page=page, theme=theme):
                    self.assertEqual(lacks(browser), [])
                    self.assertEqual([each.text for each in browser.all("main.page > .error, .part > .error")], [])
                self.picture(f"page-{page or 'timeline'}-{theme}")
            browser.find("#theme").click()
        # Twice as large letters: nothing is cut off at the side.
        browser.size(1280, 800, zoom=2)
        for page in ("", "findings", "sql"):
            browser.go(page)
            self.picture(f"zoom-{page or 'timeline'}")
            self.assertLessEqual(browser.js("return document.documentElement.scrollWidth - innerWidth"), 0, page)
        browser.size(1280, 800)

    def questions(self, browser):
        browser.go("sql")
        self.assertIn("v_op_detail", browser.text(".schema"))
        field = browser.find("#sql")
        field.clear()
        field.send_keys("SELECT coalesce(nullif(n.string, ''), t.string) AS name, count(*) FROM v_op JOIN v_string n ON n.id = name_id "
                        "JOIN v_string t ON t.id = type_id GROUP BY 1 ORDER BY 1", Keys.CONTROL, Keys.ENTER)
        browser.settle()
        rows = [[cell.text for cell in row.find_elements("css selector", "td")] for row in browser.all("[aria-label=Result] tbody tr")]
        self.assertEqual(rows, sorted([["CopyHostToDevice", str(STEPS)], *([name, str(STEPS)] for name in KERNELS)]))
        browser.find("#sql").send_keys(" ; DROP TABLE rocpd_op", Keys.CONTROL, Keys.ENTER)
        browser.wait(lambda: browser.all("main [role=alert]"))
        self.assertEqual(len([text for text in browser.complaints() if "400" not in text]), 0)
        browser.go("path")
        browser.find("form button[type=submit]").click()
        browser.settle()
        self.assertIn("--what-if gpu_compute=50", browser.text("[aria-label='What if']"))
        browser.go("")


class Sampled(WithBrowser):
    def test_stacks_of_a_thread(self):
        calls, trace = (os.path.join(self.folder, name) for name in ("calls.rpd", "sampled.rpd"))
        subprocess.run([SONDE, "merge", write_calls(calls), "-o", trace], capture_output=True, check=True)
        add_samples(trace)
        browser = self.open(trace)
        browser.wait(lambda: "On the timeline" in browser.text(".story"))
        facts = dict(zip([each.text for each in browser.all(".story dt")], [each.text for each in browser.all(".story dd")]))
        self.assertEqual((facts["Wall time"], facts["On the timeline"]), ("7.00 s", "40.0 ms"))
        self.assertIn("No GPU operations", browser.text(".findings"))
        self.assertIn("Stacks", browser.text("[aria-label=Tracks]"))
        top = browser.at_time("Stacks", 3_000_000)
        for level, (name, line, lasts, cpu) in enumerate((("main", 3, "8.00 ms", "8.00 ms"), ("forward", 5, "4.00 ms", "4.00 ms"))):
            browser.click_at("#timeline", top[0], top[1] + 18 * level)
            browser.settle()
            self.assertEqual(browser.text(".eventname"), f"Sampled: {name}")
            for part in (f"train.py:{line}", f"Lasts{lasts}", f"samples{cpu}"):
                self.assertIn(part, browser.text(".details"))
        self.picture("sampled")
        self.assertEqual(lacks(browser), [])
        self.assertEqual(browser.complaints(), [])


class Clock(WithBrowser):
    def test_rows_of_sql_lead_to_their_moments(self):
        """Tables have the file's clock, here the time of day, and the page counts from the first operation."""
        origin = 1_700_000_000_123_456_789
        trace = os.path.join(self.folder, "clock.rpd")
        fixture = Fixture(trace)
        for start in (origin, origin + 700_000_001):
            fixture.op(start, start + 100_000_000, "kernel")
        fixture.close()
        browser = self.open(trace)
        browser.go("sql")
        field = browser.find("#sql")
        field.clear()
        field.send_keys("SELECT start_ns, end_ns, 1152921504606846977 AS big FROM v_op ORDER BY 1", Keys.CONTROL, Keys.ENTER)
        browser.wait(lambda: len(browser.all("[aria-label=Result] th")) == 3)
        browser.settle()
        cells = [cell.text for cell in browser.all("[aria-label=Result] td.number")]
        self.assertEqual(cells, [str(value) for start in (origin, origin + 700_000_001)
                                 for value in (start, start + 100_000_000, (1 << 60) + 1)])
        browser.all("[aria-label=Result] td button")[1].click()
        browser.wait(lambda: "select=700000001-800000001" in browser.js("return location.hash"))
        self.assertEqual(browser.complaints(), [])


class Compared(WithBrowser):
    def test_two_traces(self):
        traces = [write_story(os.path.join(self.folder, f"{name}.rpd"), more) for name, more in (("a", 0), ("b", 600_000), ("c", 0))]
        browser = self.open(*traces)
        browser.go("compare")
        self.picture("compare")
        bars = [each.get_attribute("aria-label") for each in browser.all(".stepbar")]
        self.assertEqual(bars, [f"ProfilerStep#{step}: 600 us longer in B" for step in range(STEPS)])
        self.assertEqual(len(browser.all(".stripcanvas")), 2)
        done = subprocess.run([SONDE, "diff", *traces[:2], "--format", "json", "--limit", "50"], capture_output=True, check=True)
        changed = next(row for row in json.loads(done.stdout)["operations"] if row["name"] == KERNELS[0])
        self.assertEqual(changed["delta_ns"], 600_000 * STEPS)
        self.assertIn("+2.40 ms", browser.text("[aria-label=Differences]"))
        self.assertEqual(lacks(browser), [])
        # Where nothing differs, pictures of differences are empty, and no figure is divided by 0.
        browser.js("const s = document.querySelector('main.page select'); s.value = '2'; s.dispatchEvent(new Event('change', {bubbles: true}))")
        browser.wait(lambda: traces[2] in browser.text("[aria-label=Differences] code"))
        browser.settle()
        self.assertEqual(browser.complaints(), [])
        browser.go("ranks")
        self.picture("ranks")
        self.assertEqual(len(browser.all(".stripcanvas")), 3)
        self.assertEqual(lacks(browser), [])
        browser.js("const s = document.querySelector('h1 select'); s.value = '1'; s.dispatchEvent(new Event('change', {bubbles: true}))")
        browser.go("")
        browser.wait(lambda: traces[1] in browser.text("#command"))
        self.assertEqual(browser.complaints(), [])


class Ranks(WithBrowser):
    def test_a_chosen_collective_ends_at_one_place(self):
        traces = [SHARED / "data/kineto" / f"legacy_torch113_ddp_rank{rank}.json.gz" for rank in (0, 1)]
        if not traces[0].exists():
            self.skipTest(f"no {traces[0]}")
        browser = self.open(*traces)
        browser.go("ranks")
        browser.js("const s = document.querySelector('main.page .panelhead select'); s.value = '0'; s.dispatchEvent(new Event('change', {bubbles: true}))")
        browser.settle()
        self.picture("ranks-chosen")
        chosen = json.loads(self.server.get("/api/ranks")[1])["instances"][0]
        self.assertIn(f"{chosen['last']} last", browser.js("return document.querySelector('main.page .panelhead select').selectedOptions[0].textContent"))
        # What is seen begins as long before its end in both; labels have three digits.
        ends, longest = [end for _, end in chosen["times"]], max(end - start for start, end in chosen["times"])
        labels = [each.get_attribute("aria-label") for each in browser.all(".stripcanvas")]
        for end, label in zip(ends, labels):
            shown = float(re.search(r": ([\d.]+) ms from ([\d.]+) ms on", label).group(2))
            self.assertAlmostEqual(shown, (end - 1.25 * longest) / 1e6, delta=0.6, msg=label)
        self.assertEqual(browser.complaints(), [])


class Hostile(WithBrowser):
    def test_names_are_text(self):
        trace = os.path.join(self.folder, HOSTILE.replace("/", "_")[:60] + ".rpd")
        fixture = Fixture(trace)
        for i in range(30):
            api = fixture.api(10000 * i, 10000 * i + 5000, HOSTILE, args=HOSTILE, domain=HOSTILE)
            fixture.op(10000 * i + 6000, 10000 * i + 9000, HOSTILE, kind=HOSTILE, apis=(api,))
        fixture.close()
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
        for page in PAGES:
            browser.go(page)
            self.assertIsNone(browser.js("return window.pwned"))
        self.assertIsNone(browser.js("return window.pwned"))
        self.assertEqual(browser.all("#root img, #root script"), [])
        self.assertEqual(browser.complaints(), [])
        # The policy holds should something be written as HTML after all.
        browser.js("document.body.insertAdjacentHTML('beforeend', arguments[0])", HOSTILE)
        browser.wait(lambda: any("Content Security Policy" in text for text in browser.complaints()))
        self.assertIsNone(browser.js("return window.pwned"))


if __name__ == "__main__":
    _, rest = prepare()
    # The long test beside the others: browsers mostly wait.
    beside = None if rest else subprocess.Popen([sys.executable, *sys.argv, "Story"])
    run = unittest.main(argv=[sys.argv[0], *(rest or ["RealTrace", "Sampled", "Clock", "Compared", "Ranks", "Hostile"])], exit=False)
    sys.exit(0 if run.result.wasSuccessful() and (beside is None or beside.wait() == 0) else 1)
