// The send queues: a row each, read as the steps before in the cycle have left it. One that was
// never written is as after power-on.
module tx_sched_rows #(
    localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues   = 2 ** QpnWidth,
    localparam int unsigned RowWidth = streams_pkg::SchedRowWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [QpnWidth-1:0] command_qpn_i, // QP of a command - steps
    output logic [RowWidth-1:0] command_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] control_qpn_i, // QP of a control - steps
    output logic [RowWidth-1:0] control_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] left_qpn_i, // QP of a packet that has left payload_dma - steps
    output logic [RowWidth-1:0] left_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] hold_qpn_i, // QP of a work request - steps
    output logic [RowWidth-1:0] hold_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] mark_qpn_i, // QP of a mark - steps
    output logic [RowWidth-1:0] mark_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] note_qpn_i, // QP of a held note - steps
    output logic [RowWidth-1:0] note_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] grant_qpn_i, // QP of the grant - steps
    output logic [RowWidth-1:0] grant_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] admit_qpn_i, // QP of who finds a place - steps
    output logic [RowWidth-1:0] admit_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] answer_qpn_i, // QP of a granted response - steps
    output logic [RowWidth-1:0] answer_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] take_qpn_i, // QP of a response that comes - steps
    output logic [RowWidth-1:0] take_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] line_qpn_i, // QP of the first in line for an acknowledge - steps
    output logic [RowWidth-1:0] line_row_o, // its row then - steps
    input  logic [QpnWidth-1:0] go_qpn_i, // QP that comes back - steps
    output logic [RowWidth-1:0] go_row_o, // its row then - steps
    input  logic                command_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] command_next_i, // what - steps
    input  logic                control_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] control_next_i, // what - steps
    input  logic                left_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] left_next_i, // what - steps
    input  logic                hold_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] hold_next_i, // what - steps
    input  logic                mark_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] mark_next_i, // what - steps
    input  logic                note_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] note_next_i, // what - steps
    input  logic                grant_i,     // that step writes it - steps
    input  logic [RowWidth-1:0] grant_next_i  // what - steps
);

  logic [RowWidth-1:0] row_mem[Queues];
  logic [Queues-1:0] known_q;

  streams_pkg::sched_row_t initial_row;
  always_comb begin
    initial_row           = '0;
    initial_row.max_reads = 8'd1;
  end

  assign command_row_o = known_q[command_qpn_i] ? row_mem[command_qpn_i] : initial_row;
  always_comb begin
    control_row_o = known_q[control_qpn_i] ? row_mem[control_qpn_i] : initial_row;
    if (command_i && command_qpn_i == control_qpn_i) control_row_o = command_next_i;
  end
  always_comb begin
    left_row_o = known_q[left_qpn_i] ? row_mem[left_qpn_i] : initial_row;
    if (command_i && command_qpn_i == left_qpn_i) left_row_o = command_next_i;
    if (control_i && control_qpn_i == left_qpn_i) left_row_o = control_next_i;
  end
  always_comb begin
    hold_row_o = known_q[hold_qpn_i] ? row_mem[hold_qpn_i] : initial_row;
    if (command_i && command_qpn_i == hold_qpn_i) hold_row_o = command_next_i;
    if (control_i && control_qpn_i == hold_qpn_i) hold_row_o = control_next_i;
    if (left_i && left_qpn_i == hold_qpn_i) hold_row_o = left_next_i;
  end
  always_comb begin
    mark_row_o = known_q[mark_qpn_i] ? row_mem[mark_qpn_i] : initial_row;
    if (command_i && command_qpn_i == mark_qpn_i) mark_row_o = command_next_i;
    if (control_i && control_qpn_i == mark_qpn_i) mark_row_o = control_next_i;
    if (left_i && left_qpn_i == mark_qpn_i) mark_row_o = left_next_i;
    if (hold_i && hold_qpn_i == mark_qpn_i) mark_row_o = hold_next_i;
  end
  always_comb begin
    note_row_o = known_q[note_qpn_i] ? row_mem[note_qpn_i] : initial_row;
    if (command_i && command_qpn_i == note_qpn_i) note_row_o = command_next_i;
    if (control_i && control_qpn_i == note_qpn_i) note_row_o = control_next_i;
    if (left_i && left_qpn_i == note_qpn_i) note_row_o = left_next_i;
    if (hold_i && hold_qpn_i == note_qpn_i) note_row_o = hold_next_i;
    if (mark_i && mark_qpn_i == note_qpn_i) note_row_o = mark_next_i;
  end
  always_comb begin
    grant_row_o = known_q[grant_qpn_i] ? row_mem[grant_qpn_i] : initial_row;
    if (command_i && command_qpn_i == grant_qpn_i) grant_row_o = command_next_i;
    if (control_i && control_qpn_i == grant_qpn_i) grant_row_o = control_next_i;
    if (left_i && left_qpn_i == grant_qpn_i) grant_row_o = left_next_i;
    if (hold_i && hold_qpn_i == grant_qpn_i) grant_row_o = hold_next_i;
    if (mark_i && mark_qpn_i == grant_qpn_i) grant_row_o = mark_next_i;
    if (note_i && note_qpn_i == grant_qpn_i) grant_row_o = note_next_i;
  end
  always_comb begin
    admit_row_o = known_q[admit_qpn_i] ? row_mem[admit_qpn_i] : initial_row;
    if (command_i && command_qpn_i == admit_qpn_i) admit_row_o = command_next_i;
    if (control_i && control_qpn_i == admit_qpn_i) admit_row_o = control_next_i;
    if (left_i && left_qpn_i == admit_qpn_i) admit_row_o = left_next_i;
    if (hold_i && hold_qpn_i == admit_qpn_i) admit_row_o = hold_next_i;
    if (mark_i && mark_qpn_i == admit_qpn_i) admit_row_o = mark_next_i;
    if (note_i && note_qpn_i == admit_qpn_i) admit_row_o = note_next_i;
    if (grant_i && grant_qpn_i == admit_qpn_i) admit_row_o = grant_next_i;
  end
  always_comb begin
    answer_row_o = known_q[answer_qpn_i] ? row_mem[answer_qpn_i] : initial_row;
    if (command_i && command_qpn_i == answer_qpn_i) answer_row_o = command_next_i;
  end
  always_comb begin
    take_row_o = known_q[take_qpn_i] ? row_mem[take_qpn_i] : initial_row;
    if (command_i && command_qpn_i == take_qpn_i) take_row_o = command_next_i;
  end
  always_comb begin
    line_row_o = known_q[line_qpn_i] ? row_mem[line_qpn_i] : initial_row;
    if (command_i && command_qpn_i == line_qpn_i) line_row_o = command_next_i;
  end
  always_comb begin
    go_row_o = known_q[go_qpn_i] ? row_mem[go_qpn_i] : initial_row;
    if (command_i && command_qpn_i == go_qpn_i) go_row_o = command_next_i;
    if (control_i && control_qpn_i == go_qpn_i) go_row_o = control_next_i;
    if (left_i && left_qpn_i == go_qpn_i) go_row_o = left_next_i;
    if (hold_i && hold_qpn_i == go_qpn_i) go_row_o = hold_next_i;
    if (mark_i && mark_qpn_i == go_qpn_i) go_row_o = mark_next_i;
    if (note_i && note_qpn_i == go_qpn_i) go_row_o = note_next_i;
    if (grant_i && grant_qpn_i == go_qpn_i) go_row_o = grant_next_i;
  end

  // Of one QP's rows the last counts.
  always_ff @(posedge clk_i) begin
    if (command_i) row_mem[command_qpn_i] <= command_next_i;
    if (control_i) row_mem[control_qpn_i] <= control_next_i;
    if (left_i) row_mem[left_qpn_i] <= left_next_i;
    if (hold_i) row_mem[hold_qpn_i] <= hold_next_i;
    if (mark_i) row_mem[mark_qpn_i] <= mark_next_i;
    if (note_i) row_mem[note_qpn_i] <= note_next_i;
    if (grant_i) row_mem[grant_qpn_i] <= grant_next_i;
  end

  always_ff @(posedge clk_i) begin
    logic [Queues-1:0] known;
    known = known_q;
    if (command_i) known = known | (Queues'(1) << command_qpn_i);
    if (control_i) known = known | (Queues'(1) << control_qpn_i);
    if (left_i) known = known | (Queues'(1) << left_qpn_i);
    if (hold_i) known = known | (Queues'(1) << hold_qpn_i);
    if (mark_i) known = known | (Queues'(1) << mark_qpn_i);
    if (note_i) known = known | (Queues'(1) << note_qpn_i);
    if (grant_i) known = known | (Queues'(1) << grant_qpn_i);
    if (!rst_ni) begin
      known_q <= '0;
    end else if (command_i || control_i || left_i || hold_i || mark_i || note_i || grant_i) begin
      known_q <= known;
    end
  end

endmodule
