#!/usr/bin/python3
"""Writes a small folder of the form that rocprof-compute writes: make_workload.py FOLDER.

Two kernels of an MI210 with counts that follow from what they would do, so that every figure of
them is known: `stream` moves 64 MiB and computes next to nothing, `product` is a matrix product in
the registers. Their counters are computed here, and so are the figures that tests expect.
"""

import csv
import sys
from pathlib import Path

SCLK_MHZ, MCLK_MHZ, CUS, CHANNELS = 1700, 1600, 104, 32
SYSINFO = {
    "workload_name": "made", "gpu_model": "MI210", "gpu_arch": "gfx90a", "cu_per_gpu": CUS,
    "simd_per_cu": 4, "se_per_gpu": 8, "wave_size": 64, "max_waves_per_cu": 32,
    "max_sclk": SCLK_MHZ, "max_mclk": MCLK_MHZ, "cur_sclk": SCLK_MHZ, "cur_mclk": MCLK_MHZ,
    "total_l2_chan": CHANNELS, "lds_banks_per_cu": 32, "sqc_per_gpu": 56, "pipes_per_gpu": 4,
    "num_xcd": 1, "num_hbm_channels": 32,
}


def kernel(name, dispatch, start_ns, duration_ns, waves, bytes_read, bytes_written, fmas, vgprs,
           lds_bytes=0, conflicts=0, hit_share=0.0):
    """A row of pmc_perf.csv. Reads and writes are of 64 bytes; FMAs are of waves."""
    cycles = duration_ns * SCLK_MHZ // 1000
    reads, writes = bytes_read // 64, bytes_written // 64
    requests = reads + writes
    hits = int(requests * hit_share)
    row = {
        "Dispatch_ID": dispatch, "GPU_ID": 0, "Grid_Size": waves * 64, "Workgroup_Size": 256,
        "LDS_Per_Workgroup": lds_bytes, "Scratch_Per_Workitem": 0, "Arch_VGPR": vgprs,
        "Accum_VGPR": 0, "SGPR": 32, "Kernel_Name": name, "Start_Timestamp": start_ns,
        "End_Timestamp": start_ns + duration_ns,
        "GRBM_COUNT": cycles, "GRBM_GUI_ACTIVE": cycles, "GRBM_SPI_BUSY": cycles,
        "SQ_WAVES": waves, "SPI_CSN_WAVE": waves, "SQ_WAVE_CYCLES": waves * cycles // 8, "SQ_BUSY_CYCLES": cycles * 8,
        "SQ_BUSY_CU_CYCLES": cycles * CUS, "SQ_INSTS": fmas + 8 * waves,
        "SQ_INSTS_VALU": fmas + 4 * waves, "SQ_ACTIVE_INST_VALU": fmas + 4 * waves,
        "SQ_THREAD_CYCLES_VALU": 64 * (fmas + 4 * waves),
        "SQ_INSTS_VALU_FMA_F32": fmas, "SQ_LDS_BANK_CONFLICT": conflicts,
        "SQ_LDS_IDX_ACTIVE": 2 * conflicts,
        "TCP_TOTAL_CACHE_ACCESSES_sum": requests, "TCP_TCC_READ_REQ_sum": reads,
        "TCP_TCC_WRITE_REQ_sum": writes, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0, "TCC_REQ_sum": requests, "TCC_HIT_sum": hits,
        "TCC_MISS_sum": requests - hits, "TCC_EA_RDREQ_sum": reads, "TCC_EA_RDREQ_32B_sum": 0,
        "TCC_EA_WRREQ_sum": writes, "TCC_EA_WRREQ_64B_sum": writes,
        "TCC_EA_RDREQ_LEVEL_sum": reads * 900, "TCC_EA_WRREQ_LEVEL_sum": writes * 500,
    }
    for unit in ("ADD", "MUL", "TRANS", "FMA"):
        for width in ("F16", "F32", "F64"):
            row.setdefault(f"SQ_INSTS_VALU_{unit}_{width}", 0)
    for kind in ("F16", "BF16", "F32", "F64", "I8"):
        row[f"SQ_INSTS_VALU_MFMA_MOPS_{kind}"] = 0
    for channel in range(CHANNELS):
        row[f"TCC_HIT[{channel}]"] = hits // CHANNELS
        row[f"TCC_MISS[{channel}]"] = (requests - hits) // CHANNELS
        row[f"TCC_REQ[{channel}]"] = requests // CHANNELS
    return row


def rows():
    result = []
    for i in range(3):
        result.append(kernel("stream(float*, float*)", 2 * i, 10_000_000 + 200_000 * i, 60_000,
                             16384, 32 << 20, 32 << 20, 16384, 16))
        result.append(kernel("product(float const*, float*)", 2 * i + 1, 10_100_000 + 200_000 * i,
                             20_000, 4096, 1 << 20, 1 << 20, 1_900_000, 128, 16384, 40_000, 0.5))
    return result


def write_csv(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def counters_of(row):
    return {name: value for name, value in row.items()
            if name.startswith(("SQ_", "TCC_", "TCP_", "GRBM_", "SPI_")) and "[" not in name}


def make_rocprofv3(path):
    """The same dispatches as rocprofv3 writes their counters: a row for each."""
    table = []
    for row in rows():
        for name, value in counters_of(row).items():
            table.append({
                "Correlation_Id": row["Dispatch_ID"] + 1, "Dispatch_Id": row["Dispatch_ID"] + 1,
                "Agent_Id": 4, "Queue_Id": 1, "Process_Id": 7, "Thread_Id": 7,
                "Grid_Size": row["Grid_Size"], "Kernel_Id": 1, "Kernel_Name": row["Kernel_Name"],
                "Workgroup_Size": 256, "LDS_Block_Size": 0, "Scratch_Size": 0, "VGPR_Count": 16,
                "SGPR_Count": 32, "Counter_Name": name, "Counter_Value": value,
                "Start_Timestamp": row["Start_Timestamp"], "End_Timestamp": row["End_Timestamp"]})
    write_csv(path, table)


def make_rocprof(path):
    """The same dispatches as rocprof v1 writes them: a column for each counter."""
    table = []
    for i, row in enumerate(rows()):
        table.append({
            "Index": i, "KernelName": row["Kernel_Name"], "gpu-id": 0, "queue-id": 0,
            "queue-index": i, "pid": 7, "tid": 7, "grd": row["Grid_Size"], "wgr": 256, "lds": 0,
            "scr": 0, "arch_vgpr": 16, "accum_vgpr": 0, "sgpr": 32, "wave_size": 64, "sig": "0x0",
            "obj": "0x1", **counters_of(row), "DispatchNs": row["Start_Timestamp"] - 10,
            "BeginNs": row["Start_Timestamp"], "EndNs": row["End_Timestamp"],
            "CompleteNs": row["End_Timestamp"] + 10})
    write_csv(path, table)


def make(folder, table=None):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "sysinfo.csv", [SYSINFO])
    table = table or rows()
    write_csv(folder / "pmc_perf.csv", table)
    passes = [{"Dispatch_ID": row["Dispatch_ID"], "Kernel_Name": row["Kernel_Name"],
               "Start_Timestamp": row["Start_Timestamp"], "End_Timestamp": row["End_Timestamp"],
               "GRBM_GUI_ACTIVE": row["GRBM_GUI_ACTIVE"], "SQ_WAVES": row["SQ_WAVES"],
               "SQ_ACCUM_PREV_HIRES": row["GRBM_GUI_ACTIVE"] * 8 * CUS} for row in table]
    write_csv(folder / "SQ_LEVEL_WAVES.csv", passes)
    return table


if __name__ == "__main__":
    make(sys.argv[1])
