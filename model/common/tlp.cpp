#include "common/tlp.h"

#include "common/error.h"

namespace carillon {

void tlp::release() {
  carrier_->release();
}

tlm::tlm_extension_base* tlp::clone() const {
  auto* copy = new tlp;
  copy->copy_from(*this);
  return copy;
}

void tlp::copy_from(const tlm::tlm_extension_base& other) {
  // The carrier and the pool belong to the object, the rest to the packet.
  const auto& from = static_cast<const tlp&>(other);
  header = from.header;
  header_bytes = from.header_bytes;
  flow = from.flow;
  payload_bytes = from.payload_bytes;
  payload = from.payload;
  trace = from.trace;
  row = from.row;
  point = from.point;
  point_last = from.point_last;
  first_symbol = from.first_symbol;
  last_symbol = from.last_symbol;
}

tlp_pool::~tlp_pool() = default;

tlp* tlp_pool::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    tlm::tlm_generic_payload* carrier = all_.back().get();
    auto* made = new tlp;  // the carrier frees its extensions
    made->carrier_ = carrier;
    made->home_ = this;
    carrier->set_extension(made);
    carrier->set_command(tlm::TLM_IGNORE_COMMAND);
    carrier->set_data_ptr(made->payload.data());
    carrier->acquire();
    return made;
  }
  tlp* packet = free_.back();
  free_.pop_back();
  packet->carrier_->acquire();
  packet->header_bytes = 0;
  packet->flow = tlp_class::posted;
  packet->payload_bytes = 0;
  packet->trace = {};
  packet->row = 0;
  packet->point = milestone::count_;
  packet->point_last = false;
  packet->first_symbol = 0;
  packet->last_symbol = 0;
  return packet;
}

void tlp_pool::free(tlm::tlm_generic_payload* carrier) {
  tlp* packet = carrier->get_extension<tlp>();
  CARILLON_CHECK(packet != nullptr && packet->home_ == this, "a TLP came back to a foreign pool");
  free_.push_back(packet);
}

}  // namespace carillon
