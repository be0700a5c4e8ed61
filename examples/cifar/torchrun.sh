#!/bin/sh
# RANKS processes (2) on this machine, each recorded into a file of its own: cifar.rank0.rpd ...
# -r 1 -t 1 shows what they print with the rank in front; torch 1.13 fails without on Python 3.11.
here=$(dirname "$(readlink -f "$0")")
exec torchrun --nproc_per_node "${RANKS:-2}" --no_python -r 1 -t 1 \
  sonde record -o "${TRACE:-cifar.rpd}" -- "${PYTHON:-python3}" "$here/train_cifar.py" "$@"
