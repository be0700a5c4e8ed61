#!/usr/bin/env bash
# Writes one page per command from the tool's own help: command_docs.sh SONDE FOLDER (./dev docs).
set -euo pipefail
sonde=$1
folder=$2

mkdir -p "$folder"
for file in src/cli/commands/*.cpp; do
  command=$(basename "$file" .cpp)
  "$sonde" help --format markdown "$command" >"$folder/$command.md"
  echo "$folder/$command.md"
done
