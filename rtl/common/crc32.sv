// The CRC-32 of Ethernet's FCS and of the ICRC over up to Bytes bytes a cycle. Combinational.
//
// crc_i and crc_o are the bare register, least significant bit first: all ones before the first
// byte (wire_pkg::IcrcSeed behind the eight bytes of ones that an ICRC begins with), and inverted
// for the CRC that is sent, least significant byte first. Byte 0 is the most significant byte of
// data_i; the first length_i bytes count, 0 to Bytes.
//
// The register is added to the bytes that come first. Then zeros in front of the bytes change
// nothing, so these are moved to the end of the word, and each bit of the result is the parity of
// fixed bits of it: the depth is a shifter's and a parity tree's.
module crc32 #(
    parameter  int unsigned Bytes = 64,
    localparam int unsigned LengthWidth = $clog2(Bytes + 1)
) (
    input  logic [31:0]            crc_i,     // register before the bytes - the cell's owner
    input  logic [8*Bytes-1:0]     data_i,    // the bytes - the cell's owner
    input  logic [LengthWidth-1:0] length_i,  // how many of them count - the cell's owner
    output logic [31:0]            crc_o      // register behind them - the cell's owner
);

`ifndef YOSYS
  if (Bytes < 4) begin : gen_bytes_check
    $fatal(0, "%m: Bytes must be at least 4");
  end
`endif

  // Which bits of the word bit `row` of the register is the parity of. The bits of a byte enter
  // least significant first: the one that n others follow becomes n steps of the register, begun at
  // the polynomial.
  function automatic logic [8*Bytes-1:0] taps_of(input logic [4:0] row);
    logic [31:0] register;
    integer i;
    register = wire_pkg::CrcPolynomialReflected;
    for (i = 0; i < 8 * Bytes; i = i + 1) begin
      taps_of[8 * (i / 8) + 7 - i % 8] = register[row];
      register = register[0] ? (register >> 1) ^ wire_pkg::CrcPolynomialReflected : register >> 1;
    end
  endfunction

  // Byte 0 meets the least significant byte of the register.
  logic [31:0] reversed;
  assign reversed = {crc_i[7:0], crc_i[15:8], crc_i[23:16], crc_i[31:24]};

  logic [8*Bytes-1:0] added, aligned;
  always_comb begin
    added = data_i;
    added[8*Bytes-1 -: 32] = data_i[8*Bytes-1 -: 32] ^ reversed;
    aligned = added >> {LengthWidth'(Bytes) - length_i, 3'b000};
  end

  // Fewer than four bytes leave a part of the register that none of them has met.
  logic [31:0] rest;
  assign rest = crc_i >> {length_i, 3'b000};

  for (genvar r = 0; r < 32; r++) begin : gen_parity
    localparam logic [8*Bytes-1:0] Taps = taps_of(5'(r));
    assign crc_o[r] = rest[r] ^ (^(aligned & Taps));
  end

endmodule
