"""Parts of reports and sweeps that are easier to see alone: crossovers, tornados, thinning."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
import report_pages  # noqa: E402

sys.path.insert(0, str(carillon_runs.ROOT / "scripts"))


class table:
    """A sweep's table as the charts see it."""

    latency = "one_way"

    def __init__(self, axes, rows):
        self.axes = axes
        self.ran = [dict(row, id=str(i)) for i, row in enumerate(rows)]
        self.parts = {row["id"]: "" for row in self.ran}

    def numeric(self, key):
        return all(isinstance(value, (int, float)) for value in self.axes[key])


@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
class parts_of_a_report(unittest.TestCase):
    def test_lines_that_cross_do_so_on_a_straight_line(self):
        from report.sweep_figures import crossings
        # 0..10 against 10..0 over x = 1..3 meet in the middle, at 5.
        self.assertEqual(crossings([(1, 0), (3, 10)], [(1, 10), (3, 0)]), [(2, 5, 1, 3)])

    def test_over_decades_the_line_is_straight_in_the_logarithm(self):
        from report.sweep_figures import crossings
        (x, y, low, high), = crossings([(1, 0), (100, 10)], [(1, 10), (100, 0)])
        self.assertAlmostEqual(x, 10)  # halfway between 1 and 100
        self.assertEqual((y, low, high), (5, 1, 100))

    def test_lines_that_only_touch_or_stay_apart_do_not_cross(self):
        from report.sweep_figures import crossings
        self.assertEqual(crossings([(1, 0), (2, 5), (3, 0)], [(1, 5), (2, 5), (3, 5)]), [])
        self.assertEqual(crossings([(1, 0), (2, 1)], [(1, 2), (2, 3)]), [])

    def test_lines_that_meet_in_a_point_and_go_on_cross(self):
        from report.sweep_figures import crossings
        self.assertEqual(crossings([(1, 0), (2, 5), (3, 10)], [(1, 5), (2, 5), (3, 5)]),
                         [(2, 5, 1, 3)])

    def test_the_longest_numeric_axis_goes_along_and_the_method_tells_lines_apart(self):
        from report.sweep_figures import choose_axes
        data = table({"workload.outstanding": [1, 2], "workload.size": [2, 4, 8],
                      "workload.submit": ["doorbell", "blueflame"]}, [])
        self.assertEqual(choose_axes(data),
                         ("workload.size", "workload.submit", "workload.outstanding"))

    def test_a_tornado_is_percent_of_the_base_widest_first(self):
        from report.sweep_figures import tornado_rows
        data = table({"a": [1, 3], "b": [5]},
                     [{"label": "base", "x": 200}, {"label": "a=1", "a": 1, "x": 190},
                      {"label": "a=3", "a": 3, "x": 210}, {"label": "b=5", "b": 5, "x": 260}])
        self.assertEqual([(key, [(value, round(change, 9)) for value, change in changes])
                          for key, changes in tornado_rows(data, "x")],
                         [("b", [(5, 30.0)]), ("a", [(1, -5.0), (3, 5.0)])])

    def test_blueflame_is_better_by_the_rates_ratio_and_by_the_latencies_inverse(self):
        from report.sweep_figures import advantage
        rows = [{"workload.size": size, "workload.outstanding": 1, "workload.submit": submit,
                 "x": x} for size, submit, x in ((2, "doorbell", 100), (2, "blueflame", 125))]
        data = table({"workload.size": [2, 4], "workload.outstanding": [1, 2],
                      "workload.submit": ["doorbell", "blueflame"]}, rows)
        self.assertAlmostEqual(advantage(data, "x", True)[0][2, 1], 25)
        self.assertAlmostEqual(advantage(data, "x", False)[0][2, 1], -20)

    def test_thinning_keeps_peaks_and_ends(self):
        from report.series import thinned
        values = [0] * 100000
        values[54321] = 9
        values[99999] = 4
        times, kept = thinned(list(range(100000)), values)
        self.assertLessEqual(len(times), 4100)
        self.assertIn((54321, 9), list(zip(times, kept)))
        self.assertEqual((times[0], times[-1], kept[-1]), (0, 99999, 4))

    def test_ranks_are_nearest(self):
        from report.trace_file import rank
        self.assertEqual([rank(percent, 1000) for percent in (50, 90, 99, 99.9, 100)],
                         [499, 899, 989, 998, 999])
        self.assertEqual([rank(percent, 1) for percent in (50, 99.9)], [0, 0])
        self.assertEqual(rank(50, 3), 1)

    def test_it_knows_the_latencies_of_the_program(self):
        from report.trace_file import PATHS
        text = (carillon_runs.ROOT / "model/cli/paths.h").read_text()
        self.assertEqual(PATHS, {name: (begin, end) for name, begin, end in re.findall(
            r'\{"(\w+)", milestone::(\w+), milestone::(\w+),', text)})

    def test_every_place_of_a_path_belongs_to_somebody(self):
        from report.provenance import owner
        places = {"host0.cpu0": "cpu", "host0.root_complex": "host", "host0.memory": "host",
                  "host1.root_complex.port": "pcie", "nic0_pcie": "pcie", "nic0_pcie_rx": "stages",
                  "nic1_dma_engine": "stages", "wire0": "wire"}
        self.assertEqual({place: owner(place) for place in places}, places)


if __name__ == "__main__":
    unittest.main()
