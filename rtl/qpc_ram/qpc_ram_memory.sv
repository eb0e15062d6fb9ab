// The way to host memory: reads of lines that missed and writes of lines that made room. A line is
// not read before its last write has gone to the DMA engine.

module qpc_ram_memory #(
    parameter  int unsigned RegisterWidth = 5,
    localparam int unsigned IdWidth       = 32
) (
    input  logic                     clk_i,            // core clock
    input  logic                     rst_ni,           // synchronous reset, active low
    input  logic [             63:0] base_i,           // where the lines are, 0: nowhere - level
    input  logic [           9*23-1:0] first_i,        // number of each kind's first line - qpc_ram
    output logic                     moved_o,          // they are elsewhere now - qpc_ram
    input  logic                     wanted_i,         // a line is to be read - misses
    input  logic [RegisterWidth-1:0] wanted_number_i,  // its register - misses
    input  logic [      IdWidth-1:0] wanted_id_i,      // which - misses
    output logic                     wanted_pop_o,     // its read leaves - misses
    output logic                     store_room_o,     // a line can be written - qpc_ram
    input  logic                     store_i,          // a line is written - qpc_ram
    input  logic [      IdWidth-1:0] store_id_i,       // which - qpc_ram
    input  logic [            511:0] store_data_i,     // the line, a cycle later - lines
    output logic                     fetch_push_o,     // a read becomes visible - dma_engine
    output logic                     fetch_valid_o,    // a read is there - dma_engine
    input  logic                     fetch_ready_i,    // it is taken - dma_engine
    output streams_pkg::icm_fetch_t  fetch_o,          // the read - dma_engine
    output logic                     store_push_o,     // a write becomes visible - dma_engine
    output logic                     store_valid_o,    // a write is there - dma_engine
    input  logic                     store_ready_i,    // it is taken - dma_engine
    output streams_pkg::icm_store_t  store_o,          // the write - dma_engine
    output logic                     busy_o            // reads or writes are under way - qpc_ram
);

  localparam int unsigned FetchDepth = stages_pkg::QpcRamIcmReadDepth;
  localparam int unsigned StoreDepth = stages_pkg::QpcRamDepth;
  localparam int unsigned FetchCount = $clog2(FetchDepth + 1);
  localparam int unsigned StoreCount = $clog2(StoreDepth + 1);
  localparam int unsigned Stages = stages_pkg::DmaEngineRequestHop - 1;

  logic [63:0] base_q;
  assign moved_o = base_i != base_q;
  always_ff @(posedge clk_i) begin
    base_q <= base_i;
  end

  function automatic logic [63:0] address_of(input logic [63:0] base,
                                             input logic [9*23-1:0] first,
                                             input logic [IdWidth-1:0] id);
    address_of = base + {35'd0, first[23*id[27:24]+:23] + id[22:0], 6'd0};
  endfunction

  // Lines on their way back: the last ones written, and how many of them have not gone.
  logic [StoreCount-1:0] store_credits, waiting;
  logic [StoreDepth*IdWidth-1:0] last_q, last;
  logic [StoreDepth-1:0] same;
  assign store_room_o = store_credits != '0;
  assign last = store_i ? {last_q[(StoreDepth-1)*IdWidth-1:0], store_id_i} : last_q;
  assign waiting = StoreCount'(StoreDepth) - store_credits + StoreCount'(store_i);
  for (genvar i = 0; i < StoreDepth; i++) begin : gen_same
    assign same[i] = StoreCount'(i) < waiting && last[IdWidth*i+:IdWidth] == wanted_id_i;
  end
  always_ff @(posedge clk_i) begin
    last_q <= last;
  end

  logic [FetchCount-1:0] fetch_credits;
  assign wanted_pop_o = wanted_i && same == '0 && fetch_credits != '0;
  credit_counter #(
      .Depth(FetchDepth)
  ) u_fetch_credits (
      .clk_i,
      .rst_ni,
      .spend_i(FetchCount'(wanted_pop_o)),
      .taken_i(fetch_valid_o && fetch_ready_i),
      .credits_o(fetch_credits)
  );
  credit_counter #(
      .Depth(StoreDepth)
  ) u_store_credits (
      .clk_i,
      .rst_ni,
      .spend_i(StoreCount'(store_i)),
      .taken_i(store_valid_o && store_ready_i),
      .credits_o(store_credits)
  );

  streams_pkg::icm_fetch_t fetch_in, fetch_out;
  logic fetch_busy;
  assign fetch_in.address = address_of(base_i, first_i, wanted_id_i);
  assign fetch_in.cookie = 8'(wanted_number_i);
  credit_pipe #(
      .Width(streams_pkg::IcmFetchWidth),
      .Stages(Stages)
  ) u_fetch_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(wanted_pop_o),
      .data_i(fetch_in),
      .valid_o(fetch_push_o),
      .data_o(fetch_out),
      .busy_o(fetch_busy)
  );
  stream_fifo #(
      .Width(streams_pkg::IcmFetchWidth),
      .Depth(FetchDepth)
  ) u_fetches (
      .clk_i,
      .rst_ni,
      .push_i(fetch_push_o),
      .data_i(fetch_out),
      .valid_o(fetch_valid_o),
      .ready_i(fetch_ready_i),
      .data_o(fetch_o)
  );

  // The line comes out of the RAM in the cycle after its address.
  logic store_q, store_busy;
  logic [63:0] store_address_q;
  streams_pkg::icm_store_t store_out;
  always_ff @(posedge clk_i) begin
    if (store_i) begin
      store_address_q <= address_of(base_i, first_i, store_id_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      store_q <= 1'b0;
    end else begin
      store_q <= store_i;
    end
  end
  credit_pipe #(
      .Width(streams_pkg::IcmStoreWidth),
      .Stages(Stages - 1)
  ) u_store_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(store_q),
      .data_i({store_address_q, store_data_i}),
      .valid_o(store_push_o),
      .data_o(store_out),
      .busy_o(store_busy)
  );
  stream_fifo #(
      .Width(streams_pkg::IcmStoreWidth),
      .Depth(StoreDepth)
  ) u_stores (
      .clk_i,
      .rst_ni,
      .push_i(store_push_o),
      .data_i(store_out),
      .valid_o(store_valid_o),
      .ready_i(store_ready_i),
      .data_o(store_o)
  );

  assign busy_o = moved_o || fetch_busy || store_q || store_busy || fetch_valid_o || store_valid_o;

endmodule
