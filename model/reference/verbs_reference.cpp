#include "reference/verbs_reference.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "reference/shadow_memory.h"

namespace carillon::reference {

namespace {

constexpr std::size_t MaxComplaints = 20;
constexpr std::uint32_t DatagramHeader = 40;
constexpr std::uint32_t WordBytes = 8;
/// How far back a message may come late or once more.
constexpr std::size_t RecentMessages = 256;

template <class... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 320> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), format, values...);
  return {buffer.data(),
          std::min<std::size_t>(static_cast<std::size_t>(std::max(length, 0)), buffer.size() - 1)};
}

bool writes_remote(const send_work& work) {
  return work.what == operation::write || work.what == operation::write_immediate;
}

bool takes_receive(const send_work& work) {
  return work.what == operation::send || work.what == operation::send_immediate ||
         work.what == operation::send_invalidate || work.what == operation::write_immediate;
}

bool is_atomic(const send_work& work) {
  return work.what == operation::compare_swap || work.what == operation::fetch_add;
}

bool carries_immediate(const send_work& work) {
  return work.what == operation::send_immediate || work.what == operation::write_immediate ||
         work.what == operation::send_invalidate;
}

std::uint64_t host_word(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = WordBytes; i-- > 0;) {
    value = value << 8 | bytes[i];
  }
  return value;
}

bool overlap(std::uint64_t a, std::uint64_t a_length, std::uint64_t b, std::uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}

}  // namespace

std::uint64_t send_work::bytes() const {
  if (is_atomic(*this)) {
    return WordBytes;
  }
  if (what != operation::read) {
    return data.size();
  }
  std::uint64_t sum = 0;
  for (const range& each : local) {
    sum += each.length;
  }
  return sum;
}

struct verbs_reference::queue_pair {
  queue_key key;
  queue_key peer;
  connection_kind kind = connection_kind::reliable;
  queue_key receives;           ///< where its receive work comes from
  std::uint32_t writer = 0;     ///< in the shadow memory
  bool failed = false;          ///< a send work request completed in error
  bool receive_failed = false;  ///< a receive work request did
  std::deque<send_work> outstanding;
  /// What it sent that takes receive work at the peer and was not seen there, in order.
  std::deque<send_work> messages;
  /// Of an unreliable service: the last ones that arrived or were passed over.
  std::deque<std::pair<send_work, bool>> recent;
};

struct verbs_reference::receive_queue {
  std::deque<receive_work> posted;
};

/// What atomics did to one word.
struct verbs_reference::word {
  struct step {
    std::uint32_t writer = 0;
    std::uint64_t id = 0;
    send_work work;
    std::uint64_t original = 0;
  };

  std::uint64_t initial = 0;
  std::vector<step> steps;
  bool uncertain = false;  ///< one failed: nobody knows whether it was executed
};

class verbs_reference::shadow : public shadow_memory {};

verbs_reference::verbs_reference(memory_reader memory) : memory_(std::move(memory)) {}

verbs_reference::~verbs_reference() = default;

void verbs_reference::complain(std::string what) {
  ++totals_.mismatches;
  if (complaints_.size() < MaxComplaints) {
    complaints_.push_back(std::move(what));
  }
}

verbs_reference::queue_pair& verbs_reference::pair_of(const queue_key& key) {
  auto& found = pairs_[key];
  if (found == nullptr) {
    found = std::make_unique<queue_pair>();
    found->key = key;
    found->peer = key;
    found->receives = key;
    found->writer = static_cast<std::uint32_t>(pairs_.size());
  }
  if (shadows_[key.host] == nullptr) {
    shadows_[key.host] = std::make_unique<shadow>();
  }
  return *found;
}

verbs_reference::receive_queue& verbs_reference::receives_of(const queue_key& owner) {
  auto& found = receives_[owner.shared ? owner : pair_of(owner).receives];
  if (found == nullptr) {
    found = std::make_unique<receive_queue>();
  }
  return *found;
}

void verbs_reference::connect(const queue_key& a, const queue_key& b, connection_kind kind) {
  for (const auto& [own, other] : {std::pair{a, b}, std::pair{b, a}}) {
    queue_pair& each = pair_of(own);
    each.peer = other;
    each.kind = kind;
    each.failed = each.receive_failed = false;
    each.outstanding.clear();
    each.messages.clear();
    each.recent.clear();
  }
}

void verbs_reference::share(const queue_key& owner, const queue_key& shared) {
  pair_of(owner).receives = shared;
}

std::vector<std::uint8_t> verbs_reference::read(unsigned host, std::uint64_t address,
                                                std::size_t length) const {
  std::vector<std::uint8_t> bytes(length);
  if (length != 0) {
    memory_(host, address, bytes.data(), length);
  }
  return bytes;
}

void verbs_reference::posted(const queue_key& owner, send_work work) {
  auto& on = pair_of(owner);
  if (is_atomic(work)) {
    const auto [found, fresh] = words_.try_emplace({on.peer.host, work.remote_address});
    if (fresh) {
      found->second.initial = host_word(read(on.peer.host, work.remote_address, WordBytes));
    }
  }
  if (takes_receive(work)) {
    on.messages.push_back(work);
  }
  if (writes_remote(work) && on.kind == connection_kind::reliable) {
    work.before = read(on.peer.host, work.remote_address, work.data.size());
  }
  on.outstanding.push_back(std::move(work));
}

void verbs_reference::posted(const queue_key& queue, receive_work work) {
  receives_of(queue).posted.push_back(std::move(work));
}

// Send queues -------------------------------------------------------------------------------------

void verbs_reference::send_completed(const queue_key& key, const outcome& seen) {
  auto& on = pair_of(key);
  const auto named = std::find_if(on.outstanding.begin(), on.outstanding.end(),
                                  [&](const send_work& each) { return each.id == seen.id; });
  if (named == on.outstanding.end()) {
    complain(text("host %u QP %u: work request %llu completed, but is not outstanding", key.host,
                  key.number, static_cast<unsigned long long>(seen.id)));
    return;
  }
  if (on.failed && !seen.failed) {
    complain(text("host %u QP %u: work request %llu completed well after one that failed", key.host,
                  key.number, static_cast<unsigned long long>(seen.id)));
  }
  while (on.outstanding.front().id != seen.id) {
    const send_work before = std::move(on.outstanding.front());
    on.outstanding.pop_front();
    if (before.signaled || on.failed) {
      complain(text("host %u QP %u: work request %llu was passed over by %llu", key.host,
                    key.number, static_cast<unsigned long long>(before.id),
                    static_cast<unsigned long long>(seen.id)));
    }
    execute(on, before);
  }
  const send_work work = std::move(on.outstanding.front());
  on.outstanding.pop_front();
  if (seen.failed) {
    on.failed = true;
    ++totals_.failed;
    // It may have been executed, or in part.
    if (writes_remote(work)) {
      shadows_[on.peer.host]->forget(work.remote_address, work.data.size());
    } else if (is_atomic(work)) {
      words_[{on.peer.host, work.remote_address}].uncertain = true;
    }
    for (const range& each : work.local) {
      shadows_[key.host]->forget(each.address, each.length);
    }
    return;
  }
  if (!work.signaled) {
    complain(text("host %u QP %u: work request %llu was not signaled and completed well", key.host,
                  key.number, static_cast<unsigned long long>(seen.id)));
  }
  const bool counted = work.what == operation::read || is_atomic(work);
  if (counted && seen.bytes != work.bytes()) {
    complain(text("host %u QP %u: work request %llu reports %u bytes instead of %llu", key.host,
                  key.number, static_cast<unsigned long long>(seen.id), seen.bytes,
                  static_cast<unsigned long long>(work.bytes())));
  }
  execute(on, work);
}

void verbs_reference::execute(queue_pair& on, const send_work& work) {
  ++totals_.sends;
  if (work.what == operation::read) {
    execute_read(on, work);
  } else if (is_atomic(work)) {
    execute_atomic(on, work);
  } else if (writes_remote(work) && on.kind == connection_kind::reliable) {
    execute_write(on, work);
  }
}

/// Its bytes are there or on their way: the peer has acknowledged them, but its memory may not show
/// them yet. So each is the new one or still the one before; what never comes is found at the end.
/// Nothing is compared if a request that was posted later may have changed them.
void verbs_reference::execute_write(queue_pair& on, const send_work& work) {
  const unsigned host = on.peer.host;
  const std::uint64_t address = work.remote_address;
  shadow& there = *shadows_[host];
  std::vector<std::uint8_t> before = work.before;
  there.overlay(on.writer, address, before);
  there.write(on.writer, address, work.data.data(), work.data.size());
  for (const send_work& later : on.outstanding) {
    if (writes_remote(later) &&
        overlap(address, work.data.size(), later.remote_address, later.data.size())) {
      totals_.bytes_undefined += work.data.size();
      return;
    }
  }
  const std::vector<std::uint8_t> found = read(host, address, work.data.size());
  totals_.bytes_compared += found.size();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == work.data[i] || found[i] == before[i] || found[i] == work.before[i]) {
      continue;
    }
    if (!there.contested(address, found.size())) {
      complain(text("host %u QP %u: WRITE %llu: byte %zu of %zu at %#llx is %#04x instead of %#04x",
                    on.key.host, on.key.number, static_cast<unsigned long long>(work.id), i,
                    found.size(), static_cast<unsigned long long>(address), found[i],
                    work.data[i]));
    }
    return;
  }
}

void verbs_reference::scatter_expected(queue_pair& on, unsigned host,
                                       const std::vector<range>& into,
                                       const std::vector<std::uint8_t>& bytes, const char* what,
                                       std::uint64_t id) {
  std::size_t at = 0;
  for (const range& each : into) {
    const std::size_t part = std::min<std::size_t>(each.length, bytes.size() - at);
    const std::vector<std::uint8_t> piece(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                          bytes.begin() + static_cast<std::ptrdiff_t>(at + part));
    const std::vector<std::uint8_t> found = read(host, each.address, part);
    totals_.bytes_compared += part;
    const auto wrong = std::mismatch(found.begin(), found.end(), piece.begin());
    if (wrong.first != found.end()) {
      complain(text("host %u QP %u: %s %llu: byte %zu of %zu at %#llx is %#04x instead of %#04x",
                    on.key.host, on.key.number, what, static_cast<unsigned long long>(id),
                    at + static_cast<std::size_t>(wrong.first - found.begin()), bytes.size(),
                    static_cast<unsigned long long>(each.address), *wrong.first, *wrong.second));
    }
    shadows_[host]->write(on.writer, each.address, piece.data(), part);
    at += part;
    if (at == bytes.size()) {
      break;
    }
  }
}

void verbs_reference::execute_read(queue_pair& on, const send_work& work) {
  const std::uint64_t length = work.bytes();
  for (const send_work& later : on.outstanding) {
    if (writes_remote(later) &&
        overlap(work.remote_address, length, later.remote_address, later.data.size())) {
      totals_.bytes_undefined += length;  // it may or may not have seen that one
      for (const range& each : work.local) {
        shadows_[on.key.host]->forget(each.address, each.length);
      }
      return;
    }
  }
  std::vector<std::uint8_t> expected = read(on.peer.host, work.remote_address, length);
  shadow& there = *shadows_[on.peer.host];
  there.overlay(on.writer, work.remote_address, expected);
  if (there.contested(work.remote_address, length)) {
    totals_.bytes_undefined += length;
    return;
  }
  scatter_expected(on, on.key.host, work.local, expected, "READ", work.id);
}

void verbs_reference::execute_atomic(queue_pair& on, const send_work& work) {
  const std::vector<std::uint8_t> found = read(on.key.host, work.local.at(0).address, WordBytes);
  word::step step;
  step.writer = on.writer;
  step.id = work.id;
  step.work = work;
  step.original = host_word(found);
  words_[{on.peer.host, work.remote_address}].steps.push_back(std::move(step));
  shadows_[on.key.host]->write(on.writer, work.local[0].address, found.data(), found.size());
}

// Receive queues ----------------------------------------------------------------------------------

bool verbs_reference::matches(const receive_work& work, const send_work& message,
                              const outcome& seen, unsigned host, std::uint32_t header) const {
  const bool is_write = writes_remote(message);
  if (seen.bytes != message.data.size() + header ||
      seen.has_immediate != carries_immediate(message) ||
      (seen.has_immediate && seen.immediate != message.immediate)) {
    return false;
  }
  if (is_write) {
    return true;  // its bytes are checked where they were written
  }
  std::size_t at = 0;
  std::uint64_t skip = header;
  for (const range& each : work.buffers) {
    const std::uint64_t begin = std::min<std::uint64_t>(skip, each.length);
    skip -= begin;
    const std::size_t part = std::min<std::size_t>(each.length - begin, message.data.size() - at);
    const std::vector<std::uint8_t> found = read(host, each.address + begin, part);
    if (!std::equal(found.begin(), found.end(),
                    message.data.begin() + static_cast<std::ptrdiff_t>(at))) {
      return false;
    }
    at += part;
  }
  return at == message.data.size();
}

void verbs_reference::receive_completed(const queue_key& key, const outcome& seen) {
  auto& on = pair_of(key);
  auto& queue = receives_of(key);
  // Of a shared queue, work that others took may complete later; it is still in the list.
  auto used = queue.posted.begin();
  if (on.receives.shared) {
    used = std::find_if(queue.posted.begin(), queue.posted.end(),
                        [&](const receive_work& each) { return each.id == seen.id; });
  }
  if (used == queue.posted.end() || used->id != seen.id) {
    complain(text("host %u QP %u: receive %llu completed out of turn", key.host, key.number,
                  static_cast<unsigned long long>(seen.id)));
    return;
  }
  const receive_work work = std::move(*used);
  queue.posted.erase(used);
  if (seen.failed) {
    on.receive_failed = true;
    ++totals_.failed;
    return;
  }
  if (on.receive_failed) {
    complain(text("host %u QP %u: receive %llu completed well after one that failed", key.host,
                  key.number, static_cast<unsigned long long>(seen.id)));
  }
  ++totals_.receives;
  const bool datagram = on.kind == connection_kind::datagram;
  auto& sender =
      datagram ? pair_of({key.host == 0 ? 1U : 0U, seen.source, false}) : pair_of(on.peer);
  const std::uint32_t header = datagram ? DatagramHeader : 0;
  const bool reliable = on.kind == connection_kind::reliable;
  const auto is_it = [&](const send_work& message) {
    return matches(work, message, seen, key.host, header) && (!datagram || message.to == key);
  };
  const auto end =
      reliable && !sender.messages.empty() ? sender.messages.begin() + 1 : sender.messages.end();
  const auto found = std::find_if(sender.messages.begin(), end, is_it);
  if (found == end) {
    if (!reliable && arrived_before(sender, key, work, seen, header)) {
      return;
    }
    if (sender.messages.empty() || !reliable) {
      complain(text("host %u QP %u: receive %llu completed, but nobody sent such a message",
                    key.host, key.number, static_cast<unsigned long long>(seen.id)));
      return;
    }
    const send_work& message = sender.messages.front();
    complain(
        text("host %u QP %u: receive %llu (%u bytes) is not message %llu (%zu bytes) of its "
             "peer, or its bytes are wrong",
             key.host, key.number, static_cast<unsigned long long>(seen.id), seen.bytes,
             static_cast<unsigned long long>(message.id), message.data.size()));
    sender.messages.pop_front();
    return;
  }
  totals_.bytes_compared += found->data.size();
  if (reliable && !writes_remote(*found)) {
    scatter_expected(on, key.host, work.buffers, found->data, "SEND", seen.id);
    totals_.bytes_compared -= found->data.size();  // counted above
  } else if (!reliable) {
    for (const range& each : work.buffers) {
      shadows_[key.host]->forget(each.address, each.length);
    }
  }
  const auto skipped = static_cast<std::size_t>(found - sender.messages.begin());
  totals_.lost += skipped;
  for (std::size_t i = 0; i <= skipped; ++i) {
    if (!reliable) {
      sender.recent.emplace_back(std::move(sender.messages.front()), i == skipped);
    }
    sender.messages.pop_front();
  }
  while (sender.recent.size() > RecentMessages) {
    sender.recent.pop_front();
  }
}

/// The message was overtaken, or has arrived before.
bool verbs_reference::arrived_before(queue_pair& sender, const queue_key& at,
                                     const receive_work& work, const outcome& seen,
                                     std::uint32_t header) {
  for (auto& [message, arrived] : sender.recent) {
    if (matches(work, message, seen, at.host, header) && (header == 0 || message.to == at)) {
      if (arrived) {
        ++totals_.repeated;
      } else {
        --totals_.lost;
        arrived = true;
      }
      for (const range& each : work.buffers) {
        shadows_[at.host]->forget(each.address, each.length);
      }
      return true;
    }
  }
  return false;
}

void verbs_reference::program_wrote(unsigned host, std::uint64_t address, std::uint64_t length) {
  if (const auto found = shadows_.find(host); found != shadows_.end()) {
    found->second->forget(address, length);
  }
}

// The end -----------------------------------------------------------------------------------------

void verbs_reference::check_chain(unsigned host, std::uint64_t address, word& each) {
  if (each.uncertain) {
    return;
  }
  // Each queue pair's own atomics in the order of posting; the next of the chain is one of the
  // heads.
  std::map<std::uint32_t, std::deque<const word::step*>> heads;
  for (const word::step& step : each.steps) {
    heads[step.writer].push_back(&step);
  }
  std::uint64_t value = each.initial;
  for (std::size_t left = each.steps.size(); left != 0; --left) {
    // One that leaves the value as it is goes first: its place is any time while the value holds.
    std::deque<const word::step*>* next = nullptr;
    for (auto& [writer, steps] : heads) {
      if (steps.empty() || steps.front()->original != value) {
        continue;
      }
      const send_work& work = steps.front()->work;
      const bool changes = work.what == operation::fetch_add
                               ? work.operand != 0
                               : work.compare == value && work.operand != value;
      if (next == nullptr || !changes) {
        next = &steps;
      }
    }
    if (next == nullptr) {
      complain(
          text("host %u: the atomics on %#llx form no chain: %zu of %zu are left at value "
               "%#llx, which none of them saw in its turn",
               host, static_cast<unsigned long long>(address), left, each.steps.size(),
               static_cast<unsigned long long>(value)));
      return;
    }
    const send_work& work = next->front()->work;
    if (work.what == operation::fetch_add) {
      value += work.operand;
    } else if (work.compare == value) {
      value = work.operand;
    }
    next->pop_front();
  }
  const std::uint64_t found = host_word(read(host, address, WordBytes));
  totals_.bytes_compared += WordBytes;
  if (found != value) {
    complain(text("host %u: the word at %#llx ends as %#llx instead of %#llx", host,
                  static_cast<unsigned long long>(address), static_cast<unsigned long long>(found),
                  static_cast<unsigned long long>(value)));
  }
}

void verbs_reference::finish() {
  for (auto& [key, each] : pairs_) {
    std::size_t waiting = 0;
    for (send_work& work : each->outstanding) {
      waiting += work.signaled ? 1 : 0;
    }
    if (waiting != 0) {
      complain(text("host %u QP %u: %zu signaled work requests never completed", key.host,
                    key.number, waiting));
    }
    if (each->kind != connection_kind::reliable) {
      totals_.lost += each->messages.size();
    } else if (!each->messages.empty() && !each->failed && each->outstanding.empty()) {
      complain(text("host %u QP %u: %zu messages completed, but the peer never received them",
                    key.host, key.number, each->messages.size()));
    }
  }
  for (auto& [place, each] : words_) {
    shadows_[place.first]->forget(place.second, WordBytes);
    check_chain(place.first, place.second, each);
  }
  for (auto& [host, memory] : shadows_) {
    memory->visit(
        [&, on = host](std::uint64_t address, const std::uint8_t* expected, std::size_t length) {
          const std::vector<std::uint8_t> found = read(on, address, length);
          totals_.bytes_compared += length;
          const auto wrong = std::mismatch(found.begin(), found.end(), expected);
          if (wrong.first != found.end()) {
            complain(text("host %u: at the end the byte at %#llx is %#04x instead of %#04x", on,
                          static_cast<unsigned long long>(
                              address + static_cast<std::uint64_t>(wrong.first - found.begin())),
                          *wrong.first, *wrong.second));
          }
        });
  }
}

}  // namespace carillon::reference
