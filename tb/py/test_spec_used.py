"""What docs/spec promises is used: no parameter that nothing reads, no counter that nothing
counts, no stage that nothing feeds."""

import re
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def spec(name):
    return tomllib.loads((ROOT / f"docs/spec/{name}.toml").read_text(encoding="utf-8"))


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def model_code():
    """The sources of model/ without its generated part and without comments."""
    text = []
    for path in sorted((ROOT / "model").rglob("*")):
        if path.suffix in (".h", ".cpp") and "gen" not in path.relative_to(ROOT).parts:
            text.append(COMMENTS.sub("", path.read_text(encoding="utf-8")))
    return "\n".join(text)


def unused_params(params, code):
    """Parameters that no expression `<group>.<key>` names."""
    return [f"{group}.{key}" for group, keys in params.items() for key in keys
            if not re.search(rf"\b{group}\.{key}\b", code)]


def uncounted(counters, code):
    """Counters that no expression `counter::<Name>` names."""
    return [name for name in counters if not re.search(rf"\bcounter::{camel(name)}\b", code)]


def loose_stages(stages, edges):
    ends = {edge[end] for edge in edges for end in ("from", "to")}
    return [name for name in stages if name not in ends]


class spec_used(unittest.TestCase):
    def test_every_parameter_is_read_in_the_model(self):
        found = unused_params(spec("params")["param"], model_code())
        self.assertEqual(found, [], "read them in model/ or remove them from docs/spec/params.toml")

    def test_every_counter_is_counted_in_the_model(self):
        found = uncounted(spec("counters")["counter"], model_code())
        self.assertEqual(found, [],
                         "count them in model/ or remove them from docs/spec/counters.toml")

    def test_every_stage_has_an_edge(self):
        stages = spec("stages")
        found = loose_stages(stages["stage"], stages["edge"])
        self.assertEqual(found, [], "bind them in model/nic.cpp and docs/spec/stages.toml")


class checker(unittest.TestCase):
    """The checks above find what they look for."""

    def test_a_parameter_that_is_only_mentioned(self):
        params = {"host": {"ddio": {}, "ddio_ways": {}}, "wire": {"mtu": {}}}
        code = COMMENTS.sub("", "use(p.host.ddio); // wire.mtu\n/* host.ddio_ways */ x.mtu;")
        self.assertEqual(unused_params(params, code), ["host.ddio_ways", "wire.mtu"])

    def test_a_counter_that_begins_like_another(self):
        self.assertEqual(uncounted({"cqes": {}, "cqes_dropped": {}}, "add(counter::CqesDropped);"),
                         ["cqes"])

    def test_a_stage_without_an_edge(self):
        self.assertEqual(loose_stages({"a": {}, "b": {}, "c": {}}, [{"from": "a", "to": "b"}]),
                         ["c"])


if __name__ == "__main__":
    unittest.main()
