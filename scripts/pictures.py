#!/usr/bin/env python3
"""Makes the pictures of docs/tutorial.md: runs the scenarios, and takes charts from their reports.

Usage: scripts/pictures.py [BINARY]   (default: build/release/carillon); needs chromium.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 1000

NEIGHBOUR = ("run", "scenarios/noisy_neighbour.toml", "--trace", "--set", "workload.messages=50")

# picture -> (command and its options, name of the chart)
PICTURES = {
    "waterfall": (("run", "scenarios/doorbell_to_wire.toml", "--trace"), "waterfall"),
    "neighbour": (NEIGHBOUR, "points_stages"),
    "neighbour_tail": (NEIGHBOUR, "waterfall_shared"),
    "crossover": (("sweep", "scenarios/sweeps/doorbell_crossover.toml"),
                  "advantage_messages_per_second"),
    "vf_latency": (("sweep", "scenarios/sweeps/vf_count.toml"),
                   "lines_latency_post_to_cqe_seen_p999"),
    "sensitivity": (("sweep", "scenarios/sweeps/sensitivity.toml"),
                    "tornado_latency_post_to_cqe_seen_p50"),
}


def height(page, chart):
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    return json.loads(found.group(1))[chart]["layout"]["height"]


def take(binary, name, command, chart, folder):
    out = folder / pathlib.Path(command[1]).stem
    page = out / "report.html"
    if not page.exists():
        subprocess.run([binary, *command, "--out", out, "--quiet"], cwd=ROOT, check=True)
        subprocess.run([binary, "report", out], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    picture = ROOT / "docs/pictures" / f"{name}.png"
    picture.parent.mkdir(exist_ok=True)
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    "--virtual-time-budget=20000", f"--user-data-dir={folder / 'browser'}",
                    f"--window-size={WIDTH},{height(page, chart) + 16}",
                    f"--screenshot={picture}", f"{page.as_uri()}#chart={chart}"],
                   check=True, stderr=subprocess.DEVNULL)
    print(f"docs/pictures/{name}.png: {picture.stat().st_size // 1024} KiB")


def main():
    if shutil.which("chromium") is None:
        sys.exit("pictures: chromium is needed; scripts/setup.sh test installs it")
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/carillon")
    with tempfile.TemporaryDirectory() as folder:
        for name, (command, chart) in PICTURES.items():
            take(binary.resolve(), name, command, chart, pathlib.Path(folder))


main()
