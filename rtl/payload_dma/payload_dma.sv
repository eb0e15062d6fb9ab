// payload_dma: fetches the payload of a packet into the frame store, store and forward. Cycle by
// cycle the same as model/payload_dma.cpp; docs/stages/payload_dma.md has the timing.
//
// The frame store is a ring of as many lines of 64 bytes as the output may hold beats. It lies
// beside this block: dma_engine writes it, this block reads it. A packet gets its lines when it is
// taken, and passes three steps in order:
//   slots   it has a slot until all its reads, and those of all packets before it, are answered;
//   enter   then one line a cycle is told to be in the output;
//   leave   a line leaves when it is taken.
// Its header lies in a ring of the same size, at the packet's first line.
`include "assertions.svh"

module payload_dma (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                       packets_valid_i,  // a packet - tx_sched
    output logic                       packets_ready_o,  // it is taken - tx_sched
    input  streams_pkg::packet_grant_t packets_i,        // its header and gather list - tx_sched

    output logic                       reads_valid_o,  // a read request - dma_engine
    input  logic                       reads_ready_i,  // it is taken - dma_engine
    output streams_pkg::payload_read_t reads_o,        // the request - dma_engine
    output logic                       reads_push_o,   // it enters the stream - monitor

    input  logic                         done_valid_i,  // a request is answered - dma_engine
    output logic                         done_ready_o,  // it is taken - dma_engine
    input  streams_pkg::payload_answer_t done_i,        // which, and how - dma_engine

    output logic                       filled_valid_o,  // a beat of a packet - packet_builder
    input  logic                       filled_ready_i,  // it is taken - packet_builder
    output streams_pkg::payload_beat_t filled_o,        // the beat - packet_builder
    output logic                       filled_push_o,   // it enters the stream - monitor

    output logic                       left_valid_o,  // a packet has left - tx_sched
    input  logic                       left_ready_i,  // it is taken - tx_sched
    output streams_pkg::payload_note_t left_o,        // which, and how - tx_sched
    output logic                       left_push_o,   // it enters the stream - monitor

    output logic                  key_reads_valid_o,  // read of a key or of translations - qpc_ram
    input  logic                  key_reads_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t key_reads_o,        // which line - qpc_ram
    output logic                  key_reads_push_o,   // it enters the stream - monitor

    input  logic                  key_lines_valid_i,  // a key or translations - qpc_ram
    output logic                  key_lines_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t key_lines_i,        // the line - qpc_ram

    output logic [9:0]   store_line_o,  // which line of the frame store - frame store
    input  logic [511:0] store_i,       // that line, in the same cycle - frame store

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Slots = stages_pkg::PayloadDmaOutstanding;
  localparam int unsigned Lines = stages_pkg::PayloadDmaDepth;
  localparam int unsigned MaxBeats = stages_pkg::PayloadDmaMaxBeats;
  localparam int unsigned MaxSge = stages_pkg::WqeParserMaxSge;
  localparam int unsigned Lookups = stages_pkg::PayloadDmaLookups;
  localparam int unsigned ReadDepth = stages_pkg::PayloadDmaReadDepth;
  localparam int unsigned KeyReadDepth = stages_pkg::PayloadDmaKeyReadDepth;
  localparam int unsigned LeftDepth = stages_pkg::PayloadDmaLeftDepth;
  localparam int unsigned ReadCreditWidth = $clog2(ReadDepth + 1);
  localparam int unsigned KeyCreditWidth = $clog2(KeyReadDepth + 1);
  localparam int unsigned LeftCreditWidth = $clog2(LeftDepth + 1);
  localparam int unsigned LookupWidth = $clog2(Lookups + 1);
  // All of a beat but poisoned, first, last and data.
  localparam int unsigned BeatOnly = 515;
  localparam int unsigned HeaderWidth = streams_pkg::PayloadBeatWidth - BeatOnly;

`ifndef YOSYS
  if (Slots != 64 || Lines != 1024 || MaxBeats * 64 != 4096) begin : gen_size_check
    $fatal(0, "%m: built for 64 slots, 1024 lines and packets of 4096 bytes");
  end
`endif

  // What a slot knows of its packet while reads leave.
  typedef struct packed {
    logic [31:0] trace_id;
    logic [15:0] function_id;
    logic [63:0] writes_before;
    logic [9:0]  line;     // of the store, the first
    logic [29:0] mask;     // segments that hold it
    logic [30:0] skip;     // bytes of the first of them that come before
    logic [12:0] payload;
  } slot_t;

  // Beats of a payload.
  function automatic logic [6:0] beats_of(input logic [12:0] bytes);
    beats_of = bytes == '0 ? 7'd1 : 7'((14'(bytes) + 14'd63) >> 6);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // slots

  logic [5:0] first_q;       // slot of the oldest packet
  logic [6:0] count_q;       // packets with a slot
  logic [10:0] alloc_q;      // next free line
  logic [10:0] release_q, release_d;  // the lines before it belong to packets without a slot
  logic [10:0] enter_q;      // the lines before it are in the output
  logic [LookupWidth-1:0] lookups_q;  // ranges not translated, or whose reads have not left

  logic [5:0] missing_q[Slots];  // translations and reads not answered
  logic [2:0] failed_q[Slots];   // how the first of them ended that failed
  logic [10:0] line_q[Slots];    // first line

  slot_t stored;
  logic [$bits(stored)-1:0] slot_mem[Slots];
  logic [3839:0] segments_mem[Slots];
  logic [HeaderWidth-1:0] header_mem[Lines];
  logic [2:0] status_mem[Lines];

  logic take, take_paged;
  logic [5:0] take_slot;
  logic [6:0] take_beats;
  assign take = packets_valid_i && packets_ready_o;
  assign take_paged = take && packets_i.paged;
  assign take_slot = first_q + count_q[5:0];
  assign take_beats = beats_of(packets_i.payload);

  logic is_response;
  logic [3839:0] take_segments;
  logic [29:0] cut_mask, take_mask;
  logic [30:0] cut_skip, take_skip;
  logic [4:0] cut_count, take_count;
  payload_dma_cut u_cut (
      .segments_i (packets_i.segments),
      .sge_count_i(packets_i.sge_count),
      .begin_i    (packets_i.message_offset),
      .length_i   (packets_i.payload),
      .mask_o     (cut_mask),
      .skip_o     (cut_skip),
      .count_o    (cut_count)
  );

  // The data of a READ response are one piece.
  wqe_pkg::data_seg_t response_segment;
  assign is_response = packets_i.kind == streams_pkg::PacketKindReadResponse;
  always_comb begin
    response_segment            = '0;
    response_segment.byte_count = 31'(packets_i.payload);
    response_segment.lkey       = packets_i.rkey;
    response_segment.address    = packets_i.remote_address + 64'(packets_i.message_offset);
  end
  assign take_segments = is_response ? {response_segment, 3712'b0} : packets_i.segments;
  assign take_mask = is_response ? 30'd1 : cut_mask;
  assign take_skip = is_response ? '0 : cut_skip;
  assign take_count = is_response ? 5'd1 : cut_count;

  always_comb begin
    stored.trace_id      = packets_i.trace_id;
    stored.function_id   = packets_i.function_id;
    stored.writes_before = packets_i.writes_before;
    stored.line          = alloc_q[9:0];
    stored.mask          = take_mask;
    stored.skip          = take_skip;
    stored.payload       = packets_i.payload;
  end

  streams_pkg::payload_beat_t take_header;
  always_comb begin
    take_header                = '0;
    take_header.trace_id       = packets_i.trace_id;
    take_header.kind           = packets_i.kind;
    take_header.order          = packets_i.order;
    take_header.function_id    = packets_i.function_id;
    take_header.qpn            = packets_i.qpn;
    take_header.life           = packets_i.life;
    take_header.wqe_opcode     = packets_i.wqe_opcode;
    take_header.service        = packets_i.service;
    take_header.solicited      = packets_i.solicited;
    take_header.ack_request    = packets_i.ack_request;
    take_header.psn            = packets_i.psn;
    take_header.payload        = packets_i.payload;
    take_header.first_packet   = packets_i.first_packet;
    take_header.last_packet    = packets_i.last_packet;
    take_header.remote_address = packets_i.remote_address;
    take_header.rkey           = packets_i.rkey;
    take_header.dma_length     = packets_i.dma_length;
    take_header.imm            = packets_i.imm;
    take_header.swap_add       = packets_i.swap_add;
    take_header.compare        = packets_i.compare;
    take_header.syndrome       = packets_i.syndrome;
    take_header.msn            = packets_i.msn;
    take_header.address_vector = packets_i.address_vector;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      slot_mem[take_slot]      <= stored;
      segments_mem[take_slot]  <= take_segments;
      header_mem[alloc_q[9:0]] <= take_header[streams_pkg::PayloadBeatWidth-1-:HeaderWidth];
      line_q[take_slot]        <= alloc_q;
    end
  end

  // Answers.
  logic done_take, done_failed, ended, ended_fault, ended_two, ended_failed;
  logic [5:0] ended_slot;
  assign done_ready_o = 1'b1;
  assign done_take = done_valid_i;
  assign done_failed = done_take && done_i.status != streams_pkg::ReadResultOk &&
                       failed_q[done_i.cookie] == streams_pkg::ReadResultOk;
  // In one cycle a read counts before a range without access.
  assign ended_failed = ended && ended_fault &&
                        failed_q[ended_slot] == streams_pkg::ReadResultOk &&
                        !(done_failed && done_i.cookie == ended_slot);

  logic [5:0] missing_d[Slots];
  logic [5:0] done_missing;
  assign done_missing = missing_q[done_i.cookie];
  logic [Slots-1:0] complete;
  always_comb begin
    for (int unsigned i = 0; i < Slots; i++) begin
      missing_d[i] = missing_q[i] - 6'(done_take && done_i.cookie == 6'(i));
      if (ended && ended_slot == 6'(i)) begin
        missing_d[i] = missing_d[i] - 6'(ended_fault) + 6'(!ended_fault && ended_two);
      end
      complete[i] = missing_d[i] == '0;
    end
  end

  // Packets that leave their slots now: the oldest ones, as far as they are complete.
  logic [6:0] leaving;
  logic [Slots-1:0] complete_in_order;
  assign complete_in_order = Slots'({complete, complete} >> first_q);
  always_comb begin
    leaving = '0;
    for (int unsigned i = 0; i < Slots; i++) begin
      if (leaving == 7'(i) && leaving < count_q && complete_in_order[i]) begin
        leaving = 7'(i + 1);
      end
    end
  end
  logic [5:0] first_d;
  assign first_d = first_q + leaving[5:0];
  assign release_d = leaving == count_q ? alloc_q : line_q[first_d];

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Slots; i++) begin
      if (take && take_slot == 6'(i)) begin
        missing_q[i] <= {1'b0, take_count};
        failed_q[i]  <= streams_pkg::ReadResultOk;
      end else begin
        missing_q[i] <= missing_d[i];
        if (done_failed && done_i.cookie == 6'(i)) begin
          failed_q[i] <= done_i.status;
        end else if (ended_failed && ended_slot == 6'(i)) begin
          failed_q[i] <= streams_pkg::ReadResultUnsupportedRequest;
        end
      end
    end
    if (take) begin
      status_mem[alloc_q[9:0]] <= streams_pkg::ReadResultOk;
    end
    if (done_failed) begin
      status_mem[line_q[done_i.cookie][9:0]] <= done_i.status;
    end
    if (ended_failed) begin
      status_mem[line_q[ended_slot][9:0]] <= streams_pkg::ReadResultUnsupportedRequest;
    end
  end

  logic lookup_done;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q   <= '0;
      count_q   <= '0;
      alloc_q   <= '0;
      release_q <= '0;
      lookups_q <= '0;
    end else begin
      first_q   <= first_d;
      count_q   <= count_q - leaving + 7'(take);
      alloc_q   <= alloc_q + (take ? 11'(take_beats) : 11'd0);
      release_q <= release_d;
      lookups_q <= lookups_q + (take_paged ? LookupWidth'(take_count) : '0) -
                   LookupWidth'(ended && ended_fault) - LookupWidth'(lookup_done);
    end
  end

  // Room.
  logic [10:0] leave_line;
  logic [ReadCreditWidth-1:0] read_credits;
  logic [KeyCreditWidth-1:0] key_credits;
  logic [LeftCreditWidth-1:0] left_credits;
  logic translated_spent, key_push;
  assign packets_ready_o = (count_q != 7'(Slots) || complete[first_q]) &&
                           alloc_q - leave_line <= 11'(Lines - MaxBeats) &&
                           read_credits >=
                               ReadCreditWidth'(MaxSge) + ReadCreditWidth'(translated_spent) &&
                           left_credits != '0 && lookups_q <= LookupWidth'(Lookups - MaxSge);

  credit_counter #(
      .Depth(ReadDepth)
  ) u_read_credits (
      .clk_i,
      .rst_ni,
      .spend_i  ((take && !packets_i.paged ? ReadCreditWidth'(take_count) : '0) +
                 ReadCreditWidth'(translated_spent)),
      .taken_i  (reads_valid_o && reads_ready_i),
      .credits_o(read_credits)
  );
  credit_counter #(
      .Depth(KeyReadDepth)
  ) u_key_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (KeyCreditWidth'(key_push)),
      .taken_i  (key_reads_valid_o && key_reads_ready_i),
      .credits_o(key_credits)
  );
  credit_counter #(
      .Depth(LeftDepth)
  ) u_left_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (LeftCreditWidth'(take)),
      .taken_i  (left_valid_o && left_ready_i),
      .credits_o(left_credits)
  );

  // ---------------------------------------------------------------------------------------------
  // lookups and reads

  logic [5:0] lookup_slot, issue_slot;
  slot_t lookup_stored, issue_stored;
  assign lookup_stored = slot_mem[lookup_slot];
  assign issue_stored = slot_mem[issue_slot];

  streams_pkg::ctx_req_t key_read;
  logic [11:0] ended_offset;
  logic [63:0] ended_first_address, ended_second_address;
  logic [12:0] ended_first_length, ended_second_length;
  logic lookup_busy;
  payload_dma_lookup u_lookup (
      .clk_i,
      .rst_ni,
      .packet_i            (take_paged),
      .slot_i              (take_slot),
      .segments_i          (take_segments),
      .mask_i              (take_mask),
      .skip_i              (take_skip),
      .payload_i           (packets_i.payload),
      .trace_id_i          (packets_i.trace_id),
      .function_id_i       (packets_i.function_id),
      .stored_slot_o       (lookup_slot),
      .stored_segments_i   (segments_mem[lookup_slot]),
      .stored_mask_i       (lookup_stored.mask),
      .stored_skip_i       (lookup_stored.skip),
      .stored_payload_i    (lookup_stored.payload),
      .stored_trace_id_i   (lookup_stored.trace_id),
      .stored_function_id_i(lookup_stored.function_id),
      .credit_i            (key_credits != '0),
      .push_o              (key_push),
      .read_o              (key_read),
      .line_valid_i        (key_lines_valid_i),
      .line_ready_o        (key_lines_ready_o),
      .line_i              (key_lines_i),
      .ended_o             (ended),
      .fault_o             (ended_fault),
      .ended_slot_o        (ended_slot),
      .ended_offset_o      (ended_offset),
      .two_o               (ended_two),
      .first_address_o     (ended_first_address),
      .first_length_o      (ended_first_length),
      .second_address_o    (ended_second_address),
      .second_length_o     (ended_second_length),
      .busy_o              (lookup_busy)
  );

  assign key_reads_push_o = key_push;
  stream_fifo #(
      .Width($bits(key_read)),
      .Depth(KeyReadDepth)
  ) u_key_reads (
      .clk_i,
      .rst_ni,
      .push_i (key_push),
      .data_i (key_read),
      .valid_o(key_reads_valid_o),
      .ready_i(key_reads_ready_i),
      .data_o (key_reads_o)
  );

  streams_pkg::payload_read_t read;
  logic issue_busy;
  payload_dma_issue u_issue (
      .clk_i,
      .rst_ni,
      .packet_i              (take && !packets_i.paged),
      .slot_i                (take_slot),
      .ended_i               (ended && !ended_fault),
      .ended_slot_i          (ended_slot),
      .ended_offset_i        (ended_offset),
      .two_i                 (ended_two),
      .first_address_i       (ended_first_address),
      .first_length_i        (ended_first_length),
      .second_address_i      (ended_second_address),
      .second_length_i       (ended_second_length),
      .credit_i              (read_credits != '0),
      .spent_o               (translated_spent),
      .lookup_done_o         (lookup_done),
      .stored_slot_o         (issue_slot),
      .stored_segments_i     (segments_mem[issue_slot]),
      .stored_mask_i         (issue_stored.mask),
      .stored_skip_i         (issue_stored.skip),
      .stored_payload_i      (issue_stored.payload),
      .stored_trace_id_i     (issue_stored.trace_id),
      .stored_function_id_i  (issue_stored.function_id),
      .stored_writes_before_i(issue_stored.writes_before),
      .stored_line_i         (issue_stored.line),
      .push_o                (reads_push_o),
      .read_o                (read),
      .busy_o                (issue_busy)
  );

  stream_fifo #(
      .Width($bits(read)),
      .Depth(ReadDepth)
  ) u_reads (
      .clk_i,
      .rst_ni,
      .push_i (reads_push_o),
      .data_i (read),
      .valid_o(reads_valid_o),
      .ready_i(reads_ready_i),
      .data_o (reads_o)
  );

  // ---------------------------------------------------------------------------------------------
  // enter: lines of packets without a slot enter the output, and with the first one the note

  logic [6:0] enter_left_q;  // lines of the packet that are still to enter, 0 before its first
  logic enter, enter_first;
  streams_pkg::payload_beat_t enter_header;
  logic [2:0] enter_status;
  logic [6:0] enter_beats;
  assign enter = enter_q != release_d;
  assign enter_first = enter && enter_left_q == '0;
  assign enter_header = {header_mem[enter_q[9:0]], {BeatOnly{1'b0}}};
  assign enter_beats = beats_of(enter_header.payload);
  // A failure of this very cycle is on its way to the memory.
  assign enter_status =
      done_failed && line_q[done_i.cookie][9:0] == enter_q[9:0] ? done_i.status :
      ended_failed && line_q[ended_slot][9:0] == enter_q[9:0] ?
          streams_pkg::ReadResultUnsupportedRequest : status_mem[enter_q[9:0]];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enter_q      <= '0;
      enter_left_q <= '0;
    end else if (enter) begin
      enter_q      <= enter_q + 11'd1;
      enter_left_q <= enter_first ? enter_beats - 7'd1 : enter_left_q - 7'd1;
    end
  end

  streams_pkg::payload_note_t note;
  always_comb begin
    note.trace_id = '0;
    note.qpn      = enter_header.qpn;
    note.response = enter_header.kind == streams_pkg::PacketKindReadResponse;
    note.psn      = enter_header.psn;
    note.status   = enter_status;
  end

  assign left_push_o = enter_first;
  stream_fifo #(
      .Width($bits(note)),
      .Depth(LeftDepth)
  ) u_left (
      .clk_i,
      .rst_ni,
      .push_i (left_push_o),
      .data_i (note),
      .valid_o(left_valid_o),
      .ready_i(left_ready_i),
      .data_o (left_o)
  );

  // ---------------------------------------------------------------------------------------------
  // leave

  logic [10:0] base_q;  // first line of the packet at the front
  logic [5:0] beat_q;   // its next beat
  streams_pkg::payload_beat_t leave_header;
  logic leave, leave_last;
  logic [12:0] bytes_left;
  logic [511:0] bytes_kept;
  assign leave_line = base_q + 11'(beat_q);
  assign leave_header = {header_mem[base_q[9:0]], {BeatOnly{1'b0}}};
  assign leave_last = 7'(beat_q) + 7'd1 == beats_of(leave_header.payload);
  assign leave = filled_valid_o && filled_ready_i;
  assign bytes_left = leave_header.payload - {1'b0, beat_q, 6'b0};

  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      bytes_kept[511-8*i-:8] = 13'(i) < bytes_left ? 8'hff : 8'h00;
    end
  end

  assign store_line_o = leave_line[9:0];
  assign filled_push_o = enter;
  assign filled_valid_o = leave_line != enter_q;
  always_comb begin
    filled_o          = leave_header;
    filled_o.poisoned = status_mem[base_q[9:0]] != streams_pkg::ReadResultOk;
    filled_o.first    = beat_q == '0;
    filled_o.last     = leave_last;
    filled_o.data     = filled_o.poisoned ? '0 : store_i & bytes_kept;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      base_q <= '0;
      beat_q <= '0;
    end else if (leave) begin
      beat_q <= leave_last ? '0 : beat_q + 6'd1;
      if (leave_last) begin
        base_q <= leave_line + 11'd1;
      end
    end
  end

  assign busy_o = lookup_busy || issue_busy || enter_q != release_q;

  `CARILLON_ASSERT(!take || take_count != '0)
  `CARILLON_ASSERT(!take || packets_i.payload <= 13'(MaxBeats * 64))
  `CARILLON_ASSERT(!done_take || done_missing != '0)
  `CARILLON_ASSERT_STREAM(reads)
  `CARILLON_ASSERT_STREAM(key_reads)
  `CARILLON_ASSERT_STREAM(left)

endmodule
