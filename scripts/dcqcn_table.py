#!/usr/bin/python3
"""The table of docs/congestion.md: senders on one link, by the model and by the oracle.

Takes a minute of processor time for a row and seed of 40 Gb/s and more; rows go to standard output
as they are done. Example: scripts/dcqcn_table.py 40:10:20:60 10:2:100:300 --seeds 2
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tb/py"), str(ROOT / "tb/oracles")]
import carillon_runs  # noqa: E402
import dcqcn  # noqa: E402
from network_series import QUEUE, series  # noqa: E402

WIRE, BUFFER = 1106, 1086  # bytes of a packet on the wire and in the switch
ROWS = ["40:2:20:120", "40:4:20:80", "40:10:20:60", "10:2:100:300", "100:2:20:60", "100:8:20:60",
        "100:16:20:60"]
# Metres of cable that make 4 us of delay, by Gb/s: the loop is four cables, and 1.1 us at 100 Gb/s,
# 1.4 at 40 and 2.8 at 10.
CABLES = {10: 60, 40: 129, 100: 143}


def modelled(gbps, senders, begin, end, seed):
    settings = {"network.hosts": senders + 1, "network.cable_m": CABLES[gbps],
                "network.switch.buffer_bytes": 128_000_000, "wire.rate_gbps": gbps,
                "workload.duration_ns": int(end * 1e6), "scenario.seed": seed}
    options = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    text = (ROOT / "scenarios/dcqcn_fixed_point.toml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "row.toml"
        before, after = text.index("[[points]]"), text.index("# Queues and rates")
        scenario.write_text(text[:before] + text[after:text.index("[expect]")])
        done = carillon_runs.run(scenario, folder, *options, timeout=None)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        found = series(pathlib.Path(folder) / "series.csv")
    rates = [found.mean(f"flow.{i + 1}_0.gbps", begin, end) for i in range(senders)]
    return found.mean(QUEUE, begin, end) * WIRE / BUFFER, dcqcn.jain(rates)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, metavar="GBPS:SENDERS:FROM_MS:TO_MS")
    parser.add_argument("--seeds", type=int, default=1, help="of the model; the oracle has six")
    chosen = parser.parse_args()
    for row in chosen.rows:
        gbps, senders, begin, end = (int(each) for each in row.split(":"))
        p = dcqcn.parameters(link=gbps, senders=senders, packet=WIRE, warm_up=begin * 1e3,
                             measured=(end - begin) * 1e3, starts=(0,) * senders)
        oracle = [dcqcn.simulate(dcqcn.dataclasses.replace(p, seed=i + 1)).mean_queue
                  for i in range(6)]
        rest = dcqcn.solve_fixed_point(p).queue
        for seed in range(1, chosen.seeds + 1):
            queue, jain = modelled(gbps, senders, begin, end, seed)
            print(f"{gbps} Gb/s, {senders} senders, seed {seed}: queue {queue:.0f}, "
                  f"oracle {statistics.mean(oracle):.0f} +- {statistics.stdev(oracle):.0f}, "
                  f"ratio {queue / statistics.mean(oracle):.3f}, q* {rest:.0f}, "
                  f"queue / q* {queue / rest:.2f}, Jain {jain:.4f}", flush=True)


if __name__ == "__main__":
    main()
