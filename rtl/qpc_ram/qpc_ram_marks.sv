// The bits over the lines: a QP's error and that of its send queue, whether its last written state
// is another than RESET, and whether a key is invalidated. A cycle's errors and invalidations come
// before its write, and all of them before what is looked at.

module qpc_ram_marks #(
    parameter  int unsigned LogQps  = 12,
    parameter  int unsigned LogKeys = 14,
    parameter  int unsigned Looks   = 3,
    localparam int unsigned IdWidth = 32
) (
    input  logic                     clk_i,         // core clock
    input  logic                     rst_ni,        // synchronous reset, active low
    input  logic [              4:0] log_qps_i,     // log2 of the QPs that there are - level
    input  logic [              4:0] log_keys_i,    // log2 of the keys that there are - level
    input  logic [              1:0] error_i,       // QPs fail - qpc_ram
    input  logic [             47:0] error_qpn_i,   // which - qpc_ram
    input  logic [              1:0] error_send_i,  // their send queues alone - qpc_ram
    input  logic [              1:0] strike_i,      // keys are invalidated - qpc_ram
    input  logic [             47:0] strike_key_i,  // which - qpc_ram
    input  logic                     write_i,       // a line that exists is written - qpc_ram
    input  logic [      IdWidth-1:0] write_id_i,    // which - qpc_ram
    input  logic [              2:0] state_i,       // its state if it is a QP's - qpc_ram
    input  logic [Looks*IdWidth-1:0] look_i,        // lines that are looked at - qpc_ram
    output logic [        Looks-1:0] error_o,       // the QP has failed - qpc_ram
    output logic [        Looks-1:0] send_error_o,  // its send queue has - qpc_ram
    output logic [        Looks-1:0] struck_o,      // the key is invalidated - qpc_ram
    output logic [        Looks-1:0] alive_o        // the QP was not in RESET before - qpc_ram
);

  logic qp_write, key_write, to_reset, to_rts;
  assign qp_write = write_i && write_id_i[27:24] == streams_pkg::LineKindQpcCommon;
  assign key_write = write_i && write_id_i[27:24] == streams_pkg::LineKindMkey;
  assign to_reset = state_i == contexts_pkg::QpStateReset;
  assign to_rts = state_i == contexts_pkg::QpStateRts;

  // Bits that are looked at by number, and whether a line has any.
  logic [Looks-1:0] is_qp, is_key;
  logic [Looks*LogQps-1:0] qps;
  logic [Looks*LogKeys-1:0] keys;
  for (genvar i = 0; i < Looks; i++) begin : gen_look
    assign is_qp[i] = look_i[IdWidth*i+24+:4] == streams_pkg::LineKindQpcCommon;
    assign is_key[i] = look_i[IdWidth*i+24+:4] == streams_pkg::LineKindMkey;
    assign qps[LogQps*i+:LogQps] = look_i[IdWidth*i+:LogQps];
    assign keys[LogKeys*i+:LogKeys] = look_i[IdWidth*i+:LogKeys];
  end

  // An error of a QP in RESET belongs to the life before.
  logic [1:0] counts, struck;
  logic [1:0] alive_errors;
  logic [Looks-1:0] alive_bits;
  for (genvar i = 0; i < 2; i++) begin : gen_error
    assign counts[i] = error_i[i] && error_qpn_i[24*i+:24] >> log_qps_i == '0 && alive_errors[i];
    assign struck[i] = strike_i[i] && strike_key_i[24*i+:24] >> log_keys_i == '0;
  end

  qpc_ram_bits #(
      .Count(1 << LogQps),
      .Updates(1),
      .Reads(Looks + 2)
  ) u_alive (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .update_i(qp_write),
      .index_i(write_id_i[LogQps-1:0]),
      .value_i(!to_reset),
      .read_i({error_qpn_i[24+:LogQps], error_qpn_i[0+:LogQps], qps}),
      .bit_o({alive_errors, alive_bits})
  );
  assign alive_o = alive_bits & is_qp;

  logic [3*LogQps-1:0] qp_updates;
  logic [3*LogKeys-1:0] key_updates;
  assign qp_updates = {
    write_id_i[LogQps-1:0], error_qpn_i[24+:LogQps], error_qpn_i[0+:LogQps]
  };
  assign key_updates = {
    write_id_i[LogKeys-1:0], strike_key_i[24+:LogKeys], strike_key_i[0+:LogKeys]
  };
  logic [2:0] error_updates, send_updates, strike_updates;
  assign error_updates = {qp_write && to_reset, counts & ~error_send_i};
  assign send_updates = {qp_write && (to_reset || to_rts), counts & error_send_i};
  assign strike_updates = {key_write, struck};

  logic [Looks-1:0] error_bits, send_bits, struck_bits;
  qpc_ram_bits #(
      .Count(1 << LogQps),
      .Updates(3),
      .Reads(Looks)
  ) u_errors (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .update_i(error_updates),
      .index_i(qp_updates),
      .value_i(3'b011),
      .read_i(qps),
      .bit_o(error_bits)
  );

  qpc_ram_bits #(
      .Count(1 << LogQps),
      .Updates(3),
      .Reads(Looks)
  ) u_send_errors (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .update_i(send_updates),
      .index_i(qp_updates),
      .value_i(3'b011),
      .read_i(qps),
      .bit_o(send_bits)
  );

  qpc_ram_bits #(
      .Count(1 << LogKeys),
      .Updates(3),
      .Reads(Looks)
  ) u_struck (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .update_i(strike_updates),
      .index_i(key_updates),
      .value_i(3'b011),
      .read_i(keys),
      .bit_o(struck_bits)
  );

  // With what this cycle changes, the last change first.
  for (genvar i = 0; i < Looks; i++) begin : gen_now
    logic [2:0] same_qp, same_key;
    for (genvar k = 0; k < 3; k++) begin : gen_same
      assign same_qp[k] = qp_updates[LogQps*k+:LogQps] == qps[LogQps*i+:LogQps];
      assign same_key[k] = key_updates[LogKeys*k+:LogKeys] == keys[LogKeys*i+:LogKeys];
    end
    logic [2:0] error_now, send_now, struck_now;
    assign error_now = same_qp & error_updates;
    assign send_now = same_qp & send_updates;
    assign struck_now = same_key & strike_updates;
    assign error_o[i] = is_qp[i] && !error_now[2] && (error_now[1:0] != '0 || error_bits[i]);
    assign send_error_o[i] = is_qp[i] && !send_now[2] && (send_now[1:0] != '0 || send_bits[i]);
    assign struck_o[i] = is_key[i] && !struck_now[2] && (struck_now[1:0] != '0 || struck_bits[i]);
  end

endmodule
