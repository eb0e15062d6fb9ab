#!/usr/bin/env bash
# What takes too long for every change: many seeds of every twin in lockstep, with what flops and
# memories hold before they are written, and every X, drawn at random; the audit of `busy_o`; every
# scenario; the table of congestion control; the fuzzers for longer.
# Usage: scripts/nightly.sh [SEEDS] [TRANSACTIONS]   (default: 20 seeds of 100000)
# build/nightly/lockstep_<seed>.xml are the verdicts as JUnit XML. The first failure does not end it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
seeds=${1:-20}
transactions=${2:-100000}
build=build/nightly
jobs=$(nproc)
failed=()

echo "nightly: building"
mkdir -p "$build"
if ! {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCARILLON_RTL_RANDOM_RESET=ON \
    -DCARILLON_BENCH=OFF -DCARILLON_WAVES=OFF && ninja -C "$build" -j "$jobs"
} >"$build/build.log" 2>&1; then
  tail -n 30 "$build/build.log" >&2
  exit 1
fi

# Each seed has a reset seed and an order of evaluation of its own. Every third run takes all the
# traffic that the streams can carry, and every fifth clocks the RTL always.
for ((seed = 1; seed <= seeds; ++seed)); do
  options=(--seed "$seed" --reset-seed "$((seed * 7919))" --shuffle "$((seed % 3))")
  [ $((seed % 3)) -ne 0 ] || options+=(--source none --sink none)
  [ $((seed % 5)) -ne 0 ] || options+=(--rtl-clock always)
  [ $((seed % 4)) -ne 0 ] || options+=(--audit)
  echo "nightly: lockstep all ${options[*]}"
  "$build/carillon" lockstep all --transactions "$transactions" "${options[@]}" \
    --junit "$build/lockstep_$seed.xml" || failed+=("lockstep seed $seed")
done

ctest --test-dir "$build" -j "$jobs" --output-on-failure || failed+=(tests)
CARILLON_BINARY="$build/carillon" scripts/dcqcn_table.py --jobs "$jobs" || failed+=(congestion)
scripts/fuzz.sh --seconds "${FUZZ_SECONDS:-600}" || failed+=(fuzz)

if [ "${#failed[@]}" -gt 0 ]; then
  echo "nightly: failed: ${failed[*]}"
  exit 1
fi
echo "nightly: everything passed in $SECONDS s"
