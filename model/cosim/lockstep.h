// The RTL beside the model: both get the same input, and every port is compared.
//
// The rule. In every cycle in which the block gets an edge, on every stream:
//
//   valid   an output's valid equals "the model's stream offers a beat": its item is being
//   transferred, or its front item is
//           visible. (An input's valid is driven, so it is equal by construction.)
//   ready   where an input is valid, its ready equals "the model takes a beat". An output's ready
//   is driven. data    on an output's handshake all bits of the beat are equal. visible on an
//   item's first handshake: the cycle in which it entered the block's FIFO is the one that the
//   model gave it. So a
//           result that is late or early behind a waiting one is seen too.
//
// The model alone moves the streams, so a wrong RTL cannot change what it is compared with. Nothing
// is masked; the differences that are allowed are listed in docs/lockstep.md, and there are none.
//
// Legal, and illegal:
//
//   cycle        10   11   12          cycle        10   11   12
//   model valid   0    1    1          model valid   0    1    1
//   RTL valid     0    1    1          RTL valid     0    0    1     <- valid differs in 11
//   taken                  *           taken                  *
//   data                  same         data                  any     <- must be the same in 12
//
// A difference throws lockstep_mismatch. finish() demands that both sides are empty and idle; a
// checker that is destroyed without it, or without stop(), has not done its job, which ends the
// program.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cosim/twin_driver.h"

namespace carillon {

/// The RTL differs from the model.
class lockstep_mismatch : public model_error {
 public:
  struct place {
    std::string stage;
    std::string port;
    std::string field;
    cycle_t cycle = 0;
    std::string model;
    std::string rtl;
  };

  lockstep_mismatch(place where, const std::string& text)
      : model_error(text), where_(std::move(where)) {}

  [[nodiscard]] const place& where() const { return where_; }

 private:
  place where_;
};

class lockstep final : public twin_driver {
 public:
  lockstep(rtl_domain& domain, const twin_request& request);
  ~lockstep() override;

  void transfer(cycle_t t) override;
  void finish() override;

  void stop() override { finished_ = true; }

 private:
  struct seen_transfer {
    cycle_t cycle = 0;
    unsigned port = 0;
    std::uint32_t message = 0;
    unsigned beat = 0;
  };

  static constexpr std::size_t History = 8;

  void before_edge(cycle_t t) override;
  void after_edge(cycle_t t) override;
  void compare_data(const port_state& port, cycle_t t);
  void note(cycle_t t, unsigned port);
  [[noreturn]] void differ(cycle_t t, const port_state& port, const std::string& field,
                           const std::string& model, const std::string& rtl,
                           const std::string& more = {});

  std::array<seen_transfer, History> recent_{};
  std::size_t transfers_ = 0;
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace carillon
