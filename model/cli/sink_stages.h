// The stage trace: one line a handshake, sorted by cycle, then stream. docs/trace.md has the
// grammar.
#pragma once

#include "cli/output_file.h"
#include "cli/trace_sink.h"

namespace carillon {

class sink_stages final : public trace_sink {
 public:
  sink_stages(const sim_context& context, const trace_spec& spec, std::filesystem::path path);

  void on_message(const message_record& /*message*/) override {}

  void on_transfer(const transfer& seen) override;

  void on_frame(const std::string& /*interface*/, ps_t /*first_bit*/,
                const frame_item& /*frame*/) override {}

  void close(const std::vector<node_counters>& counters) override;

 private:
  void write_batch();

  const sim_context& context_;
  trace_window window_;
  output_file file_;
  error_keeper errors_;
  std::vector<transfer> batch_;  ///< of one cycle: they come in any order
  std::string text_;
};

}  // namespace carillon
