"""The stages of the median and of a slow message side by side, as a Gantt chart."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from report import colours, style

KINDS = (("service", "service"), ("flight", "flight (on a link)"), ("wait", "wait, by reason"))
NAMED_WAITS = 5


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


def _look(kind, stages):
    colour = [colours.of_stage(stage) for stage in stages]
    look = {"color": colour, "line": {"width": 0.6, "color": "white"}}
    if kind == "flight":
        look["opacity"] = 0.5
    if kind == "wait":
        look["pattern"] = {"shape": "/", "size": 6, "solidity": 0.4, "fillmode": "overlay",
                           "fgcolor": "white"}
        look["line"] = {"width": 1.2, "color": colour}
    return look


def _legend_entry(chart, kind, text):
    chart.add_bar(x=[None], y=[None], orientation="h", name=text, showlegend=True,
                  marker=_look(kind, ["cpu"]), legendgroup=kind)


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
                marker=_look(kind, [each.stage for each in own]),
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
    """The longest waits carry their reason and length beside their bar."""
    start = way[0].begin
    waits = sorted((each for each in way if each.kind == "wait"),
                   key=lambda each: (each.begin - each.end, each.begin))
    for each in waits[:NAMED_WAITS]:
        length = (each.end - each.begin) / 1000
        if length < longest / 500:
            continue
        begin, end = (each.begin - start) / 1000, (each.end - start) / 1000
        right = end < 0.62 * longest
        chart.add_annotation(
            row=1, col=column, x=end if right else begin, y=each.stage, showarrow=False,
            xanchor="left" if right else "right", xshift=4 if right else -4,
            text=f"{each.reason} {style.ns(length)}", font={"size": 11, "color": colours.INK},
            bgcolor="rgba(255,255,255,0.8)", borderpad=1)
