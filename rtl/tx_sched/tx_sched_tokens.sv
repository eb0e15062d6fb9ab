// Tokens of so many bytes on the wire. A byte is 1000 * 2^24, so that a rate of bytes a nanosecond
// with 24 bits behind the point adds a whole number each picosecond: the model's token_bucket.
// Combinational.
module tx_sched_tokens #(
    parameter int unsigned Width = 50
) (
    input  logic [     15:0] bytes_i,  // on the wire - buckets
    output logic [Width-1:0] tokens_o  // them - buckets
);

  localparam int unsigned Fraction = 24;
  localparam logic [9:0] Parts = 10'd1000;
  assign tokens_o = Width'(26'(bytes_i) * 26'(Parts)) << Fraction;

endmodule
