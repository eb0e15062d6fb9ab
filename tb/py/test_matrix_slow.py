"""Operations, sizes, MTUs and ways to post in random combinations: every byte arrives."""

import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402

SCENARIO = """[workload]
verify = true

[expect]
checks.wrong_bytes = 0
checks.failed_completions = 0
"""

# Around every limit: inline, one block, one packet, one page, several packets.
SIZES = (0, 1, 3, 4, 12, 63, 64, 188, 189, 220, 221, 236, 237, 255, 256, 257, 1000, 1024, 1025,
         4095, 4096, 4097, 8192, 12289, 40000, 65535, 65536)
VARIANTS = ((), ("--shuffle", "1"), ("--shuffle", "2"), ("--impl", "all=lockstep"))


def some_settings(choose):
    """One combination that a scenario allows."""
    kind = choose.choice(("write_lat", "stream", "stream", "ping_pong"))
    submit = choose.choice(("doorbell", "blueflame"))
    settings = {
        "workload.kind": kind,
        "workload.opcode": choose.choice(("write", "write_imm", "send", "send_imm")),
        "workload.size": choose.choice(SIZES),
        "workload.submit": submit,
        "workload.inline": choose.choice(('"auto"', "false")),
        "workload.queue_depth": 64,
        "wire.mtu": choose.choice((256, 512, 1024, 2048, 4096)),
        "wire.ip_version": choose.choice((4, 6)),
        "pcie.mps": choose.choice((128, 256, 512)),
        "pcie.mrrs": choose.choice((128, 512, 4096)),
    }
    if kind == "ping_pong":
        settings |= {"workload.size": max(1, settings["workload.size"]),
                     "workload.messages": 24, "workload.warmup": 2}
    else:
        outstanding = choose.choice((1, 2, 5, 12))
        batch = min(outstanding, choose.choice((1, 2, 3))) if submit == "doorbell" else 1
        settings |= {
            "workload.messages": choose.choice((1, 7, 50)),
            "workload.warmup": choose.choice((0, 1, 5)),
            "workload.qps": choose.choice((1, 3, 17)),
            "workload.directions": choose.choice(("one", "both")),
            "workload.outstanding": outstanding,
            "workload.batch": batch,
            "workload.signaled_every": min(outstanding, choose.choice((1, 2, 4))),
        }
    return settings


class matrix(unittest.TestCase):
    def test_every_byte_of_every_combination_arrives(self):
        choose = random.Random(20)
        with tempfile.TemporaryDirectory() as folder:
            scenario = pathlib.Path(folder) / "matrix.toml"
            scenario.write_text(SCENARIO)
            out = pathlib.Path(folder) / "out"
            for number in range(120):
                settings = some_settings(choose)
                options = [part for key, value in settings.items()
                           for part in ("--set", f"{key}={value}")]
                results = []
                for variant in (VARIANTS if number % 10 == 0 else ((),)):
                    with self.subTest(settings=settings, variant=variant):
                        done = carillon_runs.run(scenario, out, *options, *variant)
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                        results.append(carillon_runs.summary(out))
                        self.assertEqual(results[0], results[-1])
                        self.assertGreaterEqual(results[-1]["checks"]["verified_messages"],
                                                settings["workload.messages"])

    def test_the_seed_matters_where_there_is_chance_and_nowhere_else(self):
        scenario = carillon_runs.ROOT / "scenarios/ping_pong.toml"
        noise = ("--set", "cpu.noise=true", "--set", "cpu.noise_interval_ps=20000000")

        def latency(*options):
            with tempfile.TemporaryDirectory() as out:
                # Noise may break an expectation of the scenario: only the figures count here.
                done = carillon_runs.run(scenario, out, *options)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                return carillon_runs.summary(out)["latency"]

        self.assertEqual(latency("--seed", "1"), latency("--seed", "2"))
        self.assertNotEqual(latency("--seed", "1", *noise), latency("--seed", "2", *noise))
        self.assertEqual(latency("--seed", "2", *noise), latency("--seed", "2", *noise))


if __name__ == "__main__":
    unittest.main()
