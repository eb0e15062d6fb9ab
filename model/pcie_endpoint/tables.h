// The objects that commands have made, of all functions. Nothing here checks anything; the commands
// do. The tables compare, so that a test can say that a refused command changed none of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gen/contexts.h"

namespace carillon {

/// Hands out numbers, or runs of consecutive ones, at the lowest place where they fit.
class number_pool {
 public:
  number_pool() = default;

  number_pool(std::uint32_t first, std::uint32_t end) { give_back(first, end - first); }

  /// The first of so many.
  [[nodiscard]] std::optional<std::uint32_t> take_run(std::uint32_t count);

  /// For numbers that are never 0: 0 if none is left.
  [[nodiscard]] std::uint32_t take() { return take_run(1).value_or(0); }

  /// Exactly this run; false if not all of it is there.
  [[nodiscard]] bool take_at(std::uint32_t first, std::uint32_t count);

  void give_back(std::uint32_t first, std::uint32_t count = 1);

  bool operator==(const number_pool&) const = default;

 private:
  std::map<std::uint32_t, std::uint32_t> free_;  ///< first to count; no two runs touch
};

/// What is divided between the functions.
enum class table_kind : std::uint8_t { qps, cqs, eqs, srqs, mkeys, mtt_lines };

inline constexpr std::size_t TableKinds = 6;

template <class T>
struct by_table : std::array<T, TableKinds> {
  T& operator[](table_kind kind) { return this->at(static_cast<std::size_t>(kind)); }

  const T& operator[](table_kind kind) const { return this->at(static_cast<std::size_t>(kind)); }

  bool operator==(const by_table&) const = default;
};

struct gid_entry {
  bool valid = false;
  roce_addr_layout address;

  bool operator==(const gid_entry&) const = default;
};

enum class function_state : std::uint8_t { reset, enabled, initialised };

/// A function's virtual port. The PF decides the first part; the rest is the function's own and
/// ends with its life.
struct port_record {
  std::uint64_t admin_mac = 0;
  std::optional<std::uint16_t> vlan;
  std::uint8_t qos = 0;
  bool spoof_check = false;
  bool trust = false;
  std::uint32_t max_rate_mbps = 0;
  std::uint16_t weight = 1;
  std::uint8_t urgency = 0;
  vport_link_state link = vport_link_state::Auto;

  bool own_up = true;         ///< the function's own wish
  nic_vport_context context;  ///< permanent_address is the MAC in force

  [[nodiscard]] bool up() const { return own_up && link != vport_link_state::Down; }

  /// In force: what was asked for ends with the trust, and is there again with it.
  [[nodiscard]] bool promiscuous() const {
    return trust && (context.promisc_uc != 0 || context.promisc_all != 0);
  }

  bool operator==(const port_record&) const = default;
};

struct function_record {
  function_state state = function_state::reset;
  bool admitted = false;  ///< the PF has enabled it; the PF is always
  /// What it is in when all that it has is torn down.
  function_state after_teardown = function_state::reset;
  bool taken_away = false;              ///< the host has cleared VF Enable
  by_table<context_range> partition{};  ///< of the PF only the counts: what no VF has
  by_table<number_pool> numbers{};      ///< free ones
  number_pool uars;
  std::set<std::uint32_t> uar_pages;
  std::vector<gid_entry> gids;
  std::vector<std::uint16_t> pkeys;
  port_record port;
  std::uint32_t rate_qpn = 0;  ///< RP_QPN

  bool operator==(const function_record&) const = default;
};

/// `users` are the objects that refer to this one.
struct pd_record {
  std::uint16_t function = 0;
  std::uint32_t users = 0;

  bool operator==(const pd_record&) const = default;
};

struct eq_record {
  std::uint16_t function = 0;
  std::uint32_t users = 0;
  eqc context;
  std::uint64_t event_bitmask = 0;

  bool operator==(const eq_record&) const = default;
};

struct cq_record {
  std::uint16_t function = 0;
  std::uint32_t users = 0;
  cqc context;
  cqc_line line;  ///< as last written

  bool operator==(const cq_record&) const = default;
};

struct srq_record {
  std::uint16_t function = 0;
  std::uint32_t users = 0;
  srqc context;
  srq_line line;  ///< as last written

  bool operator==(const srq_record&) const = default;
};

struct mkey_record {
  std::uint16_t function = 0;
  mkc context;
  std::uint32_t first_line = 0;  ///< of its translation lines
  std::uint32_t lines = 0;

  bool operator==(const mkey_record&) const = default;
};

/// What the RP_* registers show of a QP.
struct rate_values {
  std::uint32_t rate = 0;
  std::uint32_t target = 0;
  std::uint32_t current = 0;
  std::uint16_t timer = 0;

  bool operator==(const rate_values&) const = default;
};

struct qp_record {
  std::uint16_t function = 0;
  qpc created;        ///< as CREATE_QP left it: what 2RST goes back to
  qpc context;        ///< as commands have set it; `state` is the present one
  qpc_common common;  ///< the lines as last written
  qpc_address address;
  qpc_requester requester;
  qpc_responder responder;
  rate_values rate;

  bool operator==(const qp_record&) const = default;
};

template <class Record>
using number_table = std::map<std::uint32_t, Record>;

struct command_tables {
  std::vector<function_record> functions;
  function_arbitration arbitration = function_arbitration::RoundRobin;
  roce_ecn_rp reaction;      ///< parameters of congestion control
  roce_ecn_np notification;  ///< likewise
  number_pool pd_numbers;
  /// By QP number: how often it was told to be in RST. It outlives the QP.
  std::vector<std::uint8_t> lives;
  number_table<pd_record> pds;
  number_table<eq_record> eqs;
  number_table<cq_record> cqs;
  number_table<srq_record> srqs;
  number_table<mkey_record> mkeys;
  number_table<qp_record> qps;

  bool operator==(const command_tables&) const = default;
};

}  // namespace carillon
