// A flag for every UAR page, all clear after reset, and those of a function while it is gone. Only
// groups of up to 32, each of one function, have a flop, which says that the group was ever
// written; the flags themselves lie in a memory that no reset reaches.
`include "assertions.svh"

module uar_flags #(
    localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages),
    localparam int unsigned Groups = stages_pkg::UarFunctions
) (
    input  logic                clk_i,          // core clock
    input  logic                rst_ni,         // synchronous reset, active low
    input  logic [3:0]          log_pages_i,    // pages of a function - configuration
    input  logic [Groups-1:0]   clear_i,        // these groups forget - gone
    input  logic                set_i,          // a flag is set - uar
    input  logic [RowWidth-1:0] set_row_i,      // which one - uar
    input  logic                write_i,        // then a flag is written - uar
    input  logic [RowWidth-1:0] write_row_i,    // which one - uar
    input  logic                write_value_i,  // with this - uar
    input  logic [RowWidth-1:0] read_row_i,     // a flag is looked at - uar
    output logic                flag_o,         // what it was before this cycle - uar
    output logic                busy_o          // some group is to forget something - uar
);

  localparam int unsigned GroupWidth = $clog2(Groups);

`ifndef YOSYS
  if (stages_pkg::UarPages > 32 * Groups) begin : gen_groups_check
    $fatal(0, "%m: there are more pages than flags");
  end
`endif

  logic [Groups-1:0] known_q, known;
  logic [31:0] flags_mem[Groups];

  logic [GroupWidth-1:0] set_group, write_group, read_group;
  logic [31:0] set_word, write_word, read_word;

  // A function with less than 32 pages has a group of its own.
  function automatic logic [GroupWidth-1:0] group_of(input logic [RowWidth-1:0] row,
                                                     input logic [3:0] log_pages);
    group_of = GroupWidth'(row >> (log_pages > 4'd5 ? 4'd5 : log_pages));
  endfunction

  assign set_group = group_of(set_row_i, log_pages_i);
  assign write_group = group_of(write_row_i, log_pages_i);
  assign read_group = group_of(read_row_i, log_pages_i);

  always_comb begin
    set_word = known_q[set_group] ? flags_mem[set_group] : '0;
    set_word[set_row_i[4:0]] = 1'b1;
    write_word = known_q[write_group] ? flags_mem[write_group] : '0;
    if (set_i && set_group == write_group) begin
      write_word = set_word;
    end
    write_word[write_row_i[4:0]] = write_value_i;
  end

  assign read_word = flags_mem[read_group];
  assign flag_o = known_q[read_group] && read_word[read_row_i[4:0]];
  assign busy_o = (known_q & clear_i) != '0;

  always_ff @(posedge clk_i) begin
    if (set_i) begin
      flags_mem[set_group] <= set_word;
    end
    // Of the same group it has both.
    if (write_i) begin
      flags_mem[write_group] <= write_word;
    end
  end

  always_comb begin
    known = known_q & ~clear_i;
    if (set_i) begin
      known[set_group] = 1'b1;
    end
    if (write_i) begin
      known[write_group] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      known_q <= '0;
    end else begin
      known_q <= known;
    end
  end

  `CARILLON_ASSERT(!set_i || !clear_i[set_group])
  `CARILLON_ASSERT(!write_i || !clear_i[write_group])

endmodule
