#!/usr/bin/python3
"""Runs every verb that reads a trace on real traces in terminals of 80 to 200 columns: no line may
be wider, and the column that says what a row is keeps 40 of them where a name is cut at all.

    widths_test.py --sonde PATH [--verb NAME] [--show]

Traces come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import SHARED  # noqa: E402

TRACES = ["rpd/matmul_result.rpd", "kineto/mi250_minitoy.json.gz", "kineto/vllm_decode_graph.json.gz",
          "kineto/v100_alexnet_critical_path.json.gz", "kineto/mi300_bert_small.json.gz",
          "rocpd/synthetic_v3.db"]
WIDTHS = (80, 120)
MORE_WIDTHS = (100, 200)  # of the first traces only
LEAST_NAME = 40
# The first column of names of each table, by its title; other verbs have none.
LEADING = {"top": ["Name"], "ktop": ["Name"], "kernels": ["Name"], "api": ["Name"], "operators": ["Operator"],
           "perf": ["Operator"], "stacks": ["Frame"], "variability": ["Name"], "sequences": ["Name"],
           "overlap": ["Name"], "idle": ["After", "Call"], "memory": ["Frame"], "diff": ["Name"],
           "critical-path": ["Name", "Of"], "occupancy": ["Kernel"], "roofline": ["Kernel"]}
VERBS = ["analyze", "api", "breakdown", "busy", "check", "collectives", "copies", "counters",
         "critical-path", "diff", "idle", "info", "kernels", "ktop", "launches", "memory",
         "operators", "overlap", "perf", "queues", "ranks", "report --format text", "sequences",
         "stacks", "steps", "top", "variability", "kernels --exact", "top --rpd",
         "stacks --weight wall --by tree", "occupancy", "critical-path --show edges",
         "critical-path --show slack", "breakdown --per step", "info --metadata"]
WORKLOAD = "compute/workloads/vcopy/MI200"
MORE = [["doctor"], ["avail"], ["config"], ["--help"], ["kernels", "--help"], ["record", "--help"],
        ["status"], ["recover"], ["monitor", "--once"], ["profile", "--plan", "--set", "all", "--gpu", "gfx90a"]]
SKIPPED = 77


def in_terminal(command, columns, folder):
    """(exit status, what a terminal of so many columns was sent)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items()
            if key != "COLUMNS" and not key.startswith("SONDE_")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                               cwd=folder, env={**kept, "TERM": "xterm", "NO_COLOR": "1"})
    os.close(slave)
    sent = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last writer has closed it
            break
        if not part:
            break
        sent += part
    os.close(master)
    return process.wait(), sent.decode(errors="replace").replace("\r\n", "\n")


def width_of(line):
    return sum(0 if unicodedata.combining(c) else 1 for c in line)


def short_cut_names(lines, title):
    """Cells below a header `title` that were cut and yet are narrower than a name may be."""
    start = None
    for line in lines:
        header = re.search(rf"(?:^|  ){title}(?=  |$)", line)
        if header:
            start = header.end() - len(title)
        elif not line.strip():
            start = None
        elif start is not None and not line.startswith("... "):
            cell = re.split(r"  +", line[start:].lstrip())[0]
            indent = len(line[start:]) - len(line[start:].lstrip())
            if re.search(r"\S\.\.\S", cell) and indent + len(cell) < LEAST_NAME:
                yield line


def problems_of(sonde, words, columns, folder):
    status, text = in_terminal([sonde, *words], columns, folder)
    lines = text.split("\n")
    found = []
    if status != 0 and words[0] != "doctor":  # which says so where nothing can be recorded
        found.append(f"exit {status}: {text.strip()[-300:]}")
    found += [f"{width_of(line)} wide: {line}" for line in lines if width_of(line) > columns]
    for title in LEADING.get(words[0], []):
        found += [f"a name cut to less than {LEAST_NAME}: {line}"
                  for line in short_cut_names(lines, title)]
    seen = sum(1 for line in lines if line)
    return [f"sonde {' '.join(words)} at {columns}: {problem}" for problem in found[:4]], seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--verb", help="only this one")
    arguments = parser.parse_args()
    if not SHARED.is_dir():
        print(f"skipped: no real traces in {SHARED}")
        return SKIPPED
    sonde = str(pathlib.Path(arguments.sonde).resolve())
    with tempfile.TemporaryDirectory(prefix="sonde-widths-") as folder:
        traces = []
        for trace in TRACES:
            name = pathlib.Path(trace).name.split(".")[0] + ".rpd"
            path = SHARED / "data" / trace
            if path.suffix == ".rpd":
                name = str(path)
            else:
                subprocess.run([sonde, "import", str(path), "-o", name], cwd=folder, check=True,
                               capture_output=True)
            traces.append(name)
        workload = str(SHARED / "data" / WORKLOAD)
        more = MORE + [["sol", workload], ["sol", "--all", workload], ["roofline", workload]]
        jobs = [(words, columns) for words in more for columns in (*WIDTHS, *MORE_WIDTHS)]
        for verb in VERBS:
            for i, trace in enumerate(traces):
                others = {"diff": [trace], "ranks": [traces[i - 1]]}
                words = [*verb.split(), trace, *others.get(verb, [])]
                jobs += [(words, columns) for columns in (*WIDTHS, *(MORE_WIDTHS if i < 2 else ()))]
        jobs = [job for job in jobs if arguments.verb in (None, job[0][0])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda job: problems_of(sonde, *job, folder), jobs))
    problems = [problem for found, _ in results for problem in found]
    lines = sum(seen for _, seen in results)
    print("\n".join(problems))
    print(f"{len(jobs)} runs, {lines} lines, {len(problems)} problems")
    return 1 if problems or lines < 10 * len(jobs) and not arguments.verb else 0


if __name__ == "__main__":
    sys.exit(main())
