// rtl_block over a class that Verilator made. Included only where Verilated headers are, never
// beside SystemC.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cosim/rtl_block.h"
#include "verilated.h"
#include "verilated_syms.h"

// The pins of stream `port` of the Verilated model `v`.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): needs to paste names
#define CARILLON_INPUT_PINS(v, port)                                                            \
  ::carillon::rtl_pins {                                                                        \
#port, true, sizeof((v).port##_i), &(v).port##_valid_i, &(v).port##_ready_o, &(v).port##_i, \
        nullptr                                                                                 \
  }
#define CARILLON_OUTPUT_PINS(v, port)                                                            \
  ::carillon::rtl_pins {                                                                         \
#port, false, sizeof((v).port##_o), &(v).port##_valid_o, &(v).port##_ready_i, &(v).port##_o, \
        &(v).port##_push_o                                                                       \
  }

// A question of the Verilated model `v` and the answer to it.
#define CARILLON_LOOKUP(v, lookup)                                                        \
  ::carillon::rtl_lookup {                                                                \
#lookup, sizeof((v).lookup##_query_o), &(v).lookup##_query_o, sizeof((v).lookup##_i), \
        &(v).lookup##_i                                                                   \
  }

// NOLINTEND(cppcoreguidelines-macro-usage)

namespace carillon {

/// `Model` is the class of the top module; `pins_of` lists its streams.
template <class Model>
class verilated_block final : public rtl_block {
 public:
  using pin_lister = std::vector<rtl_pins> (*)(Model&);
  using lookup_lister = std::vector<rtl_lookup> (*)(Model&);

  /// Assertions of the RTL end the program; a block that is broken on purpose is better without.
  verilated_block(pin_lister pins_of, bool assertions, lookup_lister lookups_of = nullptr) {
    context_.assertOn(assertions);
    model_ = std::make_unique<Model>(&context_, "");
    pins_ = pins_of(*model_);
    if (lookups_of != nullptr) {
      lookups_ = lookups_of(*model_);
    }
  }

  ~verilated_block() override {
    model_->final();
    // The model's scopes leave the context that is current, not the one they entered.
    Verilated::threadContextp(&context_);
    model_.reset();
  }

  [[nodiscard]] std::span<const rtl_pins> pins() const override { return pins_; }

  [[nodiscard]] std::span<const rtl_lookup> lookups() const override { return lookups_; }

  void reset() override {
    model_->rst_ni = 0;
    for (int i = 0; i < 2; ++i) {
      settle();
      edge();
    }
    model_->rst_ni = 1;
    settle();
  }

  void settle() override {
    model_->clk_i = 0;
    model_->eval();
  }

  void edge() override {
    model_->clk_i = 1;
    model_->eval();
  }

  [[nodiscard]] bool busy() const override { return model_->busy_o != 0; }

  [[nodiscard]] std::vector<rtl_flop> flops() override {
    // rtl/audit.vlt makes the flops, and nothing else, visible by name.
    std::vector<rtl_flop> result;
    for (const auto& [path, scope] : *context_.scopeNameMap()) {
      if (scope->varsp() == nullptr) {
        continue;
      }
      for (const auto& [name, variable] : *scope->varsp()) {
        if (!variable.isParam()) {
          result.push_back(
              {std::string(path) + "." + name,
               {static_cast<const std::byte*>(variable.datap()), variable.totalSize()}});
        }
      }
    }
    return result;
  }

 private:
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::vector<rtl_pins> pins_;
  std::vector<rtl_lookup> lookups_;
};

}  // namespace carillon
