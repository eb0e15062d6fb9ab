#!/usr/bin/env bash
# Installs what Carillon needs on Debian 12; asks nothing and does nothing when all is there.
# Usage: scripts/setup.sh [build|report|sweep|test|fuzz|lint]...   (no argument: all of them)
set -euo pipefail

build=(build-essential ca-certificates cmake ninja-build pkg-config ccache libsystemc-dev verilator
  libgtest-dev libgmock-dev libbenchmark-dev libfmt-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libsqlite3-dev zlib1g-dev libdeflate-dev python3)
# What `carillon report` and `carillon sweep` are written with.
report=(python3 python3-jinja2 python3-plotly)
# Of Snakemake all that it needs but python3-smart-open, which brings half a gigabyte of clients for
# clouds; these two are unpacked below.
sweep=(python3 python3-appdirs python3-configargparse python3-connection-pool python3-datrie
  python3-docutils python3-git python3-humanfriendly python3-jinja2 python3-jsonschema
  python3-nbformat python3-pkg-resources python3-psutil python3-pulp python3-ratelimiter
  python3-requests python3-retry python3-stopit python3-tabulate python3-throttler
  python3-toposort python3-wrapt python3-yaml)
# Independent judges of what the model writes: packet dissectors, a reader of configuration spaces
# and a second RTL front end; and a browser that opens the reports.
test=(tshark python3-scapy pciutils yosys chromium)
fuzz=(clang libclang-rt-14-dev)
lint=(git clang-format clang-tidy cppcheck codespell shellcheck)

wanted=()
for group in "${@:-all}"; do
  case "$group" in
    build) wanted+=("${build[@]}") ;;
    report) wanted+=("${report[@]}") ;;
    sweep) wanted+=("${sweep[@]}") ;;
    test) wanted+=("${build[@]}" "${report[@]}" "${sweep[@]}" "${test[@]}") ;;
    fuzz) wanted+=("${build[@]}" "${fuzz[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    all)
      wanted+=("${build[@]}" "${report[@]}" "${sweep[@]}" "${test[@]}" "${fuzz[@]}" "${lint[@]}")
      ;;
    *)
      echo "setup: unknown group '$group'; there are: build, report, sweep, test, fuzz, lint" >&2
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
unpacked=()
if [[ " ${wanted[*]} " == *" python3-datrie "* ]] &&
  ! /usr/bin/python3 -c 'import snakemake' 2>/dev/null; then
  unpacked=(snakemake python3-smart-open)
fi
[ "$((${#missing[@]} + ${#unpacked[@]}))" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: run as root: apt-get install ${missing[*]} ${unpacked[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]} ${unpacked[*]}"
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
[ "${#unpacked[@]}" -gt 0 ] || exit 0

# Debian's packages without what they depend on, to where Python looks for what is no package.
modules=$(/usr/bin/python3 -c 'import sys; print("/usr/local/lib/python%d.%d/dist-packages" % sys.version_info[:2])')
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT
if ! (cd "$folder" && apt-get -qq download "${unpacked[@]}") >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup: apt-get download failed; try: apt-get install snakemake" >&2
  exit 1
fi
"${as_root[@]}" mkdir -p "$modules"
for package in "$folder"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    "${as_root[@]}" tar -x --strip-components=5 -C "$modules" ./usr/lib/python3/dist-packages
done
