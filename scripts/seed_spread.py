#!/usr/bin/python3
"""Runs a scenario with many seeds and prints how the figures of its [expect] spread.

  scripts/seed_spread.py scenarios/latency_table.toml --seeds 20 --jobs 2

Of each figure: what is expected, and the mean, standard deviation, least and greatest of the runs.
"""

import argparse
import statistics
import tomllib
from concurrent.futures import ThreadPoolExecutor

import scenario_runs


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="1 to this (20)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time (1)")
    given, options = scenario_runs.arguments(parser)
    with open(given.scenario, "rb") as file:
        expected = dict(figures(tomllib.load(file).get("expect", {})))
    with ThreadPoolExecutor(given.jobs) as pool:
        runs = list(pool.map(
            lambda seed: scenario_runs.run(given.binary, given.scenario, "--seed", str(seed),
                                           *options), range(1, given.seeds + 1)))
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
