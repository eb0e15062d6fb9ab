// What the isolation suite compares after every operation: that it sees one bit of each kind of
// state, and that it sees changes that happen for real.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>

#include "common/run.h"
#include "gen/bytes.h"
#include "gen/pci.h"
#include "tb/isolation/counters.h"
#include "tb/isolation/hostile.h"
#include "tb/isolation/state.h"

namespace carillon::isolation {
namespace {

using testing::HasSubstr;

class tenants : public testing::Test {
 protected:
  /// Opens the house, then does what the test wants; nothing else happens meanwhile.
  void run(std::function<task<>(cpu&)> what) {
    cpu& core = house_.home().host.core(0);
    bool ended = false;
    core.run(program(core, std::move(what)), [&ended] { ended = true; });
    house_.system.run();
    EXPECT_TRUE(ended);
    house_.system.context.trace.close();
  }

  task<> program(cpu& core, std::function<task<>(cpu&)> what) {
    co_await house_.open(core);
    co_await settle(core);
    state_ = std::make_unique<tenant_state>(house_, std::vector<std::uint32_t>{});
    co_await what(core);
  }

  /// What the bystander, or somebody for it, does is a change that nobody else may cause.
  void sees(const char* what, const char* name) {
    const auto changed = state_->changed(Attacker);
    EXPECT_TRUE(changed.has_value()) << what;
    EXPECT_THAT(changed.value_or(""), HasSubstr(name)) << what;
    state_->accept();
    EXPECT_FALSE(state_->changed(Attacker).has_value());
  }

  tenant_house house_{1};
  std::unique_ptr<tenant_state> state_;
};

TEST_F(tenants, have_a_state_in_which_every_flipped_bit_is_seen) {
  run([&](cpu& /*core*/) -> task<> {
    random_stream random(7, "flips");
    std::set<std::pair<cell_kind, std::uint16_t>> kinds;
    std::set<std::uint64_t> lines;
    for (const cell& each : state_->cells()) {
      const std::uint16_t offender = each.owner == Attacker ? Pf : Attacker;
      // All bits of the first cell of each kind and owner, one bit of every other.
      const bool first = kinds.insert({each.kind, each.owner}).second;
      for (unsigned i = 0; i < (first ? each.words * 64 : 1); ++i) {
        const unsigned bit = first ? i : static_cast<unsigned>(random.below(each.words * 64));
        state_->flip(each, bit);
        const auto changed = state_->changed(offender);
        EXPECT_EQ(changed.value_or("nothing"), each.name()) << bit;
        state_->flip(each, bit);
      }
      if (each.kind == cell_kind::context_line) {
        lines.insert(each.index >> 32);
      }
    }
    EXPECT_EQ(kinds.size(), CellKinds * Functions);
    EXPECT_EQ(lines.size(), ContextKinds) << "lines of every kind";
    EXPECT_FALSE(state_->changed(Attacker).has_value()) << "all is as it was";
    co_return;
  });
}

TEST_F(tenants, have_tables_in_which_every_changed_object_is_seen) {
  run([&](cpu& /*core*/) -> task<> {
    const tenant& who = house_.of(Bystander);
    struct change {
      const char* name;
      std::function<void(command_tables&)> how;
    };
    const std::vector<change> changes = {
        {"protection domains", [&](auto& it) { it.pds.at(who.pd).users ^= 1; }},
        {"event queues", [&](auto& it) { it.eqs.at(who.events->eqn()).event_bitmask ^= 1; }},
        {"completion queues", [&](auto& it) { it.cqs.at(who.cq->cqn()).line.max_count ^= 1; }},
        {"shared receive queues", [&](auto& it) { it.srqs.at(who.srq->srqn()).line.lwm ^= 1; }},
        {"memory keys", [&](auto& it) { it.mkeys.at(who.buffer.index()).context.pd ^= 1; }},
        {"queue pairs", [&](auto& it) { it.qps.at(who.rc->qpn()).rate.rate ^= 1; }},
        {"of function 3", [&](auto& it) { it.functions[Bystander].port.weight ^= 1; }},
        {"of function 3", [&](auto& it) { it.functions[Bystander].gids[0].valid ^= true; }},
        {"of function 0", [&](auto& it) { it.functions[Pf].uar_pages.erase(1); }},
        {"arbitration", [&](auto& it) { it.arbitration = function_arbitration::Strict; }},
        {"the life", [&](auto& it) { it.lives[who.rc->qpn()] ^= 1; }},
    };
    for (const change& each : changes) {
      state_->change_table(each.how);
      sees(each.name, each.name);
    }
    co_return;
  });
}

TEST_F(tenants, are_seen_when_they_change_for_real) {
  run([&](cpu& core) -> task<> {
    tenant& who = house_.of(Bystander);
    const auto store = [&](std::uint64_t offset, std::uint32_t value) {
      std::array<std::uint8_t, 4> raw{};
      bytes::store_be<4>(raw.data(), value);
      core.store_uncached(who.where.bar0 + offset, raw);
    };
    connection_options options;
    options.qkey = Qkey + 1;
    co_await who.ud->update(core, options);
    sees("a Q_Key", "context line");
    co_await who.blank->to_init(core);
    sees("the state of a QP", "context line");
    co_await who.srq->arm(core, 1);
    sees("the limit of an SRQ", "context line 0x7");
    co_await who.driver->deregister_memory(core, who.foreign);
    sees("a key", "context line 0x5");
    store(bar0::MsixTable + MsixEntryBytes, 0x1000);
    co_await settle(core);
    sees("an MSI-X entry", "MSI-X table");
    store(bar0::RpQpn, who.rc->qpn());
    co_await settle(core);
    sees("a selected QP", "rate registers");
    store(bar0::CmdqAddrH, 0x7);
    co_await settle(core);
    sees("the place of the command queue", "command queue");
    co_await house_.home().slot.write(core, who.where.routing_id, pci_header::Command, 0, 2);
    co_await settle(core);
    sees("bus master", "configuration space");
    vf_settings settings;
    settings.weight = 3;
    co_await house_.admin().change(core, Bystander - 1, settings);
    sees("its weight", "what is known of function 3");
    const std::uint8_t byte = 1;
    house_.home().host.memory.write(who.buffer.address + 77, &byte, 1);
    sees("its memory", "host memory");
  });
}

TEST_F(tenants, have_counters_that_are_watched) {
  run([&](cpu& core) -> task<> {
    counter_watch watch(house_);
    counter_block& counters = house_.home().adapter.shared().counters;
    std::array<bool, Functions> attacker{};
    attacker[Attacker] = true;
    EXPECT_FALSE(watch.wrong({}, attacker).has_value());
    counters.add_for(Bystander, counter::RxDropNoQp);
    EXPECT_THAT(watch.wrong({}, attacker).value_or(""), HasSubstr("rx_drop_no_qp of function 3"));
    counters.add_for(Bystander, counter::RxPackets);
    EXPECT_THAT(watch.wrong({}, attacker).value_or(""), HasSubstr("rx_packets of function 3"));
    counters.add_for(Attacker, counter::RxPackets);
    EXPECT_FALSE(watch.wrong({}, attacker).has_value()) << "it may work";
    counters.add(counter::CommandErrors);
    EXPECT_TRUE(watch.wrong({{Attacker, counter::CommandErrors}}, attacker).has_value())
        << "for the chip and not for its function";
    counters.add_for(Attacker, counter::CommandErrors);
    EXPECT_FALSE(watch.wrong({{Attacker, counter::CommandErrors}}, attacker).has_value());
    EXPECT_TRUE(watch.wrong({{Attacker, counter::CommandErrors}}, attacker).has_value())
        << "it was not counted";
    co_await settle(core);
  });
}

}  // namespace
}  // namespace carillon::isolation
