#!/usr/bin/python3
"""The table of docs/congestion.md: senders on one link, by the model and by the oracle.

A row holds if of every seed the Jain index is above 0.99 and nothing is lost, and if the mean queue
of all seeds lies between q* and 1.4 q* and within 5 % of the oracle's. The script exits with 1 if
one does not. It takes 10 to 30 s of processor time for a row and seed.
Example: scripts/dcqcn_table.py 40:10:40:100 10:2:100:300 --seeds 2
"""

import argparse
import concurrent.futures
import functools
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb/py"))
from congestion_runs import SHORT_WIRE, WIRE, oracle_run, rest_of, row, short_packets  # noqa: E402

ROWS = ["40:2:60:160", "40:4:60:120", "40:10:40:100", "10:2:100:300", "100:2:60:120",
        "100:8:60:120", "100:16:60:120"]
# Metres of cable that make 4 us of delay, by Gb/s: the loop is four cables, and 1.1 us at 100 Gb/s,
# 1.4 at 40 and 2.8 at 10.
CABLES = {10: 60, 40: 129, 100: 143}
AMPLE = 128_000_000  # bytes of buffer, whose headrooms grow with the rate
HEAD = ("| C Gb/s | N | measured ms | queue, model | queue, oracle | model / oracle | q* | "
        "model / q* | Jain, at least |")


def model_run(gbps, senders, begin, end, wire, seed):
    return row("two", begin, end, seeds=(seed,), link=gbps, senders=senders, wire=wire,
               **{"network.cable_m": CABLES[gbps], "network.switch.buffer_bytes": AMPLE},
               **(short_packets() if wire == SHORT_WIRE else {}))


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0


def shortfalls(runs, queue, expected, rest):
    """What the row was to have and has not."""
    wrong = []
    if min(jain for run in runs for jain in run.jains) <= 0.99:
        wrong.append("a Jain index of 0.99 or less")
    if not all(run.lossless for run in runs):
        wrong.append("losses, failures or pauses")
    if not rest < queue < 1.4 * rest:
        wrong.append("a queue that is not between q* and 1.4 q*")
    if abs(queue / expected - 1) > 0.05:
        wrong.append("a queue more than 5 % off the oracle's")
    return wrong


def measure(pool, seeds, oracle_seeds, wire, gbps, senders, begin, end):
    """Prints a line of the table; what does not hold of it."""
    runs = pool.map(functools.partial(model_run, gbps, senders, begin, end, wire), seeds)
    oracle = pool.map(functools.partial(oracle_run, senders, begin, end, link=gbps, packet=wire),
                      oracle_seeds)
    runs, oracle = list(runs), [each.mean_queue for each in oracle]
    queues = [queue for run in runs for queue in run.queues]
    queue, expected = statistics.mean(queues), statistics.mean(oracle)
    rest = rest_of(senders, gbps, wire)
    single = ", ".join(f"{each / 1e3:.1f}" for each in queues)
    jain = min(jain for run in runs for jain in run.jains)
    print(f"| {gbps} | {senders} | {begin} to {end} | {queue / 1e3:.1f} KB ({single}) | "
          f"{expected / 1e3:.1f} +- {spread(oracle) / 1e3:.1f} | {queue / expected:.3f} | "
          f"{rest / 1e3:.1f} | {queue / rest:.2f} | {jain:.4f} |", flush=True)
    return shortfalls(runs, queue, expected, rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, metavar="GBPS:SENDERS:FROM_MS:TO_MS")
    parser.add_argument("--seeds", type=int, default=5, help="of the model")
    parser.add_argument("--oracle-seeds", type=int, default=15, help="of the oracle, whose mean is "
                        "to be known better than by 5 %%")
    parser.add_argument("--short", action="store_true", help="messages of one packet, which takes "
                        f"{SHORT_WIRE} bytes of wire, in place of packets that take {WIRE}")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    chosen = parser.parse_args()
    wrong = []
    print(HEAD, "|---" * HEAD.count(" | ") + "|---|", sep="\n", flush=True)
    with concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool:
        for each in chosen.rows:
            found = measure(pool, range(1, chosen.seeds + 1), range(1, chosen.oracle_seeds + 1),
                            SHORT_WIRE if chosen.short else WIRE, *map(int, each.split(":")))
            wrong += [f"{each}: {what}" for what in found]
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
