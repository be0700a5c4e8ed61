#!/bin/sh
# One process, recorded. Arguments go to train_cifar.py: ./single.sh --model vit --max-steps 50
here=$(dirname "$(readlink -f "$0")")
exec sonde record -o "${TRACE:-cifar.rpd}" -- "${PYTHON:-python3}" "$here/train_cifar.py" "$@"
