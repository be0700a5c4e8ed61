#!/usr/bin/python3
"""Records HIP programs on the software GPU and holds the .rpd against what others say of the run.

    oracle_test.py --build BUILD [--gpu GPU] [--config FILE] [--calls] [--hsa] PROGRAM
                   [ARGUMENT...] [+ PROGRAM [ARGUMENT...]]...

Programs with "+" between them run at the same time, as children of one shell.

Against the GPU's own log (softgpu/device/LOG.md): of each process the same kernels with the same
grids and work groups, the same copies with the same bytes, the kernels of each queue in the same
order, all at the same times. Times differ by the conversion of clocks; 99 of 100 must be within
5 us. A copy may begin earlier than in the log, not later: for ROCr it begins with the time stamp in
front of its waits, for the log after them. HIP's fills are kernels.

With --calls against HIP's own log of calls (AMD_LOG_LEVEL): each is in rocpd_api once.

With --hsa of a program of HSA alone, whose kernels belong to no call, against how often it says to
have called what.

Last it prints the trace's figures, which ./dev matrix compares between releases of Debian."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402

MOST_NS = 5_000
LIMIT_SECONDS = 500  # less than ctest's, which would end this process alone and say nothing
# What the compiler makes of <<<...>>> is not the program's (docs/backends/hip.md).
NO_CALLS = ("__hipPushCallConfiguration", "__hipPopCallConfiguration")


def log_of(path):
    """Kernels and copies: lists of (pid, gpu, queue, key, start, end)."""
    kernels, copies = [], []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if line["line"] != "op":
            continue
        where = line["pid"], line["gpu"], line["queue"]
        times = line["start_ns"], line["end_ns"]
        if line["engine"] == "aql" and line["kind"] == "kernel":
            if line.get("name"):  # ROCr's own have no name, and serve copies that it times itself
                kernels.append((*where, (line["name"], *line["grid"], *line["group"]), *times))
        elif line["kind"] in ("copy", "copy_rect"):
            copies.append((*where, (line["bytes"],), *times))
    return kernels, copies


def trace_of(database):
    """The same of the trace."""
    rows = database.execute(
        "SELECT p.pid, o.gpuId, o.queueId, n.string, t.string, o.start, o.end, d.bytes, d.grid_x,"
        " d.grid_y, d.grid_z, d.group_x, d.group_y, d.group_z FROM rocpd_op o"
        " JOIN rocpd_string n ON n.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id"
        " LEFT JOIN sonde_op_detail d ON d.op_id = o.id"
        " LEFT JOIN sonde_process p ON p.id = d.process_id").fetchall()
    kernels, copies = [], []
    for pid, gpu, queue, name, kind, start, end, size, *axes in rows:
        if kind.startswith("Copy"):
            copies.append((pid, gpu, queue, (size,), start, end))
        elif name:
            key = (name, *(axis or 1 for axis in axes))
            kernels.append((pid, gpu, queue, key, start, end))
    return kernels, copies


def compare(what, log, trace, check_start):
    """Problems, and how far the times are apart. Equal ops are paired in the order of their ends."""
    sides = [defaultdict(list), defaultdict(list)]
    for side, rows in zip(sides, (log, trace)):
        for pid, gpu, _, key, start, end in rows:
            side[pid, gpu, key].append((end, start))
    problems, apart = [], []
    for key in {*sides[0], *sides[1]}:
        mine, theirs = sides[0].get(key, []), sides[1].get(key, [])
        if len(mine) != len(theirs):
            problems.append(f"{what}: the log has {len(mine)}, the trace {len(theirs)} of {key}")
        for (end, start), (traced_end, traced_start) in zip(sorted(mine), sorted(theirs)):
            apart.append(abs(end - traced_end))
            later = traced_start - start
            apart.append(abs(later) if check_start else max(later, 0))
    return problems, apart


def queue_orders(kernels):
    """How often each sequence of kernels occurs on a queue of a GPU of a process. Queues are called
    differently in the two, so they are known by what ran on them."""
    queues = defaultdict(list)
    for pid, gpu, queue, key, start, end in kernels:
        queues[pid, gpu, queue].append((start, end, key))
    return Counter((pid, gpu, tuple(key for _, _, key in sorted(ran)))
                   for (pid, gpu, _), ran in queues.items())


def calls_of_log(text):
    """The program's calls by HIP's log: a line when each begins and one when it ends, but none for
    the start of the first call, and none for the end of some functions. Calls that HIP makes from
    within another are its own; hiprtc... is another interface."""
    # "us: 12 : [tid:0x1] hipMalloc ( ...", later "us: [pid:12 tid:0x1]", in green or not.
    lines = re.findall(r"((?:\d+ *: )?\[(?:pid:\d+ +)?tid: *\w+\]) *(?:\x1b\[\d+m *)?"
                       r"(_*hip[A-Z]\w+)(?: (\()|: Returned hip)", text)
    ended = {name for _, name, begins in lines if not begins}
    calls, inside = Counter(), {}
    for thread, name, begins in lines:
        if begins and inside.get(thread) is None:
            calls[name] += 1
            inside[thread] = name if name in ended else None
        elif not begins and inside.get(thread) == name:
            inside[thread] = None
        elif not begins and inside.get(thread) is None:
            calls[name] += 1
    return Counter({name: count for name, count in calls.items() if name not in NO_CALLS})


def check_calls(database, domain, expected):
    found = Counter(dict(database.execute(
        "SELECT n.string, count(*) FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id"
        " JOIN rocpd_string d ON d.id = a.domain_id WHERE d.string = ? GROUP BY 1", (domain,))))
    print(f"{sum(found.values())} calls of {len(found)} functions")
    if not expected:
        return [f"no call of {domain} has been logged"]
    return [f"calls: {expected[name]} were made, the trace has {found[name]} of {name}"
            for name in {*expected, *found} if expected[name] != found[name]]


def calls_of_output(output):
    """What a program has counted itself."""
    calls = Counter()
    for line in output.splitlines():
        calls.update(json.loads(line))
    return calls


def figures(database):
    """What is the same with every version of HIP and ROCr: addresses and times are not, nor are the names that
    HIP 6 gave to what HIP 5 called without R0600."""
    def steady(arguments):
        return re.sub(r"\bms = [0-9.e+-]+", "ms = time", re.sub("0x[0-9a-f]+", "address", arguments or ""))

    count = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
             for name in ("rocpd_op", "rocpd_api_ops")}
    calls = sorted(f"{name.removesuffix('R0600')} {steady(arguments)}"
                   for name, arguments in database.execute(
                       "SELECT apiName, args FROM api WHERE domain IN ('hip', 'hsa')"))
    digest = hashlib.sha256("\n".join(calls).encode()).hexdigest()[:8]
    return (f"{count['rocpd_op']} ops, {len(calls)} calls, {count['rocpd_api_ops']} links, arguments {digest}")


def check_views(database, kernels, copies, hsa):
    """sonde_kernel and sonde_copy show every op; every op belongs to a call."""
    problems = []
    for view, ops in (("sonde_kernel", kernels), ("sonde_copy", copies)):
        shown = database.execute(f"SELECT count(*) FROM {view}").fetchone()[0]
        if shown != len(ops):
            problems.append(f"{view} has {shown} rows for {len(ops)} ops")
    alone = database.execute("SELECT count(*) FROM rocpd_op WHERE id NOT IN"
                             " (SELECT op_id FROM rocpd_api_ops)").fetchone()[0]
    if alone != (len(kernels) if hsa else 0):
        problems.append(f"{alone} ops belong to no call")
    if drops := database.execute("SELECT source, reason, count FROM sonde_drop").fetchall():
        problems.append(f"dropped: {drops}")
    return problems


def run(command):
    """What it wrote and its status. If it hangs, says where, and leaves nothing of it behind."""
    processes.become_reaper()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace") as started:
        try:
            output, errors = started.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            where = processes.where_below(os.getpid())
            processes.end_below(os.getpid())
            sys.exit("\n".join([f"the programs have not ended after {LIMIT_SECONDS} s", *where]))
    return subprocess.CompletedProcess(command, started.returncode, output, errors)


def record(options, folder):
    """Runs the programs; the trace, the GPU's log, and what the programs wrote."""
    trace, log = pathlib.Path(folder, "t.rpd"), pathlib.Path(folder, "log")
    programs = shlex.join(options.program).split(" + ")
    script = "".join(f'{program} & all="$all $!"\n' for program in programs)
    script += "status=0; for one in $all; do wait $one || status=1; done; exit $status"
    configured = ["--config", options.config] if options.config else ["--gpu", options.gpu]
    # Level 4 because from HIP 6 on threads are named only there.
    logging = ["env", "AMD_LOG_LEVEL=4", "AMD_LOG_MASK=1"] if options.calls else []
    done = run(
        [options.build / "bin/sonde", "record", "-q", "-o", trace, "--",
         options.build / "bin/softgpu", *configured, "--log", log, "--", *logging, "/bin/sh", "-c",
         script])
    if done.returncode:
        sys.exit(f"the programs failed ({done.returncode})\n{done.stderr[-2000:]}")
    return trace, log, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--gpu", default="gfx90a")
    parser.add_argument("--config")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--hsa", action="store_true")
    parser.add_argument("--timed", action="store_true", help="the program does what it has time for")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-oracle-") as folder:
        trace, log, done = record(options, folder)
        log_kernels, log_copies = log_of(log)
        database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        kernels, copies = trace_of(database)
        problems = check_views(database, kernels, copies, options.hsa)
        if options.calls:
            problems += check_calls(database, "hip", calls_of_log(done.stderr))
        if options.hsa:
            problems += check_calls(database, "hsa", calls_of_output(done.stdout))
        if not options.timed:
            print(f"figures: {figures(database)}")
        database.close()
    more, apart = compare("kernels", log_kernels, kernels, True)
    problems += more
    more, ends = compare("copies", log_copies, copies, False)
    problems += more
    if queue_orders(log_kernels) != queue_orders(kernels):
        problems.append("the kernels of a queue are in another order")
    apart = sorted(apart + ends)
    if not apart:
        problems.append("nothing to compare")
    else:
        late = apart[min(len(apart) - 1, len(apart) * 99 // 100)]
        processes = len({row[0] for row in log_kernels + log_copies})
        print(f"{processes} processes, {len(kernels)} kernels, {len(copies)} copies; times apart: "
              f"median {apart[len(apart) // 2]} ns, p99 {late} ns, most {apart[-1]} ns")
        if late > MOST_NS:
            problems.append(f"p99 of the times is {late} ns apart, more than {MOST_NS}")
    print("\n".join(problems[:20]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
