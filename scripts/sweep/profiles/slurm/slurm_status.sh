#!/usr/bin/env bash
# Snakemake asks what became of a job: running, success or failed.
state=$(sacct --jobs "$1" --noheader --parsable2 --format State 2>/dev/null | head -n 1)
[ -n "$state" ] || state=$(squeue --jobs "$1" --noheader --format %T 2>/dev/null)
case "$state" in
  COMPLETED) echo success ;;
  PENDING | RUNNING | COMPLETING | CONFIGURING | REQUEUED | SUSPENDED | "") echo running ;;
  *) echo failed ;;
esac
