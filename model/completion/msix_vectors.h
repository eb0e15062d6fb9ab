// The MSI-X vectors of all functions, without time: which interrupt becomes a message, which has to
// wait until its vector is unmasked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/items.h"
#include "common/msix.h"

namespace carillon {

class msix_vectors {
 public:
  struct message {
    std::uint64_t address = 0;
    std::uint32_t data = 0;
  };

  enum class result : std::uint8_t {
    sends,     ///< a message is to be sent
    merged,    ///< one that is to be sent tells this, too
    pends,     ///< masked: the vector's pending bit is set
    disabled,  ///< the function's MSI-X is off
  };

  explicit msix_vectors(unsigned vectors) : vectors_(vectors) {}

  /// An interrupt.
  result raise(std::uint16_t function, unsigned vector);

  /// The message is sent now; none if the vector was masked or reset since it was raised.
  std::optional<message> send(std::uint16_t function, unsigned vector);

  /// Calls send(vector) for each vector that was pending and is to be sent now, lowest first.
  template <class Send>
  void apply(const msix_command& command, Send&& send) {
    change(command);
    for (unsigned vector = 0; vector < vectors_; ++vector) {
      if (take_pending(command.function, vector)) {
        send(vector);
      }
    }
  }

  [[nodiscard]] const msix_pending& pending() const { return pending_; }

  /// A pending bit has changed since the last call.
  [[nodiscard]] bool take_changed() { return std::exchange(changed_, false); }

 private:
  struct entry {
    message what;
    bool masked = true;
    bool queued = false;  ///< a message is to be sent
  };

  struct function_vectors {
    std::vector<entry> entries;
    bool enabled = false;
    bool masked = false;
  };

  void change(const msix_command& command);
  bool take_pending(std::uint16_t function, unsigned vector);
  void set_pending(std::uint16_t function, unsigned vector, bool pending);
  [[nodiscard]] function_vectors& of(std::uint16_t function);

  unsigned vectors_;
  std::vector<function_vectors> functions_;  ///< those that somebody has spoken of
  msix_pending pending_;
  bool changed_ = false;
};

}  // namespace carillon
