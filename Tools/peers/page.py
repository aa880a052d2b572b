"""Fills the part of a Markdown page between two marker lines with measured results.

Does: tables, settings, SQL, and their rows in Tools/figures.json. Knows: the JSON that measuring.py makes. Does not know:
the page around it, how results were measured. Tools/docs draws the plots, from these tables.
"""

import figures
from peers import sides

# The values that a server reports.
VALUES = {"cpu": "s of CPU", "wall": "s", "peak": "MiB of memory", "median": "ms late", "latest": "ms late at most"}


def rewrite(result):
    """Puts the results between the marker lines of their page, and into Tools/figures.json."""
    name = next((f"bench {kind}" for kind in ("attachments", "servers") if kind in result), "bench peers")
    page = sides.ROOT / figures.MEASUREMENTS[name]
    page.write_text(figures.filled(page.read_text(), f"Tools/{name}", f"\n{section(result)}\n"))
    figures.keep({name: {"commit": result["commit"], "result": figures.measured(section(result))}})


def section(result):
    if "attachments" in result:
        return "\n".join([*_run(result), *_attachments(result)])
    if "servers" in result:
        return "\n".join([*_run(result), *_servers(result)])
    parts = [*_run(result)]
    if result["tables"]:
        parts += [
            "### Caches of 64 MiB", "",
            "Wall time divided by plain SQLite's, in brackets CPU time divided by plain SQLite's.", "",
            *_works(result, "64", False), *_settings(result, "64"),
            "### Each with its own settings", "",
            "Cache, page size and deletion as each has them by default; the rollback journal and `synchronous=EXTRA` stay.",
            "", *_works(result, "default", False), *_settings(result, "default"),
            "### As people do it", "",
            "Ordinary calls of the library, beside plain SQL with the same columns and indexes.", "",
            *_works(result, "64", True), "With the settings of each:", "", *_works(result, "default", True)]
    if result["commands"]:
        parts += ["### Commands", "", *_commands(result)]
    if changes := result.get("changes"):
        parts += [f"An open session spends {changes['milliseconds']:.1f} ms of processor time to notice 100 documents "
                  f"that another process changed among {changes['documents']:,}; the limit is {changes['limit']} ms. It "
                  "looks four times a second.", ""]
    if result["curves"]:
        parts += ["### Curves", "", *_curves(result)]
    if result["sql"]:
        parts += ["### The SQL beside each work", "", *_table(
            ["work", "Coffer, where it is not the fast way", "SQL"],
            ([name, f"`{result['calls'][name]}`" if name in result["calls"] else "", f"`{_cell(sql)}`"]
             for name, sql in result["sql"].items()))]
    return "\n".join(parts)


def _table(header, rows):
    return [*("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)), ""]


def _run(result):
    machine = result["machine"]
    lines = [f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}, Linux "
             f"{machine['kernel']}, load {machine['load']} at the start; commit {result['commit']}; "
             f"{result['documents']:,} documents of 1 KiB, medians of {result['rounds']} rounds.", ""]
    return lines + [f"Missing: {label} ({reason})." for label, reason in result.get("missing", {}).items()]


def _attachments(result):
    rows = [[row["what"], f"{row['beside']['wall']:.4f}", f"{row['ours']['wall']:.4f}",
             _ratios(row["ours"], row["beside"]), _spread(row), f"{row['limit']:g}" if row["limit"] else "–"] for row in result["attachments"]]
    file = result["file"]
    return [
        *_table(["work", "peer, s", "Coffer, s", "ratio (CPU)", "rounds", "limit"], rows),
        f"A file with {file['contents']:,} bytes of contents, in attachments of 10 MiB, which padding leaves as they are, has "
        f"{file['bytes']:,} bytes: {100 * (file['bytes'] / file['contents'] - 1):.1f} % more, and at most "
        f"{100 * (file['limit'] - 1):.0f} % more.", ""]


def bound(row):
    """The bound of a server's value: a ratio, or a size."""
    return "" if row["bound"] is None else f"≤ {row['bound']}{' MiB' if row['value'] == 'peak' else ''}"


def _servers(result):
    return _table(["work", "value", f"GRDB {result['version']}", "Coffer", "ratio", "bound"], (
        [row["what"], VALUES[row["value"]], _short(row["grdb"]), _short(row["ours"]),
         f"{row['ours'] / row['grdb']:.2f}", bound(row) or "–"] for row in result["servers"]))


def _spread(row):
    """The least and the greatest ratio of a round."""
    ratios = [ours / beside for ours, beside in zip(row["ours"]["walls"], row["beside"]["walls"])]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _settings(result, cache):
    def kept(settings):
        return ", ".join(f"{key} {value}" for key, value in settings.items() if key not in ("version", "memory_statistics"))

    return _table(["side", "SQLite", "settings as read back"], (
        [result["sides"][name]["label"], settings["version"], kept(settings)]
        for name, settings in result["settings"][cache].items()))


def _works(result, cache, is_ordinary):
    rows = [row for name, row in result["tables"].get(cache, {}).items() if (name in result["calls"]) == is_ordinary]
    sides = [name for name in result["sides"] if name != "plain"]
    return _table(["work", "plain, s", *(result["sides"][side]["label"] for side in sides)], (
        [row["what"], f"{row['plain']['wall']:.4f}",
         *(_ratios(row[side], row["plain"]) if side in row else "–" for side in sides)] for row in rows))


def _ratios(times, plain):
    return f"{times['wall'] / plain['wall']:.2f} ({times['cpu'] / plain['cpu']:.2f})"


def _cell(text):
    return text.replace("|", "\\|")


def _commands(result):
    return _table(["work", "peer's command", "peer, s", "dbtool, s", "ratio (CPU)"], (
        [_cell(row["what"]), f"`{_cell(row['command'])}`", f"{row['plain']['wall']:.3f}", f"{row['coffer']['wall']:.3f}",
         _ratios(row["coffer"], row["plain"])] for row in result["commands"].values()))


def _curves(result):
    lines = []
    for curve in result["curves"].values():
        works = curve["points"][0]["microseconds"]
        sides = [side for side in result["sides"] if side in next(iter(works.values()))]
        labels = " / ".join(result["sides"][side]["label"] for side in sides)
        lines += [f"{curve['title']}; {labels}, µs for each document:", "", *_table([curve["axis"], *works], (
            [f"{point['value']:,}",
             *(" / ".join(_short(point["microseconds"][work][side]) for side in sides) for work in works)]
            for point in curve["points"]))]
    return lines


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
