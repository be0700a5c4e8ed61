#!/usr/bin/python3
"""The closing lines of the demo, computed from the tables: demo_lines.py SONDE SMALL.rpd LARGE.rpd.

States what was measured here, whichever way it went.
"""

import json
import subprocess
import sys


def ask(sonde, command, trace):
    """The rows of the main table of a command."""
    done = subprocess.run([sonde, command, trace, "--format", "json"], capture_output=True,
                          text=True, check=True)
    return next(v for v in json.loads(done.stdout).values() if isinstance(v, list))


def shares(rows):
    """Percent of the device's time for copies and for the kernel."""
    copies = sum(row["total_ns"] for row in rows if row["name"].startswith("Copy"))
    kernel = sum(row["total_ns"] for row in rows if "matmul" in row["name"])
    total = sum(row["total_ns"] for row in rows)
    return 100 * copies / total, 100 * kernel / total, kernel / 1e6


def moved(before, after):
    if abs(after - before) < 0.05:
        return f"stayed at {after:.1f} %"
    return f"{'rose' if after > before else 'fell'} from {before:.1f} % to {after:.1f} %"


def main(sonde, small, large):
    copies_small, kernel_small, small_ms = shares(ask(sonde, "top", small))
    copies_large, kernel_large, large_ms = shares(ask(sonde, "top", large))
    busy = [100 * ask(sonde, "busy", trace)[0]["busy"] for trace in (small, large)]
    print(f"  With ten times the work, the copies' share of device time {moved(copies_small, copies_large)}"
          f" and the kernel's {moved(kernel_small, kernel_large)}.")
    print(f"  The kernel took {large_ms / small_ms:.1f} times as long ({small_ms:.1f} ms, then"
          f" {large_ms:.1f} ms), and the device's busy share of the run {moved(*busy)}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
