// QPs that stand aside because their priority is paused: of each priority those with responses and
// those with requests, in order. They come back one a cycle, the highest priority first that may
// send, responses before requests.
module tx_sched_pauses #(
    localparam int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues     = 2 ** QpnWidth,
    localparam int unsigned Priorities = 8
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [Priorities-1:0] halted_i,  // priorities that get no grants - top

    input logic                request_i,          // requests of a QP stop - top
    input logic [QpnWidth-1:0] request_qpn_i,      // of which - top
    input logic [         2:0] request_pcp_i,      // because of this priority - top
    input logic                response_i,         // responses of a QP stop - top
    input logic [QpnWidth-1:0] response_qpn_i,     // of which - top
    input logic [         2:0] response_pcp_i,     // because of this priority - top

    input  logic                wait_i,         // another QP comes back in this cycle - top
    output logic                go_request_o,   // requests of a QP come back - top
    output logic                go_response_o,  // responses do - top
    output logic [QpnWidth-1:0] go_qpn_o,       // of which QP - top
    output logic                busy_o          // somebody may come back - top
);

  // Lists: those of requests, then those of responses, one for each priority.
  localparam int unsigned Lists = 2 * Priorities;
  logic [Lists-1:0] any_q, any_next;
  logic [QpnWidth-1:0] head_q[Lists];
  logic [QpnWidth-1:0] tail_q[Lists];
  logic [QpnWidth-1:0] request_mem[Queues];   // who is behind a QP
  logic [QpnWidth-1:0] response_mem[Queues];
  // Requests that came back before their time are still in the line.
  logic [Queues-1:0] stopped_q;

  logic [Priorities-1:0] free;
  logic goes;
  assign goes = free != '0 && !wait_i;
  logic [2:0] pcp;
  logic [3:0] list;
  assign free = (any_q[0+:Priorities] | any_q[Priorities+:Priorities]) & ~halted_i;
  always_comb begin
    pcp = '0;
    for (int unsigned i = 0; i < Priorities; i++) begin
      if (free[i]) begin
        pcp = 3'(i);
      end
    end
  end
  assign go_response_o = goes && any_q[{1'b1, pcp}];
  assign go_request_o = goes && !any_q[{1'b1, pcp}];
  assign list = {go_response_o, pcp};
  assign go_qpn_o = head_q[list];
  assign busy_o = free != '0;

  // Who stops does so for a priority that is paused, so his list is not the one that somebody
  // leaves.
  logic joins;
  logic [3:0] request_list, response_list;
  assign joins = request_i && !stopped_q[request_qpn_i];
  assign request_list = {1'b0, request_pcp_i};
  assign response_list = {1'b1, response_pcp_i};
  always_comb begin
    any_next = any_q;
    if (goes && head_q[list] == tail_q[list]) begin
      any_next[list] = 1'b0;
    end
    if (joins) begin
      any_next[request_list] = 1'b1;
    end
    if (response_i) begin
      any_next[response_list] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (goes) begin
      head_q[list] <= go_response_o ? response_mem[go_qpn_o] : request_mem[go_qpn_o];
    end
    if (joins) begin
      if (any_q[request_list]) begin
        request_mem[tail_q[request_list]] <= request_qpn_i;
      end else begin
        head_q[request_list] <= request_qpn_i;
      end
      tail_q[request_list] <= request_qpn_i;
    end
    if (response_i) begin
      if (any_q[response_list]) begin
        response_mem[tail_q[response_list]] <= response_qpn_i;
      end else begin
        head_q[response_list] <= response_qpn_i;
      end
      tail_q[response_list] <= response_qpn_i;
    end
  end

  always_ff @(posedge clk_i) begin
    logic [Queues-1:0] stopped;
    stopped = stopped_q;
    if (joins) begin
      stopped = stopped | (Queues'(1) << request_qpn_i);
    end
    if (go_request_o) begin
      stopped = stopped & ~(Queues'(1) << go_qpn_o);
    end
    if (!rst_ni) begin
      stopped_q <= '0;
    end else if (joins || go_request_o) begin
      stopped_q <= stopped;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      any_q <= '0;
    end else begin
      any_q <= any_next;
    end
  end

endmodule
