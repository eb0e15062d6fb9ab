#!/usr/bin/env python3
"""Writes the corpora of the fuzzers: run after the golden frames or a format changed.

An input of rx_parser is the lines qpc_common and qpc_responder of the QP, four data segments and a
frame; one of wqe_parser is the line qpc_common, memory keys, a header and a WQE. The beginnings of
the two *_fuzz.cpp say it byte by byte.
"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "roce_vectors.json"
sys.path.insert(0, str(HERE.parent / "oracles"))
import roce  # noqa: E402

LINE = 64
RC, UC, UD = 0, 1, 2
RTS = 4
MTU_256, MTU_4096 = 1, 5
SEND, WRITE = 0, 1


def qpc_common(service=RC, mtu=MTU_4096, state=RTS, qkey=0, signature=False):
    """A QP that exists, with READ, WRITE and atomics allowed."""
    word = state << 29 | service << 26 | mtu << 23 | 1 << 22 | 7 << 8 | int(signature) << 7
    line = struct.pack(">IIHH", word, 3, 2, 0xffff)
    return (line.ljust(0x38, b"\0") + struct.pack(">I", qkey)).ljust(LINE, b"\0")


# rx_parser ----------------------------------------------------------------------------------------


def qpc_responder(psn=0, verb=SEND, in_message=False, received=0, announced=0):
    word = int(in_message) << 29 | verb << 25 | 4 << 17
    return struct.pack(">IIIIQIII", word, psn, 0, 0, 0x2000, 0x77, announced,
                       received).ljust(LINE, b"\0")


def data_segment(address, length, key):
    return struct.pack(">IIQ", length, key, address)


def qp_of(frame, found):
    """Lines for which the frame is the next packet of its QP."""
    opcode = found.opcode(frame)
    service = {0x00: RC, 0x20: UC, 0x60: UD}.get(opcode & 0xe0, RC)
    operation = opcode & 0x1f
    payload = len(found.payload(frame))
    mtu = MTU_256 if payload <= 256 else MTU_4096
    qkey = int.from_bytes(frame[found.bth + 12:found.bth + 16], "big") if service == UD else 0
    psn = found.psn(frame)
    follows = operation in (0x01, 0x02, 0x03, 0x07, 0x08, 0x09, 0x16)
    verb = WRITE if 0x06 <= operation <= 0x0b else SEND
    before = 256 if follows else 0
    # A WRITE ends with its LAST; a READ's answer is at hand from its FIRST on.
    announced = before + payload + (256 if operation in (0x01, 0x07, 0x0e) else 0)
    if operation in (0x0e, 0x0f):
        psn, announced = psn - 1, announced + 256
    elif operation == 0x12:
        announced = 8
    return (qpc_common(service, mtu, qkey=qkey) +
            qpc_responder(psn & 0xffffff, verb, follows, before, announced))


def rx_parser_inputs():
    segments = b"".join(data_segment(0x10000 * i, 1 << (6 + 2 * i), 0x500 + i) for i in range(4))
    for vector in json.loads(GOLDEN.read_text(encoding="utf-8"))["vectors"]:
        frame = bytes.fromhex(vector["hex"])
        found = roce.find_headers(frame)
        lines = qpc_common() + qpc_responder() if found is None else qp_of(frame, found)
        yield vector["name"].lower(), lines + segments + frame


# wqe_parser ---------------------------------------------------------------------------------------

QPN, INDEX, LKEY = 7, 9, 0x542
FROM_WQE, NO_QP, NO_KEYS = 1, 2, 4
NOP, SEND_INVALIDATE, RDMA_WRITE, RDMA_WRITE_IMMEDIATE = 0x00, 0x01, 0x08, 0x09
RDMA_SEND, SEND_IMMEDIATE, RDMA_READ, COMPARE_SWAP, FETCH_ADD = 0x0a, 0x0b, 0x10, 0x11, 0x12
LOCAL_INVALIDATE, UMR = 0x1b, 0x25

ADDRESS = struct.pack(">QII", 0x2000, 0x77, 0)
ATOMIC = struct.pack(">QQ", 1, 2)
DATAGRAM = struct.pack(">IIIIIHIBBI", 0x1234, 0, 1 << 31 | 8, 0, 0, 0x0200, 3, 0, 64,
                       0).ljust(48, b"\0")


VALID, ANY_ADDRESS, IN_ONE_PIECE, READABLE, WRITABLE = 0x80, 0x40, 0x20, 0x10, 0x08
USUAL = VALID | IN_ONE_PIECE | READABLE | WRITABLE


def memory_key(flags=USUAL, start=0x10000, length=0x1000, variant=LKEY & 0xff):
    line = struct.pack(">BBHIIIQQQI", flags, variant, 2, 12 << 26 | 3, 0xffffff, 0, start, length,
                       0x100000, 0x40)
    return line.ljust(LINE, b"\0")


def pointer(length=64, address=0x10000, key=LKEY):
    return data_segment(address, length, key)


def inlined(length):
    data = struct.pack(">I", 1 << 31 | length) + bytes(i & 0xff for i in range(length))
    return data + bytes(-len(data) % 16)


def control(opcode, units, imm=0xaabbccdd, index=INDEX, signature=0):
    return struct.pack(">BHBIBHBI", 0, index, opcode, QPN << 8 | units, signature, 0, 2 << 2, imm)


def wqe(opcode, segments=b"", imm=0xaabbccdd, units=None, index=INDEX):
    units = 1 + len(segments) // 16 if units is None else units
    return control(opcode, units, imm, index) + segments


def signed(bytes_of_wqe):
    total = 0xff
    for each in bytes_of_wqe:
        total ^= each
    return bytes_of_wqe[:8] + bytes([total]) + bytes_of_wqe[9:]


def wqe_input(work, qp=None, keys=(memory_key(),), flags=0, status=0, units=None):
    units = work[7] & 0x3f if units is None else units
    header = (struct.pack(">BBBH", status, units, flags, INDEX) + QPN.to_bytes(3, "big"))
    return (qp or qpc_common()) + bytes([len(keys)]) + b"".join(keys) + header + work


def wqe_parser_inputs():
    uc, ud = qpc_common(UC), qpc_common(UD)
    send = wqe(RDMA_SEND, pointer())
    yield "nop_rc", wqe_input(wqe(NOP))
    yield "nop_uc", wqe_input(wqe(NOP), uc)
    yield "nop_ud", wqe_input(wqe(NOP), ud)
    yield "send_rc", wqe_input(send)
    yield "send_uc", wqe_input(send, uc)
    yield "send_ud", wqe_input(wqe(RDMA_SEND, DATAGRAM + pointer()), ud)
    yield "send_ud_inline", wqe_input(wqe(RDMA_SEND, DATAGRAM + inlined(100)), ud)
    yield "send_ud_too_long", wqe_input(wqe(RDMA_SEND, DATAGRAM + pointer(257)),
                                        qpc_common(UD, MTU_256))
    yield "send_immediate_rc", wqe_input(wqe(SEND_IMMEDIATE, pointer() * 2))
    yield "send_immediate_uc", wqe_input(wqe(SEND_IMMEDIATE, inlined(3)), uc)
    yield "send_immediate_ud", wqe_input(wqe(SEND_IMMEDIATE, DATAGRAM + pointer()), ud)
    yield "send_invalidate", wqe_input(wqe(SEND_INVALIDATE, pointer(), imm=LKEY))
    yield "send_empty", wqe_input(wqe(RDMA_SEND))
    yield "send_30_segments", wqe_input(wqe(RDMA_SEND, pointer() * 30))
    yield "send_31_segments", wqe_input(wqe(RDMA_SEND, pointer() * 31))
    yield "send_longest_inline", wqe_input(wqe(RDMA_SEND, inlined(988)))
    yield "send_mixed", wqe_input(wqe(RDMA_SEND, pointer() + inlined(12)))
    yield "write_rc", wqe_input(wqe(RDMA_WRITE, ADDRESS + pointer()))
    yield "write_uc", wqe_input(wqe(RDMA_WRITE, ADDRESS + inlined(64)), uc)
    yield "write_immediate_rc", wqe_input(wqe(RDMA_WRITE_IMMEDIATE, ADDRESS + inlined(1)))
    yield "write_immediate_uc", wqe_input(wqe(RDMA_WRITE_IMMEDIATE, ADDRESS + pointer()), uc)
    yield "write_ud", wqe_input(wqe(RDMA_WRITE, ADDRESS + pointer()), ud)
    yield "write_too_long", wqe_input(wqe(RDMA_WRITE, ADDRESS + pointer(0x7fffffff) * 2),
                                      keys=(memory_key(USUAL | ANY_ADDRESS),))
    yield "read", wqe_input(wqe(RDMA_READ, ADDRESS + pointer() * 3))
    yield "read_not_writable", wqe_input(wqe(RDMA_READ, ADDRESS + pointer()),
                                         keys=(memory_key(USUAL & ~WRITABLE),))
    yield "compare_swap", wqe_input(wqe(COMPARE_SWAP, ADDRESS + ATOMIC + pointer(8)))
    yield "fetch_add", wqe_input(wqe(FETCH_ADD, ADDRESS + ATOMIC + pointer(8)))
    yield "fetch_add_misaligned", wqe_input(
        wqe(FETCH_ADD, struct.pack(">QII", 0x2004, 0x77, 0) + ATOMIC + pointer(8)))
    yield "local_invalidate", wqe_input(wqe(LOCAL_INVALIDATE, imm=LKEY))
    yield "unsupported", wqe_input(wqe(UMR, pointer()))
    yield "signed", wqe_input(signed(send), qpc_common(signature=True))
    yield "signed_wrong", wqe_input(send, qpc_common(signature=True))
    yield "paged", wqe_input(send, keys=(memory_key(USUAL & ~IN_ONE_PIECE),))
    yield "two_keys", wqe_input(wqe(RDMA_SEND, pointer() + pointer(16, 0x900000, 0x643)),
                                keys=(memory_key(), memory_key(USUAL, 0x900000, 16, 0x43)))
    yield "beyond_key", wqe_input(wqe(RDMA_SEND, pointer(0x1001)))
    yield "key_to_the_end", wqe_input(wqe(RDMA_SEND, pointer(64, (1 << 64) - 64)),
                                      keys=(memory_key(USUAL, (1 << 64) - 64, 64),))
    yield "misplaced", wqe_input(wqe(RDMA_SEND, pointer(), index=INDEX + 1))
    yield "index_of_the_wqe", wqe_input(wqe(RDMA_SEND, pointer(), index=77), flags=FROM_WQE)
    yield "no_qp", wqe_input(send, flags=NO_QP)
    yield "no_keys", wqe_input(send, flags=NO_KEYS)
    yield "unread", wqe_input(send, status=1)
    yield "no_units", wqe_input(send, units=0)
    yield "cut", wqe_input(wqe(RDMA_WRITE, ADDRESS), units=1)
    yield "in_error", wqe_input(send, qpc_common(state=7))
    yield "in_reset", wqe_input(send, qpc_common(state=0))


def main():
    for name, inputs in (("rx_parser", rx_parser_inputs()), ("wqe_parser", wqe_parser_inputs())):
        folder = HERE / "corpus" / name
        folder.mkdir(parents=True, exist_ok=True)
        for stem, data in inputs:
            (folder / stem).write_bytes(data)


if __name__ == "__main__":
    main()
