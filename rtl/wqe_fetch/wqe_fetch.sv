// wqe_fetch: from a doorbell to the WQE's bytes. Cycle by cycle the same as model/wqe_fetch.cpp;
// docs/stages/wqe_fetch.md has the timing.
//
// In a cycle, each seeing what the one before did:
//   control  a command, a queue that goes back or the answer to a lookup changes one QP;
//   cut      the oldest read, if it is answered, ends and is cut into WQEs;
//   doorbell a BlueFlame WQE is handed on, or the QP is looked up;
//   arbiter  the QP whose turn it is gets a read, under credits for its WQEBBs at the output.
`include "assertions.svh"

module wqe_fetch (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                        doorbells_valid_i,  // a doorbell or BlueFlame WQE - uar
    output logic                        doorbells_ready_o,  // it is taken - uar
    input  streams_pkg::doorbell_beat_t doorbells_i,        // what it is - uar

    output logic                  context_reads_valid_o,  // read of a QP's context - qpc_ram
    input  logic                  context_reads_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t context_reads_o,        // which line - qpc_ram
    output logic                  context_reads_push_o,   // it enters the stream - monitor

    input  logic                  context_lines_valid_i,  // a QP's context - qpc_ram
    output logic                  context_lines_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t context_lines_i,        // the line - qpc_ram

    output logic                   reads_valid_o,  // read of WQEBBs - dma_engine
    input  logic                   reads_ready_i,  // it is taken - dma_engine
    output streams_pkg::wqe_read_t reads_o,        // which - dma_engine
    output logic                   reads_push_o,   // it enters the stream - monitor

    input  logic                     done_valid_i,  // a read is answered - dma_engine
    output logic                     done_ready_o,  // it is taken - dma_engine
    input  streams_pkg::wqe_answer_t done_i,        // with these bytes - dma_engine

    input  logic                        commands_valid_i,  // a QP changes its state - pcie_endpoint
    output logic                        commands_ready_o,  // it is taken - pcie_endpoint
    input  streams_pkg::fetch_command_t commands_i,        // how - pcie_endpoint

    input  logic                       refetches_valid_i,  // a queue goes back - tx_sched
    output logic                       refetches_ready_o,  // it is taken - tx_sched
    input  streams_pkg::refetch_beat_t refetches_i,        // where to - tx_sched

    output logic                   wqes_valid_o,  // a beat of a WQE - wqe_parser
    input  logic                   wqes_ready_i,  // it is taken - wqe_parser
    output streams_pkg::wqe_beat_t wqes_o,        // the beat - wqe_parser
    output logic                   wqes_push_o,   // it enters the stream - monitor

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp;
  localparam int unsigned Depth = stages_pkg::WqeFetchDepth;
  localparam int unsigned Reads = stages_pkg::WqeFetchOutstanding;
  localparam int unsigned Wqebbs = stages_pkg::WqeFetchGrantWqebbs;
  localparam int unsigned CtxReadDepth = stages_pkg::WqeFetchCtxReadDepth;
  localparam int unsigned SlotWidth = $clog2(Reads);
  localparam int unsigned ReadCountWidth = $clog2(Reads + 1);
  localparam int unsigned RowWidth = $clog2(Depth);
  localparam int unsigned PlaceWidth = $clog2(Depth);
  localparam int unsigned CreditWidth = $clog2(Depth + 1);
  localparam int unsigned CtxCreditWidth = $clog2(CtxReadDepth + 1);
  localparam int unsigned QueuePlaceWidth = 64 + 4 + 16;
  localparam int unsigned LifeWidth = 1 + 4 + 8;
  localparam int unsigned BellWidth = 16 + 16 + 6;
  localparam int unsigned WqeWidth = 16 + 6 + RowWidth + 2 + RowWidth;

  // A WQE has at least one WQEBB.
  function automatic logic [4:0] wqebbs_of(input logic [5:0] size);
    wqebbs_of = size == '0 ? 5'd1 : 5'((7'(size) + 7'd3) >> 2);
  endfunction

  // ------------------------------------------------------------------------------------------
  // control

  logic command_take, refetch_take, line_take;
  assign commands_ready_o = 1'b1;
  assign refetches_ready_o = !commands_valid_i;
  assign context_lines_ready_o = !commands_valid_i && !refetches_valid_i;
  assign command_take = commands_valid_i && commands_i.qpn[23:QpnWidth] == '0;
  assign refetch_take = refetches_valid_i && refetches_ready_o;
  assign line_take = context_lines_valid_i && context_lines_ready_o;

  logic [QpnWidth-1:0] lookup_qpn, ctl_qpn;
  logic [BellWidth-1:0] lookup_bell;
  logic [15:0] lookup_function, lookup_index;
  logic [5:0] lookup_ds;
  logic lookup_stale;
  assign {lookup_function, lookup_index, lookup_ds} = lookup_bell;
  assign ctl_qpn = command_take ? commands_i.qpn[QpnWidth-1:0]
                                : refetch_take ? refetches_i.qpn[QpnWidth-1:0] : lookup_qpn;

  logic [15:0] ctl_producer, ctl_fetch;
  logic [LifeWidth-1:0] ctl_life;
  logic ctl_queued, ctl_reset;  // it was reset and is not ready yet
  logic [3:0] ctl_resets;
  logic [7:0] ctl_epoch;
  assign {ctl_reset, ctl_resets, ctl_epoch} = ctl_life;

  contexts_pkg::qpc_common_t command_qpc, line_qpc;
  assign command_qpc = commands_i.common;
  assign line_qpc = context_lines_i.data;

  logic resets, readies, goes_back, learns;
  assign resets = command_take && commands_i.state == contexts_pkg::QpStateReset;
  assign readies = command_take && commands_i.state == contexts_pkg::QpStateRts;
  assign goes_back = refetch_take && !ctl_reset;
  assign learns = line_take && !lookup_stale && line_qpc.state != contexts_pkg::QpStateReset &&
                  line_qpc.state != contexts_pkg::QpStateInit &&
                  line_qpc.state != contexts_pkg::QpStateRtr;

  // A producer index counts if it is in the queue's reach and ahead of what is known.
  logic [15:0] new_producer;
  logic signed [15:0] ahead, newer;
  logic signed [17:0] size;
  logic moves;
  assign new_producer = lookup_index + 16'(wqebbs_of(lookup_ds));
  assign ahead = new_producer - ctl_fetch;
  assign newer = new_producer - ctl_producer;
  assign size = 18'sd1 <<< line_qpc.log_sq_size;
  assign moves = learns && 18'(ahead) <= size && 18'(ahead) >= -size && newer > 16'sd0;

  logic ctl_place_we, ctl_producer_we, ctl_fetch_we, ctl_life_we, ctl_enqueue;
  logic [QueuePlaceWidth-1:0] ctl_place_in;
  logic [15:0] ctl_producer_in, ctl_fetch_in;
  logic [LifeWidth-1:0] ctl_life_in;
  logic [3:0] ctl_resets_in;
  assign ctl_place_we = resets || (readies && command_qpc.valid) || learns;
  assign ctl_producer_we = resets || moves;
  assign ctl_fetch_we = resets || goes_back;
  assign ctl_life_we = resets || readies || goes_back;
  assign ctl_resets_in = ctl_resets + 4'd1;
  always_comb begin
    ctl_place_in    = {line_qpc.wqe_base_addr, line_qpc.log_sq_size, lookup_function};
    ctl_producer_in = new_producer;
    ctl_fetch_in    = refetches_i.wqe_index;
    ctl_life_in     = {1'b0, ctl_resets, refetches_i.epoch};
    if (readies) begin
      ctl_place_in = {command_qpc.wqe_base_addr, command_qpc.log_sq_size, command_qpc.function_id};
      ctl_life_in  = {1'b0, ctl_resets, ctl_epoch};
    end
    if (resets) begin
      ctl_place_in    = '0;
      ctl_producer_in = '0;
      ctl_fetch_in    = '0;
      // A life's epochs begin at 16 times its number.
      ctl_life_in     = {1'b1, ctl_resets_in, ctl_resets_in, 4'b0};
    end
  end
  assign ctl_enqueue = !ctl_queued &&
                       (moves || (goes_back && refetches_i.wqe_index != ctl_producer));

  logic forgets;  // what is under way for the QP
  assign forgets = resets || goes_back;

  // ------------------------------------------------------------------------------------------
  // cut

  logic [RowWidth-1:0] answer_row, end_row;
  logic [6*Wqebbs-1:0] answer_sizes, end_sizes;
  logic ends, end_stale, end_others, end_pending, end_work, cut;
  logic [QpnWidth-1:0] end_qpn;
  logic [15:0] end_index, end_function;
  logic [7:0] end_epoch;
  logic [2:0] end_wqebbs, end_status;
  wqe_pkg::ctrl_seg_t answer_ctrl0, answer_ctrl1, answer_ctrl2, answer_ctrl3;
  assign done_ready_o = 1'b1;
  assign answer_ctrl0 = done_i.data[2047-:128];
  assign answer_ctrl1 = done_i.data[1535-:128];
  assign answer_ctrl2 = done_i.data[1023-:128];
  assign answer_ctrl3 = done_i.data[511-:128];
  assign answer_sizes = {answer_ctrl3.ds, answer_ctrl2.ds, answer_ctrl1.ds, answer_ctrl0.ds};
  assign cut = ends && !end_stale;

  logic begun, forget_hit;
  logic [PlaceWidth-1:0] begun_place, forget_place, left_place;
  logic [3:0] begun_wqebbs, forget_wqebbs, left_wqebbs;
  logic [WqeWidth-1:0] begun_wqe, left_wqe;
  logic [15:0] begun_index;
  logic [5:0] begun_size, left_size;
  logic [RowWidth-1:0] begun_row, begun_last;
  logic [1:0] begun_wqebb, left_at;
  logic [Wqebbs-1:0] wqe_ends, left_mask, row_mask;
  assign {begun_index, begun_size, begun_row, begun_wqebb, begun_last} = begun_wqe;

  wqe_fetch_cut u_cut (
      .wqebbs_i         (end_wqebbs),
      .sizes_i          (end_sizes),
      .failed_i         (end_status != streams_pkg::ReadResultOk),
      .nothing_follows_i(!end_work && !end_others),
      .begun_i          (begun),
      .begun_wqebbs_i   (begun_wqebbs),
      .begun_size_i     (begun_size),
      .ends_o           (wqe_ends),
      .left_wqebbs_o    (left_wqebbs),
      .left_size_o      (left_size),
      .left_at_o        (left_at)
  );

  logic goes_on;  // the unfinished WQE is still unfinished
  assign goes_on = begun && wqe_ends == '0;
  assign left_wqe = goes_on ? {begun_index, begun_size, begun_row, begun_wqebb, end_row}
                            : {end_index + 16'(left_at), left_size, end_row, left_at, end_row};
  assign row_mask = ~(4'hf << end_wqebbs);
  assign left_mask = left_wqebbs == '0 ? '0 : goes_on ? row_mask : row_mask & (4'hf << left_at);

  // ------------------------------------------------------------------------------------------
  // doorbell

  logic [QpnWidth-1:0] bell_qpn;
  logic [4:0] bell_wqebbs;
  logic [15:0] bell_fetch;
  logic [7:0] bell_epoch;
  logic bell_take, bell_work, bell_pending, bell_reading, bell_unfinished, executes, looks_up;
  logic lookups_room;
  logic [CtxCreditWidth-1:0] ctx_credits;
  logic [CreditWidth-1:0] credits_q, credits_cut, credits_bell, credits_turn;
  assign bell_qpn = doorbells_i.qpn[QpnWidth-1:0];
  assign bell_wqebbs = wqebbs_of(doorbells_i.ds);
  assign doorbells_ready_o = lookups_room && ctx_credits != '0;
  assign bell_take = doorbells_valid_i && doorbells_ready_o;
  assign executes = bell_take && doorbells_i.blueflame && doorbells_i.wqe_index == bell_fetch &&
                    !bell_work && !bell_pending && !bell_reading && !bell_unfinished &&
                    credits_cut >= CreditWidth'(bell_wqebbs);
  assign looks_up = bell_take && !executes;

  streams_pkg::ctx_req_t context_request;
  always_comb begin
    context_request.trace_id    = doorbells_i.trace_id;
    context_request.kind        = streams_pkg::LineKindQpcCommon;
    context_request.index       = doorbells_i.qpn;
    context_request.function_id = doorbells_i.function_id;
  end

  // ------------------------------------------------------------------------------------------
  // arbiter

  logic first_q, first;  // somebody is served first until its WQE is complete
  logic [QpnWidth-1:0] first_qpn_q, first_qpn, front_qpn, turn_qpn, furthest_qpn, other_qpn;
  logic line_valid, line_busy, other_hit;
  logic [PlaceWidth-1:0] other_place;
  logic [3:0] other_wqebbs;
  logic [15:0] turn_producer, turn_fetch, other_index;
  logic [QueuePlaceWidth-1:0] turn_place;
  logic [63:0] turn_base, turn_offset;
  logic [3:0] turn_log_size;
  logic [15:0] turn_function;
  assign first = first_q && !(forgets && first_qpn_q == ctl_qpn) &&
                 !(cut && wqe_ends != '0 && first_qpn_q == end_qpn);
  assign turn_qpn = first ? first_qpn_q : front_qpn;
  assign {turn_base, turn_log_size, turn_function} = turn_place;

  // As many WQEBBs as are posted, up to the ring's and the page's end.
  logic [15:0] posted, slot, slots_left;
  logic [5:0] page_slot;
  logic [6:0] page_left;
  logic [2:0] chunk;
  assign posted = turn_producer - turn_fetch;
  assign slot = turn_fetch & ~(16'hffff << turn_log_size);
  assign slots_left = (16'd1 << turn_log_size) - slot;
  assign turn_offset = turn_base + {42'b0, slot, 6'b0};
  assign page_slot = turn_offset[11:6];
  assign page_left = 7'd64 - 7'(page_slot);
  always_comb begin
    chunk = 3'(Wqebbs);
    if (posted < 16'(chunk)) chunk = posted[2:0];
    if (slots_left < 16'(chunk)) chunk = slots_left[2:0];
    if (page_left < 7'(chunk)) chunk = page_left[2:0];
  end

  logic [ReadCountWidth-1:0] read_count;
  logic [CreditWidth-1:0] held_q, held, asked_q, asked;  // WQEBBs of unfinished WQEs, and of reads
  logic wants, has_work, grants, drops, short_of_room, chooses, gives_up;
  assign has_work = posted != '0;
  assign wants = (first || line_valid) && has_work && read_count != ReadCountWidth'(Reads);
  assign drops = !first && line_valid && !has_work;
  assign held = held_q - CreditWidth'(forget_wqebbs) -
                (cut && begun ? CreditWidth'(begun_wqebbs) : '0) +
                (cut ? CreditWidth'(left_wqebbs) : '0);
  assign asked = asked_q - (ends ? CreditWidth'(end_wqebbs) : '0);
  assign short_of_room = wants && (read_count == '0 || first) &&
                         CreditWidth'(Depth) - held - asked < CreditWidth'(chunk);
  assign chooses = short_of_room && !first;
  assign gives_up = short_of_room && first && other_hit;
  assign grants = wants && !chooses && !gives_up && credits_bell >= CreditWidth'(chunk);
  assign first_qpn = chooses ? furthest_qpn : first_qpn_q;

  logic [RowWidth-1:0] free_row;
  logic [SlotWidth-1:0] free_slot;
  streams_pkg::wqe_read_t read_request, read_in;
  logic read_push, read_busy;
  always_comb begin
    read_request.function_id = turn_function;
    read_request.address     = turn_offset;
    read_request.length      = {chunk, 6'b0};
    read_request.cookie      = free_slot;
  end

  // Credits of the output, in the order of the cycle.
  assign credits_cut = credits_q + CreditWidth'(forget_wqebbs) +
                       (ends && end_stale ? CreditWidth'(end_wqebbs) : '0);
  assign credits_bell = credits_cut - (executes ? CreditWidth'(bell_wqebbs) : '0);
  assign credits_turn = credits_bell - (grants ? CreditWidth'(chunk) : '0) +
                        (gives_up ? CreditWidth'(other_wqebbs) : '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q   <= 1'b0;
      credits_q <= CreditWidth'(Depth);
      held_q    <= '0;
      asked_q   <= '0;
    end else begin
      first_q   <= chooses || (first && has_work);
      credits_q <= credits_turn + CreditWidth'(wqes_valid_o && wqes_ready_i);
      held_q    <= held - (gives_up ? CreditWidth'(other_wqebbs) : '0);
      asked_q   <= asked + (grants ? CreditWidth'(chunk) : '0);
    end
    first_qpn_q <= first_qpn;
  end

  // ------------------------------------------------------------------------------------------
  // state

  wqe_fetch_queues u_queues (
      .clk_i,
      .rst_ni,
      .ctl_qpn_i        (ctl_qpn),
      .ctl_producer_o   (ctl_producer),
      .ctl_fetch_o      (ctl_fetch),
      .ctl_life_o       (ctl_life),
      .ctl_queued_o     (ctl_queued),
      .ctl_place_we_i   (ctl_place_we),
      .ctl_place_i      (ctl_place_in),
      .ctl_producer_we_i(ctl_producer_we),
      .ctl_producer_i   (ctl_producer_in),
      .ctl_fetch_we_i   (ctl_fetch_we),
      .ctl_fetch_i      (ctl_fetch_in),
      .ctl_life_we_i    (ctl_life_we),
      .ctl_life_i       (ctl_life_in),
      .ctl_enqueue_i    (ctl_enqueue),
      .end_qpn_i        (end_qpn),
      .end_work_o       (end_work),
      .end_function_o   (end_function),
      .end_epoch_o      (end_epoch),
      .bell_qpn_i       (bell_qpn),
      .bell_work_o      (bell_work),
      .bell_fetch_o     (bell_fetch),
      .bell_epoch_o     (bell_epoch),
      .bell_we_i        (executes),
      .bell_behind_i    (doorbells_i.wqe_index + 16'(bell_wqebbs)),
      .turn_qpn_i       (turn_qpn),
      .turn_producer_o  (turn_producer),
      .turn_fetch_o     (turn_fetch),
      .turn_place_o     (turn_place),
      .turn_leaves_i    (drops || (grants && !first && posted == 16'(chunk))),
      .back_we_i        (grants || gives_up),
      .back_qpn_i       (gives_up ? other_qpn : turn_qpn),
      .back_fetch_i     (gives_up ? other_index : turn_fetch + 16'(chunk))
  );

  wqe_fetch_lookups u_lookups (
      .clk_i,
      .rst_ni,
      .pop_i       (line_take),
      .qpn_o       (lookup_qpn),
      .bell_o      (lookup_bell),
      .stale_o     (lookup_stale),
      .forget_i    (resets),
      .forget_qpn_i(ctl_qpn),
      .room_o      (lookups_room),
      .bell_qpn_i  (bell_qpn),
      .pending_o   (bell_pending),
      .push_i      (looks_up),
      .bell_i      ({doorbells_i.function_id, doorbells_i.wqe_index, doorbells_i.ds})
  );

  wqe_fetch_line u_line (
      .clk_i,
      .rst_ni,
      .enter_i(ctl_enqueue),
      .qpn_i  (ctl_qpn),
      .valid_o(line_valid),
      .front_o(front_qpn),
      .leave_i(drops || (grants && !first)),
      .again_i(grants && !first && posted != 16'(chunk)),
      .busy_o (line_busy)
  );

  wqe_fetch_reads u_reads (
      .clk_i,
      .rst_ni,
      .forget_i       (forgets),
      .forget_qpn_i   (ctl_qpn),
      .answer_i       (done_valid_i),
      .answer_slot_i  (done_i.cookie),
      .answer_status_i(done_i.status),
      .answer_sizes_i (answer_sizes),
      .answer_row_o   (answer_row),
      .end_o          (ends),
      .end_stale_o    (end_stale),
      .end_qpn_o      (end_qpn),
      .end_index_o    (end_index),
      .end_wqebbs_o   (end_wqebbs),
      .end_row_o      (end_row),
      .end_status_o   (end_status),
      .end_sizes_o    (end_sizes),
      .end_others_o   (end_others),
      .pending_o      (end_pending),
      .bell_qpn_i     (bell_qpn),
      .reading_o      (bell_reading),
      .count_o        (read_count),
      .slot_o         (free_slot),
      .grant_i        (grants),
      .grant_qpn_i    (turn_qpn),
      .grant_index_i  (turn_fetch),
      .grant_wqebbs_i (chunk),
      .grant_row_i    (free_row)
  );

  wqe_fetch_unfinished u_unfinished (
      .clk_i,
      .rst_ni,
      .forget_i       (forgets),
      .forget_qpn_i   (ctl_qpn),
      .forget_hit_o   (forget_hit),
      .forget_place_o (forget_place),
      .forget_wqebbs_o(forget_wqebbs),
      .end_qpn_i      (end_qpn),
      .begun_o        (begun),
      .begun_place_o  (begun_place),
      .begun_wqebbs_o (begun_wqebbs),
      .begun_wqe_o    (begun_wqe),
      .cut_i          (cut),
      .cut_ends_i     (wqe_ends != '0),
      .left_wqebbs_i  (left_wqebbs),
      .left_wqe_i     (left_wqe),
      .left_place_o   (left_place),
      .bell_qpn_i     (bell_qpn),
      .bell_hit_o     (bell_unfinished),
      .furthest_qpn_o (furthest_qpn),
      .first_qpn_i    (first_qpn_q),
      .other_hit_o    (other_hit),
      .other_place_o  (other_place),
      .other_qpn_o    (other_qpn),
      .other_index_o  (other_index),
      .other_wqebbs_o (other_wqebbs),
      .give_up_i      (gives_up)
  );

  logic [RowWidth-1:0] leave_row, behind_row;
  logic [1:0] leave_wqebb, behind_wqebb;
  logic [511:0] leave_data;
  logic leave, wqe_push, leave_busy;
  streams_pkg::wqe_beat_t wqe_beat;

  wqe_fetch_rows u_rows (
      .clk_i,
      .rst_ni,
      .forget_i       (forget_hit),
      .forget_place_i (forget_place),
      .answer_i       (done_valid_i),
      .answer_row_i   (answer_row),
      .answer_data_i  (done_i.data),
      .drop_i         (ends && end_stale),
      .cut_i          (cut),
      .cut_row_i      (end_row),
      .begun_i        (begun),
      .begun_place_i  (begun_place),
      .begun_last_i   (begun_last),
      .cut_ends_i     (wqe_ends != '0),
      .left_i         (left_mask),
      .left_place_i   (left_place),
      .leave_row_i    (leave_row),
      .leave_wqebb_i  (leave_wqebb),
      .leave_data_o   (leave_data),
      .behind_row_o   (behind_row),
      .behind_wqebb_o (behind_wqebb),
      .leave_i        (leave),
      .give_up_i      (gives_up),
      .give_up_place_i(other_place),
      .free_o         (free_row),
      .grant_i        (grants),
      .grant_wqebbs_i (chunk)
  );

  wqe_fetch_leave u_leave (
      .clk_i,
      .rst_ni,
      .read_i         (cut && wqe_ends != '0),
      .read_qpn_i     (end_qpn),
      .read_function_i(end_function),
      .read_epoch_i   (end_epoch),
      .read_status_i  (end_status),
      .read_index_i   (end_index),
      .read_row_i     (end_row),
      .read_sizes_i   (end_sizes),
      .read_ends_i    (wqe_ends),
      .begun_i        (begun),
      .begun_index_i  (begun_index),
      .begun_wqebbs_i (begun_wqebbs),
      .begun_size_i   (begun_size),
      .begun_row_i    (begun_row),
      .begun_wqebb_i  (begun_wqebb),
      .bell_i         (executes),
      .bell_beat_i    (doorbells_i),
      .bell_epoch_i   (bell_epoch),
      .row_o          (leave_row),
      .wqebb_o        (leave_wqebb),
      .data_i         (leave_data),
      .behind_row_i   (behind_row),
      .behind_wqebb_i (behind_wqebb),
      .leave_o        (leave),
      .push_o         (wqe_push),
      .beat_o         (wqe_beat),
      .busy_o         (leave_busy)
  );

  // ------------------------------------------------------------------------------------------
  // streams

  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(CtxReadDepth)
  ) u_context_reads (
      .clk_i,
      .rst_ni,
      .push_i (looks_up),
      .data_i (context_request),
      .valid_o(context_reads_valid_o),
      .ready_i(context_reads_ready_i),
      .data_o (context_reads_o)
  );
  credit_counter #(
      .Depth(CtxReadDepth)
  ) u_context_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CtxCreditWidth'(looks_up)),
      .taken_i  (context_reads_valid_o && context_reads_ready_i),
      .credits_o(ctx_credits)
  );

  // The first of the request hop's cycles is that of the grant, the last one that of the FIFO. A
  // read in flight has a slot, so there is room.
  credit_pipe #(
      .Width (streams_pkg::WqeReadWidth),
      .Stages(stages_pkg::DmaEngineRequestHop - 1)
  ) u_hop (
      .clk_i,
      .rst_ni,
      .valid_i(grants),
      .data_i (read_request),
      .valid_o(read_push),
      .data_o (read_in),
      .busy_o (read_busy)
  );
  stream_fifo #(
      .Width(streams_pkg::WqeReadWidth),
      .Depth(Reads)
  ) u_read_stream (
      .clk_i,
      .rst_ni,
      .push_i (read_push),
      .data_i (read_in),
      .valid_o(reads_valid_o),
      .ready_i(reads_ready_i),
      .data_o (reads_o)
  );
  stream_fifo #(
      .Width(streams_pkg::WqeBeatWidth),
      .Depth(Depth)
  ) u_wqes (
      .clk_i,
      .rst_ni,
      .push_i (wqe_push),
      .data_i (wqe_beat),
      .valid_o(wqes_valid_o),
      .ready_i(wqes_ready_i),
      .data_o (wqes_o)
  );

  assign context_reads_push_o = looks_up;
  assign reads_push_o = read_push;
  assign wqes_push_o = wqe_push;
  assign busy_o = line_busy || first_q || end_pending || read_busy || leave_busy;

  `CARILLON_ASSERT_STREAM(context_reads)
  `CARILLON_ASSERT_STREAM(reads)
  `CARILLON_ASSERT_STREAM(wqes)

endmodule
