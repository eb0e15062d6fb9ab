"""The sections of a sweep's report."""

from report import page, style, sweep_figures
from report.run_report import table
from report.sweep_data import short

# metric -> (title, unit, whether more is better)
RATE = "rates.messages_per_second"
CPU = "path.cpu_ns"


def _crossover_text(data, metric, axes, more_is_better):
    """What the crossovers say, a sentence a panel."""
    along, _, panel = axes
    words = []
    for value, found in sweep_figures.groups(data, metric, axes).items():
        if set(found) != set(sweep_figures.METHODS):
            continue
        doorbell, blueflame = (sorted(found[name]) for name in sweep_figures.METHODS)
        where = f"With {short(panel)} {value}: " if panel else ""
        crossed = sweep_figures.crossings(doorbell, blueflame)
        other = dict(doorbell)
        gains = [(y - other[x]) * (1 if more_is_better else -1) for x, y in blueflame if x in other]
        if crossed:
            at = " and ".join(f"{x:,.3g} (between the points {low:,} and {high:,})"
                              for x, _, low, high in crossed)
            words.append(f"{where}they cross at {short(along)} {at}.")
        elif min(gains) > 0:
            words.append(f"{where}BlueFlame is better throughout.")
        elif max(gains) < 0:
            words.append(f"{where}the doorbell is better throughout.")
        elif not any(gains):
            words.append(f"{where}there is no difference.")
        else:
            words.append(f"{where}they meet without crossing.")
    return " ".join(words)


def _submit_sections(data, axes):
    """Doorbell against BlueFlame."""
    sections = []
    for metric, name, unit, more in (
            (f"latency.{data.latency}.p50", f"{data.latency}, P50", "ns", False),
            (RATE, "Message rate", "messages a second", True),
            (CPU, "What posting costs the CPU", "ns a message", False)):
        if not data.has(metric):
            continue
        charts = [(f"submit_{short(metric)}", sweep_figures.lines(
            data, metric, f"{name}: doorbell and BlueFlame", unit, axes, mark=True))]
        whole = sweep_figures.advantage_map(
            data, metric, f"{name}: how much better BlueFlame is than the doorbell", more)
        if whole is not None:
            charts.append((f"advantage_{short(metric)}", whole))
        sections.append(page.section(f"Doorbell or BlueFlame: {name}",
                                     _crossover_text(data, metric, axes, more), charts))
    return sections


def _general_sections(data, axes):
    charts = []
    for metric, title, unit in ((f"latency.{data.latency}.p50", f"{data.latency}, P50", "ns"),
                                (f"latency.{data.latency}.p999", f"{data.latency}, P99.9", "ns"),
                                ("rates.goodput_gbps", "Goodput", "Gb/s"),
                                (RATE, "Message rate", "messages a second"),
                                (CPU, "What posting costs the CPU", "ns a message"),
                                ("functions.nic0.context_ram_bytes_per_vf",
                                 "Context RAM of a VF", "bytes")):
        chart = sweep_figures.lines(data, metric, title, unit, axes) if data.has(metric) else None
        if chart is not None:
            charts.append((f"lines_{metric.replace('.', '_')}", chart))
    note = "".join(f"{key} advances with {short(axes[0])}. " for key in data.followers)
    return [page.section(f"Over {axes[0]}", note, charts)]


def _sensitivity_sections(data):
    sections = []
    base = next((row for row in data.ran if row["label"] == "base"), None)
    last = None
    for metric, title, show in (
            (f"latency.{data.latency}.p50", f"{data.latency}, P50", style.ns),
            (f"latency.{data.latency}.p999", f"{data.latency}, P99.9", style.ns),
            (RATE, "Message rate", lambda value: f"{value / 1e6:,.3g} million/s"),
            (CPU, "CPU time of a message", style.ns)):
        rows = sweep_figures.tornado_rows(data, metric)
        if rows == last or not any(change for _, changes in rows for _, change in changes):
            continue  # without noise, the tail is as the median
        last = rows
        moving = [row for row in rows if any(change for _, change in row[1])]
        idle = [key for key, _ in rows if key not in dict(moving)]
        note = ("Each parameter alone, at the smallest and the largest value of the sweep (written "
                "at the bars; of words, the first and the last), all others as in the scenario.")
        if idle:
            note += f" Without any effect: {', '.join(idle)}."
        sections.append(page.section(
            f"Sensitivity: {title}", note,
            [(f"tornado_{metric.replace('.', '_')}", sweep_figures.tornado(
                moving, f"Sensitivity of {title}", show(base[metric])))]))
    return sections


def _points_section(data):
    shown = list(data.axes) + list(data.followers) + [name for name in (
        f"latency.{data.latency}.p50", f"latency.{data.latency}.p99",
        f"latency.{data.latency}.p999", "rates.goodput_gbps", RATE, CPU) if data.has(name)]
    rows = [[row["label"]] + ["" if row.get(key) is None else row[key] for key in shown]
            for row in data.ran]
    return page.section("All points", "sweep.csv and sweep.sqlite have more columns.",
                        body=table("folded", title=f"{len(rows)} points",
                                   heads=["point"] + shown, rows=rows))


def _trouble_section(data):
    rows = [[row["label"], row["status"], row["error"]] for row in data.rows
            if row["status"] != "ok"]
    if not rows:
        return []
    return [page.section("Points that failed or whose expectations are not met",
                         "What each of them said.",
                         body=table("plain", heads=["point", "status", "error"], rows=rows))]


def render(data, version):
    axes = sweep_figures.choose_axes(data)
    sections = _trouble_section(data)
    if data.meta["mode"] == "one_at_a_time":
        sections += _sensitivity_sections(data)
    elif set(data.axes.get(sweep_figures.SUBMIT, ())) == set(sweep_figures.METHODS):
        sections += _submit_sections(data, axes)
    else:
        sections += _general_sections(data, axes)
    sections.append(_points_section(data))
    bad = sum(row["status"] != "ok" for row in data.rows)
    badge = {"good": not bad, "text": f"{len(data.rows) - bad} of {len(data.rows)} points well"}
    tiles = [("points", str(len(data.rows)))]
    tiles += ([("parameters", str(len(data.axes)))] if data.meta["mode"] == "one_at_a_time" else
              [(f"values of {key}", str(len(values))) for key, values in data.axes.items()][:6])
    return page.render(data.meta["name"], data.meta["question"], badge, tiles, sections, version)
