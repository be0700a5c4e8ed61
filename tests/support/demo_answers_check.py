#!/usr/bin/python3
"""Asks what the demo is for of a recording of examples/matmul: demo_answers_check.py SONDE TRACE.

Whatever the interface, the two copies in, the kernel and the copy out are one chain: the last copy waited
for the kernel, and the call that returned after it for both. The kernel's time is taken from the file with
SQL, and compared with what the analyses make of it."""
import json
import subprocess
import sys

from tool_case import sql


def main():
    sonde, trace = sys.argv[1:]

    def ask(*words):
        made = subprocess.run([sonde, words[0], trace, *words[1:], "--format", "json"], text=True,
                              capture_output=True, check=True)
        return json.loads(made.stdout)

    rows = sql(
        trace, "SELECT o.start, o.end, t.string, a.start, a.end FROM rocpd_op o "
        "JOIN rocpd_string t ON t.id = o.opType_id LEFT JOIN rocpd_api_ops l ON l.op_id = o.id "
        "LEFT JOIN rocpd_api a ON a.id = l.api_id ORDER BY o.start")
    (kernel,) = (row for row in rows if row[2] == "KernelExecution")
    out = rows[-1]
    assert out[2] == "CopyDeviceToHost", out
    kernel_ns = kernel[1] - kernel[0]

    path = ask("critical-path")
    on_path = sum(row["time_ns"] for row in path["names"]
                  if "matmul" in row["name"] and row["bound_by"] == "gpu_compute")
    assert on_path == kernel_ns, f"{on_path} ns of the kernel's {kernel_ns} are on the path"
    edges = ask("critical-path", "--show", "edges", "--limit", "0")["edges"]
    arrows = [(edge["from"], edge["to"]) for edge in edges]
    assert any(begin.startswith("end of") and "matmul" in begin and end == "start of CopyDeviceToHost"
               for begin, end in arrows), arrows
    assert any(begin == "end of CopyDeviceToHost" and end.startswith("end of ")
               for begin, end in arrows), "nothing waited for the last copy"
    waiting = [row for row in path["names"] if row["bound_by"] == "cpu" and
               row["name"] in ("hipMemcpy", "clEnqueueReadBuffer")]
    assert sum(row["time_ns"] for row in waiting) < kernel_ns / 2, waiting

    # The call for the last copy was made when the kernel ran or before: it was behind it.
    behind = max(0, kernel[1] - max(out[3], kernel[0])) if out[3] < kernel[1] else 0
    told = {row["phase"][0]: row for row in ask("launches")["launches"]}
    assert ("W" in told and told["W"]["total_ns"] >= behind) or behind == 0, told

    streams = ask("queues").get("streams", [])
    assert all(row["overlapping_starts"] == 0 for row in streams), streams
    idle = ask("idle")
    between = sum(row["total_ns"] for row in idle["idle"] if row["reason"] != "copy")
    parts = ask("breakdown")["breakdown"][0]
    assert between == parts["idle_ns"], (between, parts)
    busy = ask("busy")["busy"][0]
    assert 0 < busy["busy_of_program"] < busy["busy"] <= 1, busy
    print(f"the kernel's {kernel_ns} ns are on the path, and the copy behind it")


if __name__ == "__main__":
    main()
