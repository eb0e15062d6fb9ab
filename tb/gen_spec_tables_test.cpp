// The generated tables: stream items against bits placed by hand, register offsets against the
// hardware description, parameters by name with every way to refuse one.
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "gen/contexts.h"
#include "gen/counters.h"
#include "gen/params.h"
#include "gen/registers.h"
#include "gen/stages.h"
#include "gen/streams.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

// A small generator of its own: the test must not lean on the code under test.
class dice {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

// ---------------------------------------------------------------------------------------- streams

template <class T>
void expect_stream(dice& random) {
  unsigned top = T::Width;
  for (const auto& field : T::Fields) {  // from the most significant bit down, without a gap
    EXPECT_EQ(field.lsb + field.width, top) << T::Name << "." << field.name;
    top = field.lsb;
  }
  EXPECT_EQ(top, 0U) << T::Name;

  std::array<std::uint32_t, T::Words> in{};
  std::array<std::uint32_t, T::Words> out{};
  for (int i = 0; i < 50; ++i) {
    for (auto& word : in) {
      word = static_cast<std::uint32_t>(random.next());
    }
    if (T::Width % 32 != 0) {
      in.back() &= (std::uint32_t{1} << T::Width % 32) - 1;
    }
    const T x = T::unpack(in.data());
    out.fill(0xffffffff);
    x.pack(out.data());
    ASSERT_EQ(out, in) << T::Name;
  }
}

template <class... T>
void expect_streams(bytes::type_list<T...> /*types*/) {
  dice random;
  (expect_stream<T>(random), ...);
}

TEST(gen_streams, fields_fill_the_words_from_the_top) {
  expect_streams(stream_types{});
}

TEST(gen_streams, byte_0_of_data_is_the_most_significant) {
  wqe_beat x;
  x.trace_id = 0x80000000;
  x.data[0] = 0x12;
  x.data[3] = 0x34;
  x.data[63] = 0x56;
  std::array<std::uint32_t, wqe_beat::Words> w{};
  x.pack(w.data());
  EXPECT_EQ(w[15], 0x12000034U);  // bits 511:480
  EXPECT_EQ(w[0], 0x56U);
  constexpr unsigned Top = wqe_beat::Width - 1;
  EXPECT_EQ(w[Top / 32], 1U << Top % 32);
}

TEST(gen_streams, bits_cross_words) {
  std::array<std::uint32_t, 3> w{};
  bytes::put_bits(w.data(), 28, 40, 0xabcdef0123);
  EXPECT_EQ(w[0], 0x30000000U);
  EXPECT_EQ(w[1], 0xbcdef012U);
  EXPECT_EQ(w[2], 0x0000000aU);
  EXPECT_EQ(bytes::get_bits(w.data(), 28, 40), 0xabcdef0123U);
}

// -------------------------------------------------------------- registers, stages, counters, names

TEST(gen_registers, offsets_are_those_of_the_description) {
  EXPECT_EQ(uar_page::DbRec, 0x000U);
  EXPECT_EQ(uar_page::BfBuffer, 0x800U);
  EXPECT_EQ(uar_page::BfBufferBytes, 256U);
  EXPECT_EQ(bar0::RpCurrent, 0x4c0U);
  EXPECT_EQ(bar0::InternalTimer, 0x1000U);
}

TEST(gen_registers, values_split_into_fields) {
  const auto x = bar0::cmdq_addr_l_sz_value::unpack(0xabcde056);
  EXPECT_EQ(x.address, 0xabcdeU);
  EXPECT_EQ(x.log_size, 5);
  EXPECT_EQ(x.log_stride, 6);
  EXPECT_EQ(x.pack(), 0xabcde056U);
  EXPECT_EQ(bar0::cmdif_rev_fw_sub_value::unpack(0x00050001).cmdif_rev, 5);
}

TEST(gen_registers, table_has_every_register_once) {
  for (const auto& a : RegisterTable) {
    for (const auto& b : RegisterTable) {
      if (&a != &b && std::string(a.block) == b.block) {
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << a.block << ": " << a.name << " and " << b.name;
      }
    }
  }
}

TEST(gen_stages, rows_sum_to_the_doorbell_to_wire_budget) {
  unsigned sum = 0;
  for (const auto& stage : StageTable) {
    sum += *stage.row != 0 ? stage.latency : 0;
  }
  EXPECT_EQ(sum, 470U);
  EXPECT_EQ(stage_spec::packet_builder::MaxBeats, 66U);
}

TEST(gen_enums, names_and_unknown_codes) {
  EXPECT_STREQ(to_string(qp_state::Rts), "Rts");
  EXPECT_STREQ(to_string(bth_opcode::Cnp), "Cnp");
  EXPECT_STREQ(to_string(static_cast<bth_opcode>(0xff)), "?");
  EXPECT_STREQ(to_string(cqe_syndrome::LocalProtection), "LocalProtection");
  EXPECT_EQ(static_cast<int>(cqe_syndrome::LocalProtection), 4);
  EXPECT_STREQ(to_string(counter::RxOutOfBuffer), "rx_out_of_buffer");
}

// ------------------------------------------------------------------------------------- parameters

TEST(gen_params, table_and_struct_agree_on_defaults) {
  const parameters p;
  for (const auto& d : ParamTable) {
    if (d.type != param_type::Real) {
      EXPECT_EQ(get_param(p, d.name), d.default_text) << d.name;
    } else {
      EXPECT_EQ(std::stod(get_param(p, d.name)), std::stod(d.default_text)) << d.name;
    }
    EXPECT_STRNE(d.source, "") << d.name;
    EXPECT_STRNE(d.doc, "") << d.name;
  }
  EXPECT_TRUE(changed_params(p).empty());
}

TEST(gen_params, a_default_can_be_set_again) {
  parameters p;
  for (const auto& d : ParamTable) {
    EXPECT_EQ(set_param(p, d.name, d.default_text), "") << d.name;
  }
  EXPECT_EQ(p, parameters{});
}

TEST(gen_params, values_are_taken) {
  parameters p;
  EXPECT_EQ(set_param(p, "pcie.mps", "256"), "");
  EXPECT_EQ(p.pcie.mps, 256);
  EXPECT_EQ(set_param(p, "pcie.completion_split", "every_rcb"), "");
  EXPECT_EQ(p.pcie.completion_split, pcie_completion_split::EveryRcb);
  EXPECT_EQ(get_param(p, "pcie.completion_split"), "every_rcb");
  EXPECT_EQ(set_param_value(p, "cpu.noise", true), "");
  EXPECT_TRUE(p.cpu.noise);
  EXPECT_EQ(changed_params(p).size(), 3U);
}

TEST(gen_params, refusals_leave_the_value_and_name_what_is_allowed) {
  parameters p;
  EXPECT_EQ(set_param(p, "pcie.mps", "300"),
            "pcie.mps = 300: allowed is 128, 256, 512, 1024, 2048, 4096");
  EXPECT_NE(set_param(p, "pcie.mps", "512x"), "");
  EXPECT_NE(set_param(p, "pcie.mps", ""), "");
  EXPECT_NE(set_param(p, "cpu.noise", "1"), "");
  EXPECT_NE(set_param(p, "pcie.completion_split", "every_rcbs"), "");
  EXPECT_NE(set_param_value(p, "pcie.mps", 512.0), "");
  EXPECT_NE(set_param_value(p, "cpu.noise", std::int64_t{1}), "");
  EXPECT_NE(set_param_value(p, "pcie.completion_split", true), "");
  EXPECT_NE(set_param(p, "core.clock_period_ps", "99999999999999999999"), "");
  EXPECT_EQ(p, parameters{});
  const std::string typo = set_param(p, "pcie.mpss", "512");
  EXPECT_NE(typo.find("pcie.mps'"), std::string::npos) << typo;
}

}  // namespace
}  // namespace carillon
