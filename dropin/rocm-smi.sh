#!/bin/sh
# rocm-smi, answered by Sonde: its options are those of `sonde rocm-smi`.
here=$(dirname "$(readlink -f "$0")")
sonde=${SONDE:-$here/../../../bin/sonde}
[ -x "$sonde" ] || sonde=$(command -v sonde) || { echo "rocm-smi: sonde: not found (add its folder to PATH)" >&2; exit 127; }
exec "$sonde" rocm-smi "$@"
