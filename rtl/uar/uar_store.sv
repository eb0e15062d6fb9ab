// The bytes of BlueFlame WQEs, from a burst's first chunk until the WQE has left: Buffers of 256
// bytes, written by 8-byte lanes of a 64-byte line, read whole.

module uar_store #(
    parameter  int unsigned Buffers = 8,
    localparam int unsigned BufferWidth = $clog2(Buffers)
) (
    input  logic                   clk_i,           // core clock
    input  logic [7:0]             write_lanes_i,   // lanes written, first byte highest - bursts
    input  logic [BufferWidth-1:0] write_buffer_i,  // of this buffer - bursts
    input  logic [1:0]             write_line_i,    // of this line - bursts
    input  logic [511:0]           write_data_i,    // the line - bursts
    input  logic [BufferWidth-1:0] read_buffer_i,   // which WQE - bells
    output logic [2047:0]          read_data_o      // all of it - bells
);

  for (genvar lane = 0; lane < 8; lane++) begin : gen_lane
    logic [63:0] lane_mem[Buffers * 4];

    always_ff @(posedge clk_i) begin
      if (write_lanes_i[lane]) begin
        lane_mem[{write_buffer_i, write_line_i}] <= write_data_i[64 * lane +: 64];
      end
    end

    for (genvar line = 0; line < 4; line++) begin : gen_line
      localparam int unsigned At = 512 * (3 - line) + 64 * lane;
      assign read_data_o[At +: 64] = lane_mem[{read_buffer_i, 2'(line)}];
    end
  end

endmodule
