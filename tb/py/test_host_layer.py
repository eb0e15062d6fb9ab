"""The host's programs know the device from its documents alone: no header of a stage, no library
of the model, no access outside time towards the link."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOST = ROOT / "model/host"
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# What a driver's author has: its own layer, common tools, and the generated description.
LAYERS = ("host/", "common/", "gen/")
# Of the common layer, what stages share among themselves is not a driver's business.
STAGE_ONLY = ("common/stage.h", "common/nic_shared.h", "common/function_map.h", "common/vport.h",
              "common/partition.h", "common/level.h", "common/twin.h")
BACK_DOORS = re.compile(r"\b(transport_dbg|get_direct_mem_ptr|debug_read|b_transport)\b")


def sources():
    return sorted(path for path in HOST.rglob("*") if path.suffix in (".h", ".cpp"))


def foreign_includes(text):
    """Includes of something that a driver cannot know."""
    return [name for name in INCLUDE.findall(text)
            if not name.startswith(LAYERS) or name in STAGE_ONLY]


class host_layer(unittest.TestCase):
    def test_includes_nothing_of_the_device_but_its_description(self):
        self.assertGreater(len(sources()), 30)
        for path in sources():
            text = path.read_text(encoding="utf-8")
            self.assertEqual(foreign_includes(text), [], path.name)

    def test_finds_an_include_of_a_stage(self):
        self.assertEqual(foreign_includes('#include "pcie_endpoint.h"\n'), ["pcie_endpoint.h"])
        self.assertEqual(foreign_includes('#include "pcie_endpoint/commands.h"\n'),
                         ["pcie_endpoint/commands.h"])
        self.assertEqual(foreign_includes('  #  include "nic.h"\n#include <map>\n'), ["nic.h"])
        self.assertEqual(foreign_includes('#include "common/stage.h"\n'), ["common/stage.h"])

    def test_has_no_access_outside_time(self):
        for path in sources():
            code = COMMENTS.sub("", path.read_text(encoding="utf-8"))
            # The root complex serves such accesses of the device to host memory, a switch on the
            # way hands them on; neither makes any.
            exempt = path.stem.startswith("root_complex") or path.stem == "pcie_switch"
            found = [] if exempt else BACK_DOORS.findall(code)
            self.assertEqual(found, [], path.name)

    def test_is_linked_with_the_common_layer_alone(self):
        text = (HOST / "CMakeLists.txt").read_text(encoding="utf-8")
        layer = re.search(r"carillon_layer\(host\b([^)]*)\)", text)
        self.assertIsNotNone(layer)
        libraries = re.findall(r"carillon_\w+", layer.group(1))
        self.assertEqual(libraries, ["carillon_common"])


if __name__ == "__main__":
    unittest.main()
