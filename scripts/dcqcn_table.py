#!/usr/bin/python3
"""The table of docs/congestion.md: senders on one link, by the model and by the oracle.

Takes a minute of processor time for a row and seed of 40 Gb/s and more; seeds go to standard output
as they are done. Example: scripts/dcqcn_table.py 40:10:20:60 10:2:100:300 --seeds 2
"""

import argparse
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb/py"))
from congestion_runs import oracle_of, rest_of, row  # noqa: E402

ROWS = ["40:2:60:160", "40:4:60:120", "40:10:20:60", "10:2:100:300", "100:2:60:120",
        "100:8:60:120", "100:16:60:120"]
# Metres of cable that make 4 us of delay, by Gb/s: the loop is four cables, and 1.1 us at 100 Gb/s,
# 1.4 at 40 and 2.8 at 10.
CABLES = {10: 60, 40: 129, 100: 143}
AMPLE = 128_000_000  # bytes of buffer, whose headrooms grow with the rate


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, metavar="GBPS:SENDERS:FROM_MS:TO_MS")
    parser.add_argument("--seeds", type=int, default=5, help="of the model and of the oracle")
    chosen = parser.parse_args()
    for each in chosen.rows:
        gbps, senders, begin, end = (int(part) for part in each.split(":"))
        oracle = [one.mean_queue for one in oracle_of(senders, begin, end, link=gbps,
                                                      seeds=chosen.seeds)]
        expected, rest = statistics.mean(oracle), rest_of(senders, gbps)
        deviation = statistics.stdev(oracle) if len(oracle) > 1 else 0
        queues = []
        for seed in range(1, chosen.seeds + 1):
            found = row("two", begin, end, seeds=(seed,), link=gbps, senders=senders,
                        **{"network.cable_m": CABLES[gbps], "network.switch.buffer_bytes": AMPLE})
            queues += found.queues
            print(f"{gbps} Gb/s, {senders} senders, seed {seed}: queue {queues[-1]:.0f}, "
                  f"Jain {found.jains[0]:.4f}, utilisation {found.utilisations[0]:.4f}", flush=True)
        mean = statistics.mean(queues)
        print(f"{gbps} Gb/s, {senders} senders: queue {mean:.0f}, oracle {expected:.0f} +- "
              f"{deviation:.0f}, ratio {mean / expected:.3f}, q* {rest:.0f}, "
              f"queue / q* {mean / rest:.2f}", flush=True)


if __name__ == "__main__":
    main()
