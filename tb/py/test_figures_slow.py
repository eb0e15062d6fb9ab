"""Scenarios that need many messages for their figures meet what they expect."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402


class figures(unittest.TestCase):
    def test_are_what_the_scenarios_expect(self):
        for name in sorted(carillon_runs.FOR_FIGURES):
            with self.subTest(scenario=name), tempfile.TemporaryDirectory() as out:
                done = carillon_runs.run(carillon_runs.ROOT / f"scenarios/{name}.toml", out)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
