// How switches are cabled: hosts on one switch, two tiers of leaves and spines, or a ring.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/context.h"
#include "fabric/switch/ethernet_switch.h"
#include "fabric/wire_link.h"

namespace carillon {

/// Hosts on leaves, every leaf on every spine.
struct leaf_spine {
  unsigned leaves = 2;
  unsigned spines = 2;
  unsigned hosts_per_leaf = 4;
  switch_port_settings host_port;    ///< of a leaf, towards a host
  switch_port_settings uplink_port;  ///< of a leaf towards a spine, and of a spine
};

/// Switches and the cables between them. Hosts are numbered from 0, leaf by leaf; who builds them
/// connects each one's wire_port to host_port() and says which addresses it has.
class topology {
 public:
  /// All hosts on one switch, one a port. Of `settings`, the ports are those of the hosts.
  static topology star(sim_context& context, const std::string& name,
                       const switch_settings& settings);

  /// Of `settings`, which hold for all switches, the ports are not looked at. Nothing is learned or
  /// flooded: the two tiers are full of loops.
  static topology two_tiers(sim_context& context, const std::string& name, const leaf_spine& shape,
                            const switch_settings& settings);

  /// A switch for each host, in a ring, and frames go round one way: with traffic that passes more
  /// than one switch each buffer can wait for the next one, all round. Of `settings`, the ports are
  /// those of each switch: its host's, the next switch's, the one before's. Nothing is learned or
  /// flooded.
  static topology ring(sim_context& context, const std::string& name, unsigned hosts,
                       const switch_settings& settings);

  [[nodiscard]] unsigned hosts() const { return static_cast<unsigned>(places_.size()); }

  [[nodiscard]] wire_port& host_port(unsigned host);

  /// Every switch knows the way to that address, by all the shortest paths.
  void add_address(unsigned host, std::uint64_t address);

  [[nodiscard]] std::size_t switches() const { return switches_.size(); }

  /// Leaves first, then spines.
  [[nodiscard]] ethernet_switch& at(std::size_t index) { return *switches_.at(index); }

  /// The switch that a host is on.
  [[nodiscard]] ethernet_switch& leaf_of(unsigned host) { return at(places_.at(host).leaf); }

  void check_drained() const;

 private:
  struct place {
    std::uint32_t leaf = 0;
    std::uint32_t port = 0;
  };

  topology() = default;

  static constexpr std::uint32_t RingPorts = 3;
  static constexpr std::uint32_t RingNext = 1;
  static constexpr std::uint32_t RingBefore = 2;

  std::vector<std::unique_ptr<ethernet_switch>> switches_;
  std::vector<place> places_;
  std::uint32_t leaves_ = 0;
  bool ring_ = false;
};

}  // namespace carillon
