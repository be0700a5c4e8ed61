"""rocprof-sys-avail: lists what can be recorded, and writes a configuration file that
rocprof-sys-sample -c reads."""

import json
import os
import re
from xml.sax.saxutils import escape

from . import tool
from .rocprof_sys_avail_options import AVAIL, SETTINGS
from .table import Usage, tell_differences

_FORMATS = ("txt", "json", "xml")


def _as_text(settings, described):
    width = max(len(name) for name, _, _ in settings)
    lines = ["# Settings of ROCm Systems Profiler that Sonde knows, with the values of sonde record."]
    for name, value, text in settings:
        if described:
            lines += ["", f"# {text}"]
        lines.append(f"{name:{width}} = {value}".rstrip())
    return "\n".join(lines) + "\n"


def _as_json(settings, described):
    def entry(name, value, text):
        one = {"name": name.lower(), "value": value}
        return {**one, "description": text} if described else one

    whole = {"rocprofiler-systems": {"settings": {one[0]: entry(*one) for one in settings}}}
    return json.dumps(whole, indent=2) + "\n"


def _as_xml(settings, described):
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<rocprofiler-systems>", "<settings>"]
    for name, value, text in settings:
        inner = f"<name>{name.lower()}</name><value>{escape(value)}</value>"
        inner += f"<description>{escape(text)}</description>" if described else ""
        lines.append(f"  <{name}>{inner}</{name}>")
    return "\n".join(lines + ["</settings>", "</rocprofiler-systems>"]) + "\n"


_WRITERS = {"txt": _as_text, "json": _as_json, "xml": _as_xml}


def _places(path, formats):
    """The file of each format: of one, the name as it is given, and of several with their endings."""
    path = os.path.expanduser(path)
    if not formats:
        ending = os.path.splitext(path)[1][1:]
        return {ending if ending in _FORMATS else "txt": path}
    for word in formats:
        if word not in _FORMATS:
            raise Usage(f"--config-format: '{word}' is none of {', '.join(_FORMATS)}")
    if len(formats) == 1:
        return {formats[0]: path}
    base = re.sub(r"\.(cfg|txt|json|xml)$", "", path)
    return {word: base + (".cfg" if word == "txt" else "." + word) for word in formats}


def _generate(parsed):
    formats = [word for text in parsed.get("config-format", []) for word in text.split(",")]
    described = parsed.on("all") or parsed.on("description")
    pattern = re.compile(parsed.text("filter", ""), re.IGNORECASE)
    settings = [one for one in SETTINGS if any(pattern.search(text) for text in one)]
    if not settings:
        raise Usage(f"--filter: no setting has '{parsed['filter']}'")
    places = _places(parsed["generate-config"], formats)
    for path in places.values():
        if os.path.lexists(path) and not parsed.on("force"):
            raise tool.Failure(f"{path}: exists; --force replaces it")
    for form, path in places.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(_WRITERS[form](settings, described))
        print(f"rocprof-sys-avail: {path}: {len(settings)} settings")


def avail(parsed):
    try:
        re.compile(parsed.text("filter", ""))
    except re.error as error:
        raise Usage(f"--filter: '{parsed['filter']}': {error}") from error
    tell_differences(AVAIL, parsed)
    if "generate-config" in parsed:
        _generate(parsed)
        return 0
    chosen = [option.sets[0] for option in AVAIL.options if option.sets and parsed.on(option.key)]
    command = ["avail"]
    if len(chosen) == 1 and not parsed.on("all"):
        command += ["--category", chosen[0]]
    if "filter" in parsed:
        pattern = parsed["filter"]
        command.append("[-]" + pattern[1:] if pattern.startswith("-") else pattern)
    tool.replace(command)
    return 0
