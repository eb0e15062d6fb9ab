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
  logic [Groups-1:0] by_2, by_4;
  assign log_groups = log_pages_i > 4'd5 ? 3'(log_pages_i - 4'd5) : 3'd0;
  always_comb begin
    for (int unsigned i = 0; i < Groups; i++) begin
      by_2[i]    = log_groups[0] ? gone_i[i>>1] : gone_i[i];
    end
    for (int unsigned i = 0; i < Groups; i++) begin
      by_4[i]    = log_groups[1] ? by_2[i>>2] : by_2[i];
    end
    for (int unsigned i = 0; i < Groups; i++) begin
      clear_o[i] = log_groups[2] ? by_4[i>>4] : by_4[i];
    end
  end

endmodule
