"""The pipeline: stages, edges, loops; reading, C++."""

from dataclasses import dataclass, field

from .base import SNAKE, camel, clean, closest
from .cpp_formats import comment

OUTSIDE = ("pcie", "wire")
PROVENANCE = ("reference", "documented", "measured", "assumed")
BEAT_BYTES = 64


@dataclass
class stage_def:
    name: str
    job: str
    row: str
    row_title: str
    latency: int
    ii: int
    depth: int
    outstanding: int
    twin: bool
    twin_done: bool
    max_beats: int
    packet_bytes: int
    timing: list = field(default_factory=list)  # (name, value, provenance, doc)


@dataclass
class edge_def:
    source: str
    sink: str
    stream: str
    reserved: bool
    doc: str


STAGE_KEYS = ("job", "row", "row_title", "latency", "ii", "depth", "outstanding", "twin",
              "twin_done", "max_beats", "max_packet", "timing")


def read_stages(f, world):
    f.check_keys(f.data, ("title", "doc", "stage", "edge"), "file")
    stages = {}
    for name, table in f.data.get("stage", {}).items():
        parts = (f"stage {name}",)
        f.check_name(name, SNAKE, *parts)
        f.check_keys(table, STAGE_KEYS, *parts)
        numbers = {}
        for key in ("latency", "ii", "depth", "outstanding"):
            numbers[key] = f.take(table, key, int, *parts)
            low = 1 if key in ("ii", "depth") else 0
            if not low <= numbers[key] <= 1 << 20:
                f.fail(parts, f"{key} = {numbers[key]}", f"{low} to 2^20")
        twin = f.take(table, "twin", bool, *parts)
        done = f.take(table, "twin_done", bool, *parts, default=False)
        if done and not twin:
            f.fail(parts, "twin_done without twin", "twin = true, or no twin_done")
        beats, packet = packet_beats(f, table, world, parts, numbers["depth"])
        stage = stage_def(name, f.take(table, "job", str, *parts),
                          f.take(table, "row", str, *parts, default="") or "",
                          f.take(table, "row_title", str, *parts, default="") or "",
                          **numbers, twin=twin, twin_done=done, max_beats=beats,
                          packet_bytes=packet)
        for figure, entry in table.get("timing", {}).items():
            here = (*parts, f"timing {figure}")
            f.check_name(figure, SNAKE, *here, keywords=())
            if not isinstance(entry, dict):
                f.fail(here, f"{entry!r}", "{ value, provenance, doc }")
            f.check_keys(entry, ("value", "provenance", "doc"), *here)
            provenance = f.take(entry, "provenance", str, *here)
            if provenance not in PROVENANCE:
                f.fail(here, f"provenance = \"{provenance}\"", ", ".join(PROVENANCE))
            stage.timing.append((figure, f.take(entry, "value", int, *here), provenance,
                                 f.take(entry, "doc", str, *here)))
        stages[name] = stage
    edges = read_edges(f, stages)
    check_loops(f, stages, edges)
    return list(stages.values()), edges


def packet_beats(f, table, world, parts, depth):
    """Beats of the longest packet. Where max_packet names its headers, both must agree."""
    beats = f.take(table, "max_beats", int, *parts, default=1)
    packet = table.get("max_packet")
    if packet is None:
        if not 1 <= beats <= depth:
            f.fail(parts, f"max_beats = {beats} with depth = {depth}", "1 to the depth")
        return beats, 0
    f.check_keys(packet, ("payload", "layouts", "tail_bytes"), *parts, "max_packet")
    total = f.take(packet, "payload", int, *parts) + f.take(packet, "tail_bytes", int, *parts)
    for layout in f.take(packet, "layouts", list, *parts):
        if layout not in world.layouts:
            f.fail((*parts, "max_packet"), f"layout '{layout}'{closest(layout, world.layouts)}",
                   "layouts of docs/spec/wire.toml")
        total += world.layouts[layout].size
    derived = -(-total // BEAT_BYTES)
    if beats != derived:
        f.fail(parts, f"max_beats = {beats} but {total} bytes are {derived} beats",
               f"max_beats = {derived}")
    if depth < beats:
        f.fail(parts, f"depth = {depth} holds no whole packet of {beats} beats",
               f"depth = {beats} or more")
    return beats, total


def read_edges(f, stages):
    edges, seen = [], set()
    for i, table in enumerate(f.data.get("edge", [])):
        parts = (f"edge {i + 1} ({table.get('from', '?')} to {table.get('to', '?')})",)
        f.check_keys(table, ("from", "to", "stream", "reserved", "doc"), *parts)
        ends = []
        for key in ("from", "to"):
            end = f.take(table, key, str, *parts)
            if end not in stages and end not in OUTSIDE:
                f.fail(parts, f"{key} = \"{end}\"{closest(end, stages)}",
                       ", ".join([*stages, *OUTSIDE]))
            ends.append(end)
        stream = f.take(table, "stream", str, *parts)
        f.check_name(stream, SNAKE, *parts)
        if stream in seen:
            f.fail(parts, f"stream '{stream}' has two edges", "one producer and one consumer")
        seen.add(stream)
        edges.append(edge_def(*ends, stream, f.take(table, "reserved", bool, *parts,
                                                    default=False), table.get("doc", "")))
    return edges


def check_loops(f, stages, edges):
    """Depth-first search over the edges that can block; a loop of them can deadlock."""
    graph = {name: [] for name in stages}
    for e in edges:
        if not e.reserved and e.source in graph and e.sink in graph:
            graph[e.source].append(e)
    state = {}

    def visit(name, path):
        state[name] = 1
        for e in graph[name]:
            if state.get(e.sink) == 1:
                loop = path + [e]
                first = next(i for i, x in enumerate(loop) if x.source == e.sink)
                text = ", ".join(f"{x.source} -{x.stream}-> {x.sink}" for x in loop[first:])
                f.fail(("edge",), f"loop without a reserved edge: {text}",
                       "reserved = true on the edge whose receiver keeps a slot before it asks")
            if e.sink not in state:
                visit(e.sink, path + [e])
        state[name] = 2

    for name in graph:
        if name not in state:
            visit(name, [])


def emit_cpp(stages, edges):
    out = """\
struct stage_timing_desc {
  const char* name;
  std::uint32_t value;
  const char* provenance;
  const char* doc;
};

struct stage_desc {
  const char* name;
  const char* job;
  const char* row;  // of the doorbell-to-wire table, "" for none
  const char* row_title;
  std::uint32_t latency;
  std::uint32_t initiation_interval;
  std::uint32_t depth;
  std::uint32_t outstanding;
  std::uint32_t max_beats;
  bool twin;
  bool twin_done;
  const stage_timing_desc* timing;
  std::uint32_t timing_count;
};

struct stage_edge {
  const char* from;
  const char* to;
  const char* stream;
  bool reserved;  // the receiver holds a slot: the edge cannot block
};

inline constexpr unsigned BeatBytes = 64;

// The constants of a stage, as stage_spec::<stage>::<Name>.
namespace stage_spec {

"""
    for s in stages:
        out += comment(s.job)
        out += f"namespace {s.name} {{\n"
        for name, value in (("Latency", s.latency), ("InitiationInterval", s.ii),
                            ("Depth", s.depth), ("Outstanding", s.outstanding),
                            ("MaxBeats", s.max_beats)):
            out += f"inline constexpr unsigned {name} = {value};\n"
        if s.packet_bytes:
            out += f"inline constexpr unsigned MaxPacketBytes = {s.packet_bytes};\n"
        for name, value, provenance, doc in s.timing:
            out += comment(f"{doc} ({provenance})")
            out += f"inline constexpr unsigned {camel(name)} = {value};\n"
        if s.timing:
            out += "inline constexpr stage_timing_desc TimingTable[] = {\n"
            for name, value, provenance, doc in s.timing:
                out += f"    {{\"{name}\", {value}, \"{provenance}\", \"{clean(doc)}\"}},\n"
            out += "};\n"
        out += f"}}  // namespace {s.name}\n\n"
    out += "}  // namespace stage_spec\n\n"
    out += f"inline constexpr std::array<stage_desc, {len(stages)}> StageTable = {{{{\n"
    for s in stages:
        timing = f"stage_spec::{s.name}::TimingTable" if s.timing else "nullptr"
        out += (f"    {{\"{s.name}\", \"{clean(s.job)}\",\n     \"{s.row}\", \"{s.row_title}\", "
                f"{s.latency}, {s.ii}, {s.depth}, {s.outstanding}, {s.max_beats}, "
                f"{str(s.twin).lower()}, {str(s.twin_done).lower()},\n     {timing}, "
                f"{len(s.timing)}}},\n")
    out += "}};\n\n"
    out += f"inline constexpr std::array<stage_edge, {len(edges)}> StageEdges = {{{{\n"
    for e in edges:
        out += (f"    {{\"{e.source}\", \"{e.sink}\", \"{e.stream}\", "
                f"{str(e.reserved).lower()}}},\n")
    return out + "}};\n\n"
