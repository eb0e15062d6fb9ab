"""The numbers of a summary, each under a dotted name."""


def flat(value, prefix=""):
    """{dotted name: number} of everything numeric below."""
    found = {}
    if isinstance(value, dict):
        for key, each in value.items():
            found.update(flat(each, f"{prefix}{key}."))
    elif isinstance(value, bool):
        pass
    elif isinstance(value, (int, float)):
        found[prefix[:-1]] = value
    return found


# What of a summary tells how the run went or what was asked for, not what was found.
_NOT_FOUND = ("stats", "impl", "expect", "workload", "parameters", "table", "seed")


def of_facts(facts):
    """Of a whole summary without points, or of one point of it."""
    found = flat({key: each for key, each in facts.items() if key not in _NOT_FOUND})
    # What the posting CPU pays for a message on the path.
    cpu = [value for name, value in found.items()
           if name.startswith("places.host0.cpu") and name.endswith(".service")]
    if cpu:
        found["path.cpu_ns"] = sum(cpu)
    return found


def of_summary(summary):
    """{label of the scenario's own point, "" if it has none: metrics}."""
    points = summary.get("points")
    if points is None:
        return {"": of_facts(summary)}
    return {label: of_facts(facts) for label, facts in points.items()}


# The columns of the wide table; the long one has all.
def is_main(name):
    parts = name.split(".")
    return (parts[0] in ("messages", "simulated_ns", "rates", "checks") and "nodes" not in parts
            or parts[0] == "latency" and parts[-1] in ("p50", "p99", "p999", "mean", "max")
            or parts[0] == "functions" and len(parts) == 3 or name == "path.cpu_ns")
