"""Register blocks: reading, C++."""

import re
from dataclasses import dataclass, field

from .base import SNAKE, camel, clean
from .cpp_formats import comment, hexed, uint

BITS = re.compile(r"(\d+):(\d+)\Z")
ACCESS = ("ro", "rw", "wo")
FUNCTIONS = ("all", "pf")


@dataclass
class register_bits:
    name: str
    msb: int
    lsb: int
    doc: str


@dataclass
class register_def:
    name: str
    at: int
    bytes: int
    width: int  # 0 for a window
    access: str
    reset: int
    layout: str
    doc: str
    bits: list = field(default_factory=list)


@dataclass
class block_def:
    name: str
    size: int
    functions: str
    doc: str
    registers: list


def read_bits(f, entry, register, here):
    """Fields of a register: every bit once, like a layout."""
    position = register.width
    for bits in entry.get("fields", []):
        reserved = bits.get("reserved", False)
        name = "" if reserved else f.take(bits, "name", str, *here)
        where = (*here, f"field {name}" if name else f"reserved {bits.get('at', '?')}")
        f.check_keys(bits, ("name", "at", "width", "doc", "reserved"), *where)
        if name:
            f.check_name(name, SNAKE, *where)
        at = f.take(bits, "at", str, *where)
        hit = BITS.match(at)
        if not hit or int(hit[2]) > int(hit[1]):
            f.fail(where, f"at = \"{at}\"", "\"msb:lsb\"")
        msb, lsb = int(hit[1]), int(hit[2])
        width = f.take(bits, "width", int, *where)
        if width != msb - lsb + 1:
            f.fail(where, f"at = \"{at}\" covers {msb - lsb + 1} bits but width is {width}",
                   f"width = {msb - lsb + 1}")
        if msb >= position:
            f.fail(where, "overlaps the field before it or leaves the register",
                   f"msb {position - 1} (fields from the top down)")
        if msb != position - 1:
            f.fail(where, f"bits {position - 1}:{msb + 1} belong to nobody",
                   f"{{reserved = true, at = \"{position - 1}:{msb + 1}\", "
                   f"width = {position - 1 - msb}}} there")
        position = lsb
        if name:
            register.bits.append(register_bits(name, msb, lsb, bits.get("doc", "")))
    if entry.get("fields") and position:
        f.fail(here, f"bits {position - 1}:0 belong to nobody", "fields down to bit 0")


REGISTER_KEYS = ("name", "at", "width", "bytes", "access", "reset", "layout", "doc", "fields")


def read_registers(f, world):
    blocks = []
    for name, table in f.data.get("block", {}).items():
        parts = (f"block {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("size", "doc", "functions", "registers"), *parts)
        size = f.take(table, "size", int, *parts)
        functions = f.take(table, "functions", str, *parts, default="all")
        if functions not in FUNCTIONS:
            f.fail(parts, f"functions = \"{functions}\"", ", ".join(FUNCTIONS))
        registers, names, before = [], set(), None
        for entry in f.take(table, "registers", list, *parts):
            rname = f.take(entry, "name", str, *parts)
            here = (*parts, f"register {rname}")
            f.check_keys(entry, REGISTER_KEYS, *here)
            f.check_name(rname, SNAKE, *here, keywords=())
            if rname in names:
                f.fail(here, "declared twice", "one register per name")
            names.add(rname)
            if ("width" in entry) == ("bytes" in entry):
                f.fail(here, "needs one of width and bytes", "width = 8, 16, 32 or 64; or bytes "
                       "for a window")
            width = entry.get("width", 0)
            if "width" in entry and width not in (8, 16, 32, 64):
                f.fail(here, f"width = {width}", "8, 16, 32 or 64")
            count = width // 8 or f.take(entry, "bytes", int, *here)
            at = f.take(entry, "at", int, *here)
            align = min(width // 8, 8) or 4
            if at % align or at + count > size:
                f.fail(here, f"at = 0x{at:x} with {count} bytes in a block of 0x{size:x}",
                       f"a multiple of {align} inside the block")
            if before and at < before.at + before.bytes:
                f.fail(here, f"at = 0x{at:x} overlaps register {before.name}",
                       f"0x{before.at + before.bytes:x} or later (registers in order of offset)")
            access = f.take(entry, "access", str, *here)
            if access not in ACCESS:
                f.fail(here, f"access = \"{access}\"", ", ".join(ACCESS))
            reset = f.take(entry, "reset", int, *here, default=0)
            if width and not 0 <= reset < 1 << width:
                f.fail(here, f"reset {reset} in {width} bits", f"0 to 2^{width}-1")
            if width and "reset" not in entry:
                f.fail(here, "key 'reset' is missing", "reset = <value>")
            layout = f.take(entry, "layout", str, *here, required=False) or ""
            if layout:
                if layout not in world.layouts:
                    from .base import closest
                    f.fail(here, f"layout '{layout}' is not declared"
                           f"{closest(layout, world.layouts)}", ", ".join(world.layouts))
                if world.layouts[layout].size != count:
                    f.fail(here, f"{count} bytes for layout {layout}",
                           f"{world.layouts[layout].size} bytes")
            register = register_def(rname, at, count, width, access, reset, layout,
                                    f.take(entry, "doc", str, *here))
            read_bits(f, entry, register, here)
            registers.append(register)
            before = register
        world.claim(f, name, f"block {name}")
        blocks.append(block_def(name, size, functions, f.take(table, "doc", str, *parts),
                                registers))
    return blocks


def emit_cpp(blocks):
    """Offsets, field structs and the table that `carillon registers` prints."""
    out = """\
enum class register_access : std::uint8_t { Ro, Rw, Wo };
enum class register_functions : std::uint8_t { All, Pf };

struct register_bits_desc {
  const char* name;
  std::uint8_t msb;
  std::uint8_t lsb;
  const char* doc;
};

struct register_desc {
  const char* block;
  const char* name;
  std::uint32_t offset;
  std::uint32_t bytes;
  register_access access;
  register_functions functions;
  bool window;  // a range of bytes, not one value
  std::uint64_t reset;
  const char* layout;  // what the bytes hold, "" for a plain value
  const char* doc;
  const register_bits_desc* bits;
  std::uint32_t bits_count;
};

"""
    tables, rows = "", []
    for block in blocks:
        out += comment(block.doc)
        out += f"namespace {block.name} {{\n\n"
        out += f"inline constexpr std::uint32_t Size = {hexed(block.size)};\n\n"
        for r in block.registers:
            out += comment(r.doc)
            out += f"inline constexpr std::uint32_t {camel(r.name)} = {hexed(r.at)};\n"
            if not r.width:
                out += f"inline constexpr std::uint32_t {camel(r.name)}Bytes = {hexed(r.bytes)};\n"
            elif r.reset:
                out += (f"inline constexpr {uint(r.width)} {camel(r.name)}Reset = "
                        f"{hexed(r.reset)};\n")
        for r in block.registers:
            if r.bits:
                out += "\n" + emit_bits(r)
        out += f"\n}}  // namespace {block.name}\n\n"
        for r in block.registers:
            bits, count = "nullptr", 0
            if r.bits:
                bits, count = f"detail::{camel(block.name)}{camel(r.name)}Bits", len(r.bits)
                tables += f"inline constexpr register_bits_desc {bits[8:]}[] = {{\n"
                for b in r.bits:
                    tables += f"    {{\"{b.name}\", {b.msb}, {b.lsb}, \"{clean(b.doc)}\"}},\n"
                tables += "};\n"
            rows.append(f"    {{\"{block.name}\", \"{r.name}\", {hexed(r.at)}, {r.bytes}, "
                        f"register_access::{r.access.capitalize()},\n     register_functions::"
                        f"{block.functions.capitalize()}, {'false' if r.width else 'true'}, "
                        f"{hexed(r.reset)}, \"{r.layout}\", \"{clean(r.doc)}\",\n"
                        f"     {bits}, {count}}},\n")
    out += "namespace detail {\n" + tables + "}  // namespace detail\n\n"
    out += f"inline constexpr std::array<register_desc, {len(rows)}> RegisterTable = {{{{\n"
    return out + "".join(rows) + "}};\n\n"


def emit_bits(r):
    kind = uint(r.width)
    out = f"struct {r.name}_value {{\n"
    for b in r.bits:
        out += comment(b.doc, "  ")
        out += f"  {uint(b.msb - b.lsb + 1)} {b.name}{{}};\n"
    out += f"\n  [[nodiscard]] static constexpr {r.name}_value unpack({kind} v) {{\n"
    out += f"    {r.name}_value x;\n"
    for b in r.bits:
        width = b.msb - b.lsb + 1
        mask = hexed((1 << width) - 1)
        out += f"    x.{b.name} = static_cast<{uint(width)}>((v >> {b.lsb}) & {mask});\n"
    out += f"    return x;\n  }}\n\n  [[nodiscard]] constexpr {kind} pack() const {{\n"
    terms = []
    for b in r.bits:
        mask = hexed((1 << (b.msb - b.lsb + 1)) - 1)
        terms.append(f"(std::uint64_t{{{b.name}}} & {mask}) << {b.lsb}")
    joined = " |\n        ".join(terms)
    out += f"    return static_cast<{kind}>(\n        {joined});\n  }}\n\n"
    return out + f"  bool operator==(const {r.name}_value&) const = default;\n}};\n"
