#!/usr/bin/env bash
# Installs what the tests need, then runs every check.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
exec scripts/check.sh
