// Told of what programs ask of the verbs and what they get: for a judge beside the run. It changes
// nothing and takes no simulated time.
#pragma once

#include <cstdint>

namespace carillon {

class queue_pair;
class shared_receive_queue;
struct completion;
struct page_list;
struct queue_pair_address;
struct receive_request;
struct work_request;

class verbs_observer {
 public:
  virtual ~verbs_observer() = default;

  /// The queue pair goes to RTR: its peer is known (of UD: nothing is).
  virtual void on_connect(const queue_pair& own, const queue_pair_address& peer) = 0;
  /// Before the doorbell.
  virtual void on_post(const queue_pair& own, const work_request& request) = 0;
  virtual void on_post(const queue_pair& own, const receive_request& request) = 0;
  virtual void on_post(const shared_receive_queue& own, const receive_request& request) = 0;
  /// The program has it.
  virtual void on_completion(const queue_pair& own, const completion& entry) = 0;
  /// Virtual addresses over pages that lie anywhere.
  virtual void on_register(const page_list& pages, std::uint64_t length) = 0;
};

}  // namespace carillon
