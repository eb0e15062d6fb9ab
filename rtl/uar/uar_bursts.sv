// What UAR pages make of the stores they see: doorbells recognised, BlueFlame bursts put together
// or discarded. The same as model/uar/uar_core.cpp, which says why; docs/stages/uar.md has the
// tables.
//
// In a cycle first a burst may time out, then a store may be taken. Each burst has its deadline in
// a time of its own, which stands still while no burst is open.
`include "assertions.svh"

module uar_bursts #(
    parameter  int unsigned Buffers = 8,
    localparam int unsigned BufferWidth = $clog2(Buffers)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [3:0]  log_pages_i,   // pages of a function - configuration
    input logic [4:0]  bf_slots_i,    // bursts under assembly, at most - configuration
    input logic [26:0] bf_timeout_i,  // cycles from a burst's first chunk - configuration

    input logic                         take_i,   // a store that is for no CQ or EQ - uar
    input streams_pkg::mmio_write_beat_t write_i, // the store - uar

    output logic        timeout_o,              // a burst becomes a doorbell by time - lookups
    output logic [15:0] timeout_function_id_o,  // of this function - lookups
    output logic [19:0] timeout_page_o,         // of this page - lookups
    output logic [63:0] timeout_record_o,       // with this control segment - lookups
    output logic [31:0] timeout_trace_id_o,     // message of its first chunk - lookups

    output logic        first_o,           // a burst becomes a doorbell by the store - lookups
    output logic [63:0] first_record_o,    // with this control segment - lookups
    output logic [31:0] first_trace_id_o,  // message of its first chunk - lookups

    output logic                   second_o,            // the store's own event - lookups
    output logic [63:0]            second_record_o,     // its control segment - lookups
    output logic [31:0]            second_trace_id_o,   // its message - lookups
    output logic                   second_blueflame_o,  // with a WQE - lookups
    output logic [BufferWidth-1:0] second_buffer_o,     // which is here - lookups

    output logic [7:0]             store_lanes_o,   // bytes to keep, by 8 - store
    output logic [BufferWidth-1:0] store_buffer_o,  // in this buffer - store
    output logic [1:0]             store_line_o,    // in this line - store
    output logic [511:0]           store_data_o,    // the line - store

    input logic                   refuse_i,         // a WQE is not the owner's - uar
    input logic [BufferWidth-1:0] refuse_buffer_i,  // its buffer - uar
    input logic                   leave_i,          // a WQE left - uar
    input logic [BufferWidth-1:0] leave_buffer_i,   // its buffer - uar

    output logic busy_o  // a burst is open - clock gate
);

  localparam int unsigned Slots = stages_pkg::UarBursts;
  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages);
  localparam int unsigned TimeWidth = 28;

  localparam logic [11:0] DbRec = 12'(registers_pkg::UarPageDbRec);
  localparam logic [3:0] BfBuffer = 4'(registers_pkg::UarPageBfBuffer >> 8);

`ifndef YOSYS
  if (registers_pkg::UarPageBfBufferBytes != 256 || registers_pkg::UarPageBfBuffer % 256 != 0 ||
      registers_pkg::UarPageBytes != 16'h1000) begin : gen_page_check
    $fatal(0, "%m: a page has 4096 bytes, of which BF_BUFFER has an aligned 256");
  end
`endif

  // What came of a burst.
  typedef struct packed {
    logic [31:0] have;    // 8-byte grains
    logic [4:0]  blocks;  // 64-byte blocks that there must be; 0 without the control segment
  } extent_t;

  // A burst under assembly.
  typedef struct packed {
    logic [15:0]            function_id;
    logic [19:0]            page;
    logic [63:0]            record;    // of its first chunk, once that came
    logic [31:0]            trace_id;  // likewise
    logic [BufferWidth-1:0] buffer;
    extent_t                seen;
  } burst_t;

  // ------------------------------------------------------------------------------------------
  // the store

  logic [11:0] offset;
  logic [63:0] head;  // its first bytes
  logic [RowWidth-1:0] row;
  logic is_chunk, at_start;
  logic [31:0] grains;
  logic [7:0] lanes;
  extent_t fresh;
  wqe_pkg::doorbell_word_t word;

  assign offset = write_i.offset[11:0];
  assign head = write_i.data[511:448];
  assign word = head;
  uar_row u_row (
      .function_id_i(write_i.function_id),
      .page_i       (write_i.offset[31:12]),
      .log_pages_i,
      .row_o        (row)
  );

  // Write-combining buffers leave as lines of these sizes, each aligned to itself.
  logic is_line;
  always_comb begin
    unique case (write_i.length)
      16'd8: begin
        is_line = offset[2:0] == '0;
        lanes   = 8'h01 << offset[5:3];
      end
      16'd16: begin
        is_line = offset[3:0] == '0;
        lanes   = 8'h03 << offset[5:3];
      end
      16'd32: begin
        is_line = offset[4:0] == '0;
        lanes   = 8'h0f << offset[5:3];
      end
      16'd64: begin
        is_line = offset[5:0] == '0;
        lanes   = 8'hff;
      end
      default: begin
        is_line = 1'b0;
        lanes   = '0;
      end
    endcase
  end
  assign is_chunk = take_i && is_line && offset[11:8] == BfBuffer;
  assign at_start = offset[7:0] == '0;
  assign grains = 32'(lanes) << {offset[7:6], 3'b0};
  // A WQE has a control segment whatever its size says.
  assign fresh.have = grains;
  assign fresh.blocks = !at_start ? '0 : word.ds == '0 ? 5'd1 : 5'((7'(word.ds) + 7'd3) >> 2);

  // ------------------------------------------------------------------------------------------
  // timeout

  logic [Slots-1:0] open_q, open, timed_out, matching;
  burst_t expired, found;
  logic [RowWidth-1:0] row_q[Slots];
  logic [TimeWidth-1:0] deadline_q[Slots];
  logic [$bits(found)-1:0] burst_mem[Slots];
  logic [TimeWidth-1:0] now_q;
  logic expires;
  logic [RowWidth-1:0] expired_row;

  function automatic logic [SlotWidth-1:0] index_of(input logic [Slots-1:0] one_hot);
    index_of = '0;
    for (int unsigned i = 0; i < Slots; i++) begin
      if (one_hot[i]) begin
        index_of = index_of | SlotWidth'(i);
      end
    end
  endfunction

  always_comb begin
    for (int unsigned i = 0; i < Slots; i++) begin
      timed_out[i] = open_q[i] && deadline_q[i] == now_q;
      matching[i]   = open_q[i] && !timed_out[i] && row_q[i] == row;
    end
  end

  logic [SlotWidth-1:0] expired_slot, found_slot;
  assign expired_slot = index_of(timed_out);
  assign found_slot = index_of(matching);
  assign expires = timed_out != '0;
  assign expired = burst_mem[expired_slot];
  assign expired_row = row_q[expired_slot];
  assign found = burst_mem[found_slot];

  assign timeout_o = expires && expired.seen.blocks != '0;
  assign timeout_function_id_o = expired.function_id;
  assign timeout_page_o = expired.page;
  assign timeout_record_o = expired.record;
  assign timeout_trace_id_o = expired.trace_id;

  // ------------------------------------------------------------------------------------------
  // chunks

  // What a page remembers of its last discarded burst: some grain came, or nothing is remembered.
  extent_t dead;
  logic [$bits(dead)-1:0] dead_mem[stages_pkg::UarPages];
  logic dead_live;
  always_comb begin
    if (expires && expired_row == row) begin
      dead = expired.seen;
    end else if (dead_live) begin
      dead = dead_mem[row];
    end else begin
      dead = '0;
    end
  end

  logic [SlotWidth:0] open_count;
  logic full;
  always_comb begin
    open_count = '0;
    for (int unsigned i = 0; i < Slots; i++) begin
      open_count = open_count + (SlotWidth + 1)'(open_q[i] && !timed_out[i]);
    end
  end
  assign full = open_count >= bf_slots_i;

  logic hit, again, restarts, clashes, swallowed, starts, refused, assembles;
  assign hit = matching != '0;
  assign again = (found.seen.have & grains) != '0;
  // A second first chunk begins a burst of its own; otherwise two bursts are under way that cannot
  // be told apart.
  assign restarts = is_chunk && hit && again && at_start && found.seen.blocks != '0;
  assign clashes = is_chunk && hit && again && !restarts;
  assign swallowed = is_chunk && !hit && dead.have != '0 && (dead.have & grains) == '0 &&
                     !(dead.blocks != '0 && 5'(offset[7:6]) >= dead.blocks);
  assign starts = restarts || (is_chunk && !hit && !swallowed);
  assign refused = starts && ((at_start && write_i.length == 16'd8) || (full && !restarts));
  assign assembles = (is_chunk && hit && !again) || (starts && !refused);

  // The burst with the chunk in it.
  extent_t seen, buried;
  logic [63:0] record;
  logic [31:0] trace_id;
  assign seen.have = starts ? grains : found.seen.have | grains;
  assign seen.blocks = starts || at_start ? fresh.blocks : found.seen.blocks;
  assign record = at_start ? head : found.record;
  assign trace_id = at_start ? write_i.trace_id : found.trace_id;

  logic seen_too_long, seen_complete, too_long, complete, stays;
  uar_extent u_seen (
      .have_i    (seen.have),
      .blocks_i  (seen.blocks),
      .too_long_o(seen_too_long),
      .complete_o(seen_complete)
  );
  assign too_long = assembles && seen_too_long;
  assign complete = assembles && !seen_too_long && seen_complete;
  assign stays = assembles && !seen_too_long && !seen_complete;

  // The dead burst with the chunk in it.
  extent_t swallowing;
  logic swallowed_last, unused_long;
  assign swallowing.have = dead.have | grains;
  assign swallowing.blocks = at_start ? fresh.blocks : dead.blocks;
  uar_extent u_swallowing (
      .have_i    (swallowing.have),
      .blocks_i  (swallowing.blocks),
      .too_long_o(unused_long),
      .complete_o(swallowed_last)
  );

  logic buries;
  assign buries = (swallowed && !swallowed_last) || refused || clashes || too_long;
  assign buried = swallowed ? swallowing : too_long ? seen : fresh;

  always_ff @(posedge clk_i) begin
    if (expires) begin
      dead_mem[expired_row] <= expired.seen;
    end
    if (buries) begin
      dead_mem[row] <= buried;
    end
  end

  uar_flags u_dead_live (
      .clk_i,
      .rst_ni,
      .set_i        (expires),
      .set_row_i    (expired_row),
      .write_i      (is_chunk),
      .write_row_i  (row),
      .write_value_i(buries),
      .read_row_i   (row),
      .flag_o       (dead_live)
  );

  // ------------------------------------------------------------------------------------------
  // slots and buffers

  logic [Slots-1:0] free;
  logic [SlotWidth-1:0] slot;
  logic [BufferWidth-1:0] next_buffer, buffer;
  burst_t kept;
  assign free = ~open_q | timed_out;
  always_comb begin
    slot = found_slot;
    if (!hit) begin
      for (int unsigned i = 0; i < Slots; i++) begin
        if (free[Slots - 1 - i]) begin
          slot = SlotWidth'(Slots - 1 - i);
        end
      end
    end
    open = open_q & ~timed_out;
    if (is_chunk) begin
      open = open & ~matching;
    end
    if (stays) begin
      open[slot] = 1'b1;
    end
    kept.function_id = write_i.function_id;
    kept.page        = write_i.offset[31:12];
    kept.record      = record;
    kept.trace_id    = trace_id;
    kept.buffer      = buffer;
    kept.seen        = seen;
  end

  always_ff @(posedge clk_i) begin
    if (stays) begin
      burst_mem[slot] <= kept;
      row_q[slot]     <= row;
      if (starts) begin
        deadline_q[slot] <= now_q + TimeWidth'(bf_timeout_i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      now_q  <= '0;
    end else begin
      open_q <= open;
      if (stays || open_q != '0) begin
        now_q <= now_q + 1'b1;
      end
    end
  end

  assign buffer = hit ? found.buffer : next_buffer;
  uar_buffers #(
      .Buffers(Buffers)
  ) u_buffers (
      .clk_i,
      .rst_ni,
      .next_o          (next_buffer),
      .take_i          (!hit && (stays || complete)),
      .timeout_i       (expires),
      .timeout_buffer_i(expired.buffer),
      .discard_i       (is_chunk && hit && !stays && !complete),
      .discard_buffer_i(found.buffer),
      .refuse_i,
      .refuse_buffer_i,
      .leave_i,
      .leave_buffer_i
  );

  // The chunk, wherever in its line it belongs.
  assign store_lanes_o = stays || complete ? {lanes[0], lanes[1], lanes[2], lanes[3],
                                              lanes[4], lanes[5], lanes[6], lanes[7]} : '0;
  assign store_buffer_o = buffer;
  assign store_line_o = offset[7:6];
  always_comb begin
    unique case (write_i.length)
      16'd8: store_data_o = {8{write_i.data[511 -: 64]}};
      16'd16: store_data_o = {4{write_i.data[511 -: 128]}};
      16'd32: store_data_o = {2{write_i.data[511 -: 256]}};
      default: store_data_o = write_i.data;
    endcase
  end

  // ------------------------------------------------------------------------------------------
  // doorbells

  logic is_whole, is_upper, is_lower, is_half;
  logic [31:0] half_mem[stages_pkg::UarPages];
  logic half_live;
  assign is_whole = take_i && offset == DbRec && write_i.length == 16'd8;
  assign is_upper = take_i && offset == DbRec && write_i.length == 16'd4;
  assign is_half = take_i && offset == DbRec + 12'd4 && write_i.length == 16'd4;
  assign is_lower = is_half && half_live;

  always_ff @(posedge clk_i) begin
    if (is_upper) begin
      half_mem[row] <= head[63:32];
    end
  end

  uar_flags u_half_live (
      .clk_i,
      .rst_ni,
      .set_i        (1'b0),
      .set_row_i    ('0),
      .write_i      (is_whole || is_upper || is_lower),
      .write_row_i  (row),
      .write_value_i(is_upper),
      .read_row_i   (row),
      .flag_o       (half_live)
  );

  // ------------------------------------------------------------------------------------------
  // events

  assign first_o = restarts;
  assign first_record_o = found.record;
  assign first_trace_id_o = found.trace_id;

  assign second_o = is_whole || is_lower || too_long || complete ||
                    (at_start && (swallowed || refused || clashes)) ||
                    (clashes && found.seen.blocks != '0);
  assign second_record_o = is_whole ? head : is_lower ? {half_mem[row], head[63:32]} : record;
  assign second_trace_id_o = complete || is_whole || is_lower ? write_i.trace_id : trace_id;
  assign second_blueflame_o = complete;
  assign second_buffer_o = buffer;

  assign busy_o = open_q != '0;

endmodule
