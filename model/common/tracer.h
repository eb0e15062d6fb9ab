// The life of every message as a partition of time: no unexplained picosecond.
//
// A message is opened when its work request is posted. From then on whatever serves it, makes it
// wait or carries it appends a span that begins exactly where the previous one ended; appending
// anything else is a model error. Items carry a trace_ref, the last span of their own history, so
// that an item's history is a chain of spans. Where a component needed several things to move on,
// the item continues the chain of the one that arrived last (ties: the first port); the chain of
// the final item therefore is the critical path, and its spans sum to the end-to-end latency by
// construction of each part, never as a remainder.
//
// Milestones name points of the chain. A path (doorbell_to_wire, post_to_cqe, ...) is the part of
// the chain between two of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/types.h"

namespace carillon {

/// Where an item's history stands: a message and the last span of this item's chain in it.
/// message 0 means "not traced".
struct trace_ref {
  std::uint32_t message = 0;
  std::uint32_t span = 0;
};

enum class span_kind : std::uint8_t { service, wait, flight };

const char* to_string(span_kind kind);

/// An interned name.
using name_id = std::uint16_t;

/// Who spends the time (`place`, a component's path such as nic0.dma_engine) and on whose account
/// in the stage table (`row`, a stage's name such as wqe_fetch).
struct trace_site {
  name_id place = 0;
  name_id row = 0;
};

struct span {
  ps_t begin = 0;
  ps_t end = 0;
  std::uint32_t previous = 0;  ///< index of the span before it in the same message
  name_id place = 0;
  name_id row = 0;
  name_id reason = 0;  ///< for a wait: what it waited for
  span_kind kind = span_kind::service;
};

enum class milestone : std::uint8_t {
  post,         ///< the CPU begins to post the work request
  doorbell,     ///< first symbol of the doorbell (or BlueFlame) TLP at the NIC
  first_bit,    ///< first bit of the message on the wire
  last_bit,     ///< last bit of its last packet on the wire
  delivered,    ///< the last byte is visible in the memory of the receiver
  remote_seen,  ///< the receiving CPU has seen it
  cqe_written,  ///< the requester's CQE is visible in host memory
  cqe_seen,     ///< the posting CPU has seen the CQE
  count_
};

inline constexpr std::size_t MilestoneCount = static_cast<std::size_t>(milestone::count_);

const char* to_string(milestone point);

/// What a work request is, for the trace's readers.
struct message_info {
  std::string_view node;  ///< who posted it; must outlive the run
  std::uint32_t qpn = 0;
  std::uint16_t wqe_index = 0;
  std::uint8_t opcode = 0;  ///< mlx5 send opcode
  std::uint64_t bytes = 0;
};

/// What an appended span looks at comes first, in one cache line.
struct alignas(64) message_record {
  std::uint32_t id = 0;  ///< 0: the slot is free
  std::uint32_t holders = 0;
  std::vector<span> spans;  ///< spans[0] is an empty root that ends when the message was opened
  std::array<std::uint32_t, MilestoneCount>
      marks{};  ///< span that ends at the milestone, + 1; 0: absent
  message_info info;

  [[nodiscard]] bool reached(milestone point) const {
    return marks[static_cast<std::size_t>(point)] != 0;
  }

  [[nodiscard]] std::uint32_t span_at(milestone point) const {
    return marks[static_cast<std::size_t>(point)] - 1;
  }

  [[nodiscard]] ps_t time_of(milestone point) const { return spans[span_at(point)].end; }

  /// The spans between two milestones, first to last; empty if `from` is not on the chain of `to`.
  [[nodiscard]] std::vector<span> path(milestone from, milestone to) const;
};

/// Told of every message when it is complete, in the order of completion.
class message_observer {
 public:
  virtual ~message_observer() = default;
  virtual void on_message(const message_record& message) = 0;
};

class tracer {
 public:
  tracer();

  // Names
  // ---------------------------------------------------------------------------------------------
  name_id intern(std::string_view name);

  [[nodiscard]] const std::string& name(name_id id) const { return names_[id]; }

  /// All ids so far are smaller.
  [[nodiscard]] std::size_t name_count() const { return names_.size(); }

  trace_site site(std::string_view place, std::string_view row) {
    return {intern(place), intern(row)};
  }

  // Messages
  // ------------------------------------------------------------------------------------------
  /// Opens a message at time `begin`, with milestone::post there and one holder.
  trace_ref open(ps_t begin, const message_info& info);

  /// A message is complete when its last holder releases it. Spans that arrive later (the ACK of a
  /// message already completed) are dropped.
  void hold(trace_ref ref);
  void release(trace_ref ref);

  [[nodiscard]] bool live(trace_ref ref) const { return find(ref.message) != nullptr; }

  /// The record of a live message, or nullptr.
  [[nodiscard]] const message_record* record(std::uint32_t id) const { return find(id); }

  // Spans
  // ---------------------------------------------------------------------------------------------
  /// Appends a span to the chain of `from` and returns the new end of the chain. Empty spans are
  /// left out. `begin` must be the end of `from`.
  trace_ref add(trace_ref from, trace_site site, span_kind kind, name_id reason, ps_t begin,
                ps_t end) {
    message_record* record = find(from.message);
    if (record == nullptr) {
      return from;
    }
    if (record->spans[from.span].end != begin || end < begin) [[unlikely]] {
      refuse(*record, from, site, kind, begin, end);
    }
    if (begin == end) {
      return from;
    }
    return append(*record, from, site, kind, reason, begin, end);
  }

  trace_ref service(trace_ref from, trace_site site, ps_t begin, ps_t end) {
    return add(from, site, span_kind::service, 0, begin, end);
  }

  trace_ref wait(trace_ref from, trace_site site, name_id reason, ps_t begin, ps_t end) {
    return add(from, site, span_kind::wait, reason, begin, end);
  }

  trace_ref flight(trace_ref from, trace_site site, ps_t begin, ps_t end) {
    return add(from, site, span_kind::flight, 0, begin, end);
  }

  /// When the chain of `ref` ends; 0 for an untraced or completed message.
  [[nodiscard]] ps_t end_of(trace_ref ref) const;

  /// Of two chains, the one that ends later; `a` if they end together.
  [[nodiscard]] trace_ref later(trace_ref a, trace_ref b) const {
    return end_of(b) > end_of(a) ? b : a;
  }

  /// Continues message `to.message` along the history of another message: its chain waits for
  /// `reason` until the other's chain passed the span that ends at milestone `from`, then repeats
  /// the other's spans up to `other`. For a WQE that is fetched because of a doorbell rung for a
  /// later one.
  trace_ref adopt(trace_ref to, trace_ref other, milestone from, trace_site site, name_id reason);

  /// Marks that `point` is reached where the chain of `ref` ends. The first time counts unless
  /// `last`.
  void mark(trace_ref ref, milestone point, bool last = false);

  // Observers
  // -----------------------------------------------------------------------------------------
  void observe(message_observer& observer) { observers_.push_back(&observer); }

  /// From now on nothing is traced: messages are not opened, and spans and marks without a message
  /// cost next to nothing.
  void disable() { enabled_ = false; }

  /// Nobody is told any more: what is released while a run is torn down is no completion.
  void close() { observers_.clear(); }

  [[nodiscard]] std::uint32_t opened() const { return last_id_; }

  [[nodiscard]] std::uint64_t completed() const { return completed_; }

  /// How many messages there is room for: follows the number alive at once, not the number of a
  /// run.
  [[nodiscard]] std::size_t room() const { return slots_.size(); }

 private:
  [[nodiscard]] message_record* find(std::uint32_t id) {
    message_record& slot = slot_of(id);
    if (slot.id == id) [[likely]] {
      return id != 0 ? &slot : nullptr;
    }
    return stragglers_.empty() ? nullptr : find_straggler(id);
  }

  [[nodiscard]] message_record& slot_of(std::uint32_t id) { return slots_[id & slot_mask_]; }

  [[nodiscard]] const message_record* find(std::uint32_t id) const {
    return const_cast<tracer*>(this)->find(id);
  }

  static trace_ref append(message_record& record, trace_ref from, trace_site site, span_kind kind,
                          name_id reason, ps_t begin, ps_t end);
  [[noreturn]] void refuse(const message_record& record, trace_ref from, trace_site site,
                           span_kind kind, ps_t begin, ps_t end) const;
  [[nodiscard]] message_record* find_straggler(std::uint32_t id);
  void make_room(std::uint32_t id);
  void grow();

  std::vector<std::string> names_;
  std::map<std::string, name_id, std::less<>> ids_;
  std::vector<message_record> slots_;  ///< by the low bits of the id
  std::uint32_t slot_mask_;            ///< their number - 1
  /// Old messages that others needed the slots of: one that never ends must not make the table grow
  /// with the run.
  std::map<std::uint32_t, message_record> stragglers_;
  std::vector<std::vector<span>> spare_;  ///< of completed messages; the last one is still warm
  std::uint32_t last_id_ = 0;
  std::uint64_t completed_ = 0;
  bool enabled_ = true;
  std::vector<message_observer*> observers_;
};

}  // namespace carillon
