"""DCQCN with a switch that marks and NICs that answer and obey: what is known of the algorithm
holds of the model, and an independent simulation of it (tb/oracles/dcqcn.py) agrees."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
from network_series import QUEUE, RECEIVED, XOFF, series  # noqa: E402

sys.path.insert(0, str(carillon_runs.ROOT / "tb/oracles"))
import dcqcn  # noqa: E402

# Bytes of a full packet: on the wire, in the switch's buffer, and as nic0 counts them. The last
# lacks the FCS.
WIRE, BUFFER, COUNTED, PAYLOAD = 1106, 1086, 1082, 1024


class run_of:
    """One run of a scenario, all its points."""

    def __init__(self, name, *options):
        self.folder = tempfile.TemporaryDirectory()
        out = pathlib.Path(self.folder.name)
        command = [carillon_runs.BINARY, "run", str(carillon_runs.ROOT / f"scenarios/{name}.toml"),
                   "--out", str(out), "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=580,
                              cwd=carillon_runs.ROOT)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        self.summary = json.loads((out / "summary.json").read_text())
        self.series = {path.parent.name if path.parent != out else "": series(path)
                       for path in out.rglob("series.csv")}
        self.folder.cleanup()


def oracle_of(seeds=6, **more):
    """The same senders, begun at the same time as they are, seed by seed."""
    return [dcqcn.simulate(dcqcn.parameters(link=40, packet=WIRE, seed=seed + 1,
                                            starts=(0,) * more["senders"], **more))
            for seed in range(seeds)]


class senders_on_one_link(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_found = run_of("dcqcn_fixed_point")

    def queue(self, label, from_ms, to_ms):
        """Mean and deviation in bytes of wire, as the algorithm's analysis counts."""
        return [each * WIRE / BUFFER
                for each in self.run_found.series[label].moments(QUEUE, from_ms, to_ms)]

    def utilisation(self, label, from_ms, to_ms):
        received = self.run_found.series[label].mean(RECEIVED, from_ms, to_ms)
        return received * WIRE / COUNTED / 40

    def test_ten_rest_above_the_fluid_models_queue_by_less_than_two_fifths(self):
        rest = dcqcn.solve_fixed_point(dcqcn.parameters(link=40, senders=10, packet=WIRE)).queue
        mean, _ = self.queue("ten", 20, 60)
        self.assertGreater(mean, rest)
        self.assertLess(mean, 1.4 * rest)

    def test_two_rest_above_the_fluid_models_queue_by_less_than_two_fifths(self):
        rest = dcqcn.solve_fixed_point(dcqcn.parameters(link=40, senders=2, packet=WIRE)).queue
        mean, _ = self.queue("two", 20, 100)
        self.assertGreater(mean, rest)
        self.assertLess(mean, 1.4 * rest)

    def test_ten_have_the_oracles_queue_within_5_percent(self):
        for label, delay in (("ten", 4), ("ten_far", 85)):
            with self.subTest(label):
                expected = statistics.mean(each.mean_queue for each in oracle_of(
                    senders=10, delay=delay, warm_up=20e3, measured=40e3))
                mean, _ = self.queue(label, 20, 60)
                self.assertAlmostEqual(mean, expected, delta=0.05 * expected)

    def test_two_have_the_oracles_queue_within_what_its_seeds_differ(self):
        # The oracle's own runs of this length differ by some 5 % (standard deviation).
        for label, delay in (("two", 4), ("two_far", 85)):
            with self.subTest(label):
                found = [each.mean_queue for each in oracle_of(
                    senders=2, delay=delay, warm_up=20e3, measured=80e3)]
                mean, _ = self.queue(label, 20, 100)
                self.assertAlmostEqual(mean, statistics.mean(found),
                                       delta=3 * statistics.stdev(found))

    def test_a_long_way_back_makes_ten_swing_and_not_two(self):
        # "Unstable" at 85 us with ten senders, stable with two, says the CoNEXT 2016 paper.
        ten = self.queue("ten_far", 20, 60)[1] / self.queue("ten", 20, 60)[1]
        two = self.queue("two_far", 20, 100)[1] / self.queue("two", 20, 100)[1]
        self.assertGreater(ten, 1.8)
        self.assertLess(two, 1.4)
        self.assertGreater(self.utilisation("ten", 20, 60), 0.99)
        self.assertLess(self.utilisation("ten_far", 20, 60), 0.96)
        self.assertGreater(self.utilisation("two_far", 20, 100), 0.97)

    def test_all_get_the_same(self):
        for label, senders in (("two", 2), ("ten", 10)):
            found = self.run_found.series[label]
            rates = [found.mean(f"flow.{i}_0.gbps", 20, 60) for i in range(1, senders + 1)]
            self.assertGreater(dcqcn.jain(rates), 0.99)


class a_third_flow(unittest.TestCase):
    def test_has_its_share_within_100_ms(self):
        # It joins at 33.6 ms. Well within 100 ms, says the analysis; here within 67.
        found = run_of("dcqcn_third_flow").series[""]
        self.assertEqual(found.mean("flow.1_0.gbps", 0, 33), 0)
        share = 40 / 3
        for i in (1, 2, 3):
            rate = found.mean(f"flow.{i}_0.gbps", 85, 100) * WIRE / PAYLOAD
            self.assertAlmostEqual(rate, share, delta=0.15 * share)


class an_incast(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_found = run_of("incast_dcqcn", "--set", "trace.series_ns=1000")

    def test_is_not_paused_any_more_after_a_millisecond(self):
        for label in ("paper", "vendor"):
            last = self.run_found.series[label].last(XOFF)
            self.assertGreater(last, 0)
            self.assertLess(last, 1)

    def test_every_cnp_reaches_the_rate_that_it_is_for(self):
        for label in ("paper", "vendor"):
            counters = self.run_found.summary["points"][label]["counters"]
            sent = counters["nic0"]["np_cnp_sent"]
            self.assertGreater(sent, 0)
            self.assertEqual(sum(each["rp_cnp_handled"] for each in counters.values()), sent)

    def test_fills_the_port_when_it_has_settled(self):
        # Of the 4178 bytes that a packet takes, nic0 counts 4154: 99.4 Gb/s at most.
        for label, from_ms, to_ms in (("paper", 13, 15), ("vendor", 6, 10)):
            received = self.run_found.series[label].mean(RECEIVED, from_ms, to_ms)
            self.assertGreater(received, 95)

    def test_is_the_same_whatever_the_order_within_a_cycle(self):
        # Too short for what the scenario expects, but with CNPs, cuts and pauses.
        scenario = carillon_runs.ROOT / "scenarios/incast_dcqcn.toml"
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in ("0", "1", "2"):
                out = pathlib.Path(folder) / seed
                carillon_runs.run(scenario, out, "--shuffle", seed, "--set",
                                  "workload.duration_ns=300000")
                found.append(carillon_runs.summary(out))
        self.assertGreater(found[0]["points"]["paper"]["counters"]["nic1"]["rp_cnp_handled"], 1)
        self.assertEqual(found[1], found[0])
        self.assertEqual(found[2], found[0])


class thresholds(unittest.TestCase):
    def test_that_do_not_fit_cost_what_the_scenario_says(self):
        points = run_of("ecn_thresholds").summary["points"]

        def answers(label):
            """CNPs a data packet."""
            ports = points[label]["network"]["switches"]["switch"]
            return (points[label]["counters"]["nic0"]["np_cnp_sent"]
                    / ports["port0"]["tx_prio3_packets"])

        self.assertGreater(answers("cnp_storm"), 2 * answers("fitting"))
        self.assertEqual(answers("too_high"), 0)


if __name__ == "__main__":
    unittest.main()
