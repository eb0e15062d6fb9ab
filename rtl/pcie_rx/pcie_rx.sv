// pcie_rx: decodes TLPs from the link and sends them where they belong. Cycle by cycle the same as
// model/pcie_rx.cpp; docs/stages/pcie_rx.md has the timing.
//
// A TLP is decoded in the cycle in which its first beat is taken, under a credit of the output that
// it leads to. What leaves waits in a line until it is due: forty cycles later, or as much later as
// the link needs for the TLP's last symbol.
`include "assertions.svh"

module pcie_rx (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [31:0]                            now_i,       // core cycle - clock
    input streams_pkg::function_windows_t         windows_i,   // BARs - pcie_endpoint
    input logic [stages_pkg::PcieRxFunctions-1:0] resetting_i, // by function - pcie_endpoint

    input  logic                   tlp_valid_i,  // a TLP's beat - the link
    output logic                   tlp_ready_o,  // it is taken - the link
    input  streams_pkg::tlp_beat_t tlp_i,        // the beat - the link

    output logic                          uar_write_valid_o,  // a store into a UAR page - uar
    input  logic                          uar_write_ready_i,  // it is taken - uar
    output streams_pkg::mmio_write_beat_t uar_write_o,        // the store - uar
    output logic                          uar_write_push_o,   // it enters the stream - monitor

    output logic                         uar_read_valid_o,  // a load from a UAR page - uar
    input  logic                         uar_read_ready_i,  // it is taken - uar
    output streams_pkg::mmio_read_beat_t uar_read_o,        // the load - uar
    output logic                         uar_read_push_o,   // it enters the stream - monitor

    output logic                          register_write_valid_o,  // of registers - pcie_endpoint
    input  logic                          register_write_ready_i,  // it is taken - pcie_endpoint
    output streams_pkg::mmio_write_beat_t register_write_o,        // the write - pcie_endpoint
    output logic                          register_write_push_o,   // it enters - monitor

    output logic                         register_read_valid_o,  // of a register - pcie_endpoint
    input  logic                         register_read_ready_i,  // it is taken - pcie_endpoint
    output streams_pkg::mmio_read_beat_t register_read_o,        // the read - pcie_endpoint
    output logic                         register_read_push_o,   // it enters - monitor

    output logic                          completion_valid_o,  // data for a read - dma_engine
    input  logic                          completion_ready_i,  // they are taken - dma_engine
    output streams_pkg::completion_beat_t completion_o,        // the data - dma_engine
    output logic                          completion_push_o,   // they enter the stream - monitor

    output logic                           refusal_valid_o,  // unsupported request - dma_engine
    input  logic                           refusal_ready_i,  // it is taken - dma_engine
    output streams_pkg::mmio_answer_beat_t refusal_o,        // its answer - dma_engine
    output logic                           refusal_push_o,   // it enters the stream - monitor

    output logic                              config_valid_o,  // of a function - pcie_endpoint
    input  logic                              config_ready_i,  // it is taken - pcie_endpoint
    output streams_pkg::config_request_beat_t config_o,        // the request - pcie_endpoint
    output logic                              config_push_o,   // it enters the stream - monitor

    output logic                          error_valid_o,  // refused or dropped - pcie_endpoint
    input  logic                          error_ready_i,  // it is taken, always - pcie_endpoint
    output streams_pkg::pcie_error_beat_t error_o,        // what - pcie_endpoint
    output logic                          error_push_o,   // it enters the stream - monitor

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned WriteDepth = stages_pkg::PcieRxDepth;
  localparam int unsigned ReadDepth = stages_pkg::PcieRxReadDepth;
  localparam int unsigned CompletionDepth = stages_pkg::PcieRxCompletionDepth;
  localparam int unsigned RefusalDepth = stages_pkg::PcieRxRefusalDepth;
  localparam int unsigned ConfigDepth = stages_pkg::PcieRxConfigDepth;
  localparam int unsigned ErrorDepth = stages_pkg::PcieRxErrorDepth;
  localparam int unsigned WriteCreditWidth = $clog2(WriteDepth + 1);
  localparam int unsigned ReadCreditWidth = $clog2(ReadDepth + 1);
  localparam int unsigned CompletionCreditWidth = $clog2(CompletionDepth + 1);
  localparam int unsigned RefusalCreditWidth = $clog2(RefusalDepth + 1);
  localparam int unsigned ConfigCreditWidth = $clog2(ConfigDepth + 1);

  // Visible in the cycle after the one in which it leaves the line.
  localparam logic signed [31:0] Latency = 32'(stages_pkg::PcieRxLatency) - 32'sd1;
  // From the cycle of the last symbol to that behind the last beat, of what leaves the line.
  localparam logic signed [31:0] Tail = Latency - 32'sd1;

  logic [WriteCreditWidth-1:0] uar_write_credits, register_write_credits;
  logic [ReadCreditWidth-1:0] uar_read_credits, register_read_credits;
  logic [CompletionCreditWidth-1:0] completion_credits;
  logic [RefusalCreditWidth-1:0] refusal_credits;
  logic [ConfigCreditWidth-1:0] config_credits;

  // ------------------------------------------------------------------------------------------
  // a TLP's first beat

  logic write, read, uar, completion, refusal, config_request, reported, poisoned;
  logic [15:0] function_id, requester, destination;
  logic [2:0] bar, status;
  logic [31:0] offset;
  logic [1:0] lead;
  logic [12:0] length, byte_count;
  logic [9:0] tag;
  logic [6:0] lower_address;
  logic [11:0] config_register;
  logic type_0, config_write;
  logic [3:0] enables;
  pcie_rx_router u_router (
      .tlp_i,
      .windows_i,
      .resetting_i,
      .write_o        (write),
      .read_o         (read),
      .uar_o          (uar),
      .completion_o   (completion),
      .refusal_o      (refusal),
      .config_o       (config_request),
      .reported_o     (reported),
      .poisoned_o     (poisoned),
      .function_o     (function_id),
      .bar_o          (bar),
      .offset_o       (offset),
      .lead_o         (lead),
      .length_o       (length),
      .requester_o    (requester),
      .tag_o          (tag),
      .lower_address_o(lower_address),
      .status_o       (status),
      .byte_count_o   (byte_count),
      .destination_o  (destination),
      .register_o     (config_register),
      .type_0_o       (type_0),
      .config_write_o (config_write),
      .enables_o      (enables)
  );

  // Of the payload, and of what leaves: only completions have several.
  logic [6:0] beats, leaving_beats;
  assign beats = tlp_i.payload_bytes == '0 ? 7'd1 : 7'((tlp_i.payload_bytes + 13'd63) >> 6);
  assign leaving_beats = completion ? beats : 7'd1;

  logic room, amid, take, take_first, leaves;
  assign leaves = write || read || completion || refusal || config_request;
  always_comb begin
    room = 1'b1;
    if (write) begin
      room = uar ? uar_write_credits != '0 : register_write_credits != '0;
    end else if (read) begin
      room = uar ? uar_read_credits != '0 : register_read_credits != '0;
    end else if (completion) begin
      room = completion_credits >= CompletionCreditWidth'(beats);
    end else if (refusal) begin
      room = refusal_credits != '0;
    end else if (config_request) begin
      room = config_credits != '0;
    end
  end
  assign tlp_ready_o = amid || room;
  assign take = tlp_valid_i && tlp_ready_o;
  assign take_first = take && !amid;

  logic line;
  logic [511:0] line_data;
  pcie_rx_bytes u_bytes (
      .clk_i,
      .rst_ni,
      .take_i     (take),
      .first_i    (!amid),
      .last_i     (tlp_i.last),
      .data_i     (tlp_i.data),
      .all_i      (completion || config_request),
      .write_i    (write),
      .lead_i     (lead),
      .length_i   (length),
      .line_o     (line),
      .line_data_o(line_data),
      .inside_o   (amid)
  );

  // ------------------------------------------------------------------------------------------
  // the way

  // Its last beat is not ahead of what the link brings.
  logic signed [31:0] until_last;
  logic [31:0] delay;
  assign until_last = tlp_i.last_symbol - now_i + Tail - 32'(leaving_beats);
  assign delay = until_last > Latency ? until_last : Latency;

  typedef struct packed {
    logic        write;
    logic        read;
    logic        uar;
    logic        completion;
    logic        refusal;
    logic [31:0] trace_id;
    logic [15:0] function_id;  // of a configuration request its destination
    logic [2:0]  bar;
    logic [31:0] offset;       // of a configuration request its dword's
    logic [12:0] length;
    logic [15:0] requester;
    logic [9:0]  tag;
    logic [6:0]  lower_address;
    logic [2:0]  status;
    logic [12:0] byte_count;
    logic        poisoned;
    logic        type_0;
    logic        config_write;
    logic [3:0]  enables;
  } way_t;

  way_t coming, going;
  logic going_valid, going_first, going_last, line_busy;
  logic [511:0] going_bytes;
  always_comb begin
    coming.write         = write;
    coming.read          = read;
    coming.uar           = uar;
    coming.completion    = completion;
    coming.refusal       = refusal;
    coming.trace_id      = tlp_i.trace_id;
    coming.function_id   = config_request ? destination : function_id;
    coming.bar           = bar;
    coming.offset        = config_request ? 32'(config_register) : offset;
    coming.length        = length;
    coming.requester     = requester;
    coming.tag           = tag;
    coming.lower_address = lower_address;
    coming.status        = status;
    coming.byte_count    = byte_count;
    coming.poisoned      = poisoned;
    coming.type_0        = type_0;
    coming.config_write  = config_write;
    coming.enables       = enables;
  end
  pcie_rx_line #(
      .Width($bits(coming))
  ) u_line (
      .clk_i,
      .rst_ni,
      .now_i,
      .push_i      (take_first && leaves),
      .push_due_i  (now_i + delay),
      .push_beats_i(leaving_beats),
      .push_bytes_i(write || completion || config_request),
      .push_data_i (coming),
      .line_i      (line),
      .line_data_i (line_data),
      .valid_o     (going_valid),
      .first_o     (going_first),
      .last_o      (going_last),
      .data_o      (going),
      .line_data_o (going_bytes),
      .busy_o      (line_busy)
  );
  assign busy_o = line_busy || amid;

  // ------------------------------------------------------------------------------------------
  // outputs

  streams_pkg::mmio_write_beat_t write_in;
  streams_pkg::mmio_read_beat_t read_in;
  streams_pkg::completion_beat_t completion_in;
  streams_pkg::mmio_answer_beat_t refusal_in;
  streams_pkg::config_request_beat_t config_in;
  streams_pkg::pcie_error_beat_t error_in;
  always_comb begin
    write_in.trace_id    = going.trace_id;
    write_in.function_id = going.function_id;
    write_in.bar         = going.bar;
    write_in.offset      = going.offset;
    write_in.length      = 16'(going.length);
    write_in.data        = going_bytes;

    read_in.trace_id    = going.trace_id;
    read_in.function_id = going.function_id;
    read_in.bar         = going.bar;
    read_in.offset      = going.offset;
    read_in.length      = 16'(going.length);
    read_in.requester   = going.requester;
    read_in.tag         = 16'(going.tag);

    completion_in.trace_id      = going.trace_id;
    completion_in.tag           = going.tag;
    completion_in.status        = going.status;
    completion_in.poisoned      = going.poisoned;
    completion_in.byte_count    = going.byte_count;
    completion_in.lower_address = going.lower_address;
    completion_in.length        = going.length;
    completion_in.first         = going_first;
    completion_in.last          = going_last;
    completion_in.data          = going_bytes;

    refusal_in               = '0;
    refusal_in.trace_id      = going.trace_id;
    refusal_in.function_id   = going.function_id;
    refusal_in.requester     = going.requester;
    refusal_in.tag           = 16'(going.tag);
    refusal_in.status        = tlp_pkg::CompletionStatusUnsupportedRequest;
    refusal_in.length        = 16'(going.length);
    refusal_in.lower_address = going.lower_address;

    config_in.trace_id    = going.trace_id;
    config_in.destination = going.function_id;
    config_in.type_0      = going.type_0;
    config_in.write       = going.config_write;
    config_in.offset      = going.offset[11:0];
    config_in.enables     = going.enables;
    // Its first byte is the least significant.
    config_in.value       = {going_bytes[487-:8], going_bytes[495-:8], going_bytes[503-:8],
                             going_bytes[511-:8]};
    config_in.requester   = going.requester;
    config_in.tag         = going.tag;

    error_in.function_id = function_id;
    error_in.kind        = poisoned ? streams_pkg::RefusalKindPoisonedRequest
                                    : streams_pkg::RefusalKindUnsupportedRequest;
  end

  assign uar_write_push_o = going_valid && going.write && going.uar;
  assign uar_read_push_o = going_valid && going.read && going.uar;
  assign register_write_push_o = going_valid && going.write && !going.uar;
  assign register_read_push_o = going_valid && going.read && !going.uar;
  assign completion_push_o = going_valid && going.completion;
  assign refusal_push_o = going_valid && going.refusal;
  assign config_push_o = going_valid && !going.write && !going.read && !going.completion &&
                         !going.refusal;
  assign error_push_o = take_first && reported;

  stream_fifo #(
      .Width(streams_pkg::MmioWriteBeatWidth),
      .Depth(WriteDepth)
  ) u_uar_write (
      .clk_i,
      .rst_ni,
      .push_i (uar_write_push_o),
      .data_i (write_in),
      .valid_o(uar_write_valid_o),
      .ready_i(uar_write_ready_i),
      .data_o (uar_write_o)
  );
  stream_fifo #(
      .Width(streams_pkg::MmioReadBeatWidth),
      .Depth(ReadDepth)
  ) u_uar_read (
      .clk_i,
      .rst_ni,
      .push_i (uar_read_push_o),
      .data_i (read_in),
      .valid_o(uar_read_valid_o),
      .ready_i(uar_read_ready_i),
      .data_o (uar_read_o)
  );
  stream_fifo #(
      .Width(streams_pkg::MmioWriteBeatWidth),
      .Depth(WriteDepth)
  ) u_register_write (
      .clk_i,
      .rst_ni,
      .push_i (register_write_push_o),
      .data_i (write_in),
      .valid_o(register_write_valid_o),
      .ready_i(register_write_ready_i),
      .data_o (register_write_o)
  );
  stream_fifo #(
      .Width(streams_pkg::MmioReadBeatWidth),
      .Depth(ReadDepth)
  ) u_register_read (
      .clk_i,
      .rst_ni,
      .push_i (register_read_push_o),
      .data_i (read_in),
      .valid_o(register_read_valid_o),
      .ready_i(register_read_ready_i),
      .data_o (register_read_o)
  );
  stream_fifo #(
      .Width(streams_pkg::CompletionBeatWidth),
      .Depth(CompletionDepth)
  ) u_completion (
      .clk_i,
      .rst_ni,
      .push_i (completion_push_o),
      .data_i (completion_in),
      .valid_o(completion_valid_o),
      .ready_i(completion_ready_i),
      .data_o (completion_o)
  );
  stream_fifo #(
      .Width(streams_pkg::MmioAnswerBeatWidth),
      .Depth(RefusalDepth)
  ) u_refusal (
      .clk_i,
      .rst_ni,
      .push_i (refusal_push_o),
      .data_i (refusal_in),
      .valid_o(refusal_valid_o),
      .ready_i(refusal_ready_i),
      .data_o (refusal_o)
  );
  stream_fifo #(
      .Width(streams_pkg::ConfigRequestBeatWidth),
      .Depth(ConfigDepth)
  ) u_config (
      .clk_i,
      .rst_ni,
      .push_i (config_push_o),
      .data_i (config_in),
      .valid_o(config_valid_o),
      .ready_i(config_ready_i),
      .data_o (config_o)
  );
  stream_fifo #(
      .Width(streams_pkg::PcieErrorBeatWidth),
      .Depth(ErrorDepth)
  ) u_error (
      .clk_i,
      .rst_ni,
      .push_i (error_push_o),
      .data_i (error_in),
      .valid_o(error_valid_o),
      .ready_i(error_ready_i),
      .data_o (error_o)
  );

  // ------------------------------------------------------------------------------------------
  // credits

  credit_counter #(
      .Depth(WriteDepth)
  ) u_uar_write_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (WriteCreditWidth'(take_first && write && uar)),
      .taken_i  (uar_write_valid_o && uar_write_ready_i),
      .credits_o(uar_write_credits)
  );
  credit_counter #(
      .Depth(ReadDepth)
  ) u_uar_read_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (ReadCreditWidth'(take_first && read && uar)),
      .taken_i  (uar_read_valid_o && uar_read_ready_i),
      .credits_o(uar_read_credits)
  );
  credit_counter #(
      .Depth(WriteDepth)
  ) u_register_write_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (WriteCreditWidth'(take_first && write && !uar)),
      .taken_i  (register_write_valid_o && register_write_ready_i),
      .credits_o(register_write_credits)
  );
  credit_counter #(
      .Depth(ReadDepth)
  ) u_register_read_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (ReadCreditWidth'(take_first && read && !uar)),
      .taken_i  (register_read_valid_o && register_read_ready_i),
      .credits_o(register_read_credits)
  );
  credit_counter #(
      .Depth(CompletionDepth)
  ) u_completion_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (take_first && completion ? CompletionCreditWidth'(beats) : '0),
      .taken_i  (completion_valid_o && completion_ready_i),
      .credits_o(completion_credits)
  );
  credit_counter #(
      .Depth(RefusalDepth)
  ) u_refusal_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (RefusalCreditWidth'(take_first && refusal)),
      .taken_i  (refusal_valid_o && refusal_ready_i),
      .credits_o(refusal_credits)
  );
  credit_counter #(
      .Depth(ConfigDepth)
  ) u_config_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (ConfigCreditWidth'(take_first && config_request)),
      .taken_i  (config_valid_o && config_ready_i),
      .credits_o(config_credits)
  );

  `CARILLON_ASSERT_STREAM(uar_write)
  `CARILLON_ASSERT_STREAM(uar_read)
  `CARILLON_ASSERT_STREAM(register_write)
  `CARILLON_ASSERT_STREAM(register_read)
  `CARILLON_ASSERT_STREAM(completion)
  `CARILLON_ASSERT_STREAM(refusal)
  `CARILLON_ASSERT_STREAM(config)
  `CARILLON_ASSERT_STREAM(error)
  `CARILLON_ASSERT(!take || tlp_i.first == !amid)

endmodule
