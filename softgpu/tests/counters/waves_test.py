#!/usr/bin/env python3
"""Checks the wave state that `softgpu --waves` writes, register by register: on request, at a memory fault, and at an
unknown instruction.

  waves_test.py --softgpu build/bin/softgpu --hsa build/tests/softgpu/run_hsa

Exit status: 0 passed, 1 failed, 77 there is no clang that assembles for AMD GPUs."""
import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import count_test

KNOWN = """
s_mov_b32 s20, 0x12345678
s_mov_b32 s21, s2
s_mov_b32 m0, 0x77
v_mul_u32_u24 v5, 3, v0
v_accvgpr_write_b32 a2, v5
v_lshlrev_b32 v6, 2, v0
ds_write_b32 v6, v5 offset:256
s_mov_b64 vcc, 0xff
s_cmp_eq_u32 s20, s20
s_mov_b64 exec, 0x0f0f
"""
KERNELS = [
    # s[22:23] points to the instruction after s_getpc_b64.
    {"name": "endless", "code": KNOWN + "s_getpc_b64 s[22:23]\n1:\ns_nop 0\ns_branch 1b"},
    {"name": "bad_address", "code": KNOWN + "v_mov_b32 v8, 0x1000\nv_mov_b32 v9, 0\ns_getpc_b64 s[22:23]\nglobal_load_dword v10, v[8:9], off\n"
                                            "s_waitcnt 0"},
    {"name": "bad_instruction", "code": KNOWN + "s_getpc_b64 s[22:23]\n.long 0xf0001100, 0\n"},
]

def states(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def run(args, folder, code, kernel):
    """The states that were written within 30 s."""
    path = os.path.join(folder, f"waves of {kernel}")
    program = subprocess.Popen([args.softgpu, "--engine", "isa", "--waves", path, "--", args.hsa, code],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True)
    program.stdin.write(f"{kernel} 192 64\n")
    program.stdin.close()
    found, until, asked = [], time.monotonic() + 30, 0
    while not found and time.monotonic() < until:
        time.sleep(0.1)
        if kernel == "endless" and time.monotonic() - asked > 2:
            asked = time.monotonic()
            open(path + ".ask", "w").close()
        found = states(path)
    time.sleep(0.3)
    found = states(path)
    # The launcher forwards it to the program, whose kernel may never end, and cleans up.
    program.terminate()
    try:
        program.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    if kernel == "endless" and os.path.exists(path + ".ask"):
        print("the request was not taken away")
    return found


def problems(kernel, state, why):
    group = state["group"]
    sgpr = lambda n: int(state["sgprs"][8 * n:8 * n + 8], 16)
    row = lambda rows, n: [int(rows[n][8 * lane:8 * lane + 8], 16) for lane in range(64)]
    lds = bytes.fromhex(state["lds"])
    expected = [3 * lane for lane in range(64)]
    checks = {
        "why": state["why"] == why, "kernel": state["kernel"] == kernel, "version": state["version"] == 1,
        "s20": sgpr(20) == 0x12345678, "s21 is the group": sgpr(21) == group, "group_id": state["group_id"] == [group, 0, 0],
        "sgprs": len(state["sgprs"]) == 8 * 102, "v5": row(state["vgprs"], 5) == expected,
        "v0": row(state["vgprs"], 0) == list(range(64)), "a2": row(state["agprs"], 2) == expected,
        "vgprs": len(state["vgprs"]) == 64 and len(state["agprs"]) == 64,
        "lds": len(lds) == 16384 and list(struct.unpack_from("<64I", lds, 256)) == expected,
        "exec": state["exec"] == "0xf0f", "vcc": state["vcc"] == "0xff", "m0": state["m0"] == "0x77",
        "scc": state["scc"] == 1 and int(state["status"], 16) & 1 == 1, "wave": state["wave"] == 0,
        "pc": int(state["pc"], 16) - (sgpr(22) | sgpr(23) << 32) in ((0, 4) if kernel == "endless" else (0,)),
        "offset": int(state["offset"], 16) < 4096,
        "mode": int(state["mode"], 16) & 0xff == 0xf0,
    }
    return [name for name, holds in checks.items() if not holds]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--softgpu", required=True)
    parser.add_argument("--hsa", required=True)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="softgpu waves ")
    code = count_test.assemble(KERNELS, folder)
    if code is None:
        print("skipped: no clang assembles for AMD GPUs")
        return 77
    failed = 0
    for kernel, why in (("endless", "demand"), ("bad_address", "memory_fault"), ("bad_instruction", "illegal_instruction")):
        found = run(args, folder, code, kernel)
        wrong = ["no state"] if not found else sorted({each for state in found for each in problems(kernel, state, why)})
        if kernel == "endless" and len({state["group"] for state in found}) < 2:
            wrong.append("one group only")
        print(f"{kernel}: {len(found)} states, {', '.join(wrong) or 'all as it should be'}"
              f"{', offset ' + found[0]['offset'] if found else ''}")
        failed += bool(wrong)
    shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
