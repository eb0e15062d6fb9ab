// Sits in a PCIe link, one socket pair a direction, and checks what passes against the rules of the
// link:
//
//  transport   every TLP is one BEGIN_REQ that is answered TLM_COMPLETED, carries its TLP, and its
//  annotated delay
//              leads to its first symbol
//  serial      the symbols of one direction do not overlap
//  header      headers decode, flow class and length are what the header says
//  size        data within MPS, read requests within MRRS
//  tag         a tag is used again only when its request is answered
//  completion  answers belong to a request, add up to it in order, and end on read completion
//  boundaries leftover    at the end every request is answered (finish())
//
// A violation is recorded as "<rule>: <what>"; the test looks at them.
#pragma once

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "common/clock.h"
#include "common/pcie_port.h"
#include "common/tlp_codec.h"

namespace carillon {

struct protocol_limits {
  std::uint32_t max_payload = 512;
  std::uint32_t max_read = 4096;
  std::uint32_t boundary = 64;
};

class tlm_protocol_checker : public sc_core::sc_module {
 public:
  tlm_protocol_checker(const sc_core::sc_module_name& name, const protocol_limits& limits)
      : sc_core::sc_module(name), limits_(limits) {
    for (unsigned i = 0; i < 2; ++i) {
      in[i].register_nb_transport_fw(
          this, i == 0 ? &tlm_protocol_checker::forward<0> : &tlm_protocol_checker::forward<1>);
    }
  }

  /// Direction 0 is from the first end to the second.
  std::array<tlm_utils::simple_target_socket<tlm_protocol_checker>, 2> in;
  std::array<tlm_utils::simple_initiator_socket<tlm_protocol_checker>, 2> out;

  /// In place of first.connect(second).
  void connect(pcie_port& first, pcie_port& second) {
    first.transmit.bind(in[0]);
    out[0].bind(second.receive);
    second.transmit.bind(in[1]);
    out[1].bind(first.receive);
    first.introduce(second);
  }

  void finish() {
    for (const auto& [key, opened] : requests_) {
      violation("leftover", "the request with tag {} is not answered", key.tag);
    }
  }

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  struct request_key {
    unsigned direction;
    std::uint16_t requester;
    std::uint16_t tag;
    auto operator<=>(const request_key&) const = default;
  };

  struct request {
    std::uint64_t address;
    std::uint32_t left;
    bool read;
  };

  template <class... Args>
  void violation(const char* rule, fmt::format_string<Args...> what, Args&&... args) {
    violations_.push_back(std::string(rule) + ": " +
                          fmt::format(what, std::forward<Args>(args)...));
  }

  template <unsigned Direction>
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& carrier, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay) {
    ++seen_;
    const tlp* packet = carrier.get_extension<tlp>();
    if (phase != tlm::BEGIN_REQ) {
      violation("transport", "a phase other than BEGIN_REQ");
    }
    if (packet == nullptr) {
      violation("transport", "a transaction without a TLP");
    } else {
      check_time(Direction, *packet, now_ps() + delay.value());
      check_header(Direction, *packet);
    }
    const tlm::tlm_sync_enum answer = out[Direction]->nb_transport_fw(carrier, phase, delay);
    if (answer != tlm::TLM_COMPLETED) {
      violation("transport", "not answered TLM_COMPLETED");
    }
    return answer;
  }

  void check_time(unsigned direction, const tlp& packet, ps_t announced) {
    if (announced != packet.first_symbol) {
      violation("transport", "the delay leads to {} ps, the first symbol is at {} ps", announced,
                packet.first_symbol);
    }
    if (packet.first_symbol < line_free_[direction] || packet.last_symbol <= packet.first_symbol) {
      violation("serial", "symbols from {} to {} ps, the line is taken until {} ps",
                packet.first_symbol, packet.last_symbol, line_free_[direction]);
    }
    line_free_[direction] = packet.last_symbol;
  }

  void check_header(unsigned direction, const tlp& packet) {
    const tlp_header header = decode(packet);
    if (!header.valid()) {
      violation("header", "{}", to_string(header.fault));
      return;
    }
    const bool completes = header.kind == tlp_kind::completion;
    const bool posted = header.kind == tlp_kind::memory_write || header.kind == tlp_kind::message;
    const tlp_class flow = completes ? tlp_class::completion
                           : posted  ? tlp_class::posted
                                     : tlp_class::non_posted;
    if (packet.flow != flow) {
      violation("header", "the flow class of a {}", to_string(header.kind));
    }
    if (packet.payload_bytes > limits_.max_payload) {
      violation("size", "{} bytes of data", packet.payload_bytes);
    }
    if (header.kind == tlp_kind::memory_read && 4U * header.length_dw > limits_.max_read) {
      violation("size", "a read of {} dwords", header.length_dw);
    }
    if (completes) {
      check_completion(1 - direction, header);
    } else if (!posted) {
      const bool read = header.kind == tlp_kind::memory_read;
      const request opened{touched(header).address, read ? total_byte_count(header) : 4U, read};
      if (!requests_.emplace(request_key{direction, header.requester, header.tag}, opened).second) {
        violation("tag", "tag {} is in use", header.tag);
      }
    }
  }

  void check_completion(unsigned asked_in, const tlp_header& header) {
    const auto found = requests_.find({asked_in, header.requester, header.tag});
    if (found == requests_.end()) {
      violation("completion", "nobody asked with tag {}", header.tag);
      return;
    }
    request& open = found->second;
    if (header.status != completion_status::Success || !header.has_data) {
      requests_.erase(found);
      return;
    }
    if (open.read && header.byte_count != open.left) {
      violation("completion", "byte count {} with {} left", header.byte_count, open.left);
    }
    if (open.read && header.lower_address != (open.address & 0x7f)) {
      violation("completion", "lower address {:#x} of {:#x}", header.lower_address, open.address);
    }
    const std::uint32_t room = 4U * header.length_dw - (open.address & 3);
    if (room >= open.left) {
      requests_.erase(found);
      return;
    }
    open.address += room;
    open.left -= room;
    if (open.address % limits_.boundary != 0) {
      violation("completion", "data ends at {:#x}", open.address);
    }
  }

  protocol_limits limits_;
  std::uint64_t seen_ = 0;
  std::array<ps_t, 2> line_free_{};
  std::map<request_key, request> requests_;
  std::vector<std::string> violations_;
};

}  // namespace carillon
