// A command changes the state of a QP. Combinational.
module tx_sched_command #(
    localparam int unsigned RowWidth = streams_pkg::SchedRowWidth
) (
    input  streams_pkg::sched_command_t command_i,  // the command - pcie_endpoint
    input  logic [RowWidth-1:0]         row_i,      // the queue - queues
    output logic [RowWidth-1:0]         row_o,      // the queue afterwards - queues
    output logic                        resets_o,   // all of it is forgotten - top
    output logic                        enters_o    // it may have become able to send - top
);

  streams_pkg::sched_row_t row, next;
  contexts_pkg::qpc_requester_t line;
  logic reliable;
  logic [7:0] lives;
  assign row = row_i;
  assign row_o = next;
  assign line = command_i.requester;
  assign reliable = command_i.service == contexts_pkg::QpServiceRc;
  assign lives = row.lives + 8'd1;

  always_comb begin
    next          = row;
    next.ipv6     = command_i.ipv6;
    next.has_vlan = command_i.has_vlan;
    next.pcp      = command_i.pcp;
    resets_o      = 1'b0;
    enters_o      = 1'b0;
    case (command_i.state)
      contexts_pkg::QpStateRts: begin
        enters_o         = 1'b1;
        next.draining    = 1'b0;
        next.mark_wanted = row.mark_wanted && !row.draining;
        next.max_reads   = 8'd1 << line.log_sra_max;
        next.unreliable  = !reliable;
        next.reset       = 1'b0;
        if (!row.ready) begin
          next.ready             = 1'b1;
          next.psn               = command_i.send_psn;
          next.acked             = command_i.send_psn;
          next.reads             = '0;
          next.since_ack_request = '0;
          next.begun_to          = '0;
          next.resume            = 1'b0;
        end else if (!reliable && (row.error || row.failed)) begin
          // From SQER: what was posted before goes its way, flushed.
          next.flushing = row.works;
        end
        // Only a reset ends an error of a reliable one.
        if (!row.ready || !reliable) begin
          next.error  = 1'b0;
          next.failed = 1'b0;
        end
      end
      contexts_pkg::QpStateSqd: begin
        enters_o         = 1'b1;
        next.draining    = 1'b1;
        next.mark_wanted = row.mark_wanted || !row.draining;
      end
      contexts_pkg::QpStateErr: begin
        enters_o   = 1'b1;
        next.error = 1'b1;
        next.reset = 1'b0;  // what comes is flushed, not dropped
      end
      contexts_pkg::QpStateReset: begin
        resets_o              = 1'b1;
        next.works            = '0;
        next.flushing         = '0;
        next.begun            = 1'b0;
        next.offset           = '0;
        next.notes            = '0;
        next.lives            = lives;
        next.epoch            = {lives[3:0], 4'b0};  // a life's epochs begin at 16 times its number
        next.error            = 1'b0;
        next.failed           = 1'b0;
        next.draining         = 1'b0;
        next.mark_wanted      = 1'b0;
        next.resume           = 1'b0;
        next.invalidates      = 1'b0;
        next.ready            = 1'b0;
        next.reset            = 1'b1;
        next.deficit          = '0;
        next.stale_in_payload = row.to_payload;
      end
      contexts_pkg::QpStateRtr: begin
        next.reset = 1'b0;  // it does not send yet, but it answers
      end
      default: begin
      end
    endcase
  end

endmodule
