// ST_ETH: addresses, VLAN tag and EtherType of a frame, from its first beat, and the virtual port
// that it is for. The ports are looked up outside within the cycle. Combinational.
module rx_parser_eth (
    input  logic                        first_i,    // the beat is a frame's first - front end
    input  streams_pkg::rx_frame_beat_t frame_i,    // the beat - front end
    output streams_pkg::steer_query_t   query_o,    // its addresses - port table
    input  streams_pkg::steer_answer_t  steer_i,    // the ports that have them - port table
    output logic                        has_tag_o,   // it has a VLAN tag - ST_IP
    output logic [2:0]                  pcp_o,      // priority of the tag - ST_IP
    output logic                        ipv6_o,     // IPv6 follows, else IPv4 - ST_IP
    output logic [4:0]                  refusal_o,  // what its header is refused for - ST_IP
    output logic [4:0]                  nobody_o,   // why no port takes it - ST_IP
    output logic                        has_port_o, // a port takes it - ST_IP
    output logic [15:0]                 port_o      // which, zero for none - ST_IP
);

  // A group address: the lowest bit of its first byte.
  localparam int unsigned GroupBit = 40;

  wire_pkg::eth_t header;
  wire_pkg::vlan_tag_t tag;
  assign header = frame_i.data[511 -: 8*wire_pkg::EthBytes];
  assign tag = frame_i.data[511-8*wire_pkg::EthBytes -: 8*wire_pkg::VlanTagBytes];

  logic marked, truncated;  // the type says that a tag follows
  logic [15:0] ether_type;
  always_comb begin
    marked     = header.ether_type == wire_pkg::EthertypeVlan;
    truncated  = frame_i.length < 13'(wire_pkg::EthBytes) ||
                 (marked && frame_i.length < 13'(wire_pkg::EthBytes + wire_pkg::VlanTagBytes));
    has_tag_o   = marked && !truncated;
    pcp_o      = tag.pcp;
    ether_type = marked ? tag.ether_type : header.ether_type;
    ipv6_o     = ether_type == wire_pkg::EthertypeIpv6;
  end

  always_comb begin
    if (truncated) begin
      refusal_o = streams_pkg::RxRefusalEthTruncated;
    end else if (ipv6_o || ether_type == wire_pkg::EthertypeIpv4) begin
      refusal_o = streams_pkg::RxRefusalNothing;
    end else if (ether_type == wire_pkg::EthertypeRoceV1) begin
      refusal_o = streams_pkg::RxRefusalRoceV1;
    end else begin
      refusal_o = streams_pkg::RxRefusalEthType;
    end
  end

  // The question stands still while nobody asks.
  always_comb begin
    query_o = '0;
    if (first_i) begin
      query_o.destination = header.dst;
      query_o.source      = header.src;
      query_o.has_tag     = has_tag_o;
      query_o.vid         = has_tag_o ? tag.vid : '0;
    end
  end

  always_comb begin
    nobody_o   = streams_pkg::RxRefusalNothing;
    has_port_o = 1'b0;
    port_o     = '0;
    if (!truncated) begin
      if (header.dst[GroupBit]) begin
        nobody_o = streams_pkg::RxRefusalNobody;
      end else if (!frame_i.looped && steer_i.source_found) begin
        nobody_o = streams_pkg::RxRefusalAlienSource;
      end else if (steer_i.found) begin
        has_port_o = 1'b1;
        port_o     = steer_i.function_id;
      end else if (steer_i.promiscuous_found) begin
        has_port_o = 1'b1;
        port_o     = steer_i.promiscuous_id;
      end else begin
        nobody_o = streams_pkg::RxRefusalNobody;
      end
    end
  end

endmodule
