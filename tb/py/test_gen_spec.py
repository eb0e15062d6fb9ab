"""The generator refuses every kind of mistake in a spec and says where and what is allowed; its
output is deterministic and means the same in SystemVerilog as in C++."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from spec import main as gen_spec  # noqa: E402

# A spec as small as each section allows; every test changes one thing in it.
SMALL = {
    "wire": """
title = "Wire"
doc = "d"
[const.Port]
value = 4791
width = 16
doc = "d"
[enum.colour]
width = 4
doc = "d"
values = { Red = 1, Blue = 2 }
[enum.transport_service]
width = 1
doc = "d"
values = { Rc = 0 }
[enum.bth_verb]
width = 1
doc = "d"
values = { Send = 0 }
[enum.bth_position]
width = 1
doc = "d"
values = { Only = 0 }
[layout.head]
size = 8
doc = "d"
fields = [
  { name = "kind", at = "0x00:31:28", width = 4, enum = "colour", doc = "d" },
  { reserved = true, at = "0x00:27:24", width = 4 },
  { name = "length", at = "0x00:23:0", width = 24, doc = "d" },
  { name = "value", at = "0x04", width = 32, doc = "d" },
]
[opcode.SendOnly]
code = 4
service = "Rc"
verb = "Send"
position = "Only"
headers = ["head"]
payload = true
doc = "d"
""",
    "tlp": 'title = "Tlp"\ndoc = "d"\n',
    "wqe": 'title = "Wqe"\ndoc = "d"\n',
    "contexts": 'title = "Contexts"\ndoc = "d"\n',
    "registers": """
title = "Registers"
doc = "d"
[block.bar]
size = 0x100
doc = "d"
registers = [
  { name = "first", at = 0x00, width = 32, access = "ro", reset = 0, doc = "d", fields = [
    { reserved = true, at = "31:8", width = 24 },
    { name = "code", at = "7:0", width = 8, doc = "d" },
  ] },
  { name = "second", at = 0x08, width = 64, access = "rw", reset = 1, layout = "head", doc = "d" },
  { name = "window", at = 0x80, bytes = 128, access = "rw", doc = "d" },
]
""",
    "pci": """
title = "Space"
doc = "d"
[capability.power]
at = 0x40
size = 8
doc = "d"
registers = [
  { name = "id", at = 0x00, width = 8, access = "ro", reset = 1, doc = "d" },
  { name = "control", at = 0x04, width = 16, access = "ro", reset = 3, doc = "d", fields = [
    { name = "woken", at = "15:15", width = 1, access = "rw1c", sticky = true, doc = "d" },
    { reserved = true, at = "14:2", width = 13 },
    { name = "state", at = "1:0", width = 2, access = "rw", pf_only = true, doc = "d" },
  ] },
]
""",
    "streams": """
title = "Streams"
doc = "d"
[stream.item]
doc = "d"
fields = [
  { name = "trace_id", width = 32, doc = "d" },
  { name = "kind", width = 4, enum = "colour", doc = "d" },
  { name = "data", width = 128, doc = "d" },
]
""",
    "stages": """
title = "Stages"
doc = "d"
[stage.alpha]
job = "j"
row = "1"
row_title = "t"
latency = 10
ii = 1
depth = 4
outstanding = 0
twin = true
[stage.alpha.timing]
lookup = { value = 5, provenance = "assumed", doc = "d" }
[stage.beta]
job = "j"
latency = 0
ii = 1
depth = 66
outstanding = 0
twin = false
max_beats = 65
max_packet = { payload = 4096, layouts = ["head"], tail_bytes = 4 }
[[edge]]
from = "alpha"
to = "beta"
stream = "ask"
[[edge]]
from = "beta"
to = "alpha"
stream = "answer"
reserved = true
""",
    "params": """
title = "Parameters"
doc = "d"
[param.core.period]
type = "int"
unit = "ps"
default = 1000
min = 100
max = 2000
doc = "d"
provenance = "assumed"
source = "s"
[param.core.mode]
type = "enum"
default = "fast"
values = ["fast", "slow"]
doc = "d"
provenance = "documented"
source = "s"
""",
    "counters": """
title = "Counters"
doc = "d"
[counter.packets]
stage = "alpha"
doc = "d"
""",
    "coverage": """
title = "Coverage"
doc = "d"
[stage.alpha.kind]
one = "d"
two = { doc = "d", excluded = "a" }
""",
}


class spec_case(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="gen_spec_"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.spec = self.dir / "spec"
        self.spec.mkdir()
        for name, text in SMALL.items():
            (self.spec / f"{name}.toml").write_text(text)

    def change(self, file, old, new):
        path = self.spec / f"{file}.toml"
        text = path.read_text()
        self.assertEqual(text.count(old), 1, f"the test wants one '{old}' in {file}")
        path.write_text(text.replace(old, new))

    def run_tool(self, *flags):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = gen_spec.main(["--spec", str(self.spec), "--out", str(self.dir / "out"), *flags])
        return code, out.getvalue(), err.getvalue()

    def refused(self, *needles):
        """The tool must say each of these, and write nothing."""
        code, _, err = self.run_tool()
        self.assertEqual(code, 2, err)
        for needle in ("docs/spec/", "allowed: ", *needles):
            self.assertIn(needle, err)
        self.assertFalse((self.dir / "out").exists())


class pci_capabilities(spec_case):
    def test_offsets_are_of_the_space_and_masks_follow_the_access_of_fields(self):
        self.assertEqual(self.run_tool()[0], 0)
        header = (self.dir / "out/model/gen/pci.h").read_text()
        self.assertIn("inline constexpr std::uint16_t Control = 0x44;", header)
        # writable (VF: not), cleared by ones, sticky
        self.assertIn("0x3, 0x0, 0x8000, 0x8000, 0x8000,", header)
        self.assertIn("PF only", (self.dir / "out/docs/reference/pci.md").read_text())

    def test_a_bit_that_belongs_to_nobody(self):
        self.change("pci", "at = \"14:2\", width = 13", "at = \"13:2\", width = 12")
        self.refused("begins with bit 13", "bit 14 (fields from the top down")

    def test_an_access_that_there_is_not(self):
        self.change("pci", "access = \"rw1c\"", "access = \"w1c\"")
        self.refused("access = \"w1c\"", "ro, rw, rw1c")

    def test_a_register_beyond_its_capability(self):
        self.change("pci", "at = 0x04, width = 16", "at = 0x08, width = 16")
        self.refused("at = 0x8", "below 0x8")


class accepts(spec_case):
    def test_the_small_spec(self):
        code, out, err = self.run_tool()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("wrote model/gen/wire.h", out)
        self.assertIn("wrote rtl/gen/wire_pkg.sv", out)
        self.assertIn("wrote docs/reference/wire.md", out)

    def test_a_second_run_writes_nothing(self):
        self.run_tool()
        self.assertEqual(self.run_tool(), (0, "", ""))

    def test_check_is_silent_when_fresh(self):
        self.run_tool()
        self.assertEqual(self.run_tool("--check"), (0, "", ""))

    def test_check_shows_the_difference_and_how_to_repair(self):
        self.run_tool()
        self.change("wire", "value = 4791", "value = 4792")
        code, out, err = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("+inline constexpr std::uint32_t Port = 0x12b8;", out)
        self.assertIn("run scripts/gen_spec.py", err)

    def test_check_finds_a_stray_and_a_missing_file(self):
        self.run_tool()
        (self.dir / "out/model/gen/old.h").write_text("")
        (self.dir / "out/rtl/gen/wire_pkg.sv").unlink()
        code, out, err = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("model/gen/old.h: nothing in docs/spec generates it", out)
        self.assertIn("rtl/gen/wire_pkg.sv", out)
        self.assertIn("2 generated files", err)


class refuses_layouts(spec_case):
    def test_overlap(self):
        self.change("wire", '"0x00:23:0", width = 24', '"0x00:24:0", width = 25')
        self.refused("layout head", "field length", "overlaps reserved 0x00:27 by 1 bits")

    def test_gap_not_marked_reserved(self):
        self.change("wire", '  { reserved = true, at = "0x00:27:24", width = 4 },\n', "")
        self.refused("field length", "4 bits between field kind and it belong to nobody",
                     "reserved = true")

    def test_width_that_is_not_the_place_s(self):
        self.change("wire", '"0x00:23:0", width = 24', '"0x00:23:0", width = 23')
        self.refused("covers 24 bits but width is 23", "width = 24")

    def test_size_that_does_not_add_up(self):
        self.change("wire", "size = 8", "size = 12")
        self.refused("layout head", "end after 64 bits but size = 12 bytes is 96 bits")

    def test_field_twice(self):
        self.change("wire", 'name = "value"', 'name = "length"')
        self.refused("field length", "declared twice")

    def test_place_that_cannot_be_read(self):
        for at in ("0x02:15:0", "0x00:0:15", "4:31:0", "0x04:32:1"):
            with self.subTest(at):
                self.setUp()
                self.change("wire", 'at = "0x04"', f'at = "{at}"')
                self.refused("field value", at)

    def test_bits_at_a_byte_offset(self):
        self.change("wire", 'at = "0x04", width = 32', 'at = "0x04", width = 31')
        self.refused("field value", "whole bytes")

    def test_unknown_enum(self):
        self.change("wire", 'enum = "colour"', 'enum = "color"')
        self.refused("enum 'color' is not declared (closest known: 'colour')")

    def test_enum_of_another_width(self):
        self.change("wire", "[enum.colour]\nwidth = 4", "[enum.colour]\nwidth = 5")
        self.refused("width 4 but enum colour has 5 bits")

    def test_keyword_as_a_name(self):
        for word in ("class", "wire", "event"):
            with self.subTest(word):
                self.setUp()
                self.change("wire", 'name = "value"', f'name = "{word}"')
                self.refused(f"name '{word}' is a keyword")

    def test_bad_spelling_of_a_name(self):
        self.change("wire", 'name = "value"', 'name = "theValue"')
        self.refused("name 'theValue' is not snake_case")

    def test_unknown_key_with_the_closest_known(self):
        self.change("wire", 'at = "0x04", width', 'at = "0x04", widht')
        self.refused("unknown key 'widht' (closest known: 'width')")

    def test_nested_layout_of_another_size(self):
        (self.spec / "wqe.toml").write_text(SMALL["wqe"] + """
[layout.outer]
size = 12
doc = "d"
fields = [{ name = "inner", at = "0x00", width = 96, layout = "head", doc = "d" }]
""")
        self.refused("layout outer", "field inner", "width = 64")

    def test_one_name_for_two_things(self):
        (self.spec / "wqe.toml").write_text(SMALL["wqe"] + """
[layout.head]
size = 4
doc = "d"
fields = [{ name = "inner", at = "0x00", width = 32, doc = "d" }]
""")
        self.refused("docs/spec/wqe.toml", "'head' is already declared by docs/spec/wire.toml")

    def test_the_message_names_the_line(self):
        self.change("wire", '"0x00:23:0", width = 24', '"0x00:24:0", width = 25')
        _, _, err = self.run_tool()
        line = int(re.search(r"wire\.toml:(\d+):", err)[1])
        text = (self.spec / "wire.toml").read_text().splitlines()[line - 1]
        self.assertIn('name = "length"', text)


class refuses_codes_and_constants(spec_case):
    def test_duplicate_code(self):
        self.change("wire", "Blue = 2", "Blue = 1")
        self.refused("enum colour", "code 0x1 is already Red")

    def test_code_too_large(self):
        self.change("wire", "Blue = 2", "Blue = 16")
        self.refused("does not fit 4 bits", "0 to 15")

    def test_constant_too_large(self):
        self.change("wire", "value = 4791", "value = 65536")
        self.refused("const Port", "value 65536 in 16 bits")

    def test_broken_toml(self):
        self.change("wire", "value = 4791", "value = ")
        self.refused("wire.toml")

    def test_opcode_twice(self):
        text = (self.spec / "wire.toml").read_text()
        again = text[text.index("[opcode.SendOnly]"):].replace("SendOnly", "SendAgain")
        (self.spec / "wire.toml").write_text(text + again)
        self.refused("opcode SendAgain", "code 0x04 is used twice")

    def test_opcode_with_an_unknown_header(self):
        self.change("wire", 'headers = ["head"]', 'headers = ["tail"]')
        self.refused("opcode SendOnly", "header 'tail'")

    def test_missing_file(self):
        (self.spec / "tlp.toml").unlink()
        self.refused("docs/spec/tlp.toml: is missing")

    def test_file_that_nothing_reads(self):
        (self.spec / "wires.toml").write_text("")
        self.refused("docs/spec/wires.toml: is not a spec file")


class refuses_registers(spec_case):
    def test_overlap(self):
        self.change("registers", "at = 0x80, bytes = 128", "at = 0x0c, bytes = 128")
        self.refused("register window", "overlaps register second", "0x10 or later")

    def test_outside_the_block(self):
        self.change("registers", "at = 0x80, bytes = 128", "at = 0x80, bytes = 132")
        self.refused("register window", "inside the block")

    def test_misaligned(self):
        self.change("registers", "at = 0x08", "at = 0x04")
        self.refused("register second", "a multiple of 8")

    def test_bits_that_belong_to_nobody(self):
        self.change("registers", 'at = "31:8", width = 24', 'at = "31:9", width = 23')
        self.refused("register first", "bits 8:8 belong to nobody")

    def test_bits_that_overlap(self):
        self.change("registers", 'at = "7:0", width = 8', 'at = "8:0", width = 9')
        self.refused("field code", "overlaps")

    def test_access(self):
        self.change("registers", 'access = "ro"', 'access = "r"')
        self.refused('access = "r"', "ro, rw, wo")

    def test_layout_of_another_size(self):
        self.change("registers", 'at = 0x08, width = 64', 'at = 0x08, width = 32')
        self.refused("4 bytes for layout head", "8 bytes")

    def test_reset_too_large(self):
        self.change("registers", 'access = "ro", reset = 0', 'access = "ro", reset = 0x100000000')
        self.refused("register first", "in 32 bits")


class refuses_stages_and_streams(spec_case):
    def test_loop_without_a_reserved_edge(self):
        self.change("stages", "reserved = true", "reserved = false")
        self.refused("loop without a reserved edge: alpha -ask-> beta, beta -answer-> alpha",
                     "reserved = true")

    def test_edge_to_nowhere(self):
        self.change("stages", 'to = "beta"', 'to = "betta"')
        self.refused('to = "betta" (closest known: \'beta\')')

    def test_stream_with_two_edges(self):
        self.change("stages", 'stream = "answer"', 'stream = "ask"')
        self.refused("stream 'ask' has two edges")

    def test_beats_that_are_not_the_packet_s(self):
        self.change("stages", "max_beats = 65", "max_beats = 64")
        self.refused("stage beta", "4108 bytes are 65 beats", "max_beats = 65")

    def test_depth_without_room_for_a_packet(self):
        self.change("stages", "depth = 66", "depth = 64")
        self.refused("holds no whole packet of 65 beats")

    def test_figure_without_provenance(self):
        self.change("stages", ', provenance = "assumed"', "")
        self.refused("timing lookup", "key 'provenance' is missing")

    def test_unknown_key_of_a_stage(self):
        self.change("stages", "latency = 10", "latancy = 10")
        self.refused("unknown key 'latancy' (closest known: 'latency')")

    def test_stream_field_width(self):
        self.change("streams", "width = 128", "width = 129")
        self.refused("stream item", "field data", "whole bytes above")

    def test_stream_enum_width(self):
        self.change("streams", '{ name = "kind", width = 4', '{ name = "kind", width = 3')
        self.refused("width 3 but enum colour has 4 bits")


class refuses_params_and_counters(spec_case):
    def test_missing_provenance(self):
        self.change("params", 'provenance = "assumed"\n', "")
        self.refused("param core.period", "key 'provenance' is missing")

    def test_unknown_provenance(self):
        self.change("params", 'provenance = "assumed"', 'provenance = "guess"')
        self.refused('provenance = "guess"', "reference, documented, measured, assumed")

    def test_empty_source(self):
        self.change("params", 'provenance = "assumed"\nsource = "s"',
                    'provenance = "assumed"\nsource = " "')
        self.refused("param core.period", "source is empty")

    def test_default_out_of_range(self):
        self.change("params", "default = 1000", "default = 99")
        self.refused("default 99 is out of range", "an integer from 100 to 2000")

    def test_default_not_among_the_values(self):
        self.change("params", 'default = "fast"', 'default = "medium"')
        self.refused("default medium is out of range", "fast, slow")

    def test_default_of_another_type(self):
        for text in ("true", '"1000"', "1000.0"):
            with self.subTest(text):
                self.setUp()
                self.change("params", "default = 1000", f"default = {text}")
                self.refused("param core.period", "an integer")

    def test_unknown_type(self):
        self.change("params", 'type = "int"', 'type = "integer"')
        self.refused('type = "integer" (closest known: \'int\')')

    def test_unknown_key(self):
        self.change("params", "min = 100", "minimum = 100")
        self.refused("unknown key 'minimum'", "min, max")

    def test_counter_of_no_stage(self):
        self.change("counters", 'stage = "alpha"', 'stage = "alpa"')
        self.refused("counter packets", "(closest known: 'alpha')")


class coverage_bins(spec_case):
    def test_are_listed_with_what_is_excluded_apart(self):
        self.assertEqual(self.run_tool()[0], 0)
        header = (self.dir / "out/model/gen/coverage.h").read_text()
        self.assertIn("namespace alpha", header)
        self.assertIn("KindTwo", header)
        page = (self.dir / "out/docs/reference/coverage.md").read_text()
        self.assertIn("1 bins count.", page)
        self.assertIn("| `kind.two` | d | a |", page)

    def test_of_no_twin(self):
        self.change("coverage", "stage.alpha.kind", "stage.beta.kind")
        self.refused("stage beta", "no stage with a twin", "alpha")

    def test_without_an_argument_for_its_exclusion(self):
        self.change("coverage", 'excluded = "a"', 'excluded = " "')
        self.refused("two", "excluded without an argument")

    def test_without_a_description(self):
        self.change("coverage", 'two = { doc = "d", ', "two = { ")
        self.refused("two", "key 'doc' is missing")

    def test_that_c_plus_plus_cannot_tell_apart(self):
        self.change("coverage", 'one = "d"', 'one = "d"\nOne = "d"')
        self.refused("'kind.one' and 'kind.One' have the same name in C++")


class the_project(unittest.TestCase):
    def test_two_runs_render_the_same(self):
        first = gen_spec.render(gen_spec.spec(ROOT / "docs/spec"))
        second = gen_spec.render(gen_spec.spec(ROOT / "docs/spec"))
        self.assertEqual(first, second)

    def test_outputs_are_ascii_with_one_newline_at_the_end(self):
        for path, text in gen_spec.render(gen_spec.spec(ROOT / "docs/spec")).items():
            self.assertTrue(text.isascii(), path)
            self.assertTrue(text.endswith("\n") and not text.endswith("\n\n"), path)
            self.assertNotRegex(text, r"[ \t]\n", path)


@unittest.skipUnless(shutil.which("yosys"), "needs yosys")
class systemverilog(unittest.TestCase):
    """yosys reads the packages and evaluates field selections: an oracle that shares no code."""

    def evaluate(self, type_name, width, value, expressions):
        ports = ", ".join(f"output logic [63:0] o{i}" for i in range(len(expressions)))
        body = "\n".join(f"  assign o{i} = 64'({e});" for i, e in enumerate(expressions))
        top = (f"module top (input logic [{width - 1}:0] i, {ports});\n  {type_name} x;\n"
               f"  assign x = i;\n{body}\nendmodule\n")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "top.sv"
            file.write_text(top.replace("64'(", "(") )
            packages = [str(ROOT / f"rtl/gen/{n}_pkg.sv")
                        for n in ("wire", "tlp", "wqe", "contexts", "registers", "streams")]
            shows = " ".join(f"-show o{i}" for i in range(len(expressions)))
            script = (f"read_verilog -sv {' '.join(packages)} {file}; prep -top top; "
                      f"eval -set i {width}'h{value:x} {shows}")
            done = subprocess.run(["yosys", "-p", script], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        found = dict(re.findall(r"Eval result: \\(o\d+) = 64'([01]+)\.", done.stdout))
        return [int(found[f"o{i}"], 2) for i in range(len(expressions))]

    def test_bth_of_a_captured_acknowledge(self):
        got = self.evaluate("wire_pkg::bth_t", 96, 0x1140FFFF00DEADED00CF7BF7,
                            ["x.opcode", "x.migreq", "x.pkey", "x.dest_qpn", "x.psn",
                             "wire_pkg::OpcodeHasAeth[x.opcode]",
                             "wire_pkg::OpcodeHasReth[x.opcode]"])
        self.assertEqual(got, [0x11, 1, 0xFFFF, 0xDEADED, 0xCF7BF7, 1, 0])

    def test_control_segment(self):
        got = self.evaluate("wqe_pkg::ctrl_seg_t", 128, 0x00123408ABCDEF040000008ACAFEF00D,
                            ["x.wqe_index", "x.opcode", "x.qpn", "x.ds", "x.fm", "x.ce", "x.se",
                             "x.imm"])
        self.assertEqual(got, [0x1234, 8, 0xABCDEF, 4, 4, 2, 1, 0xCAFEF00D])

    def test_context_line(self):
        # state 4 in bits 511:509, PD in the low 24 bits of the second dword.
        value = 4 << 509 | 0xABCDEF << 448
        got = self.evaluate("contexts_pkg::qpc_common_t", 512, value,
                            ["x.state", "x.pd", "x.function_id"])
        self.assertEqual(got, [4, 0xABCDEF, 0])

    def test_last_field_of_a_stream_holds_the_low_bits(self):
        width = int(re.search(r"WqeBeatWidth = (\d+)",
                              (ROOT / "rtl/gen/streams_pkg.sv").read_text())[1])
        value = 0xCAFEF00D << width - 32 | 0x12 << 504 | 0x56
        got = self.evaluate("streams_pkg::wqe_beat_t", width, value,
                            ["x.trace_id", "x.data[511:504]", "x.data[7:0]"])
        self.assertEqual(got, [0xCAFEF00D, 0x12, 0x56])


@unittest.skipUnless(shutil.which("verilator"), "needs verilator")
class verilator(unittest.TestCase):
    def test_packages_lint_clean(self):
        packages = sorted(str(p) for p in (ROOT / "rtl/gen").glob("*_pkg.sv"))
        names = [Path(p).name.removesuffix("_pkg.sv") for p in packages]
        self.assertIn("wire", names)
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder) / "top.sv"
            # One item of each kind, so that the packages are elaborated.
            top.write_text("""
module top (input logic [95:0] bth_i, output logic [31:0] sum_o);
  wire_pkg::bth_t bth;
  assign bth = bth_i;
  assign sum_o = 32'(registers_pkg::Bar0Size) + stages_pkg::UarLatency
               + params_pkg::CoreClockPeriodPs + 32'(^bth);
endmodule
""")
            done = subprocess.run(["verilator", "--lint-only", "-Wall", "--top-module", "top",
                                   *packages, str(top)], capture_output=True, text=True,
                                  check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
