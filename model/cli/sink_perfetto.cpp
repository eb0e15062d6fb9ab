#include "cli/sink_perfetto.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carillon {

namespace {

/// The format counts microseconds; six decimals keep every picosecond.
std::string microseconds(ps_t time) {
  constexpr ps_t PsPerUs = 1000000;
  return fmt::format("{}.{:06}", time / PsPerUs, time % PsPerUs);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump();
}

}  // namespace

sink_perfetto::sink_perfetto(const sim_context& context, const trace_spec& spec,
                             std::filesystem::path path)
    : trace_(context.trace), window_(spec), file_(std::move(path)) {
  file_.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
}

void sink_perfetto::separate() {
  if (!first_) {
    text_ += ",\n";
  }
  first_ = false;
}

std::size_t sink_perfetto::process_of(std::string_view name) {
  const auto found = std::find(processes_.begin(), processes_.end(), name);
  const auto pid = static_cast<std::size_t>(found - processes_.begin()) + 1;
  if (found == processes_.end()) {
    processes_.emplace_back(name);
    separate();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})",
                   pid, json_text(name));
  }
  return pid;
}

void sink_perfetto::on_message(const message_record& message) {
  if (!window_.admit(message)) {
    return;
  }
  text_.clear();
  const std::size_t pid = process_of(message.info.node);
  const std::vector<span> chain = critical_chain(message);
  const auto event = [&](char phase, std::string_view name, ps_t time, std::string_view arguments) {
    separate();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph": "{}", "cat": "message", "id": {}, "pid": {}, "tid": {}, "name": {}, )"
                   R"("ts": {}{}}})",
                   phase, message.id, pid, message.info.qpn, json_text(name), microseconds(time),
                   arguments);
  };
  const std::string title = fmt::format("message {}", message.id);
  const ps_t end = chain.empty() ? message.spans.front().end : chain.back().end;
  event('b', title, message.spans.front().begin,
        fmt::format(R"(, "args": {{"qpn": {}, "wqe_index": {}, "opcode": {}, "bytes": {}}})",
                    message.info.qpn, message.info.wqe_index, message.info.opcode,
                    message.info.bytes));
  for (const span& part : chain) {
    const std::string& row = trace_.name(part.row);
    const std::string name =
        part.kind == span_kind::service
            ? row
            : fmt::format("{} {}", row,
                          part.kind == span_kind::wait ? "wait: " + trace_.name(part.reason)
                                                       : std::string(to_string(part.kind)));
    event('b', name, part.begin,
          fmt::format(R"(, "args": {{"place": {}, "kind": "{}"}})",
                      json_text(trace_.name(part.place)), to_string(part.kind)));
    event('e', name, part.end, "");
  }
  event('e', title, end, "");
  errors_.guard([this] { file_.write(text_); });
}

void sink_perfetto::on_frame(const std::string& interface, ps_t first_bit,
                             const frame_item& frame) {
  if (!window_.covers(first_bit, frame.trace.message)) {
    return;
  }
  text_.clear();
  const std::size_t pid = process_of(interface);
  separate();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph": "i", "s": "p", "cat": "packet", "name": "frame", "pid": {}, "tid": 0, )"
                 R"("ts": {}, "args": {{"bytes": {}, "message": {}}}}})",
                 pid, microseconds(first_bit), frame.length, frame.trace.message);
  errors_.guard([this] { file_.write(text_); });
}

void sink_perfetto::close(const std::vector<node_counters>& /*counters*/) {
  errors_.guard([this] { file_.write("\n]}\n"); });
  errors_.rethrow();
  file_.commit();
}

}  // namespace carillon
