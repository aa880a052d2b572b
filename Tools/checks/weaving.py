"""Weaves many defects into one build, so that a number in the environment chooses which one of them acts.

A defect that lies within the body of a function, an initializer or an accessor makes a second form of that body. The
build has both forms, and a condition in front of them.
"""

import re
from dataclasses import dataclass

VARIABLE = "COFFER_PLANTED_DEFECT"
# Reads the variable with calls of the C library, so that the file needs no import.
CHOICE = f"""
@_silgen_name("getenv") private func _plantedVariable(_ name: UnsafePointer<CChar>) -> UnsafePointer<CChar>?
@_silgen_name("atoi") private func _plantedNumber(_ text: UnsafePointer<CChar>) -> Int32
private let _plantedDefect = _plantedVariable("{VARIABLE}").map(_plantedNumber) ?? 0
"""
DECLARATION = re.compile(r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:[a-z]+(?:\(set\))?\s+)*?(func|init|subscript|deinit|get|set|var)\b")
ACCESSORS = re.compile(r"\s*(?:(?:mutating|nonmutating)\s+)?(?:get|set|_read|_modify|willSet|didSet)\b.*\{")


@dataclass
class Woven:
    """The text of a file, its defects, and those that each line belongs to; a line outside of bodies belongs to all."""

    text: str
    defects: set
    owners: list


def indent(line):
    return len(line) - len(line.lstrip(" "))


def unfolded(text):
    """The lines of a text, with the bodies that are on the line of their declaration on a line of their own."""
    lines = []
    for line in text.splitlines():
        header, brace, rest = line.partition(" { ")
        if brace and rest.endswith(" }") and DECLARATION.match(header) and "= " not in header:
            space = " " * indent(line)
            lines += [f"{header} {{", f"{space}  {rest[:-2]}", f"{space}}}"]
        else:
            lines.append(line)
    return lines


def equal(one, other):
    """How many lines at the start of two lists are equal."""
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def body(lines, first, last):
    """The range of lines of the outermost body that has the lines from first up to last in it, or None."""
    found = None
    level = min((indent(line) for line in lines[first:last] if line.strip()), default=0)
    for number in range(first - 1, -1, -1):
        line = lines[number]
        if not line.strip() or indent(line) >= level:
            continue
        level = indent(line)
        if not line.rstrip().endswith("{"):
            continue
        start = number
        while lines[start].lstrip().startswith(("{", ")", "->", "where ", "throws", "]", ">")) and start > 0:
            start -= 1
            while indent(lines[start]) > level or not lines[start].strip():
                start -= 1
        header = " ".join(part.strip() for part in lines[start:number + 1])
        declared = DECLARATION.match(header)
        if not declared:
            continue
        end = next((n for n in range(last, len(lines)) if lines[n].strip() and indent(lines[n]) <= level), None)
        if end is None or lines[end].strip() != "}":
            continue
        inside = [line for line in lines[number + 1:end] if indent(line) == level + 2]
        if declared[1] == "var" and ("= " in header.split("{")[0] or any(map(ACCESSORS.match, inside))):
            continue
        found = (number + 1, end)
    return found


def weave(text, defects):
    """A file with those of its defects, which are given by their numbers, that lie in bodies."""
    lines = unfolded(text)
    bodies = {}
    for number, defect in defects.items():
        broken = unfolded(text.replace(defect.old, defect.new))
        first, rest = equal(lines, broken), equal(lines[::-1], broken[::-1])
        lies = body(lines, first, max(first, len(lines) - rest))
        if lies is not None:
            bodies.setdefault(lies, {})[number] = broken[lies[0]:lies[1] + len(broken) - len(lines)]
    every = set().union(*bodies.values())
    if not every:
        return Woven(text, every, [every] * len(text.splitlines()))
    made = []
    position = 0
    for (start, end), forms in sorted(bodies.items()):
        made += [(line, every) for line in lines[position:start]]
        word = "if"
        for number, form in forms.items():
            made += [(line, {number}) for line in (f"{word} _plantedDefect == {number} {{", *form)]
            word = "} else if"
        made += [(line, set(forms)) for line in ("} else {", *lines[start:end], "}")]
        position = end
    made += [(line, every) for line in lines[position:] + CHOICE.splitlines()]
    return Woven("".join(f"{line}\n" for line, _ in made), every, [owned for _, owned in made])
