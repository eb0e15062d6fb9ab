#!/usr/bin/python3
"""Writes model/gen, rtl/gen and docs/reference from docs/spec, or checks that they are fresh."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from spec import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main.main(sys.argv[1:]))
