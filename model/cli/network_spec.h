// What a scenario says about the network between its hosts, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/types.h"
#include "fabric/switch/switch_settings.h"

namespace carillon {

enum class network_shape : std::uint8_t {
  direct,      ///< two hosts and a cable
  star,        ///< all hosts on one switch
  leaf_spine,  ///< hosts on leaves, every leaf on every spine
  ring,  ///< a switch for each host, and frames go round one way: buffers that wait in a circle
};

inline constexpr unsigned MaxHosts = 64;

const char* to_string(network_shape shape);

/// A host's receiver that asks for pauses without a reason: a NIC that is stuck.
struct storm_rule {
  unsigned host = 0;
  std::uint8_t priority = 0;
  ps_t from = 0;
  ps_t to = NeverPs;
};

struct network_spec {
  network_shape shape = network_shape::direct;
  unsigned hosts = 2;
  unsigned leaves = 2;
  unsigned spines = 2;
  // Of cables between switches; 0: as a host's.
  std::uint64_t uplink_gbps = 0;
  std::uint64_t uplink_metres = 0;
  ps_t end = NeverPs;  ///< the run ends then, whatever is under way
  switch_settings switches;
  switch_port_settings port;  ///< trust and default priority; rate and delay are the cable's
  std::vector<storm_rule> storms;

  [[nodiscard]] bool switched() const { return shape != network_shape::direct; }
};

}  // namespace carillon
