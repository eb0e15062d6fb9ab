"""One's own RTL of a stage takes the place of the twin in the build."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TWIN = ROOT / "rtl/wqe_parser/wqe_parser.sv"


@unittest.skipUnless(shutil.which("verilator"), "needs Verilator")
class own_rtl(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="own_rtl_"))
        self.addCleanup(shutil.rmtree, self.dir)

    def configure(self, override):
        run = subprocess.run(
            ["cmake", "-S", ROOT, "-B", self.dir / "build", "-G", "Ninja", "-DCARILLON_TESTS=OFF",
             "-DCARILLON_BENCH=OFF", f"-DCARILLON_RTL_OVERRIDE={override}"],
            env={**os.environ, "CCACHE_DISABLE": "1"}, capture_output=True, text=True, check=False)
        return run.returncode, re.sub(r"\s+", " ", run.stdout + run.stderr)

    def verilated(self):
        """The files that Verilator read for wqe_parser."""
        lists = list((self.dir / "build").rglob("Vwqe_parser__ver.d"))
        self.assertEqual(len(lists), 1)
        return lists[0].read_text()

    def refused(self, override, *needles):
        code, text = self.configure(override)
        self.assertNotEqual(code, 0)
        for needle in needles:
            self.assertIn(needle, text)

    def test_is_read_from_its_folder(self):
        own = self.dir / "mine"
        shutil.copytree(TWIN.parent, own)
        code, text = self.configure(f"wqe_parser={own}")
        self.assertEqual(code, 0, text)
        self.assertIn(f"RTL of wqe_parser: {own}/wqe_parser.sv", text)
        read = self.verilated()
        self.assertIn(f"{own}/wqe_parser.sv", read)
        self.assertIn(f"{own}/wqe_parser_measure.sv", read)
        self.assertNotIn(str(TWIN), read)

    def test_may_be_one_file_beside_the_twins_other_modules(self):
        own = self.dir / "wqe_parser.sv"
        shutil.copy(TWIN, own)
        code, text = self.configure(f"wqe_parser={own}")
        self.assertEqual(code, 0, text)
        read = self.verilated()
        self.assertIn(str(own), read)
        self.assertIn(f"{TWIN.parent}/wqe_parser_measure.sv", read)
        self.assertNotIn(str(TWIN), read)

    def test_of_a_stage_without_a_twin_is_refused(self):
        self.refused(f"responder={self.dir}", "no twin is called 'responder'", "wqe_parser")

    def test_that_is_not_there_is_refused(self):
        self.refused(f"wqe_parser={self.dir}", f"{self.dir}/wqe_parser.sv is missing")

    def test_without_a_stage_is_refused(self):
        self.refused(str(self.dir), "is not <stage>=<folder or file>")


if __name__ == "__main__":
    unittest.main()
