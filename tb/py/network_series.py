"""Reads series.csv of a run: values over time, from the first byte that host 0 receives on."""

import csv
import math

QUEUE = "queue_depth,switch.port0.prio3"
RECEIVED = "rate,nic0.rx"
XOFF = "xoff,"


def goodput(source, target=0):
    return f"goodput,flow.{source}_{target}"


class series:
    def __init__(self, path):
        self.values = {}  # "kind,name" -> [(us, value)], a step function that begins with 0
        with open(path, encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                self.values.setdefault(f"{row['kind']},{row['name']}", []).append(
                    (float(row["time_ns"]) / 1e3, float(row["value"])))
        self.begin = next(time for time, value in self.values[RECEIVED] if value > 0)

    def moments(self, name, from_ms, to_ms):
        """Mean and standard deviation over that time."""
        begin, end = self.begin + 1e3 * from_ms, self.begin + 1e3 * to_ms
        level, since, area, squares = 0.0, begin, 0.0, 0.0
        for time, value in [*self.values.get(name, []), (end, 0.0)]:
            until = min(max(time, begin), end)
            area += level * (until - since)
            squares += level * level * (until - since)
            level, since = value, until
        mean = area / (end - begin)
        return mean, math.sqrt(max(0.0, squares / (end - begin) - mean * mean))

    def mean(self, name, from_ms, to_ms):
        return self.moments(name, from_ms, to_ms)[0]

    def last(self, kind):
        """Milliseconds after the begin at which a series of that kind was last above 0; 0: never.
        One that is above 0 at the end of the file was so for ever."""
        latest = self.begin
        for name, values in self.values.items():
            if name.startswith(kind):
                for (_, value), after in zip(values, [*values[1:], (math.inf, 0.0)]):
                    if value > 0:
                        latest = max(latest, after[0])
        return (latest - self.begin) / 1e3
