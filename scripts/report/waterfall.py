"""The stages of the median and of a slow message side by side, as a Gantt chart."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from report import colours, style

KINDS = (("service", "service"), ("flight", "flight (on a link)"), ("wait", "wait, by reason"))
NAMED_ROWS = 6  # have their waits written beside them
WIDTH_OF_A_LETTER = 0.0145  # as a share of half a page


def merged(way):
    """Neighbouring spans of the same stage, place, kind and reason as one."""
    result = []
    for each in way:
        last = result[-1] if result else None
        if last and last[:4] == each[:4] and last.end == each.begin:
            result[-1] = last._replace(end=each.end)
        else:
            result.append(each)
    return result


def _look(kind, stages, borders=None):
    """`borders`: of each bar, whether it is wide enough for a white one."""
    colour = [colours.of_stage(stage) for stage in stages]
    own = kind == "wait"
    look = {"color": colour,
            "line": {"width": 1.2 if own else 0.8,
                     "color": [each if own or not wide else "white" for each, wide in
                               zip(colour, borders or [True] * len(colour))]}}
    if kind == "flight":
        look["opacity"] = 0.5
    if kind == "wait":
        look["pattern"] = {"shape": "/", "size": 6, "solidity": 0.4, "fillmode": "overlay",
                           "fgcolor": "white"}
    return look


def _legend_entry(chart, kind, text):
    look = _look(kind, ["cpu"])
    chart.add_bar(x=[None], y=[None], orientation="h", name=text, showlegend=True, marker=look,
                  opacity=look.get("opacity", 1), legendgroup=kind)  # legends ignore the marker's


def figure(ways):
    """`ways`: [(title, spans)], one or two messages."""
    ways = [(title, merged(way)) for title, way in ways]
    rows = list(dict.fromkeys(each.stage for _, way in ways for each in way))
    chart = make_subplots(rows=1, cols=len(ways), shared_yaxes=True, horizontal_spacing=0.03,
                          subplot_titles=[title for title, _ in ways])
    longest = max((way[-1].end - way[0].begin) / 1000 for _, way in ways)
    for column, (_, way) in enumerate(ways, 1):
        start = way[0].begin
        for kind, _ in KINDS:
            own = [each for each in way if each.kind == kind]
            chart.add_bar(
                row=1, col=column, orientation="h", showlegend=False, legendgroup=kind,
                y=[each.stage for each in own],
                base=[(each.begin - start) / 1000 for each in own],
                x=[(each.end - each.begin) / 1000 for each in own],
                marker=_look(kind, [each.stage for each in own],
                             [(each.end - each.begin) / 1000 > longest / 150 for each in own]),
                customdata=[[each.place, each.reason or each.kind] for each in own],
                hovertemplate="<b>%{y}</b> %{customdata[1]}: %{x:,.3f} ns<br>at %{customdata[0]}, "
                              "from %{base:,.3f} ns<extra></extra>")
        _name_waits(chart, column, way, longest)
    for kind, text in KINDS:
        _legend_entry(chart, kind, text)
    style.apply(chart, title="Where one message's time went", height=150 + 27 * len(rows),
                barmode="overlay", bargap=0.25,
                legend={"orientation": "h", "x": 1, "xanchor": "right", "yanchor": "bottom",
                        "y": 1 + 34 / (27 * len(rows)), "traceorder": "normal"},
                margin={"l": 60, "r": 20, "t": 96, "b": 56})
    chart.update_xaxes(title_text="time since the begin of the path (ns)",
                       range=[0, longest * 1.02])
    chart.update_yaxes(categoryorder="array", categoryarray=rows[::-1], showgrid=True)
    return chart


def _name_waits(chart, column, way, longest):
    """Rows with long waits carry the reasons and their lengths beside their bars."""
    start = way[0].begin
    rows = {}
    for each in way:
        begin, end, waits = rows.setdefault(each.stage, (each.begin, each.end, {}))
        if each.kind == "wait":
            waits[each.reason] = waits.get(each.reason, 0) + (each.end - each.begin) / 1000
        rows[each.stage] = (begin, each.end, waits)
    named = sorted(rows, key=lambda stage: -sum(rows[stage][2].values()))[:NAMED_ROWS]
    for stage in named:
        begin, end, waits = rows[stage]
        if sum(waits.values()) < longest / 500:
            continue
        text = _wait_text(waits)
        begin, end = (begin - start) / 1000, (end - start) / 1000
        wide = len(text) * WIDTH_OF_A_LETTER * longest
        place = {"x": end, "xanchor": "left", "xshift": 4}
        if end + wide > longest:
            place = {"x": begin, "xanchor": "right", "xshift": -4}
            if begin < wide:
                place = {"x": longest, "xanchor": "right"}  # on the bars
        chart.add_annotation(row=1, col=column, y=stage, showarrow=False, text=text,
                             font={"size": 11, "color": colours.INK},
                             bgcolor="rgba(255,255,255,0.85)", borderpad=1, **place)


def _wait_text(waits):
    """The longest one, and how many more there are."""
    longest = sorted(waits.items(), key=lambda each: -each[1])
    reason, ns = longest[0]
    more = len(longest) - 1
    rest = sum(waits.values()) - ns
    return f"{reason.replace('credit:', 'credit ')} {style.ns(ns)}" + (
        f", {more} more {style.ns(rest)}" if more else "")
