// Constrained-random packets for the bench of packet_builder, the paths that they find, and the
// virtual ports that they meet: legal ones of every opcode, each reason to be dropped, and the
// corners of both.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/buffer.h"
#include "common/items.h"
#include "common/random.h"
#include "common/vport.h"
#include "cosim/bench_parts.h"
#include "gen/contexts.h"

namespace carillon {

/// What of the paths and ports does not change, and how the rest changes.
struct packet_builder_world {
  static constexpr unsigned Qps = 84;
  /// The last of them has no virtual port.
  static constexpr unsigned Functions = 7;
  static constexpr unsigned Ports = Functions - 1;
  static constexpr unsigned Addresses = 4;
  static constexpr unsigned EmptyAddress = 2;  ///< entry of a port's list without address

  /// Resets of each QP so far.
  using lives = std::array<std::uint8_t, Qps>;

  explicit packet_builder_world(std::uint64_t seed);

  static std::uint16_t function_of(unsigned index) {
    return static_cast<std::uint16_t>(index % Functions);
  }

  static qp_service service_of(unsigned index) {
    constexpr std::array Services = {qp_service::Rc, qp_service::Uc, qp_service::Ud,
                                     qp_service::Rc};
    return Services[index / Functions % Services.size()];
  }

  /// Any bits, but the two that make it a local address of one station; of two ports the one has
  /// those that the other has not.
  static constexpr std::uint64_t mac_of(unsigned port) {
    const std::uint64_t bits = (port / 2 + 1) * 0x9e3779b97f4a7c15ULL >> 16;
    return ((port % 2 == 0 ? bits : ~bits) & 0xfcffffffffffULL) | 0x020000000000ULL;
  }

  /// The number of a QP: above its index is anything.
  static constexpr std::uint32_t number_of(unsigned index) {
    return (index * 0x9e3779b9U & 0xffff80) | index;
  }

  static constexpr unsigned index_of(std::uint32_t qpn) { return qpn & 0x7f; }

  static std::array<std::uint8_t, 16> address_of(unsigned port, unsigned index);

  /// The ports as they are at first, and after a change to one of them.
  static vport_table first_ports();
  static vport_table changed(const vport_table& before, random_stream& random);

  std::array<qpc_address, Qps> paths{};

 private:
  static void claim_all_but_one(unsigned which, unsigned own, random_stream& random,
                                qpc_address& path);
};

class packet_builder_traffic {
 public:
  packet_builder_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover)
      : buffers_(buffers), random_(seed, "packet_builder_bench/packet"), cover_(cover) {}

  /// The next packet in the order of the grants, for `filled` if it has a frame.
  packet_item make(const packet_builder_world::lives& lives);

 private:
  void make_request(packet_item& packet);
  void make_response(packet_item& packet);
  void add_payload(packet_item& packet);
  void add_address(packet_item& packet);
  [[nodiscard]] std::uint8_t other_opcode();
  [[nodiscard]] std::uint32_t payload_bytes();

  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
  std::uint64_t order_ = 0;
};

}  // namespace carillon
