"""Bytes on the PCIe links for a message."""

import collections

import plotly.graph_objects as go

from report import colours, style

_KINDS = {"memory_read": "read requests", "memory_write": "writes", "completion": "completions"}


def _direction(port):
    """nic0 -> 'nic0 to host0'."""
    other = port.replace("nic", "host") if port.startswith("nic") else port.replace("host", "nic")
    return f"{port} to {other}"


def means(trace):
    """{(port, kind): {stage: (bytes, payload, TLPs)}} for a measured message, on average."""
    count = trace.rows("SELECT count(*) FROM messages WHERE measured")[0][0]
    result = collections.defaultdict(dict)
    for port, kind, stage, size, payload, tlps in trace.rows(
            "SELECT port, kind, stage, sum(tlps.bytes), sum(payload), count(*) FROM tlps "
            "JOIN messages ON messages.id = tlps.message WHERE measured "
            "GROUP BY port, kind, stage ORDER BY port, kind"):
        result[port, kind][stage] = (size / count, payload / count, tlps / count)
    return dict(result)


def figure(found):
    labels = {key: f"{_direction(key[0])}: {_KINDS.get(key[1], key[1])}" for key in found}
    chart = go.Figure()
    for stage in colours.stage_order({stage for stages in found.values() for stage in stages}):
        rows = [(key, stages[stage]) for key, stages in found.items() if stage in stages]
        chart.add_bar(y=[labels[key] for key, _ in rows], x=[size for _, (size, *_) in rows],
                      orientation="h", name=stage,
                      marker={"color": colours.of_stage(stage),
                              "line": {"width": 0.6, "color": "white"}},
                      customdata=[[payload, tlps] for _, (_, payload, tlps) in rows],
                      hovertemplate=f"<b>{stage}</b>, %{{y}}: %{{x:,.1f}} B in "
                                    "%{customdata[1]:,.2f} TLPs, %{customdata[0]:,.1f} B of them "
                                    "payload<extra></extra>")
    totals = {key: sum(size for size, *_ in stages.values()) for key, stages in found.items()}
    for key, total in totals.items():
        chart.add_annotation(x=total, y=labels[key], text=f"{total:,.0f} B", showarrow=False,
                             xanchor="left", xshift=4, font={"size": 12})
    style.apply(chart, title="PCIe bytes of a message, framing included",
                x="bytes on the link for a message (mean)",
                height=130 + max(30 * len(found), 20 * len(chart.data)), barmode="stack",
                bargap=0.3, showlegend=True)
    chart.update_xaxes(range=[0, max(totals.values()) * 1.12], tickformat=",")
    chart.update_yaxes(categoryorder="array", categoryarray=list(labels.values())[::-1])
    return chart
