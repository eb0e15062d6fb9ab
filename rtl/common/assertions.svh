// Assertions that every twin makes about its streams. Nothing of it is synthesised.
//
// They are immediate ones at the edge: concurrent ones have every operand copied at every edge, and
// a beat may have thousands of bits.

// Once offered, a beat stays as it is until it is taken. What was offered is noted only if it has
// to wait: most are taken at once.
`define CARILLON_ASSERT_STREAM(name)                                                   \
  `ifndef YOSYS                                                                        \
  logic name``_held;                                                                   \
  logic [$bits(name``_o)-1:0] name``_offered;                                          \
  always_ff @(posedge clk_i) begin                                                     \
    name``_held <= rst_ni && name``_valid_o && !name``_ready_i;                        \
    if (rst_ni && name``_valid_o && !name``_ready_i && !name``_held) begin             \
      name``_offered <= name``_o;                                                      \
    end                                                                                \
    if (rst_ni && name``_held) begin                                                   \
      assert (name``_valid_o && name``_o == name``_offered);                           \
    end                                                                                \
  end                                                                                  \
  `endif

// A condition that holds at every edge outside reset.
`define CARILLON_ASSERT(condition)                                                     \
  `ifndef YOSYS                                                                        \
  always_ff @(posedge clk_i) begin                                                     \
    if (rst_ni) begin                                                                  \
      assert (condition);                                                              \
    end                                                                                \
  end                                                                                  \
  `endif
