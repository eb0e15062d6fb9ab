// Registers: what a function's BAR0 has and the function may not write, addresses of nobody, and
// MSI-X tables.
#include "gen/bytes.h"
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

constexpr std::uint64_t AllOnes = ~std::uint64_t{0};

/// A store of a dword into a BAR0 that must be refused.
task<> denied_store(hostile h, outcome& o, std::uint16_t function, std::uint64_t offset,
                    std::uint32_t value) {
  o.offender = function;
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), value);
  h.core.store_uncached(h.house.of(function).where.bar0 + offset, raw);
  o.count(function, counter::RegisterDenied);
  co_await settle(h.core);
}

std::uint16_t some_function(random_stream& random) {
  return any_of(random, std::array{Attacker, Ghost, Pf});
}

std::uint32_t junk(random_stream& random) {
  return static_cast<std::uint32_t>(random.next());
}

task<> read_only(hostile h, outcome& o) {
  constexpr std::array<std::uint32_t, 8> Places = {
      bar0::FwRev,         bar0::CmdifRevFwSub,  bar0::Initializing, bar0::InternalTimer,
      bar0::HealthCounter, bar0::FunctionNumber, bar0::InitState,    bar0::Health};
  co_await denied_store(h, o, some_function(h.random), any_of(h.random, Places), junk(h.random));
}

task<> window(hostile h, outcome& o) {
  const bool port = h.random.chance(1, 2);
  const std::uint32_t base = port ? bar0::HcaNicVportContext : bar0::HcaCap;
  const std::uint32_t size = port ? bar0::HcaNicVportContextBytes : bar0::HcaCapBytes;
  co_await denied_store(h, o, some_function(h.random), base + h.random.below(size / 4) * 4,
                        junk(h.random));
}

task<> hole(hostile h, outcome& o) {
  const std::uint64_t offset = h.random.between(0x2000 / 4, 0x3ffc / 4) * 4;
  co_await denied_store(h, o, some_function(h.random), offset, junk(h.random));
}

task<> unaligned_store(hostile h, outcome& o) {
  const std::uint64_t offset = bar0::CmdqAddrH + h.random.between(1, 3);
  co_await denied_store(h, o, some_function(h.random), offset, junk(h.random));
}

/// The memory of contexts: not a VF's, and not while the PF works.
task<> icm_base(hostile h, outcome& o, std::uint16_t function) {
  co_await denied_store(h, o, function, bar0::IcmBase + h.random.below(2) * 4, junk(h.random));
}

task<> rate_of_foreign_qp(hostile h, outcome& o, offence who) {
  const auto [offender, target] = choose(who, h.random);
  co_await denied_store(h, o, offender, bar0::RpQpn, any_of(h.random, h.house.of(target).qpns));
}

/// Rates are privileged, also of the function's own QPs.
task<> rate_without_trust(hostile h, outcome& o) {
  constexpr std::array<std::uint32_t, 4> Places = {bar0::RpRate, bar0::RpTarget, bar0::RpCurrent,
                                                   bar0::RpTimer};
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), any_of(h.random, h.house.of(Attacker).qpns));
  h.core.store_uncached(h.house.of(Attacker).where.bar0 + bar0::RpQpn, raw);
  co_await denied_store(h, o, Attacker, any_of(h.random, Places), junk(h.random));
}

task<> unaligned_load(hostile h, outcome& o) {
  o.offender = some_function(h.random);
  const std::uint64_t at = h.random.below(0x3fe) * 4 + h.random.between(1, 3);
  const std::uint64_t value = co_await h.core.load(h.house.of(o.offender).where.bar0 + at, 4);
  o.expect("the value", value, std::uint64_t{0xffffffff});
  o.count(o.offender, counter::RegisterDenied);
  co_await settle(h.core);
}

/// An entry of the command queue that the function has not given to the device.
task<> empty_command(hostile h, outcome& o) {
  o.offender = any_of(h.random, std::array{Attacker, Pf, Ghost});
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), 1U << h.random.between(8, 31));
  h.core.store_uncached(h.house.of(o.offender).where.bar0 + bar0::CmdDbell, raw);
  o.count(o.offender, counter::CommandDoorbellsIgnored);
  co_await settle(h.core);
}

/// A place of BAR4 that cannot be written, by the only one who has a BAR4.
task<> debug_register(hostile h, outcome& o) {
  o.offender = Pf;
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), junk(h.random));
  constexpr std::array<std::uint32_t, 4> Places = {bar4::FwStatus, bar4::LinkStatus, bar4::SramSize,
                                                   0x80};
  h.core.store_uncached(h.house.of(Pf).where.bar4 + any_of(h.random, Places), raw);
  o.count(Pf, counter::RegisterDenied);
  co_await settle(h.core);
}

// Addresses of nobody: the window of a VF that is not enabled.

std::uint64_t nobody_at(hostile h) {
  const tenant& last = h.house.of(Ghost);
  const std::uint64_t offset = h.random.below(bar0::Size / 8) * 8;
  return last.where.bar0 + (last.where.bar0 - h.house.of(Bystander).where.bar0) + offset;
}

task<> store_to_nobody(hostile h, outcome& o) {
  o.offender = Pf;  // the errors of nobody are noted in its configuration space
  std::array<std::uint8_t, 8> raw{};
  bytes::store_be<8>(raw.data(), h.random.next());
  h.core.store_uncached(nobody_at(h), raw);
  o.count(Chip, counter::PcieRxBarMisses);
  co_await settle(h.core);
}

task<> load_from_nobody(hostile h, outcome& o) {
  o.offender = Pf;
  const std::uint64_t value = co_await h.core.load(nobody_at(h), 8);
  o.expect("the value", value, AllOnes);
  o.count(Chip, counter::PcieRxBarMisses);
  co_await settle(h.core);
}

// MSI-X

task<> pending_bits(hostile h, outcome& o) {
  co_await denied_store(h, o, some_function(h.random), bar0::MsixPba + h.random.below(4) * 4,
                        junk(h.random));
}

task<> missing_vector(hostile h, outcome& o) {
  const std::uint64_t entry = h.random.between(Vectors, bar0::MsixTableBytes / MsixEntryBytes - 1);
  co_await denied_store(h, o, some_function(h.random),
                        bar0::MsixTable + entry * MsixEntryBytes + h.random.below(4) * 4,
                        junk(h.random));
}

task<> unaligned_vector(hostile h, outcome& o) {
  co_await denied_store(
      h, o, some_function(h.random),
      bar0::MsixTable + h.random.below(Vectors) * MsixEntryBytes + h.random.between(1, 3),
      junk(h.random));
}

}  // namespace

void add_register_bins(bin_table& to) {
  constexpr const char* Counted = "counted for the offender";
  constexpr const char* Ones = "unsupported request, counted for the offender";
  constexpr unsigned Often = 40;
  const auto add = [&](const char* resource, offence who, const char* name, const char* how,
                       std::function<task<>(hostile, outcome&)> what) {
    to.push_back({resource, who, name, how, Often, std::move(what)});
  };
  add("register", offence::own, "store to a read-only register", Counted, read_only);
  add("register", offence::own, "store to a window", Counted, window);
  add("register", offence::own, "store to a hole", Counted, hole);
  add("register", offence::own, "unaligned store", Counted, unaligned_store);
  add("register", offence::own, "unaligned load", Ones, unaligned_load);
  add("register", offence::own, "rate without trust", Counted, rate_without_trust);
  add("register", offence::own, "entry that is not the device's", Counted, empty_command);
  add("register", offence::own, "read-only place of BAR4", Counted, debug_register);
  add("register", offence::vf_to_pf, "ICM_BASE", Counted,
      [](hostile h, outcome& o) { return icm_base(h, o, Attacker); });
  add("register", offence::pf_to_vf, "ICM_BASE under contexts", Counted,
      [](hostile h, outcome& o) { return icm_base(h, o, Pf); });
  for (const offence who : {offence::vf_to_vf, offence::vf_to_pf, offence::ghost}) {
    add("register", who, "RP_QPN", Counted,
        [=](hostile h, outcome& o) { return rate_of_foreign_qp(h, o, who); });
  }
  add("register", offence::nobody, "store to a VF that is not enabled", "counted for the chip",
      store_to_nobody);
  add("register", offence::nobody, "load from a VF that is not enabled",
      "unsupported request, counted for the chip", load_from_nobody);
  add("vector", offence::own, "store to the pending bits", Counted, pending_bits);
  add("vector", offence::own, "entry of a vector that is not there", Counted, missing_vector);
  add("vector", offence::own, "unaligned store to an entry", Counted, unaligned_vector);
}

}  // namespace carillon::isolation
