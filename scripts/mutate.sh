#!/usr/bin/env bash
# How much the lockstep bench of a stage notices: yosys plants COUNT random faults in the twin, one
# at a time, and the bench must find each.
# Usage: scripts/mutate.sh STAGE [COUNT] [SEED]   (default: 200 mutations, seed 1)
# A fault survives if three seeds of traffic, from SEED on, do not find it. TRANSACTIONS=N (20000) of
# each and JOBS=N (all cores) in the environment change the effort; FIRST=N (SEED) is the first seed
# of the traffic alone; ONLY="3 17" runs these faults again and keeps what was found of the others,
# as after a change to the bench.
# All mutations are in one netlist, chosen by an input, so it is built once, and again only when the
# twin has changed. The results and the list of mutations stay in build/mutations/STAGE.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=${1:?usage: scripts/mutate.sh STAGE [COUNT] [SEED]}
count=${2:-200}
seed=${3:-1}
transactions=${TRANSACTIONS:-20000}
jobs=${JOBS:-$(nproc)}
first=${FIRST:-$seed}
build=build/mutate
out=build/mutations/$stage
width=16

top=rtl/$stage/$stage.sv
[ -e "$top" ] || top=rtl/$stage.sv
[ -e "$top" ] || {
  echo "mutate: rtl/ has no twin called '$stage'" >&2
  exit 2
}
[[ $count =~ ^[1-9][0-9]*$ && $count -lt $((1 << width)) ]] || {
  echo "mutate: COUNT '$count' is not a number from 1 to $(((1 << width) - 1))" >&2
  exit 2
}
mapfile -t packages < <(scripts/rtl_packages.sh)
mapfile -t sources < <(find rtl/common "$(dirname "$top")" -maxdepth 1 -name '*.sv' | sort)
[ "$(dirname "$top")" != rtl ] || sources=(rtl/common/*.sv "$top")

# A netlist is made anew when what it is made of has changed.
made_of=$({
  echo "$count $seed"
  cat "${packages[@]}" "${sources[@]}" rtl/common/*.svh
} | sha256sum)
if [ "$(cat "$out/made_of" 2>/dev/null)" != "$made_of" ]; then
  rm -rf "$out"
  mkdir -p "$out"
  # Logic that does nothing, such as the upper bits of a widened constant, goes first: a fault in it
  # is none. Of these twins yosys 0.23 makes something else then, so they keep it.
  reduce="memory_collect; opt -full; wreduce; opt -full"
  case $stage in
    packet_builder | qpc_ram | wqe_fetch | wqe_parser) reduce="memory -nordff -nomap" ;;
  esac
  # A fault of the clock is none of the logic; so some more are drawn than are kept.
  echo "mutate: $stage: choosing $count mutations with seed $seed"
  yosys -q -p "read_verilog -sv -Irtl/common ${packages[*]} ${sources[*]}
               hierarchy -check -top $stage; proc; flatten; opt; $reduce; opt_clean
               write_rtlil $out/design.il
               mutate -list $((count + count / 4 + 10)) -seed $seed -o $out/drawn"
  grep -vE -- '-port ([A-Z]+_)?CLK ' "$out/drawn" |
    awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f %s\n", rand(), $0 }' | sort -n |
    awk -v count="$count" -v width="$width" 'NR <= count {
      sub(/^[0-9.]+ mutate /, "mutate -ctrl mutation_i " width " " NR " "); print }' >"$out/list"
  yosys -q -p "read_rtlil $out/design.il; script $out/list; opt_clean
               write_verilog -noattr $out/$stage.sv" >"$out/yosys.log"
  echo "$made_of" >"$out/made_of"
fi
count=$(wc -l <"$out/list")
[ -n "${ONLY:-}" ] || rm -rf "$out/runs"
mkdir -p "$out/runs"

# All netlists that there are go into the program, so one more costs its own build only.
# Compiling takes longer than running, so it is not optimized as far as it could be.
overrides=
twins=
for netlist in build/mutations/*/made_of; do
  name=$(basename "$(dirname "$netlist")")
  twins+=${twins:+,}$name
  overrides+=${overrides:+,}$name=$PWD/build/mutations/$name
done
echo "mutate: building a program with the mutated netlist"
if ! {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCARILLON_TESTS=OFF \
    -DCARILLON_BENCH=OFF -DCARILLON_WAVES=OFF -DCARILLON_RTL_OPTIMIZE=-O1 \
    -DCARILLON_RTL_TWINS="$twins" -DCARILLON_RTL_OVERRIDE="$overrides" &&
    ninja -C "$build" -j "$jobs" carillon
} >"$out/build.log" 2>&1; then
  tail -n 30 "$out/build.log" >&2
  echo "mutate: the build failed; see $out/build.log" >&2
  exit 1
fi

lockstep=("$build/carillon" lockstep "$stage" --transactions "$transactions")
start=$(date +%s)
"${lockstep[@]}" --seed "$first" >/dev/null || {
  echo "mutate: the netlist does not agree with the model even without a mutation" >&2
  exit 1
}
# A mutation may keep the block busy for ever.
limit=$((10 + 10 * ($(date +%s) - start + 1)))

echo "mutate: running ${ONLY:-$count mutations}, $transactions transactions each, at most $limit s"
run_one() { # number, limit, seed, command...
  local number=$1 limit=$2 first=$3 seed status=0 text
  shift 3
  for seed in "$first" $((first + 1)) $((first + 2)); do
    text=$(timeout "$limit" "$@" --seed "$seed" --variant "mutation$number" 2>&1 >/dev/null) || {
      status=$?
      break
    }
  done
  case $status in
    0) echo survived ;;
    3)
      sed -nE 's/.*lockstep mismatch in cycle [0-9]+ at port ([a-z0-9_]+): ([a-z0-9_]+) .*/killed \1.\2/p;
               s/.*ended by signal ([0-9]+).*/killed signal-\1/p; t end; d; :end q' <<<"$text" |
        grep . || echo "killed check"
      ;;
    124) echo "killed no-end" ;;
    *) echo "error $status" ;;
  esac
}
export -f run_one
# shellcheck disable=SC2016 # for the shell that xargs starts
tr ' ' '\n' <<<"${ONLY:-$(seq "$count")}" | xargs -P "$jobs" -I{} bash -c \
  'run_one "$@" >"$0/runs/{}"' "$out" {} "$limit" "$first" "${lockstep[@]}"
for number in $(seq "$count"); do
  echo "$number $(cat "$out/runs/$number" 2>/dev/null || echo not-run)"
done >"$out/results"

awk -v stage="$stage" '
  NR == FNR { verdict[$1] = $2; how[$1] = $3; next }
  verdict[FNR] == "not-run" { next }
  { match($0, /-mode [a-z0-9]+/); mode = substr($0, RSTART + 6, RLENGTH - 6); n[mode]++; all++
    if (verdict[FNR] == "killed") { killed[mode]++; dead++; by[how[FNR]]++ }
    else if (verdict[FNR] == "survived") alive = alive "\n  " FNR ": " $0
    else wrong = wrong "\n  " FNR ": " verdict[FNR] " " how[FNR] }
  END {
    printf "%-10s %9s %9s\n", "mutation", "planted", "killed"
    for (mode in n) printf "%-10s %9d %9d\n", mode, n[mode], killed[mode] | "sort"
    close("sort")
    printf "%-10s %9d %9d  (%.1f %%)\n", "all", all, dead, dead * 100 / all
    print "seen first at:"
    for (place in by) printf "  %5d  %s\n", by[place], place | "sort -rn"
    close("sort -rn")
    if (alive) print "survived:" alive
    if (wrong) { print "could not be run:" wrong; exit 1 }
  }' "$out/results" "$out/list" | tee "$out/report"
