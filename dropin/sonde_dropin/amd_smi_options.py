"""The options of amd-smi: list, monitor, process, and those of amd-smi alone."""

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
    "amd-smi", "amd-smi [list|monitor|process] [OPTIONS]",
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

_CHANGES = "Sonde changes no device; AMD's own amd-smi does, as root"
MISSING = {
    "set": _CHANGES,
    "reset": _CHANGES,
    "static": "not answered here; sonde avail gpus and sonde doctor say what the GPUs are",
    "firmware": "not answered here; AMD's own amd-smi has it",
    "ucode": "not answered here; AMD's own amd-smi has it",
    "bad-pages": "not answered here; AMD's own amd-smi has it",
    "metric": "not answered here; sonde monitor --once --all --json has every number",
    "event": "not answered here; sonde debug reports what goes wrong on a GPU",
    "topology": "not answered here; AMD's own amd-smi has it",
    "xgmi": "not answered here; sonde monitor --all has the rates",
    "partition": "not answered here; sonde monitor --all shows partitions",
    "version": "this is Sonde; sonde --version",
}
