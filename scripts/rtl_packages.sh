#!/usr/bin/env bash
# Prints the generated SystemVerilog packages, each after those that it uses.
set -euo pipefail
cd "$(dirname "$0")/.."

for file in rtl/gen/*_pkg.sv; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .sv)
  echo "$name $name"
  { grep -oE '\b[a-z0-9_]+_pkg::' "$file" || true; } | sort -u | sed 's/::$//' |
    while read -r used; do
      [ "$used" = "$name" ] || echo "$used $name"
    done
done | tsort | sed 's|.*|rtl/gen/&.sv|'
