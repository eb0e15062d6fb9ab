"""Stream items that the twins exchange: reading, C++."""

from dataclasses import dataclass, field

from .base import SNAKE, camel, closest
from .cpp_formats import comment, type_list, uint


@dataclass
class stream_field:
    name: str
    width: int
    enum: str
    doc: str
    lsb: int = 0


@dataclass
class stream_def:
    name: str
    doc: str
    width: int
    fields: list = field(default_factory=list)


def read_streams(f, world, out):
    streams = []
    for name, table in f.data.get("stream", {}).items():
        parts = (f"stream {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("doc", "fields"), *parts)
        fields, names = [], set()
        for entry in f.take(table, "fields", list, *parts):
            fname = f.take(entry, "name", str, *parts)
            here = (*parts, f"field {fname}")
            f.check_keys(entry, ("name", "width", "enum", "doc"), *here)
            f.check_name(fname, SNAKE, *here)
            if fname in names:
                f.fail(here, "declared twice", "one field per name")
            names.add(fname)
            width = f.take(entry, "width", int, *here)
            if width < 1 or (width > 64 and width % 8):
                f.fail(here, f"width = {width}", "1 to 64, or whole bytes above")
            enum = f.take(entry, "enum", str, *here, required=False) or ""
            if enum:
                if enum not in world.enums:
                    f.fail(here, f"enum '{enum}' is not declared{closest(enum, world.enums)}",
                           ", ".join(sorted(world.enums)))
                known = world.enums[enum]
                if known.width != width:
                    f.fail(here, f"width {width} but enum {enum} has {known.width} bits",
                           f"width = {known.width}")
                if known.file != f.stem:
                    out.includes.add(known.file)
            fields.append(stream_field(fname, width, enum, entry.get("doc", "")))
        lsb = 0
        for x in reversed(fields):
            x.lsb = lsb
            lsb += x.width
        world.claim(f, name, f"stream {name}")
        streams.append(stream_def(name, f.take(table, "doc", str, *parts), lsb, fields))
    return streams


def member(x):
    if x.enum:
        return f"carillon::{x.enum}" if x.enum == x.name else x.enum
    return uint(x.width) if x.width <= 64 else f"std::array<std::uint8_t, {x.width // 8}>"


def emit_cpp(streams):
    out = """\
// Where a field lies in the packed item; checkers print values by field name with it.
struct stream_field_desc {
  const char* name;
  std::uint16_t lsb;
  std::uint16_t width;
};

struct stream_desc {
  const char* name;
  std::uint16_t width;
  const stream_field_desc* fields;
  std::uint16_t field_count;
};

"""
    for s in streams:
        words = (s.width + 31) // 32
        out += comment(s.doc)
        out += f"struct {s.name} {{\n"
        out += f"  static constexpr unsigned Width = {s.width};\n"
        out += f"  static constexpr unsigned Words = {words};\n"
        out += f"  static constexpr const char* Name = \"{s.name}\";\n"
        out += f"  static constexpr std::array<stream_field_desc, {len(s.fields)}> Fields = {{{{\n"
        for x in s.fields:
            out += f"      {{\"{x.name}\", {x.lsb}, {x.width}}},\n"
        out += "  }};\n\n"
        for x in s.fields:
            out += comment(x.doc, "  ")
            out += f"  {member(x)} {x.name}{{}};\n"
        out += "\n  // Word 0 is the least significant: the order of Verilator's wide ports.\n"
        out += "  void pack(std::uint32_t* w) const {\n"
        out += f"    std::memset(w, 0, {words} * sizeof *w);\n"
        for x in s.fields:
            if x.width > 64:
                out += emit_wide(x, True)
            else:
                value = f"static_cast<std::uint64_t>({x.name})" if x.enum else x.name
                out += f"    bytes::put_bits(w, {x.lsb}, {x.width}, {value});\n"
        out += "  }\n\n"
        out += f"  [[nodiscard]] static {s.name} unpack(const std::uint32_t* w) {{\n"
        out += f"    {s.name} x;\n"
        for x in s.fields:
            if x.width > 64:
                out += emit_wide(x, False)
            else:
                out += (f"    x.{x.name} = static_cast<{member(x)}>(bytes::get_bits(w, {x.lsb}, "
                        f"{x.width}));\n")
        out += "    return x;\n  }\n\n"
        out += f"  bool operator==(const {s.name}&) const = default;\n}};\n\n"
    out += type_list("stream_types", [s.name for s in streams])
    out += f"inline constexpr std::array<stream_desc, {len(streams)}> StreamTable = {{{{\n"
    for s in streams:
        out += f"    {{\"{s.name}\", {s.width}, {s.name}::Fields.data(), {len(s.fields)}}},\n"
    return out + "}};\n\n"


def emit_wide(x, pack):
    """A wide field by words when it lies on them, else by bytes. Byte 0 is the most significant."""
    n = x.width // 8
    if x.lsb % 32 == 0 and n % 4 == 0:
        word = f"{(x.lsb + x.width) // 32 - 1} - i"
        if pack:
            body = (f"w[{word}] = static_cast<std::uint32_t>(bytes::load_be<4>({x.name}.data() + "
                    f"4 * i));")
        else:
            body = f"bytes::store_be<4>(x.{x.name}.data() + 4 * i, w[{word}]);"
        return f"    for (unsigned i = 0; i < {n // 4}; ++i) {{\n      {body}\n    }}\n"
    lsb = f"{x.lsb + x.width - 8} - 8 * i"
    if pack:
        body = f"bytes::put_bits(w, {lsb}, 8, {x.name}[i]);"
    else:
        body = f"x.{x.name}[i] = static_cast<std::uint8_t>(bytes::get_bits(w, {lsb}, 8));"
    return f"    for (unsigned i = 0; i < {n}; ++i) {{\n      {body}\n    }}\n"
