// PCIe ordering from the DMA engine to host memory and back: completions in any pieces, writes that
// are never seen in the wrong order, reads that see the writes before them.
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "tb/common/completion_rules.h"
#include "tb/common/pcie_bench.h"

namespace carillon {
namespace {

using bench::pcie_bench;
using bench::waited_for;

class pcie_ordering : public testing::TestWithParam<int> {
 protected:
  /// The bench; only once a test.
  pcie_bench& make(const parameters& params = {}, bool relaxed_cqes = false) {
    made_ =
        std::make_unique<pcie_bench>(static_cast<std::uint64_t>(GetParam()), params, relaxed_cqes);
    return *made_;
  }

  /// 1200 reads of any size at any address, all answered with what memory holds, in completions
  /// that obey the rules.
  void read_at_random(const parameters& params, unsigned min_pieces, bool mixes);

 private:
  std::unique_ptr<pcie_bench> made_;
};

// Completions -------------------------------------------------------------------------------------

void pcie_ordering::read_at_random(const parameters& params, unsigned min_pieces, bool mixes) {
  constexpr std::uint32_t Region = 1 << 20;
  constexpr unsigned Reads = 1200;
  pcie_bench& pcie = make(params);
  completion_rules rules(params, pcie.port, pcie.host.port);
  pcie.fill_memory(0x10'0000, Region, 7);
  random_stream random(11, "reads");
  std::vector<dma_read> asked;
  for (unsigned i = 0; i < Reads; ++i) {
    const auto length = static_cast<std::uint32_t>(1 + random.below(4096));
    asked.push_back(pcie.read(0x10'0000 + random.below(Region - length), length, i));
    pcie.readers()[i % 4]->ask->at(10 + 20 * i, dma_read(asked.back()));
  }
  pcie.bench.run(1'000'000);
  unsigned answered = 0;
  for (unsigned client = 0; client < 4; ++client) {
    for (const auto& each : pcie.readers()[client]->answers->items) {
      const dma_read& read = asked.at(each.item.cookie);
      EXPECT_EQ(each.item.cookie % 4, client) << "the answer goes to who asked";
      EXPECT_EQ(each.item.status, dma_status::ok);
      EXPECT_TRUE(pcie.holds(read.into, read.address, read.length)) << each.item.cookie;
      EXPECT_EQ(read.into.data()[read.length], 0) << "nothing behind";
      ++answered;
    }
  }
  EXPECT_EQ(answered, Reads);
  EXPECT_EQ(rules.violations(), std::vector<std::string>{});
  EXPECT_EQ(rules.open(), 0U);
  EXPECT_GT(rules.pieces(), min_pieces);
  EXPECT_EQ(rules.mixed() > 100, mixes) << rules.mixed();
  EXPECT_EQ(pcie.bench.count(counter::PcieRxUnexpectedCompletions), 0U);
  EXPECT_EQ(pcie.bench.count(counter::DmaErrors), 0U);
  EXPECT_EQ(pcie.bench.tlps.in_use(), 0U);
  pcie.finish();
}

// A mean of 2 KiB is 4 completions of 512 bytes at least, and 32 of 64 bytes.

TEST_P(pcie_ordering, completions_of_the_largest_fit_come_read_by_read) {
  read_at_random({}, 4 * 1200, false);
}

TEST_P(pcie_ordering, random_pieces_of_different_reads_mix_and_end_on_boundaries_of_64) {
  parameters params;
  params.pcie.completion_split = pcie_completion_split::Random;
  read_at_random(params, 8 * 1200, true);
}

TEST_P(pcie_ordering, random_pieces_end_on_boundaries_of_128_and_requests_within_mrrs) {
  parameters params;
  params.pcie.completion_split = pcie_completion_split::Random;
  params.pcie.rcb = 128;
  params.pcie.mps = 256;
  params.pcie.mrrs = 1024;
  params.pcie.tags = 16;
  read_at_random(params, 10 * 1200, true);
}

TEST_P(pcie_ordering, random_pieces_obey_the_smallest_payload) {
  parameters params;
  params.pcie.completion_split = pcie_completion_split::Random;
  params.pcie.mps = 128;
  params.pcie.mrrs = 512;
  read_at_random(params, 16 * 1200, true);
}

// Writes ------------------------------------------------------------------------------------------

/// A CPU that looks at memory every nanosecond. Message i is a payload of `Bytes` bytes at data(i),
/// then an entry at entry(i); both are filled with i + 1.
class polling_cpu : public timed {
 public:
  static constexpr std::uint32_t Bytes = 1500;
  static constexpr unsigned Messages = 60;

  explicit polling_cpu(pcie_bench& pcie)
      : timed(pcie.bench.context.line), pcie_(pcie), seen_(Messages) {
    pcie.bench.context.line.at(1000, *this);
  }

  static std::uint64_t data(unsigned i) { return 0x100'0000 + 0x1'0000 * i; }

  static std::uint64_t entry(unsigned i) { return 0x80'0000 + 64 * i; }

  unsigned entries = 0;  ///< seen
  unsigned early = 0;    ///< entries seen before the whole of their payload
  unsigned passed =
      0;  ///< payloads of which a part was seen before the entry of the message before

 private:
  [[nodiscard]] bool filled(std::uint64_t address, std::uint32_t bytes, unsigned i) const {
    std::vector<std::uint8_t> now(bytes);
    pcie_.memory.read(address, now.data(), bytes);
    return std::all_of(now.begin(), now.end(), [i](auto each) { return each == i + 1; });
  }

  void on_time(ps_t now, std::uint64_t /*what*/) override {
    for (unsigned i = 0; i < Messages; ++i) {
      if (!seen_[i].entry && filled(entry(i), 1, i)) {
        seen_[i].entry = true;
        ++entries;
        early += filled(data(i), Bytes, i) ? 0 : 1;
      }
      if (i != 0 && !seen_[i].data && filled(data(i), 1, i)) {
        seen_[i].data = true;
        passed += seen_[i - 1].entry ? 0 : 1;
      }
    }
    if (entries != Messages && now < 100'000'000) {
      pcie_.bench.context.line.at(now + 1000, *this);
    }
  }

  struct sighting {
    bool data = false;
    bool entry = false;
  };

  pcie_bench& pcie_;
  std::vector<sighting> seen_;
};

/// Payloads go to slow memory and to the cache in turn, completion entries to the cache: what comes
/// later would be faster.
parameters uneven_memory(bool relaxed) {
  parameters params;
  params.pcie.relaxed_ordering = relaxed;
  params.pcie.mps = 256;
  params.host.ddio = true;
  params.host.llc_write_ps = 1'000;
  params.host.memory_write_ps = 700'000;
  return params;
}

void send_messages(pcie_bench& pcie) {
  for (unsigned i = 0; i < polling_cpu::Messages; ++i) {
    pcie.memory.set_attributes(polling_cpu::data(i), 0x1'0000, {0, i % 2 == 1});
    const auto value = static_cast<std::uint8_t>(i + 1);
    dma_write payload = pcie.write(polling_cpu::data(i), polling_cpu::Bytes, value);
    payload.point = milestone::delivered;
    const cycle_t at = 10 + 60 * i;
    // Data of a WRITE, then of a READ's response, and so on.
    (i % 3 == 0 ? pcie.answers : pcie.receives)
        .at(at, std::move(payload), beats_of(polling_cpu::Bytes));
    pcie.cqes.at(at + 1, pcie.write(polling_cpu::entry(i), 64, value));
  }
}

TEST_P(pcie_ordering, a_cpu_that_polls_every_nanosecond_never_sees_a_cqe_before_its_payload) {
  pcie_bench& pcie = make(uneven_memory(false));
  polling_cpu cpu(pcie);
  send_messages(pcie);
  pcie.bench.run(100'000);
  EXPECT_EQ(cpu.entries, polling_cpu::Messages);
  EXPECT_EQ(cpu.early, 0U);
  EXPECT_EQ(cpu.passed, 0U) << "strictly ordered, nothing passes anything";
  pcie.finish();
}

TEST_P(pcie_ordering, nor_does_it_when_payload_writes_are_relaxed_and_pass_what_was_before_them) {
  pcie_bench& pcie = make(uneven_memory(true));
  polling_cpu cpu(pcie);
  send_messages(pcie);
  pcie.bench.run(100'000);
  EXPECT_EQ(cpu.entries, polling_cpu::Messages);
  EXPECT_EQ(cpu.early, 0U);
  EXPECT_GE(cpu.passed, 20U) << "payloads to the cache pass those to slow memory";
  pcie.finish();
}

TEST_P(pcie_ordering, it_would_see_one_if_completion_entries_were_relaxed) {
  pcie_bench& pcie = make(uneven_memory(true), true);
  polling_cpu cpu(pcie);
  send_messages(pcie);
  pcie.bench.run(100'000);
  EXPECT_EQ(cpu.entries, polling_cpu::Messages);
  EXPECT_GE(cpu.early, 20U) << "the bench finds what it looks for";
  pcie.finish();
}

TEST_P(pcie_ordering, what_completes_a_message_is_visible_after_all_of_it) {
  // Three pieces of 256 bytes to slow memory, the last one of the message to the cache.
  pcie_bench& pcie = make(uneven_memory(true));
  pcie.memory.set_attributes(0x1000, 0x300, {0, false});
  dma_write body = pcie.write(0x1000, 0x300, 1);
  dma_write tail = pcie.write(0x2000, 64, 1);
  tail.point = milestone::delivered;
  pcie.receives.at(10, std::move(body), beats_of(0x300));
  pcie.receives.at(30, std::move(tail));
  bool early = false;
  bool seen = false;
  for (ps_t now = 10'000; now < 2'000'000; now += 1000) {
    pcie.steps.at(now, [&] {
      std::uint8_t last = 0;
      std::uint8_t first = 0;
      pcie.memory.read(0x2000, &last, 1);
      pcie.memory.read(0x1000, &first, 1);
      seen = seen || last == 1;
      early = early || (last == 1 && first == 0);
    });
  }
  pcie.bench.run(3000);
  EXPECT_TRUE(seen);
  EXPECT_FALSE(early);
  pcie.finish();
}

// Interrupts
// -----------------------------------------------------------------------------------------

/// A host that looks, at each interrupt, whether all that was written before its message is there.
class interrupted_cpu : public message_listener {
 public:
  static constexpr std::uint64_t Window = 0xfee00000;
  static constexpr unsigned Messages = 40;

  explicit interrupted_cpu(pcie_bench& pcie) : pcie_(pcie) {
    pcie.host.add_interrupt_window(Window, 0x100000, *this);
  }

  static std::uint64_t event(unsigned i) { return 0x90'0000 + 64 * i; }

  /// Payload, CQE, EQE and message i, one behind the other.
  void send() {
    for (unsigned i = 0; i < Messages; ++i) {
      pcie_.memory.set_attributes(polling_cpu::data(i), 0x1'0000, {0, i % 2 == 1});
      const auto value = static_cast<std::uint8_t>(i + 1);
      const cycle_t at = 10 + 60 * i;
      dma_write payload = pcie_.write(polling_cpu::data(i), polling_cpu::Bytes, value);
      payload.point = milestone::delivered;
      pcie_.receives.at(at, std::move(payload), beats_of(polling_cpu::Bytes));
      pcie_.cqes.at(at + 1, pcie_.write(polling_cpu::entry(i), 64, value));
      pcie_.cqes.at(at + 2, pcie_.write(event(i), 64, value));
      dma_write message = pcie_.write(Window, 4, 0);
      message.from.data()[0] = value;
      pcie_.cqes.at(at + 3, std::move(message));
    }
  }

  std::vector<std::uint32_t> order;
  unsigned early = 0;

 private:
  void on_message(std::uint64_t /*address*/, std::uint32_t data, trace_ref /*trace*/) override {
    order.push_back(data);
    const unsigned i = data - 1;
    const std::array<std::pair<std::uint64_t, std::uint32_t>, 3> before{
        {{polling_cpu::data(i), polling_cpu::Bytes}, {polling_cpu::entry(i), 64}, {event(i), 64}}};
    for (const auto& [address, bytes] : before) {
      std::vector<std::uint8_t> now(bytes);
      pcie_.memory.read(address, now.data(), bytes);
      early += std::all_of(now.begin(), now.end(), [&](auto each) { return each == data; }) ? 0 : 1;
    }
  }

  pcie_bench& pcie_;
};

TEST_P(pcie_ordering, an_interrupt_never_comes_before_payload_cqe_and_eqe) {
  pcie_bench& pcie = make(uneven_memory(false));
  interrupted_cpu cpu(pcie);
  cpu.send();
  pcie.bench.run(100'000);
  EXPECT_EQ(cpu.order.size(), interrupted_cpu::Messages);
  EXPECT_TRUE(std::is_sorted(cpu.order.begin(), cpu.order.end()));
  EXPECT_EQ(cpu.early, 0U);
  pcie.finish();
}

TEST_P(pcie_ordering, nor_does_it_when_payload_writes_are_relaxed) {
  pcie_bench& pcie = make(uneven_memory(true));
  interrupted_cpu cpu(pcie);
  cpu.send();
  pcie.bench.run(100'000);
  EXPECT_EQ(cpu.order.size(), interrupted_cpu::Messages);
  EXPECT_TRUE(std::is_sorted(cpu.order.begin(), cpu.order.end()));
  EXPECT_EQ(cpu.early, 0U);
  pcie.finish();
}

// The read fence ----------------------------------------------------------------------------------

parameters one_write_at_a_time() {
  parameters params;
  params.pcie.rc_credits_ph = 1;  // home when the write is in memory
  params.host.ddio = false;
  params.host.memory_write_ps = 900'000;
  return params;
}

TEST_P(pcie_ordering, a_read_sees_the_writes_that_it_asked_for) {
  pcie_bench& pcie = make(one_write_at_a_time());
  for (std::uint8_t i = 1; i <= 3; ++i) {
    pcie.receives.at(10, pcie.write(0x1000, 8, i));
  }
  const dma_read fenced = pcie.read(0x1000, 8, 1, 3);
  const dma_read free = pcie.read(0x1000, 8, 2);
  pcie.responder.ask->at(11, dma_read(fenced));
  pcie.payload.ask->at(12, dma_read(free));
  pcie.bench.run(20'000);
  ASSERT_EQ(pcie.responder.answers->items.size(), 1U);
  ASSERT_EQ(pcie.payload.answers->items.size(), 1U);
  EXPECT_EQ(fenced.into.data()[0], 3) << "all three";
  EXPECT_EQ(free.into.data()[0], 1) << "the others still waited for credits";
  // Another client's read passes it.
  EXPECT_LT(pcie.payload.answers->items[0].cycle, pcie.responder.answers->items[0].cycle);
  const trace_ref history = pcie.responder.answers->items[0].item.trace;
  // Write to write: link 12 ns, root complex 12.5, memory 900, credits 12 and the next edge, twice.
  const auto waited = static_cast<double>(waited_for(pcie.bench.context.trace, history, "fence"));
  EXPECT_NEAR(waited, 2 * 938'500.0, 4'000);
  pcie.finish();
}

TEST_P(pcie_ordering, a_fence_counts_the_responders_writes_only) {
  pcie_bench& pcie = make(one_write_at_a_time());
  pcie.answers.at(10, pcie.write(0x5000, 8, 9));
  pcie.cqes.at(11, pcie.write(0x6000, 64, 9));
  pcie.receives.at(12, pcie.write(0x1000, 8, 1));
  const dma_read fenced = pcie.read(0x1000, 8, 1, 1);
  pcie.responder.ask->at(13, dma_read(fenced));
  pcie.bench.run(20'000);
  ASSERT_EQ(pcie.responder.answers->items.size(), 1U);
  EXPECT_EQ(fenced.into.data()[0], 1);
  pcie.finish();
}

TEST_P(pcie_ordering, a_write_of_many_packets_counts_when_its_last_one_is_sent) {
  parameters params = one_write_at_a_time();
  params.pcie.mps = 128;
  pcie_bench& pcie = make(params);
  pcie.receives.at(10, pcie.write(0x1000, 512, 7), beats_of(512));
  const dma_read fenced = pcie.read(0x1000, 512, 1, 1);
  pcie.responder.ask->at(20, dma_read(fenced));
  pcie.bench.run(20'000);
  ASSERT_EQ(pcie.responder.answers->items.size(), 1U);
  EXPECT_TRUE(pcie.holds(fenced.into, 0x1000, 512));
  EXPECT_EQ(fenced.into.data()[511], 7);
  pcie.finish();
}

TEST_P(pcie_ordering, reads_of_a_client_stay_behind_its_fenced_one) {
  pcie_bench& pcie = make(one_write_at_a_time());
  pcie.receives.at(10, pcie.write(0x1000, 8, 1));
  pcie.receives.at(10, pcie.write(0x1000, 8, 2));
  pcie.responder.ask->at(11, pcie.read(0x1000, 8, 1, 2));
  pcie.responder.ask->at(12, pcie.read(0x2000, 8, 2));
  pcie.bench.run(20'000);
  ASSERT_EQ(pcie.responder.answers->items.size(), 2U);
  EXPECT_EQ(pcie.responder.answers->items[0].item.cookie, 1U);
  EXPECT_EQ(pcie.responder.answers->items[1].item.cookie, 2U);
  pcie.finish();
}

// A fenced read waits for writes only, and no write waits for a read: whatever the credits, all of
// them end.
TEST_P(pcie_ordering, fenced_reads_and_writes_never_wait_for_each_other) {
  parameters params;
  params.pcie.rc_credits_ph = 1;
  params.pcie.rc_credits_nph = 1;
  params.pcie.tags = 1;
  pcie_bench& pcie = make(params);
  random_stream random(5, "fences");
  constexpr unsigned Rounds = 200;
  std::vector<dma_read> fenced;
  for (unsigned i = 0; i < Rounds; ++i) {
    const cycle_t at = 10 + 5 * i;
    // A counter in memory: write i makes it i + 1, the read behind it must see at least that.
    pcie.receives.at(at, pcie.write(0x1000, 1, static_cast<std::uint8_t>(i + 1)));
    fenced.push_back(pcie.read(0x1000, 1, i, i + 1));
    pcie.responder.ask->at(at + 1, dma_read(fenced.back()));
    pcie.payload.ask->at(at + random.below(4), pcie.read(0x2000, 300, i, random.below(i + 1)));
    pcie.fetch.ask->at(at + random.below(4), pcie.read(0x3000, 64, i));
    pcie.cqes.at(at + random.below(4), pcie.write(0x4000, 64, 1));
  }
  pcie.bench.run(2'000'000);
  EXPECT_EQ(pcie.responder.answers->items.size(), Rounds);
  EXPECT_EQ(pcie.payload.answers->items.size(), Rounds);
  EXPECT_EQ(pcie.fetch.answers->items.size(), Rounds);
  for (unsigned i = 0; i < Rounds; ++i) {
    EXPECT_GE(fenced[i].into.data()[0], i + 1);
  }
  pcie.finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, pcie_ordering, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
