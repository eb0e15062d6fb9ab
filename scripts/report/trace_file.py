"""Reads trace.sqlite: the measured messages, and the spans of their way between two milestones."""

import collections
import sqlite3

from report.errors import report_error

SCHEMA = "carillon-trace-1"

# As docs/trace.md: latency -> (milestone from, milestone to).
PATHS = {
    "doorbell_to_wire": ("doorbell", "first_bit"),
    "post_to_doorbell": ("post", "doorbell"),
    "post_to_wire": ("post", "first_bit"),
    "post_to_last_bit": ("post", "last_bit"),
    "post_to_delivered": ("post", "delivered"),
    "one_way": ("post", "remote_seen"),
    "post_to_cqe": ("post", "cqe_written"),
    "post_to_cqe_seen": ("post", "cqe_seen"),
}

span = collections.namedtuple("span", "place stage kind reason begin end")


class trace_file:
    def __init__(self, path, latency):
        self.path = path
        self.latency = latency
        if latency not in PATHS:
            raise report_error(f"{path}: there is no latency `{latency}`; "
                               f"known: {', '.join(PATHS)}")
        self._from, self._to = PATHS[latency]
        try:
            self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            self._check()
        except sqlite3.DatabaseError as error:
            raise report_error(f"{path}: is no trace of Carillon: {error}") from error

    def close(self):
        self._database.close()

    def rows(self, query, values=()):
        return self._database.execute(query, values).fetchall()

    def _check(self):
        schema = dict(self.rows("SELECT key, value FROM meta")).get("schema")
        if schema != SCHEMA:
            raise report_error(f"{self.path}: has the schema `{schema}`, but this report reads "
                               f"`{SCHEMA}`")
        columns = {row[1] for row in self.rows("PRAGMA table_info(messages)")}
        if "measured" not in columns:
            raise report_error(f"{self.path}: was written by an older Carillon, which does not say "
                               "which messages were measured; run the scenario again")

    def latencies(self):
        """(latency in ps, message) of the measured messages on this path, shortest first."""
        begin, end = f"{self._from}_ps", f"{self._to}_ps"
        return self.rows(f"SELECT {end} - {begin} AS latency, id FROM messages WHERE measured "
                         f"AND {begin} NOT NULL AND {end} NOT NULL ORDER BY latency, id")

    def message(self, number):
        cursor = self._database.execute("SELECT * FROM messages WHERE id = ?", (number,))
        return dict(zip((column[0] for column in cursor.description), cursor.fetchone()))

    def way(self, number):
        """The spans of a message between the two milestones, first to last."""
        marks = dict(self.rows("SELECT milestone, span FROM marks WHERE message = ?", (number,)))
        chain = {row[0]: row[1:] for row in self.rows(
            "SELECT span, previous, place, stage, kind, reason, begin_ps, end_ps FROM spans "
            "WHERE message = ?", (number,))}
        result = []
        at, stop = marks[self._to], marks[self._from]
        while at != stop:
            if at not in chain:
                raise report_error(f"{self.path}: the history of message {number} does not lead "
                                   f"from {self._from} to {self._to}")
            previous, *rest = chain[at]
            result.append(span(*rest))
            at = previous
        result.reverse()
        return result


def rank(percent, count):
    """Index of the nearest-rank percentile among `count` sorted values, as in summary.json."""
    return max(0, -(-int(round(percent * 1000)) * count // 100000) - 1)
