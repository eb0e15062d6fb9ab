#include "payload_dma/payload_rules.h"

#include <algorithm>
#include <cstring>

#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::payload_dma;
namespace dma = stage_spec::dma_engine;

static_assert(MaxSge <= spec::Lookups);
static_assert(spec::LeftDepth >= 2 * spec::Outstanding);

/// A lookup's cookie is the packet's number and the offset of the piece in the payload.
constexpr unsigned OffsetBits = 13;

/// A read's is the packet's slot and, above, where in the store its bytes go.
constexpr unsigned SlotBits = 6;
static_assert(spec::Outstanding == 1U << SlotBits);

constexpr std::uint32_t StoreMask = spec::Depth * BeatBytes - 1;
static_assert((spec::Depth & (spec::Depth - 1)) == 0);

constexpr unsigned ReadLatency = spec::Issue + dma::RequestHop;

}  // namespace

void cut_gather_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                     std::uint32_t length, std::vector<gather_piece>& pieces) {
  std::uint64_t at = 0;  // of the entry's first byte in the message
  const std::uint64_t begin = offset;
  const std::uint64_t end = begin + length;
  for (unsigned i = 0; i < count && at < end; ++i) {
    const data_seg entry = data_seg::unpack(segments + i * data_seg::Size);
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + entry.byte_count);
    if (from < to) {
      pieces.push_back(
          {entry.address + (from - at), static_cast<std::uint32_t>(to - from), entry.lkey});
    }
    at += entry.byte_count;
  }
}

payload_dma_rules::payload_dma_rules(nic_shared& nic, trace_site site, const payload_dma_ports& io)
    : nic_(nic),
      site_(site),
      order_(nic.context.trace.intern("order")),
      io_(io),
      walks_(nic.context, site) {
  const auto require = [](const stream_base& port, unsigned depth) {
    if (port.depth() != depth) {
      throw config_error(fmt::format("{}: depth {}, but payload_dma is built for {}", port.name(),
                                     port.depth(), depth));
    }
  };
  require(io.reads, spec::ReadDepth);
  require(io.filled, spec::Depth);
  require(io.left, spec::LeftDepth);
  require(io.key_reads, spec::KeyReadDepth);
  io_.packets.tap(&packet_tap_);
  io_.done.tap(&done_tap_);
  io_.key_lines.tap(&line_tap_);
}

std::vector<twin_rules::wait_list> payload_dma_rules::waits() {
  return {
      {&io_.packets,
       {blocker::condition("packet_slots", [this](cycle_t) { return packet_slots_full(); }),
        blocker::credit(io_.filled, spec::MaxBeats), blocker::credit(io_.reads, MaxSge),
        blocker::credit(io_.left),
        blocker::condition("lookup_slots", [this](cycle_t t) { return lookup_slots_full(t); })}},
      {&io_.done, {}},
      {&io_.key_lines, {}},
  };
}

bool payload_dma_rules::lookup_slots_full(cycle_t t) const {
  const unsigned before = lookups_ + (ended_in_ == t ? ended_ : 0);
  return before > spec::Lookups - MaxSge;
}

// Inputs
// ------------------------------------------------------------------------------------------------

void payload_dma_rules::took_packet(cycle_t t, const packet_item& item) {
  pending& added = pending_.push({});
  added.packet = item;
  added.packet.frame = nic_.buffers.take();
  added.number = first_ + pending_.size() - 1;
  added.origin = next_line_ * BeatBytes;
  const unsigned lines = beats_of(item.payload);
  io_.filled.reserve(t, lines);
  io_.left.reserve(t, 1);
  nic_.counters.add(counter::PayloadBytes, item.payload);
  if (store_watched_) {
    stored_.push({added.packet.frame, next_line_, lines});
  }
  next_line_ = (next_line_ + lines) % spec::Depth;
  new_packet_ = true;
}

void payload_dma_rules::took_done(cycle_t /*t*/, const dma_read_done& item) {
  // All answers belong to packets among the Outstanding oldest.
  pending& answered = pending_[(item.cookie - first_) % Slots];
  --answered.missing;
  answered.trace = item.trace;
  fail(answered, item.status);
  release();
}

void payload_dma_rules::took_line(cycle_t t, const context_line& line) {
  walks_.took(t, line, [&](const key_walks::answer& found) {
    pending& asker = at(found.cookie >> OffsetBits);
    --asker.missing;
    asker.trace = found.trace;
    if (found.fault != key_fault::none) {
      fail(asker, dma_status::unsupported_request);  // the key does not serve any more
      end_lookup(t);
    } else {
      auto offset = static_cast<std::uint32_t>(found.cookie & ((1U << OffsetBits) - 1));
      for (const iova_piece& piece : *found.pieces) {
        translated_.push({asker.number, piece, offset, &piece == &found.pieces->back(),
                          held_history(found.trace, t, order_)});
        offset += piece.length;
        ++asker.missing;
      }
    }
    release();
  });
}

/// Of several failures the first one counts.
void payload_dma_rules::fail(pending& packet, dma_status status) {
  if (packet.status == dma_status::ok) {
    packet.status = status;
  }
}

void payload_dma_rules::end_lookup(cycle_t t) {
  --lookups_;
  ended_ = ended_in_ == t ? ended_ + 1 : 1;
  ended_in_ = t;
}

void payload_dma_rules::release() {
  while (!pending_.empty() && pending_.front().missing == 0 &&
         !(new_packet_ && pending_.size() == 1)) {
    pending front = pending_.pop();
    front.packet.poisoned = front.status != dma_status::ok;
    released_.push({std::move(front.packet), front.status, front.trace});
    ++first_;
  }
}

// Reads and lookups
// ------------------------------------------------------------------------------------------------

void payload_dma_rules::settle(cycle_t t) {
  issue_translated(t);
  if (new_packet_) {
    new_packet_ = false;
    pending& packet = pending_.back();
    cut(packet.packet);
    CARILLON_CHECK(!pieces_.empty() && pieces_.size() <= MaxSge,
                   "{}: a packet of QP {} with {} pieces in cycle {}", io_.packets.name(),
                   packet.packet.qpn, pieces_.size(), t);
    packet.missing = static_cast<unsigned>(pieces_.size());
    if (packet.packet.paged) {
      begin_lookups(t, packet);
    } else {
      begin_reads(t, packet);
    }
  }
  if (walks_.wanting() && io_.key_reads.has_credit(t)) {
    io_.key_reads.reserve(t, 1);
    asked_.push(walks_.next_read(t));
  }
}

void payload_dma_rules::issue_translated(cycle_t t) {
  if (translated_.empty() || translated_in_ == t || !io_.reads.has_credit(t)) {
    return;
  }
  translated_in_ = t;
  io_.reads.reserve(t, 1);
  translated_piece next = translated_.pop();
  next.history.wait_until(nic_.context, site_, t);
  issue(at(next.packet), next.piece, next.offset, next.history);
  if (next.last) {
    end_lookup(t);
  }
}

void payload_dma_rules::cut(const packet_item& packet) {
  pieces_.clear();
  if (packet.source == packet_source::read_response) {
    pieces_.push_back({packet.remote_address + packet.message_offset, packet.payload, packet.rkey});
  } else {
    cut_gather_list(packet.body.data() + packet.data_offset, packet.sge_count,
                    packet.message_offset, packet.payload, pieces_);
  }
}

void payload_dma_rules::begin_reads(cycle_t t, pending& packet) {
  io_.reads.reserve(t, static_cast<unsigned>(pieces_.size()));
  std::uint32_t offset = 0;
  for (const gather_piece& each : pieces_) {
    issue(packet, {each.address, each.length}, offset,
          held_history(packet.packet.trace, t, order_));
    offset += each.length;
  }
}

void payload_dma_rules::issue(const pending& packet, const iova_piece& piece, std::uint32_t offset,
                              const held_history& history) {
  issued_read& added = issued_.push({});
  added.history = history;
  dma_read& read = added.read;
  read.function = packet.packet.function;
  read.address = piece.address;
  read.length = piece.length;
  read.into = packet.packet.frame;
  read.into_offset = PayloadOffset + offset;
  read.cookie =
      std::uint64_t{(packet.origin + offset) & StoreMask} << SlotBits | packet.number % Slots;
  read.writes_before = packet.packet.writes_before;
}

void payload_dma_rules::begin_lookups(cycle_t t, const pending& packet) {
  const held_history history(packet.packet.trace, t, order_);
  std::uint32_t offset = 0;
  for (const gather_piece& each : pieces_) {
    key_use use;
    use.key = each.key;
    use.checked = true;
    use.function = packet.packet.function;
    use.right = packet.packet.source == packet_source::read_response ? key_right::remote_read
                                                                     : key_right::local_read;
    use.address = each.address;
    use.length = each.length;
    walks_.ask(t, packet.number << OffsetBits | offset, use, history);
    offset += each.length;
  }
  lookups_ += static_cast<unsigned>(pieces_.size());
}

// Outputs
// ------------------------------------------------------------------------------------------------

twin_rules::departure payload_dma_rules::departs(unsigned port, cycle_t visible) {
  const auto check = [&](bool known, cycle_t earliest) {
    CARILLON_CHECK(known && visible >= earliest,
                   "{}: an item visible in cycle {}, before it can be known",
                   io_.all()[port]->name(), visible);
  };
  const core_clock& clock = nic_.context.clock;
  switch (port) {
    case payload_dma_ports::Reads: {
      check(!issued_.empty(), issued_.empty() ? 0 : issued_.front().history.since() + ReadLatency);
      issued_read left = issued_.pop();
      nic_.counters.add(counter::PayloadReads);
      handles_.frame = std::move(left.read.into);
      handles_.origin = (static_cast<std::uint32_t>(left.read.cookie >> SlotBits) -
                         (left.read.into_offset - PayloadOffset)) &
                        StoreMask;
      // Requests leave one a cycle; each further one waits for those before it.
      const cycle_t begin = visible - ReadLatency;
      return {left.history.wait_until(nic_.context, site_, begin), begin};
    }
    case payload_dma_ports::KeyReads:
      check(!asked_.empty(), 0);
      return {asked_.pop().trace, visible - 1};
    case payload_dma_ports::Filled: {
      check(!released_.empty(), 0);
      released_packet left = released_.pop();
      handles_.frame = std::move(left.packet.frame);
      handles_.body = std::move(left.packet.body);
      // What came in before an older packet was complete waited for it, and for the port.
      const cycle_t begin = visible - spec::Release;
      return {
          nic_.context.trace.wait(left.history, site_, order_,
                                  nic_.context.trace.end_of(left.history), clock.time_of(begin)),
          begin};
    }
    default:
      return {{}, visible - 1};
  }
}

// The store
// ------------------------------------------------------------------------------------------------

twin_store& payload_dma_rules::store() {
  store_watched_ = true;
  io_.filled.tap(&filled_tap_);
  return *this;
}

void payload_dma_rules::filled_left(cycle_t /*t*/, const packet_item& /*item*/) {
  if (stored_left_) {
    stored_.pop();
  }
  stored_left_ = true;
}

void payload_dma_rules::read(unsigned line, std::uint8_t* to) const {
  // The one that is being taken and the one behind it: nobody looks at others.
  for (std::size_t i = 0; i < std::min<std::size_t>(2, stored_.size()); ++i) {
    const stored_frame& each = stored_[i];
    const unsigned nth = (line - each.line) % spec::Depth;
    if (nth < each.lines) {
      std::memcpy(to, each.frame.data() + PayloadOffset + std::size_t{nth} * BeatBytes, BeatBytes);
      return;
    }
  }
}

}  // namespace carillon
