// Lets a foreign TLM-2.0 target serve the requests of a PCIe link: memory reads and writes become
// base protocol transactions of four phases, one request phase at a time, and their responses
// become completions.
//
// Order: transactions begin in the order of the TLPs' arrival. A write is posted, so its response
// is only looked at for failures. The target may answer reads out of order and by any of the
// protocol's short cuts.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "common/clock.h"
#include "common/pcie_port.h"
#include "common/tlp_codec.h"
#include "common/tlp_egress.h"

namespace carillon {

class four_phase_adapter : public sc_core::sc_module,
                           private pcie_listener,
                           private timed,
                           private tlm::tlm_mm_interface {
 public:
  four_phase_adapter(const sc_core::sc_module_name& name, sim_context& context, tlp_pool& tlps)
      : sc_core::sc_module(name),
        timed(context.line),
        port("port", context, {}),
        socket("socket"),
        context_(context),
        tlps_(tlps),
        egress_(context, port, context.trace.intern(this->name())),
        arrivals_(this, &four_phase_adapter::on_phase) {
    port.listen(*this);
    socket.register_nb_transport_bw(this, &four_phase_adapter::on_backward);
  }

  ~four_phase_adapter() override = default;

  pcie_port port;
  tlm_utils::simple_initiator_socket<four_phase_adapter> socket;

  [[nodiscard]] std::uint64_t failed_writes() const { return failed_writes_; }

  [[nodiscard]] bool idle() const { return waiting_.empty() && open_ == 0; }

 private:
  /// What a transaction must remember until its response.
  struct origin : tlm::tlm_extension<origin> {
    tlp* packet = nullptr;
    tlp_header header;
    std::vector<std::uint8_t> data;
    std::vector<std::uint8_t> enables;

    [[nodiscard]] tlm::tlm_extension_base* clone() const override { return new origin(*this); }

    void copy_from(const tlm::tlm_extension_base& other) override {
      *this = static_cast<const origin&>(other);
    }
  };

  void on_tlp(tlp* packet) override {
    waiting_.push_back(packet);
    context_.line.at(packet->last_symbol, *this);
  }

  void on_credits() override { egress_.pump(); }

  void on_time(ps_t /*now*/, std::uint64_t /*what*/) override {
    ++arrived_;
    next_request();
  }

  void next_request() {
    while (requesting_ == nullptr && arrived_ != 0) {
      --arrived_;
      tlp* packet = waiting_.front();
      waiting_.pop_front();
      port.consumed(packet->flow, packet->payload_bytes);
      const tlp_header header = decode(*packet);
      const bool read = header.kind == tlp_kind::memory_read;
      if (!header.valid() || (!read && header.kind != tlp_kind::memory_write)) {
        refuse(packet, header);
        continue;
      }
      begin(packet, header, read);
    }
  }

  void refuse(tlp* packet, const tlp_header& header) {
    if (header.valid() && packet->flow == tlp_class::non_posted) {
      tlp* answer = tlps_.take();
      make_completion(*answer, 0, header.requester, header.tag,
                      completion_status::UnsupportedRequest, 4, 0, nullptr, 0);
      egress_.push(answer);
    }
    packet->release();
  }

  void begin(tlp* packet, const tlp_header& header, bool read) {
    auto* transaction = new tlm::tlm_generic_payload(this);
    transaction->acquire();
    auto* from = new origin;
    transaction->set_extension(from);
    from->packet = packet;
    from->header = header;
    const byte_range range = touched(header);
    // The base protocol has no transfers of length zero: one byte that is not enabled does as well.
    const std::uint32_t length = range.bytes == 0 ? 1 : range.bytes;
    const auto lead = static_cast<std::uint32_t>(range.address & 3);
    from->data.assign(length, 0);
    from->enables.assign(length, TLM_BYTE_ENABLED);
    bool holes = false;
    for (std::uint32_t i = 0; i < length; ++i) {
      if (!enabled(header, lead + i)) {
        from->enables[i] = TLM_BYTE_DISABLED;
        holes = true;
      }
      if (!read) {
        from->data[i] = packet->payload[lead + i];
      }
    }
    transaction->set_command(read ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
    transaction->set_address(range.address);
    transaction->set_data_ptr(from->data.data());
    transaction->set_data_length(length);
    transaction->set_streaming_width(length);
    transaction->set_byte_enable_ptr(holes ? from->enables.data() : nullptr);
    transaction->set_byte_enable_length(holes ? length : 0);
    transaction->set_dmi_allowed(false);
    transaction->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);

    ++open_;
    requesting_ = transaction;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    switch (socket->nb_transport_fw(*transaction, phase, delay)) {
      case tlm::TLM_ACCEPTED:
        break;
      case tlm::TLM_UPDATED:
        arrivals_.notify(*transaction, phase, delay);
        break;
      case tlm::TLM_COMPLETED:
        // The short cut: request and response are over together.
        arrivals_.notify(*transaction, tlm::END_RESP, delay);
        break;
    }
  }

  tlm::tlm_sync_enum on_backward(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                 sc_core::sc_time& delay) {
    arrivals_.notify(transaction, phase, delay);
    return tlm::TLM_ACCEPTED;
  }

  void on_phase(tlm::tlm_generic_payload& transaction, const tlm::tlm_phase& phase) {
    if (phase == tlm::END_REQ) {
      requesting_ = nullptr;
    } else if (phase == tlm::BEGIN_RESP) {
      // A response without END_REQ ends the request phase too.
      if (&transaction == requesting_) {
        requesting_ = nullptr;
      }
      finish(transaction);
      tlm::tlm_phase end = tlm::END_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_fw(transaction, end, delay);
      transaction.release();
    } else if (phase == tlm::END_RESP) {
      requesting_ = nullptr;
      finish(transaction);
      transaction.release();
    }
    next_request();
  }

  void finish(tlm::tlm_generic_payload& transaction) {
    --open_;
    const origin* from = transaction.get_extension<origin>();
    const bool ok = transaction.is_response_ok();
    if (transaction.is_write()) {
      failed_writes_ += ok ? 0 : 1;
    } else {
      answer(*from, ok,
             transaction.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE
                 ? completion_status::UnsupportedRequest
                 : completion_status::CompleterAbort);
    }
    from->packet->release();
  }

  void answer(const origin& from, bool ok, completion_status failure) {
    const byte_range range = touched(from.header);
    const std::uint32_t total = total_byte_count(from.header);
    const auto& pcie = context_.params.pcie;
    for (std::uint32_t done = 0; done < total;) {
      const std::uint64_t address = range.address + done;
      const std::uint32_t part =
          next_completion(address, total - done, static_cast<std::uint32_t>(pcie.mps),
                          static_cast<std::uint32_t>(pcie.rcb), completion_cut::largest_fit);
      tlp* packet = tlps_.take();
      make_completion(*packet, 0, from.header.requester, from.header.tag,
                      ok ? completion_status::Success : failure, total - done,
                      static_cast<std::uint8_t>(address & 0x7f), from.data.data() + done,
                      ok ? part : 0);
      egress_.push(packet);
      done = ok ? done + part : total;
    }
  }

  void free(tlm::tlm_generic_payload* transaction) override { delete transaction; }

  sim_context& context_;
  tlp_pool& tlps_;
  tlp_egress egress_;
  tlm_utils::peq_with_cb_and_phase<four_phase_adapter> arrivals_;
  std::deque<tlp*> waiting_;
  std::uint64_t arrived_ = 0;
  std::uint64_t open_ = 0;
  const tlm::tlm_generic_payload* requesting_ = nullptr;  ///< its request phase is open
  std::uint64_t failed_writes_ = 0;
};

}  // namespace carillon
