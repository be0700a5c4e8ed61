#!/usr/bin/python3
"""Writes a small trace as PyTorch does: make_json.py FILE [--base NS] [--rank N] [--cut].

3 GPU operations, of which one was launched before the recording, 5 calls, 1 counter value."""
import argparse
import gzip
import json


def complete(category, name, ts, dur, pid=7, tid=7, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def trace(base, rank):
    events = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python3"}},
        complete("user_annotation", "step", 0.5, 50),
        complete("cpu_op", "aten::mm", 1, 5, **{"Input Dims": [[4, 4], [4, 4]]}),
        complete("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=1, cbid=211),
        complete("cuda_runtime", "cudaMemcpyAsync", 4, 1, correlation=2, cbid=41),
        {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 50, "s": "g"},
        {"ph": "C", "name": "memory", "pid": 7, "ts": 3, "args": {"memory": 12}},
        complete("kernel", "gemm", 10, 6, 0, 7, device=0, stream=7, correlation=1,
                 grid=[4, 1, 1], block=[64, 1, 1]),
        complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 20, 2, 0, 7, device=0, stream=7,
                 correlation=2, bytes=4096),
        complete("kernel", "lost", 8, 1, 0, 7, device=0, stream=7, correlation=99),
    ]
    document = {"schemaVersion": 1, "cupti_version": 18,
                "deviceProperties": [{"id": 0, "name": "Test GPU", "totalGlobalMem": 1 << 30}]}
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank}
    document["traceEvents"] = events
    if base is not None:
        document["baseTimeNanoseconds"] = base
    return document


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--base", type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--cut", action="store_true", help="leave out the end of the last event")
    options = parser.parse_args()
    text = json.dumps(trace(options.base, options.rank), indent=1)
    if options.cut:
        text = text[:text.rindex('"correlation"')]
    opened = gzip.open if options.file.endswith(".gz") else open
    with opened(options.file, "wt") as file:
        file.write(text)


if __name__ == "__main__":
    main()
