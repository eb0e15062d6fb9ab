"""The capture oracles accept the golden frames and catch what is planted in them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLES = ROOT / "tb/oracles"
sys.path.insert(0, str(ORACLES))
import roce  # noqa: E402

VECTORS = {v["name"]: v for v in json.loads(
    (ROOT / "tb/golden/roce_vectors.json").read_text(encoding="utf-8"))["vectors"]}
GOOD = {name: bytes.fromhex(v["hex"]) for name, v in VECTORS.items() if v["rocev2"]}
PAUSE = bytes.fromhex("0180c2000001020000000001" "8808" "0101" "0008") + bytes(42)


def with_icrc(frame):
    """The frame with the ICRC that its bytes have."""
    found = roce.find_headers(frame)
    return frame[:found.end - 4] + roce.icrc(frame, found) + frame[found.end:]


def with_psn(frame, psn):
    at = roce.find_headers(frame).bth + 9
    return with_icrc(frame[:at] + psn.to_bytes(3, "big") + frame[at + 3:])


class oracle_test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "wire.pcapng"

    def run_oracle(self, script, frames, *options):
        roce.write_pcapng(self.path, [(1000 * i, frame) for i, frame in enumerate(frames)])
        return self.run_on_file(script, *options)

    def run_on_file(self, script, *options):
        done = subprocess.run([sys.executable, str(ORACLES / script), str(self.path), *options],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def expect_complaint(self, script, frames, text, *options):
        code, output = self.run_oracle(script, frames, *options)
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def expect_good(self, script, frames, *options):
        code, output = self.run_oracle(script, frames, *options)
        self.assertEqual(code, 0, output)
        return output


class roce_module_test(oracle_test):
    def test_icrc_of_every_golden_frame(self):
        for name, frame in GOOD.items():
            found = roce.find_headers(frame)
            self.assertEqual(roce.icrc(frame, found).hex(), VECTORS[name]["icrc"], name)

    def test_a_file_reads_as_it_was_written(self):
        frames = [(0, b"\x01" * 61), (5_000_000_000_123, b"\x02" * 60)]
        roce.write_pcapng(self.path, frames)
        read = roce.read_pcapng(self.path)
        self.assertEqual([(p.time_ns, p.data) for p in read], frames)

    def test_a_cut_file_is_refused(self):
        roce.write_pcapng(self.path, [(0, GOOD["write_only"])])
        whole = self.path.read_bytes()
        for cut in (5, len(whole) - 4, len(whole) - 60):
            self.path.write_bytes(whole[:cut])
            with self.assertRaises(roce.bad_file):
                roce.read_pcapng(self.path)


class tshark_test(oracle_test):
    script = "check_pcap_tshark.py"

    def test_accepts_the_golden_frames(self):
        output = self.expect_good(self.script, list(GOOD.values()) + [PAUSE])
        self.assertIn(f"{len(GOOD)} RoCEv2 frames, 1 pause frames", output)

    def test_accepts_ethernet_padding(self):
        self.expect_good(self.script, [GOOD["send_only_empty"] + bytes(2)])

    def test_catches_a_wrong_icrc(self):
        for name in ("write_only", "cnp", "ipv6_send_only"):
            frame = bytearray(GOOD[name])
            frame[-5] ^= 1
            self.expect_complaint(self.script, [bytes(frame)], "frame 1: ICRC ")

    def test_catches_an_icrc_in_the_wrong_byte_order(self):
        frame = GOOD["write_only"]
        self.expect_complaint(self.script, [frame[:-4] + frame[:-5:-1]], "frame 1: ICRC ")

    def test_catches_wrong_lengths(self):
        frame = bytearray(GOOD["write_only"])
        frame[39] -= 4
        self.expect_complaint(self.script, [with_icrc(bytes(frame))], "UDP length")
        self.expect_complaint(self.script, [GOOD["write_only"] + bytes(2)],
                              "2 bytes behind the ICRC")

    def test_catches_a_wrong_header_checksum(self):
        frame = bytearray(GOOD["write_only"])
        frame[24] ^= 1
        self.expect_complaint(self.script, [bytes(frame)],
                              "Wireshark finds the IPv4 header checksum")

    def test_catches_pad_bytes_that_are_not_zero(self):
        frame = bytearray(GOOD["send_last"])
        frame[-5] = 1
        self.expect_complaint(self.script, [with_icrc(bytes(frame))], "pad bytes are not zero")

    def test_catches_a_wrong_pad_count(self):
        frame = bytearray(GOOD["send_only_empty"])
        frame[43] |= 0x30
        self.expect_complaint(self.script, [with_icrc(bytes(frame))], "do not hold opcode 0x04")

    def test_catches_what_is_not_rocev2(self):
        for name in ("v1_write_only", "negative_ack"):
            frame = bytes.fromhex(VECTORS[name]["hex"])
            self.expect_complaint(self.script, [frame], "frame 1: not RoCEv2")

    def test_an_empty_capture_proves_nothing(self):
        self.expect_complaint(self.script, [], "0 RoCE frames, at least 1 expected")
        self.expect_complaint(self.script, [PAUSE], "0 RoCE frames, at least 1 expected")

    def test_compares_psns(self):
        frames = [GOOD[name] for name in ("send_first", "send_middle", "send_last")]
        self.expect_good(self.script, frames, "--psns", "0xfffffe,0xffffff,0")
        self.expect_complaint(self.script, frames, "PSNs ", "--psns", "0xfffffe,0xffffff,1")

    def test_follows_psns(self):
        frames = [GOOD[name] for name in ("send_first", "send_middle", "send_last")]
        self.expect_good(self.script, frames, "--consecutive")
        self.expect_complaint(self.script, [frames[0], frames[2]],
                              "frame 2: PSN 0 to QP 0x000123, expected 16777215", "--consecutive")

    def test_a_read_takes_the_psns_of_its_responses(self):
        # 517 bytes at an MTU of 256 are three responses.
        after = with_psn(GOOD["write_only"], 15)
        frames = [GOOD["read_request"], after]
        self.expect_good(self.script, frames, "--consecutive", "--mtu", "256")
        self.expect_complaint(self.script, frames, "PSN 15", "--consecutive", "--mtu", "4096")

    def test_says_when_there_is_no_capture(self):
        self.assertEqual(self.run_on_file(self.script)[0], 2)
        self.path.write_bytes(b"this is no capture file")
        self.assertEqual(self.run_on_file(self.script)[0], 2)


class scapy_test(oracle_test):
    script = "check_pcap_scapy.py"

    def test_accepts_the_golden_frames(self):
        output = self.expect_good(self.script, list(GOOD.values()) + [PAUSE])
        self.assertIn(f"{len(GOOD)} RoCEv2 frames", output)
        self.assertIn("5 over IPv6", output)

    def test_accepts_ethernet_padding(self):
        self.expect_good(self.script, [GOOD["send_only_empty"] + bytes(2)])

    def test_catches_a_wrong_icrc(self):
        frame = bytearray(GOOD["write_only"])
        frame[-1] ^= 0x80
        self.expect_complaint(self.script, [bytes(frame)], "differs from scapy's frame in the ICRC")

    def test_catches_a_wrong_length(self):
        frame = bytearray(GOOD["write_only"])
        frame[39] -= 4
        code, output = self.run_oracle(self.script, [with_icrc(bytes(frame))])
        self.assertEqual(code, 1, output)

    def test_catches_a_wrong_header_checksum(self):
        frame = bytearray(GOOD["write_only"])
        frame[24] ^= 1
        self.expect_complaint(self.script, [bytes(frame)], "differs from scapy's frame in byte 24")

    def test_catches_what_is_not_rocev2(self):
        frame = bytes.fromhex(VECTORS["negative_ack"]["hex"])
        self.expect_complaint(self.script, [frame], "not RoCEv2")

    def test_an_empty_capture_proves_nothing(self):
        self.expect_complaint(self.script, [], "0 RoCE frames")


if __name__ == "__main__":
    unittest.main()
