// What the first work request of a send queue needs next, and what keeps it from it. The model's
// sched_queue::hold and held_work. Combinational.
module tx_sched_head #(
    localparam int unsigned HeadWidth  = streams_pkg::WorkBeatWidth - 512,
    localparam int unsigned ClassWidth = streams_pkg::SchedClassWidth
) (
    input  logic [streams_pkg::SchedRowWidth-1:0] row_i,       // the queue - queues
    input  logic [                 HeadWidth-1:0] head_i,      // its first work request - works
    input logic [ 13:0] port_mtu_i,  // largest payload, a power of two - settings
    input logic [ 23:0] window_i,  // packets without acknowledge - settings
    output logic [                ClassWidth-1:0] class_o,     // for the choice - turns
    output logic [                           7:0] syndrome_o,  // with which it fails, or 0 - grant
    output logic [                          15:0] mtu_o,       // bytes of payload a packet - grant
    output logic [                           3:0] log_mtu_o,   // its logarithm - grant
    output logic [                          15:0] bytes_o,     // payload of its next packet - grant
    output logic [                          23:0] psns_o,      // PSNs that that takes - grant
    output logic                                  message_o,   // SEND, WRITE - grant
    output logic                                  answered_o   // READ, atomic - grant
);

  streams_pkg::sched_row_t row;
  streams_pkg::work_beat_t work;
  streams_pkg::sched_class_t choice;
  assign row = row_i;
  assign work = {head_i, 512'b0};
  assign class_o = choice;

  logic silent, reads, atomic, datagram;
  assign silent = work.opcode == wqe_pkg::WqeOpcodeNop ||
                  work.opcode == wqe_pkg::WqeOpcodeLocalInvalidate;
  assign reads = work.opcode == wqe_pkg::WqeOpcodeRdmaRead;
  assign atomic = work.opcode == wqe_pkg::WqeOpcodeAtomicCompareSwap ||
                  work.opcode == wqe_pkg::WqeOpcodeAtomicFetchAdd;
  assign datagram = work.service == contexts_pkg::QpServiceUd;
  assign answered_o = reads || atomic;
  assign message_o = !silent && !answered_o;

  // A UD queue needs no path MTU of its own.
  always_comb begin
    log_mtu_o = 4'd7 + 4'(work.mtu_code);
    if (datagram && work.mtu_code == '0) begin
      for (int unsigned i = 0; i < 14; i++) begin
        if (port_mtu_i[i]) begin
          log_mtu_o = 4'(i);
        end
      end
    end
  end
  assign mtu_o = 16'd1 << log_mtu_o;

  logic [31:0] rest, packets;
  assign rest = work.length - row.offset;
  assign packets = rest == '0 ? 32'd1 : ((rest - 32'd1) >> log_mtu_o) + 32'd1;
  assign bytes_o = !message_o ? '0 : rest < 32'(mtu_o) ? rest[15:0] : mtu_o;
  assign psns_o = reads ? packets[23:0] : silent ? '0 : 24'd1;

  always_comb begin
    syndrome_o = work.syndrome;
    if (syndrome_o == '0 && datagram && work.length > 32'(mtu_o)) begin
      syndrome_o = wqe_pkg::CqeSyndromeLocalLength;
    end
    if (row.flushing != '0) begin
      syndrome_o = wqe_pkg::CqeSyndromeWrFlushed;
    end
  end

  logic [23:0] outstanding;
  logic [24:0] reach;
  logic [2:0] fence;
  logic [15:0] ahead;
  logic drains, waits;
  assign outstanding = row.psn - row.acked;
  assign reach = 25'(outstanding) + 25'(psns_o);
  assign fence = work.fm_ce_se[7:5];
  assign ahead = work.wqe_index - row.begun_to;
  // What had begun before SQD and comes again goes on.
  assign drains = !row.begun && row.draining && !ahead[15];
  always_comb begin
    waits = 1'b0;
    if (!row.unreliable) begin
      if (!row.begun) begin
        if ((fence == wqe_pkg::FenceModeFence || fence == wqe_pkg::FenceModeSmallAndFence) &&
            row.reads != '0) begin
          waits = 1'b1;
        end
        if (fence == wqe_pkg::FenceModeStrongOrdering &&
            (row.reads != '0 || outstanding != '0)) begin
          waits = 1'b1;
        end
        if (answered_o && row.reads >= 16'(row.max_reads)) begin
          waits = 1'b1;
        end
      end
      // PSNs in flight are compared within half of their space, whatever the length of a READ.
      if (psns_o != '0 && (outstanding >= window_i ||
                           (outstanding != '0 &&
                            (reach >= 25'h800000 || packets[31:24] != '0)))) begin
        waits = 1'b1;
      end
    end
  end

  assign choice.fails = row.error || row.failed || (syndrome_o != '0 && !drains);
  assign choice.held = drains || waits;
  assign choice.silent = silent;
  assign choice.invalidates = work.opcode == wqe_pkg::WqeOpcodeLocalInvalidate;
  assign choice.fetched = bytes_o != '0 && !work.is_inline;
  assign choice.overtakes = row.to_payload != row.left_payload;
  assign choice.reliable = !row.unreliable;

endmodule
