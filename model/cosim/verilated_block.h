// rtl_block over a class that Verilator made. Included only where Verilated headers are, never
// beside SystemC.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cosim/rtl_block.h"
#include "verilated.h"
#include "verilated_syms.h"

#ifdef CARILLON_RTL_COVERAGE
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "verilated_cov.h"
#endif
#ifdef CARILLON_WAVES
#include "verilated_fst_c.h"
#endif

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

#define CARILLON_LEVEL_PINS(v, level)             \
  ::carillon::rtl_level {                         \
#level, sizeof((v).level##_i), &(v).level##_i \
  }

#define CARILLON_VALUE_PINS(v, value)             \
  ::carillon::rtl_value {                         \
#value, sizeof((v).value##_o), &(v).value##_o \
  }

// A question of the Verilated model `v` and the answer to it.
#define CARILLON_LOOKUP(v, lookup)                                                        \
  ::carillon::rtl_lookup {                                                                \
#lookup, sizeof((v).lookup##_query_o), &(v).lookup##_query_o, sizeof((v).lookup##_i), \
        &(v).lookup##_i                                                                   \
  }

// NOLINTEND(cppcoreguidelines-macro-usage)

namespace carillon {

/// `Model` is the class of the top module; `pins_of` lists its pins.
template <class Model>
class verilated_block final : public rtl_block {
 public:
  using pin_lister = block_pins (*)(Model&);

  /// Assertions of the RTL end the program; a block that is broken on purpose is better without.
  /// `reset_seed` counts in a build with CARILLON_RTL_RANDOM_RESET.
  verilated_block(pin_lister pins_of, bool assertions, unsigned reset_seed) {
    context_.assertOn(assertions);
    if (reset_seed != 0) {
      constexpr int Random = 2;
      context_.randReset(Random);
      context_.randSeed(static_cast<int>(reset_seed));
    }
#ifdef CARILLON_WAVES
    context_.traceEverOn(true);
#endif
    model_ = std::make_unique<Model>(&context_, "");
    pins_ = pins_of(*model_);
  }

  ~verilated_block() override {
    model_->final();
    write_coverage();
#ifdef CARILLON_WAVES
    waves_.reset();
#endif
    // The model's scopes leave the context that is current, not the one they entered.
    Verilated::threadContextp(&context_);
    model_.reset();
  }

  [[nodiscard]] const block_pins& pins() const override {
    return pins_;
  }

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

  [[nodiscard]] bool busy() const override {
    return model_->busy_o != 0;
  }

  bool mutate(unsigned which) override {
    if constexpr (requires { model_->mutation_i; }) {
      model_->mutation_i = which;
      return true;
    }
    return false;
  }

#ifdef CARILLON_WAVES
  bool open_waves(const std::string& file) override {
    if constexpr (requires { model_->trace(waves_.get(), AllLevels); }) {
      // Time is in picoseconds.
      context_.timeunit(-12);
      context_.timeprecision(-12);
      waves_ = std::make_unique<VerilatedFstC>();
      model_->trace(waves_.get(), AllLevels);
      waves_->open(file.c_str());
      return waves_->isOpen();
    }
    return false;
  }

  void dump_waves(std::uint64_t time) override {
    if (waves_) {
      waves_->dump(time);
    }
  }
#endif

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
  /// What the run reached of the RTL, to a file of its own in the folder that scripts/coverage.sh
  /// names.
  void write_coverage() {
#ifdef CARILLON_RTL_COVERAGE
    static unsigned written = 0;
    if (const char* folder = std::getenv("CARILLON_COVERAGE_DIR"); folder != nullptr) {
      const std::string file = std::string(folder) + "/" + model_->modelName() + "." +
                               std::to_string(getpid()) + "." + std::to_string(written++) + ".dat";
      context_.coveragep()->write(file.c_str());
    }
#endif
  }

  VerilatedContext context_;
  std::unique_ptr<Model> model_;
#ifdef CARILLON_WAVES
  static constexpr int AllLevels = 99;
  std::unique_ptr<VerilatedFstC> waves_;
#endif
  block_pins pins_;
};

}  // namespace carillon
