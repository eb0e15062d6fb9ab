// dcqcn: the rate of each QP. Slices pass a pipeline over a memory of QPs, one a cycle:
//   slot      a slice waits here for the one before of its QP;
//   select    the QP is read; what the slice does is chosen;
//   alpha     what alpha becomes;
//   products  what the rate may become;
//   apply     the QP is written, and told of.
// A Setup, which writes a register that all share, waits until the pipeline is empty, and what
// follows waits for it. Cycle by cycle the same as model/dcqcn; docs/stages/dcqcn.md has the
// timing.
`include "assertions.svh"

module dcqcn (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                       slices_valid_i,  // a slice - who knows of it
    output logic                       slices_ready_o,  // it is taken - who knows of it
    input  streams_pkg::rate_request_t slices_i,        // the slice - who knows of it

    output logic                      rates_valid_o,  // a rate - who paces
    input  logic                      rates_ready_i,  // it is taken - who paces
    output streams_pkg::rate_report_t rates_o,        // the rate - who paces
    output logic                      rates_push_o,   // it enters the stream - monitor

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Depth = stages_pkg::DcqcnDepth;
  localparam int unsigned Contexts = stages_pkg::DcqcnContexts;
  localparam int unsigned SlotWidth = $clog2(Contexts);
  localparam int unsigned CreditWidth = $clog2(Depth + 1);

  streams_pkg::rate_settings_t settings_q;
  streams_pkg::rate_options_t options;
  assign options = settings_q.options;

  // The slot
  // ----------------------------------------------------------------------------------------------
  logic slot_valid_q;
  streams_pkg::rate_request_t slot_q;
  logic take, issue, waits, setup;
  logic [CreditWidth-1:0] credits;

  logic select_valid_q, alpha_valid_q, products_valid_q, apply_valid_q;
  streams_pkg::rate_request_t select_slice_q, alpha_slice_q, products_slice_q, apply_slice_q;

  logic setup_ahead;  // or in the slot, which is the same to it

  assign setup_ahead =
      slot_q.op == streams_pkg::RateOpSetup ||
      (select_valid_q && select_slice_q.op == streams_pkg::RateOpSetup) ||
      (alpha_valid_q && alpha_slice_q.op == streams_pkg::RateOpSetup) ||
      (products_valid_q && products_slice_q.op == streams_pkg::RateOpSetup) ||
      (apply_valid_q && apply_slice_q.op == streams_pkg::RateOpSetup);
  assign waits = (select_valid_q && (setup_ahead || slot_q.slot == select_slice_q.slot)) ||
                 (alpha_valid_q && (setup_ahead || slot_q.slot == alpha_slice_q.slot)) ||
                 (products_valid_q && (setup_ahead || slot_q.slot == products_slice_q.slot)) ||
                 (apply_valid_q && (setup_ahead || slot_q.slot == apply_slice_q.slot));
  assign issue = slot_valid_q && !waits;
  assign slices_ready_o = credits != '0 && (!slot_valid_q || issue);
  assign take = slices_valid_i && slices_ready_o;

  credit_counter #(
      .Depth(Depth)
  ) u_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(take)),
      .taken_i  (rates_valid_o && rates_ready_i),
      .credits_o(credits)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      slot_valid_q <= 1'b0;
    end else if (take || issue) begin
      slot_valid_q <= take;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      slot_q <= slices_i;
    end
  end

  // Select
  // ----------------------------------------------------------------------------------------------
  logic [streams_pkg::RateContextWidth-1:0] qp_mem[Contexts];
  streams_pkg::rate_context_t select_qp_q, written;
  logic alpha_expires, cut_expires, rate_expires;
  logic [47:0] at;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      select_slice_q <= slot_q;
      select_qp_q <= qp_mem[slot_q.slot[SlotWidth-1:0]];
    end
  end

  dcqcn_select u_select (
      .settings_i     (settings_q),
      .qp_i           (select_qp_q),
      .slice_i        (select_slice_q),
      .alpha_expires_o(alpha_expires),
      .cut_expires_o  (cut_expires),
      .rate_expires_o (rate_expires),
      .at_o           (at)
  );

  // Alpha
  // ----------------------------------------------------------------------------------------------
  // What a slice does goes with it.
  typedef struct packed {
    logic alpha_expires;
    logic cut_expires;
    logic rate_expires;
    logic [47:0] at;
  } chosen_t;

  chosen_t alpha_chosen_q, products_chosen_q, apply_chosen_q;
  streams_pkg::rate_context_t alpha_qp_q, products_qp_q, apply_qp_q;

  always_ff @(posedge clk_i) begin
    if (select_valid_q) begin
      alpha_slice_q <= select_slice_q;
      alpha_qp_q <= select_qp_q;
      alpha_chosen_q.alpha_expires <= alpha_expires;
      alpha_chosen_q.cut_expires <= cut_expires;
      alpha_chosen_q.rate_expires <= rate_expires;
      alpha_chosen_q.at <= at;
    end
  end

  logic first, sets_rate;
  logic [31:0] first_rate;
  logic [23:0] alpha, risen, decayed;
  logic [15:0] timer_us;
  logic [31:0] period;

  // The first CNP of a QP at the highest rate may set rate and alpha before it cuts.
  assign first = alpha_slice_q.op == streams_pkg::RateOpCnp && !alpha_chosen_q.alpha_expires &&
                 !alpha_chosen_q.cut_expires && !alpha_chosen_q.rate_expires &&
                 !alpha_qp_q.limited && !alpha_qp_q.pending &&
                 options.mode != streams_pkg::DcqcnModeDescription;
  assign sets_rate = first && settings_q.first_rate != '0;
  assign first_rate = settings_q.first_rate > settings_q.min_rate ? settings_q.first_rate
                                                                  : settings_q.min_rate;
  assign alpha = first && options.mode == streams_pkg::DcqcnModeVendor ? settings_q.alpha
                                                                       : alpha_qp_q.alpha;
  assign timer_us = alpha_slice_q.op == streams_pkg::RateOpTimer && !alpha_chosen_q.alpha_expires &&
                    !alpha_chosen_q.cut_expires && !alpha_chosen_q.rate_expires
                        ? alpha_slice_q.value[15:0]
                        : alpha_qp_q.timer_us;
  assign period = timer_us != '0 ? 32'(timer_us) * 32'd1000 : settings_q.rate_period;

  dcqcn_alpha u_alpha (
      .alpha_i     (alpha),
      .gain_rise_i (settings_q.gain_rise),
      .gain_decay_i(settings_q.gain_decay),
      .risen_o     (risen),
      .decayed_o   (decayed)
  );

  // Products
  // ----------------------------------------------------------------------------------------------
  typedef struct packed {
    logic first;
    logic [31:0] current;
    logic [31:0] target;
    logic [23:0] alpha;
    logic [23:0] risen;
    logic [23:0] decayed;
    logic [31:0] period;
  } prepared_t;

  prepared_t products_prepared_q, apply_prepared_q;

  always_ff @(posedge clk_i) begin
    if (alpha_valid_q) begin
      products_slice_q <= alpha_slice_q;
      products_qp_q <= alpha_qp_q;
      products_chosen_q <= alpha_chosen_q;
      products_prepared_q.first <= first;
      products_prepared_q.current <= sets_rate ? first_rate : alpha_qp_q.current;
      products_prepared_q.target <= sets_rate ? first_rate : alpha_qp_q.target;
      products_prepared_q.alpha <= alpha;
      products_prepared_q.risen <= risen;
      products_prepared_q.decayed <= decayed;
      products_prepared_q.period <= period;
    end
  end

  logic [31:0] left, least, step;
  logic [32:0] bytes;
  logic byte_event;
  logic [7:0] byte_stage, time_stage;
  logic [39:0] increase;

  dcqcn_products u_products (
      .current_i     (products_prepared_q.current),
      .target_i      (products_prepared_q.target),
      .alpha_i       (options.update_first && options.mode == streams_pkg::DcqcnModePaper
                          ? products_prepared_q.risen
                          : products_prepared_q.alpha),
      .cut_shift_i   (options.cut_shift),
      .min_decrease_i(settings_q.min_decrease),
      .beta_i        (settings_q.beta),
      .left_o        (left),
      .least_o       (least),
      .step_o        (step)
  );

  assign bytes = 33'(products_qp_q.sent) + 33'(products_slice_q.value);
  assign byte_event = bytes >= 33'(settings_q.byte_reset);
  // Stages end at 255.
  assign byte_stage = products_qp_q.byte_stage + 8'(products_qp_q.byte_stage != '1);
  assign time_stage = products_qp_q.time_stage + 8'(products_qp_q.time_stage != '1);

  // An increase by the timer or, if that did not expire, by bytes.
  dcqcn_raise u_raise (
      .byte_stage_i (products_chosen_q.rate_expires ? products_qp_q.byte_stage : byte_stage),
      .time_stage_i (products_chosen_q.rate_expires ? time_stage : products_qp_q.time_stage),
      .threshold_i  (options.threshold),
      .hyper_grows_i(options.hyper_grows),
      .additive_i   (products_qp_q.slope != '0 ? products_qp_q.slope : settings_q.additive),
      .hyper_i      (settings_q.hyper),
      .increase_o   (increase)
  );

  // Apply
  // ----------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [31:0] left;
    logic [31:0] least;
    logic [31:0] step;
    logic byte_event;
    logic [32:0] bytes;
    logic [7:0] byte_stage;
    logic [7:0] time_stage;
    logic [39:0] increase;
  } products_t;

  products_t apply_products_q;

  always_ff @(posedge clk_i) begin
    if (products_valid_q) begin
      apply_slice_q <= products_slice_q;
      apply_qp_q <= products_qp_q;
      apply_chosen_q <= products_chosen_q;
      apply_prepared_q <= products_prepared_q;
      apply_products_q.left <= left;
      apply_products_q.least <= least;
      apply_products_q.step <= step;
      apply_products_q.byte_event <= byte_event;
      apply_products_q.bytes <= bytes;
      apply_products_q.byte_stage <= byte_stage;
      apply_products_q.time_stage <= time_stage;
      apply_products_q.increase <= increase;
    end
  end

  dcqcn_apply u_apply (
      .settings_i     (settings_q),
      .qp_i           (apply_qp_q),
      .slice_i        (apply_slice_q),
      .alpha_expires_i(apply_chosen_q.alpha_expires),
      .cut_expires_i  (apply_chosen_q.cut_expires),
      .rate_expires_i (apply_chosen_q.rate_expires),
      .at_i           (apply_chosen_q.at),
      .current_i      (apply_prepared_q.current),
      .target_i       (apply_prepared_q.target),
      .alpha_i        (apply_prepared_q.alpha),
      .risen_i        (apply_prepared_q.risen),
      .decayed_i      (apply_prepared_q.decayed),
      .first_i        (apply_prepared_q.first),
      .period_i       (apply_prepared_q.period),
      .left_i         (apply_products_q.left),
      .least_i        (apply_products_q.least),
      .step_i         (apply_products_q.step),
      .byte_event_i   (apply_products_q.byte_event),
      .bytes_i        (apply_products_q.bytes),
      .byte_stage_i   (apply_products_q.byte_stage),
      .time_stage_i   (apply_products_q.time_stage),
      .increase_i     (apply_products_q.increase),
      .qp_o           (written)
  );

  assign setup = apply_valid_q && apply_slice_q.op == streams_pkg::RateOpSetup;

  always_ff @(posedge clk_i) begin
    if (apply_valid_q && !setup) begin
      qp_mem[apply_slice_q.slot[SlotWidth-1:0]] <= written;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      settings_q <= '0;
    end else if (setup) begin
      case (apply_slice_q.slot[3:0])
        streams_pkg::RateSettingOptions: settings_q.options <= apply_slice_q.value[14:0];
        streams_pkg::RateSettingMinRate: settings_q.min_rate <= apply_slice_q.value;
        streams_pkg::RateSettingMaxRate: settings_q.max_rate <= apply_slice_q.value;
        streams_pkg::RateSettingFirstRate: settings_q.first_rate <= apply_slice_q.value;
        streams_pkg::RateSettingAdditive: settings_q.additive <= apply_slice_q.value;
        streams_pkg::RateSettingHyper: settings_q.hyper <= apply_slice_q.value;
        streams_pkg::RateSettingAlpha: settings_q.alpha <= apply_slice_q.value[23:0];
        streams_pkg::RateSettingGainRise: settings_q.gain_rise <= apply_slice_q.value[23:0];
        streams_pkg::RateSettingGainDecay: settings_q.gain_decay <= apply_slice_q.value[23:0];
        streams_pkg::RateSettingBeta: settings_q.beta <= apply_slice_q.value[23:0];
        streams_pkg::RateSettingMinDecrease: settings_q.min_decrease <= apply_slice_q.value[24:0];
        streams_pkg::RateSettingAlphaPeriod: settings_q.alpha_period <= apply_slice_q.value;
        streams_pkg::RateSettingRatePeriod: settings_q.rate_period <= apply_slice_q.value;
        streams_pkg::RateSettingReducePeriod: settings_q.reduce_period <= apply_slice_q.value;
        streams_pkg::RateSettingByteReset: settings_q.byte_reset <= apply_slice_q.value;
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      select_valid_q <= 1'b0;
      alpha_valid_q <= 1'b0;
      products_valid_q <= 1'b0;
      apply_valid_q <= 1'b0;
    end else begin
      select_valid_q <= issue;
      alpha_valid_q <= select_valid_q;
      products_valid_q <= alpha_valid_q;
      apply_valid_q <= products_valid_q;
    end
  end

  // What is told
  // ----------------------------------------------------------------------------------------------
  localparam logic [47:0] Never = '1;

  streams_pkg::rate_report_t report;
  logic sliced;
  logic [47:0] cut_due, rate_due;

  assign sliced = options.mode == streams_pkg::DcqcnModeDescription;
  assign cut_due = written.pending && !sliced ? written.cut_at : Never;
  assign rate_due = (written.limited || (sliced && written.pending)) &&
                            apply_prepared_q.period != '0
                        ? written.rate_at
                        : Never;

  always_comb begin
    report = '0;
    report.slot = apply_slice_q.slot;
    report.op = apply_slice_q.op;
    report.due = Never;
    if (!setup) begin
      report.again = apply_chosen_q.alpha_expires || apply_chosen_q.cut_expires ||
                     apply_chosen_q.rate_expires;
      report.limited = written.limited;
      report.pending = written.pending;
      report.current = written.current;
      report.target = written.target;
      report.alpha = written.alpha;
      report.byte_stage = written.byte_stage;
      report.time_stage = written.time_stage;
      report.due = cut_due < rate_due ? cut_due : rate_due;
    end
  end

  assign rates_push_o = apply_valid_q;

  stream_fifo #(
      .Width(streams_pkg::RateReportWidth),
      .Depth(Depth)
  ) u_rates (
      .clk_i,
      .rst_ni,
      .push_i (rates_push_o),
      .data_i (report),
      .valid_o(rates_valid_o),
      .ready_i(rates_ready_i),
      .data_o (rates_o)
  );

  assign busy_o = slot_valid_q || select_valid_q || alpha_valid_q || products_valid_q ||
                  apply_valid_q;

  `CARILLON_ASSERT_STREAM(rates)
  // A slot that is not in the memory, or a register that is none, is somebody's error.
  `CARILLON_ASSERT(!take || slices_i.slot < 16'(Contexts))
  `CARILLON_ASSERT(!take || slices_i.op != streams_pkg::RateOpSetup || slices_i.slot < 16'd15)

endmodule
