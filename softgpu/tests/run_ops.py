#!/usr/bin/python3
"""Runs hip/ops.hip on the software GPU and compares the GPU's log with what the program counted.

usage: run_ops.py SOFTGPU OPS [--gpu GPU] [--config FILE] [--env NAME=VALUE] MODE...

Several modes run as parallel processes, which share the GPUs and the log."""

import argparse
import os
import subprocess
import sys
import tempfile

import check_log


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softgpu")
    parser.add_argument("ops")
    parser.add_argument("--gpu", default="gfx90a:2")
    parser.add_argument("--config")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("modes", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="softgpu-run-") as folder:
        return run(options, folder)


def run(options, folder):
    log = os.path.join(folder, "log")
    outputs = [os.path.join(folder, f"out{i}") for i in range(len(options.modes))]
    # The parent of all of them, so that they share the GPUs.
    script = ""
    for mode, output in zip(options.modes, outputs):
        script += f"'{options.ops}' {mode} > '{output}' & pids=\"$pids $!\"\n"
    script += "status=0; for pid in $pids; do wait $pid || status=1; done; exit $status"
    command = [options.softgpu, "--gpu", options.gpu, "--log", log]
    if options.config:
        command = [options.softgpu, "--config", options.config, "--log", log]
    environment = dict(os.environ)
    environment.update(item.split("=", 1) for item in options.env)
    status = subprocess.run(command + ["--", "/bin/sh", "-c", script], env=environment,
                            timeout=240, check=False).returncode
    for output in outputs:
        with open(output, encoding="utf-8") as lines:
            sys.stdout.write(lines.read())
    if status != 0:
        return 1
    return check_log.check(log, outputs)


if __name__ == "__main__":
    sys.exit(main())
