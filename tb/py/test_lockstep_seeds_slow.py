"""Every twin agrees with its model for twenty seeds, and together they see nearly everything."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

SEEDS = range(1, 21)
TRANSACTIONS = 20000


class twenty_seeds(unittest.TestCase):
    def test_the_twins_agree_and_hit_all_bins(self):
        hit = {}
        for seed in SEEDS:
            done = subprocess.run(
                [carillon_runs.BINARY, "lockstep", "all", "--transactions", str(TRANSACTIONS),
                 "--seed", str(seed), "--json"],
                capture_output=True, text=True, check=False, timeout=300)
            self.assertEqual(done.returncode, 0, f"seed {seed}:\n{done.stdout}{done.stderr}")
            for each in json.loads(done.stdout)["stages"]:
                bins = hit.setdefault(each["stage"], {})
                self.assertLessEqual(len(each["excluded"]), 0.02 * len(each["coverage"]))
                for name, hits in each["coverage"].items():
                    bins[name] = bins.get(name, 0) + hits
        never = [f"{stage}: {name}" for stage, bins in hit.items()
                 for name, hits in bins.items() if hits == 0]
        self.assertEqual(never, [])


if __name__ == "__main__":
    unittest.main()
