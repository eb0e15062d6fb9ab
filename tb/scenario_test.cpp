// Scenarios: what the loader understands, and the one message that it gives for what it does not.

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/scenario_loader.h"
#include "common/error.h"

namespace carillon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

scenario read(const std::string& text, const scenario_overrides& overrides = {}) {
  return parse_scenario(text, "s.toml", overrides);
}

std::string error_of(const std::string& text, const scenario_overrides& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const config_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(scenario, one_that_sets_nothing_is_the_reference_with_its_file_name) {
  const scenario what = read("[workload]\n");
  EXPECT_EQ(what.name, "s");
  EXPECT_EQ(what.profile, "reference");
  EXPECT_EQ(what.report_path, "doorbell_to_wire");
  ASSERT_EQ(what.points.size(), 1U);
  EXPECT_TRUE(what.single());
  EXPECT_EQ(what.points[0].params, parameters{});
  EXPECT_EQ(what.points[0].seed, 1U);
  EXPECT_FALSE(what.trace.any());
}

TEST(scenario, every_key_of_the_workload_arrives) {
  const scenario what = read(R"(
[scenario]
name = "all keys"
question = "why?"
seed = 42
[workload]
kind = "stream"
opcode = "send_imm"
size = 200
messages = 1000
warmup = 10
outstanding = 16
qps = 4
queue_depth = 128
submit = "doorbell"
inline = true
batch = 8
signaled_every = 4
directions = "both"
align_doorbell = true
verify = true
background = { qps = 3, opcode = "write", size = 64, outstanding = 2 }
)");
  const workload_spec& w = what.points.at(0).workload;
  EXPECT_EQ(what.name, "all keys");
  EXPECT_EQ(what.question, "why?");
  EXPECT_EQ(what.points[0].seed, 42U);
  EXPECT_EQ(w.kind, workload_kind::stream);
  EXPECT_EQ(w.opcode, work_opcode::send_imm);
  EXPECT_EQ(w.size, 200U);
  EXPECT_EQ(w.messages, 1000U);
  EXPECT_EQ(w.warmup, 10U);
  EXPECT_EQ(w.outstanding, 16U);
  EXPECT_EQ(w.qps, 4U);
  EXPECT_EQ(w.queue_depth, 128U);
  EXPECT_EQ(w.submit, submit_mode::doorbell);
  EXPECT_EQ(w.inline_data, inline_mode::always);
  EXPECT_EQ(w.batch, 8U);
  EXPECT_EQ(w.signaled_every, 4U);
  EXPECT_TRUE(w.both_directions);
  EXPECT_TRUE(w.align_doorbell);
  EXPECT_TRUE(w.verify);
  EXPECT_EQ(w.background.qps, 3U);
  EXPECT_EQ(w.background.opcode, work_opcode::write);
  EXPECT_EQ(w.background.size, 64U);
  EXPECT_EQ(w.background.outstanding, 2U);
}

TEST(scenario, parameters_come_in_tables_of_their_group) {
  const scenario what = read(R"(
[parameters.pcie]
generation = 4
completion_split = "every_rcb"
[parameters.cpu]
noise = true
)");
  const parameters& p = what.points.at(0).params;
  EXPECT_EQ(p.pcie.generation, 4);
  EXPECT_EQ(p.pcie.completion_split, pcie_completion_split::EveryRcb);
  EXPECT_TRUE(p.cpu.noise);
  EXPECT_EQ(what.points[0].set_by.at("pcie.generation"), "s.toml:3");
}

TEST(scenario, points_override_the_base_and_sizes_multiply_them) {
  const scenario what = read(R"(
[workload]
sizes = [2, 4096]
messages = 5
[[points]]
label = "gen4"
parameters = { pcie = { generation = 4 } }
[[points]]
label = "bf"
workload = { submit = "blueflame" }
)");
  ASSERT_EQ(what.points.size(), 4U);
  EXPECT_EQ(what.points[0].label, "gen4_size_2");
  EXPECT_EQ(what.points[1].label, "gen4_size_4096");
  EXPECT_EQ(what.points[3].label, "bf_size_4096");
  EXPECT_EQ(what.points[0].params.pcie.generation, 4);
  EXPECT_EQ(what.points[2].params.pcie.generation, 5);
  EXPECT_EQ(what.points[3].workload.submit, submit_mode::blueflame);
  EXPECT_EQ(what.points[3].workload.size, 4096U);
  EXPECT_EQ(what.points[0].workload.messages, 5U);
  EXPECT_FALSE(what.single());
}

TEST(scenario, expectations_are_flattened) {
  const scenario what = read(R"(
[expect]
latency.doorbell_to_wire.p50 = 470
stages.uar.service = { min = 1, max = 20 }
"rates.goodput_gbps" = { value = 400, percent = 0.5 }
[expect.counters.nic0]
cqes = { value = 5, tolerance = 1 }
)");
  ASSERT_EQ(what.expect.size(), 4U);
  const auto find = [&](const std::string& path) {
    for (const expectation& each : what.expect) {
      if (each.path == path) {
        return each;
      }
    }
    ADD_FAILURE() << path;
    return expectation{};
  };
  EXPECT_EQ(find("latency.doorbell_to_wire.p50").value, 470.0);
  EXPECT_EQ(find("latency.doorbell_to_wire.p50").where, "s.toml:3");
  EXPECT_EQ(find("stages.uar.service").min, 1.0);
  EXPECT_EQ(find("stages.uar.service").max, 20.0);
  EXPECT_DOUBLE_EQ(find("rates.goodput_gbps").tolerance, 2.0);
  EXPECT_EQ(find("counters.nic0.cqes").tolerance, 1.0);
}

TEST(scenario, expectations_may_ask_what_faults_did) {
  EXPECT_EQ(read("[expect]\nfaults.rules.0.applied = 1\n").expect.at(0).path,
            "faults.rules.0.applied");
}

TEST(scenario, every_key_of_a_fault_arrives) {
  const scenario what = read(R"(
[workload]
[[fault]]
do = "corrupt"
direction = "host1_to_host0"
opcode = ["RcAcknowledge", "read_response"]
psn = 16777215
qpn = 17
from_ns = 5
to_ns = 7
every = 2
probability = 0.25
nth = [9, 3]
count = 4
where = "icrc"
bit = 500
[[fault]]
do = "reorder"
behind = 3
by_ns = 70
nth = 2
[[fault]]
do = "drop"
)");
  const std::vector<fault_rule>& rules = what.points.at(0).faults;
  ASSERT_EQ(rules.size(), 3U);
  const fault_rule& first = rules[0];
  EXPECT_EQ(first.action, fault_action::corrupt);
  EXPECT_EQ(first.direction, fault_direction::host1_to_host0);
  EXPECT_EQ(first.opcodes->count(), 5U);   // one, and the four of READ responses
  EXPECT_TRUE(first.opcodes->test(0x11));  // RcAcknowledge
  EXPECT_EQ(first.psn, 0xffffffU);
  EXPECT_EQ(first.qpn, 17U);
  EXPECT_EQ(first.from, 5000U);
  EXPECT_EQ(first.to, 7000U);
  EXPECT_EQ(first.every, 2U);
  EXPECT_EQ(first.chance, fault_rule::Certain / 4);
  EXPECT_EQ(first.nth, (std::vector<std::uint64_t>{3, 9}));
  EXPECT_EQ(first.count, 4U);
  EXPECT_EQ(first.target, corrupt_target::icrc);
  EXPECT_EQ(first.bit, 500U);
  EXPECT_EQ(rules[1].behind, 3U);
  EXPECT_EQ(rules[1].by, 70000U);
  EXPECT_EQ(rules[1].nth, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(rules[1].direction, fault_direction::both);
  EXPECT_FALSE(rules[2].opcodes || rules[2].psn || rules[2].qpn || rules[2].chance);
}

TEST(scenario, faults_are_changed_by_points_and_by_the_command_line) {
  const std::string text = R"(
[[fault]]
do = "drop"
probability = 0.5
[[points]]
label = "as_above"
[[points]]
label = "other"
fault = [{ do = "delay", by_ns = 3 }]
[[points]]
label = "none"
fault = []
)";
  const scenario what = read(text);
  EXPECT_EQ(what.points.at(0).faults.at(0).chance, fault_rule::Certain / 2);
  ASSERT_EQ(what.points.at(1).faults.size(), 1U);
  EXPECT_EQ(what.points[1].faults[0].by, 3000U);
  EXPECT_TRUE(what.points.at(2).faults.empty());

  scenario_overrides overrides;
  overrides.set = {"fault.0.probability=1", "fault.0.opcode=RcSendOnly", "fault.0.nth=[1,2]"};
  const fault_rule changed =
      read("[[fault]]\ndo = \"drop\"\n", overrides).points.at(0).faults.at(0);
  EXPECT_EQ(changed.chance, fault_rule::Certain);
  EXPECT_EQ(changed.opcodes->count(), 1U);
  EXPECT_EQ(changed.nth, (std::vector<std::uint64_t>{1, 2}));
}

TEST(scenario, the_command_line_wins) {
  scenario_overrides overrides;
  overrides.set = {"pcie.generation=3", "workload.size=8", "pcie.completion_split=every_rcb",
                   "report.path=post_to_cqe", "scenario.seed=9"};
  overrides.shuffle = 5;
  const scenario what =
      read("[parameters.pcie]\ngeneration = 4\n[workload]\nsize = 64\n", overrides);
  const run_point& point = what.points.at(0);
  EXPECT_EQ(point.params.pcie.generation, 3);
  EXPECT_EQ(point.params.pcie.completion_split, pcie_completion_split::EveryRcb);
  EXPECT_EQ(point.workload.size, 8U);
  EXPECT_EQ(point.seed, 9U);
  EXPECT_EQ(point.shuffle, 5U);
  EXPECT_EQ(what.report_path, "post_to_cqe");
  EXPECT_EQ(point.set_by.at("pcie.generation"), "--set pcie.generation=3");
  overrides.seed = 11;
  EXPECT_EQ(read("[workload]\n", overrides).points.at(0).seed, 11U);
}

TEST(scenario, the_inline_limit_is_what_fits_a_wqe_of_256_bytes) {
  // 16 control + 16 remote address + 4 inline header leave 220; a SEND has no remote address.
  EXPECT_EQ(inline_limit(work_opcode::write), 220U);
  EXPECT_EQ(inline_limit(work_opcode::write_imm), 220U);
  EXPECT_EQ(inline_limit(work_opcode::send), 236U);
  workload_spec workload;
  workload.size = 8;
  EXPECT_EQ(wqe_bytes(workload), 48U);  // 16 + 16 + 4 + 8, in units of 16
  workload.size = 4096;
  EXPECT_EQ(wqe_bytes(workload), 48U);  // 16 + 16 + 16 pointer
}

struct bad_input {
  const char* name;
  const char* text;
  std::vector<const char*> says;
};

void PrintTo(const bad_input& input, std::ostream* out) {
  *out << input.name;
}

class scenario_errors : public testing::TestWithParam<bad_input> {};

TEST_P(scenario_errors, say_where_what_and_what_would_be_right) {
  const std::string message = error_of(GetParam().text);
  for (const char* part : GetParam().says) {
    EXPECT_THAT(message, HasSubstr(part));
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    all, scenario_errors,
    testing::Values(
        bad_input{"syntax", "[workload]\nsize = = 3\n", {"s.toml:2:", "not TOML"}},
        bad_input{"section", "[worklaod]\nsize = 3\n", {"s.toml:1:", "worklaod", "`workload`"}},
        bad_input{"key", "[workload]\nsise = 3\n", {"s.toml:2: workload.sise", "`size`"}},
        bad_input{"type",
                  "[workload]\nsize = \"big\"\n",
                  {"s.toml:2: workload.size", "is a string", "an integer from 0"}},
        bad_input{"range",
                  "[workload]\noutstanding = 0\n",
                  {"s.toml:2: workload.outstanding", "0 is out of range", "1 to 32768"}},
        bad_input{"negative", "[workload]\nsize = -1\n", {"workload.size", "-1 is out of range"}},
        bad_input{"word",
                  "[workload]\nkind = \"pingpong\"\n",
                  {"s.toml:2: workload.kind",
                   "write_lat, ping_pong, stream, mixed, incast, all_to_all or shift"}},
        bad_input{"inline", "[workload]\ninline = 3\n", {"workload.inline", "\"auto\""}},
        bad_input{"power", "[workload]\nqueue_depth = 48\n", {"workload.queue_depth", "32 and 64"}},
        bad_input{"parameter",
                  "[parameters.pcie]\ngenration = 4\n",
                  {"s.toml:2: parameters.pcie.genration", "`pcie.generation`"}},
        bad_input{
            "parameter_value",
            "[parameters.pcie]\n\ngeneration = 7\n",
            {"s.toml:3: parameters.pcie.generation", "7 is out of range", "1, 2, 3, 4, 5, 6"}},
        bad_input{"parameter_type",
                  "[parameters.pcie]\nmps = \"large\"\n",
                  {"s.toml:2: parameters.pcie.mps", "is a string", "128, 256"}},
        bad_input{"parameter_group",
                  "[parameters]\nmps = 512\n",
                  {"s.toml:2: parameters.mps", "`pcie.mps`"}},
        bad_input{"profile", "profile = \"fast\"\n", {"s.toml:1: profile", "`fast`", "reference"}},
        bad_input{"report",
                  "[report]\npath = \"doorbel_to_wire\"\n",
                  {"s.toml:2: report.path", "doorbell_to_wire"}},
        bad_input{"sink", "[trace]\nsinks = [\"sqlit\"]\n", {"s.toml:2: trace.sinks", "`sqlite`"}},
        bad_input{
            "expect", "[expect]\na.b = { minimum = 3 }\n", {"s.toml:2: expect.a.b.minimum", "min"}},
        bad_input{"expect_path",
                  "[expect]\nlatncy.doorbell_to_wire.min = 470\n",
                  {"s.toml:2: expect.latncy.doorbell_to_wire.min", "did you mean `latency`"}},
        bad_input{"expect_counter",
                  "[expect]\ncounters.nic0.doorbels = 1\n",
                  {"s.toml:2: expect.counters.nic0.doorbels", "did you mean `doorbells`"}},
        bad_input{"expect_empty", "[expect]\na.b = { }\n", {"expect.a.b", "value, min or max"}},
        bad_input{
            "point_label", "[[points]]\nworkload = { size = 3 }\n", {"s.toml:1: points", "label"}},
        bad_input{"point_twice",
                  "[[points]]\nlabel = \"a\"\n[[points]]\nlabel = \"a\"\n",
                  {"s.toml:4: points.label", "`a`"}},
        bad_input{"impl",
                  "[impl]\nwqe_parser = \"verilog\"\n",
                  {"s.toml:2: impl.wqe_parser", "model, rtl or lockstep"}},
        bad_input{"too_long_to_inline",
                  "[workload]\nsize = 221\ninline = true\n",
                  {"s.toml:3: workload.inline", "221 B", "at most 220 B"}},
        bad_input{"batched_blueflame",
                  "[workload]\nsubmit = \"blueflame\"\nbatch = 2\noutstanding = 2\n",
                  {"s.toml:2: workload.submit", "workload.batch"}},
        bad_input{"mtu",
                  "[parameters.wire]\nmtu = 4096\nethernet_mtu = 4100\n",
                  {"s.toml:2: wire.mtu", "4160", "4100"}},
        bad_input{"queue",
                  "[workload]\noutstanding = 65\n",
                  {"s.toml:2: workload.outstanding", "queue_depth"}},
        bad_input{"moderated_poll",
                  "[workload]\ncq_moderation_period = 4\n",
                  {"s.toml:2: workload.cq_moderation_period", "event"}},
        bad_input{"endless_moderation",
                  "[workload]\ncompletion = \"event\"\ncq_moderation_count = 4\n",
                  {"s.toml:3: workload.cq_moderation_count", "cq_moderation_period"}},
        bad_input{"mixed_events",
                  "[workload]\nkind = \"mixed\"\nqueue_depth = 1024\ncompletion = \"event\"\n",
                  {"s.toml:4: workload.completion", "polls"}},
        bad_input{"one_vector",
                  "[parameters]\nnic.msix_vectors = 1\n[workload]\ncompletion = \"event\"\n",
                  {"s.toml:4: workload.completion", "nic.msix_vectors"}},
        bad_input{"batch", "[workload]\nbatch = 4\n", {"s.toml:2: workload.batch", "outstanding"}},
        bad_input{"signal",
                  "[workload]\nsignaled_every = 2\n",
                  {"s.toml:2: workload.signaled_every", "at most 1"}},
        bad_input{"invisible",
                  "[workload]\nkind = \"ping_pong\"\nsize = 0\n",
                  {"s.toml:3: workload.size", "at least 1"}},
        bad_input{"unanswered",
                  "[workload]\nkind = \"ping_pong\"\nmessages = 3\n",
                  {"s.toml:3: workload.messages", "even", "3"}},
        bad_input{"ping_pong_qps",
                  "[workload]\nkind = \"ping_pong\"\nmessages = 2\nqps = 2\n",
                  {"s.toml:4: workload.qps", "one QP"}},
        bad_input{"background_without_receives",
                  "[workload]\nbackground = { qps = 1, opcode = \"send\" }\n",
                  {"s.toml:2: workload.background", "must be write, not send"}},
        bad_input{"background_queue",
                  "[workload]\nbackground = { qps = 1, outstanding = 65 }\n",
                  {"s.toml:2: workload.background", "queue_depth is 64"}},
        bad_input{
            "name_is_a_path", "[scenario]\nname = \"../x\"\n", {"s.toml:2: scenario.name", "no /"}},
        bad_input{"size_twice",
                  "[workload]\nsizes = [64, 2, 64]\n",
                  {"s.toml:2: workload.sizes", "64", "twice"}},
        bad_input{"key_twice", "[workload]\nsize = 1\nsize = 2\n", {"s.toml:3:", "size"}},
        bad_input{"garbage", "\x01\x02", {"s.toml:1:", "not TOML"}},
        bad_input{"empty", "# nothing\n", {"s.toml: is empty", "[workload]"}},
        bad_input{"window",
                  "[trace]\nfrom_ns = 2\nto_ns = 1\n",
                  {"s.toml:2: trace.from_ns", "after trace.to_ns"}},
        bad_input{"fault_table", "[fault]\ndo = \"drop\"\n", {"s.toml:1: fault", "[[fault]]"}},
        bad_input{"fault_without_do", "[[fault]]\nnth = 1\n", {"s.toml:1: fault.0", "needs `do`"}},
        bad_input{"fault_action",
                  "[[fault]]\ndo = \"lose\"\n",
                  {"s.toml:2: fault.0.do", "`lose`", "drop, corrupt, duplicate"}},
        bad_input{"fault_key",
                  "[[fault]]\ndo = \"drop\"\nprobabilty = 1\n",
                  {"s.toml:3: fault.0.probabilty", "`probability`"}},
        bad_input{"fault_opcode",
                  "[[fault]]\ndo = \"drop\"\nopcode = [\"request\", \"RcAknowledge\"]\n",
                  {"s.toml:3: fault.0.opcode", "`RcAknowledge`", "`RcAcknowledge`"}},
        bad_input{"fault_nth",
                  "[[fault]]\ndo = \"drop\"\nnth = [1, 0]\n",
                  {"s.toml:3: fault.0.nth", "0 is out of range"}},
        bad_input{"fault_nth_twice",
                  "[[fault]]\ndo = \"drop\"\nnth = [4, 1, 4]\n",
                  {"s.toml:3: fault.0.nth", "4 stands in the list twice"}},
        bad_input{"fault_nth_never",
                  "[[fault]]\ndo = \"drop\"\nnth = []\n",
                  {"s.toml:3: fault.0.nth", "is empty"}},
        bad_input{"fault_probability",
                  "[[fault]]\ndo = \"drop\"\nprobability = 1.5\n",
                  {"s.toml:3: fault.0.probability", "1.5 is out of range", "0 to 1"}},
        bad_input{"fault_probability_nan",
                  "[[fault]]\ndo = \"drop\"\nprobability = nan\n",
                  {"s.toml:3: fault.0.probability", "0 to 1"}},
        bad_input{"fault_psn",
                  "[[fault]]\ndo = \"drop\"\npsn = 16777216\n",
                  {"s.toml:3: fault.0.psn", "0 to 16777215"}},
        bad_input{"fault_window",
                  "[[fault]]\ndo = \"drop\"\nfrom_ns = 2\nto_ns = 2\n",
                  {"s.toml:3: fault.0.from_ns", "2 is not before to_ns 2"}},
        bad_input{"fault_window_empty",
                  "[[fault]]\ndo = \"drop\"\nto_ns = 0\n",
                  {"s.toml:3: fault.0.from_ns", "0 is not before to_ns 0"}},
        bad_input{"fault_corrupt",
                  "[[fault]]\ndo = \"corrupt\"\n",
                  {"s.toml:1: fault.0", "corrupt needs `where`"}},
        bad_input{"fault_delay",
                  "\n[[fault]]\ndo = \"delay\"\n",
                  {"s.toml:2: fault.0", "delay needs `by_ns`"}},
        bad_input{"fault_foreign_key",
                  "[[fault]]\ndo = \"drop\"\n[[fault]]\ndo = \"drop\"\nby_ns = 5\n",
                  {"s.toml:5: fault.1.by_ns", "duplicate, delay or reorder", "does drop"}},
        bad_input{"fault_foreign_bit",
                  "[[fault]]\ndo = \"delay\"\nby_ns = 5\nbit = 5\n",
                  {"s.toml:4: fault.0.bit", "is for corrupt", "does delay"}},
        bad_input{"min_above_max",
                  "[expect]\na = { min = 2, max = 1 }\n",
                  {"s.toml:2: expect.a", "min 2 is above max 1"}},
        bad_input{"negative_tolerance",
                  "[expect]\na = { value = 2, tolerance = -1 }\n",
                  {"s.toml:2: expect.a", "below 0"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(scenario_option_errors, name_the_option) {
  scenario_overrides overrides;
  overrides.set = {"pcie.generatoin=4"};
  EXPECT_THAT(error_of("[workload]\n", overrides),
              AllOf(HasSubstr("--set pcie.generatoin=4"), HasSubstr("`pcie.generation`")));
  overrides.set = {"workload.size=many"};
  EXPECT_THAT(error_of("[workload]\n", overrides),
              AllOf(HasSubstr("--set workload.size=many"), HasSubstr("is a string")));
  overrides.set = {"fault.0.probability=1"};
  EXPECT_THAT(error_of("[workload]\n", overrides),
              AllOf(HasSubstr("--set fault.0.probability=1"), HasSubstr("no [[fault]]")));
  EXPECT_THAT(error_of("[[fault]]\ndo = \"drop\"\n", overrides), HasSubstr("no error"));
  overrides.set = {"fault.1.probability=1"};
  EXPECT_THAT(error_of("[[fault]]\ndo = \"drop\"\n", overrides),
              HasSubstr("no rule 1; allowed: 0 to 0"));
  overrides.set = {"fault.0.probabilty=1"};
  EXPECT_THAT(error_of("[[fault]]\ndo = \"drop\"\n", overrides), HasSubstr("`probability`"));
  overrides.set = {"fault.probability=1"};
  EXPECT_THAT(error_of("[[fault]]\ndo = \"drop\"\n", overrides), HasSubstr("fault.<number>.<key>"));
  overrides.set = {"fault.0.by_ns=1"};
  EXPECT_THAT(error_of("[[fault]]\ndo = \"drop\"\n", overrides),
              AllOf(HasSubstr("--set fault.0.by_ns=1: fault.0.by_ns"), HasSubstr("does drop")));
  overrides.set = {"generation"};
  EXPECT_THAT(error_of("[workload]\n", overrides), HasSubstr("must be key=value"));
  overrides.set = {"pcie.mps=500"};
  EXPECT_THAT(error_of("[workload]\n", overrides),
              AllOf(HasSubstr("500"), HasSubstr("128, 256, 512")));
  overrides = {};
  overrides.impl = {"wqe_parser"};
  EXPECT_THAT(error_of("[workload]\n", overrides), HasSubstr("--impl wqe_parser"));
  overrides.impl = {""};
  EXPECT_THAT(error_of("[workload]\n", overrides), HasSubstr("--impl"));
  overrides.impl = {"wqe_praser=model"};
  EXPECT_THAT(error_of("[workload]\n", overrides), HasSubstr("`wqe_parser`"));
}

TEST(scenario_option_errors, an_absent_file_is_named) {
  try {
    load_scenario("no/such/file.toml");
    FAIL();
  } catch (const config_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such/file.toml"));
  }
}

TEST(scenario, every_shipped_one_loads) {
  int count = 0;
  for (const auto& each : std::filesystem::directory_iterator("scenarios")) {
    if (each.path().extension() == ".toml") {
      SCOPED_TRACE(each.path());
      const scenario what = load_scenario(each.path().string());
      EXPECT_EQ(what.name, each.path().stem().string());
      EXPECT_FALSE(what.question.empty());
      EXPECT_FALSE(what.expect.empty());
      ++count;
    }
  }
  EXPECT_GE(count, 8);
}

}  // namespace
}  // namespace carillon
