"""Ten senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import settled_senders  # noqa: E402


class ten_senders(settled_senders, unittest.TestCase):
    point, senders = "ten", 10
    # ms. They take at most 36 to a tenth of the fair share, says the analysis.
    window = 40, 100

    def test_swing_with_a_long_way_back(self):
        # Unstable with 85 us of delay, says the CoNEXT 2016 paper.
        far, near = (statistics.mean(each.deviations) for each in (self.far, self.found))
        self.assertGreaterEqual(far / near, 1.8)

    def test_lose_a_part_of_the_link_by_it(self):
        self.assertGreater(min(self.found.utilisations), 0.99)
        self.assertLessEqual(max(self.far.utilisations), 0.96)


if __name__ == "__main__":
    unittest.main()
