#!/usr/bin/env bash
# ./dev demo, after the build. demo.sh hip [FOLDER [BUILD]]: records examples/training, which is slow for a
# reason, finds the reason, records it again with the change, and shows the gain; on an AMD GPU, or on the
# software one where there is none. demo.sh opencl: records examples/matmul at two sizes and shows what the traces say; the growth is that of AMD's article on rocmProfileData: A ten times as large, B five times.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

api=${1:-hip}
out=${2:-demo-out}
build=${3:-build}
sonde=$build/bin/sonde
record=("$sonde" record)
program=$build/examples/matmul/matmul
declare -A size=([small]="--m 1000 --k 500 --n 500" [large]="--m 2000 --k 2500 --n 500")

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# A training loop that is slow, why, and the same one changed.
training() {
  local program=$build/examples/training/hip/training_hip
  if ! timeout 60 "$program" --steps 1 >/dev/null 2>&1; then  # a driver is no GPU yet
    printf 'no AMD GPU that works, so this is the software one: kernels are computed on the CPU\n'
    record+=(--softgpu)
  fi
  printf '\n== A training loop is slow. Record it:\n'
  show "${record[@]}" -o "$out/before.rpd" -- "$program"
  printf '\n== What should be looked at first?\n'
  show "$sonde" check "$out/before.rpd"
  printf '\n== It waits for its data. The same with the next batches read while the GPU works:\n'
  show "${record[@]}" -o "$out/after.rpd" -- "$program" --prefetch
  printf '\n== What changed?\n'
  show "$sonde" diff "$out/before.rpd" "$out/after.rpd" --limit 6
  show "$sonde" report "$out/before.rpd" -o "$out/before.html"
  show "$sonde" report "$out/after.rpd" -o "$out/after.html"
  show "$sonde" export "$out/after.rpd" -o "$out/after.pftrace"
  printf '\nOpen %s/before.html and after.html in a browser, after.pftrace in ui.perfetto.dev.\n' "$out"
  printf 'Try next:\n  %s serve %s/before.rpd %s/after.rpd\n  %s steps %s/before.rpd\n' "$sonde" "$out" "$out" "$sonde" "$out"
  printf '  %s record -- python3 your_training.py\n' "$sonde"
}

rm -rf "$out"
mkdir -p "$out"
if [[ $api == hip && -x $build/examples/training/hip/training_hip ]]; then
  training
  exit
fi
if [[ $api == hip ]]; then
  printf 'no HIP compiler (hipcc) was found, so this is the OpenCL example\n'
  api=opencl
fi
if [[ $api == opencl ]]; then
  # Once without Sonde, so that no recording times the OpenCL compiler.
  # shellcheck disable=SC2086
  for which in small large; do "$program" ${size[$which]} >/dev/null; done
fi
for which in small large; do
  trace=$out/matmul_$which
  # shellcheck disable=SC2086
  show "${record[@]}" -o "$trace.rpd" -- "$program" ${size[$which]}
  for question in top ktop busy; do show "$sonde" "$question" "$trace.rpd"; done
  show "$sonde" export "$trace.rpd" -o "$trace.json"
  show "$sonde" export "$trace.rpd" -o "$trace.pftrace"
done

printf '\nWhat the tables show:\n'
/usr/bin/python3 tools/demo_lines.py "$sonde" "$out/matmul_small.rpd" "$out/matmul_large.rpd"
printf '\nThe traces are in %s/: .rpd for sonde and sqlite3, .json for chrome://tracing,\n' "$out"
printf '.pftrace for ui.perfetto.dev.\n'
