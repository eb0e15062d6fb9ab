// One NIC: the stages, and the streams that bind them. No behaviour.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/context_sizes.h"
#include "common/frame_sink.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "common/rate_items.h"
#include "common/twin.h"

namespace carillon {

struct nic_options {
  std::uint64_t mac = 0;  ///< of the port (function 0)
  /// Implementation of the stages that have a twin; the model if not named.
  std::map<std::string, impl_kind, std::less<>> impl;
  twin_host* twins = nullptr;  ///< the RTL side, if there is one
};

class nic {
 public:
  /// `wire` is where frames go; frames come in through on_frame. The host is connected at pcie().
  nic(sim_context& context, std::string name, tlp_pool& tlps, frame_sink& wire,
      const nic_options& options);
  nic(const nic&) = delete;
  nic& operator=(const nic&) = delete;
  ~nic();

  [[nodiscard]] nic_shared& shared();
  [[nodiscard]] const counter_block& counters() const;
  [[nodiscard]] pcie_port& pcie();

  /// The context lines that there are, and those of a function's partition.
  [[nodiscard]] context_sizes contexts() const;
  [[nodiscard]] context_sizes contexts(std::uint16_t function) const;

  /// A frame is on its way here (see rx_mac).
  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit);

  /// The receiver is stuck between these times (see rx_mac).
  void stick(unsigned priority, ps_t from, ps_t to);

  /// Bit n: the other end of the cable has paused priority n.
  [[nodiscard]] std::uint8_t paused() const;

  /// Adds the rates of all QPs that rate control has to do with.
  void list_rates(std::vector<qp_rate>& into) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace carillon
