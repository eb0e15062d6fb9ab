#include "cli/sink_sqlite.h"

#include <fmt/format.h>
#include <optional>
#include <sqlite3.h>
#include <system_error>
#include <type_traits>

#include "cli/output_file.h"
#include "cli/paths.h"
#include "common/roce_packet.h"
#include "common/tlp_codec.h"
#include "gen/counters.h"

namespace carillon {

namespace {

// Times are picoseconds since the start of the run; a milestone that was not reached is NULL.
constexpr const char* Schema = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES ('schema', 'carillon-trace-1');
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, node TEXT NOT NULL, qpn INTEGER NOT NULL, wqe_index INTEGER NOT NULL,
  opcode INTEGER NOT NULL, bytes INTEGER NOT NULL,
  post_ps INTEGER, doorbell_ps INTEGER, first_bit_ps INTEGER, last_bit_ps INTEGER,
  delivered_ps INTEGER, remote_seen_ps INTEGER, cqe_written_ps INTEGER, cqe_seen_ps INTEGER,
  measured INTEGER NOT NULL);
CREATE TABLE spans (
  message INTEGER NOT NULL REFERENCES messages(id), span INTEGER NOT NULL, previous INTEGER NOT NULL,
  place TEXT NOT NULL, stage TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT,
  begin_ps INTEGER NOT NULL, end_ps INTEGER NOT NULL, critical INTEGER NOT NULL,
  PRIMARY KEY (message, span)) WITHOUT ROWID;
CREATE TABLE marks (
  message INTEGER NOT NULL REFERENCES messages(id), milestone TEXT NOT NULL, span INTEGER NOT NULL,
  PRIMARY KEY (message, milestone)) WITHOUT ROWID;
CREATE TABLE packets (
  time_ps INTEGER NOT NULL, interface TEXT NOT NULL, bytes INTEGER NOT NULL, message INTEGER,
  opcode INTEGER, dest_qpn INTEGER, psn INTEGER);
CREATE TABLE tlps (
  time_ps INTEGER NOT NULL, port TEXT NOT NULL, kind TEXT NOT NULL, address INTEGER, tag INTEGER,
  bytes INTEGER NOT NULL, payload INTEGER NOT NULL, message INTEGER, stage TEXT);
CREATE TABLE cqes (
  message INTEGER NOT NULL REFERENCES messages(id), node TEXT NOT NULL, qpn INTEGER NOT NULL,
  wqe_index INTEGER NOT NULL, time_ps INTEGER NOT NULL);
CREATE TABLE counters (
  node TEXT NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, value INTEGER NOT NULL,
  PRIMARY KEY (node, name)) WITHOUT ROWID;
)sql";

void bind(sqlite3_stmt* statement, int at, const std::string& text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

void bind(sqlite3_stmt* statement, int at, std::string_view text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

void bind(sqlite3_stmt* statement, int at, const char* text) {
  sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

template <class Number>
std::enable_if_t<std::is_integral_v<Number>> bind(sqlite3_stmt* statement, int at, Number value) {
  sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(value));
}

template <class T>
void bind(sqlite3_stmt* statement, int at, const std::optional<T>& value) {
  if (value) {
    bind(statement, at, *value);
  } else {
    sqlite3_bind_null(statement, at);
  }
}

std::optional<ps_t> reached(const message_record& message, milestone point) {
  return message.reached(point) ? std::optional(message.time_of(point)) : std::nullopt;
}

}  // namespace

void sink_sqlite::fail(const char* what) {
  throw output_error(
      fmt::format("{}: {}: {}", path_.string(), what,
                  database_ != nullptr ? sqlite3_errmsg(database_) : "out of memory"));
}

void sink_sqlite::run(const char* statement) {
  if (sqlite3_exec(database_, statement, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot be written");
  }
}

sqlite3_stmt* sink_sqlite::prepare(const char* statement) {
  sqlite3_stmt* result = nullptr;
  if (sqlite3_prepare_v2(database_, statement, -1, &result, nullptr) != SQLITE_OK) {
    fail("cannot be written");
  }
  statements_.push_back(result);
  return result;
}

template <class... Values>
void sink_sqlite::insert(sqlite3_stmt* statement, const Values&... values) {
  int at = 0;
  (bind(statement, ++at, values), ...);
  if (sqlite3_step(statement) != SQLITE_DONE) {
    fail("cannot be written");
  }
  sqlite3_reset(statement);
}

sink_sqlite::sink_sqlite(const sim_context& context, const trace_spec& spec,
                         std::filesystem::path path, measured_messages measured)
    : trace_(context.trace),
      window_(spec),
      measured_(std::move(measured)),
      path_(std::move(path)),
      part_(path_.string() + PartSuffix) {
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
  try {
    if (sqlite3_open(part_.c_str(), &database_) != SQLITE_OK) {
      fail("cannot be written");
    }
    // The file counts only when it is complete, so there is nothing to roll back to.
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    run(Schema);
    insert_message_ = prepare("INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    insert_span_ = prepare("INSERT INTO spans VALUES (?,?,?,?,?,?,?,?,?,?)");
    insert_mark_ = prepare("INSERT INTO marks VALUES (?,?,?)");
    insert_packet_ = prepare("INSERT INTO packets VALUES (?,?,?,?,?,?,?)");
    insert_tlp_ = prepare("INSERT INTO tlps VALUES (?,?,?,?,?,?,?,?,?)");
    insert_cqe_ = prepare("INSERT INTO cqes VALUES (?,?,?,?,?)");
    insert_counter_ = prepare("INSERT INTO counters VALUES (?,?,?,?)");
  } catch (...) {
    finish();
    throw;
  }
}

sink_sqlite::~sink_sqlite() {
  finish();
}

void sink_sqlite::finish() {
  if (database_ == nullptr) {
    return;
  }
  for (sqlite3_stmt* each : statements_) {
    sqlite3_finalize(each);
  }
  statements_.clear();
  sqlite3_close(database_);
  database_ = nullptr;
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void sink_sqlite::on_message(const message_record& message) {
  if (!window_.admit(message)) {
    return;
  }
  errors_.guard([&] {
    const message_info& info = message.info;
    insert(insert_message_, message.id, info.node, info.qpn, info.wqe_index, info.opcode,
           info.bytes, reached(message, milestone::post), reached(message, milestone::doorbell),
           reached(message, milestone::first_bit), reached(message, milestone::last_bit),
           reached(message, milestone::delivered), reached(message, milestone::remote_seen),
           reached(message, milestone::cqe_written), reached(message, milestone::cqe_seen),
           !measured_ || measured_(message));
    for (std::size_t i = 0; i < MilestoneCount; ++i) {
      if (message.marks[i] != 0) {
        insert(insert_mark_, message.id, to_string(static_cast<milestone>(i)),
               message.marks[i] - 1);
      }
    }
    std::uint32_t on_chain = 0;
    for (const std::uint32_t mark : message.marks) {
      if (mark != 0 && message.spans[mark - 1].end > message.spans[on_chain].end) {
        on_chain = mark - 1;
      }
    }
    // From the last span to the first, so that the critical chain is met in order.
    for (auto i = static_cast<std::uint32_t>(message.spans.size()) - 1; i > 0; --i) {
      const span& part = message.spans[i];
      const bool critical = i == on_chain;
      if (critical) {
        on_chain = part.previous;
      }
      const bool wait = part.kind == span_kind::wait;
      insert(insert_span_, message.id, i, part.previous, trace_.name(part.place),
             trace_.name(part.row), to_string(part.kind),
             wait ? std::optional(std::string_view(trace_.name(part.reason))) : std::nullopt,
             part.begin, part.end, critical);
    }
    if (message.reached(milestone::cqe_written)) {
      insert(insert_cqe_, message.id, info.node, info.qpn, info.wqe_index,
             message.time_of(milestone::cqe_written));
    }
  });
}

void sink_sqlite::on_tlp(const std::string& port, ps_t departure, const tlp& packet) {
  if (!window_.covers(departure, packet.trace.message)) {
    return;
  }
  errors_.guard([&] {
    const tlp_header header = decode(packet);
    const bool request =
        header.kind == tlp_kind::memory_read || header.kind == tlp_kind::memory_write;
    const bool tagged = header.kind != tlp_kind::memory_write;
    const auto message = packet.trace.message;
    insert(insert_tlp_, departure, port, to_string(header.kind),
           request ? std::optional(touched(header).address) : std::nullopt,
           tagged ? std::optional(header.tag) : std::nullopt, wire_bytes(packet),
           packet.payload_bytes, message != 0 ? std::optional(message) : std::nullopt,
           message != 0 ? std::optional(trace_.name(packet.row)) : std::nullopt);
  });
}

void sink_sqlite::on_frame(const std::string& interface, ps_t first_bit, const frame_item& frame) {
  if (!window_.covers(first_bit, frame.trace.message)) {
    return;
  }
  errors_.guard([&] {
    const parsed_frame parsed =
        parse_frame(frame.bytes.data() + frame.offset, frame.length, icrc_check::trust);
    const bool roce = parsed.error == parse_error::none;
    const auto field = [roce](std::uint32_t value) {
      return roce ? std::optional(value) : std::nullopt;
    };
    insert(insert_packet_, first_bit, interface, frame.length,
           frame.trace.message != 0 ? std::optional(frame.trace.message) : std::nullopt,
           field(static_cast<std::uint32_t>(parsed.base.opcode)), field(parsed.base.dest_qpn),
           field(parsed.base.psn));
  });
}

void sink_sqlite::close(const std::vector<node_counters>& counters) {
  errors_.rethrow();
  for (const node_counters& each : counters) {
    for (std::size_t i = 0; i < CounterCount; ++i) {
      insert(insert_counter_, each.node, CounterTable[i].name, CounterTable[i].stage,
             each.counters->value(static_cast<counter>(i)));
    }
  }
  run("CREATE INDEX spans_by_stage ON spans (stage, message)");
  run("COMMIT");
  for (sqlite3_stmt* each : statements_) {
    sqlite3_finalize(each);
  }
  statements_.clear();
  if (sqlite3_close(database_) != SQLITE_OK) {
    fail("cannot be completed");
  }
  database_ = nullptr;
  std::error_code failed;
  std::filesystem::rename(part_, path_, failed);
  if (failed) {
    throw output_error(fmt::format("{}: cannot be written: {}", path_.string(), failed.message()));
  }
}

}  // namespace carillon
