// The QP after a slice, from the QP before it and the products.
module dcqcn_apply (
    input streams_pkg::rate_settings_t settings_i,  // the shared registers - dcqcn
    input streams_pkg::rate_context_t  qp_i,        // the QP as it was - dcqcn
    input streams_pkg::rate_request_t  slice_i,     // the slice - dcqcn
    input logic        alpha_expires_i,             // alpha's timer takes it - dcqcn
    input logic        cut_expires_i,               // the cut's does - dcqcn
    input logic        rate_expires_i,              // the rate's does - dcqcn
    input logic [47:0] at_i,                        // when what happens happens - dcqcn
    input logic [31:0] current_i,                   // rate, after what a first CNP sets - dcqcn
    input logic [31:0] target_i,                    // target, likewise - dcqcn
    input logic [23:0] alpha_i,                     // alpha, likewise - dcqcn
    input logic [23:0] risen_i,                     // alpha with CNPs - dcqcn
    input logic [23:0] decayed_i,                   // alpha without - dcqcn
    input logic        first_i,                     // a CNP of a QP at the highest rate - dcqcn
    input logic [31:0] period_i,                    // of the rate's timer - dcqcn
    input logic [31:0] left_i,                      // of a cut - dcqcn
    input logic [31:0] least_i,                     // of a cut - dcqcn
    input logic [31:0] step_i,                      // towards the target - dcqcn
    input logic        byte_event_i,                // the byte counter is full - dcqcn
    input logic [32:0] bytes_i,                     // in it - dcqcn
    input logic [ 7:0] byte_stage_i,                // after its event - dcqcn
    input logic [ 7:0] time_stage_i,                // after the timer's event - dcqcn
    input logic [39:0] increase_i,                  // of the target by an event - dcqcn

    output streams_pkg::rate_context_t qp_o  // the QP as it will be - dcqcn
);

  streams_pkg::rate_options_t options;
  logic paper, vendor, sliced;
  logic sends, notified, cuts, raises;
  logic [31:0] slope, cut_rate, ended, raised;
  logic [40:0] target_sum;
  logic [31:0] target;
  logic [32:0] mean;  // twice
  logic [32:0] stepped;
  logic [32:0] over;
  logic [31:0] way, kept, below, written;
  logic released;

  assign options = settings_i.options;
  assign paper = options.mode == streams_pkg::DcqcnModePaper;
  assign vendor = options.mode == streams_pkg::DcqcnModeVendor;
  assign sliced = options.mode == streams_pkg::DcqcnModeDescription;

  logic happens;
  assign happens = !alpha_expires_i && !cut_expires_i && !rate_expires_i;
  assign sends = happens && slice_i.op == streams_pkg::RateOpSent && qp_i.limited && !sliced &&
                 settings_i.byte_reset != '0;
  assign notified = happens && slice_i.op == streams_pkg::RateOpCnp;
  assign cuts = cut_expires_i ||
                (notified && !sliced && !(vendor && settings_i.reduce_period != '0));
  assign raises = (rate_expires_i && !sliced) || (sends && byte_event_i);

  // Rates
  // ----------------------------------------------------------------------------------------------
  assign slope = qp_i.slope != '0 ? qp_i.slope : settings_i.additive;
  assign kept = left_i > least_i ? left_i : least_i;
  assign cut_rate = kept > settings_i.min_rate ? kept : settings_i.min_rate;
  assign below = slice_i.value < settings_i.max_rate ? slice_i.value : settings_i.max_rate;
  assign written = below > settings_i.min_rate ? below : settings_i.min_rate;

  // The description's slice: a cut, a share of the way, or a step.
  assign way = step_i != '0 ? step_i : 32'd1;
  assign stepped = qp_i.current < qp_i.target ? 33'(qp_i.current) + 33'(way)
                                              : 33'(qp_i.current) + 33'(slope);
  assign ended = qp_i.pending ? cut_rate
               : stepped > 33'(settings_i.max_rate) ? settings_i.max_rate
                                                    : stepped[31:0];

  // An increase: the target up, the rate half the way to it.
  assign target_sum = 41'(qp_i.target) + 41'(increase_i);
  assign target = target_sum[40:32] != '0 ? '1 : target_sum[31:0];
  assign mean = 33'(target) + 33'(qp_i.current) + 33'd1;
  assign raised = mean[32:1] < settings_i.max_rate ? mean[32:1] : settings_i.max_rate;
  assign released = raised == settings_i.max_rate && !qp_i.pending;

  assign over = bytes_i - 33'(settings_i.byte_reset);

  // The QP
  // ----------------------------------------------------------------------------------------------
  logic starts_alpha;

  always_comb begin
    qp_o = qp_i;
    qp_o.current = current_i;
    qp_o.target = target_i;
    qp_o.alpha = alpha_i;
    starts_alpha = 1'b0;

    if (alpha_expires_i) begin
      qp_o.alpha = qp_i.notified ? risen_i : decayed_i;
      qp_o.notified = 1'b0;
      qp_o.alpha_runs = qp_o.alpha != '0;
      qp_o.alpha_at = qp_i.alpha_at + 48'(settings_i.alpha_period);
    end

    if (notified) begin
      if (sliced) begin
        qp_o.pending = 1'b1;
        if (!qp_i.limited && !qp_i.pending) begin
          qp_o.rate_at = at_i + 48'(period_i);
        end
      end else if (vendor) begin
        qp_o.notified = !first_i;
        starts_alpha = first_i || !qp_i.alpha_runs;
        if (settings_i.reduce_period != '0) begin
          qp_o.pending = 1'b1;
          if (!qp_i.pending && qp_i.cut_at <= at_i) begin
            qp_o.cut_at = at_i + 48'(settings_i.reduce_period);
          end
        end
      end
    end

    if (rate_expires_i) begin
      qp_o.rate_at = qp_i.rate_at + 48'(period_i);
      if (sliced) begin
        qp_o.current = ended;
        qp_o.pending = 1'b0;
        qp_o.limited = ended < settings_i.max_rate;
      end else begin
        qp_o.time_stage = time_stage_i;
      end
    end

    if (sends) begin
      qp_o.sent = bytes_i[31:0];
      if (byte_event_i) begin
        qp_o.byte_stage = byte_stage_i;
        qp_o.sent = over < 33'(settings_i.byte_reset) ? over[31:0] : settings_i.byte_reset - 32'd1;
      end
    end

    if (raises) begin
      qp_o.target = target;
      qp_o.current = raised;
      if (released) begin
        qp_o.limited = 1'b0;
        qp_o.target = settings_i.max_rate;
        qp_o.sent = '0;
        qp_o.alpha_runs = qp_i.alpha_runs && !vendor;
      end
    end

    if (cuts) begin
      if (options.clamp_target || qp_i.byte_stage != '0 ||
          (options.clamp_after_time && qp_i.time_stage != '0)) begin
        qp_o.target = current_i;
        qp_o.sent = '0;
      end
      if (paper) begin
        qp_o.alpha = risen_i;
        starts_alpha = 1'b1;
      end
      qp_o.current = cut_rate;
      qp_o.byte_stage = '0;
      qp_o.time_stage = '0;
      qp_o.pending = 1'b0;
      qp_o.limited = cut_rate < settings_i.max_rate;
      qp_o.rate_at = at_i + 48'(period_i);
      qp_o.cut_at = at_i + 48'(settings_i.reduce_period);
    end

    if (starts_alpha) begin
      qp_o.alpha_runs = settings_i.alpha_period != '0;
      qp_o.alpha_at = at_i + 48'(settings_i.alpha_period);
    end

    if (happens) begin
      case (slice_i.op)
        streams_pkg::RateOpStart: begin
          qp_o = '0;
          qp_o.current = settings_i.max_rate;
          qp_o.target = settings_i.max_rate;
          qp_o.alpha = settings_i.alpha;
        end
        streams_pkg::RateOpCurrent: begin
          qp_o.current = written;
          qp_o.limited = written < settings_i.max_rate;
          if (!qp_i.limited) begin
            qp_o.rate_at = at_i + 48'(period_i);
          end
        end
        streams_pkg::RateOpTarget: qp_o.target = slice_i.value;
        streams_pkg::RateOpSlope: qp_o.slope = slice_i.value;
        streams_pkg::RateOpTimer: begin
          qp_o.timer_us = slice_i.value[15:0];
          qp_o.rate_at = at_i + 48'(period_i);
        end
        default: ;
      endcase
    end
  end

endmodule
