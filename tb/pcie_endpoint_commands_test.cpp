// The commands about functions, memory keys and queues, without time. Expected lines are the
// formats of docs/spec/contexts.toml filled in by hand from what the commands carry.
#include "pcie_endpoint/commands.h"
#include "tb/common/command_bench.h"

namespace carillon {
namespace {

using bench::congestion_request;
using bench::cq_request;
using bench::eq_request;
using bench::gid_request;
using bench::input;
using bench::ip;
using bench::mkey_request;
using bench::packed;
using bench::qp_request;
using bench::simple;
using bench::srq_request;

class commands : public bench::commands {};

// Functions

TEST_F(commands, a_function_makes_objects_only_when_it_is_enabled_and_initialised) {
  refused(simple(command_opcode::AllocPd), command_status::BadSystemState,
          command_syndrome::FunctionState);
  make(simple(command_opcode::EnableHca));
  EXPECT_EQ(core.init_state(0), 1U);
  refused(simple(command_opcode::AllocPd), command_status::BadSystemState,
          command_syndrome::FunctionState);
  make(simple(command_opcode::InitHca));
  EXPECT_EQ(core.init_state(0), 2U);
  EXPECT_EQ(make(simple(command_opcode::AllocPd)), 1U);
  refused(simple(command_opcode::InitHca), command_status::BadSystemState,
          command_syndrome::FunctionState);
}

TEST_F(commands, a_function_with_objects_is_not_torn_down) {
  bring_up();
  uar = make(simple(command_opcode::AllocUar));
  const std::uint32_t eqn = make(packed(eq_request(uar), {0x7000}));
  refused(simple(command_opcode::TeardownHca), command_status::ResourceBusy,
          command_syndrome::InUse);
  make(simple(command_opcode::DestroyEq, eqn));
  make(simple(command_opcode::TeardownHca));
  EXPECT_EQ(core.init_state(0), 1U);
}

TEST_F(commands, a_function_cannot_touch_the_objects_of_another) {
  prepare();
  const std::uint32_t mkey = make(packed(mkey_request(pd)));
  const std::uint32_t eqn = make(packed(eq_request(uar), {0x7000}));
  const std::uint32_t srqn = make(packed(srq_request(pd), {0x6000}));
  const std::uint32_t qpn = make(packed(qp_request(pd, uar, cqn), {0x4000}));
  bring_up(1);
  const auto foreign = [&](command_opcode opcode, std::uint32_t number, command_syndrome why) {
    refused(simple(opcode, number), command_status::BadResource, why, 1);
  };
  foreign(command_opcode::DeallocPd, pd, command_syndrome::NoPd);
  foreign(command_opcode::DestroyMkey, mkey, command_syndrome::NoMkey);
  foreign(command_opcode::QueryMkey, mkey, command_syndrome::NoMkey);
  foreign(command_opcode::DestroyEq, eqn, command_syndrome::NoEq);
  foreign(command_opcode::QueryEq, eqn, command_syndrome::NoEq);
  foreign(command_opcode::DestroyCq, cqn, command_syndrome::NoCq);
  foreign(command_opcode::QueryCq, cqn, command_syndrome::NoCq);
  foreign(command_opcode::DestroySrq, srqn, command_syndrome::NoSrq);
  foreign(command_opcode::QuerySrq, srqn, command_syndrome::NoSrq);
  foreign(command_opcode::DestroyQp, qpn, command_syndrome::NoQp);
  foreign(command_opcode::QueryQp, qpn, command_syndrome::NoQp);
  foreign(command_opcode::ToErrQp, qpn, command_syndrome::NoQp);
  foreign(command_opcode::ToRstQp, qpn, command_syndrome::NoQp);
  foreign(command_opcode::Rst2InitQp, qpn, command_syndrome::NoQp);
  foreign(command_opcode::DeallocUar, uar, command_syndrome::NoUar);
  refused(packed(mkey_request(pd)), command_status::BadResource, command_syndrome::NoPd, 1);
  EXPECT_TRUE(core.lines_wanted(1, simple(command_opcode::QueryQp, qpn)).empty());
  EXPECT_EQ(core.lines_wanted(0, simple(command_opcode::QueryQp, qpn)).size(), 2U);
  EXPECT_EQ(core.vport(1).permanent_address, 0x020000000002U);
}

TEST_F(commands, an_input_of_the_wrong_length_is_refused) {
  prepare();
  const auto too_short = [&](input in, std::size_t bytes) {
    in.resize(bytes);
    refused(in, command_status::BadInputLength, command_syndrome::InputLength);
  };
  too_short(simple(command_opcode::AllocPd), 8);
  too_short(simple(command_opcode::AllocPd), command_core::MostInputBytes + 8);
  too_short(packed(gid_request(0, ip(1))), 40);
  too_short(packed(mkey_request(pd)), 264);
  too_short(packed(eq_request(uar), {0x7000}), 264);
  too_short(packed(eq_request(uar), {0x7000}), 272);  // without its page
  too_short(packed(cq_request(uar), {0x8000}), 264);
  too_short(packed(cq_request(uar), {0x8000}), 272);
  too_short(packed(srq_request(pd), {0x6000}), 264);
  too_short(packed(srq_request(pd), {0x6000}), 272);
  too_short(packed(qp_request(pd, uar, cqn), {0x4000}), 264);
  too_short(packed(qp_request(pd, uar, cqn), {0x4000}), 272);
}

TEST_F(commands, one_that_is_not_there_is_refused) {
  bring_up();
  refused(simple(command_opcode::ManagePages), command_status::BadOperation,
          command_syndrome::UnknownCommand);
  refused(simple(static_cast<command_opcode>(0xfff)), command_status::BadOperation,
          command_syndrome::UnknownCommand);
}

TEST_F(commands, a_gid_beyond_the_table_is_refused) {
  bring_up();
  make(packed(gid_request(15, ip(1))));
  refused(packed(gid_request(16, ip(1))), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(commands, capabilities_say_what_the_checks_enforce) {
  command_limits all = limits();
  all.log_max_eq = 5;
  all.log_max_srq = 6;
  all.log_max_mtt_lines = 10;
  all.log_max_rd_atomic = 3;
  core = command_core(all);
  const hca_cap cap = core.capabilities(0);
  EXPECT_EQ(cap.log_max_eq, 5U);
  EXPECT_EQ(cap.log_max_srq, 6U);
  EXPECT_EQ(cap.log_max_mtt, 13U) << "eight entries a line";
  EXPECT_EQ(cap.log_max_ra_req_qp, 3U);
  EXPECT_EQ(cap.log_max_ra_res_qp, 3U);
  EXPECT_EQ(cap.num_pkeys, 1U);
  EXPECT_EQ(cap.atomic, 1U);
}

// Memory keys

TEST_F(commands, a_contiguous_memory_key_becomes_one_line) {
  prepare();
  EXPECT_EQ(make(packed(mkey_request(pd))), 1U);
  ASSERT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(core.effects().lines[0].kind, context_kind::mkey);
  EXPECT_EQ(core.effects().lines[0].index, 1U);
  mkey_line expected;
  expected.valid = expected.contiguous = expected.lr = expected.lw = expected.rw = 1;
  expected.variant = 0x5a;
  expected.pd = 1;
  expected.qpn = 0xffffff;
  expected.start_addr = 0x10000;
  expected.len = 0x2000;
  expected.phys_base = 0x10000;
  EXPECT_EQ(line<mkey_line>(context_kind::mkey), expected);

  make(simple(command_opcode::DestroyMkey, 1));
  EXPECT_EQ(line<mkey_line>(context_kind::mkey), mkey_line{});
  EXPECT_EQ(make(packed(mkey_request(pd))), 1U) << "the lowest free number is taken again";
}

TEST_F(commands, a_memory_key_of_the_whole_address_space_begins_at_zero) {
  prepare();
  create_mkey_in in = mkey_request(pd);
  in.memory_key_mkey_entry.length64 = 1;
  in.memory_key_mkey_entry.len = 0;
  make(packed(in));
  const auto made = line<mkey_line>(context_kind::mkey);
  EXPECT_EQ(made.length64, 1U);
  EXPECT_EQ(made.start_addr, 0U);
  EXPECT_EQ(made.phys_base, 0U) << "so that an address is its own IOVA";
}

/// Pages of 4 KiB that may be read and written (bits 0 and 1), each 8 KiB behind the last.
std::vector<std::uint64_t> entries(std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = 0x100003 + i * 0x2000;
  }
  return all;
}

/// A key with a list of so many pages, of which it uses all but the first 0x10 bytes.
input paged(std::uint32_t pd, std::size_t pages, std::size_t given) {
  create_mkey_in in = mkey_request(pd);
  mkc& key = in.memory_key_mkey_entry;
  key.access_mode_1_0 = mkey_access_mode::Mtt;
  key.log_page_size = 12;
  key.start_addr = 0x7f0000000010;
  key.len = pages * 4096 - 0x10;
  in.translations_octword_actual_size = static_cast<std::uint32_t>((given + 1) / 2);
  return packed(in, entries((given + 1) / 2 * 2));
}

input paged(std::uint32_t pd, std::size_t pages) {
  return paged(pd, pages, pages);
}

TEST_F(commands, the_pages_of_a_memory_key_fill_whole_lines_before_the_key_is_valid) {
  prepare();
  make(paged(pd, 9));
  const auto& lines = core.effects().lines;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].kind, context_kind::mtt);
  EXPECT_EQ(lines[0].index, 0U);
  mtt_line first;
  first.entry0 = 0x100003;
  first.entry1 = 0x102003;
  first.entry2 = 0x104003;
  first.entry3 = 0x106003;
  first.entry4 = 0x108003;
  first.entry5 = 0x10a003;
  first.entry6 = 0x10c003;
  first.entry7 = 0x10e003;
  EXPECT_EQ(mtt_line::unpack(lines[0].data.data()), first);
  EXPECT_EQ(lines[1].kind, context_kind::mtt);
  EXPECT_EQ(lines[1].index, 1U);
  mtt_line second;
  second.entry0 = 0x110003;
  EXPECT_EQ(mtt_line::unpack(lines[1].data.data()), second);
  EXPECT_EQ(lines[2].kind, context_kind::mkey);
  mkey_line key;
  key.valid = key.lr = key.lw = key.rw = 1;
  key.variant = 0x5a;
  key.log_page_size = 12;
  key.pd = pd;
  key.qpn = 0xffffff;
  key.start_addr = 0x7f0000000010;
  key.len = 9 * 4096 - 0x10;
  EXPECT_EQ(mkey_line::unpack(lines[2].data.data()), key);

  make(paged(pd, 1));
  EXPECT_EQ(line<mkey_line>(context_kind::mkey).mtt_base, 16U) << "the next whole line";
}

TEST_F(commands, translation_lines_are_taken_first_fit_and_come_back_with_the_key) {
  prepare();
  const auto base = [&](std::size_t pages) {
    make(paged(pd, pages));
    return line<mkey_line>(context_kind::mkey).mtt_base;
  };
  EXPECT_EQ(base(8), 0U);   // key 1
  EXPECT_EQ(base(16), 8U);  // key 2
  EXPECT_EQ(base(8), 24U);  // key 3
  EXPECT_EQ(base(8), 32U);  // key 4
  make(simple(command_opcode::DestroyMkey, 2));
  EXPECT_EQ(base(8), 8U) << "the first place that is large enough";
  EXPECT_EQ(base(16), 40U) << "one line between is too small";
  make(simple(command_opcode::DestroyMkey, 4));
  make(simple(command_opcode::DestroyMkey, 3));
  EXPECT_EQ(base(24), 16U) << "what comes back side by side is one place again";
}

TEST_F(commands, a_key_takes_the_pages_that_its_region_needs_and_no_more) {
  prepare();
  make(paged(pd, 1, 20));
  EXPECT_EQ(core.effects().lines.size(), 2U) << "one line of entries, one of the key";
  // 4096 bytes from the middle of a page need two pages.
  create_mkey_in in = create_mkey_in::unpack(paged(pd, 1).data());
  in.memory_key_mkey_entry.start_addr = 0x7f0000000800;
  in.memory_key_mkey_entry.len = 4096;
  in.translations_octword_actual_size = 0;
  refused(packed(in), command_status::BadParameter, command_syndrome::Translation);
  in.translations_octword_actual_size = 1;
  make(packed(in, entries(2)));
  const auto made = mtt_line::unpack(core.effects().lines.at(0).data.data());
  EXPECT_EQ(made.entry1, 0x102003U);
  // One byte more needs a third.
  in.memory_key_mkey_entry.len = 4096 + 2049;
  refused(packed(in, entries(2)), command_status::BadParameter, command_syndrome::Translation);
}

TEST_F(commands, a_command_holds_8158_pages) {
  prepare();
  // 64 KiB less the 272 of the command, 8 a page.
  const input largest = paged(pd, 8158);
  EXPECT_EQ(largest.size(), 65536U);
  make(largest);
  EXPECT_EQ(core.effects().lines.size(), 1021U) << "8158 entries are 1020 lines";
  refused(paged(pd, 8160), command_status::BadInputLength, command_syndrome::InputLength);
}

TEST_F(commands, less_output_than_a_query_has_is_refused) {
  prepare();
  make(packed(mkey_request(pd)));
  output.resize(query_mkey_out::Size - 8);
  refused(simple(command_opcode::QueryMkey, 1), command_status::BadOutputLength,
          command_syndrome::OutputLength);
  output.resize(query_mkey_out::Size);
  make(simple(command_opcode::QueryMkey, 1));
  output.resize(cmd_out::Size);
  make(simple(command_opcode::AllocPd));
}

TEST_F(commands, a_full_translation_table_is_said) {
  command_limits small = limits();
  small.log_max_mtt_lines = 1;
  core = command_core(small);
  prepare();
  make(paged(pd, 8));
  refused(paged(pd, 9), command_status::NoResources, command_syndrome::TableFull);
  make(paged(pd, 8));
  refused(paged(pd, 1), command_status::NoResources, command_syndrome::TableFull);
}

TEST_F(commands, a_full_key_table_is_said_and_keeps_no_translation_line) {
  command_limits small = limits();
  small.log_max_mkey = 1;  // index 0 is nobody's
  core = command_core(small);
  prepare();
  make(paged(pd, 8));
  refused(packed(mkey_request(pd)), command_status::NoResources, command_syndrome::TableFull);
  refused(paged(pd, 8), command_status::NoResources, command_syndrome::TableFull);
}

TEST_F(commands, a_memory_key_that_cannot_be_is_refused) {
  prepare();
  const auto with = [&](auto change) {
    create_mkey_in in = mkey_request(pd);
    change(in, in.memory_key_mkey_entry);
    return packed(in, entries(8));
  };
  const auto parameter = [&](auto change, command_syndrome why) {
    refused(with(change), command_status::BadParameter, why);
  };
  refused(with([](auto&, mkc& key) { key.pd = 9; }), command_status::BadResource,
          command_syndrome::NoPd);
  refused(with([](auto&, mkc& key) { key.qpn = 9; }), command_status::BadResource,
          command_syndrome::NoQp);
  parameter([](auto&, mkc& key) { key.access_mode_1_0 = mkey_access_mode::Klm; },
            command_syndrome::AccessMode);
  parameter([](auto&, mkc& key) { key.access_mode_1_0 = mkey_access_mode::Ksm; },
            command_syndrome::AccessMode);
  parameter([](auto&, mkc& key) { key.access_mode_4_2 = 1; }, command_syndrome::AccessMode);
  parameter([](auto&, mkc& key) { key.ma_translation_mode = 1; }, command_syndrome::AccessMode);
  parameter([](auto&, mkc& key) { key.umr_en = 1; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.sync_umr = 1; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.en_rinval = 1; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.bsf_en = 1; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.bsf_octword_size = 4; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.expected_sigerr_count = 1; }, command_syndrome::Option);
  parameter([](auto& in, mkc&) { in.pg_access = 1; }, command_syndrome::Option);
  parameter([](auto& in, mkc&) { in.mkey_umem_valid = 1; }, command_syndrome::Option);
  parameter([](auto&, mkc& key) { key.len = 0; }, command_syndrome::Range);
  parameter(
      [](auto&, mkc& key) {
        key.start_addr = ~std::uint64_t{0};
        key.len = 2;
      },
      command_syndrome::Range);
}

TEST_F(commands, a_page_list_that_cannot_be_is_refused) {
  prepare();
  const auto with = [&](auto change) {
    create_mkey_in in = create_mkey_in::unpack(paged(pd, 2).data());
    change(in.memory_key_mkey_entry);
    return packed(in, entries(2));
  };
  refused(with([](mkc& key) { key.log_page_size = 11; }), command_status::BadParameter,
          command_syndrome::PageSize);
  refused(with([](mkc& key) { key.log_page_size = 32; }), command_status::BadParameter,
          command_syndrome::PageSize);
  // 0x102000 is the begin of a page of 8 KiB, not of 16.
  make(with([](mkc& key) { key.log_page_size = 13; }));
  refused(with([](mkc& key) {
            key.log_page_size = 14;
            key.len = 0x5000;
          }),
          command_status::BadParameter, command_syndrome::Translation);
  refused(with([](mkc& key) { key.len = 2 * 4096 + 1; }), command_status::BadParameter,
          command_syndrome::Translation);
  refused(with([](mkc& key) { key.length64 = 1; }), command_status::BadParameter,
          command_syndrome::Range);
  // Bits 2 to 11 of an entry are neither page nor access bits.
  create_mkey_in in = create_mkey_in::unpack(paged(pd, 2).data());
  refused(packed(in, {0x100003, 0x102007}), command_status::BadParameter,
          command_syndrome::Translation);
  in.translations_octword_actual_size = 2;
  refused(packed(in, entries(2)), command_status::BadInputLength, command_syndrome::InputLength);
}

TEST_F(commands, a_free_memory_key_is_made_invalid) {
  prepare();
  create_mkey_in in = create_mkey_in::unpack(paged(pd, 2).data());
  in.memory_key_mkey_entry.free = 1;
  in.translations_octword_actual_size = 0;
  const std::uint32_t index = make(packed(in));
  ASSERT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(line<mkey_line>(context_kind::mkey).valid, 0U);
  make(simple(command_opcode::QueryMkey, index));
  EXPECT_EQ(query_mkey_out::unpack(output.data()).memory_key_mkey_entry.free, 1U);
  make(simple(command_opcode::DestroyMkey, index));
}

TEST_F(commands, a_query_tells_whether_a_memory_key_was_invalidated) {
  prepare();
  const create_mkey_in wanted = mkey_request(pd);
  const std::uint32_t index = make(packed(wanted));
  mkey_line left = line<mkey_line>(context_kind::mkey);
  const auto reads = core.lines_wanted(0, simple(command_opcode::QueryMkey, index));
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].kind, context_kind::mkey);
  EXPECT_EQ(reads[0].index, index);
  observe(context_kind::mkey, index, left);
  make(simple(command_opcode::QueryMkey, index));
  EXPECT_EQ(query_mkey_out::unpack(output.data()).memory_key_mkey_entry,
            wanted.memory_key_mkey_entry);
  left.valid = 0;
  observe(context_kind::mkey, index, left);
  make(simple(command_opcode::QueryMkey, index));
  EXPECT_EQ(query_mkey_out::unpack(output.data()).memory_key_mkey_entry.free, 1U);
}

TEST_F(commands, a_memory_key_may_be_bound_to_a_qp_and_be_destroyed_while_the_qp_is_there) {
  prepare();
  const std::uint32_t qpn = make(packed(qp_request(pd, uar, cqn), {0x4000}));
  create_mkey_in in = mkey_request(pd);
  in.memory_key_mkey_entry.qpn = qpn;
  const std::uint32_t index = make(packed(in));
  EXPECT_EQ(line<mkey_line>(context_kind::mkey).qpn, qpn);
  refused(simple(command_opcode::DeallocPd, pd), command_status::ResourceBusy,
          command_syndrome::InUse);
  make(simple(command_opcode::DestroyMkey, index));
  refused(simple(command_opcode::QueryMkey, index), command_status::BadResource,
          command_syndrome::NoMkey);
}

// Congestion control. The bits of the selection are those of mlx5's driver.

class congestion_commands : public bench::commands {
 protected:
  congestion_commands() : bench::commands(vendor()) {}

  static command_limits vendor() {
    command_limits all = limits();
    all.vendor_rule = true;
    all.reaction.rpg_time_reset = 300;
    all.reaction.rpg_gd = 11;
    all.notification.cnp_dscp = 48;
    return all;
  }

  static roce_ecn_rp wanted() {
    roce_ecn_rp in;
    in.rpg_time_reset = 17;
    in.rpg_threshold = 5;
    in.rpg_gd = 10;
    return in;
  }
};

TEST_F(congestion_commands, parameters_that_are_selected_change) {
  bring_up();
  make(congestion_request(command_opcode::ModifyCongParams, 2, 1U << 3 | 1U << 16, wanted()));
  EXPECT_TRUE(core.effects().reaction);
  EXPECT_EQ(core.tables().reaction.rpg_time_reset, 17U);
  EXPECT_EQ(core.tables().reaction.rpg_threshold, 0U);
  EXPECT_EQ(core.tables().reaction.rpg_gd, 10U);
  roce_ecn_np np;
  np.cnp_dscp = 46;
  make(congestion_request(command_opcode::ModifyCongParams, 3, 1U << 3, np));
  EXPECT_TRUE(core.effects().notification);
  EXPECT_EQ(core.tables().notification.cnp_dscp, 46U);
}

TEST_F(congestion_commands, parameters_beyond_their_range_change_nothing) {
  bring_up();
  roce_ecn_rp beyond = wanted();
  beyond.rpg_gd = 12;
  refused(congestion_request(command_opcode::ModifyCongParams, 2, 1U << 3 | 1U << 16, beyond),
          command_status::BadParameter, command_syndrome::FieldValue);
  refused(congestion_request(command_opcode::ModifyCongParams, 2, 1U << 17, wanted()),
          command_status::BadParameter, command_syndrome::Option);
  refused(congestion_request(command_opcode::ModifyCongParams, 1, 1U << 3, wanted()),
          command_status::BadParameter, command_syndrome::FieldValue);
}

TEST_F(congestion_commands, a_vf_neither_sees_nor_changes_parameters) {
  bring_up(1);
  for (const command_opcode opcode :
       {command_opcode::QueryCongParams, command_opcode::ModifyCongParams}) {
    refused(congestion_request(opcode, 2, 1U << 3, wanted()), command_status::BadOperation,
            command_syndrome::PrivilegedFunction, 1);
  }
}

TEST_F(commands, parameters_of_the_reaction_point_change_under_the_vendors_rule_only) {
  bring_up();
  refused(congestion_request(command_opcode::ModifyCongParams, 2, 1U << 3, roce_ecn_rp{}),
          command_status::BadSystemState, command_syndrome::Option);
}

}  // namespace
}  // namespace carillon
