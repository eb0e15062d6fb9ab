"""Capabilities of the configuration space: reading, C++."""

from dataclasses import dataclass, field

from .base import SNAKE, camel, clean
from .cpp_formats import comment, hexed
from .registers import BITS, emit_bits

ACCESS = ("ro", "rw", "rw1c")
SPACE = 0x1000
FIRST_CAPABILITY = 0x40


@dataclass
class config_bits:
    name: str
    msb: int
    lsb: int
    access: str
    pf_only: bool
    sticky: bool
    doc: str

    @property
    def mask(self):
        return ((1 << (self.msb - self.lsb + 1)) - 1) << self.lsb


@dataclass
class config_register:
    name: str
    at: int
    width: int
    reset: int
    vf_reset: int
    doc: str
    bits: list = field(default_factory=list)

    def mask(self, access, vf=False):
        return sum(b.mask for b in self.bits if b.access == access and not (vf and b.pf_only))

    def sticky(self):
        return sum(b.mask for b in self.bits if b.sticky)


@dataclass
class capability_def:
    name: str
    at: int
    size: int
    vf: bool
    doc: str
    registers: list


REGISTER_KEYS = ("name", "at", "width", "access", "reset", "vf_reset", "doc", "fields")
BITS_KEYS = ("name", "at", "width", "access", "pf_only", "sticky", "doc", "reserved")


def read_bits(f, entry, register, here):
    position = register.width
    for bits in entry.get("fields", []):
        reserved = bits.get("reserved", False)
        name = "" if reserved else f.take(bits, "name", str, *here)
        where = (*here, f"field {name}" if name else f"reserved {bits.get('at', '?')}")
        f.check_keys(bits, BITS_KEYS, *where)
        if name:
            f.check_name(name, SNAKE, *where)
        at = f.take(bits, "at", str, *where)
        hit = BITS.match(at)
        if not hit or int(hit[2]) > int(hit[1]):
            f.fail(where, f"at = \"{at}\"", "\"msb:lsb\"")
        msb, lsb = int(hit[1]), int(hit[2])
        if f.take(bits, "width", int, *where) != msb - lsb + 1:
            f.fail(where, f"at = \"{at}\" covers {msb - lsb + 1} bits but width is "
                   f"{bits['width']}", f"width = {msb - lsb + 1}")
        if msb != position - 1:
            f.fail(where, f"begins with bit {msb}", f"bit {position - 1} (fields from the top "
                   "down, every bit once)")
        position = lsb
        access = f.take(bits, "access", str, *where, default="ro")
        if access not in ACCESS:
            f.fail(where, f"access = \"{access}\"", ", ".join(ACCESS))
        if name:
            register.bits.append(config_bits(
                name, msb, lsb, access, f.take(bits, "pf_only", bool, *where, default=False),
                f.take(bits, "sticky", bool, *where, default=False), bits.get("doc", "")))
    if entry.get("fields") and position:
        f.fail(here, f"bits {position - 1}:0 belong to nobody", "fields down to bit 0")


def read_capabilities(f, world):
    f.check_keys(f.data, ("title", "doc", "capability"), "file")
    capabilities, end = [], 0
    for name, table in f.data.get("capability", {}).items():
        parts = (f"capability {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, ("at", "size", "vf", "doc", "registers"), *parts)
        at = f.take(table, "at", int, *parts)
        size = f.take(table, "size", int, *parts)
        if at % 4 or size % 4 or at < end or at + size > SPACE:
            f.fail(parts, f"at = 0x{at:x} with 0x{size:x} bytes", f"dwords from 0x{end:x} on "
                   f"below 0x{SPACE:x} (capabilities in order)")
        end = at + size
        capability = capability_def(name, at, size, f.take(table, "vf", bool, *parts, default=True),
                                    f.take(table, "doc", str, *parts), [])
        names, before = set(), 0
        for entry in f.take(table, "registers", list, *parts):
            rname = f.take(entry, "name", str, *parts)
            here = (*parts, f"register {rname}")
            f.check_keys(entry, REGISTER_KEYS, *here)
            f.check_name(rname, SNAKE, *here, keywords=())
            if rname in names:
                f.fail(here, "declared twice", "one register per name")
            names.add(rname)
            width = f.take(entry, "width", int, *here)
            if width not in (8, 16, 32):
                f.fail(here, f"width = {width}", "8, 16 or 32")
            offset = f.take(entry, "at", int, *here)
            if offset % (width // 8) or offset < before or offset + width // 8 > size:
                f.fail(here, f"at = 0x{offset:x}", f"a multiple of {width // 8} from 0x{before:x} "
                       f"on below 0x{size:x} (registers in order)")
            before = offset + width // 8
            if f.take(entry, "access", str, *here) != "ro":
                f.fail(here, f"access = \"{entry['access']}\"", "ro (fields have access of their "
                       "own)")
            reset = f.take(entry, "reset", int, *here)
            vf_reset = f.take(entry, "vf_reset", int, *here, default=reset)
            for value in (reset, vf_reset):
                if not 0 <= value < 1 << width:
                    f.fail(here, f"reset {value} in {width} bits", f"0 to 2^{width}-1")
            register = config_register(rname, offset, width, reset, vf_reset,
                                       f.take(entry, "doc", str, *here))
            read_bits(f, entry, register, here)
            capability.registers.append(register)
        world.claim(f, name, f"capability {name}")
        capabilities.append(capability)
    return capabilities


def emit_cpp(capabilities):
    out = """\
/// A register of the configuration space. Masks are of its own bits.
struct config_register_desc {
  const char* capability;
  const char* name;
  std::uint16_t offset;
  std::uint8_t bytes;
  bool vf;  ///< VFs have it
  std::uint32_t reset;
  std::uint32_t vf_reset;
  std::uint32_t writable;
  std::uint32_t vf_writable;
  std::uint32_t clearable;  ///< by writing a one
  std::uint32_t vf_clearable;
  std::uint32_t sticky;  ///< survives a function-level reset
  const char* doc;
};

"""
    rows = []
    for c in capabilities:
        out += comment(f"{c.doc} Offsets are of the whole space.")
        out += f"namespace {c.name} {{\n\n"
        out += f"inline constexpr std::uint16_t At = {hexed(c.at)};\n"
        if c.at >= FIRST_CAPABILITY:
            code = c.registers[0].reset & 0xffff
            out += f"inline constexpr std::uint16_t CapabilityId = {hexed(code)};\n"
        for r in c.registers:
            out += comment(r.doc)
            out += f"inline constexpr std::uint16_t {camel(r.name)} = {hexed(c.at + r.at)};\n"
            rows.append(
                f"    {{\"{c.name}\", \"{r.name}\", {hexed(c.at + r.at)}, {r.width // 8}, "
                f"{'true' if c.vf else 'false'}, {hexed(r.reset)}, {hexed(r.vf_reset)},\n"
                f"     {hexed(r.mask('rw'))}, {hexed(r.mask('rw', True))}, "
                f"{hexed(r.mask('rw1c'))}, {hexed(r.mask('rw1c', True))}, "
                f"{hexed(r.sticky())},\n     \"{clean(r.doc)}\"}},\n")
        for r in c.registers:
            if r.bits:
                out += "\n" + emit_bits(r)
        out += f"\n}}  // namespace {c.name}\n\n"
    out += (f"inline constexpr std::array<config_register_desc, {len(rows)}> ConfigRegisterTable "
            "= {{\n")
    return out + "".join(rows) + "}};\n\n"
