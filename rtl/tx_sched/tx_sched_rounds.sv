// Begins a round of each urgency of which nobody has anything left of his quantum. Combinational.
module tx_sched_rounds #(
    parameter int unsigned Functions = stages_pkg::TxSchedFunctions
) (
    input  logic [Functions*Functions-1:0] mates_i,   // who has the same urgency - functions
    input  logic [          Functions-1:0] listed_i,  // in line - functions
    input  logic [          Functions-1:0] due_i,     // has some of its quantum left - functions
    input  logic [          Functions-1:0] had_i,     // has had its quantum - functions
    output logic [          Functions-1:0] due_o,     // the same afterwards - functions
    output logic [          Functions-1:0] had_o      // - functions
);

  always_comb begin
    logic [Functions-1:0] mates;
    logic begins;
    for (int unsigned i = 0; i < Functions; i++) begin
      mates    = mates_i[i*Functions+:Functions] & listed_i;
      begins   = (mates & due_i) == '0 && (mates & ~due_i) != '0;
      due_o[i] = due_i[i] || (begins && listed_i[i]);
      had_o[i] = had_i[i] && !begins;
    end
  end

endmodule
