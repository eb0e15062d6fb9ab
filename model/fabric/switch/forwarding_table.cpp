#include "fabric/switch/forwarding_table.h"

#include <fmt/format.h>
#include <utility>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::size_t FirstSize = 64;
constexpr unsigned GroupBit = 40;  // of an address: the lowest bit of its first byte

/// Every bit of the input changes every bit of the result (the finalizer of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

forwarding_table::forwarding_table(std::uint64_t seed)
    : seed_(mixed(seed + 0x9e3779b97f4a7c15ULL)), entries_(FirstSize) {}

std::size_t forwarding_table::place_of(std::uint64_t address) const {
  std::size_t place = mixed(address) & (entries_.size() - 1);
  while (entries_[place].address != address && entries_[place].address != NoAddress) {
    place = (place + 1) & (entries_.size() - 1);
  }
  return place;
}

void forwarding_table::grow() {
  std::vector<entry> old(entries_.size() * 2);
  std::swap(old, entries_);
  for (const entry& each : old) {
    if (each.address != NoAddress) {
      entries_[place_of(each.address)] = each;
    }
  }
}

forwarding_table::entry& forwarding_table::at(std::uint64_t address) {
  std::size_t place = place_of(address);
  if (entries_[place].address == NoAddress) {
    if (2 * (used_ + 1) > entries_.size()) {
      grow();
      place = place_of(address);
    }
    ++used_;
    entries_[place].address = address;
  }
  return entries_[place];
}

void forwarding_table::set(std::uint64_t address, std::vector<std::uint32_t> ports) {
  if (ports.empty() || (address >> GroupBit & 1) != 0) {
    throw config_error(
        fmt::format("switch: a static entry for {:012x} needs a port, and an "
                    "address that is not a group's",
                    address));
  }
  entry& of = at(address);
  of.is_static = true;
  of.port = ports.front();
  of.count = 0;
  if (ports.size() > 1) {
    of.first = static_cast<std::uint32_t>(group_ports_.size());
    of.count = static_cast<std::uint32_t>(ports.size());
    group_ports_.insert(group_ports_.end(), ports.begin(), ports.end());
  }
}

void forwarding_table::learn(std::uint64_t address, std::uint32_t port) {
  if ((address >> GroupBit & 1) != 0) {
    return;
  }
  entry& of = at(address);
  if (!of.is_static) {
    of.port = port;
  }
}

std::uint32_t forwarding_table::choice(std::uint16_t udp_source, std::uint32_t count) const {
  return static_cast<std::uint32_t>((mixed(udp_source ^ seed_) >> 32) * count >> 32);
}

std::optional<std::uint32_t> forwarding_table::find(std::uint64_t address,
                                                    std::uint16_t udp_source) const {
  const entry& of = entries_[place_of(address)];
  if (of.address == NoAddress) {
    return std::nullopt;
  }
  return of.count == 0 ? of.port : group_ports_[of.first + choice(udp_source, of.count)];
}

}  // namespace carillon
