// Programs that sleep for their completions, over two whole hosts and NICs: nobody sleeps for ever,
// whatever the timing. If a wake-up were lost, nothing would be left to happen and the program
// would still be busy.
#include <gtest/gtest.h>
#include <memory>

#include "cli/scenario.h"
#include "cli/system.h"
#include "common/random.h"
#include "gen/wqe.h"
#include "host/interrupts.h"
#include "host/session.h"

namespace carillon {
namespace {

constexpr unsigned WakeCore = 0;

class event_loops : public testing::TestWithParam<std::uint64_t> {
 protected:
  void build(session_options options, std::uint64_t seed, std::uint64_t shuffle = 0) {
    run_point point;
    point.params = params;
    point.seed = seed;
    point.shuffle = shuffle;
    system = std::make_unique<system_model>(point, 2, nullptr);
    options.log_eq_size = 8;
    options.qp.log_sq_size = 7;
    options.qp.log_rq_size = 7;
    options.interrupt_core = options.interrupt_core.value_or(WakeCore);
    connection = std::make_unique<session>(options, core(0), system->at(0).driver, core(1),
                                           system->at(1).driver);
    random = std::make_unique<random_stream>(seed, "pauses");
  }

  cpu& core(unsigned host) { return system->at(host).host.core(0); }

  /// Both programs to their ends.
  void run(unsigned messages, unsigned window) {
    core(0).run(sender(messages, window));
    core(1).run(receiver(messages, window));
    sc_core::sc_start();
    EXPECT_FALSE(core(0).busy()) << "the sender sleeps for ever after " << sent << " messages";
    EXPECT_FALSE(core(1).busy()) << "the receiver sleeps for ever after " << received;
    EXPECT_EQ(sent, messages);
    EXPECT_EQ(received, messages);
    system->check_drained();
  }

  [[nodiscard]] std::uint64_t count(unsigned host, counter which) const {
    return system->at(host).adapter.counters().value(which);
  }

  task<> sender(unsigned messages, unsigned window) {
    co_await connection->establish(0);
    session_side& mine = connection->side(0);
    std::array<completion, 16> done;
    unsigned posted = 0;
    while (sent < messages) {
      // The receiver has posted this many, and says so beside the traffic.
      while (posted < messages && posted - sent < window && posted < receives) {
        work_request request;
        request.opcode = wqe_opcode::Send;
        request.signaled = true;
        request.add({mine.buffer.address, 64, mine.buffer.key});
        EXPECT_TRUE(co_await mine.qps[0]->post_send(mine.core, request));
        ++posted;
        co_await pause(mine.core);
      }
      if (posted == sent) {
        mine.core.idle_until(mine.core.time() + 100'000);
        co_await mine.core.sync();
        continue;
      }
      sent += co_await mine.send_cq->sleep(mine.core, *mine.events, done);
    }
  }

  task<> receiver(unsigned messages, unsigned window) {
    co_await connection->establish(1);
    session_side& mine = connection->side(1);
    std::array<completion, 16> done;
    while (received < messages) {
      while (receives < messages && receives - received < 2 * window) {
        receive_request request;
        request.sge_count = 1;
        request.sges[0] = {mine.buffer.address, 64, mine.buffer.key};
        EXPECT_TRUE(co_await mine.qps[0]->post_receive(mine.core, request));
        ++receives;
      }
      received += co_await mine.receive_cq->sleep(mine.core, *mine.events, done);
      co_await pause(mine.core);
    }
  }

  /// Programs that do something else between their steps, so that each step meets each.
  task<> pause(cpu& on) {
    if (random->below(3) == 0) {
      on.spend(random->below(3'000'000));
      co_await on.sync();
    }
  }

  parameters params;
  std::unique_ptr<system_model> system;
  std::unique_ptr<session> connection;
  std::unique_ptr<random_stream> random;
  unsigned sent = 0;
  unsigned receives = 0;
  unsigned received = 0;
};

TEST_P(event_loops, no_wake_up_is_lost) {
  build({}, GetParam());
  run(1500, 8);
  EXPECT_GT(count(1, counter::MsixSent), 100U) << "it did sleep";
  EXPECT_EQ(count(1, counter::MsixMasked), 0U);
  EXPECT_EQ(count(1, counter::MsixDisabled), 0U);
  EXPECT_EQ(count(1, counter::EqOverruns), 0U);
}

TEST_P(event_loops, nor_with_one_message_at_a_time) {
  build({}, GetParam());
  run(500, 1);
  EXPECT_GT(count(0, counter::MsixSent), 100U);
}

TEST_P(event_loops, nor_when_handlers_take_no_time) {
  params.cpu.interrupt_ps = 0;
  params.cpu.interrupt_handler_ps = 0;
  build({}, GetParam());
  run(1000, 8);
}

TEST_P(event_loops, nor_when_the_handler_runs_on_another_core) {
  session_options options;
  options.interrupt_core = 1;
  build(options, GetParam());
  run(1000, 8);
}

TEST_P(event_loops, nor_with_moderated_events) {
  session_options options;
  options.moderation = {.count = 4, .period_us = 3};
  build(options, GetParam());
  run(1000, 8);
  EXPECT_GT(count(1, counter::CqEventPeriods), 0U);
}

/// Two CQs report to one EQ, each once a round. The peer's message comes a step later in each, so
/// that its event meets every moment of the other's: before its interrupt, while the program takes
/// it, between the program's last look and the arm's arrival at the device, and behind that.
class crossing_events : public event_loops {
 protected:
  static constexpr unsigned Rounds = 120;
  static constexpr ps_t Step = 10'000;

  static work_request message(const session_side& mine) {
    work_request request;
    request.opcode = wqe_opcode::Send;
    request.signaled = true;
    request.add({mine.buffer.address, 64, mine.buffer.key});
    return request;
  }

  static task<> take_one(session_side& mine, completion_queue& queue) {
    completion done;
    EXPECT_EQ(co_await queue.poll(mine.core, std::span(&done, 1)), 1U);
  }

  static task<> receive_one(session_side& mine) {
    receive_request request;
    request.sge_count = 1;
    request.sges[0] = {mine.buffer.address, 64, mine.buffer.key};
    EXPECT_TRUE(co_await mine.qps[0]->post_receive(mine.core, request));
  }

  task<> sleeper() {
    co_await connection->establish(0);
    session_side& mine = connection->side(0);
    std::array<event, 16> events;
    for (; round < Rounds; ++round) {
      co_await receive_one(mine);
      co_await mine.send_cq->arm(mine.core);
      co_await mine.receive_cq->arm(mine.core);
      begin = mine.core.time() + 2'000'000;
      begun = round + 1;
      mine.core.idle_until(begin);
      co_await mine.core.sync();
      EXPECT_TRUE(co_await mine.qps[0]->post_send(mine.core, message(mine)));
      for (unsigned seen = 0; seen < 2;) {
        seen += co_await mine.events->sleep(mine.core, events);
      }
      co_await take_one(mine, *mine.send_cq);
      co_await take_one(mine, *mine.receive_cq);
    }
  }

  task<> peer() {
    co_await connection->establish(1);
    session_side& mine = connection->side(1);
    completion done;
    for (unsigned i = 0; i < Rounds; ++i) {
      co_await receive_one(mine);
      while (begun != i + 1) {
        mine.core.idle_until(mine.core.time() + 100'000);
        co_await mine.core.sync();
      }
      mine.core.idle_until(begin + i * Step);
      co_await mine.core.sync();
      EXPECT_TRUE(co_await mine.qps[0]->post_send(mine.core, message(mine)));
      co_await mine.send_cq->wait(mine.core, std::span(&done, 1));
      co_await mine.receive_cq->wait(mine.core, std::span(&done, 1));
    }
  }

  unsigned round = 0;
  unsigned begun = 0;
  ps_t begin = 0;
};

TEST_F(crossing_events, no_wake_up_is_lost_whenever_the_second_event_comes) {
  params.cpu.interrupt_ps = 50'000;
  params.cpu.interrupt_handler_ps = 20'000;
  build({}, 1);
  core(0).run(sleeper());
  core(1).run(peer());
  // A round takes less than 10 us; the peer would wait for the next one for ever.
  sc_core::sc_start(sc_core::sc_time::from_value(3'000'000'000));
  EXPECT_FALSE(core(0).busy()) << "sleeps for ever in round " << round;
  EXPECT_FALSE(core(1).busy());
  system->check_drained();
}

INSTANTIATE_TEST_SUITE_P(seeds, event_loops, testing::Values(1, 2, 3, 4, 5));

// Moderation --------------------------------------------------------------------------------------

class moderated_loops : public event_loops {};

TEST_F(moderated_loops, a_count_of_16_makes_far_fewer_interrupts) {
  session_options options;
  options.moderation = {.count = 16, .period_us = 200};
  build(options, 3);
  run(640, 32);
  // Without moderation there are more than one for four messages.
  EXPECT_LE(count(1, counter::MsixSent), 640U / 8);
}

TEST_F(moderated_loops, the_period_ends_the_wait_of_a_program_whose_count_never_comes) {
  session_options options;
  options.moderation = {.count = 100, .period_us = 5};
  build(options, 3);
  run(20, 1);
  EXPECT_GE(count(1, counter::CqEventPeriods), 1U);
}

}  // namespace
}  // namespace carillon
