"""A sweep's table, sweep.sqlite, as columns."""

import pathlib
import sqlite3

from report.errors import report_error

SCHEMA = "carillon-sweep-1"


class sweep_data:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        path = self.folder / "sweep.sqlite"
        try:
            database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            self.meta = dict(database.execute("SELECT key, value FROM meta"))
            axes = database.execute(
                "SELECT key, leader, value FROM axes ORDER BY position, value_position").fetchall()
            cursor = database.execute("SELECT * FROM results ORDER BY id")
            names = [column[0] for column in cursor.description]
            self.rows = [dict(zip(names, row)) for row in cursor]
            database.close()
        except sqlite3.DatabaseError as error:
            raise report_error(f"{path}: is no table of a sweep: {error}") from error
        if self.meta.get("schema") != SCHEMA:
            raise report_error(f"{path}: has the schema `{self.meta.get('schema')}`, but this "
                               f"report reads `{SCHEMA}`")
        self.axes = {}  # those that are zipped to another one are no axis of a chart
        self.followers = {}
        for key, leader, value in axes:
            (self.axes if key == leader else self.followers).setdefault(key, []).append(value)
        # Points of the scenario itself vary too: they are the end of a row's label.
        self.parts = {row["id"]: row["id"].partition(".")[2] for row in self.rows}

    @property
    def latency(self):
        return self.meta["report_path"]

    @property
    def ran(self):
        return [row for row in self.rows if row["status"] != "failed"]

    def numeric(self, key):
        return all(isinstance(value, (int, float)) for value in self.axes[key])

    def has(self, metric):
        return any(row.get(metric) is not None for row in self.ran)


def short(key):
    """The last part of a dotted key."""
    return key.rpartition(".")[2]
