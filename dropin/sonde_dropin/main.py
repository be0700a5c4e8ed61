"""main.py NAME ARGUMENTS...: the front NAME."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from sonde_dropin import fronts, table, tool  # noqa: E402


def main(name, words):
    front, does = fronts.FRONTS[name]
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
        print(f"{name}: {where}{problem.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to print has no place
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in fronts.FRONTS:
        sys.exit(f"main.py: one of: {' '.join(fronts.FRONTS)}")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
