"""Runs one case in a worker process (worker.py).

The worker is the reaper of every process its case starts, so whatever is left at the end, orphans
and daemons of a killed recorder included, is a descendant of the worker and is ended by its pid.
"""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

import checks
from processes import descendants, end_below, wait_below
from spec import SpecError, signal_number, substitute

OUTPUT_SHOWN = 4000
PIPE_HOLDS = 65536  # bytes that can be written before anyone reads
# Settings of the caller that would change what is measured or recorded.
DROPPED_ENVIRONMENT = ("OPENCL_LAYERS", "LD_PRELOAD", "LD_AUDIT", "COLUMNS", "DEBUGINFOD_URLS",
                       "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "HSA_TOOLS_LIB",
                       "ROCPROFILER_REGISTER_LIBRARY")
# The second line: a job the caller runs in would be taken for the test's own.
DROPPED_PREFIXES = ("SONDE_",
                    "SLURM_", "OMPI_", "PMI_", "PMIX_", "MV2_", "RANK", "WORLD_SIZE")
KEPT_SONDE = ("SONDE_SHARED", "SONDE_TRACE_PROCESSOR")


@dataclass
class Outcome:
    problems: list = field(default_factory=list)
    seconds: float = 0
    log: str = ""  # commands with their output, for a failed case
    directory: str = ""
    spoilt: bool = False  # the worker is not fit for another case


def run_case(case, places, seed, keep, current):
    """Never raises for what a test program does; a wrong suite is reported as a problem."""
    outcome = Outcome()
    started = time.monotonic()
    rng = random.Random(seed)
    for _ in range(case.repeat):
        directory = tempfile.mkdtemp(prefix="sonde-e2e-")
        current[:] = [] if keep else [directory]
        try:
            _run_once(case, {**places, "tmp": directory}, rng, outcome)
        except SpecError as error:
            outcome.problems.append(str(error))
        left = end_below(os.getpid())
        if left:
            outcome.problems.append(f"could not be ended: {left}")
            outcome.spoilt = True
        if keep:
            outcome.directory = directory
        else:
            shutil.rmtree(directory, ignore_errors=True)
        if outcome.problems:
            break
    outcome.seconds = time.monotonic() - started
    return outcome


def _run_once(case, variables, rng, outcome):
    outcome.log = ""
    backgrounds = []
    for index, background in enumerate(case.background):
        process = _start_background(background, index, variables, outcome)
        if process is None:
            return
        backgrounds.append(process)
    for index, step in enumerate(case.steps):
        _run_step(step, index, variables, rng, outcome, {b.pid for b in backgrounds})
        if outcome.problems:
            return
    for process in backgrounds:
        end_group(process)
    found = [checks.file_state(f, variables) for f in case.files]
    found += [checks.sql(check, variables) for check in case.expect_sql]
    outcome.problems += [problem for problem in found if problem]


def _run_step(step, index, variables, rng, outcome, background_pids):
    out_path = os.path.join(variables["tmp"], f".out{index}")
    err_path = os.path.join(variables["tmp"], f".err{index}")
    # Files instead of pipes: an orphan that keeps stdout open must not hold up the step.
    with open(out_path, "wb") as out, open(err_path, "wb") as err:
        with _typed(substitute(step.stdin, variables)) as typed:
            process = _start(step, variables, out, err, outcome, stdin=typed)
        if process is None:
            return
        deadline = time.monotonic() + step.timeout
        if step.kill:
            _kill_later(process, step.kill, variables, rng, deadline, outcome)
        _wait(process, deadline, step, outcome)
        if step.wait_orphans and not wait_below(deadline, background_pids):
            outcome.problems.append(f"processes are left after {step.timeout} s")
    stdout, stderr = _read(out_path), _read(err_path)
    outcome.log += f"exit {process.returncode}\n"
    outcome.log += _shown("stdout", stdout) + _shown("stderr", stderr)
    if outcome.problems:
        return
    _take_json(stdout, variables)
    found = [checks.exit_status(step.exit, process.returncode)]
    found += [checks.text_has(p, stdout, "stdout", variables) for p in step.expect]
    found += [checks.text_has(p, stderr, "stderr", variables) for p in step.expect_err]
    found += [checks.text_lacks(p, stdout, "stdout", variables) for p in step.reject]
    found += [checks.text_lacks(p, stderr, "stderr", variables) for p in step.reject_err]
    found += [checks.json_value(check, stdout, variables) for check in step.expect_json]
    outcome.problems += [problem for problem in found if problem]


def _start(step, variables, out, err, outcome, stdin=subprocess.DEVNULL):
    if step.shell:  # which has quotes of its own, and texts of other languages within
        command = ["/bin/sh", "-c", substitute(step.run, variables)]
    else:
        command = [substitute(word, variables) for word in shlex.split(step.run)]
    outcome.log += f"$ {substitute(step.run, variables)}\n"
    environment = _environment(variables)
    environment.update({k: substitute(str(v), variables) for k, v in step.env.items()})
    try:
        return subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err, env=environment,
                                cwd=substitute(getattr(step, "cwd", "{tmp}"), variables),
                                start_new_session=True)
    except OSError as error:
        outcome.problems.append(f"cannot run {command[0]}: {error.strerror}")
        return None


def _environment(variables):
    environment = {
        key: value for key, value in os.environ.items()
        if key in KEPT_SONDE
        or not (key in DROPPED_ENVIRONMENT or key.startswith(DROPPED_PREFIXES))
    }
    search = [os.path.dirname(variables["sonde"]), variables["programs"], os.environ.get("PATH", "")]
    environment.update(PATH=":".join(search), TMPDIR=variables["tmp"], LC_ALL="C.UTF-8", TZ="UTC",
                       SONDE_SHARED=variables["shared"])
    return environment


def _typed(text):
    """A pipe that has the text already: whether and when it is read is the command's business."""
    data = text.encode()
    if len(data) > PIPE_HOLDS:
        raise SpecError(f"stdin is longer than the {PIPE_HOLDS} bytes that a pipe holds")
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return os.fdopen(reader, "rb")


def _wait(process, deadline, step, outcome):
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        outcome.problems.append(f"still running after {step.timeout} s: {step.run}")
        end_group(process)


def _kill_later(process, kill, variables, rng, deadline, outcome):
    """Signals the command, or the first program it started, after a moment."""
    after = kill.get("after_ms", 0)
    if isinstance(after, list):
        after = rng.uniform(after[0], after[1])
    pid = process.pid
    if kill.get("target", "program") == "program":
        pid = _find_program(process, kill.get("name", ""), variables, deadline)
        if pid is None:
            outcome.problems.append("the program to kill never appeared")
            return
    file = kill.get("after_file")
    if file and not _wait_for_data(file, process, variables, deadline):
        outcome.problems.append(f"{file} had no data when the command ended")
        return
    time.sleep(min(after / 1000, max(0.0, deadline - time.monotonic())))
    number = signal_number(kill.get("signal", "KILL"))
    outcome.log += f"[{number.name} to {pid} {after:.1f} ms after it started]\n"
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        outcome.log += "[it had ended before]\n"


def _wait_for_data(name, process, variables, deadline):
    """Until a byte of the file is not 0: what the program writes there, it has begun."""
    path = substitute(name, variables)
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with open(path, "rb") as file:
                if any(file.read(4096)):
                    return True
        except FileNotFoundError:
            pass
        time.sleep(0.001)
    return False


def _find_program(process, name, variables, deadline):
    sonde = os.path.realpath(variables["sonde"])
    while time.monotonic() < deadline and process.poll() is None:
        for pid in descendants(process.pid):
            executable = _link(f"/proc/{pid}/exe")
            if executable and executable != sonde:
                if not name or os.path.basename(executable) == name:
                    return pid
        time.sleep(0.001)
    return None


def _start_background(background, index, variables, outcome):
    name = background.name or str(index)
    path = os.path.join(variables["tmp"], f".background{index}")
    with open(path, "wb") as out:
        process = _start(background, variables, out, subprocess.STDOUT, outcome)
    if process is None:
        return None
    variables[f"background.{name}.pid"] = process.pid
    variables[f"background.{name}.output"] = path
    deadline = time.monotonic() + background.timeout
    while background.ready and background.ready not in _read(path):
        if time.monotonic() > deadline or process.poll() is not None:
            outcome.log += _shown("background", _read(path))
            outcome.problems.append(f"background '{name}' never printed '{background.ready}'")
            return None
        time.sleep(0.01)
    return process


def _take_json(stdout, variables):
    """Facts a test program prints as one line of JSON become {json.KEY} for later steps and SQL."""
    for line in stdout.splitlines():
        if line.startswith("{") and line.endswith("}"):
            try:
                facts = json.loads(line)
            except ValueError:
                continue
            variables.update({f"json.{key}": value for key, value in facts.items()})


def _read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace")


def _shown(stream, text):
    if not text:
        return ""
    cut = "" if len(text) <= OUTPUT_SHOWN else f" (last {OUTPUT_SHOWN} of {len(text)} characters)"
    return f"--- {stream}{cut}\n{text[-OUTPUT_SHOWN:].rstrip()}\n"


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return None


def end_group(process):
    """Ends a process this worker started, and its group: first asked, then forced."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
                process.wait(3)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
