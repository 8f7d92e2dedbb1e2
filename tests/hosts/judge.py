"""Judges the runs of two_hosts.sh: judge.py RECOMMENDED REVERSE BENEATH AFTER (run folders)."""

import json
import statistics
import sys
from pathlib import Path


def metrics(run):
    return [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]


def numbers(run):
    return [(line["step"], line["loss"], line["grad_norm"]) for line in metrics(run)]


def step_seconds(run):
    """Of the middle step; the first one sets up connections."""
    return statistics.median(line["step_time_s"] for line in metrics(run)[1:])


def wait_seconds(run):
    """Of the middle step: time in which all that is left of a step's gradients is awaited, from the trace."""
    events = json.loads((Path(run) / "trace.json").read_text())["traceEvents"]
    waits = [event["dur"] * 1e-6 for event in events if event.get("ph") == "X" and event["name"] == "reduce"]
    return statistics.median(waits[1:])


recommended, reverse, beneath, after = sys.argv[1:]
fast, slow = step_seconds(recommended), step_seconds(reverse)
print(f"a step of 1x2x2: {fast:.3f} s with tensor within a host, {slow:.3f} s with tensor between hosts")
for run, how in ((beneath, "beneath the backward pass"), (after, "after it")):
    print(f"a step of 2x1x1 between hosts: {step_seconds(run):.3f} s with gradients reduced {how}, {wait_seconds(run):.3f} s "
          "of it waiting for them")
if numbers(recommended) != numbers(reverse) or numbers(beneath) != numbers(after):
    sys.exit("failed: losses or norms depend on where ranks lie or on when gradients travel")
if slow < 1.2 * fast:
    sys.exit("failed: tensor between hosts is hardly slower; are they joined by the slow network?")
if wait_seconds(beneath) > 0.5 * wait_seconds(after):
    sys.exit("failed: less than half of the gradients' way is hidden beneath the backward pass")
