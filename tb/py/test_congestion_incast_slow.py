"""An 8:1 incast under DCQCN: pauses end, every CNP is obeyed, the port is filled."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
from congestion_runs import run_of  # noqa: E402
from network_series import RECEIVED, XOFF  # noqa: E402


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
            flows = self.run_found.points[label]["flows"]
            self.assertGreater(flows["cnps_sent"], 0)
            self.assertEqual(flows["cnps_handled"], flows["cnps_sent"])

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


if __name__ == "__main__":
    unittest.main()
