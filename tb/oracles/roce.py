"""What the oracles need to know about pcapng and RoCEv2, written from the specifications alone.

Nothing here is shared with the model: it is here to disagree with it.
"""

import struct
import zlib
from dataclasses import dataclass

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
ETHERTYPE_VLAN = 0x8100
ROCE_PORT = 4791
MASK_24 = 0xFFFFFF

# Bytes behind the BTH of each opcode, without payload.
EXTENSION_BYTES = {
    0x00: 0, 0x01: 0, 0x02: 0, 0x03: 4, 0x04: 0, 0x05: 4, 0x06: 16, 0x07: 0, 0x08: 0, 0x09: 4,
    0x0A: 16, 0x0B: 20, 0x0C: 16, 0x0D: 4, 0x0E: 0, 0x0F: 4, 0x10: 4, 0x11: 4, 0x12: 12, 0x13: 28,
    0x14: 28, 0x16: 4, 0x17: 4,
    0x20: 0, 0x21: 0, 0x22: 0, 0x23: 4, 0x24: 0, 0x25: 4, 0x26: 16, 0x27: 0, 0x28: 0, 0x29: 4,
    0x2A: 16, 0x2B: 20, 0x64: 8, 0x65: 12, 0x81: 0,
}
READ_REQUEST = 0x0C
CNP = 0x81


class bad_file(Exception):
    """The capture itself cannot be read."""


@dataclass
class packet:
    time_ns: int
    interface: int
    data: bytes
    comment: str = ""


@dataclass
class headers:
    """Where things stand in a frame."""
    ip: int
    ipv6: bool
    bth: int
    end: int  # behind the ICRC

    def opcode(self, data):
        return data[self.bth]

    def psn(self, data):
        return int.from_bytes(data[self.bth + 9:self.bth + 12], "big")

    def dest_qpn(self, data):
        return int.from_bytes(data[self.bth + 5:self.bth + 8], "big")

    def pad(self, data):
        return data[self.bth + 1] >> 4 & 3

    def payload(self, data):
        first = self.bth + 12 + EXTENSION_BYTES[self.opcode(data)]
        return data[first:self.end - 4 - self.pad(data)]

    def endpoints(self, data):
        size = 16 if self.ipv6 else 4
        first = self.ip + (8 if self.ipv6 else 12)
        return data[first:first + size], data[first + size:first + 2 * size]


def find_headers(data):
    """The headers of a RoCEv2 frame, or None."""
    at = 12
    if len(data) < 14:
        return None
    kind = struct.unpack_from(">H", data, at)[0]
    at += 2
    if kind == ETHERTYPE_VLAN:
        kind = struct.unpack_from(">H", data, at + 2)[0]
        at += 4
    ip = at
    if kind == ETHERTYPE_IPV4 and len(data) >= ip + 20:
        end = ip + struct.unpack_from(">H", data, ip + 2)[0]
        udp, protocol = ip + 20, data[ip + 9]
    elif kind == ETHERTYPE_IPV6 and len(data) >= ip + 40:
        end = ip + 40 + struct.unpack_from(">H", data, ip + 4)[0]
        udp, protocol = ip + 40, data[ip + 6]
    else:
        return None
    if protocol != 17 or len(data) < end or end < udp + 8 + 12 + 4:
        return None
    if struct.unpack_from(">H", data, udp + 2)[0] != ROCE_PORT:
        return None
    return headers(ip, kind == ETHERTYPE_IPV6, udp + 8, end)


def icrc(data, found):
    """The four bytes that the ICRC must have, in the order of the wire."""
    covered = bytearray(data[found.ip:found.end - 4])
    if found.ipv6:
        ones = (1, 2, 3, 7)
        covered[0] |= 0x0F
    else:
        ones = (1, 8, 10, 11)
    bth = found.bth - found.ip
    for at in (*ones, bth - 2, bth - 1, bth + 4):
        covered[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(covered)))


def ipv4_checksum_ok(data, found):
    total = sum(struct.unpack_from(">10H", data, found.ip))
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF


# pcapng ------------------------------------------------------------------------------------------

SECTION_HEADER = 0x0A0D0D0A
INTERFACE = 1
ENHANCED_PACKET = 6
OPTION_COMMENT = 1
OPTION_TIME_RESOLUTION = 9


def _options(body, order):
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def _resolution(body, order):
    """Stamps per second of an interface."""
    for code, value in _options(body[8:], order):
        if code == OPTION_TIME_RESOLUTION:
            return 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
    return 10 ** 6


def read_pcapng(path):
    """All packets of a file."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<"
    per_second = []
    packets = []
    at = 0
    while at < len(data):
        if at + 12 > len(data):
            raise bad_file(f"{path}: cut off in the block at byte {at}")
        if data[at:at + 4] == struct.pack(">I", SECTION_HEADER):
            order = "<" if data[at + 8:at + 12] == struct.pack("<I", 0x1A2B3C4D) else ">"
            per_second = []
        kind, length = struct.unpack_from(order + "II", data, at)
        if at == 0 and kind != SECTION_HEADER:
            raise bad_file(f"{path}: not a pcapng file")
        if length < 12 or length % 4 or at + length > len(data):
            raise bad_file(f"{path}: block of {length} bytes at byte {at} does not fit the file")
        if struct.unpack_from(order + "I", data, at + length - 4)[0] != length:
            raise bad_file(f"{path}: the block at byte {at} has two different lengths")
        body = data[at + 8:at + length - 4]
        if kind == INTERFACE:
            per_second.append(_resolution(body, order))
        elif kind == ENHANCED_PACKET:
            interface, high, low, kept, original = struct.unpack_from(order + "5I", body)
            if kept != original or interface >= len(per_second):
                raise bad_file(f"{path}: bad packet block at byte {at}")
            stamp = high << 32 | low
            options = dict(_options(body[20 + (kept + 3) // 4 * 4:], order))
            packets.append(packet(stamp * 10 ** 9 // per_second[interface], interface,
                                  body[20:20 + kept],
                                  options.get(OPTION_COMMENT, b"").decode("utf-8")))
        at += length
    return packets


def _block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def write_pcapng(path, packets):
    """(time_ns, frame) pairs as a file of one interface."""
    with open(path, "wb") as file:
        file.write(_block(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(_block(INTERFACE, struct.pack("<HHI", 1, 0, 0) +
                          struct.pack("<HHB3xHH", OPTION_TIME_RESOLUTION, 1, 9, 0, 0)))
        for time_ns, frame in packets:
            file.write(_block(ENHANCED_PACKET,
                              struct.pack("<5I", 0, time_ns >> 32, time_ns & 0xFFFFFFFF,
                                          len(frame), len(frame)) + frame))


# What every check of a capture asks --------------------------------------------------------------


def check_lengths(data, found):
    """Complaints about lengths that do not agree with each other."""
    complaints = []
    udp = found.bth - 8
    if struct.unpack_from(">H", data, udp + 4)[0] != found.end - udp:
        complaints.append("UDP length differs from IP length")
    if len(data) != max(found.end, 60) and len(data) != found.end:
        complaints.append(f"{len(data) - found.end} bytes behind the ICRC")
    behind = found.end - found.bth - 12 - 4
    extension = EXTENSION_BYTES.get(found.opcode(data))
    if extension is None:
        complaints.append(f"unknown opcode 0x{found.opcode(data):02x}")
    elif behind < extension + found.pad(data) or behind % 4:
        complaints.append(f"{behind} bytes behind the BTH do not hold opcode "
                          f"0x{found.opcode(data):02x} with {found.pad(data)} pad bytes")
    elif any(data[found.end - 4 - found.pad(data):found.end - 4]):
        complaints.append("pad bytes are not zero")
    if not found.ipv6 and not ipv4_checksum_ok(data, found):
        complaints.append("IPv4 header checksum is wrong")
    return complaints


def is_request(opcode):
    return opcode in EXTENSION_BYTES and opcode != CNP and not 0x0D <= opcode <= 0x12


def psns_used(data, found, mtu):
    """How many PSNs a request takes: a READ takes those of its responses."""
    if found.opcode(data) != READ_REQUEST:
        return 1
    length = struct.unpack_from(">I", data, found.bth + 12 + 12)[0]
    return max(1, -(-length // mtu))


def check_sequence(frames, mtu):
    """Complaints about requests of a flow whose PSN does not follow the one before.

    `frames` are (number, data, headers); a flow is a pair of addresses and the destination QP.
    """
    expected = {}
    complaints = []
    for number, data, found in frames:
        if not is_request(found.opcode(data)):
            continue
        flow = (*found.endpoints(data), found.dest_qpn(data))
        psn = found.psn(data)
        if flow in expected and psn != expected[flow]:
            complaints.append(f"frame {number}: PSN {psn} to QP 0x{found.dest_qpn(data):06x}, "
                              f"expected {expected[flow]}")
        expected[flow] = psn + psns_used(data, found, mtu) & MASK_24
    return complaints
