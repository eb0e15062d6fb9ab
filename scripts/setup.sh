#!/usr/bin/env bash
# Installs what Carillon needs on Debian 12; asks nothing and does nothing when all is there.
# Usage: scripts/setup.sh [build|test|fuzz|lint]...   (no argument: all of them)
set -euo pipefail

build=(build-essential ca-certificates cmake ninja-build pkg-config ccache libsystemc-dev verilator
  libgtest-dev libgmock-dev libbenchmark-dev libfmt-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libsqlite3-dev zlib1g-dev python3)
# Independent judges of what the model writes: packet dissectors, a reader of configuration spaces
# and a second RTL front end.
test=(tshark python3-scapy pciutils yosys)
fuzz=(clang libclang-rt-14-dev)
lint=(git clang-format clang-tidy cppcheck codespell shellcheck)

wanted=()
for group in "${@:-all}"; do
  case "$group" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${build[@]}" "${test[@]}") ;;
    fuzz) wanted+=("${build[@]}" "${fuzz[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    all) wanted+=("${build[@]}" "${test[@]}" "${fuzz[@]}" "${lint[@]}") ;;
    *)
      echo "setup: unknown group '$group'; there are: build, test, fuzz, lint" >&2
      exit 2
      ;;
  esac
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not Debian; install the counterparts of: ${wanted[*]}" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: run as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The noninteractive front end takes each package's default answer (tshark: no capture without root).
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1
}
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
  cat "$log" >&2
  echo "setup: apt-get failed; try: apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi
