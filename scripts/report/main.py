"""`carillon report RUN|SWEEP [-o FILE]`, after the program has found this package."""

import argparse
import os
import pathlib
import sys

from report.errors import report_error


def _arguments(words):
    parser = argparse.ArgumentParser(prog="carillon report")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args(words)


def make(folder):
    """The report of a run's or sweep's folder as text."""
    # Behind the check of the folder: Plotly takes half a second to load.
    from report import run_report  # noqa: PLC0415
    from report.run_data import run_data  # noqa: PLC0415
    version = os.environ.get("CARILLON_VERSION", "")
    if (folder / "sweep.sqlite").exists():
        from report import sweep_report  # noqa: PLC0415
        from report.sweep_data import sweep_data  # noqa: PLC0415
        return sweep_report.render(sweep_data(folder), version)
    return run_report.render(run_data(folder), version)


def write(path, text):
    """Under a temporary name first: a file that is there is whole."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise report_error(f"{path}: cannot be written: {error.strerror}") from error


def main(words):
    arguments = _arguments(words)
    folder = arguments.folder
    try:
        if not folder.is_dir():
            raise report_error(f"{folder}: " + ("is a file, not the folder of a run or sweep"
                                                if folder.exists() else "there is no such folder"))
        output = arguments.output or folder / "report.html"
        write(output, make(folder))
    except report_error as error:
        print(f"carillon: {error}", file=sys.stderr)
        return 2
    print(f"report: {output}")
    return 0
