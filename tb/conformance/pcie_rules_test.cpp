// What a program and its peer see of PCIe: reads of host memory that go wrong, and completions cut
// and mixed as PCIe allows. One host and NIC, a scripted peer, and a second queue pair that must
// not notice.
//
// "PCIe" are the public rules: completion status, poisoned data, the completion time-out, the read
// completion boundary. What a fault of each kind of read means for its work request is in
// the tables of docs/stages; the syndromes are those of mlx5 and the NAK codes those of the RoCE
// rules (remote operational error where the responder's own memory fails it).
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>

#include "host/event_queue.h"
#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::seen_packet;

constexpr std::int64_t TimeoutPs = 50000000;  ///< the shortest that PCIe allows
constexpr std::uint64_t LongNs = 200000;      ///< by then every fault has had its effect
constexpr std::uint32_t OtherPeer = 0x00beef;
constexpr std::uint32_t OtherPsn = 0x002000;

parameters impatient() {
  parameters params;
  params.pcie.completion_timeout_ps = TimeoutPs;
  params.pcie.tags = 2;  // one that is lost for good would be missed
  return params;
}

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.qp.doorbell = doorbell_mode::doorbell_only;
  return wanted;
}

/// A second queue pair beside the bench's, with a peer of its own.
class neighbour {
 public:
  explicit neighbour(peer_bench& b) : b_(b) {
    b.answer = [this](const seen_packet& got) {
      if (got.parsed.base.ack_req != 0) {
        packet_description out = b_.acknowledge(got.psn());
        out.dest_qpn = of_other(got) ? other->qpn() : out.dest_qpn;
        b_.send(out);
      }
    };
  }

  static bool of_other(const seen_packet& got) { return got.parsed.base.dest_qpn == OtherPeer; }

  task<> connect(cpu& core) {
    const peer_bench::options wanted = plain();
    other = co_await queue_pair::create(b_.driver, core, b_.pd, *b_.uar, *b_.send_cq,
                                        *b_.receive_cq, wanted.qp);
    connection_options connection = wanted.connection;
    connection.remote_atomic = true;
    connection.psn = 0x700;
    co_await other->to_init(core, connection);
    queue_pair_address peer;
    peer.qpn = OtherPeer;
    peer.psn = OtherPsn;
    peer.mac = bench::PeerMac;
    peer.address = gid_of_ipv4(0x0a000002);
    co_await other->to_rtr(core, peer, connection);
    co_await other->to_rts(core, connection);
  }

  /// It sends and receives, and serves a READ and an atomic.
  task<> works(cpu& core) {
    b_.put(0x4000, pattern(3000, 9));
    for (unsigned i = 0; i < 6; ++i) {
      EXPECT_TRUE(co_await other->post_send(core, b_.request(wqe_opcode::Send, 3000, 0x4000)));
    }
    receive_request into;
    into.add({b_.buffer.address + 0x6000, 64, b_.buffer.key});
    EXPECT_TRUE(co_await other->post_receive(core, into));
    send(b_.packet(bth_opcode::RcSendOnly, OtherPsn), pattern(40, 3));
    send(b_.remote(bth_opcode::RcReadRequest, OtherPsn + 1, 2000, 0x4000));
    send(b_.remote(bth_opcode::RcFetchAdd, OtherPsn + 3, 8, 0x5000));
    co_await b_.wait_ns(core, LongNs);
  }

  void check() const {
    bytes_t requests;
    bytes_t responses;
    std::size_t answers = 0;
    for (const seen_packet& each : b_.packets) {
      if (of_other(each)) {
        const bytes_t part = each.payload();
        bytes_t& to = each.parsed.opcode->is_response ? responses : requests;
        to.insert(to.end(), part.begin(), part.end());
        answers += each.parsed.opcode->is_response ? 1 : 0;
      }
    }
    const bytes_t one = pattern(3000, 9);
    bytes_t all;
    for (unsigned i = 0; i < 6; ++i) {
      all.insert(all.end(), one.begin(), one.end());
    }
    EXPECT_EQ(requests, all);
    EXPECT_EQ(responses, bytes_t(one.begin(), one.begin() + 2000));
    EXPECT_EQ(answers, 4U) << "an ACK, two READ responses, a result";
    EXPECT_EQ(b_.get(0x6000, 40), pattern(40, 3));
  }

  std::unique_ptr<queue_pair> other;

 private:
  void send(packet_description what, const bytes_t& payload = {}) {
    what.dest_qpn = other->qpn();
    b_.send(what, payload);
  }

  peer_bench& b_;
};

/// All completions that there are.
task<> collect(peer_bench& b, cpu& core) {
  completion one;
  while (co_await b.send_cq->poll(core, std::span(&one, 1)) != 0) {
    b.sends.push_back(one);
  }
  while (co_await b.receive_cq->poll(core, std::span(&one, 1)) != 0) {
    b.receives.push_back(one);
  }
}

using numbers = std::vector<int>;

numbers syndromes(const std::vector<completion>& of, std::uint32_t qpn) {
  numbers result;
  for (const completion& each : of) {
    if (each.qpn == qpn) {
      result.push_back(static_cast<int>(each.syndrome));
    }
  }
  return result;
}

// Every fault for every kind of read --------------------------------------------------------------

enum class reading : std::uint8_t { wqe, payload, response, record, receive_wqe, atomic };

enum class trouble : std::uint8_t { unsupported, aborted, poisoned, never, stray, late, too_late };

constexpr const char* Readings[] = {"wqe",    "payload",     "response",
                                    "record", "receive_wqe", "atomic"};
constexpr const char* Troubles[] = {"unsupported_request",    "completer_abort", "poison",
                                    "no_completion",          "unexpected",      "late",
                                    "later_than_the_time_out"};

struct outcome {
  numbers sends;  ///< syndromes of the queue pair's CQEs
  numbers receives;
  numbers answers;  ///< AETH syndromes that its peer got
  std::size_t requests = 0;

  bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& each) {
  return out << "sends " << testing::PrintToString(each.sends) << ", receives "
             << testing::PrintToString(each.receives) << ", answers "
             << testing::PrintToString(each.answers) << ", requests " << each.requests;
}

bool harmless(trouble what) {
  return what == trouble::stray || what == trouble::late;
}

/// By hand. The program posts one SEND first if it is about WQEs or payload, else receives; in the
/// end one more SEND. 0x2c is an RNR NAK with the bench's timer, 0x63 the NAK "remote operational
/// error".
outcome expected(reading what, trouble of) {
  const bool good = harmless(of);
  const bool refused = of == trouble::unsupported || of == trouble::aborted;
  switch (what) {
    case reading::wqe:
      return good ? outcome{{0, 0}, {}, {}, 2} : outcome{{0x02, 0x05}, {}, {}, 0};
    case reading::payload:
      return good ? outcome{{0, 0}, {}, {}, 2} : outcome{{refused ? 0x04 : 0x02, 0x05}, {}, {}, 0};
    case reading::response:  // the last of three packets cannot be read
      return good ? outcome{{0}, {}, {0x1f, 0x1f}, 1} : outcome{{0x05}, {0x05}, {0x1f, 0x63}, 0};
    case reading::record:  // nobody knows of a receive: the peer is asked to come again
      return good ? outcome{{0}, {0}, {0x1f, 0x1f}, 1} : outcome{{0}, {0}, {0x2c, 0x1f}, 1};
    case reading::receive_wqe:
      return good ? outcome{{0}, {0}, {0x1f}, 1} : outcome{{0x05}, {0x02, 0x05}, {0x63}, 0};
    case reading::atomic:
      return good ? outcome{{0}, {}, {0x1f}, 1} : outcome{{0x05}, {0x05}, {0x63}, 0};
  }
  return {};
}

read_fault_rule rule_for(const peer_bench& b, reading what, trouble of) {
  read_fault_rule rule;
  constexpr read_fault Faults[] = {read_fault::unsupported_request,
                                   read_fault::completer_abort,
                                   read_fault::poisoned,
                                   read_fault::never,
                                   read_fault::stray,
                                   read_fault::late,
                                   read_fault::late};
  rule.fault = Faults[static_cast<unsigned>(of)];
  rule.delay = of == trouble::late ? 20000000 : 70000000;
  rule.count = 1;
  rule.first = b.buffer.address;
  rule.last = b.buffer.address + 0x1fff;
  rule.kind = read_kind::payload;
  switch (what) {
    case reading::payload:
      break;
    case reading::response:
      rule.nth = 3;
      break;
    case reading::atomic:
      rule.kind = read_kind::atomic;
      break;
    case reading::wqe:
      rule.kind = read_kind::wqe;
      rule.first = b.qp->send_buffer();
      rule.last = rule.first + 4095;
      break;
    case reading::record:
      rule.kind = read_kind::record;
      rule.first = rule.last = b.qp->doorbell_record();
      break;
    case reading::receive_wqe:
      rule.kind = read_kind::receive_wqe;
      rule.first = b.qp->receive_buffer();
      rule.last = rule.first + 255;
      break;
  }
  return rule;
}

/// What makes the device read.
task<> provoke(peer_bench& b, cpu& core, reading what) {
  const packet_description message = b.packet(bth_opcode::RcSendOnly, PeerPsn);
  switch (what) {
    case reading::wqe:
    case reading::payload:
      co_await b.post(core, b.request(wqe_opcode::Send, 100));
      break;
    case reading::response:
      co_await b.post_receive(core, 200);
      b.send(b.remote(bth_opcode::RcReadRequest, PeerPsn, 2500));
      break;
    case reading::record:
      co_await b.post_receive(core, 200);
      b.send(message, pattern(100, 5));
      b.send(message, pattern(100, 5), 150000);
      break;
    case reading::receive_wqe:
      co_await b.post_receive(core, 200);
      co_await b.post_receive(core, 200);
      b.send(message, pattern(100, 5));
      break;
    case reading::atomic:
      co_await b.post_receive(core, 200);
      packet_description add = b.remote(bth_opcode::RcFetchAdd, PeerPsn, 8, 0x1000);
      add.atomic.swap_add = 3;
      b.send(add);
      break;
  }
}

class pcie_fault : public testing::TestWithParam<std::tuple<reading, trouble>> {};

TEST_P(pcie_fault, ends_what_it_is_about_and_nothing_else) {
  const auto& [what, of] = GetParam();
  peer_bench b(impatient());
  neighbour next(b);
  b.run([&next, read = what, with = of](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.rights.remote_atomic = true;
    co_await bench.connect(core, wanted);
    co_await next.connect(core);
    bench.put(0, pattern(4096));
    const std::uint64_t five[] = {5};
    bench.host.memory.write(bench.buffer.address + 0x1000, five, 8);
    bench.host.bus.inject(rule_for(bench, read, with));
    co_await provoke(bench, core, read);
    co_await bench.wait_ns(core, LongNs);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 100));
    co_await next.works(core);
    co_await collect(bench, core);
  });
  outcome seen;
  seen.sends = syndromes(b.sends, b.qp->qpn());
  seen.receives = syndromes(b.receives, b.qp->qpn());
  for (const seen_packet& each : b.packets) {
    if (!neighbour::of_other(each)) {
      seen.requests += each.parsed.opcode->is_response ? 0 : 1;
      if (each.parsed.opcode->has_aeth) {
        seen.answers.push_back(each.syndrome());
      }
    }
  }
  EXPECT_EQ(seen, expected(what, of));
  if (what == reading::response && !harmless(of)) {
    EXPECT_EQ(b.packets[2].psn(), PeerPsn + 2) << "the NAK takes the place of what is missing";
  }
  if (what == reading::atomic) {
    EXPECT_EQ(b.get(0x1000, 8),
              (bytes_t{static_cast<std::uint8_t>(harmless(of) ? 8 : 5), 0, 0, 0, 0, 0, 0, 0}));
  }
  next.check();
  EXPECT_EQ(syndromes(b.sends, next.other->qpn()), (numbers{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(syndromes(b.receives, next.other->qpn()), (numbers{0}));
  // Each fault once, and nothing left behind.
  const bool slow = of == trouble::never || of == trouble::too_late;
  EXPECT_EQ(b.host.bus.injected(), 1U);
  EXPECT_EQ(b.count(counter::DmaErrors), harmless(of) ? 0U : 1U);
  EXPECT_EQ(b.count(counter::DmaTimeouts), slow ? 1U : 0U);
  EXPECT_EQ(b.count(counter::PcieRxPoisoned) != 0, of == trouble::poisoned);
  EXPECT_EQ(b.count(counter::PcieRxUnexpectedCompletions) != 0,
            of == trouble::stray || of == trouble::too_late);
  EXPECT_EQ(b.tlps.in_use(), 0U);
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<reading, trouble>>& of) {
  return std::string(Readings[static_cast<unsigned>(std::get<0>(of.param))]) + "_" +
         Troubles[static_cast<unsigned>(std::get<1>(of.param))];
}

INSTANTIATE_TEST_SUITE_P(
    of, pcie_fault,
    testing::Combine(testing::Values(reading::wqe, reading::payload, reading::response,
                                     reading::record, reading::receive_wqe, reading::atomic),
                     testing::Values(trouble::unsupported, trouble::aborted, trouble::poisoned,
                                     trouble::never, trouble::stray, trouble::late,
                                     trouble::too_late)),
    name_of_case);

// A CQ's record is read when the CQ looks full: ahead of need, and once more before a CQE is lost.
class pcie_cq_record : public testing::TestWithParam<std::tuple<unsigned, trouble>> {};

TEST_P(pcie_cq_record, that_cannot_be_read_ends_the_cq_only_if_it_was_needed) {
  const auto& [nth, of] = GetParam();
  const bool lost = nth == 2 && !harmless(of);
  peer_bench b(impatient());
  neighbour next(b);
  std::vector<completion> seen;
  std::vector<event> events;
  std::uint32_t cqn = 0;
  b.run([&, which = nth, with = of](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    auto eq = co_await event_queue::create(bench.driver, core, *bench.uar, 8, QueueEvents);
    bench.send_cq = co_await completion_queue::create(bench.driver, core, *bench.uar, 2, eq.get());
    cqn = bench.send_cq->cqn();
    auto small = co_await queue_pair::create(bench.driver, core, bench.pd, *bench.uar,
                                             *bench.send_cq, *bench.receive_cq, plain().qp);
    bench.qp.swap(small);
    co_await bench.qp->to_init(core, plain().connection);
    queue_pair_address peer;
    peer.qpn = bench::PeerQpn;
    peer.mac = bench::PeerMac;
    peer.address = gid_of_ipv4(0x0a000002);
    co_await bench.qp->to_rtr(core, peer, plain().connection);
    co_await bench.qp->to_rts(core, plain().connection);
    read_fault_rule rule = rule_for(bench, reading::payload, with);
    rule.kind = read_kind::cq_record;
    rule.first = bench.send_cq->doorbell_record();
    rule.last = rule.first + 7;
    rule.nth = which;
    bench.host.bus.inject(rule);
    for (unsigned round = 0; round < 2; ++round) {
      for (unsigned i = 0; i < 4; ++i) {
        co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
      }
      co_await bench.wait_ns(core, LongNs);
      completion one;
      while (co_await bench.send_cq->poll(core, std::span(&one, 1)) != 0) {
        seen.push_back(one);
      }
    }
    event happened;
    while (co_await eq->poll(core, std::span(&happened, 1)) != 0) {
      events.push_back(happened);
    }
    co_await bench.wait_ns(core, LongNs);
  });
  EXPECT_EQ(seen.size(), lost ? 4U : 8U);
  EXPECT_EQ(b.packets.size(), 8U) << "the queue pair knows nothing of it";
  EXPECT_EQ(b.count(counter::CqesDropped), lost ? 4U : 0U);
  ASSERT_EQ(events.size(), lost ? 1U : 0U);
  if (lost) {
    EXPECT_EQ(events[0].kind, event_type::CqError);
    EXPECT_EQ(events[0].number, cqn);
    EXPECT_EQ(events[0].cq_error, 2) << "it was not full";
  }
  EXPECT_EQ(b.host.bus.injected(), 1U);
  EXPECT_EQ(b.tlps.in_use(), 0U);
}

INSTANTIATE_TEST_SUITE_P(of, pcie_cq_record,
                         testing::Combine(testing::Values(1U, 2U),
                                          testing::Values(trouble::unsupported, trouble::aborted,
                                                          trouble::poisoned, trouble::never,
                                                          trouble::stray, trouble::late)));

// Completions in pieces ---------------------------------------------------------------------------

/// Requests of odd sizes at odd places; what they are made of.
struct odd_request {
  work_request what;
  bytes_t data;
};

odd_request odd(peer_bench& b, wqe_opcode opcode, unsigned i) {
  odd_request result;
  result.what = b.request(opcode, 0);
  result.what.id = i;
  const unsigned count = 1 + i % 3;
  for (unsigned j = 0; j < count; ++j) {
    const std::uint32_t length = (i * 397 + j * 811) % 1900 + 1;
    const std::uint32_t offset = (i * 1531 + j * 4099) % 60000;
    const bytes_t part = b.get(offset, length);
    result.what.add({b.buffer.address + offset, length, b.buffer.key});
    result.data.insert(result.data.end(), part.begin(), part.end());
  }
  return result;
}

class pcie_completions : public testing::TestWithParam<std::tuple<std::int64_t, std::uint64_t>> {};

// PCIe: a completer may cut a read at any read completion boundary and answer reads in any order.
TEST_P(pcie_completions, cut_and_mixed_in_any_way_are_put_together_right) {
  const auto& [mps, shuffle] = GetParam();
  parameters params;
  params.pcie.completion_split = pcie_completion_split::Random;
  params.pcie.mps = mps;
  params.pcie.mrrs = 512;
  peer_bench b(params, shuffle);
  neighbour next(b);
  std::array<bytes_t, 3> wanted;  // of the queue pair, of the other one, of READ responses
  b.run([&next, &wanted](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await next.connect(core);
    bench.put(0, pattern(65536));
    for (unsigned i = 0; i < 14; ++i) {
      const wqe_opcode opcode = i % 2 == 0 ? wqe_opcode::Send : wqe_opcode::RdmaWrite;
      const odd_request mine = odd(bench, opcode, 2 * i);
      const odd_request others = odd(bench, opcode, 2 * i + 1);
      wanted[0].insert(wanted[0].end(), mine.data.begin(), mine.data.end());
      wanted[1].insert(wanted[1].end(), others.data.begin(), others.data.end());
      co_await bench.post(core, mine.what);
      EXPECT_TRUE(co_await next.other->post_send(core, others.what));
    }
    std::uint32_t psn = PeerPsn;
    for (unsigned i = 0; i < 12; ++i) {
      const std::uint32_t length = (i * 733) % 3000 + 1;
      const std::uint32_t offset = (i * 5003) % 60000;
      bench.send(bench.remote(bth_opcode::RcReadRequest, psn, length, offset));
      psn += (length + 1023) / 1024;
      const bytes_t part = bench.get(offset, length);
      wanted[2].insert(wanted[2].end(), part.begin(), part.end());
    }
    co_await bench.send_completions(core, 28);
  });
  std::array<bytes_t, 3> got;
  for (const seen_packet& each : b.packets) {
    const bytes_t part = each.payload();
    bytes_t& to = got[each.parsed.opcode->is_response ? 2 : neighbour::of_other(each) ? 1 : 0];
    to.insert(to.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(got == wanted);
  for (const completion& each : b.sends) {
    EXPECT_EQ(each.syndrome, cqe_syndrome::None);
  }
}

INSTANTIATE_TEST_SUITE_P(mps, pcie_completions,
                         testing::Combine(testing::Values(128, 256, 512),
                                          testing::Values(0U, 1U, 2U)));

}  // namespace
}  // namespace carillon
