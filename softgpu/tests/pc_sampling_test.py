#!/usr/bin/env python3
"""Compares PC samples from ROCr's own extension (hsa_ven_amd_pc_sampling) with the launch, the code, and the samples
that softgpu itself takes of the same waves (--sample-every).

  pc_sampling_test.py SOFTGPU PROGRAM CODE_OBJECT

Exit status: 0 passed, 1 failed, 77 the ROCr in use has no such extension."""
import collections
import json
import os
import subprocess
import sys
import tempfile

ALL, ODD = 0xffffffffffffffff, 0xaaaaaaaaaaaaaaaa  # lanes of the first loop, and of the second
GROUPS = {(x, y, 0) for x in (0, 1) for y in (0, 1)}
# For 1,000 samples at a dozen places, chance gives 0.04.
MOST_DISTANCE = 0.15


def distance(a, b):
    return sum(abs(a[k] / a.total() - b[k] / b.total()) for k in a.keys() | b.keys()) / 2


def own_samples(path, kernel="two_loops"):
    with open(path) as lines:
        samples = [json.loads(line) for line in lines]
    return collections.Counter((int(s["pc"], 16), int(s["exec"], 16)) for s in samples
                               if s["line"] == "sample" and s["kernel"] == kernel)


def problems(output, own):
    samples = []
    for line in output.splitlines():
        words = line.split()
        if words[:1] == ["code"]:
            begin, end = (int(word, 16) for word in words[1:])
        elif words[:1] == ["dispatches"]:
            told = dict(zip(words[::2], words[1::2]))
        elif words[:1] == ["sample"]:
            samples.append((int(words[1], 16), int(words[2], 16), tuple(map(int, words[3:6])), int(words[6]), int(words[7], 16),
                            int(words[8])))
    if len(samples) < 1000:
        yield f"there are {len(samples)} samples"
        return
    if told["result"] != "right":
        yield "the kernel that was sampled has a wrong result"
    if told["after_stop"] != "0" or told["after_start"] == "0":
        yield f"{told['after_stop']} samples after the stop, {told['after_start']} after the next start"
    outside = [hex(s[0]) for s in samples if not begin <= s[0] < end]
    if outside:
        yield f"{len(outside)} samples outside of the kernel's code, as {outside[0]}"
    # Samples outside the loops: before and after them.
    other = [hex(s[1]) for s in samples if s[1] not in (ALL, ODD)]
    if other:
        yield f"{len(other)} samples with other lanes, as {other[0]}"
    waves = {(group, wave) for _, _, group, wave, _, _ in samples}
    if waves != {(group, wave) for group in GROUPS for wave in (0, 1)}:
        yield f"samples are of {sorted(waves)}"
    if len({s[4] >> 32 for s in samples}) != 1 or max(s[4] & 0x1ffffff for s in samples) >= min(int(told["dispatches"]), 64):
        yield "samples are of other dispatches than there are"
    if any(s[5] == 0 for s in samples):
        yield "samples have no time"
    seen = collections.Counter((s[0], s[1]) for s in samples)
    far = distance(seen, own)
    print(f"{len(samples)} samples at {len(seen)} places, {told['lost']} lost; {own.total()} of softgpu's own at {len(own)};"
          f" distance {far:.3f}")
    if far > MOST_DISTANCE:
        yield f"the distributions over places differ by {far:.3f}: {sorted(seen.items())} and {sorted(own.items())}"


def main():
    softgpu, program, code = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        waves = os.path.join(folder, "waves")
        done = subprocess.run([softgpu, "--engine", "isa", "--waves", waves, "--sample-every", "4999", "--", program, code],
                              stdout=subprocess.PIPE, text=True, timeout=280)
        if done.returncode != 0:
            print(done.stdout)
            return done.returncode
        found = list(problems(done.stdout, own_samples(waves)))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
