#!/usr/bin/python3
"""Random kernels (generate.py) that access memory out of bounds, after it was freed or before it was written, that
race, or that do nothing wrong, under softgpu --check: it must report exactly these errors.

  check_test.py --build build --seeds 1 --kernels 12        of each of correct, race and bounds
  check_test.py --build build --seeds 1-5 --kernels 40      a longer run

Exit status: 0 exactly the errors were reported, 1 otherwise, 77 there is no hipcc."""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

import generate

AT_ONCE = 20  # kernels in a process, if they do not end it


def run(args, folder, program, kernels):
    """softgpu's findings, as lines of JSON, and the arrays' addresses, by kernel and array."""
    waves = tempfile.mktemp(dir=folder)
    command = [os.path.join(args.build, "bin/softgpu"), "--engine", "isa", "--check", "memory,race", "--waves", waves,
               "--", program, *(str(k.number) for k in kernels)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    arrays = {(line["kernel"], line["array"]): line["address"] for line in lines if "array" in line}
    with open(waves) as file:
        found = [json.loads(line) for line in file]
    os.unlink(waves)
    return done, any("done" in line for line in lines), found, arrays


def name_of(line):
    """_Z2k1Ph is k1."""
    return line["kernel"].removeprefix("_Z").lstrip("0123456789").split("P")[0]


def offset(kernel, line, arrays, key):
    """The array that the line's access is in, and the offset in it; for LDS, None and the offset in LDS."""
    address = int(line[key], 16)
    if line["space"] == "lds":
        return None, address
    near = [(abs(address - start), number, address - start) for (k, number), start in arrays.items()
            if k == kernel.number and number >= 0]
    _, number, distance = min(near)
    return kernel.arrays[number], distance


def is_same_wave(access, group, wave, lane, kind):
    """A scalar access has no lane and matches any."""
    return (access.group, access.wave, access.kind) == (group, wave, kind) and lane in (None, access.lane)


def told_accesses(kernel, line, arrays):
    """The kernel's accesses that the line may describe: a phase of one lane covers it, since a compiler may have
    merged the accesses of several turns. Also the line's bytes, as offsets in its array."""
    array, begin = offset(kernel, line, arrays, "begin")
    lane = None if line.get("scalar") else line["lane"]
    bytes_ = range(begin, begin + line["bytes"])
    by_phase = {}
    for access in kernel.accesses(kernel.phases):
        same_place = access.array.is_local if array is None else access.array is array
        if same_place and is_same_wave(access, line["group"], line["wave"], lane, line["access"]) and \
                access.begin < bytes_.stop and access.begin + access.size > bytes_.start:
            by_phase.setdefault((access.instruction[0], access.lane), []).append(access)
    def covers(ones):
        return {byte for one in ones for byte in range(one.begin, one.begin + one.size)}.issuperset(bytes_)

    return [one for ones in by_phase.values() if covers(ones) for one in ones], bytes_


def check_race(kernel, lines, arrays):
    if not lines:
        return "no race was found"
    accesses = kernel.accesses(kernel.phases)
    for line in lines:
        if line["why"] != "race":
            return f"{line['why']} where nothing but a race is"
        byte = offset(kernel, line, arrays, "address")[1]
        ones, bytes_ = told_accesses(kernel, line, arrays)
        ones = [a for a in ones if a.begin <= byte < a.begin + a.size]
        other_lane = None if line.get("other_scalar") else line["other_lane"]
        others = [a for a in accesses if a.begin <= byte < a.begin + a.size and
                  is_same_wave(a, line["group"], line["other_wave"], other_lane, line["other_access"])]
        if byte not in bytes_ or not any(kernel.is_race(one, other, byte) for one in ones for other in others):
            return f"a race that is none: {summary(line)}"
    return None


def check_unwritten(kernel, lines, arrays):
    if not lines:
        return "no read of what nobody wrote was found"
    for line in lines:
        if line["why"] != "uninitialised_read":
            return f"{line['why']} where nothing but reads of what nobody wrote are"
        byte = offset(kernel, line, arrays, "address")[1]
        ones = [a for a in told_accesses(kernel, line, arrays)[0] if a.begin <= byte < a.begin + a.size]
        if not any(a.array in kernel.unwritten and not kernel.surely_written(a, byte) for a in ones):
            return f"a read of what was written: {summary(line)}"
    return None


def check_bounds(kernel, lines, arrays):
    """Groups that run in parallel may each perform a bad access before the queue ends."""
    if not lines:
        return "nothing was found"
    return next((wrong for wrong in (check_bound(kernel, line, arrays) for line in lines) if wrong), None)


def check_bound(kernel, line, arrays):
    if line["why"] != ("use_after_free" if kernel.kind == "freed" else "out_of_bounds"):
        return f"{line['why']} instead of what is there"
    ones, bytes_ = told_accesses(kernel, line, arrays)
    wrong = [byte for byte in bytes_ if ones and kernel.is_outside(ones[0].array, byte)]
    if not wrong:
        return f"an access that is all right: {summary(line)}"
    if offset(kernel, line, arrays, "address")[1] != wrong[0]:
        return f"not the first byte that is wrong, {wrong[0]}: {summary(line)}"
    return None


def summary(line):
    left_out = ("sgprs", "vgprs", "agprs", "lds", "arguments")
    return {key: value for key, value in line.items() if key not in left_out}


def check_together(args, folder, program, kernels):
    """Checks kernels that do not end their process."""
    done, is_whole, found, arrays = run(args, folder, program, kernels)
    if not is_whole or done.returncode != 0:
        return [f"kernels {[k.number for k in kernels]}: status {done.returncode}: {done.stderr[-2000:]}"]
    wrong = []
    for kernel in kernels:
        lines = [line for line in found if name_of(line) == kernel.name]
        trouble = check_race(kernel, lines, arrays) if kernel.kind == "race" else \
            check_unwritten(kernel, lines, arrays) if kernel.kind == "unwritten" else \
            f"a false alarm: {summary(lines[0])}" if lines else None
        if trouble:
            wrong.append(f"{kernel.name}, {kernel.kind}: {trouble}")
    return wrong


def check_alone(args, folder, program, kernel):
    done, is_whole, found, arrays = run(args, folder, program, [kernel])
    if is_whole or done.returncode == 0:
        return [f"{kernel.name}, {kernel.kind}: the program did not end by it"]
    trouble = check_bounds(kernel, found, arrays)
    return [f"{kernel.name}, {kernel.kind}: {trouble}"] if trouble else []


def check_seed(seed, args, folder):
    kernels = generate.make_kernels(seed, {"correct": args.kernels, "race": args.kernels, "bounds": args.kernels,
                                           "freed": max(1, args.kernels // 6), "unwritten": max(1, args.kernels // 4)})
    source, program = os.path.join(folder, "kernels.hip"), os.path.join(folder, "kernels")
    with open(source, "w") as file:
        file.write(generate.program(kernels))
    built = subprocess.run(["hipcc", "-O2", "-std=c++17", "-w", f"--offload-arch={args.arch}", "-x", "hip", source, "-o",
                            program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode != 0:
        return [built.stdout]
    alone = [k for k in kernels if k.kind in ("bounds", "freed")]
    together = [k for k in kernels if k.kind in ("correct", "race", "unwritten")]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(check_together, args, folder, program, together[i:i + AT_ONCE])
                for i in range(0, len(together), AT_ONCE)]
        jobs += [pool.submit(check_alone, args, folder, program, kernel) for kernel in alone]
        wrong = [text for job in jobs for text in job.result()]
    kinds = ", ".join(f"{sum(k.kind == kind for k in kernels)} {text}" for kind, text in (
        ("bounds", "out of bounds"), ("freed", "of freed memory"), ("race", "with races"), ("unwritten", "of unwritten memory"), ("correct", "correct")))
    print(f"seed {seed}: kernels {kinds}: {len(wrong)} wrong", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--seeds", default="1", help="FIRST-LAST")
    parser.add_argument("--kernels", type=int, default=12, help="of each kind, in each seed")
    parser.add_argument("--arch", default="gfx90a")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="keep what was built")
    args = parser.parse_args()
    if not shutil.which("hipcc"):
        print("skipped: there is no hipcc")
        return 77
    first, _, last = args.seeds.partition("-")
    failed = 0
    for seed in range(int(first), int(last or first) + 1):
        folder = tempfile.mkdtemp(prefix=f"softgpu-check{seed}-")
        wrong = check_seed(seed, args, folder)
        failed += len(wrong)
        for text in wrong:
            print(text)
        if args.keep or wrong:
            print(f"kept {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
