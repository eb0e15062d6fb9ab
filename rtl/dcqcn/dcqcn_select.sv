// What a slice does: the timer that expired first, or else what happened. Of timers that expired at
// the same time alpha's goes first, then the cut's, then the rate's.
module dcqcn_select (
    input streams_pkg::rate_settings_t settings_i,  // the shared registers - dcqcn
    input streams_pkg::rate_context_t  qp_i,        // the QP as it is - dcqcn
    input streams_pkg::rate_request_t  slice_i,     // the slice - dcqcn

    output logic        alpha_expires_o,  // alpha's timer takes the slice - dcqcn
    output logic        cut_expires_o,    // the cut's does - dcqcn
    output logic        rate_expires_o,   // the rate's does - dcqcn
    output logic [47:0] at_o              // when what happens happens - dcqcn
);

  localparam logic [47:0] Never = '1;

  streams_pkg::rate_options_t options;
  logic sliced, rate_runs, any;
  logic [47:0] alpha_due, cut_due, rate_due, first;

  assign options = settings_i.options;
  assign sliced = options.mode == streams_pkg::DcqcnModeDescription;
  assign rate_runs = (qp_i.limited || (sliced && qp_i.pending)) &&
                     (qp_i.timer_us != '0 || settings_i.rate_period != '0);

  assign alpha_due = qp_i.alpha_runs ? qp_i.alpha_at : Never;
  assign cut_due = qp_i.pending && !sliced ? qp_i.cut_at : Never;
  assign rate_due = rate_runs ? qp_i.rate_at : Never;

  always_comb begin
    first = alpha_due;
    if (cut_due < first) begin
      first = cut_due;
    end
    if (rate_due < first) begin
      first = rate_due;
    end
  end

  assign any = first <= slice_i.now && first != Never && slice_i.op != streams_pkg::RateOpStart &&
               slice_i.op != streams_pkg::RateOpSetup;
  assign alpha_expires_o = any && alpha_due == first;
  assign cut_expires_o = any && alpha_due != first && cut_due == first;
  assign rate_expires_o = any && alpha_due != first && cut_due != first;
  assign at_o = any ? first : slice_i.now;

endmodule
