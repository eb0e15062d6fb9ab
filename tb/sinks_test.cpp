// The trace sinks: what they write for a hand-made life of two messages, and what they do when they
// cannot.

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <sstream>
#include <string>
#include <vector>

#include "cli/output_file.h"
#include "cli/trace_sink.h"
#include "common/items.h"
#include "common/stream.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;

struct item {
  trace_ref trace;
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// All rows of a query, cells joined by '|'.
std::vector<std::string> rows_of(const fs::path& path, const std::string& query) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  std::vector<std::string> rows;
  const auto add = [](void* into, int count, char** cells, char**) {
    std::string row;
    for (int i = 0; i < count; ++i) {
      row += std::string(i == 0 ? "" : "|") + (cells[i] != nullptr ? cells[i] : "NULL");
    }
    static_cast<std::vector<std::string>*>(into)->push_back(row);
    return 0;
  };
  char* error = nullptr;
  sqlite3_exec(database, query.c_str(), add, &rows, &error);
  EXPECT_EQ(error, nullptr) << error;
  sqlite3_free(error);
  sqlite3_close(database);
  return rows;
}

class sinks : public testing::Test {
 protected:
  sinks()
      : folder_(fs::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        context_(parameters{}, 1, 0),
        first_(context_, "nic0.a.out", 4),
        second_(context_, "nic0.b.out", 4) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  ~sinks() override { fs::remove_all(folder_); }

  /// Posted at `begin`: 40 ns at one stage, 2 ns of waiting, 10 ns at another; and a side branch.
  void live(ps_t begin) {
    tracer& trace = context_.trace;
    const trace_site rx = trace.site("nic0.pcie_rx", "pcie_rx");
    const trace_site uar = trace.site("nic0.uar", "uar");
    const trace_ref opened = trace.open(begin, {"host0", 5, 7, 8, 64});
    const trace_ref at_uar = trace.service(opened, rx, begin, begin + 40000);
    trace.service(opened, uar, begin, begin + 7);
    trace.mark(at_uar, milestone::doorbell);
    const trace_ref waited =
        trace.wait(at_uar, uar, trace.intern("order"), begin + 40000, begin + 42000);
    const trace_ref done = trace.service(waited, uar, begin + 42000, begin + 52000);
    trace.mark(done, milestone::cqe_written);
    trace.release(done);
  }

  fs::path folder_;
  sim_context context_;
  stream<item> first_;
  stream<item> second_;
  counter_block counters_;
};

TEST_F(sinks, sqlite_holds_messages_spans_cqes_and_counters) {
  trace_spec spec;
  spec.sqlite = true;
  trace_outputs outputs(context_, spec, folder_);
  live(1000);
  live(5000);
  counters_.add(counter::Cqes, 2);
  EXPECT_FALSE(fs::exists(folder_ / "trace.sqlite")) << "not before it is whole";
  outputs.close({{"nic0", &counters_}});

  const fs::path file = folder_ / "trace.sqlite";
  EXPECT_THAT(rows_of(file,
                      "SELECT id, node, qpn, wqe_index, opcode, bytes, post_ps, doorbell_ps, "
                      "first_bit_ps, cqe_written_ps FROM messages ORDER BY id"),
              testing::ElementsAre("1|host0|5|7|8|64|1000|41000|NULL|53000",
                                   "2|host0|5|7|8|64|5000|45000|NULL|57000"));
  EXPECT_THAT(rows_of(file,
                      "SELECT stage, kind, reason, begin_ps, end_ps, critical, place FROM spans "
                      "WHERE message = 1 ORDER BY span"),
              testing::ElementsAre("pcie_rx|service|NULL|1000|41000|1|nic0.pcie_rx",
                                   "uar|service|NULL|1000|1007|0|nic0.uar",
                                   "uar|wait|order|41000|43000|1|nic0.uar",
                                   "uar|service|NULL|43000|53000|1|nic0.uar"));
  EXPECT_THAT(rows_of(file,
                      "SELECT m.id FROM messages m JOIN spans s ON s.message = m.id WHERE critical "
                      "GROUP BY m.id HAVING sum(end_ps - begin_ps) <> cqe_written_ps - post_ps"),
              testing::IsEmpty());
  EXPECT_THAT(rows_of(file, "SELECT message, wqe_index, time_ps FROM cqes"),
              testing::ElementsAre("1|7|53000", "2|7|57000"));
  EXPECT_THAT(rows_of(file, "SELECT node, name, stage, value FROM counters WHERE value <> 0"),
              testing::ElementsAre("nic0|cqes|completion|2"));
  EXPECT_THAT(rows_of(file, "SELECT value FROM meta WHERE key = 'schema'"),
              testing::ElementsAre("carillon-trace-1"));
}

TEST_F(sinks, sqlite_tells_where_a_milestone_ends_and_what_was_measured) {
  trace_spec spec;
  spec.sqlite = true;
  trace_outputs outputs(context_, spec, folder_,
                        [](const message_record& message) { return message.id == 2; });
  live(1000);
  live(5000);
  outputs.close({});
  const fs::path file = folder_ / "trace.sqlite";
  EXPECT_THAT(rows_of(file, "SELECT id, measured FROM messages ORDER BY id"),
              testing::ElementsAre("1|0", "2|1"));
  // `live` appends four spans: the first ends at the doorbell, the fourth at the CQE.
  EXPECT_THAT(rows_of(file, "SELECT milestone, span FROM marks WHERE message = 1 ORDER BY span"),
              testing::ElementsAre("post|0", "doorbell|1", "cqe_written|4"));
}

TEST_F(sinks, the_window_chooses_messages_by_their_id) {
  trace_spec spec;
  spec.sqlite = true;
  spec.perfetto = true;
  spec.first_message = 2;
  spec.last_message = 3;
  trace_outputs outputs(context_, spec, folder_);
  for (const ps_t begin : {1000, 2000, 5000, 8999}) {
    live(begin);
  }
  outputs.close({});
  EXPECT_THAT(rows_of(folder_ / "trace.sqlite", "SELECT id FROM messages ORDER BY id"),
              testing::ElementsAre("2", "3"));
  const std::string text = text_of(folder_ / "trace.json");
  EXPECT_THAT(text, testing::HasSubstr("message 2"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("message 4")));
}

TEST_F(sinks, the_window_chooses_messages_by_their_post) {
  trace_spec spec;
  spec.sqlite = true;
  spec.from = 2000;
  spec.to = 9000;
  spec.limit = 2;
  trace_outputs outputs(context_, spec, folder_);
  for (const ps_t begin : {1000, 2000, 5000, 8999, 9000}) {
    live(begin);
  }
  outputs.close({});
  // 1000 is before the window, 8999 beyond the limit, 9000 behind the window.
  EXPECT_THAT(rows_of(folder_ / "trace.sqlite", "SELECT post_ps FROM messages ORDER BY id"),
              testing::ElementsAre("2000", "5000"));
}

TEST_F(sinks, perfetto_is_json_with_every_picosecond) {
  trace_spec spec;
  spec.perfetto = true;
  trace_outputs outputs(context_, spec, folder_);
  live(1000);
  outputs.close({});
  const auto trace = nlohmann::json::parse(text_of(folder_ / "trace.json"));
  std::vector<std::string> events;
  for (const auto& each : trace["traceEvents"]) {
    if (each["ph"] != "M") {
      events.push_back(each["ph"].get<std::string>() + " " + each["name"].get<std::string>() + " " +
                       std::to_string(static_cast<int>(each["ts"].get<double>() * 1e6 + 0.5)));
    }
  }
  EXPECT_THAT(events, testing::ElementsAre("b message 1 1000", "b pcie_rx 1000", "e pcie_rx 41000",
                                           "b uar wait: order 41000", "e uar wait: order 43000",
                                           "b uar 43000", "e uar 53000", "e message 1 53000"));
}

TEST_F(sinks, stage_trace_is_sorted_by_cycle_then_stream) {
  trace_spec spec;
  spec.stages = true;
  trace_outputs outputs(context_, spec, folder_);
  ASSERT_EQ(context_.transfers, &outputs);
  outputs.on_transfer({3, 2, second_.id(), 9, 1});
  outputs.on_transfer({3, 3, first_.id(), 8, 66});
  outputs.on_transfer({7, 4, first_.id(), 0, 1});
  outputs.close({});
  EXPECT_EQ(text_of(folder_ / "stages.trace"),
            "# carillon stages 1 period_ps 1000\n"
            "3 nic0.a.out visible=3 beats=66 message=8\n"
            "3 nic0.b.out visible=2 beats=1 message=9\n"
            "7 nic0.a.out visible=4 beats=1 message=0\n");
}

TEST_F(sinks, packets_that_are_no_roce_keep_their_length) {
  trace_spec spec;
  spec.sqlite = true;
  trace_outputs outputs(context_, spec, folder_);
  buffer_pool pool;
  frame_item frame;
  frame.bytes = pool.take();
  std::fill_n(frame.bytes.data(), 64, std::uint8_t{0});
  frame.length = 64;
  outputs.tap("nic0").on_frame(1234, frame);
  outputs.close({});
  EXPECT_THAT(rows_of(folder_ / "trace.sqlite",
                      "SELECT time_ps, interface, bytes, message, opcode FROM packets"),
              testing::ElementsAre("1234|nic0|64|NULL|NULL"));
}

TEST_F(sinks, nothing_is_left_of_a_trace_that_was_not_completed) {
  trace_spec spec;
  spec.sqlite = spec.perfetto = spec.stages = true;
  {
    trace_outputs outputs(context_, spec, folder_);
    live(1000);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(sinks, a_full_disk_is_an_output_error_at_the_end_not_in_the_kernel) {
  fs::create_symlink("/dev/full", folder_ / "stages.trace.part");
  trace_spec spec;
  spec.stages = true;
  trace_outputs outputs(context_, spec, folder_);
  for (cycle_t t = 0; t < 100000; ++t) {
    outputs.on_transfer({t, t, first_.id(), 1, 1});
  }
  EXPECT_THROW(outputs.close({}), output_error);
  EXPECT_FALSE(fs::exists(folder_ / "stages.trace"));
}

TEST_F(sinks, an_absent_folder_is_an_output_error) {
  trace_spec spec;
  spec.sqlite = true;
  EXPECT_THROW(trace_outputs(context_, spec, folder_ / "absent"), output_error);
}

TEST_F(sinks, a_file_is_whole_or_absent) {
  const fs::path path = folder_ / "summary.json";
  write_file(path, "old");
  fs::create_symlink("/dev/full", folder_ / "summary.json.part");
  EXPECT_THROW(write_file(path, "new"), output_error);
  EXPECT_EQ(text_of(path), "old");
  fs::remove(folder_ / "summary.json.part");
  write_file(path, "new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_FALSE(fs::exists(folder_ / "summary.json.part"));
}

}  // namespace
}  // namespace carillon
