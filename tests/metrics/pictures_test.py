#!/usr/bin/python3
"""The pictures of `sonde sol` and `sonde roofline`: pictures_test.py SONDE

Of folders made by make_workload.py: that the memory chart has the counts of the table on its arrows, in
text of 80 columns and in SVG; that no text, box or dot of a page is cut off; that a dot's area is the
share of its kernel, of 1 to 200 kernels; that roofs are drawn where their values are.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_workload  # noqa: E402

PROBLEMS = []
SVG = "{http://www.w3.org/2000/svg}"
LETTER = 6.8  # px of a letter of 12 px, on average, with room to spare


def check(what, holds, details=""):
    if not holds:
        PROBLEMS.append(f"{what} {details}")


def run(sonde, *arguments):
    return subprocess.run([sonde, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def check_inside(what, svg):
    """Nothing reaches over the edge of the picture."""
    _, _, width, height = map(float, svg.get("viewBox").split())
    for text in svg.iter(SVG + "text"):
        x, y, length = float(text.get("x")), float(text.get("y")), LETTER * len(text.text or "")
        left = x - {"start": 0, None: 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
        check(f"{what}: text is inside", left >= 0 and left + length <= width and 0 <= y - 9 and y <= height,
              f"{text.text!r} at {left:.0f}, {y:.0f}")
    for circle in svg.iter(SVG + "circle"):
        x, y, r = (float(circle.get(key)) for key in ("cx", "cy", "r"))
        check(f"{what}: dot is inside", r <= x <= width - r and r <= y <= height - r, f"at {x}, {y}")
    for rect in svg.iter(SVG + "rect"):
        x, y, w, h = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        check(f"{what}: box is inside", 0 <= x and x + w <= width and 0 <= y and y + h <= height, f"at {x}, {y}")


def pictures(page):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def memory_chart(sonde, folder):
    """stream reads 32 MiB in lines of 64 bytes: 524288 requests between vL1D and L2, L2 and fabric."""
    options = ("--kernel", "^stream", "--panel", "3")
    text = run(sonde, "sol", folder, *options)
    chart = text[:text.index("Id  ")] if "Id  " in text else text.split("\n\n")[0]
    check("80 columns", all(len(line) <= 80 for line in chart.splitlines()))
    for box in ("Kernel", "LDS", "vL1D", "sL1D", "L1I", "L2", "Fabric", "HBM"):
        check(f"box {box} in text", f"┌ {box}" in chart, chart)
    check("requests to the L2 and the fabric in text", chart.count("Rd 524K") == 2, chart)
    check("writes in text", chart.count("Wr 524K") == 2, chart)
    check("a count that is not known", "Rq -" in chart, chart)
    check("hits of the L2", re.search(r"Hits +0%", chart) is not None, chart)
    svg = ET.fromstring(run(sonde, "sol", folder, *options, "--format", "svg"))
    words = [text.text for text in svg.iter(SVG + "text")]
    check("requests in SVG", words.count("Rd 524K") == 2 and words.count("Wr 524K") == 2, str(words))
    check_inside("memory chart", svg)
    markdown = run(sonde, "sol", folder, *options, "--format", "markdown")
    check("a fence around the chart", "```\n┌ Kernel" in markdown, markdown[:300])


def check_names_of_roofs(what, svg):
    """Each roof has a name of its own, that no other and no line crosses."""
    places = [(float(one.get("x")), float(one.get("y"))) for one in svg.iter(SVG + "text")
              if (one.text or "").endswith(("FLOP/s", "IOP/s", "P/s*")) and one.text != "GFLOP/s"]
    heights = sorted(y for _, y in places)
    check(f"{what}: names apart", len(places) > 5 and all(b - a >= 13 for a, b in zip(heights, heights[1:])),
          str(heights))
    ends = [float(x) for path in svg.iter(SVG + "path") for x in re.findall(r"[ML]([\d.]+)", path.get("d"))]
    check(f"{what}: names beside the lines", min(x for x, _ in places) > max(ends), f"{places} {max(ends)}")


def decade(text):
    return math.log10(float(text))


def scale(svg, anchor):
    """Of a logarithmic axis: pixels to values, from its first and last tick."""
    ticks = [(float(one.get("x" if anchor == "middle" else "y")), one.text) for one in svg.iter(SVG + "text")
             if one.get("text-anchor") == anchor and re.fullmatch(r"[\d.]+|1e-?\d+", one.text or "")]
    (a, low), (b, high) = ticks[0], ticks[-1]
    return lambda at: 10**(decade(low) + (at - a) / (b - a) * (decade(high) - decade(low)))


def roofline(sonde, place, count):
    """`count` kernels, the n-th twice as much FMAs for its bytes as the first, and n times as long."""
    rows = []
    for i in range(count):
        us = 20 * (i + 1)
        rows.append(make_workload.kernel(f"kernel{i}(float*)", i, 10_000_000 + 100_000 * i, 1000 * us, 16384,
                                         (1 << 20) * (i + 1), 1 << 18, 10_000 * (i + 1) ** 2, 32))
    folder = place / f"of {count} kernels"
    make_workload.make(folder, rows)
    svg = ET.fromstring(run(sonde, "roofline", folder, "--format", "svg"))
    check_inside(f"roofline of {count}", svg)
    points = {one["kernel"]: one for one in json.loads(run(sonde, "roofline", folder, "--format", "json"))["points"]}
    to_x, to_y = scale(svg, "middle"), scale(svg, "end")
    dots = {}
    for circle in svg.iter(SVG + "circle"):
        name = circle.find(SVG + "title").text.split(":")[0]
        dots.setdefault(name, []).append(circle)
    check(f"dots of {count} kernels", len(dots) == count, str(len(dots)))
    levels = ("ai_hbm", "ai_l2", "ai_l1")
    for name, circles in dots.items():
        point = points[name]
        expected = sorted(point[key] for key in levels)
        found = sorted(to_x(float(circle.get("cx"))) for circle in circles)
        check(f"intensities of {name}", len(found) == 3 and
              all(abs(a / b - 1) < 0.03 for a, b in zip(found, expected)), f"{found} {expected}")
        height = to_y(float(circles[0].get("cy")) + 4)  # a tick's text stands 4 px below it
        check(f"rate of {name}", abs(height / point["gflop_per_s"] - 1) < 0.05, f"{height} {point['gflop_per_s']}")
        radius = max(2.5, 16 * math.sqrt(point["share"] / 100))
        check(f"area of {name}", abs(float(circles[0].get("r")) - radius) < 0.02, circles[0].get("r"))
    names = " ".join(text.text for text in svg.iter(SVG + "text"))
    for roof in ("HBM 1.64 TB/s", "L2 3.48 TB/s", "L1 11.3 TB/s", "FP32 22.6 TFLOP/s", "Matrix FP16 181 TFLOP/s"):
        check(f"roof {roof}", roof in names, names)
    check_names_of_roofs(f"roofline of {count}", svg)
    page = run(sonde, "sol", folder, "--format", "html")
    drawn = pictures(page)
    check(f"bars, memory chart and roofline of {count}", len(drawn) == 3, str(len(drawn)))
    for svg in drawn:
        check_inside(f"page of {count}: {svg.get('aria-label')}", svg)
    check("nothing from a network", "http" not in page.replace("http://www.w3.org/2000/svg", ""))
    check("light and dark", "color-scheme:light dark" in page and 'fill="black"' not in page)


def main():
    sonde = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="sonde-pictures-") as name:
        place = Path(name)
        make_workload.make(place / "made")
        memory_chart(sonde, place / "made")
        for count in (1, 3, 200):
            roofline(sonde, place, count)
        # Kernels that compute nothing have no dots, and the picture says so.
        rows = [make_workload.kernel("copy()", 0, 1000, 50_000, 16384, 1 << 20, 1 << 20, 0, 16)]
        make_workload.make(place / "copy", rows)
        svg = ET.fromstring(run(sonde, "roofline", place / "copy", "--format", "svg"))
        check("roofs without dots", len(list(svg.iter(SVG + "path"))) > 4 and not list(svg.iter(SVG + "circle")))
        check("says so", "1 of 1 have no dot" in " ".join(run(sonde, "roofline", place / "copy").split()))
    print("\n".join(PROBLEMS[:40]) or "the pictures show what they should")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
