// One hostile operation: what it needs, what became of it, and the table of all kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/random.h"
#include "tb/isolation/counters.h"
#include "tb/isolation/tenants.h"

namespace carillon::isolation {

/// What an operation works with.
struct hostile {
  cpu& core;
  tenant_house& house;
  random_stream& random;
};

/// What became of it. An operation fills it; the campaign compares.
struct outcome {
  std::uint16_t offender = Attacker;
  /// Whose things it was after. Functions that legally did some work meanwhile, beside the offender
  /// and the victim, are marked in `worked`.
  std::array<bool, Functions> worked{};
  std::vector<count_move> counted;  ///< that must be counted, exactly
  std::uint64_t told = 0;           ///< what the offender was told, for the digest
  std::string wrong;                ///< not refused, or told otherwise than it should be

  void count(std::uint16_t where, counter which, std::uint64_t by = 1) {
    counted.push_back({where, which, by});
  }

  void tell(std::uint64_t what) { told = (told ^ what) * 0x100000001b3ULL + 1; }

  template <class Value>
  void expect(const char* what, const Value& is, const Value& should) {
    tell(static_cast<std::uint64_t>(is));
    if (is != should && wrong.empty()) {
      wrong = std::string(what) + " is " + std::to_string(static_cast<std::uint64_t>(is)) +
              " and should be " + std::to_string(static_cast<std::uint64_t>(should));
    }
  }
};

/// Who does something to whom.
enum class offence : std::uint8_t {
  vf_to_vf,
  vf_to_pf,
  pf_to_vf,
  own,     ///< a function to itself, where it may not: another page, domain, privileged field
  ghost,   ///< a disabled VF to anybody
  wire,    ///< a frame from outside
  nobody,  ///< the host, at an address of nobody
};

const char* to_string(offence who);

/// A kind of operation: resource x offender x operation.
struct hostile_bin {
  const char* resource;
  offence who;
  std::string operation;
  const char* reported;  ///< how the offender, or whose fault it is, hears of it
  unsigned weight;       ///< of what is left when every bin has its share
  std::function<task<>(hostile, outcome&)> perform;

  [[nodiscard]] std::string name() const;
};

using bin_table = std::vector<hostile_bin>;

/// All of them, in an order that does not change.
const bin_table& all_bins();

// Parts of the table.
void add_command_bins(bin_table& to);
void add_doorbell_bins(bin_table& to);
void add_register_bins(bin_table& to);
void add_config_bins(bin_table& to);
void add_key_bins(bin_table& to);
void add_wire_bins(bin_table& to);
void add_loopback_bins(bin_table& to);

// Vocabulary ------------------------------------------------------------------------------------

struct pair_of_functions {
  std::uint16_t offender;
  std::uint16_t target;
};

/// Who meets whom in such an offence.
pair_of_functions choose(offence who, random_stream& random);

/// By then every effect of a store, a frame or a looped datagram has happened.
inline constexpr std::uint64_t SettleNs = 3000;

task<> settle(cpu& core, std::uint64_t ns = SettleNs);

/// A number of a function's, drawn from several.
template <class Values>
auto any_of(random_stream& random, const Values& values) {
  return values[random.below(values.size())];
}

}  // namespace carillon::isolation
