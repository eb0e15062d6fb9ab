#!/usr/bin/python3
"""Every stage of docs/spec/stages.toml has its files under its own name, and no file has no stage.

model/<stage>.{h,cpp}, tb/<stage>_test.cpp and docs/stages/<stage>.md for every stage,
rtl/<stage>.sv and tb/<stage>_lockstep.cpp for every twin that is done. In each layer but docs a
folder <stage>/ may hold them instead. Prints what to do about each finding; exit status 1 when
there is one.
"""

import argparse
import difflib
import sys
import tomllib
from pathlib import Path

# Folders and files of model/ that are not a stage.
MODEL_LAYERS = ("common", "host", "fabric", "reference", "cosim", "cli", "gen")
MODEL_FILES = ("nic",)
RTL_FOLDERS = ("common", "gen", "lint")


def has(root, layer, stage, name):
    return any((root / layer / p).is_file() for p in (name, f"{stage}/{name}"))


def missing(root, name, stage):
    for end in ("h", "cpp"):
        file = f"{name}.{end}"
        if not has(root, "model", name, file):
            yield (f"model/{file} is missing: write the stage (or the folder model/{name}/ with "
                   f"it), or remove [stage.{name}] from docs/spec/stages.toml")
    test = f"{name}_test.cpp"
    if not has(root, "tb", name, test):
        yield f"tb/{test} is missing: test the stage's core against the spec there"
    if not (root / f"docs/stages/{name}.md").is_file():
        yield (f"docs/stages/{name}.md is missing: write its page (Job, Ports, Timing, Ordering "
               "and stalls, Errors, Not modelled)")
    if stage.get("twin_done", False):
        if not has(root, "rtl", name, f"{name}.sv"):
            yield (f"rtl/{name}.sv is missing: write the twin, or set twin_done = false in "
                   f"[stage.{name}]")
        if not has(root, "tb", name, f"{name}_lockstep.cpp"):
            yield (f"tb/{name}_lockstep.cpp is missing: run model and twin in lockstep there, or "
                   f"set twin_done = false in [stage.{name}]")


def near(word, stages):
    hit = difflib.get_close_matches(word, stages, n=1, cutoff=0.6)
    prefix = [s for s in stages if word.startswith(f"{s}_")]
    if prefix:
        return f"; a second source of a stage goes into the folder {max(prefix, key=len)}/"
    return f"; the closest stage is {hit[0]}" if hit else ""


def entries(folder):
    return sorted(folder.iterdir()) if folder.is_dir() else []


def extra(root, stages):
    for path in entries(root / "model"):
        if path.is_dir():
            if path.name not in (*stages, *MODEL_LAYERS):
                yield (f"model/{path.name}/ is no stage and no layer: rename it or declare the "
                       f"stage in docs/spec/stages.toml{near(path.name, stages)}")
        elif path.suffix in (".h", ".cpp") and path.stem not in (*stages, *MODEL_FILES):
            yield (f"model/{path.name} belongs to no stage: move it to model/common/, rename it or "
                   f"declare the stage in docs/spec/stages.toml{near(path.stem, stages)}")
    for path in entries(root / "rtl"):
        if not (path.suffix == ".sv" or path.is_dir() and path.name not in RTL_FOLDERS):
            continue
        stage = stages.get(path.stem)
        if stage is None:
            yield (f"rtl/{path.name} belongs to no stage: move it to rtl/common/, rename it or "
                   f"declare the stage in docs/spec/stages.toml{near(path.stem, stages)}")
        elif not stage.get("twin", False):
            yield f"rtl/{path.name} is there but [stage.{path.stem}] says twin = false: correct one"
    for path in sorted((root / "tb").rglob("*_lockstep.cpp")):
        name = path.stem.removesuffix("_lockstep")
        if not stages.get(name, {}).get("twin", False) and path.parent.name != "common":
            yield (f"{path.relative_to(root)} has no twin: rename it, or set twin = true in "
                   f"[stage.{name}]{near(name, stages)}")
    for path in sorted((root / "docs/stages").glob("*.md")):
        if path.stem not in (*stages, "README"):
            yield (f"docs/stages/{path.name} belongs to no stage: rename it or delete it"
                   f"{near(path.stem, stages)}")


def main(argv):
    parser = argparse.ArgumentParser(prog="scripts/check_twins.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1],
                        metavar="DIR", help="the project (default: this one)")
    root = parser.parse_args(argv).root
    spec = root / "docs/spec/stages.toml"
    try:
        stages = tomllib.loads(spec.read_text(encoding="utf-8")).get("stage", {})
    except (OSError, tomllib.TOMLDecodeError) as e:
        print(f"docs/spec/stages.toml: {e}", file=sys.stderr)
        return 2
    if not stages:
        print("docs/spec/stages.toml: no [stage.<name>] in it: nothing would be checked",
              file=sys.stderr)
        return 2
    findings = [f for name, stage in stages.items() for f in missing(root, name, stage)]
    findings += extra(root, stages)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings; every stage has the same name in every layer",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
