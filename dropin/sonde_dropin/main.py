"""main.py NAME ARGUMENTS...: the front NAME."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from sonde_dropin import fronts, table, tool  # noqa: E402


def commands(name):
    """Those of a tool that has several."""
    return [front.split()[1] for front in fronts.FRONTS if front.startswith(name + " ")]


def choose(name, words):
    """The front that a command line is for, and the rest of it; or prints why there is none."""
    if words[:1] == ["--version"] and name not in fronts.ITSELF:
        tool.replace(words)  # Sonde's: which of the tool's is meant, nobody knows
    if name in fronts.FRONTS:
        return name, words
    known = commands(name)
    if words and words[0] in known:
        return f"{name} {words[0]}", words[1:]
    if name in fronts.ALONE and (not words or words[0].startswith("-")):
        return name, words
    itself = fronts.ITSELF[name]() if name in fronts.ITSELF else None
    if itself is not None:  # nothing of the tool is hidden
        os.execv(itself, [itself, *words])
    listed = ", ".join(known)
    if words and words[0] in fronts.TOP.get(name, {}):
        tool.replace(fronts.TOP[name][words[0]])
    if words and words[0] in table.HELP.spellings:
        print(f"usage: {name} COMMAND [OPTIONS]\n\nCommands: {listed}. Each explains itself with --help.")
        return None, 0
    if not words:
        print(f"{name}: say which command: {listed}", file=sys.stderr)
    elif words[0] in fronts.MISSING[name]:
        print(f"{name} {words[0]}: {fronts.MISSING[name][words[0]]}", file=sys.stderr)
    else:
        print(f"{name}: {words[0]}: no such command; there are {listed}", file=sys.stderr)
    return None, 2


def main(name, words):
    name, words = choose(name, words)
    if name is None:
        return words
    front, does = fronts.FRONTS.get(name) or fronts.ALONE[name]
    # Ended while files are written: what is half written goes.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        parsed = table.parse(front, words)
        if parsed.get("help"):
            sys.stdout.write(table.help_text(front))
            sys.stdout.flush()
            return 0
        return does(parsed) or 0
    except table.Usage as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 2
    except tool.Failure as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return problem.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as problem:
        where = f"{problem.filename2 or problem.filename}: " if problem.filename else ""
        why = "is no folder" if isinstance(problem, FileExistsError) else problem.strerror
        print(f"{name}: {where}{why}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to print has no place
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (sys.argv[1] in fronts.FRONTS or commands(sys.argv[1])):
        sys.exit(f"main.py: one of: {' '.join(fronts.FRONTS)}")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
