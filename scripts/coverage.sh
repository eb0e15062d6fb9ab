#!/usr/bin/env bash
# Lines and toggles of the twins' RTL that the lockstep benches reach, as lcov reads them.
# Usage: scripts/coverage.sh [STAGE...]   (default: all)
# TRANSACTIONS=N (20000) and SEEDS="..." (1 2 3) in the environment change the effort.
# build/coverage/coverage.info is the report, build/coverage/annotated/ the sources with counts, where
# a line that begins with % was never reached.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/coverage
data=$build/data
stages=("$@")
[ "${#stages[@]}" -gt 0 ] || stages=(all)

echo "coverage: building"
mkdir -p "$build"
if ! {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCARILLON_RTL_COVERAGE=ON \
    -DCARILLON_TESTS=OFF -DCARILLON_BENCH=OFF && ninja -C "$build" carillon
} >"$build/build.log" 2>&1; then
  tail -n 30 "$build/build.log" >&2
  exit 1
fi

rm -rf "$data" "$build/annotated"
mkdir -p "$data"
export CARILLON_COVERAGE_DIR=$data
for seed in ${SEEDS:-1 2 3}; do
  for pattern in none random; do
    for stage in "${stages[@]}"; do
      "$build/carillon" lockstep "$stage" --transactions "${TRANSACTIONS:-20000}" --seed "$seed" \
        --source "$pattern" --sink "$pattern" >/dev/null
    done
  done
done
verilator_coverage --write-info "$build/coverage.info" "$data"/*.dat >/dev/null
verilator_coverage --annotate "$build/annotated" --annotate-all --annotate-min 1 "$data"/*.dat \
  >/dev/null

# A line counts as reached when each of its branches and bits was.
awk -F'[:,]' -v here="$PWD/" '
  $1 == "SF" { file = $2; sub(here, "", file) }
  $1 == "DA" && file ~ /\.sv$/ { all[file]++; if ($3 > 0) hit[file]++ }
  END {
    printf "%-44s %7s %8s\n", "file", "lines", "reached"
    for (file in all) {
      printf "%-44s %7d %7.1f%%\n", file, all[file], hit[file] * 100 / all[file] | "sort"
      lines += all[file]; reached += hit[file]
    }
    close("sort")
    printf "%-44s %7d %7.1f%%\n", "all", lines, lines ? reached * 100 / lines : 0
  }' "$build/coverage.info"
echo "coverage: $build/coverage.info, $build/annotated/"
