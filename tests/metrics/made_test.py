#!/usr/bin/python3
"""What `sonde sol` says of folders made by make_workload.py, whose figures are known: made_test.py SONDE"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_workload  # noqa: E402

PROBLEMS = []


def check(what, actual, expected):
    if actual != expected and not (isinstance(expected, float) and actual is not None and
                                   abs(actual - expected) <= 1e-9 * abs(expected)):
        PROBLEMS.append(f"{what}: {actual!r}, expected {expected!r}")


def run(sonde, *arguments):
    return subprocess.run([sonde, *map(str, arguments)], capture_output=True, text=True, check=False)


def figures(sonde, *arguments):
    done = run(sonde, "sol", *arguments, "--format", "json")
    if done.returncode != 0:
        sys.exit(f"sol {arguments}: {done.stderr}")
    report = json.loads(done.stdout)
    return report, {row["metric"]: row for row in report.get("2.1", [])}


def check_figures(sonde, folder):
    # One dispatch of `stream`: 32 MiB read and as much written in 60 us.
    _, stream = figures(sonde, folder, "--kernel", "^stream")
    check("fabric reads", stream["L2-Fabric Read BW"]["avg"], (32 << 20) / 60_000)
    check("of the peak", stream["L2-Fabric Read BW"]["pct_of_peak"],
          100 * (32 << 20) / 60_000 / (1.6 * 32 * 32))
    check("no hits", stream["L2 Cache Hit Rate"]["avg"], 0)
    check("no counter", stream["VALU IOPs"]["avg"], None)
    # 1.9 million FMAs of 64 lanes in 20 us.
    _, product = figures(sonde, folder, "--kernel", "product")
    check("flops", product["VALU FLOPs"]["avg"], 2 * 64 * 1_900_000 / 20_000)
    check("occupancy", product["Wavefront Occupancy"]["avg"], 8 * 104)
    report, both = figures(sonde, folder)
    check("mean of dispatches", both["VALU FLOPs"]["avg"],
          (2 * 64 * 1_900_000 / 20_000 + 2 * 64 * 16384 / 60_000) / 2)
    shares = {row["name"]: row["share"] for row in report["kernels"]}
    check("share of time", shares["stream(float*, float*)"], 75.0)


def check_filters(sonde, folder):
    report, _ = figures(sonde, folder, "--dispatch", "0,2:3")
    check("dispatches", report["kernels_facts"]["dispatches"], 3)
    report, _ = figures(sonde, folder, "--gpu", "0")
    check("of GPU 0", report["kernels_facts"]["dispatches"], 6)
    report, _ = figures(sonde, folder, "--all", "--per", "wave")
    waves = {row["metric"]: row["avg"] for row in report["7.1"]}
    check("total waves", waves["Total Wavefronts"], (16384 + 4096) / 2)
    for wrong in (["--dispatch", "x"], ["--dispatch", "5:2"], ["--kernel", "("], ["--gpu", "7"],
                  ["--panel", "99"], ["--per", "hour"], ["--from", "1ms"], ["--window", "step:1"]):
        done = run(sonde, "sol", folder, *wrong)
        check(f"{wrong} fails", done.returncode != 0, True)
        check(f"{wrong} in one line", done.stderr.count("\n"), 1)


def check_bounds(sonde, folder):
    """What the two kernels are bound by follows from how they were made."""
    report, _ = figures(sonde, folder)
    bounds = {row["kernel"]: row for row in report["bounds"]}
    stream = bounds["stream(float*, float*)"]
    check("stream is bound by", stream["bound"], "memory bandwidth")
    check("of its peak", stream["of_bound"], 100 * (64 << 20) / 60_000 / (1.6 * 32 * 32))
    # 1.9 million FMAs in 34000 cycles of 104 CUs are 54 % of the vector units: nothing is used up.
    product = bounds["product(float const*, float*)"]
    check("product is bound by", product["bound"], "latency")
    text = " ".join(report["bounds_remarks"])
    # The three sentences on `stream`, and two on `product`, whose last rests on its resources.
    check("sentences rest on metrics", text.count("(metric "), 5)
    check("and on resources", text.count("(registers"), 1)
    check("registers and LDS", "LDS allow" in text or "VGPRs allow" in text, True)


def check_small_launch(sonde, place):
    rows = [make_workload.kernel("tiny()", 0, 1000, 5000, 4, 1 << 10, 1 << 10, 100, 16)]
    folder = place / "tiny"
    make_workload.make(folder, rows)
    report, _ = figures(sonde, folder)
    check("tiny is bound by", report["bounds"][0]["bound"], "launch too small")
    check("of the SIMDs", report["bounds"][0]["of_bound"], 100 * 4 / 416)


def check_unknown_bound(sonde, place):
    """Where memory or vector instructions were not measured, nothing else that is low is latency."""
    for name, missing, words in (("no time", (), "memory bandwidth was not measured"),
                                 ("no memory", ("TCC_EA_RDREQ_sum", "TCC_EA_WRREQ_sum"), "memory bandwidth was not"),
                                 ("neither", ("TCC_EA_RDREQ_sum", "SQ_ACTIVE_INST_VALU"), "memory bandwidth and vector "
                                  "instructions were not measured")):
        row = make_workload.kernel("some()", 0, 1000, 50_000, 16384, 1 << 20, 1 << 18, 100, 16)
        row = {key: value for key, value in row.items() if key not in missing}
        if name == "no time":
            row["End_Timestamp"] = row["Start_Timestamp"]
        make_workload.make(place / name, [row])
        report, _ = figures(sonde, place / name)
        check(f"{name}: bound", report["bounds"][0]["bound"], "unknown")
        check(f"{name}: why", words in " ".join(report["bounds_remarks"]), True)


def check_explanation(sonde, folder):
    done = run(sonde, "sol", folder, "--explain", "2.1.22", "--format", "json")
    report = json.loads(done.stdout)
    check("explained", report["metric_facts"]["name"], "L2-Fabric Read BW")
    inputs = {row["input"].strip(): row["mean"] for row in report["metric"]}
    check("input", inputs["TCC_EA0_RDREQ_sum"], ((32 << 20) + (1 << 20)) / 64 / 2)
    check("input of an input", inputs["$duration"], 40_000.0)
    what = {row["input"].strip(): row["what"] for row in report["metric"]}
    check("the counter's name in the file", what["TCC_EA0_RDREQ_sum"], "counter TCC_EA_RDREQ_sum")
    check("no metric", run(sonde, "sol", folder, "--explain", "nonsense").returncode, 1)


def check_comparison(sonde, place):
    rows = make_workload.rows()
    for row in rows:  # twice as fast, with half the bytes
        row["End_Timestamp"] = (row["Start_Timestamp"] + row["End_Timestamp"]) // 2
    make_workload.make(place / "faster", rows)
    make_workload.make(place / "base")
    done = run(sonde, "sol", place / "base", place / "faster", "--format", "json")
    report = json.loads(done.stdout)
    change = {row["metric"]: row["run1_change"] for row in report["comparison"]}
    check("twice the bandwidth", change["L2-Fabric Read BW"], 100.0)
    check("the same hits", change["L2 Cache Hit Rate"], 0)
    check("the verdict", "50.0 % less time" in report["comparison_remarks"][0], True)
    check("the kernel", "stream(float*, float*) takes 90.0 us less" in report["comparison_remarks"][0], True)
    check_three_runs(sonde, place)


def check_three_runs(sonde, place):
    """In the third run a kernel is gone, and another has come."""
    rows = [row for row in make_workload.rows() if row["Kernel_Name"].startswith("stream")]
    rows.append(make_workload.kernel("late()", 9, 20_000_000, 300_000, 4096, 1 << 20, 1 << 20, 0, 16))
    make_workload.make(place / "third", rows)
    done = run(sonde, "sol", place / "base", place / "faster", place / "third", "--format", "json")
    report = json.loads(done.stdout)
    kernels = {row["name"]: row for row in report["kernels"]}
    check("order of kernels", [row["name"] for row in report["kernels"]],
          ["late()", "stream(float*, float*)", "product(float const*, float*)"])
    check("half", kernels["stream(float*, float*)"]["run1_change"], -50.0)
    check("as before", kernels["stream(float*, float*)"]["run2_change"], 0)
    check("gone", kernels["product(float const*, float*)"]["run2_ns"], None)
    check("new", kernels["late()"]["baseline_ns"], None)
    check("the new one is named", "late() takes 300" in report["comparison_remarks"][1], True)
    check("a verdict each", len(report["comparison_remarks"]), 2)


def check_traces(sonde, folder, place):
    """Counters in files of rocprof and rocprofv3 give the figures of the folder."""
    _, expected = figures(sonde, folder)
    make_workload.make_rocprofv3(place / "counter_collection.csv")
    make_workload.make_rocprof(place / "results.csv")
    for name in ("counter_collection.csv", "results.csv"):
        _, actual = figures(sonde, place / name, "--gpu-model", "MI210")
        for metric, row in expected.items():
            if metric == "Wavefront Occupancy":  # from a pass of its own, which these do not have
                continue
            check(f"{name} {metric}", actual[metric]["avg"], row["avg"])
        points = run(sonde, "roofline", place / name, "--gpu-model", "MI210", "--format", "json")
        check(f"{name} roofline", len(json.loads(points.stdout)["points"]), 2)
        check(f"{name} needs its GPU", run(sonde, "sol", place / name).returncode, 1)


def check_cut(sonde, place):
    """Files that are missing or end early: one line says which, and what of them."""
    def cut(name, size):
        folder = place / f"cut at {size}"
        make_workload.make(folder)
        text = (folder / name).read_text()
        (folder / name).write_text(text[:len(text.split("\n")[0]) + size])
        return run(sonde, "sol", folder).stderr

    check("header", "pmc_perf.csv: has no dispatch\n" in cut("pmc_perf.csv", 1), True)
    check("part of a row", "pmc_perf.csv: has no whole row: 1 have another number of fields" in cut("pmc_perf.csv", 40), True)
    folder = place / "without facts"
    make_workload.make(folder)
    (folder / "sysinfo.csv").unlink()
    check("no facts", "sysinfo.csv: cannot open" in run(sonde, "sol", folder).stderr, True)


def check_hostile(sonde, folder, place):
    """Files that break off or are none: an answer or one line, and nothing is written into them."""
    before = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
    run(sonde, "sol", folder, "--all")
    check("the folder is as it was",
          sorted((path.name, path.read_bytes()) for path in folder.iterdir()) == before, True)
    for name in ("pmc_perf.csv", "sysinfo.csv", "SQ_LEVEL_WAVES.csv"):
        whole = (folder / name).read_bytes()
        for cut in range(0, len(whole), max(1, len(whole) // 8)):
            broken = place / "broken"
            shutil.copytree(folder, broken)
            (broken / name).write_bytes(whole[:cut])
            done = run(sonde, "sol", broken)
            lines = done.stderr.count("\n")
            check(f"{name} cut at {cut}", done.returncode in (0, 1) and lines <= 3, True)
            shutil.rmtree(broken)
    empty = place / "empty"
    empty.mkdir()
    for path in (place / "nowhere", empty, "/dev/null"):
        done = run(sonde, "sol", path)
        check(f"{path} fails", done.returncode, 1)
        check(f"{path} in one line", done.stderr.count("\n"), 1)


def main():
    sonde = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="sonde-made-") as name:
        place = Path(name)
        folder = place / "a" / "made"
        make_workload.make(folder)
        check_figures(sonde, folder)
        check_filters(sonde, folder)
        check_bounds(sonde, folder)
        check_unknown_bound(sonde, place)
        check_small_launch(sonde, place)
        check_cut(sonde, place)
        check_explanation(sonde, folder)
        check_comparison(sonde, place)
        check_traces(sonde, folder, place)
        check_hostile(sonde, folder, place / "a")
    print("\n".join(PROBLEMS) or "every figure is as made")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
