// Where the state of a UAR page is kept: the pages of all functions lie one behind the other, those
// of each function in a power of two.

module uar_row #(
    localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages)
) (
    input  logic [15:0]         function_id_i,  // whose page - uar
    input  logic [19:0]         page_i,         // its number in the function's BAR - uar
    input  logic [3:0]          log_pages_i,    // pages of a function - configuration
    output logic [RowWidth-1:0] row_o           // row of the memories - uar
);

  assign row_o = (RowWidth'(function_id_i) << log_pages_i) | RowWidth'(page_i);

endmodule
