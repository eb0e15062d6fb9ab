// What a CPU sees of a completion, and when: it looks every nanosecond. "mlx5" is the public driver
// interface, "RoCE rules" are those of the InfiniBand transport as its public descriptions and
// implementations give them.
#include <algorithm>
#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::seen_packet;

constexpr std::uint8_t Untouched = 0x77;
constexpr std::size_t EntryBytes = 64;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// The first entry of a CQ.
struct first_entry {
  first_entry(const peer_bench& b, const completion_queue& cq) {
    b.host.memory.read(cq.buffer(), raw.data(), raw.size());
  }

  /// mlx5: opcode 15 (INVALID) is nobody's.
  [[nodiscard]] bool there() const { return raw[0x3f] >> 4 != 15; }

  [[nodiscard]] std::uint64_t byte_count() const { return bytes::load_be<4>(raw.data() + 0x2c); }

  std::array<std::uint8_t, EntryBytes> raw{};
};

/// Looks every nanosecond; `look` says whether it has seen the end.
task<> each_ns(peer_bench& b, cpu& core, const std::function<bool()>& look) {
  for (unsigned i = 0; i < 50000; ++i) {
    if (look()) {
      co_return;
    }
    co_await b.wait_ns(core, 1);
  }
  ADD_FAILURE() << "it never comes";
}

// mlx5: op_own is the last to become visible, after the rest of the CQE and after the payload.
TEST(completion_order_rules, nobody_sees_the_completion_of_a_send_before_its_data) {
  peer_bench b;
  unsigned before = 0;
  b.run([&before](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0x8000, bytes_t(2500, Untouched));
    co_await bench.post_receive(core, 4096);
    const bytes_t data = pattern(2500);
    bench.send(bench.packet(bth_opcode::RcSendFirst, PeerPsn), {data.begin(), data.begin() + 1024});
    bench.send(bench.packet(bth_opcode::RcSendMiddle, PeerPsn + 1),
               {data.begin() + 1024, data.begin() + 2048});
    bench.send(bench.packet(bth_opcode::RcSendLast, PeerPsn + 2),
               {data.begin() + 2048, data.end()});
    const std::function<bool()> look = [&] {
      const first_entry seen(bench, *bench.receive_cq);
      if (!seen.there()) {
        ++before;
        return false;
      }
      EXPECT_EQ(bench.get(0x8000, 2500), data);
      EXPECT_EQ(seen.byte_count(), 2500U);
      return true;
    };
    co_await each_ns(bench, core, look);
  });
  EXPECT_GT(before, 100U);
}

TEST(completion_order_rules, nobody_sees_the_completion_of_a_read_before_its_data) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    const bytes_t data = pattern(2048);
    out.opcode = bth_opcode::RcReadResponseFirst;
    b.send(out, {data.begin(), data.begin() + 1024});
    out.opcode = bth_opcode::RcReadResponseLast;
    ++out.psn;
    b.send(out, {data.begin() + 1024, data.end()});
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0x8000, bytes_t(2048, Untouched));
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2048, 0x8000));
    const std::function<bool()> look = [&] {
      const first_entry seen(bench, *bench.send_cq);
      if (!seen.there()) {
        return false;
      }
      EXPECT_EQ(bench.get(0x8000, 2048), pattern(2048));
      EXPECT_EQ(seen.byte_count(), 2048U);
      return true;
    };
    co_await each_ns(bench, core, look);
  });
}

// The data of a WRITE with immediate goes elsewhere than its receive WQE says.
TEST(completion_order_rules, nobody_sees_the_completion_of_a_write_before_its_data) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0x2000, bytes_t(1024, Untouched));
    co_await bench.post_receive(core, 0);
    bench.send(bench.remote(bth_opcode::RcWriteOnlyImmediate, PeerPsn, 1024, 0x2000),
               pattern(1024));
    const std::function<bool()> look = [&] {
      const first_entry seen(bench, *bench.receive_cq);
      if (!seen.there()) {
        return false;
      }
      EXPECT_EQ(bench.get(0x2000, 1024), pattern(1024));
      EXPECT_EQ(seen.byte_count(), 1024U);
      return true;
    };
    co_await each_ns(bench, core, look);
  });
}

// RoCE rules: a fenced request begins when the READs before it are complete, so it sends what they
// have brought, to the last of its pieces.
TEST(completion_order_rules, a_fenced_request_sends_what_the_read_before_it_has_brought) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    if (got.opcode() == bth_opcode::RcReadRequest) {
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(960));
    } else {
      b.send(out);
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0, bytes_t(4096, Untouched));
    work_request read = bench.request(wqe_opcode::RdmaRead, 0);
    for (unsigned i = 0; i < 30; ++i) {
      read.add({bench.buffer.address + i * 64, 32, bench.buffer.key});
    }
    work_request fenced = bench.request(wqe_opcode::Send, 32, 29 * 64);
    fenced.fence = true;
    const std::array<work_request, 2> batch = {read, fenced};
    EXPECT_TRUE(co_await bench.qp->post_send(core, batch));
    co_await bench.send_completions(core, 2);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  const bytes_t data = pattern(960);
  EXPECT_EQ(b.packets[1].payload(), bytes_t(data.end() - 32, data.end()));
}

}  // namespace
}  // namespace carillon
