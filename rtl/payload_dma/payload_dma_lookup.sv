// From virtual addresses to IOVAs: one read of the context RAM a cycle, for the packets that wait
// and for the ranges whose key is known, in the order in which they came.
//
// A packet stands in the queue as a whole and is cut into ranges while it is at the front; a range
// that needs one more line comes in at the end. What comes into an empty queue is looked at in the
// same cycle.
`include "assertions.svh"

module payload_dma_lookup (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic          packet_i,       // a packet comes - packets
    input logic [5:0]    slot_i,         // its slot - packets
    input logic [3839:0] segments_i,         // its data segments - packets
    input logic [29:0]   mask_i,         // those that hold it - packets
    input logic [30:0]   skip_i,         // bytes of the first that come before - packets
    input logic [12:0]   payload_i,      // its bytes - packets
    input logic [31:0]   trace_id_i,     // its message - packets
    input logic [15:0]   function_id_i,  // on whose behalf - packets

    output logic [5:0]    stored_slot_o,         // the packet at the front - slots
    input  logic [3839:0] stored_segments_i,         // its data segments - slots
    input  logic [29:0]   stored_mask_i,         // those that hold it - slots
    input  logic [30:0]   stored_skip_i,         // bytes of the first that come before - slots
    input  logic [12:0]   stored_payload_i,      // its bytes - slots
    input  logic [31:0]   stored_trace_id_i,     // its message - slots
    input  logic [15:0]   stored_function_id_i,  // on whose behalf - slots

    input  logic                  credit_i,  // a read may leave - qpc_ram
    output logic                  push_o,    // a read leaves - qpc_ram
    output streams_pkg::ctx_req_t read_o,    // which line - qpc_ram

    input  logic                  line_valid_i,  // a line - qpc_ram
    output logic                  line_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t line_i,        // the line - qpc_ram

    output logic        ended_o,           // a range is translated, or has no access - slots, reads
    output logic        fault_o,           // no access - slots, reads
    output logic [5:0]  ended_slot_o,      // its packet - slots, reads
    output logic [11:0] ended_offset_o,    // its first byte in the payload - reads
    output logic        two_o,             // there are two pieces - slots, reads
    output logic [63:0] first_address_o,   // of the first piece - reads
    output logic [12:0] first_length_o,    // its bytes - reads
    output logic [63:0] second_address_o,  // of the second piece - reads
    output logic [12:0] second_length_o,   // its bytes - reads

    output logic busy_o  // a read is to leave - clock gate
);

  localparam int unsigned Lookups = stages_pkg::PayloadDmaLookups;

  // A range of virtual addresses on its way.
  typedef struct packed {
    logic [5:0]  slot;
    logic [11:0] offset;        // its first byte in the payload
    logic [31:0] trace_id;
    logic [15:0] function_id;
    logic        walking;       // its key is known
    logic [23:0] key;           // index; walking: number of the line of translations
    logic [7:0]  variant;       // of the key
    logic [63:0] address;       // virtual; walking: in the page of `entry`
    logic [12:0] length;        // bytes without an IOVA
    logic [2:0]  entry;         // in the line of translations
    logic [5:0]  log_page;
    logic [63:0] part_address;  // what the first of two lines gave
    logic [12:0] part_length;
  } range_t;

  // What stands in the queue: a range, or the slot of a packet.
  typedef struct packed {
    logic   packet;
    range_t range;
  } entry_t;

  entry_t front, again_entry, packet_entry;
  logic front_valid, front_pop, again, again_push, packet_push;
  range_t asked, again_range, sent;

  always_comb begin
    again_entry             = '0;
    again_entry.range       = again_range;
    packet_entry            = '0;
    packet_entry.packet     = 1'b1;
    packet_entry.range.slot = slot_i;
  end

  payload_dma_fifo #(
      .Width($bits(front)),
      .Depth(Lookups)
  ) u_wanted (
      .clk_i,
      .rst_ni,
      .first_push_i (again_push),
      .first_data_i (again_entry),
      .second_push_i(packet_push),
      .second_data_i(packet_entry),
      .valid_o      (front_valid),
      .pop_i        (front_pop),
      .data_o       (front)
  );

  // The packet at the front, or the one that comes.
  logic begun_q, from_stored, piece_last;
  logic [29:0] mask_q, piece_mask;
  logic [12:0] left_q, piece_left, piece_length, packet_left, packet_payload;
  logic [63:0] piece_address;
  logic [31:0] piece_key;
  assign stored_slot_o = front.range.slot;
  assign from_stored = front_valid;
  assign packet_payload = from_stored ? stored_payload_i : payload_i;
  assign packet_left = begun_q ? left_q : packet_payload;

  payload_dma_pick u_pick (
      .segments_i   (from_stored ? stored_segments_i : segments_i),
      .mask_i   (begun_q ? mask_q : from_stored ? stored_mask_i : mask_i),
      .skip_i   (begun_q ? '0 : from_stored ? stored_skip_i : skip_i),
      .left_i   (packet_left),
      .address_o(piece_address),
      .length_o (piece_length),
      .key_o    (piece_key),
      .mask_o   (piece_mask),
      .left_o   (piece_left),
      .last_o   (piece_last)
  );

  logic send, send_packet, send_done;
  assign send = credit_i && (front_valid || again || packet_i);
  assign send_packet = front_valid ? front.packet : !again;
  assign send_done = send && (!send_packet || piece_last);
  assign front_pop = front_valid && send_done;
  // What leaves in the cycle in which it comes needs no place.
  assign again_push = again && (front_valid || !send);
  assign packet_push = packet_i && (front_valid || again || !send_done);

  always_comb begin
    sent = front_valid ? front.range : again_range;
    if (send_packet) begin
      sent             = '0;
      sent.slot        = from_stored ? front.range.slot : slot_i;
      sent.offset      = 12'(packet_payload - packet_left);
      sent.trace_id    = from_stored ? stored_trace_id_i : trace_id_i;
      sent.function_id = from_stored ? stored_function_id_i : function_id_i;
      sent.key         = piece_key[31:8];
      sent.variant     = piece_key[7:0];
      sent.address     = piece_address;
      sent.length      = piece_length;
    end
  end

  assign push_o = send;
  always_comb begin
    read_o.trace_id    = sent.trace_id;
    read_o.kind        = sent.walking ? streams_pkg::LineKindMtt : streams_pkg::LineKindMkey;
    read_o.index       = sent.key;
    read_o.function_id = sent.function_id;
  end

  always_ff @(posedge clk_i) begin
    if (send && send_packet) begin
      mask_q <= piece_mask;
      left_q <= piece_left;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (send && send_packet) begin
      begun_q <= !piece_last;
    end
  end

  // Lines come in the order of their reads.
  stream_fifo #(
      .Width($bits(sent)),
      .Depth(Lookups)
  ) u_asked (
      .clk_i,
      .rst_ni,
      .push_i (send),
      .data_i (sent),
      .valid_o(line_ready_o),
      .ready_i(line_valid_i),
      .data_o (asked)
  );

  logic line_take, line_ended;
  logic [31:0] next_entry;
  logic [63:0] next_in_page;
  logic [5:0] next_log_page;
  logic [12:0] next_length;
  assign line_take = line_valid_i && line_ready_o;

  payload_dma_translate u_translate (
      .clk_i,
      .rst_ni,
      .line_take_i     (line_take),
      .line_i,
      .walking_i       (asked.walking),
      .function_id_i   (asked.function_id),
      .variant_i       (asked.variant),
      .address_i       (asked.address),
      .length_i        (asked.length),
      .entry_i         (asked.entry),
      .log_page_i      (asked.log_page),
      .part_address_i  (asked.part_address),
      .part_length_i   (asked.part_length),
      .fault_o         (fault_o),
      .ended_o         (line_ended),
      .two_o           (two_o),
      .first_address_o (first_address_o),
      .first_length_o  (first_length_o),
      .second_address_o(second_address_o),
      .second_length_o (second_length_o),
      .entry_o         (next_entry),
      .in_page_o       (next_in_page),
      .log_page_o      (next_log_page),
      .length_o        (next_length)
  );

  assign ended_o = line_take && line_ended;
  assign ended_slot_o = asked.slot;
  assign ended_offset_o = asked.offset;
  assign again = line_take && !line_ended;

  always_comb begin
    again_range              = asked;
    again_range.walking      = 1'b1;
    again_range.key          = next_entry[26:3];
    again_range.entry        = next_entry[2:0];
    again_range.address      = next_in_page;
    again_range.length       = next_length;
    again_range.log_page     = next_log_page;
    again_range.part_address = first_address_o;
    again_range.part_length  = first_length_o;
  end

  assign busy_o = front_valid;

  `CARILLON_ASSERT(!line_valid_i || line_ready_o)

endmodule
