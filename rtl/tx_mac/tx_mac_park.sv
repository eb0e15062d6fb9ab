// Frames put aside because their priority is paused: beats in a FIFO for each priority. A frame may
// go again from the cycle after its first beat has come, since it is read as fast as it is written.
//
// Beats count from the first one of their frame that comes until the first one goes, all at once.
module tx_mac_park #(
    parameter int unsigned Width = 8  // of a beat
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [7:0] paused_i,  // priorities that must wait - tx_mac

    input  logic [      2:0] in_priority_i,  // of a frame that comes - tx_mac
    input  logic [      6:0] in_beats_i,     // its beats - tx_mac
    input  logic             in_first_i,     // its first beat comes - tx_mac
    input  logic             in_valid_i,     // a beat comes - tx_mac
    input  logic [Width-1:0] in_beat_i,      // the beat - tx_mac
    output logic             room_o,         // there is room for the frame - tx_mac

    output logic             ready_o,      // a frame may go - tx_mac
    input  logic             out_first_i,  // its first beat goes - tx_mac
    input  logic             out_next_i,   // another beat of it goes - tx_mac
    input  logic [      6:0] out_beats_i,  // beats of the frame that begins - tx_mac
    output logic [Width-1:0] out_beat_o,   // the beat that goes - tx_mac

    output logic [7:0] crowded_o  // priorities with many beats here - tx_sched
);

  localparam int unsigned Beats = stages_pkg::TxMacParkBeats;
  localparam int unsigned Low = stages_pkg::TxMacParkLow;
  localparam int unsigned PtrWidth = $clog2(Beats);
  localparam int unsigned CountWidth = $clog2(Beats + 1);

  // Too large to be looked through by the audit of busy_o: it is written beside a transfer only.
  logic [Width-1:0] beat_store[8*Beats];
  logic [PtrWidth-1:0] write_q[8], read_q[8];
  logic [CountWidth-1:0] count_q[8];
  logic [2:0] from_q, from;
  logic [7:0] ready;

  // The highest priority that may go, for as long as a frame takes.
  always_comb begin
    from = from_q;
    for (int unsigned i = 0; i < 8; i++) begin
      ready[i] = count_q[i] != '0 && !paused_i[i];
      crowded_o[i] = count_q[i] > CountWidth'(Low);
      if (!out_next_i && ready[i]) begin
        from = 3'(i);
      end
    end
  end

  assign ready_o = ready != '0;
  assign room_o = count_q[in_priority_i] + CountWidth'(in_beats_i) <= CountWidth'(Beats);
  assign out_beat_o = beat_store[{from, read_q[from]}];

  always_ff @(posedge clk_i) begin
    if (in_valid_i) begin
      beat_store[{in_priority_i, write_q[in_priority_i]}] <= in_beat_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < 8; i++) begin
        write_q[i] <= '0;
        read_q[i] <= '0;
        count_q[i] <= '0;
      end
      from_q <= '0;
    end else begin
      for (int unsigned i = 0; i < 8; i++) begin
        count_q[i] <= count_q[i] +
            (in_first_i && in_priority_i == 3'(i) ? CountWidth'(in_beats_i) : '0) -
            (out_first_i && from == 3'(i) ? CountWidth'(out_beats_i) : '0);
      end
      if (in_valid_i) begin
        write_q[in_priority_i] <= write_q[in_priority_i] + 1'b1;
      end
      if (out_first_i || out_next_i) begin
        read_q[from] <= read_q[from] + 1'b1;
        from_q <= from;
      end
    end
  end

endmodule
