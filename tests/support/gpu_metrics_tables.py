#!/usr/bin/python3
"""An encoder of gpu_metrics in each of its versions, apart from the decoder's: every field stands
here at its own byte, and has a value of its own.

    gpu_metrics_tables.py make DIR       a tree DIR/sys with a card for each version
    gpu_metrics_tables.py check DIR      compares DIR/monitor.json (sonde monitor --all --json) with it
"""
import json
import struct
import sys
from pathlib import Path

# name: (offset, bytes of a number, how many). Where the numbers of a version end is its length.
DISCRETE_CLOCKS = ["average_gfxclk_frequency", "average_socclk_frequency", "average_uclk_frequency",
                   "average_vclk0_frequency", "average_dclk0_frequency", "average_vclk1_frequency",
                   "average_dclk1_frequency", "current_gfxclk", "current_socclk", "current_uclk",
                   "current_vclk0", "current_dclk0", "current_vclk1", "current_dclk1"]
TEMPERATURES = ["temperature_edge", "temperature_hotspot", "temperature_mem", "temperature_vrgfx",
                "temperature_vrsoc", "temperature_vrmem"]
ACTIVITY = ["average_gfx_activity", "average_umc_activity", "average_mm_activity", "average_socket_power"]
SOCKET = ["temperature_hotspot", "temperature_mem", "temperature_vrsoc", "curr_socket_power",
          "average_gfx_activity", "average_umc_activity"]
APU_CLOCKS = [f"{kind}_{name}" for kind, names in (
    ("average", ("gfxclk_frequency", "socclk_frequency", "uclk_frequency", "fclk_frequency",
                 "vclk_frequency", "dclk_frequency")),
    ("current", ("gfxclk", "socclk", "uclk", "fclk", "vclk", "dclk"))) for name in names]


def row(offset, size, names):
    return {name: (offset + size * i, size, 1) for i, name in enumerate(names)}


def discrete_tail(at):
    """From throttle_status on, of 1.1 to 1.3."""
    return {"throttle_status": (at, 4, 1), **row(at + 4, 2, ["current_fan_speed", "pcie_link_width", "pcie_link_speed"]),
            **row(at + 12, 4, ["gfx_activity_acc", "mem_activity_acc"]), "temperature_hbm": (at + 20, 2, 4)}


def links(at):
    """From gfxclk_lock_status on, up to the PCIe counters, of 1.4 to 1.8: 64 bytes but for 1.4's missing gap."""
    counters = ["pcie_bandwidth_acc", "pcie_bandwidth_inst", "pcie_l0_to_recov_count_acc",
                "pcie_replay_count_acc", "pcie_replay_rover_count_acc"]
    return {"gfxclk_lock_status": (at, 4, 1),
            **row(at + 4, 2, ["pcie_link_width", "pcie_link_speed", "xgmi_link_width", "xgmi_link_speed"]),
            **row(at + 12, 4, ["gfx_activity_acc", "mem_activity_acc"]),
            **row((at + 20 + 7) // 8 * 8, 8, counters)}


def die_clocks(at):
    return {"current_gfxclk": (at, 2, 8), "current_socclk": (at + 16, 2, 4), "current_vclk0": (at + 24, 2, 4),
            "current_dclk0": (at + 32, 2, 4), "current_uclk": (at + 40, 2, 1)}


def residencies(at):
    return row(at, 4, ["accumulation_counter", "prochot_residency_acc", "ppt_residency_acc",
                       "socket_thm_residency_acc", "vr_thm_residency_acc", "hbm_thm_residency_acc"])


def partitions(at, stride, jpegs, more):
    fields = {}
    for i in range(8):
        here, of = at + stride * i, f"xcp{i}."
        fields[of + "gfx_busy_inst"] = (here, 4, 8)
        fields[of + "jpeg_busy"] = (here + 32, 2, jpegs)
        fields[of + "vcn_busy"] = (here + 32 + 2 * jpegs, 2, 4)
        for k, name in enumerate(["gfx_busy_acc", *more]):
            fields[of + name] = (here + 40 + 2 * jpegs + 64 * k, 8, 8)
    fields["pcie_lc_perf_other_end_recovery"] = (at + 8 * stride, 4, 1)
    return fields


def apu(at_temperatures, at_clock, at_powers):
    found = {"temperature_gfx": (at_temperatures, 2, 1), "temperature_soc": (at_temperatures + 2, 2, 1),
             "temperature_core": (at_temperatures + 4, 2, 8), "temperature_l3": (at_temperatures + 20, 2, 2),
             "average_gfx_activity": (at_temperatures + 24, 2, 1), "average_mm_activity": (at_temperatures + 26, 2, 1),
             "system_clock_counter": (at_clock, 8, 1)}
    found |= row(at_powers, 2, ["average_socket_power", "average_cpu_power", "average_soc_power", "average_gfx_power"])
    found["average_core_power"] = (at_powers + 8, 2, 8)
    found |= row(at_powers + 24, 2, APU_CLOCKS)
    found["current_coreclk"] = (at_powers + 48, 2, 8)
    found["current_l3clk"] = (at_powers + 64, 2, 2)
    found["throttle_status"] = (at_powers + 68, 4, 1)
    found["fan_pwm"] = (at_powers + 72, 2, 1)
    return found


V10 = {"system_clock_counter": (8, 8, 1), **row(16, 2, TEMPERATURES + ACTIVITY), "energy_accumulator": (36, 4, 1),
       **row(40, 2, DISCRETE_CLOCKS), "throttle_status": (68, 4, 1), "current_fan_speed": (72, 2, 1),
       "pcie_link_width": (74, 1, 1), "pcie_link_speed": (75, 1, 1)}
V11 = {**row(4, 2, TEMPERATURES + ACTIVITY), **row(24, 8, ["energy_accumulator", "system_clock_counter"]),
       **row(40, 2, DISCRETE_CLOCKS), **discrete_tail(68)}
V12 = {**V11, "firmware_timestamp": (96, 8, 1)}
V13 = {**V12, **row(104, 2, ["voltage_soc", "voltage_gfx", "voltage_mem"]), "indep_throttle_status": (112, 8, 1)}
V14 = {**row(4, 2, SOCKET), "vcn_activity": (16, 2, 4), **row(24, 8, ["energy_accumulator", "system_clock_counter"]),
       "throttle_status": (40, 4, 1), **links(44), "xgmi_read_data_acc": (104, 8, 8), "xgmi_write_data_acc": (168, 8, 8),
       "firmware_timestamp": (232, 8, 1), **die_clocks(240)}
V15 = {**row(4, 2, SOCKET), "vcn_activity": (16, 2, 4), "jpeg_activity": (24, 2, 32),
       **row(88, 8, ["energy_accumulator", "system_clock_counter"]), "throttle_status": (104, 4, 1), **links(108),
       **row(168, 4, ["pcie_nak_sent_count_acc", "pcie_nak_rcvd_count_acc"]), "xgmi_read_data_acc": (176, 8, 8),
       "xgmi_write_data_acc": (240, 8, 8), "firmware_timestamp": (304, 8, 1), **die_clocks(312)}
V16 = {**row(4, 2, SOCKET), **row(16, 8, ["energy_accumulator", "system_clock_counter"]), **residencies(32), **links(56),
       **row(120, 4, ["pcie_nak_sent_count_acc", "pcie_nak_rcvd_count_acc"]), "xgmi_read_data_acc": (128, 8, 8),
       "xgmi_write_data_acc": (192, 8, 8), "firmware_timestamp": (256, 8, 1), **die_clocks(264),
       "num_partition": (306, 2, 1), **partitions(312, 168, 32, [])}
BODY17 = {**row(4, 2, SOCKET), **row(16, 8, ["mem_max_bandwidth", "energy_accumulator", "system_clock_counter"]),
          **residencies(40), **links(64), **row(128, 4, ["pcie_nak_sent_count_acc", "pcie_nak_rcvd_count_acc"]),
          "xgmi_read_data_acc": (136, 8, 8), "xgmi_write_data_acc": (200, 8, 8), "xgmi_link_status": (264, 2, 8),
          "firmware_timestamp": (288, 8, 1), **die_clocks(296), "num_partition": (338, 2, 1)}
V17 = {**BODY17, **partitions(344, 232, 32, ["gfx_below_host_limit_acc"])}
V18 = {**BODY17, **partitions(344, 440, 40, ["gfx_below_host_limit_ppt_acc", "gfx_below_host_limit_thm_acc",
                                            "gfx_low_utilization_acc", "gfx_below_host_limit_total_acc"])}
V20 = apu(16, 8, 44)
V21 = apu(4, 32, 40)
V22 = {**V21, "indep_throttle_status": (120, 8, 1)}
V23 = {**V22, "average_temperature_gfx": (128, 2, 1), "average_temperature_soc": (130, 2, 1),
       "average_temperature_core": (132, 2, 8), "average_temperature_l3": (148, 2, 2)}
V24 = {**V23, **row(152, 2, ["average_cpu_voltage", "average_soc_voltage", "average_gfx_voltage",
                             "average_cpu_current", "average_soc_current", "average_gfx_current"])}
V30 = {**row(4, 2, ["temperature_gfx", "temperature_soc"]), "temperature_core": (8, 2, 16),
       **row(40, 2, ["temperature_skin", "average_gfx_activity", "average_vcn_activity"]),
       "average_ipu_activity": (46, 2, 8), "average_core_c0_activity": (62, 2, 16),
       **row(94, 2, ["average_dram_reads", "average_dram_writes", "average_ipu_reads", "average_ipu_writes"]),
       "system_clock_counter": (104, 8, 1), "average_socket_power": (112, 4, 1), "average_ipu_power": (116, 2, 1),
       **row(120, 4, ["average_apu_power", "average_gfx_power", "average_dgpu_power", "average_all_core_power"]),
       "average_core_power": (136, 2, 16),
       **row(168, 2, ["average_sys_power", "stapm_power_limit", "current_stapm_power_limit", "average_gfxclk_frequency",
                      "average_socclk_frequency", "average_vpeclk_frequency", "average_ipuclk_frequency",
                      "average_fclk_frequency", "average_vclk_frequency", "average_uclk_frequency",
                      "average_mpipu_frequency"]),
       "current_coreclk": (190, 2, 16), **row(222, 2, ["current_core_maxfreq", "current_gfx_maxfreq"]),
       **row(228, 4, [f"throttle_residency_{why}" for why in
                      ("prochot", "spl", "fppt", "sppt", "thm_core", "thm_gfx", "thm_soc")] + ["time_filter_alphavalue"])}
# The sizes are those that the drivers give.
VERSIONS = {"1.0": (80, V10), "1.1": (96, V11), "1.2": (104, V12), "1.3": (120, V13), "1.4": (288, V14),
            "1.5": (360, V15), "1.6": (1664, V16), "1.7": (2208, V17), "1.8": (3872, V18), "2.0": (120, V20),
            "2.1": (120, V21), "2.2": (128, V22), "2.3": (152, V23), "2.4": (168, V24), "3.0": (264, V30)}
CODES = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}


def numbers_of(version):
    """[(name, offset, bytes, value)]; every seventh number is not there: None."""
    found = []
    for name, (offset, size, count) in VERSIONS[version][1].items():
        for i in range(count):
            at = offset + size * i
            value = (0x01020304050607 * (at + 3) + len(name)) % (1 << 8 * min(size, 7)) % ((1 << 8 * size) - 1)
            index = f"[{i}]" if count > 1 else ""
            found.append((name + index, at, size, None if at // size % 7 == 6 else value))
    return found


def table(version):
    size = VERSIONS[version][0]
    data = bytearray(b"\xaa" * size)  # gaps hold anything
    major, minor = map(int, version.split("."))
    struct.pack_into("<HBB", data, 0, size, major, minor)
    for _, at, width, value in numbers_of(version):
        struct.pack_into(CODES[width], data, at, (1 << 8 * width) - 1 if value is None else value)
    return bytes(data)


def tables():
    """What each card has, in the order of their addresses."""
    found = [(version, table(version)) for version in VERSIONS]
    cut = [(f"cut {version}", table(version)[:len(table(version)) // 2]) for version in ("1.3", "1.8", "2.4")]
    liar = bytearray(table("1.4"))
    struct.pack_into("<H", liar, 0, 40)
    other = [("unknown 1.9", struct.pack("<HBB", 64, 1, 9) + bytes(60)), ("unknown 7.7", struct.pack("<HBB", 8, 7, 7) + bytes(4)),
             ("short", b"\x01\x02"), ("empty", b""), ("liar", bytes(liar))]
    return found + cut + other


def make(root):
    for number, (_, data) in enumerate(tables()):
        device = root / f"sys/devices/pci0000:00/0000:{number + 1:02x}:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x1002\n")
        (device / "gpu_metrics").write_bytes(data)
        card = root / f"sys/class/drm/card{number}"
        card.mkdir(parents=True)
        (card / "device").symlink_to(device)


def check(root):
    shown = json.loads((root / "monitor.json").read_text())
    decoded = {}
    for each in shown["gpu_metrics"]:
        decoded.setdefault(each["gpu"], {})[each["field"]] = each["value"]
    numbers = 0
    for gpu, (name, _) in enumerate(tables()):
        if name not in VERSIONS:
            assert gpu not in decoded, f"{name} was decoded"
            assert any(w.startswith(f"GPU {gpu}: ") for w in shown["warnings"]), f"{name} is not named"
            continue
        wanted = {field: value for field, _, _, value in numbers_of(name)}
        assert decoded[gpu].keys() == wanted.keys(), (name, decoded[gpu].keys() ^ wanted.keys())
        for field, value in wanted.items():
            got = decoded[gpu][field]
            assert got == value, f"{name} {field}: {got}, not {value}"
            numbers += 1
    print(json.dumps({"versions": len(VERSIONS), "numbers": numbers}))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
