#!/usr/bin/env python3
"""compare_report.py REPORT WAVES: compares the waves of a JSON report, which came through AMD's debugger library,
with what the software GPU wrote about the same waves (isa/WAVES.md) when they failed: all registers and LDS."""
import json
import sys

SAME = ["exec", "sgprs", "vgprs", "agprs", "lds", "vcc", "m0", "mode", "scc", "why", "kernel", "group_id", "wave"]


def main():
    report = json.loads(open(sys.argv[1]).readline())
    lines = [json.loads(line) for line in open(sys.argv[2])]
    own = {(*line["group_id"], line["wave"]): line for line in lines if line["line"] == "state"}
    compared, different = 0, 0
    for group in report["waves"]:
        for wave in group["waves"]:
            seen = wave["state"]
            expected = own.get((*seen["group_id"], seen["wave"]))
            if expected is None or expected["why"] != seen["why"]:
                continue  # it had not failed
            seen = seen | {"kernel": group["kernel"]}
            wrong = [name for name in SAME if seen[name] != expected[name]]
            # For an illegal instruction, or one that left private memory, the library's pc is past
            # it.
            if int(seen["pc"], 16) - int(expected["pc"], 16) not in (0, 4, 8):
                wrong.append("pc")
            if seen["why"] in ("trap", "memory_fault") and seen["pc"] != expected["pc"]:
                wrong.append("pc")
            compared += 1
            different += bool(wrong)
            if wrong:
                print(f"group {seen['group_id']} wave {seen['wave']}: {', '.join(wrong)} differ")
    print(f"{compared} waves compared, {different} differ")
    return 1 if different or not compared else 0


sys.exit(main())
