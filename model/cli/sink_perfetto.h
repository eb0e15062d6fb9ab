// The life of the messages for Perfetto and chrome://tracing: one track a message, its spans one
// after the other.
#pragma once

#include "cli/output_file.h"
#include "cli/trace_sink.h"

namespace carillon {

class sink_perfetto final : public trace_sink {
 public:
  sink_perfetto(const sim_context& context, const trace_spec& spec, std::filesystem::path path);

  void on_message(const message_record& message) override;

  void on_transfer(const transfer& /*seen*/) override {}

  void on_frame(const std::string& interface, ps_t first_bit, const frame_item& frame) override;
  void close(const std::vector<node_counters>& counters) override;

 private:
  std::size_t process_of(std::string_view name);
  void separate();

  const tracer& trace_;
  trace_window window_;
  output_file file_;
  error_keeper errors_;
  std::vector<std::string> processes_;
  bool first_ = true;
  std::string text_;
};

}  // namespace carillon
