"""The sections of a run's report."""

import plotly.graph_objects as go

from report import breakdown, colours, page, pcie, provenance, series, style, waterfall
from report.trace_file import rank

MOST_WAYS = 2000  # messages whose every span is looked at, for means


def _id(prefix, point):
    return f"{prefix}_{point.label}" if point.label else prefix


def table(kind, **values):
    return page.fragment("tables.html.j2", kind=kind, **values)


def spread(ranked, most=MOST_WAYS):
    """At most `most` messages, evenly over the ranks."""
    if len(ranked) <= most:
        return ranked
    return [ranked[i * len(ranked) // most] for i in range(most)]


class _way_finder:
    """The ways of messages, each read once."""

    def __init__(self, trace):
        self.trace = trace
        self.known = {}

    def way(self, message):
        if message not in self.known:
            self.known[message] = self.trace.way(message)
        return self.known[message]


def timing_sections(point, latency):
    """Waterfall, percentiles, stages, waits and PCIe of one point."""
    facts = point.facts
    found = facts["latency"].get(latency)
    sections = []
    ranked = point.trace.latencies() if point.trace else []
    if found is None:
        return [page.section("Latency", f"No message took the path {latency}.", point=point.label)]
    if ranked:
        finder = _way_finder(point.trace)
        slow_name = "P99.9" if len(ranked) >= 1000 else "slowest"
        chosen = [("median", ranked[rank(50, len(ranked))]),
                  (slow_name, ranked[rank(99.9, len(ranked))])]
        ways = [(f"{name}: message {message}, {style.ns(ps / 1000)}", finder.way(message))
                for name, (ps, message) in chosen]
        note = ("Spans on the critical path, from the first to the last picosecond: each begins "
                "where the one before it ends. The longest waits are named.")
        if len(ranked) != found["count"]:
            note += " Of the messages in the trace, that is; more were measured."
        if not slow_name.startswith("P"):
            note += f" Of {len(ranked):,} messages, the P99.9 is the slowest one."
        sections.append(page.section("Median and tail, side by side", note,
                                     [(_id("waterfall", point), waterfall.figure(ways))]))
    note = "How many messages are faster than that. The axis stretches the tail."
    if ranked and len(ranked) != found["count"]:
        note += (f" The trace has {len(ranked):,} messages, {found['count']:,} were measured; the "
                 "marks are of all that were measured.")
    if not ranked:
        note += " Without a trace (`--trace`) there are only the percentiles of the summary."
    sections.append(page.section(
        "Percentiles", note,
        [(_id("percentiles", point),
          breakdown.percentile_curve([ps for ps, _ in ranked], found, latency))],
        table("latencies", rows=list(facts["latency"].items()))))
    if ranked:
        sections.append(page.section(
            "Stages by percentile",
            "Each bar is the message at that rank, so its height is the percentile itself. "
            "Hatched: waiting.",
            [(_id("stages", point), breakdown.stages_by_percentile(finder, ranked))]))
        chosen = spread(ranked)
        means = breakdown.wait_means([finder.way(message) for _, message in chosen])
        note = "Mean over " + (f"all {len(chosen):,} traced messages" if len(chosen) == len(ranked)
                               else f"{len(chosen):,} of {len(ranked):,} traced messages, evenly "
                               "over the ranks") + "; colours tell at which stage."
    else:
        means = breakdown.wait_means_of_summary(facts["stages"], point.period_ns)
        note = "Mean over all messages; colours tell at which stage."
    if means:
        sections.append(page.section("Reasons of waiting", note,
                                     [(_id("waits", point), breakdown.wait_reasons(means))]))
    if point.trace:
        found = pcie.means(point.trace)
        if found:
            sections.append(page.section(
                "PCIe", "What the messages of the trace move over the PCIe links, with headers, "
                "framing and payload; colours tell on which stage's account.",
                [(_id("pcie", point), pcie.figure(found))]))
    if point.series:
        sections.append(page.section(
            "Over time", "As recorded in series.csv, over simulated time.",
            [(_id(name, point), chart) for name, chart in series.figures(point.series)]))
    for each in sections:
        each.point = point.label
    return sections


def points_overview(run):
    """All points of a scenario beside each other."""
    points = [point for point in run.points if run.latency in point.facts["latency"]]
    if not points:
        return []
    labels = [point.label for point in points]
    bars = go.Figure()
    for i, (name, key) in enumerate((("P50", "p50"), ("P99", "p99"), ("P99.9", "p999"))):
        bars.add_bar(x=labels, name=name, marker={"color": ("#9ecae1", "#4292c6", "#08306b")[i]},
                     y=[point.facts["latency"][run.latency][key] for point in points],
                     hovertemplate=f"%{{x}} {name}: %{{y:,.3f}} ns<extra></extra>")
    style.apply(bars, title=f"{run.latency} of all points", y="latency (ns)", height=420,
                barmode="group", bargap=0.25)
    bars.update_yaxes(tickformat=",")
    columns = [{stage: (facts["service"]["mean"] * point.period_ns * _passed(facts, point),
                        facts["wait"]["mean"] * point.period_ns * _passed(facts, point))
                for stage, facts in point.facts["stages"].items()} for point in points]
    stages = breakdown.stacked_stages(labels, columns)
    style.apply(stages, title=f"Stages of {run.latency}, mean of all messages",
                y="time on the path (ns)", height=breakdown.stacked_height(stages),
                barmode="stack", bargap=0.3)
    stages.update_yaxes(tickformat=",")
    return [page.section("All points", "Latency percentiles, and the stages that they are made "
                         "of. Hatched: waiting. Each point has its own part below.",
                         [("points", bars), ("points_stages", stages)])]


def _passed(stage, point):
    """The share of the messages that passed a stage, so that means of stages add up."""
    path = point.facts.get("path")
    return stage["messages"] / path["messages"] if path and path["messages"] else 1


def provenance_section(point, params):
    rows = provenance.table(point.facts.get("parameters", {}), params)
    changed = sum(row["changed"] for row in rows)
    return page.section(
        "Parameters and their provenance",
        "Who spends the path's time, on average, and whether that one's parameters were given by "
        "the reference, documented, measured, derived or assumed.",
        body=table("provenance", shares=provenance.shares(point.facts.get("places", {}), params),
                   rows=rows, changed=changed), point=point.label)


def expectation_rows(expect):
    rows = [dict(each, met=False) for each in expect["failed"]]
    return rows + [dict(each, met=True) for each in expect.get("met", [])]


def counter_rows(counters):
    """[[name, node 0, node 1, ...]] of the counters that are not zero somewhere."""
    nodes = list(counters)
    names = dict.fromkeys(name for node in nodes for name in counters[node])
    rows = [[name] + [counters[node].get(name, 0) for node in nodes] for name in names]
    return ["counter"] + nodes, [row for row in rows if any(row[1:])]


def tiles(run):
    summary = run.summary
    found = [("messages", f"{summary['messages']:,}")]
    if run.single:
        facts = run.points[0].facts
        latency = facts["latency"].get(run.latency)
        if latency:
            found += [(f"{run.latency}, {name}", style.ns(latency[key]))
                      for name, key in (("P50", "p50"), ("P99", "p99"), ("P99.9", "p999"))]
        rates = facts["rates"]
        found += [("goodput", f"{rates['goodput_gbps']:,.3g} Gb/s"),
                  ("messages a second", f"{rates['messages_per_second'] / 1e6:,.3g} million")]
    else:
        found.append(("points", str(len(run.points))))
    found += [("profile", summary["profile"]), ("seed", str(summary["seed"]))]
    return found


def sections(run):
    params = provenance.all_params()
    result = [] if run.single else points_overview(run)
    expect = run.summary["expect"]
    verdicts = page.section(
        "Expectations", f"{expect['passed']} met, {len(expect['failed'])} not met.",
        body=table("expectations", rows=expectation_rows(expect)))
    if expect["failed"]:
        result.insert(0, verdicts)
    for point in run.points:
        result += timing_sections(point, run.latency)
        result.append(provenance_section(point, params))
        heads, rows = counter_rows(point.facts.get("counters", {}))
        result.append(page.section(
            "Counters", "Of the devices; those that are zero everywhere are left out.",
            body=table("folded", title=f"{len(rows)} counters", heads=heads, rows=rows),
            point=point.label))
    if not expect["failed"]:
        result.append(verdicts)
    return result


def render(run, version):
    expect = run.summary["expect"]
    checked = expect["passed"] + len(expect["failed"])
    badge = {"good": not expect["failed"],
             "text": f"{expect['passed']} of {checked} expectations met"} if checked else None
    return page.render(run.summary["scenario"], run.summary.get("question", ""), badge,
                       tiles(run), sections(run), version)
