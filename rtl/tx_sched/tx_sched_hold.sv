// A work request comes and is held behind those of its QP, or dropped. Combinational.
module tx_sched_hold #(
    localparam int unsigned RowWidth  = streams_pkg::SchedRowWidth,
    localparam int unsigned SlotWidth = 11
) (
    input  streams_pkg::work_beat_t work_i,      // its first beat - wqe_parser
    input  logic [13:0]             port_mtu_i,  // largest payload - settings
    input  logic [RowWidth-1:0]     row_i,       // its queue - queues
    input  logic [SlotWidth-1:0]    slot_i,      // where it is held - works
    output logic [RowWidth-1:0]     row_o,       // the queue afterwards - queues
    output logic                    holds_o,     // it is held - works
    output logic                    behind_o,    // behind another one - works
    output logic                    enters_o     // the queue may have become able to send - top
);

  streams_pkg::sched_row_t row, next;
  assign row = row_i;
  assign row_o = next;

  logic [31:0] mtu;
  assign holds_o = !work_i.drop && !row.reset && work_i.epoch == row.epoch;
  assign behind_o = row.works != '0;
  // One that is held back stays out of the line.
  assign enters_o = holds_o && !behind_o;
  assign mtu = work_i.service == contexts_pkg::QpServiceUd && work_i.mtu_code == '0
      ? 32'(port_mtu_i) : 32'd128 << work_i.mtu_code;

  always_comb begin
    next = row;
    if (holds_o) begin
      next.works      = row.works + 11'd1;
      next.tail       = slot_i;
      next.unreliable = work_i.service != contexts_pkg::QpServiceRc;
      if (!behind_o) begin
        next.head        = slot_i;
        next.function_id = work_i.function_id;
        next.begun       = 1'b0;
        next.offset      = row.resume ? 32'(row.resume_skip) * mtu : '0;
        next.deficit     = '0;
      end
      next.resume = 1'b0;
    end
  end

endmodule
