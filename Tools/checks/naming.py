"""The names of tests, attacks and files that a page gives in code, and whether they exist."""

import fnmatch
import json
import re

ATTACKS = "Tests/Fixtures/format-3/attacks"

TYPE = re.compile(r"^(?:@Suite\b.*?\s)?(?:(?:final|private|fileprivate)\s+)*(?:struct|class|actor|extension) (\w+)", re.MULTILINE)
TEST = re.compile(r"^ *@Test\b[^{}]*?\bfunc (\w+)|^ *@Test\b.*?\bfunc (\w+)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
SUITE = re.compile(r"([A-Z]\w*Tests)(?:\.(\w+))?")
PATH = re.compile(r"(?:Tools|Sources|Tests)/[\w./-]+")
# A list of attacks follows the suite or tool that runs them.
LIST = re.compile(r"`([A-Z]\w*Tests|Tools/checks/check-attacks)`: ((?:`[^`\n]+`(?:, )?)+)")


def suites(root):
    """Names of the tests by suite; suites with the same name in two targets count as one."""
    found = {}
    for path in sorted((root / "Tests").rglob("*.swift")):
        source = re.sub(r"^ *//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        types = [(match.start(), match[1]) for match in TYPE.finditer(source)]
        for match in TEST.finditer(source):
            around = [name for start, name in types if start < match.start()]
            if around:
                found.setdefault(around[-1], set()).add(match[1] or match[2])
    return found


def problems_of_names(root, page):
    known = suites(root)
    attacks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (root / ATTACKS).glob("*.json")}
    for match in LIST.finditer(page):
        for name in CODE.findall(match[2]):
            named = fnmatch.filter(attacks, name)
            if not named:
                yield match.start(), f"there is no attack {name}"
            elif not match[1].startswith("Tools/") and any(attacks[one].get("directory") for one in named):
                yield match.start(), f"{name} is a folder, which only Tools/checks/check-attacks tries"
    page = LIST.sub(lambda match: match[0].replace(match[2], " " * len(match[2])), page)
    for match in CODE.finditer(page):
        code = match[1]
        if suite := SUITE.fullmatch(code):
            if suite[1] not in known:
                yield match.start(), f"there is no suite {suite[1]}"
            elif suite[2] and suite[2] not in known[suite[1]]:
                yield match.start(), f"{suite[1]} has no test {suite[2]}"
        elif PATH.fullmatch(code) and not (root / code).exists():
            yield match.start(), f"there is no {code}"
        elif re.search(r"Tests\b", code) and not PATH.fullmatch(code):
            yield match.start(), f"not the name of a test: {code}"
