// Stores into UAR pages that name what is not the page's: doorbells of QPs in every form, arms of
// CQs, consumer indices of EQs.
#include <algorithm>

#include "gen/bytes.h"
#include "gen/wqe.h"
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

constexpr std::uint32_t NumberMask = 0xffffff;

std::array<std::uint8_t, 8> ring_of(std::uint32_t qpn, random_stream& random) {
  doorbell_word word;
  word.wqe_index = static_cast<std::uint16_t>(random.below(16));
  word.opcode = wqe_opcode::Send;
  word.qpn = qpn;
  word.ds = 4;
  std::array<std::uint8_t, 8> raw{};
  word.pack(raw.data());
  return raw;
}

enum class form : std::uint8_t { whole, halves, short_blueflame, blueflame };

/// The stores of a doorbell, on whatever page.
void ring(hostile h, std::uint64_t page, std::uint32_t qpn, form how) {
  const auto word = ring_of(qpn, h.random);
  const std::span<const std::uint8_t> bytes(word);
  switch (how) {
    case form::whole:
      h.core.store_uncached(page + uar_page::DbRec, bytes);
      break;
    case form::halves:
      h.core.store_uncached(page + uar_page::DbRec, bytes.first(4));
      h.core.store_uncached(page + uar_page::DbRec + 4, bytes.subspan(4));
      break;
    case form::short_blueflame:
      h.core.store_uncached(page + uar_page::BfBuffer, bytes);
      break;
    case form::blueflame: {
      std::array<std::uint8_t, 64> line{};
      std::copy(bytes.begin(), bytes.end(), line.begin());
      h.core.store_combined(page + uar_page::BfBuffer, line);
      h.core.fence();
      break;
    }
  }
}

struct named_form {
  form how;
  const char* name;
};

constexpr std::array<named_form, 4> Forms = {{{form::whole, "doorbell"},
                                              {form::halves, "doorbell in halves"},
                                              {form::short_blueflame, "doorbell in BF_BUFFER"},
                                              {form::blueflame, "BlueFlame WQE"}}};

/// A VF's lookup does not leave its partition.
void count_ignored(outcome& o, bool beyond) {
  if (beyond && o.offender != Pf) {
    o.count(o.offender, counter::CtxPartitionDenied);
  }
  o.count(o.offender, counter::DbIgnoredOwner);
}

task<> foreign_qp(hostile h, outcome& o, offence who, form how) {
  const auto [offender, target] = choose(who, h.random);
  o.offender = offender;
  const tenant& from = h.house.of(offender);
  ring(h, from.uar->address, any_of(h.random, h.house.of(target).qpns), how);
  count_ignored(o, true);
  co_await settle(h.core);
}

task<> nobodys_qp(hostile h, outcome& o, form how) {
  o.offender = h.random.chance(1, 2) ? Attacker : Pf;
  const auto qpn = static_cast<std::uint32_t>(h.random.between(1 << 7, NumberMask));
  ring(h, h.house.of(o.offender).uar->address, qpn, how);
  count_ignored(o, true);
  co_await settle(h.core);
}

/// A QP of the function, rung from a page that is not the QP's, allocated or not.
task<> other_page(hostile h, outcome& o, form how) {
  o.offender = h.random.chance(1, 2) ? Attacker : Pf;
  const tenant& who = h.house.of(o.offender);
  const std::uint64_t page = h.random.chance(1, 2) ? who.spare->address : who.page(15);
  ring(h, page, any_of(h.random, who.qpns), how);
  count_ignored(o, false);
  co_await settle(h.core);
}

enum class queue_store : std::uint8_t { cq_arm, eq_arm, eq_index };

struct named_store {
  queue_store what;
  const char* name;
};

constexpr std::array<named_store, 3> Stores = {{{queue_store::cq_arm, "CQ arm"},
                                                {queue_store::eq_arm, "EQ arm"},
                                                {queue_store::eq_index, "EQ consumer index"}}};

void ring_queue(hostile h, std::uint64_t page, std::uint32_t number, queue_store what) {
  const auto index = static_cast<std::uint32_t>(h.random.below(NumberMask));
  if (what == queue_store::cq_arm) {
    cq_doorbell word;
    word.arm_sn = static_cast<std::uint8_t>(h.random.below(4));
    word.arm_solicited = static_cast<std::uint8_t>(h.random.below(2));
    word.consumer_index = index;
    word.cqn = number;
    std::array<std::uint8_t, cq_doorbell::Size> raw{};
    word.pack(raw.data());
    h.core.store_uncached(page + uar_page::CqDb, raw);
    return;
  }
  eq_doorbell word;
  word.eqn = static_cast<std::uint8_t>(number);
  word.consumer_index = index;
  std::array<std::uint8_t, eq_doorbell::Size> raw{};
  word.pack(raw.data());
  const bool arms = what == queue_store::eq_arm;
  h.core.store_uncached(page + (arms ? uar_page::EqDbArm : uar_page::EqDb), raw);
}

std::uint32_t queue_of(const tenant& who, queue_store what) {
  return what == queue_store::cq_arm ? who.cq->cqn() : who.events->eqn();
}

task<> foreign_queue(hostile h, outcome& o, offence who, queue_store what) {
  const auto [offender, target] = choose(who, h.random);
  o.offender = offender;
  ring_queue(h, h.house.of(offender).uar->address, queue_of(h.house.of(target), what), what);
  o.count(offender, counter::QueueDbIgnoredOwner);
  co_await settle(h.core);
}

task<> queue_of_other_page(hostile h, outcome& o, queue_store what) {
  o.offender = h.random.chance(1, 2) ? Attacker : Pf;
  const tenant& who = h.house.of(o.offender);
  ring_queue(h, who.spare->address, queue_of(who, what), what);
  o.count(o.offender, counter::QueueDbIgnoredOwner);
  co_await settle(h.core);
}

/// A place of the page where nothing is, or a store of a size that nothing has.
task<> nowhere(hostile h, outcome& o) {
  o.offender = any_of(h.random, std::array{Attacker, Pf, Ghost});
  const std::uint64_t at = h.random.between(0x50 / 8, (uar_page::BfBuffer - 8) / 8) * 8;
  std::array<std::uint8_t, 8> junk{};
  bytes::store_be<8>(junk.data(), h.random.next());
  h.core.store_uncached(h.house.of(o.offender).page(1) + at, junk);
  o.count(o.offender, counter::DbIgnoredSize);
  co_await settle(h.core);
}

}  // namespace

void add_doorbell_bins(bin_table& to) {
  constexpr const char* Counted = "counted for the offender";
  constexpr unsigned Often = 40;
  for (const offence who :
       {offence::vf_to_vf, offence::vf_to_pf, offence::pf_to_vf, offence::ghost}) {
    for (const named_form& each : Forms) {
      to.push_back({"UAR page", who, each.name, Counted, Often,
                    [=](hostile h, outcome& o) { return foreign_qp(h, o, who, each.how); }});
    }
    for (const named_store& each : Stores) {
      to.push_back({"UAR page", who, each.name, Counted, Often,
                    [=](hostile h, outcome& o) { return foreign_queue(h, o, who, each.what); }});
    }
  }
  for (const named_form& each : Forms) {
    to.push_back({"UAR page", offence::own, std::string(each.name) + " of a QP of nobody", Counted,
                  Often, [=](hostile h, outcome& o) { return nobodys_qp(h, o, each.how); }});
    to.push_back({"UAR page", offence::own, std::string(each.name) + " from another page", Counted,
                  Often, [=](hostile h, outcome& o) { return other_page(h, o, each.how); }});
  }
  for (const named_store& each : Stores) {
    to.push_back({"UAR page", offence::own, std::string(each.name) + " from another page", Counted,
                  Often,
                  [=](hostile h, outcome& o) { return queue_of_other_page(h, o, each.what); }});
  }
  to.push_back({"UAR page", offence::own, "store where nothing is", Counted, Often, nowhere});
}

}  // namespace carillon::isolation
