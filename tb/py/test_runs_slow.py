"""Every scenario: the same bytes whatever implements a stage, orders a cycle, or watches."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

ORACLES = carillon_runs.ROOT / "tb/oracles"


class each_scenario(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_ok(self, scenario, name, *options):
        done = carillon_runs.run(scenario, self.out / name, *carillon_runs.shorter(scenario),
                                 *options)
        self.assertEqual(done.returncode, 0,
                         f"{scenario.name} {options}:\n{done.stdout}{done.stderr}")
        return self.out / name

    def each(self, check):
        self.assertGreaterEqual(len(carillon_runs.SCENARIOS), 8)
        for scenario in carillon_runs.SCENARIOS:
            with self.subTest(scenario=scenario.stem):
                check(scenario)

    def test_model_rtl_and_lockstep_write_the_same_stage_traces(self):
        def check(scenario):
            base = scenario.stem
            model = self.run_ok(scenario, base + "-model", "--trace", "stages")
            expected = carillon_runs.stage_traces(model)
            self.assertTrue(expected)
            self.assertTrue(all(len(text.splitlines()) > 100 for text in expected.values()))
            ways = {name: ("--impl", f"all={name}") for name in ("rtl", "lockstep")}
            # Idle stretches cost as much as busy ones then.
            if carillon_runs.simulated_ms(model) < 0.2:
                ways["always"] = ("--impl", "all=rtl", "--rtl-clock", "always")
            for name, options in ways.items():
                other = self.run_ok(scenario, f"{base}-{name}", "--trace", "stages", *options)
                self.assertTrue(carillon_runs.stage_traces(other) == expected,
                                f"{scenario.name}: {name} differs from the model")
                self.assertEqual(carillon_runs.summary(other), carillon_runs.summary(model))

        self.each(check)

    def test_watching_and_shuffling_change_no_result(self):
        def check(scenario):
            base = scenario.stem
            plain = carillon_runs.summary(self.run_ok(scenario, base + "-plain"))
            for name, options in (("again", ()), ("sqlite", ("--trace", "sqlite")),
                                  ("all", ("--trace", "sqlite,perfetto,stages", "--pcap")),
                                  ("shuffle1", ("--shuffle", "1")),
                                  ("shuffle2", ("--shuffle", "2"))):
                other = self.run_ok(scenario, f"{base}-{name}", *options)
                self.assertEqual(carillon_runs.summary(other), plain, f"{scenario.name}: {name}")

        self.each(check)

    def test_shuffling_changes_no_stage_trace_and_no_frame(self):
        def check(scenario):
            first = self.run_ok(scenario, scenario.stem + "-a", "--trace", "stages", "--pcap")
            second = self.run_ok(scenario, scenario.stem + "-b", "--trace", "stages", "--pcap",
                                 "--shuffle", "99")
            self.assertTrue(carillon_runs.stage_traces(first) == carillon_runs.stage_traces(second))
            for capture in first.rglob("wire.pcapng"):
                self.assertEqual(capture.read_bytes(),
                                 (second / capture.relative_to(first)).read_bytes())

        self.each(check)

    def test_wireshark_and_scapy_agree_with_every_frame_of_first_write(self):
        scenario = carillon_runs.ROOT / "scenarios/first_write.toml"
        captures = sorted(self.run_ok(scenario, "capture", "--pcap").rglob("wire.pcapng"))
        # 4 messages of one packet and their acknowledges; 4 of 256 packets, each acknowledged at
        # least once.
        self.assertEqual([path.parent.name for path in captures], ["size_1048576", "size_4096"])
        for capture, frames in zip(captures, (4 * 256 + 4, 4 + 4)):
            tshark = ["check_pcap_tshark.py", "--consecutive", "--min-frames", str(frames)]
            for oracle, *options in (tshark, ["check_pcap_scapy.py"]):
                command = ["/usr/bin/python3", str(ORACLES / oracle), str(capture), *options]
                done = subprocess.run(command, capture_output=True, text=True, check=False,
                                      timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
