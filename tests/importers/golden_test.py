#!/usr/bin/python3
"""Compares what Sonde makes of real PyTorch traces with exact figures that another program computed
from the JSON: by SQL on the imported .rpd, and by the commands on the JSON itself.

    golden_test.py --sonde PATH [FILE]

Traces and figures come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import csv
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from direct import unlike  # noqa: E402
from golden import main  # noqa: E402
from tool_case import sql  # noqa: E402

TYPES = """CASE WHEN t.string = 'FillBuffer' THEN 'gpu_memset' WHEN t.string GLOB 'Copy*'
           THEN 'gpu_memcpy' ELSE 'kernel' END"""
OPS = f"""SELECT o.id, {TYPES}, n.string, o.start, o."end", o.gpuId, o.queueId FROM rocpd_op o
          JOIN rocpd_string n ON n.id = o.description_id
          JOIN rocpd_string t ON t.id = o.opType_id"""


def union(intervals):
    """Sorted, disjoint intervals."""
    out = []
    for start, end in sorted(i for i in intervals if i[0] < i[1]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


def overlap(a, b):
    return length(a) + length(b) - length(union([*a, *b]))


def timeline(ops):
    """busy, idle and so on, as golden files define them."""
    def of(wanted):
        return union((op[3], op[4]) for op in ops if wanted(op))

    def is_comm(op):
        return op[1] == "kernel" and any(word in op[2].lower() for word in ("nccl", "rccl"))

    busy, comm = of(lambda op: True), of(is_comm)
    compute = of(lambda op: op[1] == "kernel" and not is_comm(op))
    memory = of(lambda op: op[1] != "kernel")
    work = union([*comm, *compute])
    span = max(op[4] for op in ops) - min(op[3] for op in ops)
    return {"busy_ns": length(busy), "idle_ns": span - length(busy), "compute_ns": length(compute),
            "comm_ns": length(comm), "mem_ns": length(memory),
            "comm_comp_overlap_ns": overlap(comm, compute),
            "exposed_comm_ns": length(comm) - overlap(comm, compute),
            "exposed_mem_ns": length(memory) - overlap(memory, work)}


def check_events(check, golden):
    counts = {key.removeprefix("events "): int(value) for key, value in
              sql(check.path, "SELECT key, value FROM sonde_note WHERE key LIKE 'events %'")}
    counts = {key + "None" if key.endswith("/") else key: n for key, n in counts.items()}
    check.equal("events by phase and category", counts, golden["events_by_ph_cat"])
    check.equal("all events", sum(counts.values()), golden["events_total"])


def check_slices(check, golden, ops):
    rows = dict(((cat, (n, ns)) for cat, n, ns in sql(
        check.path, """SELECT c.string, count(*), sum(a."end" - a.start) FROM rocpd_api a
           JOIN rocpd_string c ON c.id = a.category_id GROUP BY 1""")))
    for op in ops:
        n, ns = rows.get(op[1], (0, 0))
        rows[op[1]] = (n + 1, ns + op[4] - op[3])
    for category, figures in golden["slices_X_by_cat"].items():
        check.equal(f"count and sum of {category}", rows.get(category),
                    (figures["count"], figures["dur_ns"]))


def check_ops(check, golden):
    ops = sql(check.path, OPS)
    check_slices(check, golden, ops)
    if not golden.get("by_name"):
        check.equal("operations", len(ops), 0)
        return
    check.equal("first start", min(op[3] for op in ops), golden["gpu_first_ts_ns"])
    check.equal("last end", max(op[4] for op in ops), golden["gpu_last_end_ns"])
    check.equal("timeline", timeline(ops), golden["timeline"])
    names = {}
    for op in ops:
        names.setdefault((op[1], op[2]), []).append(op[4] - op[3])
    check.equal("kernels",
                {key: (len(v), sum(v), min(v), max(v)) for key, v in names.items()},
                {(row["cat"], row["name"]): (row["count"], row["sum_ns"], row["min_ns"],
                                             row["max_ns"]) for row in golden["by_name"]})
    for stream, figures in golden["streams"].items():
        gpu, queue = (int(part) for part in stream.split("/"))
        mine = [op for op in ops if (op[5], op[6]) == (gpu, queue)]
        check.equal(f"operations of stream {stream}", len(mine), figures["ops"])
        check.equal(f"busy of stream {stream}", length(union((o[3], o[4]) for o in mine)),
                    figures["busy_ns"])


def check_launches(check, golden):
    links = sql(check.path, """SELECT l.op_id, l.api_id, o.start - a.start, o.start - a."end"
        FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id
        JOIN rocpd_api a ON a.id = l.api_id""")
    total = sql(check.path, "SELECT count(*) FROM rocpd_op")[0][0]
    launch = golden["launch"]
    check.equal("operations with a call", len(links), launch["gpu_ops_with_runtime"])
    check.equal("operations without", total - len(links), launch["gpu_ops_without_runtime"])
    check.equal("delays from the start of calls", sum(link[2] for link in links),
                launch["delay_from_call_begin_sum_ns"])
    check.equal("delays from the end of calls", sum(link[3] for link in links),
                launch["delay_from_call_end_sum_ns"])
    check.equal("operations in sonde_op_detail",
                sql(check.path, "SELECT count(*) FROM sonde_op_detail")[0][0], total)


def check_in_memory(check, golden):
    for command, direct, other in unlike(check.sonde, check.path):
        check.equal(command, direct, other)
    top = {row["name"]: (int(row["calls"]), int(row["total_ns"]), int(row["min_ns"]),
                         int(row["max_ns"]))
           for row in csv.DictReader(io.StringIO(check.output("top", "--format", "csv")))}
    should = {}
    for row in golden.get("by_name", []):
        should[row["name"]] = (row["count"], row["sum_ns"], row["min_ns"], row["max_ns"])
    check.equal("sonde top on the JSON", top, should)


def compare(direct, imported, golden):
    for part in (check_events, check_ops, check_launches):
        part(imported, golden)
    check_in_memory(direct, golden)


if __name__ == "__main__":
    sys.exit(main(compare))
