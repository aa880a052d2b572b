"""Draws the tables of a page of results as SVG, for Tools/docs.

Does: one plot of bars for each table of ratios, one panel of lines for each column of a table of curves. Knows: the
tables that page.py writes. Does not know: how they were measured.
"""

import html
import math
import re

COLORS = {"Coffer": "#0b6e4f", "plain SQLite": "#777777", "newest SQLite": "#bbbbbb", "SQLCipher": "#d1495b",
          "SQLite3MC, AEGIS": "#3066be"}
TABLE = re.compile(r"^\|.*\n\|[ :|-]+\n(?:\|.*\n)+", re.MULTILINE)
# The sentence above a table of curves: its title, and the sides in the order of the numbers in a cell.
CURVES = re.compile(r"^(?P<title>.+); (?P<sides>.+), µs for each document:\n\n\Z", re.MULTILINE)
TICKS = [digit * 10.0**power for power in range(-3, 5) for digit in (1, 2, 5)]


def illustrated(page):
    """Returns the page with a link to a plot above each table that has one, and {file name: SVG}."""
    plots = {}

    def with_plot(table):
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[0].splitlines()]
        header, rows = cells[0], cells[2:]
        curves = CURVES.search(page, 0, table.start())
        if header[1] == "plain, s":
            drawn = bars(header[2:], rows)
        elif curves:
            drawn = lines(header, rows, curves["sides"].split(" / "))
        else:
            return table[0]
        name = f"plot-{len(plots) + 1}.svg"
        plots[name] = drawn
        return f"![{curves['title'] if curves else 'Wall time divided by that of plain SQLite'}]({name})\n\n{table[0]}"

    return TABLE.sub(with_plot, page), plots


def number(text):
    return float(text.split(" ")[0].replace(",", ""))


def scale(values, start, end):
    """Returns a logarithmic axis from `start` to `end`, and the ticks on it."""
    low, high = math.log(min(values)), math.log(max(values))
    ticks = [tick for tick in TICKS if low <= math.log(tick) <= high]
    return lambda value: start + (math.log(value) - low) / (high - low) * (end - start), ticks


def text(x, y, words, anchor="start", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def rule(x1, y1, x2, y2, color):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def legend(sides, x):
    for side in sides:
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{COLORS[side]}"/>' + text(x + 17, 18, side)
        x += 130


def svg(width, height, parts):
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def bars(sides, rows):
    """Bars from 1, which is plain SQLite, to each side's ratio."""
    height = 48 + len(rows) * (9 * len(sides) + 8)
    ratios = [number(cell) for row in rows for cell in row[2:] if cell != "–"]
    at, ticks = scale([*(0.75 * ratio for ratio in ratios), *(1.3 * ratio for ratio in ratios), 1], 370, 890)
    parts = [*legend(sides, 370)]
    for tick in ticks:
        parts += [rule(at(tick), 30, at(tick), height - 16, "black" if tick == 1 else "#dddddd"),
                  text(at(tick), height - 4, f"{tick:g}", "middle")]
    for index, row in enumerate(rows):
        top = 34 + index * (9 * len(sides) + 8)
        parts.append(text(362, top + 4.5 * len(sides) + 4, row[0], "end"))
        for side, cell in zip(sides, row[2:]):
            if cell != "–":
                start, end = sorted((at(1), at(number(cell))))
                parts.append(f'<rect x="{start:.1f}" y="{top}" width="{end - start:.1f}" height="8" fill="{COLORS[side]}"/>')
                is_slower = number(cell) >= 1
                parts.append(text(at(number(cell)) + (3 if is_slower else -3), top + 7, f"{number(cell):.2f}",
                                  "start" if is_slower else "end", 8))
            top += 9
    return svg(900, height, parts)


def lines(header, rows, sides):
    """A panel for each work, both axes logarithmic."""
    parts, values = [*legend(sides, 40)], [number(row[0]) for row in rows]
    for column, work in enumerate(header[1:]):
        left = 40 + 190 * column
        times = [[number(part) for part in row[column + 1].split(" / ")] for row in rows]
        flat = [time for point in times for time in point]
        middle = math.sqrt(min(flat) * max(flat))
        # At least a decade, so that flat lines look flat.
        at_y, y_ticks = scale([*flat, middle / 10**0.5, middle * 10**0.5], 210, 50)
        at_x, _ = scale(values, left, left + 140)
        parts += [text(left + 70, 42, work, "middle"), text(left + 70, 244, header[0], "middle")]
        for tick in y_ticks:
            parts += [rule(left, at_y(tick), left + 140, at_y(tick), "#dddddd"),
                      text(left - 3, at_y(tick) + 3, f"{tick:g}", "end", 8)]
        parts += [text(at_x(value), 226, f"{value:g}" if value < 10_000 else f"{value:.0e}".replace("e+0", "e"), "middle", 8)
                  for value in values]
        for side, points in zip(sides, zip(*times)):
            path = " ".join(f"{at_x(value):.1f},{at_y(time):.1f}" for value, time in zip(values, points))
            parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[side]}" stroke-width="1.5"/>')
    return svg(40 + 190 * len(header[1:]), 252, parts)
