// Hosts, each with a NIC, and the cable or the network between them: everything that one run
// simulates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/scenario.h"
#include "common/context.h"
#include "common/frame_sink.h"
#include "common/tlp.h"
#include "fabric/fault_injector.h"
#include "fabric/topology.h"
#include "fabric/wire_link.h"
#include "host/driver.h"
#include "host/machine.h"
#include "host/pci_bus.h"
#include "nic.h"

namespace carillon {

/// One end: a host, its NIC, and the NIC's end of the cable.
class node final : private frame_sink, private wire_listener {
 public:
  node(sim_context& context, tlp_pool& tlps, unsigned index, unsigned cores,
       const nic_options& options);
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  const std::string name;
  machine host;
  wire_port wire;
  nic adapter;
  pci_bus slot;
  device driver;  ///< of the PF

  /// A driver's object for a function; it lives as long as the node.
  device& make_device(unsigned function);

  /// Of all its drivers, those to come included.
  void observe(verbs_observer* observer);

  /// Whether one of its functions has this MAC address.
  [[nodiscard]] bool has_address(std::uint64_t mac) const;

  /// Those of its functions in the order of their numbers follow.
  [[nodiscard]] static std::uint64_t first_address(unsigned index);

 private:
  [[nodiscard]] ps_t free_at() const override { return wire.free_at(); }

  void send(frame_item frame, ps_t first_bit) override { wire.send(std::move(frame), first_bit); }

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
    adapter.on_frame(std::move(frame), first_bit, last_bit);
  }

  const unsigned index_;
  verbs_observer* observer_ = nullptr;
  std::vector<std::unique_ptr<device>> made_;
};

class system_model {
 public:
  /// `make_twins` makes the RTL side if a stage asks for it; empty in a program without RTL.
  system_model(const run_point& point, unsigned cores,
               const std::function<std::unique_ptr<twin_host>(sim_context&)>& make_twins);

  sim_context context;
  tlp_pool tlps;

  [[nodiscard]] node& at(unsigned index) { return *nodes_.at(index); }

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }

  /// What disturbs the cable; nullptr if no rule does.
  [[nodiscard]] fault_injector* faults() { return faults_.get(); }

  /// The network; nullptr if it is a cable.
  [[nodiscard]] topology* network() { return network_ ? &*network_ : nullptr; }

  /// Runs until nothing is left to happen, or to the time at which the scenario ends the run.
  void run();

  /// A program of a core has not come to its end.
  [[nodiscard]] bool running() const;

  /// The run was ended while something was under way.
  [[nodiscard]] bool stopped();

  /// At the end of a run: all streams empty, every credit home, nothing left over between model and
  /// RTL.
  void check_drained();

  /// In its place, of a run that was ended with work under way.
  void leave_undone();

 private:
  void connect_all(unsigned vfs);

  std::unique_ptr<twin_host> twins_;  ///< destroyed after the nodes that use it
  buffer_pool fault_buffers_;         ///< likewise: frames of it may be anywhere
  const ps_t end_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::optional<topology> network_;
  std::unique_ptr<fault_injector> faults_;  ///< may hold frames of the nodes
};

}  // namespace carillon
