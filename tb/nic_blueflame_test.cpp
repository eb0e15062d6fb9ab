// BlueFlame through the whole NIC: two cores post on one UAR page, write-combining buffers drain in
// any order.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "cli/workload.h"
#include "common/nic_run.h"

namespace carillon {
namespace {

/// Two queue pairs of host0 on one UAR page, each posted to by a core of its own, under the
/// driver's lock; every message has its own bytes.
class shared_page {
 public:
  static constexpr std::uint32_t Bytes = 200;  // a WQE of 4 blocks
  static constexpr unsigned Messages = 200;

  shared_page(drain_order order, std::uint64_t seed) {
    scenario_overrides overrides;
    overrides.seed = seed;
    what_ = load_scenario("scenarios/blueflame_to_wire.toml", overrides);
    system_ = std::make_unique<system_model>(what_.points.front(), 3U, nullptr);
    for (unsigned core = 0; core < 3; ++core) {
      system_->at(0).host.core(core).drain_by(order);
    }
  }

  void run() {
    system_->at(0).host.core(0).run(set_up(0));
    system_->at(1).host.core(0).run(set_up(1));
    system_->run();
    system_->check_drained();
    system_->context.trace.close();
  }

  [[nodiscard]] std::uint64_t wrong_bytes() const { return wrong_; }

  [[nodiscard]] unsigned completed() const { return completed_; }

  [[nodiscard]] std::uint64_t count(counter which) {
    return system_->at(0).adapter.counters().value(which);
  }

 private:
  struct link {
    std::unique_ptr<completion_queue> cq;
    std::unique_ptr<queue_pair> qp;
    memory_region memory;
  };

  static std::uint8_t pattern(unsigned link_number, unsigned message, unsigned i) {
    return static_cast<std::uint8_t>(link_number * 128 + message * 7 + i);
  }

  task<> set_up(unsigned side) {
    node& home = system_->at(side);
    cpu& core = home.host.core(0);
    co_await home.driver.open(core);
    const std::uint32_t pd = co_await home.driver.alloc_pd(core);
    uar_handle* page = co_await home.driver.alloc_uar(core);
    for (unsigned i = 0; i < 2; ++i) {
      link& each = links_[side][i];
      each.cq = co_await completion_queue::create(home.driver, core, *page, 6);
      const std::uint64_t bytes = std::uint64_t{Bytes} * Messages;
      each.memory =
          co_await home.driver.register_memory(core, pd, home.host.allocate(bytes, 4096), bytes);
      queue_pair_options options;
      options.log_sq_size = 6;
      each.qp =
          co_await queue_pair::create(home.driver, core, pd, *page, *each.cq, *each.cq, options);
      co_await each.qp->to_init(core);
    }
    co_await core.meet(met_);
    for (unsigned i = 0; i < 2; ++i) {
      co_await links_[side][i].qp->to_rtr(core, links_[1 - side][i].qp->address(), {});
      co_await links_[side][i].qp->to_rts(core, {});
    }
    co_await core.meet(connected_);
    if (side == 0) {
      for (unsigned i = 0; i < 2; ++i) {
        home.host.core(1 + i).run(post(i));
      }
    }
  }

  task<> post(unsigned i) {
    node& home = system_->at(0);
    node& there = system_->at(1);
    cpu& core = home.host.core(1 + i);
    link& each = links_[0][i];
    std::array<completion, 4> entries;
    for (unsigned message = 0; message < Messages; ++message) {
      const std::uint64_t offset = std::uint64_t{message} * Bytes;
      std::vector<std::uint8_t> data(Bytes);
      for (unsigned b = 0; b < Bytes; ++b) {
        data[b] = pattern(i, message, b);
      }
      home.host.memory.write(each.memory.address + offset, data.data(), data.size());
      work_request request;
      request.opcode = wqe_opcode::RdmaWrite;
      request.is_inline = true;
      request.remote_address = links_[1][i].memory.address + offset;
      request.rkey = links_[1][i].memory.key;
      request.add({each.memory.address + offset, Bytes, each.memory.key});
      co_await each.qp->post_send(core, request);
      for (unsigned found = 0; found == 0;) {
        found = co_await each.cq->wait(core, entries);
        for (unsigned e = 0; e < found; ++e) {
          completed_ += entries[e].failed() ? 0 : 1;
        }
      }
      std::vector<std::uint8_t> got(Bytes);
      there.host.memory.read(links_[1][i].memory.address + offset, got.data(), got.size());
      for (unsigned b = 0; b < Bytes; ++b) {
        wrong_ += got[b] != data[b] ? 1 : 0;
      }
    }
  }

  scenario what_;
  std::unique_ptr<system_model> system_;
  std::array<std::array<link, 2>, 2> links_;
  rendezvous met_{2};
  rendezvous connected_{2};
  std::uint64_t wrong_ = 0;
  unsigned completed_ = 0;
};

class nic_blueflame : public testing::TestWithParam<drain_order> {};

TEST_P(nic_blueflame, under_the_drivers_lock_no_wqe_is_torn) {
  shared_page traffic(GetParam(), 7);
  traffic.run();
  EXPECT_EQ(traffic.completed(), 2 * shared_page::Messages);
  EXPECT_EQ(traffic.wrong_bytes(), 0U);
  // Every WQE went through the buffer whole.
  EXPECT_EQ(traffic.count(counter::BfOk), 2 * shared_page::Messages);
  for (const counter why :
       {counter::BfDiscardedOverlap, counter::BfDiscardedGap, counter::BfDiscardedLength,
        counter::BfDiscardedRestart, counter::BfDiscardedTimeout}) {
    EXPECT_EQ(traffic.count(why), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(drains, nic_blueflame,
                         testing::Values(drain_order::oldest_first, drain_order::newest_first,
                                         drain_order::random));

}  // namespace
}  // namespace carillon
