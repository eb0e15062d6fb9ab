// The virtual ports of a device and how they share it: a level from pcie_endpoint, read by the
// stages that steer, check and schedule. The administrator (the PF) sets it; a VF changes only what
// it is trusted with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace carillon {

/// How tx_sched shares the wire between functions.
enum class vport_arbitration : std::uint8_t { round_robin, weighted, strict };

/// One virtual port; its number is its function's.
struct vport {
  /// An address that frames may come from: an entry of the function's GID table.
  struct source {
    bool valid = false;
    std::array<std::uint8_t, 16> address{};

    bool operator==(const source&) const = default;
  };

  bool enabled = false;  ///< the function is initialised and its link is up
  std::uint64_t mac = 0;
  std::optional<std::uint16_t> vlan;  ///< its frames carry this tag, whatever its QPs say
  std::uint8_t priority = 0;          ///< PCP of that tag
  bool any_vlan = true;               ///< without a VLAN here, its QPs may have one
  bool spoof_check = true;            ///< its frames carry its own MAC, VLAN and addresses, or none
  bool promiscuous = false;           ///< unknown destinations are its own
  std::uint32_t max_rate_mbps = 0;    ///< of its requests on the wire; 0: the port's
  std::uint16_t weight = 1;           ///< share in weighted arbitration
  std::uint8_t urgency = 0;           ///< in strict arbitration the highest goes first
  std::vector<source> sources;        ///< by GID index

  bool operator==(const vport&) const = default;
};

class vport_table {
 public:
  vport_arbitration arbitration = vport_arbitration::round_robin;

  vport_table() = default;

  explicit vport_table(std::vector<vport> ports,
                       vport_arbitration how = vport_arbitration::round_robin)
      : arbitration(how), ports_(std::move(ports)) {
    std::uint16_t number = 0;
    for (const vport& port : ports_) {
      if (port.enabled) {
        by_mac_.emplace_back(port.mac, number);
        if (port.promiscuous) {
          promiscuous_.push_back(number);
        }
      }
      ++number;
    }
    std::sort(by_mac_.begin(), by_mac_.end());
  }

  [[nodiscard]] std::size_t size() const { return ports_.size(); }

  [[nodiscard]] const vport& at(std::uint16_t function) const { return ports_.at(function); }

  /// The enabled port with this MAC address whose VLAN the frame has. A port without a VLAN takes
  /// tagged and untagged frames, but for those of a port with the same address that has their VLAN.
  [[nodiscard]] std::optional<std::uint16_t> find(std::uint64_t mac,
                                                  std::optional<std::uint16_t> vlan) const {
    auto found = std::lower_bound(by_mac_.begin(), by_mac_.end(),
                                  std::pair<std::uint64_t, std::uint16_t>(mac, 0));
    std::optional<std::uint16_t> any;
    for (; found != by_mac_.end() && found->first == mac; ++found) {
      const vport& port = ports_[found->second];
      if (port.vlan && port.vlan == vlan) {
        return found->second;
      }
      if (!port.vlan && !any) {
        any = found->second;
      }
    }
    return any;
  }

  /// The first enabled port that takes what nobody else does; of a VLAN that is not its own, it
  /// sees nothing.
  [[nodiscard]] std::optional<std::uint16_t> promiscuous(std::optional<std::uint16_t> vlan) const {
    for (const std::uint16_t port : promiscuous_) {
      if (!ports_[port].vlan || ports_[port].vlan == vlan) {
        return port;
      }
    }
    return std::nullopt;
  }

  bool operator==(const vport_table&) const = default;

 private:
  std::vector<vport> ports_;
  std::vector<std::pair<std::uint64_t, std::uint16_t>> by_mac_;  ///< sorted
  std::vector<std::uint16_t> promiscuous_;                       ///< in ascending order
};

}  // namespace carillon
