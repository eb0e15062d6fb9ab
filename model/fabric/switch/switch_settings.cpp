#include "fabric/switch/switch_settings.h"

#include <cmath>
#include <fmt/format.h>
#include <string>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint64_t HighestRate = 800;
constexpr std::uint64_t LongestCable = 1'000'000'000;
constexpr double AlphaUnits = 128;

template <class Value>
void check_range(std::string_view owner, std::string_view name, std::string_view unit, Value value,
                 Value low, Value high) {
  // Written so that a fraction that is not a number is refused too.
  if (!(value >= low && value <= high)) {
    throw config_error(fmt::format("{}: {} = {}{}{}: must be {} to {}", owner, name, value,
                                   unit.empty() ? "" : " ", unit, low, high));
  }
}

void check_priority(std::string_view owner, const switch_priority_settings& of) {
  for (const auto& [name, unit, member, low, high, provenance, doc] : PriorityIntegers) {
    check_range(owner, name, unit, of.*member, low, high);
  }
  for (const auto& [name, unit, member, low, high, provenance, doc] : PriorityFractions) {
    check_range(owner, name, "", of.*member, low, high);
    if (*unit != '\0' && std::floor(of.*member * AlphaUnits) != of.*member * AlphaUnits) {
      throw config_error(
          fmt::format("{}: {} = {}: must be a multiple of {}", owner, name, of.*member, unit));
    }
  }
  if (of.kmin_bytes > of.kmax_bytes) {
    throw config_error(fmt::format("{}: kmin_bytes {} is above kmax_bytes {}", owner, of.kmin_bytes,
                                   of.kmax_bytes));
  }
}

}  // namespace

switch_settings switch_settings::of_ports(unsigned count, const switch_port_settings& port) {
  switch_settings result;
  result.ports.assign(count, port);
  return result;
}

std::array<switch_priority_settings, PriorityCount> switch_settings::default_priorities() {
  constexpr std::array Lossless = {3U, 4U};
  constexpr unsigned Cnps = 6;
  std::array<switch_priority_settings, PriorityCount> result;
  for (const unsigned each : Lossless) {
    result[each].lossless = true;
    result[each].ecn = true;
  }
  result[Cnps].strict = true;
  return result;
}

std::array<std::uint8_t, 64> switch_settings::class_selectors() {
  std::array<std::uint8_t, 64> result{};
  for (std::size_t dscp = 0; dscp < result.size(); ++dscp) {
    result[dscp] = static_cast<std::uint8_t>(dscp >> 3);
  }
  return result;
}

void switch_settings::check(std::string_view owner) const {
  constexpr std::size_t MostPorts = 1024;
  check_range<std::uint64_t>(owner, "number of ports", "", ports.size(), 1, MostPorts);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string port = fmt::format("{}: port {}", owner, i);
    check_range<std::uint64_t>(port, "rate_gbps", "Gb/s", ports[i].rate_gbps, 1, HighestRate);
    check_range<std::uint64_t>(port, "cable_delay_ps", "ps", ports[i].cable_delay_ps, 0,
                               LongestCable);
    check_range<std::uint64_t>(port, "default_priority", "", ports[i].default_priority, 0,
                               PriorityCount - 1);
  }
  for (const auto& [name, unit, member, low, high, provenance, doc] : SwitchIntegers) {
    check_range(owner, name, unit, this->*member, low, high);
  }
  for (unsigned i = 0; i < PriorityCount; ++i) {
    check_priority(fmt::format("{}: priority {}", owner, i), priorities[i]);
  }
  for (const std::uint8_t each : dscp_to_priority) {
    check_range<std::uint64_t>(owner, "priority of a DSCP", "", each, 0, PriorityCount - 1);
  }
  for (const std::uint8_t each : pcp_to_priority) {
    check_range<std::uint64_t>(owner, "priority of a PCP", "", each, 0, PriorityCount - 1);
  }
}

}  // namespace carillon
