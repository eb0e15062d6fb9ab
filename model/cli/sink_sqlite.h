// trace.sqlite: messages, spans, packets, cqes, tlps and counters in one database, written in one
// transaction.
#pragma once

#include <map>

#include "cli/trace_sink.h"

struct sqlite3;
struct sqlite3_stmt;

namespace carillon {

class sink_sqlite final : public trace_sink {
 public:
  sink_sqlite(const sim_context& context, const trace_spec& spec, std::filesystem::path path,
              measured_messages measured);
  ~sink_sqlite() override;

  void on_message(const message_record& message) override;

  void on_transfer(const transfer& /*seen*/) override {}

  void on_tlp(const std::string& port, ps_t departure, const tlp& packet) override;
  void on_frame(const std::string& interface, ps_t first_bit, const frame_item& frame) override;
  void close(const std::vector<node_counters>& counters) override;

 private:
  void run(const char* statement);
  sqlite3_stmt* prepare(const char* statement);
  template <class... Values>
  void insert(sqlite3_stmt* statement, const Values&... values);
  void finish();
  [[noreturn]] void fail(const char* what);

  const tracer& trace_;
  trace_window window_;
  measured_messages measured_;
  std::filesystem::path path_;
  std::filesystem::path part_;
  error_keeper errors_;
  sqlite3* database_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  sqlite3_stmt* insert_message_ = nullptr;
  sqlite3_stmt* insert_span_ = nullptr;
  sqlite3_stmt* insert_mark_ = nullptr;
  sqlite3_stmt* insert_packet_ = nullptr;
  sqlite3_stmt* insert_tlp_ = nullptr;
  sqlite3_stmt* insert_cqe_ = nullptr;
  sqlite3_stmt* insert_counter_ = nullptr;
};

}  // namespace carillon
