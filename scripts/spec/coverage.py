"""Functional coverage of the lockstep benches: reading, C++, the page."""

import re
from dataclasses import dataclass

from .base import clean, closest
from .cpp_formats import cell, comment, header
from .markdown import head, table

WORD = re.compile(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*\Z")


@dataclass
class bin_def:
    name: str  # <group>.<bin>
    doc: str
    excluded: str  # why no traffic can hit it, "" for a bin that counts


def read_coverage(f, stages):
    """Stage name -> bins."""
    f.check_keys(f.data, ("title", "doc", "stage"), "file")
    twins = [s.name for s in stages if s.twin]
    out = {}
    for stage, groups in f.data.get("stage", {}).items():
        parts = (f"stage {stage}",)
        if stage not in twins:
            f.fail(parts, f"no stage with a twin has this name{closest(stage, twins)}",
                   ", ".join(twins))
        out[stage] = [one for group, bins in groups.items()
                      for one in read_group(f, group, bins, parts)]
        seen = {}
        for one in out[stage]:
            other = seen.setdefault(identifier(one.name), one.name)
            if other != one.name:
                f.fail(parts, f"bins '{other}' and '{one.name}' have the same name in C++",
                       "names that differ in more than case and dots")
    return out


def read_group(f, group, bins, parts):
    here = (*parts, f"group {group}")
    if not isinstance(bins, dict):
        f.fail(here, f"{bins!r}", "a table [stage.<stage>.<group>] of bins")
    for name, entry in bins.items():
        for word in (group, name):
            if not WORD.match(word):
                f.fail(here, f"name '{word}'", "letters, digits and single underscores")
        if isinstance(entry, str):
            entry = {"doc": entry}
        elif not isinstance(entry, dict):
            f.fail(here, f"{name} = {entry!r}", "\"<doc>\" or { doc, excluded }")
        f.check_keys(entry, ("doc", "excluded"), *here, name)
        excluded = f.take(entry, "excluded", str, *here, name, required=False)
        if excluded is not None and not excluded.strip():
            f.fail((*here, name), "excluded without an argument", "why no traffic can hit it")
        yield bin_def(f"{group}.{name}", f.take(entry, "doc", str, *here, name), excluded or "")


def identifier(name):
    return "".join(w[:1].upper() + w[1:] for w in re.split(r"[._]", name))


def emit_cpp(f, coverage):
    out = header("coverage", f.doc) + """\
#include <array>
#include <cstdint>
#include <span>

namespace carillon {

struct coverage_bin_desc {
  const char* name;
  const char* doc;
  const char* excluded;  // why no traffic can hit it, "" for a bin that counts
};

struct coverage_stage_desc {
  const char* stage;
  std::span<const coverage_bin_desc> bins;
};

// The bins of a stage, as coverage_spec::<stage>::bin::<Name>.
namespace coverage_spec {

"""
    for stage, bins in coverage.items():
        out += f"namespace {stage} {{\n\nenum class bin : std::uint16_t {{\n"
        out += "".join(f"  {identifier(b.name)},\n" for b in bins)
        out += ("};\n\n"
                f"inline constexpr std::array<coverage_bin_desc, {len(bins)}> Table = {{{{\n")
        for b in bins:
            out += f"    {{\"{b.name}\",\n     {cell(clean(b.doc))},\n"
            out += f"     {cell(clean(b.excluded))}}},\n"
        out += f"}}}};\n\n}}  // namespace {stage}\n\n"
    out += "}  // namespace coverage_spec\n\n"
    out += comment("Stages with a lockstep bench.")
    out += (f"inline constexpr std::array<coverage_stage_desc, {len(coverage)}> "
            "CoverageTable = {{\n")
    for stage in coverage:
        out += f"    {{\"{stage}\", coverage_spec::{stage}::Table}},\n"
    return out + "}};\n\n}  // namespace carillon\n"


def emit_page(f, coverage):
    out = head(f, f.stem)
    for stage, bins in coverage.items():
        count = sum(not b.excluded for b in bins)
        out += f"## {stage}\n\n{count} bins count.\n\n"
        out += table(("bin", "what"), [(f"`{b.name}`", b.doc) for b in bins if not b.excluded])
        if count != len(bins):
            out += "Argued unreachable; a hit refutes the argument and fails the run:\n\n"
            out += table(("bin", "what", "why not"),
                         [(f"`{b.name}`", b.doc, b.excluded) for b in bins if b.excluded])
    return out.rstrip("\n") + "\n"
