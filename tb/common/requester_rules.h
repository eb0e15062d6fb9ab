// What the cases about the requester's rules have in common. "RoCE rules" in their comments are
// those of the InfiniBand transport as its public descriptions and implementations give them (Linux
// rdma_rxe, the RoCEv2 annex); "mlx5" is the public driver interface.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "tb/common/peer_bench.h"

namespace carillon::bench {

inline constexpr std::uint64_t Us = 1000000;  ///< in ps

/// MTU 1024, no ACK timer unless the case sets one.
inline peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// PSNs of what the NIC sent.
inline std::vector<std::uint32_t> psns(const peer_bench& b) {
  std::vector<std::uint32_t> result;
  for (const seen_packet& each : b.packets) {
    result.push_back(each.psn());
  }
  return result;
}

inline std::vector<bth_opcode> opcodes(const peer_bench& b) {
  std::vector<bth_opcode> result;
  for (const seen_packet& each : b.packets) {
    result.push_back(each.opcode());
  }
  return result;
}

inline std::vector<cqe_syndrome> syndromes(const peer_bench& b) {
  std::vector<cqe_syndrome> result;
  for (const completion& each : b.sends) {
    result.push_back(each.syndrome);
  }
  return result;
}

using ops = std::vector<bth_opcode>;
using numbers = std::vector<std::uint32_t>;
using outcomes = std::vector<cqe_syndrome>;

/// Posts one request of `length` bytes against a peer that acknowledges, and waits for its CQE.
inline void exchange(peer_bench& b, wqe_opcode opcode, std::uint32_t length) {
  b.acknowledges_everything();
  b.run([opcode, length](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    bench.put(0, pattern(length));
    work_request what = bench.request(opcode, length);
    what.imm = 0xa1b2c3d4;
    what.invalidate_key = 0xa1b2c3d4;
    what.solicited = true;
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  ASSERT_EQ(b.sends.size(), 1U);
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::None);
}

/// The payloads of all packets, one after the other.
inline bytes_t carried(const peer_bench& b) {
  bytes_t all;
  for (const seen_packet& each : b.packets) {
    const bytes_t part = each.payload();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// A peer that serves READs from the pattern and acknowledges the rest.
inline void serve_reads(peer_bench& b, std::uint32_t mtu = 1024) {
  b.answer = [&b, mtu](const seen_packet& got) {
    if (got.opcode() != bth_opcode::RcReadRequest) {
      b.send(b.acknowledge(got.psn()));
      return;
    }
    const std::uint32_t length = got.parsed.remote.dma_length;
    const bytes_t data = pattern(length);
    const std::uint32_t count = std::max(1U, (length + mtu - 1) / mtu);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool first = i == 0;
      const bool last = i + 1 == count;
      packet_description out = b.acknowledge(got.psn() + i);
      out.opcode = first && last ? bth_opcode::RcReadResponseOnly
                   : first       ? bth_opcode::RcReadResponseFirst
                   : last        ? bth_opcode::RcReadResponseLast
                                 : bth_opcode::RcReadResponseMiddle;
      const std::size_t from = std::size_t{i} * mtu;
      b.send(out, bytes_t(data.begin() + static_cast<std::ptrdiff_t>(from),
                          data.begin() + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(from + mtu, length))));
    }
  };
}

/// Answers the n-th packet by `nth`, all others by an ACK.
inline void once(peer_bench& b, std::size_t n, const std::function<void(const seen_packet&)>& nth) {
  b.answer = [&b, n, nth](const seen_packet& got) {
    if (b.packets.size() == n) {
      nth(got);
    } else if (got.parsed.base.ack_req != 0 && b.packets.size() > n) {
      b.send(b.acknowledge(got.psn()));
    }
  };
}

}  // namespace carillon::bench
