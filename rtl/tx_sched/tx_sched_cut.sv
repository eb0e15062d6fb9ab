// What leaves of a grant: the packet, of a request or a response, and what the requester is told of
// it. Combinational.
module tx_sched_cut #(
    localparam int unsigned RowWidth  = streams_pkg::SchedRowWidth,
    localparam int unsigned HeadWidth = streams_pkg::WorkBeatWidth - 512,
    localparam int unsigned BodyWidth = 512 * 16,
    localparam int unsigned NoteWidth = streams_pkg::SentBeatWidth - 3840
) (
    input logic [63:0]           order_i,        // of the grant - top
    input logic                  response_i,     // it answers - top

    // A CNP
    input logic cnp_i,  // that is what it is - top
    input streams_pkg::limit_beat_t cnp_item_i,  // which - cnps

    // A request
    input logic                  request_i,      // it is one - top
    input logic [RowWidth-1:0]   row_i,          // its queue before - queues
    input logic [HeadWidth-1:0]  head_i,         // the work request - works
    input logic [BodyWidth-1:0]  body_i,         // its body - works
    input logic                  inline_i,       // its packet does not need payload_dma - top
    input logic [3:0]            log_mtu_i,      // logarithm of its MTU - head
    input logic [15:0]           bytes_i,        // payload - head
    input logic                  message_i,      // SEND, WRITE - head
    input logic                  answered_i,     // READ, atomic - head
    input logic [7:0]            syndrome_i,     // with which it fails - head
    input logic                  fails_i,        // it fails or is flushed - grant
    input logic                  flushed_i,      // it is flushed - grant
    input logic                  silent_i,       // it sends nothing - head
    input logic                  last_i,         // its last packet - grant
    input logic                  ack_request_i,  // asks for an acknowledge - grant
    input logic [23:0]           first_psn_i,    // of the work request - grant

    // A response
    input streams_pkg::response_beat_t answer_i, // which - responses
    input logic [23:0]           packet_i,       // its packet's number - responses
    input logic                  answer_last_i,  // ... which is the last - responses
    input logic [7:0]            lives_i,        // resets of its QP - queues

    // A request whose data could not be read
    input logic [RowWidth-1:0]   lost_row_i,     // its queue before - queues
    input logic [HeadWidth-1:0]  lost_head_i,    // the first work request - works
    input logic [13:0]           port_mtu_i,     // largest payload - settings
    input logic                  lost_in_head_i, // which it belongs to - left
    input streams_pkg::payload_note_t lost_i,    // which packet - payload_dma

    output streams_pkg::packet_grant_t payload_o,  // the packet, for payload_dma - outputs
    output streams_pkg::direct_beat_t  direct_o,   // the packet, past it - outputs
    output streams_pkg::sent_beat_t    sent_o,     // the note - outputs
    output logic [NoteWidth-1:0] lost_o,  // the note of the one that could not be read - outputs
    output logic [7:0]                 lost_syndrome_o  // its syndrome - notes
);

  streams_pkg::sched_row_t row, lost_row;
  streams_pkg::work_beat_t work, lost_work;
  assign row = row_i;
  assign lost_row = lost_row_i;
  assign work = {head_i, 512'b0};
  assign lost_work = {lost_head_i, 512'b0};

  localparam int unsigned AddressBytes = 48;  // datagram segment
  localparam int unsigned InlineHeader = 4;

  logic datagram;
  assign datagram = work.service == contexts_pkg::QpServiceUd;

  // A READ response
  logic [31:0] answer_mtu, answer_offset, answer_rest;
  logic is_read;
  assign is_read = answer_i.kind == streams_pkg::AnswerKindRead;
  assign answer_mtu = 32'd128 << answer_i.mtu_code;
  assign answer_offset = 32'(packet_i) << (4'd7 + 4'(answer_i.mtu_code));
  assign answer_rest = answer_i.length - answer_offset;

  // The payload of an inline packet, first byte at the top, zero beyond its end.
  logic [BodyWidth-1:0] inline_body;
  logic [7935:0] inline_data, behind;
  always_comb begin
    inline_body = '0;
    inline_data = '0;
    behind      = '1;
    if (inline_i) begin
      inline_body = datagram ? body_i << (8 * (AddressBytes + InlineHeader)) : body_i;
      inline_body = inline_body << {row.offset[9:0], 3'b000};
      behind      = behind >> {bytes_i[9:0], 3'b000};
      inline_data = inline_body[BodyWidth-1-:7936] & ~behind;
    end
  end

  // The data segments; behind the last one are bytes of an earlier work request.
  logic [3839:0] segments;
  always_comb begin
    segments = '0;
    if (request_i) begin
      segments = datagram ? body_i[BodyWidth-1-8*AddressBytes-:3840] : body_i[BodyWidth-1-:3840];
      segments = segments & ~({3840{1'b1}} >> {work.sge_count, 7'b0});
    end
  end

  always_comb begin
    payload_o                = '0;
    payload_o.order          = order_i;
    if (cnp_i) begin
      payload_o.kind         = streams_pkg::PacketKindAcknowledge;
      payload_o.function_id  = cnp_item_i.function_id;
      payload_o.qpn          = cnp_item_i.qpn;
      payload_o.life         = lives_i;
      payload_o.wqe_opcode   = 8'(wire_pkg::BthOpcodeCnp);
      payload_o.payload      = 13'(wire_pkg::CnpPayloadBytes);
      payload_o.first_packet = 1'b1;
      payload_o.last_packet  = 1'b1;
      payload_o.syndrome     = 8'(cnp_item_i.dscp);
      payload_o.msn          = 24'(cnp_item_i.pcp);
    end else if (response_i) begin
      payload_o.trace_id    = answer_i.trace_id;
      payload_o.function_id = answer_i.function_id;
      payload_o.qpn         = answer_i.qpn;
      payload_o.life        = lives_i;
      payload_o.psn         = answer_i.psn + packet_i;
      payload_o.syndrome    = answer_i.syndrome;
      payload_o.msn         = answer_i.msn;
      payload_o.first_packet = packet_i == '0;
      payload_o.last_packet  = answer_last_i;
      if (is_read) begin
        payload_o.kind           = streams_pkg::PacketKindReadResponse;
        payload_o.message_offset = answer_offset;
        payload_o.payload        = answer_rest < answer_mtu ? answer_rest[12:0] : answer_mtu[12:0];
        payload_o.remote_address = answer_i.address;
        payload_o.rkey           = answer_i.rkey;
        payload_o.dma_length     = answer_i.length;
        payload_o.paged          = answer_i.paged;
        payload_o.writes_before  = answer_i.writes_before;
      end else if (answer_i.kind == streams_pkg::AnswerKindAtomic) begin
        payload_o.kind     = streams_pkg::PacketKindAtomicAcknowledge;
        payload_o.swap_add = answer_i.atomic_result;
      end else begin
        payload_o.kind = streams_pkg::PacketKindAcknowledge;
      end
    end else if (request_i) begin
      payload_o.kind           = streams_pkg::PacketKindRequest;
      payload_o.trace_id       = work.trace_id;
      payload_o.function_id    = work.function_id;
      payload_o.qpn            = work.qpn;
      payload_o.life           = row.lives;
      payload_o.wqe_opcode     = work.opcode;
      payload_o.service        = work.service;
      payload_o.solicited      = last_i && work.fm_ce_se[1];
      payload_o.ack_request    = ack_request_i;
      payload_o.psn            = row.psn;
      payload_o.payload        = bytes_i[12:0];
      payload_o.first_packet   = !message_i || row.offset == '0;
      payload_o.last_packet    = last_i;
      payload_o.rkey           = work.rkey;
      payload_o.imm            = work.imm;
      payload_o.remote_address = work.remote_address;
      payload_o.dma_length     = work.length;
      if (message_i) begin
        payload_o.paged          = work.paged || row.invalidates;
        payload_o.message_offset = row.offset;
        payload_o.sge_count      = work.sge_count;
        if (datagram) begin
          payload_o.address_vector = body_i[BodyWidth-1-:384];
        end
        payload_o.segments = segments;
      end else begin
        // What of a READ was answered is not asked for again.
        payload_o.remote_address = work.remote_address + 64'(row.offset);
        payload_o.dma_length     = work.length - row.offset;
        payload_o.swap_add       = work.swap_add;
        payload_o.compare        = work.compare;
      end
    end
  end

  always_comb begin
    direct_o.trace_id       = payload_o.trace_id;
    direct_o.kind           = payload_o.kind;
    direct_o.order          = payload_o.order;
    direct_o.function_id    = payload_o.function_id;
    direct_o.qpn            = payload_o.qpn;
    direct_o.life           = payload_o.life;
    direct_o.wqe_opcode     = payload_o.wqe_opcode;
    direct_o.service        = payload_o.service;
    direct_o.solicited      = payload_o.solicited;
    direct_o.ack_request    = payload_o.ack_request;
    direct_o.psn            = payload_o.psn;
    direct_o.payload        = payload_o.payload;
    direct_o.first_packet   = payload_o.first_packet;
    direct_o.last_packet    = payload_o.last_packet;
    direct_o.remote_address = payload_o.remote_address;
    direct_o.rkey           = payload_o.rkey;
    direct_o.dma_length     = payload_o.dma_length;
    direct_o.imm            = payload_o.imm;
    direct_o.swap_add       = payload_o.swap_add;
    direct_o.compare        = payload_o.compare;
    direct_o.syndrome       = payload_o.syndrome;
    direct_o.msn            = payload_o.msn;
    direct_o.address_vector = payload_o.address_vector;
    direct_o.data           = inline_data;
  end

  // Notes
  // ------------------------------------------------------------------------------------------

  logic [31:0] packets;
  assign packets = work.length == '0 ? 32'd1 : ((work.length - 32'd1) >> log_mtu_i) + 32'd1;
  always_comb begin
    sent_o                 = '0;
    sent_o.trace_id        = work.trace_id;
    sent_o.qpn             = work.qpn;
    sent_o.epoch           = row.epoch;
    sent_o.psn             = row.psn;
    sent_o.first_psn       = first_psn_i;
    sent_o.last_psn        = first_psn_i;
    if (message_i || work.opcode == wqe_pkg::WqeOpcodeRdmaRead) begin
      sent_o.last_psn = first_psn_i + packets[23:0] - 24'd1;
    end
    sent_o.last            = last_i || fails_i || silent_i;
    sent_o.no_packet       = silent_i && !fails_i;
    sent_o.ack_request     = ack_request_i;
    sent_o.wqe_index       = work.wqe_index;
    sent_o.wqebbs          = work.wqebbs;
    sent_o.opcode          = work.opcode;
    sent_o.service         = work.service;
    sent_o.mtu_code        = work.mtu_code;
    sent_o.signaled        = work.fm_ce_se[3] || fails_i;
    sent_o.solicited_event = work.fm_ce_se[3:2] == wqe_pkg::CompletionModeAlwaysWithEvent;
    sent_o.length          = work.length;
    sent_o.send_cqn        = work.send_cqn;
    sent_o.function_id     = work.function_id;
    if (fails_i) begin
      sent_o.syndrome = flushed_i ? 8'(wqe_pkg::CqeSyndromeWrFlushed) : syndrome_i;
      if (!flushed_i && datagram && syndrome_i == wqe_pkg::CqeSyndromeLocalLength) begin
        sent_o.vendor_syndrome = wqe_pkg::VendorSyndromeDatagramTooLong;
      end
    end else if (answered_i) begin
      sent_o.paged     = work.paged || row.invalidates;
      sent_o.sge_count = work.sge_count;
      sent_o.segments  = segments;
    end
  end

  logic refused;
  assign refused = lost_i.status == streams_pkg::ReadResultUnsupportedRequest ||
                   lost_i.status == streams_pkg::ReadResultCompleterAbort;
  assign lost_syndrome_o = refused ? 8'(wqe_pkg::CqeSyndromeLocalProtection)
                                  : 8'(wqe_pkg::CqeSyndromeLocalQpOperation);

  logic [3:0] lost_log_mtu;
  logic [31:0] lost_packets;
  logic lost_message;
  always_comb begin
    lost_log_mtu = 4'd7 + 4'(lost_work.mtu_code);
    if (lost_work.service == contexts_pkg::QpServiceUd && lost_work.mtu_code == '0) begin
      for (int unsigned i = 0; i < 14; i++) begin
        if (port_mtu_i[i]) begin
          lost_log_mtu = 4'(i);
        end
      end
    end
  end
  assign lost_packets = lost_work.length == '0
      ? 32'd1 : ((lost_work.length - 32'd1) >> lost_log_mtu) + 32'd1;
  assign lost_message = lost_work.opcode != wqe_pkg::WqeOpcodeNop &&
      lost_work.opcode != wqe_pkg::WqeOpcodeLocalInvalidate &&
      lost_work.opcode != wqe_pkg::WqeOpcodeAtomicCompareSwap &&
      lost_work.opcode != wqe_pkg::WqeOpcodeAtomicFetchAdd;
  streams_pkg::sent_beat_t lost;
  always_comb begin
    lost = '0;
    if (lost_in_head_i) begin
      lost.trace_id        = lost_work.trace_id;
      lost.first_psn       = lost_row.first_psn;
      lost.last_psn        = lost_row.first_psn + (lost_message ? lost_packets[23:0] - 24'd1 : '0);
      lost.wqe_index       = lost_work.wqe_index;
      lost.wqebbs          = lost_work.wqebbs;
      lost.opcode          = lost_work.opcode;
      lost.service         = lost_work.service;
      lost.mtu_code        = lost_work.mtu_code;
      lost.signaled        = lost_work.fm_ce_se[3];
      lost.solicited_event = lost_work.fm_ce_se[3:2] == wqe_pkg::CompletionModeAlwaysWithEvent;
      lost.length          = lost_work.length;
      lost.send_cqn        = lost_work.send_cqn;
      lost.function_id     = lost_work.function_id;
    end
    lost.qpn             = lost_i.qpn;
    lost.epoch           = lost_row.epoch;
    lost.psn             = lost_i.psn;
    lost.last            = 1'b1;
    lost.syndrome        = lost_syndrome_o;
    lost.vendor_syndrome = wqe_pkg::VendorSyndromePayloadRead;
  end
  assign lost_o = lost[streams_pkg::SentBeatWidth-1:3840];

endmodule
