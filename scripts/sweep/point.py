"""Runs one point of a sweep: `python3 -m sweep.point sweep.json ID`, in the sweep's folder."""

import json
import os
import subprocess
import sys

from sweep import metrics, plan

# Exit codes of `carillon run`.
MET, UNMET = 0, 1


def command(whole, point, folder):
    words = [os.environ["CARILLON_BINARY"], "run", whole["scenario"], *whole["common"]]
    for key, value in point["settings"].items():
        words += ["--set", f"{key}={value}"]
    return words + ["--ignore-sweep", "--out", str(folder), "--quiet"]


def run(whole, point):
    """{status, exit, error, metrics}: what the table holds of this point."""
    folder = plan.result_path(".", point).parent
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command(whole, point, folder), capture_output=True, text=True,
                          check=False)
    if done.returncode < 0:
        # Ended from outside: no result, so that the next sweep runs it again.
        sys.exit(f"point {point['label']}: ended by signal {-done.returncode}")
    error = done.stderr.strip()
    if done.returncode not in (MET, UNMET):
        return {"status": "failed", "exit": done.returncode, "error": error, "metrics": {}}
    return {"status": "ok" if done.returncode == MET else "unmet", "exit": done.returncode,
            "error": error,
            "metrics": metrics.of_summary(plan.load(folder / "summary.json"))}


def main(words):
    whole = plan.load(words[0])
    point = next(each for each in whole["points"] if each["id"] == words[1])
    result = run(whole, point)
    plan.write(plan.result_path(".", point), json.dumps(result, indent=1) + "\n")
    if os.environ.get("CARILLON_SWEEP_QUIET") != "1":
        line = f"point {point['id']} {point['label']}: {result['status']}"
        if result["status"] == "failed":
            line += ": " + result["error"].splitlines()[-1] if result["error"] else ""
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
