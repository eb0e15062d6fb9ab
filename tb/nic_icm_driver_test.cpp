// Contexts in host memory as a driver sees them: it lends the memory, and what happens when the
// chip cannot read it.
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <memory>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "common/context_sizes.h"
#include "gen/bytes.h"
#include "host/verbs.h"

namespace carillon {
namespace {

constexpr std::uint32_t Bytes = 64;

/// Two connected hosts whose NICs hold one context line each; the test's program runs on host0.
class two_hosts {
 public:
  using program = std::function<task<>(two_hosts&, cpu&)>;

  struct end {
    std::unique_ptr<completion_queue> cq;
    std::unique_ptr<queue_pair> qp;
    memory_region memory;
  };

  explicit two_hosts(const char* where = "host_memory") {
    scenario_overrides overrides;
    overrides.set = {std::string("nic.icm=") + where, "nic.icm_cache_lines=1",
                     "nic.icm_cache_ways=1"};
    const scenario what = load_scenario("scenarios/doorbell_to_wire.toml", overrides);
    params = what.points.front().params;
    system_ = std::make_unique<system_model>(what.points.front(), 1U, nullptr);
  }

  void run(const program& what) {
    system_->at(0).host.core(0).run(side(0, what));
    system_->at(1).host.core(0).run(side(1, what));
    system_->run();
    system_->check_drained();
    system_->context.trace.close();
  }

  end& at(unsigned index) { return ends_[index]; }

  [[nodiscard]] device& driver() { return system_->at(0).driver; }

  [[nodiscard]] nic& adapter() { return system_->at(0).adapter; }

  [[nodiscard]] std::uint64_t icm_base_register() const {
    return system_->at(0).slot.function(0).bar0 + bar0::IcmBase;
  }

  [[nodiscard]] std::uint64_t count(counter which) {
    return system_->at(0).adapter.counters().value(which);
  }

  /// The next read of this context fails.
  void lose(std::uint64_t base, context_kind kind, std::uint32_t index) {
    read_fault_rule rule;
    rule.fault = read_fault::completer_abort;
    rule.kind = read_kind::context;
    rule.first = base + (context_sizes::of(params).first(kind) + index) * BeatBytes;
    rule.last = rule.first;
    rule.count = 1;
    system_->at(0).host.bus.inject(rule);
  }

  work_request write(std::uint64_t id) {
    work_request request;
    request.id = id;
    request.opcode = wqe_opcode::RdmaWrite;
    request.remote_address = ends_[1].memory.address;
    request.rkey = ends_[1].memory.key;
    request.add({ends_[0].memory.address, Bytes, ends_[0].memory.key});
    return request;
  }

  task<completion> next_completion(cpu& core) {
    std::array<completion, 1> entries;
    co_await ends_[0].cq->wait(core, entries);
    co_return entries[0];
  }

  parameters params;

 private:
  task<> side(unsigned index, program what) {
    node& home = system_->at(index);
    cpu& core = home.host.core(0);
    end& here = ends_[index];
    co_await home.driver.open(core);
    const std::uint32_t pd = co_await home.driver.alloc_pd(core);
    uar_handle* page = co_await home.driver.alloc_uar(core);
    here.cq = co_await completion_queue::create(home.driver, core, *page, 6);
    const std::uint64_t buffer = home.host.allocate(Bytes, 4096);
    here.memory = co_await home.driver.register_memory(core, pd, buffer, Bytes);
    queue_pair_options options;
    options.doorbell = doorbell_mode::doorbell_only;
    here.qp =
        co_await queue_pair::create(home.driver, core, pd, *page, *here.cq, *here.cq, options);
    co_await core.meet(met_);
    co_await here.qp->to_init(core);
    co_await here.qp->to_rtr(core, ends_[1 - index].qp->address(), {});
    co_await here.qp->to_rts(core, {});
    co_await core.meet(connected_);
    if (index == 0) {
      co_await what(*this, core);
    }
  }

  std::unique_ptr<system_model> system_;
  std::array<end, 2> ends_;
  rendezvous met_{2};
  rendezvous connected_{2};
};

TEST(nic_icm_driver, lends_the_pages_that_hca_cap_asks_for) {
  two_hosts hosts;
  std::uint64_t base = 0;
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    base = co_await core.load(both.icm_base_register(), 8);
  });
  // 4 * 4096 lines of QPs, 4096 of CQs, 16384 of keys, 16384 of pages, 256 of SRQs, 64 of EQs.
  EXPECT_EQ(hosts.driver().capabilities().icm_pages, 53568U * 64 / 4096);
  EXPECT_NE(base, 0U);
  EXPECT_EQ(base % 4096, 0U);
}

TEST(nic_icm_driver, a_nic_tells_the_memory_that_its_contexts_take) {
  two_hosts hosts("on_chip");
  EXPECT_EQ(hosts.adapter().contexts().total_bytes(), 53568U * 64);
  EXPECT_EQ(hosts.adapter().contexts().bytes(context_kind::mkey), 16384U * 64);
  // The chip has not been divided.
  EXPECT_EQ(hosts.adapter().contexts(0), hosts.adapter().contexts());
}

TEST(nic_icm_driver, lends_nothing_if_contexts_are_on_the_chip) {
  two_hosts hosts("on_chip");
  std::uint64_t base = 0;
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    base = co_await core.load(both.icm_base_register(), 8);
  });
  EXPECT_EQ(hosts.driver().capabilities().icm_pages, 0U);
  EXPECT_EQ(base, 0U);
}

TEST(nic_icm_driver, cannot_move_the_contexts_of_an_initialised_device) {
  two_hosts hosts;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  completion seen;
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    before = co_await core.load(both.icm_base_register(), 8);
    std::array<std::uint8_t, 8> word{};
    bytes::store_be<8>(word.data(), before + 0x100000);
    core.store_uncached(both.icm_base_register(), word);
    after = co_await core.load(both.icm_base_register(), 8);
    co_await both.at(0).qp->post_send(core, both.write(1));
    seen = co_await both.next_completion(core);
  });
  EXPECT_EQ(after, before);
  EXPECT_EQ(hosts.count(counter::RegisterDenied), 1U);
  EXPECT_FALSE(seen.failed());
}

TEST(nic_icm_driver, a_key_that_cannot_be_read_is_a_local_protection_error) {
  two_hosts hosts;
  completion seen;
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    const std::uint64_t base = co_await core.load(both.icm_base_register(), 8);
    both.lose(base, context_kind::mkey, both.at(0).memory.index());
    co_await both.at(0).qp->post_send(core, both.write(1));
    seen = co_await both.next_completion(core);
  });
  EXPECT_EQ(seen.syndrome, cqe_syndrome::LocalProtection);
  EXPECT_EQ(hosts.count(counter::IcmErrors), 1U);
  EXPECT_EQ(hosts.count(counter::TxPackets), 0U);
}

TEST(nic_icm_driver, a_path_that_cannot_be_read_costs_a_retransmission) {
  two_hosts hosts;
  completion seen;
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    const std::uint64_t base = co_await core.load(both.icm_base_register(), 8);
    both.lose(base, context_kind::qpc_address, both.at(0).qp->qpn());
    co_await both.at(0).qp->post_send(core, both.write(1));
    seen = co_await both.next_completion(core);
  });
  EXPECT_FALSE(seen.failed());
  EXPECT_EQ(hosts.count(counter::TxPathUnreadable), 1U);
  EXPECT_EQ(hosts.count(counter::IcmErrors), 1U);
}

TEST(nic_icm_driver, a_doorbell_whose_qp_cannot_be_read_is_lost_and_the_next_one_covers_it) {
  two_hosts hosts;
  completion seen[3];
  hosts.run([&](two_hosts& both, cpu& core) -> task<> {
    const std::uint64_t base = co_await core.load(both.icm_base_register(), 8);
    // The last line that the first WRITE uses is its CQ's: the QP's has gone.
    co_await both.at(0).qp->post_send(core, both.write(1));
    seen[0] = co_await both.next_completion(core);
    both.lose(base, context_kind::qpc_common, both.at(0).qp->qpn());
    co_await both.at(0).qp->post_send(core, both.write(2));
    core.idle_until(core.time() + 10'000'000);
    co_await core.sync();
    EXPECT_EQ(both.count(counter::DbIgnoredOwner), 1U);
    EXPECT_EQ(both.count(counter::TxPackets), 1U);
    co_await both.at(0).qp->post_send(core, both.write(3));
    seen[1] = co_await both.next_completion(core);
    seen[2] = co_await both.next_completion(core);
  });
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(seen[i].failed());
    EXPECT_EQ(seen[i].id, i + 1);
  }
}

}  // namespace
}  // namespace carillon
