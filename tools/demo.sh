#!/usr/bin/env bash
# ./dev demo, after the build: records examples/matmul at two sizes and shows what the traces say.
# demo.sh [hip|opencl]: HIP runs on an AMD GPU, or on the software one where there is none. The growth is that of AMD's article on rocmProfileData: A ten times as large, B five times.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

sonde=build/bin/sonde
out=demo-out
api=${1:-hip}
record=("$sonde" record)
program=build/examples/matmul/matmul
if [[ $api == hip ]]; then
  program=build/examples/matmul/hip/matmul_hip
  if [[ ! -x $program ]]; then
    printf 'no HIP compiler (hipcc) was found, so this is the OpenCL example\n'
    program=build/examples/matmul/matmul api=opencl
  elif ! timeout 60 "$program" --m 8 --k 8 --n 8 >/dev/null 2>&1; then  # a driver is no GPU yet
    printf 'no AMD GPU that works, so this is the software one: kernels are computed on the CPU\n'
    record+=(--softgpu)
  fi
fi
declare -A size=([small]="--m 1000 --k 500 --n 500" [large]="--m 2000 --k 2500 --n 500")

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

rm -rf "$out"
mkdir -p "$out"
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
