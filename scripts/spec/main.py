"""Command line: read everything, render everything, write or compare."""

import argparse
import difflib
import sys
from pathlib import Path

from . import (counters, coverage, cpp_formats, formats, markdown, params, pci, registers, stages,
               streams, sverilog)
from .base import spec_error, spec_file

FORMATS = ("wire", "tlp", "wqe", "contexts")
ALL = (*FORMATS, "registers", "pci", "streams", "stages", "params", "counters", "coverage")
EXTRA_KEYS = {"registers": ("block",), "streams": ("stream",)}
GENERATED = ("model/gen", "rtl/gen", "docs/reference")
# Written by another script, from what it measures.
MEASURED = ("docs/reference/area.md",)


class spec:
    """All spec files, read and checked."""

    def __init__(self, folder):
        for name in ALL:
            if not (folder / f"{name}.toml").is_file():
                raise spec_error(f"docs/spec/{name}.toml", "is missing",
                                 ", ".join(f"{n}.toml" for n in ALL) + " (all of them)")
        for path in sorted(folder.glob("*.toml")):
            # testplan.toml is data of another script.
            if path.stem not in ALL and path.stem != "testplan":
                raise spec_error(f"docs/spec/{path.name}", "is not a spec file",
                                 ", ".join(f"{n}.toml" for n in ALL))
        self.files = {name: spec_file(folder / f"{name}.toml") for name in ALL}
        self.world = formats.world_def()
        self.formats = {}
        with_enums = (*FORMATS, "registers", "streams")
        # Enums first: layouts of one file may use those of another.
        for name in with_enums:
            f = self.files[name]
            out = formats.format_file(name, f.take(f.data, "title", str, "file"), f.doc)
            formats.read_common(f, self.world, out,
                                (*formats.FORMAT_KEYS, *EXTRA_KEYS.get(name, ())))
            self.formats[name] = out
        for name in FORMATS:
            f = self.files[name]
            for layout in f.data.get("layout", {}):
                self.world.claim(f, layout, f"layout {layout}")
            formats.read_layouts(f, self.formats[name], self.world)
            formats.read_opcodes(f, self.formats[name], self.world)
        self.blocks = registers.read_registers(self.files["registers"], self.world)
        self.capabilities = pci.read_capabilities(self.files["pci"], self.world)
        self.streams = streams.read_streams(self.files["streams"], self.world,
                                            self.formats["streams"])
        self.stages, self.edges = stages.read_stages(self.files["stages"], self.world)
        self.params = params.read_params(self.files["params"])
        self.counters = counters.read_counters(self.files["counters"], self.stages)
        self.coverage = coverage.read_coverage(self.files["coverage"], self.stages)


def render(s):
    """Path below the root -> text."""
    out = {"model/gen/bytes.h": cpp_formats.BYTES_H}
    for name in FORMATS:
        out[f"model/gen/{name}.h"] = cpp_formats.emit_format(s.formats[name], s.world)
    out["model/gen/registers.h"] = cpp_formats.emit_format(
        s.formats["registers"], s.world, registers.emit_cpp(s.blocks))
    f = s.files["pci"]
    out["model/gen/pci.h"] = (
        cpp_formats.header("pci", f.doc) +
        "#include <array>\n#include <cstdint>\n\nnamespace carillon {\n\n" +
        pci.emit_cpp(s.capabilities) + "}  // namespace carillon\n")
    out["model/gen/streams.h"] = cpp_formats.emit_format(
        s.formats["streams"], s.world, streams.emit_cpp(s.streams))
    f = s.files["stages"]
    out["model/gen/stages.h"] = (
        cpp_formats.header("stages", f.doc) +
        "#include <array>\n#include <cstdint>\n\nnamespace carillon {\n\n" +
        stages.emit_cpp(s.stages, s.edges) + "}  // namespace carillon\n")
    out["model/gen/params.h"] = params.emit_header(s.files["params"], s.params)
    out["model/gen/params.cpp"] = params.emit_source(s.params)
    out["model/gen/counters.h"] = counters.emit_counters(s.files["counters"], s.counters)
    f = s.files["coverage"]
    out["model/gen/coverage.h"] = coverage.emit_cpp(f, s.coverage)
    out["docs/reference/coverage.md"] = coverage.emit_page(f, s.coverage)
    out.update(sverilog.render(s))
    out.update(markdown.render(s))
    return out


def compare(root, texts):
    """Differences between the tree and what the spec says; prints them, returns their number."""
    bad = 0
    for path, text in texts.items():
        there = root / path
        old = there.read_text(encoding="utf-8") if there.is_file() else ""
        if old != text:
            bad += 1
            diff = list(difflib.unified_diff(old.splitlines(), text.splitlines(),
                                             f"{path} (in the tree)", f"{path} (from the spec)",
                                             lineterm="", n=1))
            print("\n".join(diff[:40]))
            if len(diff) > 40:
                print(f"... {len(diff) - 40} more lines")
    for folder in GENERATED:
        for there in sorted((root / folder).glob("*")) if (root / folder).is_dir() else []:
            path = f"{folder}/{there.name}"
            if path not in texts and path not in MEASURED:
                bad += 1
                print(f"{path}: nothing in docs/spec generates it; delete it")
    return bad


def main(argv):
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        prog="scripts/gen_spec.py",
        description="Writes model/gen, rtl/gen and docs/reference from docs/spec/*.toml.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail when a generated file differs from the spec")
    parser.add_argument("--spec", type=Path, default=root / "docs/spec", metavar="DIR",
                        help="folder of the spec files (default: docs/spec)")
    parser.add_argument("--out", type=Path, default=root, metavar="DIR",
                        help="root of the outputs (default: the project)")
    args = parser.parse_args(argv)
    try:
        texts = render(spec(args.spec))
    except spec_error as e:
        print(e, file=sys.stderr)
        return 2
    if args.check:
        bad = compare(args.out, texts)
        if bad:
            print(f"{bad} generated files do not match docs/spec; run scripts/gen_spec.py",
                  file=sys.stderr)
            return 1
        return 0
    for path, text in texts.items():
        there = args.out / path
        # An unchanged file keeps its time, so a build rebuilds only what changed.
        if not there.is_file() or there.read_text(encoding="utf-8") != text:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return 0
