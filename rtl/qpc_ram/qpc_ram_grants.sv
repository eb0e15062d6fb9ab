// Which reads are granted in a cycle, in the order of the readers; one that waits comes before a
// new one of the same reader. There are two ports: for lines that leave, and for those that are
// asked for.

module qpc_ram_grants #(
    parameter  int unsigned Readers    = 12,
    parameter  int unsigned PortWidth  = 4,
    parameter  int unsigned CacheWidth = 15,
    localparam int unsigned IdWidth    = 32
) (
    input  logic                            host_memory_i,  // lines are there - level
    input  logic                            nowhere_i,      // there is no such memory - qpc_ram
    input  logic                            spared_i,       // a register is a write's - qpc_ram
    input  logic [                     1:0] free_i,         // registers, 3 for more - misses
    input  logic [             Readers-1:0] waiting_i,      // a read waits - readers
    input  logic [             Readers-1:0] front_empty_i,  // the oldest gets no line - readers
    input  logic [          Readers*32-1:0] front_trace_i,  // its message - readers
    input  logic [     Readers*IdWidth-1:0] front_id_i,     // its line - readers
    input  logic [             Readers-1:0] valid_i,        // a new one is offered - readers
    input  logic [             Readers-1:0] room_i,         // there is room for a line - readers
    input  logic [             Readers-1:0] reaches_i,      // there is one for it - qpc_ram
    input  logic [          Readers*32-1:0] trace_i,        // its message - readers
    input  logic [     Readers*IdWidth-1:0] id_i,           // its line - readers
    input  logic [           2*Readers-1:0] hit_i,          // of both: it is here - tags
    input  logic [2*Readers*CacheWidth-1:0] line_i,         // where - tags
    input  logic [           2*Readers-1:0] found_i,        // it is on its way - misses
    output logic [             Readers-1:0] serve_o,        // the oldest is served - readers
    output logic [             Readers-1:0] make_empty_o,   // it gets no line - readers
    output logic [             Readers-1:0] ready_o,        // the new one is taken - readers
    output logic [             Readers-1:0] wait_o,         // and waits - readers
    output logic [             Readers-1:0] wait_empty_o,   // and gets no line - readers
    output logic [                     1:0] fetch_o,        // lines are asked for - misses
    output logic [           2*IdWidth-1:0] fetch_id_o,     // which - misses
    output logic [                     1:0] grant_o,        // reads leave - lanes
    output logic [                     1:0] ok_o,           // they get a line - lanes
    output logic [         2*PortWidth-1:0] port_o,         // whose - lanes
    output logic [                2*32-1:0] grant_trace_o,  // message - lanes
    output logic [           2*IdWidth-1:0] grant_id_o,     // line - lanes
    output logic [                     1:0] use_o,          // a line here is used - tags
    output logic [        2*CacheWidth-1:0] use_line_o      // which - tags
);

  logic [1:0] left, sent, fetched;
  logic served, empty, hit, coming, full, go, send;
  logic [IdWidth-1:0] id;
  logic [CacheWidth-1:0] where;
  always_comb begin
    left         = 2'(stages_pkg::QpcRamReadPorts);
    sent         = '0;
    fetched      = '0;
    grant_o       = '0;
    ok_o          = '0;
    port_o  = '0;
    grant_trace_o = '0;
    grant_id_o    = '0;
    fetch_o      = '0;
    fetch_id_o    = '0;
    use_o     = '0;
    use_line_o    = '0;
    wait_o      = '0;
    wait_empty_o   = '0;
    make_empty_o   = '0;
    serve_o        = '0;
    ready_o   = '0;
    served       = 1'b0;
    empty        = 1'b0;
    hit          = 1'b0;
    coming       = 1'b0;
    full         = 1'b0;
    go           = 1'b0;
    send         = 1'b0;
    id           = '0;
    where        = '0;
    for (int unsigned i = 0; i < Readers; i++) begin
      // The oldest read that waits
      served = 1'b0;
      if (waiting_i[i]) begin
        id     = front_id_i[IdWidth*i+:IdWidth];
        empty  = front_empty_i[i];
        hit    = !empty && hit_i[i];
        where  = line_i[CacheWidth*i+:CacheWidth];
        coming = found_i[i] || (fetch_o[0] && fetch_id_o[0+:IdWidth] == id) ||
            (fetch_o[1] && fetch_id_o[IdWidth+:IdWidth] == id);
        if (!empty && !hit && !coming && nowhere_i) begin
          make_empty_o[i] = 1'b1;
          empty         = 1'b1;
        end
        full   = {1'b0, free_i} <= {1'b0, fetched} + 3'(spared_i);
        served = (empty || hit) && left != '0;
        if (!empty && !hit && !coming && !full && left != '0) begin
          fetch_o[fetched[0]]                     = 1'b1;
          fetch_id_o[IdWidth*fetched[0]+:IdWidth] = id;
          fetched                                 = fetched + 2'd1;
          left                                    = left - 2'd1;
        end
      end
      serve_o[i] = served;
      // A new one
      go = 1'b0;
      send = served;
      if (!served) begin
        id     = id_i[IdWidth*i+:IdWidth];
        empty  = !reaches_i[i];
        hit    = !empty && (!host_memory_i || hit_i[Readers+i]);
        where  = line_i[CacheWidth*(Readers+i)+:CacheWidth];
        coming = found_i[Readers+i] || (fetch_o[0] && fetch_id_o[0+:IdWidth] == id) ||
            (fetch_o[1] && fetch_id_o[IdWidth+:IdWidth] == id);
        if (!hit && !coming && nowhere_i) begin
          empty = 1'b1;
        end
        full = {1'b0, free_i} <= {1'b0, fetched} + 3'(spared_i);
        go   = valid_i[i] && room_i[i] && left != '0 && (empty || hit || coming || !full);
        send = go && !waiting_i[i] && (empty || hit);
        if (go && !empty && !hit && !coming) begin
          fetch_o[fetched[0]]                     = 1'b1;
          fetch_id_o[IdWidth*fetched[0]+:IdWidth] = id;
          fetched                                 = fetched + 2'd1;
        end
        if (go && !send) begin
          left = left - 2'd1;
        end
      end
      ready_o[i] = go;
      wait_o[i] = go && !send;
      wait_empty_o[i] = empty;
      if (send) begin
        grant_o[sent[0]]                               = 1'b1;
        ok_o[sent[0]]                                  = hit && !empty;
        port_o[PortWidth*sent[0]+:PortWidth] = PortWidth'(i);
        grant_trace_o[32*sent[0]+:32] =
            served ? front_trace_i[32*i+:32] : trace_i[32*i+:32];
        grant_id_o[IdWidth*sent[0]+:IdWidth] = id;
        use_o[sent[0]]                             = host_memory_i && hit && !empty;
        use_line_o[CacheWidth*sent[0]+:CacheWidth] = where;
        sent                                          = sent + 2'd1;
        left                                          = left - 2'd1;
      end
    end
  end

endmodule
