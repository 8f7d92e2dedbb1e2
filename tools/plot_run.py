#!/usr/bin/python3
"""Plots the metrics of one or more runs: loss with validation loss, throughput, learning rate.

    tools/plot_run.py RUN... [--output FILE.png]

RUN is a run folder or a metrics.jsonl. Needs matplotlib (Debian: python3-matplotlib).
"""

import argparse
import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("Agg")  # no display on a cluster
from matplotlib import pyplot  # noqa: E402


def read(run):
    """The metrics of a run, one dictionary a step; lines that are cut (a kill while writing) are left out."""
    path = pathlib.Path(run)
    path = path / "metrics.jsonl" if path.is_dir() else path
    lines = []
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(f"plot_run.py: `{path}` cannot be read ({error.strerror}) give a run folder or its metrics.jsonl")
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    if not lines:
        sys.exit(f"plot_run.py: `{path}` holds no steps (the run has not made one) wait for it")
    return lines


def label_of(run):
    path = pathlib.Path(run).resolve()
    return path.name if path.is_dir() else path.parent.name


def column(lines, key):
    """Steps and values of the lines that have the key as a number (a loss that is NaN is stored as null)."""
    pairs = [(line["step"], line[key]) for line in lines if isinstance(line.get(key), (int, float))]
    return [step for step, _ in pairs], [value for _, value in pairs]


def smoothed(values, window):
    """Mean of the last `window` values at each place."""
    return [statistics.fmean(values[max(0, i - window + 1) : i + 1]) for i in range(len(values))]


def plot_loss(axes, lines, label, colour):
    steps, losses = column(lines, "loss")
    window = max(1, len(losses) // 100)
    if window > 1:
        axes.plot(steps, losses, color=colour, alpha=0.25, linewidth=0.8)
    axes.plot(steps, smoothed(losses, window), color=colour, label=label)
    steps, losses = column(lines, "validation_loss")
    if steps:
        axes.plot(steps, losses, color=colour, linestyle="--", marker="o", markersize=3,
                  label=f"{label}, validation ({losses[-1]:.4g} at step {steps[-1]})")


def plot(runs, output):
    figure, (loss, throughput, rate) = pyplot.subplots(3, 1, sharex=True, figsize=(9, 10), height_ratios=(3, 1, 1))
    for i, run in enumerate(runs):
        lines, label, colour = read(run), label_of(run), f"C{i % 10}"
        plot_loss(loss, lines, label, colour)
        throughput.plot(*column(lines, "tokens_per_s"), color=colour, linewidth=0.8)
        rate.plot(*column(lines, "lr"), color=colour)
    loss.set_ylabel("loss (nats per token)")
    loss.legend()
    throughput.set_ylabel("tokens per second")
    throughput.set_ylim(bottom=0)
    rate.set_ylabel("learning rate")
    rate.set_xlabel("step")
    for axes in (loss, throughput, rate):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(output, dpi=120)
    print(f"wrote {output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--output", default="run.png", help="PNG to write (default: run.png)")
    arguments = parser.parse_args()
    plot(arguments.runs, arguments.output)


if __name__ == "__main__":
    main()
