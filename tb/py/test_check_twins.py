"""scripts/check_twins.py finds each missing and each extra file and says what to do."""

import contextlib
import io
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import check_twins  # noqa: E402


class twins(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="twins_"))
        self.addCleanup(shutil.rmtree, self.root)
        self.touch("docs/spec/stages.toml", """
[stage.alpha]
twin = true
twin_done = true
[stage.beta]
twin = false
""")
        for name in ("model/alpha.h", "model/alpha.cpp", "model/nic.cpp", "model/nic.h",
                     "model/common/x.h", "rtl/alpha.sv", "rtl/gen/a_pkg.sv", "tb/alpha_test.cpp",
                     "tb/alpha_lockstep.cpp", "docs/stages/alpha.md", "model/beta/beta.h",
                     "model/beta/beta.cpp", "model/beta/more.cpp", "tb/beta_test.cpp",
                     "docs/stages/beta.md"):
            self.touch(name)

    def touch(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def findings(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = check_twins.main(["--root", str(self.root)])
        lines = out.getvalue().splitlines()
        self.assertEqual(code, 1 if lines else 0)
        return lines

    def expect_one(self, *needles):
        lines = self.findings()
        self.assertEqual(len(lines), 1, lines)
        for needle in needles:
            self.assertIn(needle, lines[0])

    def test_complete_tree(self):
        self.assertEqual(self.findings(), [])

    def test_each_missing_file(self):
        for name in ("model/alpha.h", "model/alpha.cpp", "rtl/alpha.sv", "tb/alpha_test.cpp",
                     "tb/alpha_lockstep.cpp", "docs/stages/alpha.md"):
            with self.subTest(name):
                self.setUp()
                (self.root / name).unlink()
                self.expect_one(f"{name} is missing: ")

    def test_each_extra_file(self):
        for name, what in (("model/gamma.cpp", "belongs to no stage"),
                           ("model/gamma/gamma.cpp", "is no stage and no layer"),
                           ("rtl/gamma.sv", "belongs to no stage"),
                           ("rtl/beta.sv", "says twin = false"),
                           ("tb/beta_lockstep.cpp", "has no twin"),
                           ("docs/stages/gamma.md", "belongs to no stage")):
            with self.subTest(name):
                self.setUp()
                self.touch(name)
                self.expect_one(what)

    def test_second_source_goes_into_a_folder(self):
        self.touch("model/alpha_core.h")
        self.expect_one("model/alpha_core.h", "goes into the folder alpha/")

    def test_twin_in_the_making_may_be_there(self):
        self.touch("docs/spec/stages.toml",
                   "[stage.alpha]\ntwin = true\n[stage.beta]\ntwin = false\n")
        self.assertEqual(self.findings(), [])

    def test_spec_without_stages_is_an_error(self):
        self.touch("docs/spec/stages.toml", "")
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(check_twins.main(["--root", str(self.root)]), 2)


if __name__ == "__main__":
    unittest.main()
