"""Job files of rocprofv3 (-i): {"jobs": [{"kernel_trace": true, "output_directory": "out"}, ...]}, as
JSON or YAML, or text with a line "pmc: NAME..." for each job. Each job is a run; what the command line says counts for all of them, and no job may
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
        lines = re.findall(r"(?m)^\s*pmc\s*:([^#\n]*)", text)
        if lines:
            return {"jobs": [{"pmc": line.replace(",", " ").split()} for line in lines]}
        raise Usage(f"{path}: not a job file: .json, .yaml or .yml")
    try:
        return json.loads(text)
    except ValueError as error:
        raise tool.Failure(f"{path}: not valid JSON: {error}") from error


def _texts(value):
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _set(front, job, path, name, value):
    if name == "pmc_groups":  # all are counted of each kernel
        groups = value if isinstance(value, list) else [value]
        value = job.get("pmc", []) + [one for group in groups for one in _texts(group)]
        name = "pmc"
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
    """A Parsed for each job; of several, each has the folder pass_N, and of lines of text pmc_N."""
    path = parsed["input"]
    is_text = not path.endswith((".json", ".yml", ".yaml"))
    loaded = _load(path)
    jobs = loaded.get("jobs") if isinstance(loaded, dict) else None
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise Usage(f"{path}: has no list of jobs")
    runs, told = [], Parsed()
    for number, given in enumerate(jobs, 1):
        job = Parsed()
        for name, value in given.items():
            _set(front, job, path, str(name), value)
        for key, value in parsed.items():
            if key in job and job[key] != value:
                raise Usage(f"{path}: {key.replace('-', '_')}: the command line says otherwise; leave one out")
        told.update({key: value for key, value in job.items() if value})
        job.update(parsed)
        job.order += parsed.order
        job.program = parsed.program
        if len(jobs) > 1 or is_text:
            folder = job.text("output-directory", "")
            job["output-directory"] = os.path.join(folder, f"{'pmc' if is_text else 'pass'}_{number}")
        runs.append(job)
    tell_differences(front, told)
    return runs
