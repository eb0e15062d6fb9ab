"""`carillon sweep`: the table does not depend on interruptions, order or where the points ran."""

import csv
import importlib.util
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402
import report_pages  # noqa: E402

MISSING = importlib.util.find_spec("snakemake") is None
WHY = "python3 lacks snakemake; scripts/setup.sh sweep installs it"

SCENARIO = """
[workload]
kind = "write_lat"
messages = 20

[report]
path = "post_to_cqe"

[sweep]
workload.size = [2, 64, 1024, 4096]
workload.submit = ["doorbell", "blueflame"]

[expect]
checks.failed_completions = 0
"""

# 64 bytes every 2000 ps are 256 Gb/s, less than the wire's 400.
ONE_BAD_POINT = """
[workload]
kind = "write_lat"
size = 64

[sweep]
core.clock_period_ps = [1000, 2000]
workload.messages = [5, 6]

[expect]
messages = 5
"""


@unittest.skipIf(MISSING, WHY)
class a_sweep(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def scenario(self, text=SCENARIO):
        path = self.folder / "small.toml"
        path.write_text(text)
        return path

    def start(self, scenario, out, *options, environment=None):
        return subprocess.Popen(
            [carillon_runs.BINARY, "sweep", str(scenario), "--out", str(self.folder / out),
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
            env=dict(os.environ, CARILLON_PYTHON=sys.executable, **(environment or {})))

    def sweep(self, scenario, out, *options, environment=None):
        """(exit code, what it printed to standard error)."""
        process = self.start(scenario, out, *options, environment=environment)
        _, errors = process.communicate(timeout=300)
        return process.returncode, errors

    def rows(self, out):
        with open(self.folder / out / "sweep.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def table(self, out):
        return (self.folder / out / "sweep.csv").read_bytes()

    def dump(self, out):
        database = sqlite3.connect(self.folder / out / "sweep.sqlite")
        try:
            return list(database.iterdump())
        finally:
            database.close()

    def test_killed_in_the_middle_and_resumed_it_gives_the_same_table(self):
        scenario = self.scenario()
        self.assertEqual(self.sweep(scenario, "whole", "-j", "2"), (0, ""))
        process = self.start(scenario, "cut", "-j", "1")
        points = self.folder / "cut" / "points"
        deadline = time.monotonic() + 120
        while len(list(points.glob("*/result.json"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        ran = {path: path.stat().st_mtime_ns for path in points.glob("*/result.json")}
        self.assertGreaterEqual(len(ran), 3)
        self.assertLess(len(ran), 8)
        self.assertFalse((self.folder / "cut" / "sweep.csv").exists())
        self.assertEqual(self.sweep(scenario, "cut", "-j", "2"), (0, ""))
        self.assertEqual(self.table("cut"), self.table("whole"))
        self.assertEqual(self.dump("cut"), self.dump("whole"))
        # What had run did not run again, but for the point that was just being noted as done.
        again = [path for path, when in ran.items() if path.stat().st_mtime_ns != when]
        self.assertLessEqual(len(again), 1)

    def test_the_last_axis_changes_fastest_and_each_point_is_what_run_finds(self):
        scenario = self.scenario()
        self.assertEqual(self.sweep(scenario, "out"), (0, ""))
        rows = self.rows("out")
        self.assertEqual([row["label"] for row in rows],
                         [f"size={size} submit={submit}" for size in (2, 64, 1024, 4096)
                          for submit in ("doorbell", "blueflame")])
        alone = carillon_runs.run(scenario, self.folder / "alone", "--set", "workload.size=1024",
                                  "--set", "workload.submit=blueflame")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        latency = carillon_runs.summary(self.folder / "alone")["latency"]["post_to_cqe"]
        self.assertEqual(float(rows[5]["latency.post_to_cqe.p50"]), latency["p50"])
        self.assertEqual(float(rows[5]["latency.post_to_cqe.p999"]), latency["p999"])

    def test_a_point_that_fails_is_kept_and_named_with_its_error(self):
        code, errors = self.sweep(self.scenario(ONE_BAD_POINT), "out")
        self.assertEqual(code, 1)
        self.assertIn("FAILED clock_period_ps=2000 messages=5: carillon: ", errors)
        rows = {row["label"]: row for row in self.rows("out")}
        bad = rows["clock_period_ps=2000 messages=6"]
        self.assertEqual(bad["status"], "failed")
        self.assertIn("wire.rate_gbps", bad["error"])
        self.assertEqual(bad["latency.doorbell_to_wire.p50"], "")
        # An unmet expectation is no failure: its figures are there.
        self.assertIn("UNMET clock_period_ps=1000 messages=6", errors)
        unmet = rows["clock_period_ps=1000 messages=6"]
        self.assertEqual((unmet["status"], unmet["messages"]), ("unmet", "6"))
        self.assertEqual(rows["clock_period_ps=1000 messages=5"]["status"], "ok")

    def test_a_key_that_set_fixes_is_not_swept(self):
        self.assertEqual(self.sweep(self.scenario(), "out", "--set", "workload.size=8"), (0, ""))
        self.assertEqual([row["label"] for row in self.rows("out")],
                         ["submit=doorbell", "submit=blueflame"])

    def test_another_sweep_in_the_same_folder_is_refused(self):
        self.assertEqual(self.sweep(self.scenario(), "out", "--set", "workload.size=8"), (0, ""))
        code, errors = self.sweep(self.scenario(), "out")
        self.assertEqual(code, 2)
        self.assertIn("holds another sweep", errors)

    def compare(self, before, after, *options):
        """(exit code, what it printed)."""
        done = subprocess.run(
            [carillon_runs.BINARY, "compare", str(self.folder / before),
             str(self.folder / after), *options], capture_output=True, text=True, check=False,
            timeout=60)
        return done.returncode, done.stdout + done.stderr

    def test_two_sweeps_are_compared_point_by_point(self):
        scenario = self.scenario()
        fixed = ("--set", "workload.size=4096")
        self.assertEqual(self.sweep(scenario, "fast", *fixed), (0, ""))
        self.assertEqual(self.sweep(scenario, "slow", *fixed, "--set", "pcie.generation=3"),
                         (0, ""))
        self.assertEqual(self.compare("fast", "fast")[0], 0)
        code, text = self.compare("fast", "slow", "--json")
        self.assertEqual(code, 1)
        found = json.loads(text)["differences"]
        worse = {each["point"]: each for each in found
                 if each["name"] == "latency.post_to_cqe.p50"}
        self.assertEqual(set(worse), {"submit=doorbell", "submit=blueflame"})
        for label, each in worse.items():
            rows = [{row["label"]: row for row in self.rows(out)}[label]
                    for out in ("fast", "slow")]
            before, after = (float(row["latency.post_to_cqe.p50"]) for row in rows)
            self.assertEqual((each["before"], each["after"]), (before, after))
            self.assertAlmostEqual(each["percent"], 100 * (after - before) / before)
            self.assertEqual(each["verdict"], "worse")
        self.assertEqual(self.compare("slow", "fast", "--tolerance", "200")[0], 0)
        self.assertEqual(self.compare("fast", "absent")[0], 2)

    def test_a_submit_command_runs_the_points_as_jobs(self):
        scenario = self.scenario()
        self.assertEqual(self.sweep(scenario, "here"), (0, ""))
        code, errors = self.sweep(scenario, "jobs", "--profile-cluster", "generic", "-j", "4",
                                  environment={"CARILLON_SUBMIT": "sh"})
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.table("jobs"), self.table("here"))

    def test_slurm_gets_the_points_as_jobs(self):
        # A queue of one machine: sbatch runs the script at once, sacct says how it went.
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        state = self.folder / "states"
        state.mkdir()
        for name, text in (
                ("sbatch", 'for script; do :; done\necho "$@" >> "$STATES/calls"\n'
                           'id=$(ls "$STATES" | wc -l)\n'
                           'if sh "$script" > "$STATES/$id.log" 2>&1; then s=COMPLETED; '
                           'else s=FAILED; fi\necho $s > "$STATES/$id"\necho $id\n'),
                ("sacct", 'cat "$STATES/$2"\n'), ("squeue", "exit 1\n"), ("scancel", "exit 0\n")):
            (bin_folder / name).write_text("#!/bin/sh\n" + text)
            (bin_folder / name).chmod(0o755)
        scenario = self.scenario()
        self.assertEqual(self.sweep(scenario, "here"), (0, ""))
        code, errors = self.sweep(
            scenario, "jobs", "--profile-cluster", "slurm", "-j", "4",
            environment={"PATH": f"{bin_folder}:{os.environ['PATH']}", "STATES": str(state)})
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.table("jobs"), self.table("here"))
        self.assertIn("--parsable --cpus-per-task=1", (state / "calls").read_text())


@unittest.skipIf(MISSING, WHY)
@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
class the_sweep_of_the_doorbell_crossover(unittest.TestCase):
    """60 points, and what the report makes of them."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.temporary.name) / "out"
        done = subprocess.run(
            [carillon_runs.BINARY, "sweep",
             str(carillon_runs.ROOT / "scenarios/sweeps/doorbell_crossover.toml"), "--out",
             str(cls.out), "--quiet"], capture_output=True, text=True, check=False, timeout=500,
            env=dict(os.environ, CARILLON_PYTHON=sys.executable))
        assert done.returncode == 0, done.stderr
        made = report_pages.report(cls.out)
        assert made.returncode == 0, made.stderr
        cls.page = cls.out / "report.html"
        cls.charts = report_pages.charts(cls.page)
        cls.database = sqlite3.connect(cls.out / "sweep.sqlite")

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.temporary.cleanup()

    def test_it_has_60_points(self):
        self.assertEqual(self.database.execute("SELECT count(*), min(status), max(status) FROM "
                                               "results").fetchall(), [(60, "ok", "ok")])

    def test_the_lines_are_the_table(self):
        chart = self.charts["submit_messages_per_second"]
        seen = 0
        panels = {"x": 1, "x2": 2, "x3": 4, "x4": 8, "x5": 16}
        for line in chart["data"]:
            if line.get("name") not in ("doorbell", "blueflame"):
                continue
            expected = self.database.execute(
                'SELECT "workload.size", "rates.messages_per_second" FROM results WHERE '
                '"workload.submit" = ? AND "workload.outstanding" = ? ORDER BY 1',
                (line["name"], panels[line["xaxis"]])).fetchall()
            self.assertEqual(list(zip(line["x"], line["y"])), expected)
            seen += 1
        self.assertEqual(seen, 10)

    def test_crossovers_are_marked_where_the_better_one_changes(self):
        expected = 0
        for outstanding in (1, 2, 4, 8, 16):
            gains = [blue > door for blue, door in self.database.execute(
                'SELECT b."rates.messages_per_second", d."rates.messages_per_second" '
                'FROM results AS b JOIN results AS d USING ("workload.size", '
                '"workload.outstanding") WHERE b."workload.submit" = \'blueflame\' AND '
                'd."workload.submit" = \'doorbell\' AND "workload.outstanding" = ? '
                'ORDER BY "workload.size"', (outstanding,))]
            expected += sum(a != b for a, b in zip(gains, gains[1:]))
        marks = [each for each in self.charts["submit_messages_per_second"]["data"]
                 if isinstance(each.get("text"), list) and each["text"][0].startswith("crossover")]
        self.assertEqual(len(marks), expected)
        self.assertGreater(expected, 0)

    @unittest.skipIf(report_pages.BROWSER is None, "no browser to look at reports with")
    def test_a_browser_draws_every_chart(self):
        seen = report_pages.opened(self.page)
        self.assertEqual((seen.fact("trouble"), seen.complaints), (None, []))
        drawings = seen.drawings()
        self.assertEqual(set(drawings), set(self.charts))
        self.assertEqual([name for name, count in drawings.items() if count == 0], [])


@unittest.skipIf(MISSING, WHY)
@unittest.skipIf(report_pages.MISSING, report_pages.WHY)
class the_sweep_of_sensitivity(unittest.TestCase):
    def test_its_tornado_is_the_table_in_percent_of_the_base(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            done = subprocess.run(
                [carillon_runs.BINARY, "sweep",
                 str(carillon_runs.ROOT / "scenarios/sweeps/sensitivity.toml"), "--out", str(out),
                 "--quiet"], capture_output=True, text=True, check=False, timeout=500,
                env=dict(os.environ, CARILLON_PYTHON=sys.executable))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(report_pages.report(out).returncode, 0)
            bars = report_pages.charts(out / "report.html")["tornado_latency_post_to_cqe_seen_p50"]
            smallest, largest = bars["data"]
            database = sqlite3.connect(out / "sweep.sqlite")
            column = '"latency.post_to_cqe_seen.p50"'
            base = database.execute(f"SELECT {column} FROM results WHERE label = 'base'"
                                    ).fetchone()[0]
            for bar, order in ((smallest, "ASC"), (largest, "DESC")):
                for key, change in zip(bar["y"], bar["x"]):
                    if not key.startswith(("pcie.", "cpu.", "core.", "host.memory")):
                        continue
                    value = database.execute(
                        f'SELECT {column} FROM results WHERE "{key}" NOT NULL '
                        f'ORDER BY "{key}" {order} LIMIT 1').fetchone()[0]
                    self.assertAlmostEqual(change, 100 * (value - base) / base, places=9)
            database.close()
            self.assertGreater(len(smallest["y"]), 8)
            swings = [max(pair + (0,)) - min(pair + (0,))
                      for pair in zip(smallest["x"], largest["x"])]
            self.assertEqual(swings, sorted(swings, reverse=True))


if __name__ == "__main__":
    unittest.main()
