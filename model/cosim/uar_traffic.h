// Constrained-random stores and loads for the bench of uar: doorbells in one store or two,
// BlueFlame bursts in all cuts and orders, whole, broken off or mixed, CQ and EQ doorbells, and
// everything that a page ignores; by owners and by others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/items.h"
#include "common/random.h"
#include "cosim/bench_parts.h"
#include "gen/contexts.h"
#include "gen/params.h"
#include "gen/registers.h"
#include "uar/uar_core.h"

namespace carillon {

/// The pages that are written, and the QPs that are rung: each belongs to one page.
struct uar_contexts {
  static constexpr unsigned Qps = 1024;

  uar_contexts(const parameters& params, std::uint64_t seed);

  /// In a run with this seed, all functions are used, and as many as there may be.
  static bool all_functions(std::uint64_t seed) { return seed % 3 == 2; }

  /// The QP of this number, nullptr if there is none.
  [[nodiscard]] const qpc_common* find(std::uint32_t qpn) const {
    const std::size_t index = qpn % Qps;
    return numbers[index] == qpn ? &qps[index] : nullptr;
  }

  std::vector<uar_page_id> pages;
  std::array<std::uint32_t, Qps> numbers;  ///< of the QPs, anything above the index
  std::array<qpc_common, Qps> qps;
};

class uar_traffic {
 public:
  uar_traffic(const uar_contexts& what, std::uint64_t seed, coverage& cover)
      : what_(what),
        random_(seed, "uar_bench/stores"),
        loads_(seed, "uar_bench/loads"),
        cover_(cover),
        scripts_(what.pages.size()) {}

  mmio_write make_write();
  mmio_read make_read();

 private:
  /// What a writer will still do on its page, last store first.
  using script = std::vector<mmio_write>;

  /// A whole WQE and how much of it counts.
  struct wqe_draft {
    std::array<std::uint8_t, uar_page::BfBufferBytes> bytes{};
    std::uint32_t length = 0;
  };

  void begin(std::size_t page);
  void doorbell(std::size_t page);
  void halves(std::size_t page);
  void burst(std::size_t page);
  void one_line(std::size_t page);
  void queue(std::size_t page);
  void anything(std::size_t page);
  std::vector<mmio_write> cut(std::size_t page, const wqe_draft& wqe, bool small);
  wqe_draft draft_wqe(std::size_t page);
  [[nodiscard]] std::uint32_t pick_qp(std::size_t page);
  void fill_control(std::uint8_t* bytes, std::size_t page, std::uint8_t ds);
  [[nodiscard]] mmio_write store(std::size_t page, std::uint32_t offset,
                                 std::uint16_t length) const;

  const uar_contexts& what_;
  random_stream random_;
  random_stream loads_;  ///< stores do not depend on when loads are made
  coverage& cover_;
  std::vector<script> scripts_;  ///< by page
  std::size_t current_ = 0;      ///< page that is written now
  unsigned storm_ = 0;           ///< stores still to come of one kind
  unsigned storm_kind_ = 0;
};

}  // namespace carillon
