"""rocprofv3's statistics: the table of domains as CSV, and summaries to read."""

import csv
import math
import os
import re
import sys

from .files import Number, private

DOMAINS = {"hip_api": "HIP_API", "hsa_api": "HSA_API", "marker_api": "MARKER_API", "rccl_api": "RCCL_API",
           "kernel": "KERNEL_DISPATCH", "memory_copy": "MEMORY_COPY"}
UNITS = {"sec": 1e9, "msec": 1e6, "usec": 1e3, "nsec": 1}
_FIGURES = ("Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev")
_COLUMNS = ("NAME", "DOMAIN", "CALLS", "DURATION", "AVERAGE", "PERCENT (INC)", "MIN", "MAX", "STDDEV")


class Figures:
    """Of a name, or of all names of a domain: these add up."""

    def __init__(self):
        self.calls, self.total, self.low, self.high = 0, 0, math.inf, 0
        self.squares = 0.0  # of the distances from the mean

    def add(self, row):
        one = Figures()
        one.calls, one.total = int(row["Calls"]), int(row["TotalDurationNs"])
        one.low, one.high = int(row["MinNs"]), int(row["MaxNs"])
        one.squares = (one.calls - 1) * float(row["StdDev"]) ** 2
        self.merge(one)

    def merge(self, other):
        if self.calls:
            apart = other.mean - self.mean
            self.squares += apart ** 2 * self.calls * other.calls / (self.calls + other.calls)
        self.squares += other.squares
        self.calls += other.calls
        self.total += other.total
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)

    @property
    def mean(self):
        return self.total / self.calls

    @property
    def deviation(self):
        if self.calls < 2:
            return 0.0
        return math.sqrt(self.squares / (self.calls - 1))


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


def joined(names, named):
    """The same under the names that `named` gives: those that become one, as kernels of one template do
    without its arguments, are added up."""
    found = {}
    for name, figures in names.items():
        found.setdefault(named(name), Figures()).merge(figures)
    return found


def _whole(names):
    whole = Figures()
    for figures in names.values():
        whole.merge(figures)
    return whole


def _figures(one, total):
    return (one.calls, one.total, round(one.mean, 6), round(100 * one.total / total, 6) if total else 0.0, one.low,
            one.high, round(one.deviation, 6))


def write(path, names):
    """The statistics of {name: Figures} as CSV."""
    total = _whole(names).total
    rows = sorted(names.items(), key=lambda row: (-row[1].total, row[0]))
    with open(path, "w", newline="", encoding="utf-8", opener=private) as file:
        out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writerow(["Name", *_FIGURES])
        for name, one in rows:
            out.writerow([name] + [Number(f"{cell:.6f}") if isinstance(cell, float) else cell
                                   for cell in _figures(one, total)])


def write_domains(path, found):
    """domain_stats.csv."""
    write(path, {DOMAINS[domain]: _whole(names) for domain, names in found.items()})


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
