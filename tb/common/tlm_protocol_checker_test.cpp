// The checker stays silent on good traffic and catches each kind of bad traffic.
#include "tb/common/tlm_protocol_checker.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "tb/common/link_script.h"

namespace carillon {
namespace {

using lines = std::vector<std::string>;

/// Sends what it is told to, right or wrong, without a port's care; takes everything and answers as
/// told.
class bare_end : public sc_core::sc_module {
 public:
  explicit bare_end(const sc_core::sc_module_name& name)
      : sc_core::sc_module(name), out("out"), in("in") {
    in.register_nb_transport_fw(this, &bare_end::on_transport);
  }

  void send(tlm::tlm_generic_payload& carrier, tlm::tlm_phase phase, ps_t delay) {
    sc_core::sc_time annotated = sc_core::sc_time::from_value(delay);
    out->nb_transport_fw(carrier, phase, annotated);
  }

  tlm_utils::simple_initiator_socket<bare_end> out;
  tlm_utils::simple_target_socket<bare_end> in;
  tlm::tlm_sync_enum answer = tlm::TLM_COMPLETED;

 private:
  tlm::tlm_sync_enum on_transport(tlm::tlm_generic_payload& /*carrier*/, tlm::tlm_phase& /*phase*/,
                                  sc_core::sc_time& /*delay*/) {
    return answer;
  }
};

class tlm_protocol_checker_test : public testing::Test {
 protected:
  tlm_protocol_checker_test() {
    source.out.bind(checker.in[0]);
    checker.out[0].bind(target.in);
    target.out.bind(checker.in[1]);
    checker.out[1].bind(source.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }

  tlp& packet() { return *pool.take(); }

  /// From the source, `from` to `to` being its symbols' times.
  void send(tlp& sent, ps_t from, ps_t to) {
    sent.first_symbol = from;
    sent.last_symbol = to;
    source.send(sent.carrier(), tlm::BEGIN_REQ, from);
  }

  void send(tlp& sent) {
    send(sent, next, next + 10);
    next += 10;
  }

  void send_back(tlp& sent) {
    sent.first_symbol = next;
    sent.last_symbol = next + 10;
    target.send(sent.carrier(), tlm::BEGIN_REQ, next);
    next += 10;
  }

  void ask(std::uint16_t tag, std::uint64_t address, std::uint32_t bytes) {
    tlp& read = packet();
    make_memory_read(read, 0x100, tag, address, bytes);
    send(read);
  }

  void answer(std::uint16_t tag, std::uint64_t address, std::uint32_t left, std::uint32_t bytes) {
    tlp& reply = packet();
    make_completion(reply, 0, 0x100, tag, completion_status::Success, left,
                    static_cast<std::uint8_t>(address & 0x7f), nullptr, bytes);
    send_back(reply);
  }

  const lines& violations() {
    checker.finish();
    return checker.violations();
  }

  tlp_pool pool;
  bare_end source{"source"};
  bare_end target{"target"};
  tlm_protocol_checker checker{"checker", {512, 1024, 64}};
  ps_t next = 1000;
};

TEST_F(tlm_protocol_checker_test, good_traffic_passes) {
  ask(1, 0x1030, 600);
  ask(2, 0x2000, 4);
  answer(1, 0x1030, 600, 464);
  answer(2, 0x2000, 4, 4);
  answer(1, 0x1200, 136, 136);
  ask(1, 0x3000, 0);
  answer(1, 0x3000, 1, 1);
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 512);
  send(write);
  EXPECT_EQ(violations(), lines{});
  EXPECT_EQ(checker.seen(), 8U);
}

TEST_F(tlm_protocol_checker_test, catches_another_phase) {
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 4);
  write.first_symbol = 1000;
  write.last_symbol = 1010;
  source.send(write.carrier(), tlm::END_RESP, 1000);
  EXPECT_EQ(violations(), lines{"transport: a phase other than BEGIN_REQ"});
}

TEST_F(tlm_protocol_checker_test, catches_a_transaction_without_a_tlp) {
  tlm::tlm_generic_payload bare;
  source.send(bare, tlm::BEGIN_REQ, 1000);
  EXPECT_EQ(violations(), lines{"transport: a transaction without a TLP"});
}

TEST_F(tlm_protocol_checker_test, catches_a_receiver_that_does_not_complete) {
  target.answer = tlm::TLM_ACCEPTED;
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 4);
  send(write);
  EXPECT_EQ(violations(), lines{"transport: not answered TLM_COMPLETED"});
}

TEST_F(tlm_protocol_checker_test, catches_a_delay_that_leads_elsewhere) {
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 4);
  write.first_symbol = 1000;
  write.last_symbol = 1010;
  source.send(write.carrier(), tlm::BEGIN_REQ, 999);
  EXPECT_EQ(violations(),
            lines{"transport: the delay leads to 999 ps, the first symbol is at 1000 ps"});
}

TEST_F(tlm_protocol_checker_test, catches_overlapping_symbols) {
  tlp& first = packet();
  tlp& second = packet();
  make_memory_write(first, 0, 0x1000, nullptr, 4);
  make_memory_write(second, 0, 0x1000, nullptr, 4);
  send(first, 1000, 1010);
  send(second, 1009, 1020);
  EXPECT_EQ(violations(),
            lines{"serial: symbols from 1009 to 1020 ps, the line is taken until 1010 ps"});
}

TEST_F(tlm_protocol_checker_test, catches_a_malformed_header) {
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 8);
  write.payload_bytes = 4;
  send(write);
  EXPECT_EQ(violations(), lines{"header: payload_length"});
}

TEST_F(tlm_protocol_checker_test, catches_a_wrong_flow_class) {
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 8);
  write.flow = tlp_class::completion;
  send(write);
  EXPECT_EQ(violations(), lines{"header: the flow class of a memory_write"});
}

TEST_F(tlm_protocol_checker_test, catches_too_much_data_and_too_long_reads) {
  tlp& write = packet();
  make_memory_write(write, 0, 0x1000, nullptr, 516);
  send(write);
  ask(1, 0x1000, 1028);
  tlp& refusal = packet();
  make_completion(refusal, 0, 0x100, 1, completion_status::UnsupportedRequest, 1028, 0, nullptr, 0);
  send_back(refusal);
  EXPECT_EQ(violations(), (lines{"size: 516 bytes of data", "size: a read of 257 dwords"}));
}

TEST_F(tlm_protocol_checker_test, catches_a_tag_that_is_in_use) {
  ask(1, 0x1000, 4);
  ask(1, 0x2000, 4);
  answer(1, 0x1000, 4, 4);
  EXPECT_EQ(violations(), lines{"tag: tag 1 is in use"});
}

TEST_F(tlm_protocol_checker_test, catches_an_answer_to_nobody) {
  answer(5, 0x1000, 4, 4);
  EXPECT_EQ(violations(), lines{"completion: nobody asked with tag 5"});
}

TEST_F(tlm_protocol_checker_test, catches_wrong_completion_fields) {
  ask(1, 0x1000, 8);
  answer(1, 0x1000, 4, 8);
  ask(2, 0x1004, 4);
  answer(2, 0x1000, 4, 4);
  EXPECT_EQ(violations(), (lines{"completion: byte count 4 with 8 left",
                                 "completion: lower address 0x0 of 0x1004"}));
}

TEST_F(tlm_protocol_checker_test, catches_a_cut_off_the_boundary) {
  ask(1, 0x1000, 128);
  answer(1, 0x1000, 128, 32);
  answer(1, 0x1020, 96, 96);
  EXPECT_EQ(violations(), lines{"completion: data ends at 0x1020"});
}

TEST_F(tlm_protocol_checker_test, catches_what_is_never_answered) {
  ask(7, 0x1000, 4);
  EXPECT_EQ(violations(), lines{"leftover: the request with tag 7 is not answered"});
}

}  // namespace
}  // namespace carillon
