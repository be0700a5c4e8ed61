"""Job files of rocprofv3 (-i): {"jobs": [{"kernel_trace": true, "output_directory": "out"}, ...]}, as
JSON or YAML. Each job is a run; what the command line says counts for all of them, and no job may
say otherwise."""

import json
import os
import re

from . import tool
from .table import REFUSED, Parsed, Usage, tell_differences


def _load(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise tool.Failure(f"{path}: {getattr(error, 'strerror', None) or 'not text'}") from error
    if path.endswith((".yml", ".yaml")):
        try:
            import yaml  # pylint: disable=import-outside-toplevel
        except ImportError as error:
            raise tool.Failure(f"{path}: python3 has no yaml module; write it as JSON") from error
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise tool.Failure(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not path.endswith(".json"):
        if re.search(r"^\s*pmc\s*:", text, re.MULTILINE):
            raise Usage(f"{path}: pmc: sonde profile collects hardware counters, this command does not")
        raise Usage(f"{path}: not a job file: .json, .yaml or .yml")
    try:
        return json.loads(text)
    except ValueError as error:
        raise tool.Failure(f"{path}: not valid JSON: {error}") from error


def _texts(value):
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _set(front, job, path, name, value):
    option = front.find("--" + name.replace("_", "-"))
    if option is None:
        raise Usage(f"{path}: {name}: no such option")
    if option.how == REFUSED:
        if value in (None, False, [], ""):
            return
        raise Usage(f"{path}: {name}: {option.note}")
    if option.key == "input":
        raise Usage(f"{path}: input: a job cannot name another file of jobs")
    if option.value.startswith("[") or not option.value:
        if not isinstance(value, bool):
            raise Usage(f"{path}: {name}: {json.dumps(value)} is neither true nor false")
        job[option.key] = value
    elif option.value.endswith("..."):
        job[option.key] = _texts(value)
    else:
        job[option.key] = str(value)
    job.order.append(option.key)


def read(front, parsed):
    """A Parsed for each job; of several, each has the folder pass_N."""
    path = parsed["input"]
    loaded = _load(path)
    jobs = loaded.get("jobs") if isinstance(loaded, dict) else None
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise Usage(f"{path}: has no list of jobs")
    runs = []
    for number, given in enumerate(jobs, 1):
        job = Parsed()
        for name, value in given.items():
            _set(front, job, path, str(name), value)
        for key, value in parsed.items():
            if key in job and job[key] != value:
                raise Usage(f"{path}: {key.replace('-', '_')}: the command line says otherwise; leave one out")
        tell_differences(front, job)
        job.update(parsed)
        job.order += parsed.order
        job.program = parsed.program
        if len(jobs) > 1:
            folder = job.text("output-directory", "")
            job["output-directory"] = os.path.join(folder, f"pass_{number}")
        runs.append(job)
    return runs
