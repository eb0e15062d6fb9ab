// The victim's traffic: writes to a peer on the other NIC and reads back, atomics there, messages
// between two of its own QPs, one after the other for as long as it is asked to. Everything that
// comes back is compared with what it must be.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "tb/isolation/tenants.h"

namespace carillon::isolation {

class victim_traffic {
 public:
  victim_traffic(tenant_house& house, std::uint64_t seed);

  /// The peer on the other host: its program.
  task<> serve(cpu& core);

  /// The victim's program, once the house is open: connects, tells it at `ready`, and goes on until
  /// stop().
  task<> run(cpu& core, rendezvous& open, rendezvous& ready);

  void stop() { stopped_ = true; }

  /// The attack goes on. When nobody has said so for long, the traffic stops by itself, so that the
  /// run of a program that waits for ever has an end.
  void hear() { unheard_ = 0; }

  /// The QPs that are busy.
  [[nodiscard]] std::vector<std::uint32_t> qpns() const;

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  /// What was wrong first; empty if nothing.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  task<> connect(cpu& core);
  task<> one_message(cpu& core);
  task<> write_and_read(cpu& core);
  task<> add(cpu& core);
  task<> message(cpu& core);
  task<> finish(cpu& core, std::uint32_t bytes, queue_pair& of);
  void fill(std::uint64_t address, std::uint32_t length);
  void compare(const char* what, const std::vector<std::uint8_t>& is,
               const std::vector<std::uint8_t>& should);
  void fail(std::string what);

  tenant_house& house_;
  random_stream random_;
  rendezvous created_{2};
  rendezvous connected_{2};
  memory_region own_;   ///< first half: what goes out, second half: what comes in
  memory_region peer_;  ///< its last 8 bytes are the counter
  std::unique_ptr<completion_queue> cq_;
  std::unique_ptr<completion_queue> peer_cq_;
  std::unique_ptr<queue_pair> out_;       ///< to the peer
  std::unique_ptr<queue_pair> far_;       ///< the peer's
  std::unique_ptr<queue_pair> talker_;    ///< to the listener
  std::unique_ptr<queue_pair> listener_;  ///< of the victim, too
  std::vector<std::uint8_t> filled_;
  std::uint64_t counter_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t digest_ = 0;
  std::string wrong_;
  unsigned unheard_ = 0;  ///< messages since then
  bool stopped_ = false;
};

}  // namespace carillon::isolation
