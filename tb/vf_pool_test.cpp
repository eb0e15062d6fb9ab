// Who gets which function: a VF each until none is left, or a share of one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "tb/common/two_hosts.h"

namespace carillon::bench {
namespace {

class pool : public testing::Test {
 protected:
  void build(const std::string& text) {
    hosts_ = std::make_unique<two_hosts>(text);
    functions_ = hosts_->functions_of(0);
    pool_ = std::make_unique<vf_pool>("host0", *functions_);
  }

  void run(const std::function<task<>(cpu&)>& what) {
    ASSERT_TRUE(hosts_->run(0, what(hosts_->core(0))));
  }

  /// The message of vf_exhausted, or nothing.
  task<std::string> refusal(cpu& core) {
    std::string text;
    try {
      co_await pool_->acquire(core);
    } catch (const vf_exhausted& none) {
      text = none.what();
    }
    co_return text;
  }

  std::unique_ptr<two_hosts> hosts_;
  std::unique_ptr<sriov> functions_;
  std::unique_ptr<vf_pool> pool_;
};

const std::string ThreeVfs = "[device]\nSRIOV_EN = true\nNUM_OF_VFS = 3\n";
const std::string Shared = "[device]\npool = \"shared\"\n";

TEST_F(pool, gives_each_user_a_vf_until_all_are_assigned) {
  build(ThreeVfs);
  std::vector<std::uint16_t> given;
  std::string refused;
  run([&](cpu& core) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const vf_pool::lease lease = co_await pool_->acquire(core);
      given.push_back(lease.function);
    }
    refused = co_await refusal(core);
  });
  EXPECT_EQ(given, (std::vector<std::uint16_t>{1, 2, 3}));
  EXPECT_EQ(refused, "vf_exhausted: all 3 VFs of host0 are assigned");
  EXPECT_EQ(pool_->users(), 3U);
}

TEST_F(pool, has_nothing_to_give_without_vfs) {
  build("[workload]\n");
  std::string refused;
  run([&](cpu& core) -> task<> { refused = co_await refusal(core); });
  EXPECT_EQ(refused, "vf_exhausted: host0 has no VFs");
}

TEST_F(pool, gives_a_vf_that_came_back_to_the_next_user_after_a_reset) {
  build(ThreeVfs);
  vf_pool::lease again;
  const device* before = nullptr;
  run([&](cpu& core) -> task<> {
    std::vector<vf_pool::lease> leases;
    for (int i = 0; i < 3; ++i) {
      leases.push_back(co_await pool_->acquire(core));
    }
    before = leases[1].adapter;
    co_await pool_->release(core, leases[1]);
    EXPECT_EQ(pool_->users(), 2U);
    again = co_await pool_->acquire(core);
  });
  EXPECT_EQ(again.function, 2U);
  EXPECT_NE(again.adapter, before) << "a driver's object that knows nothing of the last user";
  EXPECT_EQ(pool_->reused(), 1U);
}

TEST_F(pool, shares_one_function_with_a_protection_domain_for_each_user) {
  build(Shared);
  std::set<std::uint32_t> pds;
  std::set<std::uint32_t> pages;
  std::set<device*> adapters;
  run([&](cpu& core) -> task<> {
    for (int i = 0; i < 10; ++i) {
      const vf_pool::lease lease = co_await pool_->acquire(core);
      pds.insert(lease.pd);
      pages.insert(lease.uar->number);
      adapters.insert(lease.adapter);
      EXPECT_EQ(lease.function, 0U);
    }
  });
  EXPECT_EQ(pds.size(), 10U);
  EXPECT_EQ(pages.size(), 10U) << "as long as there are pages, each has its own";
  EXPECT_EQ(adapters.size(), 1U);
}

TEST_F(pool, shares_uar_pages_evenly_when_there_are_no_more) {
  build(Shared);
  std::map<std::uint32_t, unsigned> users;
  run([&](cpu& core) -> task<> {
    const auto pages = static_cast<unsigned>(hosts_->point.params.nic.uar_pages);
    // Page 0 is the device's.
    for (unsigned i = 0; i < 3 * (pages - 1); ++i) {
      const vf_pool::lease lease = co_await pool_->acquire(core);
      ++users[lease.uar->number];
    }
    EXPECT_EQ(users.size(), pages - 1);
  });
  for (const auto& [page, count] : users) {
    EXPECT_EQ(count, 3U) << "page " << page;
  }
}

TEST_F(pool, lets_500_users_share_and_no_more) {
  build(Shared);
  std::string refused;
  run([&](cpu& core) -> task<> {
    std::vector<vf_pool::lease> leases;
    for (unsigned i = 0; i < 500; ++i) {
      leases.push_back(co_await pool_->acquire(core));
    }
    refused = co_await refusal(core);
    co_await pool_->release(core, leases[7]);
    const vf_pool::lease next = co_await pool_->acquire(core);
    EXPECT_EQ(next.uar, leases[7].uar) << "the page that lost a user";
  });
  EXPECT_EQ(refused, "vf_exhausted: the function of host0 has its 500 users");
}

}  // namespace
}  // namespace carillon::bench
