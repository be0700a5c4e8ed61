"""Debian's Chromium with the page of a server, driven by Debian's python3-selenium. It waits for what the page
says of itself, never for a time; and it has no network but this machine's."""

import os
import shutil
import socket

try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

LIMIT_SECONDS = 120

# A picture as 64 x 40 shades of grey: what a look from afar tells, whatever the fonts.
SHADES = """
const [data, done] = arguments, picture = new Image();
picture.onerror = () => done(null);
picture.onload = () => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [64, 40];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, 64, 40);
  const { data: bytes } = context.getImageData(0, 0, 64, 40), shades = [];
  for (let i = 0; i < bytes.length; i += 4) shades.push(Math.round(0.3 * bytes[i] + 0.59 * bytes[i + 1] + 0.11 * bytes[i + 2]));
  done(shades);
};
picture.src = `data:image/png;base64,${data}`;
"""


def missing():
    """What is not installed, or ""."""
    if webdriver is None:
        return "python3-selenium"
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return program
    try:
        socket.getaddrinfo("localhost", None)  # chromedriver asks for it
    except OSError:
        return "localhost in /etc/hosts"
    return ""


class Browser:
    def __init__(self, folder, width=1280, height=800, dark=False, words=()):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}/profile",
                     f"--window-size={width},{height}", "--force-device-scale-factor=1",
                     f"--blink-settings=preferredColorScheme={0 if dark else 1}", *words):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(shutil.which("chromedriver"), log_path=os.devnull)
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_script_timeout(LIMIT_SECONDS)
        self.size(width, height)

    def size(self, width, height, zoom=1):
        """Of what the page sees: the window's own bars do not count. At a zoom of 2 letters have twice the pixels."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": round(width / zoom), "height": round(height / zoom), "deviceScaleFactor": zoom, "mobile": False})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, url):
        self.driver.get(url)
        self.wait(lambda: self.js("return document.documentElement.dataset.ready") == "yes")
        self.settle()

    def js(self, code, *values):
        return self.driver.execute_script(code, *values)

    def wait(self, condition):
        return WebDriverWait(self.driver, LIMIT_SECONDS, poll_frequency=0.05,
                             ignored_exceptions=(Exception,)).until(lambda _: condition())

    def settle(self):
        """Until nothing is asked any more, and what came is drawn: two frames without a change."""
        self.wait(lambda: self.driver.execute_async_script("""
            const done = arguments[0], root = document.documentElement, canvas = document.getElementById("timeline");
            const state = () => `${root.dataset.pending} ${canvas?.dataset.painted} ${document.querySelector("[aria-busy=true]") !== null}`;
            const before = state();
            const frames = (n) => n === 0 ? done(state() === before && before.startsWith("0 ") && before.endsWith(" false"))
                                          : requestAnimationFrame(() => frames(n - 1));
            frames(3);"""))

    def find(self, selector):
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def drag(self, selector, start, end, key=None):
        """The mouse, from one point of an element to another: pixels from its middle."""
        element = self.find(selector)
        chain = ActionChains(self.driver).move_to_element_with_offset(element, *map(round, start))
        chain = (chain.key_down(key) if key else chain).click_and_hold()
        chain.move_to_element_with_offset(element, *map(round, end)).release()
        (chain.key_up(key) if key else chain).perform()

    def click_at(self, selector, x, y):
        ActionChains(self.driver).move_to_element_with_offset(self.find(selector), round(x), round(y)).click().perform()

    def at_time(self, label, time_ns):
        """Where on the canvas a moment of a track is: pixels from the middle of the canvas."""
        return self.js("""
            const [label, time] = arguments, canvas = document.getElementById("timeline"), box = canvas.getBoundingClientRect();
            const row = [...document.querySelectorAll("[role=treeitem]")].find((each) => each.textContent.includes(label));
            const top = row.getBoundingClientRect().top, from = Number(canvas.dataset.from), to = Number(canvas.dataset.to);
            return [(time - from) / (to - from) * box.width - box.width / 2, top + 11 - box.top - box.height / 2];""", label, time_ns)

    def click_time(self, label, time_ns):
        self.click_at("#timeline", *self.at_time(label, time_ns))
        self.settle()

    def hover_time(self, label, time_ns, lane=0):
        """What the page says of what is there: its title, and the lines below that."""
        x, y = map(round, self.at_time(label, time_ns))
        for away in (1, 0):  # it says what it knows when the mouse moves
            ActionChains(self.driver).move_to_element_with_offset(self.find("#timeline"), x + away, y + 18 * lane).perform()
        return self.js("return [...(document.querySelector('.hover')?.children ?? [])].map((each) => each.textContent)")

    def go(self, route):
        self.js("location.hash = `#/${arguments[0]}`", route)
        self.settle()

    def view(self):
        """(from, to) of what the canvas shows, in ns."""
        return tuple(float(self.js(f"return document.getElementById('timeline').dataset.{end}")) for end in ("from", "to"))

    def complaints(self):
        """What the console holds: also each thing that the policy of the page stopped. Not that the server said: ask again."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING") and "status of 503" not in entry["message"]]

    def shades(self, selector=""):
        """What is seen, or an element of it, as 64 x 40 shades of grey."""
        data = self.find(selector).screenshot_as_base64 if selector else self.driver.get_screenshot_as_base64()
        return self.driver.execute_async_script(SHADES, data)

    def picture(self, path):
        self.driver.save_screenshot(str(path))


def difference(old, new):
    """Of two pictures' shades: how far they are from each other on average, of 255, and the share of those that are quite others."""
    away = [abs(a - b) for a, b in zip(old, new)]
    return sum(away) / len(away), sum(each > 40 for each in away) / len(away)


__all__ = ["Browser", "Keys", "difference", "missing"]
