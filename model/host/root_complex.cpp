#include "host/root_complex.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "common/clock.h"
#include "common/error.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

constexpr std::uint16_t Tags = 256;

std::array<flow_credits, 3> advertised(const parameters& params) {
  const auto credits = [](std::uint64_t header, std::uint64_t data) {
    return flow_credits{static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(data)};
  };
  // Completions are infinite: whoever reads has room for the answer.
  return {credits(params.pcie.rc_credits_ph, params.pcie.rc_credits_pd),
          credits(params.pcie.rc_credits_nph, params.pcie.rc_credits_npd), flow_credits{}};
}

/// "<host>.root_complex" -> "<host>.<part>".
std::string part_of_host(const std::string& own, const char* part) {
  const std::size_t dot = own.rfind('.');
  return (dot == std::string::npos ? std::string() : own.substr(0, dot + 1)) + part;
}

}  // namespace

root_complex::root_complex(const sc_core::sc_module_name& name, sim_context& context,
                           host_memory& memory, tlp_pool& tlps)
    : sc_core::sc_module(name),
      timed(context.line),
      port("port", context, advertised(context.params)),
      context_(context),
      memory_(memory),
      tlps_(tlps),
      self_(context.trace.site(this->name(), "")),
      port_place_(context.trace.intern(port.name())),
      memory_place_(context.trace.intern(part_of_host(this->name(), "memory"))),
      memory_busy_(context.trace.intern("memory_bandwidth")),
      posted_order_(context.trace.intern("order")),
      link_(context.trace.intern("link")),
      fault_(context.trace.intern("fault")),
      egress_(context, port, self_.place),
      faults_(context.trace, context.seed, this->name()),
      random_(context.seed, std::string(this->name()) + ".completions"),
      outstanding_(Tags),
      // Gb/s over 8000 are bytes per ps.
      memory_pipe_(pcie_rate{static_cast<std::uint64_t>(context.params.host.memory_gbps), 8000}) {
  port.listen(*this);
  const parameters& params = context.params;
  far_memory_ = socket_link::memory_is_far(params);
  far_cores_ = socket_link::cores_are_far(params);
  if (far_memory_ || far_cores_) {
    sockets_ = std::make_unique<socket_link>(context, part_of_host(this->name(), "socket_link"));
  }
  if (!params.host.pinned) {
    page_faults_ = std::make_unique<page_faults>(context, part_of_host(this->name(), "page_fault"));
  }
  if (params.iommu.enabled) {
    iommu_ = std::make_unique<iommu>(context, part_of_host(this->name(), "iommu"));
  }
  if (params.host.llc_bytes != 0) {
    cache_ = std::make_unique<last_level_cache>(params);
    memory.cache = cache_.get();
  }
}

void root_complex::add_window(std::uint64_t base, std::uint64_t length) {
  CARILLON_CHECK(length != 0 && base + (length - 1) >= base, "{}: a window of {} bytes at {:#x}",
                 this->name(), length, base);
  windows_.push_back({base, base + (length - 1)});
}

void root_complex::add_interrupt_window(std::uint64_t base, std::uint64_t length,
                                        message_listener& listener) {
  interrupt_window_ = {base, base + (length - 1)};
  messages_ = &listener;
}

bool root_complex::inside(const byte_range& range) const {
  // A read of zero length still has an address.
  const std::uint64_t last = range.address + std::max(range.bytes, 1U) - 1;
  return std::any_of(windows_.begin(), windows_.end(), [&](const window& each) {
    return range.address >= each.first && last <= each.last;
  });
}

void root_complex::fail_reads(std::uint64_t address, std::uint64_t length, read_fault fault,
                              std::uint64_t count) {
  read_fault_rule rule;
  rule.fault = fault;
  rule.first = address;
  rule.last = address + (length - 1);
  rule.count = count;
  faults_.add(rule);
}

// Upstream: requests of the device ----------------------------------------------------------------

void root_complex::on_tlp(tlp* packet) {
  // Told ahead of the arrival; arrivals are in order, so everything can be planned here.
  const ps_t arrived = packet->last_symbol;
  packet->trace = context_.trace.flight(packet->trace, {port_place_, packet->row},
                                        packet->first_symbol, arrived);
  const tlp_header header = decode(*packet);
  if (!header.valid() ||
      packet->payload_bytes > static_cast<std::uint64_t>(context_.params.pcie.mps)) {
    ++stats_.malformed;
    discard(packet, arrived);
    return;
  }
  switch (header.kind) {
    case tlp_kind::memory_read:
      take_read(packet, header, arrived);
      break;
    case tlp_kind::memory_write:
      take_write(packet, header, arrived);
      break;
    case tlp_kind::completion:
      take_completion(packet, header, arrived);
      break;
    default:
      refuse(packet, header, arrived);
      break;
  }
}

void root_complex::drop(tlp* packet) {
  port.consumed(packet->flow, packet->payload_bytes);
  packet->release();
}

/// Drops it when it has arrived.
void root_complex::discard(tlp* packet, ps_t arrived) {
  discards_.push(packet);
  at(arrived, work::discard);
}

/// When the memory takes a request that could enter it at `ready`.
ps_t root_complex::way_in() const {
  return static_cast<ps_t>(context_.params.host.root_complex_ps) - way_out();
}

ps_t root_complex::way_out() const {
  return static_cast<ps_t>(context_.params.host.root_complex_ps) / 2;
}

ps_t root_complex::memory_slot(tlp* packet, ps_t ready, std::uint64_t bytes) {
  const ps_t begin = memory_pipe_.take(ready, bytes);
  packet->trace =
      context_.trace.wait(packet->trace, {memory_place_, packet->row}, memory_busy_, ready, begin);
  return begin;
}

/// When the address of an access that has come through the root complex is known.
ps_t root_complex::translated(tlp* packet, std::uint64_t address, ps_t ready) {
  if (page_faults_ != nullptr) {
    ready = page_faults_->access(address, ready, packet->row, packet->trace);
  }
  return iommu_ == nullptr ? ready : iommu_->translate(address, ready, packet->row, packet->trace);
}

/// When it is at the socket of the memory.
ps_t root_complex::to_memory(tlp* packet, ps_t ready) {
  return !far_memory_ ? ready
                      : sockets_->cross(socket_direction::from_nic, ready,
                                        packet->header_bytes + std::uint64_t{packet->payload_bytes},
                                        packet->row, packet->trace);
}

/// When it is at the socket of the cores.
ps_t root_complex::to_cores(tlp* packet, ps_t ready) {
  return !far_cores_ ? ready
                     : sockets_->cross(socket_direction::from_nic, ready,
                                       packet->header_bytes + std::uint64_t{packet->payload_bytes},
                                       packet->row, packet->trace);
}

/// When the data of a read, sampled now, leaves the root complex.
ps_t root_complex::from_memory(const memory_access& access) {
  const ps_t now = now_ps();
  if (!far_memory_ || access.status != completion_status::Success) {
    return now + way_out();  // booked when it was taken
  }
  tlp* packet = access.packet;
  const ps_t back = sockets_->cross(socket_direction::to_nic, now, access.range.bytes, packet->row,
                                    packet->trace);
  packet->trace =
      context_.trace.service(packet->trace, {self_.place, packet->row}, back, back + way_out());
  return back + way_out();
}

/// Whether a write of the device goes to the cache.
bool root_complex::allocates(std::uint64_t address) const {
  return context_.params.host.ddio && memory_.attributes(address).cached;
}

ps_t root_complex::read_time(const byte_range& range) {
  const auto memory = static_cast<ps_t>(context_.params.host.memory_read_ps);
  return cache_ == nullptr ? memory : memory - cache_->saving(range.address, range.bytes);
}

void root_complex::take_read(tlp* packet, const tlp_header& header, ps_t arrived) {
  memory_access access{packet, header, touched(header)};
  ++stats_.reads;
  stats_.read_bytes += access.range.bytes;
  if (!inside(access.range)) {
    ++stats_.unsupported;
    access.status = completion_status::UnsupportedRequest;
  } else {
    apply_fault(access, packet->row);
  }

  const trace_site in{self_.place, packet->row};
  const trace_site memory{memory_place_, packet->row};
  ps_t ready = arrived + way_in();
  packet->trace = context_.trace.service(packet->trace, in, arrived, ready);

  ps_t sampled{};
  if (access.status == completion_status::Success) {
    ready = to_memory(packet, translated(packet, access.range.address, ready));
    ps_t begin = memory_slot(packet, ready, access.range.bytes);
    const ps_t latency = read_time(access.range);
    // Earlier writes must be there when the data is sampled.
    const ps_t earliest = std::max(last_visible_, last_sampled_);
    if (begin + latency < earliest) {
      const ps_t held = earliest - latency;
      packet->trace = context_.trace.wait(packet->trace, memory, posted_order_, begin, held);
      begin = held;
    }
    sampled = begin + latency;
    packet->trace = context_.trace.service(packet->trace, memory, begin, sampled);
  } else {
    // Answered without memory, but not before the reads in front of it.
    sampled = std::max(ready, last_sampled_);
    packet->trace = context_.trace.wait(packet->trace, in, posted_order_, ready, sampled);
  }
  last_sampled_ = sampled;
  if (!far_memory_ || access.status != completion_status::Success) {
    packet->trace = context_.trace.service(packet->trace, in, sampled, sampled + way_out());
  }
  reads_.push(access);
  at(sampled, work::read_sampled);
}

void root_complex::apply_fault(memory_access& access, name_id row) {
  const read_fault_rule* rule = faults_.pick(access.range, row);
  if (rule == nullptr) {
    return;
  }
  switch (rule->fault) {
    case read_fault::unsupported_request:
      access.status = completion_status::UnsupportedRequest;
      break;
    case read_fault::completer_abort:
      access.status = completion_status::CompleterAbort;
      break;
    case read_fault::poisoned:
      access.poisoned = true;
      break;
    case read_fault::never:
      access.silent = true;
      ++stats_.unanswered;
      break;
    case read_fault::stray:
      access.stray = true;
      break;
    case read_fault::late:
      access.delay = rule->delay;
      break;
  }
}

void root_complex::take_write(tlp* packet, const tlp_header& header, ps_t arrived) {
  const auto& host = context_.params.host;
  const memory_access access{packet, header, touched(header)};
  if (!header.poisoned && access.range.address >= interrupt_window_.first &&
      access.range.address <= interrupt_window_.last) {
    take_message(access, arrived);
    return;
  }
  if (header.poisoned || !inside(access.range)) {
    ++(header.poisoned ? stats_.poisoned_writes : stats_.unsupported);
    discard(packet, arrived);
    return;
  }
  ++stats_.writes;
  stats_.write_bytes += access.range.bytes;

  const trace_site memory{memory_place_, packet->row};
  const ps_t ready = arrived + way_in();
  packet->trace = context_.trace.service(packet->trace, {self_.place, packet->row}, arrived, ready);
  const ps_t there = to_memory(packet, translated(packet, access.range.address, ready));
  ps_t begin = memory_slot(packet, there, access.range.bytes);
  const ps_t latency = allocates(access.range.address) ? host.llc_write_ps : host.memory_write_ps;
  if (begin + latency < last_visible_ && !header.relaxed_ordering) {
    const ps_t held = last_visible_ - latency;
    packet->trace = context_.trace.wait(packet->trace, memory, posted_order_, begin, held);
    begin = held;
  }
  const ps_t visible = begin + latency;
  last_visible_ = std::max(last_visible_, visible);
  packet->trace = context_.trace.service(packet->trace, memory, begin, visible);
  const std::uint32_t slot = writes_.obtain();
  writes_[slot] = access;
  at(visible, work::write_visible, slot);
}

void root_complex::take_message(const memory_access& access, ps_t arrived) {
  constexpr std::uint32_t MessageBytes = 4;
  tlp* packet = access.packet;
  if (access.range.bytes != MessageBytes || access.range.address % MessageBytes != 0) {
    ++stats_.unsupported;
    discard(packet, arrived);
    return;
  }
  ++stats_.messages;
  const trace_site in{self_.place, packet->row};
  const ps_t through = arrived + way_in();
  packet->trace = context_.trace.service(packet->trace, in, arrived, through);
  const ps_t there = to_cores(packet, through);
  // What was written before it is visible to the handler.
  const ps_t ready = std::max(there, last_visible_);
  packet->trace = context_.trace.wait(packet->trace, in, posted_order_, there, ready);
  last_visible_ = ready;
  const std::uint32_t slot = writes_.obtain();
  writes_[slot] = access;
  at(ready, work::message, slot);
}

void root_complex::deliver(const memory_access& access) {
  const std::uint8_t* bytes = write_payload(*access.packet, access.range.address);
  std::uint32_t data = 0;
  for (std::uint32_t i = access.range.bytes; i-- != 0;) {
    data = data << 8 | bytes[i];
  }
  messages_->on_message(access.range.address, data, access.packet->trace);
  drop(access.packet);
}

/// A request of a kind that memory does not serve: the posted ones are dropped, the others
/// answered.
void root_complex::refuse(tlp* packet, const tlp_header& header, ps_t arrived) {
  ++stats_.unsupported;
  if (packet->flow != tlp_class::non_posted) {
    discard(packet, arrived);
    return;
  }
  memory_access access{packet, header, {0, 0}, completion_status::UnsupportedRequest};
  const ps_t ready = arrived + way_in();
  const ps_t sampled = std::max(ready, last_sampled_);
  const trace_site in{self_.place, packet->row};
  packet->trace = context_.trace.service(packet->trace, in, arrived, ready);
  packet->trace = context_.trace.wait(packet->trace, in, posted_order_, ready, sampled);
  packet->trace = context_.trace.service(packet->trace, in, sampled, sampled + way_out());
  last_sampled_ = sampled;
  reads_.push(access);
  at(sampled, work::read_sampled);
}

void root_complex::on_credits() {
  egress_.pump();
}

void root_complex::on_time(ps_t /*now*/, std::uint64_t what) {
  const auto slot = static_cast<std::uint32_t>(what >> 8);
  switch (static_cast<work>(what & 0xff)) {
    case work::read_sampled:
      sample(reads_.pop());
      break;
    case work::write_visible:
      // Whoever watches the memory may cause other writes.
      writes_.give_back(slot);
      store(memory_access(writes_[slot]));
      break;
    case work::message:
      writes_.give_back(slot);
      deliver(memory_access(writes_[slot]));
      break;
    case work::send_completions:
      send_completions(slot);
      break;
    case work::mix_completions:
      mixing_ = false;
      mix_completions();
      break;
    case work::send_request:
      egress_.push(requests_.pop());
      break;
    case work::discard:
      drop(discards_.pop());
      break;
    case work::answer:
      answer(answers_.pop());
      break;
  }
}

void root_complex::store(const memory_access& access) {
  tlp* packet = access.packet;
  const std::uint64_t address = access.range.address;
  const std::uint8_t* data = write_payload(*packet, address);
  const auto lead = static_cast<std::uint32_t>(address & 3);
  bool holes = false;
  if (access.header.length_dw <= 2) {
    for (std::uint32_t i = 0; i < access.range.bytes; ++i) {
      holes = holes || !enabled(access.header, lead + i);
    }
  }
  memory_.writer = packet->trace;
  if (cache_ != nullptr && !allocates(address)) {
    // What a core had of it is not valid any more, and it stays in memory.
    memory_.cache = nullptr;
    cache_->forget(address, access.range.bytes);
  }
  if (!holes) {
    memory_.write(address, data, access.range.bytes);
  } else {
    for (std::uint32_t i = 0; i < access.range.bytes; ++i) {
      if (enabled(access.header, lead + i)) {
        memory_.write(address + i, data + i, 1);
      }
    }
  }
  memory_.writer = {};
  memory_.cache = cache_.get();
  if (packet->point != milestone::count_) {
    context_.trace.mark(packet->trace, packet->point, packet->point_last);
  }
  drop(packet);
}

// Downstream: accesses of the CPU -----------------------------------------------------------------

void root_complex::depart(tlp* packet, trace_ref trace, name_id row) {
  const ps_t now = now_ps();
  const ps_t here =
      !far_cores_ ? now
                  : sockets_->cross(socket_direction::to_nic, now,
                                    packet->header_bytes + std::uint64_t{packet->payload_bytes},
                                    row, trace);
  const ps_t ready = here + way_out();
  packet->row = row;
  packet->trace = context_.trace.service(trace, {self_.place, row}, here, ready);
  requests_.push(packet);
  at(ready, work::send_request);
}

void root_complex::mmio_write(trace_ref trace, name_id row, std::uint64_t address, const void* data,
                              std::uint32_t length) {
  CARILLON_CHECK(length + (address & 3) <= static_cast<std::uint64_t>(context_.params.pcie.mps),
                 "{}: an MMIO write of {} bytes", this->name(), length);
  tlp* packet = tlps_.take();
  make_memory_write(*packet, RootId, address, static_cast<const std::uint8_t*>(data), length);
  depart(packet, trace, row);
}

std::uint16_t root_complex::take_tag(mmio_read_listener& listener, std::uint32_t length,
                                     std::uint32_t lead) {
  for (std::uint16_t tried = 0; tried < Tags; ++tried) {
    const std::uint16_t tag = next_tag_;
    next_tag_ = static_cast<std::uint16_t>((next_tag_ + 1) % Tags);
    outstanding& slot = outstanding_[tag];
    if (slot.listener == nullptr) {
      slot.listener = &listener;
      slot.data.assign(length, 0xff);
      slot.length = length;
      slot.received = 0;
      slot.lead = lead;
      slot.status = completion_status::Success;
      return tag;
    }
  }
  // A core stalls on its uncached read, so this needs more cores than tags.
  fail_check("a free tag", __FILE__, __LINE__,
             fmt::format("{}: {} reads of the CPU are outstanding", this->name(), Tags));
}

std::uint16_t root_complex::mmio_read(trace_ref trace, name_id row, std::uint64_t address,
                                      std::uint32_t length, mmio_read_listener& listener) {
  const std::uint16_t tag = take_tag(listener, length, static_cast<std::uint32_t>(address & 3));
  tlp* packet = tlps_.take();
  make_memory_read(*packet, RootId, tag, address, length);
  depart(packet, trace, row);
  return tag;
}

std::uint16_t root_complex::config_read(trace_ref trace, name_id row, std::uint16_t function,
                                        std::uint16_t offset, mmio_read_listener& listener) {
  const std::uint16_t tag = take_tag(listener, 4, 0);
  tlp* packet = tlps_.take();
  make_config_read(*packet, RootId, tag, function, offset);
  if (function >> 8 != LinkBus) {
    set_other_bus(*packet);
  }
  depart(packet, trace, row);
  return tag;
}

std::uint16_t root_complex::config_write(trace_ref trace, name_id row, std::uint16_t function,
                                         std::uint16_t offset, std::uint32_t value,
                                         std::uint8_t enables, mmio_read_listener& listener) {
  const std::uint16_t tag = take_tag(listener, 0, 0);
  tlp* packet = tlps_.take();
  make_config_write(*packet, RootId, tag, function, offset, value, enables);
  if (function >> 8 != LinkBus) {
    set_other_bus(*packet);
  }
  depart(packet, trace, row);
  return tag;
}

void root_complex::take_completion(tlp* packet, const tlp_header& header, ps_t arrived) {
  outstanding* slot =
      header.requester == RootId && header.tag < Tags ? &outstanding_[header.tag] : nullptr;
  if (slot == nullptr || slot->listener == nullptr) {
    ++stats_.unexpected_completions;
    drop(packet);
    return;
  }
  bool last = true;
  if (header.status != completion_status::Success || header.poisoned) {
    // Poisoned data is not handed on.
    slot->status = header.status != completion_status::Success ? header.status
                                                               : completion_status::CompleterAbort;
    std::fill(slot->data.begin(), slot->data.end(), std::uint8_t{0xff});
  } else if (header.has_data && slot->received < slot->length) {
    const std::uint32_t lead = header.lower_address & 3U;
    const std::uint32_t bytes =
        std::min({packet->payload_bytes - lead, static_cast<std::uint32_t>(header.byte_count),
                  slot->length - slot->received});
    std::memcpy(slot->data.data() + slot->received, packet->payload.data() + lead, bytes);
    slot->received += bytes;
    last = slot->received == slot->length;
  }
  if (last) {
    const trace_site in{self_.place, packet->row};
    const ps_t through = arrived + way_in();
    // A completion does not pass the writes before it: what they wrote is there when the CPU goes
    // on.
    packet->trace = context_.trace.service(packet->trace, in, arrived, through);
    const ps_t there = to_cores(packet, through);
    const ps_t ready = std::max(there, last_visible_);
    slot->trace = context_.trace.wait(packet->trace, in, posted_order_, there, ready);
    answers_.push(header.tag);
    at(ready, work::answer);
  }
  drop(packet);
}

void root_complex::answer(std::uint16_t tag) {
  outstanding& slot = outstanding_[tag];
  mmio_read_listener* listener = slot.listener;
  listener->on_mmio_data(now_ps(), tag, slot.data, slot.status, slot.trace);
  slot.listener = nullptr;
}

// Outside time ------------------------------------------------------------------------------------

unsigned root_complex::on_debug(tlm::tlm_generic_payload& access) {
  const byte_range range{access.get_address(), access.get_data_length()};
  if (access.get_data_length() == 0 || !inside(range)) {
    access.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return 0;
  }
  if (access.is_read()) {
    memory_.read(range.address, access.get_data_ptr(), range.bytes);
  } else if (access.is_write()) {
    memory_.write(range.address, access.get_data_ptr(), range.bytes);
  } else {
    return 0;
  }
  access.set_response_status(tlm::TLM_OK_RESPONSE);
  return range.bytes;
}

/// Grants one page for reading. Writing through a pointer would escape the watches that CPU polling
/// is computed from.
bool root_complex::on_direct_access(tlm::tlm_generic_payload& access, tlm::tlm_dmi& granted) {
  const std::uint64_t first = access.get_address() & ~std::uint64_t{host_memory::PageBytes - 1};
  granted.init();
  granted.set_start_address(first);
  granted.set_end_address(first + host_memory::PageBytes - 1);
  if (access.is_write() || !inside({first, host_memory::PageBytes})) {
    granted.set_granted_access(tlm::tlm_dmi::DMI_ACCESS_NONE);
    return false;
  }
  granted.set_dmi_ptr(memory_.page(first));
  granted.set_granted_access(tlm::tlm_dmi::DMI_ACCESS_READ);
  granted.set_read_latency(sc_core::sc_time::from_value(context_.params.host.memory_read_ps));
  granted.set_write_latency(sc_core::sc_time::from_value(context_.params.host.memory_write_ps));
  return true;
}

}  // namespace carillon
