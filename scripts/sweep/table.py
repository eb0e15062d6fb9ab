"""The table of a sweep: sweep.sqlite and sweep.csv, the same whatever the order of the runs."""

import csv
import io
import os
import pathlib
import sqlite3

from sweep import metrics, plan

SCHEMA = "carillon-sweep-1"
FIXED = ["id", "label", "status", "error"]


def value_of(text):
    """A setting as a number, if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def rows(results):
    """[(id, label, status, error, settings, metrics)], a row a point of the scenario."""
    found = []
    for point, result in results:
        if result is None:
            continue
        parts = result["metrics"] or {"": {}}
        for label, numbers in parts.items():
            found.append((point["id"] + (f".{label}" if label else ""),
                          " ".join(filter(None, (point["label"], label))), result["status"],
                          result["error"], point["settings"], numbers))
    return found


def columns(whole, found):
    """The columns of the wide table: axes in the plan's order, then metrics by name."""
    axes = [axis["key"] for axis in whole["axes"]]
    names = sorted({name for row in found for name in row[5] if metrics.is_main(name)})
    return axes, names


def wide(whole, found):
    axes, names = columns(whole, found)
    lines = [FIXED + axes + names]
    for number, label, status, error, settings, numbers in found:
        lines.append([number, label, status, error]
                     + [value_of(settings[key]) if key in settings else None for key in axes]
                     + [numbers.get(name) for name in names])
    return lines


def write_csv(path, lines):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    plan.write(path, text.getvalue())


def write_sqlite(path, whole, found, lines):
    part = pathlib.Path(f"{path}.part")
    part.unlink(missing_ok=True)
    database = sqlite3.connect(part)
    with database:
        database.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        database.executemany("INSERT INTO meta VALUES (?,?)", [
            ("schema", SCHEMA), ("name", whole["name"]), ("question", whole["question"]),
            ("report_path", whole["report_path"]), ("mode", whole["mode"]),
            ("version", whole["version"])])
        # An axis advances with its leader: itself, or the first of those that are zipped.
        leader = {key: group[0] for group in whole["groups"] for key in group}
        database.execute("CREATE TABLE axes (position INTEGER, key TEXT, leader TEXT, "
                         "value_position INTEGER, value, PRIMARY KEY (position, value_position))")
        database.executemany("INSERT INTO axes VALUES (?,?,?,?,?)", [
            (i, axis["key"], leader[axis["key"]], k, value_of(value))
            for i, axis in enumerate(whole["axes"]) for k, value in enumerate(axis["values"])])
        names = ", ".join(f'"{name}"' for name in lines[0])
        database.execute(f"CREATE TABLE results ({names}, PRIMARY KEY (id))")
        database.executemany(f"INSERT INTO results VALUES ({','.join('?' * len(lines[0]))})",
                             lines[1:])
        database.execute("CREATE TABLE settings (id TEXT, key TEXT, value, PRIMARY KEY (id, key))")
        database.execute("CREATE TABLE metrics (id TEXT, name TEXT, value REAL, "
                         "PRIMARY KEY (id, name)) WITHOUT ROWID")
        for number, _, _, _, settings, numbers in found:
            database.executemany("INSERT INTO settings VALUES (?,?,?)",
                                 [(number, key, value_of(text)) for key, text in settings.items()])
            database.executemany("INSERT INTO metrics VALUES (?,?,?)",
                                 [(number, name, value) for name, value in numbers.items()])
    database.close()
    os.replace(part, path)


def write(folder, whole, results):
    found = rows(results)
    lines = wide(whole, found)
    write_csv(folder / "sweep.csv", lines)
    write_sqlite(folder / "sweep.sqlite", whole, found, lines)
