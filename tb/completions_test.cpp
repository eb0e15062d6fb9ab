// What comes back: CQEs of every kind, arming, events, shared receive queues, and the ways to end
// the work of a queue pair. The device only listens; entries are written by hand.
#include <array>

#include "tb/common/scripted_device.h"

namespace carillon::bench {
namespace {

constexpr std::uint32_t Qpn = 9;
constexpr std::uint32_t OtherQpn = 10;

using dwords = std::vector<std::pair<std::size_t, std::uint32_t>>;

work_request send_of(std::uint64_t id) {
  work_request request;
  request.id = id;
  request.opcode = wqe_opcode::Send;
  return request;
}

receive_request receive_of(std::uint64_t id) {
  receive_request request;
  request.id = id;
  return request.add({0x3000, 16, 0x701});
}

// Completions

struct cqe_case {
  const char* name;
  unsigned kind;
  dwords fields;
  completion expected;
};

class kinds_of_cqe : public scripted, public testing::WithParamInterface<cqe_case> {};

// mlx5: 0x18 {grh 29:28, remote QPN}, 0x20 SRQN, 0x24 immediate or key, 0x2c bytes, 0x34 vendor
// syndrome and syndrome of an error, 0x38 {opcode of the send WQE, QPN}.
TEST_P(kinds_of_cqe, are_understood) {
  build();
  completion seen;
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(Qpn, {});
    co_await qp->post_send(on, send_of(100));
    co_await qp->post_receive(on, receive_of(200));
    const bool send = GetParam().expected.requester();
    completion_queue& cq = send ? *send_cq : *receive_cq;
    write_cqe(cq, 0, GetParam().kind, Qpn, 0, GetParam().fields);
    EXPECT_EQ(co_await cq.poll(on, std::span(&seen, 1)), 1U);
    EXPECT_EQ(home->memory(cq.doorbell_record(), 4), (byte_list{0, 0, 0, 1}));
    EXPECT_EQ(send ? qp->free_wqebbs() : qp->free_receives(), send ? 64U : 16U);
  });
  const completion& expected = GetParam().expected;
  EXPECT_EQ(seen.id, expected.requester() ? 100U : 200U);
  EXPECT_EQ(seen.qpn, Qpn);
  EXPECT_EQ(seen.opcode, expected.opcode);
  EXPECT_EQ(seen.syndrome, expected.syndrome);
  EXPECT_EQ(seen.vendor_syndrome, expected.vendor_syndrome);
  EXPECT_EQ(seen.remote_qpn, expected.remote_qpn);
  EXPECT_EQ(seen.bytes, expected.bytes);
  EXPECT_EQ(seen.imm, expected.imm);
  EXPECT_EQ(seen.invalidated_key, expected.invalidated_key);
  EXPECT_EQ(seen.work, expected.work);
  EXPECT_EQ(seen.grh, expected.grh);
  EXPECT_EQ(seen.with_imm, expected.with_imm);
  EXPECT_EQ(seen.with_invalidate, expected.with_invalidate);
}

INSTANTIATE_TEST_SUITE_P(
    all, kinds_of_cqe,
    testing::Values(
        cqe_case{"read_done",
                 0,
                 {{0x38, 0x10000000 | Qpn}, {0x2c, 4096}, {0x24, 0x55}},
                 {.opcode = cqe_opcode::Requester, .bytes = 4096, .work = wqe_opcode::RdmaRead}},
        cqe_case{"atomic_done",
                 0,
                 {{0x38, 0x12000000 | Qpn}, {0x2c, 8}},
                 {.opcode = cqe_opcode::Requester, .bytes = 8, .work = wqe_opcode::AtomicFetchAdd}},
        cqe_case{"write_with_immediate_came",
                 1,
                 {{0x24, 0x11223344}, {0x2c, 70000}},
                 {.opcode = cqe_opcode::ResponderWriteImmediate,
                  .bytes = 70000,
                  .imm = 0x11223344,
                  .with_imm = true}},
        cqe_case{"datagram_came",
                 2,
                 {{0x18, 0x10abcdef}, {0x24, 0x55}, {0x2c, 56}},
                 {.opcode = cqe_opcode::ResponderSend,
                  .remote_qpn = 0xabcdef,
                  .bytes = 56,
                  .grh = true}},
        cqe_case{"send_with_immediate_came",
                 3,
                 {{0x24, 0x11223344}, {0x2c, 16}},
                 {.opcode = cqe_opcode::ResponderSendImmediate,
                  .bytes = 16,
                  .imm = 0x11223344,
                  .with_imm = true}},
        cqe_case{"send_with_invalidate_came",
                 4,
                 {{0x24, 0x7701}, {0x2c, 16}},
                 {.opcode = cqe_opcode::ResponderSendInvalidate,
                  .bytes = 16,
                  .invalidated_key = 0x7701,
                  .with_invalidate = true}},
        cqe_case{"send_failed",
                 13,
                 {{0x38, 0x0a000000 | Qpn}, {0x2c, 16}, {0x34, 0x8814}},
                 {.opcode = cqe_opcode::RequesterError,
                  .syndrome = cqe_syndrome::RemoteOperation,
                  .vendor_syndrome = 0x88,
                  .work = wqe_opcode::Send}},
        cqe_case{"receive_flushed",
                 14,
                 {{0x24, 0x55}, {0x34, 0x0005}},
                 {.opcode = cqe_opcode::ResponderError, .syndrome = cqe_syndrome::WrFlushed}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(scripted, tell_solicited_completions_from_others) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(Qpn, {});
    co_await qp->post_receive(on, receive_of(1));
    write_entry(receive_cq->buffer(), {{0x38, Qpn}}, 2 << 4 | 2);
    completion seen;
    co_await receive_cq->poll(on, std::span(&seen, 1));
    EXPECT_TRUE(seen.solicited);
  });
}

TEST_F(scripted, stop_at_a_cqe_of_a_kind_that_nobody_asked_for) {
  build();
  std::string what;
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(Qpn, {});
    write_cqe(*send_cq, 0, 5, Qpn, 0);
    completion seen;
    try {
      co_await send_cq->poll(on, std::span(&seen, 1));
    } catch (const model_error& error) {
      what = error.what();
    }
  });
  EXPECT_NE(what.find("CQ 65 holds a CQE of kind ResizeCq"), std::string::npos) << what;
}

// Arming

TEST_F(scripted, arm_a_cq_by_its_record_and_then_its_doorbell) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(Qpn, {});
    co_await receive_cq->arm(on);
    EXPECT_EQ(home->memory(receive_cq->doorbell_record(), 8), byte_list(8, 0));
    co_await qp->post_receive(on, receive_of(1));
    write_cqe(*receive_cq, 0, 2, Qpn, 0);
    completion seen;
    co_await receive_cq->poll(on, std::span(&seen, 1));
    co_await receive_cq->arm(on, true);
    // Sequence 0 (no event was consumed), command 1 for solicited only, consumer index 1.
    EXPECT_EQ(home->memory(receive_cq->doorbell_record(), 8),
              (byte_list{0, 0, 0, 1, 0x01, 0, 0, 1}));
  });
  ASSERT_EQ(rung().size(), 2U);
  for (const mmio_write& each : rung()) {
    EXPECT_EQ(each.offset, Uar * 0x1000U + 0x20);
    EXPECT_EQ(each.length, 8U);
    EXPECT_EQ(bytes::load_be<4>(each.data.data() + 4), ReceiveCqn);
  }
  EXPECT_EQ(bytes::load_be<4>(rung()[0].data.data()), 0U);
  EXPECT_EQ(bytes::load_be<4>(rung()[1].data.data()), 0x01000001U);
}

// Events

constexpr std::uint32_t Eqn = 0x17;
constexpr std::uint64_t LimitAndDrained = events_of({event_type::SqDrained, event_type::SrqLimit});

task<std::unique_ptr<event_queue>> make_eq(scripted_device& home, cpu& core, const uar_handle& page,
                                           std::uint64_t kinds) {
  home.registers.number = Eqn;
  co_return co_await event_queue::create(home.driver, core, page, 8, kinds, 3);
}

TEST_F(scripted, create_an_eq_that_takes_the_events_named_and_arm_it) {
  build();
  run([&](cpu& on) -> task<> {
    const auto eq = co_await make_eq(*home, on, *page, LimitAndDrained);
    const byte_list& input = command();
    EXPECT_EQ(bytes::load_be<4>(input.data()), 0x03010000U);
    // eqc at 0x10: 2^8 entries, UAR page, vector; the mask at 0x58; the page.
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x10 + 0x0c), (8U << 24) | Uar);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x10 + 0x14), 3U);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x10 + 0x18), 2U << 24) << "2^8 * 64 = 4 pages";
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x58), 0x100008U) << "events 3 and 20";
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x110), eq->buffer());
    EXPECT_FALSE(eq->ready()) << "all entries are the device's";
    home->registers.number = 0x43;
    const auto cq = co_await completion_queue::create(home->driver, on, *page, 4, eq.get());
    EXPECT_EQ(bytes::load_be<4>(command().data() + 0x10 + 0x14), Eqn);
  });
  ASSERT_EQ(rung().size(), 1U);
  EXPECT_EQ(rung()[0].offset, Uar * 0x1000U + 0x40) << "update and arm";
  EXPECT_EQ(rung()[0].length, 4U);
  EXPECT_EQ(bytes::load_be<4>(rung()[0].data.data()), Eqn << 24);
}

TEST_F(scripted, take_events_while_the_owner_bit_turns) {
  build();
  run([&](cpu& on) -> task<> {
    const auto eq = co_await make_eq(*home, on, *page, QueueEvents);
    event seen;
    EXPECT_EQ(co_await eq->poll(on, std::span(&seen, 1)), 0U);
    // 256 entries: in the first turn 0 says "written", in the second 1.
    for (std::uint32_t i = 0; i < 257; ++i) {
      write_entry(eq->buffer() + i % 256 * 64, {{0x00, 0x00140000}, {0x38, 0x500 + i}},
                  i < 256 ? 0 : 1);
      EXPECT_EQ(co_await eq->wait(on, std::span(&seen, 1)), 1U);
      EXPECT_EQ(seen.kind, event_type::SrqLimit);
      EXPECT_EQ(seen.number, 0x500 + i);
    }
    EXPECT_EQ(co_await eq->poll(on, std::span(&seen, 1)), 0U);
    co_await eq->arm(on);
  });
  ASSERT_EQ(rung().size(), 259U);
  EXPECT_EQ(rung()[257].offset, Uar * 0x1000U + 0x48) << "update without arming";
  EXPECT_EQ(bytes::load_be<4>(rung()[257].data.data()), (Eqn << 24) | 257);
  EXPECT_EQ(rung()[258].offset, Uar * 0x1000U + 0x40);
  EXPECT_EQ(bytes::load_be<4>(rung()[258].data.data()), (Eqn << 24) | 257);
}

TEST_F(scripted, say_what_happened_to_which_queue) {
  build();
  run([&](cpu& on) -> task<> {
    const auto eq = co_await make_eq(*home, on, *page, QueueEvents);
    // WQ_ACCESS_ERROR of a QP: queue type at 0x34, number at 0x38. CQ_ERROR: CQN at 0x20, syndrome
    // at 0x2b.
    write_entry(eq->buffer(), {{0x00, 0x00110002}, {0x34, 0x01000000}, {0x38, Qpn}}, 0);
    write_entry(eq->buffer() + 64, {{0x00, 0x00040000}, {0x20, ReceiveCqn}, {0x28, 1}}, 0);
    std::array<event, 4> seen;
    EXPECT_EQ(co_await eq->poll(on, seen), 2U);
    EXPECT_EQ(seen[0].kind, event_type::WqAccessError);
    EXPECT_EQ(seen[0].sub_type, 2U);
    EXPECT_EQ(seen[0].queue_type, 1U);
    EXPECT_EQ(seen[0].number, Qpn);
    EXPECT_EQ(seen[1].kind, event_type::CqError);
    EXPECT_EQ(seen[1].number, ReceiveCqn);
    EXPECT_EQ(seen[1].cq_error, 1U);
  });
}

TEST_F(scripted, name_consumed_events_in_the_next_arm) {
  build();
  run([&](cpu& on) -> task<> {
    const auto eq = co_await make_eq(*home, on, *page, 0);
    event seen;
    for (std::uint32_t i = 0; i < 5; ++i) {
      write_entry(eq->buffer() + std::uint64_t{i} * 64, {{0x38, SendCqn}}, 0);
      EXPECT_EQ(co_await eq->poll(on, std::span(&seen, 1)), 1U);
      EXPECT_EQ(seen.kind, event_type::Completion);
      EXPECT_EQ(seen.number, SendCqn);
      co_await send_cq->arm(on);
      // Events consumed modulo 4 in bits 29:28.
      EXPECT_EQ(home->memory(send_cq->doorbell_record() + 4, 1)[0], (i + 1) % 4 << 4);
    }
    co_await receive_cq->arm(on);
    EXPECT_EQ(home->memory(receive_cq->doorbell_record() + 4, 1)[0], 0U) << "the other CQ's none";
  });
}

// Shared receive queues

constexpr std::uint32_t Srqn = 0x51;

task<std::unique_ptr<shared_receive_queue>> make_srq(scripted_device& home, cpu& core,
                                                     std::uint32_t pd,
                                                     shared_receive_options options) {
  home.registers.number = Srqn;
  co_return co_await shared_receive_queue::create(home.driver, core, pd, options);
}

/// The list's links: what follows each WQE.
byte_list links(const scripted_device& home, const shared_receive_queue& srq, std::size_t stride) {
  byte_list result;
  for (std::size_t i = 0; i < 4; ++i) {
    const byte_list next = home.memory(srq.buffer() + i * stride, 16);
    EXPECT_EQ(next[2], 0);
    result.push_back(next[3]);
  }
  return result;
}

TEST_F(scripted, create_an_srq_whose_wqes_are_linked_in_a_ring) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {.log_size = 2, .max_sges = 3, .limit = 2});
    const byte_list& input = command();
    EXPECT_EQ(bytes::load_be<4>(input.data()), 0x07000000U);
    // srqc at 0x10: log size 27:24; stride 64 = 2^(2 + 4); PD; limit; record.
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x10), 2U << 24);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x14), 2U << 24);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x28), Pd);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x2c), 2U << 16);
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x38), srq->doorbell_record());
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x110), srq->buffer());
    EXPECT_EQ(links(*home, *srq, 64), (byte_list{1, 2, 3, 0}));
    EXPECT_EQ(srq->room(), 3U) << "one always ends the list";
  });
}

TEST_F(scripted, post_to_an_srq_and_count_what_was_posted) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {.log_size = 2, .max_sges = 2});
    receive_request request = receive_of(1);
    EXPECT_TRUE(co_await srq->post(on, request));
    EXPECT_EQ(home->memory(srq->doorbell_record(), 4), (byte_list{0, 0, 0, 1}));
    const byte_list wqe = home->memory(srq->buffer(), 64);
    EXPECT_EQ(bytes::load_be<4>(wqe.data()), 1U) << "then comes WQE 1";
    EXPECT_EQ(bytes::load_be<4>(wqe.data() + 16), 16U);
    EXPECT_EQ(bytes::load_be<4>(wqe.data() + 20), 0x701U);
    EXPECT_EQ(bytes::load_be<4>(wqe.data() + 36), 0x100U) << "the list ends early";
    const std::array<receive_request, 2> batch = {receive_of(2), receive_of(3)};
    EXPECT_TRUE(co_await srq->post(on, batch));
    EXPECT_EQ(home->memory(srq->doorbell_record(), 4), (byte_list{0, 0, 0, 3}));
    EXPECT_FALSE(co_await srq->post(on, request)) << "the last one stays";
    for (int i = 0; i < 3; ++i) {
      request.add({0x3000, 8, 1});
    }
    EXPECT_FALSE(co_await srq->post(on, request)) << "stride 64: the link and three pieces";
    EXPECT_EQ(links(*home, *srq, 64), (byte_list{1, 2, 3, 0}));
  });
  EXPECT_TRUE(rung().empty()) << "no MMIO";
}

TEST_F(scripted, return_srq_wqes_in_the_order_in_which_they_complete) {
  build();
  std::vector<std::uint64_t> ids;
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {.log_size = 2});
    const auto one = co_await make_qp(Qpn, {.srq = srq.get()});
    const auto other = co_await make_qp(OtherQpn, {.srq = srq.get()});
    const std::array<receive_request, 3> batch = {receive_of(1), receive_of(2), receive_of(3)};
    co_await srq->post(on, batch);
    // WQE 1 completes on one QP before WQE 0 on the other.
    write_cqe(*receive_cq, 0, 2, Qpn, 1, {{0x20, Srqn}});
    write_cqe(*receive_cq, 1, 2, OtherQpn, 0, {{0x20, Srqn}});
    std::array<completion, 4> seen;
    EXPECT_EQ(co_await receive_cq->poll(on, seen), 2U);
    EXPECT_EQ(seen[0].id, 2U);
    EXPECT_EQ(seen[0].qpn, Qpn);
    EXPECT_EQ(seen[0].srqn, Srqn);
    EXPECT_EQ(seen[1].id, 1U);
    EXPECT_EQ(seen[1].qpn, OtherQpn);
    // Behind 3, the free one, come 1 and then 0; WQE 2 is outstanding and still followed by 3.
    EXPECT_EQ(links(*home, *srq, 32), (byte_list{1, 0, 3, 1}));
    EXPECT_EQ(srq->room(), 2U);
    EXPECT_TRUE(co_await srq->post(on, std::span(batch).first(2))) << "in WQEs 3 and 1";
    EXPECT_FALSE(co_await srq->post(on, batch[0]));
    EXPECT_EQ(bytes::load_be<4>(home->memory(srq->buffer() + 3 * 32, 4).data()), 1U);
    EXPECT_EQ(home->memory(srq->doorbell_record(), 4), (byte_list{0, 0, 0, 5}));
    // A failed receive gives its WQE back too.
    write_cqe(*receive_cq, 2, 14, Qpn, 2, {{0x20, Srqn}, {0x34, 0x01}});
    EXPECT_EQ(co_await receive_cq->poll(on, seen), 1U);
    EXPECT_EQ(seen[0].id, 3U);
    EXPECT_EQ(seen[0].syndrome, cqe_syndrome::LocalLength);
    EXPECT_EQ(srq->room(), 1U);
  });
}

TEST_F(scripted, sign_srq_wqes_together_with_their_link) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {.log_size = 2, .wq_signature = true});
    EXPECT_EQ(bytes::load_be<4>(command().data() + 0x14), 0x80000000U | 1U << 24);
    co_await srq->post(on, receive_of(1));
    // 01 of the link, 10 07 01 30 of the pointer: 27, whose complement is d8.
    EXPECT_EQ(home->memory(srq->buffer(), 8), (byte_list{0, 0, 0, 1, 0xd8, 0, 0, 0}));
  });
}

TEST_F(scripted, let_queue_pairs_receive_from_an_srq_instead_of_a_queue_of_their_own) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {});
    const auto qp = co_await make_qp(Qpn, {.srq = srq.get()});
    const byte_list& input = command();
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x18 + 0xac), 0x01000000U | Srqn);
    EXPECT_EQ(bytes::load_be<4>(input.data() + 0x18 + 0x08) & 0x7f0000, 0U) << "no receive queue";
    EXPECT_EQ(qp->send_buffer(), bytes::load_be<8>(input.data() + 0x110));
    EXPECT_FALSE(co_await qp->post_receive(on, receive_of(1)));
  });
}

TEST_F(scripted, arm_the_limit_of_an_srq_by_command) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {});
    co_await srq->arm(on, 5);
    EXPECT_EQ(command(), (byte_list{0x07, 0x03, 0, 0, 0, 0, 0, 1, 0, 0, 0, Srqn, 0, 0, 0, 5}));
  });
}

// Ending

TEST_F(scripted, drain_until_everything_posted_has_come_back) {
  build();
  std::vector<completion> seen;
  ps_t ended = 0;
  std::unique_ptr<queue_pair> qp;
  // The device flushes 1 ms later: two sends, one receive, and the markers behind them.
  const auto flush = [&]() -> task<> {
    core(1).idle_until(core(1).time() + 1'000'000'000);
    co_await core(1).sync();
    for (std::uint16_t i = 0; i < 3; ++i) {
      write_cqe(*send_cq, i, 13, Qpn, i, {{0x34, 5}});
    }
    write_cqe(*receive_cq, 0, 14, Qpn, 0, {{0x34, 5}});
    core(1).idle_until(core(1).time() + 1'000'000);
    co_await core(1).sync();
    write_cqe(*receive_cq, 1, 14, Qpn, 1, {{0x34, 5}});
  };
  run([&](cpu& on) -> task<> {
    qp = co_await make_qp(Qpn, {});
    const std::array<work_request, 2> batch = {send_of(11), send_of(12)};
    co_await qp->post_send(on, batch);
    co_await qp->post_receive(on, receive_of(21));
    core(1).run(flush());
    seen = co_await qp->drain(on);
    ended = on.time();
    EXPECT_EQ(bytes::load_be<4>(command().data()), 0x05070000U);
  });
  EXPECT_GT(ended, 1'001'000'000U) << "not before the receive marker";
  ASSERT_EQ(seen.size(), 3U) << "the markers are nobody's";
  EXPECT_EQ(seen[0].id, 11U);
  EXPECT_EQ(seen[1].id, 12U);
  EXPECT_EQ(seen[2].id, 21U);
  for (const completion& each : seen) {
    EXPECT_EQ(each.syndrome, cqe_syndrome::WrFlushed);
  }
  EXPECT_EQ(qp->free_wqebbs(), 64U);
  EXPECT_EQ(qp->free_receives(), 16U);
}

TEST_F(scripted, drain_full_queues_by_making_room_for_the_markers) {
  build();
  std::vector<completion> seen;
  std::unique_ptr<queue_pair> qp;
  const auto flush = [&]() -> task<> {
    core(1).idle_until(core(1).time() + 100'000'000);
    co_await core(1).sync();
    write_cqe(*send_cq, 0, 13, Qpn, 0, {{0x34, 5}});
    write_cqe(*send_cq, 1, 13, Qpn, 1, {{0x34, 5}});
    core(1).idle_until(core(1).time() + 100'000'000);
    co_await core(1).sync();
    for (std::uint16_t i = 0; i < 4; ++i) {
      write_cqe(*receive_cq, i, 14, Qpn, i, {{0x34, 5}});
    }
    core(1).idle_until(core(1).time() + 100'000'000);
    co_await core(1).sync();
    write_cqe(*send_cq, 2, 13, Qpn, 2, {{0x34, 5}});
    write_cqe(*receive_cq, 4, 14, Qpn, 4, {{0x34, 5}});
  };
  run([&](cpu& on) -> task<> {
    qp = co_await make_qp(Qpn, {.log_sq_size = 1, .log_rq_size = 2});
    const std::array<work_request, 2> batch = {send_of(11), send_of(12)};
    co_await qp->post_send(on, batch);
    const std::array<receive_request, 4> all = {receive_of(21), receive_of(22), receive_of(23),
                                                receive_of(24)};
    co_await qp->post_receive(on, all);
    core(1).run(flush());
    seen = co_await qp->drain(on);
  });
  std::vector<std::uint64_t> ids;
  for (const completion& each : seen) {
    ids.push_back(each.id);
  }
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{11, 12, 21, 22, 23, 24}));
}

TEST_F(scripted, reset_without_completions_of_the_past) {
  build(2);
  std::array<completion, 4> seen;
  run([&](cpu& on) -> task<> {
    const auto one = co_await make_qp(Qpn, {});
    const auto other = co_await make_qp(OtherQpn, {});
    // Two turns of the ring are behind it, so that what moves crosses the owner bit's change.
    for (std::uint16_t i = 0; i < 6; ++i) {
      co_await other->post_send(on, send_of(i));
      write_cqe(*send_cq, i % 4, 0, OtherQpn, i, {}, i / 4);
      EXPECT_EQ(co_await send_cq->poll(on, std::span(seen).first(1)), 1U);
    }
    for (std::uint16_t i = 0; i < 2; ++i) {
      co_await one->post_send(on, send_of(100 + i));
      co_await other->post_send(on, send_of(200 + i));
    }
    // Entries 6 to 9 in slots 2, 3, 0, 1: those of `other`, 6 and 8, must move to 8 and 9.
    write_cqe(*send_cq, 2, 0, OtherQpn, 6, {}, 1);
    write_cqe(*send_cq, 3, 0, Qpn, 0, {}, 1);
    write_cqe(*send_cq, 0, 0, OtherQpn, 7, {}, 0);
    write_cqe(*send_cq, 1, 0, Qpn, 1, {}, 0);
    co_await one->to_reset(on);
    EXPECT_EQ(home->memory(send_cq->doorbell_record(), 4), (byte_list{0, 0, 0, 8}));
    EXPECT_EQ(one->free_wqebbs(), 64U);
    EXPECT_EQ(co_await send_cq->poll(on, seen), 2U);
    EXPECT_EQ(seen[0].id, 200U);
    EXPECT_EQ(seen[1].id, 201U);
    EXPECT_EQ(co_await send_cq->poll(on, seen), 0U);
    EXPECT_EQ(home->memory(one->doorbell_record(), 8), byte_list(8, 0));
  });
}

TEST_F(scripted, give_srq_wqes_back_when_their_completions_are_removed) {
  build();
  run([&](cpu& on) -> task<> {
    const auto srq = co_await make_srq(*home, on, pd, {.log_size = 2});
    const auto qp = co_await make_qp(Qpn, {.srq = srq.get()});
    co_await srq->post(on, receive_of(1));
    EXPECT_EQ(srq->room(), 2U);
    write_cqe(*receive_cq, 0, 2, Qpn, 0, {{0x20, Srqn}});
    co_await qp->to_reset(on);
    EXPECT_EQ(srq->room(), 3U);
    EXPECT_FALSE(receive_cq->ready());
  });
}

}  // namespace
}  // namespace carillon::bench
