"""Counters: reading, C++."""

from dataclasses import dataclass

from .base import SNAKE, camel, clean, closest
from .cpp_formats import cell, header


@dataclass
class counter_def:
    name: str
    stage: str
    doc: str


def read_counters(f, stages):
    f.check_keys(f.data, ("title", "doc", "counter"), "file")
    names = [s.name for s in stages]
    counters = []
    for name, table in f.data.get("counter", {}).items():
        parts = (f"counter {name}",)
        f.check_name(name, SNAKE, *parts, keywords=())
        f.check_keys(table, ("stage", "doc"), *parts)
        stage = f.take(table, "stage", str, *parts)
        if stage not in names:
            f.fail(parts, f"stage = \"{stage}\"{closest(stage, names)}", ", ".join(names))
        counters.append(counter_def(name, stage, f.take(table, "doc", str, *parts)))
    return counters


def emit_counters(f, counters):
    out = header("counters", f.doc)
    out += "#include <array>\n#include <cstddef>\n#include <cstdint>\n\nnamespace carillon {\n\n"
    out += "enum class counter : std::uint16_t {\n"
    for c in counters:
        out += f"  {camel(c.name)},  // {clean(c.doc)}\n"
    out += """\
};

struct counter_desc {
  const char* name;
  const char* stage;
  const char* doc;
};

"""
    out += f"inline constexpr std::size_t CounterCount = {len(counters)};\n\n"
    out += "inline constexpr std::array<counter_desc, CounterCount> CounterTable = {{\n"
    for c in counters:
        out += f"    {{\"{c.name}\", \"{c.stage}\", {cell(clean(c.doc))}}},\n"
    out += "}};\n\n"
    out += """\
[[nodiscard]] constexpr const char* to_string(counter x) {
  return CounterTable[static_cast<std::size_t>(x)].name;
}

"""
    return out + "}  // namespace carillon\n"
