#include "cli/network_window.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "fabric/wire_link.h"

namespace carillon {

namespace {

constexpr std::uint64_t From = 0;
constexpr std::uint64_t To = 1;
constexpr double PsPerUs = 1'000'000;
constexpr double GigabitsOfByte = 8000;  // a byte a picosecond, in Gb/s

/// Bytes on the wire that a port has sent: preambles and gaps too.
double wire_bytes_sent(const switch_port_counters& port) {
  std::uint64_t sum = 0;
  for (const priority_counters& each : port.priorities) {
    sum += each.tx_bytes + each.tx_packets * (wire_bytes(0) - FcsBytes);
  }
  return static_cast<double>(sum);
}

}  // namespace

network_window::network_window(system_model& system)
    : timed(system.context.line), system_(system) {}

void network_window::open(ps_t from, ps_t to) {
  if (from_ != NeverPs) {
    return;
  }
  from_ = from;
  to_ = to;
  system_.context.line.timer(from, *this, From);
  system_.context.line.timer(to, *this, To);
}

void network_window::on_time(ps_t /*now*/, std::uint64_t what) {
  (what == From ? before_ : after_) = count();
}

network_window::port_counters network_window::count() const {
  port_counters result;
  topology* network = system_.network();
  for (std::size_t i = 0; network != nullptr && i < network->switches(); ++i) {
    ethernet_switch& each = network->at(i);
    for (std::uint32_t port = 0; port < each.ports(); ++port) {
      result.push_back(each.counters(port));
    }
  }
  return result;
}

std::optional<measured_network> network_window::measured() const {
  if (after_.empty()) {
    return std::nullopt;
  }
  measured_network result;
  const auto span = static_cast<double>(to_ - from_);
  result.microseconds = span / PsPerUs;
  std::size_t number = 0;
  topology* network = system_.network();
  for (std::size_t i = 0; i < network->switches(); ++i) {
    const ethernet_switch& where = network->at(i);
    for (std::uint32_t port = 0; port < where.ports(); ++port, ++number) {
      const switch_port_counters& old = before_[number];
      const switch_port_counters& now = after_[number];
      for (unsigned priority = 0; priority < PriorityCount; ++priority) {
        const priority_counters& was = old.priorities[priority];
        const priority_counters& is = now.priorities[priority];
        result.xoffs += is.tx_xoff - was.tx_xoff;
        result.marked += is.tx_ecn_marked - was.tx_ecn_marked;
        result.discards += is.rx_discards - was.rx_discards;
        const double mean = (is.queue_byte_ps - was.queue_byte_ps) / span;
        if (mean < result.mean_queue || is.tx_packets == was.tx_packets) {
          continue;
        }
        const double squares = (is.queue_square_ps - was.queue_square_ps) / span;
        const auto rate = static_cast<double>(where.settings().ports[port].rate_gbps);
        result.queue = fmt::format("{}.port{}.prio{}", where.name(), port, priority);
        result.mean_queue = mean;
        result.queue_deviation = std::sqrt(std::max(0.0, squares - mean * mean));
        result.utilisation =
            (wire_bytes_sent(now) - wire_bytes_sent(old)) * GigabitsOfByte / (rate * span);
      }
    }
  }
  return result;
}

}  // namespace carillon
