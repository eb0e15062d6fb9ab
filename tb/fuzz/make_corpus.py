#!/usr/bin/env python3
"""Writes the corpus of the fuzzers from the golden frames: run after those change.

An input of rx_parser is the lines qpc_common and qpc_responder of the QP and a frame.
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "roce_vectors.json"
LINE = 64


def qpc_lines() -> bytes:
    """A connected QP that is ready to send and receive, expecting PSN 0."""
    common = bytearray(LINE)
    # state RTS (4) in bits 31:29, service RC, MTU 4096 (5) in 25:23, valid in 22, READ, WRITE and atomics
    common[0:4] = (4 << 29 | 5 << 23 | 1 << 22 | 7 << 8).to_bytes(4, "big")
    common[10:12] = b"\xff\xff"
    return bytes(common) + bytes(LINE)


def main() -> None:
    folder = HERE / "corpus" / "rx_parser"
    folder.mkdir(parents=True, exist_ok=True)
    for vector in json.loads(GOLDEN.read_text())["vectors"]:
        frame = bytes.fromhex(vector["hex"])
        (folder / vector["name"].lower()).write_bytes(qpc_lines() + frame)


if __name__ == "__main__":
    main()
