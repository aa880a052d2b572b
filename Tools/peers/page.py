"""Fills the part of a Markdown page between two marker lines with measured results.

Does: tables, settings, SQL. Knows: the JSON that measuring.py makes. Does not know: the page around it, how results
were measured.
"""

import os
import sys

BEGIN, END = "<!-- begin: Tools/bench -->", "<!-- end: Tools/bench -->"


def rewrite(page, result, plots):
    """Puts the results between the page's marker lines; `plots` is the folder of the plots, or None."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"bench: {page} has no lines {BEGIN} and {END}")
    images = os.path.relpath(plots, page.parent) if plots else None
    page.write_text(f"{before}{BEGIN}\n\n{section(result, images)}\n{END}{after}")


def section(result, images):
    parts = [*_run(result)]
    if result["tables"]:
        parts += ["### Caches of 64 MiB", "",
                  "Wall time divided by plain SQLite's, in brackets CPU time divided by plain SQLite's.", "",
                  *_image(images, "fast-64"), *_table(result, "64", False), *_settings(result, "64")]
        parts += ["### Each with its own settings", "",
                  "Cache, page size and deletion as each has them by default; the rollback journal and "
                  "`synchronous=EXTRA` stay.", "", *_image(images, "fast-default"), *_table(result, "default", False),
                  *_settings(result, "default")]
        parts += ["### As people do it", "",
                  "Ordinary calls of the library, beside plain SQL with the same columns and indexes.", "",
                  *_image(images, "ordinary-64"), *_table(result, "64", True), "With the settings of each:", "",
                  *_table(result, "default", True)]
    if result["commands"]:
        parts += ["### Commands", "", *_commands(result)]
    if changes := result.get("changes"):
        parts += [f"An open session spends {changes['milliseconds']:.1f} ms of processor time on hearing of 100 documents "
                  f"that another process changed among {changes['documents']:,}; the limit is {changes['limit']} ms. It "
                  "looks four times a second.", ""]
    if result["curves"]:
        parts += ["### Curves", "", *_curves(result, images)]
    if result["sql"]:
        parts += ["### The SQL beside each work", "", *_sql(result)]
    return "\n".join(parts)


def _run(result):
    machine = result["machine"]
    lines = [f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}, Linux "
             f"{machine['kernel']}, load {machine['load']} at the start; commit {result['commit']}; "
             f"{result['documents']:,} documents of 1 KiB, medians of {result['rounds']} rounds.", ""]
    lines += [f"Missing: {label} ({reason})." for label, reason in result["missing"].items()]
    return lines


def _settings(result, cache):
    lines = ["| side | SQLite | settings as read back |", "| --- | --- | --- |"]
    for name, settings in result["settings"][cache].items():
        kept = ", ".join(
            f"{key} {value}" for key, value in settings.items() if key not in ("version", "memory_statistics"))
        lines.append(f"| {result['sides'][name]['label']} | {settings['version']} | {kept} |")
    return [*lines, ""]


def _image(images, name):
    return [f"![Bars of the table below]({images}/{name}.svg)", ""] if images else []


def _table(result, cache, is_ordinary):
    rows = {name: row for name, row in result["tables"].get(cache, {}).items()
            if (name in result["calls"]) == is_ordinary}
    sides = [name for name in result["sides"] if name != "plain"]
    lines = ["| work | plain, s | " + " | ".join(result["sides"][side]["label"] for side in sides) + " |",
             "| --- |" + " --- |" * (len(sides) + 1)]
    for row in rows.values():
        plain = row["plain"]
        cells = [_ratios(row[side], plain) if side in row else "–" for side in sides]
        lines.append(f"| {row['what']} | {plain['wall']:.4f} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ratios(times, plain):
    return f"{times['wall'] / plain['wall']:.2f} ({times['cpu'] / plain['cpu']:.2f})"


def _cell(text):
    return text.replace("|", "\\|")


def _commands(result):
    lines = ["| work | the command beside | its s | ours, s | ratio |", "| --- | --- | --- | --- | --- |"]
    for row in result["commands"].values():
        theirs, ours = row["plain"], row["coffer"]
        lines.append(f"| {_cell(row['what'])} | `{_cell(row['command'])}` | {theirs['wall']:.3f} | "
                     f"{ours['wall']:.3f} | {_ratios(ours, theirs)} |")
    return [*lines, ""]


def _curves(result, images):
    lines = []
    for name, curve in result["curves"].items():
        if images:
            lines += [f"![{curve['title']}]({images}/curve-{name}.svg)", ""]
        works = list(curve["points"][0]["microseconds"])
        lines += [f"{curve['title']}; Coffer / plain SQLite, µs for each document:", "",
                  f"| {curve['axis']} | " + " | ".join(works) + " |", "| --- |" + " --- |" * len(works)]
        for point in curve["points"]:
            times = [point["microseconds"][work] for work in works]
            cells = " | ".join(f"{_short(time['coffer'])} / {_short(time['plain'])}" for time in times)
            lines.append(f"| {point['value']:,} | {cells} |")
        lines.append("")
    return lines


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _sql(result):
    lines = ["| work | ours, where it is not the fast way | SQL |", "| --- | --- | --- |"]
    for name, sql in result["sql"].items():
        call = f"`{result['calls'][name]}`" if name in result["calls"] else ""
        lines.append(f"| {name} | {call} | `{_cell(sql)}` |")
    return [*lines, ""]
