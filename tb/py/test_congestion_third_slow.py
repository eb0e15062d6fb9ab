"""A third flow joins two that share a link by DCQCN's published rule."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import PAYLOAD, WIRE, run_of  # noqa: E402
from network_series import goodput  # noqa: E402


class a_third_flow(unittest.TestCase):
    def test_has_its_share_within_100_ms(self):
        # It joins at 33.6 ms. Well within 100 ms, says the analysis; here within 67.
        found = run_of("dcqcn_third_flow").series[""]
        self.assertEqual(found.mean(goodput(1), 0, 33), 0)
        share = 40 / 3
        for i in (1, 2, 3):
            rate = found.mean(goodput(i), 85, 100) * WIRE / PAYLOAD
            self.assertAlmostEqual(rate, share, delta=0.15 * share)


if __name__ == "__main__":
    unittest.main()
