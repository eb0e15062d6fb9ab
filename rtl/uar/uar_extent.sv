// Which 8-byte grains of a burst came, and how many there must be. Combinational.

module uar_extent (
    input  logic [31:0] have_i,      // grains that came - bursts
    input  logic [4:0]  blocks_i,    // 64-byte blocks that there must be, 0 if not known - bursts
    output logic        too_long_o,  // more than the buffer, or grains beyond the end - bursts
    output logic        complete_o   // as many grains as there must be - bursts
);

  logic [5:0] count;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < 32; i++) begin
      count = count + 6'(have_i[i]);
    end
  end

  // A block is 8 grains.
  logic beyond;
  always_comb begin
    unique case (blocks_i)
      5'd1: beyond = have_i[31:8] != '0;
      5'd2: beyond = have_i[31:16] != '0;
      5'd3: beyond = have_i[31:24] != '0;
      default: beyond = blocks_i > 5'd4;
    endcase
  end

  assign too_long_o = beyond;
  assign complete_o = blocks_i != '0 && {2'b0, count} == {blocks_i, 3'b0};

endmodule
