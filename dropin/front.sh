#!/bin/sh
# A command of another tool, answered by Sonde (sonde_dropin/). It is installed under each of its
# names, and goes by the name that it is called by. The user's PYTHONPATH is for the user's program.
command -v python3 >/dev/null || { echo "${0##*/}: python3: not found" >&2; exit 127; }
here=$(dirname "$(readlink -f "$0")")
exec python3 -I -B "$here/sonde_dropin/main.py" "${0##*/}" "$@"
