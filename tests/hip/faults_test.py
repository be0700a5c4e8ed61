#!/usr/bin/python3
"""What `sonde debug` tells of each way in which a kernel can fail, in C++ and from Python, as a table:

    faults_test.py --build BUILD [--only REGEX]

Of every row: kernel, address, allocation with the line that made it, instruction with its line of
source, and likely cause. What is right is known from elsewhere: addresses from the program's own
output, lines from the sources, code objects from the program's file by their hash, and instructions
from llvm-objdump. How long after its fault each report was there is printed; tests/bench/fault_reports.py measures that."""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BYTES = {False: 4 << 20, True: 8 << 20}  # of a buffer, in C++ and in Python


def line_of(file, text, nth=0):
    """The number of the line of a source file that has the text."""
    lines = [number for number, line in enumerate((HERE / file).read_text().splitlines(), 1) if text in line]
    return lines[nth]


KERNELS = "fault_kernels.h"
# name: kernel, likely cause, what the address is of (None: there is none), the source's line that
# the stopped instruction is of (None: it is of a header of HIP's, or there is none), instruction.
TABLE = {
    "page": ("_ZN4work7overrunEPfPKfil", r"^out of bounds: kernel work::overrun\(.*\) touches memory 0 bytes past the "
             r"end of the buffer of {bytes} bytes at {out} that is argument 0.*, allocated in {make}",
             "out", "end", "out[i == 0 ? distance : i]", "global_store_dword"),
    # The same by --check memory, to the byte and the lane.
    "checked": ("_ZN4work7overrunEPfPKfil", r"^out of bounds by 4 bytes: lane 0 of wave 0 of kernel work::overrun\(.*\) stores 4 bytes "
                r"at {end}, 0 bytes past the end of the buffer of {bytes} bytes at {out} that is argument 0.*, allocated in {make}",
                "out", "end", "out[i == 0 ? distance : i]", "global_store_dword"),
    "free": ("_ZN4work5reuseEPii", r"^use after free: kernel work::reuse\(.*\) touches the buffer of {bytes} bytes at "
             r"{values} that is argument 0.*, allocated in {make}", "values", None, "values[i] += 1", "global_load_dword"),
    "null": ("_ZN4work6followEPKiPi", r"^null pointer: kernel work::follow\(.*\) touches address 0x0, and its argument 0.* "
             r"is null", 0, 0, "to[threadIdx.x] = where[threadIdx.x]", "global_load_dword"),
    "trap": ("_ZN4work4trapEPi", r"^kernel work::trap\(int\*\) ended itself by a trap", None, None, "__builtin_trap()", "s_trap 2"),
    "assert": ("_ZN4work5checkEPii", r"^kernel work::check\(int\*, int\) stopped at an assert\(\): .*fault_kernels.h:{assert_line}: "
               r"void work::check\(int ?\*, int\): `values\[threadIdx.x\] \+ 1 == count' failed$", None, None, None, "s_trap 2"),
    "illegal": ("_ZN4work7illegalEPi", r"^kernel work::illegal\(int\*\) has an instruction that this GPU does not know", None, None,
                "asm volatile", "<unknown 0xf0001100>"),
    "misaligned": ("_ZN4work8misalignEPi", r"^misaligned atomic operation: kernel work::misalign\(int\*\), lane 0 uses 4 bytes at "
                   r"{values_1}, which is not a multiple of 4$", None, None, None, "global_atomic_add"),
    "misaligned_lds": ("_ZN4work15misalign_sharedEPi", r"^misaligned atomic operation: kernel work::misalign_shared\(int\*\), lane 0 uses 4 "
                       r"bytes at offset 2 of 256 bytes of LDS, which is not a multiple of 4$", None, None, None, "ds_add_u32"),
    "scratch": ("_ZN4work8overflowEPi", r"^scratch overflow: kernel work::overflow\(int\*\), lane 0 uses 4 bytes at offset 4,000,0\d\d of "
                r"1\d\d bytes of private memory$", None, None, "local[values[0] + 1000000]", "_store_dword"),
    "lds": ("_ZN4work7outsideEPi", r"^index out of bounds of __shared__ memory: kernel work::outside\(int\*\), lane 0 uses 4 bytes "
            r"at offset 400,000 of 256 bytes of LDS$", None, None, "where[threadIdx.x + 100000]", "flat_store_dword"),
    "spin": ("_ZN4work4spinEPVi", r"^kernel work::spin\(.*\) has not ended: 1 of its waves at 0x", None, None, "while (*flag == 0)", None),
}


class Failed(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Failed(what)


def run(build, name, python, folder):
    """The report of a failure, what the program printed, and the seconds from fault to report."""
    programs = build / "tests/programs"
    failure = "page" if name == "checked" else name
    command = ([sys.executable, HERE / "fault.py", programs / "fault_kernels.co", failure] if python
               else [programs / "hip_faults", failure])
    report = folder / "report"
    (folder / "code").mkdir()
    options = {"spin": ["--hang", "1s"], "checked": ["--check", "memory"]}.get(name, [])
    process = subprocess.Popen([build / "bin/sonde", "debug", "--softgpu", "--json", "--launch-stacks", "-o", report,
                                "--save-code-objects", folder / "code", *options, "--", *command],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if name == "spin":  # which goes on
        until = time.monotonic() + 60
        while not (report.exists() and report.read_text().endswith("}\n")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=100)
    require(report.exists(), f"no report: {err}")
    written_ns = report.stat().st_mtime_ns - time.time_ns() + time.monotonic_ns()
    told = json.loads(report.read_text())
    return told, json.loads(out.splitlines()[0]), (written_ns - told["time_ns"]) / 1e9


def check_code_objects(told, build, python):
    """Saved bytes are those of the file that the program has them in. Returns the path of the kernel's."""
    kernel = told["in_flight"][told["kernel"]]
    for one in told["code_objects"]:
        uri = one["uri"]
        require(one["saved"], f"not saved: {uri}")
        saved = hashlib.sha256(pathlib.Path(one["saved"]).read_bytes()).hexdigest()
        if not uri.startswith("file://"):
            continue
        path, offset, size = re.fullmatch(r"file://(.*)#offset=(\d+)&size=(\d+)", uri).groups()
        original = pathlib.Path(path).read_bytes()[int(offset):int(offset) + int(size)]
        require(saved == hashlib.sha256(original).hexdigest(), f"saved bytes differ: {uri}")
    if python:  # where hipModuleLoad got it from
        own = pathlib.Path(told["code_objects"][kernel["code_object"]]["saved"]).read_bytes()
        require(own in (build / "tests/programs/fault_kernels.co").read_bytes(), "not what hipModuleLoad was given")
    return told["code_objects"][kernel["code_object"]]["saved"]


def check_disassembly(told, saved):
    """Each line is that of llvm-objdump at the same distance from the kernel's begin."""
    objdump = max(pathlib.Path("/usr/lib").glob("llvm-*/bin/llvm-objdump"), key=lambda path: int(path.parts[3][5:]))
    if not told["disassembly"]:
        return 0
    symbol = told["disassembled"]
    text = subprocess.run([objdump, "-d", "--mcpu=gfx90a", f"--disassemble-symbols={symbol}", saved],
                          capture_output=True, text=True, check=True).stdout
    theirs, begin = {}, None
    for line in text.splitlines():
        found = re.match(r"\t(.*?)\s*// ([0-9A-F]+): ", line)
        if found:
            address = int(found[2], 16)
            begin = address if begin is None else begin
            theirs[address - begin] = " ".join(found[1].split())
    same = 0
    for line in told["disassembly"]:
        ours = " ".join(line["text"].split())
        if ours.startswith("<unknown") or line["offset"] not in theirs:
            continue
        # Where a branch leads to, llvm-objdump says behind it.
        require(theirs[line["offset"]].startswith(ours), f"{ours!r} is {theirs[line['offset']]!r} of llvm-objdump")
        same += 1
    require(same >= min(3, len(told["disassembly"]) - 1), "no line to compare with llvm-objdump's")
    return same


def check_address(told, printed, of, offset, size):
    if of is None:
        require(told["address"] is None, "an address of a failure that has none")
        return
    if of == 0:
        require(told["address"] == "0x0", told["address"])
        return
    require(told["place"] is not None, "no allocation")
    allocation = told["allocations"][told["place"]["allocation"]]
    base = int(printed[of], 16)
    require(int(allocation["address"], 16) == base and allocation["bytes"] == size, "another allocation")
    require(allocation["call"] == "hipMalloc", allocation["call"])
    address = int(told["address"], 16)
    require(address - base == told["place"]["offset"], "address and offset differ")
    if offset is None:
        require(base <= address < base + size, told["address"])
    else:
        require(address == base + size, told["address"])
    if of == "values":
        require(allocation["freed_ns"] > 0 and allocation["freed"], "who freed it is not known")


def check(build, name, python, folder):
    kernel, cause, of, offset, source, instruction = TABLE[name]
    told, printed, seconds = run(build, name, python, folder)
    file = "fault.py" if python else "hip_faults.hip"
    made = line_of(file, "hip.hipMalloc(") if python else line_of(file, "hipMalloc(&memory")
    make = f"(?:[^ ]* )?(?:work::)?make_buffer.* at .*{file}:{made}"
    cause = cause.format(make=make, assert_line=line_of(KERNELS, "assert(values"), bytes=f"{BYTES[python]:,}", out=printed["out"], values=printed["values"],
                         end=f"{int(printed['out'], 16) + BYTES[python]:#x}", values_1=f"{int(printed['values'], 16) + 1:#x}")
    require(re.search(cause, told["cause"]), f"cause {told['cause']!r} is not {cause!r}")
    require(told["in_flight"][told["kernel"]]["kernel"] == kernel, "another kernel")
    check_address(told, printed, of, offset, BYTES[python])
    launched = told["in_flight"][told["kernel"]]["launch"]
    require(any(frame["file"].endswith(file) for frame in launched), "the launch's stack has no frame of the program")
    at = [line for line in told["disassembly"] if line["is_pc"]]
    require(len(at) == 1, "the instruction is not known")
    if instruction:
        require(instruction in at[0]["text"], at[0]["text"])
    if source:
        lines = (HERE / KERNELS).read_text().splitlines()
        require(at[0]["file"].endswith(KERNELS) and source in lines[at[0]["line"] - 1],
                f"line {at[0]['line']} of {at[0]['file']} is not {source!r}")
        require(source in at[0]["source"], "the source's text is not shown")
    same = check_disassembly(told, check_code_objects(told, build, python))
    return f"{same} instructions as llvm-objdump's" + ("" if name == "spin" else f", report after {seconds:.2f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    rows = [(name, python) for name in TABLE for python in (False, True)
            if re.search(arguments.only, f"{name} {'Python' if python else 'C++'}")]
    failed = 0

    def one(row):
        with tempfile.TemporaryDirectory() as folder:
            try:
                return True, check(build, *row, pathlib.Path(folder))
            except (Failed, KeyError, IndexError, TypeError, json.JSONDecodeError, subprocess.SubprocessError) as error:
                return False, f"{type(error).__name__}: {error}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, python), (good, text) in zip(rows, pool.map(one, rows)):
            print(f"{'ok' if good else 'FAILED'}: {name}, {'Python' if python else 'C++'}: {text}", flush=True)
            failed += not good
    print(f"{len(rows)} rows, {failed} failed")
    return 1 if failed or not rows else 0


sys.exit(main())
