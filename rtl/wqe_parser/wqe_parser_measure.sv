// Sums up the data segments of a WQE, or its inline segment, as its beats come in. They begin at
// unit start_i, in the first beat or in the second. The results are those of all beats so far, the
// present one included; they count with the last.
module wqe_parser_measure (
    input  logic                 clk_i,        // core clock
    input  logic                 take_i,       // a beat is taken - receive
    input  logic                 first_i,      // it is the first of its WQE - receive
    input  logic [3:0]           beat_i,       // which it is - receive
    input  logic [5:0]           ds_i,         // units of the whole WQE - receive
    input  logic [2:0]           start_i,      // first unit of the data - receive
    input  logic [511:0]         data_i,       // the beat - receive
    output logic                 fits_o,       // the segments make sense - receive
    output logic                 is_inline_o,  // the data are inline - receive
    output logic [4:0]           sge_count_o,  // pointers - receive
    output logic [35:0]          length_o      // bytes of all of them - receive
);

  wqe_pkg::data_seg_t unit0, unit1, unit2, unit3;  // if they are data segments
  logic [3:0] unit_inline;
  logic [4*31-1:0] unit_bytes;
  assign {unit0, unit1, unit2, unit3} = data_i;
  assign unit_inline = {unit3.inline_flag, unit2.inline_flag, unit1.inline_flag, unit0.inline_flag};
  assign unit_bytes = {unit3.byte_count, unit2.byte_count, unit1.byte_count, unit0.byte_count};

  // If the data begin in this beat.
  logic starts, inline_now;
  logic [9:0] inline_bytes;
  assign starts = beat_i == {3'b0, start_i[2]} && ds_i > {3'b0, start_i};
  assign inline_now = starts && unit_inline[start_i[1:0]];
  assign inline_bytes = unit_bytes[31 * start_i[1:0] +: 10];

  // Sums of this beat's pointers.
  logic [35:0] beat_length;
  logic beat_mixed;
  always_comb begin
    beat_length = '0;
    beat_mixed  = 1'b0;
    for (int unsigned i = 0; i < 4; i++) begin
      if ({beat_i, 2'(i)} >= {3'b0, start_i} && {beat_i, 2'(i)} < ds_i) begin
        beat_length = beat_length + 36'(unit_bytes[31 * i +: 31]);
        beat_mixed  = beat_mixed | unit_inline[i];
      end
    end
  end

  logic is_inline_q, is_inline, mixed_q, mixed;
  logic [35:0] length_q, length;
  always_comb begin
    is_inline = inline_now || (!first_i && is_inline_q);
    mixed     = beat_mixed || (!first_i && mixed_q);
    length    = first_i ? '0 : length_q;
    if (inline_now) begin
      length = 36'(inline_bytes);
    end else if (!is_inline) begin
      length = length + beat_length;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i) begin
      is_inline_q <= is_inline;
      mixed_q     <= mixed;
      length_q    <= length;
    end
  end

  // An inline segment has a header of 4 bytes and fills the rest of the WQE.
  logic [5:0] units;
  logic [6:0] inline_units;
  assign units = ds_i - {3'b0, start_i};
  assign inline_units = 7'((11'(length[9:0]) + 11'd19) >> 4);

  assign fits_o = ds_i >= {3'b0, start_i} &&
                  (is_inline ? inline_units == 7'(units)
                             : units <= 6'(stages_pkg::WqeParserMaxSge) && !mixed);
  assign is_inline_o = is_inline;
  assign sge_count_o = is_inline ? '0 : 5'(units);
  assign length_o = length;

endmodule
