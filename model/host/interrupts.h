// Interrupts of a host: who is told when a device writes a message into the interrupt window.
//
// As on x86 (Intel's Software Developer's Manual, volume 3, message signalled interrupts), the
// address of a message names the core in bits 19:12, and its data the vector in bits 7:0. Each core
// has vectors of its own; what is bound to them are interrupt lines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class cpu;

/// What a device's vector is for the host: an address and data to program it with, a handler that
/// runs on one core, and perhaps a program that sleeps until it has.
class interrupt_line {
 public:
  interrupt_line(cpu& core, std::uint64_t address, std::uint32_t data)
      : core_(core), address_(address), data_(data) {}

  interrupt_line(const interrupt_line&) = delete;
  interrupt_line& operator=(const interrupt_line&) = delete;

  [[nodiscard]] std::uint64_t address() const { return address_; }

  [[nodiscard]] std::uint32_t data() const { return data_; }

  /// Handlers that have run to their end.
  [[nodiscard]] std::uint64_t handled() const { return handled_; }

  /// Messages that came while the handler was still to begin: it ran once for all of them.
  [[nodiscard]] std::uint64_t coalesced() const { return coalesced_; }

 private:
  friend class cpu;
  friend class interrupts;

  cpu& core_;
  const std::uint64_t address_;
  const std::uint32_t data_;
  ps_t begins_ = 0;         ///< the last handler
  bool ran_ = false;        ///< ... and nobody has waited for it since
  cpu* sleeper_ = nullptr;  ///< whose program does
  trace_ref history_;       ///< of the last message, up to the end of its handler
  std::uint64_t handled_ = 0;
  std::uint64_t coalesced_ = 0;
};

/// Told of writes into the interrupt window, by the root complex.
class message_listener {
 public:
  virtual ~message_listener() = default;
  virtual void on_message(std::uint64_t address, std::uint32_t data, trace_ref trace) = 0;
};

/// The interrupt controller.
class interrupts final : public message_listener {
 public:
  static constexpr std::uint64_t WindowBase = 0xfee00000;
  static constexpr std::uint64_t WindowBytes = 0x100000;

  /// The next free vector of a core. `number`: the core's, at most 255.
  interrupt_line& bind(cpu& core, unsigned number);

  void on_message(std::uint64_t address, std::uint32_t data, trace_ref trace) override;

  /// Messages for no line.
  [[nodiscard]] std::uint64_t spurious() const { return spurious_; }

 private:
  std::vector<std::vector<std::unique_ptr<interrupt_line>>> lines_;  ///< by core and vector
  std::uint64_t spurious_ = 0;
};

}  // namespace carillon
