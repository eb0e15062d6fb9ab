"""Two senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import oracle_of, row, settled_senders  # noqa: E402

BEGIN, END, SEEDS = 60, 160, 5  # ms: alpha has come down from 1 by then
# Runs of the oracle differ by 5 % (standard deviation), so that it takes many to know its mean.
ORACLE_SEEDS = 10


class two_senders(settled_senders, unittest.TestCase):
    senders = 2

    @classmethod
    def setUpClass(cls):
        cls.found = row("two", BEGIN, END, seeds=range(1, SEEDS + 1))
        cls.oracle = oracle_of(cls.senders, BEGIN, END, seeds=ORACLE_SEEDS)


if __name__ == "__main__":
    unittest.main()
