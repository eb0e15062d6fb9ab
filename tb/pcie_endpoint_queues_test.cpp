// The commands about event queues, completion queues and shared receive queues, without time.
// Expected lines are the formats of docs/spec/contexts.toml filled in by hand from what the
// commands carry.
#include "pcie_endpoint/commands.h"
#include "tb/common/command_bench.h"

namespace carillon {
namespace {

using bench::cq_request;
using bench::eq_request;
using bench::input;
using bench::packed;
using bench::qp_request;
using bench::simple;
using bench::srq_request;

class queue_commands : public bench::commands {
 protected:
  void told_completion(std::uint32_t number, bool eq, context_kind kind) {
    ASSERT_TRUE(core.effects().cq.has_value());
    EXPECT_EQ(core.effects().cq->cqn, number);
    EXPECT_EQ(core.effects().cq->eq, eq);
    ASSERT_EQ(core.effects().lines.size(), 1U);
    EXPECT_EQ(core.effects().lines[0].kind, kind);
    EXPECT_EQ(core.effects().lines[0].index, number);
    EXPECT_EQ(core.effects().cq->line, core.effects().lines[0].data) << "what the RAM has";
  }
};

// Event queues

TEST_F(queue_commands, an_eq_becomes_one_line_and_completion_hears_of_it) {
  prepare();
  create_eq_in in = eq_request(uar);
  in.eq_context_entry.oi = 1;
  in.eq_context_entry.page_offset = 2;
  in.event_bitmask[5] = 0x10;  // SRQ limit, type 0x14, and ...
  in.event_bitmask[7] = 0x10;  // ... CQ error, type 0x04, of a big-endian word
  EXPECT_EQ(make(packed(in, {0x7000})), 1U);
  eqc_line expected;
  expected.valid = 1;
  expected.oi = 1;
  expected.log_eq_size = 4;
  expected.uar_page = uar;
  expected.intr = 3;
  expected.base_addr = 0x7080;  // two units of 64 bytes into the page
  expected.event_bitmask = 1U << 0x14 | 1U << 0x04;
  EXPECT_EQ(line<eqc_line>(context_kind::eqc), expected);
  told_completion(1, true, context_kind::eqc);

  make(simple(command_opcode::QueryEq, 1));
  const query_eq_out seen = query_eq_out::unpack(output.data());
  EXPECT_EQ(seen.eq_context_entry, in.eq_context_entry);
  EXPECT_EQ(seen.event_bitmask, expected.event_bitmask);

  make(simple(command_opcode::DestroyEq, 1));
  EXPECT_EQ(line<eqc_line>(context_kind::eqc), eqc_line{});
  told_completion(1, true, context_kind::eqc);
}

TEST_F(queue_commands, an_eq_that_cannot_be_is_refused) {
  prepare();
  const auto with = [&](auto change) {
    create_eq_in in = eq_request(uar);
    change(in, in.eq_context_entry);
    return packed(in, {0x7000});
  };
  refused(with([](auto&, eqc& eq) { eq.uar_page = 9; }), command_status::BadResource,
          command_syndrome::NoUar);
  refused(with([](auto&, eqc& eq) { eq.log_eq_size = 23; }), command_status::LimitExceeded,
          command_syndrome::QueueSize);
  refused(with([](auto&, eqc& eq) { eq.intr = 8; }), command_status::BadIndex,
          command_syndrome::Vector);
  refused(with([](auto&, eqc& eq) { eq.ec = 1; }), command_status::BadParameter,
          command_syndrome::Option);
  refused(with([](auto&, eqc& eq) { eq.st = static_cast<queue_arm_state>(1); }),
          command_status::BadParameter, command_syndrome::Option);
  refused(with([](auto& in, eqc&) { in.event_bitmask[8] = 1; }), command_status::BadParameter,
          command_syndrome::Option);
  refused(packed(eq_request(uar), {0x7040}), command_status::BadParameter,
          command_syndrome::QueueLayout);
}

TEST_F(queue_commands, a_full_eq_table_is_said) {
  command_limits small = limits();
  small.log_max_eq = 1;  // 0 says "no EQ"
  core = command_core(small);
  prepare();
  make(packed(eq_request(uar), {0x7000}));
  refused(packed(eq_request(uar), {0x7000}), command_status::NoResources,
          command_syndrome::TableFull);
}

// Completion queues

TEST_F(queue_commands, a_cq_becomes_one_line_and_completion_hears_of_it) {
  bring_up();
  uar = make(simple(command_opcode::AllocUar));
  const std::uint32_t eqn = make(packed(eq_request(uar), {0x7000}));
  create_cq_in in = cq_request(uar);
  in.cq_context.oi = 1;
  in.cq_context.st = queue_arm_state::AlwaysArmed;
  in.cq_context.c_eqn_or_apu_element = eqn;
  in.cq_context.cq_period = 5;
  in.cq_context.cq_max_count = 6;
  EXPECT_EQ(make(packed(in, {0x8000})), 1U);
  cqc_line expected;
  expected.valid = 1;
  expected.arm_state = queue_arm_state::AlwaysArmed;
  expected.oi = 1;
  expected.log_cq_size = 4;
  expected.eqn = 1;
  expected.uar_page = uar;
  expected.base_addr = 0x8000;
  expected.dbr_addr = 0x9000;
  expected.period = 5;
  expected.max_count = 6;
  EXPECT_EQ(line<cqc_line>(context_kind::cqc), expected);
  told_completion(1, false, context_kind::cqc);

  make(simple(command_opcode::QueryCq, 1));
  EXPECT_EQ(query_cq_out::unpack(output.data()).cq_context, in.cq_context);

  make(simple(command_opcode::DestroyCq, 1));
  EXPECT_EQ(line<cqc_line>(context_kind::cqc), cqc_line{});
  told_completion(1, false, context_kind::cqc);
}

TEST_F(queue_commands, entries_of_128_bytes_need_twice_the_pages) {
  prepare();
  create_cq_in in = cq_request(uar);
  in.cq_context.log_cq_size = 6;  // 64 entries of 64 bytes fill a page
  make(packed(in, {0x8000}));
  in.cq_context.cqe_sz = 1;
  refused(packed(in, {0x8000}), command_status::BadInputLength, command_syndrome::InputLength);
  make(packed(in, {0x8000, 0x9000}));
  EXPECT_EQ(line<cqc_line>(context_kind::cqc).cqe128, 1U);
}

TEST_F(queue_commands, a_cq_that_cannot_be_is_refused) {
  prepare();
  const auto with = [&](auto change) {
    create_cq_in in = cq_request(uar);
    change(in, in.cq_context);
    return packed(in, {0x8000});
  };
  const auto option = [&](auto change) {
    refused(with(change), command_status::BadParameter, command_syndrome::Option);
  };
  refused(with([](auto&, cqc& cq) { cq.uar_page = 9; }), command_status::BadResource,
          command_syndrome::NoUar);
  refused(with([](auto&, cqc& cq) { cq.c_eqn_or_apu_element = 1; }), command_status::BadResource,
          command_syndrome::NoEq);
  refused(with([](auto&, cqc& cq) { cq.log_cq_size = 23; }), command_status::LimitExceeded,
          command_syndrome::QueueSize);
  option([](auto&, cqc& cq) { cq.cqe_sz = 2; });
  option([](auto&, cqc& cq) { cq.cqe_comp_en = 1; });
  option([](auto&, cqc& cq) { cq.apu_cq = 1; });
  option([](auto&, cqc& cq) { cq.cc = 1; });
  option([](auto&, cqc& cq) { cq.dbr_umem_valid = 1; });
  option([](auto& in, cqc&) { in.cq_umem_valid = 1; });
  option([](auto&, cqc& cq) { cq.st = static_cast<queue_arm_state>(1); });
  refused(with([](auto&, cqc& cq) { cq.dbr_addr = 0x9004; }), command_status::BadParameter,
          command_syndrome::QueueLayout);
  refused(packed(cq_request(uar), {0x8800}), command_status::BadParameter,
          command_syndrome::QueueLayout);
}

TEST_F(queue_commands, an_eq_or_a_uar_page_that_a_cq_uses_stays) {
  prepare();
  const std::uint32_t page = make(simple(command_opcode::AllocUar));
  const std::uint32_t eqn = make(packed(eq_request(uar), {0x7000}));
  create_cq_in in = cq_request(page);
  in.cq_context.c_eqn_or_apu_element = eqn;
  const std::uint32_t number = make(packed(in, {0x8000}));
  const auto in_use = [&](command_opcode opcode, std::uint32_t which) {
    refused(simple(opcode, which), command_status::ResourceBusy, command_syndrome::InUse);
  };
  in_use(command_opcode::DestroyEq, eqn);
  in_use(command_opcode::DeallocUar, page);
  make(simple(command_opcode::DestroyCq, number));
  make(simple(command_opcode::DeallocUar, page));
  make(simple(command_opcode::DestroyCq, cqn));
  in_use(command_opcode::DeallocUar, uar);  // the EQ's
  make(simple(command_opcode::DestroyEq, eqn));
  make(simple(command_opcode::DeallocUar, uar));
}

// Shared receive queues

TEST_F(queue_commands, an_srq_becomes_one_line_and_the_responder_hears_of_it) {
  prepare();
  create_srq_in in = srq_request(pd);
  in.srq_context_entry.wq_signature = 1;
  in.srq_context_entry.lwm = 7;
  EXPECT_EQ(make(packed(in, {0x6000})), 1U);
  srq_line expected;
  expected.valid = 1;
  expected.wq_signature = 1;
  expected.log_size = 5;
  expected.log_stride = 2;
  expected.pd = pd;
  expected.lwm = 7;
  expected.base_addr = 0x6000;
  expected.dbr_addr = 0xb000;
  EXPECT_EQ(line<srq_line>(context_kind::srq), expected);
  ASSERT_TRUE(core.effects().srq.has_value());
  EXPECT_EQ(core.effects().srq->srqn, 1U);
  EXPECT_EQ(srq_line::unpack(core.effects().srq->line.data()), expected);

  make(simple(command_opcode::QuerySrq, 1));
  EXPECT_EQ(query_srq_out::unpack(output.data()).srq_context_entry, in.srq_context_entry);

  make(simple(command_opcode::DestroySrq, 1));
  EXPECT_EQ(line<srq_line>(context_kind::srq), srq_line{});
  ASSERT_TRUE(core.effects().srq.has_value());
  EXPECT_EQ(srq_line::unpack(core.effects().srq->line.data()), srq_line{});
}

input arm(std::uint32_t srqn, std::uint16_t limit, std::uint16_t op_mod = 1) {
  arm_rq_in in;
  in.opcode = command_opcode::ArmRq;
  in.op_mod = op_mod;
  in.srq_number = srqn;
  in.lwm = limit;
  return packed(in);
}

TEST_F(queue_commands, arm_rq_sets_the_limit_and_nothing_else) {
  prepare();
  const std::uint32_t srqn = make(packed(srq_request(pd), {0x6000}));
  srq_line expected = line<srq_line>(context_kind::srq);
  expected.lwm = 31;
  make(arm(srqn, 31));
  EXPECT_EQ(line<srq_line>(context_kind::srq), expected);
  ASSERT_TRUE(core.effects().srq.has_value());
  EXPECT_EQ(srq_line::unpack(core.effects().srq->line.data()), expected);
  make(simple(command_opcode::QuerySrq, srqn));
  EXPECT_EQ(query_srq_out::unpack(output.data()).srq_context_entry.lwm, 31U);

  refused(arm(srqn, 32), command_status::BadParameter, command_syndrome::Watermark);
  refused(arm(srqn + 1, 1), command_status::BadResource, command_syndrome::NoSrq);
  refused(arm(srqn, 1, 0), command_status::BadParameter, command_syndrome::Option);
}

TEST_F(queue_commands, an_srq_that_cannot_be_is_refused) {
  prepare();
  const auto with = [&](auto change) {
    create_srq_in in = srq_request(pd);
    change(in.srq_context_entry);
    return packed(in, {0x6000});
  };
  refused(with([](srqc& srq) { srq.pd = 9; }), command_status::BadResource, command_syndrome::NoPd);
  refused(with([](srqc& srq) { srq.cont_srq = 1; }), command_status::BadParameter,
          command_syndrome::Option);
  // 32 WQEs: fewer than 32 is the most that it can say.
  refused(with([](srqc& srq) { srq.lwm = 32; }), command_status::BadParameter,
          command_syndrome::Watermark);
  // The next segment and a data segment are 32 bytes.
  refused(with([](srqc& srq) { srq.log_rq_stride = 0; }), command_status::BadParameter,
          command_syndrome::QueueLayout);
  refused(with([](srqc& srq) { srq.dbr_addr = 0xb004; }), command_status::BadParameter,
          command_syndrome::QueueLayout);
  refused(with([](srqc& srq) { srq.log_page_size = 32; }), command_status::BadParameter,
          command_syndrome::PageSize);
  refused(packed(srq_request(pd), {0x6800}), command_status::BadParameter,
          command_syndrome::QueueLayout);
  command_limits small = limits();
  small.log_max_srq_size = 4;
  core = command_core(small);
  prepare();
  refused(packed(srq_request(pd), {0x6000}), command_status::LimitExceeded,
          command_syndrome::QueueSize);
}

TEST_F(queue_commands, a_full_srq_table_is_said) {
  command_limits small = limits();
  small.log_max_srq = 1;  // number 0 is nobody's
  core = command_core(small);
  prepare();
  make(packed(srq_request(pd), {0x6000}));
  refused(packed(srq_request(pd), {0x6000}), command_status::NoResources,
          command_syndrome::TableFull);
}

TEST_F(queue_commands, an_srq_that_a_qp_uses_stays_and_keeps_its_pd) {
  prepare();
  const std::uint32_t other_pd = make(simple(command_opcode::AllocPd));
  const std::uint32_t srqn = make(packed(srq_request(other_pd), {0x6000}));
  create_qp_in in = qp_request(pd, uar, cqn);
  in.qpc.rq_type = rq_type::Srq;
  in.qpc.srqn_rmpn_xrqn = srqn;
  const std::uint32_t qpn = make(packed(in, {0x4000}));
  refused(simple(command_opcode::DestroySrq, srqn), command_status::ResourceBusy,
          command_syndrome::InUse);
  refused(simple(command_opcode::DeallocPd, other_pd), command_status::ResourceBusy,
          command_syndrome::InUse);
  make(simple(command_opcode::DestroyQp, qpn));
  make(simple(command_opcode::DestroySrq, srqn));
  make(simple(command_opcode::DeallocPd, other_pd));
}

}  // namespace
}  // namespace carillon
