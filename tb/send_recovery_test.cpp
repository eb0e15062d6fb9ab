// requester and tx_sched together, with WQEs that can be fetched again and a network that loses
// packets: every WQE completes exactly once and in order, and has happened exactly once at the
// peer.
#include <gtest/gtest.h>

#include "common/lossy_peer.h"
#include "gen/contexts.h"
#include "requester.h"
#include "tx_sched.h"

namespace carillon {
namespace {

using bench::context_lines;
using bench::dma_memory;
using bench::lossy_peer;
using bench::misfortune;
using bench::remote_byte;
using bench::sink;
using bench::source;
using bench::stage_bench;

constexpr std::uint32_t FirstQp = 4;
constexpr std::uint32_t Qps = 3;

/// In place of wqe_fetch and wqe_parser: hands on a queue's WQEs in order, some time after it
/// "read" them, so that some of an older epoch are under way when the queue goes back.
class toy_fetch final : public stage {
 public:
  toy_fetch(stage_bench& bench, stream<work_item>& work, stream<refetch>& back,
            stream<qp_error>& errors, std::uint64_t seed)
      : stage("fetch", bench.context, "bench"),
        work_(work),
        back_(back),
        errors_(errors),
        random_(seed, "toy_fetch") {
    work_.from(*this, site());
    back_.to(*this, site());
    errors_.to(*this, site());
    watch(back_, {});
    watch(errors_, {});
    wake(10);
  }

  struct queue {
    std::vector<work_item> wqes;
    std::size_t next = 0;
    std::uint8_t epoch = 0;
    bool error = false;
  };

  std::map<std::uint32_t, queue> queues;
  unsigned refetches = 0;

 private:
  void evaluate(cycle_t t) override {
    if (back_.takeable(t)) {
      const refetch item = back_.take(t);
      queue& to = queues[item.qpn];
      to.epoch = item.epoch;
      to.next = item.wqe_index;  // each WQE is one WQEBB here
      ++refetches;
    }
    if (errors_.takeable(t)) {
      queues[errors_.take(t).qpn].error = true;
    }
    for (auto& [qpn, from] : queues) {
      if (from.next < from.wqes.size() && random_.chance(1, 20)) {
        work_item item = from.wqes[from.next++];
        item.epoch = from.epoch;
        read_.emplace_back(t + 100, std::move(item));
      }
    }
    if (!read_.empty() && read_.front().first <= t) {
      work_item& item = read_.front().second;
      const unsigned beats = beats_of(item.body_bytes());
      if (!work_.has_credit(t, beats)) {
        work_.ask_credit(t, beats);
      } else if (work_.port_free() <= t + 1) {
        if (queues[item.qpn].error) {
          item.syndrome = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
        }
        work_.push(t, 1, std::move(item), beats);
        read_.pop_front();
      }
    }
    bool more = !read_.empty();
    for (const auto& [qpn, from] : queues) {
      more = more || from.next < from.wqes.size();
    }
    if (more) {
      wake(t + 1);
    }
  }

  stream<work_item>& work_;
  stream<refetch>& back_;
  stream<qp_error>& errors_;
  random_stream random_;
  std::deque<std::pair<cycle_t, work_item>> read_;
};

class send_recovery : public testing::TestWithParam<int> {
 protected:
  send_recovery()
      : seed(static_cast<std::uint64_t>(GetParam())), bench(seed % 3), random(seed, "work") {
    ram.serve(key_reads, key_lines);
    // Behind a local invalidation keys are looked up again: the one of all segments is still there.
    mkey_line key;
    key.valid = 1;
    key.length64 = 1;
    key.contiguous = 1;
    key.lr = key.lw = 1;
    key.qpn = MkeyAnyQp;
    ram.set(context_kind::mkey, 0, key);
    memory.accept(writes);
  }

  void connect(const misfortune& bad) {
    peer = std::make_unique<lossy_peer>(bench, payload, direct, left, responses, bad, seed);
  }

  void start(std::uint32_t qpn, std::uint32_t psn, std::uint8_t retry_count) {
    qp_command item;
    item.qpn = qpn;
    item.state = static_cast<std::uint8_t>(qp_state::Rts);
    item.send_psn = psn;
    qpc_requester line;
    line.retry_count = retry_count;
    line.rnr_retry = 7;
    line.ack_timeout = 1;
    line.log_sra_max = 2;
    line.pack(item.requester.data());
    to_requester.at(0, item);
    to_sched.at(0, item);
    peer->qp(qpn).expected = psn;
  }

  void put_in_error(cycle_t cycle, std::uint32_t qpn) {
    qp_command item;
    item.qpn = qpn;
    item.state = static_cast<std::uint8_t>(qp_state::Err);
    to_requester.at(cycle, item);
    to_sched.at(cycle, item);
  }

  /// One WQE of any kind. READs and atomics go to memory of their own.
  void post(std::uint32_t qpn) {
    std::vector<work_item>& wqes = fetch.queues[qpn].wqes;
    work_item wqe;
    wqe.qpn = qpn;
    wqe.wqe_index = static_cast<std::uint16_t>(wqes.size());
    wqe.wqebbs = 1;
    wqe.mtu_code = static_cast<std::uint8_t>(mtu_code::Mtu256);
    wqe.rkey = wqe.wqe_index;
    wqe.send_cqn = 1;
    wqe.remote_address = 0x10000000ULL * qpn + random.below(1U << 20);
    wqe.fm_ce_se = random.chance(1, 2) ? 0x08 : 0;
    if (random.chance(1, 8)) {
      wqe.fm_ce_se = static_cast<std::uint8_t>(wqe.fm_ce_se | (1 + random.below(4)) << 5);
    }
    wqe.body = bench.nic.buffers.take();
    std::uint32_t length = random.chance(1, 8) ? 0 : static_cast<std::uint32_t>(random.below(1500));
    wqe_opcode opcode = wqe_opcode::RdmaWrite;
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        opcode = wqe_opcode::Send;
        break;
      case 3:
      case 4:
        opcode = wqe_opcode::RdmaRead;
        break;
      case 5:
        opcode = wqe_opcode::AtomicFetchAdd;
        wqe.swap_add = 1 + random.below(100);
        length = 8;
        break;
      case 6:
        opcode = random.chance(1, 2) ? wqe_opcode::Nop : wqe_opcode::LocalInvalidate;
        length = 0;
        break;
      case 7:
        wqe.is_inline = true;
        length = static_cast<std::uint32_t>(random.below(200));
        break;
      default:
        break;
    }
    wqe.opcode = static_cast<std::uint8_t>(opcode);
    wqe.length = length;
    if (!wqe.is_inline && length != 0) {
      // Two segments.
      const std::uint32_t first = length == 8 ? 8 : length / 3;
      wqe.sge_count = 0;
      for (const auto& [from, bytes] : {std::pair{0U, first}, std::pair{first, length - first}}) {
        if (bytes != 0) {
          data_seg segment;
          segment.byte_count = bytes;
          segment.address = place(qpn, wqe.wqe_index) + from;
          segment.pack(wqe.body.data() + wqe.sge_count++ * data_seg::Size);
        }
      }
    }
    wqes.push_back(std::move(wqe));
  }

  static std::uint64_t place(std::uint32_t qpn, std::uint16_t index) {
    return qpn * 0x10000000ULL + index * 0x1000ULL;
  }

  /// Everything was told once and in order; what was told to have succeeded has, once and in order.
  /// `expected`: how a queue may end early; nothing means that it must not.
  void expect_exactly_once(const std::set<std::uint8_t>& reasons) {
    std::map<std::uint32_t, std::size_t> next;
    std::map<std::uint32_t, bool> ended;
    std::map<std::uint32_t, std::size_t> good;
    for (const auto& each : completion.items) {
      const cqe_item& cqe = each.item;
      const std::vector<work_item>& wqes = fetch.queues[cqe.qpn].wqes;
      std::size_t& at = next[cqe.qpn];
      // Unsignaled ones may have completed silently before it, successfully.
      while (at < cqe.wqe_counter) {
        ASSERT_EQ(wqes[at].fm_ce_se & 0x0c, 0) << "WQE " << at << " of QP " << cqe.qpn;
        ASSERT_FALSE(ended[cqe.qpn]) << "WQE " << at << " of QP " << cqe.qpn << " was not flushed";
        ++at;
      }
      ASSERT_EQ(cqe.wqe_counter, at) << "QP " << cqe.qpn << ": a second time, or out of order";
      ++at;
      if (ended[cqe.qpn]) {
        ASSERT_EQ(cqe.syndrome, 0x05);
      } else if (cqe.syndrome != 0) {
        ASSERT_EQ(reasons.count(cqe.syndrome), 1U) << unsigned{cqe.syndrome};
        ended[cqe.qpn] = true;
      } else {
        good[cqe.qpn] = at;
      }
    }
    for (auto& [qpn, from] : fetch.queues) {
      ASSERT_EQ(next[qpn], from.wqes.size()) << "QP " << qpn;
      expect_happened(qpn, from.wqes, good[qpn]);
    }
  }

  void expect_happened(std::uint32_t qpn, const std::vector<work_item>& wqes, std::size_t good) {
    std::vector<std::uint32_t> posted;
    for (const work_item& each : wqes) {
      if (work_kind_of(each.opcode) != work_kind::local) {
        posted.push_back(each.rkey);
      }
    }
    const std::vector<std::uint32_t>& executed = peer->qp(qpn).executed;
    ASSERT_LE(executed.size(), posted.size());
    for (std::size_t i = 0; i < executed.size(); ++i) {
      ASSERT_EQ(executed[i], posted[i]) << "QP " << qpn;
    }
    std::uint64_t counter = 0;
    for (std::size_t i = 0; i < good; ++i) {
      const work_item& each = wqes[i];
      const std::uint64_t at = place(qpn, each.wqe_index);
      switch (work_kind_of(each.opcode)) {
        case work_kind::local:
          continue;
        case work_kind::read:
          for (std::uint32_t byte = 0; byte < each.length; ++byte) {
            ASSERT_EQ(memory.at(at + byte), remote_byte(each.remote_address + byte))
                << "byte " << byte << " of WQE " << i << " of QP " << qpn;
          }
          break;
        case work_kind::atomic: {
          std::uint64_t value = 0;
          for (unsigned byte = 0; byte < 8; ++byte) {
            value |= std::uint64_t{memory.at(at + byte)} << (8 * byte);
          }
          ASSERT_EQ(value, counter);
          counter += each.swap_add;
          break;
        }
        case work_kind::message:
          break;
      }
      ASSERT_TRUE(std::find(executed.begin(), executed.end(), each.rkey) != executed.end());
    }
  }

  void post_all(unsigned wqes, std::uint8_t retry_count = 7) {
    for (std::uint32_t qpn = FirstQp; qpn < FirstQp + Qps; ++qpn) {
      // One of them wraps its PSNs.
      start(qpn, static_cast<std::uint32_t>(0xffffff - 40 * (qpn - FirstQp)), retry_count);
      for (unsigned i = 0; i < wqes; ++i) {
        post(qpn);
      }
      fetch.queues[qpn].wqes.back().fm_ce_se |= 0x08;
    }
  }

  void finish() {
    bench.run(60'000'000);
    bench.context.check_drained();
  }

  std::uint64_t seed;
  stage_bench bench;
  random_stream random;
  stream<work_item>& work = bench.port<work_item>("work", 48, 16);
  stream<response_item>& acknowledges = bench.port<response_item>("acknowledges");
  stream<payload_left>& left = bench.port<payload_left>("left", 128);
  stream<qp_command>& sched_commands = bench.port<qp_command>("sched_commands");
  stream<qp_command>& requester_commands = bench.port<qp_command>("requester_commands");
  stream<send_control>& controls = bench.port<send_control>("controls");
  stream<packet_item>& payload = bench.port<packet_item>("payload");
  stream<packet_item>& direct = bench.port<packet_item>("direct");
  stream<sent_packet>& sent = bench.port<sent_packet>("sent");
  stream<refetch>& refetches = bench.port<refetch>("refetches");
  stream<key_invalidation>& invalidations = bench.port<key_invalidation>("invalidations", 8);
  stream<response_failure>& failures = bench.port<response_failure>("failures", 8);
  stream<response_left>& answered = bench.port<response_left>("answered", 8);
  level<vport_table> vports{bench.context.clock, "vports",
                            vport_table(std::vector<vport>(1, vport{.enabled = true}))};
  stream<rx_packet>& responses = bench.port<rx_packet>("responses");
  stream<qp_error>& faults = bench.port<qp_error>("faults");
  stream<context_line>& key_lines = bench.port<context_line>("key_lines");
  stream<context_read>& key_reads = bench.port<context_read>("key_reads", 8);
  stream<cqe_item>& cqes = bench.port<cqe_item>("cqes", 4);
  stream<dma_write>& writes = bench.port<dma_write>("writes", 1024, 68);
  stream<qp_error>& errors = bench.port<qp_error>("errors", 8);
  stream<qp_error>& told = bench.port<qp_error>("told");
  stream<async_event>& events = bench.port<async_event>("events", 8);
  requester acknowledged{"requester",
                         bench.nic,
                         {sent, responses, requester_commands, faults, key_lines, key_reads, cqes,
                          controls, writes, errors, told, events}};
  tx_sched sched{"tx_sched",
                 bench.nic,
                 {work, acknowledges, left, sched_commands, controls, payload, direct, sent,
                  refetches, invalidations, failures, answered, vports}};
  toy_fetch fetch{bench, work, refetches, errors, seed};
  source<response_item> no_responses{"no_responses", bench, acknowledges};
  source<qp_error> no_faults{"no_faults", bench, faults};
  source<qp_command> to_sched{"to_sched", bench, sched_commands};
  source<qp_command> to_requester{"to_requester", bench, requester_commands};
  sink<key_invalidation> invalidated{"invalidated", bench, invalidations};
  sink<response_failure> failed{"failed", bench, failures};
  sink<response_left> left_for_good{"left_for_good", bench, answered};
  sink<cqe_item> completion{"completion", bench, cqes, 3};
  sink<qp_error> told_responder{"told_responder", bench, told};
  sink<async_event> raised{"raised", bench, events};
  context_lines ram{"ram", bench};
  dma_memory memory{"memory", bench, 10};
  std::unique_ptr<lossy_peer> peer;
};

TEST_P(send_recovery, without_losses_nothing_is_sent_twice) {
  connect({});
  post_all(60);
  finish();
  expect_exactly_once({});
  EXPECT_EQ(fetch.refetches, 0U);
}

TEST_P(send_recovery, whatever_is_lost_every_wqe_happens_and_completes_once_and_in_order) {
  connect({.request_lost = 30, .response_lost = 30, .not_ready = 60});
  post_all(60);
  finish();
  expect_exactly_once({0x15});
  EXPECT_GT(fetch.refetches, 0U);
}

TEST_P(send_recovery, when_the_retries_run_out_the_rest_is_flushed) {
  connect({.request_lost = 200, .response_lost = 200, .not_ready = 60});
  post_all(60, 1);
  finish();
  expect_exactly_once({0x15});
}

TEST_P(send_recovery, local_failures_end_the_queue_in_their_turn) {
  connect({.request_lost = 20, .response_lost = 20, .not_ready = 30, .unreadable = 8});
  post_all(60);
  for (auto& [qpn, queue] : fetch.queues) {
    queue.wqes[20 + random.below(40)].syndrome = 0x04;
  }
  finish();
  expect_exactly_once({0x02, 0x04, 0x15});
}

TEST_P(send_recovery, an_error_at_any_time_flushes_everything_once) {
  connect({.request_lost = 30, .response_lost = 30, .not_ready = 60});
  post_all(60);
  for (std::uint32_t qpn = FirstQp; qpn < FirstQp + Qps; ++qpn) {
    put_in_error(2000 + 20000 * (qpn - FirstQp) + random.below(20000), qpn);
  }
  finish();
  expect_exactly_once({0x05, 0x15});
}

INSTANTIATE_TEST_SUITE_P(seeds, send_recovery, testing::Range(1, 31));

}  // namespace
}  // namespace carillon
