"""Parameters: reading, C++."""

from dataclasses import dataclass

from .base import CPP_KEYWORDS, SNAKE, camel, clean, closest
from .cpp_formats import cell, comment, header
from .stages import PROVENANCE

TYPES = {"int": int, "float": float, "bool": bool, "enum": str, "string": str}


@dataclass
class param_def:
    group: str
    key: str
    kind: str
    unit: str
    default: object
    low: object
    high: object
    values: list
    doc: str
    provenance: str
    source: str

    @property
    def name(self):
        return f"{self.group}.{self.key}"

    @property
    def enum(self):
        return f"{self.group}_{self.key}"

    def text(self, value):
        if self.kind == "bool":
            return "true" if value else "false"
        return repr(value) if self.kind == "float" else str(value)

    @property
    def allowed(self):
        if self.kind == "bool":
            return "true, false"
        if self.values:
            return ", ".join(self.text(v) for v in self.values)
        if self.kind == "string":
            return "any text"
        word = {"int": "an integer", "float": "a number"}[self.kind]
        if self.low is not None and self.high is not None:
            return f"{word} from {self.text(self.low)} to {self.text(self.high)}"
        if self.low is not None:
            return f"{word} of at least {self.text(self.low)}"
        if self.high is not None:
            return f"{word} of at most {self.text(self.high)}"
        return word


PARAM_KEYS = ("type", "unit", "default", "min", "max", "values", "doc", "provenance", "source")


def read_params(f):
    f.check_keys(f.data, ("title", "doc", "param"), "file")
    params = []
    for group, keys in f.data.get("param", {}).items():
        f.check_name(group, SNAKE, f"param {group}", keywords=CPP_KEYWORDS)
        for key, table in keys.items():
            parts = (f"param {group}.{key}",)
            f.check_name(key, SNAKE, *parts, keywords=CPP_KEYWORDS)
            if not isinstance(table, dict):
                f.fail(parts, "is not a table", "[param.<group>.<key>]")
            f.check_keys(table, PARAM_KEYS, *parts)
            kind = f.take(table, "type", str, *parts)
            if kind not in TYPES:
                f.fail(parts, f"type = \"{kind}\"{closest(kind, TYPES)}", ", ".join(TYPES))
            provenance = f.take(table, "provenance", str, *parts)
            if provenance not in PROVENANCE:
                f.fail(parts, f"provenance = \"{provenance}\"{closest(provenance, PROVENANCE)}",
                       ", ".join(PROVENANCE))
            source = f.take(table, "source", str, *parts)
            if not source.strip():
                f.fail(parts, "source is empty", "where the default comes from, or why it is "
                       "assumed")
            p = param_def(group, key, kind, table.get("unit", ""), None, None, None, [],
                          f.take(table, "doc", str, *parts), provenance, source)
            p.default = f.take(table, "default", TYPES[kind], *parts)
            for bound in ("min", "max"):
                if bound in table and kind not in ("int", "float"):
                    f.fail(parts, f"{bound} for type {kind}", "min and max with int and float")
            p.low = f.take(table, "min", TYPES[kind], *parts, required=False)
            p.high = f.take(table, "max", TYPES[kind], *parts, required=False)
            p.values = f.take(table, "values", list, *parts, required=False) or []
            check_default(f, p, parts)
            params.append(p)
    return params


def check_default(f, p, parts):
    if p.kind == "enum":
        if not p.values:
            f.fail(parts, "an enum without values", "values = [\"..\", ..]")
        for value in p.values:
            f.check_name(value, SNAKE, *parts, "values", keywords=())
    if p.values and p.kind in ("bool", "float"):
        f.fail(parts, f"values for type {p.kind}", "values with int, enum and string")
    for value in p.values:
        if not isinstance(value, TYPES[p.kind]):
            f.fail(parts, f"values has {value!r}", f"values of type {p.kind}")
    low = p.low is not None and p.default < p.low
    high = p.high is not None and p.default > p.high
    if low or high or (p.values and p.default not in p.values):
        f.fail(parts, f"default {p.text(p.default)} is out of range", p.allowed)
    if p.low is not None and p.high is not None and p.low > p.high:
        f.fail(parts, f"min {p.low} is above max {p.high}", "min <= max")


CPP = {"int": "std::int64_t", "float": "double", "bool": "bool", "string": "std::string"}


def value_cpp(p):
    if p.kind == "enum":
        return f"{p.enum}::{camel(p.default)}"
    if p.kind == "string":
        return cell(p.default)
    return p.text(p.default)


def emit_header(f, params):
    out = header("params", f.doc)
    out += """\
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace carillon {

enum class param_type : std::uint8_t { Integer, Real, Flag, Choice, Text };
enum class provenance : std::uint8_t { Reference, Documented, Measured, Assumed };

[[nodiscard]] constexpr const char* to_string(provenance x) {
  switch (x) {
    case provenance::Reference:
      return "reference";
    case provenance::Documented:
      return "documented";
    case provenance::Measured:
      return "measured";
    case provenance::Assumed:
      return "assumed";
  }
  return "?";
}

[[nodiscard]] constexpr const char* to_string(param_type x) {
  switch (x) {
    case param_type::Integer:
      return "int";
    case param_type::Real:
      return "float";
    case param_type::Flag:
      return "bool";
    case param_type::Choice:
      return "enum";
    case param_type::Text:
      return "string";
  }
  return "?";
}

struct param_desc {
  const char* name;
  param_type type;
  const char* unit;
  const char* default_text;
  const char* min;      // "" for none
  const char* max;      // "" for none
  const char* values;   // allowed values separated by '|', "" for any
  const char* allowed;  // the same and the range, as a sentence for messages
  provenance origin;
  const char* source;
  const char* doc;
};

"""
    for p in params:
        if p.kind == "enum":
            out += comment(p.doc)
            names = ", ".join(camel(v) for v in p.values)
            out += f"enum class {p.enum} : std::uint8_t {{ {names} }};\n\n"
            out += f"[[nodiscard]] constexpr const char* to_string({p.enum} x) {{\n"
            out += "  switch (x) {\n"
            for v in p.values:
                out += f"    case {p.enum}::{camel(v)}:\n      return \"{v}\";\n"
            out += "  }\n  return \"?\";\n}\n\n"
    out += "// Every parameter with its default; params.toml says what each means.\n"
    out += "struct parameters {\n"
    groups = {}
    for p in params:
        groups.setdefault(p.group, []).append(p)
    for group, members in groups.items():
        out += f"  struct {group}_t {{\n"
        for p in members:
            unit = f" [{p.unit}]" if p.unit else ""
            out += comment(p.doc + unit, "    ")
            kind = p.enum if p.kind == "enum" else CPP[p.kind]
            out += f"    {kind} {p.key} = {value_cpp(p)};\n"
        out += f"\n    bool operator==(const {group}_t&) const = default;\n  }} {group};\n\n"
    out += "  bool operator==(const parameters&) const = default;\n};\n\n"
    out += f"inline constexpr std::array<param_desc, {len(params)}> ParamTable = {{{{\n"
    kinds = {"int": "Integer", "float": "Real", "bool": "Flag", "enum": "Choice", "string": "Text"}
    for p in params:
        low = p.text(p.low) if p.low is not None else ""
        high = p.text(p.high) if p.high is not None else ""
        values = "|".join(p.text(v) for v in p.values)
        out += (f"    {{\"{p.name}\", param_type::{kinds[p.kind]}, \"{p.unit}\", "
                f"{cell(p.text(p.default))}, \"{low}\", \"{high}\", {cell(values)},\n     "
                f"{cell(p.allowed)}, provenance::{p.provenance.capitalize()},\n     "
                f"{cell(clean(p.source))},\n     {cell(clean(p.doc))}}},\n")
    out += "}};\n\n"
    out += """\
using param_value = std::variant<bool, std::int64_t, double, std::string>;

// Position in ParamTable, or -1.
[[nodiscard]] int find_param(std::string_view name);

// The known name most like this one, for "did you mean".
[[nodiscard]] std::string_view closest_param(std::string_view name);

// Both return "" when the value was taken, else a sentence that says what is allowed.
[[nodiscard]] std::string set_param(parameters& p, std::string_view name, std::string_view text);
[[nodiscard]] std::string set_param_value(parameters& p, std::string_view name,
                                          const param_value& value);

// The value as text, in the form that set_param takes; "" for an unknown name.
[[nodiscard]] std::string get_param(const parameters& p, std::string_view name);

// Positions in ParamTable of the parameters that differ from their defaults.
[[nodiscard]] std::vector<std::size_t> changed_params(const parameters& p);

}  // namespace carillon
"""
    return out


SOURCE = """\
#include "params.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace carillon {

namespace {

std::string refuse(const param_desc& d, const std::string& got) {
  return std::string(d.name) + " = " + got + ": allowed is " + d.allowed;
}

std::string show(double v) {
  char text[40];
  // The shortest form that reads back as the same number.
  const auto end = std::to_chars(text, text + sizeof text, v).ptr;
  return {text, end};
}

std::string show(std::int64_t v) { return std::to_string(v); }

std::string show(bool v) { return v ? "true" : "false"; }

std::string show(const std::string& v) { return v; }

template <class T>
std::string show(T v) {
  return to_string(v);
}

bool listed(const param_desc& d, std::string_view text) {
  std::string_view rest = d.values;
  if (rest.empty()) {
    return true;
  }
  while (true) {
    const auto bar = rest.find('|');
    if (rest.substr(0, bar) == text) {
      return true;
    }
    if (bar == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(bar + 1);
  }
}

// Whole text or nothing: "12x" and "" are no numbers.
template <class T>
bool parse(std::string_view text, T& v) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  return r.ec == std::errc{} && r.ptr == text.data() + text.size();
}

template <class T>
bool in_range(const param_desc& d, T v) {
  T bound{};
  // Written so that a NaN is out of range.
  return (!parse(d.min, bound) || v >= bound) && (!parse(d.max, bound) || v <= bound) && v == v;
}

std::string assign(const param_desc& d, std::int64_t& to, const param_value& value) {
  const auto* v = std::get_if<std::int64_t>(&value);
  if (v == nullptr || !in_range(d, *v) || !listed(d, std::to_string(*v))) {
    return refuse(d, std::visit([](const auto& x) { return show(x); }, value));
  }
  to = *v;
  return {};
}

[[maybe_unused]] std::string assign(const param_desc& d, double& to, const param_value& value) {
  double v = 0;
  if (const auto* real = std::get_if<double>(&value)) {
    v = *real;
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    v = static_cast<double>(*whole);
  } else {
    return refuse(d, std::visit([](const auto& x) { return show(x); }, value));
  }
  if (!in_range(d, v)) {
    return refuse(d, show(v));
  }
  to = v;
  return {};
}

std::string assign(const param_desc& d, bool& to, const param_value& value) {
  const auto* v = std::get_if<bool>(&value);
  if (v == nullptr) {
    return refuse(d, std::visit([](const auto& x) { return show(x); }, value));
  }
  to = *v;
  return {};
}

[[maybe_unused]] std::string assign(const param_desc& d, std::string& to,
                                    const param_value& value) {
  const auto* v = std::get_if<std::string>(&value);
  if (v == nullptr || !listed(d, *v)) {
    return refuse(d, std::visit([](const auto& x) { return show(x); }, value));
  }
  to = *v;
  return {};
}

// A choice: the values of its enum count from 0 in the order of the list.
template <class T>
std::string assign(const param_desc& d, T& to, const param_value& value) {
  const auto* v = std::get_if<std::string>(&value);
  if (v != nullptr && listed(d, *v)) {
    for (unsigned i = 0; i < 256; ++i) {
      if (*v == to_string(static_cast<T>(i))) {
        to = static_cast<T>(i);
        return {};
      }
    }
  }
  return refuse(d, std::visit([](const auto& x) { return show(x); }, value));
}

// Calls f with a reference to parameter i.
template <class P, class F>
auto visit_param(P& p, std::size_t i, F&& f) {
  switch (i) {
@CASES@    default:
      std::fputs("visit_param: no such parameter\\n", stderr);
      std::abort();
  }
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string unknown(std::string_view name) {
  return "unknown parameter '" + std::string(name) + "'; the closest known one is '" +
         std::string(closest_param(name)) + "'; carillon params lists all";
}

}  // namespace

int find_param(std::string_view name) {
  for (std::size_t i = 0; i < ParamTable.size(); ++i) {
    if (name == ParamTable[i].name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string_view closest_param(std::string_view name) {
  std::string_view best = ParamTable[0].name;
  std::size_t least = distance(name, best);
  for (const auto& d : ParamTable) {
    const std::size_t n = distance(name, d.name);
    if (n < least) {
      least = n;
      best = d.name;
    }
  }
  return best;
}

std::string set_param_value(parameters& p, std::string_view name, const param_value& value) {
  const int i = find_param(name);
  if (i < 0) {
    return unknown(name);
  }
  const auto& d = ParamTable[static_cast<std::size_t>(i)];
  return visit_param(p, static_cast<std::size_t>(i),
                     [&](auto& to) { return assign(d, to, value); });
}

std::string set_param(parameters& p, std::string_view name, std::string_view text) {
  const int i = find_param(name);
  if (i < 0) {
    return unknown(name);
  }
  const auto& d = ParamTable[static_cast<std::size_t>(i)];
  switch (d.type) {
    case param_type::Integer: {
      std::int64_t v = 0;
      return parse(text, v) ? set_param_value(p, name, v) : refuse(d, std::string(text));
    }
    case param_type::Real: {
      double v = 0;
      return parse(text, v) ? set_param_value(p, name, v) : refuse(d, std::string(text));
    }
    case param_type::Flag:
      if (text != "true" && text != "false") {
        return refuse(d, std::string(text));
      }
      return set_param_value(p, name, text == "true");
    case param_type::Choice:
    case param_type::Text:
      break;
  }
  return set_param_value(p, name, std::string(text));
}

std::string get_param(const parameters& p, std::string_view name) {
  const int i = find_param(name);
  if (i < 0) {
    return {};
  }
  return visit_param(p, static_cast<std::size_t>(i), [](const auto& v) { return show(v); });
}

std::vector<std::size_t> changed_params(const parameters& p) {
  const parameters defaults;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ParamTable.size(); ++i) {
    if (get_param(p, ParamTable[i].name) != get_param(defaults, ParamTable[i].name)) {
      out.push_back(i);
    }
  }
  return out;
}

}  // namespace carillon
"""


def emit_source(params):
    head = header("params", "Setting and reading parameters by name.")
    head = head.replace("#pragma once\n\n", "")
    cases = "".join(f"    case {i}:\n      return f(p.{p.name});\n" for i, p in enumerate(params))
    return head + SOURCE.replace("@CASES@", cases)
