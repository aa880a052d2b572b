"""Draws measured results as SVG: `plots.py RESULT-JSON FOLDER`, run where matplotlib is.

Does: one plot of bars for each table, one of five panels for each curve. Knows: the JSON that measuring.py makes. Does
not know: how it was measured. The same JSON gives the same bytes.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.hashsalt": "coffer", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif",
    "axes.spines.top": False, "axes.spines.right": False})

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLOURS = {"coffer": "#0b6e4f", "plain": "#777777", "newest": "#bbbbbb", "sqlcipher": "#d1495b", "aegis": "#3066be"}
TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
TITLES = {
    "64": "Caches of 64 MiB", "default": "Each with its own cache and settings", "ordinary": "As people do it"}


def bars(result, rows, title, file):
    sides = [name for name in ("coffer", "newest", "sqlcipher", "aegis") if name in result["sides"]]
    figure, axes = plt.subplots(figsize=(9, 0.9 + len(rows) * 0.17 * (len(sides) + 1)))
    ends = [1]
    for index, row in enumerate(rows):
        plain = row["plain"]["wall"]
        for offset, side in enumerate(sides):
            if side not in row:
                continue
            ratio = row[side]["wall"] / plain
            ends.append(ratio)
            place = index * (len(sides) + 1) + offset
            # From 1, plain SQLite, to either side.
            axes.barh(place, ratio - 1, left=1, height=0.9, color=COLOURS[side],
                      label=result["sides"][side]["label"] if index == 0 else None)
            gap, alignment = (3, "left") if ratio >= 1 else (-3, "right")
            axes.annotate(f"{ratio:.2f}", (ratio, place), xytext=(gap, 0), textcoords="offset points", va="center",
                          ha=alignment, fontsize=6.5)
    axes.set_xscale("log")
    axes.set_xlim(min(ends) * 0.75, max(ends) * 1.3)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks([index * (len(sides) + 1) + (len(sides) - 1) / 2 for index in range(len(rows))],
                    [row["what"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("wall time divided by plain SQLite's; left of 1 is faster")
    axes.margins(y=0.01)
    axes.set_title(title, loc="left", pad=24)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1), ncols=len(sides), frameon=False)
    save(figure, file)


def curve(result, measured, file):
    works = list(measured["points"][0]["microseconds"])
    figure, all_axes = plt.subplots(1, len(works), figsize=(12, 3))
    values = [point["value"] for point in measured["points"]]
    for axes, work in zip(all_axes, works):
        for side in measured["points"][0]["microseconds"][work]:
            times = [point["microseconds"][work][side] for point in measured["points"]]
            axes.plot(values, times, marker="o", markersize=3, linewidth=1.2, color=COLOURS[side],
                      label=result["sides"][side]["label"])
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        # A decade at least, so that what is flat looks flat.
        middle = (low * high) ** 0.5
        axes.set_ylim(min(low, middle / 10 ** 0.5), max(high, middle * 10 ** 0.5))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        axes.set_title(work)
        axes.set_xlabel(measured["axis"])
    all_axes[0].set_ylabel("µs for each document")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, -0.09), ncols=len(labels), frameon=False)
    figure.suptitle(measured["title"], x=0.01, ha="left")
    figure.tight_layout()
    save(figure, file)


def save(figure, file):
    figure.savefig(file, bbox_inches="tight", facecolor="white", metadata={"Date": None})
    plt.close(figure)


def main():
    result = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2])
    for cache, rows in result["tables"].items():
        for kind in ("fast", "ordinary"):
            chosen = [row for name, row in rows.items() if (name in result["calls"]) == (kind == "ordinary")]
            if chosen:
                title = TITLES[cache] if kind == "fast" else f"{TITLES['ordinary']}. {TITLES[cache]}"
                bars(result, chosen, title, folder / f"{kind}-{cache}.svg")
    for name, measured in result["curves"].items():
        curve(result, measured, folder / f"curve-{name}.svg")


main()
