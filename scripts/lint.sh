#!/usr/bin/env bash
# Style and static checks. Each failing step prints the command that repairs or repeats it.
# Usage: scripts/lint.sh                  all quick checks
#        scripts/lint.sh --fix            repairs layout: clang-format, blanks, ends of files
#        scripts/lint.sh --rtl FILE       Verilator as linter on the module of one file
#        scripts/lint.sh --synth FILE     yosys: the module can be synthesised
#        scripts/lint.sh --tidy [FILE...] clang-tidy, slow; all C++ sources or those named
# The steps are called by name, which shellcheck does not see.
# shellcheck disable=SC2317
set -uo pipefail
cd "$(dirname "$0")/.." || exit

git rev-parse --is-inside-work-tree >/dev/null || {
  echo "lint: git lists the files to check, and it refused" >&2
  exit 1
}

# Files of the working tree that git knows or would take, without generated and golden ones.
files() {
  git ls-files -z --cached --others --exclude-standard -- "$@" |
    while IFS= read -r -d '' file; do
      case "$file" in
        model/gen/* | rtl/gen/* | docs/reference/* | tb/golden/* | LICENSE) ;;
        *) if [ -f "$file" ]; then printf '%s\0' "$file"; fi ;;
      esac
    done
}

rtl_module() {
  local file=$1 packages waivers
  mapfile -t packages < <(scripts/rtl_packages.sh)
  mapfile -t waivers < <(find rtl/lint -name '*.vlt' 2>/dev/null | sort)
  verilator --lint-only -Wall --assert -y "$(dirname "$file")" -y rtl/common \
    --top-module "$(basename "$file" .sv)" \
    ${waivers[@]+"${waivers[@]}"} ${packages[@]+"${packages[@]}"} "$file"
}

synth_module() {
  local file=$1 top folder packages cells
  top=$(basename "$file" .sv)
  folder=$(dirname "$file")
  [[ $folder != rtl ]] || folder=rtl/$top # a part of a twin may use other parts of it
  mapfile -t packages < <(scripts/rtl_packages.sh)
  mapfile -t cells < <(find rtl/common "$folder" -name '*.sv' 2>/dev/null | sort -u)
  # Only what the module uses is elaborated, with the parameters that it uses.
  [[ " ${cells[*]-} " == *" $file "* ]] || cells+=("$file")
  yosys -q -p "read_verilog -defer -sv -Irtl/common ${packages[*]-} ${cells[*]}
               hierarchy -check -top $top; proc; opt_clean; check -assert"
}

tidy() {
  local sources=("$@")
  if [ "${#sources[@]}" -eq 0 ]; then
    mapfile -d '' -t sources < <(files 'model/*.cpp' 'tb/*.cpp')
  fi
  cmake --preset lint >/dev/null || return 1
  printf '%s\0' "${sources[@]}" |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy --quiet -p build/lint
}

fix() {
  files '*.cpp' '*.h' | xargs -0 -r clang-format -i
  files | xargs -0 -r /usr/bin/python3 scripts/lint_text.py --fix >/dev/null
  true # what is left shows in the next run
}

case "${1:-}" in
  --fix)
    fix
    exit
    ;;
  --rtl)
    rtl_module "${2:?a file under rtl/}"
    exit
    ;;
  --synth)
    synth_module "${2:?a file under rtl/}"
    exit
    ;;
  --tidy)
    shift
    tidy "$@"
    exit
    ;;
  "") ;;
  *)
    echo "lint: unknown argument '$1'; see the head of scripts/lint.sh" >&2
    exit 2
    ;;
esac

failed=0

step() { # name, repair, command...
  local name=$1 repair=$2 output
  shift 2
  if output=$("$@" 2>&1); then
    echo "  $name: ok"
  else
    printf '%s\n' "$output" | sed 's/^/    /'
    echo "  $name: FAILED; $repair"
    failed=1
  fi
}

# The files and how many places each; the repair is mechanical, so the places need no reading.
format() {
  local places
  places=$(files '*.cpp' '*.h' | xargs -0 -r clang-format --dry-run -Werror 2>&1) && return
  grep ': error: ' <<<"$places" | cut -d: -f1 | sort | uniq -c
  return 1
}
text() { files | xargs -0 -r /usr/bin/python3 scripts/lint_text.py; }
spelling() { files | xargs -0 -r codespell --ignore-words .codespellignore; }
shell_scripts() { files 'scripts/*.sh' '.ci/*' | xargs -0 -r shellcheck; }
# Suppressed for all: what is a matter of taste, what TLM's signatures force, and what this version gets wrong: it knows no
# coroutines (missingReturn), loses track of values behind them and of references (redundantAssignment,
# returnDanglingLifetime), and takes a module that is built for its constructor's sake for unused.
cpp_static() {
  local id suppressed=()
  for id in missingIncludeSystem unusedFunction unmatchedSuppression shadowFunction useStlAlgorithm \
    constParameterCallback CastIntegerToAddressAtReturn missingReturn redundantAssignment \
    returnDanglingLifetime useInitializationList constVariable constParameter; do
    suppressed+=("--suppress=$id")
  done
  # It takes the to_string of any enum of the spec for that of counters.
  suppressed+=("--suppress=containerOutOfBounds:model/gen/counters.h")
  # What is handed to a coroutine is handed over by value.
  suppressed+=("--suppress=passedByValue:tb/isolation/*")
  local common=(--quiet --std=c++20 --language=c++ -j "$(nproc)" --error-exitcode=1 --inline-suppr
    --library=googletest "${suppressed[@]}" -DSC_CPLUSPLUS=201703L -DCARILLON_RTL=1 -I. -Imodel)
  files 'model/*.cpp' |
    xargs -0 -r cppcheck --enable=warning,style,performance,portability "${common[@]}" &&
    files 'tb/*.cpp' | xargs -0 -r cppcheck --enable=warning,performance,portability "${common[@]}"
}
rtl_all() {
  local status=0 file
  while IFS= read -r -d '' file; do
    rtl_module "$file" || status=1
  done < <(files 'rtl/*.sv')
  return "$status"
}

step "clang-format" "repair: scripts/lint.sh --fix" format
step "text" "repair: scripts/lint.sh --fix (blanks and ends of files; the rest by hand)" text
step "codespell" "repair: codespell -w FILE, or add the word to .codespellignore" spelling
step "shellcheck" "repeat: shellcheck scripts/*.sh" shell_scripts
step "cppcheck" "repair the finding, or // cppcheck-suppress ID with the reason on the line" cpp_static
step "verilator" "repeat: scripts/lint.sh --rtl FILE; waivers with a reason go to rtl/lint/<stage>.vlt" rtl_all
exit "$failed"
