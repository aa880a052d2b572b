"""Runs works on all sides in turn, and keeps the times of each round.

Does: rounds, medians, the plain data that is printed, drawn and written as JSON. Knows: works and sides. Does not know:
how a side does a work, or how results look.
"""

import os
import platform
import statistics
from pathlib import Path

import figures
from peers.works import CURVE_COUNT, CURVE_WORKS, CURVES, ORDINARY, WORKS, Shape


def rounds_of(some, work, shape, count, cache, rounds):
    """The times of a work by side's name: medians of wall and CPU seconds, and every round's wall seconds."""
    times = {side.name: [] for side in some}
    for turn in range(rounds):
        # Another side is first in each round.
        turned = some[turn % len(some):] + some[:turn % len(some)]
        for side in turned:
            times[side.name].append(side.timed(work, shape, count, cache))
    return {name: summary(rounds) for name, rounds in times.items()}


def summary(rounds):
    walls, cpus = [wall for wall, *_ in rounds], [cpu for _, cpu, *_ in rounds]
    return {"wall": statistics.median(walls), "cpu": statistics.median(cpus), "walls": walls}


def described(bench, ours, plain, found, missing, options):
    """The result so far: machine, sides, settings, SQL."""
    all_sides = [ours, plain, *found]
    sql = plain.sql()
    return {
        **heading(options.rounds, options.documents),
        "sides": {side.name: {"label": side.label} for side in all_sides},
        "settings": {
            cache: {side.name: side.settings(cache) for side in [plain, *found]} for cache in ("64", "default")},
        "encrypted": {side.name: side.check_file(bench.small) for side in [plain, *found]},
        "missing": missing,
        "sql": sql | {name: sql[work.plain] for name, work in WORKS.items()},
        "calls": {name: WORKS[name].calls for name in ORDINARY},
        "tables": {},
        "commands": {},
        "curves": {},
    }


def heading(rounds, documents):
    """Where and how it was measured."""
    return {"machine": machine(), "commit": figures.commit(), "rounds": rounds, "documents": documents}


def table(result, ours, plain, found, names, cache, options, progress):
    shape = Shape(options.documents)
    rows = result["tables"].setdefault(cache, {})
    for name in names:
        work = WORKS[name]
        some = [plain, ours] + ([] if work.is_ours_alone else found)
        times = rounds_of(
            some, work, work.shape_of(shape), work.count_of(options.documents), cache, options.rounds)
        rows[name] = {"what": work.what, **times}
        progress(rows[name])


def curves(result, bench, ours, plain, found, options, progress):
    some = [plain, ours] + [side for side in found if side.is_encrypted]
    for name, (title, axis, shapes) in CURVES.items():
        points = []
        if options.factor != 1:
            title += f", times {options.factor:g}"
        result["curves"][name] = {"title": title, "axis": axis, "points": points}
        for value, shape in shapes(options.factor).items():
            point = {"value": value, "documents": shape.documents, "microseconds": {}}
            for work_name in CURVE_WORKS:
                work = WORKS[work_name]
                is_whole = work_name in ("insert", "list", "read")
                count = shape.documents if is_whole else min(shape.documents, CURVE_COUNT)
                times = rounds_of(some, work, shape, count, "64", options.rounds)
                point["microseconds"][work_name] = {side: time["wall"] / count * 1e6 for side, time in times.items()}
            points.append(point)
            progress(name, point)
            bench.forget(shape)


def machine():
    processor = next(
        (line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.machine())
    system = next(
        (line.split("=", 1)[1].strip('"') for line in Path("/etc/os-release").read_text().splitlines()
         if line.startswith("PRETTY_NAME=")), platform.system())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {"processor": processor, "cores": os.cpu_count(), "memory": f"{memory:.0f} GiB", "system": system,
            "kernel": platform.release().split("-")[0], "load": round(os.getloadavg()[0], 1)}
