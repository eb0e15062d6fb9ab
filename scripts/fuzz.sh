#!/usr/bin/env bash
# Fuzzes the parsers of what comes from outside: frames and WQEs, under AddressSanitizer and
# UndefinedBehaviorSanitizer. A finding is left in build/fuzz/<target>/ and ends the script with 1.
# Usage: scripts/fuzz.sh [--seconds N] [rx_parser|wqe_parser]...   (default: 60 s each)
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=60
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds)
      seconds=$2
      shift 2
      ;;
    rx_parser | wqe_parser)
      targets+=("$1")
      shift
      ;;
    *)
      echo "fuzz: unknown argument '$1'; usage: scripts/fuzz.sh [--seconds N] [rx_parser|wqe_parser]..." >&2
      exit 2
      ;;
  esac
done
[ "${#targets[@]}" -gt 0 ] || targets=(rx_parser wqe_parser)

if ! command -v clang++ >/dev/null; then
  echo "fuzz: clang++ with libFuzzer is needed; scripts/setup.sh fuzz installs it" >&2
  exit 1
fi

cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
  -DCARILLON_RTL=OFF -DCARILLON_TESTS=OFF -DCARILLON_BENCH=OFF -DCARILLON_FUZZ=ON >/dev/null
for target in "${targets[@]}"; do
  cmake --build build/fuzz --target "${target}_fuzz" -j"$(nproc)" >build/fuzz/"$target".log 2>&1 || {
    tail -20 build/fuzz/"$target".log >&2
    exit 1
  }
done
for target in "${targets[@]}"; do
  found=build/fuzz/found/$target
  mkdir -p "$found"
  # New inputs go to a folder of their own: the committed corpus is only read.
  echo "fuzz: $target for $seconds s, from $(find tb/fuzz/corpus/"$target" -type f | wc -l) inputs"
  build/fuzz/tb/fuzz/"${target}"_fuzz -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$found"/crash- "$found" tb/fuzz/corpus/"$target" >build/fuzz/"$target".run 2>&1 || {
    tail -40 build/fuzz/"$target".run >&2
    echo "fuzz: $target has a finding in $found" >&2
    exit 1
  }
  grep -E 'stat::number_of_executed_units|stat::new_units_added' build/fuzz/"$target".run
done
