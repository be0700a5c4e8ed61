#!/usr/bin/python3
"""The table of opcodes is what tools/gpu_opcodes.py makes of LLVM's disassembler today. Exit 77 without it."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM_MC = "llvm-mc-15"


def main():
    if not shutil.which(LLVM_MC):
        print(f"skipped: no {LLVM_MC}")
        return 77
    made = subprocess.run([sys.executable, ROOT / "tools/gpu_opcodes.py", "--llvm-mc", LLVM_MC], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    kept = (ROOT / "src/gpu/opcodes.inc").read_text(encoding="utf-8").splitlines()
    for line in sorted(set(made) - set(kept))[:5]:
        print(f"src/gpu/opcodes.inc lacks: {line}")
    for line in sorted(set(kept) - set(made))[:5]:
        print(f"src/gpu/opcodes.inc has, and LLVM does not: {line}")
    if made == kept and len(kept) > 1000:
        print(f"{len(kept) - 1} rows are what LLVM tells")
        return 0
    print("src/gpu/opcodes.inc is not what tools/gpu_opcodes.py makes: make it again")
    return 1


if __name__ == "__main__":
    sys.exit(main())
