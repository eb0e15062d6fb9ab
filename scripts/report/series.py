"""series.csv: values over time, and their charts."""

import csv

import plotly.graph_objects as go

from report import colours, style
from report.errors import report_error

COLUMNS = ["time_ns", "kind", "name", "value"]
MOST_POINTS = 4000

# kind -> (title, axis); other kinds are drawn under their own name.
KINDS = {
    "queue_depth": ("Queue depth", "bytes"),
    "pause": ("Pause", "paused (1) or not (0)"),
    "rate": ("Rate on the wire", "Gb/s"),
    "goodput": ("Goodput of flows", "Gb/s"),
    "qp_rate": ("Rate that DCQCN allows a QP", "Gb/s"),
    "qp_target": ("Rate that DCQCN goes back to", "Gb/s"),
    "alpha": ("DCQCN alpha", "alpha"),
    "cnps": ("CNPs so far", "CNPs"),
    "xoff": ("Senders asked to pause", "asked (1) or not (0)"),
    "free_bytes": ("Free shared buffer", "bytes"),
}


def read_series(path):
    """[(kind, name, [time in ns], [value])], in the order in which they begin."""
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        head = next(lines, None)
        if head != COLUMNS:
            raise report_error(f"{path}: begins with {head}, but must begin with "
                               f"{','.join(COLUMNS)}")
        for number, row in enumerate(lines, 2):
            try:
                time, kind, name, value = row
                times, values = found.setdefault((kind, name), ([], []))
                times.append(float(time))
                values.append(float(value))
            except ValueError as error:
                raise report_error(f"{path}:{number}: is not {','.join(COLUMNS)}") from error
    return [(kind, name, *lists) for (kind, name), lists in found.items()]


def thinned(times, values, most=MOST_POINTS):
    """At most about `most` points: of each stretch of time its first, lowest, highest and last."""
    if len(times) <= most:
        return times, values
    stretch = -(-len(times) * 4 // most)
    keep = []
    for begin in range(0, len(times), stretch):
        part = range(begin, min(begin + stretch, len(times)))
        keep += sorted({part[0], min(part, key=values.__getitem__),
                        max(part, key=values.__getitem__), part[-1]})
    return [times[i] for i in keep], [values[i] for i in keep]


def figures(series):
    """One chart a kind: its series over time."""
    result = []
    longest = max(times[-1] for _, _, times, _ in series)
    for kind in dict.fromkeys(each[0] for each in series):
        title, unit = KINDS.get(kind, (kind.replace("_", " ").capitalize(), kind))
        scale, time_unit = (1e6, "ms") if longest >= 1e6 else (1e3, "us") if longest >= 1e4 else (
            1, "ns")
        chart = go.Figure()
        for i, (_, name, times, values) in enumerate(e for e in series if e[0] == kind):
            times, values = thinned(times, values)
            chart.add_scatter(x=[time / scale for time in times], y=values, name=name,
                              mode="lines", line={"shape": "hv", "width": 1.8,
                                                  "color": colours.of_series(i)},
                              hovertemplate=f"%{{y:,.4g}} at %{{x:,.6g}} {time_unit}")
        style.apply(chart, title=f"{title} over time", x=f"simulated time ({time_unit})", y=unit,
                    height=320, showlegend=True,
                    legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1,
                            "yanchor": "bottom"}, margin={"l": 80, "r": 20, "t": 72, "b": 56})
        chart.update_xaxes(range=[0, longest / scale])  # all charts over the same time
        chart.update_yaxes(rangemode="tozero", automargin=False)
        result.append((f"series_{kind}", chart))
    return result
