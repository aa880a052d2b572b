"""FORMAT, "Key files, pin, anchor" and the passphrase rule: the secrets that open a store."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

_LINE = re.compile(rb"(coffer-(test-)?(key|identity|recipient|signing|publisher)-1-)([0-9a-f]{72})")


@dataclass(frozen=True)
class Secret:
    """kind is the word in a key line, or "passphrase"."""

    kind: str
    is_test: bool
    value: bytes

    def __repr__(self):
        return f"Secret({self.kind}, redacted)"


def key_line(line):
    """The secret of one key line, or ValueError."""
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError("not a key line")
    prefix, test, kind, digits = match.groups()
    value = bytes.fromhex(digits.decode())
    if hashlib.sha256(prefix + value[:32]).digest()[:4] != value[32:]:
        raise ValueError("wrong check digits")
    return Secret(kind.decode(), bool(test), value[:32])


def key_file(content):
    """The secret of a key file's one key line, or ValueError."""
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    if len(lines) != 1:
        raise ValueError("a key file has exactly one key line")
    return key_line(lines[0])


def passphrase(content):
    """A passphrase from UTF-8, normalized but never trimmed, or ValueError."""
    text = unicodedata.normalize("NFC", content.decode("utf-8"))
    if not text or "\0" in text:
        raise ValueError("a passphrase is not empty and holds no U+0000")
    return Secret("passphrase", False, text.encode("utf-8"))


def passphrase_file(content):
    """The same from a file, whose last line end does not count."""
    if content.endswith(b"\n"):
        content = content[:-1].removesuffix(b"\r")
    return passphrase(content)
