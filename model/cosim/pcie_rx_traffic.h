// Constrained-random TLPs for the bench of pcie_rx: every kind that is served, refused or dropped,
// at the corners of the functions' BARs and anywhere else, sound and malformed; and function maps
// that move, end and reset them.
#pragma once

#include <cstdint>

#include "common/function_map.h"
#include "common/random.h"
#include "common/tlp_codec.h"

namespace carillon {

/// What the host makes of its functions: each map differs from the one before in something.
class pcie_rx_maps {
 public:
  explicit pcie_rx_maps(std::uint64_t seed) : random_(seed, "pcie_rx_bench/maps") { renew(); }

  const function_map& next();

 private:
  void renew();
  void reset_some();
  bar_window window(std::uint64_t least, std::uint64_t most);

  random_stream random_;
  function_map map_;
};

class pcie_rx_traffic {
 public:
  explicit pcie_rx_traffic(std::uint64_t seed) : random_(seed, "pcie_rx_bench/tlps") {}

  /// For a device whose BARs are as `map` says.
  void make(tlp& packet, const function_map& map);

 private:
  /// A whole BAR, and where in it to go.
  struct target {
    std::uint64_t base = 0;
    std::uint64_t bytes = 4096;
  };

  [[nodiscard]] target pick_bar(const function_map& map);
  /// `bytes` at a place of a target, or near to it; within a page.
  [[nodiscard]] std::uint64_t address(const function_map& map, std::uint32_t bytes);
  void write(tlp& packet, const function_map& map);
  void read(tlp& packet, const function_map& map);
  void completion(tlp& packet);
  void config(tlp& packet);
  void message(tlp& packet);
  void other(tlp& packet, const function_map& map);
  void anything(tlp& packet);
  void spoil(tlp& packet);
  void lengthen_header(tlp& packet);

  random_stream random_;
  unsigned storm_ = 0;  ///< TLPs still to come of one kind
  unsigned storm_kind_ = 0;
  unsigned storm_bar_ = 0;
};

}  // namespace carillon
