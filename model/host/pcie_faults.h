// What goes wrong on purpose when a device reads host memory: rules that pick reads, and what
// becomes of them.
//
// A rule looks at every read request (TLP) that reaches memory and counts those that it is about;
// of these it hits the `nth`, or each `every`-th (from the nth on, if both are given), or all, each
// with its probability, at most `count` of them. The first rule that hits decides; the others count
// the read all the same. Draws come from a stream of the rule's own, so rules do not disturb each
// other.
//
// What a read is for cannot be seen on the link. The model knows on whose account a request is
// booked, and of the responder's reads its length tells the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/random.h"
#include "common/tlp_codec.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

enum class read_fault : std::uint8_t {
  unsupported_request,
  completer_abort,
  poisoned,  ///< the data comes, marked as bad
  never,     ///< no completion
  stray,     ///< in front of the answer, a completion that nobody asked for
  late,      ///< the answer is held back for `delay`
};

/// What a device reads: by the account and the length of the request.
enum class read_kind : std::uint8_t {
  any,
  wqe,          ///< wqe_fetch, whole 16-byte units
  payload,      ///< payload_dma
  record,       ///< wqe_fetch or responder, one dword: a doorbell record
  receive_wqe,  ///< responder, whole 16-byte units
  atomic,       ///< responder, 8 bytes
  cq_record,    ///< completion
  context,      ///< qpc_ram: a line that is in host memory
};

struct read_fault_rule {
  read_fault fault = read_fault::unsupported_request;
  // Which reads it is about.
  read_kind kind = read_kind::any;
  std::uint64_t first = 0;  ///< addresses; a read that touches one of them
  std::uint64_t last = ~std::uint64_t{0};
  std::uint32_t min_bytes = 0;  ///< of the request
  std::uint32_t max_bytes = ~std::uint32_t{0};
  // Which of them it hits.
  std::uint64_t nth = 0;  ///< from 1; 0: not asked
  std::uint64_t every = 0;
  double probability = 1;
  std::uint64_t count = ~std::uint64_t{0};
  ps_t delay = 0;                     ///< of late
  std::optional<std::uint32_t> host;  ///< for who distributes rules: at all hosts if not set
};

class pcie_faults {
 public:
  /// `name` is its owner's: it makes the draws its own.
  pcie_faults(tracer& trace, std::uint64_t seed, std::string name);

  void add(const read_fault_rule& rule);

  /// The rule that hits a read booked on `row`; nullptr: it goes well.
  const read_fault_rule* pick(const byte_range& range, name_id row);

  [[nodiscard]] std::uint64_t hits() const { return hits_; }

 private:
  struct watched {
    read_fault_rule rule;
    random_stream random;
    std::uint64_t seen = 0;
    std::uint64_t hits = 0;
  };

  [[nodiscard]] bool about(const read_fault_rule& rule, const byte_range& range, name_id row) const;
  [[nodiscard]] bool is(read_kind kind, std::uint32_t bytes, name_id row) const;
  static bool due(watched& each);

  const name_id wqe_fetch_;
  const name_id payload_dma_;
  const name_id responder_;
  const name_id completion_;
  const name_id qpc_ram_;
  const std::uint64_t seed_;
  const std::string name_;
  std::vector<watched> rules_;
  std::uint64_t hits_ = 0;
};

}  // namespace carillon
