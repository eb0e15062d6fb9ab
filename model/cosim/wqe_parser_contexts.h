// The contexts that the WQEs of wqe_parser's bench meet.
#pragma once

#include <array>
#include <cstdint>

#include "gen/contexts.h"

namespace carillon {

/// The contexts: QP q and key k, with every state and service and every kind of key among them.
/// Their numbers are q and k in the low bits and anything above. The remainder by Domains says
/// which PD and function a QP or a key belongs to.
struct wqe_parser_contexts {
  static constexpr unsigned Qps = 64;
  static constexpr unsigned Keys = 128;
  static constexpr unsigned Domains = 4;

  // The first key of each kind. There is one for each domain, but 32 good ones and a bound one for
  // each QP.
  static constexpr unsigned Invalid = 0;
  static constexpr unsigned WriteOnly = 4;
  static constexpr unsigned ReadOnly = 8;
  static constexpr unsigned Foreign = 12;    ///< of the right PD, of another function
  static constexpr unsigned ToEnd = 16;      ///< up to the last byte of the address space
  static constexpr unsigned BeyondEnd = 20;  ///< and one more
  static constexpr unsigned Short = 24;
  static constexpr unsigned Good = 28;
  static constexpr unsigned Whole = 60;  ///< the whole address space
  static constexpr unsigned Bound = 64;  ///< key Bound + q is QP q's

  explicit wqe_parser_contexts(std::uint64_t seed);

  /// The QP or key of this number, nullptr if there is none.
  [[nodiscard]] const qpc_common* find_qp(std::uint32_t qpn) const {
    return qp_numbers[qpn % Qps] == qpn ? &qps[qpn % Qps] : nullptr;
  }

  [[nodiscard]] const mkey_line* find_key(std::uint32_t number) const {
    return key_numbers[number % Keys] == number ? &keys[number % Keys] : nullptr;
  }

  std::array<std::uint32_t, Qps> qp_numbers{};
  std::array<std::uint32_t, Keys> key_numbers{};
  std::array<qpc_common, Qps> qps{};
  std::array<mkey_line, Keys> keys{};
};

}  // namespace carillon
