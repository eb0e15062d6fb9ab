// Which buffers for WQEs are in use. The lowest free one is next. There is one for every burst,
// lookup and doorbell on its way, so one is always free.
`include "assertions.svh"

module uar_buffers #(
    parameter  int unsigned Buffers = 8,
    localparam int unsigned BufferWidth = $clog2(Buffers)
) (
    input  logic                   clk_i,            // core clock
    input  logic                   rst_ni,           // synchronous reset, active low
    output logic [BufferWidth-1:0] next_o,           // a free buffer - bursts
    input  logic                   take_i,           // it is used - bursts
    input  logic                   timeout_i,        // a burst timed out - bursts
    input  logic [BufferWidth-1:0] timeout_buffer_i, // its buffer - bursts
    input  logic                   discard_i,        // a burst is discarded - bursts
    input  logic [BufferWidth-1:0] discard_buffer_i, // its buffer - bursts
    input  logic                   refuse_i,         // a WQE is not the owner's - uar
    input  logic [BufferWidth-1:0] refuse_buffer_i,  // its buffer - uar
    input  logic                   leave_i,          // a WQE left - uar
    input  logic [BufferWidth-1:0] leave_buffer_i    // its buffer - uar
);

  logic [Buffers-1:0] used_q, used;

  always_comb begin
    next_o = '0;
    for (int unsigned i = 0; i < Buffers; i++) begin
      if (!used_q[Buffers - 1 - i]) begin
        next_o = BufferWidth'(Buffers - 1 - i);
      end
    end
  end

  always_comb begin
    used = used_q;
    if (take_i) begin
      used[next_o] = 1'b1;
    end
    if (timeout_i) begin
      used[timeout_buffer_i] = 1'b0;
    end
    if (discard_i) begin
      used[discard_buffer_i] = 1'b0;
    end
    if (refuse_i) begin
      used[refuse_buffer_i] = 1'b0;
    end
    if (leave_i) begin
      used[leave_buffer_i] = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      used_q <= used;
    end
  end

  `CARILLON_ASSERT(!take_i || !used_q[next_o])

endmodule
