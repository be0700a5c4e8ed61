#!/usr/bin/python3
"""Compares a merged .rpd with the files it was made from, by plain SQL: every call, operation, link,
counter, argument and name of each must be in it once, with the numbers of its file, and so must all
other rows of Sonde's tables: call stacks with their frames' names, code objects, graphs, devices.

    merge_check.py MERGED FILE...

Prints per file: apis, ops, samples, shift_ns, by how much its times were moved, and first_ns, when its first
call is now; and the ranks."""
import json
import sqlite3
import sys
from collections import Counter

PID, GPU = 10_000_000, 1_000
TIMELESS = ("threads", "processes", "devices", "queues", "code", "kernels")
STACKS = """WITH RECURSIVE
    frame(id, text) AS (SELECT f.id, json_array(f.kind, m.path, m.build_id, f.address, f.function,
        f.file, f.line, f.is_library, i.function, i.line) FROM sonde_frame f
        LEFT JOIN sonde_module m ON m.id = f.module_id
        LEFT JOIN sonde_frame i ON i.id = f.inlined_into),
    stack(id, text) AS (
        SELECT s.id, f.text FROM sonde_stack s JOIN frame f ON f.id = s.frame_id
        WHERE s.parent_id IS NULL
        UNION ALL SELECT s.id, k.text || f.text FROM stack k
        JOIN sonde_stack s ON s.parent_id = k.id JOIN frame f ON f.id = s.frame_id)
"""
QUERIES = {
    "apis": """SELECT a.start, a.end, a.pid - {pid}, a.tid, n.string, c.string, u.string
               FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id
               LEFT JOIN rocpd_string c ON c.id = a.category_id
               LEFT JOIN rocpd_ustring u ON u.id = a.args_id WHERE a.pid {pids}""",
    "ops": """SELECT o.start, o.end, o.gpuId - {gpu}, o.queueId, o.sequenceId, n.string, t.string,
              d.bytes, d.grid_x, d.group_x, d.status, g.args
              FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
              JOIN rocpd_string t ON t.id = o.opType_id
              LEFT JOIN sonde_op_detail d ON d.op_id = o.id
              LEFT JOIN sonde_op_args g ON g.op_id = o.id WHERE o.gpuId {gpus}""",
    "links": """SELECT a.start, o.start, a.pid - {pid}, o.gpuId - {gpu} FROM rocpd_api_ops l
                JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id
                WHERE o.gpuId {gpus}""",
    "counters": """SELECT c.time_ns, c.time_ns, p.pid - {pid}, c.tid, n.string, c.value
                   FROM sonde_counter c JOIN sonde_process p ON p.id = c.process_id
                   JOIN rocpd_string n ON n.id = c.name_id WHERE p.pid {pids}""",
    "graphs": """SELECT a.start, o.start, o.gpuId - {gpu}, g.graph, g.node FROM sonde_graph_op g
                 JOIN rocpd_api a ON a.id = g.api_id JOIN rocpd_op o ON o.id = g.op_id
                 WHERE o.gpuId {gpus}""",
    "copies": """SELECT a.start, a.end, stream, size, width, height, kind, dst, src,
                 dstDevice - {gpu}, srcDevice - {gpu}, sync, pinned FROM rocpd_copyapi c
                 JOIN rocpd_api a ON a.id = c.api_ptr_id WHERE width > 0 AND a.pid {pids}""",
    "clocks": """SELECT monotonic_ns, monotonic_ns, p.pid - {pid}, c.clock, value, uncertainty_ns
                 FROM sonde_clock_snapshot c JOIN sonde_process p ON p.id = c.process_id
                 WHERE p.pid {pids}""",
    "samples": STACKS + """SELECT s.time_ns, s.time_ns, p.pid - {pid}, s.tid, k.text, s.cpu_ns,
            s.missed, s.cost_ns, s.truncated, s.by_timer
        FROM sonde_sample s JOIN stack k ON k.id = s.stack_id JOIN sonde_process p
        ON p.id = s.process_id WHERE p.pid {pids}""",
    "launch_stacks": STACKS + """SELECT a.start, a.end, a.pid - {pid}, k.text, l.truncated
        FROM sonde_launch_stack l JOIN stack k ON k.id = l.stack_id JOIN rocpd_api a ON a.id = l.api_id
        WHERE a.pid {pids}""",
    # The rest have no times.
    "threads": """SELECT 0, 0, p.pid - {pid}, t.tid, t.name FROM sonde_thread t
                  JOIN sonde_process p ON p.id = t.process_id WHERE p.pid {pids}""",
    "processes": """SELECT 0, 0, pid - {pid}, ppid, executable, command, directory, host, rank, exit
                    FROM sonde_process WHERE pid {pids}""",
    "devices": """SELECT 0, 0, p.pid - {pid}, gpu_id - {gpu}, backend, name, vendor, driver, kind,
                  location, memory_bytes, compute_units, clock_mhz FROM sonde_device d
                  LEFT JOIN sonde_process p ON p.id = d.process_id WHERE gpu_id {gpus}""",
    "queues": """SELECT 0, 0, p.pid - {pid}, gpu_id - {gpu}, queue_id, handle, context, out_of_order,
                 user_profiling FROM sonde_queue q LEFT JOIN sonde_process p ON p.id = q.process_id
                 WHERE gpu_id {gpus}""",
    "code": """SELECT 0, 0, p.pid - {pid}, c.uri, c.load_base, c.load_size, c.delta
               FROM sonde_code_object c JOIN sonde_process p ON p.id = c.process_id
               WHERE p.pid {pids}""",
    "kernels": """SELECT 0, 0, p.pid - {pid}, k.gpu_id - {gpu}, k.name, k.object, k.vgprs,
                  k.accumulation_vgprs, k.sgprs, k.group_segment_bytes, k.private_segment_bytes,
                  k.kernarg_bytes FROM sonde_kernel_code k JOIN sonde_process p ON p.id = k.process_id
                  WHERE p.pid {pids}""",
}


def rows(database, what, index):
    pid, gpu = PID * index, GPU * index
    query = QUERIES[what].format(pid=pid, pids=f"BETWEEN {pid - 5000} AND {pid + PID - 5001}", gpu=gpu,
                                 gpus=f"BETWEEN {gpu} AND {gpu + GPU - 1}")
    return database.execute(query).fetchall()


def moved(found, what, by):
    times = 0 if what in TIMELESS else 2
    return Counter(tuple(v + by for v in row[:times]) + row[times:] for row in found)


def main():
    merged = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    result = {"apis": [], "ops": [], "samples": [], "launch_stacks": [], "kernels": [], "graphs": [],
              "copies": [], "shift_ns": [], "first_ns": []}
    for index, path in enumerate(sys.argv[2:]):
        single = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        first = min(row[0] for row in rows(single, "apis", 0))
        shift = min(row[0] for row in rows(merged, "apis", index)) - first
        for what in QUERIES:
            is_ = moved(rows(merged, what, index), what, 0)
            should = moved(rows(single, what, 0), what, shift)
            if is_ != should:
                lost, new = list((should - is_).items()), list((is_ - should).items())
                sys.exit(f"{path}: {what}: {len(lost)} lost {lost[:2]}, {len(new)} new {new[:2]}")
            if what in result:
                result[what].append(sum(is_.values()))
        result["shift_ns"].append(shift)
        result["first_ns"].append(first + shift)
    result["ranks"] = [rank for rank, in merged.execute(
        "SELECT DISTINCT rank FROM sonde_process WHERE rank IS NOT NULL ORDER BY rank")]
    total = merged.execute("SELECT count(*) FROM rocpd_api").fetchone()[0]
    if total != sum(result["apis"]):
        sys.exit(f"{total} calls, not {sum(result['apis'])}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
