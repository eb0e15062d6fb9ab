// The storage of a stream: Depth entries, written under a credit, so it cannot overflow. What is
// pushed in cycle t is at the output from t+1.
`include "assertions.svh"

module stream_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 4
) (
    input  logic             clk_i,    // core clock
    input  logic             rst_ni,   // synchronous reset, active low
    input  logic             push_i,   // an entry comes in - the block that owns the FIFO
    input  logic [Width-1:0] data_i,   // the entry - the block that owns the FIFO
    output logic             valid_o,  // the front entry is there - consumer
    input  logic             ready_i,  // the front entry is taken - consumer
    output logic [Width-1:0] data_o    // the front entry - consumer
);

  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam logic [PtrWidth-1:0] LastPtr = PtrWidth'(Depth - 1);

  logic [Width-1:0] mem[Depth];
  logic [PtrWidth-1:0] write_q, read_q;
  logic [CountWidth-1:0] count_q;
  logic pop;

  assign valid_o = count_q != '0;
  assign data_o = mem[read_q];
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      mem[write_q] <= data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else begin
      if (push_i) begin
        write_q <= write_q == LastPtr ? '0 : write_q + 1'b1;
      end
      if (pop) begin
        read_q <= read_q == LastPtr ? '0 : read_q + 1'b1;
      end
      if (push_i && !pop) begin
        count_q <= count_q + 1'b1;
      end else if (!push_i && pop) begin
        count_q <= count_q - 1'b1;
      end
    end
  end

  `CARILLON_ASSERT(!push_i || count_q != CountWidth'(Depth))

endmodule
