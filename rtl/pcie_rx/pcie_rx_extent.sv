// The bytes that a memory request touches, from its first enabled byte to its last, and whether
// some in between are left out. Only requests of one or two dwords may do so.

module pcie_rx_extent (
    input logic [10:0] dwords_i,    // of the request - decoder
    input logic [3:0]  first_be_i,  // enables of the first dword - decoder
    input logic [3:0]  last_be_i,   // enables of the last one, if there are several - decoder

    output logic [1:0]  lead_o,   // bytes of the first dword before it begins - router
    output logic [12:0] bytes_o,  // how many - router
    output logic        holes_o   // not all of them are enabled - router
);

  logic [3:0] end_be;
  logic [2:0] used;  // of the last dword
  assign end_be = dwords_i == 11'd1 ? first_be_i : last_be_i;
  always_comb begin
    lead_o = 2'd3;
    for (int unsigned i = 0; i < 4; i++) begin
      if (first_be_i[3-i]) begin
        lead_o = 2'(3 - i);
      end
    end
    used = 3'd1;
    for (int unsigned i = 0; i < 4; i++) begin
      if (end_be[i]) begin
        used = 3'(i + 1);
      end
    end
  end
  assign bytes_o = first_be_i == '0 ? '0
                                    : {dwords_i - 11'd1, 2'b00} + 13'(used) - 13'(lead_o);

  // A byte that is enabled before one that is not, and one after it.
  logic [7:0] enables;
  logic begun;
  assign enables = dwords_i == 11'd1 ? {4'b0, first_be_i} : {last_be_i, first_be_i};
  always_comb begin
    holes_o = 1'b0;
    begun  = 1'b0;
    for (int unsigned i = 1; i < 8; i++) begin
      begun = begun || enables[i-1];
      if (begun && !enables[i] && 8'(enables >> i) != '0 && dwords_i <= 11'd2) begin
        holes_o = 1'b1;
      end
    end
  end

endmodule
