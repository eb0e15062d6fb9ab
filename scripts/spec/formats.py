"""Layouts (bit-exact formats), enums, constants, tables and transport opcodes."""

import re
from dataclasses import dataclass, field

from .base import CAMEL, SNAKE, camel

AT = re.compile(r"0x([0-9a-f]+)(?::(\d+):(\d+))?\Z")
FORMAT_KEYS = ("doc", "title", "enum", "const", "table", "layout", "opcode")


@dataclass
class enum_def:
    name: str
    width: int
    doc: str
    values: dict  # UpperCamelCase name -> code
    docs: dict
    file: str


@dataclass
class field_def:
    name: str  # "" for reserved bits
    start: int  # bit number, 0 = most significant bit of byte 0
    width: int  # bits of one element
    count: int
    doc: str
    enum: str
    layout: str
    icrc_ones: bool

    @property
    def bits(self):
        return self.width * self.count

    @property
    def end(self):
        return self.start + self.bits


@dataclass
class layout_def:
    name: str
    size: int
    doc: str
    fields: list
    file: str


@dataclass
class const_def:
    name: str
    value: int
    width: int
    doc: str


@dataclass
class table_def:
    name: str
    doc: str
    columns: list  # (name, type, doc)
    rows: list


@dataclass
class opcode_def:
    name: str
    code: int
    service: str
    verb: str
    position: str
    headers: list
    payload: bool
    response: bool
    doc: str


@dataclass
class format_file:
    stem: str
    title: str
    doc: str
    enums: list = field(default_factory=list)
    consts: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    layouts: list = field(default_factory=list)
    opcodes: list = field(default_factory=list)
    includes: set = field(default_factory=set)


def hex_at(bit):
    """A bit position in the notation of the spec files."""
    dword = bit // 32 * 4
    return f"0x{dword:02x}:{31 - bit % 32}"


def read_enums(f, out):
    for name, table in f.data.get("enum", {}).items():
        parts = (f"enum {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("width", "doc", "values", "docs"), *parts)
        width = f.take(table, "width", int, *parts)
        if not 1 <= width <= 32:
            f.fail(parts, f"width {width}", "1 to 32")
        values = f.take(table, "values", dict, *parts)
        seen = {}
        for value, code in values.items():
            f.check_name(value, CAMEL, *parts, f"value {value}")
            if not isinstance(code, int) or not 0 <= code < 1 << width:
                f.fail((*parts, f"value {value}"), f"code {code!r} does not fit {width} bits",
                       f"0 to {(1 << width) - 1}")
            if code in seen:
                f.fail((*parts, f"value {value}"), f"code 0x{code:x} is already {seen[code]}",
                       "one name per code")
            seen[code] = value
        docs = f.take(table, "docs", dict, *parts, required=False) or {}
        f.check_keys(docs, tuple(values), *parts, "docs")
        out.enums.append(enum_def(name, width, f.take(table, "doc", str, *parts), values, docs,
                                  f.stem))


def read_consts(f, out):
    for name, table in f.data.get("const", {}).items():
        parts = (f"const {name}",)
        f.check_name(name, CAMEL, *parts)
        f.check_keys(table, ("value", "width", "doc"), *parts)
        value = f.take(table, "value", int, *parts)
        width = f.take(table, "width", int, *parts, default=32)
        if not 1 <= width <= 64 or not 0 <= value < 1 << width:
            f.fail(parts, f"value {value} in {width} bits", f"0 to 2^{width}-1, width 1 to 64")
        out.consts.append(const_def(name, value, width, f.take(table, "doc", str, *parts)))


TABLE_TYPES = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "text": 0, "flag": 1}


def read_tables(f, out):
    for name, table in f.data.get("table", {}).items():
        parts = (f"table {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("doc", "columns", "rows"), *parts)
        columns = []
        for column in f.take(table, "columns", list, *parts):
            f.check_keys(column, ("name", "type", "doc"), *parts, "columns")
            cname = f.take(column, "name", str, *parts)
            f.check_name(cname, SNAKE, *parts, f"column {cname}")
            ctype = f.take(column, "type", str, *parts)
            if ctype not in TABLE_TYPES:
                f.fail((*parts, f"column {cname}"), f"type '{ctype}'", ", ".join(TABLE_TYPES))
            columns.append((cname, ctype, column.get("doc", "")))
        rows = f.take(table, "rows", list, *parts)
        for i, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != len(columns):
                f.fail((*parts, f"row {i}"), f"{row!r}", f"a list of {len(columns)} values")
            for (cname, ctype, _), cell in zip(columns, row):
                ok = isinstance(cell, str) if ctype == "text" else (
                    isinstance(cell, bool) if ctype == "flag" else
                    isinstance(cell, int) and 0 <= cell < 1 << TABLE_TYPES[ctype])
                if not ok:
                    f.fail((*parts, f"row {i}", f"column {cname}"), f"{cell!r}",
                           f"a value of type {ctype}")
        out.tables.append(table_def(name, f.take(table, "doc", str, *parts), columns, rows))


def parse_at(f, text, width, total, parts):
    hit = AT.match(text)
    if not hit:
        f.fail(parts, f"at = \"{text}\"", "\"0x04:23:0\" (dword offset, first bit, last bit) or "
               "\"0x10\" (byte offset of a field of whole bytes), lower-case hex")
    offset = int(hit[1], 16)
    if hit[2] is None:
        if total % 8:
            f.fail(parts, f"at = \"{text}\" with width {width}",
                   "a byte offset needs a width of whole bytes; write \"0x..:msb:lsb\"")
        return offset * 8
    msb, lsb = int(hit[2]), int(hit[3])
    if offset % 4 or msb > 31 or lsb > msb:
        f.fail(parts, f"at = \"{text}\"", "a dword offset divisible by 4 and 31 >= msb >= lsb >= 0")
    if msb - lsb + 1 != total:
        f.fail(parts, f"at = \"{text}\" covers {msb - lsb + 1} bits but width is {total}",
               f"width = {msb - lsb + 1}")
    return offset * 8 + 31 - msb


FIELD_KEYS = ("name", "at", "width", "doc", "enum", "layout", "count", "reserved", "icrc_ones")
MEMBER_NAMES = ("at", "pack", "unpack")


def read_layouts(f, out, world):
    for name, table in f.data.get("layout", {}).items():
        parts = (f"layout {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("size", "doc", "fields"), *parts)
        size = f.take(table, "size", int, *parts)
        fields = []
        names = set()
        for entry in f.take(table, "fields", list, *parts):
            reserved = entry.get("reserved", False)
            fname = "" if reserved else f.take(entry, "name", str, *parts)
            here = (*parts, f"field {fname}" if fname else f"reserved {entry.get('at', '?')}")
            f.check_keys(entry, FIELD_KEYS, *here)
            if fname:
                f.check_name(fname, SNAKE, *here)
                if fname in MEMBER_NAMES or fname == name:
                    f.fail(here, f"name '{fname}' is taken by the generated struct", "another name")
                if fname in names:
                    f.fail(here, "declared twice", "one field per name")
                names.add(fname)
            elif "name" in entry or "enum" in entry or "layout" in entry:
                f.fail(here, "reserved bits with a name, enum or layout",
                       "reserved, at, width, doc")
            width = f.take(entry, "width", int, *here)
            count = f.take(entry, "count", int, *here, default=1)
            if width < 1 or count < 1:
                f.fail(here, f"width {width}, count {count}", "1 or more")
            if count > 1 and width not in (8, 16, 32, 64):
                f.fail(here, f"an array of {width}-bit elements", "8, 16, 32 or 64 bits")
            start = parse_at(f, f.take(entry, "at", str, *here), width, width * count, here)
            enum = f.take(entry, "enum", str, *here, required=False) or ""
            nested = f.take(entry, "layout", str, *here, required=False) or ""
            fields.append(field_def(fname, start, width, count, entry.get("doc", ""), enum, nested,
                                    entry.get("icrc_ones", False)))
        fields.sort(key=lambda x: x.start)
        check_cover(f, parts, size, fields)
        layout = layout_def(name, size, f.take(table, "doc", str, *parts), fields, f.stem)
        for x in fields:
            check_reference(f, out, world, layout, x)
        out.layouts.append(layout)
        world.layouts[name] = layout


def check_cover(f, parts, size, fields):
    """Every bit exactly once, and the last one is the last bit of the last byte."""
    position = 0
    before = "the start"
    for x in fields:
        label = f"field {x.name}" if x.name else f"reserved {hex_at(x.start)}"
        if x.start < position:
            f.fail((*parts, label), f"overlaps {before} by {position - x.start} bits",
                   f"a start at bit {hex_at(position)} or later")
        if x.start > position:
            f.fail((*parts, label), f"{x.start - position} bits between {before} and it belong to "
                   f"nobody", f"{{reserved = true, at = \"{hex_at(position)}:..\", "
                   f"width = {x.start - position}}} there")
        position = x.end
        before = label
    if position != size * 8:
        f.fail(parts, f"the fields end after {position} bits but size = {size} bytes is "
               f"{size * 8} bits", "fields (reserved ones included) that fill the size")


def check_reference(f, out, world, layout, x):
    here = (f"layout {layout.name}", f"field {x.name}")
    if x.enum:
        enum = world.enums.get(x.enum)
        if enum is None:
            from .base import closest
            f.fail(here, f"enum '{x.enum}' is not declared{closest(x.enum, world.enums)}",
                   ", ".join(sorted(world.enums)) or "an enum of this spec")
        if enum.width != x.width:
            f.fail(here, f"width {x.width} but enum {x.enum} has {enum.width} bits",
                   f"width = {enum.width}")
        if enum.file != f.stem:
            out.includes.add(enum.file)
    if x.layout:
        nested = world.layouts.get(x.layout)
        if nested is None:
            f.fail(here, f"layout '{x.layout}' is not declared before this one",
                   ", ".join(world.layouts) or "a layout declared earlier")
        if nested.size * 8 != x.width or x.start % 8:
            f.fail(here, f"width {x.width} at bit {hex_at(x.start)} for layout {x.layout}",
                   f"width = {nested.size * 8} on a byte boundary")
        if nested.file != f.stem:
            out.includes.add(nested.file)
    elif x.name and x.bits > 64 and (x.start % 8 or x.bits % 8):
        f.fail(here, "a field of more than 64 bits that is not whole bytes", "whole bytes")
    if x.name and x.bits <= 64 and (x.end + 7) // 8 - x.start // 8 > 8:
        f.fail(here, "spreads over nine bytes", "at most eight bytes per field")


def read_opcodes(f, out, world):
    """Transport opcodes: the enum bth_opcode and the table of what follows each BTH."""
    group = f.data.get("opcode", {})
    if not group:
        return
    values = {}
    keys = ("code", "service", "verb", "position", "headers", "payload", "response", "doc")
    for name, table in group.items():
        parts = (f"opcode {name}",)
        f.check_name(name, CAMEL, *parts)
        f.check_keys(table, keys, *parts)
        code = f.take(table, "code", int, *parts)
        if not 0 <= code <= 0xff:
            f.fail(parts, f"code {code}", "0 to 255")
        if code in values.values():
            f.fail(parts, f"code 0x{code:02x} is used twice", "one name per code")
        values[name] = code
        for key, enum in (("service", "transport_service"), ("verb", "bth_verb"),
                          ("position", "bth_position")):
            value = f.take(table, key, str, *parts)
            if value not in world.enums[enum].values:
                f.fail(parts, f"{key} = \"{value}\"", ", ".join(world.enums[enum].values))
        headers = f.take(table, "headers", list, *parts)
        for header in headers:
            if header not in f.data["layout"]:
                f.fail(parts, f"header '{header}'", "a layout of this file")
        out.opcodes.append(opcode_def(name, code, table["service"], table["verb"],
                                      table["position"], headers,
                                      f.take(table, "payload", bool, *parts),
                                      f.take(table, "response", bool, *parts, default=False),
                                      table.get("doc", "")))
    order = opcode_headers(out)
    for op in out.opcodes:
        if [h for h in order if h in op.headers] != op.headers:
            f.fail((f"opcode {op.name}",), f"headers {op.headers}",
                   f"headers in the order {', '.join(order)}")


def opcode_headers(file):
    """Extension headers in the order of their layouts; on the wire they follow it too."""
    used = {h for op in file.opcodes for h in op.headers}
    return [x.name for x in file.layouts if x.name in used]


class world_def:
    """Everything declared so far, over all files."""

    def __init__(self):
        self.enums = {}
        self.layouts = {}
        self.files = {}
        self.names = {}

    def claim(self, f, name, what):
        """All C++ names share one namespace, so a second owner is refused here."""
        if name in self.names:
            f.fail((what,), f"'{name}' is already declared by {self.names[name]}", "another name")
        self.names[name] = f"docs/spec/{f.path.name}: {what}"


def opcode_enum(f):
    values = {n: t.get("code") for n, t in f.data.get("opcode", {}).items()}
    return enum_def("bth_opcode", 8, "BTH opcode: transport service, verb and position", values,
                    {n: t.get("doc", "") for n, t in f.data["opcode"].items()}, f.stem)


def read_common(f, world, out, keys=FORMAT_KEYS):
    f.check_keys(f.data, keys, "file")
    read_enums(f, out)
    if f.data.get("opcode"):
        out.enums.append(opcode_enum(f))
    for enum in out.enums:
        world.claim(f, enum.name, f"enum {enum.name}")
        world.enums[enum.name] = enum
    read_consts(f, out)
    read_tables(f, out)
    for const in out.consts:
        world.claim(f, const.name, f"const {const.name}")
    for table in out.tables:
        world.claim(f, camel(table.name), f"table {table.name}")


def read_format(f, world):
    out = format_file(f.stem, f.take(f.data, "title", str, "file"), f.doc)
    read_common(f, world, out)
    for name in f.data.get("layout", {}):
        world.claim(f, name, f"layout {name}")
    read_layouts(f, out, world)
    read_opcodes(f, out, world)
    world.files[f.stem] = out
    return out
