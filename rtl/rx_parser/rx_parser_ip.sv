// ST_IP: the IP header of a frame, all of which is in its first beat. Combinational.
module rx_parser_ip (
    input  logic [511:0] beat_i,     // the first beat - front end
    input  logic [12:0]  length_i,   // bytes of the frame - front end
    input  logic         has_tag_i,   // it has a VLAN tag - ST_ETH
    input  logic         ipv6_i,     // the header is one of IPv6 - ST_ETH
    output logic [4:0]   refusal_o,  // what the header is refused for - ST_UDP
    output logic [12:0]  bytes_o,    // from here through the ICRC - ST_UDP, ICRC
    output logic [5:0]   dscp_o,     // code point - ST_UDP
    output logic         marked_o    // congestion mark - ST_UDP
);

  localparam int unsigned Untagged = wire_pkg::EthBytes;
  localparam int unsigned Tagged = wire_pkg::EthBytes + wire_pkg::VlanTagBytes;

  localparam logic [3:0] Version4 = 4'd4;
  localparam logic [3:0] Version6 = 4'd6;
  localparam logic [3:0] Dwords = 4'(wire_pkg::Ipv4Bytes / 4);
  localparam logic [16:0] Least4 = 17'(wire_pkg::Ipv4Bytes + wire_pkg::UdpBytes);
  localparam logic [16:0] Least6 = 17'(wire_pkg::Ipv6Bytes + wire_pkg::UdpBytes);

  logic [319:0] header;
  wire_pkg::ipv4_t v4;
  wire_pkg::ipv6_t v6;
  assign header = has_tag_i ? beat_i[511-8*Tagged -: 320] : beat_i[511-8*Untagged -: 320];
  assign v4 = header[319 -: 160];
  assign v6 = header;

  logic [12:0] rest;
  logic [16:0] bytes;
  assign rest = length_i - (has_tag_i ? 13'(Tagged) : 13'(Untagged));
  assign bytes = ipv6_i ? 17'(v6.payload_length) + 17'(wire_pkg::Ipv6Bytes) :
                          17'(v4.total_length);
  assign bytes_o = bytes[12:0];
  assign dscp_o = ipv6_i ? v6.dscp : v4.dscp;
  assign marked_o = (ipv6_i ? v6.ecn : v4.ecn) == wire_pkg::EcnCodeCe;

  always_comb begin
    refusal_o = streams_pkg::RxRefusalNothing;
    if (rest < (ipv6_i ? 13'(wire_pkg::Ipv6Bytes) : 13'(wire_pkg::Ipv4Bytes))) begin
      refusal_o = streams_pkg::RxRefusalIpTruncated;
    end else if (ipv6_i ? v6.version != Version6 : v4.version != Version4) begin
      refusal_o = streams_pkg::RxRefusalIpVersion;
    end else if (!ipv6_i && v4.ihl != Dwords) begin
      refusal_o = streams_pkg::RxRefusalIpOptions;
    end else if (!ipv6_i && (v4.mf || v4.fragment_offset != '0)) begin
      refusal_o = streams_pkg::RxRefusalIpFragment;
    end else if ((ipv6_i ? v6.next_header : v4.protocol) != wire_pkg::IpProtocolUdp) begin
      refusal_o = streams_pkg::RxRefusalIpProtocol;
    end else if (bytes < (ipv6_i ? Least6 : Least4) || bytes > 17'(rest)) begin
      refusal_o = streams_pkg::RxRefusalIpLength;
    end
  end

endmodule
