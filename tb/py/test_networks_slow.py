"""Networks: the shipped scenarios meet what they expect, whatever the order of evaluation, and a
sample of the network over time can be read."""

import csv
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402


class networks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_scenario(self, name, *options):
        out = self.out / name
        done = carillon_runs.run(carillon_runs.ROOT / f"scenarios/{name}.toml", out, *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return out

    def test_meet_what_they_expect(self):
        for name in carillon_runs.NETWORKS:
            with self.subTest(scenario=name):
                self.run_scenario(name)

    def test_the_twins_write_the_same_stage_traces(self):
        for name in carillon_runs.NETWORKS:
            with self.subTest(scenario=name):
                expected, got = (carillon_runs.stage_traces(
                    self.run_scenario(name, "--impl", f"all={impl}", "--trace", "stages"))
                    for impl in ("model", "rtl"))
                self.assertTrue(expected)
                self.assertTrue(got == expected, f"{name}: rtl differs from the model")

    def test_the_twins_agree_in_a_ring(self):
        self.run_scenario("pfc_deadlock", "--impl", "all=lockstep")

    def test_do_not_depend_on_the_order_of_evaluation(self):
        for name in ("incast_pfc", "incast_lossy"):
            with self.subTest(scenario=name):
                plain = carillon_runs.summary(self.run_scenario(name))
                other = carillon_runs.summary(self.run_scenario(name, "--shuffle", "7"))
                self.assertEqual(plain, other)

    def test_sixty_four_nics_run_in_one_process(self):
        plain = carillon_runs.summary(self.run_scenario("leaf_spine_64"))
        self.assertEqual(len(plain["network"]["switches"]), 12)
        other = carillon_runs.summary(self.run_scenario("leaf_spine_64", "--shuffle", "1"))
        self.assertEqual(plain, other)

    def test_a_series_tells_of_queues_pauses_and_rates(self):
        plain = carillon_runs.summary(self.run_scenario("incast_pfc"))
        out = self.run_scenario("incast_pfc", "--set", "trace.series_ns=1000")
        self.assertEqual(carillon_runs.summary(out), plain, "sampling changes nothing")
        with (out / "series.csv").open(newline="") as text:
            rows = list(csv.DictReader(text))
        of = {}
        for row in rows:
            of.setdefault(f"{row['kind']},{row['name']}", []).append(
                (float(row["time_ns"]), float(row["value"])))
        longest = plain["network"]["max_queue_bytes"]
        queue = [value for _, value in of["queue_depth,switch.port0.prio3"]]
        self.assertLessEqual(max(queue), longest)
        self.assertGreater(max(queue), longest / 2)
        self.assertEqual({value for _, value in of["xoff,switch.port1.prio3"]}, {0, 1})
        self.assertEqual({value for _, value in of["pause,nic1.prio3"]}, {0, 1})
        self.assertNotIn("pause,nic1.prio4", of)  # what is always 0 has no line
        for series in of.values():
            times = [time for time, _ in series]
            self.assertEqual(times, sorted(times))
        # The wire, and a frame at the edge of the interval; also of those that are paused.
        self.assertLessEqual(max(value for name in of if name.startswith("rate,")
                                 for _, value in of[name]), 101)


if __name__ == "__main__":
    unittest.main()
