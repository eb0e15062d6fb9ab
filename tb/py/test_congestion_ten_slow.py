"""Ten senders on one link by DCQCN's published rule: fluid model, and an independent simulation."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from congestion_runs import oracle_of, row, settled_senders  # noqa: E402

BEGIN, END, SEEDS = 20, 60, 5  # ms


class ten_senders(settled_senders, unittest.TestCase):
    senders = 10

    @classmethod
    def setUpClass(cls):
        cls.found = row("ten", BEGIN, END, seeds=range(1, SEEDS + 1))
        cls.oracle = oracle_of(cls.senders, BEGIN, END)


if __name__ == "__main__":
    unittest.main()
