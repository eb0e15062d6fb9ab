// The lines: one is written a cycle and two are read, with what is written in the same cycle. A
// third port gives a line as it was before, for those that make room.

module qpc_ram_lines #(
    parameter  int unsigned Lines = 64,
    localparam int unsigned Width = $clog2(Lines)
) (
    input  logic             clk_i,         // core clock
    input  logic             write_i,       // a line is written - qpc_ram
    input  logic [Width-1:0] write_line_i,  // which - qpc_ram
    input  logic [    511:0] write_data_i,  // the line - qpc_ram
    input  logic             read_a_i,      // a line is read - qpc_ram
    input  logic [Width-1:0] line_a_i,      // which - qpc_ram
    output logic [    511:0] data_a_o,      // the line, a cycle later - qpc_ram
    input  logic             read_b_i,      // another one is read - qpc_ram
    input  logic [Width-1:0] line_b_i,      // which - qpc_ram
    output logic [    511:0] data_b_o,      // the line, a cycle later - qpc_ram
    input  logic             old_i,         // one that makes room is read - qpc_ram
    input  logic [Width-1:0] old_line_i,    // which - qpc_ram
    output logic [    511:0] old_data_o     // the line, a cycle later - qpc_ram
);

  logic [511:0] lines_mem[Lines];
  logic [511:0] data_a_q, data_b_q, old_data_q;
  assign data_a_o = data_a_q;
  assign data_b_o = data_b_q;
  assign old_data_o = old_data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      lines_mem[write_line_i] <= write_data_i;
    end
    if (read_a_i) begin
      data_a_q <= write_i && write_line_i == line_a_i ? write_data_i : lines_mem[line_a_i];
    end
    if (read_b_i) begin
      data_b_q <= write_i && write_line_i == line_b_i ? write_data_i : lines_mem[line_b_i];
    end
    if (old_i) begin
      old_data_q <= lines_mem[old_line_i];
    end
  end

endmodule
