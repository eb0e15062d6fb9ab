"""The DCQCN oracle settles where the fluid model of the CoNEXT 2016 paper rests: its queue is
between the q* of the model and 1.4 of it (packets come singly, the model's do not), and all get
the same."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tb/oracles"))
import dcqcn  # noqa: E402


class the_oracle(unittest.TestCase):
    def settles(self, **more):
        p = dcqcn.parameters(**more)
        got = dcqcn.simulate(p)
        rest = dcqcn.solve_fixed_point(p)
        self.assertGreater(got.mean_queue, rest.queue)
        self.assertLess(got.mean_queue, 1.4 * rest.queue)
        self.assertGreater(got.jain, 0.99)
        self.assertGreater(got.utilisation, 0.99)
        for alpha in got.alphas:
            self.assertAlmostEqual(alpha, rest.alpha, delta=0.25 * rest.alpha)

    def test_two_at_10_gbps(self):
        self.settles(link=10, senders=2, warm_up=50e3, measured=200e3)

    def test_four_at_40_gbps(self):
        self.settles(link=40, senders=4, warm_up=40e3, measured=60e3)

    def test_ten_at_40_gbps(self):
        self.settles(link=40, senders=10, warm_up=60e3, measured=60e3)

    def test_a_third_sender_gets_its_share(self):
        # Two at 20 Gb/s; another begins at 50 ms. All have a third within 100 ms, says the paper.
        got = dcqcn.simulate(dcqcn.parameters(link=40, senders=3, starts=(0, 0, 50e3),
                                              warm_up=100e3, measured=50e3))
        for rate in got.rates:
            self.assertAlmostEqual(rate, 40 / 3, delta=0.15 * 40 / 3)


if __name__ == "__main__":
    unittest.main()
