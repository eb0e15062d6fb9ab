"""Two senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import settled_senders  # noqa: E402


class two_senders(settled_senders, unittest.TestCase):
    point, senders = "two", 2
    # ms. From the greatest difference to a tenth of the fair share they take at most 97, says the
    # analysis, and they begin with much less; alpha has come down from 1.
    window = 60, 160

    def test_swing_hardly_more_with_a_long_way_back(self):
        # Stable with 85 us of delay, says the CoNEXT 2016 paper.
        far, near = (statistics.mean(each.deviations) for each in (self.far, self.found))
        self.assertLessEqual(far / near, 1.4)

    def test_use_all_of_the_link_even_so(self):
        self.assertGreaterEqual(min(self.far.utilisations), 0.99)


if __name__ == "__main__":
    unittest.main()
