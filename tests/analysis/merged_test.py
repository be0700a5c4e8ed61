#!/usr/bin/python3
"""Every analysis of one rank of a merged file equals that of the rank's own file, and what has no ranks
adds up: on generated traces of two ranks that share process numbers, GPUs, streams, names and
correlation numbers.

    merged_test.py --sonde PATH"""
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from direct import analyses  # noqa: E402
from tool_case import ToolCase, main  # noqa: E402

SEEDS = (1, 2, 3)
RANGE = {"gpu_id": 1_000, "pid": 10_000_000}  # what the second file's numbers are moved by
KERNELS = ("gemm", "add", "softmax", "ncclDevKernel_AllReduce_Sum_f32", "Memcpy HtoD (Pageable -> Device)")


def generate(rank, seed):
    chance = random.Random(seed * 10 + rank)
    events, correlation = [], 0

    def add(category, name, start, length, pid, tid, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
                       "dur": length, "args": arguments})

    add("user_annotation", "ProfilerStep#1", 0, 5000, 77, 1)
    add("user_annotation", "ProfilerStep#2", 5000, 5000, 77, 1)
    free = {7: 0, 20: 0}
    for i in range(90):
        start = 100 * i + chance.randrange(20)
        add("cpu_op", f"aten::op{chance.randrange(4)}", start, 80, 77, 1, **{"Input Dims": [[2, 3]]})
        if chance.random() < 0.3:
            add("python_function", f"train.py({chance.randrange(3)}): step", start - 1, 85, 77, 1)
        for _ in range(chance.choice((1, 1, 2))):
            correlation += 1
            call = start + 2 + chance.randrange(30)
            name = chance.choice(KERNELS)
            copies = name.startswith("Memcpy")
            add("cuda_runtime", "cudaMemcpyAsync" if copies else "cudaLaunchKernel", call, 5, 77, 1,
                correlation=correlation)
            stream = chance.choice((7, 20))
            begin = max(free[stream], call + 3 + chance.randrange(50))
            length = chance.randrange(1, 90)
            free[stream] = begin + length + 1
            extra = {"bytes": 4096} if copies else {"grid": [8, 1, 1], "block": [64, 1, 1]}
            add("gpu_memcpy" if copies else "kernel", name, begin, length, 0, stream, device=0,
                stream=stream, correlation=correlation if chance.random() < 0.9 else 0, **extra)
        if chance.random() < 0.2:
            correlation += 1
            add("cuda_runtime", "cudaStreamSynchronize", start + 85, 9, 77, 1, correlation=correlation)
        if chance.random() < 0.3:
            events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 77,
                           "tid": 1, "ts": start + 3, "s": "t",
                           "args": {"Device Type": 1, "Device Id": 0, "Addr": i,
                                    "Bytes": 512 * (1 + rank), "Total Allocated": 512 * i,
                                    "Total Reserved": 1 << 20}})
    return {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
            "distributedInfo": {"rank": rank, "world_size": 2, "backend": "nccl"},
            "deviceProperties": [], "traceEvents": events}


class Merged(ToolCase):
    def ask(self, name, path, *words):
        answer = super().ask(name, path, *words)
        for key in ("file", "warnings", "notes"):
            answer.pop(key, None)
        return answer

    def begin(self, path):
        return self.ask("info", path)["info"]["start_ns"]

    def moved_back(self, answer, rank, late_ns=0):
        """late_ns: how much earlier the first event of all ranks is, from which moments count."""
        for rows in answer.values():
            for row in rows if isinstance(rows, list) else [rows]:
                if not isinstance(row, dict):
                    continue
                for key in ("at_ns", "from_ns", "start_ns"):
                    if isinstance(row.get(key), int) and "below_ns" not in row:
                        row[key] -= late_ns
                row.pop("file", None)
                for key, size in RANGE.items():
                    if isinstance(row.get(key), int):
                        row[key] -= rank * size
        return answer

    def equal(self, what, is_, should):
        with self.subTest(what):
            self.assertEqual(is_, should)

    def test_each_rank_and_all_together(self):
        for seed in SEEDS:
            self.check_pair(seed)

    def check_pair(self, seed):
        files = []
        for rank in (0, 1):
            path = self.folder / f"rank{rank}_{seed}.json"
            path.write_text(json.dumps(generate(rank, seed)))
            files.append(path)
        job = self.folder / f"job_{seed}.rpd"
        self.run_sonde("merge", *files, "-o", job)
        begins = [self.begin(path) for path in files]
        self.check_memory(seed, files, job)
        for name in analyses(self.sonde):
            if name in ("api", "memory"):  # these know calls, and no ranks of them
                self.check_sums(name, seed, files, job)
                continue
            for rank in (0, 1):
                alone = self.moved_back(self.ask(name, files[rank], "--rank", rank), 0)
                merged = self.moved_back(self.ask(name, job, "--rank", rank), rank, begins[rank] - min(begins))
                self.equal(f"seed {seed}, rank {rank}: {name}", merged, alone)
        for name in ("ranks", "collectives"):
            together = self.ask(name, files[0], files[1])
            merged = self.ask(name, job)
            for row in together["ranks"] if name == "ranks" else ():
                row["gpu_id"] += row["rank"] * RANGE["gpu_id"]
            self.equal(f"seed {seed}: {name}", self.moved_back(merged, 0),
                       self.moved_back(together, 0))

    def check_memory(self, seed, files, job):
        """Each rank's devices have the figures that they have alone."""
        merged = {row.pop("device"): row for row in self.ask("memory", job)["memory"]}
        for rank in (0, 1):
            alone = self.ask("memory", files[rank])["memory"][0]
            mine = merged[f"{alone.pop('device')} of rank {rank}"]
            mine.pop("peak_at_ns")  # counts from the first event of all
            alone.pop("peak_at_ns")
            self.equal(f"seed {seed}: memory of rank {rank}", mine, alone)

    def check_sums(self, name, seed, files, job):
        def totals(paths):
            sums = {}
            for path in paths:
                for row in self.ask(name, path)[name]:
                    for key, value in row.items():
                        if key in ("calls", "total_ns", "allocated_bytes", "freed_bytes"):
                            key = f"{row.get('name', '')} {key}"
                            sums[key] = sums.get(key, 0) + value
            return sums
        self.equal(f"seed {seed}: {name}", totals([job]), totals(files))


if __name__ == "__main__":
    main()
