// The objects that commands have made, of all functions. Nothing here checks anything; the commands
// do. The tables compare, so that a test can say that a refused command changed none of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gen/contexts.h"

namespace carillon {

/// Hands out numbers, the lowest free one first.
class number_pool {
 public:
  number_pool(std::uint32_t first, std::uint32_t end) : next_(first), end_(end) {}

  /// 0 if none is left.
  [[nodiscard]] std::uint32_t take();

  void give_back(std::uint32_t number) { free_.insert(number); }

  bool operator==(const number_pool&) const = default;

 private:
  std::uint32_t next_;
  std::uint32_t end_;
  std::set<std::uint32_t> free_;
};

/// Hands out runs of consecutive lines, at the lowest place where a run fits.
class run_pool {
 public:
  explicit run_pool(std::uint32_t size) { free_.emplace(0, size); }

  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t count);
  void give_back(std::uint32_t first, std::uint32_t count);

  bool operator==(const run_pool&) const = default;

 private:
  std::map<std::uint32_t, std::uint32_t> free_;  ///< first line to count; no two runs touch
};

struct gid_entry {
  bool valid = false;
  roce_addr_layout address;

  bool operator==(const gid_entry&) const = default;
};

enum class function_state : std::uint8_t { reset, enabled, initialised };

struct function_record {
  explicit function_record(number_pool pages) : uars(std::move(pages)) {}

  function_state state = function_state::reset;
  number_pool uars;
  std::set<std::uint32_t> uar_pages;
  std::vector<gid_entry> gids;
  std::vector<std::uint16_t> pkeys;

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

struct qp_record {
  std::uint16_t function = 0;
  qpc created;        ///< as CREATE_QP left it: what 2RST goes back to
  qpc context;        ///< as commands have set it; `state` is the present one
  qpc_common common;  ///< the lines as last written
  qpc_address address;
  qpc_requester requester;
  qpc_responder responder;

  bool operator==(const qp_record&) const = default;
};

template <class Record>
using number_table = std::map<std::uint32_t, Record>;

struct command_tables {
  std::vector<function_record> functions;
  number_pool pd_numbers;
  number_pool eq_numbers;
  number_pool cq_numbers;
  number_pool srq_numbers;
  number_pool qp_numbers;
  number_pool mkey_numbers;
  run_pool mtt_lines;
  number_table<pd_record> pds;
  number_table<eq_record> eqs;
  number_table<cq_record> cqs;
  number_table<srq_record> srqs;
  number_table<mkey_record> mkeys;
  number_table<qp_record> qps;
  /// By QP number: how often it was told to be in RST. It outlives the QP.
  std::vector<std::uint8_t> lives;

  bool operator==(const command_tables&) const = default;
};

}  // namespace carillon
