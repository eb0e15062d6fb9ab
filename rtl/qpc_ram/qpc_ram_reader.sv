// A reader's side of the RAM: the lines that it has not taken yet, the room for more, and its reads
// that were taken but wait for a line from host memory, or behind one that does.

module qpc_ram_reader #(
    parameter  int unsigned Depth   = 16,
    localparam int unsigned IdWidth = 32
) (
    input  logic                  clk_i,          // core clock
    input  logic                  rst_ni,         // synchronous reset, active low
    input  logic                  take_i,         // a read is taken - qpc_ram
    input  streams_pkg::ctx_req_t request_i,      // which - qpc_ram
    output logic [          31:0] trace_o,        // its message - qpc_ram
    output logic [   IdWidth-1:0] id_o,           // its line - qpc_ram
    output streams_pkg::ram_bound_t bound_o,      // what its function must reach - partitions
    input  logic                  wait_i,         // it waits - qpc_ram
    input  logic                  wait_empty_i,   // it gets no line - qpc_ram
    output logic                  room_o,         // there is room for another line - qpc_ram
    input  logic                  fail_i,         // no line comes - misses
    input  logic [   IdWidth-1:0] fail_id_i,      // which - misses
    output logic                  waiting_o,      // a read waits - qpc_ram
    output logic [          31:0] front_trace_o,  // message of the oldest - qpc_ram
    output logic [   IdWidth-1:0] front_id_o,     // its line - qpc_ram
    output logic                  front_empty_o,  // it gets none - qpc_ram
    input  logic                  empty_i,        // from now on it gets none - qpc_ram
    input  logic                  serve_i,        // it is served - qpc_ram
    input  logic                  push_i,         // a line comes out of the RAM - lanes
    input  streams_pkg::ctx_rsp_t push_data_i,    // the line - lanes
    output logic                  valid_o,        // the reader's oldest line is there - reader
    input  logic                  ready_i,        // it is taken - reader
    output streams_pkg::ctx_rsp_t line_o,         // the line - reader
    output logic                  busy_o          // a read waits, or a line - qpc_ram
);

  localparam int unsigned Width = $clog2(Depth);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam logic [Width-1:0] Last = Width'(Depth - 1);

  assign trace_o = request_i.trace_id;
  assign id_o = {4'd0, request_i.kind, request_i.index};
  assign bound_o.function_id = request_i.function_id;
  assign bound_o.kind = request_i.kind;
  assign bound_o.index = request_i.index;

  logic [CountWidth-1:0] credits;
  logic line_valid;
  credit_counter #(
      .Depth(Depth)
  ) u_credits (
      .clk_i,
      .rst_ni,
      .spend_i(CountWidth'(take_i)),
      .taken_i(line_valid && ready_i),
      .credits_o(credits)
  );
  assign room_o = credits != '0;

  stream_fifo #(
      .Width(streams_pkg::CtxRspWidth),
      .Depth(Depth)
  ) u_lines (
      .clk_i,
      .rst_ni,
      .push_i,
      .data_i(push_data_i),
      .valid_o(line_valid),
      .ready_i,
      .data_o(line_o)
  );
  assign valid_o = line_valid;

  // What waits has room reserved for its line, so it cannot be more.
  logic [31:0] trace_mem[Depth];
  logic [Depth*IdWidth-1:0] id_q;
  logic [Depth-1:0] empty_q, empty_now;
  logic [Width-1:0] read_q, write_q;
  logic [CountWidth-1:0] count_q;

  for (genvar i = 0; i < Depth; i++) begin : gen_fail
    assign empty_now[i] = empty_q[i] || (fail_i && id_q[IdWidth*i+:IdWidth] == fail_id_i);
  end

  assign waiting_o = count_q != '0;
  assign front_trace_o = trace_mem[read_q];
  assign front_id_o = id_q[IdWidth*read_q+:IdWidth];
  assign front_empty_o = empty_now[read_q];

  always_ff @(posedge clk_i) begin
    if (wait_i) begin
      trace_mem[write_q] <= request_i.trace_id;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      id_q    <= '0;
      empty_q <= '0;
      read_q  <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      empty_q <= empty_now;
      if (empty_i) begin
        empty_q[read_q] <= 1'b1;
      end
      if (wait_i) begin
        id_q[IdWidth*write_q+:IdWidth] <= id_o;
        empty_q[write_q]               <= wait_empty_i;
        write_q                        <= write_q == Last ? '0 : write_q + 1'b1;
      end
      if (serve_i) begin
        read_q <= read_q == Last ? '0 : read_q + 1'b1;
      end
      count_q <= count_q + CountWidth'(wait_i) - CountWidth'(serve_i);
    end
  end

  assign busy_o = waiting_o || line_valid;

endmodule
