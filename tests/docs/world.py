"""The folder in which the command lines of the documentation are run: every file that they name."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/importers"))
import make_json  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/metrics"))
import make_workload  # noqa: E402

LIMIT_SECONDS = 120
KINETO = {"trace.json": None, "a.json": None, "b.json": None, "before.json": None,
          "after.json": None, "rank0.json": 0, "rank1.json": 1}
IMPORTED = {"old.rpd": "trace.json", "before.rpd": "before.json", "after.rpd": "after.json",
            "rank0.rpd": "rank0.json", "rank1.rpd": "rank1.json", "trace.rank0.rpd": "rank0.json",
            "trace.rank1.rpd": "rank1.json"}
COUNTERS = '''"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,4,1,7,7,1024,1,"gemm",64,0,0,16,32,"SQ_WAVES",16,1000,2000
'''
TRAIN = '''
import time
import sonde
for step in range(3):
    with sonde.range("iteration"):
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            sum(range(1000))
'''


class World:
    def __init__(self, folder, build):
        self.build = Path(build).resolve()
        self.folder = Path(folder)
        self.made = self.folder / "made"
        self.made.mkdir()
        self.tools = self.folder / "tools"  # first on PATH
        self.tools.mkdir()
        os.symlink("/usr/bin/python3", self.tools / "python")  # as in a virtual environment
        self.count = 0
        self._make()

    def environment(self, home):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("SONDE_", "XDG_"))}
        path = f"{self.tools}:{self.build}/bin:{kept['PATH']}"
        return {**kept, "PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8",
                "PYTHONPATH": str(ROOT / "python"),
                "SONDE_SPOOL_DIR": str(self.folder)}

    def run(self, command):
        """In a copy of the folder of its own, by bash: (exit status, output)."""
        self.count += 1
        place = self.folder / f"run{self.count}"
        shutil.copytree(self.made, place, symlinks=True)
        with open(place / ".output", "w+", errors="replace") as output:
            process = subprocess.Popen(["bash", "-c", command], cwd=place,
                                       env=self.environment(place),
                                       stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = "a time limit"
            output.seek(0)
            text = output.read()
        shutil.rmtree(place, ignore_errors=True)
        return status, text

    def _make(self):
        for name in ("program", "solver", "app", "matmul"):
            self._script(name, f'exec "{self.build}/tests/programs/mark_storm" --threads 2')
        hip = self.build / "tests/programs/hip_calls"
        if hip.exists():
            os.symlink(hip, self.made / "hip_program")
        (self.made / "train.py").write_text(TRAIN)
        (self.made / "input.dat").write_text("1 2 3\n")
        (self.made / "sonde.toml").write_text("[record]\n")
        (self.made / "results.csv").write_text(COUNTERS)
        for name in ("vcopy", "before", "after"):
            make_workload.make(self.made / "workloads" / name)
        os.symlink(self.build, self.made / "build")
        os.symlink(ROOT / "dev", self.made / "dev")
        os.symlink(ROOT / "python", self.made / "python")
        for name, rank in KINETO.items():
            text = json.dumps(make_json.trace(1_700_000_000_000_000_000, rank))
            (self.made / name).write_text(text)
        for name in ("trace", "rank0", "rank1"):
            data = (self.made / f"{name}.json").read_bytes()
            (self.made / f"{name}.json.gz").write_bytes(gzip.compress(data))
        self._record()

    def _script(self, name, text):
        path = self.made / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _record(self):
        commands = [f"sonde import {trace} -o {name}" for name, trace in IMPORTED.items()]
        for command in ["sonde record -q -o trace.rpd -- python train.py", *commands]:
            done = subprocess.run(command.split(), cwd=self.made, env=self.environment(self.folder),
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{command}: {done.stdout}{done.stderr}")
