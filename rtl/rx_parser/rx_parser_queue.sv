// A queue whose entries can be used from the cycle on in which they come in. It cannot overflow:
// as many packets are in flight as it has entries.
`include "assertions.svh"

module rx_parser_queue #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 4
) (
    input  logic             clk_i,    // core clock
    input  logic             rst_ni,   // synchronous reset, active low
    input  logic             push_i,   // an entry comes in - the block that owns the queue
    input  logic [Width-1:0] data_i,   // the entry - the block that owns the queue
    output logic             valid_o,  // there is a front entry - the block that owns the queue
    input  logic             pop_i,    // it leaves - the block that owns the queue
    output logic [Width-1:0] data_o    // the front entry - the block that owns the queue
);

  localparam int unsigned PtrWidth = $clog2(Depth);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam logic [PtrWidth-1:0] LastPtr = PtrWidth'(Depth - 1);

  logic [Width-1:0] mem[Depth];
  logic [PtrWidth-1:0] write_q, read_q;
  logic [CountWidth-1:0] count_q;

  logic stored, write, read;
  assign stored = count_q != '0;
  assign write = push_i && (stored || !pop_i);
  assign read = pop_i && stored;
  assign valid_o = stored || push_i;
  assign data_o = stored ? mem[read_q] : data_i;

  always_ff @(posedge clk_i) begin
    if (write) begin
      mem[write_q] <= data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else begin
      if (write) begin
        write_q <= write_q == LastPtr ? '0 : write_q + 1'b1;
      end
      if (read) begin
        read_q <= read_q == LastPtr ? '0 : read_q + 1'b1;
      end
      count_q <= count_q + CountWidth'(write) - CountWidth'(read);
    end
  end

  `CARILLON_ASSERT(!write || count_q != CountWidth'(Depth))
  `CARILLON_ASSERT(!pop_i || valid_o)

endmodule
