"""Reads a suite (*.toml) into Case and Step values and rejects what it does not understand.

A mistyped key would make a test that cannot fail, so every unknown key, type or need is an error.
The format is described in README.md beside this file.
"""

import re
import signal
import tomllib
from dataclasses import dataclass, field, fields

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


class SpecError(Exception):
    """The suite itself is wrong: file, case and what to change."""


@dataclass
class Step:
    run: str
    shell: bool = False
    exit: object = 0
    env: dict = field(default_factory=dict)
    stdin: str = ""
    timeout: float = 60
    cwd: str = "{tmp}"
    wait_orphans: bool = False
    kill: dict = field(default_factory=dict)
    expect: list = field(default_factory=list)
    expect_err: list = field(default_factory=list)
    reject: list = field(default_factory=list)
    reject_err: list = field(default_factory=list)
    expect_json: list = field(default_factory=list)


@dataclass
class Background:
    run: str
    name: str = ""
    shell: bool = False
    env: dict = field(default_factory=dict)
    ready: str = ""
    timeout: float = 30


@dataclass
class Case:
    name: str
    steps: list
    background: list = field(default_factory=list)
    needs: list = field(default_factory=list)
    files: list = field(default_factory=list)
    expect_sql: list = field(default_factory=list)
    repeat: int = 1
    exclusive: bool = False

    def limit(self):
        """Seconds after which a case hangs where its own limits do not reach: all of them together,
        and as much again as ending what it left and reading its files may take."""
        limits = [step.timeout for step in self.steps] + [b.timeout for b in self.background]
        return self.repeat * (sum(limits) + 60)


CASE_KEYS = {"name", "step", "background", "needs", "files", "expect-sql", "repeat", "exclusive"}
SUITE_KEYS = {"case", "needs", "env", "timeout"}
SQL_KEYS = {"file", "sql", "is", "at-least", "at-most", "near", "matches"}
JSON_KEYS = {"file", "path", "is", "at-least", "at-most", "near", "matches", "length"}
KILL_KEYS = {"signal", "after_ms", "after_file", "target", "name"}
LIST_KEYS = {"needs", "files", "expect", "expect_err", "reject", "reject_err"}
PLAIN_NEEDS = {"opencl", "hip", "root", "other-user", "tsc", "private-network", "private-mounts",
               "user-namespace", "other-user-namespace", "perf-events"}
NEEDS = PLAIN_NEEDS | {"shared", "command", "python", "torch", "file", "lib", "machine", "env", "program"}


def load(path):
    """The cases of a suite, in file order."""
    with open(path, "rb") as file:
        try:
            suite = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{path}: {error}") from error
    _only_keys(suite, SUITE_KEYS, str(path))
    cases = [_case(table, suite, path) for table in suite.get("case", [])]
    if not cases:
        raise SpecError(f"{path}: no [[case]]")
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{path}: two cases are called '{name}'")
    return cases


def substitute(text, variables):
    """Replaces {name} and the escapes {{ and }}; a name that is not known is an error."""

    def replace(match):
        if match.group(0) in ("{{", "}}"):
            return match.group(0)[0]
        name = match.group(1)
        if name not in variables:
            raise SpecError(f"unknown placeholder {{{name}}} in: {text}")
        return str(variables[name])

    return PLACEHOLDER.sub(replace, text)


def _case(table, suite, path):
    where = f"{path}: case '{table.get('name', '?')}'"
    if not isinstance(table.get("name"), str):
        raise SpecError(f"{where}: needs a name")
    step_keys = {f.name.replace("_", "-") for f in fields(Step)}
    inline = {key: value for key, value in table.items() if key in step_keys}
    _only_keys(table, CASE_KEYS | step_keys, where)
    if ("run" in inline) == ("step" in table):
        raise SpecError(f"{where}: needs either run or [[case.step]]")
    if "step" in table and inline:
        raise SpecError(f"{where}: {sorted(inline)} belong into a step")
    tables = table.get("step") or _inline_steps(inline)
    case = Case(name=table["name"], steps=[_step(t, suite, where) for t in tables])
    case.background = [_background(t, suite, where) for t in table.get("background", [])]
    case.needs = _strings(suite.get("needs", []), where) + _strings(table.get("needs", []), where)
    case.files = _strings(table.get("files", []), where)
    case.expect_sql = table.get("expect-sql", [])
    case.repeat = table.get("repeat", 1)
    case.exclusive = table.get("exclusive", False)
    for need in case.needs:
        kind, _, argument = need.partition(":")
        if kind not in NEEDS or (kind not in PLAIN_NEEDS) != bool(argument):
            raise SpecError(f"{where}: unknown need '{need}'")
    for check in case.expect_sql:
        _only_keys(check, SQL_KEYS, f"{where}: expect-sql")
        _one_comparison(check, f"{where}: expect-sql")
        if "file" not in check or "sql" not in check:
            raise SpecError(f"{where}: expect-sql needs file and sql")
    return case


def _inline_steps(inline):
    """run may be a list: all but the last command only have to succeed."""
    commands = inline["run"]
    if isinstance(commands, str):
        return [inline]
    if not commands:
        raise SpecError("run is an empty list")
    shared = {k: inline[k] for k in ("env", "shell", "timeout", "cwd") if k in inline}
    return [{**shared, "run": c} for c in commands[:-1]] + [{**inline, "run": commands[-1]}]


def _step(table, suite, where):
    step = _fill(Step, table, where)
    step.env = {**suite.get("env", {}), **step.env}
    if "timeout" not in table:
        step.timeout = suite.get("timeout", step.timeout)
    _only_keys(step.kill, KILL_KEYS, f"{where}: kill")
    if step.kill:
        signal_number(step.kill.get("signal", "KILL"))
        if step.kill.get("target", "program") not in ("program", "command"):
            raise SpecError(f"{where}: kill.target is 'program' or 'command'")
    for check in step.expect_json:
        _only_keys(check, JSON_KEYS, f"{where}: expect-json")
        _one_comparison(check, f"{where}: expect-json")
    return step


def _background(table, suite, where):
    background = _fill(Background, table, where)
    background.env = {**suite.get("env", {}), **background.env}
    return background


def _fill(kind, table, where):
    values = {}
    known = {f.name for f in fields(kind)}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known or "_" in key:
            raise SpecError(f"{where}: unknown key '{key}'")
        values[name] = _strings(value, f"{where}: {key}") if name in LIST_KEYS else value
    if not isinstance(values.get("run"), str):
        raise SpecError(f"{where}: run must be a command line")
    return kind(**values)


def _strings(value, where):
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise SpecError(f"{where}: must be a string or a list of strings")


def _only_keys(table, known, where):
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise SpecError(f"{where}: unknown key '{unknown[0]}'")


def _one_comparison(check, where):
    given = [k for k in ("is", "at-least", "at-most", "near", "matches", "length") if k in check]
    if not given:
        raise SpecError(f"{where}: needs is, at-least, at-most, near, matches or length")


def signal_number(name):
    try:
        return signal.Signals[f"SIG{name.removeprefix('SIG')}"]
    except KeyError as error:
        raise SpecError(f"unknown signal '{name}'") from error
