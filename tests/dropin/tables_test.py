#!/usr/bin/python3
"""Walks the option tables of the drop-in fronts: tables_test.py BUILD_DIR.

Every option that the tools have is in its table; every option does what the table says of it on a real
command line (a stand-in for `sonde` records how it is called); the page has the tables as they are.
"""

import contextlib
import csv
import io
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "dropin"))

from sonde_dropin import counters, files, fronts, jobs, main, rocprof, rocprofv3, summary, table  # noqa: E402

# The options that each tool has, as its own help and its users name them.
KNOWN = {
    "runTracer.sh": "-o",
    "loadTracer.sh": "-o",
    "rpdRemote.sh": "",
    "rpd_trim": "--start --end --dryrun",
    "rpd2tracing.py": "--start --end --format",
    "rocprof": """-i -o -d -t -m --list-basic --list-derived --tool-version --verbose --cmd-qts --basenames
        --timestamp --ctx-wait --ctx-limit --heartbeat --obj-tracking --stats --roctx-trace --hip-trace
        --hsa-trace --sys-trace --roctx-rename --trace-start --trace-period --flush-rate --parallel-kernels
        --merge-traces""",
    "rocprofv3": """-i --input -o --output-file -d --output-directory -f --output-format --output-config
        --log-level -E --extra-counters --echo --minimum-output-data --disable-signal-handlers
        -r --runtime-trace -s --sys-trace --hip-trace --hsa-trace --kernel-trace --memory-copy-trace
        --marker-trace --scratch-memory-trace --memory-allocation-trace --rccl-trace --kokkos-trace
        --rocdecode-trace --rocjpeg-trace --ompt-trace --kfd-trace --hip-event-trace --hip-graph-trace
        --rocshmem-trace --hipfile-trace --hip-runtime-trace --hip-compiler-trace --hsa-core-trace
        --hsa-amd-trace --hsa-image-trace --hsa-finalizer-trace --pmc -L --list-avail --spm
        --pc-sampling-beta-enabled --pc-sampling-unit --pc-sampling-method --pc-sampling-interval
        --att --att-library-path --att-target-cu --att-simd-select --att-buffer-size
        --att-shader-engine-mask --att-gpu-index --att-perfcounters --att-perfcounter-ctrl --att-activity
        --att-serialize-all --stats -S --summary -D --summary-per-domain --summary-groups
        --summary-output-file -u --summary-units -M --mangled-kernels -T --truncate-kernels
        --kernel-rename --kernel-include-regex --kernel-exclude-regex --kernel-iteration-range
        -P --collection-period --collection-period-unit --selected-regions --perfetto-backend
        --perfetto-buffer-size --perfetto-buffer-fill-policy --perfetto-shmem-size-hint
        --group-by-queue -A --agent-index --preload --rocm-root -p --pid --attach
        --attach-duration-msec --attach-children --attach-sync-output --process-sync
        --profile-mpi-ranks --mpi-world-rank-variable""",
}
KNOWN["rocprof-sys-sample"] = """-T --trace -P --profile -F --flat-profile -H --host -D --device -f --freq -I
    --include -E --exclude -C --cpu-events -G --gpu-events -o --output -t --tids -w --wait -d --duration -c --config
    --cputime --realtime --process-freq --profile-format --trace-buffer-size --trace-fill-policy --trace-file
    --gpus --cpus --sampling-freq --sample-cputime --sample-realtime --trace-wait --trace-duration --process-wait
    --process-duration --hsa-interrupt --sampling-wait --sampling-duration --inlines --profile-diff"""
KNOWN["omnistat-usermode"] = """--start --stop --startserver --stopserver --startexporters --stopexporters --interval
    --pushinterval --localjob"""
KNOWN["omnistat-query"] = "--job --interval --step --marker --pdf --export"
KNOWN["rocprof-sys-run"] = KNOWN["rocprof-sys-sample"] + " -S --sample -l --launcher --fork --sample-overflow"
KNOWN["rocprof-sys-avail"] = """-S --settings -C --components -H --hw-counters -a --all -r --filter --categories
    --advanced -b --brief -d --description -G --generate-config -F --config-format --force"""
KNOWN["rocpd convert"] = """-i --input -f --output-format -o --output-file -d --output-path --automerge-limit
    --kernel-rename --agent-index-value --perfetto-backend --perfetto-buffer-fill-policy --perfetto-buffer-size
    --perfetto-shmem-size-hint --group-by-queue --start --start-marker --end --end-marker --inclusive"""
KNOWN["rocpd query"] = """-i --input --query --script --format -o --output-file -d --output-path --automerge-limit
    --email-to --email-from --email-subject --smtp-server --smtp-port --smtp-user --smtp-password --zip-attachments
    --inline-preview --template-path --start --start-marker --end --end-marker"""
KNOWN["rocpd summary"] = """-i --input --format -o --output-file -d --output-path --automerge-limit
    --region-categories --domain-summary --summary-by-rank --start --start-marker --end --end-marker"""
KNOWN["rocpd merge"] = "-i --input -o --output-file -d --output-path"
KNOWN["nsys stats"] = """-r --report --timeunit --filter-time --filter-nvtx --report-dir --help-reports --help-formats
    -f --format -o --output --force-overwrite -q --quiet --force-export --sqlite"""
KNOWN["nsys export"] = """-t --type -o --output -f --force-overwrite -q --quiet --lazy --tables --times --separate-strings
    --include-json --include-blobs --ts-normalize --ts-shift"""
KNOWN["rocprof-compute analyze"] = """-p --path -k --kernel -d --dispatch -b --block --gpu-id -n --normal-unit -t
    --time-unit --max-stat-num --decimal --cols --include-cols --kernel-verbose -o --output --save-dfs --list-stats
    --list-metrics --list-nodes --nodes -s --specs --gui --random-port --tui -g --debug --specs-correction --report-diff
    --pc-sampling-sorting-type --output-format --output-name -V --verbose -q --quiet"""
KNOWN["omniperf analyze"] = KNOWN["rocprof-compute analyze"]
KNOWN["rocprof-compute profile"] = """-n --name -p --path --subpath -k --kernel -d --dispatch -b --block --set --list-sets
    --list-metrics --join-type --hip-trace --kokkos-trace --spatial-multiplexing --format-rocprof-output
    --retain-rocpd-output --no-roof --roof-only --device -R --roofline-data-type --sort -m --mem-level --kernel-names
    --pc-sampling-method --pc-sampling-interval -s --specs -V --verbose -q --quiet"""
KNOWN["omniperf profile"] = KNOWN["rocprof-compute profile"]
KNOWN["amd-smi list"] = "-g --gpu --json --csv --file --loglevel --sys-root --proc-root"
KNOWN["amd-smi monitor"] = KNOWN["amd-smi list"] + """ -p --power-usage -t --temperature -u --gfx -m --mem -n --encoder
    -d --decoder -s --throttle-status -e --ecc -v --vram-usage -r --pcie -q --process -V --violation
    -w --watch -W --watch_time -i --iterations"""
KNOWN["amd-smi process"] = KNOWN["amd-smi list"] + """ -p --pid -n --name -G --general -e --engine
    -w --watch -W --watch_time -i --iterations"""
KNOWN["amd-smi metric"] = KNOWN["amd-smi list"] + """ -m --mem-usage -u --usage -p --power -c --clock -t --temperature
    -P --pcie -e --ecc -k --ecc-blocks -f --fan -C --voltage-curve -o --overdrive -l --perf-level -x --xgmi-err
    -E --energy -w --watch -W --watch_time -i --iterations"""
KNOWN["amd-smi static"] = KNOWN["amd-smi list"] + """ -a --asic -b --bus -V --vbios -d --driver -v --vram -c --cache
    -B --board -r --ras -p --partition -l --limit -P --policy -x --xgmi-plpd -R --process-isolation -u --numa"""
KNOWN["amd-smi topology"] = KNOWN["amd-smi list"] + " -a --access -w --weight -o --hops -t --link-type -b --numa-bw"
KNOWN["amd-smi"] = KNOWN["amd-smi list"] + " --rocm-smi"
TABLES = {**{name: front for name, (front, _) in fronts.FRONTS.items()}, **{name: front for name, (front, _) in fronts.ALONE.items()},
          **fronts.SCRIPTS}
# Values that an option takes, where not any text will do.
VALUES = {"--timestamp": "on", "--basenames": "on", "--trace-start": "on", "--trace-period": "1s:2s:3s",
          "--tool-version": "1", "-f": "csv", "-u": "usec", "-P": "1:2:0", "--collection-period-unit": "sec",
          "--sonde-as": "6.4", "--profile-mpi-ranks": "0", "--output-format": "rocpd",
          "--summary-units": "sec", "--collection-period": "0:1:1", "--summary-groups": "HIP",
          "--profile-format": "text", "--start": "5%", "--end": "50%"}


# The same letter, another meaning.
VALUES_OF = {"rocprof-sys-avail": {"-F": "txt", "--config-format": "txt"},
             "rocprof-sys-sample": {"-f": "99"}, "rocprof-sys-run": {"-f": "99"}}


def example(name, option, spelling):
    """A command line's words with this option."""
    if not option.value or option.value.startswith("["):
        return [spelling]
    return [spelling, VALUES_OF.get(name, VALUES).get(spelling, VALUES.get(spelling, "1"))]


class Tables(unittest.TestCase):
    def test_every_option_of_the_tools_is_there_and_no_other_but_ours(self):
        self.assertEqual(set(TABLES), set(KNOWN))
        for name, front in TABLES.items():
            there = [spelling for option in front.options for spelling in option.spellings]
            self.assertEqual(len(there), len(set(there)), f"{name}: an option twice")
            extra = set(there) - set(KNOWN[name].split())
            self.assertEqual(set(KNOWN[name].split()) - set(there), set(), name)
            self.assertTrue(all(word.startswith("--sonde-") for word in extra), (name, extra))

    def test_what_is_not_the_same_says_so_in_one_line(self):
        for name, front in TABLES.items():
            for option in front.options:
                self.assertIn(option.how, (table.SAME, table.NEAR, table.REFUSED))
                self.assertEqual(option.how != table.SAME, bool(option.note), (name, option.names))
                self.assertNotIn("\n", option.text + option.note)

    def test_help_has_every_option_and_is_made_of_the_table(self):
        for name, (front, _) in fronts.FRONTS.items():
            tool, *command = name.split()
            done = subprocess.run([BUILD / "lib/sonde/drop-in" / tool, *command, "--help"], capture_output=True,
                                  text=True, check=True, env={"PATH": os.environ["PATH"]})
            self.assertEqual(done.stdout, table.help_text(front))
            for option in front.options:
                for spelling in option.spellings:
                    self.assertRegex(done.stdout, rf"(?m)^  .*(?<![\w-]){spelling}(?![\w-])")
                self.assertIn(option.note, done.stdout)

    def test_the_script_of_its_own_has_the_options_of_its_table(self):
        done = subprocess.run([sys.executable, ROOT / "python/rpd2tracing.py", "--help"],
                              capture_output=True, text=True, check=True)
        for option in TABLES["rpd2tracing.py"].options:
            self.assertIn(option.names + " ", done.stdout)
        self.assertEqual(done.stdout.count("\n  --"), 3)

    def test_the_page_has_the_tables(self):
        text = (ROOT / "docs/drop-in.md").read_text()
        for name, front in TABLES.items():
            self.assertIn(f"## {name}\n", text)
            self.assertIn(table.page(front), text, f"docs/drop-in.md: the table of {name}")

    def test_the_build_has_every_front(self):
        for name in TABLES:
            self.assertTrue(os.access(BUILD / "lib/sonde/drop-in" / name.split()[0], os.X_OK), name)


class OptionsRun(unittest.TestCase):
    """Every spelling of every option on a command line of its own, with a stand-in for `sonde`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drop in ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.calls = self.folder / "calls"
        stand_in = self.folder / "sonde"
        stand_in.write_text(f'#!/bin/sh\nprintf "<%s>" "$@" >> "{self.calls}"\n')
        stand_in.chmod(0o755)

    def run_front(self, name, words):
        self.calls.write_text("")
        out, err = self.folder / "stdout", self.folder / "stderr"
        child = os.fork()  # what main.py does, without a start of Python for each of 200 command lines
        if child == 0:
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
            status = 99
            try:
                os.chdir(self.folder)
                os.environ.clear()
                os.environ.update({"PATH": "/usr/bin:/bin", "SONDE": str(self.folder / "sonde")})
                tool, *command = name.split()
                status = main.main(tool, command + words)
            except SystemExit as end:
                status = end.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return subprocess.CompletedProcess([name, *words], code, out.read_text(), err.read_text())

    def test_each_does_what_the_table_says(self):
        job = self.folder / "jobs.json"
        job.write_text('{"jobs": [{}]}')
        for name, (front, _) in fronts.FRONTS.items():
            for option in front.options:
                # A trace, or what goes on; tests/e2e/dropin*.toml
                reads = name == "rpd_trim" or " " in name or name.startswith("omnistat")
                if reads and option.how != table.REFUSED:
                    parsed = table.parse(front, example(name, option, option.spellings[0]))
                    self.assertIn(option.key, parsed)
                    continue
                for spelling in option.spellings:
                    words = example(name, option, spelling)
                    if option.key in ("input", "i", "config"):
                        words = [spelling, str(job)]
                    if front.program in ("dashes", "either"):
                        words.append("--")
                    if front.program:
                        words += ["a program", "-x", "$HOME * ;"]
                    self.check(name, front, option, spelling, self.run_front(name, words))

    def check(self, name, front, option, spelling, done):
        called = self.calls.read_text()
        if option.how == table.REFUSED:
            self.assertEqual(done.returncode, 2, (name, spelling))
            self.assertEqual(done.stderr, f"{name}: {spelling}: {option.note}\n")
            self.assertEqual(called, "", "nothing is run")
            return
        lists = "list" in option.sets
        if option.key == "list-derived":  # it knows them itself
            self.assertIn("VALUUtilization = 100 * ", done.stdout)
            return
        self.assertEqual(done.returncode, 0, (name, spelling, done.stderr))
        if lists:
            self.assertTrue(called.startswith("<avail><--category><counters>"), called)
        elif not front.program:  # it runs none: another command of sonde, or it does all itself
            self.assertTrue(called.startswith("<avail>") or "rocprof-sys-avail: 1: " in done.stdout, called)
            (self.folder / "1").unlink(missing_ok=True)
        else:
            self.assertIn("<--><a program><-x><$HOME * ;>", called, (name, spelling))
        near = f"{name}: {option.spellings[-1]}: {option.note}\n" if option.how == table.NEAR else ""
        self.assertEqual(done.stderr, near)

    def test_wrong_command_lines_are_one_line_and_run_nothing(self):
        for name, words, said in (
                ("rocprofv3", ["--kernel-trase", "--", "x"], "--kernel-trase: no such option; --kernel-trace is"),
                ("rocprofv3", ["x"], "x: a program to run stands after --"),
                ("rocprofv3", [], "no program to run"),
                ("rocprofv3", ["-o"], "-o: needs NAME"),
                ("rocprofv3", ["-o", "--", "x"], "-o: needs NAME"),
                ("rocprofv3", ["-f", "xml", "--", "x"], "-f: 'xml' is none of csv, pftrace, otf2, rocpd"),
                ("rocprofv3", ["-u", "h", "--", "x"], "-u: 'h' is none of"),
                ("rocprofv3", ["-P", "a:b", "--", "x"], "--collection-period: 'a:b' is not"),
                ("rocprofv3", ["--sonde-as", "new", "--", "x"], "--sonde-as: 'new' is not a version"),
                ("rocprofv3", ["--kernel-trace=maybe", "--", "x"], "--kernel-trace: 'maybe' is neither"),
                ("rocprofv3", ["-i", "none.json", "--", "x"], "none.json: No such file"),
                ("rocprofv3", ["--pmc", "A:device=0", "--", "x"], "--pmc: 'A:device=0': all GPUs are counted"),
                ("rocprofv3", ["--pmc", "A", "-P", "1:2:0", "--", "x"], "--collection-period: not with --pmc"),
                ("rocprofv3", ["--pmc", "A", "--kernel-exclude-regex", "(", "--", "x"], "--kernel-exclude-regex: '(': "),
                ("rocprofv3", ["--pmc", "A", "--kernel-iteration-range", "[a]", "--", "x"], "--kernel-iteration-range: 'a' is not"),
                ("rocprof-sys-sample", ["-f", "fast", "--", "x"], "--sampling-freq: 'fast' is not a number"),
                ("rocprof-sys-sample", ["-c", "none.cfg", "--", "x"], "none.cfg: no such file"),
                ("rocprof-sys-run", ["-S", "--profile-format", "xml", "--", "x"], "--profile-format: 'xml' is none"),
                ("rocprof-sys-run", ["-S", "cputime", "realtime"], "no program to run"),
                ("rocprof-sys-run", ["-TPHDx", "--", "x"], "-TPHDx: no such option"),
                ("rocprof-sys-run", ["-P"], "no program to run"),
                ("omnistat-usermode", [], "say --start or --stop"),
                ("omnistat-usermode", ["--start", "--interval", "x"], "--interval: 'x' is not a number of seconds"),
                ("omnistat-usermode", ["--stop"], f"omnistat-local/{socket.gethostname()}.rpd: is not being recorded; omnistat-usermode --start begins it"),
                ("omnistat-query", [], "--job: needs ID"),
                ("omnistat-query", ["--job", "7"], "omnistat-7: no recordings here"),
                ("rocpd", [], "say which command: convert, query, summary, merge"),
                ("rocpd", ["frob"], "frob: no such command"),
                ("rocpd package", ["-i", "x"], "each command takes several databases"),
                ("rocpd convert", ["-f", "csv"], "-i: needs FILE..."),
                ("rocpd convert", ["-i", "none.db", "-f", "csv"], "none.db: no such file"),
                ("rocpd convert", ["-i", "none.db", "-f", "xml"], "--output-format: 'xml' is none of csv, pftrace"),
                ("rocpd convert", ["-i", "."], "-f: needs FORMAT"),
                ("rocpd query", ["-i", "jobs.json"], "--query: needs SQL"),
                ("rocpd query", ["-i", ".", "--query", "select 1"], ".: has no .db file"),
                ("rocpd query", ["-i", "x", "--query", "select 1", "--format", "pdf"], "--format: 'pdf' is none of"),
                ("rocpd summary", ["-i", "x", "--region-categories", "all"], "--region-categories: 'ALL' is none of"),
                ("rocprof-compute profile", ["--", "y"], "-n: needs NAME"),
                ("rocprof-compute profile", ["-n", "x"], "no program to run"),
                ("rocprof-compute profile", ["-n", "a/b", "--", "y"], "-n: 'a/b': a name"),
                ("rocprof-compute profile", ["-n", "x", "-d", "7:4", "--", "y"], "--dispatch: '7:4' is not a dispatch"),
                ("rocprof-compute profile", ["-n", "x", "-b", "2.x", "--", "y"], "--block: '2.x' is not a panel"),
                ("rocprof-compute profile", ["-n", "x", "--set", "most", "--", "y"], "--set: 'most' is none of"),
                ("omniperf profile", ["-n", "x", "--subpath", "y", "--", "y"], "--subpath: 'y' is neither"),
                ("rocprof-compute", ["frob"], "frob: no such command; there are analyze"),
                ("rocprof-compute analyze", [], "-p: needs DIR..."),
                ("rocprof-compute analyze", ["-p", "none"], "none: no such folder"),
                ("rocprof-compute analyze", ["-p", ".", "-n", "per_day"], "--normal-unit: 'per_day' is none of"),
                ("rocprof-compute analyze", ["-p", ".", "-b", "2.x"], "--block: '2.x' is not a panel"),
                ("rocprof-compute analyze", ["-p", ".", "-d", "last"], "--dispatch: 'last' is not a dispatch"),
                ("rocprof-compute analyze", ["-p", ".", "-k", "vecCopy"], "--kernel: 'vecCopy' is not a number"),
                ("rocprof-compute analyze", ["-p", ".", "--decimal", "few"], "--decimal: 'few' is not a number"),
                ("omniperf analyze", ["-p", ".", "--tui"], "--tui: sonde sol DIR"),
                ("nsys", [], "say which command: stats, export"),
                ("nsys profile", ["-o", "x", "app"], "CUDA is not recorded by Sonde"),
                ("nsys stats", [], "no file"),
                ("nsys stats", ["none.sqlite"], "none.sqlite: no such file"),
                ("nsys stats", ["a", "b"], "b: one word too many"),
                ("nsys stats", ["-r", "cuda_kern", "x"], "--report: 'cuda_kern' is none of nvtx_sum"),
                ("nsys stats", ["-f", "xls", "x"], "--format: 'xls' is none of"),
                ("nsys stats", ["-o", "@less", "x"], "--output: @COMMAND"),
                ("nsys stats", ["--timeunit", "h", "x"], "--timeunit: 'h' is none of"),
                ("nsys export", ["-t", "arrow", "x"], "--type: 'arrow' is neither sqlite nor json"),
                ("rocprof-sys-avail", ["-G"], "-G: needs FILE"),
                ("rocprof-sys-avail", ["-G", "x", "-F", "ini"], "--config-format: 'ini' is none of txt, json, xml"),
                ("rocprof-sys-avail", ["-G", "none/x.cfg"], "none/x.cfg: No such file"),
                ("rocprof-sys-avail", ["-G", "."], ".: exists; --force replaces it"),
                ("rocprof-sys-avail", ["-r", "("], "--filter: '(': "),
                ("rocprof-sys-avail", ["-bX"], "-bX: no such option"),
                ("rocprof-sys-avail", ["word"], "word: one word too many"),
                ("rocprof", ["--timestamp", "perhaps", "x"], "--timestamp: 'perhaps' is neither on nor off"),
                ("rocprof", ["--trace-period", "1:2:3", "x"], "--trace-period: '1:2:3' is not"),
                ("rocprof", ["--stats=1", "x"], "--stats: takes no value"),
                ("rocprof", ["-o", "none/out.csv", "x"], "none: no such folder"),
                ("rocprof", ["--hip-trace"], "no program to run"),
                ("rocprof", ["-i", "none.txt", "x"], "none.txt: No such file"),
                ("runTracer.sh", ["-x", "y"], "-x: no such option"),
                ("runTracer.sh", ["-o", "t.rpd"], "no command to record"),
                ("rpdRemote.sh", [], "say start or stop"),
                ("rpdRemote.sh", ["start"], "say start or stop"),
                ("rpdRemote.sh", ["kill", "1"], "say start or stop"),
                ("rpdRemote.sh", ["stop", "999999999"], "999999999: no such process"),
                ("rpdRemote.sh", ["stop", str(os.getpid())], f"{os.getpid()}: started without librpd_remote.so"),
                ("rpd_trim", ["none.rpd", "--start", "5%"], "none.rpd: no such file")):
            done = self.run_front(name, words)
            self.assertIn(done.returncode, (1, 2), (name, words))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(f"{name}: {said}", done.stderr)
            self.assertEqual(self.calls.read_text(), "", (name, words))

    def test_status_signal_and_a_missing_sonde(self):
        (self.folder / "sonde").write_text("#!/bin/sh\nexit 7\n")
        self.assertEqual(self.run_front("rocprof", ["x"]).returncode, 7)
        self.assertEqual(self.run_front("rocprofv3", ["--", "x"]).returncode, 7)
        self.assertEqual(self.run_front("runTracer.sh", ["x"]).returncode, 7)
        (self.folder / "sonde").write_text("#!/bin/sh\nkill -TERM $$\n")
        self.assertEqual(self.run_front("rocprofv3", ["--", "x"]).returncode, -15)
        (self.folder / "sonde").unlink()
        for name, words in (("rocprof", ["x"]), ("rocprofv3", ["--", "x"]), ("runTracer.sh", ["x"])):
            done = self.run_front(name, words)
            self.assertEqual(done.returncode, 127)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Parts(unittest.TestCase):
    def parse(self, *words):
        return table.parse(rocprofv3.ROCPROFV3, list(words))

    def test_domains_are_taken_out_again(self):
        domains = rocprofv3._domains(self.parse("--sys-trace", "--hsa-trace=no", "--", "x"))
        self.assertEqual(domains, {"hip", "marker", "rccl", "kernel", "memory_copy"})
        self.assertEqual(rocprofv3._domains(self.parse("--kernel-trace", "--", "x")), {"kernel"})
        self.assertEqual(rocprofv3._domains(self.parse("--kernel-trace", "no", "--", "x")), set())

    def test_values_and_joined_letters(self):
        run = fronts.FRONTS["rocprof-sys-run"][0]
        parsed = table.parse(run, ["-TPHD", "-S", "cputime", "realtime", "-f", "9", "--", "x", "-y"])
        self.assertTrue(all(parsed.on(key) for key in ("trace", "profile", "host", "device")))
        self.assertEqual((parsed["sample"], parsed["sampling-freq"], parsed.program), ("realtime", "9", ["x", "-y"]))
        stats = fronts.FRONTS["nsys stats"][0]
        parsed = table.parse(stats, ["-r", "a,b", "-r", "c", "file"])
        self.assertEqual((parsed["report"], parsed.words), (["a,b", "c"], ["file"]))

    def test_the_default_format_is_that_of_the_version(self):
        self.assertEqual(rocprofv3._formats(self.parse("--", "x")), ["rocpd"])
        self.assertEqual(rocprofv3._formats(self.parse("--sonde-as", "6.4", "--", "x")), ["csv"])
        self.assertEqual(rocprofv3._formats(self.parse("-f", "csv", "pftrace", "--", "x")),
                         ["csv", "pftrace"])

    def test_base_names(self):
        for mangled, base in (("_ZN4work5scaleIfEEvPT_S1_", "scale"), ("_Z7add_onePi", "add_one"),
                              ("Cijk_Ailk_MT64x64", "Cijk_Ailk_MT64x64"),
                              ("_ZN12_GLOBAL__N_14kernEv", "kern"), ("plain", "plain"),
                              ("void at::native::foo<int, std::array<char*, 2ul> >(int)", "foo")):
            self.assertEqual(files.base_name(mangled), base)
        self.assertEqual(files.demangled("_Z7add_onePi"), "add_one(int*)")

    def test_figures_of_names_add_up_to_those_of_all(self):
        samples = {"a": [3, 5, 10], "b": [1, 7]}
        whole = summary.Figures()
        for values in samples.values():
            mean = sum(values) / len(values)
            deviation = (sum((one - mean) ** 2 for one in values) / (len(values) - 1)) ** 0.5
            whole.add({"Calls": len(values), "AverageNs": mean, "StdDev": deviation,
                       "TotalDurationNs": sum(values), "MinNs": min(values), "MaxNs": max(values)})
        every = samples["a"] + samples["b"]
        mean = sum(every) / 5
        self.assertEqual((whole.calls, whole.total, whole.low, whole.high), (5, 26, 1, 10))
        self.assertAlmostEqual(whole.deviation,
                               (sum((one - mean) ** 2 for one in every) / 4) ** 0.5)

    def test_names_that_become_one_are_one_row(self):
        kernels = {"void add<float>(float*)": [3, 5, 10], "void add<double>(double*)": [1, 7], "scale(int)": [4]}
        with tempfile.TemporaryDirectory() as folder:
            for source in ("results_kernel_stats.csv", "results.stats.csv"):
                with open(Path(folder, source), "w", encoding="utf-8") as file:
                    print("Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev", file=file)
                    for name, ns in kernels.items():
                        deviation = statistics.stdev(ns) if len(ns) > 1 else 0
                        print(f'"{name}"', len(ns), sum(ns), statistics.mean(ns), 0, min(ns), max(ns), deviation,
                              sep=",", file=file)

            def rows(named):
                with files.Files(str(Path(folder, "out"))) as made:
                    rocprofv3._write_statistics(made, folder, {"kernel"}, named)
                    rocprof._statistics(made, str(Path(folder, "results.stats.csv")), named, ".stats.csv")
                return [list(csv.reader(Path(folder, name).read_text().splitlines()))[1:]
                        for name in ("out_kernel_stats.csv", "out.stats.csv", "out_domain_stats.csv")]

            whole, short = rows(files.demangled), rows(files.base_name)
            add = statistics.stdev(kernels["void add<float>(float*)"] + kernels["void add<double>(double*)"])
            self.assertEqual(short[0], [["add", "5", "26", "5.200000", "86.666667", "1", "10", f"{add:.6f}"],
                                        ["scale", "1", "4", "4.000000", "13.333333", "4", "4", "0.000000"]])
            self.assertEqual([row[:4] for row in short[1]], [["add", "5", "26", "5"], ["scale", "1", "4", "4"]])
            self.assertEqual(len(whole[0]), 3)
            self.assertEqual(whole[2], short[2])  # of the domain: the same
            self.assertEqual(short[2][0][-1], f"{statistics.stdev(sum(kernels.values(), [])):.6f}")
            said = Path(folder, "said")
            rocprofv3._summaries(self.parse("-S", "--summary-output-file", str(said), "--", "x"), folder, {"kernel"},
                                 files.base_name)
            self.assertEqual(re.findall(r"\| (\w+) +\| KERNEL_DISPATCH \| +(\d+) \| +(\d+) ", said.read_text()),
                             [("add", "5", "26"), ("scale", "1", "4")])

    def test_input_files_of_counters(self):
        def read(text, name="in.txt"):
            Path(folder, name).write_text(text)
            return counters.read_input(str(Path(folder, name)))

        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(read("# pmc: A\ngpu: 0\nkernel: x\n"), None)
            self.assertEqual(read("pmc : A B,C # D\nrange: 2\nkernel: one, two\n\n pmc:B E[3]\nrange: 1:4\ngpu: 0 2\n"),
                             (["A", "B", "C", "E[3]"], ["one", "two"], [(1, 3)], [0, 2]))
            for text, span in (("3:", (3, counters.LAST)), (":3", (0, 2)), ("3", (3, 3))):
                self.assertEqual(read(f"pmc: A\nrange: {text}").ranges, [span])
            self.assertEqual(read('# of a test\n<!-- <metric name=X> -->\n<metric name=A,B range="0:1" kernel="k<int>" gpu_index="1"></metric>'
                                  '\n<metric name="C D"/>', "in.xml"), (["A", "B", "C", "D"], ["k<int>"], [(0, 0)], [1]))
            for text, said in (("pmc: A\nrange: 4:4", "range: '4:4' has no dispatch"), ("pmc: A\nrange: :", "is not a range"),
                               ("pmc: A\ngpu: all", "gpu: 'all' is no list"), ("<metric name=X expr=A/B>", "expr: Sonde has no")):
                with self.assertRaisesRegex(table.Usage, said):
                    read(text)
        self.assertEqual(counters.options(counters.Wanted(["A", "B_sum"], ["f(int*)"], [(1, 3)], [0])),
                         [("counter", "A,B_sum"), ("kernel", "f\\(int\\*\\)"), ("dispatch", "1:3")])
        self.assertEqual([counters.recorded(name) for name in ("TCC_HIT_sum", "TCC_HIT[12]", "SQ_WAVES")],
                         ["TCC_HIT", "TCC_HIT", "SQ_WAVES"])

    def test_dispatches_of_each_kernel_are_counted_from_1(self):
        wanted = counters.Iterations(["[1-2],", "[4]"])
        rows = [("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a", 4), ("a", 5), ("b", 6)]
        self.assertEqual([wanted(*row) for row in rows], [True, True, True, True, False, True, True])

    def test_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "in.json")
            path.write_text('{"jobs": [{"kernel_trace": true, "output_directory": "a"},'
                            ' {"hip_trace": true, "pmc": []}]}')
            runs = jobs.read(rocprofv3.ROCPROFV3, self.parse("-i", str(path), "-o", "n", "--", "x"))
            self.assertEqual([rocprofv3._domains(run) for run in runs], [{"kernel"}, {"hip"}])
            self.assertEqual([run["output-directory"] for run in runs], ["a/pass_1", "pass_2"])
            path.write_text('{"jobs": [{"pmc": ["A", "B_sum"]}, {"pmc_groups": [["C"], ["D", "C"]]}]}')
            runs = jobs.read(rocprofv3.ROCPROFV3, self.parse("-i", str(path), "--", "x"))
            self.assertEqual([rocprofv3._wanted(run).names for run in runs], [["A", "B_sum"], ["C", "D"]])
            text = Path(folder, "in.txt")
            text.write_text("# two\npmc: A B,C # D\ngpu: 0\npmc : D\n")
            runs = jobs.read(rocprofv3.ROCPROFV3, self.parse("-i", str(text), "-d", "a", "--", "x"))
            self.assertEqual([(run["pmc"], run["output-directory"]) for run in runs],
                             [(["A", "B", "C"], "a/pmc_1"), (["D"], "a/pmc_2")])
            for text in ('{"jobs": [{"hip_trace": false}]}', '{"jobs": []}', "[]", "{", '{"jobs": [1]}',
                         '{"jobs": [{"kernel_trace": "maybe"}]}', '{"jobs": [{"nonsense": 1}]}'):
                path.write_text(text)
                with self.assertRaises(Exception) as problem, contextlib.redirect_stderr(io.StringIO()):
                    jobs.read(rocprofv3.ROCPROFV3, self.parse("-i", str(path), "--hip-trace", "--", "x"))
                self.assertIn("in.json", str(problem.exception))


if __name__ == "__main__":
    unittest.main()
