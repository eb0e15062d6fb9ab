// By how much an event of the byte counter or the timer raises the target: not at all in the first
// F stages of both, additively, or more when both have passed them.
module dcqcn_raise (
    input logic [ 7:0] byte_stage_i,   // stages after the event - dcqcn
    input logic [ 7:0] time_stage_i,   // stages after the event - dcqcn
    input logic [ 4:0] threshold_i,    // F - dcqcn
    input logic        hyper_grows_i,  // with the stages from F on - dcqcn
    input logic [31:0] additive_i,     // this QP's slope - dcqcn
    input logic [31:0] hyper_i,        // hyper increase - dcqcn

    output logic [39:0] increase_o  // of the target - dcqcn
);

  logic [7:0] most, least, threshold;
  logic [8:0] times;  // of the growing hyper increase, at most 256

  assign threshold = 8'(threshold_i);
  assign most = byte_stage_i > time_stage_i ? byte_stage_i : time_stage_i;
  assign least = byte_stage_i > time_stage_i ? time_stage_i : byte_stage_i;

  assign times = 9'(least) - 9'(threshold) + 9'd1;

  always_comb begin
    increase_o = 40'(additive_i);
    if (most < threshold) begin
      increase_o = '0;
    end else if (hyper_grows_i && least >= threshold) begin
      increase_o = 40'(hyper_i) * 40'(times);
    end else if (!hyper_grows_i && least > threshold) begin
      increase_o = 40'(hyper_i);
    end
  end

endmodule
