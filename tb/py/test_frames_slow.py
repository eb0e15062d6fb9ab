"""Every frame of every scenario is what Wireshark and the ICRC say it must be, and every fault on
the cable is what its record says.

A capture has the frames as they were sent: what the cable does to one later is its comment and a
line of faults.json. So all frames must be right, those that were to be corrupted too; of these,
the bit that the record names is flipped here, and the receiver must have had a reason to drop what
comes out: the ICRC for `icrc`, whatever the FCS covers for `fcs`. That it did is in its counters.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

ORACLES = carillon_runs.ROOT / "tb/oracles"
sys.path.insert(0, str(ORACLES))
import roce  # noqa: E402

DIRECTIONS = {"host0_to_host1": 0, "host1_to_host0": 1}
FCS_BYTES = 4
COMMENTS = {"drop": "dropped", "duplicate": "duplicated", "delay": "delayed",
            "reorder": "reordered"}

# Points whose messages are all looped back.
INSIDE = {("loopback", "inside")}
# Points in which VFs are reset for their next user, whose QPs have the numbers of the last one's.
QPS_REUSED = {("vf_pool", "exclusive")}

# More of the mixed traffic: the other services, address families and packet sizes.
UNRELIABLE = "{send=4,send_imm=1,write=4,write_imm=1}"
MIXED = {
    "ipv6": ("wire.ip_version=6", "wire.mtu=256"),
    "uc": ("workload.mixed.service=uc", f"workload.mixed.weights={UNRELIABLE}"),
    "ud": ("workload.mixed.service=ud", "workload.mixed.weights={send=4,send_imm=1}",
           "workload.size=1024", "wire.ip_version=6"),
}


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class frames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def captured(self, scenario, name, *options):
        """Runs it; (label, capture) of each point."""
        out = self.out / name
        done = carillon_runs.run(scenario, out, "--pcap", *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        captures = sorted(out.rglob("wire.pcapng"))
        self.assertTrue(captures)
        return [(path.parent.name if path.parent != out else "", path) for path in captures]

    def check_frames(self, capture, *options):
        """Every frame, by Wireshark's dissectors and by an ICRC of our own."""
        command = ["/usr/bin/python3", str(ORACLES / "check_pcap_tshark.py"), str(capture),
                   *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def sent(self, capture):
        """The frames of each end of the cable, in the order of sending."""
        result = [[], []]
        for each in roce.read_pcapng(capture):
            result[each.interface].append(each)
        return result

    def check_faults(self, out, run):
        """Records, comments and counters agree, and a broken frame is broken."""
        sent = self.sent(out / "wire.pcapng")
        records = [json.loads(line) for line in (out / "faults.json").read_text().splitlines()]
        touched = set()
        broken = {"icrc": [0, 0], "fcs": [0, 0]}
        for record in records:
            with self.subTest(record=record):
                side = DIRECTIONS[record["direction"]]
                frame = sent[side][record["frame"] - 1]
                touched.add((side, record["frame"] - 1))
                self.check_record(record, frame)
                if record["action"] == "corrupt":
                    broken[record["where"]][side] += 1
        # Each rule has had something to do.
        for rule in run["faults"]["rules"].values():
            self.assertGreater(rule["applied"], 0, rule)
        for side, each in enumerate(sent):
            for number, frame in enumerate(each):
                self.assertEqual(frame.comment != "", (side, number) in touched,
                                 f"frame {number + 1} of nic{side}: {frame.comment}")
        for side in (0, 1):
            receiver = run["counters"][f"nic{1 - side}"]
            self.assertEqual(receiver["rx_drop_icrc"], broken["icrc"][side])
            self.assertEqual(receiver["rx_drop_fcs"], broken["fcs"][side])
            actions = run["faults"][list(DIRECTIONS)[side]]
            self.assertEqual(sum(actions.values()),
                             sum(1 for each in records if DIRECTIONS[each["direction"]] == side))

    def check_record(self, record, frame):
        found = roce.find_headers(frame.data)
        self.assertEqual(record["time_ps"] // 1000, frame.time_ns)
        self.assertEqual((record["psn"], record["dest_qpn"]),
                         (found.psn(frame.data), found.dest_qpn(frame.data)))
        if record["action"] != "corrupt":
            self.assertIn(f"fault: {COMMENTS[record['action']]}", frame.comment)
            return
        bit = record["bit"]
        self.assertIn(f"corrupted {record['where']} bit {bit}", frame.comment)
        if record["where"] == "fcs":
            self.assertLess(bit, 8 * (len(frame.data) + FCS_BYTES))
            return
        # Nothing that a header check looks at, so that only the ICRC can tell.
        self.assertGreaterEqual(bit // 8, found.bth + 5)
        self.assertLess(bit // 8, found.end)
        delivered = flipped(frame.data, bit)
        self.assertEqual(roce.icrc(frame.data, found), frame.data[found.end - 4:found.end])
        self.assertNotEqual(roce.icrc(delivered, found), delivered[found.end - 4:found.end])

    def test_every_frame_of_every_scenario(self):
        for scenario in carillon_runs.SCENARIOS:
            with self.subTest(scenario=scenario.stem):
                shorter = carillon_runs.shorter(scenario)
                captures = self.captured(scenario, scenario.stem, *shorter)
                summary = carillon_runs.summary(self.out / scenario.stem)
                for label, capture in captures:
                    run = summary["points"][label] if label else summary
                    if (scenario.stem, label) in INSIDE:
                        self.assertEqual(self.sent(capture), [[], []], "all stays in the NIC")
                        continue
                    # Where nothing gets lost and every QP lives once, every request is sent once
                    # and in its turn.
                    faults = "faults" in run
                    once = not faults and (scenario.stem, label) not in QPS_REUSED
                    self.check_frames(capture, *(("--consecutive",) if once else ()))
                    if faults:
                        self.check_faults(capture.parent, run)

    def test_every_frame_of_other_mixed_traffic(self):
        scenario = carillon_runs.ROOT / "scenarios/soak.toml"
        for name, settings in MIXED.items():
            with self.subTest(name=name):
                options = [*carillon_runs.shorter(scenario),
                           *(part for each in settings for part in ("--set", each))]
                (_, capture), = self.captured(scenario, name, *options)
                self.check_frames(capture, "--min-frames", "2000")
                self.check_faults(capture.parent, carillon_runs.summary(self.out / name))


if __name__ == "__main__":
    unittest.main()
