// What an administrator decides about a device and its VFs, as plain data: the vendor tool's and
// `ip link`'s settings. What is not set keeps the default of the device or of the driver.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gen/contexts.h"

namespace carillon {

/// The tables of the context RAM that are divided among the functions.
enum class context_table : std::uint8_t { qps, cqs, eqs, srqs, mkeys, mtt_lines };

inline constexpr std::size_t ContextTables = 6;

const char* to_string(context_table table);

/// One value for each table.
template <class T>
struct per_table {
  std::array<T, ContextTables> values{};

  [[nodiscard]] T& operator[](context_table table) {
    return values[static_cast<std::size_t>(table)];
  }

  [[nodiscard]] const T& operator[](context_table table) const {
    return values[static_cast<std::size_t>(table)];
  }

  bool operator==(const per_table&) const = default;
};

struct vf_settings {
  std::optional<std::uint64_t> mac;
  std::optional<std::uint16_t> vlan;
  std::optional<std::uint8_t> qos;
  std::optional<bool> spoof_check;
  std::optional<bool> trust;
  std::optional<std::uint32_t> max_tx_rate;  ///< Mb/s
  std::optional<vport_link_state> link_state;
  std::optional<std::uint16_t> weight;
  std::optional<std::uint8_t> urgency;
  per_table<std::optional<std::uint32_t>> lines;  ///< of its partition of the context RAM

  bool operator==(const vf_settings&) const = default;
};

struct device_settings {
  bool sriov = false;     ///< SRIOV_EN
  std::uint16_t vfs = 0;  ///< NUM_OF_VFS
  bool shared = false;    ///< users share the PF instead of getting a VF each
  std::optional<function_arbitration> arbitration;
  std::vector<vf_settings> vf;  ///< by index; those beyond its end have nothing set

  [[nodiscard]] std::uint16_t enabled_vfs() const { return sriov ? vfs : std::uint16_t{0}; }

  [[nodiscard]] vf_settings of(std::uint16_t index) const {
    return index < vf.size() ? vf[index] : vf_settings{};
  }

  bool operator==(const device_settings&) const = default;
};

}  // namespace carillon
