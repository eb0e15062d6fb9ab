// tx_mac: the last stage before the wire. Takes a frame when the serializer will be free within the
// cycle in which its first bit is due, computes its FCS, and hands it on after the fixed latency.
// A frame of a paused priority is taken at once and put aside.
// Cycle by cycle the same as model/tx_mac.cpp; docs/stages/tx_mac.md has the timing.
`include "assertions.svh"

module tx_mac (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                     frame_valid_i,  // a beat of a frame - packet_builder
    output logic                     frame_ready_o,  // it is taken - packet_builder
    input  streams_pkg::frame_beat_t frame_i,        // the beat - packet_builder

    input  logic                     control_valid_i,  // a PFC frame, one beat - rx_mac
    output logic                     control_ready_o,  // it is taken - rx_mac
    input  streams_pkg::frame_beat_t control_i,        // the frame - rx_mac

    output logic                     wire_valid_o,  // a beat of a frame - serializer
    input  logic                     wire_ready_i,  // it is taken, always - serializer
    output streams_pkg::wire_beat_t  wire_o,        // the beat, FCS in the last - serializer
    output logic                     wire_push_o,   // it enters the stream - monitor

    input logic [12:0] byte_cost_i,     // what a byte costs on the wire - straps
    input logic [18:0] cycle_credit_i,  // what a cycle of the wire is worth - straps
    input logic [ 7:0] paused_i,        // priorities that must not send - rx_mac

    output logic [7:0] crowded_o,  // priorities with too many frames aside - tx_sched

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Latency = stages_pkg::TxMacLatency;
  localparam int unsigned BeatBytes = 64;
  // Beats under way: one cycle before they leave they are read from here.
  localparam int unsigned PtrWidth = $clog2(Latency);
  localparam int unsigned Slots = 2 ** PtrWidth;

  typedef struct packed {
    logic [31:0] trace_id;
    logic [15:0] function_id;
    logic [12:0] length;
    logic [2:0] pcp;
    logic first_packet;
    logic last_packet;
    logic first;
    logic last;
    logic [8*BeatBytes-1:0] data;
  } slot_t;

  // Taking
  // ----------------------------------------------------------------------------------------------
  logic take, first;
  logic in_frame_q;          // beats of a frame are still to come
  logic aside_q, aside;      // it is put aside
  logic wire_busy;           // the serializer is not free in time
  logic owes;                // or will be busy for a while yet
  logic free;                // a frame can begin its way
  logic take_control;        // a PFC frame does
  logic resume, resuming_q;  // one from aside does, or is on its way
  logic park_ready, park_room;
  logic direct;              // a beat that is not put aside comes

  assign free = !wire_busy && !(in_frame_q && !aside_q) && !resuming_q;
  assign control_ready_o = free;
  assign take_control = control_valid_i && free;
  assign resume = free && !control_valid_i && park_ready;
  assign aside = in_frame_q ? aside_q : paused_i[frame_i.pcp];
  assign frame_ready_o = in_frame_q ||
      (aside ? park_room : free && !control_valid_i && !park_ready);
  assign take = frame_valid_i && frame_ready_o;
  assign first = take && !in_frame_q;
  assign direct = take && !aside;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_frame_q <= 1'b0;
      aside_q <= 1'b0;
      resuming_q <= 1'b0;
    end else begin
      if (take) begin
        in_frame_q <= !frame_i.last;
        aside_q <= aside;
      end
      if (resume || resuming_q) begin
        resuming_q <= !parked.last;
      end
    end
  end

  slot_t coming, parked, entering;
  logic [6:0] coming_beats, parked_beats;  // of the whole frame

  assign coming_beats = coming.length[12:6] + 7'(coming.length[5:0] != '0);
  assign parked_beats = parked.length[12:6] + 7'(parked.length[5:0] != '0);

  assign coming.trace_id = frame_i.trace_id;
  assign coming.function_id = frame_i.function_id;
  assign coming.length = frame_i.length;
  assign coming.pcp = frame_i.pcp;
  assign coming.first_packet = frame_i.first_packet;
  assign coming.last_packet = frame_i.last_packet;
  assign coming.first = first;
  assign coming.last = frame_i.last;
  assign coming.data = frame_i.data;

  tx_mac_park #(
      .Width($bits(entering))
  ) u_park (
      .clk_i,
      .rst_ni,
      .paused_i,
      .in_priority_i(frame_i.pcp),
      .in_beats_i   (coming_beats),
      .in_first_i   (first && aside),
      .in_valid_i   (take && aside),
      .in_beat_i    (coming),
      .room_o       (park_room),
      .ready_o      (park_ready),
      .out_first_i  (resume),
      .out_next_i   (resuming_q),
      .out_beats_i  (parked_beats),
      .out_beat_o   (parked),
      .crowded_o
  );

  // What goes on its way
  // ----------------------------------------------------------------------------------------------
  logic enter;             // a beat does
  logic [12:0] left_q;     // bytes of the frame that are still to come
  logic [12:0] left;       // bytes from this beat on
  logic [6:0] beat_bytes;  // of this beat

  assign enter = direct || take_control || resume || resuming_q;

  always_comb begin
    entering = resume || resuming_q ? parked : coming;
    if (take_control) begin
      entering.trace_id = control_i.trace_id;
      entering.function_id = control_i.function_id;
      entering.length = control_i.length;
      entering.pcp = control_i.pcp;
      entering.first_packet = control_i.first_packet;
      entering.last_packet = control_i.last_packet;
      entering.first = 1'b1;
      entering.last = 1'b1;
      entering.data = control_i.data;
    end
  end

  assign left = entering.first ? entering.length : left_q;
  assign beat_bytes = left > 13'(BeatBytes) ? 7'(BeatBytes) : left[6:0];

  always_ff @(posedge clk_i) begin
    if (enter) begin
      left_q <= left - 13'(beat_bytes);
    end
  end

  tx_mac_pacer u_pacer (
      .clk_i,
      .rst_ni,
      .first_i       (enter && entering.first),
      .length_i      (entering.length),
      .byte_cost_i,
      .cycle_credit_i,
      .wire_busy_o   (wire_busy),
      .owes_o        (owes)
  );

  logic [PtrWidth-1:0] write_q, read_q;
  logic [Latency-2:0] under_way_q;  // beats, bit n that of n + 1 cycles ago

  // FCS
  // ----------------------------------------------------------------------------------------------
  logic crc_first_q, crc_last_q;
  logic [6:0] crc_bytes_q;
  logic [PtrWidth-1:0] crc_slot_q;
  logic [8*BeatBytes-1:0] crc_data_q;
  logic [31:0] crc_q, crc_next;

  always_ff @(posedge clk_i) begin
    if (enter) begin
      crc_first_q <= entering.first;
      crc_last_q  <= entering.last;
      crc_bytes_q <= beat_bytes;
      crc_slot_q  <= write_q;
      crc_data_q  <= entering.data;
    end
  end

  crc32 #(
      .Bytes(BeatBytes)
  ) u_crc (
      .crc_i   (crc_first_q ? '1 : crc_q),
      .data_i  (crc_data_q),
      .length_i(crc_bytes_q),
      .crc_o   (crc_next)
  );

  always_ff @(posedge clk_i) begin
    if (under_way_q[0]) begin
      crc_q <= crc_next;
    end
  end

  // The way through
  // ----------------------------------------------------------------------------------------------
  slot_t leaving;
  logic [$bits(entering)-1:0] beat_mem[Slots];
  logic [31:0] fcs_mem[Slots];
  logic leave;
  logic wire_valid_q;
  streams_pkg::wire_beat_t wire_q;

  assign leave = under_way_q[Latency-2];
  assign leaving = beat_mem[read_q];

  always_ff @(posedge clk_i) begin
    if (enter) begin
      beat_mem[write_q] <= entering;
    end
    if (under_way_q[0] && crc_last_q) begin
      fcs_mem[crc_slot_q] <= ~crc_next;
    end
  end

  always_ff @(posedge clk_i) begin
    if (leave) begin
      wire_q.trace_id <= leaving.trace_id;
      wire_q.function_id <= leaving.function_id;
      wire_q.length <= leaving.length;
      wire_q.pcp <= leaving.pcp;
      wire_q.first_packet <= leaving.first_packet;
      wire_q.last_packet <= leaving.last_packet;
      wire_q.first <= leaving.first;
      wire_q.last <= leaving.last;
      wire_q.fcs <= leaving.last ? fcs_mem[read_q] : '0;
      wire_q.data <= leaving.data;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      under_way_q <= '0;
      wire_valid_q <= 1'b0;
    end else begin
      under_way_q <= {under_way_q[Latency-3:0], enter};
      if (enter) begin
        write_q <= write_q + 1'b1;
      end
      if (leave) begin
        read_q <= read_q + 1'b1;
      end
      if (leave || wire_ready_i) begin
        wire_valid_q <= leave;
      end
    end
  end

  assign wire_valid_o = wire_valid_q;
  assign wire_o = wire_q;
  assign wire_push_o = leave;
  assign busy_o = owes || under_way_q != '0 || park_ready;

  // The serializer has taken the beat before: the pacer saw to it that there is time for each.
  `CARILLON_ASSERT(!leave || !wire_valid_o || wire_ready_i)
  `CARILLON_ASSERT(!take || (frame_i.first == first && !frame_i.looped))
  `CARILLON_ASSERT(!take_control || (control_i.first && control_i.last && !control_i.looped))
  `CARILLON_ASSERT(!enter || !entering.last || left <= 13'(BeatBytes))

endmodule
