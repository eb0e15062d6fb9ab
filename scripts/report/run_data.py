"""A run's folder: summary.json, and what else the run wrote beside it."""

import json
import pathlib

from report.errors import report_error
from report.series import read_series
from report.trace_file import trace_file

SCHEMA = "carillon-summary-1"


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise report_error(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise report_error(f"{path}: is no JSON: {error}") from error


class run_point:
    """One simulation: its part of the summary, its trace and its series, if there are any."""

    def __init__(self, label, facts, folder, latency):
        self.label = label
        self.facts = facts
        trace = folder / "trace.sqlite"
        self.trace = trace_file(trace, latency) if trace.exists() else None
        series = folder / "series.csv"
        self.series = read_series(series) if series.exists() else []

    @property
    def period_ns(self):
        """Of the core clock; the summary's stages are in cycles of it."""
        changed = self.facts.get("parameters", {}).get("core.clock_period_ps")
        return (changed["value"] if changed else 1000) / 1000


class run_data:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        summary = self.folder / "summary.json"
        if not summary.exists():
            raise report_error(f"{self.folder}: holds neither summary.json of `carillon run` nor "
                               "sweep.sqlite of `carillon sweep`")
        self.summary = read_json(summary)
        schema = self.summary.get("schema")
        if schema != SCHEMA:
            raise report_error(f"{summary}: has the schema `{schema}`, but this report reads "
                               f"`{SCHEMA}`")
        self.latency = self.summary["report_path"]
        points = self.summary.get("points")
        if points is None:
            self.points = [run_point("", self.summary, self.folder, self.latency)]
        else:
            self.points = [run_point(label, facts, self.folder / label, self.latency)
                           for label, facts in points.items()]

    @property
    def single(self):
        return len(self.points) == 1 and not self.points[0].label
