#include "common/pcie_port.h"

#include <algorithm>

#include "common/clock.h"
#include "common/error.h"
#include "common/tlp_codec.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

std::size_t index_of(tlp_class flow) {
  return static_cast<std::size_t>(flow);
}

std::uint32_t data_credits(std::uint32_t payload_bytes) {
  return (payload_bytes + FlowControlUnitBytes - 1) / FlowControlUnitBytes;
}

const char* to_string(tlp_class flow) {
  switch (flow) {
    case tlp_class::posted:
      return "posted";
    case tlp_class::non_posted:
      return "non-posted";
    case tlp_class::completion:
      return "completion";
  }
  return "?";
}

}  // namespace

pcie_port::pcie_port(const sc_core::sc_module_name& name, sim_context& context,
                     const std::array<flow_credits, 3>& advertised)
    : sc_core::sc_module(name),
      timed(context.line),
      transmit("transmit"),
      receive("receive"),
      context_(context),
      place_(context.trace.intern(this->name())),
      link_reason_(context.trace.intern("link")),
      delay_(context.params.pcie.link_delay_ps),
      advertised_(advertised),
      serializer_(tlp_rate(context.params.pcie.generation, context.params.pcie.width,
                           context.params.pcie.mps, context.params.pcie.dllp_derate)) {
  // With a flight time of zero a credit could come home in the instant in which it was spent, and
  // what can_send says would depend on who asked first.
  if (delay_ == 0) {
    throw config_error("pcie.link_delay_ps must be at least 1");
  }
  receive.register_nb_transport_fw(this, &pcie_port::on_transport);
  // Left to itself the socket would start a thread that turns blocking calls into the other kind.
  receive.register_b_transport(this, &pcie_port::on_blocking_transport);
  receive.register_transport_dbg(this, &pcie_port::on_debug_transport);
  receive.register_get_direct_mem_ptr(this, &pcie_port::on_direct_memory);
}

void pcie_port::connect(pcie_port& other) {
  transmit.bind(other.receive);
  other.transmit.bind(receive);
  introduce(other);
}

void pcie_port::introduce(pcie_port& other) {
  CARILLON_CHECK(other_ == nullptr && other.other_ == nullptr, "{} is connected twice", name());
  other_ = &other;
  other.other_ = this;
  grant(other.advertised_);
  other.grant(advertised_);
}

void pcie_port::grant(const std::array<flow_credits, 3>& advertised) {
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    budgets_[i] = {advertised[i].header == 0, advertised[i].data == 0, advertised[i].header,
                   advertised[i].data};
  }
}

void pcie_port::fold(ps_t now) const {
  while (returns_head_ < returns_.size() && returns_[returns_head_].when <= now) {
    const credit_return& arrived = returns_[returns_head_++];
    budget& home = budgets_[index_of(arrived.flow)];
    ++home.header;
    home.data += arrived.data;
  }
  if (returns_head_ * 2 >= returns_.size()) {
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(returns_head_));
    returns_head_ = 0;
  }
}

bool pcie_port::can_send(tlp_class flow, std::uint32_t payload_bytes) const {
  const budget& have = budgets_[index_of(flow)];
  const std::uint32_t data = data_credits(payload_bytes);
  const auto enough = [&] {
    return (have.header_infinite || have.header >= 1) && (have.data_infinite || have.data >= data);
  };
  if (enough()) {
    return true;
  }
  fold(now_ps());
  if (enough()) {
    return true;
  }
  starved_ = true;
  if (!alarm_set_ && returns_head_ < returns_.size()) {
    alarm_set_ = true;
    context_.line.at(returns_[returns_head_].when, const_cast<pcie_port&>(*this));
  }
  return false;
}

ps_t pcie_port::free_at() const {
  return serializer_.free_at();
}

void pcie_port::send(tlp* packet) {
  CARILLON_CHECK(other_ != nullptr, "{}: not connected", name());
  CARILLON_CHECK(can_send(packet->flow, packet->payload_bytes),
                 "{}: a {} TLP with {} bytes of data is sent without credits", name(),
                 to_string(packet->flow), packet->payload_bytes);
  const ps_t now = now_ps();
  budget& spent = budgets_[index_of(packet->flow)];
  spent.header -= spent.header_infinite ? 0 : 1;
  spent.data -= spent.data_infinite ? 0 : data_credits(packet->payload_bytes);

  const std::uint32_t bytes = wire_bytes(*packet);
  const ps_t departure = serializer_.take(now, bytes);
  packet->first_symbol = departure + delay_;
  packet->last_symbol = serializer_.free_at() + delay_;
  ++sent_;
  sent_bytes_ += bytes;

  if (packet->trace.message != 0) {
    const trace_site site{place_, packet->row};
    packet->trace = packet->trace.message == last_message_
                        ? context_.trace.flight(packet->trace, site, now, departure)
                        : context_.trace.wait(packet->trace, site, link_reason_, now, departure);
    packet->trace = context_.trace.flight(packet->trace, site, departure, packet->first_symbol);
  }

  last_message_ = packet->trace.message;
  for (tlp_tap* each : taps_) {
    each->on_tlp(departure, *packet);
  }

  tlm::tlm_generic_payload& carrier = packet->carrier();
  carrier.set_data_length(packet->payload_bytes);
  carrier.set_streaming_width(packet->payload_bytes);
  carrier.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::sc_time::from_value(packet->first_symbol - now);
  const tlm::tlm_sync_enum answer = transmit->nb_transport_fw(carrier, phase, delay);
  CARILLON_CHECK(answer == tlm::TLM_COMPLETED, "{}: the other end does not take TLPs at once",
                 name());
  carrier.release();  // the receiver holds its own reference
}

tlm::tlm_sync_enum pcie_port::on_transport(tlm::tlm_generic_payload& carrier, tlm::tlm_phase& phase,
                                           sc_core::sc_time& /*delay*/) {
  CARILLON_CHECK(phase == tlm::BEGIN_REQ && listener_ != nullptr, "{}: nobody listens", name());
  tlp* packet = carrier.get_extension<tlp>();
  CARILLON_CHECK(packet != nullptr, "{}: a transaction without a TLP", name());
  carrier.acquire();
  carrier.set_response_status(tlm::TLM_OK_RESPONSE);
  listener_->on_tlp(packet);
  return tlm::TLM_COMPLETED;
}

void pcie_port::on_blocking_transport(tlm::tlm_generic_payload& carrier, sc_core::sc_time& delay) {
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  (void)on_transport(carrier, phase, delay);
}

unsigned pcie_port::on_debug_transport(tlm::tlm_generic_payload& carrier) {
  return listener_ != nullptr ? listener_->on_debug(carrier) : 0;
}

bool pcie_port::on_direct_memory(tlm::tlm_generic_payload& carrier, tlm::tlm_dmi& granted) {
  return listener_ != nullptr && listener_->on_direct_access(carrier, granted);
}

void pcie_port::consumed(tlp_class flow, std::uint32_t payload_bytes) {
  CARILLON_CHECK(other_ != nullptr, "{}: not connected", name());
  const flow_credits& granted = advertised_[index_of(flow)];
  if (granted.header == 0 && granted.data == 0) {
    return;
  }
  other_->credits_come_home({now_ps() + delay_, flow, data_credits(payload_bytes)});
}

void pcie_port::credits_come_home(const credit_return& credits) {
  returns_.push_back(credits);
  if (starved_ && !alarm_set_) {
    alarm_set_ = true;
    context_.line.at(returns_[returns_head_].when, *this);
  }
}

void pcie_port::on_time(ps_t now, std::uint64_t /*what*/) {
  alarm_set_ = false;
  fold(now);
  if (starved_) {
    starved_ = false;
    listener_->on_credits();
  }
}

}  // namespace carillon
