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
    -DCARILLON_TESTS=OFF -DCARILLON_BENCH=OFF -DCARILLON_WAVES=OFF && ninja -C "$build" carillon
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

# Lines and branches that were reached, and bits that were seen to change; signals of more than 256
# bits have none.
verilator_coverage --write "$build/merged.dat" "$data"/*.dat >/dev/null
awk -F'\001' -v here="$PWD/" '
  /^C / {
    file = $2; sub(/^f\002/, "", file); sub(here, "", file)
    kind = /v_toggle/ ? "bit" : "line"
    count = $0; sub(/.* /, "", count)
    files[file]; all[file, kind]++; all["all", kind]++
    if (count > 0) { hit[file, kind]++; hit["all", kind]++ }
  }
  function share(file, kind) {
    return all[file, kind] ? sprintf("%5d %6.1f%%", all[file, kind],
                                     hit[file, kind] * 100 / all[file, kind]) : "    0       "
  }
  END {
    printf "%-44s %13s %13s\n", "file", "lines reached", "bits changed"
    for (file in files) {
      printf "%-44s %13s %13s\n", file, share(file, "line"), share(file, "bit") | "sort"
    }
    close("sort")
    printf "%-44s %13s %13s\n", "all", share("all", "line"), share("all", "bit")
  }' "$build/merged.dat"
echo "coverage: $build/coverage.info, $build/annotated/"
