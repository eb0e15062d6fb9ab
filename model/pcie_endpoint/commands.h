// The command interface of pcie_endpoint as a plain core: objects of all functions, checks, and the
// translation of the contexts that commands carry (mlx5 layouts) into the lines of the context RAM.
//
// A command either succeeds, and its effects are the lines to write and the owner to tell, or it
// fails with a status and a syndrome and nothing has changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/counters.h"
#include "common/items.h"
#include "common/partition.h"
#include "common/vport.h"
#include "gen/contexts.h"
#include "gen/registers.h"
#include "gen/wire.h"
#include "pcie_endpoint/tables.h"

namespace carillon {

/// QP states have different codes in commands and in the chip; this is the one place that
/// translates them.
qp_state to_chip(qpc_state state);
qpc_state to_host(qp_state state);

struct command_limits {
  std::uint16_t functions = 1;  ///< the PF and the VFs that could be
  std::uint16_t uar_pages =
      16;  ///< of each function; page 0 belongs to the device, the others are allocated
  std::uint8_t log_max_qp = 12;
  std::uint8_t log_max_cq = 12;
  std::uint8_t log_max_eq = 6;
  std::uint8_t log_max_srq = 8;
  std::uint8_t log_max_mkey = 14;
  std::uint8_t log_max_mtt_lines = 14;
  std::uint8_t log_max_qp_size = 15;
  std::uint8_t log_max_cq_size = 22;
  std::uint8_t log_max_eq_size = 22;
  std::uint8_t log_max_srq_size = 15;
  std::uint8_t log_max_rd_atomic = 4;
  std::uint8_t num_gids = 16;
  /// The P_Key table of every function. A RoCE port has the default key and no other.
  std::vector<std::uint16_t> pkeys = {DefaultPkey};
  std::uint16_t max_vfs = 0;
  std::uint16_t clock_mhz = 1000;
  std::uint16_t link_gbps = 100;
  std::uint16_t port_mtu = 4200;
  std::uint16_t msix_vectors = 0;
  std::uint32_t icm_pages = 0;  ///< of host memory, that the contexts need
  std::uint64_t mac = 0;        ///< of function 0; function n has mac + n
  /// Of data packets unless somebody decides otherwise. They belong together: a function of this
  /// priority may have this DSCP.
  std::uint8_t priority = 3;
  std::uint8_t dscp = 24;
  /// Parameters of congestion control at first. Those of the reaction point can be modified if the
  /// rule is the vendor's.
  roce_ecn_rp reaction;
  roce_ecn_np notification;
  bool vendor_rule = false;
  std::uint32_t line_rate = 0;  ///< what RP_CURRENT shows of a QP without a limit
};

/// The congestion control registers of a function.
enum class rp_register : std::uint8_t { rate, target, current, timer, qpn };

struct command_result {
  command_status status = command_status::Ok;
  command_syndrome syndrome = command_syndrome::None;
  std::size_t output_bytes = 0;
};

/// What a command changes outside: lines in the order in which they are to be written, then the
/// owner of the object's state is told: at most one of the three.
struct command_effects {
  std::vector<context_write> lines;
  std::optional<qp_command> qp;
  std::optional<cq_command> cq;
  std::optional<srq_command> srq;
  bool vports = false;        ///< the virtual ports are others: command_core::vports
  bool partitions = false;    ///< the partitions are others: command_core::partitions
  bool reaction = false;      ///< so are the parameters of congestion control
  bool notification = false;  ///< likewise
  /// All that this function has goes, too: command_core::teardown_step.
  std::optional<std::uint16_t> teardown;

  [[nodiscard]] bool none() const {
    return lines.empty() && !qp && !cq && !srq && !vports && !partitions && !reaction &&
           !notification && !teardown;
  }
};

class command_core {
 public:
  static constexpr std::size_t MostInputBytes = MostCommandBytes;
  static constexpr std::size_t MostOutputBytes = 4096;
  using command_input = std::span<const std::uint8_t>;

  /// `counters`: what QUERY_VPORT_COUNTER shows; they must live as long. None: all are zero.
  explicit command_core(const command_limits& limits, const counter_block* counters = nullptr);

  /// Executes the command in `input` for `function`. `output` is as long as the caller asked for,
  /// at least a cmd_out; what the command does not fill of it is cleared.
  command_result execute(std::uint16_t function, command_input input,
                         std::span<std::uint8_t> output);

  /// The lines that must be observed before this command is executed: what the pipeline may have
  /// changed of its object.
  [[nodiscard]] std::vector<context_read> lines_wanted(std::uint16_t function,
                                                       command_input input) const;

  /// Tells what the pipeline made of an object since the last command: a line as the context RAM
  /// has it now.
  void observe(context_kind kind, std::uint32_t index,
               const std::array<std::uint8_t, BeatBytes>& line);

  /// Of the last command or step.
  [[nodiscard]] const command_effects& effects() const { return effects_; }

  /// Takes away one of the things that a function has: QPs first, then SRQs, CQs, keys, EQs, and in
  /// the end what has no lines. False if nothing was left, and then there are no effects.
  ///
  /// For a command whose effects say `teardown`, until it returns false; likewise for the reset of
  /// a function, which gives no commands from the first step on. A VF that was reset keeps what the
  /// PF has decided about it; the PF's reset ends that, too, and all VFs.
  bool teardown_step(std::uint16_t function);

  /// The function's reset has begun: from now on it is not enabled, and its port is down.
  void stop(std::uint16_t function);

  /// The host takes a VF away: its teardown ends what the PF has decided about it, too.
  void take_away(std::uint16_t vf) { tables_.functions[vf].taken_away = true; }

  [[nodiscard]] const command_tables& tables() const { return tables_; }

  /// 0 reset, 1 enabled, 2 initialised.
  [[nodiscard]] std::uint32_t init_state(std::uint16_t function) const {
    return static_cast<std::uint32_t>(tables_.functions[function].state);
  }

  [[nodiscard]] hca_cap capabilities(std::uint16_t function) const;

  [[nodiscard]] const nic_vport_context& vport(std::uint16_t function) const {
    return tables_.functions[function].port.context;
  }

  [[nodiscard]] std::uint64_t mac(std::uint16_t function) const {
    return vport(function).permanent_address;
  }

  /// How many VFs the host has enabled, for HCA_CAP.
  void set_vfs(std::uint16_t enabled) { vfs_ = enabled; }

  [[nodiscard]] vport_table vports() const;
  [[nodiscard]] partition_table partitions() const;
  /// Of the context RAM, that a function's partition has; of the PF's what no VF has.
  [[nodiscard]] by_table<std::uint64_t> context_bytes(std::uint16_t function) const;

  /// The RP_* registers: of the QP that RP_QPN selects. 0 if it is not there, or not the
  /// function's.
  [[nodiscard]] std::uint32_t rp_read(std::uint16_t function, rp_register which) const;
  /// False if the function may not; nothing changes then.
  bool rp_write(std::uint16_t function, rp_register which, std::uint32_t value);

  /// The QP that the function has selected by RP_QPN.
  [[nodiscard]] std::uint32_t rp_selected(std::uint16_t function) const {
    return tables_.functions[function].rate_qpn;
  }

  /// Tells what has become of the QP's rate.
  void observe_rate(std::uint32_t qpn, std::uint32_t current, std::uint32_t target);

  [[nodiscard]] const command_limits& limits() const { return limits_; }

 private:
  using failure = std::optional<command_result>;

  /// A queue in host memory as a command describes it.
  struct queue_shape {
    std::uint64_t bytes = 0;
    std::uint8_t log_page_size = 0;  ///< minus LogPageBase
    std::uint8_t page_offset = 0;    ///< in units of 64 bytes
  };

  struct transition;

  [[nodiscard]] static command_result fail(command_status status, command_syndrome why) {
    return {status, why, cmd_out::Size};
  }

  static command_result created(std::uint32_t number, std::uint8_t* output) {
    cmd_out{.number = number}.pack(output);
    return {.output_bytes = cmd_out::Size};
  }

  static command_result full() {
    return fail(command_status::NoResources, command_syndrome::TableFull);
  }

  static command_result busy() {
    return fail(command_status::ResourceBusy, command_syndrome::InUse);
  }

  static command_result done() { return {.output_bytes = cmd_out::Size}; }

  static command_result too_short() {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }

  static command_result refused_field() {
    return fail(command_status::BadParameter, command_syndrome::FieldValue);
  }

  // commands.cpp
  command_result dispatch(const cmd_in& head, command_input input, std::uint8_t* output);
  command_result dispatch_object(const cmd_in& head, command_input input, std::uint8_t* output);
  command_result alloc_pd(std::uint8_t* output);
  command_result dealloc_pd(std::uint32_t number);
  command_result alloc_uar(std::uint8_t* output);
  command_result dealloc_uar(std::uint32_t number);
  void clear_effects();

  // function_commands.cpp
  [[nodiscard]] function_record fresh_function(std::uint16_t function) const;
  [[nodiscard]] std::vector<function_record> fresh_functions() const;
  command_result enable(const cmd_in& head);
  command_result enable_own();
  command_result enable_vf(std::uint16_t function);
  command_result disable(const cmd_in& head);
  command_result init();
  command_result teardown(const cmd_in& head);
  command_result query_function(const cmd_in& head, std::uint8_t* output);
  command_result modify_function(command_input input);
  failure decide(const modify_function_in& wanted, port_record& port) const;
  failure divide(std::uint16_t function, const by_table<context_range>& wanted);
  [[nodiscard]] std::uint32_t table_end(table_kind kind) const;
  [[nodiscard]] bool has_objects(std::uint16_t function) const;
  [[nodiscard]] bool has_vfs() const;

  // teardown.cpp
  bool destroy_one(std::uint16_t function);
  bool release(std::uint16_t function);
  bool release_all();
  void forget(std::uint16_t vf);

  // vport_commands.cpp
  /// An address that a port can have: not that of a group, not none.
  static bool is_station(std::uint64_t mac) {
    constexpr std::uint64_t Group = std::uint64_t{1} << 40;
    return mac != 0 && (mac & Group) == 0;
  }

  static void give_address(port_record& port, std::uint64_t mac);
  failure find_port(command_input input, std::uint16_t& function) const;
  [[nodiscard]] bool takes_address(std::uint16_t function, std::uint64_t mac) const;
  command_result query_vport(command_input input, std::uint8_t* output);
  command_result modify_vport(command_input input);
  command_result query_vport_state(command_input input, std::uint8_t* output);
  command_result modify_vport_state(command_input input);
  command_result query_vport_counter(command_input input, std::uint8_t* output);
  command_result query_roce_address(command_input input, std::uint8_t* output);
  command_result set_roce_address(command_input input);
  failure check_source(const roce_addr_layout& source) const;
  failure check_class(const ads& path, std::uint8_t traffic_class) const;

  // congestion_commands.cpp
  command_result query_congestion(command_input input, std::uint8_t* output);
  command_result modify_congestion(command_input input);
  command_result modify_reaction(std::uint32_t select, const roce_ecn_rp& wanted);
  command_result modify_notification(std::uint32_t select, const roce_ecn_np& wanted);
  bool reset_congestion();

  // mkey_commands.cpp
  command_result create_mkey(command_input input, std::uint8_t* output);
  command_result destroy_mkey(std::uint32_t number);
  command_result query_mkey(std::uint32_t number, std::uint8_t* output);
  failure check_mkey(const create_mkey_in& in) const;
  failure check_pages(const create_mkey_in& in, command_input input, std::uint64_t& pages) const;

  // queue_commands.cpp
  command_result create_eq(command_input input, std::uint8_t* output);
  command_result destroy_eq(std::uint32_t number);
  command_result query_eq(std::uint32_t number, std::uint8_t* output);
  command_result create_cq(command_input input, std::uint8_t* output);
  command_result destroy_cq(std::uint32_t number);
  command_result modify_cq(command_input input);
  command_result query_cq(std::uint32_t number, std::uint8_t* output);
  command_result create_srq(command_input input, std::uint8_t* output);
  command_result destroy_srq(std::uint32_t number);
  command_result query_srq(std::uint32_t number, std::uint8_t* output);
  command_result arm_rq(command_input input);
  void tell_completion(std::uint32_t number, const cqc_line& line);
  void tell_completion(std::uint32_t number, const eqc_line& line);
  void tell_responder(std::uint32_t number, const srq_line& line);

  // qp_commands.cpp
  command_result create_qp(command_input input, std::uint8_t* output);
  failure check_qp(const create_qp_in& in) const;
  command_result destroy_qp(std::uint32_t number);
  command_result query_qp(std::uint32_t number, std::uint8_t* output);
  void count_qp(const qpc& context, int change);
  void tell_owners(std::uint32_t qpn, const qp_record& qp);

  /// To be called whenever the owners are told that a QP is in RST: they count, too.
  std::uint8_t next_life(std::uint32_t qpn) { return ++tables_.lives[qpn]; }

  // qp_transitions.cpp
  command_result modify_qp(const cmd_in& head, command_input input);
  command_result fail_qp(std::uint32_t number);
  command_result reset_qp(std::uint32_t number);
  failure apply(const transition& step, qp_record& qp, const modify_qp_in& wanted) const;
  failure set_pkey(qp_record& qp, const ads& path) const;
  failure set_init(qp_record& qp, const qpc& wanted) const;
  failure set_rtr(qp_record& qp, const qpc& wanted) const;
  failure set_source(qp_record& qp, const ads& path) const;
  failure set_rts(qp_record& qp, const qpc& wanted) const;
  failure set_options(qp_record& qp, const qpc& wanted, std::uint32_t options) const;

  /// The first byte of a queue whose pages form one range, or nothing. The page addresses follow
  /// the input's fixed part, which is equally long in all commands that create a queue.
  static std::optional<std::uint64_t> contiguous_base(command_input input, const queue_shape& queue,
                                                      command_result& why);

  void write_line(context_kind kind, std::uint32_t index, const auto& line) {
    context_write& write = effects_.lines.emplace_back();
    write.kind = kind;
    write.index = index;
    line.pack(write.data.data());
  }

  /// The object of this number if it is the caller's.
  template <class Record>
  [[nodiscard]] Record* owned(number_table<Record>& table, std::uint32_t number) const {
    const auto found = table.find(number);
    return found != table.end() && found->second.function == caller_ ? &found->second : nullptr;
  }

  template <class Record>
  [[nodiscard]] const Record* owned(const number_table<Record>& table, std::uint32_t number) const {
    const auto found = table.find(number);
    return found != table.end() && found->second.function == caller_ ? &found->second : nullptr;
  }

  [[nodiscard]] function_record& mine() { return tables_.functions[caller_]; }

  [[nodiscard]] const function_record& mine() const { return tables_.functions[caller_]; }

  /// The caller may set what is privileged.
  [[nodiscard]] bool trusted() const { return caller_ == 0 || mine().port.trust; }

  static command_result not_trusted() {
    return fail(command_status::BadParameter, command_syndrome::NotTrusted);
  }

  command_limits limits_;
  const counter_block* counters_;
  std::uint16_t vfs_ = 0;
  std::uint16_t caller_ = 0;
  command_effects effects_;
  command_tables tables_;
  std::vector<std::uint8_t> output_;  ///< of the present command, before its length is known
};

}  // namespace carillon
