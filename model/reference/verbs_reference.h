// An independent judge of a run: what verbs promise, and nothing of how the NIC keeps it.
//
// It is told what the programs post and what completes, keeps the memory that must result, and
// compares. It knows no packets, no queues in memory, no time: plain C++ over the standard library,
// and no header of the model.
//
// What it holds a run to:
//  * Work of one send queue completes in the order of posting, each work request exactly once;
//    a completion also retires the unsignaled requests before it. After a failure everything
//    completes in error.
//  * Receive work of one queue is used in the order of posting. On a reliable connection the n-th
//    receive completion of a queue pair is the n-th SEND (or WRITE with immediate) of its peer:
//    same bytes, same length, same immediate. Unreliable services may lose, repeat and
//    reorder messages (as a wire does that loses, doubles and swaps packets), not invent or change
//    them.
//  * A WRITE has put its bytes where it said, at the latest when the run is over (an acknowledge
//    tells that the peer has them, not that its memory shows them); a READ has fetched what is
//    there, earlier WRITEs of the same queue pair included.
//  * Atomics on a word form one chain: each saw the value that the one before it left, those of a
//    queue pair in the order of posting, and the word ends with the last one's value.
// Where verbs promise nothing (a READ of bytes that a later request of the queue pair writes,
// bytes that two queue pairs write) it does not compare, and counts that.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace carillon::reference {

enum class operation : std::uint8_t {
  send,
  send_immediate,
  send_invalidate,
  write,
  write_immediate,
  read,
  compare_swap,
  fetch_add,
  local,  ///< nothing that anybody sees: NOP, local invalidation
};

enum class connection_kind : std::uint8_t { reliable, unreliable, datagram };

struct range {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
};

/// A queue pair, or a shared receive queue, of one host.
struct queue_key {
  unsigned host = 0;
  std::uint32_t number = 0;
  bool shared = false;  ///< a shared receive queue

  auto operator<=>(const queue_key&) const = default;
};

struct send_work {
  std::uint64_t id = 0;
  operation what = operation::send;
  bool signaled = true;
  std::vector<std::uint8_t> data;  ///< SEND, WRITE: the bytes at the time of the post
  std::vector<range> local;        ///< READ, atomics: where the answer goes
  std::uint64_t remote_address = 0;
  std::uint32_t immediate = 0;  ///< also the key that a SEND invalidates
  std::uint64_t operand = 0;    ///< what an atomic adds or swaps in
  std::uint64_t compare = 0;
  queue_key to;  ///< of a datagram
  /// WRITE: what was there when it was posted. The judge sets it.
  std::vector<std::uint8_t> before;

  [[nodiscard]] std::uint64_t bytes() const;
};

struct receive_work {
  std::uint64_t id = 0;
  std::vector<range> buffers;
};

/// A completion as the program saw it.
struct outcome {
  std::uint64_t id = 0;
  bool failed = false;
  std::uint32_t bytes = 0;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::uint32_t source = 0;  ///< of a datagram: the sending queue pair
};

struct totals {
  std::uint64_t sends = 0;  ///< work requests that completed well, reported or not
  std::uint64_t receives = 0;
  std::uint64_t failed = 0;  ///< work requests, of either side, that completed in error
  std::uint64_t bytes_compared = 0;
  std::uint64_t bytes_undefined = 0;  ///< verbs promise nothing about them
  std::uint64_t lost = 0;             ///< messages of unreliable services that never arrived
  std::uint64_t repeated = 0;         ///< ... that arrived once more
  std::uint64_t mismatches = 0;
};

class verbs_reference {
 public:
  /// Reads the memory of a host as it is now.
  using memory_reader =
      std::function<void(unsigned host, std::uint64_t address, std::uint8_t* into, std::size_t)>;

  explicit verbs_reference(memory_reader memory);
  ~verbs_reference();
  verbs_reference(const verbs_reference&) = delete;
  verbs_reference& operator=(const verbs_reference&) = delete;

  /// Two queue pairs are connected. A datagram queue pair is announced alone, as its own peer.
  void connect(const queue_key& a, const queue_key& b, connection_kind kind);
  /// The queue pair takes its receive work from a shared queue.
  void share(const queue_key& queue_pair, const queue_key& shared);

  void posted(const queue_key& queue_pair, send_work work);
  void posted(const queue_key& queue, receive_work work);
  void send_completed(const queue_key& queue_pair, const outcome& seen);
  void receive_completed(const queue_key& queue_pair, const outcome& seen);

  /// The program wrote into memory that messages go to.
  void program_wrote(unsigned host, std::uint64_t address, std::uint64_t length);

  /// At the end: what never completed, and all memory.
  void finish();

  [[nodiscard]] const totals& result() const { return totals_; }

  /// The first mismatches in words.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct queue_pair;
  struct receive_queue;
  struct word;
  class shadow;

  void complain(std::string text);
  queue_pair& pair_of(const queue_key& key);
  receive_queue& receives_of(const queue_key& queue_pair);
  void execute(queue_pair& on, const send_work& work);
  void execute_read(queue_pair& on, const send_work& work);
  void execute_atomic(queue_pair& on, const send_work& work);
  void execute_write(queue_pair& on, const send_work& work);
  void scatter_expected(queue_pair& on, unsigned host, const std::vector<range>& into,
                        const std::vector<std::uint8_t>& bytes, const char* what, std::uint64_t id);
  bool matches(const receive_work& work, const send_work& message, const outcome& seen,
               unsigned host, std::uint32_t header) const;
  bool arrived_before(queue_pair& sender, const queue_key& at, const receive_work& work,
                      const outcome& seen, std::uint32_t header);
  void check_chain(unsigned host, std::uint64_t address, word& each);
  [[nodiscard]] std::vector<std::uint8_t> read(unsigned host, std::uint64_t address,
                                               std::size_t length) const;

  memory_reader memory_;
  std::map<queue_key, std::unique_ptr<queue_pair>> pairs_;
  std::map<queue_key, std::unique_ptr<receive_queue>> receives_;
  std::map<unsigned, std::unique_ptr<shadow>> shadows_;
  std::map<std::pair<unsigned, std::uint64_t>, word> words_;
  totals totals_;
  std::vector<std::string> complaints_;
};

}  // namespace carillon::reference
