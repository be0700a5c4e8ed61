#!/usr/bin/python3
"""A machine of files to watch, whose every figure is known: `make DIR` writes DIR/sys and DIR/proc.

GPU 0 and 1 are the dies of one card, 0 has its sensor; 100 % busy at a quarter of the limit.
GPU 2 is asleep. GPU 3 is hot, full, and has uncorrected errors. Process 100 of a Slurm job holds 0,
3 and 4 of which 4 is idle; process 200 is gone from /proc and still has memory on 3."""
import sys
from pathlib import Path

GIB = 1 << 30
CARDS = [  # address, KFD's number, busy, VRAM used and total, power and cap in W, junction
    ("0000:c1:00.0", 1001, 100, 10 * GIB, 64 * GIB, 140, 560, 50),
    ("0000:c6:00.0", 1002, 99, 11 * GIB, 64 * GIB, 0, 0, 49),
    ("0000:c9:00.0", 1003, 77, 12 * GIB, 64 * GIB, 90, 560, 40),
    ("0000:ca:00.0", 1004, 95, 63 * GIB, 64 * GIB, 500, 560, 107),
    ("0000:cb:00.0", 1005, 0, 5 * GIB, 64 * GIB, 90, 560, 38),
]


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{value}\n")


def make(root):
    for number, (address, kfd, busy, used, total, power, cap, junction) in enumerate(CARDS):
        device = root / "sys/devices/pci0000:00" / address
        for name, value in (("vendor", "0x1002"), ("device", "0x740c" if number < 2 else "0x740f"),
                            ("product_name", "Test GPU"), ("gpu_busy_percent", busy), ("mem_busy_percent", busy // 2),
                            ("mem_info_vram_used", used), ("mem_info_vram_total", total),
                            ("power/runtime_status", "suspended" if number == 2 else "active"),
                            ("pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *"), ("pp_dpm_mclk", "0: 1600Mhz *"),
                            ("current_compute_partition", "SPX"), ("current_memory_partition", "NPS1"),
                            ("ras/umc_err_count", f"ue: {2 if number == 3 else 0}\nce: 7"),
                            ("ras/gfx_err_count", "ue: 0\nce: 1")):
            put(device / name, value)
        for name, value in (("power1_average", power * 1000000), ("power1_cap", cap * 1000000),
                            ("temp2_label", "junction"), ("temp2_input", junction * 1000), ("temp2_crit", 110000),
                            ("pwm1", 51), ("pwm1_max", 255)):
            put(device / "hwmon/hwmon7" / name, value)
        card = root / f"sys/class/drm/card{number}"
        card.mkdir(parents=True)
        (card / "device").symlink_to(Path("../../../devices/pci0000:00") / address)
        node = root / f"sys/class/kfd/kfd/topology/nodes/{number + 1}"
        put(node / "gpu_id", kfd)
        put(node / "properties", f"simd_count 440\nsimd_per_cu 4\ngfx_target_version 90010\ndomain 0\n"
            f"location_id {int(address[5:7], 16) << 8}")
    for pid, of in ((100, {1001: 9 * GIB, 1004: 50 * GIB, 1005: 4 * GIB, 1002: 0}), (200, {1004: 2 * GIB})):
        folder = root / f"sys/class/kfd/kfd/proc/{pid}"
        for kfd, used in of.items():
            put(folder / f"vram_{kfd}", used)
            put(folder / f"sdma_{kfd}", 1000)
            put(folder / f"stats_{kfd}/cu_occupancy", 33 if used else 0)
        put(folder / "queues/0/gpuid", 1001)
    folder = root / "proc/100"
    put(folder / "stat", "100 (train (x) y) S 1 " + " ".join(["0"] * 17) + " 5 0 250 0")
    put(folder / "status", "Name:\ttrain\nUid:\t0\t0\t0\t0")
    put(folder / "cgroup", "0::/system.slice/slurmstepd.scope/job_4711/step_2/user/task_0")
    (folder / "cmdline").write_bytes(b"python3\0train me.py\0--rate\x1b[31m\0")
    (folder / "environ").write_bytes(b"A=b\0SLURM_PROCID=6\0")
    put(root / "proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\nSwapTotal: 500 kB\nSwapFree: 400 kB")
    put(root / "proc/loadavg", "1.25 1.0 0.5 1/100 5")


if __name__ == "__main__":
    make(Path(sys.argv[2]))
