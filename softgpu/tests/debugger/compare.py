#!/usr/bin/env python3
"""compare.py DUMP WAVES [--failed]: compares what AMD's debugger library said about each wave (waves.cpp) with what
the software GPU wrote about it (isa/WAVES.md) on request, while it was stopped, or when it failed: every register and
the LDS. For a failed wave, the library sees the next instruction, and not that the wave is halted."""
import json
import struct
import sys

HALT = 1 << 13


def words(text, count=1):
    """The library's bytes as 32-bit numbers."""
    return list(struct.unpack(f"<{count}I", bytes.fromhex(text)))


def row_of(digits):
    return [int(digits[i:i + 8], 16) for i in range(0, len(digits), 8)]


def expected_registers(own):
    """The expected value of each register in the software GPU's lines, by the library's names."""
    sgprs = row_of(own["sgprs"])
    expected = {f"s{i}": [value] for i, value in enumerate(sgprs)}
    for letter in "va":
        rows = own["vgprs" if letter == "v" else "agprs"]
        expected |= {f"{letter}{i}": row_of(row) for i, row in enumerate(rows)}
    for name in ("pc", "exec", "vcc"):
        value = int(own[name], 16)
        expected[name] = [value & 0xffffffff, value >> 32]
    for name in ("status", "trapsts", "mode", "m0"):
        expected[name] = [int(own[name], 16)]
    return expected


def compare(wave, own, has_failed):
    """The differences as text, and the number of compared words."""
    problems, compared = [], 0
    if has_failed:
        behind = int(wave["info_pc"], 16) - int(own["pc"], 16)
        if behind not in (0, 4, 8):
            problems.append(f"its pc is {behind} bytes behind")
        own = own | {"pc": wave["info_pc"], "status": hex(int(own["status"], 16) & ~HALT)}
    expected = expected_registers(own)
    for name, values in expected.items():
        text = wave["registers"].get(name)
        if text is None:
            problems.append(f"{name} is not there")
            continue
        got = words(text, len(text) // 8)
        compared += len(values)
        if got != values:
            problems.append(f"{name} is {got[:4]}, not {values[:4]}")
    vectors = [name for name in wave["registers"] if name[0] in "va" and name[1:].isdigit()]
    beyond = [name for name in vectors if name not in expected]
    if beyond:
        problems.append(f"{len(beyond)} vector registers that the wave does not have: {beyond[:3]}")
    if wave["lds"] != own["lds"]:
        problems.append("LDS differs")
    compared += len(own["lds"]) // 8
    for name in ("pc", "exec"):
        if wave[f"info_{name}"] != own[name]:
            problems.append(f"{name} of the wave's information is {wave[f'info_{name}']}, not {own[name]}")
    return problems, compared


def main():
    waves = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
    lines = [json.loads(line) for line in open(sys.argv[2])]
    own = {(*line["group_id"], line["wave"]): line for line in lines if line["line"] == "state"}
    total, failed = 0, 0
    for wave in waves:
        key = (*wave["group_id"], wave["wave"])
        problems, compared = compare(wave, own.pop(key), "--failed" in sys.argv) if key in own else (["softgpu does not have it"], 0)
        total += compared
        failed += bool(problems)
        for problem in problems[:10]:
            print(f"wave {key}: {problem}")
    for key in own:
        print(f"wave {key}: the debugger does not have it")
    print(f"{len(waves)} waves, {total} words compared, {failed + len(own)} waves differ")
    return 1 if failed or own or not waves else 0


sys.exit(main())
