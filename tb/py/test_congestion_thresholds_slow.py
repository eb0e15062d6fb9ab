"""Thresholds of ECN that do not fit: a storm of CNPs, or no CNP at all."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import run_of  # noqa: E402


class thresholds(unittest.TestCase):
    def test_that_do_not_fit_cost_what_the_scenario_says(self):
        points = run_of("ecn_thresholds").points

        def answers(label):
            """CNPs a data packet."""
            ports = points[label]["network"]["switches"]["switch"]
            return (points[label]["counters"]["nic0"]["np_cnp_sent"]
                    / ports["port0"]["tx_prio3_packets"])

        self.assertGreater(answers("cnp_storm"), 2 * answers("fitting"))
        self.assertEqual(answers("too_high"), 0)


if __name__ == "__main__":
    unittest.main()
