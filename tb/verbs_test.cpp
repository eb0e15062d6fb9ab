// Queue pairs and memory as the driver tells the device about them: commands byte by byte, and
// receives as they lie in memory. The device only listens.
#include <array>

#include "tb/common/scripted_device.h"

namespace carillon::bench {
namespace {

/// Where the context is in the inputs of CREATE_QP and of the transitions (mlx5: 0x18).
constexpr std::size_t Qpc = 0x18;

std::uint32_t dword(const byte_list& input, std::size_t at) {
  return static_cast<std::uint32_t>(bytes::load_be<4>(input.data() + at));
}

std::uint32_t opcode_of(const byte_list& input) {
  return dword(input, 0) >> 16;
}

queue_pair_address some_peer() {
  return {0xabcdef, 0x123456, 0x0200aabbccdd, gid_of_ipv4(0x0a000002), 0};
}

// Queue pairs

TEST_F(scripted, create_a_queue_pair_with_its_receive_queue_first) {
  build();
  std::unique_ptr<queue_pair> qp;
  run([&](cpu&) -> task<> {
    qp = co_await make_qp(9, {.log_sq_size = 5, .log_rq_size = 3, .max_receive_sges = 32});
  });
  const byte_list& input = command();
  EXPECT_EQ(opcode_of(input), 0x500U);
  EXPECT_EQ(dword(input, Qpc) >> 16 & 0xff, 0U) << "RC";
  EXPECT_EQ(dword(input, Qpc + 0x04), Pd);
  // 2^3 receives, stride 512 = 2^(5 + 4), 2^5 WQEBBs.
  EXPECT_EQ(dword(input, Qpc + 0x08) & 0x7ff800, (3U << 19) | (5U << 16) | (5U << 11));
  EXPECT_EQ(dword(input, Qpc + 0x0c), Uar);
  EXPECT_EQ(dword(input, Qpc + 0x7c), SendCqn);
  EXPECT_EQ(dword(input, Qpc + 0x9c), ReceiveCqn);
  EXPECT_EQ(bytes::load_be<8>(input.data() + Qpc + 0xa0), qp->doorbell_record());
  EXPECT_EQ(dword(input, Qpc + 0xac), 0U) << "a receive queue of its own";
  EXPECT_EQ(bytes::load_be<8>(input.data() + 0x110), qp->receive_buffer());
  EXPECT_EQ(qp->send_buffer(), qp->receive_buffer() + 8 * 512U);
}

TEST_F(scripted, say_that_wqes_are_signed_and_which_service_they_use) {
  build();
  run([&](cpu&) -> task<> {
    const auto uc = co_await make_qp(9, {.service = qpc_service::Uc, .wq_signature = true});
    EXPECT_EQ(dword(command(), Qpc) >> 16 & 0xff, 1U);
    EXPECT_EQ(dword(command(), Qpc + 0x04), 0x80000000 | Pd);
    EXPECT_EQ(dword(command(), Qpc + 0x08) >> 16 & 7, 1U) << "signature and one piece: 32 bytes";
    const auto ud = co_await make_qp(10, {.service = qpc_service::Ud});
    EXPECT_EQ(dword(command(), Qpc) >> 16 & 0xff, 2U);
  });
}

TEST_F(scripted, give_every_attribute_to_the_transition_that_takes_it) {
  build();
  connection_options options;
  options.remote_read = false;
  options.remote_write = true;
  options.remote_atomic = true;
  options.pkey_index = 2;
  options.mtu = mtu_code::Mtu1024;
  options.min_rnr_nak = 0x15;
  options.log_max_dest_rd_atomic = 3;
  options.gid_index = 4;
  options.traffic_class = 0x6a;
  options.priority = 5;
  options.flow_label = 0xfffff;
  options.hop_limit = 33;
  options.ack_timeout = 0x12;
  options.retry_count = 6;
  options.rnr_retry = 5;
  options.log_max_rd_atomic = 2;
  options.psn = 0x654321;
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(9, {});
    co_await qp->to_init(on, options);
    EXPECT_EQ(qp->address().psn, 0x654321U) << "to be told to the peer";
    EXPECT_EQ(dword(command(), 0x00), 0x05020000U);
    EXPECT_EQ(dword(command(), 0x08), 9U);
    EXPECT_EQ(dword(command(), Qpc + 0x18), 2U) << "P_Key index";
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x24) >> 16 & 0xff, 1U) << "port";
    EXPECT_EQ(dword(command(), Qpc + 0x90) >> 13 & 7, 0b011U) << "rre, rwe, rae";

    co_await qp->to_rtr(on, some_peer(), options);
    EXPECT_EQ(dword(command(), 0x00), 0x05030000U);
    EXPECT_EQ(dword(command(), Qpc + 0x08) >> 29, 3U) << "MTU 1024";
    EXPECT_EQ(dword(command(), Qpc + 0x14), 0xabcdefU);
    // The path: grh; GID index and hop limit; traffic class and flow label; peer; port, priority.
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x04), 1U << 23);
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x08), (4U << 16) | 33);
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x0c), (0x6aU << 20) | 0xfffff);
    EXPECT_EQ(part(command(), Qpc + 0x18 + 0x10, 16),
              (byte_list{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}));
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x20), 0xffc0U) << "flow label fffff";
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x24), (5U << 28) | (1U << 16) | 0x0200U);
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x28), 0xaabbccddU);
    EXPECT_EQ(dword(command(), Qpc + 0x90) >> 21, 3U);
    EXPECT_EQ(dword(command(), Qpc + 0x94), (0x15U << 24) | 0x123456);

    co_await qp->to_rts(on, options);
    EXPECT_EQ(dword(command(), 0x00), 0x05040000U);
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x08) >> 27, 0x12U) << "ack_timeout";
    EXPECT_EQ(dword(command(), Qpc + 0x70), (2U << 21) | (6U << 16) | (5U << 13));
    EXPECT_EQ(dword(command(), Qpc + 0x78), 0x654321U);
  });
}

TEST_F(scripted, keep_the_reliable_attributes_out_of_the_other_services) {
  build();
  run([&](cpu& on) -> task<> {
    const auto uc = co_await make_qp(9, {.service = qpc_service::Uc});
    co_await uc->to_init(on);
    co_await uc->to_rtr(on, some_peer(), {});
    EXPECT_EQ(dword(command(), Qpc + 0x14), 0xabcdefU);
    EXPECT_EQ(dword(command(), Qpc + 0x90) >> 21, 0U);
    EXPECT_EQ(dword(command(), Qpc + 0x94), 0x123456U) << "no RNR timer";
    co_await uc->to_rts(on, {});
    EXPECT_EQ(dword(command(), Qpc + 0x70), 0U);

    const auto ud = co_await make_qp(10, {.service = qpc_service::Ud});
    co_await ud->to_init(on, {.qkey = 0x80010000});
    EXPECT_EQ(dword(command(), Qpc + 0xa8), 0x80010000U);
    EXPECT_EQ(dword(command(), Qpc + 0x90), 0U) << "nobody reads or writes here";
    EXPECT_EQ(ud->address().qkey, 0x80010000U);
    co_await ud->to_rtr(on, some_peer(), {.mtu = mtu_code::Mtu2048, .gid_index = 3});
    EXPECT_EQ(dword(command(), Qpc + 0x08) >> 29, 4U) << "MTU 2048";
    EXPECT_EQ(dword(command(), Qpc + 0x18 + 0x08) >> 16, 3U) << "where datagrams come from";
    EXPECT_EQ(dword(command(), Qpc + 0x14), 0U) << "a datagram QP has no peer";
    EXPECT_EQ(part(command(), Qpc + 0x18 + 0x10, 16), byte_list(16, 0));
    EXPECT_EQ(dword(command(), Qpc + 0x90) | dword(command(), Qpc + 0x94), 0U);
    co_await ud->update(on, {.qkey = 0x5555});
    EXPECT_EQ(dword(command(), 0x10), 0x20U) << "Q_KEY";
    EXPECT_EQ(dword(command(), Qpc + 0xa8), 0x5555U);
    EXPECT_EQ(ud->address().qkey, 0x5555U);
    co_await uc->update(on, {.remote_write = false});
    EXPECT_EQ(dword(command(), 0x10), 0x08U) << "RWE";
  });
}

TEST_F(scripted, move_a_queue_pair_through_its_other_states) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(9, {});
    co_await qp->update(on, {.remote_read = false, .remote_write = false, .min_rnr_nak = 7});
    EXPECT_EQ(opcode_of(command()), 0x505U);
    EXPECT_EQ(dword(command(), 0x10), 0x4eU) << "RRE, RAE, RWE, RNR_TIMEOUT";
    EXPECT_EQ(dword(command(), Qpc + 0x90), 0U);
    EXPECT_EQ(dword(command(), Qpc + 0x94), 7U << 24);
    co_await qp->to_sqd(on);
    EXPECT_EQ(opcode_of(command()), 0x508U);
    co_await qp->from_sqd(on);
    EXPECT_EQ(opcode_of(command()), 0x50cU);
    co_await qp->sqer_to_rts(on);
    EXPECT_EQ(opcode_of(command()), 0x506U);
    co_await qp->to_error(on);
    EXPECT_EQ(opcode_of(command()), 0x507U);
    co_await qp->to_reset(on);
    EXPECT_EQ(opcode_of(command()), 0x50aU);
    co_await qp->destroy(on);
    EXPECT_EQ(opcode_of(command()), 0x501U);
    EXPECT_EQ(dword(command(), 8), 9U);
    EXPECT_EQ(home->driver.find(9), nullptr);
  });
}

TEST_F(scripted, refuse_receives_of_more_pieces_than_a_wqe_may_have) {
  build();
  std::string what;
  run([&](cpu&) -> task<> {
    try {
      co_await make_qp(9, {.max_receive_sges = 33});
    } catch (const config_error& error) {
      what = error.what();
    }
  });
  EXPECT_EQ(what,
            "a QP with queues of 2^6 and 2^4 entries and receives of 33 pieces; allowed: up to "
            "2^15 entries, 32 pieces");
}

// Memory

TEST_F(scripted, register_memory_with_the_rights_that_it_is_given) {
  build();
  run([&](cpu& on) -> task<> {
    home->registers.number = 0x77;
    const memory_region region = co_await home->driver.register_memory(
        on, pd, 0x100002000, 0x3000,
        {.local_write = true, .remote_read = false, .remote_write = true, .remote_atomic = true},
        0xa5, 9);
    EXPECT_EQ(region.key, 0x77a5U);
    EXPECT_EQ(region.index(), 0x77U);
    EXPECT_EQ(region.variant(), 0xa5U);
    EXPECT_EQ(make_key(0x77, 0xa5), region.key);
    // mlx5 mkc at 0x10: a 14, rw 13, rr 12, lw 11, lr 10, mode physical.
    EXPECT_EQ(dword(command(), 0x00), 0x02000000U);
    EXPECT_EQ(dword(command(), 0x10), 0x6c00U);
    EXPECT_EQ(dword(command(), 0x14), (9U << 8) | 0xa5);
    EXPECT_EQ(dword(command(), 0x1c), Pd);
    EXPECT_EQ(bytes::load_be<8>(command().data() + 0x20), 0x100002000U);
    EXPECT_EQ(bytes::load_be<8>(command().data() + 0x28), 0x3000U);
    co_await home->driver.deregister_memory(on, region);
    EXPECT_EQ(dword(command(), 0x00), 0x02020000U);
    EXPECT_EQ(dword(command(), 0x08), 0x77U);
  });
}

TEST_F(scripted, register_pages_that_lie_anywhere) {
  build();
  run([&](cpu& on) -> task<> {
    page_list pages;
    pages.start = 0x7000000ff0;
    pages.log_page_size = 12;
    pages.pages = {0x100009000, 0x100002000, 0x10000f000};
    // 16 bytes of the first page, a whole one, 1 byte of the third.
    const memory_region region =
        co_await home->driver.register_pages(on, pd, pages, 0x1011, {.remote_write = false});
    EXPECT_EQ(region.address, 0x7000000ff0U);
    EXPECT_EQ(region.length, 0x1011U);
    const byte_list& input = command();
    EXPECT_EQ(input.size(), 0x110U + 32) << "whole units of two entries";
    EXPECT_EQ(dword(input, 0x10), 0x1d00U) << "rr, lw, lr, mode MTT";
    EXPECT_EQ(dword(input, 0x14), 0xffffff00U) << "any QP";
    EXPECT_EQ(dword(input, 0x10 + 0x34), 2U);
    EXPECT_EQ(dword(input, 0x10 + 0x38), 12U);
    EXPECT_EQ(dword(input, 0x60), 2U);
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x110), 0x100009003U);
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x118), 0x100002003U);
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x120), 0x10000f003U);
    EXPECT_EQ(bytes::load_be<8>(input.data() + 0x128), 0U);
  });
}

TEST_F(scripted, refuse_page_lists_that_are_too_short_or_fit_no_command) {
  build();
  std::vector<std::string> what;
  run([&](cpu& on) -> task<> {
    for (const std::size_t count : {std::size_t{1}, std::size_t{9000}}) {
      page_list pages;
      pages.start = 0x1000;
      pages.pages.assign(count, 0x100000000);
      try {
        co_await home->driver.register_pages(on, pd, pages, std::max<std::size_t>(count, 2) * 4096);
      } catch (const config_error& error) {
        what.emplace_back(error.what());
      }
    }
  });
  // A command has up to 65536 bytes, 272 of which are not its list: 8158 entries.
  ASSERT_EQ(what.size(), 2U);
  EXPECT_EQ(what[0],
            "a memory region of 2 pages of 2^12 bytes; its list has 1, a command up to 8158");
  EXPECT_EQ(what[1],
            "a memory region of 9000 pages of 2^12 bytes; its list has 9000, a command up to 8158");
}

TEST_F(scripted, see_scattered_pages_as_one_range) {
  build();
  const page_list pages = page_list::scattered(home->host, 0x5000000123, 0x2100, 12);
  ASSERT_EQ(pages.pages.size(), 3U) << "0x123 + 0x2100 bytes touch three pages";
  EXPECT_NE(pages.pages[0] + 4096, pages.pages[1]);
  EXPECT_NE(pages.pages[1] + 4096, pages.pages[2]);
  EXPECT_EQ(pages.locate(0x5000000123), pages.pages[0] + 0x123);
  EXPECT_EQ(pages.locate(0x5000001000), pages.pages[1]);
  EXPECT_EQ(pages.locate(0x5000002fff), pages.pages[2] + 0xfff);
  byte_list data(0x2100);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  }
  pages.write(memory(), pages.start, data.data(), data.size());
  byte_list seen(data.size());
  pages.read(memory(), pages.start, seen.data(), seen.size());
  EXPECT_EQ(seen, data);
  EXPECT_EQ(home->memory(pages.pages[1], 1)[0], data[0x1000 - 0x123]);
}

// Addresses

TEST_F(scripted, enter_several_addresses_each_perhaps_in_a_vlan) {
  build();
  gid ipv6{};
  ipv6[0] = 0x20;
  ipv6[1] = 0x01;
  ipv6[15] = 0x77;
  run([&](cpu& on) -> task<> {
    co_await home->driver.set_address(on, 2, {ipv6, 0x123});
    // Index in the upper half of 0x08; VLAN valid and number; MAC; L3 type 1 is IPv6, RoCE v2 is 2.
    EXPECT_EQ(dword(command(), 0x00), 0x07610000U);
    EXPECT_EQ(dword(command(), 0x08), 2U << 16);
    EXPECT_EQ(part(command(), 0x10, 16), byte_list(ipv6.begin(), ipv6.end()));
    EXPECT_EQ(dword(command(), 0x20) >> 16, 0x1123U);
    EXPECT_EQ(dword(command(), 0x28), 0x102U);
    co_await home->driver.set_address(on, 1, {gid_of_ipv4(0x0a000009), {}});
    EXPECT_EQ(dword(command(), 0x20) >> 16, 0U);
    EXPECT_EQ(dword(command(), 0x28), 0x002U);
    const auto qp = co_await make_qp(9, {});
    EXPECT_EQ(qp->address().address, gid_of_ipv4(0x0a000001));
    EXPECT_EQ(qp->address(1).address, gid_of_ipv4(0x0a000009));
    EXPECT_EQ(qp->address(2).address, ipv6);
    EXPECT_EQ(qp->address(3).address, gid{}) << "never set";
  });
}

TEST_F(scripted, make_address_handles_from_what_a_peer_says_of_itself) {
  build();
  run([&](cpu&) -> task<> {
    const auto qp = co_await make_qp(9, {.service = qpc_service::Ud});
    queue_pair_address peer = some_peer();
    peer.qkey = 0x1234;
    const address_handle to = qp->handle_of(peer, {.gid_index = 2, .traffic_class = 7});
    EXPECT_EQ(to.mac, 0x0200aabbccddU);
    EXPECT_EQ(to.address, gid_of_ipv4(0x0a000002));
    EXPECT_EQ(to.qpn, 0xabcdefU);
    EXPECT_EQ(to.qkey, 0x1234U);
    EXPECT_EQ(to.gid_index, 2U);
    EXPECT_EQ(to.traffic_class, 7U);
    EXPECT_EQ(to.hop_limit, 64U);
  });
}

// Posting

TEST_F(scripted, post_datagrams_with_their_address) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(9, {.service = qpc_service::Ud});
    work_request request;
    request.opcode = wqe_opcode::Send;
    request.to.qpn = 0xabcdef;
    request.to.qkey = 0x1234;
    request.add({0x3000, 16, 0x701});
    EXPECT_TRUE(co_await qp->post_send(on, request));
    const byte_list wqe = home->memory(qp->send_buffer(), 80);
    EXPECT_EQ(dword(wqe, 4), (9U << 8) | 5) << "control 1, address 3, pointer 1";
    EXPECT_EQ(dword(wqe, 16), 0x1234U);
    EXPECT_EQ(dword(wqe, 16 + 8), 0x80abcdefU);
    EXPECT_EQ(dword(wqe, 64), 16U);
  });
}

TEST_F(scripted, fence_the_work_behind_a_local_invalidation) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(9, {});
    std::array<work_request, 3> batch;
    batch[0].opcode = wqe_opcode::LocalInvalidate;
    batch[1].opcode = wqe_opcode::Send;
    batch[2].opcode = wqe_opcode::Send;
    EXPECT_TRUE(co_await qp->post_send(on, batch));
    const auto fence = [&](std::uint64_t slot) {
      return home->memory(qp->send_buffer() + slot * 64, 16)[11] >> 5;
    };
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(fence(1), 1) << "initiator small fence";
    EXPECT_EQ(fence(2), 0);
  });
}

TEST_F(scripted, refuse_work_that_fits_no_wqe_and_post_nothing) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp = co_await make_qp(9, {});
    work_request many;
    for (int i = 0; i < 31; ++i) {
      many.add({0x1000, 8, 1});
    }
    EXPECT_FALSE(co_await qp->post_send(on, many)) << "31 pieces";
    work_request longest;
    longest.opcode = wqe_opcode::Send;
    longest.is_inline = true;
    longest.add({0x1000, 988, 0});  // 16 + 4 + 988 = 63 * 16
    EXPECT_TRUE(co_await qp->post_send(on, longest));
    EXPECT_EQ(qp->free_wqebbs(), 48U);
    longest.sges[0].length = 989;
    EXPECT_FALSE(co_await qp->post_send(on, longest));
    const std::array<work_request, 2> batch = {work_request{}, many};
    EXPECT_FALSE(co_await qp->post_send(on, batch)) << "all or nothing";
    EXPECT_EQ(qp->free_wqebbs(), 48U);
  });
  EXPECT_EQ(rung().size(), 1U);
}

TEST_F(scripted, post_receives_in_batches_with_signatures_in_front) {
  build();
  run([&](cpu& on) -> task<> {
    const auto qp =
        co_await make_qp(9, {.log_rq_size = 2, .max_receive_sges = 2, .wq_signature = true});
    std::array<receive_request, 3> batch;
    batch[0].add({0x3000, 16, 0x701}).add({0x4000, 32, 0x802}).add({0x5000, 8, 0x903});
    batch[2] = batch[1] = batch[0];
    EXPECT_TRUE(co_await qp->post_receive(on, batch)) << "stride 64: signature and three pieces";
    EXPECT_EQ(home->memory(qp->doorbell_record(), 4), (byte_list{0, 0, 0, 3}));
    const byte_list wqe = home->memory(qp->receive_buffer() + 2 * 64, 64);
    EXPECT_EQ(dword(wqe, 16), 16U);
    EXPECT_EQ(dword(wqe, 52), 0x903U);
    std::uint8_t sum = 0;
    for (const std::uint8_t each : wqe) {
      sum ^= each;
    }
    EXPECT_EQ(sum, 0xff);
    EXPECT_FALSE(co_await qp->post_receive(on, std::span(batch).first(2))) << "one is left";
    batch[0].add({0x6000, 8, 0xa04});
    EXPECT_FALSE(co_await qp->post_receive(on, batch[0])) << "four pieces";
    EXPECT_EQ(qp->free_receives(), 1U);
  });
}

}  // namespace
}  // namespace carillon::bench
