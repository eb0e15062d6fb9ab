#!/usr/bin/python3
"""Size of the RTL twins: yosys' generic synthesis, written to docs/reference/area.md.

Fails on a latch, a signal with several drivers or a combinational loop. Without a target library
the figures compare twins and versions of one; they are no square micrometres.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/area.md"
LATCHES = "t:$dlatch t:$adlatch t:$dlatchsr t:$sr t:$_DLATCH* t:$_SR_*"
# Two-input gates and multiplexers stand for any library.
SCRIPT = """\
read_verilog -sv -Irtl/common {files}
hierarchy -check -top {top}
proc
flatten
opt_clean
check -assert
opt
wreduce
peepopt
opt_clean
alumacc
opt
memory -nordff -nomap
opt_clean
select -assert-none {latches}
tee -o {dir}/memories dump t:$mem_v2
techmap
opt -fast
abc -fast -g AND,OR,XOR,MUX
opt_clean
check -assert
select -assert-none {latches}
tee -o {dir}/cells stat
"""
# Mapping the shifts of vectors of 4096 bits to gates takes yosys 0.23 more than 9 GB and 20
# minutes: no latch, no second driver, no loop, and what is stored, but no gates.
STORAGE_ALONE = ("tx_sched",)
STORAGE_SCRIPT = """\
read_verilog -sv -Irtl/common {files}
hierarchy -check -top {top}
proc
opt_clean
check -assert
memory -nordff -nomap
opt_clean
select -assert-none {latches}
flatten
opt_clean
check -assert
tee -o {dir}/memories dump t:$mem_v2
tee -o {dir}/cells stat -width
"""
HEAD = """\
<!-- Written by scripts/area.py. Do not edit. -->

# Size of the twins

Generic synthesis by {yosys}: two-input gates and multiplexers, flip-flops, and the bits of the
memories that stay memories (the FIFOs). No latch, no signal with several drivers, no combinational
loop. Another version of yosys gives other figures. A dash: yosys reads and checks the whole twin,
but does not map it to gates in reasonable time.

| stage | gates | flip-flops | memories | memory bits |
|---|---|---|---|---|
"""
ROW = re.compile(r"^\| `([a-z0-9_]+)` \|", re.MULTILINE)


def twins():
    spec = tomllib.loads((ROOT / "docs/spec/stages.toml").read_text(encoding="utf-8"))
    return [name for name, stage in spec["stage"].items() if stage.get("twin_done", False)]


def sources(stage):
    packages = subprocess.run(["scripts/rtl_packages.sh"], cwd=ROOT, capture_output=True,
                              text=True, check=True).stdout.split()
    folder = ROOT / "rtl" / stage
    own = sorted(folder.glob("*.sv")) if folder.is_dir() else [ROOT / f"rtl/{stage}.sv"]
    cells = sorted((ROOT / "rtl/common").glob("*.sv"))
    return [*packages, *(str(f.relative_to(ROOT)) for f in (*cells, *own))]


def count(cells, pattern):
    return sum(int(n) for name, n in re.findall(r"^ +(\$\S+) +(\d+)$", cells, re.MULTILINE)
               if re.match(pattern, name))


def flip_flops(cells):
    """Of words: each cell's name says how wide it is."""
    return sum(int(width) * int(n) for width, n in
               re.findall(r"^ +\$\w*dff\w*?_(\d+) +(\d+)$", cells, re.MULTILINE))


def measure(stage):
    """Gates, flip-flops, memories and their bits; raises RuntimeError with yosys' own words."""
    with tempfile.TemporaryDirectory(prefix="carillon_area_") as folder:
        flow = STORAGE_SCRIPT if stage in STORAGE_ALONE else SCRIPT
        script = flow.format(files=" ".join(sources(stage)), top=stage, dir=folder,
                             latches=LATCHES)
        (Path(folder) / "script").write_text(script, encoding="utf-8")
        run = subprocess.run(["yosys", "-q", "-s", f"{folder}/script"], cwd=ROOT,
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{stage}: {(run.stdout + run.stderr).strip()}")
        cells = (Path(folder) / "cells").read_text(encoding="utf-8")
        memories = (Path(folder) / "memories").read_text(encoding="utf-8")
    sizes = [int(n) for n in re.findall(r"parameter \\SIZE (\d+)", memories)]
    widths = [int(n) for n in re.findall(r"parameter \\WIDTH (\d+)", memories)]
    if len(sizes) != len(widths):
        raise RuntimeError(f"{stage}: cannot read the sizes of its memories")
    stored = len(sizes), sum(s * w for s, w in zip(sizes, widths))
    if stage in STORAGE_ALONE:
        return None, flip_flops(cells), *stored
    return count(cells, r"\$_(AND|OR|XOR|MUX|NOT)_$"), count(cells, r"\$_\w*DFF"), *stored


def check():
    """The page has a row for each twin and no other."""
    listed = ROW.findall(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else []
    bad = [f"{name}: has no row in docs/reference/area.md" for name in twins()
           if name not in listed]
    bad += [f"{name}: has a row in docs/reference/area.md but no finished twin" for name in listed
            if name not in twins()]
    for line in bad:
        print(line)
    if bad:
        print("run scripts/area.py", file=sys.stderr)
    return 1 if bad else 0


def main(argv):
    parser = argparse.ArgumentParser(prog="scripts/area.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE",
                        help="print the size of these instead of writing the page")
    parser.add_argument("--check", action="store_true",
                        help="only compare the rows of the page with the twins there are")
    args = parser.parse_args(argv)
    if args.check:
        return check()
    for stage in args.stages:
        if stage not in twins():
            parser.error(f"{stage} has no finished twin; allowed: {', '.join(twins())}")
    yosys = " ".join(subprocess.run(["yosys", "-V"], capture_output=True, text=True,
                                    check=True).stdout.split()[:2])
    page, failed = HEAD.format(yosys=yosys), False
    for stage in args.stages or twins():
        try:
            figures = ["-" if n is None else f"{n:,}" for n in measure(stage)]
        except RuntimeError as e:
            print(e, file=sys.stderr)
            failed = True
            continue
        print(f"{stage}: {figures[0]} gates, {figures[1]} flip-flops, {figures[2]} memories of "
              f"{figures[3]} bits", flush=True)
        page += f"| `{stage}` | {' | '.join(figures)} |\n"
    if failed:
        return 1
    if not args.stages:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
