#!/usr/bin/env bash
# ./dev demo torch, after the build: records a training job and shows where its time goes.
# demo_torch.sh [FOLDER [SONDE]]: what it writes goes to FOLDER.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

out=${1:-demo-out}
sonde=${2:-build/bin/sonde}
trace=$out/cifar.rpd

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

mkdir -p "$out"
rm -f "$out"/cifar*
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
show "$sonde" record -o "$trace" -- /usr/bin/python3 examples/cifar/train_cifar.py --batch-size 32 \
  --max-steps 10 --data-path "$out/data"
show "$sonde" info "$trace"
show "$sonde" report --format text "$trace"
# Whose code the samples are in: the innermost frame of the job's own code.
show "$sonde" stacks "$trace"
# One operation of the forward and of the backward pass that ran longest, with its inputs.
show "$sonde" query "$trace" "SELECT apiName AS operator, count(*) AS calls,
  round(sum(end - start) / 1e6, 2) AS total_ms, json_extract(args, '\$.\"Input Dims\"') AS sizes
  FROM api WHERE category = 'cpu_op' AND args LIKE '%Input Dims%'
  GROUP BY 1, 4 ORDER BY 3 DESC LIMIT 10"
show "$sonde" report "$trace" -o "$out/cifar.html"
show "$sonde" export "$trace" -o "$out/cifar.pftrace"
printf '\nThe trace is %s; %s is the report as a page, %s is for ui.perfetto.dev.\n' "$trace" \
  "$out/cifar.html" "$out/cifar.pftrace"
