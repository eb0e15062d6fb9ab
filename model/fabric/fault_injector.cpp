#include "fabric/fault_injector.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "common/clock.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint32_t BitsPerByte = 8;
/// Of a BTH, up to its destination QP: opcode, flags, partition key and the byte that the ICRC does
/// not protect. A flip in there would be refused for other reasons, or not at all.
constexpr std::uint32_t UnprotectedBthBytes = 5;

struct bit_range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  ///< not included

  [[nodiscard]] bool contains(std::uint32_t bit) const { return bit >= begin && bit < end; }
};

/// The bits of which one flip has the effect that is asked for.
bit_range bits_of(corrupt_target target, const frame_item& frame, const parsed_frame& headers) {
  if (target == corrupt_target::fcs) {
    return {0, (frame.length + FcsBytes) * BitsPerByte};
  }
  return {(headers.bth_offset + UnprotectedBthBytes) * BitsPerByte,
          (headers.icrc_offset + IcrcBytes) * BitsPerByte};
}

std::string lane_path(fault_direction direction) {
  return fmt::format("faults.{}", to_string(direction));
}

/// Of a heap whose top is due first; among those due together, what was held first.
constexpr auto DueLater = [](const auto& a, const auto& b) {
  return std::tie(a.due, a.sequence) > std::tie(b.due, b.sequence);
};

}  // namespace

std::string describe(const fault_record& record) {
  constexpr std::array<const char*, FaultActionCount> Done = {"dropped", "corrupted", "duplicated",
                                                              "delayed", "reordered"};
  const std::string bit = record.action == fault_action::corrupt
                              ? fmt::format(" {} bit {}", to_string(record.target), record.bit)
                              : std::string();
  return fmt::format("fault: {}{} (rule {})", Done[static_cast<std::size_t>(record.action)], bit,
                     record.rule);
}

// fault_lane --------------------------------------------------------------------------------------

const parsed_frame& fault_lane::view::headers() {
  if (!headers_) {
    headers_ = parse_frame(frame_.bytes.data() + frame_.offset, frame_.length, icrc_check::trust);
  }
  return *headers_;
}

fault_lane::fault_lane(sim_context& context, const std::vector<fault_rule>& rules,
                       fault_direction direction, wire_port& sender, buffer_pool& buffers,
                       std::vector<fault_observer*>& observers)
    : timed(context.line),
      context_(context),
      direction_(direction),
      sender_(sender),
      buffers_(buffers),
      observers_(observers),
      site_(context.trace.site(lane_path(direction), "wire")),
      delay_(context.trace.intern("fault:delay")),
      reorder_(context.trace.intern("fault:reorder")),
      wire_(context.trace.intern("fault:wire")),
      far_end_(sender.speed()) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].direction == direction || rules[i].direction == fault_direction::both) {
      rules_.push_back({&rules[i],
                        static_cast<std::uint32_t>(i),
                        {context.seed, fmt::format("{}.rule{}", lane_path(direction), i)}});
    }
  }
}

fault_rule_count fault_lane::rule_count(std::size_t rule) const {
  for (const rule_state& each : rules_) {
    if (each.number == rule) {
      return each.count;
    }
  }
  return {};
}

void fault_lane::on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  serve_due(first_bit);
  traveller item;
  item.frame = std::move(frame);
  item.first_bit = first_bit;
  item.last_bit = last_bit;
  item.due = first_bit;
  item.number = ++frames_;
  view seen(item.frame, first_bit - sender_.delay());
  if (rule_state* chosen = choose(seen)) {
    act(*chosen, std::move(item), seen);
  } else {
    serve(std::move(item));
  }
}

bool fault_lane::can_corrupt(const fault_rule& rule, view& seen) {
  if (rule.target == corrupt_target::icrc && !seen.headers().good()) {
    return false;
  }
  return !rule.bit || bits_of(rule.target, seen.frame(), seen.headers()).contains(*rule.bit);
}

bool fault_lane::matches(const fault_rule& rule, view& seen) {
  if (seen.time() < rule.from || seen.time() >= rule.to) {
    return false;
  }
  if (rule.opcodes || rule.psn || rule.qpn) {
    const parsed_frame& headers = seen.headers();
    if (!headers.good() ||
        (rule.opcodes && !rule.opcodes->test(static_cast<std::size_t>(headers.opcode->code))) ||
        (rule.psn && *rule.psn != headers.base.psn) ||
        (rule.qpn && *rule.qpn != headers.base.dest_qpn)) {
      return false;
    }
  }
  return rule.action != fault_action::corrupt || can_corrupt(rule, seen);
}

bool fault_lane::selects(rule_state& state, view& seen) {
  const fault_rule& rule = *state.rule;
  if (!matches(rule, seen) || ++state.seen % rule.every != 0) {
    return false;
  }
  constexpr unsigned Spare = 64 - 53;  // the low bits of a draw are more than a probability has
  if (rule.chance && state.random.next() >> Spare >= *rule.chance) {
    return false;
  }
  ++state.left;
  if (rule.nth.empty()) {
    return true;
  }
  if (state.next_nth < rule.nth.size() && rule.nth[state.next_nth] == state.left) {
    ++state.next_nth;
    return true;
  }
  return false;
}

fault_lane::rule_state* fault_lane::choose(view& seen) {
  rule_state* chosen = nullptr;
  for (rule_state& each : rules_) {
    if (!selects(each, seen)) {
      continue;
    }
    ++each.count.matched;
    if (chosen == nullptr && each.count.applied < each.rule->count) {
      ++each.count.applied;
      chosen = &each;
    }
  }
  return chosen;
}

void fault_lane::report(const rule_state& chosen, const traveller& item, view& seen,
                        std::uint32_t bit) {
  fault_record record;
  record.time = seen.time();
  record.direction = direction_;
  record.frame = item.number;
  record.rule = chosen.number;
  record.action = chosen.rule->action;
  if (const parsed_frame& headers = seen.headers(); headers.good()) {
    record.opcode = headers.opcode;
    record.psn = headers.base.psn;
    record.dest_qpn = headers.base.dest_qpn;
  }
  record.target = chosen.rule->target;
  record.bit = bit;
  ++counts_[static_cast<std::size_t>(record.action)];
  sender_.tell_fate(describe(record));
  for (fault_observer* each : observers_) {
    each->on_fault(record);
  }
}

void fault_lane::act(rule_state& chosen, traveller&& item, view& seen) {
  const fault_rule& rule = *chosen.rule;
  std::uint32_t bit = 0;
  if (rule.action == fault_action::corrupt) {
    const bit_range range = bits_of(rule.target, item.frame, seen.headers());
    bit = rule.bit.value_or(
        range.begin + static_cast<std::uint32_t>(chosen.random.below(range.end - range.begin)));
  }
  report(chosen, item, seen, bit);
  switch (rule.action) {
    case fault_action::drop:
      return;
    case fault_action::corrupt:
      flip(item.frame, bit, rule.target);
      serve(std::move(item));
      return;
    case fault_action::duplicate: {
      traveller copy = item;
      copy.copy = true;
      copy.frame.trace = {};
      own(copy.frame);
      copy.due += rule.by;
      serve(std::move(item));
      if (rule.by == 0) {
        serve(std::move(copy));
      } else {
        hold(std::move(copy), fault_action::duplicate);
      }
      return;
    }
    case fault_action::delay:
      item.due += rule.by;
      hold(std::move(item), fault_action::delay);
      return;
    case fault_action::reorder:
      item.due += rule.by != 0 ? rule.by : fault_rule::DefaultHold;
      item.behind = rule.behind;
      hold(std::move(item), fault_action::reorder);
      return;
  }
}

void fault_lane::own(frame_item& frame) {
  buffer_ref copy = buffers_.take();
  std::memcpy(copy.data() + frame.offset, frame.bytes.data() + frame.offset, frame.length);
  frame.bytes = std::move(copy);
}

void fault_lane::flip(frame_item& frame, std::uint32_t bit, corrupt_target target) {
  const std::uint32_t byte = bit / BitsPerByte;
  if (byte < frame.length) {
    own(frame);
    frame.bytes.data()[frame.offset + byte] ^= static_cast<std::uint8_t>(1U << (bit % BitsPerByte));
  } else {
    frame.fcs ^= 1U << (bit - frame.length * BitsPerByte);
  }
  frame.fcs_known = false;
  frame.icrc_known = false;
  if (target == corrupt_target::icrc) {
    frame.fcs = fcs_of_frame(frame.bytes.data() + frame.offset, frame.length);
  }
}

void fault_lane::hold(traveller&& item, fault_action why) {
  item.held = why;
  item.sequence = sequence_++;
  context_.line.at(item.due, *this);
  if (why == fault_action::reorder) {
    overtaken_.push_back(std::move(item));
    return;
  }
  late_.push_back(std::move(item));
  std::push_heap(late_.begin(), late_.end(), DueLater);
}

void fault_lane::on_time(ps_t now, std::uint64_t /*what*/) {
  serve_due(now);
}

void fault_lane::serve_due(ps_t time) {
  while (held() != 0) {
    const auto first =
        std::max_element(overtaken_.begin(), overtaken_.end(), DueLater);  // the one due first
    const bool from_overtaken =
        first != overtaken_.end() && (late_.empty() || DueLater(late_.front(), *first));
    if ((from_overtaken ? first->due : late_.front().due) > time) {
      return;
    }
    traveller next;
    if (from_overtaken) {
      next = std::move(*first);
      overtaken_.erase(first);
    } else {
      std::pop_heap(late_.begin(), late_.end(), DueLater);
      next = std::move(late_.back());
      late_.pop_back();
    }
    serve(std::move(next));
  }
}

void fault_lane::serve(traveller&& item) {
  const frame_serializer::slot place = far_end_.take(item.due, item.frame.length);
  // Rounded to whole picoseconds, a slot may end a picosecond before the frame could.
  const ps_t last_bit = std::max(place.last_bit, item.last_bit);
  ps_t explained = item.last_bit;
  if (item.held == fault_action::delay) {
    explained += item.due - item.first_bit;
    item.frame.trace =
        context_.trace.wait(item.frame.trace, site_, delay_, item.last_bit, explained);
  } else if (item.held == fault_action::reorder) {
    explained = last_bit;
    item.frame.trace =
        context_.trace.wait(item.frame.trace, site_, reorder_, item.last_bit, explained);
  }
  item.frame.trace =
      context_.trace.wait(item.frame.trace, site_, wire_, explained, std::max(explained, last_bit));
  sender_.deliver(std::move(item.frame), place.first_bit, std::max(explained, last_bit));
  if (item.copy) {
    return;
  }
  for (traveller& each : overtaken_) {
    each.behind -= each.behind != 0 && each.number < item.number ? 1 : 0;
  }
  while (true) {
    const auto ready = std::find_if(overtaken_.begin(), overtaken_.end(),
                                    [](const traveller& each) { return each.behind == 0; });
    if (ready == overtaken_.end()) {
      return;
    }
    traveller next = std::move(*ready);
    overtaken_.erase(ready);
    next.due = item.due;  // right behind the last one that it had to let pass
    serve(std::move(next));
  }
}

// fault_injector ----------------------------------------------------------------------------------

fault_injector::fault_injector(sim_context& context, std::vector<fault_rule> rules,
                               buffer_pool& buffers)
    : context_(context), rules_(std::move(rules)), buffers_(buffers) {}

void fault_injector::insert(fault_direction direction, wire_port& sender) {
  const auto index = static_cast<std::size_t>(direction);
  CARILLON_CHECK(index < FaultDirectionCount && lanes_[index] == nullptr,
                 "faults: {} is no direction, or has its lane", to_string(direction));
  lanes_[index] =
      std::make_unique<fault_lane>(context_, rules_, direction, sender, buffers_, observers_);
  sender.insert(*lanes_[index]);
}

fault_counts fault_injector::counts(fault_direction direction) const {
  fault_counts sum{};
  for (std::size_t i = 0; i < FaultDirectionCount; ++i) {
    if (lanes_[i] == nullptr ||
        (direction != fault_direction::both && static_cast<std::size_t>(direction) != i)) {
      continue;
    }
    for (std::size_t action = 0; action < FaultActionCount; ++action) {
      sum[action] += lanes_[i]->counts()[action];
    }
  }
  return sum;
}

fault_rule_count fault_injector::rule_count(std::size_t rule) const {
  fault_rule_count sum;
  for (const auto& lane : lanes_) {
    if (lane != nullptr) {
      const fault_rule_count own = lane->rule_count(rule);
      sum.matched += own.matched;
      sum.applied += own.applied;
    }
  }
  return sum;
}

void fault_injector::check_drained() const {
  for (const auto& lane : lanes_) {
    CARILLON_CHECK(lane == nullptr || lane->held() == 0,
                   "faults: {} frames are still held back at the end of the run", lane->held());
  }
}

}  // namespace carillon
