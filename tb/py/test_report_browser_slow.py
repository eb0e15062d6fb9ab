"""Reports in a browser, from a file: address: every chart is drawn, nothing complains."""

import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
import report_pages  # noqa: E402


@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
@unittest.skipIf(report_pages.BROWSER is None,
                 "no browser to look at reports with; scripts/setup.sh test installs chromium")
class a_report_in_a_browser(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def page_of(self, scenario, *options):
        done = carillon_runs.run(carillon_runs.ROOT / "scenarios" / scenario, self.folder,
                                 *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        (self.folder / "series.csv").write_text(
            "time_ns,kind,name,value\n0,queue_depth,port1,0\n50,queue_depth,port1,4096\n"
            "0,rate,qp5,400\n100,rate,qp5,200\n")
        made = report_pages.report(self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.folder / "report.html"

    def check(self, page):
        seen = report_pages.opened(page, "#all")
        wanted = set(report_pages.charts(page))
        self.assertIsNone(seen.fact("trouble"))
        self.assertEqual(seen.complaints, [])
        self.assertEqual(seen.fact("ready"), "yes")
        drawings = seen.drawings()
        self.assertEqual(set(drawings), wanted)
        self.assertEqual([name for name, count in drawings.items() if count == 0], [])
        return wanted

    def test_a_run_with_a_trace_draws_every_chart(self):
        names = self.check(self.page_of("ping_pong.toml", "--trace"))
        self.assertEqual(names, {"waterfall", "percentiles", "stages", "waits", "pcie",
                                 "series_queue_depth", "series_rate"})

    def test_a_run_with_points_draws_the_charts_of_each(self):
        names = self.check(self.page_of("submission_2x2.toml", "--trace"))
        self.assertIn("points", names)
        self.assertEqual(sum(name.startswith("waterfall_") for name in names), 4)

    def test_a_page_whose_program_is_broken_says_so(self):
        # So that the checks above can fail.
        page = self.page_of("ping_pong.toml")
        broken = self.folder / "broken.html"
        shutil.copy(page, broken)
        text = re.sub(r'(id="plotly">).{40}', r"\1" + "A" * 40, broken.read_text())
        broken.write_text(text)
        seen = report_pages.opened(broken)
        self.assertIn("cannot be drawn", seen.fact("trouble") or "")
        self.assertEqual(sum(seen.drawings().values()), 0)


if __name__ == "__main__":
    unittest.main()
