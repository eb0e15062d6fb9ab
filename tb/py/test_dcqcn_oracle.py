"""The DCQCN oracle does what the papers say, step by step, and its fluid model rests where the
CoNEXT 2016 paper's does. Rates are in bytes a nanosecond."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tb/oracles"))
import dcqcn  # noqa: E402

# Link in Gb/s and senders: p*, q* in KB and alpha*, solved from the paper's equations elsewhere.
FIXED_POINTS = {
    (10, 2): (0.00455, 93.8, 0.1452), (40, 2): (0.00078, 20.2, 0.1014),
    (40, 4): (0.00189, 41.8, 0.1218), (40, 10): (0.00603, 122.6, 0.1533),
    (100, 2): (0.00024, 9.7, 0.0788), (100, 8): (0.00142, 32.7, 0.1149),
    (100, 16): (0.00343, 71.9, 0.1373), (10, 32): (0.13095, None, 0.2603),
    (40, 64): (0.05905, None, 0.2301),
}


class the_fluid_model(unittest.TestCase):
    def test_rests_at_the_published_points(self):
        for (link, senders), (p, queue, alpha) in FIXED_POINTS.items():
            with self.subTest(link=link, senders=senders):
                found = dcqcn.solve_fixed_point(dcqcn.parameters(link=link, senders=senders))
                self.assertAlmostEqual(found.p, p, delta=0.000006)
                self.assertAlmostEqual(found.alpha, alpha, delta=0.00006)
                if queue is not None:
                    self.assertAlmostEqual(found.queue / 1e3, queue, delta=0.06)

    def test_near_the_papers_approximation(self):
        # p* ~ cbrt(R_AI N^2 / (tau' C^2) * (1/B + N/(T C))^2), in packets; 20 % off at most here.
        p = dcqcn.parameters(link=40, senders=2)
        c = 40e9 / 8e3
        about = (5e3 * 4 / (55e-6 * c * c) * (1 / 1e4 + 2 / (55e-6 * c)) ** 2) ** (1 / 3)
        self.assertAlmostEqual(dcqcn.solve_fixed_point(p).p / about, 1, delta=0.2)


class the_sender(unittest.TestCase):
    def at_half(self, **more):
        return dcqcn.sender(dcqcn.parameters(link=100, alpha=0.5, **more))

    def test_begins_at_the_line_rate(self):
        self.assertEqual(self.at_half().rate, 12.5)

    def test_cuts_and_then_raises_alpha(self):
        flow = self.at_half()
        flow.cut(0)
        self.assertEqual(8 * flow.rate, 75)
        self.assertEqual(8 * flow.target, 100)
        self.assertEqual(flow.alpha, 0.501953125)

    def test_recovers_by_halves_then_adds_then_adds_more(self):
        flow = self.at_half()
        flow.cut(0)
        for expected in (87.5, 93.75, 96.875, 98.4375):
            flow.time_stage += 1
            flow.increase()
            self.assertEqual(8 * flow.rate, expected)
        flow.time_stage += 1
        flow.increase()
        self.assertAlmostEqual(8 * flow.target, 100.04)
        flow.byte_stage = 5
        flow.time_stage = 6
        flow.increase()
        self.assertAlmostEqual(8 * flow.target, 100.08)
        flow.byte_stage = 6
        flow.increase()
        self.assertAlmostEqual(8 * flow.target, 100.28)

    def test_counts_bytes(self):
        flow = self.at_half(byte_counter=3000)
        flow.cut(0)
        flow.sent(1000)
        flow.sent(1000)
        self.assertEqual(8 * flow.rate, 75)
        flow.sent(1000)
        self.assertEqual(8 * flow.rate, 87.5)

    def test_begins_anew_at_a_cut(self):
        flow = self.at_half()
        flow.byte_stage, flow.time_stage, flow.bytes = 3, 4, 5
        flow.cut(0)
        self.assertEqual((flow.byte_stage, flow.time_stage, flow.bytes), (0, 0, 0))

    def test_stays_within_its_limits(self):
        flow = self.at_half(min_rate=60)
        flow.cut(0)
        flow.cut(0)
        self.assertEqual(8 * flow.rate, 60)
        for _ in range(1000):
            flow.time_stage += 1
            flow.increase()
        self.assertEqual(8 * flow.rate, 100)


class the_link(unittest.TestCase):
    def run_for(self, **more):
        return dcqcn.simulate(dcqcn.parameters(**{"warm_up": 0, "measured": 2000, **more}))

    def test_one_sender_has_it_all_and_nothing_waits(self):
        got = self.run_for(link=10, senders=1, starts=(0,))
        self.assertAlmostEqual(got.rates[0], 10, delta=0.01)
        self.assertEqual(got.mean_queue, 0)
        self.assertEqual(got.cnps, 0)

    def test_two_senders_fill_the_queue_at_the_line_rate(self):
        # No marks below Kmin: the queue grows by 10 Gb/s for 100 us, 62.5 KB on average.
        got = self.run_for(link=10, measured=100, kmin=1e9, kmax=2e9, starts=(0, 0))
        self.assertAlmostEqual(got.mean_queue / 1e3, 62.5, delta=1.5)
        self.assertEqual(got.marked, 0)

    def test_a_full_queue_marks_all_and_sends_a_cnp_an_interval(self):
        # 2 ms with one CNP every 50 us for each of two senders held at the lowest rate.
        got = self.run_for(link=10, kmin=-1, kmax=0, min_rate=5, additive=0, hyper=0, starts=(0, 0))
        self.assertGreater(got.marked, 2000)
        self.assertAlmostEqual(got.cnps, 2 * 40, delta=3)

    def test_the_same_seed_gives_the_same_run(self):
        self.assertEqual(self.run_for(seed=3), self.run_for(seed=3))

    def test_samples_show_who_joins_when(self):
        got = self.run_for(link=10, starts=(0, 1000), sample=500)
        self.assertEqual([s["us"] for s in got.samples[:3]], [500, 1000, 1500])
        self.assertEqual(got.samples[0]["queue"], 0)
        self.assertGreater(got.samples[2]["queue"], 0)


if __name__ == "__main__":
    unittest.main()
