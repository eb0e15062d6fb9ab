// A flag for every UAR page, all clear after reset. Only groups of 32 have a flop, which says that
// the group was ever written; the flags themselves lie in a memory that no reset reaches.

module uar_flags #(
    localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages)
) (
    input  logic                clk_i,          // core clock
    input  logic                rst_ni,         // synchronous reset, active low
    input  logic                set_i,          // a flag is set - uar
    input  logic [RowWidth-1:0] set_row_i,      // which one - uar
    input  logic                write_i,        // then a flag is written - uar
    input  logic [RowWidth-1:0] write_row_i,    // which one - uar
    input  logic                write_value_i,  // with this - uar
    input  logic [RowWidth-1:0] read_row_i,     // a flag is looked at - uar
    output logic                flag_o          // what it was before this cycle - uar
);

  localparam int unsigned Groups = stages_pkg::UarPages / 32;
  localparam int unsigned GroupWidth = RowWidth - 5;

  logic [Groups-1:0] known_q;
  logic [31:0] flags_mem[Groups];

  logic [GroupWidth-1:0] set_group, write_group, read_group;
  logic [31:0] set_word, write_word, read_word;
  assign set_group = set_row_i[RowWidth-1:5];
  assign write_group = write_row_i[RowWidth-1:5];
  assign read_group = read_row_i[RowWidth-1:5];

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

  always_ff @(posedge clk_i) begin
    if (set_i) begin
      flags_mem[set_group] <= set_word;
    end
    // Of the same group it has both.
    if (write_i) begin
      flags_mem[write_group] <= write_word;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      known_q <= '0;
    end else begin
      if (set_i) begin
        known_q[set_group] <= 1'b1;
      end
      if (write_i) begin
        known_q[write_group] <= 1'b1;
      end
    end
  end

endmodule
