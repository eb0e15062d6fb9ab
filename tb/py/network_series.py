"""Reads series.csv of a run: values over time, from the first byte that host 0 receives on."""

import csv
import math

QUEUE = "switch.port0.prio3.queue_bytes"
RECEIVED = "nic0.rx_gbps"
XOFF = ".prio3.xoff"


class series:
    def __init__(self, path):
        self.values = {}  # name -> [(us, value)], a step function that begins with 0
        with open(path, encoding="utf-8") as lines:
            for time, name, value in csv.reader(lines):
                if time != "time_us":
                    self.values.setdefault(name, []).append((float(time), float(value)))
        self.begin = self.values[RECEIVED][0][0]

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

    def last(self, suffix):
        """Milliseconds after the begin at which a series with that end was last above 0; 0: never.
        One that is above 0 at the end of the file was so for ever."""
        latest = self.begin
        for name, values in self.values.items():
            if name.endswith(suffix):
                for (_, value), after in zip(values, [*values[1:], (math.inf, 0.0)]):
                    if value > 0:
                        latest = max(latest, after[0])
        return (latest - self.begin) / 1e3
