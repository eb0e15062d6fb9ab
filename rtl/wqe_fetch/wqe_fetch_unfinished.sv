// WQEs of which only the first WQEBBs have arrived, at most one of a QP. In a cycle control may
// give one up, an answered read changes one, and the arbiter may give up another, in this order.
module wqe_fetch_unfinished #(
    parameter  int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    localparam int unsigned Places     = stages_pkg::WqeFetchDepth,
    localparam int unsigned PlaceWidth = $clog2(Places),
    localparam int unsigned RowWidth   = $clog2(stages_pkg::WqeFetchDepth),
    // first index, size, first row, WQEBB in it, last row
    localparam int unsigned WqeWidth   = 16 + 6 + RowWidth + 2 + RowWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                  forget_i,         // a QP's is given up - control
    input  logic [  QpnWidth-1:0] forget_qpn_i,     // which - control
    output logic                  forget_hit_o,     // there is one - rows
    output logic [PlaceWidth-1:0] forget_place_o,   // its place - rows
    output logic [           3:0] forget_wqebbs_o,  // WQEBBs of it - credits

    input  logic [  QpnWidth-1:0] end_qpn_i,      // QP of the read that ends - cut
    output logic                  begun_o,        // it has one - cut
    output logic [PlaceWidth-1:0] begun_place_o,  // its place - rows
    output logic [           3:0] begun_wqebbs_o, // WQEBBs of it - cut
    output logic [  WqeWidth-1:0] begun_wqe_o,    // what it is - cut
    input  logic                  cut_i,          // such a read ends - cut
    input  logic                  cut_ends_i,     // ... and the one begun - cut
    input  logic [           3:0] left_wqebbs_i,  // WQEBBs of the one that is left, or 0 - cut
    input  logic [  WqeWidth-1:0] left_wqe_i,     // what it is - cut
    output logic [PlaceWidth-1:0] left_place_o,   // its place - rows

    input  logic [QpnWidth-1:0] bell_qpn_i,  // the doorbell's QP - doorbell
    output logic                bell_hit_o,  // it has one - doorbell

    output logic [  QpnWidth-1:0] furthest_qpn_o,  // whose is furthest - arbiter
    input  logic [  QpnWidth-1:0] first_qpn_i,     // who is served first - arbiter
    output logic                  other_hit_o,     // somebody else has one - arbiter
    output logic [PlaceWidth-1:0] other_place_o,   // the first such place - arbiter
    output logic [  QpnWidth-1:0] other_qpn_o,     // whose - arbiter
    output logic [          15:0] other_index_o,   // where it begins - arbiter
    output logic [           3:0] other_wqebbs_o,  // WQEBBs of it - arbiter
    input  logic                  give_up_i        // it is given up - arbiter
);

  logic [QpnWidth*Places-1:0] qpn_q, qpn_cut;
  logic [4*Places-1:0] wqebbs_q, wqebbs_forget, wqebbs_cut;  // 0: the place is free
  logic [WqeWidth*Places-1:0] wqe_q, wqe_cut;

  always_comb begin
    forget_hit_o    = 1'b0;
    forget_place_o  = '0;
    forget_wqebbs_o = '0;
    begun_o         = 1'b0;
    begun_place_o   = '0;
    begun_wqebbs_o  = '0;
    begun_wqe_o     = '0;
    wqebbs_forget   = wqebbs_q;
    for (int unsigned i = 0; i < Places; i++) begin
      if (wqebbs_q[4*i+:4] != '0 && qpn_q[QpnWidth*i+:QpnWidth] == end_qpn_i) begin
        begun_o        = 1'b1;
        begun_place_o  = PlaceWidth'(i);
        begun_wqebbs_o = wqebbs_q[4*i+:4];
        begun_wqe_o    = wqe_q[WqeWidth*i+:WqeWidth];
      end
      if (forget_i && wqebbs_q[4*i+:4] != '0 && qpn_q[QpnWidth*i+:QpnWidth] == forget_qpn_i) begin
        forget_hit_o         = 1'b1;
        forget_place_o       = PlaceWidth'(i);
        forget_wqebbs_o      = wqebbs_q[4*i+:4];
        wqebbs_forget[4*i+:4] = '0;
      end
    end
  end

  // One that is left goes on where it is, or takes the first free place.
  logic goes_on;
  assign goes_on = begun_o && !cut_ends_i;
  always_comb begin
    wqebbs_cut = wqebbs_forget;
    qpn_cut    = qpn_q;
    wqe_cut    = wqe_q;
    if (cut_i && begun_o) begin
      wqebbs_cut[begun_place_o*4+:4] = '0;
    end
    left_place_o = begun_place_o;
    if (!goes_on) begin
      for (int unsigned i = Places; i > 0; i--) begin
        if (wqebbs_cut[4*(i-1)+:4] == '0) begin
          left_place_o = PlaceWidth'(i - 1);
        end
      end
    end
    if (cut_i && left_wqebbs_i != '0) begin
      wqebbs_cut[left_place_o*4+:4]               = left_wqebbs_i;
      qpn_cut[left_place_o*QpnWidth+:QpnWidth] = end_qpn_i;
      wqe_cut[left_place_o*WqeWidth+:WqeWidth] = left_wqe_i;
    end
  end

  logic [3:0] most;
  always_comb begin
    bell_hit_o     = 1'b0;
    most           = '0;
    furthest_qpn_o = '0;
    other_hit_o    = 1'b0;
    other_place_o  = '0;
    for (int unsigned i = Places; i > 0; i--) begin
      if (wqebbs_cut[4*(i-1)+:4] != '0) begin
        if (qpn_cut[QpnWidth*(i-1)+:QpnWidth] == bell_qpn_i) begin
          bell_hit_o = 1'b1;
        end
        if (wqebbs_cut[4*(i-1)+:4] >= most) begin
          most           = wqebbs_cut[4*(i-1)+:4];
          furthest_qpn_o = qpn_cut[QpnWidth*(i-1)+:QpnWidth];
        end
        if (qpn_cut[QpnWidth*(i-1)+:QpnWidth] != first_qpn_i) begin
          other_hit_o   = 1'b1;
          other_place_o = PlaceWidth'(i - 1);
        end
      end
    end
    other_qpn_o    = qpn_cut[other_place_o*QpnWidth+:QpnWidth];
    other_wqebbs_o = wqebbs_cut[other_place_o*4+:4];
    other_index_o  = wqe_cut[other_place_o*WqeWidth+WqeWidth-16+:16];
  end

  always_ff @(posedge clk_i) begin
    qpn_q <= qpn_cut;
    wqe_q <= wqe_cut;
    if (!rst_ni) begin
      wqebbs_q <= '0;
    end else begin
      wqebbs_q <= wqebbs_cut;
      if (give_up_i) begin
        wqebbs_q[other_place_o*4+:4] <= '0;
      end
    end
  end

endmodule
