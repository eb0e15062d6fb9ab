#!/usr/bin/env python3
"""Asks Wireshark's dissectors what is in a capture, and checks the answer.

Every frame must be RoCEv2 (pause frames are counted and left alone), well formed, with lengths
that agree with each other and the ICRC that its bytes have. The PSNs may be given, or required to
follow each other.

Exit code 0: all is well. 1: complaints, one a line. 2: the check itself could not run.
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roce  # noqa: E402

FIELDS = ("frame.number", "frame.protocols", "frame.len", "infiniband.bth.opcode",
          "infiniband.bth.psn", "infiniband.bth.destqp", "infiniband.bth.padcnt",
          "infiniband.invariant.crc", "ip.checksum.status", "_ws.malformed")

# They guess at the payload of InfiniBand packets, and call short ones malformed.
PAYLOAD_GUESSERS = ("rpcordma", "smb_direct", "smc", "nvme-rdma", "lnet", "iser", "infiniband.eoib",
                    "infiniband_sdp", "fcoib", "drbd")

CHECKSUM_BAD = "0"


def dissect(path):
    """One dictionary of fields a frame."""
    command = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE",
               "--disable-heuristic", "eth_over_ib"]
    for name in PAYLOAD_GUESSERS:
        command += ["--disable-protocol", name]
    command += ["-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]
    for name in FIELDS:
        command += ["-e", name]
    # A home of its own: the user's preferences are not part of the oracle.
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, LC_ALL="C.UTF-8")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600,
                              stdin=subprocess.DEVNULL, env=environment)
    if done.returncode != 0:
        raise roce.bad_file(f"tshark refuses {path}:\n{done.stderr.strip()}")
    return [dict(zip(FIELDS, line.split("\t"))) for line in done.stdout.splitlines()]


def is_pause(data):
    return data[12:14] == b"\x88\x08"


def check_frame(data, seen):
    """Complaints about one frame, and where its headers stand (None if it is no RoCEv2 frame)."""
    layers = seen["frame.protocols"].split(":")
    found = roce.find_headers(data)
    if "infiniband" not in layers or "udp" not in layers or found is None:
        return [f"not RoCEv2: {seen['frame.protocols']}"], None
    complaints = roce.check_lengths(data, found)
    if seen["_ws.malformed"]:
        complaints.append("malformed")
    if seen["ip.checksum.status"] == CHECKSUM_BAD:
        complaints.append("Wireshark finds the IPv4 header checksum wrong")
    if int(seen["frame.len"]) != len(data):
        complaints.append(f"{seen['frame.len']} bytes according to Wireshark, {len(data)} here")
    for field, ours in (("opcode", found.opcode(data)), ("psn", found.psn(data)),
                        ("destqp", found.dest_qpn(data)), ("padcnt", found.pad(data))):
        theirs = int(seen[f"infiniband.bth.{field}"], 0)
        if theirs != ours:
            complaints.append(f"{field} is {theirs} according to Wireshark, {ours} here")
    on_wire = data[found.end - 4:found.end]
    computed = roce.icrc(data, found)
    if on_wire != computed:
        complaints.append(f"ICRC {on_wire.hex()}, must be {computed.hex()}")
    shown = seen["infiniband.invariant.crc"]
    if shown:
        if bytes.fromhex(shown[2:]) != on_wire:
            complaints.append(f"Wireshark finds the ICRC {shown[2:]}, the last bytes are "
                              f"{on_wire.hex()}")
    elif found.opcode(data) != roce.CNP:  # Wireshark 4.0 leaves a CNP undissected behind its BTH
        complaints.append("Wireshark finds no ICRC")
    return complaints, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--psns", help="the PSNs of all RoCE frames in their order, 1,2,3")
    parser.add_argument("--consecutive", action="store_true",
                        help="PSNs of a flow's requests follow each other")
    parser.add_argument("--mtu", type=int, default=4096, help="for --consecutive with READs")
    parser.add_argument("--min-frames", type=int, default=1,
                        help="fewer RoCE frames are an error (default 1)")
    options = parser.parse_args()
    try:
        packets = roce.read_pcapng(options.file)
        dissected = dissect(options.file)
    except (roce.bad_file, OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 2

    complaints = []
    if len(packets) != len(dissected):
        complaints.append(f"{len(packets)} frames in the file, {len(dissected)} dissected")
    frames = []
    pauses = 0
    for number, (each, seen) in enumerate(zip(packets, dissected), start=1):
        if is_pause(each.data):
            pauses += 1
            continue
        mine, found = check_frame(each.data, seen)
        complaints += [f"frame {number}: {text}" for text in mine]
        if found is not None:
            frames.append((number, each.data, found))
    if len(frames) < options.min_frames:
        complaints.append(f"{len(frames)} RoCE frames, at least {options.min_frames} expected")
    if options.psns is not None:
        expected = [int(text, 0) for text in options.psns.split(",")]
        got = [found.psn(data) for _, data, found in frames]
        if got != expected:
            complaints.append(f"PSNs {got}, expected {expected}")
    if options.consecutive:
        complaints += roce.check_sequence(frames, options.mtu)
    for text in complaints:
        print(f"{options.file}: {text}")
    if not complaints:
        print(f"{options.file}: {len(frames)} RoCEv2 frames, {pauses} pause frames, all well")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
