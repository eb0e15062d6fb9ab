// Which groups of flags belong to a function that is gone. Combinational.

module uar_gone #(
    localparam int unsigned Functions = stages_pkg::UarFunctions,
    localparam int unsigned Groups = Functions
) (
    input  logic [3:0]           log_pages_i,  // pages of a function - configuration
    input  logic [Functions-1:0] gone_i,       // functions that are gone - level
    output logic [Groups-1:0]    clear_o       // groups that are to be clear - flags
);

  // A function with more than 32 pages has a power of two of groups.
  logic [2:0] log_groups;
  logic [Groups-1:0] two, four, sixteen, by_2, by_4;
  assign log_groups = log_pages_i > 4'd5 ? 3'(log_pages_i - 4'd5) : 3'd0;
  always_comb begin
    for (int unsigned i = 0; i < Groups; i++) begin
      two[i] = gone_i[i>>1];
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < Groups; i++) begin
      four[i] = by_2[i>>2];
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < Groups; i++) begin
      sixteen[i] = by_4[i>>4];
    end
  end
  assign by_2 = log_groups[0] ? two : gone_i;
  assign by_4 = log_groups[1] ? four : by_2;
  assign clear_o = log_groups[2] ? sixteen : by_4;

endmodule
