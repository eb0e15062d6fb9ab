// What is known of each QP. Control changes one QP a cycle; who comes behind it in the cycle (an
// answered read, a doorbell, the arbiter) sees it changed. A queue of which nothing was written
// reads as zero.
module wqe_fetch_queues #(
    parameter  int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    // base, log2 of the size, function
    localparam int unsigned PlaceWidth = 64 + 4 + 16,
    // reset and not yet RTS again, resets modulo 16, epoch
    localparam int unsigned LifeWidth  = 1 + 4 + 8
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [  QpnWidth-1:0] ctl_qpn_i,       // QP that is changed - control
    output logic [          15:0] ctl_producer_o,  // first index not posted - control
    output logic [          15:0] ctl_fetch_o,     // first index not requested - control
    output logic [ LifeWidth-1:0] ctl_life_o,      // its life - control
    output logic                  ctl_queued_o,    // it is in line - control
    input  logic                  ctl_place_we_i,  // - control
    input  logic [PlaceWidth-1:0] ctl_place_i,     // - control
    input  logic                  ctl_producer_we_i,  // - control
    input  logic [          15:0] ctl_producer_i,     // - control
    input  logic                  ctl_fetch_we_i,     // - control
    input  logic [          15:0] ctl_fetch_i,        // - control
    input  logic                  ctl_life_we_i,      // - control
    input  logic [ LifeWidth-1:0] ctl_life_i,         // - control
    input  logic                  ctl_enqueue_i,      // it is in line from now on - control

    input  logic [  QpnWidth-1:0] end_qpn_i,       // QP of the read that ends - cut
    output logic                  end_work_o,      // not all that is posted is requested - cut
    output logic [          15:0] end_function_o,  // owner - cut
    output logic [           7:0] end_epoch_o,     // epoch - cut

    input  logic [  QpnWidth-1:0] bell_qpn_i,     // QP of the doorbell - doorbell
    output logic                  bell_work_o,    // likewise - doorbell
    output logic [          15:0] bell_fetch_o,   // first index not requested - doorbell
    output logic [           7:0] bell_epoch_o,   // epoch - doorbell
    input  logic                  bell_we_i,      // its WQE is handed on - doorbell
    input  logic [          15:0] bell_behind_i,  // where that ends - doorbell

    input  logic [  QpnWidth-1:0] turn_qpn_i,       // QP whose turn it is - arbiter
    output logic [          15:0] turn_producer_o,  // first index not posted - arbiter
    output logic [          15:0] turn_fetch_o,     // first index not requested - arbiter
    output logic [PlaceWidth-1:0] turn_place_o,     // where its queue is - arbiter
    input  logic                  turn_leaves_i,    // it is in line no more - arbiter
    input  logic                  back_we_i,        // a fetch index moves - arbiter
    input  logic [  QpnWidth-1:0] back_qpn_i,       // of this QP - arbiter
    input  logic [          15:0] back_fetch_i      // to this index - arbiter
);

  localparam int unsigned Queues = 1 << QpnWidth;

  logic [PlaceWidth-1:0] place_mem[Queues];
  logic [15:0] producer_mem[Queues];
  logic [15:0] fetch_mem[Queues];
  logic [LifeWidth-1:0] life_mem[Queues];

  // Control writes all that is known of a QP, a doorbell its indices. Who is in line or read for
  // was written by control. A QP is in line if it came in more often than it went out, modulo 2.
  logic ctl_we;
  logic ctl_known, bell_known;  // place and life
  logic ctl_moved, bell_moved;  // indices, by a doorbell
  logic ctl_in, ctl_out, turn_out;
  assign ctl_we = ctl_place_we_i || ctl_producer_we_i || ctl_fetch_we_i || ctl_life_we_i;

  wqe_fetch_bitmap #(
      .QpnWidth(QpnWidth)
  ) u_by_ctl (
      .clk_i,
      .rst_ni,
      .read_i ({bell_qpn_i, ctl_qpn_i}),
      .value_o({bell_known, ctl_known}),
      .write_i(ctl_we),
      .qpn_i  (ctl_qpn_i),
      .value_i(1'b1)
  );
  wqe_fetch_bitmap #(
      .QpnWidth(QpnWidth)
  ) u_by_bell (
      .clk_i,
      .rst_ni,
      .read_i ({bell_qpn_i, ctl_qpn_i}),
      .value_o({bell_moved, ctl_moved}),
      .write_i(bell_we_i),
      .qpn_i  (bell_qpn_i),
      .value_i(1'b1)
  );
  wqe_fetch_bitmap #(
      .QpnWidth(QpnWidth),
      .Ports   (1)
  ) u_in (
      .clk_i,
      .rst_ni,
      .read_i (ctl_qpn_i),
      .value_o(ctl_in),
      .write_i(ctl_enqueue_i),
      .qpn_i  (ctl_qpn_i),
      .value_i(!ctl_in)
  );
  wqe_fetch_bitmap #(
      .QpnWidth(QpnWidth)
  ) u_out (
      .clk_i,
      .rst_ni,
      .read_i ({turn_qpn_i, ctl_qpn_i}),
      .value_o({turn_out, ctl_out}),
      .write_i(turn_leaves_i),
      .qpn_i  (turn_qpn_i),
      .value_i(!turn_out)
  );

  // As it was before this cycle, and as control leaves it.
  logic [PlaceWidth-1:0] ctl_place_old, ctl_place;
  logic [15:0] ctl_producer, ctl_fetch;
  logic [LifeWidth-1:0] ctl_life;
  assign ctl_place_old  = ctl_known ? place_mem[ctl_qpn_i] : '0;
  assign ctl_producer_o = ctl_known || ctl_moved ? producer_mem[ctl_qpn_i] : '0;
  assign ctl_fetch_o    = ctl_known || ctl_moved ? fetch_mem[ctl_qpn_i] : '0;
  assign ctl_life_o     = ctl_known ? life_mem[ctl_qpn_i] : '0;
  assign ctl_queued_o   = ctl_in != ctl_out;
  assign ctl_place      = ctl_place_we_i ? ctl_place_i : ctl_place_old;
  assign ctl_producer   = ctl_producer_we_i ? ctl_producer_i : ctl_producer_o;
  assign ctl_fetch      = ctl_fetch_we_i ? ctl_fetch_i : ctl_fetch_o;
  assign ctl_life       = ctl_life_we_i ? ctl_life_i : ctl_life_o;

  logic [15:0] end_producer, end_fetch, bell_producer;
  logic end_ctl, bell_ctl, turn_ctl;
  assign end_ctl = ctl_we && end_qpn_i == ctl_qpn_i;
  assign bell_ctl = ctl_we && bell_qpn_i == ctl_qpn_i;
  assign turn_ctl = ctl_we && turn_qpn_i == ctl_qpn_i;

  assign end_producer = end_ctl ? ctl_producer : producer_mem[end_qpn_i];
  assign end_fetch = end_ctl ? ctl_fetch : fetch_mem[end_qpn_i];
  assign end_function_o = end_ctl ? ctl_place[15:0] : place_mem[end_qpn_i][15:0];
  assign end_epoch_o = end_ctl ? ctl_life[7:0] : life_mem[end_qpn_i][7:0];

  always_comb begin
    bell_producer = bell_known || bell_moved ? producer_mem[bell_qpn_i] : '0;
    bell_fetch_o  = bell_known || bell_moved ? fetch_mem[bell_qpn_i] : '0;
    bell_epoch_o  = bell_known ? life_mem[bell_qpn_i][7:0] : '0;
    if (bell_ctl) begin
      bell_producer = ctl_producer;
      bell_fetch_o  = ctl_fetch;
      bell_epoch_o  = ctl_life[7:0];
    end
  end

  assign turn_producer_o = turn_ctl ? ctl_producer : producer_mem[turn_qpn_i];
  assign turn_fetch_o = turn_ctl ? ctl_fetch : fetch_mem[turn_qpn_i];
  assign turn_place_o = turn_ctl ? ctl_place : place_mem[turn_qpn_i];

  assign end_work_o  = end_producer != end_fetch;
  assign bell_work_o = bell_producer != bell_fetch_o;

  // Where two write the same entry, the later one of the cycle wins.
  always_ff @(posedge clk_i) begin
    if (ctl_we) begin
      place_mem[ctl_qpn_i]    <= ctl_place;
      life_mem[ctl_qpn_i]     <= ctl_life;
      producer_mem[ctl_qpn_i] <= ctl_producer;
      fetch_mem[ctl_qpn_i]    <= ctl_fetch;
    end
    if (bell_we_i) begin
      producer_mem[bell_qpn_i] <= bell_behind_i;
      fetch_mem[bell_qpn_i]    <= bell_behind_i;
    end
    if (back_we_i) begin
      fetch_mem[back_qpn_i] <= back_fetch_i;
    end
  end

endmodule
