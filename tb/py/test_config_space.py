"""lspci reads the configuration spaces that `carillon config-space` prints, and finds in them what
the parameters and the placement rules say: an independent reader of offsets and bits."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import carillon_runs  # noqa: E402


def dump(*options):
    return subprocess.run([carillon_runs.BINARY, "config-space", *options], capture_output=True,
                          text=True, check=False, timeout=60, cwd=carillon_runs.ROOT)


@unittest.skipUnless(shutil.which("lspci"), "needs lspci")
class config_space(unittest.TestCase):
    def devices(self, *options):
        """Slot -> what lspci says of it; with the numbers of vendor and device."""
        done = dump(*options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "device.txt"
            file.write_text(done.stdout)
            text = subprocess.run(["lspci", "-F", str(file), "-nn", "-vvv"], capture_output=True,
                                  text=True, check=True).stdout
        return {part.split()[0]: part for part in text.strip().split("\n\n")}

    def has(self, text, *patterns):
        for pattern in patterns:
            self.assertRegex(text, pattern)

    def test_the_pf_as_lspci_shows_it(self):
        devices = self.devices("--vfs", "4")
        self.has(devices["01:00.0"],
                 r"Ethernet controller \[0200\].*\[15b3:1021\]",
                 r"Control: I/O- Mem\+ BusMaster\+",
                 r"Region 0: Memory at 80000000 \(64-bit, non-prefetchable\)",
                 r"Region 2: Memory at 2000000000 \(64-bit, prefetchable\)",
                 r"Region 4: Memory at 80008000 \(64-bit, non-prefetchable\)",
                 r"\[60\] Express \(v2\) Endpoint",
                 r"DevCap:\s+MaxPayload 512 bytes",
                 r"ExtTag\+ .*RBE\+ FLReset\+",
                 r"RlxdOrd\+ ExtTag\+ .*NoSnoop\+ FLReset-",
                 r"MaxPayload 512 bytes, MaxReadReq 4096 bytes",
                 r"LnkCap:\s+Port #0, Speed 32GT/s, Width x16",
                 r"LnkSta:\s+Speed 32GT/s.*, Width x16",
                 r"10BitTagComp\+ 10BitTagReq\+",
                 r"\[9c\] MSI-X: Enable- Count=64 Masked-",
                 r"Vector table: BAR=0 offset=00006000",
                 r"PBA: BAR=0 offset=00007000",
                 r"\[40\] Power Management version 3",
                 r"\[100 v2\] Advanced Error Reporting",
                 r"UESta:.*UnsupReq-",
                 r"\[150 v1\] Alternative Routing-ID Interpretation",
                 r"\[180 v1\] Single Root I/O Virtualization",
                 r"IOVCtl:\s+Enable\+ .*MSE\+ ARIHierarchy\+",
                 r"Initial VFs: 64, Total VFs: 64, Number of VFs: 4",
                 r"VF offset: 1, stride: 1, Device ID: 101e",
                 r"System Page Size: 00000001",
                 r"Region 0: Memory at 0000000080010000 \(64-bit, non-prefetchable\)",
                 r"Region 2: Memory at 0000002000010000 \(64-bit, prefetchable\)",
                 r"\[1c0 v1\] Address Translation Service",
                 r"ATSCtl:\s+Enable-")
        self.assertNotIn("<chain", devices["01:00.0"])
        self.assertNotIn("Unknown", devices["01:00.0"])

    def test_a_vf_as_lspci_shows_it(self):
        devices = self.devices("--vfs", "4")
        self.assertEqual(sorted(devices), [f"01:00.{n}" for n in range(5)])
        self.has(devices["01:00.4"],
                 r"\[ffff:ffff\]",
                 r"Control: I/O- Mem- BusMaster\+",
                 r"\[60\] Express \(v2\) Endpoint",
                 r"FLReset\+",
                 r"\[9c\] MSI-X: Enable- Count=64",
                 r"\[100 v2\] Advanced Error Reporting",
                 r"\[1c0 v1\] Address Translation Service")
        for absent in ("Region", "Single Root", "Power Management"):
            self.assertNotIn(absent, devices["01:00.4"])

    def test_without_vfs_the_pf_is_alone_and_they_are_off(self):
        devices = self.devices()
        self.assertEqual(list(devices), ["01:00.0"])
        self.has(devices["01:00.0"], r"IOVCtl:\s+Enable- .*MSE-", r"Number of VFs: 0")

    def test_parameters_are_seen(self):
        devices = self.devices("--set", "pcie.generation=4", "--set", "pcie.width=8",
                               "--set", "pcie.mps=256", "--set", "nic.msix_vectors=16",
                               "--set", "nic.total_vfs=128", "--set", "pcie.tags=512")
        self.has(devices["01:00.0"], r"LnkCap:.*Speed 16GT/s, Width x8",
                 r"DevCap:\s+MaxPayload 256 bytes", r"MSI-X: Enable- Count=16",
                 r"Total VFs: 128", r"DevCtl2:.*10BitTagReq\+")

    def test_128_vfs_have_an_address_each_and_one_can_be_asked_for(self):
        devices = self.devices("--set", "nic.total_vfs=128", "--vfs", "128")
        self.assertEqual(len(devices), 129)
        self.assertIn("01:10.0", devices)  # function number 128
        one = self.devices("--set", "nic.total_vfs=128", "--vfs", "128", "--function", "128")
        self.assertEqual(list(one), ["01:10.0"])

    def test_the_form_is_that_of_lspci_itself(self):
        done = dump("--vfs", "1")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "device.txt"
            file.write_text(done.stdout)
            again = subprocess.run(["lspci", "-F", str(file), "-xxxx"], capture_output=True,
                                   text=True, check=True).stdout
        lines = [line for line in done.stdout.splitlines() if re.match(r"[0-9a-f]{2,3}: ", line)]
        self.assertEqual(len(lines), 2 * 256)
        self.assertEqual([line for line in again.splitlines()
                          if re.match(r"[0-9a-f]{2,3}: ", line)], lines)

    def test_too_many_vfs_are_the_users_mistake(self):
        done = dump("--vfs", "65")
        self.assertEqual(done.returncode, 2)
        self.assertIn("65 VFs were asked for, but the device has 64 (nic.total_vfs)", done.stderr)


if __name__ == "__main__":
    unittest.main()
