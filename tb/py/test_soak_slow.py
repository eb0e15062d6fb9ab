"""scenarios/soak.toml with many seeds and settings: every message arrives once and whole.

The independent reference judges each run, memory and completions; a run whose verdict is bad ends
with exit code 3 and says why. A failure here names the command to repeat.
"""

import concurrent.futures
import pathlib
import random
import shlex
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

SCENARIO = carillon_runs.ROOT / "scenarios/soak.toml"
JOBS = 2
SEEDS = range(1, 51)
MESSAGES = 2000

UNRELIABLE = {"uc": "{send=4,send_imm=2,write=4,write_imm=1}", "ud": "{send=4,send_imm=2}"}
RELIABLE = (None, None, None, "{fetch_add=1}", "{compare_swap=1,fetch_add=1}", "{read=1}",
            "{read=2,fetch_add=2,write=1}", "{send=1}", "{write_imm=1}")


def some_settings(choose):
    """One combination that the scenario allows."""
    mtu = choose.choice((256, 1024, 4096))
    size = choose.choice((1, 8, 64, 1000, 4096, 20000))
    deepest = choose.choice((0, 2, 4))
    settings = {
        "wire.mtu": mtu,
        "workload.qps": choose.choice((1, 2, 8, 8, 32)),
        "workload.size": size,
        "workload.outstanding": choose.choice((1, 4, 8)),
        "workload.submit": choose.choice(("doorbell", "blueflame")),
        "workload.signaled_every": choose.choice((1, 4, 100)),
        "workload.mixed.scattered": choose.choice(("true", "false")),
        "workload.mixed.shared_receives": choose.choice(("true", "false")),
        "workload.mixed.signature": choose.choice(("true", "false")),
        "workload.mixed.receives": choose.choice((1, 2, 16, 64)),
        "workload.mixed.fenced": choose.choice((0, 5, 50)),
        "workload.mixed.unsignaled": choose.choice((0, 30, 90)),
        "workload.mixed.max_sges": choose.choice((1, 2, 4)),
        "workload.connection.ack_timeout": choose.choice((4, 6, 8)),
        "workload.connection.min_rnr_nak": choose.choice((1, 5)),
        "workload.connection.log_max_rd_atomic": deepest,
        "workload.connection.log_max_dest_rd_atomic": choose.choice((deepest, 4)),
        "pcie.completion_split": choose.choice(("largest_fit", "every_rcb", "random")),
        "pcie.relaxed_ordering": choose.choice(("true", "false")),
        "pcie.mrrs": choose.choice((128, 512, 4096)),
        "pcie.mps": choose.choice((128, 512)),
        "wire.ip_version": choose.choice((4, 6)),
        "wire.delay_ps": choose.choice((10000, 2000000)),
        "nic.ack_req_interval": choose.choice((1, 4, 64)),
        "nic.send_window": choose.choice((16, 64, 8192)),
        "nic.rx_buffer_bytes": choose.choice((16384, 262144)),
        "cpu.noise": choose.choice(("true", "false")),
    }
    service = choose.choice(("rc", "rc", "rc", "uc", "ud"))
    weights = choose.choice(RELIABLE) if service == "rc" else UNRELIABLE[service]
    settings["workload.mixed.service"] = service
    if weights is not None:
        settings["workload.mixed.weights"] = weights
    if service == "ud":
        settings["workload.size"] = min(size, mtu)
    return settings


class soak(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def one(self, name, messages, *options):
        """A failure in words, or None."""
        options = ("--set", f"workload.messages={messages}", *options)
        done = carillon_runs.run(SCENARIO, self.out / name, *options)
        if done.returncode != 0:
            command = shlex.join(["carillon", "run", "scenarios/soak.toml", *options])
            return f"{command}\nexit code {done.returncode}: {done.stdout}{done.stderr}"
        checks = carillon_runs.summary(self.out / name)["checks"]
        if checks["judged_sends"] != messages:
            return f"{name}: {checks['judged_sends']} of {messages} messages were judged"
        return None

    def all_of(self, runs):
        """Several at a time; `runs` are (name, messages, options...)."""
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            failures = [each for each in pool.map(lambda run: self.one(*run), runs) if each]
        self.assertEqual(failures, [], "\n\n".join(failures))

    def test_many_seeds_and_settings(self):
        runs = []
        for seed in SEEDS:
            choose = random.Random(seed)
            options = [part for key, value in some_settings(choose).items()
                       for part in ("--set", f"{key}={value}")]
            shuffle = choose.choice(((), ("--shuffle", "1"), ("--shuffle", "7")))
            runs.append((f"seed{seed}", MESSAGES, "--seed", str(seed), *options, *shuffle))
        self.all_of(runs)

    def test_many_seeds_as_it_is(self):
        self.all_of((f"plain{seed}", MESSAGES, "--seed", str(seed)) for seed in SEEDS)

    def test_additions_of_many_queue_pairs_form_one_chain(self):
        self.all_of((f"chain{seed}", MESSAGES, "--seed", str(seed), "--set",
                     "workload.mixed.weights={fetch_add=1}") for seed in range(1, 6))

    def test_two_hundred_thousand_messages(self):
        done = carillon_runs.run(SCENARIO, self.out / "whole")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summary = carillon_runs.summary(self.out / "whole")
        self.assertEqual(summary["messages"], 200000)
        self.assertEqual(summary["checks"]["judged_sends"], 200000)
        self.assertEqual(summary["checks"]["lost_messages"], 0)
        # Every fault has happened, many times.
        for action in ("drop", "corrupt", "duplicate", "reorder"):
            self.assertGreater(summary["faults"][action], 1000)


if __name__ == "__main__":
    unittest.main()
