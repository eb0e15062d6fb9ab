"""What the scripts share that run scenarios: their arguments, and a run."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def arguments(parser):
    """The scenario, the program and what else `parser` knows; and options of the run, behind --."""
    parser.add_argument("scenario")
    parser.add_argument("--binary", default=str(ROOT / "build/release/carillon"))
    parser.epilog = "What follows -- is for carillon run."
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:cut])
    if not Path(given.binary).exists():
        sys.exit(f"{given.binary} does not exist: build it, or name another one by --binary")
    return given, sys.argv[cut + 1:]


def run(binary, scenario, *options):
    """The summary. That an expectation is not met (exit 1) is for the reader to judge."""
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "run", scenario, "--out", out, "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return json.loads((Path(out) / "summary.json").read_text(encoding="utf-8"))
