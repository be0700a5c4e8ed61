"""What a page lacks for people who do not see it, see little of it, or use no mouse: a list of lines, empty if it lacks
nothing. Names and roles are what Chromium tells a screen reader; contrast, structure and what the keyboard reaches are
computed here, and axe-core 4.14.1 is asked, too (axe/, of the npm package of that name, with its licence: MPL 2.0)."""

import gzip
from pathlib import Path

AXE = gzip.decompress((Path(__file__).resolve().parent / "axe/axe.min.js.gz").read_bytes()).decode()
NAMED = {"button", "link", "textbox", "searchbox", "combobox", "tab", "slider", "checkbox", "treeitem", "image", "dialog",
         "navigation", "region", "application", "progressbar", "tree", "tablist"}

STRUCTURE = r"""
const found = [];
const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility === "visible";
const say = (what, e) => found.push(`${what}: <${e.localName}${e.id ? " #" + e.id : ""} class="${e.getAttribute("class") ?? ""}"> ${(e.textContent ?? "").trim().slice(0, 40)}`);
const colour = (text) => { const p = text.match(/[\d.]+/g).map(Number); return p.length > 3 ? p : [...p.slice(0, 3), 1]; };
const over = (top, back) => [0, 1, 2].map((i) => top[i] * top[3] + back[i] * (1 - top[3]));
const light = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
                         return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const backOf = (e) => { if (!e) return [255, 255, 255];
                        const own = colour(getComputedStyle(e).backgroundColor); return own[3] >= 1 ? own.slice(0, 3) : over(own, backOf(e.parentElement)); };
const opacityOf = (e) => e ? Number(getComputedStyle(e).opacity) * opacityOf(e.parentElement) : 1;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
for (let node; (node = walker.nextNode());) {
  const e = node.parentElement;
  if (!node.data.trim() || seen.has(e) || !shown(e) || e.closest(".unseen, [aria-hidden=true], :disabled, .stale, option, noscript, svg")) continue;
  seen.add(e);
  const style = getComputedStyle(e), back = backOf(e), own = colour(style.color);
  if (opacityOf(e) === 0) continue;
  const [a, b] = [light(over([...own.slice(0, 3), own[3] * opacityOf(e)], back)), light(back)].sort((x, y) => y - x);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) say(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}`, e);
}
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) found.push(`two elements are #${id}`);
for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "for"]) {
  for (const e of document.querySelectorAll(`[${name}]`)) for (const id of e.getAttribute(name).split(" ")) if (!document.getElementById(id)) say(`${name} of nothing`, e);
}
for (const [child, parent] of [["tab", "tablist"], ["treeitem", "tree"]]) {
  for (const e of document.querySelectorAll(`[role=${child}]`)) if (!e.closest(`[role=${parent}]`)) say(`${child} outside of a ${parent}`, e);
}
for (const e of document.querySelectorAll("button, a, input, select, textarea")) {
  if (e.parentElement.closest("button, a")) say("a control within a control", e);
  if (shown(e) && e.tabIndex < 0 && e.getAttribute("role") !== "tab") say("out of the keyboard's reach", e);
}
for (const e of document.querySelectorAll("body *")) {
  const style = getComputedStyle(e);
  const scrolls = (/auto|scroll/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 1) || (/auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1);
  if (shown(e) && scrolls && e.localName !== "textarea" && e.tabIndex < 0 && !e.querySelector("button, a, input, select, [tabindex='0']")) say("scrolls by mouse only", e);
}
if (!document.documentElement.lang) found.push("the page has no language");
if (!document.title) found.push("the page has no title");
if (document.querySelectorAll("main").length !== 1) found.push(`${document.querySelectorAll("main").length} main parts`);
if (document.querySelectorAll("h1").length !== 1) found.push(`${document.querySelectorAll("h1").length} headings of the first level`);
for (const e of document.querySelectorAll("th")) if (!e.scope) say("a heading of a table without scope", e);
for (const e of document.querySelectorAll("ul, ol")) for (const c of e.children) if (c.localName !== "li") say("in a list, but no entry", c);
return found;
"""


def _names(browser):
    browser.driver.execute_cdp_cmd("Accessibility.enable", {})
    for node in browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in NAMED:
            continue
        if not node.get("name", {}).get("value", "").strip():
            yield f"a {role} without a name (node {node.get('backendDOMNodeId')})"


def _axe(browser):
    browser.driver.execute_script(AXE)
    result = browser.driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then("
        "(r) => done(r.violations.map((v) => `axe ${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`)),"
        "(e) => done([`axe failed: ${e}`]))")
    yield from result


def lacks(browser):
    return [*browser.js(STRUCTURE), *_names(browser), *_axe(browser)]
