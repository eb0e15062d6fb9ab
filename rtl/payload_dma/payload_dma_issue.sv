// Read requests, one a cycle: the pieces of packets that need no translation, and those that the
// lookups have translated. Each has its credit when it comes here; it reaches the stream after a
// fixed number of cycles, or behind those before it.
`include "assertions.svh"

module payload_dma_issue (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic       packet_i,  // a packet comes whose addresses are IOVAs - packets
    input logic [5:0] slot_i,    // its slot - packets

    input logic        ended_i,           // a range is translated - lookups
    input logic [5:0]  ended_slot_i,      // its packet - lookups
    input logic [11:0] ended_offset_i,    // its first byte in the payload - lookups
    input logic        two_i,             // there are two pieces - lookups
    input logic [63:0] first_address_i,   // of the first piece - lookups
    input logic [12:0] first_length_i,    // its bytes - lookups
    input logic [63:0] second_address_i,  // of the second piece - lookups
    input logic [12:0] second_length_i,   // its bytes - lookups

    input  logic credit_i,       // a translated piece may go on - credits
    output logic spent_o,        // it does - credits
    output logic lookup_done_o,  // it is the last one of its range - credits

    output logic [5:0]    stored_slot_o,           // the packet at the front - slots
    input  logic [3839:0] stored_segments_i,           // its data segments - slots
    input  logic [29:0]   stored_mask_i,           // those that hold it - slots
    input  logic [30:0]   stored_skip_i,           // bytes of the first that come before - slots
    input  logic [12:0]   stored_payload_i,        // its bytes - slots
    input  logic [31:0]   stored_trace_id_i,       // its message - slots
    input  logic [15:0]   stored_function_id_i,    // on whose behalf - slots
    input  logic [63:0]   stored_writes_before_i,  // what its reads wait for - slots
    input  logic [9:0]    stored_line_i,           // its first line of the store - slots

    output logic                       push_o,  // a read enters the stream - dma_engine
    output streams_pkg::payload_read_t read_o,  // the read - dma_engine
    output logic                       busy_o   // a read is to leave - clock gate
);

  localparam int unsigned Lookups = stages_pkg::PayloadDmaLookups;
  localparam int unsigned ReadDepth = stages_pkg::PayloadDmaReadDepth;
  // One cycle of the way is spent in the queue, one at the stream's entry.
  localparam int unsigned Stages =
      stages_pkg::PayloadDmaIssue + stages_pkg::DmaEngineRequestHop - 2;

  // A range with its pieces.
  typedef struct packed {
    logic [5:0]  slot;
    logic [11:0] offset;
    logic        two;
    logic [63:0] first_address;
    logic [12:0] first_length;
    logic [63:0] second_address;
    logic [12:0] second_length;
  } translated_t;

  // What stands in the queue: a piece, or a packet.
  typedef struct packed {
    logic        packet;
    logic [5:0]  slot;
    logic [11:0] offset;
    logic [63:0] address;
    logic [12:0] length;
  } entry_t;

  // ---------------------------------------------------------------------------------------------
  // Translated pieces wait here for a credit.

  translated_t incoming, oldest, current;
  logic oldest_valid, oldest_pop, second_q, piece_last;
  always_comb begin
    incoming.slot           = ended_slot_i;
    incoming.offset         = ended_offset_i;
    incoming.two            = two_i;
    incoming.first_address  = first_address_i;
    incoming.first_length   = first_length_i;
    incoming.second_address = second_address_i;
    incoming.second_length  = second_length_i;
  end
  assign current = oldest_valid ? oldest : incoming;
  assign spent_o = credit_i && (oldest_valid || ended_i);
  assign piece_last = second_q || !current.two;
  assign lookup_done_o = spent_o && piece_last;
  assign oldest_pop = oldest_valid && lookup_done_o;

  stream_fifo #(
      .Width($bits(incoming)),
      .Depth(Lookups)
  ) u_translated (
      .clk_i,
      .rst_ni,
      .push_i (ended_i && (oldest_valid || !lookup_done_o)),
      .data_i (incoming),
      .valid_o(oldest_valid),
      .ready_i(oldest_pop),
      .data_o (oldest)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
    end else if (spent_o) begin
      second_q <= !piece_last;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The order in which reads leave.

  entry_t front, piece_entry, packet_entry;
  logic front_valid, front_pop;
  always_comb begin
    piece_entry         = '0;
    piece_entry.slot    = current.slot;
    piece_entry.offset  = second_q ? current.offset + current.first_length[11:0] : current.offset;
    piece_entry.address = second_q ? current.second_address : current.first_address;
    piece_entry.length  = second_q ? current.second_length : current.first_length;
    packet_entry        = '0;
    packet_entry.packet = 1'b1;
    packet_entry.slot   = slot_i;
  end

  payload_dma_fifo #(
      .Width($bits(front)),
      .Depth(ReadDepth)
  ) u_order (
      .clk_i,
      .rst_ni,
      .first_push_i (spent_o),
      .first_data_i (piece_entry),
      .second_push_i(packet_i),
      .second_data_i(packet_entry),
      .valid_o      (front_valid),
      .pop_i        (front_pop),
      .data_o       (front)
  );

  logic begun_q, pick_last;
  logic [31:0] unused_key;
  logic [29:0] mask_q, pick_mask;
  logic [12:0] left_q, packet_left, pick_left, pick_length;
  logic [63:0] pick_address;
  assign stored_slot_o = front.slot;
  assign packet_left = begun_q ? left_q : stored_payload_i;
  payload_dma_pick u_pick (
      .segments_i   (stored_segments_i),
      .mask_i   (begun_q ? mask_q : stored_mask_i),
      .skip_i   (begun_q ? '0 : stored_skip_i),
      .left_i   (packet_left),
      .address_o(pick_address),
      .length_o (pick_length),
      .key_o    (unused_key),
      .mask_o   (pick_mask),
      .left_o   (pick_left),
      .last_o   (pick_last)
  );
  assign front_pop = front_valid && (!front.packet || pick_last);

  always_ff @(posedge clk_i) begin
    if (front_valid && front.packet) begin
      mask_q <= pick_mask;
      left_q <= pick_left;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (front_valid && front.packet) begin
      begun_q <= !pick_last;
    end
  end

  streams_pkg::payload_read_t read;
  logic [11:0] offset;
  assign offset = front.packet ? 12'(stored_payload_i - packet_left) : front.offset;
  always_comb begin
    read.trace_id      = stored_trace_id_i;
    read.function_id   = stored_function_id_i;
    read.address       = front.packet ? pick_address : front.address;
    read.length        = front.packet ? pick_length : front.length;
    read.into          = {stored_line_i, 6'b0} + 16'(offset);
    read.cookie        = front.slot;
    read.writes_before = stored_writes_before_i;
  end

  logic pipe_busy;
  credit_pipe #(
      .Width ($bits(read)),
      .Stages(Stages)
  ) u_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(front_valid),
      .data_i (read),
      .valid_o(push_o),
      .data_o (read_o),
      .busy_o (pipe_busy)
  );

  assign busy_o = oldest_valid || front_valid || pipe_busy;

endmodule
