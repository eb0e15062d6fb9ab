// The tags of the reads in flight: which are free, what each is for, and when it is given up.
//
// A tag is free, flying, or lost: the completion time-out gave its read up. A completion for a lost
// tag may still come, so it rests: until the last completion of its read is there, or else for a
// second time-out, after which it serves again when no other tag is free. What comes later still
// can be told from the answer to the new read only by its byte count and address.
//
// All reads have the same time-out, so the flying tags stand in the order of their deadlines and
// the first one is all that a timer has to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/items.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class read_tags {
 public:
  /// The read request that a tag is for.
  struct flight {
    std::uint32_t group = 0;         ///< the client's read that it is a part of
    std::uint32_t offset = 0;        ///< of the next byte in the read's buffer
    std::uint32_t missing = 0;       ///< bytes
    std::uint8_t lower_address = 0;  ///< low seven bits of the next byte's address
    trace_ref trace;                 ///< the request's history up to the link
  };

  enum class verdict : std::uint8_t { unexpected, failed, data };

  read_tags(std::size_t count, ps_t timeout);

  /// The host allows `limit` reads in flight.
  [[nodiscard]] bool available(ps_t now, std::uint16_t limit) const {
    return flying_count_ < limit && (!free_.empty() || rested(now));
  }

  /// Takes a tag for a request that leaves now. There must be one available.
  std::uint16_t take(ps_t now, const flight& read);

  /// What a completion is to the tag that it names. An unexpected one belongs to no flying tag, or
  /// its byte count, address or length is not what its read still lacks. The last one of a lost tag
  /// sets it free.
  verdict judge(const read_completion& item);

  [[nodiscard]] flight& operator[](std::uint16_t tag) { return slots_[tag].read; }

  /// When its request left, or for a lost tag when it was given up.
  [[nodiscard]] ps_t since(std::uint16_t tag) const { return slots_[tag].since; }

  /// The request of a flying tag is answered.
  void release(std::uint16_t tag);

  /// The deadline of a request has passed.
  [[nodiscard]] bool overdue(ps_t now) const { return flying_.passed(*this, now); }

  /// The tag whose request left first.
  [[nodiscard]] std::uint16_t oldest() const { return flying_.first; }

  /// The flying tag that left first of those whose read is one that `wanted` says.
  template <class Wanted>
  [[nodiscard]] std::optional<std::uint16_t> find_flying(Wanted wanted) const {
    for (std::uint16_t tag = flying_.first; tag != Nobody; tag = slots_[tag].behind) {
      if (wanted(slots_[tag].read)) {
        return tag;
      }
    }
    return std::nullopt;
  }

  /// Gives up the request of a flying tag; the tag is lost.
  void give_up(std::uint16_t tag, ps_t now);

  /// A lost tag may serve again.
  [[nodiscard]] bool rested(ps_t now) const { return lost_.passed(*this, now); }

  /// The next deadline of a request, NeverPs if none is in flight.
  [[nodiscard]] ps_t next_overdue() const { return flying_.deadline(*this); }

  /// When the next lost tag has rested.
  [[nodiscard]] ps_t next_rested() const { return lost_.deadline(*this); }

 private:
  static constexpr std::uint16_t Nobody = 0xffff;

  enum class state : std::uint8_t { free, flying, lost };

  struct slot {
    state now = state::free;
    std::uint16_t before = Nobody;
    std::uint16_t behind = Nobody;
    ps_t since = 0;
    flight read;
  };

  /// Tags in the order in which they came, oldest first.
  struct queue {
    std::uint16_t first = Nobody;
    std::uint16_t last = Nobody;

    [[nodiscard]] ps_t deadline(const read_tags& tags) const {
      return first == Nobody ? NeverPs : tags.slots_[first].since + tags.timeout_;
    }

    [[nodiscard]] bool passed(const read_tags& tags, ps_t now) const {
      return first != Nobody && tags.slots_[first].since + tags.timeout_ < now;
    }
  };

  void append(queue& to, std::uint16_t tag, state becomes, ps_t now);
  void remove(queue& from, std::uint16_t tag);

  ps_t timeout_;
  std::vector<slot> slots_;
  std::vector<std::uint16_t> free_;
  std::uint32_t flying_count_ = 0;
  queue flying_;
  queue lost_;
};

/// Bytes of a completion that were asked for: not those of its first dword that lie before the
/// range, nor what fills its last.
std::uint32_t data_bytes(const read_completion& item);

}  // namespace carillon
