// Constrained-random frames for the bench of rx_parser, the QPs that they are for, and the virtual
// ports that they meet: legal packets of every opcode, each reason to be refused, and the corners
// of both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/buffer.h"
#include "common/items.h"
#include "common/random.h"
#include "common/roce_packet.h"
#include "common/vport.h"
#include "cosim/coverage.h"
#include "gen/contexts.h"

namespace carillon {

/// The QPs and virtual ports of the bench, as they are at first and as they change.
struct rx_parser_world {
  static constexpr unsigned Qps = 96;
  /// The last of them has no virtual port.
  static constexpr unsigned Functions = 7;
  static constexpr unsigned Ports = Functions - 1;

  using line = std::array<std::uint8_t, BeatBytes>;

  struct qp_lines {
    line common{};
    line responder{};

    bool operator==(const qp_lines&) const = default;
  };

  using lines = std::array<qp_lines, Qps>;

  /// The numbers of a QP and of its neighbour differ in one bit, which is another one for others.
  static std::uint32_t number_of(unsigned qp);
  /// Which QP has this number.
  static std::optional<unsigned> find(std::uint32_t qpn);

  static std::uint16_t function_of(unsigned qp) {
    return static_cast<std::uint16_t>(qp % Functions);
  }

  static qp_service service_of(unsigned qp) {
    constexpr std::array Services = {qp_service::Rc, qp_service::Rc, qp_service::Uc,
                                     qp_service::Ud};
    return Services[qp / Functions % Services.size()];
  }

  static std::uint64_t mac_of(unsigned port) { return 0x020000000100ULL + port; }

  static std::uint16_t vlan_of(unsigned port) { return static_cast<std::uint16_t>(0x400 + port); }

  static vport_table first_ports();
  static vport_table changed(const vport_table& before, random_stream& random);

  static lines first_lines(random_stream& random);
  static lines changed(lines before, random_stream& random);
};

class rx_parser_traffic {
 public:
  rx_parser_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover)
      : buffers_(buffers), random_(seed, "rx_parser_bench/frame"), cover_(cover) {}

  /// A frame for ports and QPs as they are.
  frame_item make(const vport_table& ports, const rx_parser_world::lines& lines);

  /// The QP that the last frame is for.
  [[nodiscard]] std::uint32_t qpn() const { return qpn_; }

  /// It is one of many good requests: a responder that is slow now has all it can get.
  [[nodiscard]] bool flooding() const { return flood_; }

 private:
  unsigned choose_qp();
  bth_opcode choose_opcode();
  std::uint32_t choose_payload();
  packet_description choose_packet(const rx_parser_world::lines& lines);
  void choose_addresses(packet_description& packet, const vport_table& ports, bool looped);
  frame_item build(const packet_description& packet);
  void damage(frame_item& frame, const packet_description& packet);
  void damage_ip(std::uint8_t* ip, bool is_ipv6);
  void damage_transport(std::uint8_t* udp_header);
  void stretch(frame_item& frame, const packet_description& packet);
  void pad(frame_item& frame);
  void touch_masked(std::uint8_t* ip, bool is_ipv6);

  /// One of few values near a limit, or any.
  std::uint64_t any(unsigned bits) { return random_.next() >> (64 - bits); }

  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
  unsigned qp_ = 0;        ///< of the last frame, by its place in the world
  std::uint32_t qpn_ = 0;  ///< its number, or one that nobody has
  unsigned first_qp_ = 0;  ///< of the present habit
  unsigned qps_ = 1;       ///< as many, in turn
  unsigned turn_ = 0;
  bool answers_ = false;     ///< mostly responses
  bool flood_ = false;       ///< good requests for one QP after the other
  std::uint64_t habit_ = 0;  ///< frames until there is another
};

}  // namespace carillon
