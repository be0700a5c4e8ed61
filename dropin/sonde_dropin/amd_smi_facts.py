"""amd-smi metric, static and topology: what a GPU does in every figure, what it is, and how the GPUs are linked.

From what `sonde monitor` reads, and from single files beside it. What only an ioctl of the driver tells is N/A:
nothing here opens a device."""

import os
import re

from .amd_smi import NONE, Figure, Look, Output, chosen, rounds, whole
from .amd_smi_options import METRIC, STATIC, TOPOLOGY
from .table import tell_differences

WIDTH = 86  # of text, behind which the next item of a list goes to the next line
RAS_BLOCKS = ("UMC", "SDMA", "GFX", "MMHUB", "ATHUB", "PCIE_BIF", "HDP", "XGMI_WAFL", "DF", "SMN", "SEM", "MP0", "MP1",
              "FUSE", "MCA", "VCN", "JPEG", "IH", "MPIO")
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
XGMI = 11
CACHE_KINDS = ((1, "DATA_CACHE"), (2, "INST_CACHE"), (4, "CPU_CACHE"), (8, "SIMD_CACHE"))


class Card:
    """The files of a GPU."""

    def __init__(self, parsed, gpu):
        self.root = parsed.text("sys-root", "/sys")
        self.folder = f"{self.root}/bus/pci/devices/{gpu['address']}"
        found = sorted(os.listdir(f"{self.folder}/hwmon")) if os.path.isdir(f"{self.folder}/hwmon") else []
        self.sensors = f"{self.folder}/hwmon/{found[0]}" if found else self.folder

    def text(self, name, folder=None):
        try:
            with open(f"{folder or self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read().strip() or None
        except OSError:
            return None

    def number(self, name, divisor=1):
        """Of the card, or of its sensors."""
        text = self.text(name) or self.text(name, self.sensors)
        try:
            return int(text, 0) // divisor
        except (TypeError, ValueError):
            return None

    def levels(self, name):
        """The lowest and the highest clock that it can have."""
        clocks = [int(clock) for clock in re.findall(r":\s*(\d+)Mhz", self.text(name) or "", re.I)]
        return (min(clocks), max(clocks)) if clocks else (None, None)

    def errors(self, block):
        counts = dict(re.findall(r"(\w+): (\d+)", self.text(f"ras/{block.lower()}_err_count") or ""))
        return {key: int(counts.get(short, 0)) for key, short in
                (("correctable_count", "ce"), ("uncorrectable_count", "ue"), ("deferred_count", "de"))}

    def ras_blocks(self):
        """Those that count errors; None: the card counts none."""
        found = re.search(r"0x[0-9a-f]+", self.text("ras/features") or "", re.I)
        return None if found is None else [name for bit, name in enumerate(RAS_BLOCKS) if int(found[0], 16) >> bit & 1]

    def speed(self, name):
        found = re.match(r"[0-9.]+", self.text(name) or "")
        return float(found[0]) if found else None


def unknown(unit):
    """With its unit even where there is none."""
    return Figure(NONE, unit)


def plain(value):
    """A number without a fraction that says nothing."""
    return int(value) if value is not None and value == int(value) else value


def listed(look, gpu, name, count):
    return [look.table.get((gpu, f"{name}[{i}]")) for i in range(count)]


def usage(look, gpu, _):
    return {"gfx_activity": Figure(look.field(gpu, "average_gfx_activity"), "%"),
            "umc_activity": Figure(look.field(gpu, "average_umc_activity"), "%"),
            "mm_activity": Figure(look.field(gpu, "average_mm_activity"), "%"),
            "vcn_activity": listed(look, gpu, "vcn_activity", 4), "jpeg_activity": listed(look, gpu, "jpeg_activity", 32)}


def power(look, gpu, _):
    status = look.field(gpu, "throttle_status")
    return {"socket_power": Figure(look.field(gpu, "current_socket_power", "average_socket_power"), "W"),
            "gfx_voltage": unknown("mV"), "soc_voltage": unknown("mV"), "mem_voltage": unknown("mV"),
            "power_management": Figure(None),
            "throttle_status": Figure(None if status is None else "THROTTLED" if status else "UNTHROTTLED")}


def clock_of(now, levels, locked=None):
    if now is None:
        return {key: Figure(None) for key in ("clk", "min_clk", "max_clk", "clk_locked", "deep_sleep")}
    low, high = levels
    sleeps = None if low is None else "ENABLED" if now < low else "DISABLED"
    return {"clk": Figure(now, "MHz"), "min_clk": Figure(low, "MHz"), "max_clk": Figure(high, "MHz"),
            "clk_locked": Figure(locked), "deep_sleep": Figure(sleeps)}


def clock(look, gpu, card):
    locks = look.field(gpu, "gfxclk_lock_status")
    found = {}
    for i in range(8):
        now = look.field(gpu, "current_gfxclk") if i == 0 else look.table.get((gpu, f"current_gfxclk[{i}]"))
        locked = None if locks is None else "ENABLED" if locks >> i & 1 else "DISABLED"
        found[f"gfx_{i}"] = clock_of(now, card.levels("pp_dpm_sclk"), locked)
    found["mem_0"] = clock_of(look.field(gpu, "current_uclk"), card.levels("pp_dpm_mclk"))
    for kind in ("vclk", "dclk"):
        for i in range(4):
            now = look.table.get((gpu, f"current_{kind}{i}"), look.table.get((gpu, f"current_{kind}[{i}]")))
            found[f"{kind}_{i}"] = clock_of(now, card.levels(f"pp_dpm_{kind}" + ("1" if i == 1 else "")))
    return found


def temperature(look, gpu, _):
    seen = look.gpus[gpu]
    return {"edge": Figure(whole(seen["edge_c"]), "C"), "hotspot": Figure(whole(seen["junction_c"]), "C"),
            "mem": Figure(whole(seen["memory_c"]), "C")}


def pcie(look, gpu, card):
    packets = re.findall(r"\d+", card.text("pcie_bw") or "")
    received, sent, most = map(int, packets) if len(packets) == 3 else (None, None, None)
    rate = [None if count is None else round(count * most * 8 / 1e6) for count in (sent, received)]
    return {"width": Figure(card.number("current_link_width")), "speed": Figure(plain(card.speed("current_link_speed")), "GT/s"),
            "bandwidth": Figure(look.field(gpu, "pcie_bandwidth_inst"), "Mb/s"),
            "replay_count": Figure(look.field(gpu, "pcie_replay_count_acc")),
            "l0_to_recovery_count": Figure(look.field(gpu, "pcie_l0_to_recov_count_acc")),
            "replay_roll_over_count": Figure(look.field(gpu, "pcie_replay_rover_count_acc")),
            "nak_sent_count": Figure(look.field(gpu, "pcie_nak_sent_count_acc")),
            "nak_received_count": Figure(look.field(gpu, "pcie_nak_rcvd_count_acc")),
            "current_bandwidth_sent": Figure(rate[0], "Mb/s"), "current_bandwidth_received": Figure(rate[1], "Mb/s"),
            "max_packet_size": Figure(most, "B ")}


def ecc(_look, _gpu, card):
    blocks = card.ras_blocks()
    counts = [card.errors(block) for block in blocks or []]
    total = {f"total_{key}": Figure(sum(each[key] for each in counts))
             for key in ("correctable_count", "uncorrectable_count", "deferred_count")}
    # Those of caches are all but the memory's.
    for key in ("correctable_count", "uncorrectable_count"):
        own = card.errors("UMC")[key] if blocks and "UMC" in blocks else 0
        total[f"cache_{key}"] = Figure(total[f"total_{key}"].value - own if blocks else None)
    return total


def ecc_blocks(_look, _gpu, card):
    blocks = card.ras_blocks()
    if not blocks:
        return Figure(None)
    return {block: {key: Figure(count) for key, count in card.errors(block).items()} for block in blocks}


def fan(_look, _gpu, card):
    speed, most = card.number("pwm1"), card.number("pwm1_max")
    share = round(100 * speed / most, 2) if speed is not None and most else None
    return {"speed": Figure(speed), "max": Figure(most), "rpm": Figure(card.number("fan1_input")), "usage": Figure(share, "%")}


def perf_level(_look, _gpu, card):
    level = card.text("power_dpm_force_performance_level")
    return Figure(f"AMDSMI_DEV_PERF_LEVEL_{level.upper()}" if level else None)


def energy(look, gpu, _):
    joules = look.gpus[gpu].get("energy_j")
    return {"total_energy_consumption": Figure(None if joules is None else round(joules, 3), "J")}


def mem_usage(_look, _gpu, card):
    found = {}
    for key, name in (("vram", "vram"), ("visible_vram", "vis_vram"), ("gtt", "gtt")):
        total, used = (card.number(f"mem_info_{name}_{kind}", 1 << 20) for kind in ("total", "used"))
        free = None if total is None or used is None else total - used
        found.update({f"total_{key}": Figure(total, "MB"), f"used_{key}": Figure(used, "MB"), f"free_{key}": Figure(free, "MB")})
    return found


def nothing(*_):
    return Figure(None)


METRICS = {"usage": usage, "power": power, "clock": clock, "temperature": temperature, "pcie": pcie, "ecc": ecc,
           "ecc-blocks": ecc_blocks, "fan": fan, "voltage-curve": nothing, "overdrive": nothing, "perf-level": perf_level,
           "xgmi-err": nothing, "energy": energy, "mem-usage": mem_usage}


def asic(look, gpu, card):
    def number(name):
        value = card.number(name)
        return Figure(None if value is None else hex(value))
    serial = look.gpus[gpu].get("unique_id") or ""
    return {"market_name": Figure(card.text("product_name") or look.gpus[gpu]["name"]), "vendor_id": number("vendor"),
            "vendor_name": Figure("Advanced Micro Devices Inc. [AMD/ATI]" if card.number("vendor") == 0x1002 else None),
            "subvendor_id": number("subsystem_vendor"), "device_id": number("device"), "rev_id": number("revision"),
            "asic_serial": Figure("0x" + serial.upper().removeprefix("0X") if serial else None), "oam_id": Figure(None)}


def bus(look, gpu, card):
    speed = card.speed("max_link_speed")
    generation = GENERATIONS.get(speed)
    return {"bdf": Figure(look.gpus[gpu]["address"]), "max_pcie_width": Figure(card.number("max_link_width")),
            "max_pcie_speed": Figure(plain(speed), "GT/s"),
            "pcie_interface_version": Figure(f"Gen {generation}" if generation else None), "slot_type": Figure("PCIE")}


def vbios(_look, _gpu, card):
    return {"name": Figure(None), "build_date": Figure(None), "part_number": Figure(card.text("vbios_version")), "version": Figure(None)}


def limit(_look, _gpu, card):
    found = {key: Figure(card.number(name, 1_000_000), "W") for key, name in
             (("max_power", "power1_cap_max"), ("min_power", "power1_cap_min"), ("socket_power", "power1_cap"))}
    for kind, name in (("slowdown", "crit"), ("shutdown", "emergency")):
        for number, place in enumerate(("edge", "hotspot", "vram"), 1):
            found[f"{kind}_{place}_temperature"] = Figure(card.number(f"temp{number}_{name}", 1000), "C")
    return found


def driver(_look, _gpu, card):
    return {"name": Figure("amdgpu"), "version": Figure(card.text("version", f"{card.root}/module/amdgpu"))}


def board(_look, _gpu, card):
    return {"model_number": Figure(card.text("product_number")), "product_serial": Figure(card.text("serial_number")),
            "fru_id": Figure(None), "product_name": Figure(card.text("product_name")), "manufacturer_name": Figure(None)}


def ras(_look, _gpu, card):
    blocks = card.ras_blocks()
    state = Figure(None) if blocks is None else {
        name: Figure("ENABLED" if name in blocks else "DISABLED") for name in RAS_BLOCKS}
    return {**{key: Figure(None) for key in ("eeprom_version", "parity_schema", "single_bit_schema", "double_bit_schema",
                                             "poison_schema")}, "ecc_block_state": state}


def partition(_look, _gpu, card):
    return {"compute_partition": Figure(card.text("current_compute_partition")),
            "memory_partition": Figure(card.text("current_memory_partition"))}


def numa(_look, _gpu, card):
    node = card.number("numa_node")
    return {"node": Figure(None if node is None else max(node, 0)),
            "affinity": Figure(node)}


def vram(_look, _gpu, card):
    vendor = card.text("mem_info_vram_vendor")
    return {"type": Figure(None), "vendor": Figure(vendor.upper() if vendor else None),
            "size": Figure(card.number("mem_info_vram_total", 1 << 20), "MB")}


def cache(look, gpu, card):
    """Caches of one kind are one entry, with how many there are."""
    node = Nodes(card.root).of(look.gpus[gpu])
    kinds = {}
    folder = f"{card.root}/class/kfd/kfd/topology/nodes/{node}/caches"
    for name in sorted(os.listdir(folder), key=int) if os.path.isdir(folder) else []:
        facts = properties(card.text("properties", f"{folder}/{name}"))
        shared = sum(int(word) for word in re.findall(r"sibling_map ([0-9,]+)", card.text("properties", f"{folder}/{name}") or "")[:1]
                     for word in word.split(",") if word)
        key = (facts.get("type", 0), facts.get("size", 0), facts.get("level", 0))
        most, count = kinds.get(key, (0, 0))
        kinds[key] = (max(most, shared), count + 1)
    if not kinds:
        return Figure(None)
    return Entries({f"cache_{i}": {
        "cache_properties": Figure(", ".join(text for bit, text in CACHE_KINDS if kind & bit)), "cache_size": Figure(size, "KB"),
        "cache_level": Figure(level), "max_num_cu_shared": Figure(most), "num_cache_instance": Figure(count)}
        for i, ((kind, size, level), (most, count)) in enumerate(kinds.items())})


STATICS = {"asic": asic, "bus": bus, "vbios": vbios, "limit": limit, "driver": driver, "board": board, "ras": ras,
           "partition": partition, "policy": nothing, "xgmi-plpd": nothing, "process-isolation": nothing, "numa": numa,
           "vram": vram, "cache": cache}
TITLES = {"policy": "dpm_policy", "cache": "cache_info"}


# ---- Of several sections ----

class Entries(dict):
    """A list in JSON and CSV, of parts that text numbers in their names."""

    def listed(self, plain_of):
        kind = next(iter(self)).rpartition("_")[0]
        return [{kind: number, **{key: value.value.split(", ") if "properties" in key else plain_of(value)
                                  for key, value in part.items()}} for number, part in enumerate(self.values())]


def value_of(figure):
    """In JSON."""
    if isinstance(figure, Entries):
        return figure.listed(value_of)
    if isinstance(figure, dict):
        return {key: value_of(value) for key, value in figure.items()}
    if isinstance(figure, list):
        return [NONE if value is None else value for value in figure]
    if figure.value is None:
        return NONE
    return {"value": figure.value, "unit": figure.unit.strip()} if figure.unit else figure.value


def list_lines(text, items, blank):
    line = text
    for number, item in enumerate(items):
        if len(line) > WIDTH:
            yield line
            line = blank + item
        else:
            line += ("" if number == 0 else " ") + item
    yield line


def lines_of(tree, depth):
    blank = "    " * depth
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{blank}{key.upper()}:"
            yield from lines_of(value, depth + 1)
            continue
        if isinstance(value, list):
            items = [NONE if each is None else str(each) for each in value]
            ends = ["," if number + 1 < len(items) else "]" for number in range(len(items))]
            yield from list_lines(f"{blank}{key.upper()}: [", [item + end for item, end in zip(items, ends)], blank + "    ")
            continue
        if value.value is None or (key == "affinity" and value.value < 0):
            shown = NONE if value.value is None else "NONE"
        else:
            shown = f"{value.value} {'°C' if value.unit == 'C' else value.unit.strip()}".rstrip()
        yield f"{blank}{key.upper()}: {shown}"


def cells_of(tree, prefix=""):
    """In CSV: a name that comes again has its last value, as amd-smi has it."""
    found = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found.update(cells_of(value, f"{prefix}{key}_"))
        elif isinstance(value, list):
            found[prefix + key] = str([NONE if each is None else each for each in value])
        else:
            found[prefix + key] = NONE if value.value is None else value.value
    return found


def sections(parsed, look, gpu, known):
    asked = [key for key in known if parsed.on(key)] or list(known)
    card = Card(parsed, look.gpus[gpu])
    return {TITLES.get(key, key.replace("-", "_")): known[key](look, gpu, card) for key in known if key in asked}


def flat(tree):
    """Sections have no name in CSV, but parts of them have."""
    found = {}
    for key, value in tree.items():
        if isinstance(value, Entries):
            found[key] = str(value.listed(lambda figure: figure.value))
        else:
            found.update(cells_of(value if isinstance(value, dict) else {key: value}))
    return found


def print_sections(parsed, front, known, again_allowed):
    tell_differences(front, parsed)
    output = Output(parsed)
    for again in rounds(parsed) if again_allowed else [False]:
        look = Look(parsed)
        numbers = chosen(parsed, look)
        trees = [(number, sections(parsed, look, number, known)) for number in numbers]
        time = {"timestamp": look.at} if again else {}
        if output.form == "json":
            output.json([{**time, "gpu": number, **value_of(tree)} for number, tree in trees])
        elif output.form == "csv":
            rows = [{**time, "gpu": number, **flat(tree)} for number, tree in trees]
            keys = list(dict.fromkeys(key for row in rows for key in row))
            output.rows(keys, [[row.get(key, NONE) for key in keys] for row in rows])
        else:
            lines = []
            for number, tree in trees:
                lines += [f"TIMESTAMP: {look.at}"] if again else []
                lines += [f"GPU: {number}", *lines_of(tree, 1), ""]
            output.write("\n".join(lines) + ("\n\n" if len(numbers) > 1 else "\n"))


def metric(parsed):
    print_sections(parsed, METRIC, METRICS, True)


def static(parsed):
    print_sections(parsed, STATIC, STATICS, False)


# ---- How GPUs are linked ----

def properties(text):
    return {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", text or "", re.M)}


class Nodes:
    """The nodes of the KFD's topology, by PCI address, and their links."""

    def __init__(self, root):
        self.folder = f"{root}/class/kfd/kfd/topology/nodes"
        self.numbers = {}
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else []:
            facts = self.read(f"{name}/properties")
            if facts.get("simd_count", 0) > 0:
                place = facts.get("location_id", 0)
                address = f"{facts.get('domain', 0):04x}:{place >> 8 & 255:02x}:{place >> 3 & 31:02x}.{place & 7}"
                self.numbers[address] = int(name)

    def read(self, path):
        try:
            with open(f"{self.folder}/{path}", encoding="ascii", errors="replace") as file:
                return properties(file.read())
        except OSError:
            return {}

    def of(self, gpu):
        return self.numbers.get(gpu["address"])

    def links(self, node):
        found = {}
        for kind in ("p2p_links", "io_links"):
            folder = f"{self.folder}/{node}/{kind}"
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                link = self.read(f"{node}/{kind}/{name}/properties")
                found[link.get("node_to")] = link
        return found


def link_of(nodes, one, other):
    """weight, status, type, hops and bandwidth, as amd-smi has them."""
    if one == other:
        return 0, "ENABLED", "SELF", 0, NONE
    if one is None or other is None:
        return NONE, "DISABLED", "UNKNOWN", NONE, NONE
    own, theirs = nodes.links(one), nodes.links(other)
    link = own.get(other)
    if link is not None and link.get("type") == XGMI:
        low, high = link.get("min_bandwidth", 0), link.get("max_bandwidth", 0)
        return link.get("weight", 0), "ENABLED", "XGMI", 1, f"{low}-{high}" if high else NONE
    # Through the processor, or through two of them.
    by = [next(((to, each) for to, each in sorted(links.items()) if to not in nodes.numbers.values()), (None, {}))
          for links in (own, theirs)]
    weight = link["weight"] if link else sum(each.get("weight", 0) for _, each in by)
    between = 0 if by[0][0] == by[1][0] else nodes.links(by[0][0]).get(by[1][0], {}).get("weight", 0)
    return weight + (0 if link else between), "ENABLED" if link else "DISABLED", "PCIE", 2 if by[0][0] == by[1][0] else 3, NONE


TABLES = {"access": ("ACCESS TABLE", "link_accessibility", 1), "weight": ("WEIGHT TABLE", "weight", 0),
          "hops": ("HOPS TABLE", "hops", 3), "link-type": ("LINK TYPE TABLE", "link_type", 2),
          "numa-bw": ("NUMA BW TABLE", "numa_bandwidth", 4)}
KEYS = (("weight", 0, "weight"), ("access", 1, "link_status"), ("link-type", 2, "link_type"), ("hops", 3, "num_hops"),
        ("numa-bw", 4, "bandwidth"))


def topology(parsed):
    tell_differences(TOPOLOGY, parsed)
    output = Output(parsed)
    look = Look(parsed)
    numbers = chosen(parsed, look)
    nodes = Nodes(parsed.text("sys-root", "/sys"))
    address = {number: look.gpus[number]["address"] for number in numbers}
    links = {(one, other): link_of(nodes, nodes.of(look.gpus[one]), nodes.of(look.gpus[other])) for one in numbers for other in numbers}
    asked = [key for key in TABLES if parsed.on(key)] or list(TABLES)
    if output.form == "json":
        output.json([{"gpu": one, "bdf": address[one], "links": [
            {"gpu": other, "bdf": address[other], **{key: links[one, other][i] for table, i, key in KEYS if table in asked}}
            for other in numbers]} for one in numbers])
    elif output.form == "csv":
        output.rows(["gpu", "bdf", *(f"{TABLES[key][1]}_gpu_{other}" for key in asked for other in numbers)],
                    [[one, address[one], *(links[one, other][TABLES[key][2]] for key in asked for other in numbers)] for one in numbers])
    else:
        for key in asked:
            title, _, i = TABLES[key]
            rows = [["", *address.values()], *([address[one], *(str(links[one, other][i]) for other in numbers)] for one in numbers)]
            output.write("\n".join([f"{title}:", *(" ".join(cell.ljust(12) for cell in row).rstrip() for row in rows)]) + "\n\n")
