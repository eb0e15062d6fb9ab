// What went wrong, by name: concluded from what the devices reported (completions with an error,
// refused commands, counters, what queries answer), never from what a scenario is called.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gen/registers.h"
#include "gen/wqe.h"

namespace carillon {

/// One thing that a program was told, and what it found out when it asked the device about it.
struct symptom {
  enum class kind : std::uint8_t { completion, refusal, exhausted };

  kind what = kind::completion;
  std::string where;  ///< "tenant 3 (VF 2 of host0)"
  // Of a completion
  cqe_syndrome syndrome = cqe_syndrome::None;
  std::uint8_t vendor_syndrome = 0;
  bool asked = false;                   ///< the device was asked about key and QPs
  std::optional<std::uint32_t> key_pd;  ///< of the WQE's local key; empty: there is no such key
  std::uint32_t qp_pd = 0;
  std::uint32_t mtu = 0;       ///< of the QP, in bytes
  std::uint32_t peer_mtu = 0;  ///< of the peer's, 0: unknown
  // Of a refusal
  command_opcode opcode = command_opcode::None;
  command_status status = command_status::Ok;
  command_syndrome detail = command_syndrome::None;
  std::string text;  ///< of what was thrown
};

/// The counters of one function that are not zero.
struct function_counts {
  std::string where;  ///< "VF 2 of host1"
  std::map<std::string, std::uint64_t, std::less<>> counters;

  [[nodiscard]] std::uint64_t value(std::string_view name) const {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  }
};

struct finding {
  std::string cause;  ///< a name to look up and to expect
  std::string text;   ///< one sentence with what was reported
  std::string where;  ///< who met it first
  std::uint64_t count = 0;
};

/// In the order in which the causes were first met; flushed work says nothing of its own.
std::vector<finding> diagnose(const std::vector<symptom>& symptoms,
                              const std::vector<function_counts>& functions);

}  // namespace carillon
