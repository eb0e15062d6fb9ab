// A command core with the words of its tests: commands are made by short functions, executed by
// make() (which must succeed) or refused() (which must fail and change no table).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "gen/bytes.h"
#include "pcie_endpoint/commands.h"

namespace carillon::bench {

using input = std::vector<std::uint8_t>;

/// A command and the page addresses that follow it.
template <class Layout>
input packed(const Layout& layout, const std::vector<std::uint64_t>& pages = {}) {
  input bytes(Layout::Size + 8 * pages.size());
  layout.pack(bytes.data());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    bytes::store_be<8>(bytes.data() + Layout::Size + 8 * i, pages[i]);
  }
  return bytes;
}

inline input simple(command_opcode opcode, std::uint32_t number = 0) {
  cmd_in head;
  head.opcode = opcode;
  head.number = number;
  return packed(head);
}

template <class Layout>
input congestion_request(command_opcode opcode, std::uint8_t protocol, std::uint32_t select,
                         const Layout& parameters) {
  cong_params_in in;
  in.opcode = opcode;
  in.cong_protocol = protocol;
  in.field_select = select;
  input bytes = packed(in);
  const input behind = packed(parameters);
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  return bytes;
}

/// 8 KiB at 0x10000, physically contiguous, for WRITEs of the peer.
inline create_mkey_in mkey_request(std::uint32_t pd) {
  create_mkey_in in;
  in.opcode = command_opcode::CreateMkey;
  mkc& key = in.memory_key_mkey_entry;
  key.lr = key.lw = key.rw = 1;
  key.qpn = MkeyAnyQp;
  key.mkey_7_0 = 0x5a;
  key.pd = pd;
  key.start_addr = 0x10000;
  key.len = 0x2000;
  return in;
}

/// Event queue: 16 entries on MSI-X vector 3.
inline create_eq_in eq_request(std::uint32_t uar) {
  create_eq_in in;
  in.opcode = command_opcode::CreateEq;
  in.eq_context_entry.log_eq_size = 4;
  in.eq_context_entry.uar_page = uar;
  in.eq_context_entry.intr = 3;
  return in;
}

/// Completion queue: 16 entries.
inline create_cq_in cq_request(std::uint32_t uar) {
  create_cq_in in;
  in.opcode = command_opcode::CreateCq;
  in.cq_context.log_cq_size = 4;
  in.cq_context.uar_page = uar;
  in.cq_context.dbr_addr = 0x9000;
  return in;
}

/// Shared receive queue: 32 WQEs of 64 bytes.
inline create_srq_in srq_request(std::uint32_t pd) {
  create_srq_in in;
  in.opcode = command_opcode::CreateSrq;
  in.srq_context_entry.log_srq_size = 5;
  in.srq_context_entry.log_rq_stride = 2;
  in.srq_context_entry.pd = pd;
  in.srq_context_entry.dbr_addr = 0xb000;
  return in;
}

inline create_qp_in qp_request(std::uint32_t pd, std::uint32_t uar, std::uint32_t cqn) {
  create_qp_in in;
  in.opcode = command_opcode::CreateQp;
  in.qpc.st = qpc_service::Rc;
  in.qpc.pd = pd;
  in.qpc.uar_page = uar;
  in.qpc.cqn_snd = cqn;
  in.qpc.cqn_rcv = cqn;
  in.qpc.log_sq_size = 4;  // 16 WQEBBs are 1 KiB
  in.qpc.log_rq_size = 3;  // 8 entries of 32 bytes are 256 bytes
  in.qpc.log_rq_stride = 1;
  in.qpc.dbr_addr = 0xa000;
  in.qpc.user_index = 77;
  return in;
}

inline input modify(command_opcode opcode, std::uint32_t qpn, const qpc& context,
                    std::uint32_t options = 0) {
  modify_qp_in in;
  in.opcode = opcode;
  in.qpn = qpn;
  in.opt_param_mask = options;
  in.qpc = context;
  return packed(in);
}

/// 10.0.0.n as the GID table holds it.
inline std::array<std::uint8_t, 16> ip(std::uint8_t host) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
}

/// fe80::n
inline std::array<std::uint8_t, 16> ip6(std::uint8_t host) {
  return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host};
}

inline set_roce_address_in gid_request(std::uint16_t index,
                                       const std::array<std::uint8_t, 16>& address) {
  set_roce_address_in in;
  in.opcode = command_opcode::SetRoceAddress;
  in.roce_address_index = index;
  in.roce_address.source_l3_address = address;
  return in;
}

class commands : public testing::Test {
 protected:
  commands() : commands(limits()) {}

  explicit commands(const command_limits& all) : core(all) {}

  static command_limits limits() {
    command_limits all;
    all.functions = 2;
    all.msix_vectors = 8;
    all.mac = 0x020000000001;
    return all;
  }

  command_result run(const input& in, std::uint16_t function = 0) {
    return core.execute(function, in, output);
  }

  std::uint32_t make(const input& in, std::uint16_t function = 0) {
    const command_result result = run(in, function);
    EXPECT_EQ(result.status, command_status::Ok) << to_string(result.syndrome);
    return cmd_out::unpack(output.data()).number;
  }

  void refused(const input& in, command_status status, command_syndrome why,
               std::uint16_t function = 0) {
    const command_tables before = core.tables();
    const command_result result = run(in, function);
    EXPECT_EQ(result.status, status) << to_string(result.status);
    EXPECT_EQ(result.syndrome, why) << to_string(result.syndrome);
    EXPECT_TRUE(core.effects().none());
    EXPECT_TRUE(core.tables() == before) << "a refused command changed a table";
    const cmd_out out = cmd_out::unpack(output.data());
    EXPECT_EQ(out.status, status);
    EXPECT_EQ(out.syndrome, static_cast<std::uint32_t>(why));
    EXPECT_EQ(out.number, 0U);
  }

  /// A VF has nothing of its own until the PF has said so. The upper half of every table belongs to
  /// the VFs, in equal parts.
  [[nodiscard]] function_context share_of(std::uint16_t vf) const {
    const command_limits& all = core.limits();
    const auto part = [&](unsigned log_size) {
      const std::uint32_t half = 1U << (log_size - 1);
      const std::uint32_t count = half / (all.functions - 1U);
      return context_range{half + (vf - 1U) * count, count};
    };
    function_context share;
    share.qps = part(all.log_max_qp);
    share.cqs = part(all.log_max_cq);
    share.eqs = part(all.log_max_eq);
    share.srqs = part(all.log_max_srq);
    share.mkeys = part(all.log_max_mkey);
    share.mtt_lines = part(all.log_max_mtt_lines);
    return share;
  }

  static input decide(std::uint16_t function, std::uint32_t fields,
                      const function_context& values) {
    modify_function_in in;
    in.opcode = command_opcode::ModifyFunction;
    in.function_id = function;
    in.field_select = fields;
    in.function_context = values;
    return packed(in);
  }

  /// A VF needs the PF, which gives it its share.
  void bring_up(std::uint16_t function = 0) {
    if (function != 0) {
      if (core.init_state(0) != 2) {
        bring_up();
      }
      make(decide(function, FunctionPartition, share_of(function)));
      make(simple(command_opcode::EnableHca, function));
    }
    make(simple(command_opcode::EnableHca), function);
    make(simple(command_opcode::InitHca), function);
    make(packed(gid_request(0, ip(static_cast<std::uint8_t>(function + 1)))), function);
  }

  /// Function 0 with a PD, a UAR page and a CQ.
  void prepare() {
    bring_up();
    pd = make(simple(command_opcode::AllocPd));
    uar = make(simple(command_opcode::AllocUar));
    cqn = make(packed(cq_request(uar), {0x8000}));
  }

  template <class Line>
  Line line(context_kind kind) const {
    for (const context_write& each : core.effects().lines) {
      if (each.kind == kind) {
        return Line::unpack(each.data.data());
      }
    }
    ADD_FAILURE() << "no such line was written";
    return {};
  }

  [[nodiscard]] bool wrote(context_kind kind) const {
    for (const context_write& each : core.effects().lines) {
      if (each.kind == kind) {
        return true;
      }
    }
    return false;
  }

  /// The pipeline left this line in the context RAM.
  template <class Line>
  void observe(context_kind kind, std::uint32_t index, const Line& left) {
    std::array<std::uint8_t, BeatBytes> raw{};
    left.pack(raw.data());
    core.observe(kind, index, raw);
  }

  command_core core;
  std::vector<std::uint8_t> output = std::vector<std::uint8_t>(4096);
  std::uint32_t pd = 0;
  std::uint32_t uar = 0;
  std::uint32_t cqn = 0;
};

}  // namespace carillon::bench
