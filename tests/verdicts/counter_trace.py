"""Traces with hardware counters of kernels, in the form of rocprofv3's JSON.

    trace = CounterTrace()
    trace.kernel("stream", lasts=100, read=80 << 20, written=80 << 20)

Kernels of an MI210 (104 CUs of 4 SIMDs, 1.7 GHz, 1638 GB/s) run one after the other; times are in microseconds.
The counters follow from what a kernel is said to do (tests/metrics/make_workload.py)."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "metrics"))
import make_workload  # noqa: E402

CUS, MHZ = make_workload.CUS, make_workload.SCLK_MHZ
PEAK_BYTES_PER_US = make_workload.MCLK_MHZ * 32 * 32


class CounterTrace:
    suffix = ".json"

    def __init__(self, product="AMD Instinct MI210"):
        self.product = product
        self.at = 1_000_000
        self.rows = []

    def kernel(self, name, lasts, waves=16384, read=0, written=0, hits=0.5, fmas=0, gap=0, **counters):
        """`counters` are added to, or replace, what follows from the others."""
        row = make_workload.kernel(name, len(self.rows), self.at, round(1000 * lasts), waves, round(read),
                                   round(written), round(fmas), 32, hit_share=hits)
        row.update(counters)
        self.at += round(1000 * (lasts + gap))
        self.rows.append(row)
        return row

    def write(self, path):
        names = sorted({row["Kernel_Name"] for row in self.rows})
        counters = sorted({name for row in self.rows for name in make_workload.counters_of(row)} |
                          {name for row in self.rows for name in row if name.startswith("TA_")})
        infos = [{"dispatch_id": i, "kernel_id": names.index(row["Kernel_Name"]) + 1, "agent_id": {"handle": 4},
                  "queue_id": {"handle": 1}, "grid_size": {"x": row["Grid_Size"], "y": 1, "z": 1},
                  "workgroup_size": {"x": 256, "y": 1, "z": 1}} for i, row in enumerate(self.rows)]
        process = {
            "metadata": {"pid": 7, "command": ["program"]},
            "agents": [{"id": {"handle": 4}, "type": 2, "product_name": self.product}],
            "counters": [{"id": {"handle": 100 + i}, "name": name} for i, name in enumerate(counters)],
            "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                           {"kind": "KERNEL_DISPATCH", "operations": ["x"]}]},
            "kernel_symbols": [{"kernel_id": i + 1, "kernel_name": name} for i, name in enumerate(names)],
            "callback_records": {"counter_collection": [
                {"dispatch_data": {"dispatch_info": info},
                 "records": [{"counter_id": {"handle": 100 + i}, "value": row[name]}
                             for i, name in enumerate(counters) if name in row]}
                for info, row in zip(infos, self.rows)]},
            "buffer_records": {"kernel_dispatch": [
                {"kind": 1, "operation": 0, "thread_id": 7, "correlation_id": {"internal": i + 1},
                 "start_timestamp": row["Start_Timestamp"], "end_timestamp": row["End_Timestamp"],
                 "dispatch_info": info} for i, (info, row) in enumerate(zip(infos, self.rows))]}}
        path = pathlib.Path(path)
        path.write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))
        return str(path)
