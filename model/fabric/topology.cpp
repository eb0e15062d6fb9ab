#include "fabric/topology.h"

#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "common/error.h"

namespace carillon {

topology topology::star(sim_context& context, const std::string& name,
                        const switch_settings& settings) {
  topology result;
  result.switches_.push_back(std::make_unique<ethernet_switch>(name.c_str(), context, settings));
  result.leaves_ = 1;
  for (std::uint32_t i = 0; i < result.at(0).ports(); ++i) {
    result.places_.push_back({0, i});
  }
  return result;
}

topology topology::two_tiers(sim_context& context, const std::string& name, const leaf_spine& shape,
                             const switch_settings& settings) {
  if (shape.leaves == 0 || shape.spines == 0 || shape.hosts_per_leaf == 0) {
    throw config_error(
        fmt::format("{}: {} leaves, {} spines, {} hosts a leaf: one of each at least", name,
                    shape.leaves, shape.spines, shape.hosts_per_leaf));
  }
  topology result;
  result.leaves_ = shape.leaves;
  switch_settings common = settings;
  common.learn = false;
  common.flood = false;
  for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
    common.ports.assign(shape.hosts_per_leaf, shape.host_port);
    common.ports.insert(common.ports.end(), shape.spines, shape.uplink_port);
    result.switches_.push_back(std::make_unique<ethernet_switch>(
        fmt::format("{}_leaf{}", name, leaf).c_str(), context, common));
    for (std::uint32_t host = 0; host < shape.hosts_per_leaf; ++host) {
      result.places_.push_back({leaf, host});
    }
  }
  for (std::uint32_t spine = 0; spine < shape.spines; ++spine) {
    common.ports.assign(shape.leaves, shape.uplink_port);
    result.switches_.push_back(std::make_unique<ethernet_switch>(
        fmt::format("{}_spine{}", name, spine).c_str(), context, common));
    for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
      result.at(leaf)
          .wire(shape.hosts_per_leaf + spine)
          .connect(result.switches_.back()->wire(leaf));
    }
  }
  return result;
}

topology topology::ring(sim_context& context, const std::string& name, unsigned hosts,
                        const switch_settings& settings) {
  if (hosts < 2 || settings.ports.size() != RingPorts) {
    throw config_error(fmt::format("{}: {} hosts, {} ports a switch: at least 2, and {}", name,
                                   hosts, settings.ports.size(), RingPorts));
  }
  topology result;
  result.ring_ = true;
  result.leaves_ = hosts;
  switch_settings common = settings;
  common.learn = false;
  common.flood = false;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    result.switches_.push_back(
        std::make_unique<ethernet_switch>(fmt::format("{}{}", name, i).c_str(), context, common));
    result.places_.push_back({i, 0});
  }
  for (std::uint32_t i = 0; i < hosts; ++i) {
    result.at(i).wire(RingNext).connect(result.at((i + 1) % hosts).wire(RingBefore));
  }
  return result;
}

wire_port& topology::host_port(unsigned host) {
  const place& of = places_.at(host);
  return at(of.leaf).wire(of.port);
}

void topology::add_address(unsigned host, std::uint64_t address) {
  const place& of = places_.at(host);
  for (std::uint32_t i = 0; i < switches_.size(); ++i) {
    if (i == of.leaf) {
      at(i).add_route(address, {of.port});
    } else if (i >= leaves_) {
      at(i).add_route(address, {of.leaf});
    } else if (ring_) {
      at(i).add_route(address, {RingNext});
    } else {
      const std::uint32_t spines = static_cast<std::uint32_t>(switches_.size()) - leaves_;
      std::vector<std::uint32_t> uplinks(spines);
      std::iota(uplinks.begin(), uplinks.end(), at(i).ports() - spines);
      at(i).add_route(address, std::move(uplinks));
    }
  }
}

void topology::check_drained() const {
  for (const auto& each : switches_) {
    each->check_drained();
  }
}

}  // namespace carillon
