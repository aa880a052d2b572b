"""The figures of the project: Tools/figures.json has the commit and the result of the last run of each check without findings.

Does: reads and writes the file. Knows: the checks whose results say how much was tried, and the measurements. Does not
know: how their results look on a page.
"""

import json
import re
import subprocess
import sys

import project

FILE = "Tools/figures.json"
# In the order of the table in Testing.md.
CHECKS = (
    "tests", "check-attacks", "insiders", "releases", "flips", "kill-points", "power-loss", "full-disk", "out-of-memory",
    "crowd", "lifetime", "sync", "scale", "fuzz", "sanitize address", "sanitize thread", "mutate", "mutate --check",
)
# The results are {work: {column: cell}}, as in the tables that `bench` writes into these pages.
MEASUREMENTS = {
    "bench peers": "Sources/Coffer/Coffer.docc/Benchmarks.md",
    "bench servers": "Sources/Coffer/Coffer.docc/Benchmarks.md",
    "bench attachments": "Sources/Coffer/Coffer.docc/Attachments.md",
}
# The code that a result is of. The pages with the results are below Sources.
CODE = ("Package.swift", "Sources", ":!*.md")


def read(root=project.ROOT):
    return json.loads(project.read(root, FILE) or "{}")


def keep(results):
    """Replaces the results of some checks: {name: {"commit": …, "result": …}}."""
    kept = {**read(), **results}
    ordered = {name: kept[name] for name in (*CHECKS, *MEASUREMENTS) if name in kept}
    (project.ROOT / FILE).write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit(root=project.ROOT):
    """The last commit in 8 digits, with "+" if the code differs from it; None without a repository."""
    found = subprocess.run(["git", "-C", root, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() + ("" if is_of("HEAD", root) else "+") if found.returncode == 0 else None


def is_of(commit, root=project.ROOT):
    """Whether the code is that of a commit."""
    compared = subprocess.run(["git", "-C", root, "diff", "--quiet", commit, "--", *CODE], capture_output=True)
    return compared.returncode == 0


def _marked(tool):
    return re.compile(rf"(<!-- begin: {tool} -->\n)(.*?)(<!-- end: {tool} -->)", re.DOTALL)


def filled(page, tool, part):
    """Returns a page's text with the part between the marker lines of a tool."""
    if len(_marked(tool).findall(page)) != 1:
        sys.exit(f"{tool}: a page doesn't have its two marker lines once")
    return _marked(tool).sub(lambda match: match[1] + part + match[3], page)


def part(page, tool):
    """Returns what a page has between the marker lines of a tool, or nothing."""
    found = _marked(tool).search(page)
    return found[2] if found else ""


def measured(page):
    """Returns {work: {column: cell}} of the tables of works on a page; the first row, if several are of one work."""
    rows, header = {}, []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells[:1] == ["work"] or not cells:
            header = cells
        elif header[1:2] in (["plain, s"], ["peer, s"]) and cells[0] != "---":
            rows.setdefault(cells[0], dict(zip(header[1:], cells[1:])))
        elif header[1:2] == ["value"] and cells[0] != "---":
            rows[f"{cells[0]}: {cells[1]}"] = dict(zip(header[2:], cells[2:]))
    return rows
