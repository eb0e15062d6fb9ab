"""`carillon report`: its charts show what plain SQL finds in the trace."""

import collections
import pathlib
import re
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
import report_pages  # noqa: E402

# The spans of each measured message between two milestones, by following `previous`.
_WAYS = """
WITH RECURSIVE way(message, span) AS (
  SELECT m.message, m.span FROM marks AS m JOIN messages ON id = m.message
  WHERE measured AND milestone = 'remote_seen'
  UNION ALL
  SELECT w.message, s.previous FROM way AS w JOIN spans AS s USING (message, span)
  WHERE w.span != (SELECT span FROM marks WHERE message = w.message AND milestone = 'post'))
SELECT message, stage, kind, reason, sum(end_ps - begin_ps) / 1000.0
FROM way JOIN spans USING (message, span)
WHERE span != (SELECT span FROM marks AS m WHERE m.message = way.message AND milestone = 'post')
GROUP BY message, stage, kind, reason
"""


@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
class the_report_of_a_run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        done = carillon_runs.run(
            carillon_runs.ROOT / "scenarios/ping_pong.toml", cls.folder, "--trace", "sqlite",
            "--set", "workload.messages=1000", "--set", "cpu.noise=true", "--set",
            "cpu.noise_interval_ps=50000000", "--set", "workload.submit=doorbell")
        assert done.returncode in (0, 1), done.stderr  # its expectations are of 200 messages
        made = report_pages.report(cls.folder)
        assert made.returncode == 0, made.stderr
        cls.page = cls.folder / "report.html"
        cls.charts = report_pages.charts(cls.page)
        cls.database = sqlite3.connect(cls.folder / "trace.sqlite")
        cls.sums = collections.defaultdict(list)
        for message, *rest in cls.rows(_WAYS):
            cls.sums[message].append(rest)

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.temporary.cleanup()

    @classmethod
    def rows(cls, query):
        return cls.database.execute(query).fetchall()

    def latency_at(self, offset):
        return self.rows("SELECT (remote_seen_ps - post_ps) / 1000.0, id FROM messages WHERE "
                         f"measured ORDER BY 1, id LIMIT 1 OFFSET {offset}")[0]

    def test_the_trace_has_the_messages_that_the_summary_counts(self):
        counted = carillon_runs.summary(self.folder)["latency"]["one_way"]
        self.assertEqual(self.rows("SELECT count(*), min(remote_seen_ps - post_ps) / 1000.0, "
                                   "max(remote_seen_ps - post_ps) / 1000.0 FROM messages "
                                   "WHERE measured"),
                         [(counted["count"], counted["min"], counted["max"])])

    def test_the_tail_of_this_run_is_not_its_median(self):
        # Otherwise the comparisons below would hold for charts that show one message only.
        self.assertGreater(self.latency_at(998)[0], 1.5 * self.latency_at(499)[0])

    def test_the_percentile_curve_passes_the_nearest_ranks(self):
        curve, marks = self.charts["percentiles"]["data"]
        # Of 1000 messages the P50 is the 500th, the P99 the 990th, the P99.9 the 999th.
        self.assertEqual([round(y, 6) for y in marks["y"]],
                         [self.latency_at(n - 1)[0] for n in (500, 990, 999)])
        steps = list(zip(curve["x"], curve["y"]))
        for n in (1, 500, 900, 990, 999, 1000):
            # The n-th value begins where n - 1 of 1000 messages are faster.
            at = 1000 / (1000 - (n - 1))
            self.assertAlmostEqual([y for x, y in steps if x <= at * (1 + 1e-9)][-1],
                                   self.latency_at(n - 1)[0], places=6)

    def test_the_waterfall_leaves_no_picosecond_out(self):
        for axis, offset in (("x", 499), ("x2", 998)):
            latency, message = self.latency_at(offset)
            bars = [bar for bar in self.charts["waterfall"]["data"]
                    if bar.get("xaxis") == axis and bar["base"]]
            pieces = sorted((begin, length) for bar in bars
                            for begin, length in zip(bar["base"], bar["x"]))
            at = 0
            for begin, length in pieces:
                self.assertAlmostEqual(begin, at, places=6)
                at = begin + length
            self.assertAlmostEqual(at, latency, places=6)
            titles = [each["text"] for each in self.charts["waterfall"]["layout"]["annotations"]]
            self.assertTrue(any(f"message {message}," in title for title in titles), titles)

    def test_each_bar_of_stages_is_the_message_at_its_rank(self):
        ranks = {"P50": 499, "P90": 899, "P99": 989, "P99.9": 998, "max": 999}
        shown = collections.defaultdict(lambda: collections.defaultdict(float))
        for bar in self.charts["stages"]["data"]:
            for label, value in zip(bar["x"], bar["y"]):
                if value:
                    wait = "pattern" in bar["marker"]
                    shown[label.split("<br>")[0]][bar["name"], wait] += value
        self.assertEqual(set(shown), set(ranks))
        for name, offset in ranks.items():
            latency, message = self.latency_at(offset)
            expected = collections.defaultdict(float)
            for stage, kind, _, ns in self.sums[message]:
                expected[stage, kind == "wait"] += ns
            self.assertEqual(set(shown[name]), set(expected))
            for key, ns in expected.items():
                self.assertAlmostEqual(shown[name][key], ns, places=6)
            self.assertAlmostEqual(sum(shown[name].values()), latency, places=6)

    def test_the_reasons_of_waiting_are_means_over_all_messages(self):
        expected = collections.defaultdict(float)
        for parts in self.sums.values():
            for stage, kind, reason, ns in parts:
                if kind == "wait":
                    expected[reason, stage] += ns / len(self.sums)
        shown = {(reason, bar["name"]): ns for bar in self.charts["waits"]["data"]
                 for reason, ns in zip(bar["y"], bar["x"]) if ns}
        self.assertEqual(set(shown), set(expected))
        for key, ns in expected.items():
            self.assertAlmostEqual(shown[key], ns, places=6)

    def test_pcie_bytes_are_those_of_the_measured_messages(self):
        expected = dict(self.rows(
            "SELECT port, sum(bytes) * 1.0 / (SELECT count(*) FROM messages WHERE measured) "
            "FROM tlps WHERE message IN (SELECT id FROM messages WHERE measured) GROUP BY port"))
        shown = collections.defaultdict(float)
        for bar in self.charts["pcie"]["data"]:
            for label, size in zip(bar["y"], bar["x"]):
                shown[label.split()[0]] += size
        self.assertEqual(set(shown), set(expected))
        for port, size in expected.items():
            self.assertAlmostEqual(shown[port], size, places=6)

    def test_a_stage_has_one_colour_in_all_charts(self):
        seen = collections.defaultdict(set)
        for chart in ("stages", "waits", "pcie"):
            for bar in self.charts[chart]["data"]:
                if bar["name"] != "waiting":
                    seen[bar["name"]].add(bar["marker"]["color"])
        for bar in self.charts["waterfall"]["data"]:
            if bar.get("base"):
                for stage, colour in zip(bar["y"], bar["marker"]["color"]):
                    seen[stage].add(colour)
        self.assertGreater(len(seen), 10)
        self.assertEqual({stage: len(colours) for stage, colours in seen.items()},
                         dict.fromkeys(seen, 1))
        self.assertEqual(len(set.union(*seen.values())), len(seen))

    def test_parameters_that_were_changed_are_listed_with_their_provenance(self):
        text = self.page.read_text(encoding="utf-8")
        row = re.search(r'<tr class="changed"><td><code>cpu.noise</code></td>.*?</tr>', text)
        self.assertIsNotNone(row)
        self.assertIn("origin assumed", row.group(0))
        self.assertIn("--set cpu.noise=true", row.group(0))

    def test_expectations_have_verdicts(self):
        text = self.page.read_text(encoding="utf-8")
        self.assertIn('<td class="unmet">not met</td><td><code>messages</code>', text)
        self.assertIn('<td class="met">met</td><td><code>checks.failed_completions</code>', text)

    def test_the_page_is_small_and_loads_nothing(self):
        text = self.page.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 6_000_000)
        self.assertEqual(re.findall(r'(?:src|href)\s*=\s*["\'](?!data:)', text), [])
        self.assertNotIn("http", text.replace(re.search(
            r'<script type="text/plain" id="plotly">(.*?)</script>', text, re.S).group(1), ""))


@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
class what_a_report_needs(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def refused(self, folder, *options):
        done = report_pages.report(folder, *options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_a_folder_without_results_is_refused(self):
        self.assertIn("neither summary.json", self.refused(self.folder))
        self.assertIn("no such folder", self.refused(self.folder / "absent"))

    def test_a_file_that_is_no_trace_is_refused(self):
        carillon_runs.run(carillon_runs.ROOT / "scenarios/ping_pong.toml", self.folder)
        (self.folder / "trace.sqlite").write_text("no database, but long enough to be read " * 20)
        self.assertIn("trace.sqlite: is no trace", self.refused(self.folder))

    def test_a_run_without_a_trace_has_a_report_too(self):
        carillon_runs.run(carillon_runs.ROOT / "scenarios/ping_pong.toml", self.folder)
        output = self.folder / "elsewhere" / "page.html"
        self.assertEqual(report_pages.report(self.folder, "-o", str(output)).returncode, 0)
        self.assertEqual(set(report_pages.charts(output)), {"percentiles", "waits"})

    def test_values_over_time_are_drawn_by_kind(self):
        carillon_runs.run(carillon_runs.ROOT / "scenarios/ping_pong.toml", self.folder)
        (self.folder / "series.csv").write_text(
            "time_ns,kind,name,value\n0,rate,qp5,400\n100,rate,qp5,200\n0,pause,port1,0\n")
        self.assertEqual(report_pages.report(self.folder).returncode, 0)
        charts = report_pages.charts(self.folder / "report.html")
        self.assertEqual(charts["series_rate"]["data"][0]["y"], [400, 200])
        self.assertEqual(charts["series_pause"]["data"][0]["name"], "port1")

    def test_a_run_under_congestion_control_shows_how_it_went(self):
        # 300 us of an incast: alpha begins at 1 and the line has 100 Gb/s, a CNP halves that.
        carillon_runs.run(carillon_runs.ROOT / "scenarios/incast_dcqcn.toml", self.folder, "--set",
                          "workload.duration_ns=300000", "--set", "trace.series_ns=1000")
        self.assertEqual(report_pages.report(self.folder).returncode, 0)
        charts = report_pages.charts(self.folder / "report.html")
        self.assertLessEqual({f"series_{kind}_paper" for kind in (
            "queue_depth", "rate", "goodput", "qp_rate", "qp_target", "alpha", "cnps", "pause",
            "xoff")}, set(charts))
        rates = {each["name"]: each["y"] for each in charts["series_qp_rate_paper"]["data"]}
        self.assertEqual(len(rates), 8)
        for each in rates.values():
            self.assertLessEqual(max(each), 100)
            self.assertLessEqual(min(each), 50)
        self.assertLessEqual(max(charts["series_alpha_paper"]["data"][0]["y"]), 1)

    def test_a_series_that_is_none_is_refused(self):
        carillon_runs.run(carillon_runs.ROOT / "scenarios/ping_pong.toml", self.folder)
        (self.folder / "series.csv").write_text("time_ns,kind,name,value\n0,rate,qp5,much\n")
        self.assertIn("series.csv:2:", self.refused(self.folder))


if __name__ == "__main__":
    unittest.main()
