"""Charts of a sweep: lines over an axis, where two ways of submitting cross, and sensitivity."""

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from report import colours, style
from report.sweep_data import short

MOST_PANELS = 6
MOST_LINES = 8
SUBMIT = "workload.submit"
METHODS = ("doorbell", "blueflame")


def choose_axes(data):
    """(x, line, panel): the axis along x, the one that tells lines apart, the one of the panels."""
    numeric = [key for key in data.axes if data.numeric(key) and len(data.axes[key]) > 1]
    others = [key for key in data.axes if len(data.axes[key]) > 1 and key not in numeric]
    if not numeric:
        return (others + [None, None, None])[0], (others + [None, None])[1], None
    along = max(numeric, key=lambda key: len(data.axes[key]))
    rest = [key for key in others + numeric if key != along]
    if SUBMIT in rest:
        rest.remove(SUBMIT)
        rest.insert(0, SUBMIT)
    rest += [None, None]
    return along, rest[0], rest[1]


def groups(data, metric, axes):
    """{panel: {line: [(x, value)]}} in the order of the axes' values. What further axes and points
    of the scenario vary is part of the line."""
    along, line, panel = axes
    further = [key for key in data.axes if key not in axes and len(data.axes[key]) > 1]
    result = {}
    for row in data.ran:
        if row.get(metric) is None or row.get(along) is None:
            continue
        words = [str(row[line])] if line else []
        words += [f"{short(key)} {row[key]}" for key in further]
        words += [data.parts[row["id"]]] if data.parts[row["id"]] else []
        lines = result.setdefault(row[panel] if panel else None, {})
        lines.setdefault(" ".join(words), []).append((row[along], row[metric]))
    return result


def crossings(first, second):
    """[(x, value, x before, x after)] where two curves over the same x change places: between two
    points of the sweep, on a straight line; where x spans decades, straight over its logarithm."""
    second = dict(second)
    common = [(x, y, second[x]) for x, y in first if x in second]
    logarithmic = is_wide([x for x, _, _ in common])
    scale = math.log if logarithmic else float
    found = []
    last = None  # the last point at which they differ
    for x1, a1, b1 in common:
        if a1 == b1:
            continue
        if last is not None:
            x0, a0, b0 = last
            before, after = a0 - b0, a1 - b1
            if before * after < 0:
                share = before / (before - after)
                at = scale(x0) + share * (scale(x1) - scale(x0))
                found.append((math.exp(at) if logarithmic else at, a0 + share * (a1 - a0), x0, x1))
        last = (x1, a1, b1)
    return found


def is_wide(values):
    """Whether positive numbers ask for a logarithmic axis."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= 16


def _x_axis(values):
    if not all(isinstance(value, (int, float)) for value in values):
        return {"type": "category"}
    if not is_wide(values):
        return {"tickvals": sorted(values) if len(values) <= 12 else None}
    ticks = [value for value in sorted(values)]
    # Ticks closer than a quarter of an octave would touch.
    kept = []
    span = math.log(max(ticks) / min(ticks))
    for tick in ticks:
        if not kept or math.log(tick / kept[-1]) > span / 11:
            kept.append(tick)
    return {"type": "log", "tickvals": kept, "ticktext": [f"{tick:,}" for tick in kept]}


def lines(data, metric, title, unit, axes, mark=False):
    """One metric over the axes, a panel for each value of the last; `mark` the crossovers of the
    first two lines."""
    along, line, panel = axes
    panels = dict(list(groups(data, metric, axes).items())[:MOST_PANELS])
    if not panels:
        return None
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    names = [f"{short(panel)} {value}" if panel else "" for value in panels]
    chart = make_subplots(rows=rows, cols=columns, shared_yaxes=True, subplot_titles=names,
                          horizontal_spacing=0.04, vertical_spacing=0.32 / rows)
    known = {}
    for i, found in enumerate(panels.values()):
        where = {"row": i // columns + 1, "col": i % columns + 1}
        for name, points in list(found.items())[:MOST_LINES]:
            points.sort()
            first = name not in known
            known.setdefault(name, colours.of_series(len(known)))
            chart.add_scatter(
                x=[x for x, _ in points], y=[y for _, y in points], name=name or short(metric),
                mode="lines+markers", legendgroup=name, showlegend=first and bool(name),
                line={"color": known[name], "width": 2}, marker={"size": 6},
                hovertemplate=f"{name} {short(along)} %{{x}}: %{{y:,.4g}} {unit}<extra></extra>",
                **where)
        if mark and len(found) == 2:
            one, other = found.values()
            for x, y, _, _ in crossings(one, other):
                chart.add_scatter(
                    x=[x], y=[y], mode="markers+text", text=[f"crossover {x:,.3g}"],
                    textposition="top center", showlegend=False, cliponaxis=False,
                    marker={"symbol": "diamond-open", "size": 13, "color": colours.INK,
                            "line": {"width": 2}},
                    hovertemplate=f"crossover at {short(along)} {x:,.4g}: {y:,.4g} {unit}"
                                  "<extra></extra>", **where)
    top = 100 if panel or any(known) else 50
    style.apply(chart, title=title, height=60 + top + 250 * rows,
                legend={"orientation": "h", "x": 1, "xanchor": "right", "yanchor": "bottom",
                        "y": 1 + 36 / (250 * rows), "traceorder": "normal"},
                margin={"l": 60, "r": 20, "t": top, "b": 56})
    chart.update_xaxes(**{key: value for key, value in _x_axis(data.axes[along]).items()
                          if value is not None})
    for column in range(columns):
        chart.update_xaxes(title_text=along, row=rows, col=column + 1)
    for row in range(rows):
        chart.update_yaxes(title_text=unit, row=row + 1, col=1)
    chart.update_yaxes(rangemode="tozero", tickformat="~s" if "second" in unit else ",")
    return chart


def advantage(data, metric, more_is_better):
    """{(x, y): percent by which BlueFlame is better} over the two longest numeric axes; and these
    axes."""
    numeric = sorted((key for key in data.axes if data.numeric(key) and len(data.axes[key]) > 1),
                     key=lambda key: -len(data.axes[key]))[:2]
    found = {}
    for row in data.ran:
        if row.get(metric) is None or any(row.get(key) is None for key in numeric):
            continue
        place = tuple(row[key] for key in numeric)
        found.setdefault(place, {})[row[SUBMIT]] = row[metric]
    result = {}
    for place, values in found.items():
        if all(values.get(method) for method in METHODS):
            doorbell, blueflame = (values[method] for method in METHODS)
            ratio = blueflame / doorbell if more_is_better else doorbell / blueflame
            result[place] = 100 * (ratio - 1)
    return result, numeric


def advantage_map(data, metric, title, more_is_better):
    """Where BlueFlame is better, and by how much, over two axes; None if there are no two."""
    found, axes = advantage(data, metric, more_is_better)
    if len(axes) < 2 or not found:
        return None
    columns, rows = (sorted({place[i] for place in found}) for i in range(2))
    values = [[found.get((x, y)) for x in columns] for y in rows]
    largest = max(abs(value) for value in found.values()) or 1
    chart = go.Figure()
    # Cells are placed by number: a category axis would take "16" for the sixteenth category.
    chart.add_heatmap(
        x=list(range(len(columns))), y=list(range(len(rows))), z=values, zmid=0,
        customdata=[[[x, y] for x in columns] for y in rows], zmin=-largest, zmax=largest,
        xgap=2, ygap=2,
        colorscale=[[0, "#b35900"], [0.25, "#f1a340"], [0.5, "#f7f7f7"], [0.75, "#67a9cf"],
                    [1, "#08519c"]],
        colorbar={"title": {"text": "better by (%)"}, "thickness": 14},
        hovertemplate=f"{short(axes[0])} %{{customdata[0]}}, {short(axes[1])} "
                      "%{customdata[1]}: %{z:+.1f} %<extra></extra>")
    for (x, y), value in found.items():
        ink = "white" if abs(value) > 0.6 * largest else colours.INK
        chart.add_annotation(x=columns.index(x), y=rows.index(y), text=f"{value:+.0f} %",
                             showarrow=False, font={"size": 12, "color": ink})
    style.apply(chart, title=title, x=axes[0], y=axes[1], height=150 + 44 * len(rows))
    for update, ticks in ((chart.update_xaxes, columns), (chart.update_yaxes, rows)):
        update(tickvals=list(range(len(ticks))), ticktext=[f"{tick:,}" for tick in ticks],
               showgrid=False, zeroline=False)
    return chart


def tornado_rows(data, metric):
    """[(key, [(value, change in percent)])] against the base point, largest swing first."""
    base = next((row for row in data.ran if row["label"] == "base"), None)
    if base is None or not base.get(metric):
        return []
    result = []
    for key in data.axes:
        changes = [(row[key], 100 * (row[metric] / base[metric] - 1)) for row in data.ran
                   if row.get(key) is not None and row.get(metric) is not None]
        if changes:
            result.append((key, changes))
    def swing(each):
        changes = [change for _, change in each[1]] + [0]
        return max(changes) - min(changes)
    return sorted(result, key=lambda each: (-swing(each), each[0]))


def tornado(rows, title, base):
    """Bars from the base to each parameter's lowest and highest outcome."""
    keys = [key for key, _ in rows]
    chart = go.Figure()
    for name, pick, colour in (("smallest value", min, colours.SERIES[0]),
                               ("largest value", max, colours.SERIES[1])):
        ends = [pick(changes, key=lambda each: _rank(each[0], changes))
                if len(changes) > 1 or pick is max else (None, None) for _, changes in rows]
        chart.add_bar(y=keys, x=[change for _, change in ends], orientation="h", name=name,
                      marker={"color": colour}, text=[f"{value}" for value, _ in ends],
                      textposition="none",
                      hovertemplate="%{y} = %{text}: %{x:+.2f} %<extra></extra>")
        for key, (value, change) in zip(keys, ends):
            if change is None:
                continue  # of one value there is one bar
            chart.add_annotation(x=change, y=key, text=f"{value}", showarrow=False,
                                 xanchor="left" if change >= 0 else "right",
                                 xshift=4 if change >= 0 else -4,
                                 yshift=-8 if name.startswith("s") else 8, font={"size": 11})
    style.apply(chart, title=title, x=f"change against the scenario as it is ({base}), %",
                height=150 + 46 * len(rows), barmode="group", bargap=0.25,
                legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1,
                        "yanchor": "bottom"})
    most = max((abs(change) for _, changes in rows for _, change in changes), default=1) or 1
    chart.update_xaxes(zeroline=True, zerolinecolor=colours.INK, zerolinewidth=1.5,
                       range=[-1.2 * most, 1.2 * most], ticksuffix=" %")
    chart.update_yaxes(categoryorder="array", categoryarray=keys[::-1])
    return chart


def _rank(value, changes):
    if isinstance(value, (int, float)):
        return value
    return [other for other, _ in changes].index(value)
