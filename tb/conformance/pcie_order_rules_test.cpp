// Order of what a NIC does with host memory, as a program sees it, with payload that is slow and
// may pass what is before it.
//
// "PCIe" are the public ordering rules: a posted write passes no earlier one unless it has the
// relaxed ordering bit, and no read passes a write.
#include <functional>
#include <gtest/gtest.h>
#include <memory>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::seen_packet;

/// Looks, whenever a CQE is written, whether what it stands for is there.
class cqe_witness final : public memory_watcher {
 public:
  using there = std::function<bool(unsigned number)>;

  cqe_witness(peer_bench& b, const completion_queue& cq, there look)
      : b_(b), at_(cq.buffer()), look_(std::move(look)) {
    b_.host.memory.watch(at_, 4096, *this);
  }

  ~cqe_witness() override { b_.host.memory.unwatch(at_, 4096, *this); }

  unsigned seen = 0;
  unsigned early = 0;  ///< CQEs that came before their data

 private:
  void on_memory_write(std::uint64_t /*address*/, std::uint64_t /*length*/) override {
    early += look_(seen++) ? 0 : 1;
  }

  peer_bench& b_;
  const std::uint64_t at_;
  const there look_;
};

/// Payload may pass what is before it, and is slow; CQEs go to the cache.
parameters relaxed() {
  parameters params;
  params.pcie.relaxed_ordering = true;
  params.host.memory_write_ps = 700000;
  params.host.ddio = true;
  return params;
}

task<> connect_slow(peer_bench& b, cpu& core) {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.rights.remote_atomic = true;
  co_await b.connect(core, wanted);
  b.host.memory.set_attributes(b.buffer.address, b.buffer.length, {0, false});
}

// PCIe and mlx5: a program that sees a CQE sees the whole message, also with relaxed ordering.
TEST(pcie_order_rules, a_message_is_visible_before_its_completion) {
  constexpr unsigned Messages = 8;
  peer_bench b(relaxed());
  std::unique_ptr<cqe_witness> witness;
  b.run([&witness](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_slow(bench, core);
    witness = std::make_unique<cqe_witness>(bench, *bench.receive_cq, [&bench](unsigned n) {
      return bench.get(0x1000 * n, 2500) == pattern(2500, n + 1);
    });
    std::uint32_t psn = PeerPsn;
    for (unsigned i = 0; i < Messages; ++i) {
      co_await bench.post_receive(core, 2500, 0x1000 * i);
    }
    for (unsigned i = 0; i < Messages; ++i) {
      const bytes_t data = pattern(2500, i + 1);
      const bool write = i % 2 != 0;
      packet_description first = bench.remote(
          write ? bth_opcode::RcWriteFirst : bth_opcode::RcSendFirst, psn++, 2500, 0x1000 * i);
      bench.send(first, bytes_t(data.begin(), data.begin() + 1024));
      bench.send(bench.packet(write ? bth_opcode::RcWriteMiddle : bth_opcode::RcSendMiddle, psn++),
                 bytes_t(data.begin() + 1024, data.begin() + 2048));
      bench.send(
          bench.packet(write ? bth_opcode::RcWriteLastImmediate : bth_opcode::RcSendLast, psn++),
          bytes_t(data.begin() + 2048, data.end()));
    }
    co_await bench.receive_completions(core, Messages);
  });
  EXPECT_EQ(witness->seen, Messages);
  EXPECT_EQ(witness->early, 0U);
}

TEST(pcie_order_rules, what_a_read_brings_is_visible_before_its_completion) {
  constexpr unsigned Reads = 8;
  peer_bench b(relaxed());
  b.answer = [&b](const seen_packet& got) {
    const bytes_t data = pattern(2048, got.parsed.remote.rkey);
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcReadResponseFirst;
    b.send(out, bytes_t(data.begin(), data.begin() + 1024));
    out.opcode = bth_opcode::RcReadResponseLast;
    out.psn += 1;
    b.send(out, bytes_t(data.begin() + 1024, data.end()));
  };
  std::unique_ptr<cqe_witness> witness;
  b.run([&witness](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_slow(bench, core);
    witness = std::make_unique<cqe_witness>(bench, *bench.send_cq, [&bench](unsigned n) {
      return bench.get(0x1000 * n, 2048) == pattern(2048, n + 1);
    });
    for (unsigned i = 0; i < Reads; ++i) {
      work_request what = bench.request(wqe_opcode::RdmaRead, 2048, 0x1000 * i);
      what.rkey = i + 1;
      co_await bench.post(core, what);
    }
    co_await bench.send_completions(core, Reads);
  });
  EXPECT_EQ(witness->seen, Reads);
  EXPECT_EQ(witness->early, 0U);
}

// PCIe: no read passes a write. RoCE rules: what is accepted first is done first. A narrow link, so
// that the writes pile up in the device.
TEST(pcie_order_rules, a_read_and_an_atomic_see_the_write_before_them) {
  constexpr unsigned Packets = 8;
  const bytes_t data = pattern(1024 * Packets, 7);
  parameters params = relaxed();
  params.pcie.generation = 3;
  params.pcie.width = 1;
  peer_bench b(params);
  b.run([&data](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_slow(bench, core);
    for (unsigned i = 0; i < Packets; ++i) {
      packet_description part = bench.remote(i == 0             ? bth_opcode::RcWriteFirst
                                             : i + 1 == Packets ? bth_opcode::RcWriteLast
                                                                : bth_opcode::RcWriteMiddle,
                                             PeerPsn + i, 1024 * Packets);
      part.ack_request = 0;
      bench.send(part, bytes_t(data.begin() + 1024 * i, data.begin() + 1024 * (i + 1)));
    }
    const std::uint32_t last = 1024 * (Packets - 1);
    bench.send(bench.remote(bth_opcode::RcFetchAdd, PeerPsn + Packets, 8, last));
    bench.send(bench.remote(bth_opcode::RcReadRequest, PeerPsn + Packets + 1, 1016, last + 8));
    co_await bench.wait_ns(core, 50000);
  });
  std::uint64_t number = 0;
  for (unsigned i = 8; i-- != 0;) {
    number = number << 8 | data[1024 * (Packets - 1) + i];
  }
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[0].parsed.atomic_result.original, number);
  EXPECT_EQ(b.packets[1].opcode(), bth_opcode::RcReadResponseOnly);
  EXPECT_EQ(b.packets[1].payload(), bytes_t(data.end() - 1016, data.end()));
}

}  // namespace
}  // namespace carillon
