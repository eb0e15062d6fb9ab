"""sweep.json, which the program wrote, and the results of the points beside it."""

import json
import os
import pathlib


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, text):
    """Under a temporary name first: a file that is there is whole."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def result_path(folder, point):
    return pathlib.Path(folder) / "points" / point["id"] / "result.json"


def results(folder, plan):
    """[(point, its result or None)]."""
    found = []
    for point in plan["points"]:
        path = result_path(folder, point)
        found.append((point, load(path) if path.exists() else None))
    return found
