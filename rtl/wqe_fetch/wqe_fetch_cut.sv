// Cuts the WQEBBs of an answered read into WQEs, behind those of an unfinished WQE. A WQE's size is
// what its control segment says, but it ends where nothing follows; a WQEBB that could not be read
// ends one.
module wqe_fetch_cut #(
    localparam int unsigned Wqebbs = stages_pkg::WqeFetchGrantWqebbs
) (
    input  logic [         2:0] wqebbs_i,           // how many there are - reads
    input  logic [6*Wqebbs-1:0] sizes_i,            // of WQEs that begin with them - reads
    input  logic                failed_i,           // they could not be read - reads
    input  logic                nothing_follows_i,  // no more are posted - queues
    input  logic                begun_i,            // there is an unfinished WQE - unfinished
    input  logic [         3:0] begun_wqebbs_i,     // of so many - unfinished
    input  logic [         5:0] begun_size_i,       // its size - unfinished
    output logic [  Wqebbs-1:0] ends_o,             // a WQE ends with this WQEBB - leave
    output logic [         3:0] left_wqebbs_o,      // of the WQE that is left - unfinished
    output logic [         5:0] left_size_o,        // its size - unfinished
    output logic [         1:0] left_at_o           // where it begins, if here - unfinished
);

  // A WQE has at least one WQEBB.
  function automatic logic [4:0] wqebbs_of(input logic [5:0] size);
    wqebbs_of = size == '0 ? 5'd1 : 5'((7'(size) + 7'd3) >> 2);
  endfunction

  logic [4:0] count;
  always_comb begin
    count       = begun_i ? 5'(begun_wqebbs_i) : '0;
    left_size_o = begun_size_i;
    left_at_o   = '0;
    ends_o      = '0;
    for (int unsigned i = 0; i < Wqebbs; i++) begin
      if (3'(i) < wqebbs_i) begin
        if (count == '0) begin
          left_size_o = sizes_i[6*i+:6];
          left_at_o   = 2'(i);
        end
        count = count + 5'd1;
        if (failed_i || count >= wqebbs_of(left_size_o) ||
            (nothing_follows_i && 3'(i) + 3'd1 == wqebbs_i)) begin
          ends_o[i] = 1'b1;
          count     = '0;
        end
      end
    end
    left_wqebbs_o = count[3:0];
  end

endmodule
