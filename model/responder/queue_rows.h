// What the responder keeps of a QP and of a shared receive queue.
#pragma once

#include <cstdint>

#include "common/buffer.h"
#include "common/ring.h"
#include "gen/contexts.h"
#include "responder/receive_queue.h"
#include "responder/saved_requests.h"
#include "responder/shared_receive_queue.h"

namespace carillon {

/// The reads of one receive doorbell record: one at a time.
struct record_reader {
  bool wanted = false;
  bool pending = false;
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t address = 0;
  buffer_ref bytes;
};

struct srq_row {
  std::uint32_t number = 0;
  bool exists = false;
  std::uint8_t generation = 0;
  srq_line line;
  bool armed = false;  ///< for the limit event
  shared_wqe_queue queue;
  record_reader record;
  bool read_wanted = false;
};

/// Where the WRITE in progress goes, known once its first packet's key is.
struct write_map {
  std::uint32_t message = 0;
  bool known = false;
  bool refused = false;
  bool paged = false;
  std::uint64_t delta = 0;  ///< IOVA minus virtual address, without a page list
};

struct qp_row {
  std::uint32_t qpn = 0;
  bool started = false;
  bool closed = false;  ///< reset, and not yet ready to receive again
  /// In INIT: the RAM has its RTR line some cycles before the command comes.
  bool preparing = false;
  bool error = false;  ///< later requests are dropped
  std::uint8_t generation = 0;
  qpc_responder line;  ///< as last written

  // Of its qpc_common line
  qp_service service = qp_service::Rc;
  std::uint16_t function = 0;
  std::uint32_t cqn = 0;
  bool signature = false;
  bool no_queue = false;

  // Receive WQEs
  receive_queue queue;
  record_reader record;
  bool batch_wanted = false;
  srq_row* shared = nullptr;          ///< receives from there instead
  std::uint16_t message_receive = 0;  ///< WQE of the message in progress
  bool kept = false;                  ///< UC: that WQE's message was given up, the next takes it
  ring<std::uint16_t> open_receives;  ///< WQEs taken and not yet completed, oldest first
  std::uint32_t polls_left = 0;       ///< in error: looks for receive WQEs posted late
  bool flushing = false;

  // Messages
  std::uint32_t message = 0;          ///< number of the one that began last
  std::uint32_t refused_message = 0;  ///< UC: the rest of that one is dropped
  write_map map;
  saved_requests saved;
  unsigned atomics = 0;  ///< in the atomic unit
};

}  // namespace carillon
