// A bit for each QP, 0 after the reset: words of a memory, and which of them were written.
module wqe_fetch_bitmap #(
    parameter  int unsigned QpnWidth  = params_pkg::NicLogMaxQp,
    parameter  int unsigned Ports     = 2,
    localparam int unsigned BitWidth  = 6,
    localparam int unsigned WordWidth = QpnWidth - BitWidth
) (
    input  logic                      clk_i,    // core clock
    input  logic                      rst_ni,   // synchronous reset, active low
    input  logic [QpnWidth*Ports-1:0] read_i,   // bits that are read - queues
    output logic [         Ports-1:0] value_o,  // what they are - queues
    input  logic                      write_i,  // a bit is written - queues
    input  logic [      QpnWidth-1:0] qpn_i,    // which - queues
    input  logic                      value_i   // to what - queues
);

  localparam int unsigned Words = 1 << WordWidth;
  localparam int unsigned Bits = 1 << BitWidth;

  logic [Bits-1:0] mem[Words];
  logic [Words-1:0] written_q;

  logic [WordWidth-1:0] word;
  logic [BitWidth-1:0] place;
  logic [Bits-1:0] kept, mask;
  assign {word, place} = qpn_i;
  assign kept = written_q[word] ? mem[word] : '0;
  assign mask = Bits'(1) << place;

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      mem[word] <= value_i ? kept | mask : kept & ~mask;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_q <= '0;
    end else if (write_i) begin
      written_q[word] <= 1'b1;
    end
  end

  for (genvar i = 0; i < Ports; i++) begin : gen_read
    logic [WordWidth-1:0] read_word;
    logic [BitWidth-1:0] read_place;
    logic [Bits-1:0] bits;
    assign {read_word, read_place} = read_i[QpnWidth*i+:QpnWidth];
    assign bits = mem[read_word];
    assign value_o[i] = written_q[read_word] && bits[read_place];
  end

endmodule
