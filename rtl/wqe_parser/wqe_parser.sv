// wqe_parser: parses a send WQE, looks up its QP and the keys of its data segments, checks both,
// and hands the checked work request on. Cycle by cycle the same as model/wqe_parser.cpp;
// docs/stages/wqe_parser.md has the timing.
//
// A WQE lies in a slot from its first beat until its result has left, and passes four steps in
// order:
//   receive  its beats are written and its segments are summed up as they come in, both as those of
//            a connected QP and as those of a datagram: the service is known later;
//   walk     with its QP's context line in hand it is checked, and one key a cycle is asked for;
//   keys     each key's line is checked against its segment;
//   leave    after the fixed latency its body is aligned and written to the output.
`include "assertions.svh"

module wqe_parser (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                     wqe_valid_i,  // a beat of a WQE - wqe_fetch
    output logic                     wqe_ready_o,  // it is taken - wqe_fetch
    input  streams_pkg::wqe_beat_t   wqe_i,        // the beat - wqe_fetch

    output logic                     ctx_read_valid_o,  // read of a QP's context - qpc_ram
    input  logic                     ctx_read_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t    ctx_read_o,        // which line - qpc_ram
    output logic                     ctx_read_push_o,   // it enters the stream - monitor

    input  logic                     ctx_line_valid_i,  // a QP's context - qpc_ram
    output logic                     ctx_line_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t    ctx_line_i,        // the line - qpc_ram

    output logic                     mkey_read_valid_o,  // read of a memory key - qpc_ram
    input  logic                     mkey_read_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t    mkey_read_o,        // which line - qpc_ram
    output logic                     mkey_read_push_o,   // it enters the stream - monitor

    input  logic                     mkey_line_valid_i,  // a memory key - qpc_ram
    output logic                     mkey_line_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t    mkey_line_i,        // the line - qpc_ram

    output logic                     work_valid_o,  // a beat of a checked request - tx_sched
    input  logic                     work_ready_i,  // it is taken - tx_sched
    output streams_pkg::work_beat_t  work_o,        // the beat - tx_sched
    output logic                     work_push_o,   // it enters the stream - monitor

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Latency = stages_pkg::WqeParserLatency;
  localparam int unsigned KeyLatency = stages_pkg::WqeParserKeys;
  localparam int unsigned WorkDepth = stages_pkg::WqeParserDepth;
  localparam int unsigned MaxBeats = stages_pkg::WqeParserMaxBeats;
  localparam int unsigned MaxSge = stages_pkg::WqeParserMaxSge;
  localparam int unsigned CtxSlots = stages_pkg::WqeParserCtxSlots;
  localparam int unsigned CtxReadDepth = stages_pkg::WqeParserCtxReadDepth;
  localparam int unsigned KeyReadDepth = stages_pkg::WqeParserKeyReadDepth;
  localparam int unsigned KeySlots = stages_pkg::WqeParserKeySlots;

  // At most CtxSlots WQEs wait for their context and WorkDepth for their result, each of which
  // holds a beat of the output.
  localparam int unsigned Slots = 64;
  localparam int unsigned SlotWidth = 6;
  localparam int unsigned BeatWidth = $clog2(MaxBeats);
  localparam int unsigned UnitWidth = 6;
  localparam logic [2:0] AtomicDataUnit = 3'd3;
  localparam logic [2:0] DatagramDataUnit = 3'(1 + wqe_pkg::DatagramSegBytes / 16);
  localparam int unsigned WorkCreditWidth = $clog2(WorkDepth + 1);
  localparam int unsigned KeyCreditWidth = $clog2(KeyReadDepth + 1);
  localparam int unsigned CtxCreditWidth = $clog2(CtxReadDepth + 1);
  localparam int unsigned KeyCountWidth = $clog2(KeySlots + 1);

`ifndef YOSYS
  if (CtxSlots + WorkDepth > Slots) begin : gen_slots_check
    $fatal(0, "%m: CtxSlots + WorkDepth must not exceed Slots");
  end
`endif

  // The data segments, as measured from some unit on.
  typedef struct packed {
    logic        fits;  // sizes that the operation allows
    logic        is_inline;
    logic [4:0]  sge_count;
    logic [35:0] length;  // of all data segments, before any limit
  } data_t;

  // What is known of a WQE from its own bytes.
  typedef struct packed {
    logic [31:0] trace_id;
    logic [15:0] function_id;
    logic [23:0] qpn;
    logic [15:0] wqe_index;
    logic [4:0]  wqebbs;
    logic [7:0]  opcode;
    logic [7:0]  fm_ce_se;
    logic [31:0] imm;
    logic [63:0] remote_address;
    logic [31:0] rkey;
    logic [63:0] swap_add;
    logic [63:0] compare;
    logic [7:0]  epoch;
    logic        unread;       // its read failed: nothing of it is known
    logic        misplaced;    // the control segment is not that of the expected WQE
    logic        on_rc;        // services that know its operation
    logic        on_uc;
    logic        on_ud;
    logic        has_data;     // data segments may follow
    logic        writes;       // a response is written to them
    logic        invalidates;  // it invalidates the key in imm
    logic [2:0]  data_unit;    // where they begin on a connected QP
    logic [7:0]  sum;          // XOR of its bytes
    data_t       connected;
    data_t       datagram;     // if a datagram segment comes before the data
  } header_t;

  // What its QP's context adds.
  typedef struct packed {
    logic [7:0]  syndrome;
    logic        drop;
    logic [2:0]  service;
    logic [2:0]  mtu_code;
    logic [23:0] send_cqn;
    logic        is_datagram;  // a datagram segment comes before the data, and is in the body
    logic        is_inline;
    logic [4:0]  sge_count;
    logic [31:0] length;
    logic [2:0]  data_unit;    // where the data segments begin
  } result_t;

  // Whose key is being read.
  typedef struct packed {
    logic [23:0] qpn;
    logic [15:0] function_id;
    logic [23:0] pd;
    logic        writes;
    logic        invalidates;
  } owner_t;

  // A data segment whose key is being read.
  typedef struct packed {
    logic [63:0]          address;
    logic [30:0]          byte_count;
    logic [7:0]           variant;
    owner_t               owner;
    logic                 last;
    logic [SlotWidth-1:0] slot;
  } segment_t;

  // ------------------------------------------------------------------------------------------
  // receive

  logic [SlotWidth-1:0] rx_slot_q;
  logic [BeatWidth-1:0] rx_beat_q;
  header_t rx_header_q, rx_header_d, rx_stored;
  result_t verdict;
  logic [5:0] ctx_waiting_q;  // WQEs taken whose context line is not
  logic [5:0] complete_q;     // of these, those with all beats in
  logic wqe_take, rx_done;

  logic [511:0] bytes_mem[Slots * MaxBeats];
  logic [$bits(rx_stored)-1:0] header_mem[Slots];
  logic [$bits(verdict)-1:0] result_mem[Slots];

  logic [CtxCreditWidth-1:0] ctx_credits;
  logic [WorkCreditWidth-1:0] work_credits;
  logic [KeyCreditWidth-1:0] key_credits;
  logic ctx_line_take;

  assign wqe_ready_o = rx_beat_q != '0 ||
                       (ctx_credits != '0 && ctx_waiting_q < 6'(CtxSlots));
  assign wqe_take = wqe_valid_i && wqe_ready_o;
  assign rx_done = wqe_take && wqe_i.last;

  wqe_pkg::ctrl_seg_t ctrl;
  wqe_pkg::raddr_seg_t remote;
  wqe_pkg::atomic_seg_t atomic;
  assign ctrl = wqe_i.data[511:384];
  assign remote = wqe_i.data[383:256];
  assign atomic = wqe_i.data[255:128];

  logic on_rc, on_uc, on_ud, has_data, has_remote, is_atomic, writes, invalidates;
  logic [2:0] data_unit;
  wqe_parser_operation u_operation (
      .opcode_i     (ctrl.opcode),
      .on_rc_o      (on_rc),
      .on_uc_o      (on_uc),
      .on_ud_o      (on_ud),
      .has_data_o   (has_data),
      .has_remote_o (has_remote),
      .is_atomic_o  (is_atomic),
      .writes_o     (writes),
      .invalidates_o(invalidates),
      .data_unit_o  (data_unit)
  );

  data_t connected, datagram;
  wqe_parser_measure u_connected (
      .clk_i,
      .take_i     (wqe_take),
      .first_i    (wqe_i.first),
      .beat_i     (rx_beat_q),
      .ds_i       (wqe_i.ds),
      .start_i    (wqe_i.first ? data_unit : rx_header_q.data_unit),
      .data_i     (wqe_i.data),
      .fits_o     (connected.fits),
      .is_inline_o(connected.is_inline),
      .sge_count_o(connected.sge_count),
      .length_o   (connected.length)
  );
  wqe_parser_measure u_datagram (
      .clk_i,
      .take_i     (wqe_take),
      .first_i    (wqe_i.first),
      .beat_i     (rx_beat_q),
      .ds_i       (wqe_i.ds),
      .start_i    (DatagramDataUnit),
      .data_i     (wqe_i.data),
      .fits_o     (datagram.fits),
      .is_inline_o(datagram.is_inline),
      .sge_count_o(datagram.sge_count),
      .length_o   (datagram.length)
  );

  logic [7:0] beat_sum;
  always_comb begin
    beat_sum = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      beat_sum = beat_sum ^ wqe_i.data[8 * i +: 8];
    end
  end

  always_comb begin
    rx_header_d = rx_header_q;
    if (wqe_i.first) begin
      rx_header_d             = '0;
      rx_header_d.trace_id    = wqe_i.trace_id;
      rx_header_d.function_id = wqe_i.function_id;
      rx_header_d.qpn         = wqe_i.qpn;
      rx_header_d.wqe_index   = wqe_i.wqe_index;
      rx_header_d.wqebbs      = 5'((7'(wqe_i.ds) + 7'd3) >> 2);
      rx_header_d.opcode      = ctrl.opcode;
      rx_header_d.fm_ce_se    = wqe_i.data[511 - 88 -: 8];
      rx_header_d.imm         = ctrl.imm;
      if (has_remote && wqe_i.ds > 6'd1) begin
        rx_header_d.remote_address = remote.raddr;
        rx_header_d.rkey           = remote.rkey;
      end
      if (is_atomic && wqe_i.ds > 6'd2) begin
        rx_header_d.swap_add = atomic.swap_add;
        rx_header_d.compare  = atomic.compare;
      end
      rx_header_d.epoch       = wqe_i.epoch;
      rx_header_d.unread      = wqe_i.status != streams_pkg::ReadResultOk;
      rx_header_d.misplaced   = ctrl.wqe_index != wqe_i.wqe_index || ctrl.qpn != wqe_i.qpn ||
                                ctrl.ds != wqe_i.ds;
      rx_header_d.on_rc       = on_rc;
      rx_header_d.on_uc       = on_uc;
      rx_header_d.on_ud       = on_ud;
      rx_header_d.has_data    = has_data;
      rx_header_d.writes      = writes;
      rx_header_d.invalidates = invalidates;
      rx_header_d.data_unit   = data_unit;
    end
    rx_header_d.sum       = beat_sum ^ (wqe_i.first ? 8'h00 : rx_header_q.sum);
    rx_header_d.connected = connected;
    rx_header_d.datagram  = datagram;
  end

  // rx_stored is what is kept: the data must suit the operation. An atomic is one beat.
  always_comb begin
    rx_stored = rx_header_d;
    if ((!rx_header_d.has_data && (connected.is_inline || connected.sge_count != '0)) ||
        (rx_header_d.writes && connected.is_inline) ||
        (wqe_i.first && is_atomic &&
         (connected.sge_count != 5'd1 || connected.length != 36'd8 ||
          remote.raddr[2:0] != '0)) ||
        (!wqe_i.first && rx_header_d.data_unit == AtomicDataUnit)) begin
      rx_stored.connected.fits = 1'b0;
    end
    if (rx_header_d.wqebbs == '0) begin
      rx_stored.wqebbs = 5'd1;
    end
    if (rx_header_d.unread) begin
      rx_stored.opcode         = '0;
      rx_stored.fm_ce_se       = '0;
      rx_stored.imm            = '0;
      rx_stored.remote_address = '0;
      rx_stored.rkey           = '0;
      rx_stored.swap_add       = '0;
      rx_stored.compare        = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (wqe_take) begin
      bytes_mem[{rx_slot_q, rx_beat_q}] <= wqe_i.data;
      rx_header_q <= rx_header_d;
    end
    if (rx_done) begin
      header_mem[rx_slot_q] <= rx_stored;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rx_slot_q     <= '0;
      rx_beat_q     <= '0;
      ctx_waiting_q <= '0;
      complete_q    <= '0;
    end else begin
      if (wqe_take) begin
        rx_beat_q <= wqe_i.last ? '0 : rx_beat_q + 1'b1;
      end
      if (rx_done) begin
        rx_slot_q <= rx_slot_q + 1'b1;
      end
      ctx_waiting_q <= ctx_waiting_q + 6'(wqe_take && wqe_i.first) - 6'(ctx_line_take);
      complete_q    <= complete_q + 6'(rx_done) - 6'(ctx_line_take);
    end
  end

  streams_pkg::ctx_req_t ctx_request;
  logic ctx_push;
  assign ctx_push = wqe_take && wqe_i.first;
  always_comb begin
    ctx_request.trace_id    = wqe_i.trace_id;
    ctx_request.kind        = streams_pkg::LineKindQpcCommon;
    ctx_request.index       = wqe_i.qpn;
    ctx_request.function_id = wqe_i.function_id;
  end

  // ---------------------------------------------------------------------------------------------
  // walk

  logic [SlotWidth-1:0] walk_slot_q;  // the oldest WQE without context
  logic [SlotWidth-1:0] key_slot_q;   // the one whose keys are being asked for
  logic [4:0] walk_left_q;            // keys still to ask for
  logic [UnitWidth-1:0] walk_unit_q;  // the next data segment
  owner_t walk_owner_q;
  logic [31:0] walk_trace_q;
  logic [KeyCountWidth-1:0] keys_open_q;  // keys asked for and not answered
  logic key_push, key_take;

  assign ctx_line_ready_o = walk_left_q == '0 && complete_q != '0 &&
                            work_credits >= WorkCreditWidth'(MaxBeats) &&
                            key_credits >= KeyCreditWidth'(MaxSge) &&
                            keys_open_q <= KeyCountWidth'(KeySlots - MaxSge);
  assign ctx_line_take = ctx_line_valid_i && ctx_line_ready_o;

  header_t walk_header;
  contexts_pkg::qpc_common_t qpc;
  assign walk_header = header_mem[walk_slot_q];
  assign qpc = ctx_line_i.data;

  // The service says where the data are and what the operation is worth; a WQE that cannot be
  // understood has no body.
  logic is_ud, walk_datagram, served, formed, signed_wrong;
  data_t walk_data;
  logic [35:0] longest;
  assign is_ud = qpc.service == contexts_pkg::QpServiceUd;
  assign walk_datagram = is_ud && walk_header.on_ud && walk_header.has_data;
  assign walk_data = walk_datagram ? walk_header.datagram : walk_header.connected;
  assign served = (qpc.service == contexts_pkg::QpServiceRc && walk_header.on_rc) ||
                  (qpc.service == contexts_pkg::QpServiceUc && walk_header.on_uc) ||
                  (is_ud && walk_header.on_ud);
  assign formed = !walk_header.unread && served && walk_data.fits;
  assign signed_wrong = qpc.sig_enable && walk_header.sum != 8'hff;
  // A datagram is one packet.
  assign longest = is_ud ? 36'd128 << qpc.mtu : 36'(wire_pkg::MaxMessageBytes);

  logic refused;
  always_comb begin
    verdict.service     = qpc.service;
    verdict.mtu_code    = qpc.mtu;
    verdict.send_cqn    = qpc.cq_num_send;
    verdict.is_datagram = formed && walk_datagram;
    verdict.is_inline   = formed && walk_data.is_inline;
    verdict.sge_count   = formed ? walk_data.sge_count : '0;
    verdict.length      = formed ? walk_data.length[31:0] : '0;
    verdict.data_unit   = walk_datagram ? DatagramDataUnit : walk_header.data_unit;
    verdict.syndrome    = wqe_pkg::CqeSyndromeNone;
    verdict.drop        = 1'b0;
    if (walk_header.unread) begin
      verdict.syndrome = wqe_pkg::CqeSyndromeLocalQpOperation;
    end else if (!ctx_line_i.valid || !qpc.valid || qpc.state == contexts_pkg::QpStateReset ||
                 qpc.state == contexts_pkg::QpStateInit ||
                 qpc.state == contexts_pkg::QpStateRtr) begin
      verdict.drop = 1'b1;
    end else if (qpc.state == contexts_pkg::QpStateSqer ||
                 qpc.state == contexts_pkg::QpStateErr) begin
      verdict.syndrome = wqe_pkg::CqeSyndromeWrFlushed;
    end else if (walk_header.misplaced || !formed || signed_wrong) begin
      verdict.syndrome = wqe_pkg::CqeSyndromeLocalQpOperation;
    end else if (walk_data.length > longest) begin
      verdict.syndrome = wqe_pkg::CqeSyndromeLocalLength;
    end
    refused = verdict.drop || verdict.syndrome != wqe_pkg::CqeSyndromeNone;
  end

  // Beats of a body of so many bytes, at least one.
  function automatic logic [4:0] beats_of(input logic [9:0] body_bytes);
    beats_of = body_bytes == '0 ? 5'd1 : 5'((11'(body_bytes) + 11'd63) >> 6);
  endfunction

  // Bytes of the body: of a datagram, its segment and the header of inline data, too.
  function automatic logic [9:0] body_of(input logic is_datagram, input logic is_inline,
                                         input logic [9:0] length, input logic [4:0] sge_count);
    body_of = (is_inline ? length : {1'b0, sge_count, 4'b0}) +
              (is_datagram ? 10'(wqe_pkg::DatagramSegBytes) : 10'd0) +
              (is_datagram && is_inline ? 10'(wqe_pkg::InlineSegBytes) : 10'd0);
  endfunction

  logic [9:0] walk_body;
  logic [4:0] key_count;
  assign walk_body = body_of(verdict.is_datagram, verdict.is_inline, verdict.length[9:0],
                             verdict.sge_count);
  assign key_count = !ctx_line_take || refused ? '0
                                               : walk_header.invalidates ? 5'd1
                                                                         : verdict.sge_count;
  assign key_push = key_count != '0 || walk_left_q != '0;

  // The segment whose key is asked for now.
  logic [SlotWidth-1:0] key_slot;
  logic [UnitWidth-1:0] key_unit;
  logic [511:0] key_beat;
  wqe_pkg::data_seg_t key_segment;
  owner_t walk_owner, key_owner;
  segment_t segment_in, segment_out;
  streams_pkg::ctx_req_t key_request;
  assign key_slot = walk_left_q != '0 ? key_slot_q : walk_slot_q;
  assign key_unit = walk_left_q != '0 ? walk_unit_q : {3'b0, verdict.data_unit};
  assign key_beat = bytes_mem[{key_slot, key_unit[UnitWidth-1:2]}];
  always_comb begin
    walk_owner.qpn         = walk_header.qpn;
    walk_owner.function_id = qpc.function_id;
    walk_owner.pd          = qpc.pd;
    walk_owner.writes      = walk_header.writes;
    walk_owner.invalidates = walk_header.invalidates;
    key_owner              = walk_left_q != '0 ? walk_owner_q : walk_owner;
    unique case (key_unit[1:0])
      2'd0: key_segment = key_beat[511:384];
      2'd1: key_segment = key_beat[383:256];
      2'd2: key_segment = key_beat[255:128];
      default: key_segment = key_beat[127:0];
    endcase
    if (key_owner.invalidates) begin
      key_segment.lkey = walk_header.imm;
    end
    segment_in.address      = key_segment.address;
    segment_in.byte_count   = key_segment.byte_count;
    segment_in.variant      = key_segment.lkey[7:0];
    segment_in.owner        = key_owner;
    segment_in.last         = walk_left_q != '0 ? walk_left_q == 5'd1 : key_count == 5'd1;
    segment_in.slot         = key_slot;
    key_request.trace_id    = walk_left_q != '0 ? walk_trace_q : walk_header.trace_id;
    key_request.kind        = streams_pkg::LineKindMkey;
    key_request.index       = key_segment.lkey[31:8];
    key_request.function_id = key_owner.function_id;
  end

  always_ff @(posedge clk_i) begin
    if (ctx_line_take) begin
      result_mem[walk_slot_q] <= verdict;
      key_slot_q              <= walk_slot_q;
      walk_owner_q            <= walk_owner;
      walk_trace_q            <= walk_header.trace_id;
    end
    if (key_push) begin
      walk_unit_q <= key_unit + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_slot_q <= '0;
      walk_left_q <= '0;
      keys_open_q <= '0;
    end else begin
      if (ctx_line_take) begin
        walk_slot_q <= walk_slot_q + 1'b1;
      end
      if (walk_left_q != '0) begin
        walk_left_q <= walk_left_q - 1'b1;
      end else if (key_count != '0) begin
        walk_left_q <= key_count - 1'b1;
      end
      keys_open_q <= keys_open_q + KeyCountWidth'(key_push) - KeyCountWidth'(key_take);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // keys

  logic segment_valid;
  stream_fifo #(
      .Width($bits(segment_in)),
      .Depth(KeySlots)
  ) u_segments (
      .clk_i,
      .rst_ni,
      .push_i (key_push),
      .data_i (segment_in),
      .valid_o(segment_valid),
      .ready_i(mkey_line_valid_i),
      .data_o (segment_out)
  );

  assign mkey_line_ready_o = segment_valid;
  assign key_take = mkey_line_valid_i && segment_valid;

  contexts_pkg::mkey_line_t mkey;
  logic [64:0] segment_end, key_end;
  logic key_owned, key_usable, key_ok, keys_bad_q, keys_bad, keys_paged_q, keys_paged;
  assign mkey = mkey_line_i.data;
  assign segment_end = {1'b0, segment_out.address} + 65'(segment_out.byte_count);
  assign key_end = {1'b0, mkey.start_addr} + {1'b0, mkey.len};
  assign key_owned = mkey_line_i.valid && mkey.variant == segment_out.variant &&
                     mkey.function_id == segment_out.owner.function_id &&
                     mkey.pd == segment_out.owner.pd &&
                     (mkey.qpn == contexts_pkg::MkeyAnyQp || mkey.qpn == segment_out.owner.qpn);
  assign key_usable = mkey.valid && (segment_out.owner.writes ? mkey.lw : mkey.lr) &&
                      (mkey.length64 || (segment_out.address >= mkey.start_addr &&
                                         segment_end <= key_end && !segment_end[64]));
  // A key may be invalidated that is not valid any more.
  assign key_ok = key_owned && (segment_out.owner.invalidates || key_usable);
  assign keys_bad = keys_bad_q | !key_ok;
  assign keys_paged = keys_paged_q | (!mkey.contiguous && !segment_out.owner.invalidates);

  logic [Slots-1:0] protection_q;  // of each slot: a key did not fit
  logic [Slots-1:0] paged_q;       // of each slot: a key has a page list
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      keys_bad_q   <= 1'b0;
      keys_paged_q <= 1'b0;
    end else if (key_take) begin
      keys_bad_q   <= keys_bad && !segment_out.last;
      keys_paged_q <= keys_paged && !segment_out.last;
    end
    if (ctx_line_take) begin
      protection_q[walk_slot_q] <= 1'b0;
      paged_q[walk_slot_q]      <= 1'b0;
    end
    if (key_take && segment_out.last) begin
      protection_q[segment_out.slot] <= keys_bad;
      paged_q[segment_out.slot]      <= keys_paged;
    end
  end

  // --------------------------------------------------------------------------------------------
  // leave

  // A result is written in the cycle before it is visible and seen to be done in the one before
  // that.
  logic keys_done, direct_done, keys_busy, direct_busy;
  logic [SlotWidth-1:0] keys_done_slot, direct_done_slot;
  credit_pipe #(
      .Width (SlotWidth),
      .Stages(KeyLatency - 2)
  ) u_keys_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(key_take && segment_out.last),
      .data_i (segment_out.slot),
      .valid_o(keys_done),
      .data_o (keys_done_slot),
      .busy_o (keys_busy)
  );
  credit_pipe #(
      .Width (SlotWidth),
      .Stages(Latency - 2)
  ) u_direct_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(ctx_line_take && key_count == '0),
      .data_i (walk_slot_q),
      .valid_o(direct_done),
      .data_o (direct_done_slot),
      .busy_o (direct_busy)
  );

  logic [Slots-1:0] done_q;
  logic [SlotWidth-1:0] out_slot_q;
  logic [BeatWidth-1:0] out_beat_q;
  logic work_push, out_last;
  header_t out_header;
  result_t out_result;
  logic [9:0] out_body, out_left;
  logic [4:0] out_beats;
  assign out_header = header_mem[out_slot_q];
  assign out_result = result_mem[out_slot_q];
  assign out_body = body_of(out_result.is_datagram, out_result.is_inline, out_result.length[9:0],
                            out_result.sge_count);
  assign out_beats = beats_of(out_body);
  assign out_left = out_body - {out_beat_q, 6'b0};
  assign work_push = done_q[out_slot_q];
  assign out_last = 5'(out_beat_q) + 5'd1 == out_beats;

  // The body begins behind the fixed segments, an inline one 4 bytes further on; that of a datagram
  // behind the control segment.
  logic [1023:0] out_window;
  logic [511:0] out_aligned, out_data;
  assign out_window = {bytes_mem[{out_slot_q, out_beat_q}],
                       bytes_mem[{out_slot_q, out_beat_q + 1'b1}]};
  always_comb begin
    unique case ({out_result.data_unit, out_result.is_inline})
      {3'd1, 1'b1}: out_aligned = out_window[1023 - 8 * 20 -: 512];
      {3'd2, 1'b0}: out_aligned = out_window[1023 - 8 * 32 -: 512];
      {3'd2, 1'b1}: out_aligned = out_window[1023 - 8 * 36 -: 512];
      {AtomicDataUnit, 1'b0}: out_aligned = out_window[1023 - 8 * 48 -: 512];
      default: out_aligned = out_window[1023 - 8 * 16 -: 512];
    endcase
    out_data = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (out_body > {out_beat_q, 6'b0} && 10'(i) < out_left) begin
        out_data[511 - 8 * i -: 8] = out_aligned[511 - 8 * i -: 8];
      end
    end
  end

  streams_pkg::work_beat_t work_in;
  always_comb begin
    work_in.trace_id       = out_header.trace_id;
    work_in.function_id    = out_header.function_id;
    work_in.qpn            = out_header.qpn;
    work_in.wqe_index      = out_header.wqe_index;
    work_in.wqebbs         = out_header.wqebbs;
    work_in.opcode         = out_header.opcode;
    work_in.fm_ce_se       = out_header.fm_ce_se;
    work_in.syndrome       = protection_q[out_slot_q] ? wqe_pkg::CqeSyndromeLocalProtection
                                                      : out_result.syndrome;
    work_in.epoch          = out_header.epoch;
    work_in.drop           = out_result.drop;
    work_in.is_inline      = out_result.is_inline;
    work_in.service        = out_result.service;
    work_in.mtu_code       = out_result.mtu_code;
    work_in.sge_count      = out_result.sge_count;
    work_in.imm            = out_header.imm;
    work_in.length         = out_result.length;
    work_in.remote_address = out_header.remote_address;
    work_in.rkey           = out_header.rkey;
    work_in.swap_add       = out_header.swap_add;
    work_in.compare        = out_header.compare;
    work_in.paged          = paged_q[out_slot_q];
    work_in.send_cqn       = out_result.send_cqn;
    work_in.first          = out_beat_q == '0;
    work_in.last           = out_last;
    work_in.data           = out_data;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q     <= '0;
      out_slot_q <= '0;
      out_beat_q <= '0;
    end else begin
      if (keys_done) begin
        done_q[keys_done_slot] <= 1'b1;
      end
      if (direct_done) begin
        done_q[direct_done_slot] <= 1'b1;
      end
      if (work_push) begin
        out_beat_q <= out_last ? '0 : out_beat_q + 1'b1;
        if (out_last) begin
          done_q[out_slot_q] <= 1'b0;
          out_slot_q         <= out_slot_q + 1'b1;
        end
      end
    end
  end

  // ------------------------------------------------------------------------------- streams and
  // credits

  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(CtxReadDepth)
  ) u_ctx_read (
      .clk_i,
      .rst_ni,
      .push_i (ctx_push),
      .data_i (ctx_request),
      .valid_o(ctx_read_valid_o),
      .ready_i(ctx_read_ready_i),
      .data_o (ctx_read_o)
  );
  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(KeyReadDepth)
  ) u_mkey_read (
      .clk_i,
      .rst_ni,
      .push_i (key_push),
      .data_i (key_request),
      .valid_o(mkey_read_valid_o),
      .ready_i(mkey_read_ready_i),
      .data_o (mkey_read_o)
  );
  stream_fifo #(
      .Width(streams_pkg::WorkBeatWidth),
      .Depth(WorkDepth)
  ) u_work (
      .clk_i,
      .rst_ni,
      .push_i (work_push),
      .data_i (work_in),
      .valid_o(work_valid_o),
      .ready_i(work_ready_i),
      .data_o (work_o)
  );

  credit_counter #(
      .Depth(CtxReadDepth)
  ) u_ctx_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CtxCreditWidth'(ctx_push)),
      .taken_i  (ctx_read_valid_o && ctx_read_ready_i),
      .credits_o(ctx_credits)
  );
  credit_counter #(
      .Depth(KeyReadDepth)
  ) u_key_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (KeyCreditWidth'(key_push)),
      .taken_i  (mkey_read_valid_o && mkey_read_ready_i),
      .credits_o(key_credits)
  );
  credit_counter #(
      .Depth(WorkDepth)
  ) u_work_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (ctx_line_take ? WorkCreditWidth'(beats_of(walk_body)) : '0),
      .taken_i  (work_valid_o && work_ready_i),
      .credits_o(work_credits)
  );

  assign ctx_read_push_o = ctx_push;
  assign mkey_read_push_o = key_push;
  assign work_push_o = work_push;
  assign busy_o = walk_left_q != '0 || keys_busy || direct_busy || work_push;

  `CARILLON_ASSERT_STREAM(ctx_read)
  `CARILLON_ASSERT_STREAM(mkey_read)
  `CARILLON_ASSERT_STREAM(work)

endmodule
