"""Runs the carillon program for the tests of this folder."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("CARILLON_BINARY", str(ROOT / "build/release/carillon"))
# Percentiles, and congestion control that is to settle, need more messages than it is good to run
# in every variant.
FOR_FIGURES = {"latency_table", "dcqcn_fixed_point", "dcqcn_third_flow", "ecn_thresholds",
                "incast_dcqcn", "leaf_spine_64"}
# Many NICs, which would take minutes in every variant: test_networks_slow has some of each.
NETWORKS = ("collectives", "incast_lossy", "incast_pfc", "pfc_deadlock", "pfc_storm")
SCENARIOS = sorted(path for path in (ROOT / "scenarios").glob("*.toml")
                   if path.stem not in FOR_FIGURES | set(NETWORKS))

# Of scenarios that take long, so many messages where the number does not matter.
_FEWER_MESSAGES = {"huge_pages": 60, "noisy_neighbour": 20, "soak": 2000}


def shorter(scenario):
    """Options that make a run of the scenario short enough for traces and captures."""
    messages = _FEWER_MESSAGES.get(pathlib.Path(scenario).stem)
    return () if messages is None else ("--set", f"workload.messages={messages}")


def run(scenario, out, *options, timeout=300):
    """One quiet run into the folder `out`; the finished process."""
    command = [BINARY, "run", str(scenario), "--out", str(out), "--quiet", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout,
                          cwd=ROOT)


def summary(out):
    """What must be the same in every run: everything but the implementation and the effort."""
    whole = json.loads((pathlib.Path(out) / "summary.json").read_text())
    return _without_effort(whole)


def simulated_ms(out):
    """Simulated time of all points of a run."""
    whole = summary(out)
    return sum(each["simulated_ns"] for each in whole.get("points", {"": whole}).values()) / 1e6


def _without_effort(value):
    if isinstance(value, dict):
        return {key: _without_effort(each) for key, each in value.items()
                if key not in ("stats", "impl")}
    if isinstance(value, list):
        return [_without_effort(each) for each in value]
    return value


def stage_traces(out):
    """Name below `out` -> bytes of every stage trace."""
    out = pathlib.Path(out)
    return {str(path.relative_to(out)): path.read_bytes()
            for path in sorted(out.rglob("stages.trace"))}
