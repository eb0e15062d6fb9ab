#!/usr/bin/env python3
"""Lets scapy's RoCE layer rebuild every frame of a capture, ICRC included, and compares the bytes.

scapy's layer computes no ICRC over IPv6; those frames are compared without it and counted. Pause
frames are skipped.

Exit code 0: all is well. 1: complaints, one a line. 2: the check itself could not run.
"""

import argparse
import logging
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roce  # noqa: E402

try:
    logging.getLogger("scapy").setLevel(logging.ERROR)
    from scapy.contrib.roce import AETH, BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
except ImportError as error:
    print(f"scapy with its RoCE layer is missing ({error}): run scripts/setup.sh", file=sys.stderr)
    sys.exit(2)

ACKNOWLEDGE = 0x11


def rebuilt(data):
    """The frame as scapy writes it after reading it, with lengths, checksum and ICRC its own."""
    packet = Ether(data)
    bth = packet[BTH]
    if packet.haslayer(IP):
        packet[IP].chksum = None
        packet[IP].len = None
        bth.icrc = None
    else:
        packet[IPv6].plen = None
    packet[UDP].len = None
    return bytes(packet)


def check_frame(data):
    complaints = []
    packet = Ether(data)
    found = roce.find_headers(data)
    if found is None or not packet.haslayer(BTH):
        return [f"not RoCEv2: {packet.summary()}"]
    bth = packet[BTH]
    for name, theirs, ours in (("opcode", bth.opcode, found.opcode(data)),
                               ("PSN", bth.psn, found.psn(data)),
                               ("destination QP", bth.dqpn, found.dest_qpn(data)),
                               ("pad count", bth.padcount, found.pad(data))):
        if theirs != ours:
            complaints.append(f"{name} is {theirs} according to scapy, {ours} here")
    if found.opcode(data) == ACKNOWLEDGE and not packet.haslayer(AETH):
        complaints.append("scapy finds no AETH in an acknowledge")
    data = data[:found.end]  # scapy would count Ethernet padding into the ICRC
    again = rebuilt(data)
    if again != data:
        at = next((i for i, (a, b) in enumerate(zip(again, data)) if a != b),
                  min(len(again), len(data)))
        what = "the ICRC" if found.end - 4 <= at < found.end else f"byte {at}"
        complaints.append(f"differs from scapy's frame in {what}: {data[at:at + 4].hex()}, "
                          f"scapy has {again[at:at + 4].hex()}")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--min-frames", type=int, default=1,
                        help="fewer RoCE frames are an error (default 1)")
    options = parser.parse_args()
    try:
        packets = roce.read_pcapng(options.file)
    except (roce.bad_file, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    complaints = []
    frames = 0
    over_ipv6 = 0
    for number, each in enumerate(packets, start=1):
        if each.data[12:14] == b"\x88\x08":
            continue
        frames += 1
        complaints += [f"frame {number}: {text}" for text in check_frame(each.data)]
        found = roce.find_headers(each.data)
        over_ipv6 += found is not None and found.ipv6
    if frames < options.min_frames:
        complaints.append(f"{frames} RoCE frames, at least {options.min_frames} expected")
    for text in complaints:
        print(f"{options.file}: {text}")
    if not complaints:
        print(f"{options.file}: {frames} RoCEv2 frames, all as scapy writes them "
              f"({over_ipv6} over IPv6 without their ICRC)")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
