#!/usr/bin/env bash
# ./dev demo, after the build: records examples/matmul at two sizes and shows what the traces say.
# The growth from small to large is that of AMD's rocmProfileData article: A ten times, B five times.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

sonde=build/bin/sonde
out=demo-out
declare -A size=([small]="--m 1000 --k 500 --n 500" [large]="--m 2000 --k 2500 --n 500")

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

rm -rf "$out"
mkdir -p "$out"
# Once without Sonde, so that no recording times the OpenCL compiler.
for which in small large; do
  # shellcheck disable=SC2086
  build/examples/matmul/matmul ${size[$which]} >/dev/null
done
for which in small large; do
  trace=$out/matmul_$which
  # shellcheck disable=SC2086
  show "$sonde" record -o "$trace.rpd" -- build/examples/matmul/matmul ${size[$which]}
  for question in top ktop busy; do show "$sonde" "$question" "$trace.rpd"; done
  show "$sonde" export "$trace.rpd" -o "$trace.json"
  show "$sonde" export "$trace.rpd" -o "$trace.pftrace"
done

printf '\nWhat the tables show:\n'
/usr/bin/python3 tools/demo_lines.py "$sonde" "$out/matmul_small.rpd" "$out/matmul_large.rpd"
printf '\nThe traces are in %s/: .rpd for sonde and sqlite3, .json for chrome://tracing,\n' "$out"
printf '.pftrace for ui.perfetto.dev.\n'
