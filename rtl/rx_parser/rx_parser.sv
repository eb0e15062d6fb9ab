// rx_parser: from received frames to RoCE packets with a verdict. Cycle by cycle the same as
// model/rx_parser.cpp; docs/stages/rx_parser.md has the timing.
//
// The states of its FSM are places of a pipeline: with a frame's first beat in cycle t a packet is
// in
//   ST_ETH  in t: addresses, tag, type; its virtual port is looked up outside within the cycle
//   ST_IP   in t+1
//   ST_UDP  in t+2: here the second beat is there, in which headers may end
//   ST_BTH  in t+3
//   ST_CTX_LOOKUP  from t+3 on: its QP's lines are asked for, in order. It leaves in order when
//           they are there and its ICRC is known, to ST_DMA_WRITE, ST_NAK or ST_DROP.
// Beats follow a frame's first one a cycle, so headers never wait; whoever is refused by one of
// them is dropped without a lookup when its turn comes.
`include "assertions.svh"

module rx_parser (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                        frames_valid_i,  // a beat of a frame - rx_mac
    output logic                        frames_ready_o,  // it is taken - rx_mac
    input  streams_pkg::rx_frame_beat_t frames_i,        // the beat - rx_mac

    input  logic                    commits_valid_i,  // a request was decided - responder
    output logic                    commits_ready_o,  // it is taken - responder
    input  streams_pkg::rx_commit_t commits_i,        // of which QP - responder

    output logic                  common_reads_valid_o,  // read of a QP's common line - qpc_ram
    input  logic                  common_reads_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t common_reads_o,        // which - qpc_ram
    output logic                  common_reads_push_o,   // it enters the stream - monitor

    input  logic                  common_lines_valid_i,  // such a line - qpc_ram
    output logic                  common_lines_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t common_lines_i,        // the line - qpc_ram

    output logic                  responder_reads_valid_o,  // read of its responder line - qpc_ram
    input  logic                  responder_reads_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t responder_reads_o,        // which - qpc_ram
    output logic                  responder_reads_push_o,   // it enters the stream - monitor

    input  logic                  responder_lines_valid_i,  // such a line - qpc_ram
    output logic                  responder_lines_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t responder_lines_i,        // the line - qpc_ram

    output logic                         requests_valid_o,  // a request - responder
    input  logic                         requests_ready_i,  // it is taken - responder
    output streams_pkg::rx_packet_beat_t requests_o,        // the packet - responder
    output logic                         requests_push_o,   // it enters the stream - monitor

    output logic                         responses_valid_o,  // an ACK or a response - requester
    input  logic                         responses_ready_i,  // it is taken - requester
    output streams_pkg::rx_packet_beat_t responses_o,        // the packet - requester
    output logic                         responses_push_o,   // it enters the stream - monitor

    output logic                 ends_valid_o,  // a packet left - counters
    input  logic                 ends_ready_i,  // it is taken - counters
    output streams_pkg::rx_end_t ends_o,        // how - counters
    output logic                 ends_push_o,   // it enters the stream - monitor

    output streams_pkg::steer_query_t  steer_query_o,  // a frame's addresses - port table
    input  streams_pkg::steer_answer_t steer_i,        // the ports that have them - port table

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Slots = stages_pkg::RxParserSlots;
  localparam int unsigned PacketDepth = stages_pkg::RxParserPacketDepth;
  localparam int unsigned SlotWidth = $clog2(Slots + 1);
  localparam int unsigned CreditWidth = $clog2(PacketDepth + 1);

  // Where UDP headers begin, and what may be theirs: the end of the first beat, the begin of the
  // second. A header, the BTH and the longest extension are looked at.
  localparam int unsigned FirstUdp = wire_pkg::EthBytes + wire_pkg::Ipv4Bytes;
  localparam int unsigned LastUdp =
      wire_pkg::EthBytes + wire_pkg::VlanTagBytes + wire_pkg::Ipv6Bytes;
  localparam int unsigned WindowBytes =
      wire_pkg::UdpBytes + wire_pkg::BthBytes + wire_pkg::AtomicethBytes;
  localparam int unsigned LowBytes = 64 - FirstUdp;
  localparam int unsigned SpanBytes = LastUdp - FirstUdp + WindowBytes;

  // What is known of a packet behind its last header state.
  localparam int unsigned LineBits = 512;
  localparam int unsigned PacketWidth = streams_pkg::RxPacketBeatWidth - 2 * LineBits;

  typedef struct packed {
    logic [31:0] trace_id;
    logic [12:0] length;
    logic [15:0] place;
    logic        known;  // the ICRC
  } frame_t;

  typedef struct packed {
    logic [4:0]  refusal;
    logic [4:0]  nobody;  // refused by the steering
    logic        has_port;
    logic [15:0] port;
    logic        has_tag;
    logic [2:0]  pcp;
    logic        ipv6;
  } eth_t;

  typedef struct packed {
    logic [4:0]             refusal;
    logic                   has_port;
    logic                   request;
    logic                   marked;
    logic [15:0]            pkey;
    logic [PacketWidth-1:0] packet;
  } parsed_t;
  localparam int unsigned ParsedWidth = PacketWidth + 24;

  // -----------------------------------------------------------------------------------------------
  // ST_ETH, in the cycle of the first beat

  logic follows_q;  // a beat of the same frame comes
  logic [SlotWidth-1:0] slots_q;  // packets in flight
  logic take, first, leave;

  assign frames_ready_o = follows_q || slots_q != SlotWidth'(Slots);
  assign take = frames_valid_i && frames_ready_o;
  assign first = take && !follows_q;

  eth_t eth;
  rx_parser_eth u_eth (
      .first_i   (first),
      .frame_i   (frames_i),
      .query_o   (steer_query_o),
      .steer_i,
      .has_tag_o  (eth.has_tag),
      .pcp_o     (eth.pcp),
      .ipv6_o    (eth.ipv6),
      .refusal_o (eth.refusal),
      .nobody_o  (eth.nobody),
      .has_port_o(eth.has_port),
      .port_o    (eth.port)
  );

  logic beat_valid_q, beat_first_q, beat_last_q;
  logic [511:0] beat_q;

  always_ff @(posedge clk_i) begin
    if (take) begin
      beat_q       <= frames_i.data;
      beat_first_q <= first;
      beat_last_q  <= frames_i.last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      follows_q    <= 1'b0;
      beat_valid_q <= 1'b0;
      slots_q      <= '0;
    end else begin
      if (take) begin
        follows_q <= !frames_i.last;
      end
      beat_valid_q <= take;
      slots_q      <= slots_q + SlotWidth'(first) - SlotWidth'(leave);
    end
  end

  // -----------------------------------------------------------------------------------------------
  // ST_IP

  logic st_ip;
  frame_t ip_frame_q;
  eth_t ip_eth_q;
  assign st_ip = beat_valid_q && beat_first_q;

  always_ff @(posedge clk_i) begin
    if (first) begin
      ip_frame_q.trace_id <= frames_i.trace_id;
      ip_frame_q.length   <= frames_i.length;
      ip_frame_q.place    <= frames_i.place;
      ip_frame_q.known    <= frames_i.icrc_known;
      ip_eth_q            <= eth;
    end
  end

  logic [4:0] ip_refusal;
  logic [12:0] ip_bytes;
  logic [5:0] dscp;
  logic marked;
  rx_parser_ip u_ip (
      .beat_i   (beat_q),
      .length_i (ip_frame_q.length),
      .has_tag_i (ip_eth_q.has_tag),
      .ipv6_i   (ip_eth_q.ipv6),
      .refusal_o(ip_refusal),
      .bytes_o  (ip_bytes),
      .dscp_o   (dscp),
      .marked_o (marked)
  );

  logic icrc_done, icrc_good, icrc_busy;
  rx_parser_icrc u_icrc (
      .clk_i,
      .rst_ni,
      .beat_valid_i(beat_valid_q),
      .beat_i      (beat_q),
      .first_i     (beat_first_q),
      .last_i      (beat_last_q),
      .has_tag_i    (ip_eth_q.has_tag),
      .ipv6_i      (ip_eth_q.ipv6),
      .bytes_i     (ip_bytes),
      .known_i     (ip_frame_q.known),
      .done_o      (icrc_done),
      .good_o      (icrc_good),
      .busy_o      (icrc_busy)
  );

  // -----------------------------------------------------------------------------------------------
  // ST_UDP

  logic st_udp_q;
  frame_t udp_frame_q;
  eth_t udp_eth_q;
  logic [12:0] udp_bytes_q;  // from the UDP header through the ICRC
  logic [2:0] udp_pcp_q;
  logic udp_marked_q;
  logic [8*LowBytes-1:0] udp_low_q;

  always_ff @(posedge clk_i) begin
    if (st_ip) begin
      udp_frame_q <= ip_frame_q;
      udp_eth_q   <= ip_eth_q;
      if (ip_eth_q.refusal == streams_pkg::RxRefusalNothing) begin
        udp_eth_q.refusal <= ip_refusal;
      end
      udp_bytes_q  <= ip_bytes - (ip_eth_q.ipv6 ? 13'(wire_pkg::Ipv6Bytes) :
                                                  13'(wire_pkg::Ipv4Bytes));
      udp_pcp_q    <= ip_eth_q.has_tag ? ip_eth_q.pcp : dscp[5:3];
      udp_marked_q <= marked;
      udp_low_q    <= beat_q[8*LowBytes-1:0];
    end
  end

  logic [8*SpanBytes-1:0] span;
  logic [8*WindowBytes-1:0] window;
  wire_pkg::udp_t udp;
  assign span = {udp_low_q, beat_q[511 -: 8*(SpanBytes-LowBytes)]};

  // Both kinds of IP, with and without a tag.
  localparam int unsigned TagStep = 8 * wire_pkg::VlanTagBytes;
  localparam int unsigned Ipv6Step = 8 * (wire_pkg::Ipv6Bytes - wire_pkg::Ipv4Bytes);
  always_comb begin
    unique case ({udp_eth_q.ipv6, udp_eth_q.has_tag})
      2'b00: window = span[8*SpanBytes-1 -: 8*WindowBytes];
      2'b01: window = span[8*SpanBytes-1-TagStep -: 8*WindowBytes];
      2'b10: window = span[8*SpanBytes-1-Ipv6Step -: 8*WindowBytes];
      default: window = span[8*WindowBytes-1:0];
    endcase
  end

  assign udp = window[8*WindowBytes-1 -: 8*wire_pkg::UdpBytes];

  logic [4:0] udp_refusal;
  always_comb begin
    udp_refusal = udp_eth_q.refusal;
    if (udp_eth_q.refusal == streams_pkg::RxRefusalNothing) begin
      if (udp.dst_port != wire_pkg::RoceUdpPort) begin
        udp_refusal = streams_pkg::RxRefusalUdpPort;
      end else if (udp.length != 16'(udp_bytes_q)) begin
        udp_refusal = streams_pkg::RxRefusalUdpLength;
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // ST_BTH

  localparam int unsigned TransportBytes = WindowBytes - wire_pkg::UdpBytes;

  logic st_bth_q;
  frame_t bth_frame_q;
  eth_t bth_eth_q;
  logic [12:0] bth_bytes_q;  // from the BTH through the ICRC
  logic [2:0] bth_pcp_q;
  logic bth_marked_q;
  logic [8*TransportBytes-1:0] bth_headers_q;

  always_ff @(posedge clk_i) begin
    if (st_udp_q) begin
      bth_frame_q       <= udp_frame_q;
      bth_eth_q         <= udp_eth_q;
      bth_eth_q.refusal <= udp_refusal;
      bth_bytes_q       <= udp_bytes_q - 13'(wire_pkg::UdpBytes);
      bth_pcp_q         <= udp_pcp_q;
      bth_marked_q      <= udp_marked_q;
      bth_headers_q     <= window[8*TransportBytes-1:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      st_udp_q <= 1'b0;
      st_bth_q <= 1'b0;
    end else begin
      st_udp_q <= st_ip;
      st_bth_q <= st_udp_q;
    end
  end

  logic [4:0] bth_refusal, extension_bytes;
  logic is_request;
  logic [15:0] pkey;
  streams_pkg::rx_packet_beat_t transport;
  rx_parser_bth u_bth (
      .bth_i            (bth_headers_q[8*TransportBytes-1 -: 8*wire_pkg::BthBytes]),
      .extension_i      (bth_headers_q[8*wire_pkg::AtomicethBytes-1:0]),
      .bytes_i          (bth_bytes_q),
      .refusal_o        (bth_refusal),
      .request_o        (is_request),
      .extension_bytes_o(extension_bytes),
      .pkey_o           (pkey),
      .packet_o         (transport)
  );

  // Places in the buffer.
  logic [15:0] ip_place, payload_place;
  assign ip_place = bth_frame_q.place + 16'(wire_pkg::EthBytes) +
                    (bth_eth_q.has_tag ? 16'(wire_pkg::VlanTagBytes) : '0);
  assign payload_place = ip_place + 16'(wire_pkg::UdpBytes + wire_pkg::BthBytes) +
                         (bth_eth_q.ipv6 ? 16'(wire_pkg::Ipv6Bytes) : 16'(wire_pkg::Ipv4Bytes)) +
                         16'(extension_bytes);

  streams_pkg::rx_packet_beat_t packet;
  parsed_t parsed;
  logic refused;
  always_comb begin
    packet               = transport;
    packet.trace_id      = bth_frame_q.trace_id;
    packet.function_id   = bth_eth_q.port;
    packet.ipv6          = bth_eth_q.ipv6;
    packet.pcp           = bth_pcp_q;
    packet.ip_place      = ip_place;
    packet.payload_place = payload_place;

    // The first that applies decides: the header states in order, then the steering.
    parsed.refusal = bth_eth_q.nobody;
    if (bth_eth_q.refusal != streams_pkg::RxRefusalNothing) begin
      parsed.refusal = bth_eth_q.refusal;
    end else if (bth_refusal != streams_pkg::RxRefusalNothing) begin
      parsed.refusal = bth_refusal;
    end
    parsed.has_port = bth_eth_q.has_port;
    parsed.request  = is_request;
    parsed.marked   = bth_marked_q;
    parsed.pkey     = pkey;
    parsed.packet   = packet[streams_pkg::RxPacketBeatWidth-1:2*LineBits];
    refused = parsed.refusal != streams_pkg::RxRefusalNothing;
  end

  // -----------------------------------------------------------------------------------------------
  // ST_CTX_LOOKUP

  logic dropped;  // behind its lookup
  parsed_t front;
  streams_pkg::rx_packet_beat_t front_packet;

  rx_parser_lookup u_lookup (
      .clk_i,
      .rst_ni,
      .push_i           (st_bth_q && !refused),
      .trace_id_i       (packet.trace_id),
      .qpn_i            (packet.qpn),
      .request_i        (parsed.request),
      .commit_i         (commits_valid_i),
      .commit_qpn_i     (commits_i.qpn),
      .drop_i           (dropped && front.request),
      .drop_qpn_i       (front_packet.qpn),
      .common_valid_o   (common_reads_valid_o),
      .common_ready_i   (common_reads_ready_i),
      .common_o         (common_reads_o),
      .common_push_o    (common_reads_push_o),
      .responder_valid_o(responder_reads_valid_o),
      .responder_ready_i(responder_reads_ready_i),
      .responder_o      (responder_reads_o),
      .responder_push_o (responder_reads_push_o)
  );

  // Places for lines are there when they are asked for; commits only free.
  assign commits_ready_o = 1'b1;
  assign common_lines_ready_o = 1'b1;
  assign responder_lines_ready_o = 1'b1;

  // What packets in flight wait for, each in their order.
  logic front_valid;
  rx_parser_queue #(
      .Width(ParsedWidth),
      .Depth(Slots)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .push_i (st_bth_q),
      .data_i (parsed),
      .valid_o(front_valid),
      .pop_i  (leave),
      .data_o (front)
  );

  logic answered;  // the front packet leaves behind its lookup
  logic common_valid, exists;
  contexts_pkg::qpc_common_t common;
  rx_parser_queue #(
      .Width(1 + LineBits),
      .Depth(Slots)
  ) u_common (
      .clk_i,
      .rst_ni,
      .push_i (common_lines_valid_i),
      .data_i ({common_lines_i.valid, common_lines_i.data}),
      .valid_o(common_valid),
      .pop_i  (answered),
      .data_o ({exists, common})
  );

  logic responder_valid;
  contexts_pkg::qpc_responder_t responder;
  rx_parser_queue #(
      .Width(LineBits),
      .Depth(Slots)
  ) u_responder (
      .clk_i,
      .rst_ni,
      .push_i (responder_lines_valid_i),
      .data_i (responder_lines_i.data),
      .valid_o(responder_valid),
      .pop_i  (answered && front.request),
      .data_o (responder)
  );

  // The ICRC is known in ST_BTH or later, and of a refused packet it does not count.
  logic refused_q, checked, good;
  always_ff @(posedge clk_i) begin
    if (st_bth_q) begin
      refused_q <= refused;
    end
  end

  rx_parser_queue #(
      .Width(1),
      .Depth(Slots)
  ) u_checked (
      .clk_i,
      .rst_ni,
      .push_i (icrc_done && !(st_bth_q ? refused : refused_q)),
      .data_i (icrc_good),
      .valid_o(checked),
      .pop_i  (answered),
      .data_o (good)
  );

  // -----------------------------------------------------------------------------------------------
  // ST_DMA_WRITE, ST_NAK, ST_DROP

  assign front_packet = {front.packet, {2 * LineBits{1'b0}}};

  logic [2:0] verdict, state;
  logic [4:0] refusal;
  rx_parser_verdict u_verdict (
      .opcode_i   (front_packet.opcode),
      .psn_i      (front_packet.psn),
      .pkey_i     (front.pkey),
      .port_i     (front_packet.function_id),
      .icrc_good_i(good),
      .exists_i   (exists),
      .common_i   (common),
      .responder_i(responder),
      .verdict_o  (verdict),
      .refusal_o  (refusal),
      .state_o    (state)
  );

  logic [CreditWidth-1:0] request_credits, response_credits;
  logic unwanted, ready, handed;
  always_comb begin
    unwanted = front_valid && front.refusal != streams_pkg::RxRefusalNothing;
    ready = front_valid && !unwanted && common_valid && checked &&
            (responder_valid || !front.request);
    dropped = ready && state == streams_pkg::RxStateStDrop;
    handed = ready && !dropped && (front.request ? request_credits != '0 : response_credits != '0);
    answered = dropped || handed;
    leave = unwanted || answered;
  end

  streams_pkg::rx_packet_beat_t result;
  always_comb begin
    result           = front_packet;
    result.verdict   = verdict;
    result.common    = common;
    result.responder = front.request ? responder : '0;
  end

  assign requests_push_o = handed && front.request;
  assign responses_push_o = handed && !front.request;

  credit_counter #(
      .Depth(PacketDepth)
  ) u_request_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(requests_push_o)),
      .taken_i  (requests_valid_o && requests_ready_i),
      .credits_o(request_credits)
  );

  credit_counter #(
      .Depth(PacketDepth)
  ) u_response_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(responses_push_o)),
      .taken_i  (responses_valid_o && responses_ready_i),
      .credits_o(response_credits)
  );

  stream_fifo #(
      .Width(streams_pkg::RxPacketBeatWidth),
      .Depth(PacketDepth)
  ) u_requests (
      .clk_i,
      .rst_ni,
      .push_i (requests_push_o),
      .data_i (result),
      .valid_o(requests_valid_o),
      .ready_i(requests_ready_i),
      .data_o (requests_o)
  );

  stream_fifo #(
      .Width(streams_pkg::RxPacketBeatWidth),
      .Depth(PacketDepth)
  ) u_responses (
      .clk_i,
      .rst_ni,
      .push_i (responses_push_o),
      .data_i (result),
      .valid_o(responses_valid_o),
      .ready_i(responses_ready_i),
      .data_o (responses_o)
  );

  // Counters take an end as soon as they see it, so there is always room.
  streams_pkg::rx_end_t ended;
  always_comb begin
    ended             = '0;
    ended.state       = streams_pkg::RxStateStDrop;
    ended.refusal     = front.refusal;
    ended.has_port    = front.has_port;
    ended.function_id = front_packet.function_id;
    if (!unwanted) begin
      ended.state   = state;
      ended.refusal = refusal;
      if (!dropped) begin
        ended.verdict = verdict;
        ended.marked  = front.marked;
      end
    end
  end

  assign ends_push_o = leave;
  stream_fifo #(
      .Width(streams_pkg::RxEndWidth),
      .Depth(stages_pkg::RxParserEndDepth)
  ) u_ends (
      .clk_i,
      .rst_ni,
      .push_i (ends_push_o),
      .data_i (ended),
      .valid_o(ends_valid_o),
      .ready_i(ends_ready_i),
      .data_o (ends_o)
  );

  // Of a frame that was refused, beats may be under way when its packet has gone.
  assign busy_o = slots_q != '0 || icrc_busy || common_reads_valid_o || responder_reads_valid_o ||
                  requests_valid_o || responses_valid_o || ends_valid_o;

  `CARILLON_ASSERT(!common_lines_valid_i || slots_q != '0)
  `CARILLON_ASSERT_STREAM(common_reads)
  `CARILLON_ASSERT_STREAM(responder_reads)
  `CARILLON_ASSERT_STREAM(ends)

  // The widest beats are too wide for a sample.
`ifndef YOSYS
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   (requests_valid_o && !requests_ready_i) |=> requests_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   (responses_valid_o && !responses_ready_i) |=> responses_valid_o);
`endif

endmodule
