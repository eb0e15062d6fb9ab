"""Makes reports for the tests, and takes them apart."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import carillon_runs

# What the report itself needs of Python; without it there is nothing to test.
MISSING = [name for name in ("jinja2", "plotly") if importlib.util.find_spec(name) is None]
WHY = f"python3 lacks {', '.join(MISSING)}; scripts/setup.sh report installs them"

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)


def report(folder, *options):
    """`carillon report`, with this very Python; the finished process."""
    return subprocess.run([carillon_runs.BINARY, "report", str(folder), *options],
                          capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, CARILLON_PYTHON=sys.executable))


def charts(path):
    """{name: figure} as they stand in the page."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    return json.loads(found.group(1))


class opened:
    """A page in a browser: what it looks like inside, and what it complained about."""

    def __init__(self, path, part=""):
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                 "--virtual-time-budget=60000", "--window-size=1280,2000",
                 f"--user-data-dir={profile}", "--dump-dom",
                 pathlib.Path(path).resolve().as_uri() + part],
                capture_output=True, text=True, check=False, timeout=300)
        self.dom = done.stdout
        self.complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def fact(self, name):
        """What the page's script noted of itself."""
        found = re.search(rf'<html[^>]* data-{name}="([^"]*)"', self.dom)
        return found.group(1) if found else None

    def drawings(self):
        """{name of a chart: SVG drawings inside}."""
        parts = re.split(r'<div class="chart[^"]*" id="([^"]+)"', self.dom)[1:]
        return {name: body.count('class="main-svg"')
                for name, body in zip(parts[::2], parts[1::2])}
