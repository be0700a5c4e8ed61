"""rocprofv3's statistics: the table of domains as CSV, and summaries to read."""

import csv
import math
import os
import re
import sys

from .files import private

DOMAINS = {"hip_api": "HIP_API", "hsa_api": "HSA_API", "marker_api": "MARKER_API", "rccl_api": "RCCL_API",
           "kernel": "KERNEL_DISPATCH", "memory_copy": "MEMORY_COPY"}
UNITS = {"sec": 1e9, "msec": 1e6, "usec": 1e3, "nsec": 1}
_FIGURES = ("Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev")
_COLUMNS = ("NAME", "DOMAIN", "CALLS", "DURATION", "AVERAGE", "PERCENT (INC)", "MIN", "MAX", "STDDEV")


class Figures:
    """Of a name, or of all names of a domain: these add up."""

    def __init__(self):
        self.calls, self.total, self.low, self.high, self.squares = 0, 0, math.inf, 0, 0.0

    def add(self, row):
        calls, mean, deviation = int(row["Calls"]), float(row["AverageNs"]), float(row["StdDev"])
        self.calls += calls
        self.total += int(row["TotalDurationNs"])
        self.low = min(self.low, int(row["MinNs"]))
        self.high = max(self.high, int(row["MaxNs"]))
        self.squares += (calls - 1) * deviation ** 2 + calls * mean ** 2

    @property
    def mean(self):
        return self.total / self.calls

    @property
    def deviation(self):
        if self.calls < 2:
            return 0.0
        return math.sqrt(max(0.0, self.squares - self.calls * self.mean ** 2) / (self.calls - 1))


def read(folder, domains):
    """{domain: {name: Figures}} of the statistics that `sonde export` wrote."""
    found = {}
    for domain in domains:
        path = os.path.join(folder, f"results_{domain}_stats.csv")
        if not os.path.exists(path):
            continue
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(domain, {}).setdefault(row["Name"], Figures()).add(row)
    return found


def _whole(names):
    whole = Figures()
    for figures in names.values():
        whole.calls += figures.calls
        whole.total += figures.total
        whole.low = min(whole.low, figures.low)
        whole.high = max(whole.high, figures.high)
        whole.squares += figures.squares
    return whole


def _figures(one, total):
    return (one.calls, one.total, round(one.mean, 6), round(100 * one.total / total, 6) if total else 0.0, one.low,
            one.high, round(one.deviation, 6))


def write_domains(path, found):
    """domain_stats.csv."""
    total = sum(_whole(names).total for names in found.values())
    rows = sorted(((DOMAINS[domain], _whole(names)) for domain, names in found.items()),
                  key=lambda row: -row[1].total)
    with open(path, "w", newline="", encoding="utf-8", opener=private) as file:
        out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writerow(["Name", *_FIGURES])
        out.writerows([name, *_figures(one, total)] for name, one in rows)
    return len(rows)


def _table(title, found, unit):
    rows = [(name, DOMAINS[domain], one) for domain, names in found.items()
            for name, one in names.items()]
    rows.sort(key=lambda row: (-row[2].total, row[0]))
    total = sum(row[2].total for row in rows)
    scale = UNITS[unit]

    def time(value):
        return f"{value / scale:.6g}" if unit != "nsec" else f"{value:.0f}"

    heads = [f"{word} ({unit})" if word in ("DURATION", "AVERAGE", "MIN", "MAX") else word
             for word in _COLUMNS]
    cells = [[name, domain, str(one.calls), time(one.total), time(one.mean),
              f"{100 * one.total / total:.6f}" if total else "0", time(one.low), time(one.high),
              f"{one.deviation / scale:.3e}"] for name, domain, one in rows]
    widths = [max(len(row[at]) for row in [heads] + cells) for at in range(len(heads))]
    lines = [f"ROCPROFV3 {title}SUMMARY:", ""]
    lines.append("| " + " | ".join(head.center(width) for head, width in zip(heads, widths)) + " |")
    lines.append("|-" + "-|-".join("-" * width for width in widths) + "-|")
    for row in cells:
        lines.append("| " + " | ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths))) + " |")
    return "\n".join(lines) + "\n\n"


def text(found, per_domain, whole, groups, unit):
    """The summaries that were asked for."""
    parts = []
    for domain, names in found.items():
        if per_domain:
            parts.append(_table(DOMAINS[domain] + " ", {domain: names}, unit))
    for pattern in groups:
        chosen = {domain: names for domain, names in found.items()
                  if re.search(pattern, DOMAINS[domain])}
        if chosen:
            parts.append(_table(" + ".join(DOMAINS[domain] for domain in chosen) + " ", chosen, unit))
    if whole and found:
        parts.append(_table("", found, unit))
    return "".join(parts)


def table(found, per_domain):
    """The columns and rows of a whole summary, after those of the domains if these are wanted."""
    total = sum(_whole(names).total for names in found.values())
    wholes = [("", DOMAINS[domain], _whole(names)) for domain, names in found.items() if per_domain]
    every = [(name, DOMAINS[domain], one) for domain, names in found.items() for name, one in names.items()]
    return (("Name", "Domain", *_FIGURES),
            [(name, domain, *_figures(one, total)) for part in (wholes, every)
             for name, domain, one in sorted(part, key=lambda one: (-one[2].total, one[0]))])


def show(words, where):
    """To stdout, stderr or a file."""
    if where in ("stdout", "stderr"):
        getattr(sys, where).write(words)
        return
    with open(where, "w", encoding="utf-8", opener=private) as file:
        file.write(words)
