#include "host/effects/pcie_switch.h"

#include "common/clock.h"
#include "common/error.h"

namespace carillon {

namespace {

flow_credits room(std::int64_t header, std::int64_t data) {
  return {static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(data)};
}

/// As much as the device has for what comes from the root. Completions are infinite as at the ends:
/// whoever read has room.
std::array<flow_credits, 3> for_requests_of_cores(const parameters& params) {
  const auto& pcie = params.pcie;
  return {room(pcie.nic_credits_ph, pcie.nic_credits_pd),
          room(pcie.nic_credits_nph, pcie.nic_credits_npd), flow_credits{}};
}

/// As much as the root complex has.
std::array<flow_credits, 3> for_requests_of_devices(const parameters& params) {
  const auto& pcie = params.pcie;
  return {room(pcie.rc_credits_ph, pcie.rc_credits_pd),
          room(pcie.rc_credits_nph, pcie.rc_credits_npd), flow_credits{}};
}

ps_t hold_of(const parameters& params) {
  if (params.pcie.switch_latency_ps < params.pcie.link_delay_ps) {
    throw config_error(
        fmt::format("pcie.switch_latency_ps = {} holds the flight to the next receiver, "
                    "pcie.link_delay_ps = {}",
                    params.pcie.switch_latency_ps, params.pcie.link_delay_ps));
  }
  return static_cast<ps_t>(params.pcie.switch_latency_ps - params.pcie.link_delay_ps);
}

}  // namespace

pcie_switch::pcie_switch(const sc_core::sc_module_name& name, sim_context& context)
    : sc_core::sc_module(name),
      place_(context.trace.intern(this->name())),
      hold_(hold_of(context.params)),
      whole_(context.params.pcie.switch_forwarding == pcie_switch_forwarding::StoreAndForward),
      root_("towards_root", *this, context, for_requests_of_cores(context.params)),
      device_("towards_device", *this, context, for_requests_of_devices(context.params)) {
  root_.face(device_);
  device_.face(root_);
}

pcie_switch::side::side(const char* name, pcie_switch& owner, sim_context& context,
                        const std::array<flow_credits, 3>& buffers)
    : timed(context.line),
      port(name, context, buffers),
      context_(context),
      owner_(owner),
      egress_(context, port, owner.place_) {
  port.listen(*this);
  port.tap(*this);
  port.book_on(owner.place_);
}

/// Told ahead of the arrival; arrivals are in order.
void pcie_switch::side::on_tlp(tlp* packet) {
  const trace_site site{owner_.place_, packet->row};
  const ps_t known = owner_.whole_ ? packet->last_symbol : packet->first_symbol;
  packet->trace = context_.trace.flight(packet->trace, site, packet->first_symbol, known);
  packet->trace = context_.trace.service(packet->trace, site, known, known + owner_.hold_);
  inside_.push(packet);
  context_.line.at(known + owner_.hold_, *this);
}

void pcie_switch::side::on_time(ps_t /*now*/, std::uint64_t /*what*/) {
  other_->egress_.push(inside_.pop());
}

/// Leaves through this port: its room at the other one is free.
void pcie_switch::side::on_tlp(ps_t /*departure*/, const tlp& packet) {
  other_->port.consumed(packet.flow, packet.payload_bytes);
}

unsigned pcie_switch::side::on_debug(tlm::tlm_generic_payload& access) {
  return other_->port.transmit->transport_dbg(access);
}

bool pcie_switch::side::on_direct_access(tlm::tlm_generic_payload& access, tlm::tlm_dmi& granted) {
  return other_->port.transmit->get_direct_mem_ptr(access, granted);
}

}  // namespace carillon
