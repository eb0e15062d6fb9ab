"""The generator behind scripts/gen_spec.py: docs/spec/*.toml to C++, SystemVerilog and Markdown."""
