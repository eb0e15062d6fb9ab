#!/usr/bin/python3
"""What RTL and lockstep cost: one scenario by model, by RTL and by both, in turn.

  scripts/twin_cost.py scenarios/doorbell_vs_blueflame.toml --rounds 5

Processor time of each, least of all rounds, as a ratio to the model's; and the clock cycles a
second in which RTL had something to do. The summaries of the three must be the same but for what
the run cost.
"""

import argparse
import resource
import statistics
import sys

import scenario_runs

IMPLS = ("model", "rtl", "lockstep")


def measure(binary, scenario, impl, options):
    """Seconds of processor time, and the summary."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    summary = scenario_runs.run(binary, scenario, "--impl", f"all={impl}", *options)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, summary


def cycles_of(stats):
    """Of all points."""
    return sum(each["rtl_cycles"] for each in stats.get("points", {"": stats}).values())


def findings(summary):
    """What it says of the NIC: not who played the stages, nor what the run cost."""
    if isinstance(summary, dict):
        return {key: findings(value) for key, value in summary.items()
                if key not in ("stats", "impl")}
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="each impl so often, in turn (3)")
    given, options = scenario_runs.arguments(parser)
    seconds = {impl: [] for impl in IMPLS}
    cycles = {}
    found = {}
    for _ in range(given.rounds):
        for impl in IMPLS:
            time, summary = measure(given.binary, given.scenario, impl, options)
            seconds[impl].append(time)
            cycles[impl] = cycles_of(summary["stats"])
            found[impl] = findings(summary)
            if found[impl] != found["model"]:
                sys.exit(f"model and {impl} do not find the same")
    model = min(seconds["model"])
    print(f"{'impl':9} {'CPU s':>8} {'median':>8} {'to model':>9} {'RTL cycles':>11} "
          f"{'cycles/s':>10}")
    for impl in IMPLS:
        least = min(seconds[impl])
        rate = f"{cycles[impl] / least:,.0f}" if cycles[impl] else "-"
        print(f"{impl:9} {least:8.2f} {statistics.median(seconds[impl]):8.2f} {least / model:9.1f} "
              f"{cycles[impl]:11,} {rate:>10}")


if __name__ == "__main__":
    main()
