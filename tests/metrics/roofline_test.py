#!/usr/bin/python3
"""Recomputes the points and roofs of `sonde roofline` from raw counters: roofline_test.py SONDE [SHARED]

Everything is worked out here from the CSV files themselves, for a folder made by make_workload.py and
for the workloads of SHARED/data/compute. Where SHARED/golden/compute has them, points and roofs are
compared with those of another tool, too; it counts 64 bytes for each access to the L1 of an MI300,
whose lines have 128. Exits with 77 after the first part where there is no SHARED.
"""

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_workload  # noqa: E402

TOLERANCE = 1e-12
PROBLEMS = []
COUNTS = {"points": 0, "roofs": 0}


def same(a, b):
    return a is not None and b is not None and abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def check(what, actual, expected):
    equal = actual == expected if expected is None or isinstance(expected, str) else same(
        actual, expected)
    if not equal:
        PROBLEMS.append(f"{what}: {actual!r}, expected {expected!r}")


def roofline(sonde, folder, *options):
    done = subprocess.run([sonde, "roofline", folder, *options, "--format", "json"],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def work_and_bytes(row, gpu):
    """Of one dispatch: FLOP, and bytes through HBM, L2 and L1."""
    def get(name):
        text = row.get(name) or row.get(name.replace("TCC_EA0_", "TCC_EA_"))
        return float(text) if text else 0.0
    flops = sum(64 * ((2 if unit == "FMA" else 1) * get(f"SQ_INSTS_VALU_{unit}_{width}"))
                for unit in ("ADD", "MUL", "TRANS", "FMA") for width in ("F16", "F32", "F64"))
    kinds = ["F16", "BF16", "F32", "F64"] + ([] if gpu in ("gfx908", "gfx90a") else ["F8"])
    flops += sum(512 * get(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}") for kind in kinds)
    reads, small = get("TCC_EA0_RDREQ_sum"), get("TCC_EA0_RDREQ_32B_sum")
    writes, large = get("TCC_EA0_WRREQ_sum"), get("TCC_EA0_WRREQ_64B_sum")
    is_old = gpu in ("gfx908", "gfx90a")
    wide = 0 if is_old else get("TCC_BUBBLE_sum")
    hbm = 128 * wide + 32 * small + 64 * (reads - wide - small) + 64 * large + 32 * (writes - large)
    l2 = 64 * sum(get(f"TCP_TCC_{kind}_REQ_sum") for kind in
                  ("READ", "WRITE", "ATOMIC_WITH_RET", "ATOMIC_WITHOUT_RET"))
    l1 = get("TCP_TOTAL_CACHE_ACCESSES_sum") * (64 if is_old else 128)
    return flops, hbm, l2, l1


def check_points(sonde, folder, label):
    with open(folder / "sysinfo.csv", newline="") as file:
        gpu = next(csv.DictReader(file))["gpu_arch"]
    with open(folder / "pmc_perf.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    by_kernel = {}
    for row in rows:
        by_kernel.setdefault(row["Kernel_Name"], []).append(row)
    total = sum(int(r["End_Timestamp"]) - int(r["Start_Timestamp"]) for r in rows)
    points = {point["kernel"]: point for point in roofline(sonde, folder)["points"]}
    check(f"{label}: kernels", str(sorted(points)), str(sorted(by_kernel)))
    for name, group in by_kernel.items():
        work = [work_and_bytes(row, gpu) for row in group]
        mean = [sum(column) / len(group) for column in zip(*work)]
        time = sum(int(r["End_Timestamp"]) - int(r["Start_Timestamp"]) for r in group)
        point = points[name]
        check(f"{label} {name} GFLOP/s", point["gflop_per_s"], mean[0] / (time / len(group)))
        check(f"{label} {name} share", point["share"], 100 * time / total)
        for level, amount in zip(("hbm", "l2", "l1"), mean[1:]):
            check(f"{label} {name} {level}", point[f"ai_{level}"],
                  mean[0] / amount if amount > 0 else None)
        COUNTS["points"] += 1


def check_golden(sonde, folder, golden, options, label, l1_factor):
    """Points of the other tool: lists of intensities and of rates for each level."""
    points = roofline(sonde, folder, *options)["points"]
    names = golden["kernelNames"]
    for level in ("l1", "l2", "hbm"):
        expected = sorted(zip(names, *golden[f"ai_{level}"]))
        actual = sorted((p["kernel"], p[f"ai_{level}"] * (l1_factor if level == "l1" else 1),
                         p["gflop_per_s"]) for p in points)
        check(f"{label} {level} points", str(len(actual)), str(len(expected)))
        for (name, intensity, rate), (_, x, y) in zip(actual, expected):
            if x == 0:  # zeros are printed for a kernel without any work
                check(f"{label} {level} {name}", abs(intensity) + abs(rate), 0)
                continue
            check(f"{label} {level} {name}", intensity, x)
            check(f"{label} {level} {name} rate", rate, y)


def check_roofs(sonde, folder, golden):
    roofs = {roof["roof"]: roof for roof in roofline(sonde, folder)["roofs"]}
    for kind in ("FP32", "FP64"):
        ceiling = golden[f"ceil_{kind}"]
        check(f"{kind} vector roof", roofs[kind]["value"], ceiling["valu"][2])
        check(f"{kind} matrix roof", roofs[f"Matrix {kind}"]["value"], ceiling["mfma"][2])
    for level in ("HBM", "L2", "L1", "LDS"):
        check(f"{level} roof", roofs[level]["value"], golden["ceil_FP32"][level.lower()][2])
        COUNTS["roofs"] += 1
    with open(folder / "roofline.csv", newline="") as file:
        measured = next(csv.DictReader(file))
    check("BF16 roof", roofs["Matrix BF16"]["value"], float(measured["MFMABF16Flops"]))


def with_counters(place, name, workload, counters):
    folder = place / name
    shutil.copytree(workload, folder)
    shutil.copy(counters, folder / "pmc_perf.csv")
    for extra in list(folder.glob("SQ*.csv")):
        extra.unlink()
    return folder


def main():
    sonde = sys.argv[1]
    root = Path(__file__).resolve().parents[2]
    shared = Path(sys.argv[2] if len(sys.argv) > 2 else
                  os.environ.get("SONDE_SHARED", root.parent / "shared"))
    with tempfile.TemporaryDirectory(prefix="sonde-roofline-") as name:
        place = Path(name)
        make_workload.make(place / "made")
        check_points(sonde, place / "made", "made")
        golden_file = shared / "golden/compute/roofline_golden.json.gz"
        has_shared = golden_file.exists()
        if has_shared:
            with gzip.open(golden_file) as file:
                golden = json.load(file)
            data = shared / "data/compute"
            mi200 = data / "workloads/vcopy/MI200"
            mi300 = data / "workloads/vcopy/MI300X_A1"
            made200 = with_counters(place, "mi200", mi200,
                                    data / "synthetic_MI200_roof_pmc_perf.csv")
            made300 = with_counters(place, "mi300", mi300,
                                    data / "synthetic_MI300X_roof_pmc_perf.csv")
            check_points(sonde, made200, "MI200")
            check_points(sonde, made300, "MI300X")
            check_golden(sonde, mi200, golden["ai_MI200_vcopy"], [], "vcopy", 1)
            check_golden(sonde, made200, golden["ai_SYNTHETIC_MI200_kernels"], [], "MI200", 1)
            check_golden(sonde, made200, golden["ai_SYNTHETIC_MI200_dispatches"],
                         ["--by", "dispatch"], "MI200 dispatches", 1)
            check_golden(sonde, made300, golden["ai_SYNTHETIC_MI300X_kernels"], [], "MI300X", 2)
            check_roofs(sonde, mi200, golden)
    print("\n".join(PROBLEMS) or f"{COUNTS['points']} kernels and {COUNTS['roofs']} bandwidths "
          "are as recomputed")
    if PROBLEMS:
        return 1
    return 0 if has_shared else 77


if __name__ == "__main__":
    sys.exit(main())
