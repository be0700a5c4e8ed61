"""Small traces, written down event by event in the form of PyTorch's profiler.

    trace = Trace(rank=0)
    trace.kernel("gemm", at=20, lasts=100, launched=10)
    trace.range("step", 0, 200)
    trace.write(path)

Every time is in microseconds; every operation gets a correlation number and a launching call of its own
unless it is told `launched=None` (launched before the recording). Each method returns the event that it
added, so that a case can change it: `trace.kernel(...)["args"]["grid"] = [1, 1, 1]`."""
import gzip
import json

COPIES = {"h2d": "Memcpy HtoD (Pinned -> Device)", "d2h": "Memcpy DtoH (Device -> Pinned)",
          "d2d": "Memcpy DtoD (Device -> Device)", "p2p": "Memcpy PtoP (Device -> Device)",
          "pageable": "Memcpy HtoD (Pageable -> Device)",
          "to_pageable": "Memcpy DtoH (Device -> Pageable)"}
COLLECTIVES = {"allreduce": "AllReduce_Sum_f32_RING_LL", "allgather": "AllGather_RING_LL",
               "reducescatter": "ReduceScatter_Sum_f32_RING_LL", "broadcast": "Broadcast_RING_LL",
               "reduce": "Reduce_Sum_f32_RING_LL", "send": "SendRecv", "recv": "SendRecv",
               "sendrecv": "SendRecv", "all_to_allv": "SendRecv"}


class Trace:
    suffix = ".json"

    def __init__(self, rank=None, world=None, process=7, base_ns=1_700_000_000_000_000_000):
        self.events = []
        self.process = process
        self.correlation = 0
        self.document = {"schemaVersion": 1, "baseTimeNanoseconds": base_ns,
                         "deviceProperties": [{"id": 0, "name": "Test GPU", "totalGlobalMem": 1 << 34}]}
        if rank is not None:
            self.document["distributedInfo"] = {"backend": "nccl", "rank": rank,
                                                "world_size": world or rank + 1}

    def event(self, category, name, at, lasts, process=None, thread=None, **args):
        """Any complete event; the rest of this class is made of it."""
        process = self.process if process is None else process
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": process,
                            "tid": process if thread is None else thread, "ts": at, "dur": lasts,
                            "args": args})
        return self.events[-1]

    # What the host does.

    def call(self, name, at, lasts, correlation=None, **place):
        """A call of CUDA's or HIP's runtime: cudaDeviceSynchronize, hipMalloc."""
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        return self.event("cuda_runtime", name, at, lasts, correlation=correlation, **place)

    def range(self, name, at, lasts, **place):
        """A range that the program marked itself (record_function)."""
        return self.event("user_annotation", name, at, lasts, **place)

    def step(self, number, at, lasts, **place):
        return self.range(f"ProfilerStep#{number}", at, lasts, **place)

    def operator(self, name, at, lasts, process=None, thread=None, **args):
        return self.event("cpu_op", name, at, lasts, process, thread, **args)

    def python(self, name, at, lasts, **place):
        """A frame of Python: "train.py(12): step"."""
        return self.event("python_function", name, at, lasts, **place)

    # What the device does. `launched`: when the host's call begins.

    def kernel(self, name, at, lasts, launched="just before", by="cudaLaunchKernel", call_lasts=1,
               device=0, stream=7, category="kernel", thread=None, **args):
        self.correlation += 1
        correlation = self.correlation
        if launched == "just before":
            launched = at - call_lasts - 1
        if launched is not None:
            self.call(by, launched, call_lasts, correlation, thread=thread)
        return self.event(category, name, at, lasts, process=device, thread=stream, device=device,
                          stream=stream, correlation=correlation, **args)

    def copy(self, kind, at, lasts, size, launched="just before", by="cudaMemcpyAsync", **place):
        """`kind`: a key of COPIES."""
        return self.kernel(COPIES[kind], at, lasts, launched, by, category="gpu_memcpy", bytes=size,
                           **place)

    def memset(self, at, lasts, size, launched="just before", **place):
        return self.kernel("Memset (Device)", at, lasts, launched, "cudaMemsetAsync",
                           category="gpu_memset", bytes=size, **place)

    def collective(self, kind, at, lasts, ranks, elements=1 << 20, group="0", launched="just before",
                   stream=20, number=None, **place):
        """A kernel of NCCL (`kind`: a key of COLLECTIVES) among `ranks`, as the profiler describes it,
        also in the operator that launches it; `number` is the group's own count."""
        said = {"Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements,
                "Group size": len(ranks), "dtype": "Float", "Process Group Name": group,
                "Process Group Ranks": str(list(ranks))}
        if number is not None:
            said["Seq"] = number
        if launched == "just before":
            launched = at - 3
        if launched is not None:
            self.operator("record_param_comms", launched - 1, 4, thread=place.get("thread"), **said)
        return self.kernel(f"ncclDevKernel_{COLLECTIVES[kind]}(ncclDevKernelArgsStorage<4096ul>)", at,
                           lasts, launched, "cudaLaunchKernelExC", stream=stream, **place, **said)

    def write(self, path):
        path = str(path)
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "wt") as file:
            json.dump({**self.document, "traceEvents": self.events}, file)
        return path
