// From spans to the summary: the breakdown of hand-made messages, expectations, and the report of
// it.

#include "cli/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "cli/report.h"
#include "common/error.h"

namespace carillon {
namespace {

using testing::HasSubstr;

class summary : public testing::Test {
 protected:
  summary()
      : times_(trace_, "doorbell_to_wire",
               [](const message_record& m) { return m.info.qpn != 99; }) {
    trace_.observe(times_);
    what_.name = "hand_made";
    what_.points.emplace_back();
  }

  /// A doorbell that arrives `off` ps behind a clock edge: entry, 40 cycles of decoding, a wait of
  /// `held` for credit, a read whose answer flies 126.4 ns and waits 0.6 ns for the next edge.
  void live(ps_t begin, ps_t off, ps_t held, std::uint32_t qpn = 5) {
    const trace_site cpu = trace_.site("host0.cpu", "cpu");
    const trace_site rx = trace_.site("nic0.pcie_rx", "pcie_rx");
    const trace_site fetch = trace_.site("nic0.wqe_fetch", "wqe_fetch");
    const trace_site link = trace_.site("host0.link", "wqe_fetch");
    const name_id clock_sync = trace_.intern("clock_sync");
    trace_ref at = trace_.open(begin, {"host0", qpn, 0, 8, 4096});
    ps_t now = begin;
    const auto spend = [&](trace_site site, span_kind kind, name_id reason, ps_t length) {
      at = trace_.add(at, site, kind, reason, now, now + length);
      now += length;
    };
    spend(cpu, span_kind::service, 0, 30000);
    trace_.mark(at, milestone::doorbell);
    spend(rx, span_kind::wait, clock_sync, off);
    spend(rx, span_kind::service, 0, 40000);
    spend(fetch, span_kind::wait, trace_.intern("credit:x"), held);
    spend(fetch, span_kind::service, 0, 15000);
    spend(link, span_kind::flight, 0, 126400);
    spend(fetch, span_kind::wait, clock_sync, 600);
    trace_.mark(at, milestone::first_bit);
    trace_.mark(at, milestone::delivered);
    trace_.release(at);
  }

  json make() {
    run_facts facts;
    facts.point = &what_.points.front();
    facts.times = &times_;
    facts.counters = {{"nic0", &counters_}};
    return scenario_summary(what_, {point_summary(facts)});
  }

  bool check(const expectation& expect, json& document) {
    what_.expect = {expect};
    return check_expectations(what_, document);
  }

  static expectation exactly(const std::string& path, double value) {
    expectation result;
    result.path = path;
    result.where = "s.toml:9";
    result.value = value;
    return result;
  }

  tracer trace_;
  breakdown times_;
  counter_block counters_;
  scenario what_;
};

TEST_F(summary, adds_up_to_the_latency) {
  live(0, 400, 0);
  live(1000000, 0, 3000);
  live(2000000, 0, 0, 99);  // background
  const json s = make();
  EXPECT_EQ(s["messages"], 2);
  EXPECT_EQ(s["latency"]["doorbell_to_wire"]["count"], 2);
  // 0.4 + 40 + 15 + 126.4 + 0.6; and 3 of waiting instead of 0.4
  EXPECT_DOUBLE_EQ(s["latency"]["doorbell_to_wire"]["min"], 182.4);
  EXPECT_DOUBLE_EQ(s["latency"]["doorbell_to_wire"]["max"], 185.0);
  EXPECT_DOUBLE_EQ(s["latency"]["doorbell_to_wire"]["mean"], 183.7);
  EXPECT_DOUBLE_EQ(s["latency"]["post_to_wire"]["min"], 212.4);
  EXPECT_FALSE(s["latency"].contains("post_to_cqe"));
}

TEST_F(summary, service_contains_the_flight_and_the_rounding_of_its_answer) {
  live(0, 400, 3000);
  const json s = make();
  const json& fetch = s["stages"]["wqe_fetch"];
  EXPECT_DOUBLE_EQ(fetch["service"]["p50"], 142.0);  // 15 + 126.4 + 0.6
  EXPECT_DOUBLE_EQ(fetch["wait"]["p50"], 3.0);
  EXPECT_DOUBLE_EQ(fetch["total"]["p50"], 145.0);
  EXPECT_DOUBLE_EQ(fetch["flight"], 126.4);
  EXPECT_DOUBLE_EQ(fetch["waits"]["credit:x"], 3.0);
  EXPECT_EQ(fetch["waits"].size(), 1U);
  const json& rx = s["stages"]["pcie_rx"];
  EXPECT_DOUBLE_EQ(rx["service"]["p50"], 40.0);
  EXPECT_DOUBLE_EQ(rx["wait"]["p50"], 0.4);
  EXPECT_FALSE(s["stages"].contains("uar")) << "bypassed stages are absent";
  EXPECT_FALSE(s["stages"].contains("cpu")) << "before the doorbell";
  EXPECT_DOUBLE_EQ(s["path"]["total"]["p50"], 185.4);
  EXPECT_DOUBLE_EQ(s["places"]["host0.link"]["flight"], 126.4);
}

TEST_F(summary, rates_count_from_the_first_delivery_to_the_last) {
  for (ps_t i = 0; i < 5; ++i) {
    live(i * 100000, 0, 0);
  }
  const json s = make();
  // 4 messages of 4096 B in 400 ns
  EXPECT_DOUBLE_EQ(s["rates"]["goodput_gbps"], 4 * 4096 * 8 / 400.0);
  EXPECT_DOUBLE_EQ(s["rates"]["messages_per_second"], 1e7);
}

TEST_F(summary, a_hole_in_the_spans_is_our_bug) {
  const trace_ref at = trace_.open(0, {"host0", 5, 0, 8, 64});
  EXPECT_THROW(trace_.service(at, trace_.site("x", "uar"), 10, 20), model_error);
}

TEST_F(summary, expectations_are_met_or_explained) {
  live(0, 0, 0);
  json s = make();
  EXPECT_TRUE(check(exactly("latency.doorbell_to_wire.p50", 182), s));
  EXPECT_EQ(s["expect"]["passed"], 1);
  EXPECT_EQ(s["expect"]["met"].size(), 1);
  EXPECT_FALSE(check(exactly("latency.doorbell_to_wire.p50", 183), s));
  EXPECT_EQ(s["expect"]["failed"][0]["expected"], "183");
  EXPECT_EQ(s["expect"]["failed"][0]["actual"], "182");
  EXPECT_EQ(s["expect"]["failed"][0]["where"], "s.toml:9");

  expectation range;
  range.path = "stages.wqe_fetch.service.p50";
  range.min = 142;
  range.max = 142;
  EXPECT_TRUE(check(range, s));
  range.max = 141.9;
  EXPECT_FALSE(check(range, s));

  expectation tolerant = exactly("latency.doorbell_to_wire.p50", 183);
  tolerant.tolerance = 1;
  EXPECT_TRUE(check(tolerant, s));
  tolerant.tolerance = 0.9;
  EXPECT_FALSE(check(tolerant, s));

  expectation text;
  text.path = "profile";
  text.text = "reference";
  EXPECT_TRUE(check(text, s));
  text.text = "other";
  EXPECT_FALSE(check(text, s));
}

TEST_F(summary, a_path_that_does_not_exist_names_the_nearest) {
  live(0, 0, 0);
  json s = make();
  EXPECT_FALSE(check(exactly("latency.doorbel_to_wire.p50", 1), s));
  EXPECT_THAT(s["expect"]["failed"][0]["actual"].get<std::string>(),
              HasSubstr("`doorbell_to_wire`"));
}

TEST_F(summary, what_two_implementations_may_differ_in_is_impl_and_stats) {
  live(0, 0, 0);
  const json model = make();
  what_.points.front().impl["wqe_parser"] = impl_kind::rtl;
  const json rtl = make();
  EXPECT_EQ(model["impl"]["wqe_parser"], "model");
  EXPECT_EQ(rtl["impl"]["wqe_parser"], "rtl");
  for (const auto& [key, value] : model.items()) {
    if (key != "impl" && key != "stats") {
      EXPECT_EQ(value, rtl[key]) << key;
    }
  }
}

TEST_F(summary, the_report_shows_stages_waits_and_counters_without_colour) {
  counters_.add(counter::Cqes, 1234567);
  what_.points.front().params.pcie.generation = 4;
  what_.points.front().set_by["pcie.generation"] = "s.toml:3";
  live(0, 400, 3000);
  const std::string text = render_report(make(), {});
  EXPECT_THAT(text, HasSubstr("WQE fetch"));
  EXPECT_THAT(text, HasSubstr("credit:x 3"));
  EXPECT_THAT(text, HasSubstr("185.4"));
  EXPECT_THAT(text, HasSubstr("1,234,567"));
  EXPECT_THAT(text, HasSubstr("pcie.generation"));
  EXPECT_THAT(text, HasSubstr("s.toml:3"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("cqe_errors"), std::string::npos) << "counters that are zero are left out";
  EXPECT_NE(render_report(make(), {true, false}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace carillon
