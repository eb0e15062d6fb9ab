"""`carillon sweep`, after the program has written the plan: run what is missing, then the table."""

import argparse
import fcntl
import os
import pathlib
import subprocess
import sys

from sweep import plan, table

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ("sweep.sqlite", "sweep.csv")


def _arguments(words):
    parser = argparse.ArgumentParser(prog="carillon sweep")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--cluster", choices=("slurm", "generic"))
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(words)


def snakemake(arguments):
    """Runs the points that have no result yet."""
    # The lock is ours: Snakemake's own outlives a killed process.
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(HERE / "Snakefile"),
               "--directory", str(arguments.folder), "--nolock", "--keep-going",
               "--rerun-incomplete", "--rerun-triggers", "mtime", "--scheduler", "greedy",
               "--quiet", "all"]
    if arguments.cluster:
        command += ["--profile", str(HERE / "profiles" / arguments.cluster),
                    "--jobs", str(arguments.jobs)]
    else:
        command += ["--cores", str(arguments.jobs)]
    environment = dict(os.environ, CARILLON_SWEEP_QUIET="1" if arguments.quiet else "0")
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True,
                          check=False)


def _lock(folder):
    file = open(folder / "sweep.lock", "w", encoding="utf-8")  # closed when the program ends
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"carillon: {folder}: another `carillon sweep` is working here", file=sys.stderr)
        sys.exit(2)
    return file


def _forget_failures(folder, whole):
    for point, result in plan.results(folder, whole):
        if result is not None and result["status"] == "failed":
            plan.result_path(folder, point).unlink()


def _say(folder, whole, results, quiet):
    """What went wrong, and the exit code."""
    missing = [point for point, result in results if result is None]
    failed = [(point, result) for point, result in results
              if result is not None and result["status"] == "failed"]
    unmet = [(point, result) for point, result in results
             if result is not None and result["status"] == "unmet"]
    for point, result in failed:
        print(f"FAILED {point['label']}: {result['error']}", file=sys.stderr)
    for point, result in unmet:
        print(f"UNMET {point['label']}: {result['error']}", file=sys.stderr)
    if not quiet or missing:
        total = len(whole["points"])
        text = f"{total - len(missing)} of {total} points ran"
        text += "".join(f", {len(each)} {word}" for each, word in (
            (failed, "failed"), (unmet, "with unmet expectations")) if each)
        print(text)
        print(f"table: {folder / TABLES[0]}, {folder / TABLES[1]}")
    if missing:
        print(f"carillon: {len(missing)} points have no result; the same command goes on with "
              "them", file=sys.stderr)
    return 1 if missing or failed or unmet else 0


def main(words):
    arguments = _arguments(words)
    folder = arguments.folder
    if arguments.cluster == "generic" and not os.environ.get("CARILLON_SUBMIT"):
        print("carillon: --profile-cluster generic: CARILLON_SUBMIT must hold the command that "
              "submits a job script, for example CARILLON_SUBMIT='qsub -cwd'", file=sys.stderr)
        return 2
    lock = _lock(folder)
    whole = plan.load(folder / "sweep.json")
    for name in TABLES:  # old ones must not pass for this sweep's if it is interrupted
        (folder / name).unlink(missing_ok=True)
    if arguments.retry:
        _forget_failures(folder, whole)
    done = snakemake(arguments)
    results = plan.results(folder, whole)
    if done.returncode != 0 and all(result is not None for _, result in results):
        done.returncode = 0  # a job that was killed after it had its result
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
    table.write(folder, whole, results)
    lock.close()
    return _say(folder, whole, results, arguments.quiet)
