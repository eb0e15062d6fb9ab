#!/usr/bin/env python3
"""Checks what no formatter here checks: blanks, tabs, ends of file, braces, SystemVerilog ports.

Usage: scripts/lint_text.py [--fix] FILE...
--fix removes trailing blanks and mends the end of the file; everything else is for a person.
"""

import pathlib
import re
import sys

MAX_COLUMNS = 100
CPP = {".cpp", ".h"}
VERILOG = {".sv", ".svh"}
TAB_ALLOWED = {"Makefile"}

# A port needs to say what it is and who is at its other end; clock and reset say it by name.
PORT = re.compile(r"^\s*(?:input|output|inout)\b.*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*,?\s*(//.*)?$")
SELF_EXPLAINING = {"clk_i", "rst_ni"}

STRING_OR_COMMENT = re.compile(
    r'R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
CONTROL = re.compile(r"\b(if|for|while|else|do)\b")


def blank(match):
    """Replaces text by spaces, so that offsets stay true."""
    return re.sub(r"[^\n]", " ", match.group(0))


def skip_parentheses(code, start):
    """The offset after the balanced parentheses that open at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[offset], 0)
        if depth == 0:
            return offset + 1
    return len(code)


def missing_braces(text):
    code = STRING_OR_COMMENT.sub(blank, text)
    for match in CONTROL.finditer(code):
        rest = match.end()
        if match.group(1) in {"if", "for", "while"}:
            head = re.compile(r"\s*(?:constexpr|consteval)?\s*").match(code, rest)
            if head.end() >= len(code) or code[head.end()] != "(":
                continue
            rest = skip_parentheses(code, head.end())
        body = code[rest:].lstrip()
        if match.group(1) == "else" and re.match(r"if\b", body):
            continue
        if match.group(1) == "while" and body.startswith(";"):
            continue
        body = re.sub(r"^\[\[(?:un)?likely\]\]\s*", "", body)
        if not body.startswith("{"):
            yield code.count("\n", 0, match.start()) + 1, f"`{match.group(1)}` without braces"


def verilog_problems(lines):
    in_header = False
    for number, line in enumerate(lines, 1):
        code = line.split("//", 1)[0]
        in_header = in_header or re.match(r"\s*module\b", code) is not None
        port = PORT.match(line) if in_header else None
        if port and port.group(1) not in SELF_EXPLAINING and not port.group(2):
            yield number, f"port {port.group(1)} without `// what it is - who is at the other end`"
        if ");" in code:
            in_header = False
        if re.search(r"\(\s*\.\*|,\s*\.\*", code):
            yield number, "connect ports by name, not by .*"
        if re.search(r"\balways\b(?!_)", code):
            yield number, "use always_ff or always_comb"


def problems(path, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "trailing blanks"
        if "\t" in line and path.name not in TAB_ALLOWED:
            yield number, "tab"
        # In C++ that is clang-format's.
        if path.suffix in VERILOG | {".py"} and len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, {MAX_COLUMNS} allowed"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end of the file"
    if text.endswith("\n\n"):
        yield len(lines) - 1, "blank line at the end of the file"
    if path.suffix in CPP:
        yield from missing_braces(text)
    if path.suffix == ".h" and "#pragma once" not in text:
        yield 1, "header without #pragma once"
    if path.suffix in VERILOG:
        yield from verilog_problems(lines)


def main(arguments):
    fix = "--fix" in arguments
    count = 0
    for name in arguments:
        path = pathlib.Path(name)
        if name == "--fix":
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", errors="replace")
        if fix:
            mended = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")
            mended += "\n" if mended else ""
            if mended != text:
                path.write_text(mended, encoding="utf-8")
                text = mended
        for number, what in problems(path, text):
            print(f"{name}:{number}: {what}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
