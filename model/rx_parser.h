// rx_parser: the header FSM, the steering to a virtual port, the context lookup, the ICRC check,
// and one verdict a packet.
//
// A packet taken in cycle t passes ST_ETH, ST_IP, ST_UDP and ST_BTH in t..t+3, is looked up from
// t+4 on, and its ICRC is known four cycles after its last beat; the verdict is visible at t +
// max(9, beats + 3). Packets leave in order.
//
// The virtual ports are looked at with the first beat. The lookup is made on behalf of the function
// whose port the packet came to, and a QP that is another's is not touched.
//
// docs/stages/rx_parser.md has the timing; rtl/rx_parser/rx_parser.sv is its twin.
#pragma once

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "rx_parser/rx_parser_rules.h"

namespace carillon {

class rx_parser : public stage {
 public:
  static constexpr const char* Row = "rx_parser";
  using ports = rx_parser_ports;
  using rules = rx_parser_rules;

  rx_parser(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  void evaluate(cycle_t t) override;
  void take_inputs(cycle_t t);
  void send();
  void ask(cycle_t t);

  ports io_;
  rules rules_;
};

/// Takes what a parser with a twin tells of the packets that left it; the rules have counted them.
class rx_parser_ends final : public stage {
 public:
  rx_parser_ends(const sc_core::sc_module_name& name, nic_shared& shared, stream<rx_ended>& ends);

 private:
  void evaluate(cycle_t t) override;

  stream<rx_ended>& ends_;
};

}  // namespace carillon
