#!/usr/bin/python3
"""Runs a scenario with many seeds and prints how the figures of its [expect] spread.

  scripts/seed_spread.py scenarios/latency_table.toml --seeds 20

Of each figure: what is expected, and the mean, standard deviation, least and greatest of the runs.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def figures(table, path=()):
    """The dotted paths of an [expect] and what stands there."""
    for key, value in table.items():
        if isinstance(value, dict) and not value.keys() <= {"value", "min", "max", "percent",
                                                            "tolerance"}:
            yield from figures(value, (*path, key))
        else:
            yield (*path, key), value


def look_up(summary, path):
    for key in path:
        summary = summary[key]
    return summary


def run(binary, scenario, seed, options):
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "run", scenario, "--seed", str(seed), "--out", out, "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: an expectation is not met, which is to be shown
            sys.exit(f"seed {seed} failed:\n{done.stdout}{done.stderr}")
        return json.loads((Path(out) / "summary.json").read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario")
    parser.add_argument("--seeds", type=int, default=20, help="1 to this (20)")
    parser.add_argument("--binary", default=str(ROOT / "build/release/carillon"))
    parser.epilog = "What follows -- is for carillon run."
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:cut])
    options = sys.argv[cut + 1:]
    if not Path(given.binary).exists():
        sys.exit(f"{given.binary} does not exist: build it, or name another one by --binary")
    with open(given.scenario, "rb") as file:
        expected = dict(figures(tomllib.load(file).get("expect", {})))
    runs = [run(given.binary, given.scenario, seed, options)
            for seed in range(1, given.seeds + 1)]
    width = max(len(".".join(path)) for path in expected)
    print(f"{'figure':{width}}  expected     mean       sd    least greatest")
    for path, wanted in expected.items():
        found = [look_up(each, path) for each in runs]
        if isinstance(wanted, dict):
            wanted = wanted.get("value", f"{wanted.get('min', '')}..{wanted.get('max', '')}")
        print(f"{'.'.join(path):{width}} {wanted!s:>9} {statistics.mean(found):8.3f} "
              f"{statistics.pstdev(found):8.3f} {min(found):8.3f} {max(found):8.3f}")


if __name__ == "__main__":
    main()
