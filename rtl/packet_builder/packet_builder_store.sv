// The payloads that are held: rows of 1 KiB in 16 banks of 64 bytes. A beat of a packet from memory
// is written alone; inline payload comes whole and fills a row at once. What is
// written in cycle t can be read from t+1 on.
module packet_builder_store #(
    parameter  int unsigned Rows = 64,
    localparam int unsigned RowWidth = $clog2(Rows)
) (
    input  logic                clk_i,         // core clock
    input  logic                line_write_i,  // one line is written - take
    input  logic                row_write_i,   // a whole row is written - take
    input  logic [RowWidth-1:0] row_i,         // where to - take
    input  logic [3:0]          bank_i,        // where to, of one line - take
    input  logic [511:0]        line_i,        // the line - take
    input  logic [8191:0]       whole_i,       // the row, byte 0 most significant - take
    input  logic [RowWidth-1:0] read_row_i,    // which line is wanted - frames
    input  logic [3:0]          read_bank_i,   // which line is wanted - frames
    output logic [511:0]        read_o         // the line - frames
);

  logic [511:0] bank_line[16];
  assign read_o = bank_line[read_bank_i];

  for (genvar b = 0; b < 16; b++) begin : gen_bank
    logic [511:0] mem[Rows];
    logic write;
    assign write = row_write_i || (line_write_i && bank_i == 4'(b));
    assign bank_line[b] = mem[read_row_i];

    always_ff @(posedge clk_i) begin
      if (write) begin
        mem[row_i] <= row_write_i ? whole_i[512 * (15 - b) +: 512] : line_i;
      end
    end
  end

endmodule
