// One PCIe transaction layer packet, carried by a pooled tlm_generic_payload with a sticky
// extension.
//
// The header is kept as the bytes on the link; whoever receives a TLP decodes it. What is beside
// the bytes (trace, row) is the model's own and decides nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <tlm>

#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

/// Flow-control class of a TLP.
enum class tlp_class : std::uint8_t { posted, non_posted, completion };

/// Largest payload of a TLP: 4 KiB (MPS code 5).
inline constexpr std::size_t TlpMaxPayload = 4096;

class tlp_pool;

class tlp : public tlm::tlm_extension<tlp> {
 public:
  std::array<std::uint8_t, 16> header{};
  std::uint8_t header_bytes = 0;  ///< 12 or 16
  tlp_class flow = tlp_class::posted;
  std::uint16_t payload_bytes = 0;  ///< whole dwords
  std::array<std::uint8_t, TlpMaxPayload> payload;

  // Beside the bytes.
  trace_ref trace;
  name_id row = 0;  ///< the stage on whose account its way is booked
  milestone point =
      milestone::count_;  ///< reached when its data is visible in memory; count_: none
  bool point_last = false;
  ps_t first_symbol = 0;  ///< arrival at the receiver of the first symbol
  ps_t last_symbol = 0;   ///< and of the last

  /// The generic payload that carries it: its data pointer is `payload`.
  [[nodiscard]] tlm::tlm_generic_payload& carrier() const { return *carrier_; }

  /// Gives it back to the pool.
  void release();

  [[nodiscard]] tlm::tlm_extension_base* clone() const override;
  void copy_from(const tlm::tlm_extension_base& other) override;

 private:
  friend class tlp_pool;
  tlm::tlm_generic_payload* carrier_ = nullptr;
  tlp_pool* home_ = nullptr;
};

/// The memory manager of the TLPs of one run.
class tlp_pool : public tlm::tlm_mm_interface {
 public:
  tlp_pool() = default;
  tlp_pool(const tlp_pool&) = delete;
  tlp_pool& operator=(const tlp_pool&) = delete;
  ~tlp_pool() override;

  /// A TLP with cleared sidebands and undefined payload.
  tlp* take();

  void free(tlm::tlm_generic_payload* carrier) override;

  [[nodiscard]] std::size_t allocated() const { return all_.size(); }

  [[nodiscard]] std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlp*> free_;
};

}  // namespace carillon
