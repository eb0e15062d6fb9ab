#!/usr/bin/env bash
# Every check that a change must pass; continuous integration runs exactly this.
# Usage: scripts/check.sh [PRESET]   (default: release)
set -uo pipefail
cd "$(dirname "$0")/.." || exit
preset=${1:-release}
jobs=$(nproc)
failed=()

step() { # name, command to run alone, command...
  local name=$1 repeat=$2 start=$SECONDS
  shift 2
  echo "== $name"
  if "$@"; then
    echo "== $name: passed ($((SECONDS - start)) s)"
  else
    echo "== $name: FAILED ($((SECONDS - start)) s); alone: $repeat"
    failed+=("$name")
    return 1
  fi
}

configure() { cmake --preset "$preset" >/dev/null; }
build() { cmake --build --preset "$preset" -j "$jobs"; }
run_tests() { ctest --preset "$preset" -j "$jobs"; }

step lint "scripts/lint.sh" scripts/lint.sh
step configure "cmake --preset $preset" configure &&
  step build "cmake --build --preset $preset" build &&
  step tests "ctest --preset $preset" run_tests
# Has a build of its own, with clang++, whatever the preset.
step fuzz "scripts/fuzz.sh" scripts/fuzz.sh

if [ "${#failed[@]}" -gt 0 ]; then
  echo "check: failed: ${failed[*]}"
  exit 1
fi
echo "check: everything passed in $SECONDS s"
