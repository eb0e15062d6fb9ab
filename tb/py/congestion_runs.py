"""Runs of DCQCN in a closed loop, for the tests named test_congestion_*."""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import carillon_runs
from network_series import series

sys.path.insert(0, str(carillon_runs.ROOT / "tb/oracles"))
import dcqcn  # noqa: E402

# Bytes of a full packet at MTU 1024: on the wire, in the switch's buffer, and as nic0 counts them.
# The last lacks the FCS.
WIRE, BUFFER, COUNTED, PAYLOAD = 1106, 1086, 1082, 1024


def scenario_text(name):
    return (carillon_runs.ROOT / f"scenarios/{name}.toml").read_text()


def one_point(text, label):
    """The scenario with that point only, and without what it expects."""
    text = text[:text.index("[expect]")]
    parts = re.split(r"^\[\[points\]\]\n", text, flags=re.M)
    chosen = [part for part in parts[1:] if f'label = "{label}"' in part]
    if len(chosen) != 1:
        raise ValueError(f"no point {label}")
    return f"{parts[0]}[[points]]\n{chosen[0]}"


class run_of:
    """One run of a scenario, all its points or one of them."""

    def __init__(self, name, *options, point=None):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            scenario = carillon_runs.ROOT / f"scenarios/{name}.toml"
            if point is not None:
                scenario = out / f"{name}_{point}.toml"
                scenario.write_text(one_point(scenario_text(name), point))
            command = [carillon_runs.BINARY, "run", str(scenario), "--out", str(out), "--quiet",
                       *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  cwd=carillon_runs.ROOT)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
            self.summary = json.loads((out / "summary.json").read_text())
            self.series = {path.parent.name if path.parent != out else "": series(path)
                           for path in out.rglob("series.csv")}
        self.points = self.summary.get("points", {"": self.summary})


# A WRITE of 900 bytes is a packet near the 1000 B of the algorithm's analysis: IPv4, UDP, BTH, RETH
# and ICRC take 60, Ethernet 14 and its FCS 4, preamble and gap 20; the last are in no buffer.
SHORT_PAYLOAD, SHORT_WIRE = 900, 998
KMIN, KMAX = 5000, 200_000  # bytes of wire


def short_packets():
    """Settings for messages of that length instead of full packets."""
    in_buffer = (SHORT_WIRE - (WIRE - BUFFER)) / SHORT_WIRE
    return {"workload.size": SHORT_PAYLOAD, "workload.outstanding": 512,
            "workload.queue_depth": 512,
            "network.switch.kmin_bytes": round(KMIN * in_buffer),
            "network.switch.kmax_bytes": round(KMAX * in_buffer)}


class row:
    """Senders on one link by the published rule, measured from `begin` to `end` (ms)."""

    def __init__(self, point, begin, end, *, seeds=(1,), link=40, senders=None, wire=WIRE, **more):
        """By the scenario's point, or with so many senders at another rate (`link`, Gb/s); packets
        take `wire` bytes of it."""
        self.link, self.begin, self.end = link, begin, end
        self.in_wire = wire / (wire - (WIRE - BUFFER))
        settings = {"workload.duration_ns": int(end * 1e6),
                    "workload.measure_from_ns": int(begin * 1e6), "trace.series_ns": 0,
                    "wire.rate_gbps": link, **more}
        if senders is not None:
            settings["network.hosts"] = senders + 1
        self.found = []
        for seed in seeds:
            options = [part for key, value in {**settings, "scenario.seed": seed}.items()
                       for part in ("--set", f"{key}={value}")]
            self.found.append(run_of("dcqcn_fixed_point", *options, point=point).points[point])

    def _each(self, key):
        return [one["network"]["measured"][key] for one in self.found]

    @property
    def queues(self):
        """Of each seed the mean in bytes of wire, as the algorithm's analysis counts."""
        return [value * self.in_wire for value in self._each("mean_queue_bytes")]

    @property
    def deviations(self):
        return [value * self.in_wire for value in self._each("queue_deviation_bytes")]

    @property
    def utilisations(self):
        return self._each("utilisation")

    @property
    def jains(self):
        return [one["flows"]["jain_index"] for one in self.found]

    @property
    def lossless(self):
        """Nothing is lost, and nobody is paused."""
        return all(one["flows"]["failed"] == one["network"]["lost_packets"]
                   == one["network"]["measured"]["xoffs"] == 0 for one in self.found)


class settled_senders:
    """What holds of so many senders that have settled, by the published rule: for a TestCase that
    has their `point`, which is `senders` of them, and in `window` from when to when (ms) they are
    measured. `found` are five runs, `far` five with 85 us of delay, and the oracle has both."""

    @classmethod
    def setUpClass(cls):
        seeds = range(1, 6)
        # Its runs differ by 5 % (standard deviation), so that it takes many to know their mean.
        oracle_seeds = 15
        cls.found = row(cls.point, *cls.window, seeds=seeds)
        cls.far = row(f"{cls.point}_far", *cls.window, seeds=seeds)
        cls.oracle = oracle_of(cls.senders, *cls.window, seeds=oracle_seeds)
        cls.far_oracle = oracle_of(cls.senders, *cls.window, seeds=oracle_seeds, delay=85)

    def test_lose_nothing_and_are_never_paused(self):
        self.assertTrue(self.found.lossless)
        self.assertTrue(self.far.lossless)

    def test_rest_above_the_fluid_models_queue_by_less_than_two_fifths(self):
        mean = statistics.mean(self.found.queues)
        self.assertGreater(mean, rest_of(self.senders))
        self.assertLess(mean, 1.4 * rest_of(self.senders))

    def test_have_the_oracles_queue_within_5_percent(self):
        for found, oracle in ((self.found, self.oracle), (self.far, self.far_oracle)):
            expected = statistics.mean(each.mean_queue for each in oracle)
            self.assertAlmostEqual(statistics.mean(found.queues), expected, delta=0.05 * expected)

    def test_get_the_same(self):
        self.assertGreater(min(self.found.jains), 0.99)


def oracle_run(senders, begin, end, seed, *, link=40, delay=4, packet=WIRE):
    """The same senders, begun at the same time as they are."""
    return dcqcn.simulate(dcqcn.parameters(
        link=link, senders=senders, packet=packet, delay=delay, warm_up=begin * 1e3,
        measured=(end - begin) * 1e3, starts=(0,) * senders, seed=seed))


def oracle_of(senders, begin, end, *, seeds, **more):
    return [oracle_run(senders, begin, end, seed, **more) for seed in range(1, seeds + 1)]


def rest_of(senders, link=40, packet=WIRE):
    """q* of the fluid model, in bytes of wire."""
    return dcqcn.solve_fixed_point(dcqcn.parameters(link=link, senders=senders,
                                                    packet=packet)).queue
