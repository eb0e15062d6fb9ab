// The requester governs a send queue: progress, halt, restart, error. Combinational.
module tx_sched_control #(
    localparam int unsigned RowWidth = streams_pkg::SchedRowWidth
) (
    input  streams_pkg::control_beat_t control_i,   // the control - requester
    input  logic [RowWidth-1:0]        row_i,       // the queue - queues
    output logic [RowWidth-1:0]        row_o,       // the queue afterwards - queues
    output logic                       drops_o,     // what it holds is of an older epoch - top
    output logic                       refetches_o, // it is fetched again - top
    output logic                       enters_o     // it may have become able to send - top
);

  streams_pkg::sched_row_t row, next;
  assign row = row_i;
  assign row_o = next;

  logic restarts;
  assign restarts = control_i.kind == streams_pkg::ControlKindRestart;
  assign drops_o = !row.reset && (restarts || control_i.kind == streams_pkg::ControlKindHalt);
  assign refetches_o = !row.reset && restarts;
  assign enters_o = !row.reset && !drops_o;

  always_comb begin
    next = row;
    if (drops_o) begin
      next.epoch    = control_i.epoch;
      next.works    = '0;
      next.flushing = '0;
      next.begun    = 1'b0;
      next.offset   = '0;
      next.notes    = '0;
      next.deficit  = '0;
    end
    if (refetches_o) begin
      next.failed            = 1'b0;
      next.psn               = control_i.psn;
      next.acked             = control_i.psn;
      next.reads             = '0;
      next.since_ack_request = '0;
      next.stale_in_payload  = row.to_payload;
      next.resume            = 1'b1;
      next.resume_skip       = control_i.skip;
    end
    if (enters_o && control_i.kind == streams_pkg::ControlKindProgress) begin
      next.acked = control_i.psn;
      next.reads = row.reads < 16'(control_i.reads_done) ? '0
                                                        : row.reads - 16'(control_i.reads_done);
    end
    if (enters_o && control_i.kind == streams_pkg::ControlKindError) begin
      next.error = 1'b1;
    end
  end

endmodule
