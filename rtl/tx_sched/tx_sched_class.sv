// What is to know of a send queue for the choice. Combinational.
module tx_sched_class #(
    localparam int unsigned HeadWidth  = streams_pkg::WorkBeatWidth - 512,
    localparam int unsigned ClassWidth = streams_pkg::SchedClassWidth
) (
    input  logic [streams_pkg::SchedRowWidth-1:0] row_i,       // the queue - steps
    input  logic [                 HeadWidth-1:0] head_i,      // its first work request - works
    input  logic [                          13:0] port_mtu_i,  // largest payload - settings
    input  logic [                          23:0] window_i,    // of packets - settings
    output logic [                ClassWidth-1:0] class_o      // it - turns
);

  logic [15:0] unused_mtu, unused_bytes;
  logic [3:0] unused_log;
  logic [7:0] unused_syndrome;
  logic [23:0] unused_psns;
  logic unused_message, unused_answered;
  tx_sched_head i_head (
      .row_i, .head_i, .port_mtu_i, .window_i, .class_o,
      .syndrome_o(unused_syndrome), .mtu_o(unused_mtu), .log_mtu_o(unused_log),
      .bytes_o(unused_bytes), .psns_o(unused_psns), .message_o(unused_message),
      .answered_o(unused_answered)
  );

endmodule
