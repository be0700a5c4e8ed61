#!/usr/bin/python3
"""Compares what the analyses say of real PyTorch traces with exact figures that another program
computed from the JSON, to the nanosecond: timeline, streams, queue lengths, launches. From the JSON
itself and from the .rpd that it is imported into.

    golden_test.py --sonde PATH NAME

Traces and figures come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from golden import main  # noqa: E402

UNATTRIBUTED = {"mi300_qwen_0.5b": 463}  # operations without a launching call, counted in the JSON
EXPOSED = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "exposed_memset_ns",
           "other_ns", "idle_ns")


def check_timeline(check, golden):
    report = check.ask("breakdown")
    if not golden.get("by_name"):
        check.equal("GPUs", report["breakdown"], [])
        return
    # Each of these traces has one GPU.
    check.equal("GPUs", len(report["breakdown"]), 1)
    plain = {key: value for key, value in report["plain"][0].items() if key != "gpu_id"}
    check.equal("timeline", plain, golden["timeline"])
    row = report["breakdown"][0]
    check.equal("total", row["total_ns"], golden["gpu_span_ns"])
    check.equal("sum of the parts", sum(row[key] for key in EXPOSED), row["total_ns"])
    check.equal("idle", row["idle_ns"], golden["timeline"]["idle_ns"])
    idle = check.ask("idle")
    check.equal("idle by reason", sum(r["total_ns"] for r in idle["idle"] if r["reason"] != "copy"),
                row["idle_ns"])


def check_streams(check, golden):
    rows = {f'{row["gpu_id"]}/{row["queue_id"]}': row for row in check.ask("queues")["queues"]}
    check.equal("streams", sorted(rows), sorted(golden["streams"]))
    for stream, figures in golden["streams"].items():
        for key, value in figures.items():
            is_ = rows[stream][key]
            linked = rows[stream]["linked_ops"]
            if key == "max_queue_len" and linked == 0:
                check.equal(f"{stream} {key} without calls", is_, None)
            else:
                check.equal(f"{stream} {key}", is_, value)


def check_launches(check, golden):
    launch = golden["launch"]
    facts = check.ask("launches")["launches_facts"]
    for key, value in launch.items():
        ours = {"correlation_ids_with_many_gpu_ops": "calls_with_many_ops"}.get(key, key)
        if ours not in facts:
            check.equal(f"{key} is said", launch["gpu_ops_with_runtime"], 0)
        elif "median" in key:
            check.equal(key, facts[ours], int(value // 1))  # in whole nanoseconds
        else:
            check.equal(key, facts[ours], value)


def check_kernels(check, golden):
    rows = check.ask("kernels", "--of", "all")["kernels"]
    should = {}
    for row in golden.get("by_name", []):
        should[row["name"]] = (row["count"], row["sum_ns"], row["min_ns"], row["max_ns"])
    check.equal("names", {row["name"]: (row["calls"], row["total_ns"], row["min_ns"],
                                        row["max_ns"]) for row in rows}, should)


def check_operators(check, golden):
    """Every operation belongs to one operator or to none, and nothing is lost or doubled."""
    report = check.ask("operators")
    ops = sum(row["count"] for row in golden.get("by_name", []))
    total = sum(row["sum_ns"] for row in golden.get("by_name", []))
    check.equal("operations of operators", sum(r["self_ops"] for r in report["operators"]), ops)
    check.equal("time of operators", sum(r["self_gpu_ns"] for r in report["operators"]), total)
    none = [row for row in report["operators"] if row["operator"] == "(unattributed)"]
    unattributed = none[0]["self_ops"] if none else 0
    check.equal("unattributed", unattributed, golden["launch"]["gpu_ops_without_runtime"])
    name = check.path.name.partition(".json")[0].removesuffix(".rpd")
    check.equal("unattributed, counted", unattributed, UNATTRIBUTED.get(name, unattributed))


def check_memory(check, events):
    """Sums and peaks of torch's [memory] events, by device."""
    devices = {}
    for event in events:
        args = event.get("args", {})
        if event.get("name") != "[memory]" or args.get("Device Type", 0) == 0:
            continue
        device = devices.setdefault(f'GPU {args["Device Id"]}', [0, 0, 0])
        device[0] += max(0, args["Bytes"])
        device[1] += max(0, -args["Bytes"])
        device[2] = max(device[2], args.get("Total Allocated", 0))
    rows = [row for row in check.ask("memory")["memory"] if row["device"].startswith("GPU")]
    check.equal("memory", {row["device"]: [row["allocated_bytes"], row["freed_bytes"],
                                           row["peak_in_use_bytes"]] for row in rows}, devices)


def check_all_at_once(check):
    """`analyze` prints what the commands print."""
    reports = check.ask("analyze")
    check.equal("reports are many", len(reports) > 8, True)
    for report in reports:
        report.pop("notes", None)
        alone = check.ask(report["report"])
        for key in ("notes", "warnings"):
            alone.pop(key, None)
        if report["report"] == "breakdown":  # links are loaded, so ranks are known
            for row in report["breakdown"]:
                row.pop("rank")
        check.equal(f'analyze: {report["report"]}', report, alone)


def compare(direct, imported, golden):
    with gzip.open(direct.path, "rt") as file:
        events = json.load(file)["traceEvents"]
    for check in (direct, imported):
        for part in (check_timeline, check_streams, check_launches, check_kernels, check_operators):
            part(check, golden)
        check_memory(check, events)
        check_all_at_once(check)


if __name__ == "__main__":
    sys.exit(main(compare))
