"""How charts look: one layout for all of them."""

from report import colours

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def axis(title=None, **more):
    result = {"gridcolor": colours.GRID, "zerolinecolor": colours.GRID, "linecolor": "#9aa5b1",
              "ticks": "outside", "tickcolor": "#9aa5b1", "automargin": True}
    if title:
        result["title"] = {"text": title, "standoff": 10}
    result.update(more)
    return result


def apply(chart, title, x=None, y=None, height=400, **more):
    """Title, axes and legend of a chart with one pair of axes."""
    chart.update_layout(
        title={"text": title, "x": 0, "xref": "paper", "xanchor": "left", "y": 1,
               "yref": "container", "yanchor": "top", "pad": {"t": 14}, "font": {"size": 16}},
        font={"family": FONT, "size": 13, "color": colours.INK},
        paper_bgcolor="white", plot_bgcolor="white", height=height,
        margin={"l": 60, "r": 20, "t": 56, "b": 56},
        hoverlabel={"font": {"family": FONT}},
        legend={"traceorder": "normal", "bgcolor": "rgba(255,255,255,0.8)"})
    chart.update_xaxes(**axis(x))
    chart.update_yaxes(**axis(y))
    if more:
        chart.update_layout(**more)
    return chart


def ns(value):
    """A latency for a label: about four digits, and the unit that keeps it short."""
    for limit, unit in ((1e6, "ms"), (1e4, "us")):
        if abs(value) >= limit:
            return f"{value / (1e6 if unit == 'ms' else 1e3):,.4g} {unit}"
    return f"{value:,.1f}".rstrip("0").rstrip(".") + " ns"
