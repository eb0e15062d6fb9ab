"""Two senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import oracle_of, rest_of, row  # noqa: E402

BEGIN, END, SEEDS = 60, 160, 5  # ms: alpha has come down from 1 by then
# Runs of the oracle differ by 5 % (standard deviation), so that it takes many to know its mean.
ORACLE_SEEDS = 10


class two_senders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = row("two", BEGIN, END, seeds=range(1, SEEDS + 1))

    def test_lose_nothing_and_are_never_paused(self):
        self.found.check(self)

    def test_rest_above_the_fluid_models_queue_by_less_than_two_fifths(self):
        mean = statistics.mean(self.found.queues)
        self.assertGreater(mean, rest_of(2))
        self.assertLess(mean, 1.4 * rest_of(2))

    def test_have_the_oracles_queue_within_5_percent(self):
        expected = statistics.mean(each.mean_queue for each in oracle_of(
            2, BEGIN, END, seeds=ORACLE_SEEDS))
        self.assertAlmostEqual(statistics.mean(self.found.queues), expected,
                               delta=0.05 * expected)

    def test_get_the_same(self):
        for jain in self.found.jains:
            self.assertGreater(jain, 0.99)


if __name__ == "__main__":
    unittest.main()
