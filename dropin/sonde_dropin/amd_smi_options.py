"""The options of amd-smi: list, monitor, process, metric, static, topology, and those of amd-smi alone."""

from .table import Front, options_of

_FORM = {
    "Which, and how": options_of("""
        -g --gpu GPU...  only these, by number, PCI address or UUID; all by default
        --json  as JSON
        --csv  as CSV
        --file FILE  into this file; a file that is there gets more
        --loglevel LEVEL  nothing  differs: nothing is logged""")}
_AGAIN = {
    "Again": options_of("""
        -w --watch SEC  look again every SEC seconds, until Ctrl-C; with a time in front
        -W --watch_time SEC  with --watch: for so long
        -i --iterations N  with --watch: so often""")}
_ELSEWHERE = {
    "Not of amd-smi": options_of("""
        --sys-root DIR  look here instead of in /sys
        --proc-root DIR  look here instead of in /proc""")}

ALONE = Front(
    "amd-smi", "amd-smi [list|monitor|process|metric|static|topology] [OPTIONS]",
    "Prints what the GPUs and the processes on them do, as amd-smi monitor and process have it. It changes no device.",
    {"What": options_of("""
        --rocm-smi  the table of rocm-smi instead"""), **_FORM, **_ELSEWHERE})
LIST = Front("amd-smi list", "amd-smi list [OPTIONS]", "Lists the GPUs with their PCI addresses and UUIDs.",
             {**_FORM, **_ELSEWHERE})
MONITOR = Front(
    "amd-smi monitor", "amd-smi monitor [OPTIONS]",
    "Prints a row a GPU: by default the columns of ROCm 6.4, and those of 6.1 where SONDE_ROCM_SMI is 6.1.",
    {"Columns": options_of("""
        -p --power-usage  power in W; from 6.4 on, also its cap
        -t --temperature  temperatures of junction and memory in degrees Celsius
        -u --gfx  clock and use of the compute units
        -m --mem  use and clock of the memory
        -n --encoder  use and clock of encoders  differs: no driver tells their use: N/A
        -d --decoder  use and clock of decoders
        -s --throttle-status  THROTTLED or UNTHROTTLED; 6.1 only
        -e --ecc  errors corrected and not, PCIe packets sent again
        -v --vram-usage  memory in use, in MB of 2^20 bytes
        -r --pcie  PCIe bandwidth in Mb/s  differs: from gpu_metrics 1.4 on; N/A before
        -q --process  also the processes
        -V --violation  not done: sonde monitor --all says why clocks are throttled, and for which share of the time"""),
     **_AGAIN, **_FORM, **_ELSEWHERE})
PROCESS = Front(
    "amd-smi process", "amd-smi process [OPTIONS]", "Prints the processes on each GPU.",
    {"Which": options_of("""
        -p --pid PID  only this one
        -n --name NAME  only those of this name
        -G --general  pid, name and memory only
        -e --engine  the time of engines
            differs: the kernel does not count work of HIP: N/A; sonde record --pid measures it"""),
     **_AGAIN, **_FORM, **_ELSEWHERE})

METRIC = Front(
    "amd-smi metric", "amd-smi metric [OPTIONS]", "Prints every figure of the GPUs, by section; all sections by default. The form is that of ROCm 6.1.",
    {"Sections": options_of("""
        -m --mem-usage  memory, in MB of 2^20 bytes
        -u --usage  how busy engines are
        -p --power  power, and whether clocks are throttled  differs: voltages: N/A
        -c --clock  clocks, and the least and the most that they can be
        -t --temperature  temperatures in degrees Celsius
        -P --pcie  width, speed and traffic of the link
        -e --ecc  errors that memory and caches have corrected and not
        -k --ecc-blocks  the same by block
        -f --fan  speed of the fan
        -C --voltage-curve  voltages by clock  differs: N/A
        -o --overdrive  by how much clocks are raised  differs: N/A
        -l --perf-level  how clocks are chosen
        -x --xgmi-err  errors of XGMI since they were read last  differs: N/A: reading takes them away
        -E --energy  energy since the driver was loaded, in J"""),
     **_AGAIN, **_FORM, **_ELSEWHERE})
STATIC = Front(
    "amd-smi static", "amd-smi static [OPTIONS]", "Prints what the GPUs are, by section; all sections by default. The form is that of ROCm 6.1.",
    {"Sections": options_of("""
        -a --asic  the chip  differs: its name is that of the product
        -b --bus  its PCI address, and what its link can do at most
        -V --vbios  its firmware  differs: the part number alone; the rest takes an ioctl
        -d --driver  the version of the driver
        -v --vram  its memory  differs: its type takes an ioctl: N/A
        -c --cache  its caches
        -B --board  the board's numbers
        -r --ras  which blocks count errors
        -p --partition  how it is divided
        -l --limit  most power, and temperatures at which it slows down and switches off
        -P --policy  how power is shared out  differs: N/A
        -x --xgmi-plpd  how links of XGMI are switched off  differs: N/A
        -R --process-isolation  whether processes are kept apart  differs: N/A
        -u --numa  the NUMA node that it is near to"""),
     **_FORM, **_ELSEWHERE})
TOPOLOGY = Front(
    "amd-smi topology", "amd-smi topology [OPTIONS]", "Prints how each GPU reaches each other one; all tables by default.",
    {"Tables": options_of("""
        -a --access  whether one can read the memory of the other
        -w --weight  how far it is, as the driver weighs it
        -o --hops  over how many links
        -t --link-type  XGMI or PCIe
        -b --numa-bw  least and most bandwidth of the link in MB/s"""),
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
