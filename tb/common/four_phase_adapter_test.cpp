// Foreign targets behind a PCIe link: SystemC's own conversion of a blocking target to four phases,
// and one that answers by the protocol's short cut.
#include "tb/common/four_phase_adapter.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "tb/common/link_script.h"
#include "tb/common/tlm_protocol_checker.h"

namespace carillon {
namespace {

constexpr ps_t Access = 100'000;

/// 4 KiB of memory that knows nothing of Carillon.
class foreign_memory : public sc_core::sc_module {
 public:
  enum class style { blocking, completes_at_once };

  foreign_memory(const sc_core::sc_module_name& name, style how) : sc_core::sc_module(name) {
    if (how == style::blocking) {
      socket.register_b_transport(this, &foreign_memory::b_transport);
    } else {
      socket.register_nb_transport_fw(this, &foreign_memory::nb_transport);
    }
  }

  tlm_utils::simple_target_socket<foreign_memory> socket;
  std::array<std::uint8_t, 4096> cells{};

 private:
  void serve(tlm::tlm_generic_payload& access) {
    const std::uint64_t first = access.get_address();
    if (first + access.get_data_length() > cells.size()) {
      access.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    for (unsigned i = 0; i < access.get_data_length(); ++i) {
      const std::uint8_t* enables = access.get_byte_enable_ptr();
      if (enables != nullptr && enables[i] == TLM_BYTE_DISABLED) {
        continue;
      }
      std::uint8_t& cell = cells[first + i];
      std::uint8_t& data = access.get_data_ptr()[i];
      (access.is_read() ? data : cell) = access.is_read() ? cell : data;
    }
    access.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  void b_transport(tlm::tlm_generic_payload& access, sc_core::sc_time& delay) {
    sc_core::wait(delay + sc_core::sc_time::from_value(Access));
    delay = sc_core::SC_ZERO_TIME;
    serve(access);
  }

  tlm::tlm_sync_enum nb_transport(tlm::tlm_generic_payload& access, tlm::tlm_phase& /*phase*/,
                                  sc_core::sc_time& delay) {
    serve(access);
    delay += sc_core::sc_time::from_value(Access);
    return tlm::TLM_COMPLETED;
  }
};

class four_phase_adapter_test : public testing::TestWithParam<foreign_memory::style> {
 protected:
  four_phase_adapter_test() {
    adapter.socket.bind(target.socket);
    checker.connect(device.port, adapter.port);
  }

  tlp* read(std::uint64_t address, std::uint32_t bytes, std::uint16_t tag) {
    tlp* packet = pool.take();
    make_memory_read(*packet, 0x100, tag, address, bytes);
    return packet;
  }

  tlp* write(std::uint64_t address, const std::vector<std::uint8_t>& data) {
    tlp* packet = pool.take();
    make_memory_write(*packet, 0x100, address, data.data(),
                      static_cast<std::uint32_t>(data.size()));
    return packet;
  }

  void run() {
    sc_core::sc_start();
    checker.finish();
    EXPECT_EQ(checker.violations(), std::vector<std::string>{});
    EXPECT_TRUE(adapter.idle());
    EXPECT_EQ(pool.in_use(), 0U);
  }

  sim_context context{slow_link(), 1, 0};
  tlp_pool pool;
  script steps{context};
  recording_device device{"device", context};
  four_phase_adapter adapter{"adapter", context, pool};
  foreign_memory target{"target", GetParam()};
  tlm_protocol_checker checker{"checker", {}};
};

using bytes = std::vector<std::uint8_t>;

TEST_P(four_phase_adapter_test, what_was_written_is_read_back) {
  steps.at(1000, [&] {
    device.port.send(write(0x101, {1, 2, 3, 4, 5}));
    device.port.send(read(0x100, 8, 1));
  });
  run();
  ASSERT_EQ(device.seen.size(), 1U);
  EXPECT_EQ(device.seen[0].data, (bytes{0, 1, 2, 3, 4, 5, 0, 0}));
  EXPECT_EQ(device.seen[0].header.tag, 1);
}

TEST_P(four_phase_adapter_test, the_answer_comes_when_the_target_gives_it) {
  steps.at(1000, [&] { device.port.send(read(0x100, 8, 1)); });
  run();
  // 20 bytes of request and the link; then the target's own time.
  EXPECT_EQ(device.seen[0].told, 21'000 + 20 * SlowByte + Access);
}

TEST_P(four_phase_adapter_test, long_reads_are_cut) {
  target.cells.fill(9);
  steps.at(1000, [&] { device.port.send(read(0x030, 1024, 1)); });
  run();
  ASSERT_EQ(device.seen.size(), 3U);
  EXPECT_EQ(device.seen[0].data, bytes(464, 9));
  EXPECT_EQ(device.seen[2].data, bytes(48, 9));
}

TEST_P(four_phase_adapter_test, an_address_error_is_an_unsupported_request) {
  steps.at(1000, [&] {
    device.port.send(read(0x2000, 8, 1));
    device.port.send(write(0x2000, {1, 2, 3, 4}));
  });
  run();
  ASSERT_EQ(device.seen.size(), 1U);
  EXPECT_EQ(device.seen[0].header.status, completion_status::UnsupportedRequest);
  EXPECT_EQ(adapter.failed_writes(), 1U);
}

TEST_P(four_phase_adapter_test, a_read_of_nothing_touches_nothing) {
  target.cells.fill(9);
  steps.at(1000, [&] { device.port.send(read(0x100, 0, 1)); });
  run();
  ASSERT_EQ(device.seen.size(), 1U);
  EXPECT_EQ(device.seen[0].header.byte_count, 1);
  EXPECT_EQ(device.seen[0].data, bytes(4, 0));
}

TEST_P(four_phase_adapter_test, many_requests_are_served_in_order) {
  steps.at(1000, [&] {
    for (std::uint16_t i = 0; i < 20; ++i) {
      device.port.send(write(4U * i, {static_cast<std::uint8_t>(i), 0, 0, 0}));
      device.port.send(read(4U * i, 4, i));
    }
  });
  run();
  ASSERT_EQ(device.seen.size(), 20U);
  for (std::uint8_t i = 0; i < 20; ++i) {
    EXPECT_EQ(device.seen[i].header.tag, i);
    EXPECT_EQ(device.seen[i].data[0], i);
  }
}

INSTANTIATE_TEST_SUITE_P(targets, four_phase_adapter_test,
                         testing::Values(foreign_memory::style::blocking,
                                         foreign_memory::style::completes_at_once),
                         [](const auto& run) {
                           return run.param == foreign_memory::style::blocking ? "four_phases"
                                                                               : "short_cut";
                         });

}  // namespace
}  // namespace carillon
