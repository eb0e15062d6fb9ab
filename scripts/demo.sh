#!/usr/bin/env bash
# From a fresh clone to a latency breakdown: one doorbell, followed to the first bit on the wire.
# Usage: scripts/demo.sh [OUT_DIR]   (default: out/demo)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/demo}

scripts/setup.sh build
echo "demo: building (a few minutes the first time)"
cmake --preset release >/dev/null
cmake --build --preset release --target carillon

build/release/carillon run scenarios/doorbell_to_wire.toml --trace --out "$out"

echo
echo "The trace is in $out:"
find "$out" -type f -printf '  %p  %s bytes\n' | sort
