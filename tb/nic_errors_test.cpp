// Work that the NIC must refuse, through driver, doorbell, fetch, parser and completion.
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "host/verbs.h"

namespace carillon {
namespace {

constexpr std::uint32_t Bytes = 1000;
constexpr std::uint8_t Untouched = 0x5a;

/// Two connected hosts; the test's program posts on host0.
class two_hosts {
 public:
  two_hosts() {
    const scenario what = load_scenario("scenarios/doorbell_to_wire.toml", {});
    system_ = std::make_unique<system_model>(what.points.front(), 1U, nullptr);
  }

  struct end {
    std::uint32_t pd = 0;
    std::uint32_t other_pd = 0;
    std::unique_ptr<completion_queue> cq;
    std::unique_ptr<queue_pair> qp;
    memory_region memory;
    memory_region foreign;  ///< of the other protection domain
  };

  using program = std::function<task<>(two_hosts&, cpu&)>;

  /// Connects if asked to and runs the program.
  void run(bool connect, const program& what) {
    system_->at(0).host.core(0).run(side(0, connect, what));
    system_->at(1).host.core(0).run(side(1, connect, what));
    system_->run();
    system_->check_drained();
    system_->context.trace.close();
  }

  end& at(unsigned index) { return ends_[index]; }

  [[nodiscard]] std::uint64_t count(counter which, unsigned index = 0) {
    return system_->at(index).adapter.counters().value(which);
  }

  work_request write(const sge& from, std::uint64_t id) {
    work_request request;
    request.id = id;
    request.opcode = wqe_opcode::RdmaWrite;
    request.remote_address = ends_[1].memory.address;
    request.rkey = ends_[1].memory.key;
    request.add(from);
    return request;
  }

  [[nodiscard]] bool target_untouched() {
    std::vector<std::uint8_t> got(Bytes);
    system_->at(1).host.memory.read(ends_[1].memory.address, got.data(), got.size());
    return got == std::vector<std::uint8_t>(Bytes, Untouched);
  }

 private:
  task<> side(unsigned index, bool connect, program what) {
    node& home = system_->at(index);
    cpu& core = home.host.core(0);
    end& here = ends_[index];
    co_await home.driver.open(core);
    here.pd = co_await home.driver.alloc_pd(core);
    here.other_pd = co_await home.driver.alloc_pd(core);
    uar_handle* page = co_await home.driver.alloc_uar(core);
    here.cq = co_await completion_queue::create(home.driver, core, *page, 6);
    const std::uint64_t buffer = home.host.allocate(Bytes, 4096);
    const std::uint64_t foreign = home.host.allocate(Bytes, 4096);
    here.memory = co_await home.driver.register_memory(core, here.pd, buffer, Bytes);
    here.foreign = co_await home.driver.register_memory(core, here.other_pd, foreign, Bytes);
    const std::vector<std::uint8_t> fill(Bytes, Untouched);
    home.host.memory.write(buffer, fill.data(), fill.size());
    queue_pair_options options;
    options.doorbell = doorbell_mode::doorbell_only;
    here.qp =
        co_await queue_pair::create(home.driver, core, here.pd, *page, *here.cq, *here.cq, options);
    co_await core.meet(met_);
    if (connect) {
      co_await here.qp->to_init(core);
      co_await here.qp->to_rtr(core, ends_[1 - index].qp->address(), {});
      co_await here.qp->to_rts(core, {});
    }
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

struct bad_access {
  const char* name;
  sge (*of)(const two_hosts::end& here);
};

class nic_protection : public testing::TestWithParam<bad_access> {};

TEST_P(nic_protection, fails_the_work_flushes_what_follows_and_sends_nothing) {
  two_hosts hosts;
  std::vector<completion> seen;
  qpc after;
  hosts.run(true, [&](two_hosts& both, cpu& core) -> task<> {
    two_hosts::end& here = both.at(0);
    const sge good{here.memory.address, Bytes, here.memory.key};
    const std::array requests = {both.write(GetParam().of(here), 1), both.write(good, 2),
                                 both.write(good, 3)};
    co_await here.qp->post_send(core, std::span<const work_request>(requests));
    std::array<completion, 4> entries;
    while (seen.size() < requests.size()) {
      const unsigned found = co_await here.cq->wait(core, entries);
      seen.insert(seen.end(), entries.begin(), entries.begin() + found);
    }
    after = co_await here.qp->query(core);
  });
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(static_cast<int>(seen[0].syndrome), 0x04);
  EXPECT_EQ(static_cast<int>(seen[1].syndrome), 0x05);
  EXPECT_EQ(static_cast<int>(seen[2].syndrome), 0x05);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].id, i + 1);
    EXPECT_EQ(seen[i].opcode, cqe_opcode::RequesterError);
  }
  EXPECT_EQ(after.state, qpc_state::Err);
  EXPECT_EQ(hosts.count(counter::LocalProtectionErrors), 1U);
  EXPECT_EQ(hosts.count(counter::TxPackets), 0U);
  EXPECT_TRUE(hosts.target_untouched());
}

INSTANTIATE_TEST_SUITE_P(
    all, nic_protection,
    testing::Values(bad_access{"key_that_nobody_has",
                               [](const two_hosts::end& here) -> sge {
                                 return {here.memory.address, Bytes, here.memory.key + 0x5000};
                               }},
                    bad_access{"wrong_variant_of_the_key",
                               [](const two_hosts::end& here) -> sge {
                                 return {here.memory.address, Bytes, here.memory.key ^ 1};
                               }},
                    bad_access{"key_of_another_protection_domain",
                               [](const two_hosts::end& here) -> sge {
                                 return {here.foreign.address, Bytes, here.foreign.key};
                               }},
                    bad_access{"one_byte_beyond_the_region",
                               [](const two_hosts::end& here) -> sge {
                                 return {here.memory.address, Bytes + 1, here.memory.key};
                               }},
                    bad_access{"one_byte_before_the_region",
                               [](const two_hosts::end& here) -> sge {
                                 return {here.memory.address - 1, 2, here.memory.key};
                               }}),
    [](const auto& tested) { return std::string(tested.param.name); });

enum class not_ready { reset, init, rtr };

class nic_states : public testing::TestWithParam<not_ready> {};

TEST_P(nic_states, work_of_a_queue_pair_that_is_not_ready_is_dropped_and_counted) {
  two_hosts hosts;
  hosts.run(false, [&](two_hosts& both, cpu& core) -> task<> {
    two_hosts::end& here = both.at(0);
    if (GetParam() != not_ready::reset) {
      co_await here.qp->to_init(core);
    }
    if (GetParam() == not_ready::rtr) {
      co_await here.qp->to_rtr(core, both.at(1).qp->address(), {});
    }
    co_await here.qp->post_send(core, both.write({here.memory.address, 8, here.memory.key}, 1));
  });
  EXPECT_EQ(hosts.count(counter::WqeDroppedState), 1U);
  EXPECT_EQ(hosts.count(counter::Cqes), 0U);
  EXPECT_EQ(hosts.count(counter::TxPackets), 0U);
  EXPECT_TRUE(hosts.target_untouched());
}

INSTANTIATE_TEST_SUITE_P(all, nic_states,
                         testing::Values(not_ready::reset, not_ready::init, not_ready::rtr));

TEST(nic_errors, good_work_passes_the_same_bench) {
  two_hosts hosts;
  completion done;
  hosts.run(true, [&](two_hosts& both, cpu& core) -> task<> {
    two_hosts::end& here = both.at(0);
    co_await here.qp->post_send(core, both.write({here.memory.address, Bytes, here.memory.key}, 9));
    co_await here.cq->wait(core, std::span(&done, 1));
  });
  EXPECT_FALSE(done.failed());
  EXPECT_EQ(done.id, 9U);
  EXPECT_EQ(hosts.count(counter::TxPackets), 1U);
}

}  // namespace
}  // namespace carillon
