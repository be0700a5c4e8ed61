#!/usr/bin/env python3
"""The command line of RPD's rpd2tracing.py, answered by `sonde export`.

    rpd2tracing.py IN.rpd [OUT.json] [--start TIME] [--end TIME] [--format object|array]

TIME is microseconds of the trace's own clock, or a percentage of its length ("25%"). OUT is IN with
.json by default and is replaced if it exists, as RPD's script does. `sonde` is the one it was
installed with or that of PATH; the environment variable SONDE names another."""
import argparse
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile


def sonde():
    folder = pathlib.Path(__file__).resolve().parent  # bin, or lib/sonde/drop-in
    ours = [path for path in (folder / "sonde", folder.joinpath("..", "..", "..", "bin", "sonde"))
            if path.is_file()]
    found = os.environ.get("SONDE") or (str(ours[0]) if ours else shutil.which("sonde"))
    if not found:
        sys.exit("rpd2tracing.py: sonde: not found (add its folder to PATH)")
    return found


def first_ns(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return database.execute("SELECT min(t) FROM (SELECT min(start) AS t FROM rocpd_api UNION ALL "
                            "SELECT min(start) FROM rocpd_op)").fetchone()[0] or 0


def window(option, text, path):
    """The option of `sonde export` for a time as RPD's script takes it."""
    if text is None:
        return []
    if text.endswith("%"):
        return [option, text]
    return [option, f"{max(int(text) * 1000 - first_ns(path), 0)}ns"]


def main():
    parser = argparse.ArgumentParser(description="Write an .rpd file as Chrome JSON, with sonde.")
    parser.add_argument("input")
    parser.add_argument("output", nargs="?")
    parser.add_argument("--start")
    parser.add_argument("--end")
    parser.add_argument("--format", choices=("object", "array"), default="object")
    arguments = parser.parse_args()
    output = pathlib.Path(arguments.output or pathlib.Path(arguments.input).with_suffix(".json"))
    with tempfile.TemporaryDirectory(dir=output.resolve().parent, prefix=".rpd2tracing.") as folder:
        made = pathlib.Path(folder) / "trace.json"
        array = ["--array"] if arguments.format == "array" else []
        done = subprocess.run([sonde(), "export", arguments.input, "--format", "chrome", *array,
                               "-o", made,
                               *window("--from", arguments.start, arguments.input),
                               *window("--to", arguments.end, arguments.input)],
                              stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(done.returncode)
        os.replace(made, output)


if __name__ == "__main__":
    main()
