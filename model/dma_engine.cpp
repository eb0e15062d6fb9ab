#include "dma_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/tlp_codec.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::dma_engine;

constexpr std::size_t Nobody = ~std::size_t{0};

/// Payload bytes of a write: whole dwords from the one that holds its first byte on.
std::uint32_t whole_dwords(std::uint64_t address, std::uint32_t bytes) {
  return (static_cast<std::uint32_t>(address & 3) + bytes + 3) & ~3U;
}

}  // namespace

dma_engine::dma_engine(const sc_core::sc_module_name& name, nic_shared& nic, ports connected)
    : stage(name, nic.context, "dma_engine"),
      timed(nic.context.line),
      nic_(nic),
      link_(connected.link),
      answers_(std::move(connected.answers)),
      completions_(connected.completions),
      functions_(connected.functions),
      errors_(connected.errors),
      tags_(static_cast<std::size_t>(nic.context.params.pcie.tags),
            static_cast<ps_t>(nic.context.params.pcie.completion_timeout_ps)),
      fence_client_(Nobody),
      link_reason_(nic.context.trace.intern("link")),
      timeout_reason_(nic.context.trace.intern("completion_timeout")),
      reset_reason_(nic.context.trace.intern("function_reset")) {
  // The sources' states are referred to by the port monitor: they must not move any more.
  reads_.reserve(connected.reads.size());
  writes_.reserve(connected.writes.size());
  for (read_client& client : connected.reads) {
    const trace_site booked = nic.context.trace.site(path(), client.row);
    read_source& source =
        reads_.emplace_back(read_source{client.requests, client.done, booked, {}});
    client.requests.to(*this, booked);
    client.done.from(*this, booked);
    watch(client.requests, {because("fence", source.state, blocked::fence),
                            because("splitting", source.state, blocked::splitting),
                            because("order", source.state, blocked::older),
                            because("link", source.state, blocked::link),
                            because("arbiter", source.state, blocked::turn),
                            because("pcie_credit", source.state, blocked::credits),
                            because("pcie_tag", source.state, blocked::tags)});
  }
  for (write_client& client : connected.writes) {
    const trace_site booked = nic.context.trace.site(path(), client.row);
    if (client.row == "responder") {
      fence_client_ = writes_.size();
    }
    const bool relaxed = client.may_relax && nic.context.params.pcie.relaxed_ordering;
    write_source& source = writes_.emplace_back(write_source{client.requests, booked, relaxed, {}});
    client.requests.to(*this, booked);
    watch(client.requests, {because("splitting", source.state, blocked::splitting),
                            because("order", source.state, blocked::older),
                            because("link", source.state, blocked::link),
                            because("arbiter", source.state, blocked::turn),
                            because("pcie_credit", source.state, blocked::credits)});
  }
  for (auto* answers : answers_) {
    answers->to(*this, site());
    watch(*answers, {because("link", answer_state_, blocked::link),
                     because("arbiter", answer_state_, blocked::turn),
                     because("pcie_credit", answer_state_, blocked::credits)});
  }
  completions_.to(*this, site());
  watch(completions_, {});
  errors_.from(*this, site());
  functions_.wakes(*this);
}

blocker dma_engine::because(std::string name, const verdict& state, blocked why) {
  return blocker::condition(
      std::move(name), [&state, why](cycle_t t) { return state.cycle == t && state.why == why; });
}

void dma_engine::on_credits() {
  if (credits_short_) {
    wake(context_.clock.entry(now_ps()));
  }
}

void dma_engine::evaluate(cycle_t t) {
  if (completions_.takeable(t)) {
    receive(t);
  }
  if (tags_.overdue(time_of(t))) {
    give_up(t);
  }
  if (functions_.read(t).resets != resets_seen_ || aborting_) {
    abort(t);
  }
  transmit(t);
  send_report(t);
  set_timer();
}

// Receiving ---------------------------------------------------------------------------------------

void dma_engine::receive(cycle_t t) {
  const unsigned beats = completions_.front_beats();
  const read_completion item = completions_.take(t);
  const read_tags::verdict kind = tags_.judge(item);
  if (kind == read_tags::verdict::unexpected) {
    nic_.counters.add(counter::PcieRxUnexpectedCompletions);
    report(0, pcie_error_kind::unexpected_completion);
    return;
  }
  read_tags::flight& read = tags_[item.tag];
  read_group& group = groups_[read.group];
  dma_status status = dma_status::ok;
  std::uint32_t settled = read.missing;
  if (kind == read_tags::verdict::failed) {
    status = item.status == static_cast<std::uint8_t>(completion_status::CompleterAbort)
                 ? dma_status::completer_abort
                 : dma_status::unsupported_request;
    report(group.function, status == dma_status::completer_abort ? pcie_error_kind::aborted
                                                                 : pcie_error_kind::refused);
  } else {
    settled = data_bytes(item);
    if (item.poisoned) {
      status = dma_status::poisoned;
      report(group.function, pcie_error_kind::poisoned_completion);
    } else {
      std::memcpy(group.into.data() + read.offset, item.data.data() + (item.lower_address & 3U),
                  settled);
    }
  }
  if (group.status == dma_status::ok) {
    group.status = status;
  }
  read.offset += settled;
  read.lower_address = (read.lower_address + settled) & 0x7f;
  read.missing -= settled;
  if (read.missing == 0) {
    tags_.release(item.tag);
  }
  settle(t, read.group, settled, item.trace, beats);
}

void dma_engine::settle(cycle_t t, std::uint32_t group_index, std::uint32_t bytes, trace_ref trace,
                        unsigned beats) {
  read_group& group = groups_[group_index];
  group.missing -= bytes;
  if (group.missing != 0) {
    return;
  }
  stream<dma_read_done>& answers = reads_[group.client].done;
  dma_read_done done;
  done.trace = trace;
  done.cookie = group.cookie;
  done.status = group.status;
  if (group.status != dma_status::ok) {
    nic_.counters.add(counter::DmaErrors);
  }
  CARILLON_CHECK(answers.has_credit(t), "{}: {} has no slot for a response it asked for, cycle {}",
                 path(), answers.name(), t);
  // Only behind the answer to a read that was given up the port may be taken.
  const cycle_t visible = std::max(t + beats - 1 + spec::ResponseHop, answers.port_free());
  done.data = std::move(group.into);
  answers.push(t, static_cast<unsigned>(visible - t), std::move(done));
  free_groups_.push_back(group_index);
}

// Time-out ----------------------------------------------------------------------------------------

/// One request a cycle.
void dma_engine::give_up(cycle_t t) {
  const std::uint16_t tag = tags_.oldest();
  const ps_t sent = tags_.since(tag);
  tags_.give_up(tag, time_of(t));
  const read_tags::flight& read = tags_[tag];
  nic_.counters.add(counter::DmaTimeouts);
  read_group& group = groups_[read.group];
  if (group.status == dma_status::ok) {
    group.status = dma_status::timeout;
  }
  report(group.function, pcie_error_kind::completion_timeout);
  const trace_ref history =
      context_.trace.wait(read.trace, reads_[group.client].site, timeout_reason_, sent, time_of(t));
  settle(t, read.group, read.missing, history, 1);
  if (tags_.overdue(time_of(t + 1))) {
    wake(t + 1);
  }
}

/// There is one timer, for the request that left first; it is not moved when that is answered.
void dma_engine::set_timer() {
  ps_t next = tags_.next_overdue();
  if (read_why_ == blocked::tags) {
    next = std::min(next, tags_.next_rested());
  }
  if (next < timer_) {
    timer_ = std::max(next, now_ps());
    context_.line.timer(timer_, *this);
  }
}

void dma_engine::on_time(ps_t now, std::uint64_t /*what*/) {
  if (now != timer_) {
    return;  // an earlier one was set since
  }
  timer_ = NeverPs;
  const bool tag_rested = read_why_ == blocked::tags && tags_.next_rested() <= now;
  if (tags_.next_overdue() <= now || tag_rested) {
    wake(context_.clock.entry(now));
  } else {
    set_timer();
  }
}

// Transmitting ------------------------------------------------------------------------------------

void dma_engine::transmit(cycle_t t) {
  credits_short_ = false;
  dropped_ = false;
  write_why_ = blocked::none;
  read_why_ = blocked::none;
  const ps_t next_edge = time_of(t + 1);
  const bool link_busy = link_.free_at() >= next_edge;
  bool sent = false;
  if (!link_busy) {
    sent = send_answer(t);
    const bool writes_first = writes_turn_;
    if (!sent) {
      sent = writes_first ? send_write(t) : send_read(t);
    }
    if (!sent) {
      sent = writes_first ? send_read(t) : send_write(t);
    }
  }
  explain_inputs(t, link_busy || link_.free_at() >= next_edge, sent || dropped_);
  bool waiting = read_.active || write_.active;
  for (const auto* answers : answers_) {
    waiting = waiting || answers->takeable(t) || answers->next_take() <= t + 1;
  }
  for (const auto& source : reads_) {
    waiting = waiting || source.requests.takeable(t);
  }
  for (const auto& source : writes_) {
    waiting = waiting || source.requests.takeable(t);
  }
  if (!waiting) {
    return;
  }
  if (dropped_) {
    wake(t + 1);
  } else if (sent || link_busy) {
    // The first cycle in which the serializer becomes free before the next edge.
    wake(std::max(t + 1, link_.free_at() / context_.clock.period()));
  }
  // Otherwise credits or tags are short: their return wakes this stage.
}

bool dma_engine::send_answer(cycle_t t) {
  for (auto* answers : answers_) {
    if (!answers->takeable(t)) {
      continue;
    }
    const std::uint16_t length = answers->front().length;
    const bool ok = answers->front().status == 0 && !answers->front().without_data;
    if (!link_.can_send(tlp_class::completion, ok ? length : 0)) {
      credits_short_ = true;
      continue;
    }
    mmio_answer item = answers->take(t);
    cycle_t since = t;
    std::uint64_t last_tlp = 0;
    tlp* packet = prepare(item.trace, site(), since, last_tlp, t);
    make_completion(*packet, functions_.read(t).routing_id(item.function), item.requester, item.tag,
                    static_cast<completion_status>(item.status), length, item.lower_address,
                    item.data.data(), ok ? length : 0);
    link_.send(packet);
    return true;
  }
  return false;
}

// The source that was served in this cycle is not one of them: what stands behind the item taken is
// nobody's rival before the next cycle, whether or not the stream knows it yet.
template <class Source>
std::size_t dma_engine::oldest(const std::vector<Source>& sources, cycle_t t) const {
  std::size_t found = Nobody;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& requests = sources[i].requests;
    if (!requests.empty() && !requests.taken_in(t) && requests.front_visible() <= t &&
        (found == Nobody || requests.front_visible() < sources[found].requests.front_visible()) &&
        !fenced(sources[i], t)) {
      found = i;
    }
  }
  return found;
}

bool dma_engine::fenced(const read_source& source, cycle_t t) const {
  const auto& requests = source.requests;
  return !requests.empty() && requests.front_visible() <= t &&
         requests.front().writes_before > fence_writes_;
}

bool dma_engine::send_write(cycle_t t) {
  const function_map& map = functions_.read(t);
  const std::uint32_t mps = std::min<std::uint32_t>(
      static_cast<std::uint32_t>(context_.params.pcie.mps), map.max_payload);
  std::uint64_t address = 0;
  std::uint32_t left = 0;
  std::size_t client = Nobody;
  if (write_.active) {
    address = write_.item.address + write_.sent;
    left = write_.item.length - write_.sent;
  } else {
    client = oldest(writes_, t);
    // While the beats of the request before it still come in, the oldest keeps its place and the
    // others wait.
    if (client == Nobody || !writes_[client].requests.takeable(t)) {
      return false;
    }
    if (!map.masters(writes_[client].requests.front().function)) {
      drop_write(writes_[client].requests.take(t), client);
      dropped_ = true;
      return false;
    }
    address = writes_[client].requests.front().address;
    left = writes_[client].requests.front().length;
  }
  const std::uint32_t bytes = next_request(address, left, mps);
  if (!link_.can_send(tlp_class::posted, whole_dwords(address, bytes))) {
    credits_short_ = true;
    if (write_why_told_ != blocked::credits) {
      nic_.counters.add(counter::DmaCreditWaits);
    }
    write_why_told_ = write_why_ = blocked::credits;
    return false;
  }
  if (!write_.active) {
    write_.active = true;
    write_.client = client;
    write_.item = writes_[client].requests.take(t);
    write_.sent = 0;
    write_.since = t;
    nic_.counters.add(counter::DmaWrites);
    nic_.counters.add(counter::DmaWriteBytes, write_.item.length);
  }
  dma_write& item = write_.item;
  tlp* packet = prepare(item.trace, writes_[write_.client].site, write_.since, write_.last_tlp, t);
  make_memory_write(*packet, map.routing_id(item.function), address,
                    item.from.data() + item.from_offset + write_.sent, bytes);
  write_.sent += bytes;
  const bool last = write_.sent == item.length;
  // What completes a message is visible after all of it.
  if (writes_[write_.client].relaxed && map.relaxed_ordering &&
      !(last && item.point != milestone::count_)) {
    set_relaxed_ordering(*packet);
  }
  if (last) {
    fence_writes_ += write_.client == fence_client_ ? 1 : 0;
    packet->point = item.point;
    packet->point_last = item.point_last;
    write_.active = false;
    write_.item.from.reset();
  }
  link_.send(packet);
  write_why_told_ = blocked::none;
  writes_turn_ = false;
  return true;
}

dma_engine::blocked dma_engine::start_read(cycle_t t) {
  const std::size_t client = oldest(reads_, t);
  if (client == Nobody || !reads_[client].requests.takeable(t)) {
    return blocked::none;
  }
  if (!functions_.read(t).masters(reads_[client].requests.front().function)) {
    refuse_read(t, client);
    dropped_ = true;
    return blocked::none;
  }
  if (const blocked why = read_blocked(t); why != blocked::none) {
    return why;
  }
  dma_read item = reads_[client].requests.take(t);
  CARILLON_CHECK(item.length != 0, "{}: a read of no bytes, in cycle {}", path(), t);
  const std::uint32_t group = make_group(client, item);
  read_ = {true,       client, group, item.function, item.address, item.into_offset, item.length,
           item.trace, t,      0};
  nic_.counters.add(counter::DmaReads);
  nic_.counters.add(counter::DmaReadBytes, item.length);
  return blocked::none;
}

std::uint32_t dma_engine::make_group(std::size_t client, dma_read& item) {
  if (free_groups_.empty()) {
    free_groups_.push_back(static_cast<std::uint32_t>(groups_.size()));
    groups_.emplace_back();
  }
  const std::uint32_t group = free_groups_.back();
  free_groups_.pop_back();
  groups_[group] = {client,      item.function, item.cookie, std::move(item.into),
                    item.length, dma_status::ok};
  return group;
}

dma_engine::blocked dma_engine::read_blocked(cycle_t t) {
  if (!tags_.available(time_of(t), functions_.read(t).tags)) {
    return blocked::tags;
  }
  if (!link_.can_send(tlp_class::non_posted, 0)) {
    credits_short_ = true;
    return blocked::credits;
  }
  return blocked::none;
}

bool dma_engine::send_read(cycle_t t) {
  read_why_ = read_.active ? read_blocked(t) : start_read(t);
  if (read_why_ != blocked::none) {
    if (read_why_ != read_why_told_) {
      nic_.counters.add(read_why_ == blocked::tags ? counter::DmaTagWaits
                                                   : counter::DmaCreditWaits);
    }
    read_why_told_ = read_why_;
    return false;
  }
  if (!read_.active) {
    return false;
  }
  read_why_told_ = blocked::none;
  const function_map& map = functions_.read(t);
  const std::uint32_t mrrs =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(context_.params.pcie.mrrs), map.max_read);
  const std::uint32_t bytes = next_request(read_.address, read_.remaining, mrrs);
  tlp* packet = prepare(read_.trace, reads_[read_.client].site, read_.since, read_.last_tlp, t);
  const std::uint16_t tag =
      tags_.take(time_of(t), {read_.group, read_.offset, bytes,
                              static_cast<std::uint8_t>(read_.address & 0x7f), packet->trace});
  make_memory_read(*packet, map.routing_id(read_.function), tag, read_.address, bytes);
  link_.send(packet);
  read_.address += bytes;
  read_.offset += bytes;
  read_.remaining -= bytes;
  read_.active = read_.remaining != 0;
  writes_turn_ = true;
  return true;
}

tlp* dma_engine::prepare(trace_ref& history, const trace_site& booked, cycle_t& since,
                         std::uint64_t& last_tlp, cycle_t t) {
  tlp* packet = nic_.tlps.take();
  packet->row = booked.row;
  // Behind its own TLPs a request is on its way; behind another's it waits.
  history = last_tlp == sent_
                ? context_.trace.flight(history, booked, time_of(since), time_of(t))
                : context_.trace.wait(history, booked, link_reason_, time_of(since), time_of(t));
  packet->trace = history;
  since = t;
  last_tlp = ++sent_;
  return packet;
}

void dma_engine::explain_inputs(cycle_t t, bool link_busy, bool sent) {
  const auto reason = [&](bool held, bool splitting, bool is_oldest, blocked own) {
    if (held) {
      return blocked::fence;
    }
    if (splitting) {
      return blocked::splitting;
    }
    if (!is_oldest) {
      return blocked::older;
    }
    if (own != blocked::none) {
      return own;
    }
    // Without any of these it could have moved: then there is no reason, and the port's monitor
    // says so.
    return link_busy ? blocked::link : sent ? blocked::turn : blocked::none;
  };
  const std::size_t oldest_read = oldest(reads_, t);
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    reads_[i].state = {reason(fenced(reads_[i], t), read_.active, i == oldest_read, read_why_), t};
  }
  const std::size_t oldest_write = oldest(writes_, t);
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    writes_[i].state = {reason(false, write_.active, i == oldest_write, write_why_), t};
  }
  answer_state_ = {credits_short_ ? blocked::credits
                   : link_busy    ? blocked::link
                   : sent         ? blocked::turn
                                  : blocked::none,
                   t};
}

}  // namespace carillon
