"""RFC 8785: whether bytes are the one canonical form of a JSON object."""

import json


def canonical_object(data):
    """The object, or ValueError where the bytes are not exactly its canonical form."""
    value = json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_int=float, parse_constant=_constant)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    if canonical_text(value).encode("utf-8") != data:
        raise ValueError("not in canonical form")
    return value


def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _constant(name):
    raise ValueError(f"{name} is not JSON")


def canonical_text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        # Python escapes as RFC 8785 does: the short forms, and lower-case \u00xx for other control characters.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_text, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical_text(name)}:{canonical_text(value[name])}" for name in names) + "}"


def _number(value):
    """ECMAScript's Number::toString, from Python's shortest digits that read back the same."""
    if value in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = f"{abs(value)!r}e0".replace("e", " ").split()[:2]
    whole, _, fraction = digits.partition(".")
    point = len(whole) + int(exponent)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + exponent
