#!/usr/bin/python3
"""A machine of files for the metrics: `make DIR` writes DIR/proc and DIR/sys, `drive DIR` changes
them for a while, as a kernel would, and prints what a reader must have seen, by its own reading of
the same files.

Counters grow only in the middle of the drive, so the sum of all rates over their times is what they
grew by, whenever they were read.
"""

import json
import os
import struct
import sys
import time
from pathlib import Path

STEPS, STEP_S, REST_S = 8, 0.05, 0.6
CARDS = {"0000:c1:00.0": 1, "0000:03:00.0": 0}  # address: number of the card


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    # In place and in one piece, as the kernel's files change.
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(fd, data, 0)
    os.close(fd)


def number(path, value):
    put(path, f"{value:<20}\n")


def counters(root, step):
    """The files whose counters have grown `step` times."""
    busy = 1000 + 30 * step
    put(root / "proc/stat", f"cpu  {busy:>8} 0 0 {2000 + 10 * step:>8} 0 0 0 0 0 0\n"
        f"cpu0 {busy:>8} 0 0 {1000:>8} 0 0 0 0 0 0\ncpu1 {0:>8} 0 0 {1000 + 10 * step:>8} 0 0 0 0 0 0\n"
        "intr 12\n")
    put(root / "proc/diskstats", f"   8       0 sda 1 0 {16 * step:>9} 0 1 0 {4096 * step:>9} 0 0 {3 * step:>6} 0\n"
        f"   8       1 sda1 1 0 {999 * step:>9} 0 0 0 0 0 0 0 0\n   7       0 loop0 1 0 {step:>9} 0 0 0 0 0 0 0 0\n")
    put(root / "proc/net/dev", "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n"
        f"    lo: {7 * step:>9} 1 0 0 0 0 0 0 {7 * step:>9} 1 0 0 0 0 0 0\n"
        f"  ib0: {5000 * step:>9} 1 0 0 0 0 0 0 {100 * step:>9} 1 0 0 0 0 0 0\n")
    for what in ("cpu", "io", "memory"):
        put(root / f"proc/pressure/{what}", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={100 * step:<9}\n"
            f"full avg10=0.00 avg60=0.00 avg300=0.00 total={50 * step:<9}\n")
    range_uj = 1_000_000
    number(root / "sys/class/powercap/intel-rapl:0/energy_uj", (900_000 + 40_000 * step) % range_uj)


def gpu_table(card):
    """gpu_metrics 1.3 of a card."""
    none = 0xFFFF
    head = struct.pack("<HBB", 120, 1, 3)
    body = struct.pack("<6H4H", 40 + card, 50 + card, 60 + card, none, none, none, 90 + card, 30, none, 250 + card)
    body += struct.pack("<QQ", 0, 0) + struct.pack("<7H", *[none] * 7)
    body += struct.pack("<7H", 1700 + card, none, 1600, none, none, none, none)
    body += struct.pack("<I4H", 4 * card, none, none, none, 0)
    return (head + body).ljust(120, b"\xff")


def make(root):
    put(root / "proc/meminfo", "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:   6000 kB\n"
        "SwapTotal:       500 kB\nSwapFree:        400 kB\n")
    counters(root, 0)
    (root / "sys/block/sda/slaves").mkdir(parents=True)
    (root / "sys/block/loop0").mkdir(parents=True)
    for core in range(2):
        number(root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", 2_000_000 + 500_000 * core)
    number(root / "sys/class/powercap/intel-rapl:0/max_energy_range_uj", 1_000_000)
    put(root / "sys/class/powercap/intel-rapl:0/name", "package-0\n")
    for address, card in CARDS.items():
        device = root / "sys/devices/pci0000:00" / address
        put(device / "vendor", "0x1002\n")
        number(device / "mem_info_vram_used", (3 + card) << 30)
        number(device / "gpu_busy_percent", 1)  # the table tells it better
        put(device / "gpu_metrics", gpu_table(card))
        folder = root / f"sys/class/drm/card{card}"
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(device)
        (root / f"sys/class/drm/card{card}-DP-1").mkdir()
    # A card without a table, of another vendor's bus neighbour.
    plain = root / "sys/devices/pci0000:00/0000:e1:00.0"
    put(plain / "vendor", "0x1002\n")
    number(plain / "gpu_busy_percent", 12)
    number(plain / "hwmon/hwmon3/power1_input", 45_500_000)
    number(plain / "hwmon/hwmon3/temp1_input", 33_000)
    put(plain / "hwmon/hwmon3/temp1_label", "junction\n")
    number(plain / "hwmon/hwmon3/freq1_input", 1_200_000_000)
    (root / "sys/class/drm/card2").mkdir()
    (root / "sys/class/drm/card2/device").symlink_to(plain)
    # The runtimes count the GPUs in the order of the nodes.
    for node, (domain, location) in enumerate([(0, 0), (0, 0xC1 << 8), (0, 0x03 << 8)]):
        put(root / f"sys/class/kfd/kfd/topology/nodes/{node}/properties",
            f"cpu_cores_count 4\nlocation_id {location}\ndomain {domain}\n")


def facts(root):
    """What a reader must find, read from the files once more."""
    def line(path, key):
        for text in (root / path).read_text().splitlines():
            if text.split()[0].rstrip(":") == key:
                return text.split()
        raise KeyError(key)

    def kib(key):
        return 1024 * int(line("proc/meminfo", key)[1])

    def grown(words, at, scale=1):
        return scale * int(words[at])

    disk = next(t.split() for t in (root / "proc/diskstats").read_text().splitlines() if " sda " in t)
    net = next(t.split() for t in (root / "proc/net/dev").read_text().splitlines() if "ib0:" in t)
    stat = line("proc/stat", "cpu")
    found = {
        "mem_used": kib("MemTotal") - kib("MemAvailable"),
        "swap_used": kib("SwapTotal") - kib("SwapFree"),
        "disk_read": grown(disk, 5, 512), "disk_written": grown(disk, 9, 512),
        "received": grown(net, 1), "sent": grown(net, 9),
        "waited_us": int((root / "proc/pressure/io").read_text().split("total=")[1].split()[0]),
        "busy_share": (int(stat[1]) - 1000) / (int(stat[1]) - 1000 + int(stat[4]) - 2000),
        "joules": 40_000 * STEPS / 1e6,
    }
    for index, address in enumerate(["0000:c1:00.0", "0000:03:00.0"]):  # order of the nodes
        table = (root / "sys/devices/pci0000:00" / address / "gpu_metrics").read_bytes()
        edge, junction, memory = struct.unpack_from("<3H", table, 4)
        busy, memory_busy = struct.unpack_from("<2H", table, 16)
        found[f"gpu{index}"] = "|".join(str(v) for v in (
            busy, memory_busy, edge, junction, memory, struct.unpack_from("<H", table, 22)[0],
            struct.unpack_from("<H", table, 54)[0], struct.unpack_from("<I", table, 68)[0]))
    return found


def drive(root):
    time.sleep(REST_S)
    for step in range(1, STEPS + 1):
        counters(root, step)
        time.sleep(STEP_S)
    time.sleep(REST_S)
    print(json.dumps(facts(root)))


if __name__ == "__main__":
    {"make": make, "drive": drive}[sys.argv[1]](Path(sys.argv[2]))
