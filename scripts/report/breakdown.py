"""Charts of where all messages spent their time: percentiles, stages, reasons of waiting."""

import collections
import math

import plotly.graph_objects as go

from report import colours, style
from report.trace_file import rank

PERCENTILES = (("P50", 50), ("P90", 90), ("P99", 99), ("P99.9", 99.9), ("max", 100))
CURVE_POINTS = 400
HATCH = {"shape": "/", "size": 6, "solidity": 0.4, "fillmode": "overlay", "fgcolor": "white"}
LEGEND_LINE = 20  # pixels


def curve_points(latencies):
    """(1 / (1 - share of the messages below), ns): the steps of the percentile curve."""
    count = len(latencies)
    steps = [i for i in range(count) if i == 0 or latencies[i] != latencies[i - 1]]
    if len(steps) > CURVE_POINTS:
        # Even on the logarithmic axis; the last steps, the tail, all stay.
        wanted = {int(count - count ** (1 - k / CURVE_POINTS)) for k in range(CURVE_POINTS + 1)}
        steps = [steps[0]] + [i for i in steps[1:-40] if i in wanted] + steps[-40:]
    points = [(count / (count - i), latencies[i] / 1000) for i in steps]
    if points[-1][0] < count:
        points.append((count, points[-1][1]))
    return points


def percentile_curve(latencies, summary, latency):
    """`latencies`: ps, sorted, of the traced messages; empty: only the summary's percentiles."""
    chart = go.Figure()
    if latencies:
        points = curve_points(latencies)
        chart.add_scatter(x=[x for x, _ in points], y=[y for _, y in points], mode="lines",
                          name="all traced messages",
                          line={"shape": "hv", "color": colours.of_series(0), "width": 2.2},
                          hovertemplate="%{y:,.3f} ns<extra></extra>")
    marks = [("P50", "p50", 2), ("P99", "p99", 100), ("P99.9", "p999", 1000)]
    count = summary["count"]
    marks = [each for each in marks if each[2] <= max(2, count)]
    chart.add_scatter(x=[x for _, _, x in marks], y=[summary[key] for _, key, _ in marks],
                      mode="markers+text", name="as in summary.json",
                      text=[f"{name} {style.ns(summary[key])}" for name, key, _ in marks],
                      textposition="top left", textfont={"size": 12},
                      marker={"size": 9, "color": colours.of_series(1)}, cliponaxis=False,
                      hovertemplate="%{text}<extra></extra>")
    ticks = [(1, "min"), (2, "50 %"), (10, "90 %"), (100, "99 %"), (1000, "99.9 %"),
             (10000, "99.99 %"), (100000, "99.999 %")]
    ticks = [each for each in ticks if each[0] <= max(10, count)]
    style.apply(chart, title=f"Percentiles of {latency}, {count:,} messages",
                x="share of the messages that are faster", y="latency (ns)", height=380)
    right = math.log10(max(10, count))  # the axis counts decades
    chart.update_xaxes(type="log", tickvals=[x for x, _ in ticks], ticktext=[t for _, t in ticks],
                       range=[-0.02 * right, right * 1.06])
    low, high = summary["min"], max(summary["max"], summary["min"] * 1.001)
    room = max(0.12 * (high - low), 0.01 * high)
    chart.update_yaxes(range=[low - room, high + 1.6 * room], tickformat=",")
    chart.update_layout(legend={"x": 0.01, "y": 0.99, "xanchor": "left", "yanchor": "top"})
    return chart


def stage_sums(way):
    """{stage: (ns of service and flight, ns of waiting)} in the order of the way."""
    sums = {}
    for each in way:
        busy, wait = sums.get(each.stage, (0, 0))
        length = (each.end - each.begin) / 1000
        sums[each.stage] = (busy, wait + length) if each.kind == "wait" else (busy + length, wait)
    return sums


def stages_by_percentile(trace, ranked):
    """`ranked`: [(latency in ps, message)], sorted. Bars are the very messages at the ranks."""
    columns = []
    for name, percent in PERCENTILES:
        latency, message = ranked[rank(percent, len(ranked))]
        columns.append((name, message, latency / 1000, stage_sums(trace.way(message))))
    names = [f"{name}<br>message {message}" for name, message, _, _ in columns]
    chart = stacked_stages(names, [sums for *_, sums in columns])
    for label, (_, _, total, _) in zip(names, columns):
        chart.add_annotation(x=label, y=total, text=style.ns(total), showarrow=False,
                             yanchor="bottom", yshift=3, font={"size": 12})
    style.apply(chart, title="Stages of the messages at the percentiles", y="time on the path (ns)",
                height=stacked_height(chart), barmode="stack", bargap=0.35)
    chart.update_yaxes(tickformat=",")
    return chart


def stacked_height(chart):
    """So that the legend needs no scrolling."""
    return max(470, 150 + LEGEND_LINE * sum(bar.showlegend is not False for bar in chart.data))


def stacked_stages(labels, columns):
    """Bars of stages on each other: service solid, waiting hatched. No layout yet."""
    chart = go.Figure()
    named = set()
    waits = 0
    for stage in colours.stage_order({stage for sums in columns for stage in sums}):
        colour = colours.of_stage(stage)
        for part, (word, hatch) in enumerate((("service", False), ("wait", True))):
            values = [sums.get(stage, (0, 0))[part] for sums in columns]
            if not any(values):
                continue
            marker = {"color": colour, "line": {"width": 0.6, "color": "white"}}
            if hatch:
                marker["pattern"] = HATCH
            waits += hatch
            chart.add_bar(x=labels, y=values, name=stage, marker=marker, legendgroup=stage,
                          showlegend=stage not in named,
                          hovertemplate=f"<b>{stage}</b> {word}: %{{y:,.3f}} ns<extra></extra>")
            named.add(stage)
    if waits:
        chart.add_bar(x=labels[:1], y=[None], name="waiting",
                      marker={"color": "#8c8c8c", "pattern": HATCH})
    return chart


def wait_means(ways):
    """{reason: {stage: mean ns a message}}, by the reason's sum, largest first."""
    sums = collections.defaultdict(lambda: collections.defaultdict(float))
    for way in ways:
        for each in way:
            if each.kind == "wait":
                sums[each.reason][each.stage] += (each.end - each.begin) / 1000 / len(ways)
    return dict(sorted(sums.items(), key=lambda each: -sum(each[1].values())))


def wait_means_of_summary(stages, period_ns):
    """The same from a summary without a trace."""
    sums = collections.defaultdict(dict)
    total = max((facts["messages"] for facts in stages.values()), default=1)
    for stage, facts in stages.items():
        for reason, cycles in facts["waits"].items():
            sums[reason][stage] = cycles * period_ns * facts["messages"] / total
    return dict(sorted(sums.items(), key=lambda each: -sum(each[1].values())))


def wait_reasons(means, most=16):
    reasons = list(means)[:most]
    chart = go.Figure()
    for stage in colours.stage_order({stage for reason in reasons for stage in means[reason]}):
        chart.add_bar(y=reasons, x=[means[reason].get(stage, 0) for reason in reasons],
                      orientation="h", name=stage,
                      marker={"color": colours.of_stage(stage),
                              "line": {"width": 0.6, "color": "white"}},
                      hovertemplate=f"<b>%{{y}}</b> at {stage}: %{{x:,.3f}} ns a message"
                                    "<extra></extra>")
    for reason in reasons:
        total = sum(means[reason].values())
        chart.add_annotation(x=total, y=reason, text=style.ns(total), showarrow=False,
                             xanchor="left", xshift=4, font={"size": 12})
    style.apply(chart, title="What messages wait for", x="mean wait of a message (ns)",
                height=130 + max(30 * len(reasons), LEGEND_LINE * len(chart.data)),
                barmode="stack", bargap=0.3, showlegend=True)
    largest = max(sum(stages.values()) for stages in means.values())
    chart.update_xaxes(range=[0, largest * 1.12], tickformat=",")
    chart.update_yaxes(categoryorder="array", categoryarray=reasons[::-1])
    return chart
