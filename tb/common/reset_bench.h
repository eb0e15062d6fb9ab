// A connection of a function whose reset comes in the middle of what it sends.
#pragma once

#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <vector>

#include "host/verbs.h"
#include "tb/common/bus_bench.h"

namespace carillon::bench {

inline constexpr std::uint32_t Message = 16384;
inline constexpr unsigned Outstanding = 32;
inline constexpr unsigned PacketsEach = Message / 4096;

/// A connection from the first host's function to the second host's PF, and what it sends. Work is
/// posted until the queue is full, as fast as completions come.
class sender {
 public:
  sender(node& from, node& to, device& adapter) : to_(to), from_(from), adapter_(adapter) {}

  /// One core of each host brings its end up.
  task<> open(cpu& core) {
    co_await adapter_.open(core);
    const std::uint32_t pd = co_await adapter_.alloc_pd(core);
    uar_handle* page = co_await adapter_.alloc_uar(core);
    cq_ = co_await completion_queue::create(adapter_, core, *page, 8);
    memory_ =
        co_await adapter_.register_memory(core, pd, from_.host.allocate(Message, 4096), Message);
    qp_ = co_await queue_pair::create(adapter_, core, pd, *page, *cq_, *cq_, {});
    co_await qp_->to_init(core);
    co_await core.meet(ready_);
    co_await qp_->to_rtr(core, far_->address(), {});
    co_await qp_->to_rts(core, {});
    co_await core.meet(connected_);
  }

  task<> open_far(cpu& core) {
    device& adapter = to_.driver;
    co_await adapter.open(core);
    const std::uint32_t pd = co_await adapter.alloc_pd(core);
    uar_handle* page = co_await adapter.alloc_uar(core);
    far_cq_ = co_await completion_queue::create(adapter, core, *page, 8);
    target_ = co_await adapter.register_memory(core, pd, to_.host.allocate(Message, 4096), Message);
    far_ = co_await queue_pair::create(adapter, core, pd, *page, *far_cq_, *far_cq_, {});
    co_await far_->to_init(core);
    co_await core.meet(ready_);
    co_await far_->to_rtr(core, qp_->address(), {});
    co_await far_->to_rts(core, {});
    co_await core.meet(connected_);
  }

  [[nodiscard]] work_request write() const {
    work_request request;
    request.opcode = wqe_opcode::RdmaWrite;
    request.remote_address = target_.address;
    request.rkey = target_.key;
    request.add({memory_.address, Message, memory_.key});
    return request;
  }

  task<> send(cpu& core, unsigned count) {
    unsigned posted = 0;
    while (done < count) {
      while (posted < count && posted - done < Outstanding) {
        EXPECT_TRUE(co_await qp_->post_send(core, write()));
        ++posted;
      }
      std::array<completion, 8> entries;
      const unsigned found = co_await cq_->wait(core, entries);
      for (unsigned i = 0; i < found; ++i) {
        good = good && entries[i].syndrome == cqe_syndrome{};
      }
      done += found;
    }
  }

  /// Posts without ever looking at completions.
  task<> flood(cpu& core) {
    const std::vector<work_request> all(Outstanding, write());
    EXPECT_TRUE(co_await qp_->post_send(core, std::span(all)));
  }

  /// The same with a doorbell for each.
  task<> trickle(cpu& core) {
    for (unsigned i = 0; i < Outstanding; ++i) {
      EXPECT_TRUE(co_await qp_->post_send(core, write()));
    }
  }

  [[nodiscard]] std::uint32_t qpn() const { return qp_->qpn(); }

  unsigned done = 0;
  bool good = true;

 private:
  node& to_;
  node& from_;
  device& adapter_;
  std::unique_ptr<completion_queue> cq_;
  std::unique_ptr<completion_queue> far_cq_;
  std::unique_ptr<queue_pair> qp_;
  std::unique_ptr<queue_pair> far_;
  memory_region memory_;
  memory_region target_;
  rendezvous ready_{2};
  rendezvous connected_{2};
};

}  // namespace carillon::bench
