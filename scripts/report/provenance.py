"""Where the parameters come from, and how much of the path is theirs."""

import collections
import json
import os
import re
import subprocess

from report.errors import report_error

ORDER = ("reference", "documented", "measured", "derived", "assumed")

# What spends time -> whose parameters say how much; the first that matches counts.
_OWNERS = (
    (r"\.cpu\d*$", "cpu"),
    (r"(root_complex\.port|_pcie)$", "pcie"),
    (r"\.(root_complex|memory|iommu|interconnect)", "host"),
    (r"^wire", "wire"),
    (r"^switch", "switch"),
    (r"^nic", "stages"),
)
_MEANING = {
    "cpu": "instructions of the programs that post and poll",
    "pcie": "PCIe links",
    "host": "root complex and memory",
    "wire": "the wire",
    "switch": "switches",
    "stages": "the NIC's stages: cycle budgets that carillon stages lists",
}


def all_params():
    """`carillon params --json` of the program that made this report."""
    binary = os.environ.get("CARILLON_BINARY")
    if not binary:
        return []
    done = subprocess.run([binary, "params", "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise report_error(f"{binary} params --json: {done.stderr.strip()}")
    return json.loads(done.stdout)


def table(changed, params):
    """Rows of every parameter, those that are not the default first."""
    rows = []
    known = set()
    for each in params:
        name = each["name"]
        known.add(name)
        own = changed.get(name)
        rows.append({"name": name, "value": _shown(own["value"]) if own else each["default"],
                     "default": each["default"], "unit": each["unit"], "changed": own is not None,
                     "provenance": each["provenance"], "source": each["source"],
                     "doc": each["doc"], "set_by": own["set_by"] if own else ""})
    for name, own in changed.items():
        if name not in known:
            rows.append({"name": name, "value": _shown(own["value"]),
                         "default": _shown(own["default"]), "unit": own["unit"], "changed": True,
                         "provenance": own["provenance"], "source": "", "doc": "",
                         "set_by": own["set_by"]})
    return sorted(rows, key=lambda row: (not row["changed"], row["name"].split(".")[0]))


def _shown(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def owner(place):
    for pattern, name in _OWNERS:
        if re.search(pattern, place):
            return name
    return "others"


def shares(places, params):
    """Who spends the path's time, and where that one's parameters come from."""
    spent = collections.Counter()
    for place, each in places.items():
        spent[owner(place)] += each["service"] + each["wait"] + each["flight"]
    total = sum(spent.values())
    result = []
    for name, ns in spent.most_common():
        own = collections.Counter(each["provenance"] for each in params
                                  if each["name"].split(".")[0] == name)
        origins = [(kind, own[kind]) for kind in ORDER if own[kind]]
        result.append({"name": name, "meaning": _MEANING.get(name, ""), "ns": ns,
                       "percent": 100 * ns / total if total else 0, "origins": origins})
    return result
