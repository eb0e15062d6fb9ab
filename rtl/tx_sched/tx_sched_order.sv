// Who is before whom, once some have joined behind all others: of each the step in which it did, 0
// if it was there before. Combinational.
module tx_sched_order #(
    parameter  int unsigned Steps  = 4,
    localparam int unsigned Places = stages_pkg::TxSchedPlaces
) (
    input  logic [     3*Places-1:0] stamp_i,  // the step in which each was taken - turns
    input  logic [Places*Places-1:0] older_i,  // who was before whom - turns
    output logic [Places*Places-1:0] older_o   // who is now - turns
);

  // Who came before the first step, before the second ...
  logic [Steps*Places-1:0] earlier;
  always_comb begin
    for (int unsigned s = 0; s < Steps; s++) begin
      for (int unsigned i = 0; i < Places; i++) begin
        earlier[s*Places+i] = stamp_i[i*3+:3] <= 3'(s);
      end
    end
  end

  always_comb begin
    logic [Places-1:0] row;
    for (int unsigned i = 0; i < Places; i++) begin
      row = earlier[0+:Places] & older_i[i*Places+:Places];
      for (int unsigned s = 0; s < Steps; s++) begin
        if (stamp_i[i*3+:3] == 3'(s + 1)) begin
          row = earlier[s*Places+:Places];
        end
      end
      older_o[i*Places+:Places] = row;
    end
  end

endmodule
