// What goes into tx_sched: constrained-random work requests, responses, commands, controls and
// virtual ports, such that each is what its neighbour could send.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/items.h"
#include "common/posted_work.h"
#include "common/random.h"
#include "common/ring.h"
#include "common/vport.h"
#include "cosim/coverage.h"

namespace carillon {

class tx_sched_traffic {
 public:
  static constexpr std::uint16_t Functions = 5;

  tx_sched_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover);

  /// None if the QP that was thought of may not send now.
  std::optional<work_item> make_work();
  std::optional<response_item> make_response();
  qp_command make_command();
  std::optional<send_control> make_control();
  vport_table make_ports();
  std::uint8_t make_pause();

  [[nodiscard]] bool more_commands() const { return started_ != queues_.size(); }

  /// Of each QP in turn, at the end: what it has left is forgotten.
  std::optional<qp_command> make_end();

  static void register_queues(posted_work& posted);

  [[nodiscard]] std::size_t queues() const { return queues_.size(); }

  [[nodiscard]] static std::uint32_t number_of(std::size_t at);

  [[nodiscard]] std::uint16_t function_of(std::size_t at) const { return queues_[at].function; }

  /// What was heard of before cycle t counts from now on: within a cycle the order of the sinks
  /// means nothing.
  void catch_up(cycle_t t);

  /// The queue is fetched again from there on.
  void gone_back(cycle_t t, const refetch& item) { gone_back_.push({t, item}); }

  void told(cycle_t t, const sent_packet& note) { told_.push({t, note}); }

  void answered(cycle_t t) { answered_.push(t); }

 private:
  enum class life : std::uint8_t { reset, rts, sqd, error };

  struct queue {
    std::uint16_t function = 0;
    std::uint8_t service = 0;
    std::uint8_t mtu_code = 0;
    life state = life::reset;
    unsigned resets = 0;
    std::uint8_t epoch = 0;       ///< of the works
    std::uint8_t next_epoch = 0;  ///< of the last control
    bool going_back = false;
    bool halted = false;  ///< it goes back once it is told where to
    bool failed = false;  ///< a work request has; nothing more is sent until somebody helps
    std::uint16_t index = 0;
    std::uint32_t psn = 0;  ///< behind the last packet told of
    std::uint32_t acked = 0;
    std::uint32_t least = 0;  ///< bytes of the next message
  };

  template <class T>
  struct heard {
    cycle_t cycle = 0;
    T what;
  };

  void see(const refetch& item);
  void see(const sent_packet& note);

  [[nodiscard]] queue& any() { return queues_[random_.below(queues_.size())]; }

  /// One that cannot go on by itself, if there is one.
  [[nodiscard]] queue& stuck();

  [[nodiscard]] std::uint32_t number_of(const queue& of) const;
  std::uint32_t length_of();
  void see(const queue& from, const work_item& work);
  void reset(queue& of);

  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
  std::vector<queue> queues_;
  std::vector<vport> ports_;
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  ring<heard<refetch>> gone_back_;
  ring<heard<sent_packet>> told_;
  ring<cycle_t> answered_;
  unsigned responses_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace carillon
