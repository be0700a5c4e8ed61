"""The options of amd-smi: list, monitor, process, metric, static, topology, and those of amd-smi alone."""

from .table import NEAR, REFUSED, SAME, Front, Option

_FORM = {
    "Which, and how": [
        Option("-g --gpu", "GPU...", SAME, "only these, by number, PCI address or UUID; all by default"),
        Option("--json", "", SAME, "as JSON"),
        Option("--csv", "", SAME, "as CSV"),
        Option("--file", "FILE", SAME, "into this file; a file that is there gets more"),
        Option("--loglevel", "LEVEL", NEAR, "nothing", "nothing is logged"),
    ]}
_AGAIN = {
    "Again": [
        Option("-w --watch", "SEC", SAME, "look again after so many seconds, until Ctrl-C; with a time in front"),
        Option("-W --watch_time", "SEC", SAME, "with --watch: for so long"),
        Option("-i --iterations", "N", SAME, "with --watch: so often"),
    ]}
_ELSEWHERE = {
    "Not of amd-smi": [
        Option("--sys-root", "DIR", SAME, "look here instead of in /sys"),
        Option("--proc-root", "DIR", SAME, "look here instead of in /proc"),
    ]}

ALONE = Front(
    "amd-smi", "amd-smi [list|monitor|process|metric|static|topology] [OPTIONS]",
    "Prints what the GPUs and the processes on them do, as amd-smi monitor and process have it. It changes no device.",
    {"What": [Option("--rocm-smi", "", SAME, "the table of rocm-smi instead")], **_FORM, **_ELSEWHERE})
LIST = Front("amd-smi list", "amd-smi list [OPTIONS]", "Lists the GPUs with their PCI addresses and UUIDs.",
             {**_FORM, **_ELSEWHERE})
MONITOR = Front(
    "amd-smi monitor", "amd-smi monitor [OPTIONS]",
    "Prints a row a GPU: by default the columns of ROCm 6.4, and those of 6.1 where SONDE_ROCM_SMI is 6.1.",
    {"Columns": [
        Option("-p --power-usage", "", SAME, "power in W; from 6.4 on, also its cap"),
        Option("-t --temperature", "", SAME, "temperatures of junction and memory in degrees Celsius"),
        Option("-u --gfx", "", SAME, "clock and use of the compute units"),
        Option("-m --mem", "", SAME, "use and clock of the memory"),
        Option("-n --encoder", "", NEAR, "use and clock of encoders", "no driver tells their use: N/A"),
        Option("-d --decoder", "", SAME, "use and clock of decoders"),
        Option("-s --throttle-status", "", SAME, "THROTTLED or UNTHROTTLED; 6.1 only"),
        Option("-e --ecc", "", SAME, "errors corrected and not, PCIe packets sent again"),
        Option("-v --vram-usage", "", SAME, "memory in use, in MB of 2^20 bytes"),
        Option("-r --pcie", "", NEAR, "PCIe bandwidth in Mb/s", "from gpu_metrics 1.4 on; N/A before"),
        Option("-q --process", "", SAME, "also the processes"),
        Option("-V --violation", "", REFUSED, "", "sonde monitor --all says why clocks are held down, and for which share "
               "of the time")],
     **_AGAIN, **_FORM, **_ELSEWHERE})
PROCESS = Front(
    "amd-smi process", "amd-smi process [OPTIONS]", "Prints the processes on each GPU.",
    {"Which": [
        Option("-p --pid", "PID", SAME, "only this one"),
        Option("-n --name", "NAME", SAME, "only those of this name"),
        Option("-G --general", "", SAME, "pid, name and memory only"),
        Option("-e --engine", "", NEAR, "the time of engines", "the kernel does not count work of HIP: N/A; sonde record "
               "--pid measures it")],
     **_AGAIN, **_FORM, **_ELSEWHERE})

METRIC = Front(
    "amd-smi metric", "amd-smi metric [OPTIONS]", "Prints every figure of the GPUs, by section; all sections by default. The form is that of ROCm 6.1.",
    {"Sections": [
        Option("-m --mem-usage", "", SAME, "memory, in MB of 2^20 bytes"),
        Option("-u --usage", "", SAME, "how busy engines are"),
        Option("-p --power", "", NEAR, "power, and whether clocks are held down", "voltages: N/A"),
        Option("-c --clock", "", SAME, "clocks, and the least and the most that they can be"),
        Option("-t --temperature", "", SAME, "temperatures in degrees Celsius"),
        Option("-P --pcie", "", SAME, "width, speed and traffic of the link"),
        Option("-e --ecc", "", SAME, "errors that memory and caches have corrected and not"),
        Option("-k --ecc-blocks", "", SAME, "the same by block"),
        Option("-f --fan", "", SAME, "speed of the fan"),
        Option("-C --voltage-curve", "", NEAR, "voltages by clock", "N/A"),
        Option("-o --overdrive", "", NEAR, "by how much clocks are raised", "N/A"),
        Option("-l --perf-level", "", SAME, "how clocks are chosen"),
        Option("-x --xgmi-err", "", NEAR, "errors of XGMI since they were read last", "N/A: reading takes them away"),
        Option("-E --energy", "", SAME, "energy since the driver was loaded, in J")],
     **_AGAIN, **_FORM, **_ELSEWHERE})
STATIC = Front(
    "amd-smi static", "amd-smi static [OPTIONS]", "Prints what the GPUs are, by section; all sections by default. The form is that of ROCm 6.1.",
    {"Sections": [
        Option("-a --asic", "", NEAR, "the chip", "its name is that of the product"),
        Option("-b --bus", "", SAME, "its PCI address, and what its link can do at most"),
        Option("-V --vbios", "", NEAR, "its firmware", "the part number alone; the rest takes an ioctl"),
        Option("-d --driver", "", SAME, "the version of the driver"),
        Option("-v --vram", "", NEAR, "its memory", "its type takes an ioctl: N/A"),
        Option("-c --cache", "", SAME, "its caches"),
        Option("-B --board", "", SAME, "the board's numbers"),
        Option("-r --ras", "", SAME, "which blocks count errors"),
        Option("-p --partition", "", SAME, "how it is divided"),
        Option("-l --limit", "", SAME, "most power, and temperatures at which it slows down and switches off"),
        Option("-P --policy", "", NEAR, "how power is shared out", "N/A"),
        Option("-x --xgmi-plpd", "", NEAR, "how links of XGMI are switched off", "N/A"),
        Option("-R --process-isolation", "", NEAR, "whether processes are kept apart", "N/A"),
        Option("-u --numa", "", SAME, "the NUMA node that it is near to")],
     **_FORM, **_ELSEWHERE})
TOPOLOGY = Front(
    "amd-smi topology", "amd-smi topology [OPTIONS]", "Prints how each GPU reaches each other one; all tables by default.",
    {"Tables": [
        Option("-a --access", "", SAME, "whether one can read the memory of the other"),
        Option("-w --weight", "", SAME, "how far it is, as the driver weighs it"),
        Option("-o --hops", "", SAME, "over how many links"),
        Option("-t --link-type", "", SAME, "XGMI or PCIe"),
        Option("-b --numa-bw", "", SAME, "least and most bandwidth of the link in MB/s")],
     **_FORM, **_ELSEWHERE})

_CHANGES = "Sonde changes no device; AMD's own amd-smi does, as root"
MISSING = {
    "set": _CHANGES,
    "reset": _CHANGES,
    "firmware": "not answered here; AMD's own amd-smi has it",
    "ucode": "not answered here; AMD's own amd-smi has it",
    "bad-pages": "not answered here; AMD's own amd-smi has it",
    "event": "not answered here; sonde debug reports what goes wrong on a GPU",
    "xgmi": "not answered here; sonde monitor --all has the rates",
    "partition": "not answered here; sonde monitor --all shows partitions",
    "version": "this is Sonde; sonde --version",
}
