// The headers of a packet's frame, of the packet, its QP's path and its virtual port, and how long
// the frame is. A UD request brings the path to its destination with it. Combinational.
module packet_builder_headers (
    input  streams_pkg::payload_beat_t   packet_i,        // the packet - lines
    input  contexts_pkg::qpc_address_t   path_i,          // its QP's path - lines
    input  streams_pkg::vport_view_t     port_i,          // its function's virtual port - lines
    output logic [847:0]                 header_o,        // all headers, zero beyond - frames
    output logic [6:0]                   header_bytes_o,  // their bytes - frames
    output logic                         has_tag_o,        // with a VLAN tag - frames
    output logic                         ipv6_o,          // IPv6, not IPv4 - frames
    output logic [47:0]                  destination_o,   // MAC address - lines
    output logic [11:0]                  vid_o,           // VLAN of the tag - lines
    output logic [2:0]                   pcp_o,           // priority, also without a tag - frames
    output logic [12:0]                  icrc_at_o,       // where the ICRC stands - frames
    output logic [12:0]                  length_o         // of the frame, without FCS - frames
);

  localparam logic [12:0] FixedBytes =
      13'(wire_pkg::UdpBytes + wire_pkg::BthBytes) + 13'(wire_pkg::IcrcBytes);
  localparam logic [95:0] MappedPrefix = {80'b0, 16'hffff};

  logic [7:0] opcode;
  logic [223:0] extension;
  logic [4:0] extension_bytes;
  logic datagram, cnp;
  packet_builder_transport u_transport (
      .packet_i,
      .opcode_o         (opcode),
      .extension_o      (extension),
      .extension_bytes_o(extension_bytes),
      .datagram_o       (datagram),
      .cnp_o            (cnp)
  );

  wqe_pkg::datagram_seg_t to;
  assign to = packet_i.address_vector;

  // Where to, by the QP or by the work request. A CNP has a class of its own.
  logic [127:0] remote_ip;
  logic [7:0] tclass, hop_limit;
  logic [19:0] flow_label;
  logic [15:0] udp_source;
  logic [23:0] dest_qpn;
  logic [2:0] own_pcp;
  always_comb begin
    ipv6_o        = path_i.ip_version == 4'd6;
    destination_o = path_i.rmac;
    remote_ip     = path_i.dst_ip;
    tclass        = path_i.tclass;
    hop_limit     = path_i.hop_limit;
    flow_label    = path_i.flow_label;
    udp_source    = path_i.udp_sport;
    dest_qpn      = path_i.remote_qpn;
    own_pcp       = path_i.eth_prio;
    if (datagram) begin
      ipv6_o        = to.rgid[127:32] != MappedPrefix;
      destination_o = to.rmac;
      remote_ip     = to.rgid;
      tclass        = to.tclass;
      hop_limit     = to.hop_limit;
      flow_label    = to.flow_label;
      udp_source    = to.udp_sport;
      dest_qpn      = to.dest_qpn;
      own_pcp       = to.sl[3:1];
    end
    if (cnp) begin
      tclass[7:2] = packet_i.syndrome[5:0];
    end
  end

  // The port's VLAN is on all that it sends.
  assign has_tag_o = port_i.has_vlan || path_i.vlan_valid;
  assign vid_o = port_i.has_vlan ? port_i.vlan : path_i.vlan_id;
  always_comb begin
    pcp_o = port_i.has_vlan ? port_i.pcp : own_pcp;
    if (cnp) begin
      pcp_o = packet_i.msn[2:0];
    end
  end

  // -----------------------------------------------------------------------------------------------
  // lengths

  logic [1:0] pad_count;
  logic [12:0] udp_bytes, end_of_icrc;
  logic [6:0] ip_bytes;
  assign pad_count = 2'd0 - packet_i.payload[1:0];
  assign udp_bytes = FixedBytes + 13'(extension_bytes) + packet_i.payload + 13'(pad_count);
  assign ip_bytes = ipv6_o ? 7'(wire_pkg::Ipv6Bytes) : 7'(wire_pkg::Ipv4Bytes);
  assign header_bytes_o = 7'(wire_pkg::EthBytes) + (has_tag_o ? 7'(wire_pkg::VlanTagBytes) : 7'd0) +
                          ip_bytes + 7'(wire_pkg::UdpBytes) + 7'(wire_pkg::BthBytes) +
                          7'(extension_bytes);
  assign icrc_at_o = 13'(header_bytes_o) + packet_i.payload + 13'(pad_count);
  assign end_of_icrc = icrc_at_o + 13'(wire_pkg::IcrcBytes);
  assign length_o = end_of_icrc < 13'(wire_pkg::MinFrameBytes) ? 13'(wire_pkg::MinFrameBytes) :
                                                                end_of_icrc;

  // -----------------------------------------------------------------------------------------------
  // headers

  wire_pkg::ipv4_t ipv4;
  wire_pkg::ipv4_t ipv4_summed;
  wire_pkg::ipv6_t ipv6;
  wire_pkg::udp_t udp;
  wire_pkg::bth_t bth;
  always_comb begin
    ipv4              = '0;
    ipv4.version      = 4'd4;
    ipv4.ihl          = 4'(wire_pkg::Ipv4Bytes / 4);
    ipv4.dscp         = tclass[7:2];
    ipv4.ecn          = tclass[1:0];
    ipv4.total_length = 16'(udp_bytes) + 16'(wire_pkg::Ipv4Bytes);
    ipv4.df           = 1'b1;
    ipv4.ttl          = hop_limit;
    ipv4.protocol     = wire_pkg::IpProtocolUdp;
    ipv4.src          = path_i.src_ip[31:0];
    ipv4.dst          = remote_ip[31:0];

    ipv6.version        = 4'd6;
    ipv6.dscp           = tclass[7:2];
    ipv6.ecn            = tclass[1:0];
    ipv6.flow_label     = flow_label;
    ipv6.payload_length = 16'(udp_bytes);
    ipv6.next_header    = wire_pkg::IpProtocolUdp;
    ipv6.hop_limit      = hop_limit;
    ipv6.src            = path_i.src_ip;
    ipv6.dst            = remote_ip;

    // The checksum stays 0: the ICRC protects the packet.
    udp          = '0;
    udp.src_port = udp_source;
    udp.dst_port = wire_pkg::RoceUdpPort;
    udp.length   = 16'(udp_bytes);

    bth           = '0;
    bth.opcode    = opcode;
    bth.migreq    = 1'b1;
    bth.becn      = cnp;
    bth.pad_count = pad_count;
    bth.pkey      = path_i.pkey;
    bth.dest_qpn  = dest_qpn;
    bth.psn       = packet_i.psn;
    if (packet_i.kind == streams_pkg::PacketKindRequest) begin
      bth.se      = packet_i.solicited;
      bth.ack_req = packet_i.ack_request;
    end
  end

  // One's complement sum of the header; the carries go around twice at most.
  logic [19:0] sum;
  logic [16:0] folded;
  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < wire_pkg::Ipv4Bytes / 2; i++) begin
      sum = sum + 20'(ipv4[16*i +: 16]);
    end
    folded = 17'(sum[15:0]) + 17'(sum[19:16]);
    ipv4_summed = ipv4;
    ipv4_summed.checksum = ~(folded[15:0] + 16'(folded[16]));
  end

  logic [15:0] ether_type;
  logic [703:0] packet;
  assign ether_type = ipv6_o ? wire_pkg::EthertypeIpv6 : wire_pkg::EthertypeIpv4;
  assign packet = ipv6_o ? {ipv6, udp, bth, extension} :
                           {ipv4_summed, udp, bth, extension, 160'b0};

  logic [47:0] source;
  assign source = path_i.smac != '0 ? path_i.smac : port_i.mac;

  wire_pkg::eth_t eth;
  wire_pkg::vlan_tag_t tag;
  always_comb begin
    eth.dst        = destination_o;
    eth.src        = source;
    eth.ether_type = has_tag_o ? wire_pkg::EthertypeVlan : ether_type;
    tag.pcp        = pcp_o;
    tag.dei        = 1'b0;
    tag.vid        = vid_o;
    tag.ether_type = ether_type;
  end

  assign header_o = has_tag_o ? {eth, tag, packet} : {eth, packet, 32'b0};

endmodule
