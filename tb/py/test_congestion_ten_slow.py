"""Ten senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import oracle_of, row, settled_senders  # noqa: E402

BEGIN, END, SEEDS = 20, 60, range(1, 6)  # ms


class ten_senders(settled_senders, unittest.TestCase):
    senders = 10

    @classmethod
    def setUpClass(cls):
        cls.found = row("ten", BEGIN, END, seeds=SEEDS)
        cls.far = row("ten_far", BEGIN, END, seeds=SEEDS)
        cls.oracle = oracle_of(cls.senders, BEGIN, END)
        cls.far_oracle = oracle_of(cls.senders, BEGIN, END, delay=85)

    def test_swing_with_a_long_way_back(self):
        # Unstable with 85 us of delay, says the CoNEXT 2016 paper.
        for far, near in zip(self.far.deviations, self.found.deviations):
            self.assertGreaterEqual(far / near, 1.8)

    def test_lose_a_part_of_the_link_by_it(self):
        self.assertGreater(min(self.found.utilisations), 0.99)
        self.assertLessEqual(max(self.far.utilisations), 0.96)


if __name__ == "__main__":
    unittest.main()
