// The house of the isolation suite: two hosts with their NICs, and on the first one a PF and four
// VFs, each with one of everything that a function can have.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "common/roce_packet.h"
#include "host/event_queue.h"
#include "host/sriov.h"
#include "host/verbs.h"
#include "pcie_endpoint.h"
#include "qpc_ram.h"

namespace carillon::isolation {

/// Who lives on the attacked NIC. The numbers are the functions'.
inline constexpr std::uint16_t Pf = 0;
inline constexpr std::uint16_t Attacker = 1;   ///< a VF whose tenant is hostile
inline constexpr std::uint16_t Victim = 2;     ///< a VF whose QPs run traffic all the time
inline constexpr std::uint16_t Bystander = 3;  ///< a VF that has everything and does nothing
inline constexpr std::uint16_t Ghost = 4;      ///< a VF that the PF has disabled
inline constexpr std::uint16_t Functions = 5;

inline constexpr std::uint16_t BystanderVlan = 100;
inline constexpr std::uint16_t Vectors = 8;
inline constexpr std::uint64_t StrangerMac = 0x0200000000fe;  ///< of nobody, on the wire
inline constexpr std::uint32_t StrangerAddress = 0x0a0909fe;
inline constexpr std::uint32_t Qkey = 0x11111111;
inline constexpr std::uint64_t BufferBytes = 4096;

using frame_bytes = std::vector<std::uint8_t>;

/// What a function has.
struct tenant {
  std::uint16_t function = 0;
  device* driver = nullptr;
  pci_function where;
  std::uint32_t pd = 0;
  std::uint32_t other_pd = 0;
  uar_handle* uar = nullptr;    ///< of all its queues
  uar_handle* spare = nullptr;  ///< a page that rings nothing
  std::uint32_t last_page = 0;  ///< the highest page number that it has
  std::unique_ptr<event_queue> events;
  std::unique_ptr<completion_queue> cq;
  std::unique_ptr<shared_receive_queue> srq;
  memory_region buffer;   ///< contiguous, for everybody with its key
  memory_region paged;    ///< of pages
  memory_region foreign;  ///< like `buffer`, of its other protection domain
  std::uint64_t paged_at = 0;
  std::unique_ptr<queue_pair> rc, rc_peer;  ///< connected to each other
  std::unique_ptr<queue_pair> uc, uc_peer;  ///< likewise
  std::unique_ptr<queue_pair> ud;
  std::unique_ptr<queue_pair> stale;  ///< UD; its address is the function's no more
  std::unique_ptr<queue_pair> blank;  ///< in RESET
  std::vector<std::uint32_t> qpns;

  [[nodiscard]] std::uint64_t page(std::uint32_t number) const {
    return where.bar2 + std::uint64_t{number} * UarPageBytes;
  }
};

class tenant_house {
 public:
  explicit tenant_house(std::uint64_t seed, std::uint64_t shuffle = 0);
  tenant_house(const tenant_house&) = delete;
  tenant_house& operator=(const tenant_house&) = delete;

  /// Brings all of them up; the ghost has lived and is disabled.
  task<> open(cpu& core);

  [[nodiscard]] node& home() { return system.at(0); }

  [[nodiscard]] node& away() { return system.at(1); }

  [[nodiscard]] tenant& of(std::uint16_t function) { return tenants_.at(function); }

  [[nodiscard]] sriov& admin() { return *admin_; }

  [[nodiscard]] std::uint64_t mac(std::uint16_t function) const {
    return endpoint().commands().mac(function);
  }

  // The attacked NIC's insides, to look at.
  [[nodiscard]] const qpc_ram& ram() const { return *ram_; }

  [[nodiscard]] pcie_endpoint& endpoint() const { return *endpoint_; }

  /// Puts a frame on the wire to the attacked NIC, as a stranger would; `change` may damage it. Its
  /// FCS is right.
  void inject(packet_description packet, std::uint32_t payload,
              const std::function<void(frame_bytes&)>& change);

  /// To RTS, connected to each other if they are not UD.
  static task<> connect(cpu& core, queue_pair& left, queue_pair& right);
  static task<> connect_datagram(cpu& core, queue_pair& qp, std::uint8_t gid_index = 0);

 private:
  buffer_pool frames_;  ///< the stranger's; some may be under way to the end

 public:
  system_model system;

 private:
  static run_point point(std::uint64_t seed, std::uint64_t shuffle);
  static task<std::unique_ptr<queue_pair>> make_qp(cpu& core, tenant& who, qpc_service service);
  task<> furnish(cpu& core, tenant& who, unsigned pages);

  std::unique_ptr<sriov> admin_;
  std::array<tenant, Functions> tenants_;
  qpc_ram* ram_ = nullptr;
  pcie_endpoint* endpoint_ = nullptr;
};

}  // namespace carillon::isolation
