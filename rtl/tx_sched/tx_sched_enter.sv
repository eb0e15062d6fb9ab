// Functions get something to send: those that are in no line join it behind the others, in the
// order of their numbers, or wait for their rate. Combinational.
//
// A function gets the quantum of its round once; whoever has some of it left is due, the others are
// spent and wait for the next round.
module tx_sched_enter #(
    parameter  int unsigned Functions    = stages_pkg::TxSchedFunctions,
    localparam int unsigned BalanceWidth = 32
) (
    input logic [Functions-1:0] enter_i,  // who has something to send - functions

    input logic [             Functions-1:0] open_i,       // its rate lets it send - buckets
    input logic [BalanceWidth*Functions-1:0] quantum_i,    // bytes of a round - functions
    input logic [             Functions-1:0] listed_i,     // in line - functions
    input logic [ Functions-1:0] due_i,  // has some of its quantum left - functions
    input logic [             Functions-1:0] throttled_i,  // waits for its rate - functions
    input logic [             Functions-1:0] had_i,        // has had its quantum - functions
    input logic [BalanceWidth*Functions-1:0] balance_i,    // what is left of it - functions
    input logic [   Functions*Functions-1:0] older_i,      // who is before whom - functions

    output logic [             Functions-1:0] listed_o,     // the same afterwards - functions
    output logic [             Functions-1:0] due_o,        // - functions
    output logic [             Functions-1:0] throttled_o,  // - functions
    output logic [             Functions-1:0] had_o,        // - functions
    output logic [BalanceWidth*Functions-1:0] balance_o,    // - functions
    output logic [   Functions*Functions-1:0] older_o       // - functions
);

  logic [Functions-1:0] comes, joins;
  assign comes = enter_i & ~listed_i & ~throttled_i;
  assign joins = comes & open_i;
  assign listed_o = listed_i | joins;
  assign throttled_o = throttled_i | (comes & ~open_i);
  assign had_o = had_i | joins;

  always_comb begin
    logic signed [BalanceWidth-1:0] balance, quantum;
    due_o     = due_i;
    balance_o = balance_i;
    older_o   = older_i;
    for (int unsigned i = 0; i < Functions; i++) begin
      quantum = $signed(quantum_i[i*BalanceWidth+:BalanceWidth]);
      balance = $signed(balance_i[i*BalanceWidth+:BalanceWidth]);
      if (!had_i[i]) begin
        balance = balance > 0 ? quantum : balance + quantum;
      end
      if (joins[i]) begin
        balance_o[i*BalanceWidth+:BalanceWidth] = balance;
        due_o[i] = balance > 0;
        older_o[i*Functions+:Functions] = listed_i | (joins & ~({Functions{1'b1}} << i));
      end else begin
        older_o[i*Functions+:Functions] = older_i[i*Functions+:Functions] & ~joins;
      end
    end
  end

endmodule
