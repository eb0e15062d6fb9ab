"""The HTML file: sections of text, tables and charts, and Plotly's program, all in one."""

import base64
import gzip
import html
import json
import pathlib

import jinja2
import plotly
import plotly.offline

from report import colours, style

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_BUNDLE = pathlib.Path("/usr/share/python3-plotly/plotly.js")


class section:
    """A heading, a sentence that says how to read it, charts, and tables as ready HTML."""

    def __init__(self, title, note="", charts=(), body="", point=""):
        self.title = title
        self.note = note
        self.charts = list(charts)  # (id, figure)
        self.body = body
        self.point = point


def bundle():
    """Plotly's program, compressed: a browser unpacks it when the page is opened."""
    text = plotly.offline.get_plotlyjs()
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _script_json(value):
    # "</" would end the script element.
    return json.dumps(value, separators=(",", ":")).replace("</", "<\\/")


def environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True,
                              trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)
    made.filters["ns"] = style.ns
    made.filters["number"] = number
    made.filters["stage_colour"] = colours.of_stage
    return made


def number(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return str(value)


def fragment(template, **values):
    """A table as HTML that needs no more escaping."""
    return jinja2.utils.markupsafe.Markup(environment().get_template(template).render(**values))


def render(title, subtitle, badge, tiles, sections, version):
    charts = {}
    for each in sections:
        for name, chart in each.charts:
            charts[name] = json.loads(chart.to_json())
            charts[name]["layout"].pop("template", None)  # its 8 KB are not used
    return environment().get_template("page.html.j2").render(
        title=title, subtitle=subtitle, badge=badge, tiles=tiles, sections=sections,
        charts=jinja2.utils.markupsafe.Markup(_script_json(charts)), bundle=bundle(),
        plotly_version=plotly.__version__, version=html.escape(version))
