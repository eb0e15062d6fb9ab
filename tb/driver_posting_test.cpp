// How work gets to the device: rings, doorbell records, doorbells and BlueFlame.
#include <array>

#include "tb/common/driver_bench.h"

namespace carillon::bench {
namespace {

// Sending

TEST_F(drivers, ring_db_rec_with_the_start_of_the_control_segment) {
  build({.qp = {.doorbell = doorbell_mode::doorbell_only}});
  run([&](cpu& core, session_side& side) -> task<> {
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, write(4096)));
  });
  const queue_pair& qp = *connection->side(0).qps[0];
  ASSERT_EQ(rings(), 1U);
  EXPECT_EQ(rung(0).item.length, 8U);
  EXPECT_EQ(rung(0).item.offset, connection->side(0).uar->number * 4096U);
  const auto wqe = first->memory(qp.send_buffer(), 48);
  EXPECT_TRUE(std::equal(wqe.begin(), wqe.begin() + 8, rung(0).item.data.begin()));
  // WRITE is 8; ds 3: control, remote address, one pointer; CE 2 in bits 3:2.
  EXPECT_EQ(bytes::load_be<4>(wqe.data()), 0x00000008U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 4), qp.qpn() << 8 | 3U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 8), 0x00000008U);
  EXPECT_EQ(bytes::load_be<8>(wqe.data() + 16), connection->side(1).buffer.address);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 24), connection->side(1).buffer.key);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 32), 4096U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 36), connection->side(0).buffer.key);
  EXPECT_EQ(bytes::load_be<8>(wqe.data() + 40), connection->side(0).buffer.address);
  EXPECT_EQ(first->memory(qp.doorbell_record(), 8),
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST_F(drivers, push_a_single_small_wqe_by_blueflame) {
  build();
  run([&](cpu& core, session_side& side) -> task<> {
    side.adapter.host().memory.write(side.buffer.address, "carillon", 8);
    work_request request = write(8);
    request.is_inline = true;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, request));
  });
  ASSERT_EQ(rings(), 1U);
  EXPECT_EQ(rung(0).item.length, 64U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0x800U);
  // Control and remote address are 32 bytes; then 4 bytes of count with the inline flag, and the
  // data.
  EXPECT_EQ(bytes::load_be<4>(rung(0).item.data.data() + 32), 0x80000008U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(rung(0).item.data.data()) + 36, 8),
            "carillon");
  EXPECT_EQ(rung(0).item.data[7] & 0x3f, 3U);
}

TEST_F(drivers, use_blueflame_for_one_request_of_at_most_256_bytes_only) {
  build({.buffer_bytes = 4096});
  run([&](cpu& core, session_side& side) -> task<> {
    queue_pair& qp = *side.qps[0];
    work_request request = write(220);
    request.is_inline = true;
    EXPECT_TRUE(co_await qp.post_send(core, request));  // 32 + 4 + 220 bytes: four blocks
    request.sges[0].length = 221;
    EXPECT_TRUE(co_await qp.post_send(core, request));  // one more byte: five blocks, a doorbell
    const std::array<work_request, 2> batch = {write(8), write(8)};
    EXPECT_TRUE(co_await qp.post_send(core, batch));
  });
  ASSERT_EQ(rings(), 6U);
  for (std::size_t block = 0; block < 4; ++block) {
    EXPECT_EQ(rung(block).item.offset % 4096, 0x800U + 64 * block);
  }
  EXPECT_EQ(rung(4).item.length, 8U);
  EXPECT_EQ(doorbell_word::unpack(rung(4).item.data.data()).wqe_index, 4U);
  EXPECT_EQ(rung(5).item.length, 8U);
  EXPECT_EQ(doorbell_word::unpack(rung(5).item.data.data()).wqe_index, 10U)
      << "the last of the batch: 4 + 5 + 1";
}

// rdma-core's rule: inline data, or MLX5_POST_SEND_PREFER_BF, which is on unless the environment
// says otherwise.
TEST_F(drivers, prefer_blueflame_for_a_wqe_without_inline_data) {
  build();
  run([&](cpu& core, session_side& side) -> task<> {
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, write(8)));
  });
  ASSERT_EQ(rings(), 1U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0x800U);
}

TEST_F(drivers, that_do_not_prefer_blueflame_use_it_for_inline_data_only) {
  parameters params;
  params.cpu.prefer_blueflame = false;
  build({}, 1, params);
  run([&](cpu& core, session_side& side) -> task<> {
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, write(8)));
    work_request request = write(8);
    request.is_inline = true;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, request));
  });
  ASSERT_EQ(rings(), 2U);
  EXPECT_EQ(rung(0).item.length, 8U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0U);
  EXPECT_EQ(rung(1).item.offset % 4096, 0x800U);
}

TEST_F(drivers, copy_blueflame_blocks_in_any_order_that_a_test_asks_for) {
  build();
  run([&](cpu& core, session_side& side) -> task<> {
    side.qps[0]->copy_blocks_in({2, 0, 1, 3});
    work_request request = write(120);
    request.is_inline = true;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, request));  // 156 bytes: three blocks
  });
  ASSERT_EQ(rings(), 3U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0x880U);
  EXPECT_EQ(rung(1).item.offset % 4096, 0x800U);
  EXPECT_EQ(rung(2).item.offset % 4096, 0x840U);
}

TEST_F(drivers, refuse_work_that_has_no_room_and_wrap_at_the_end_of_the_ring) {
  build({.qp = {.log_sq_size = 2, .doorbell = doorbell_mode::doorbell_only}});
  bool full = true;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    queue_pair& qp = *side.qps[0];
    completion done;
    for (int i = 0; i < 3; ++i) {
      co_await qp.post_send(core, write(8));
    }
    work_request longer = write(100);
    longer.is_inline = true;  // 136 bytes: three blocks, where one is left
    full = co_await qp.post_send(core, longer);
    for (int i = 0; i < 3; ++i) {
      co_await side.send_cq->wait(core, std::span(&done, 1));
    }
    EXPECT_EQ(qp.free_wqebbs(), 4U);
    side.adapter.host().memory.fill(side.buffer.address, 0x5a, 100);
    EXPECT_TRUE(co_await qp.post_send(core, longer));  // blocks 3, 0 and 1 of the ring
    co_await side.send_cq->wait(core, std::span(&done, 1));
    EXPECT_EQ(done.wqe_counter, 3U);
  });
  EXPECT_FALSE(full);
  const queue_pair& qp = *connection->side(0).qps[0];
  EXPECT_EQ(first->memory(qp.send_buffer() + 3 * 64 + 36, 28), std::vector<std::uint8_t>(28, 0x5a));
  EXPECT_EQ(first->memory(qp.send_buffer(), 64), std::vector<std::uint8_t>(64, 0x5a));
  EXPECT_EQ(first->memory(qp.send_buffer() + 64, 8), std::vector<std::uint8_t>(8, 0x5a));
}

TEST_F(drivers, open_a_message_for_each_operation_with_its_bytes) {
  build({.qp = {.doorbell = doorbell_mode::doorbell_only}});
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    std::array<work_request, 5> batch;
    batch.fill(write(4096));
    batch[0].opcode = wqe_opcode::RdmaRead;
    batch[1].opcode = wqe_opcode::AtomicCompareSwap;
    batch[2].opcode = wqe_opcode::LocalInvalidate;
    batch[3].opcode = wqe_opcode::Nop;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, batch));
    completion done;
    co_await side.send_cq->wait(core, std::span(&done, 1));
  });
  // mlx5 opcodes; an atomic moves 8 bytes, an invalidation and a NOP none.
  const std::array<std::pair<unsigned, std::uint64_t>, 5> expected = {
      {{0x10, 4096}, {0x11, 8}, {0x1b, 0}, {0x00, 0}, {0x08, 4096}}};
  ASSERT_EQ(finished.all.size(), expected.size()) << "unsignaled or not, the last CQE retires all";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const message_info& info = finished.all[i].info;
    EXPECT_EQ(info.opcode, expected[i].first);
    EXPECT_EQ(info.bytes, expected[i].second);
    EXPECT_EQ(info.qpn, connection->side(0).qps[0]->qpn());
  }
  // One WQEBB each: the four units of the atomic fill theirs.
  EXPECT_EQ(finished.all[4].info.wqe_index, 4U);
}

// Receiving

TEST_F(drivers, post_receives_by_the_record_alone) {
  build({.qp = {.max_receive_sges = 3}});
  run([&](cpu& core, session_side& side) -> task<> {
    receive_request request;
    request.id = 9;
    request.sge_count = 1;
    request.sges[0] = {side.buffer.address, 256, side.buffer.key};
    EXPECT_TRUE(co_await side.qps[0]->post_receive(core, request));
    for (int i = 1; i < 16; ++i) {
      EXPECT_TRUE(co_await side.qps[0]->post_receive(core, request));
    }
    EXPECT_FALSE(co_await side.qps[0]->post_receive(core, request))
        << "16 entries are all there are";
  });
  EXPECT_EQ(rings(), 0U) << "no MMIO";
  const auto common = first->line<qpc_common>(context_kind::qpc_common, 2);
  EXPECT_EQ(common.log_rq_stride, 2U) << "three segments need 64 bytes";
  const auto wqe = first->memory(common.rq_base_addr, 32);
  EXPECT_EQ(bytes::load_be<4>(wqe.data()), 256U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 16), 0U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 20), 0x100U) << "the list ends early";
  EXPECT_EQ(first->memory(common.dbr_addr, 4), (std::vector<std::uint8_t>{0, 0, 0, 16}));
}

// Several cores

TEST_F(drivers, hold_the_lock_of_a_shared_uar_page_across_the_doorbell) {
  build({.qps = 2}, 2);
  rendezvous ready(2);
  const auto post_many = [&](cpu& core, queue_pair& qp) -> task<> {
    co_await core.meet(ready);
    for (int i = 0; i < 4; ++i) {
      work_request request = write(120);
      request.is_inline = true;
      EXPECT_TRUE(co_await qp.post_send(core, request));
    }
  };
  const auto other = [&]() -> task<> {
    co_await post_many(first->host.core(1), *connection->side(0).qps[1]);
  };
  run([&](cpu& core, session_side& side) -> task<> {
    first->host.core(1).run(other());
    co_await post_many(core, *side.qps[0]);
  });
  // Eight WQEs of three blocks, never mixed.
  ASSERT_EQ(rings(), 24U);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(rung(i).item.offset % 4096, 0x800U + 64 * (i % 3));
  }
  EXPECT_FALSE(connection->side(0).uar->lock.held());
}

}  // namespace
}  // namespace carillon::bench
