"""scripts/area.py refuses what is no hardware, counts what is, and knows which twins there are."""

import contextlib
import io
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import area  # noqa: E402

# A register of 8 bits, a memory of 4 x 8, and the bit that each test replaces.
TWIN = """
module alpha (
    input  logic       clk_i,
    input  logic [1:0] at_i,
    input  logic [7:0] data_i,
    output logic [7:0] old_o,
    output logic       bit_o
);
  logic [7:0] mem[4];
  always_ff @(posedge clk_i) begin
    mem[at_i] <= data_i;
    old_o <= mem[at_i];
  end
  BIT
endmodule
"""


class area_case(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="area_"))
        self.addCleanup(shutil.rmtree, self.root)
        for folder in ("rtl/common", "docs/spec", "docs/reference", "scripts"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(ROOT / "scripts/rtl_packages.sh", self.root / "scripts")
        (self.root / "docs/spec/stages.toml").write_text(
            "[stage.alpha]\ntwin_done = true\n[stage.beta]\ntwin_done = false\n")
        for name, value in (("ROOT", self.root), ("PAGE", self.root / "docs/reference/area.md")):
            patch = mock.patch.object(area, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, bit):
        (self.root / "rtl/alpha.sv").write_text(TWIN.replace("BIT", bit))

    def run_tool(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = area.main(list(arguments))
        return code, out.getvalue(), err.getvalue()


@unittest.skipUnless(shutil.which("yosys"), "needs yosys")
class measures(area_case):
    def test_gates_flops_and_memory_bits(self):
        self.write("assign bit_o = data_i[0] & data_i[1];")
        self.assertEqual(area.measure("alpha"), (1, 8, 1, 32))

    def test_of_a_twin_too_large_for_gates_what_is_stored(self):
        self.write("assign bit_o = data_i[0] & data_i[1];")
        with mock.patch.object(area, "STORAGE_ALONE", ("alpha",)):
            self.assertEqual(area.measure("alpha"), (None, 8, 1, 32))
            code, _, _ = self.run_tool()
        self.assertEqual(code, 0)
        self.assertIn("| `alpha` | - | 8 | 1 | 32 |", area.PAGE.read_text(encoding="utf-8"))

    def test_a_latch_is_refused_there_too(self):
        self.write("always_latch if (at_i[0]) bit_o = data_i[0];")
        with mock.patch.object(area, "STORAGE_ALONE", ("alpha",)), \
                self.assertRaises(RuntimeError):
            area.measure("alpha")

    def test_a_latch_is_refused(self):
        self.write("always_latch if (at_i[0]) bit_o = data_i[0];")
        code, _, err = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("alpha: ", err)
        self.assertFalse(area.PAGE.exists())

    def test_two_drivers_are_refused(self):
        self.write("assign bit_o = data_i[0];\n  assign bit_o = data_i[1];")
        with self.assertRaises(RuntimeError):
            area.measure("alpha")

    def test_the_page_lists_each_twin(self):
        self.write("assign bit_o = at_i[0];")
        self.assertEqual(self.run_tool()[0], 0)
        self.assertIn("| `alpha` | 0 | 8 | 1 | 32 |", area.PAGE.read_text())
        self.assertEqual(self.run_tool("--check")[0], 0)


class compares(area_case):
    def test_a_page_without_a_row(self):
        code, out, _ = self.run_tool("--check")
        self.assertEqual((code, out), (1, "alpha: has no row in docs/reference/area.md\n"))

    def test_a_row_without_a_twin(self):
        area.PAGE.write_text("| `alpha` | 1 | 1 | 1 | 1 |\n| `beta` | 1 | 1 | 1 | 1 |\n")
        code, out, _ = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("beta: has a row in docs/reference/area.md but no finished twin", out)


if __name__ == "__main__":
    unittest.main()
