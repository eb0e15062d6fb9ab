"""What trace.sqlite says of a run: TLPs byte for byte, and spans that leave no picosecond out."""

import pathlib
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402


class the_trace_of_doorbell_to_wire(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scenario = carillon_runs.ROOT / "scenarios/doorbell_to_wire.toml"
        done = carillon_runs.run(scenario, cls.folder.name, "--trace", "sqlite")
        assert done.returncode == 0, done.stderr
        cls.database = sqlite3.connect(pathlib.Path(cls.folder.name) / "trace.sqlite")

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.folder.cleanup()

    def rows(self, query):
        return self.database.execute(query).fetchall()

    def test_a_4_kib_write_is_21_tlps_of_known_size(self):
        # On the link: header 16 (completions 12), framing 8, and the data.
        expected = {
            ("host0", "memory_write", 16 + 8 + 8): 1,     # the doorbell
            ("nic0", "memory_read", 16 + 8): 2,           # WQE, payload
            ("host0", "completion", 12 + 8 + 64): 1,      # the WQE
            ("host0", "completion", 12 + 8 + 512): 8,     # the payload, MPS 512
            ("nic1", "memory_write", 16 + 8 + 512): 8,    # the payload at the receiver
            ("nic0", "memory_write", 16 + 8 + 64): 1,     # the CQE
        }
        messages = [row[0] for row in self.rows("SELECT id FROM messages")]
        self.assertEqual(len(messages), 11)
        for message in messages:
            seen = {row[:3]: row[3] for row in self.rows(
                "SELECT port, kind, bytes, count(*) FROM tlps "
                f"WHERE message = {message} GROUP BY port, kind, bytes")}
            self.assertEqual(seen, expected)

    def test_the_critical_spans_of_each_message_are_a_partition_of_its_life(self):
        for message, begin in self.rows("SELECT id, post_ps FROM messages"):
            at = begin
            for start, end in self.rows("SELECT begin_ps, end_ps FROM spans WHERE critical "
                                        f"AND message = {message} ORDER BY begin_ps"):
                self.assertEqual(start, at)
                self.assertGreater(end, start)
                at = end
            last = self.rows(f"SELECT cqe_seen_ps FROM messages WHERE id = {message}")[0][0]
            self.assertEqual(at, last)

    def test_every_wait_names_what_it_waits_for(self):
        self.assertEqual(self.rows("SELECT count(*) FROM spans WHERE kind = 'wait' "
                                   "AND (reason IS NULL OR reason = '')"), [(0,)])


if __name__ == "__main__":
    unittest.main()
