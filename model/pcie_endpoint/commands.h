// The command interface of pcie_endpoint as a plain core: objects of all functions, checks, and the
// translation of the contexts that commands carry (mlx5 layouts) into the lines of the context RAM.
//
// A command either succeeds, and its effects are the lines to write and the QP command to send, or
// it fails with a status and a syndrome and nothing has changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "common/items.h"
#include "gen/contexts.h"
#include "gen/registers.h"

namespace carillon {

/// QP states have different codes in commands and in the chip; this is the one place that
/// translates them.
qp_state to_chip(qpc_state state);
qpc_state to_host(qp_state state);

/// Hands out numbers, the lowest free one first.
class number_pool {
 public:
  number_pool(std::uint32_t first, std::uint32_t end) : next_(first), end_(end) {}

  /// 0 if none is left.
  [[nodiscard]] std::uint32_t take();

  void give_back(std::uint32_t number) { free_.insert(number); }

 private:
  std::uint32_t next_;
  std::uint32_t end_;
  std::set<std::uint32_t> free_;
};

struct command_limits {
  std::uint16_t functions = 1;
  std::uint16_t uar_pages =
      16;  ///< of each function; page 0 belongs to the device, the others are allocated
  std::uint8_t log_max_qp = 12;
  std::uint8_t log_max_cq = 12;
  std::uint8_t log_max_mkey = 14;
  std::uint8_t log_max_qp_size = 15;
  std::uint8_t log_max_cq_size = 22;
  std::uint8_t num_gids = 16;
  std::uint16_t max_vfs = 0;
  std::uint16_t clock_mhz = 1000;
  std::uint16_t link_gbps = 100;
  std::uint16_t port_mtu = 4200;
  std::uint16_t msix_vectors = 0;
  std::uint64_t mac = 0;  ///< of function 0; function n has mac + n
};

struct command_result {
  command_status status = command_status::Ok;
  command_syndrome syndrome = command_syndrome::None;
  std::size_t output_bytes = 0;
};

/// What a command changes outside: lines in the order in which they are to be written, then the
/// owners of per-QP state are told.
struct command_effects {
  std::vector<context_write> lines;
  std::optional<qp_command> qp;
  std::optional<cq_command> cq;
};

class command_core {
 public:
  static constexpr std::size_t WindowBytes = bar0::CmdInBytes;

  explicit command_core(const command_limits& limits);

  /// Executes the command in `input` for `function`; `output` is the whole window and is cleared
  /// beyond the output.
  command_result execute(std::uint16_t function, std::span<const std::uint8_t> input,
                         std::span<std::uint8_t, WindowBytes> output);

  /// Tells what the pipeline made of a QP since the last command: a line as the context RAM has it
  /// now.
  void observe(context_kind kind, std::uint32_t qpn,
               const std::array<std::uint8_t, BeatBytes>& line);

  [[nodiscard]] bool knows_qp(std::uint16_t function, std::uint32_t qpn) const {
    const auto found = qps_.find(qpn);
    return found != qps_.end() && found->second.function == function;
  }

  /// Of the last command.
  [[nodiscard]] const command_effects& effects() const { return effects_; }

  /// 0 reset, 1 enabled, 2 initialised.
  [[nodiscard]] std::uint32_t init_state(std::uint16_t function) const {
    return static_cast<std::uint32_t>(functions_[function].state);
  }

  [[nodiscard]] hca_cap capabilities(std::uint16_t function) const;
  [[nodiscard]] nic_vport_context vport(std::uint16_t function) const;

  [[nodiscard]] std::uint64_t mac(std::uint16_t function) const { return limits_.mac + function; }

  [[nodiscard]] const command_limits& limits() const { return limits_; }

 private:
  enum class function_state : std::uint8_t { reset, enabled, initialised };

  struct gid_entry {
    bool valid = false;
    roce_addr_layout address;
  };

  struct function_record {
    explicit function_record(number_pool pages) : uars(std::move(pages)) {}

    function_state state = function_state::reset;
    number_pool uars;
    std::set<std::uint32_t> uar_pages;
    std::vector<gid_entry> gids;
  };

  struct pd_record {
    std::uint16_t function = 0;
    std::uint32_t users = 0;
  };

  struct cq_record {
    std::uint16_t function = 0;
    std::uint32_t users = 0;
  };

  struct mkey_record {
    std::uint16_t function = 0;
    std::uint32_t pd = 0;
  };

  struct qp_record {
    std::uint16_t function = 0;
    qpc context;        ///< as commands have set it; `state` is the present one
    qpc_common common;  ///< the lines as last written
    qpc_address address;
    qpc_requester requester;
    qpc_responder responder;
  };

  using failure = std::optional<command_result>;

  [[nodiscard]] static command_result fail(command_status status, command_syndrome why) {
    return {status, why, cmd_out::Size};
  }

  command_result dispatch(const cmd_in& head, std::span<const std::uint8_t> input,
                          std::uint8_t* output);
  command_result enable(const cmd_in& head, bool on);
  command_result create_mkey(std::span<const std::uint8_t> input, std::uint8_t* output);
  command_result create_cq(std::span<const std::uint8_t> input, std::uint8_t* output);
  command_result create_qp(std::span<const std::uint8_t> input, std::uint8_t* output);
  command_result destroy(const cmd_in& head);
  command_result modify_qp(const cmd_in& head, std::span<const std::uint8_t> input);
  command_result query_qp(const cmd_in& head, std::uint8_t* output);
  command_result set_roce_address(std::span<const std::uint8_t> input);

  failure set_init(qp_record& qp, const qpc& wanted, std::uint32_t options);
  failure set_rtr(qp_record& qp, const qpc& wanted, std::uint32_t options);
  failure set_rts(qp_record& qp, const qpc& wanted, std::uint32_t options);
  static void set_options(qp_record& qp, const qpc& wanted, std::uint32_t options);

  void write_line(context_kind kind, std::uint32_t index, const auto& line) {
    context_write& write = effects_.lines.emplace_back();
    write.kind = kind;
    write.index = index;
    line.pack(write.data.data());
  }

  static std::optional<std::uint64_t> contiguous_base(std::span<const std::uint8_t> input,
                                                      std::uint64_t bytes,
                                                      std::uint8_t log_page_size,
                                                      std::uint8_t page_offset,
                                                      command_result& why);
  void tell_owners(std::uint32_t qpn, const qp_record& qp);

  template <class Record>
  [[nodiscard]] Record* owned(std::map<std::uint32_t, Record>& table, std::uint32_t number) {
    const auto found = table.find(number);
    return found != table.end() && found->second.function == caller_ ? &found->second : nullptr;
  }

  command_limits limits_;
  std::uint16_t caller_ = 0;
  command_effects effects_;
  std::vector<function_record> functions_;
  number_pool pd_numbers_;
  number_pool cq_numbers_;
  number_pool qp_numbers_;
  number_pool mkey_numbers_;
  std::map<std::uint32_t, pd_record> pds_;
  std::map<std::uint32_t, cq_record> cqs_;
  std::map<std::uint32_t, mkey_record> mkeys_;
  std::map<std::uint32_t, qp_record> qps_;
};

}  // namespace carillon
