#include "cli/system.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "cli/network_settings.h"
#include "common/run.h"

namespace carillon {

namespace {

/// Locally administered, one for each node; its VFs' addresses follow.
constexpr std::uint64_t FirstMac = 0x020000000001;
constexpr unsigned MacsPerNode = 0x10000;
/// 10.0.0.1, 10.0.0.2 ...
constexpr std::uint32_t FirstAddress = 0x0a000001;
/// 10.1.0.0 and 10.2.0.0, plus the function's number.
constexpr std::uint32_t FirstVfAddress = 0x0a010000;
constexpr std::uint32_t VfAddressesPerNode = 0x10000;

nic_options options_of(const run_point& point, unsigned index, twin_host* twins) {
  nic_options options;
  options.mac = node::first_address(index);
  options.impl = point.impl;
  options.twins = twins;
  return options;
}

bool wants_twins(const run_point& point) {
  for (const auto& [stage, impl] : point.impl) {
    if (impl != impl_kind::model) {
      return true;
    }
  }
  return false;
}

}  // namespace

node::node(sim_context& context, tlp_pool& tlps, unsigned index, unsigned cores,
           const nic_options& options)
    : name(fmt::format("host{}", index)),
      host(name.c_str(), context, tlps, cores),
      wire(fmt::format("wire{}", index).c_str(), context),
      adapter(context, fmt::format("nic{}", index), tlps, *this, options),
      slot(host),
      driver(host, slot, 0, adapter.shared().posted, gid_of_ipv4(FirstAddress + index)),
      index_(index) {
  host.slot_port().connect(adapter.pcie());
  wire.listen(*this);
}

std::uint64_t node::first_address(unsigned index) {
  return FirstMac + std::uint64_t{index} * MacsPerNode;
}

device& node::make_device(unsigned function) {
  // Those of a node are in one subnet: 10.1.0.1 is VF 0 of the first.
  const gid address = gid_of_ipv4(FirstVfAddress + index_ * VfAddressesPerNode + function);
  made_.push_back(std::make_unique<device>(host, slot, function, adapter.shared().posted, address));
  made_.back()->observe(observer_);
  return *made_.back();
}

void node::observe(verbs_observer* observer) {
  observer_ = observer;
  driver.observe(observer);
  for (const auto& each : made_) {
    each->observe(observer);
  }
}

bool node::has_address(std::uint64_t mac) const {
  return driver.mac() == mac || std::any_of(made_.begin(), made_.end(),
                                            [mac](const auto& each) { return each->mac() == mac; });
}

system_model::system_model(
    const run_point& point, unsigned cores,
    const std::function<std::unique_ptr<twin_host>(sim_context&)>& make_twins)
    : context(point.params, point.seed, point.shuffle), end_(point.network.end) {
  if (wants_twins(point) && make_twins) {
    twins_ = make_twins(context);
  }
  for (unsigned index = 0; index < point.network.hosts; ++index) {
    nodes_.push_back(std::make_unique<node>(context, tlps, index, cores,
                                            options_of(point, index, twins_.get())));
  }
  for (const read_fault_rule& rule : point.pcie_faults) {
    for (unsigned index = 0; index < size(); ++index) {
      if (rule.host.value_or(index) == index) {
        nodes_[index]->host.bus.inject(rule);
      }
    }
  }
  for (const storm_rule& storm : point.network.storms) {
    nodes_[storm.host]->adapter.stick(storm.priority, storm.from, storm.to);
  }
  network_ = make_topology(context, point);
  if (network_) {
    connect_all(static_cast<unsigned>(point.params.nic.total_vfs));
  } else {
    nodes_[0]->wire.connect(nodes_[1]->wire);
  }
  if (!point.faults.empty()) {
    faults_ = std::make_unique<fault_injector>(context, point.faults, fault_buffers_);
    faults_->insert(fault_direction::host0_to_host1, nodes_[0]->wire);
    faults_->insert(fault_direction::host1_to_host0, nodes_[1]->wire);
  }
}

void system_model::connect_all(unsigned vfs) {
  for (unsigned index = 0; index < size(); ++index) {
    nodes_[index]->wire.connect(network_->host_port(index));
    for (unsigned function = 0; function <= vfs; ++function) {
      network_->add_address(index, node::first_address(index) + function);
    }
  }
}

void system_model::run() {
  run_simulation(end_);
}

bool system_model::running() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
    for (unsigned i = 0; i < each->host.cores(); ++i) {
      if (each->host.core(i).busy()) {
        return true;
      }
    }
    return false;
  });
}

/// What is left may be timers that have nothing to do any more.
bool system_model::stopped() {
  if (due_process::at_rest()) {
    return false;
  }
  bool queued = false;
  for (std::size_t i = 0; network_ && i < network_->switches(); ++i) {
    const ethernet_switch& each = network_->at(i);
    for (std::uint32_t port = 0; port < each.ports(); ++port) {
      queued = queued || !each.egress(port).empty();
    }
  }
  return queued || running();
}

void system_model::check_drained() {
  context.check_drained();
  if (network_) {
    network_->check_drained();
  }
  if (faults_ != nullptr) {
    faults_->check_drained();
  }
  if (twins_ != nullptr) {
    twins_->finish();
  }
}

void system_model::leave_undone() {
  if (twins_ != nullptr) {
    twins_->stop();
  }
}

}  // namespace carillon
