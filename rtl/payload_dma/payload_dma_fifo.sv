// A FIFO that two entries may enter at once, `first` before `second`. Who pushes knows that there
// is room.
`include "assertions.svh"

module payload_dma_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 64   // a power of two
) (
    input  logic             clk_i,           // core clock
    input  logic             rst_ni,          // synchronous reset, active low
    input  logic             first_push_i,    // an entry comes in - the owner
    input  logic [Width-1:0] first_data_i,    // the entry - the owner
    input  logic             second_push_i,   // one more, behind it - the owner
    input  logic [Width-1:0] second_data_i,   // the entry - the owner
    output logic             valid_o,         // the front entry is there - the owner
    input  logic             pop_i,           // it is taken - the owner
    output logic [Width-1:0] data_o           // the front entry - the owner
);

  localparam int unsigned PtrWidth = $clog2(Depth);

  logic [Width-1:0] mem[Depth];
  logic [PtrWidth-1:0] write_q, read_q, second;
  logic [PtrWidth:0] count_q;

  assign valid_o = count_q != '0;
  assign data_o = mem[read_q];
  assign second = write_q + PtrWidth'(first_push_i);

  always_ff @(posedge clk_i) begin
    if (first_push_i) begin
      mem[write_q] <= first_data_i;
    end
    if (second_push_i) begin
      mem[second] <= second_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else begin
      write_q <= second + PtrWidth'(second_push_i);
      read_q  <= read_q + PtrWidth'(pop_i);
      count_q <= count_q + (PtrWidth + 1)'(first_push_i) + (PtrWidth + 1)'(second_push_i) -
                 (PtrWidth + 1)'(pop_i);
    end
  end

  `CARILLON_ASSERT(!pop_i || valid_o)
  `CARILLON_ASSERT(int'(count_q) + int'(first_push_i) + int'(second_push_i) <= int'(Depth))

endmodule
