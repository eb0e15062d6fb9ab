"""Reading a spec file: keys are checked, and every complaint says what is allowed."""

import difflib
import re
import tomllib
from pathlib import Path

SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*\Z")

# Words that cannot name a member in the generated languages.
CPP_KEYWORDS = set(
    """alignas alignof and asm auto bool break case catch char class const constexpr continue
    default delete do double else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new not operator or private protected public register return short
    signed sizeof static struct switch template this throw true try typedef typename union unsigned
    using virtual void volatile while xor""".split()
)
SV_KEYWORDS = set(
    """always assert assign automatic begin bit buf byte cell checker clocking config cover cross
    disable dist edge end endcase event expect final force fork function generate genvar global
    iff ignore import include initial inout input inside instance integer interface join local
    logic macromodule matches modport module nand negedge nor output package packed parameter
    posedge primitive priority process program property pull0 pull1 pure rand ref reg release
    repeat scalared sequence shortint soft solve specify string strong super supply0 supply1
    table tagged task time timeprecision timeunit tran tri type unique untyped use var vectored
    wait weak wire with within wor""".split()
)


class spec_error(Exception):
    """A mistake in a spec file: where it is, what is wrong and what would be right."""

    def __init__(self, where, what, allowed):
        super().__init__(f"{where}: {what}; allowed: {allowed}")


class spec_file:
    """One parsed TOML file with its text, so that messages can name a line."""

    def __init__(self, path: Path):
        self.path = path
        self.stem = path.stem
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        try:
            self.data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as e:
            raise spec_error(f"docs/spec/{path.name}", str(e), "valid TOML 1.0") from None
        self.doc = self.take(self.data, "doc", str, "file")

    def where(self, *parts):
        """`docs/spec/wire.toml:12: layout bth: field psn`, the line by searching."""
        line = 0
        for part in parts:
            word = part.split()[-1]
            patterns = (
                rf"^\s*\[{re.escape(part.replace(' ', '.'))}[\].]",
                rf"[\s{{]name\s*=\s*\"{re.escape(word)}\"",
                rf"^\s*{re.escape(word)}\s*=",
            )
            for pattern in patterns:
                hit = next((i for i in range(line, len(self.lines))
                            if re.search(pattern, self.lines[i])), None)
                if hit is not None:
                    line = hit
                    break
        at = f":{line + 1}" if parts else ""
        return ": ".join([f"docs/spec/{self.path.name}{at}", *parts])

    def fail(self, parts, what, allowed):
        raise spec_error(self.where(*parts), what, allowed)

    def take(self, table, key, kind, *parts, default=None, required=True):
        if key not in table:
            if required and default is None:
                self.fail(parts, f"key '{key}' is missing", f"{key} = <{_kind_name(kind)}>")
            return default
        value = table[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(parts, f"key '{key}' has the value {value!r}",
                      f"{'an' if kind is int else 'a'} {_kind_name(kind)}")
        return value

    def check_keys(self, table, known, *parts):
        for key in table:
            if key not in known:
                self.fail(parts, f"unknown key '{key}'{closest(key, known)}", ", ".join(known))

    def check_name(self, name, pattern, *parts, keywords=CPP_KEYWORDS | SV_KEYWORDS):
        style = "snake_case" if pattern is SNAKE else "UpperCamelCase"
        if not pattern.match(name):
            self.fail(parts, f"name '{name}' is not {style}", f"{style}, letters and digits")
        if name in keywords:
            self.fail(parts, f"name '{name}' is a keyword of C++ or SystemVerilog", "another name")


def closest(word, known):
    hit = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (closest known: '{hit[0]}')" if hit else ""


def _kind_name(kind):
    names = {str: "string", int: "integer", float: "number", bool: "true or false", list: "list",
             dict: "table"}
    if isinstance(kind, tuple):
        return " or ".join(names[k] for k in kind)
    return names[kind]


def camel(name):
    """snake_case -> UpperCamelCase; a name that is camel already stays."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def clean(text):
    """One line, for a comment or a table cell."""
    return " ".join(str(text).split())
