#include "packet_builder/packet_builder_rules.h"

#include <cstring>
#include <utility>

#include "packet_builder.h"

namespace carillon {

namespace {

namespace spec = stage_spec::packet_builder;
namespace ram = stage_spec::qpc_ram;

}  // namespace

packet_builder_rules::packet_builder_rules(nic_shared& nic, trace_site site,
                                           const packet_builder_ports& io)
    : nic_(nic), site_(site), order_reason_(nic.context.trace.intern("order")), io_(io) {
  const auto require = [](const stream_base& port, unsigned depth) {
    if (port.depth() != depth) {
      throw config_error(fmt::format("{}: depth {}, but packet_builder is built for {}",
                                     port.name(), port.depth(), depth));
    }
  };
  require(io.context_reads, spec::CtxReadDepth);
  require(io.frames, spec::Depth);
  require(io.loopback, spec::Depth);
  io_.context_lines.tap(&line_tap_);
  io_.filled.tap(&filled_tap_);
  io_.direct.tap(&direct_tap_);
}

std::vector<twin_rules::wait_list> packet_builder_rules::waits() {
  const auto input = [this](stream_base& waiting, stream_base& other) -> wait_list {
    return {&waiting,
            {blocker::arbiter(other),
             blocker::condition("frame_port", [this](cycle_t t) { return port_behind(t); }),
             blocker::credit(io_.frames, spec::MaxBeats),
             blocker::credit(io_.loopback, spec::MaxBeats), blocker::credit(io_.context_reads),
             blocker::condition("lookups", [this](cycle_t) { return lookups_full(); })}};
  };
  return {input(io_.filled, io_.direct), input(io_.direct, io_.filled), {&io_.context_lines, {}}};
}

/// Where it goes is known with its path; until then it holds the places of the longest frame at
/// both outputs.
void packet_builder_rules::took_packet(cycle_t t, const packet_item& packet) {
  io_.frames.reserve(t, spec::MaxBeats);
  io_.loopback.reserve(t, spec::MaxBeats);
  io_.context_reads.reserve(t, 1);
  asks_.push({packet.trace, t});
  pending_.push({packet, t});
}

void packet_builder_rules::took_line(cycle_t t, const context_line& line) {
  CARILLON_CHECK(!pending_.empty(), "{}: a path in cycle {} that no packet waits for",
                 io_.context_lines.name(), t);
  pending_packet front = pending_.pop();
  const packet_item& packet = front.packet;
  CARILLON_CHECK(t >= front.taken + ram::Latency, "{}: a path in cycle {}, asked for in {}",
                 io_.context_lines.name(), t, front.taken);
  if (packet.poisoned || !line.valid) {
    drop(t, packet, packet.poisoned ? counter::PayloadReadErrors : counter::TxPathUnreadable);
    return;
  }
  const qpc_address path = qpc_address::unpack(line.data.data());
  if (packet.life != path.life) {
    drop(t, packet, counter::TxStalePackets);
    return;
  }
  const vport_table& vports = io_.vports.read(t);
  switch (source_allowed(vports, packet.function, source_of(path))) {
    case source_verdict::down:
      drop(t, packet, counter::TxVportDownDrops);
      return;
    case source_verdict::spoofed:
      drop(t, packet, counter::TxSpoofDrops);
      return;
    case source_verdict::allowed:
      build(t, front, line, path, vports);
      return;
  }
}

/// It leaves no trace but the count: its place at the outputs is free again.
void packet_builder_rules::drop(cycle_t t, const packet_item& packet, counter why) {
  nic_.counters.add_for(packet.function, why);
  io_.frames.cancel(t, spec::MaxBeats);
  io_.loopback.cancel(t, spec::MaxBeats);
}

void packet_builder_rules::build(cycle_t t, pending_packet& front, const context_line& line,
                                 const qpc_address& path, const vport_table& vports) {
  packet_item& packet = front.packet;
  if (!packet.frame) {
    packet.frame = nic_.buffers.take();
    if (packet.payload != 0) {
      std::memcpy(packet.frame.data() + PayloadOffset,
                  packet.body.data() + packet.data_offset + packet.message_offset, packet.payload);
    }
  }
  const packet_description described = describe(packet, path, vports.at(packet.function));
  const header_place headers = build_headers(described, packet.frame.data(), PayloadOffset);
  const finished_frame done = finish_frame(packet.frame.data(), headers, packet.payload);
  built_frame frame;
  frame.item.bytes = packet.frame;
  frame.item.offset = done.offset;
  frame.item.length = done.length;
  frame.item.fcs = done.fcs;
  frame.item.fcs_known = true;
  frame.item.icrc_known = true;
  frame.item.priority = described.pcp;
  frame.item.first = packet.first && packet.source == packet_source::request;
  frame.item.last = packet.last && packet.source == packet_source::request;
  frame.item.function = packet.function;
  frame.item.looped = loops_back(described, path, vports);
  if (frame.item.looped) {
    nic_.counters.add_for(packet.function, counter::TxLoopbackPackets);
    nic_.counters.add_for(packet.function, counter::TxLoopbackBytes, done.length);
  }
  frame.beats = beats_of(done.length);
  stream<frame_item>& out = frame.item.looped ? io_.loopback : io_.frames;
  stream<frame_item>& other = frame.item.looped ? io_.frames : io_.loopback;
  out.cancel(t, spec::MaxBeats - frame.beats);
  other.cancel(t, spec::MaxBeats);
  // 30 cycles from the packet's take, or what is left of them behind a lookup that came late.
  const cycle_t due = t + spec::Latency - ram::Latency;
  frame.built = t;
  frame.visible = std::max(due, port_free_);
  port_free_ = frame.visible + frame.beats;
  const core_clock& clock = nic_.context.clock;
  tracer& trace = nic_.context.trace;
  frame.item.trace = trace.service(line.trace, site_, clock.time_of(t), clock.time_of(due));
  frame.item.trace = trace.wait(frame.item.trace, site_, order_reason_, clock.time_of(due),
                                clock.time_of(frame.visible));
  built(frame.item.looped ? packet_builder_ports::Loopback : packet_builder_ports::Frame)
      .push(std::move(frame));
}

twin_rules::departure packet_builder_rules::departs(unsigned port, cycle_t visible) {
  if (port == packet_builder_ports::CtxRead) {
    CARILLON_CHECK(!asks_.empty() && visible > asks_.front().taken,
                   "{}: a read visible in cycle {} that nobody asked for", io_.context_reads.name(),
                   visible);
    const path_ask ask = asks_.pop();
    return {ask.history, ask.taken};
  }
  ring<built_frame>& frames = built(port);
  CARILLON_CHECK(!frames.empty() && frames.front().visible == visible,
                 "{}: a frame visible in cycle {}, when none is due", io_.all()[port]->name(),
                 visible);
  const built_frame left = frames.pop();
  handles_ = {left.item.bytes, {}, left.item.offset};
  return {left.item.trace, left.built};
}

}  // namespace carillon
