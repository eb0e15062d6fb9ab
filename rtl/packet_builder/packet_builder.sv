// packet_builder: makes frames of packets. Cycle by cycle the same as model/packet_builder.cpp;
// docs/stages/packet_builder.md has the timing.
//
// A packet passes three steps in order:
//   take    the older of the packets at the two inputs is taken, and its QP's path asked for. Its
//           payload goes to the store as it comes;
//   line    with the path in hand it meets its function's virtual port, which is looked up outside
//           within the cycle. It is dropped, or its headers are made and it is known where it goes.
//           The places at the outputs that it does not need can be used in the same cycle, so the
//           readies of the inputs depend on the path: the one place in this block where data reach
//           a ready;
//   frames  after the fixed latency its frame leaves beat by beat, with its ICRC.
`include "assertions.svh"

module packet_builder (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                  ctx_line_valid_i,  // a QP's path - qpc_ram
    output logic                  ctx_line_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t ctx_line_i,        // the line - qpc_ram

    input  logic                       filled_valid_i,  // a beat of a packet - payload_dma
    output logic                       filled_ready_o,  // it is taken - payload_dma
    input  streams_pkg::payload_beat_t filled_i,        // the beat - payload_dma

    input  logic                      direct_valid_i,  // a packet - tx_sched
    output logic                      direct_ready_o,  // it is taken - tx_sched
    input  streams_pkg::direct_beat_t direct_i,        // the packet - tx_sched

    output logic                  ctx_read_valid_o,  // read of a QP's path - qpc_ram
    input  logic                  ctx_read_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t ctx_read_o,        // which line - qpc_ram
    output logic                  ctx_read_push_o,   // it enters the stream - monitor

    output logic                     frame_valid_o,  // a beat of a frame - tx_mac
    input  logic                     frame_ready_i,  // it is taken - tx_mac
    output streams_pkg::frame_beat_t frame_o,        // the beat - tx_mac
    output logic                     frame_push_o,   // it enters the stream - monitor

    output logic                     loopback_valid_o,  // a beat of a frame - rx_mac
    input  logic                     loopback_ready_i,  // it is taken - rx_mac
    output streams_pkg::frame_beat_t loopback_o,        // the beat - rx_mac
    output logic                     loopback_push_o,   // it enters the stream - monitor

    output streams_pkg::vport_query_t        vport_query_o,   // whose port - port table
    input  streams_pkg::vport_view_t         vport_i,         // the port - port table
    output streams_pkg::vport_source_query_t source_query_o,  // which of its addresses - port table
    input  streams_pkg::vport_source_t       source_i,        // the address - port table
    output streams_pkg::vport_route_query_t  route_query_o,   // which destination - port table
    input  streams_pkg::vport_route_t        route_i,         // whether it is here - port table

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Latency = stages_pkg::PacketBuilderLatency;
  localparam int unsigned Lookup = stages_pkg::QpcRamLatency;
  localparam int unsigned Depth = stages_pkg::PacketBuilderDepth;
  localparam int unsigned MaxBeats = stages_pkg::PacketBuilderMaxBeats;
  localparam int unsigned CtxReadDepth = stages_pkg::PacketBuilderCtxReadDepth;
  localparam int unsigned Slots = stages_pkg::PacketBuilderSlots;

  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned CreditWidth = $clog2(Depth + 1);
  localparam int unsigned FrameWidth = streams_pkg::FrameBeatWidth;
  localparam int unsigned InlineWidth = 7936;
  localparam int unsigned PacketWidth = streams_pkg::DirectBeatWidth - InlineWidth;

  // Each packet without its path holds MaxBeats places of an output.
  localparam int unsigned Pending = Depth / MaxBeats;
  localparam int unsigned PendingWidth = $clog2(Pending);

  // The beats of frames without path come behind all others: 30 cycles of those, then at most
  // Pending frames.
  localparam int unsigned AheadWidth = $clog2(Latency + (Pending + 1) * MaxBeats);

`ifndef YOSYS
  if (PacketWidth != streams_pkg::PayloadBeatWidth - 515) begin : gen_packet_check
    $fatal(0, "%m: a packet must look the same at both inputs");
  end
  if (Pending != 1 << PendingWidth || Pending > CtxReadDepth) begin : gen_pending_check
    $fatal(0, "%m: Pending must be a power of two and not exceed CtxReadDepth");
  end
`endif

  // -----------------------------------------------------------------------------------------------
  // take

  logic [6:0] filled_left_q;  // beats of a packet that are still to come
  logic [5:0] filled_line_q;  // the next of them
  logic [SlotWidth-1:0] filled_row_q;
  logic [SlotWidth-1:0] row_q;  // the store's next free row

  logic [CreditWidth-1:0] frame_credits, loopback_credits;  // line's returns included
  logic [AheadWidth-1:0] ahead;  // cycles until the outputs are free, line's frame included

  logic beat_follows, may_take, filled_first, filled_take, direct_take, take;
  assign beat_follows = filled_left_q != '0;
  assign may_take = !beat_follows && ahead <= AheadWidth'(Latency) &&
                    frame_credits >= CreditWidth'(MaxBeats) &&
                    loopback_credits >= CreditWidth'(MaxBeats);
  assign filled_first = filled_valid_i && !(direct_valid_i && direct_i.order < filled_i.order);
  assign filled_ready_o = beat_follows || (may_take && filled_first);
  assign direct_ready_o = may_take && !filled_first;
  assign filled_take = filled_valid_i && filled_ready_o && !beat_follows;
  assign direct_take = direct_valid_i && direct_ready_o;
  assign take = filled_take || direct_take;

  streams_pkg::payload_beat_t packet;
  assign packet = filled_take ?
      {filled_i[streams_pkg::PayloadBeatWidth-1:512], 512'b0} :
      {direct_i[streams_pkg::DirectBeatWidth-1:InlineWidth], 3'b000, 512'b0};

  logic [6:0] lines;  // of its payload
  logic [SlotWidth-1:0] rows;  // of the store
  assign lines = 7'((packet.payload + 13'd63) >> 6);
  assign rows = SlotWidth'((lines + 7'd15) >> 4);

  logic line_write;
  logic [SlotWidth-1:0] write_row;
  assign line_write = filled_valid_i && filled_ready_o;
  assign write_row = beat_follows ? filled_row_q + SlotWidth'(filled_line_q[5:4]) : row_q;

  always_ff @(posedge clk_i) begin
    if (filled_take) begin
      filled_row_q <= row_q;
    end
    if (line_write) begin
      filled_line_q <= beat_follows ? filled_line_q + 6'd1 : 6'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      filled_left_q <= '0;
      row_q         <= '0;
    end else begin
      if (filled_take) begin
        filled_left_q <= lines - 7'd1;
      end else if (line_write) begin
        filled_left_q <= filled_left_q - 7'd1;
      end
      if (take) begin
        row_q <= row_q + rows;
      end
    end
  end

  // What is being read is never written: a row comes to its turn again after Slots of them, and
  // behind the oldest packet that is held at most 4 * Pending rows are of packets without path, and
  // those of the 31 cycles that a packet can be taken before its frame has left.
  logic [SlotWidth-1:0] read_row;
  logic [3:0] read_bank;
  logic [511:0] read_line;
  packet_builder_store #(
      .Rows(Slots)
  ) u_store (
      .clk_i,
      .line_write_i(line_write),
      .row_write_i (direct_take),
      .row_i       (write_row),
      .bank_i      (beat_follows ? filled_line_q[3:0] : 4'd0),
      .line_i      (filled_i.data),
      .whole_i     ({direct_i.data, 256'b0}),
      .read_row_i  (read_row),
      .read_bank_i (read_bank),
      .read_o      (read_line)
  );

  streams_pkg::ctx_req_t request;
  always_comb begin
    request.trace_id    = packet.trace_id;
    request.kind        = streams_pkg::LineKindQpcAddress;
    request.index       = packet.qpn;
    request.function_id = packet.function_id;
  end

  // There is room for all packets without path, so no credits are counted.
  assign ctx_read_push_o = take;
  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(CtxReadDepth)
  ) u_ctx_reads (
      .clk_i,
      .rst_ni,
      .push_i (ctx_read_push_o),
      .data_i (request),
      .valid_o(ctx_read_valid_o),
      .ready_i(ctx_read_ready_i),
      .data_o (ctx_read_o)
  );

  // -----------------------------------------------------------------------------------------------
  // line

  logic [PacketWidth+2:0] packet_mem[Pending];
  logic [SlotWidth-1:0] row_mem[Pending];
  logic [PendingWidth-1:0] pending_write_q, pending_read_q;
  logic [PendingWidth:0] pending_q;
  logic line_take;

  assign ctx_line_ready_o = pending_q != '0;
  assign line_take = ctx_line_valid_i && ctx_line_ready_o;

  always_ff @(posedge clk_i) begin
    if (take) begin
      packet_mem[pending_write_q] <= packet[streams_pkg::PayloadBeatWidth-1:512];
      row_mem[pending_write_q]    <= row_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pending_write_q <= '0;
      pending_read_q  <= '0;
      pending_q       <= '0;
    end else begin
      pending_q <= pending_q + (PendingWidth + 1)'(take) - (PendingWidth + 1)'(line_take);
      if (take) begin
        pending_write_q <= pending_write_q + 1'b1;
      end
      if (line_take) begin
        pending_read_q <= pending_read_q + 1'b1;
      end
    end
  end

  streams_pkg::payload_beat_t held;
  contexts_pkg::qpc_address_t path;
  assign held = {packet_mem[pending_read_q], 512'b0};
  assign path = ctx_line_i.data;

  logic [847:0] header;
  logic [6:0] header_bytes;
  logic has_tag, ipv6;
  logic [47:0] destination;
  logic [11:0] vid;
  logic [2:0] pcp;
  logic [12:0] icrc_at, length;
  packet_builder_headers u_headers (
      .packet_i      (held),
      .path_i        (path),
      .port_i        (vport_i),
      .header_o      (header),
      .header_bytes_o(header_bytes),
      .has_tag_o      (has_tag),
      .ipv6_o        (ipv6),
      .destination_o (destination),
      .vid_o         (vid),
      .pcp_o         (pcp),
      .icrc_at_o     (icrc_at),
      .length_o      (length)
  );

  // The questions stand still while nobody asks.
  always_comb begin
    vport_query_o  = '0;
    source_query_o = '0;
    route_query_o  = '0;
    if (line_take) begin
      vport_query_o.function_id  = held.function_id;
      source_query_o.function_id = held.function_id;
      source_query_o.gid_index   = path.gid_index;
      route_query_o.mac          = destination;
      route_query_o.has_tag      = has_tag;
      route_query_o.vid          = has_tag ? vid : '0;
    end
  end

  // A port that is checked sends from its own addresses only.
  logic foreign, refused, built, looped;
  always_comb begin
    foreign = (path.smac != '0 && path.smac != vport_i.mac) ||
              (vport_i.has_vlan && path.vlan_valid && path.vlan_id != vport_i.vlan) ||
              (vport_i.listed && !(source_i.valid && source_i.address == path.src_ip));
    refused = held.poisoned || !ctx_line_i.valid || held.life != path.life || !vport_i.enabled ||
              (vport_i.spoof_check && foreign);
    built = line_take && !refused;
    looped = path.loopback || route_i.found;
  end

  logic [6:0] beats;
  assign beats = 7'((length + 13'd63) >> 6);

  // Places at the outputs: those of a frame for one of them, none of the others.
  logic [CreditWidth-1:0] frame_credits_q, loopback_credits_q, rest;
  assign rest = CreditWidth'(MaxBeats) - CreditWidth'(beats);
  always_comb begin
    frame_credits    = frame_credits_q;
    loopback_credits = loopback_credits_q;
    if (line_take) begin
      frame_credits    = frame_credits_q +
                         (built && !looped ? rest : CreditWidth'(MaxBeats));
      loopback_credits = loopback_credits_q +
                         (built && looped ? rest : CreditWidth'(MaxBeats));
    end
  end

  // A frame's first beat is due Latency - Lookup cycles behind the line.
  logic [AheadWidth-1:0] ahead_q;
  always_comb begin
    ahead = ahead_q;
    if (built) begin
      if (ahead_q < AheadWidth'(Latency - Lookup)) begin
        ahead = AheadWidth'(Latency - Lookup);
      end
      ahead = ahead + AheadWidth'(beats);
    end
  end

  logic frame_taken, loopback_taken;
  assign frame_taken = frame_valid_o && frame_ready_i;
  assign loopback_taken = loopback_valid_o && loopback_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      frame_credits_q    <= CreditWidth'(Depth);
      loopback_credits_q <= CreditWidth'(Depth);
      ahead_q            <= '0;
    end else begin
      frame_credits_q    <= frame_credits + CreditWidth'(frame_taken) -
                            (take ? CreditWidth'(MaxBeats) : '0);
      loopback_credits_q <= loopback_credits + CreditWidth'(loopback_taken) -
                            (take ? CreditWidth'(MaxBeats) : '0);
      ahead_q            <= ahead == '0 ? '0 : ahead - 1'b1;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // frames

  streams_pkg::frame_beat_t about;
  logic is_request;
  assign is_request = held.kind == streams_pkg::PacketKindRequest;
  always_comb begin
    about              = '0;
    about.trace_id     = held.trace_id;
    about.function_id  = held.function_id;
    about.length       = length;
    about.pcp          = pcp;
    about.first_packet = is_request && held.first_packet;
    about.last_packet  = is_request && held.last_packet;
    about.looped       = looped;
  end

  logic beat_valid;
  streams_pkg::frame_beat_t beat;
  packet_builder_frames #(
      .Slots(Slots),
      // Join, sum and close take a cycle each.
      .Wait (Latency - Lookup - 3)
  ) u_frames (
      .clk_i,
      .rst_ni,
      .push_i        (built),
      .about_i       (about),
      .header_i      (header),
      .header_bytes_i(header_bytes),
      .has_tag_i      (has_tag),
      .ipv6_i        (ipv6),
      .icrc_at_i     (icrc_at),
      .beats_i       (beats),
      .lines_i       (7'((held.payload + 13'd63) >> 6)),
      .row_i         (row_mem[pending_read_q]),
      .read_row_o    (read_row),
      .read_bank_o   (read_bank),
      .read_i        (read_line),
      .valid_o       (beat_valid),
      .beat_o        (beat)
  );

  assign frame_push_o = beat_valid && !beat.looped;
  assign loopback_push_o = beat_valid && beat.looped;

  stream_fifo #(
      .Width(FrameWidth),
      .Depth(Depth)
  ) u_frame (
      .clk_i,
      .rst_ni,
      .push_i (frame_push_o),
      .data_i (beat),
      .valid_o(frame_valid_o),
      .ready_i(frame_ready_i),
      .data_o (frame_o)
  );

  stream_fifo #(
      .Width(FrameWidth),
      .Depth(Depth)
  ) u_loopback (
      .clk_i,
      .rst_ni,
      .push_i (loopback_push_o),
      .data_i (beat),
      .valid_o(loopback_valid_o),
      .ready_i(loopback_ready_i),
      .data_o (loopback_o)
  );

  // A frame in the making is ahead until its last beat is at an output.
  assign busy_o = beat_follows || pending_q != '0 || ahead_q != '0 || ctx_read_valid_o ||
                  frame_valid_o || loopback_valid_o;

  `CARILLON_ASSERT(!ctx_line_valid_i || ctx_line_ready_o)
  `CARILLON_ASSERT(!take || pending_q != (PendingWidth + 1)'(Pending) || line_take)
  `CARILLON_ASSERT_STREAM(ctx_read)
  `CARILLON_ASSERT_STREAM(frame)
  `CARILLON_ASSERT_STREAM(loopback)

endmodule
