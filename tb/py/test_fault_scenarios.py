"""Faults that users meet: the program prints the cause by name, and exits with 0 only if the
scenario expects it."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

FAULTS = carillon_runs.ROOT / "scenarios/faults"
# Scenario -> the name of its cause.
CAUSES = {"wrong_pd": "wrong_pd", "memory_not_registered": "memory_not_registered",
          "vfs_exhausted": "vf_exhausted", "trust_off": "trust_off",
          "mtu_mismatch": "mtu_mismatch", "wrong_qp_owner": "wrong_qp_owner"}


class faults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_file(self, path, *options):
        command = [carillon_runs.BINARY, "run", str(path), "--out", str(self.out / "run"),
                   *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                              cwd=carillon_runs.ROOT)

    def test_every_one_has_a_scenario(self):
        self.assertEqual({path.stem for path in FAULTS.glob("*.toml")}, set(CAUSES))

    def test_an_expected_cause_is_printed_and_exits_with_0(self):
        for name, cause in CAUSES.items():
            with self.subTest(scenario=name):
                done = self.run_file(FAULTS / f"{name}.toml")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"\n{cause}: ", done.stdout)
                found = json.loads((self.out / "run/summary.json").read_text())["diagnosis"]
                self.assertEqual(found["causes"], cause)
                self.assertTrue(found[cause]["text"])

    def test_a_cause_that_nobody_expects_exits_with_1(self):
        for name, cause in CAUSES.items():
            with self.subTest(scenario=name):
                text = (FAULTS / f"{name}.toml").read_text()
                silent = self.out / f"{name}.toml"
                silent.write_text(text[:text.index("[expect]")])
                done = self.run_file(silent)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("UNMET diagnosis.causes: expected none", done.stdout)
                self.assertIn(cause, done.stdout)

    def test_the_cause_does_not_come_from_the_scenarios_name(self):
        # The same runs under another name, without their mistakes.
        for name in ("wrong_pd", "memory_not_registered", "wrong_qp_owner", "mtu_mismatch"):
            with self.subTest(scenario=name):
                text = (FAULTS / f"{name}.toml").read_text()
                text = re.sub(r"^(mistake|peer_mtu) = .*$", "", text, flags=re.MULTILINE)
                healthy = self.out / f"{name}.toml"
                healthy.write_text(text[:text.index("[expect]")])
                done = self.run_file(healthy)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                found = json.loads((self.out / "run/summary.json").read_text())["diagnosis"]
                self.assertEqual(found, {"causes": "none"})


if __name__ == "__main__":
    unittest.main()
