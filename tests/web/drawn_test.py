#!/usr/bin/python3
"""The timeline looks the same whether WebGL2 or the canvas draws its rectangles, and the canvas does after a loss of the context. Without a GPU.

drawn_test.py --build DIR [--pictures FOLDER]. Skipped by name (77) without Chromium.
"""

import os
import sys
import unittest

import browser_test
from browser import difference
from browser_test import WithBrowser
from story import write_story


class Drawn(WithBrowser):
    def test_webgl2_and_the_canvas_draw_the_same(self):
        browser = self.open(write_story(os.path.join(self.folder, "story.rpd")), words=["--enable-unsafe-swiftshader"])
        browser.wait(lambda: browser.all(".finding"))
        self.assertEqual(self.renderer(browser), "canvas")  # without a GPU, if nothing is said
        browser.size(1280, 700)
        browser.settle()
        browser.js("document.querySelector('[aria-label=Tracks]').parentElement.scrollTop = 56")
        browser.settle()  # a track is half below the steps, and a metric is seen
        for theme in ("light", "dark"):
            if theme == "dark":
                browser.find("#theme").click()
            flat = self.shades(browser, "canvas")
            webgl = self.shades(browser, "webgl2")
            self.picture(f"webgl2-{theme}")
            self.assertLess(max(abs(a - b) for a, b in zip(flat, webgl)), 8, theme)  # of 255
        browser.go("about")
        browser.go("")
        flat = self.shades(browser, "webgl2", forced=False)  # as requested, on a new canvas
        # The rectangles are its own: without them the picture is another one.
        browser.js("document.querySelector('.below-canvas canvas').style.visibility = 'hidden'")
        self.assertGreater(difference(flat, browser.shades("#timeline"))[0], 4)
        browser.js("document.querySelector('.below-canvas canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()")
        lost = self.shades(browser, "canvas", forced=False)
        self.assertEqual(browser.all(".below-canvas canvas"), [])
        self.assertLess(difference(flat, lost)[0], 0.5)
        self.assertEqual([text for text in browser.complaints() if "GL Driver Message" not in text], [])  # screenshots are slow

    def renderer(self, browser):
        return browser.js("return document.getElementById('timeline').dataset.renderer")

    def shades(self, browser, renderer, forced=True):
        """Of the timeline, from the middle of a step to that of another: with edges within pixels, patterns and a counter."""
        if forced:
            browser.js("location.hash = `#/?view=4000000-29000000&renderer=${arguments[0]}`", renderer)
        browser.wait(lambda: self.renderer(browser) == renderer)
        browser.settle()
        return browser.shades("#timeline")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *browser_test.prepare()[1]])
