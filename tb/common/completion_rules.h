// Reads and their completions on a link, judged by the rules of the PCI Express base specification
// (2.2.9 and 2.3.1.1) from the bytes of their headers alone; it knows nothing of the model's codec.
//
//  request     at most MRRS, within 4 KiB, with a tag that is not in use
//  count       the byte count is what is left of the request
//  address     the lower address is that of the completion's first byte
//  data        as many dwords as its bytes touch, at most MPS
//  boundary    all but the last completion of a request end on a multiple of RCB
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "common/pcie_port.h"

namespace carillon {

class completion_rules {
 public:
  completion_rules(const parameters& params, pcie_port& device, pcie_port& host)
      : mps_(static_cast<std::uint32_t>(params.pcie.mps)),
        mrrs_(static_cast<std::uint32_t>(params.pcie.mrrs)),
        rcb_(static_cast<std::uint32_t>(params.pcie.rcb)) {
    device.tap(requests_);
    host.tap(answers_);
  }

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  [[nodiscard]] std::size_t open() const { return reads_.size(); }

  [[nodiscard]] unsigned pieces() const { return pieces_; }

  /// Completions that came while an earlier one's read still lacked data.
  [[nodiscard]] unsigned mixed() const { return mixed_; }

 private:
  struct tap : tlp_tap {
    tap(completion_rules& to, bool answers) : to_(to), answers_(answers) {}

    void on_tlp(ps_t /*departure*/, const tlp& packet) override {
      const bool completion = (packet.header[0] & 0x1f) == 0x0a;
      const bool read = (packet.header[0] & 0xdf) == 0;  // fmt 0 or 1, type 0
      if (answers_ && completion) {
        to_.on_completion(packet);
      } else if (!answers_ && read) {
        to_.on_read(packet);
      }
    }

    completion_rules& to_;
    bool answers_;
  };

  struct open_read {
    std::uint64_t address = 0;  ///< of the next byte
    std::uint32_t left = 0;
  };

  static unsigned tag_of(const tlp& packet, unsigned byte) {
    const auto& h = packet.header;
    return (h[1] & 0x80U) << 2 | (h[1] & 0x08U) << 5 | h[byte];
  }

  void violation(const std::string& what) { violations_.push_back(what); }

  void on_read(const tlp& packet) {
    const auto& h = packet.header;
    const bool long_address = (h[0] >> 5) == 1;
    std::uint64_t address = 0;
    for (unsigned i = 8; i < (long_address ? 16U : 12U); ++i) {
      address = address << 8 | h[i];
    }
    std::uint32_t dwords = (h[2] & 3U) << 8 | h[3];
    dwords = dwords == 0 ? 1024 : dwords;
    const unsigned first = h[7] & 0xfU;
    const unsigned last = dwords == 1 ? first : h[7] >> 4U;
    const auto skipped = static_cast<unsigned>(__builtin_ctz(first));
    const auto unused = static_cast<unsigned>(__builtin_clz(last)) - 28;
    if (4 * dwords > mrrs_) {
      violation(fmt::format("request: {} dwords", dwords));
    }
    if (address % 4096 + 4 * dwords > 4096) {
      violation(fmt::format("request: {} dwords at {:#x}", dwords, address));
    }
    const open_read opened{address + skipped, 4 * dwords - skipped - unused};
    if (!reads_.emplace(tag_of(packet, 6), opened).second) {
      violation(fmt::format("request: tag {} is in use", tag_of(packet, 6)));
    }
  }

  void on_completion(const tlp& packet) {
    const auto& h = packet.header;
    const unsigned tag = tag_of(packet, 10);
    const auto found = reads_.find(tag);
    if (found == reads_.end()) {
      violation(fmt::format("count: nobody asked with tag {}", tag));
      return;
    }
    open_read& open = found->second;
    const std::uint32_t coded = (h[6] & 0xfU) << 8 | h[7];
    const std::uint32_t count = coded == 0 ? 4096 : coded;
    if (count != open.left) {
      violation(fmt::format("count: {} with {} left", count, open.left));
    }
    if ((h[11] & 0x7fU) != (open.address & 0x7f)) {
      violation(fmt::format("address: {:#x} of {:#x}", h[11], open.address));
    }
    if (packet.payload_bytes > mps_ || packet.payload_bytes == 0) {
      violation(fmt::format("data: {} bytes", packet.payload_bytes));
    }
    ++pieces_;
    mixed_ += unfinished_ != Nobody && unfinished_ != tag ? 1 : 0;
    const auto lead = static_cast<std::uint32_t>(open.address & 3);
    const std::uint32_t bytes = packet.payload_bytes - lead;
    if (bytes >= open.left) {
      if (bytes - open.left > 3) {
        violation(fmt::format("data: {} bytes for {}", packet.payload_bytes, open.left));
      }
      reads_.erase(found);
      unfinished_ = Nobody;
      return;
    }
    open.address += bytes;
    open.left -= bytes;
    unfinished_ = tag;
    if (open.address % rcb_ != 0) {
      violation(fmt::format("boundary: {:#x}", open.address));
    }
  }

  static constexpr unsigned Nobody = ~0U;

  std::uint32_t mps_;
  std::uint32_t mrrs_;
  std::uint32_t rcb_;
  tap requests_{*this, false};
  tap answers_{*this, true};
  std::map<unsigned, open_read> reads_;
  unsigned unfinished_ = Nobody;
  unsigned pieces_ = 0;
  unsigned mixed_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace carillon
