"""amd-smi list, monitor and process, and amd-smi alone, from what `sonde monitor` reads. Nothing is changed.

A figure of the tool is a value with a unit, which text, JSON and CSV write each in its way. The columns of
`monitor` are those of ROCm 6.4 and later, or of 6.1 where SONDE_ROCM_SMI says so."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections import namedtuple

from . import tool
from .amd_smi_options import LIST, MONITOR, PROCESS
from .table import Usage, tell_differences

NONE = "N/A"
NOBODY = "No running processes detected"
MIB = 1 << 20

# key: in JSON and CSV; title and width: in the table.
Column = namedtuple("Column", "key title width")
Figure = namedtuple("Figure", "value unit", defaults=("",))


def old_form():
    return os.environ.get("SONDE_ROCM_SMI", "") in ("6.0", "6.1", "6.2", "6.3")


class Look:
    """What `sonde monitor` saw at one moment."""

    def __init__(self, parsed):
        command = [tool.sonde(), "monitor", "--once", "--all", "--json"]
        for option in ("sys-root", "proc-root"):
            if parsed.text(option):
                command += ["--" + option, parsed.text(option)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise tool.Failure("sonde monitor failed", done.returncode)
        seen = json.loads(done.stdout)
        self.at = int(time.time())
        self.gpus = {gpu["gpu"]: gpu for gpu in seen["gpus"]}
        self.uses = seen.get("process_gpus", [])
        self.processes = {each["pid"]: each for each in seen.get("processes", [])}
        self.table = {}
        for each in seen.get("gpu_metrics", []):
            self.table[each["gpu"], each["field"]] = each["value"]

    def field(self, gpu, *names):
        """The first of these fields of gpu_metrics that tells something; of a list, its first."""
        for name in names:
            for spelling in (name, name + "[0]"):
                value = self.table.get((gpu, spelling))
                if value is not None:
                    return value
        return None

    def mean(self, gpu, name):
        values = [value for (of, field), value in self.table.items()
                  if of == gpu and field.startswith(name + "[") and value is not None]
        return round(sum(values) / len(values)) if values else None


def uuid_of(gpu, device_id):
    """The serial of the chip between the vendor's constants, as amd-smi writes it."""
    try:
        serial = int(gpu["unique_id"], 16)
    except (TypeError, ValueError):
        return NONE
    return f"{serial >> 56:02x}ff{device_id:04x}-0000-1000-80{serial >> 48 & 0xff:02x}-{serial & (1 << 48) - 1:012x}"


def device_id_of(parsed, gpu):
    root = parsed.text("sys-root", "/sys")
    try:
        with open(f"{root}/bus/pci/devices/{gpu['address']}/device", encoding="ascii") as file:
            return int(file.read(), 16)
    except (OSError, ValueError):
        return 0


def chosen(parsed, look):
    """The numbers of the GPUs in the order in which they were asked for."""
    if "gpu" not in parsed or "all" in parsed["gpu"]:
        return list(look.gpus)
    numbers = []
    for word in parsed["gpu"]:
        found = [number for number, gpu in look.gpus.items()
                 if word in (str(number), gpu["address"], uuid_of(gpu, device_id_of(parsed, gpu)))]
        if not found:
            raise tool.Failure(f"--gpu {word}: no such GPU; there are {len(look.gpus)}", 253)
        numbers += [number for number in found if number not in numbers]
    return numbers


def power(look, gpu):
    return Figure(look.field(gpu, "current_socket_power", "average_socket_power"), "W")


def whole(value):
    return None if value is None else round(value)


def mib(value):
    return None if value is None else value // MIB


def pcie(look, gpu):
    return Figure(look.field(gpu, "pcie_bandwidth_inst"), "Mb/s")


def of_61(parsed, look, gpu):
    """The figures of ROCm 6.1 by column, for what was asked."""
    seen = look.gpus[gpu]
    whole_row = not any(parsed.on(key) for key in _ASKS)
    asked = {key: whole_row or parsed.on(key) for key in _ASKS}
    status = look.field(gpu, "throttle_status")
    row = []
    if asked["power-usage"]:
        row += [(Column("power_usage", "POWER", 7), power(look, gpu))]
    if asked["temperature"]:
        row += [(Column("hotspot_temperature", "GPU_TEMP", 10), Figure(whole(seen["junction_c"]), "C")),
                (Column("memory_temperature", "MEM_TEMP", 10), Figure(whole(seen["memory_c"]), "C"))]
    if asked["gfx"]:
        row += [(Column("gfx", "GFX_UTIL", 10), Figure(look.field(gpu, "average_gfx_activity"), "%")),
                (Column("gfx_clock", "GFX_CLOCK", 11), Figure(whole(seen["sclk_mhz"]), "MHz"))]
    if asked["mem"]:
        row += [(Column("mem", "MEM_UTIL", 10), Figure(look.field(gpu, "average_umc_activity"), "%")),
                (Column("mem_clock", "MEM_CLOCK", 11), Figure(whole(seen["mclk_mhz"]), "MHz"))]
    if asked["encoder"]:
        row += [(Column("encoder", "ENC_UTIL", 10), Figure(look.mean(gpu, "vcn_activity"), "%")),
                (Column("encoder_clock", "ENC_CLOCK", 11), Figure(look.field(gpu, "current_vclk0"), "MHz"))]
    if asked["decoder"]:
        row += [(Column("decoder", "DEC_UTIL", 10), Figure(None, "%")),
                (Column("decoder_clock", "DEC_CLOCK", 11), Figure(look.field(gpu, "current_dclk0"), "MHz"))]
    if asked["throttle-status"]:
        text = None if status is None else "THROTTLED" if status else "UNTHROTTLED"
        row += [(Column("throttle_status", "THROTTLE", 13), Figure(text))]
    if asked["ecc"]:
        row += errors(seen)
    if asked["vram-usage"]:
        row += [(Column("vram_used", "VRAM_USED", 11), Figure(mib(seen["vram_used_bytes"]), "MB")),
                (Column("vram_total", "VRAM_TOTAL", 12), Figure(mib(seen["vram_total_bytes"]), "MB"))]
    if asked["pcie"]:
        value = pcie(look, gpu)  # with its unit even where there is none
        row += [(Column("pcie_bw", "PCIE_BW", 10), Figure(NONE if value.value is None else value.value, value.unit))]
    return row


def errors(seen):
    """As amd-smi has it, a GPU that counts no errors has none."""
    return [(Column("single_bit_ecc", "SINGLE_ECC", 12), Figure(seen["ecc_corrected"] or 0)),
            (Column("double_bit_ecc", "DOUBLE_ECC", 12), Figure(seen["ecc_uncorrected"] or 0)),
            (Column("pcie_replay", "PCIE_REPLAY", 13), Figure(seen["pcie_replays"]))]


def of_64(parsed, look, gpu):
    """The figures of ROCm 6.4 and later."""
    seen = look.gpus[gpu]
    if parsed.on("throttle-status"):
        raise Usage("--throttle-status: of ROCm 6.1 only, with SONDE_ROCM_SMI=6.1; sonde monitor --all says why")
    by_default = not any(parsed.on(key) for key in _ASKS)
    row = [(Column("xcp", "XCP", 5), Figure(0))]
    usual = ("power-usage", "temperature", "gfx", "mem", "encoder", "decoder", "vram-usage")
    asked = {key: parsed.on(key) or (by_default and key in usual) for key in _ASKS}
    if asked["power-usage"]:
        row += [(Column("power_usage", "POWER", 7), power(look, gpu))]
        if not by_default:
            row += [(Column("max_power", "PWR_CAP", 9), Figure(whole(seen["power_cap_w"]), "W"))]
    if asked["temperature"]:
        row += [(Column("hotspot_temperature", "GPU_T", 8), Figure(look.field(gpu, "temperature_hotspot"), "C")),
                (Column("memory_temperature", "MEM_T", 8), Figure(look.field(gpu, "temperature_mem"), "C"))]
    if asked["gfx"]:
        row += [(Column("gfx_clk", "GFX_CLK", 10), Figure(look.field(gpu, "current_gfxclk"), "MHz")),
                (Column("gfx", "GFX%", 7), Figure(look.field(gpu, "average_gfx_activity"), "%"))]
    if asked["mem"]:
        row += [(Column("mem", "MEM%", 7), Figure(look.field(gpu, "average_umc_activity"), "%"))]
        if not by_default:
            row += [(Column("mem_clock", "MEM_CLOCK", 11), Figure(look.field(gpu, "current_uclk"), "MHz"))]
    if asked["encoder"]:
        row += [(Column("encoder", "ENC%", 7), Figure(None, "%"))]
    if asked["decoder"]:
        row += [(Column("decoder", "DEC%", 7), Figure(look.mean(gpu, "vcn_activity"), "%"))]
    if (asked["encoder"] or asked["decoder"]) and not by_default:
        row += [(Column("vclock", "VCLOCK", 10), Figure(look.field(gpu, "current_vclk0"), "MHz")),
                (Column("dclock", "DCLOCK", 10), Figure(look.field(gpu, "current_dclk0"), "MHz"))]
    if asked["ecc"]:
        row += errors(seen)
    if asked["vram-usage"]:
        row += memory(seen, by_default)
    if asked["pcie"]:
        row += [(Column("pcie_bw", "PCIE_BW", 12), pcie(look, gpu))]
    return row


_ASKS = ("power-usage", "temperature", "gfx", "mem", "encoder", "decoder", "throttle-status", "ecc", "vram-usage", "pcie")


def memory(seen, by_default):
    used, total = mib(seen["vram_used_bytes"]), mib(seen["vram_total_bytes"])
    known = used is not None and total is not None
    if by_default:
        text = f"{used / 1024:5.1f}/{total / 1024:5.1f} GB" if known else NONE
        shares = [Figure(round(value / 1024, 1), "GB") if known else Figure(None) for value in (used, total)]
        # One column in the table, two elsewhere.
        return [(Column("", "VRAM_USAGE", 16), Figure(text)), (Column("vram_used", "", 0), shares[0]),
                (Column("vram_total", "", 0), shares[1])]
    percent = round(100 * used / total, 2) if known and total else None
    return [(Column("vram_used", "VRAM_USED", 11), Figure(used, "MB")),
            (Column("vram_free", "VRAM_FREE", 12), Figure(total - used if known else None, "MB")),
            (Column("vram_total", "VRAM_TOTAL", 12), Figure(total, "MB")),
            (Column("vram_percent", "VRAM%", 9), Figure(percent, "%"))]


def text_of(figure):
    if figure.value is None:
        return NONE
    return f"{figure.value} {'°C' if figure.unit == 'C' else figure.unit}" if figure.unit else str(figure.value)


def json_of(figure):
    if figure.value is None:
        return NONE
    return {"value": figure.value, "unit": figure.unit} if figure.unit else figure.value


class Output:
    """Where it goes, in the form that was asked for."""

    def __init__(self, parsed):
        if parsed.on("json") and parsed.on("csv"):
            raise Usage("--json --csv: one output has one form")
        self.form = "json" if parsed.on("json") else "csv" if parsed.on("csv") else "text"
        self.file = open(parsed["file"], "a", encoding="utf-8") if parsed.text("file") else sys.stdout

    def write(self, text):
        self.file.write(text)
        self.file.flush()

    def json(self, value):
        self.write(json.dumps(value, indent=4) + "\n")

    def rows(self, header, rows):
        text = io.StringIO()
        csv.writer(text).writerows([header, *rows])
        self.write(text.getvalue() + "\n")


def rounds(parsed):
    """Once, or as often as --watch says, with the pauses between."""
    try:
        every = float(parsed["watch"]) if "watch" in parsed else None
        most = int(parsed["iterations"]) if "iterations" in parsed else None
        until = time.monotonic() + float(parsed["watch_time"]) if "watch_time" in parsed else None
    except ValueError as error:
        raise Usage(f"not a number: {error}") from error
    if every is None:
        if most is not None or until is not None:
            raise Usage("--iterations and --watch_time go with --watch SEC")
        yield False
        return
    done, due = 0, time.monotonic()
    while (most is None or done < most) and (until is None or time.monotonic() < until):
        yield True
        done += 1
        due += every
        if most is None or done < most:
            time.sleep(max(0.0, due - time.monotonic()))


def print_table(output, look, numbers, figures, again):
    header = ("TIMESTAMP".rjust(10) + "  " if again else "") + "GPU"
    header += "".join(column.title.rjust(column.width) for column, _ in figures[0] if column.title)
    lines = [header]
    for number, row in zip(numbers, figures):
        line = (str(look.at).rjust(10) + "  " if again else "") + str(number).rjust(3)
        lines.append(line + "".join(text_of(figure).rjust(column.width) for column, figure in row if column.title))
    # A single GPU has no empty line behind it.
    output.write("\n".join(lines) + ("\n\n" if len(numbers) > 1 else "\n"))


def monitor(parsed):
    tell_differences(MONITOR, parsed)
    output = Output(parsed)
    form = of_61 if old_form() else of_64
    for again in rounds(parsed):
        look = Look(parsed)
        numbers = chosen(parsed, look)
        figures = [form(parsed, look, number) for number in numbers]
        front = {"timestamp": look.at} if again else {}
        if output.form == "json":
            listed = [{**front, "gpu": number, **{column.key: json_of(figure) for column, figure in row if column.key}}
                      for number, row in zip(numbers, figures)]
            if parsed.on("process"):
                for each in listed:
                    each["process_list"] = [{"process_info": info} for info in json_processes(parsed, look, each["gpu"])]
            output.json(listed)
        elif output.form == "csv":
            keys = [column.key for column, _ in figures[0] if column.key] if figures else []
            output.rows([*front, "gpu", *keys],
                        [[*front.values(), number, *(NONE if figure.value is None else figure.value
                                                     for column, figure in row if column.key)]
                         for number, row in zip(numbers, figures)])
        elif figures:
            print_table(output, look, numbers, figures, again)
        if parsed.on("process") and output.form == "text":
            print_uses(output, parsed, look, numbers)


def uses_of(parsed, look, gpu):
    """The processes on a GPU that were asked for."""
    found = []
    for use in look.uses:
        process = look.processes.get(use["pid"], {})
        name = os.path.basename((process.get("command") or NONE).split(" ")[0])
        if use["gpu"] != gpu or parsed.text("pid", str(use["pid"])) != str(use["pid"]):
            continue
        if parsed.text("name", name).lower() == name.lower():
            found.append((name, use))
    return found


def readable(count):
    if count is None:
        return NONE
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1024 or unit == "TB":
            return f"{count:3.1f} {unit}"
        count /= 1024
    return NONE


def info_of(parsed, look, gpu, name, use):
    """A process as a tree of figures."""
    vram = Figure(use["vram_bytes"], "B")
    unknown = Figure(None, "B")
    info = {"name": Figure(name), "pid": Figure(use["pid"]),
            "memory_usage": {"gtt_mem": unknown, "cpu_mem": unknown, "vram_mem": vram}, "mem_usage": vram}
    if parsed.on("general"):
        return info
    info["usage"] = {"gfx": Figure(None, "ns"), "enc": Figure(None, "ns")}
    if not old_form():
        units = look.gpus[gpu]["compute_units"]
        share = round(100 * use["cus"] / units, 1) if use["cus"] is not None and units else None
        info.update(sdma_usage=Figure(use["sdma_us"], "us"), cu_occupancy=Figure(share, "%"),
                    evicted_time=Figure(use["evicted_ms"], "ms"))
    return info


def json_processes(parsed, look, gpu):
    def plain(tree):
        return {key: plain(value) if isinstance(value, dict) else json_of(value) for key, value in tree.items()}
    found = [plain(info_of(parsed, look, gpu, name, use)) for name, use in uses_of(parsed, look, gpu)]
    return found or [NOBODY]


def print_tree(tree, depth, lines):
    for key, value in tree.items():
        blank = "    " * depth
        if isinstance(value, dict):
            lines.append(f"{blank}{key.upper()}:")
            print_tree(value, depth + 1, lines)
        else:
            shown = readable(value.value) if value.unit == "B" else text_of(value)
            lines.append(f"{blank}{key.upper()}: {shown}")


def process(parsed):
    tell_differences(PROCESS, parsed)
    output = Output(parsed)
    for again in rounds(parsed):
        look = Look(parsed)
        numbers = chosen(parsed, look)
        front = {"timestamp": look.at} if again else {}
        if output.form == "json":
            listed = []
            for number in numbers:
                infos = json_processes(parsed, look, number)
                listed.append({**front, "gpu": number, "process_info": infos[0] if infos == [NOBODY] else infos})
            output.json(listed)
        elif output.form == "csv":
            print_process_rows(output, parsed, look, numbers, front)
        else:
            print_processes(output, parsed, look, numbers, front)


def print_process_rows(output, parsed, look, numbers, front):
    keys = ["pid", "name", "gtt_mem", "cpu_mem", "vram_mem", "mem_usage", "sdma_usage", "cu_occupancy", "evicted_time"]
    rows = []
    for number in numbers:
        for name, use in uses_of(parsed, look, number):
            info = info_of(parsed, look, number, name, use)
            info.update(info.pop("memory_usage"))
            values = [info.get(key, Figure(None)).value for key in keys]
            rows.append([*front.values(), number, *(NONE if value is None else value for value in values)])
    if rows:
        output.rows([*front, "gpu", *keys], rows)
    else:
        output.rows([*front, "gpu", "process_info"], [[*front.values(), number, NOBODY] for number in numbers])


def print_processes(output, parsed, look, numbers, front):
    lines = []
    for number in numbers:
        if front:
            lines.append(f"TIMESTAMP: {look.at}")
        found = uses_of(parsed, look, number)
        lines.append(f"GPU: {number}")
        if not found:
            lines.append(f"    PROCESS_INFO: {NOBODY}")
        for name, use in found:
            lines.append("    PROCESS_INFO:")
            print_tree(info_of(parsed, look, number, name, use), 2, lines)
        lines.append("")
    output.write("\n".join(lines) + ("\n\n" if len(numbers) > 1 else "\n"))


def print_uses(output, parsed, look, numbers):
    """The processes as the second table of monitor."""
    titles = (("GPU", 3), ("NAME", 19), ("PID", 9), ("GTT_MEM", 10), ("CPU_MEM", 10), ("VRAM_MEM", 10), ("MEM_USG", 10),
              ("CU%", 9), ("SDMA", 8))
    lines = ["PROCESS INFO:", "".join(title.rjust(width) for title, width in titles)]
    for number in numbers:
        for name, use in uses_of(parsed, look, number):
            info = info_of(parsed, look, number, name, use)
            cells = (str(number), name[:17], str(use["pid"]), NONE, NONE, readable(use["vram_bytes"]),
                     readable(use["vram_bytes"]), text_of(info.get("cu_occupancy", Figure(None))),
                     text_of(Figure(use["sdma_us"], "us")))
            lines.append("".join(cell.rjust(width) for cell, (_, width) in zip(cells, titles)))
    if len(lines) == 2:
        lines = [lines[0], f"  {NOBODY}"]
    output.write("\n".join(lines) + "\n")


def list_gpus(parsed):
    tell_differences(LIST, parsed)
    output = Output(parsed)
    look = Look(parsed)
    found = [(number, look.gpus[number]["address"], uuid_of(look.gpus[number], device_id_of(parsed, look.gpus[number])))
             for number in chosen(parsed, look)]
    if output.form == "json":
        output.json([{"gpu": number, "bdf": address, "uuid": uuid} for number, address, uuid in found])
    elif output.form == "csv":
        output.rows(["gpu", "gpu_bdf", "gpu_uuid"], found)
    else:
        lines = [f"GPU: {number}\n    BDF: {address}\n    UUID: {uuid}\n" for number, address, uuid in found]
        output.write("\n".join(lines) + ("\n\n" if len(found) > 1 else "\n"))


def alone(parsed):
    """The table and the processes; or rocm-smi's."""
    if parsed.on("rocm-smi"):
        words = ["rocm-smi", "--rocm", os.environ.get("SONDE_ROCM_SMI") or "6"]
        for option in ("sys-root", "proc-root"):
            if parsed.text(option):
                words += ["--" + option, parsed.text(option)]
        tool.replace(words + (["-d", *parsed["gpu"]] if "gpu" in parsed else []))
    parsed["process"] = True
    monitor(parsed)

