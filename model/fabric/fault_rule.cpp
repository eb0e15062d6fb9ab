#include "fabric/fault_rule.h"

#include "gen/wire.h"

namespace carillon {

namespace {

struct opcode_class {
  const char* name;
  bool (*holds)(const opcode_info&);
};

/// A congestion notification is neither request nor response.
bool of_a_message(const opcode_info& each) {
  return each.verb != bth_verb::Congestion;
}

constexpr std::array<opcode_class, 5> Classes = {{
    {"request", [](const opcode_info& each) { return of_a_message(each) && !each.is_response; }},
    {"response", [](const opcode_info& each) { return of_a_message(each) && each.is_response; }},
    {"acknowledge", [](const opcode_info& each) { return each.verb == bth_verb::Acknowledge; }},
    {"read_response", [](const opcode_info& each) { return each.verb == bth_verb::ReadResponse; }},
    {"atomic",
     [](const opcode_info& each) {
       return each.verb == bth_verb::CompareSwap || each.verb == bth_verb::FetchAdd ||
              each.verb == bth_verb::AtomicAcknowledge;
     }},
}};

}  // namespace

const char* to_string(fault_action action) {
  constexpr std::array<const char*, FaultActionCount> Names = {"drop", "corrupt", "duplicate",
                                                               "delay", "reorder"};
  return Names[static_cast<std::size_t>(action)];
}

const char* to_string(corrupt_target target) {
  return target == corrupt_target::fcs ? "fcs" : "icrc";
}

const char* to_string(fault_direction direction) {
  constexpr std::array<const char*, FaultDirectionCount + 1> Names = {"host0_to_host1",
                                                                      "host1_to_host0", "both"};
  return Names[static_cast<std::size_t>(direction)];
}

std::optional<opcode_set> opcodes_named(std::string_view word) {
  opcode_set found;
  for (const opcode_info& each : OpcodeInfo) {
    bool named = word == each.name;
    for (const opcode_class& group : Classes) {
      named = named || (word == group.name && group.holds(each));
    }
    if (named) {
      found.set(static_cast<std::size_t>(each.code));
    }
  }
  return found.any() ? std::optional(found) : std::nullopt;
}

std::vector<std::string> opcode_words() {
  std::vector<std::string> words;
  for (const opcode_class& each : Classes) {
    words.emplace_back(each.name);
  }
  for (const opcode_info& each : OpcodeInfo) {
    words.emplace_back(each.name);
  }
  return words;
}

}  // namespace carillon
