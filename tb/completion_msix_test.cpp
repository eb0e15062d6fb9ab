// completion: when an EQ interrupts, and what becomes of the interrupt. MSI-X by the PCI Express
// base specification (6.1.4): a masked vector keeps one pending bit, and unmasking sends its
// message.
#include <gtest/gtest.h>

#include "common/completion_bench.h"
#include "completion/msix_vectors.h"

namespace carillon {
namespace {

constexpr std::uint64_t Window = 0xfee00000;
constexpr std::uint64_t WindowBytes = 0x100000;
constexpr std::uint64_t EqBytes = 0x10000;
constexpr unsigned Vector = 3;
constexpr std::uint64_t Address = Window + 0x5000;
constexpr std::uint32_t Data = 0x01020344;

class completion_msix : public bench::completion_bench {
 protected:
  completion_msix() {
    create_cq(1, Cqn, cq_line(4));
    create_eq(2, Eqn, vectored(Vector));
    msix.at(1, control(true));
    msix.at(2, table_entry(Vector, Address, Data));
  }

  static eqc_line vectored(unsigned vector, unsigned log_size = 4, std::uint64_t base = EqBase) {
    eqc_line line = eq_line(log_size, base);
    line.intr = static_cast<std::uint16_t>(vector);
    return line;
  }

  static msix_command control(bool enabled, bool masked = false, std::uint16_t function = Owner) {
    return {.kind = msix_command_kind::control,
            .function = function,
            .masked = masked,
            .enabled = enabled};
  }

  static msix_command table_entry(unsigned vector, std::uint64_t address, std::uint32_t data,
                                  bool masked = false, std::uint16_t function = Owner) {
    return {.kind = msix_command_kind::entry,
            .function = function,
            .vector = static_cast<std::uint16_t>(vector),
            .address = address,
            .data = data,
            .masked = masked};
  }

  static msix_command mask(bool masked) { return table_entry(Vector, Address, Data, masked); }

  static queue_doorbell eq_arm(std::uint32_t consumer, std::uint8_t eqn = Eqn) {
    queue_doorbell bell = eq_move(consumer, eqn);
    bell.arm = true;
    return bell;
  }

  static queue_doorbell eq_move(std::uint32_t consumer, std::uint8_t eqn = Eqn) {
    return {
        .function = Owner, .uar_page = Page, .eq = true, .number = eqn, .consumer_index = consumer};
  }

  /// A completion that makes an EQE by itself.
  static cqe_item event(std::uint16_t index, std::uint32_t cqn = Cqn) {
    cqe_item cqe = item(index, cqn);
    cqe.event = true;
    return cqe;
  }

  using writes = std::vector<const bench::dma_memory::seen_write*>;

  [[nodiscard]] writes written_to(std::uint64_t base, std::uint64_t bytes) const {
    writes found;
    for (const auto& each : dma.written) {
      if (each.write.address >= base && each.write.address < base + bytes) {
        found.push_back(&each);
      }
    }
    return found;
  }

  [[nodiscard]] writes messages() const { return written_to(Window, WindowBytes); }

  [[nodiscard]] writes eqes() const { return written_to(EqBase, EqBytes); }

  /// The pending bits of the owner as pcie_endpoint would read them.
  [[nodiscard]] std::uint64_t pending() {
    const msix_pending& bits = pending_bits.read(bench.context.clock.now() + 1);
    return Owner < bits.size() ? bits[Owner][0] : 0;
  }

  void finish(cycle_t cycles = 1500) {
    bench.run(cycles);
    bench.context.check_drained();
  }
};

// The state of an EQ ------------------------------------------------------------------------------

TEST_P(completion_msix, an_armed_EQ_interrupts_in_the_cycle_behind_its_EQE) {
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  finish();
  ASSERT_EQ(dma.written.size(), 3U);
  EXPECT_EQ(dma.written[0].write.address, Base);
  EXPECT_EQ(dma.written[1].write.address, EqBase);
  const auto& told = dma.written[2];
  EXPECT_EQ(told.write.address, Address);
  EXPECT_EQ(told.write.length, 4U);
  EXPECT_EQ(told.write.function, Owner);
  EXPECT_EQ(told.write.point, milestone::count_);
  // Little-endian, as PCI Express has it.
  EXPECT_EQ(dma.at(Address), 0x44);
  EXPECT_EQ(dma.at(Address + 3), 0x01);
  if (GetParam() == 0) {
    EXPECT_EQ(dma.written[1].visible, 36U);  // see completion_events
    EXPECT_EQ(told.visible, 37U);
  }
  // The message continues the history of the completion.
  EXPECT_EQ(bench.context.trace.end_of(told.write.trace), bench.context.clock.time_of(told.cycle));
  EXPECT_EQ(bench.count(counter::MsixSent), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(Owner, counter::MsixSent), 1U);
}

TEST_P(completion_msix, an_EQ_that_was_never_armed_interrupts_nobody) {
  requester.at(20, event(0));
  finish();
  EXPECT_EQ(eqes().size(), 1U);
  EXPECT_EQ(messages().size(), 0U);
}

TEST_P(completion_msix, a_fired_EQ_interrupts_nobody_until_it_is_armed_again) {
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  requester.at(200, event(1));
  requester.at(400, event(2));
  uar.at(600, eq_arm(3));
  requester.at(800, event(3));
  finish();
  EXPECT_EQ(eqes().size(), 4U);
  ASSERT_EQ(messages().size(), 2U);
  EXPECT_LT(messages()[0]->visible, 200U);
  EXPECT_GT(messages()[1]->visible, 800U);
}

TEST_P(completion_msix, the_doorbell_that_moves_the_consumer_arms_nothing) {
  uar.at(10, eq_move(0));
  requester.at(20, event(0));
  uar.at(200, eq_move(1));
  requester.at(300, event(1));
  finish();
  EXPECT_EQ(messages().size(), 0U);
}

TEST_P(completion_msix, arming_an_EQ_with_entries_that_nobody_consumed_interrupts_at_once) {
  requester.at(20, event(0));
  requester.at(60, event(1));
  uar.at(300, eq_arm(1));  // taken in 301
  finish();
  ASSERT_EQ(messages().size(), 1U);
  EXPECT_EQ(messages()[0]->visible, 306U) << "five cycles from the doorbell, as a write has";
}

TEST_P(completion_msix, arming_an_EQ_that_was_read_to_its_end_waits_for_the_next_entry) {
  requester.at(20, event(0));
  uar.at(300, eq_arm(1));
  requester.at(500, event(1));
  finish();
  ASSERT_EQ(messages().size(), 1U);
  EXPECT_GT(messages()[0]->visible, 500U);
}

TEST_P(completion_msix, the_interrupt_of_an_arm_answers_it_so_the_EQ_is_fired) {
  requester.at(20, event(0));
  uar.at(300, eq_arm(0));
  requester.at(500, event(1));
  finish();
  EXPECT_EQ(messages().size(), 1U);
}

TEST_P(completion_msix, a_consumer_index_beyond_the_producer_has_missed_nothing) {
  requester.at(20, event(0));
  uar.at(300, eq_arm(7));
  finish();
  EXPECT_EQ(messages().size(), 0U);
}

TEST_P(completion_msix, an_EQ_that_is_always_armed_interrupts_at_each_EQE_and_no_arm_changes_it) {
  eqc_line line = vectored(Vector);
  line.arm_state = queue_arm_state::AlwaysArmed;
  create_eq(5, Eqn, line);
  requester.at(20, event(0));
  uar.at(300, eq_arm(0));
  requester.at(500, event(1));
  requester.at(700, event(2));
  finish();
  EXPECT_EQ(messages().size(), 3U);
}

TEST_P(completion_msix, an_EQ_of_another_page_or_function_is_not_armed) {
  queue_doorbell page = eq_arm(0);
  page.uar_page = Page + 1;
  uar.at(10, page);
  queue_doorbell function = eq_arm(0);
  function.function = Owner + 1;
  uar.at(11, function);
  requester.at(20, event(0));
  finish();
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(bench.count(counter::QueueDbIgnoredOwner), 2U);
}

TEST_P(completion_msix, each_EQ_sends_what_its_own_vector_holds) {
  create_cq(3, Cqn + 1, [] {
    cqc_line line = cq_line(4);
    line.base_addr = Base + 0x10000;
    line.eqn = Eqn + 1;
    return line;
  }());
  create_eq(4, Eqn + 1, vectored(Vector + 1, 4, EqBase + 0x10000));
  msix.at(5, table_entry(Vector + 1, Address + 0x1000, 77));
  uar.at(10, eq_arm(0));
  uar.at(11, eq_arm(0, Eqn + 1));
  requester.at(20, event(0, Cqn + 1));
  requester.at(400, event(0, Cqn));
  finish();
  ASSERT_EQ(messages().size(), 2U);
  EXPECT_EQ(messages()[0]->write.address, Address + 0x1000);
  EXPECT_EQ(dma.at(Address + 0x1000), 77);
  EXPECT_EQ(messages()[1]->write.address, Address);
}

// Masks -------------------------------------------------------------------------------------------

TEST_P(completion_msix, a_masked_vector_sets_its_pending_bit_and_is_sent_once_when_unmasked) {
  msix.at(5, mask(true));
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  uar.at(200, eq_arm(0));  // raises again
  bench.run(400);
  EXPECT_EQ(pending(), std::uint64_t{1} << Vector);
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(bench.count(counter::MsixMasked), 2U);
  msix.at(500, mask(false));  // taken in 501
  bench.run(400);
  ASSERT_EQ(messages().size(), 1U);
  EXPECT_EQ(messages()[0]->visible, 506U);
  EXPECT_EQ(pending(), 0U);
  finish();
}

TEST_P(completion_msix, unmasking_a_vector_without_an_interrupt_sends_nothing) {
  msix.at(5, mask(true));
  msix.at(100, mask(false));
  finish();
  EXPECT_EQ(messages().size(), 0U);
}

TEST_P(completion_msix, vectors_are_masked_until_the_host_unmasks_them) {
  create_eq(5, Eqn, vectored(Vector + 2));
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  finish();
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(pending(), std::uint64_t{1} << (Vector + 2));
}

TEST_P(completion_msix, a_masked_function_keeps_all_its_vectors_pending) {
  create_eq(4, Eqn + 1, vectored(Vector + 1, 4, EqBase + 0x10000));
  create_cq(5, Cqn + 1, [] {
    cqc_line line = cq_line(4);
    line.base_addr = Base + 0x10000;
    line.eqn = Eqn + 1;
    return line;
  }());
  msix.at(5, table_entry(Vector + 1, Address + 0x1000, 77));
  msix.at(6, control(true, true));
  uar.at(10, eq_arm(0));
  uar.at(11, eq_arm(0, Eqn + 1));
  requester.at(20, event(0, Cqn + 1));
  requester.at(21, event(0, Cqn));
  bench.run(400);
  EXPECT_EQ(pending(), std::uint64_t{3} << Vector);
  EXPECT_EQ(messages().size(), 0U);
  // One of the two stays masked by itself.
  msix.at(500, mask(true));
  msix.at(501, control(true, false));
  bench.run(400);
  ASSERT_EQ(messages().size(), 1U);
  EXPECT_EQ(messages()[0]->write.address, Address + 0x1000);
  EXPECT_EQ(pending(), std::uint64_t{1} << Vector);
  msix.at(900, mask(false));
  finish();
  EXPECT_EQ(messages().size(), 2U);
}

TEST_P(completion_msix, all_vectors_that_are_pending_are_sent_when_their_function_is_unmasked) {
  msix.at(5, control(true, true));
  constexpr unsigned Count = 6;
  for (unsigned i = 0; i < Count; ++i) {
    const auto eqn = static_cast<std::uint8_t>(10 + i);
    create_eq(6 + i, eqn, vectored(20 + i, 4, EqBase + 0x10000 * (i + 1)));
    msix.at(6 + i, table_entry(20 + i, Address + 0x1000 * (i + 1), i));
  }
  for (unsigned i = 0; i < Count; ++i) {
    cqc_line line = cq_line(4);
    line.base_addr = Base + 0x10000 * (i + 1);
    line.eqn = static_cast<std::uint8_t>(10 + i);
    create_cq(20 + i, Cqn + 1 + i, line);
    uar.at(40 + i, eq_arm(0, static_cast<std::uint8_t>(10 + i)));
    requester.at(60 + 10 * i, event(0, Cqn + 1 + i));
  }
  msix.at(600, control(true, false));
  finish();
  ASSERT_EQ(messages().size(), Count);
  for (unsigned i = 0; i < Count; ++i) {
    EXPECT_EQ(messages()[i]->write.address, Address + 0x1000 * (i + 1)) << "lowest vector first";
  }
  EXPECT_EQ(pending(), 0U);
}

// Off ---------------------------------------------------------------------------------------------

TEST_P(completion_msix, with_msix_off_nothing_is_sent_and_each_interrupt_is_counted) {
  msix.at(5, control(false));
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  bench.run(400);
  EXPECT_EQ(eqes().size(), 1U) << "the entry is written all the same";
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(pending(), 0U);
  EXPECT_EQ(bench.nic.counters.value_for(Owner, counter::MsixDisabled), 1U);
  // The EQ is fired: only the next arm tells what is still unread.
  msix.at(500, control(true));
  bench.run(400);
  EXPECT_EQ(messages().size(), 0U);
  uar.at(900, eq_arm(0));
  finish();
  EXPECT_EQ(messages().size(), 1U);
}

TEST_P(completion_msix, functions_do_not_share_vectors_nor_enables) {
  constexpr std::uint16_t Other = Owner + 1;
  msix.at(5, control(false));
  msix.at(6, control(true, false, Other));
  msix.at(7, table_entry(Vector, Address + 0x8000, 99, false, Other));
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  finish();
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(bench.nic.counters.value_for(Other, counter::MsixDisabled), 0U);
}

// Order -------------------------------------------------------------------------------------------

TEST_P(completion_msix, between_an_EQE_and_its_message_nothing_is_written) {
  eqc_line line = vectored(Vector, 7);
  line.arm_state = queue_arm_state::AlwaysArmed;
  create_eq(5, Eqn, line);
  create_cq(6, Cqn, cq_line(8));
  constexpr unsigned Count = 100;
  for (std::uint16_t i = 0; i < Count; ++i) {
    // Bursts and pauses from both sides.
    (i % 3 == 0 ? responder : requester).at(20 + 4 * i + i % 7, event(i));
  }
  finish(8000);
  EXPECT_EQ(messages().size(), eqes().size());
  EXPECT_GE(eqes().size(), 10U);
  std::size_t cqes = 0;
  for (std::size_t i = 0; i < dma.written.size(); ++i) {
    const std::uint64_t address = dma.written[i].write.address;
    cqes += address >= Base && address < Base + 0x10000 ? 1 : 0;
    if (address >= EqBase && address < EqBase + EqBytes) {
      ASSERT_LT(i + 1, dma.written.size());
      EXPECT_EQ(dma.written[i + 1].write.address, Address) << i;
    }
  }
  EXPECT_EQ(cqes, Count);
  EXPECT_EQ(dma.written.back().write.address, Address) << "the last CQE is told";
}

TEST_P(completion_msix, a_CQE_that_is_ready_with_a_message_is_written_a_cycle_later) {
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));  // CQE built in 26, EQE in 31, message in 32
  requester.at(26, item(1));   // its line is there in 32
  finish();
  ASSERT_EQ(dma.written.size(), 4U);
  EXPECT_EQ(dma.written[2].write.address, Address);
  EXPECT_EQ(dma.written[3].write.address, Base + 64);
  EXPECT_EQ(dma.written[3].visible, 38U);
  EXPECT_EQ(bench::waited_for(bench.context.trace, dma.written[3].write.trace, "event"), 1000U);
}

TEST_P(completion_msix, an_EQE_that_is_ready_with_a_message_is_written_a_cycle_later) {
  // Both EQEs take ten cycles from their event; the arm of the first one's EQ is late.
  create_eq(4, Eqn + 1, vectored(Vector + 1, 4, EqBase + 0x10000));
  create_cq(5, Cqn + 1, [] {
    cqc_line line = cq_line(4);
    line.base_addr = Base + 0x10000;
    line.eqn = Eqn + 1;
    return line;
  }());
  requester.at(20, event(0, Cqn + 1));
  requester.at(100, event(0));  // CQE built in 106, EQE would be in 111
  uar.at(110, eq_arm(0, Eqn + 1));
  msix.at(50, table_entry(Vector + 1, Address + 0x1000, 1));
  finish();
  ASSERT_EQ(eqes().size(), 1U);
  ASSERT_EQ(messages().size(), 1U);
  EXPECT_EQ(messages()[0]->visible, 116U);
  EXPECT_EQ(eqes()[0]->visible, 117U);
  EXPECT_EQ(bench::waited_for(bench.context.trace, eqes()[0]->write.trace, "interrupt"), 1000U);
}

// Function-level reset ----------------------------------------------------------------------------

TEST_P(completion_msix, function_level_reset_takes_the_table_what_is_pending_and_the_EQs) {
  msix.at(5, mask(true));
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  bench.run(200);
  EXPECT_NE(pending(), 0U);
  msix.at(300, {.kind = msix_command_kind::reset, .function = Owner});
  bench.run(200);
  EXPECT_EQ(pending(), 0U);
  requester.at(500, event(1));  // its EQ is gone
  bench.run(200);
  EXPECT_EQ(eqes().size(), 1U);
  EXPECT_EQ(bench.count(counter::EventsUnclaimed), 1U);
  // A new life: MSI-X is off, then on, and all vectors are masked.
  create_eq(700, Eqn, vectored(Vector));
  uar.at(710, eq_arm(0));
  requester.at(720, event(2));
  bench.run(200);
  EXPECT_EQ(bench.count(counter::MsixDisabled), 1U);
  msix.at(900, control(true));
  uar.at(910, eq_arm(0));
  finish();
  EXPECT_EQ(messages().size(), 0U);
  EXPECT_EQ(pending(), std::uint64_t{1} << Vector);
}

TEST_P(completion_msix, function_level_reset_leaves_other_functions_alone) {
  msix.at(5, {.kind = msix_command_kind::reset, .function = Owner + 1});
  uar.at(10, eq_arm(0));
  requester.at(20, event(0));
  finish();
  EXPECT_EQ(messages().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, completion_msix, testing::Values(0, 1, 2));

// The vectors without time ------------------------------------------------------------------------

class vectors : public testing::Test {
 protected:
  using result = msix_vectors::result;

  void tell(msix_command_kind kind, bool masked, bool enabled = true) {
    sent.clear();
    it.apply(
        {.kind = kind, .vector = 2, .address = 8, .data = 9, .masked = masked, .enabled = enabled},
        [this](unsigned vector) { sent.push_back(vector); });
  }

  msix_vectors it{4};
  std::vector<unsigned> sent;
};

TEST_F(vectors, a_message_that_has_not_left_tells_what_comes_until_then) {
  tell(msix_command_kind::entry, false);
  tell(msix_command_kind::control, false);
  EXPECT_EQ(it.raise(0, 2), result::sends);
  EXPECT_EQ(it.raise(0, 2), result::merged);
  EXPECT_EQ(it.send(0, 2)->address, 8U);
  EXPECT_EQ(it.raise(0, 2), result::sends);
}

TEST_F(vectors, a_vector_that_is_masked_before_its_message_has_left_is_pending) {
  tell(msix_command_kind::entry, false);
  tell(msix_command_kind::control, false);
  EXPECT_EQ(it.raise(0, 2), result::sends);
  tell(msix_command_kind::entry, true);
  EXPECT_FALSE(it.send(0, 2));
  EXPECT_TRUE(it.take_changed());
  EXPECT_EQ(it.pending()[0][0], 4U);
  tell(msix_command_kind::entry, false);
  EXPECT_EQ(sent, std::vector<unsigned>{2});
  EXPECT_TRUE(it.send(0, 2));
}

TEST_F(vectors, what_was_to_be_sent_is_forgotten_by_a_reset) {
  tell(msix_command_kind::entry, false);
  tell(msix_command_kind::control, false);
  EXPECT_EQ(it.raise(0, 2), result::sends);
  tell(msix_command_kind::reset, false);
  EXPECT_FALSE(it.send(0, 2));
  EXPECT_EQ(it.raise(0, 2), result::disabled);
}

TEST_F(vectors, a_vector_beyond_the_table_is_never_sent) {
  tell(msix_command_kind::control, false);
  EXPECT_EQ(it.raise(0, 4), result::disabled);
}

}  // namespace
}  // namespace carillon
