// What alpha becomes with and without CNPs. Products are truncated.
module dcqcn_alpha (
    input  logic [23:0] alpha_i,       // alpha - dcqcn
    input  logic [23:0] gain_rise_i,   // weight of 1 - dcqcn
    input  logic [23:0] gain_decay_i,  // weight of 0 - dcqcn
    output logic [23:0] risen_o,       // with CNPs - dcqcn
    output logic [23:0] decayed_o      // without - dcqcn
);

  localparam logic [24:0] One = 25'h1000000;

  logic [24:0] rise_rest, decay_rest;
  // Alpha is less than 1, and so are its products: their bits of 1 and above are zero.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [48:0] rise, decay;
  /* verilator lint_on UNUSEDSIGNAL */

  assign rise_rest = One - 25'(gain_rise_i);
  assign decay_rest = One - 25'(gain_decay_i);
  assign rise = 49'(alpha_i) * 49'(rise_rest);
  assign decay = 49'(alpha_i) * 49'(decay_rest);
  assign risen_o = rise[47:24] + gain_rise_i;
  assign decayed_o = decay[47:24];

endmodule
