// The command core first, then the stage around it. Expected lines are the formats of
// docs/spec/contexts.toml filled in by hand from what the commands carry.
#include "pcie_endpoint.h"

#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "tb/common/stage_bench.h"

namespace carillon {
namespace {

using input = std::vector<std::uint8_t>;

template <class Layout>
input packed(const Layout& layout, std::size_t pages = 0, std::uint64_t first_page = 0,
             std::uint64_t step = 0) {
  input bytes(Layout::Size + 8 * pages);
  layout.pack(bytes.data());
  for (std::size_t i = 0; i < pages; ++i) {
    bytes::store_be<8>(bytes.data() + Layout::Size + 8 * i, first_page + i * step);
  }
  return bytes;
}

input simple(command_opcode opcode, std::uint32_t number = 0) {
  cmd_in head;
  head.opcode = opcode;
  head.number = number;
  return packed(head);
}

input mkey_command(std::uint32_t pd) {
  create_mkey_in in;
  in.opcode = command_opcode::CreateMkey;
  mkc& key = in.memory_key_mkey_entry;
  key.lr = key.lw = key.rw = 1;
  key.qpn = MkeyAnyQp;
  key.mkey_7_0 = 0x5a;
  key.pd = pd;
  key.start_addr = 0x10000;
  key.len = 0x2000;
  return packed(in);
}

input cq_command_in(std::uint32_t uar, unsigned log_size = 4) {
  create_cq_in in;
  in.opcode = command_opcode::CreateCq;
  in.cq_context.log_cq_size = static_cast<std::uint8_t>(log_size);
  in.cq_context.uar_page = uar;
  in.cq_context.dbr_addr = 0x9000;
  return packed(in, 1, 0x8000);
}

create_qp_in qp_request(std::uint32_t pd, std::uint32_t uar, std::uint32_t cqn) {
  create_qp_in in;
  in.opcode = command_opcode::CreateQp;
  in.qpc.st = qpc_service::Rc;
  in.qpc.pd = pd;
  in.qpc.uar_page = uar;
  in.qpc.cqn_snd = cqn;
  in.qpc.cqn_rcv = cqn;
  in.qpc.log_sq_size = 4;  // 16 WQEBBs are 1 KiB
  in.qpc.log_rq_size = 3;  // 8 entries of 32 bytes are 256 bytes
  in.qpc.log_rq_stride = 1;
  in.qpc.dbr_addr = 0xa000;
  in.qpc.user_index = 77;
  return in;
}

input modify(command_opcode opcode, std::uint32_t qpn, const qpc& context,
             std::uint32_t options = 0) {
  modify_qp_in in;
  in.opcode = opcode;
  in.qpn = qpn;
  in.opt_param_mask = options;
  in.qpc = context;
  return packed(in);
}

/// 10.0.0.n as the GID table holds it.
std::array<std::uint8_t, 16> ip(std::uint8_t host) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
}

class commands : public testing::Test {
 protected:
  commands() : core(limits()) {}

  static command_limits limits() {
    command_limits all;
    all.functions = 2;
    all.mac = 0x020000000001;
    return all;
  }

  command_result run(const input& in, std::uint16_t function = 0) {
    return core.execute(function, in, output);
  }

  std::uint32_t make(const input& in, std::uint16_t function = 0) {
    const command_result result = run(in, function);
    EXPECT_EQ(result.status, command_status::Ok) << to_string(result.syndrome);
    return cmd_out::unpack(output.data()).number;
  }

  void refused(const input& in, command_status status, command_syndrome why,
               std::uint16_t function = 0) {
    const command_result result = run(in, function);
    EXPECT_EQ(result.status, status) << to_string(result.status);
    EXPECT_EQ(result.syndrome, why) << to_string(result.syndrome);
    EXPECT_TRUE(core.effects().lines.empty());
    EXPECT_FALSE(core.effects().qp.has_value());
    const cmd_out out = cmd_out::unpack(output.data());
    EXPECT_EQ(out.status, status);
    EXPECT_EQ(out.syndrome, static_cast<std::uint32_t>(why));
    EXPECT_EQ(out.number, 0U);
  }

  void bring_up(std::uint16_t function = 0) {
    make(simple(command_opcode::EnableHca, function), function);
    make(simple(command_opcode::InitHca), function);
    set_roce_address_in gid;
    gid.opcode = command_opcode::SetRoceAddress;
    gid.roce_address.source_l3_address = ip(1);
    make(packed(gid), function);
  }

  /// A QP with all that it needs; the numbers are the first ones.
  std::uint32_t make_qp() {
    bring_up();
    pd = make(simple(command_opcode::AllocPd));
    uar = make(simple(command_opcode::AllocUar));
    cqn = make(cq_command_in(uar));
    return make(packed(qp_request(pd, uar, cqn), 1, 0x4000));
  }

  static qpc rtr_context() {
    qpc wanted;
    wanted.mtu = mtu_code::Mtu1024;
    wanted.remote_qpn = 0x123;
    wanted.next_rcv_psn = 0xabcdef;
    wanted.min_rnr_nak = 12;
    wanted.log_rra_max = 3;
    ads& path = wanted.primary_address_path;
    path.rgid_rip = ip(2);
    path.rmac = 0x020000000002;
    path.udp_sport = 0xc001;
    path.hop_limit = 64;
    path.tclass = 24 << 2 | 2;
    path.eth_prio = 3;
    return wanted;
  }

  static qpc rts_context() {
    qpc wanted;
    wanted.next_send_psn = 0x111111;
    wanted.retry_count = 7;
    wanted.rnr_retry = 6;
    wanted.log_sra_max = 2;
    wanted.primary_address_path.ack_timeout = 14;
    return wanted;
  }

  static qpc init_context() {
    qpc wanted;
    wanted.rwe = 1;
    return wanted;
  }

  template <class Line>
  Line line(context_kind kind) const {
    for (const context_write& each : core.effects().lines) {
      if (each.kind == kind) {
        return Line::unpack(each.data.data());
      }
    }
    ADD_FAILURE() << "no such line was written";
    return {};
  }

  command_core core;
  std::array<std::uint8_t, command_core::WindowBytes> output{};
  std::uint32_t pd = 0;
  std::uint32_t uar = 0;
  std::uint32_t cqn = 0;
};

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

TEST_F(commands, the_pf_enables_a_vf_but_not_the_other_way_round) {
  refused(simple(command_opcode::EnableHca, 0), command_status::BadParameter,
          command_syndrome::BadFunction, 1);
  make(simple(command_opcode::EnableHca, 1), 0);
  EXPECT_EQ(core.init_state(1), 1U);
  refused(simple(command_opcode::EnableHca, 2), command_status::BadParameter,
          command_syndrome::BadFunction);
}

TEST_F(commands, a_memory_key_becomes_one_line) {
  bring_up();
  pd = make(simple(command_opcode::AllocPd));
  EXPECT_EQ(make(mkey_command(pd)), 1U);
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
  EXPECT_EQ(make(mkey_command(pd)), 1U) << "the lowest free number is taken again";
}

TEST_F(commands, a_memory_key_that_cannot_be_is_refused) {
  bring_up();
  refused(mkey_command(1), command_status::BadResource, command_syndrome::NoPd);
  pd = make(simple(command_opcode::AllocPd));
  create_mkey_in in = create_mkey_in::unpack(mkey_command(pd).data());
  in.memory_key_mkey_entry.access_mode_1_0 = mkey_access_mode::Klm;
  refused(packed(in), command_status::BadParameter, command_syndrome::AccessMode);
  in = create_mkey_in::unpack(mkey_command(pd).data());
  in.memory_key_mkey_entry.len = 0;
  refused(packed(in), command_status::BadParameter, command_syndrome::Range);
  in.memory_key_mkey_entry.start_addr = ~std::uint64_t{0};
  in.memory_key_mkey_entry.len = 2;
  refused(packed(in), command_status::BadParameter, command_syndrome::Range);
}

TEST_F(commands, a_cq_becomes_one_line_and_completion_hears_of_it) {
  bring_up();
  uar = make(simple(command_opcode::AllocUar));
  EXPECT_EQ(make(cq_command_in(uar)), 1U);
  cqc_line expected;
  expected.valid = 1;
  expected.log_cq_size = 4;
  expected.uar_page = uar;
  expected.base_addr = 0x8000;
  expected.dbr_addr = 0x9000;
  EXPECT_EQ(line<cqc_line>(context_kind::cqc), expected);
  ASSERT_TRUE(core.effects().cq.has_value());
  EXPECT_EQ(core.effects().cq->cqn, 1U);
  refused(cq_command_in(uar + 1), command_status::BadResource, command_syndrome::NoUar);
  refused(cq_command_in(uar, 23), command_status::LimitExceeded, command_syndrome::QueueSize);
}

TEST_F(commands, a_qp_is_created_in_reset_with_the_receive_queue_before_the_send_queue) {
  EXPECT_EQ(make_qp(), 2U);  // 0 and 1 are the special queue pairs
  ASSERT_EQ(core.effects().lines.size(), 4U);
  EXPECT_EQ(core.effects().lines.back().kind, context_kind::qpc_common)
      << "the line that makes it valid comes last";
  qpc_common expected;
  expected.state = qp_state::Reset;
  expected.service = qp_service::Rc;
  expected.valid = 1;
  expected.log_sq_size = 4;
  expected.log_rq_size = 3;
  expected.log_rq_stride = 1;
  expected.pd = pd;
  expected.uar_page = uar;
  expected.rq_base_addr = 0x4000;
  expected.wqe_base_addr = 0x4100;
  expected.cq_num_send = cqn;
  expected.cq_num_recv = cqn;
  expected.dbr_addr = 0xa000;
  expected.user_index = 77;
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), expected);
  ASSERT_TRUE(core.effects().qp.has_value());
  EXPECT_EQ(core.effects().qp->qpn, 2U);
  EXPECT_EQ(core.effects().qp->state, 0U);
  EXPECT_EQ(core.effects().qp->log_sq_size, 4U);
}

TEST_F(commands, a_qp_goes_to_rts_and_every_line_holds_what_the_commands_said) {
  const std::uint32_t qpn = make_qp();
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
  EXPECT_EQ(static_cast<unsigned>(line<qpc_common>(context_kind::qpc_common).state), 2U);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).rwe, 1U);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0xffffU);

  make(modify(command_opcode::Init2RtrQp, qpn, rtr_context()));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(static_cast<unsigned>(common.state), 3U);
  EXPECT_EQ(common.mtu, mtu_code::Mtu1024);
  EXPECT_EQ(common.remote_qpn, 0x123U);
  EXPECT_EQ(common.rwe, 1U);
  qpc_address address;
  address.ip_version = 4;
  address.eth_prio = 3;
  address.tclass = 0x62;
  address.hop_limit = 64;
  address.rmac = 0x020000000002;
  address.udp_sport = 0xc001;
  address.remote_qpn = 0x123;
  address.pkey = 0xffff;
  address.src_ip = ip(1);
  address.dst_ip = ip(2);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), address);
  qpc_responder responder;
  responder.min_rnr_nak = 12;
  responder.log_rra_max = 3;
  responder.next_rcv_psn = 0xabcdef;
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), responder);
  EXPECT_EQ(core.effects().qp->receive_psn, 0xabcdefU);

  make(modify(command_opcode::Rtr2RtsQp, qpn, rts_context()));
  EXPECT_EQ(static_cast<unsigned>(line<qpc_common>(context_kind::qpc_common).state), 4U);
  qpc_requester requester;
  requester.retry_count = requester.cur_retry_count = 7;
  requester.rnr_retry = requester.cur_rnr_retry = 6;
  requester.log_sra_max = 2;
  requester.ack_timeout = 14;
  requester.next_send_psn = requester.last_acked_psn = 0x111111;
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester), requester);
  EXPECT_EQ(core.effects().qp->state, 4U);
  EXPECT_EQ(core.effects().qp->send_psn, 0x111111U);

  make(simple(command_opcode::QueryQp, qpn));
  const qpc seen = query_qp_out::unpack(output.data()).qpc;
  EXPECT_EQ(static_cast<unsigned>(seen.state), 3U) << "a host calls RTS 3";
  EXPECT_EQ(seen.next_send_psn, 0x111111U);
  EXPECT_EQ(seen.remote_qpn, 0x123U);
}

TEST_F(commands, a_transition_from_the_wrong_state_changes_nothing) {
  const std::uint32_t qpn = make_qp();
  const auto wrong = [&](command_opcode opcode) {
    refused(modify(opcode, qpn, rtr_context()), command_status::BadQpState,
            command_syndrome::Transition);
  };
  wrong(command_opcode::Init2RtrQp);
  wrong(command_opcode::Rtr2RtsQp);
  wrong(command_opcode::Rts2RtsQp);
  wrong(command_opcode::Init2InitQp);
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
  wrong(command_opcode::Rst2InitQp);
  wrong(command_opcode::Rtr2RtsQp);
  make(simple(command_opcode::QueryQp, qpn));
  EXPECT_EQ(query_qp_out::unpack(output.data()).qpc.state, qpc_state::Init);
}

TEST_F(commands, an_impossible_path_is_refused) {
  const std::uint32_t qpn = make_qp();
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
  qpc wanted = rtr_context();
  wanted.mtu = static_cast<mtu_code>(6);
  refused(modify(command_opcode::Init2RtrQp, qpn, wanted), command_status::BadParameter,
          command_syndrome::Mtu);
  wanted = rtr_context();
  wanted.primary_address_path.src_addr_index = 1;
  refused(modify(command_opcode::Init2RtrQp, qpn, wanted), command_status::BadIndex,
          command_syndrome::NoGid);
}

TEST_F(commands, every_state_leads_to_error_and_to_reset) {
  const std::uint32_t qpn = make_qp();
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
  make(modify(command_opcode::Init2RtrQp, qpn, rtr_context()));
  make(simple(command_opcode::ToErrQp, qpn));
  EXPECT_EQ(static_cast<unsigned>(line<qpc_common>(context_kind::qpc_common).state), 7U);
  make(simple(command_opcode::ToRstQp, qpn));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(core.effects().lines.front().kind, context_kind::qpc_common) << "the state goes first";
  EXPECT_EQ(common.state, qp_state::Reset);
  EXPECT_EQ(common.valid, 1U);
  EXPECT_EQ(common.wqe_base_addr, 0x4100U) << "what it was created with stays";
  EXPECT_EQ(common.remote_qpn, 0U);
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), qpc_responder{});
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
}

TEST_F(commands, an_error_that_the_pipeline_set_is_what_the_next_command_sees) {
  const std::uint32_t qpn = make_qp();
  make(modify(command_opcode::Rst2InitQp, qpn, init_context()));
  qpc_common common = line<qpc_common>(context_kind::qpc_common);
  common.state = qp_state::Err;
  std::array<std::uint8_t, BeatBytes> raw{};
  common.pack(raw.data());
  core.observe(context_kind::qpc_common, qpn, raw);
  make(simple(command_opcode::QueryQp, qpn));
  EXPECT_EQ(query_qp_out::unpack(output.data()).qpc.state, qpc_state::Err);
  refused(modify(command_opcode::Init2RtrQp, qpn, rtr_context()), command_status::BadQpState,
          command_syndrome::Transition);
}

TEST_F(commands, a_qp_with_impossible_attributes_is_refused) {
  make_qp();
  const auto with = [&](auto change, std::size_t pages = 1, std::uint64_t step = 0x1000) {
    create_qp_in in = qp_request(pd, uar, cqn);
    change(in.qpc);
    return packed(in, pages, 0x4000, step);
  };
  refused(with([](qpc& q) { q.pd = 99; }), command_status::BadResource, command_syndrome::NoPd);
  refused(with([](qpc& q) { q.uar_page = 9; }), command_status::BadResource,
          command_syndrome::NoUar);
  refused(with([](qpc& q) { q.cqn_rcv = 9; }), command_status::BadResource, command_syndrome::NoCq);
  refused(with([](qpc& q) { q.st = qpc_service::Ud; }), command_status::BadParameter,
          command_syndrome::Service);
  refused(with([](qpc& q) { q.wq_signature = 1; }), command_status::BadParameter,
          command_syndrome::Option);
  refused(with([](qpc& q) {
            q.log_rq_size = 0;
            q.log_rq_stride = 0;
          }),
          command_status::BadParameter, command_syndrome::QueueLayout);
  // 128 WQEBBs and the receive queue need three pages: they must be said, and follow each other.
  refused(with([](qpc& q) { q.log_sq_size = 7; }), command_status::BadInputLength,
          command_syndrome::InputLength);
  refused(with([](qpc& q) { q.log_sq_size = 7; }, 3, 0x2000), command_status::BadParameter,
          command_syndrome::QueueLayout);
  EXPECT_EQ(make(with([](qpc& q) { q.log_sq_size = 7; }, 3)), 3U);
}

TEST_F(commands, objects_in_use_cannot_be_destroyed) {
  const std::uint32_t qpn = make_qp();
  refused(simple(command_opcode::DeallocPd, pd), command_status::ResourceBusy,
          command_syndrome::InUse);
  refused(simple(command_opcode::DestroyCq, cqn), command_status::ResourceBusy,
          command_syndrome::InUse);
  refused(simple(command_opcode::DeallocUar, uar), command_status::ResourceBusy,
          command_syndrome::InUse);
  make(simple(command_opcode::DestroyQp, qpn));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), qpc_common{});
  EXPECT_EQ(core.effects().qp->state, 0U);
  make(simple(command_opcode::DestroyCq, cqn));
  make(simple(command_opcode::DeallocPd, pd));
  make(simple(command_opcode::DeallocUar, uar));
  refused(simple(command_opcode::QueryQp, qpn), command_status::BadResource,
          command_syndrome::NoQp);
}

TEST_F(commands, a_function_cannot_touch_the_objects_of_another) {
  const std::uint32_t qpn = make_qp();
  bring_up(1);
  refused(simple(command_opcode::ToErrQp, qpn), command_status::BadResource, command_syndrome::NoQp,
          1);
  refused(simple(command_opcode::DestroyCq, cqn), command_status::BadResource,
          command_syndrome::NoCq, 1);
  refused(mkey_command(pd), command_status::BadResource, command_syndrome::NoPd, 1);
  EXPECT_EQ(core.vport(1).permanent_address, 0x020000000002U);
}

TEST_F(commands, an_input_of_the_wrong_length_is_refused) {
  bring_up();
  refused(input(8), command_status::BadInputLength, command_syndrome::InputLength);
  refused(input(command_core::WindowBytes + 8), command_status::BadInputLength,
          command_syndrome::InputLength);
  input in = mkey_command(1);
  in.resize(64);
  refused(in, command_status::BadInputLength, command_syndrome::InputLength);
  refused(simple(command_opcode::CreateSrq), command_status::BadOperation,
          command_syndrome::UnknownCommand);
}

TEST_F(commands, a_full_table_is_said) {
  command_limits small = limits();
  small.log_max_mkey = 1;  // index 0 is nobody's
  core = command_core(small);
  bring_up();
  pd = make(simple(command_opcode::AllocPd));
  make(mkey_command(pd));
  refused(mkey_command(pd), command_status::NoResources, command_syndrome::TableFull);
}

TEST_F(commands, state_codes_translate_both_ways) {
  for (unsigned code = 0; code < 8; ++code) {
    EXPECT_EQ(to_chip(to_host(static_cast<qp_state>(code))), static_cast<qp_state>(code));
  }
}

// The stage

parameters two_functions() {
  parameters params;
  params.nic.functions = 2;
  params.nic.command_cycles = 100;
  return params;
}

struct endpoint_bench : bench::stage_bench {
  explicit endpoint_bench(std::uint64_t shuffle, cycle_t owner_period = 1)
      : stage_bench(shuffle, two_functions()),
        writes(port<mmio_write>("writes")),
        reads(port<mmio_read>("reads")),
        answers(port<mmio_answer>("answers")),
        line_reads(port<context_read>("line_reads")),
        lines(port<context_line>("lines")),
        line_writes(port<context_write>("line_writes", 2)),
        fetch(port<qp_command>("fetch", 1)),
        responder(port<qp_command>("responder", 1)),
        completion(port<cq_command>("completion", 1)),
        write_source("write_source", *this, writes),
        read_source("read_source", *this, reads),
        answer_sink("answer_sink", *this, answers),
        ram("ram", *this),
        fetch_sink("fetch_sink", *this, fetch, owner_period),
        responder_sink("responder_sink", *this, responder, owner_period),
        completion_sink("completion_sink", *this, completion),
        endpoint("endpoint", nic,
                 {writes,
                  reads,
                  answers,
                  line_reads,
                  lines,
                  line_writes,
                  {&fetch, &responder},
                  completion},
                 0x020000000001) {
    ram.serve(line_reads, lines);
    ram.accept(line_writes);
  }

  void store(cycle_t when, std::uint64_t offset, const input& bytes, std::uint16_t function = 0,
             std::uint8_t bar = 0) {
    mmio_write item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = static_cast<std::uint16_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), item.data.begin());
    write_source.at(when, item, 1, false);
  }

  void load(cycle_t when, std::uint64_t offset, std::uint16_t length = 4,
            std::uint16_t function = 0, std::uint8_t bar = 0) {
    mmio_read item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = length;
    item.requester = 0x42;
    item.tag = static_cast<std::uint16_t>(when);
    read_source.at(when, item, 1, false);
  }

  /// Writes the command by 8-byte stores, one a cycle, and rings; returns the cycle of the ring.
  cycle_t command(cycle_t when, const input& in, std::uint16_t function = 0) {
    for (std::size_t at = 0; at < in.size(); at += 8) {
      store(when++, bar0::CmdIn + at,
            input(in.begin() + static_cast<std::ptrdiff_t>(at),
                  in.begin() + static_cast<std::ptrdiff_t>(at + 8)),
            function);
    }
    input length(4);
    bytes::store_be<4>(length.data(), in.size());
    store(when, bar0::CmdDoorbell, length, function);
    return when;
  }

  [[nodiscard]] std::uint64_t value(std::size_t index) const {
    const mmio_answer& answer = answer_sink.items.at(index).item;
    return answer.length == 4 ? bytes::load_be<4>(answer.data.data())
                              : bytes::load_be<8>(answer.data.data());
  }

  [[nodiscard]] bar0::cmd_status_value status() {
    std::array<std::uint8_t, 4> raw{};
    EXPECT_TRUE(endpoint.debug_read(0, 0, bar0::CmdStatus, raw));
    return bar0::cmd_status_value::unpack(
        static_cast<std::uint32_t>(bytes::load_be<4>(raw.data())));
  }

  stream<mmio_write>& writes;
  stream<mmio_read>& reads;
  stream<mmio_answer>& answers;
  stream<context_read>& line_reads;
  stream<context_line>& lines;
  stream<context_write>& line_writes;
  stream<qp_command>& fetch;
  stream<qp_command>& responder;
  stream<cq_command>& completion;
  bench::source<mmio_write> write_source;
  bench::source<mmio_read> read_source;
  bench::sink<mmio_answer> answer_sink;
  bench::context_lines ram;
  bench::sink<qp_command> fetch_sink;
  bench::sink<qp_command> responder_sink;
  bench::sink<cq_command> completion_sink;
  pcie_endpoint endpoint;
};

class endpoint : public testing::TestWithParam<std::uint64_t> {};

TEST_P(endpoint, a_register_read_is_answered_ten_cycles_after_it_is_taken) {
  endpoint_bench bench(GetParam());
  bench.load(10, bar0::DeviceId);
  bench.load(20, bar0::FunctionNumber, 4, 1);
  bench.load(30, bar0::HcaCap + 8, 8);
  bench.run(100);
  ASSERT_EQ(bench.answer_sink.items.size(), 3U);
  const mmio_answer& first = bench.answer_sink.items[0].item;
  EXPECT_EQ(bench.answer_sink.items[0].visible, 21U);  // visible in 11, and ten cycles
  EXPECT_EQ(bench.value(0), 0x102115b3U);
  EXPECT_EQ(first.requester, 0x42U);
  EXPECT_EQ(first.tag, 10U);
  EXPECT_EQ(first.status, 0U);
  EXPECT_EQ(bench.value(1), 1U);
  EXPECT_EQ(bench.answer_sink.items[2].item.lower_address, 0x08U);
  // 16 UAR pages, BlueFlame registers of 2^9 bytes, 16 GIDs.
  EXPECT_EQ(bench.value(2) & 0xffffffff, 0x00100910U);
  bench.context.check_drained();
}

TEST_P(endpoint, what_a_function_does_not_have_is_an_unsupported_request) {
  endpoint_bench bench(GetParam());
  bench.load(10, bar0::Size - 4, 8);        // beyond the end
  bench.load(20, bar4::FwStatus, 4, 1, 4);  // BAR4 of a virtual function
  bench.load(30, bar4::FwStatus, 4, 0, 4);
  bench.load(40, bar0::DeviceId + 2, 4);  // not aligned
  bench.run(100);
  const auto unsupported = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  EXPECT_EQ(bench.answer_sink.items.at(0).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(1).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(2).item.status, 0U);
  EXPECT_EQ(bench.value(2), 1U);
  EXPECT_EQ(bench.answer_sink.items.at(3).item.status, unsupported);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 2U);
}

TEST_P(endpoint, writes_to_what_is_not_writable_are_counted_and_ignored) {
  endpoint_bench bench(GetParam());
  bench.store(10, bar0::DeviceId, {1, 2, 3, 4});
  bench.store(11, 0x100, {1, 2, 3, 4});  // no register
  bench.store(12, bar0::CmdIn, {0, 0, 0, 5});
  bench.store(13, bar0::CmdIn + bar0::CmdInBytes - 4, {1, 2, 3, 4, 5, 6, 7, 8});  // runs out of the window
  bench.store(14, bar4::FwStatus, {1, 2, 3, 4}, 1, 4);
  bench.load(40, bar0::DeviceId);
  bench.load(50, bar0::CmdIn);
  bench.run(100);
  EXPECT_EQ(bench.value(0), 0x102115b3U);
  EXPECT_EQ(bench.value(1), 5U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 3U);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
}

TEST_P(endpoint, a_command_is_busy_until_its_time_is_over_and_then_done) {
  endpoint_bench bench(GetParam());
  const cycle_t rung = bench.command(10, simple(command_opcode::EnableHca));
  // The ring is visible a cycle later, and 100 cycles are served; reads are taken a cycle after
  // they are pushed.
  bench.load(rung + 50, bar0::CmdStatus);
  bench.store(rung + 60, bar0::CmdIn, {0, 0, 0, 0, 0, 0, 0, 0});  // too early for the next one
  bench.load(rung + 150, bar0::CmdStatus);
  bench.load(rung + 160, bar0::InitState);
  bench.load(rung + 170, bar0::Health);
  bench.run(rung + 300);
  EXPECT_EQ(bench.value(0), 1U) << "busy";
  EXPECT_EQ(bench.value(1), 2U) << "done, status 0";
  EXPECT_EQ(bench.value(2), 1U);
  EXPECT_EQ(bench.value(3), 1U) << "one command served";
  EXPECT_EQ(bench.count(counter::RegisterDenied), 1U);
  EXPECT_EQ(bench.count(counter::Commands), 1U);
}

TEST_P(endpoint, a_refused_command_leaves_status_and_syndrome) {
  endpoint_bench bench(GetParam());
  const cycle_t rung = bench.command(10, simple(command_opcode::AllocPd));
  bench.load(rung + 200, bar0::CmdStatus);
  bench.load(rung + 210, bar0::CmdSyndrome);
  bench.load(rung + 220, bar0::CmdOut, 8);
  bench.run(rung + 400);
  EXPECT_EQ(bench.value(0), 0x0402U);
  EXPECT_EQ(bench.value(1), static_cast<std::uint64_t>(command_syndrome::FunctionState));
  EXPECT_EQ(bench.value(2), 0x0400000000000002U);
  EXPECT_EQ(bench.count(counter::CommandErrors), 1U);
}

TEST_P(endpoint, owners_hear_of_a_qp_when_the_ram_has_its_lines) {
  endpoint_bench bench(GetParam(), 7);
  cycle_t t = 10;
  const auto next = [&](const input& in) { t = bench.command(t, in) + 300; };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(simple(command_opcode::AllocUar));
  next(cq_command_in(1));
  const cycle_t rung = bench.command(t, packed(qp_request(1, 1, 1), 1, 0x4000));
  t = rung + 300;
  next(modify(command_opcode::Rst2InitQp, 2, [] {
    qpc wanted;
    wanted.rwe = 1;
    return wanted;
  }()));
  next(simple(command_opcode::QueryQp, 2));
  bench.run(t);
  EXPECT_TRUE(bench.status().done);
  EXPECT_EQ(bench.status().status, 0U);

  ASSERT_EQ(bench.completion_sink.items.size(), 1U);
  ASSERT_EQ(bench.fetch_sink.items.size(), 2U);
  ASSERT_EQ(bench.responder_sink.items.size(), 2U);
  EXPECT_EQ(bench.fetch_sink.items[0].item.state, static_cast<unsigned>(qp_state::Reset));
  EXPECT_EQ(bench.fetch_sink.items[1].item.state, static_cast<unsigned>(qp_state::Init));
  // Four lines through a stream of depth 2: the last is pushed at the earliest at rung + 1 + 100 +
  // 3, taken a cycle later, and in the RAM four cycles after that.
  EXPECT_GE(bench.fetch_sink.items[0].visible, rung + 1 + 100 + 3 + 1 + 4);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).state, qp_state::Init);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).wqe_base_addr, 0x4100U);
  bench.context.check_drained();
}

TEST_P(endpoint, commands_of_two_functions_are_served_one_after_the_other) {
  endpoint_bench bench(GetParam());
  const cycle_t first = bench.command(10, simple(command_opcode::EnableHca, 0), 0);
  const cycle_t second = bench.command(first + 1, simple(command_opcode::EnableHca, 1), 1);
  bench.load(second + 120, bar0::CmdStatus, 4, 0);
  bench.load(second + 130, bar0::CmdStatus, 4, 1);
  bench.load(second + 250, bar0::CmdStatus, 4, 1);
  bench.run(second + 400);
  EXPECT_EQ(bench.value(0), 2U);
  EXPECT_EQ(bench.value(1), 1U);
  EXPECT_EQ(bench.value(2), 2U);
}

TEST_P(endpoint, bars_follow_each_other_and_only_the_pf_has_bar4) {
  const bar_map map = pcie_endpoint::reset_bars(two_functions());
  ASSERT_EQ(map.size(), 2U);
  EXPECT_EQ(map[0].bars[0].base, 0x80000000U);
  EXPECT_EQ(map[1].bars[0].base, 0x80008000U);
  EXPECT_EQ(map[0].bars[1].bytes, 0x10000U) << "16 pages of 4 KiB";
  EXPECT_EQ(map[1].bars[1].base, map[0].bars[1].base + 0x10000);
  EXPECT_EQ(map[1].bars[2].bytes, 0U);
  EXPECT_TRUE(map[1].memory_enable);
}

INSTANTIATE_TEST_SUITE_P(orders, endpoint, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
