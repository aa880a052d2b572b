"""The secrets of the kit's stores: those of Keys/, and two that are made from a sentence in the same way."""

import hashlib
from pathlib import Path

from storereader import keyfiles

KEYS = Path(__file__).resolve().parents[3] / "Keys"


def _line(path):
    return [line for line in (KEYS / path).read_text(encoding="ascii").splitlines() if not line.startswith("#")][0]


def key_line(kind, value, is_test=True):
    prefix = f"coffer-{'test-' if is_test else ''}{kind}-1-"
    return prefix + (value + hashlib.sha256(prefix.encode() + value).digest()[:4]).hex()


KEY, NEXT, WRONG = map(_line, ("primary.key", "next.key", "wrong.key"))
IDENTITY, RECIPIENT = map(_line, ("identity.key", "recipient.txt"))
PASSPHRASE = _line("passphrase.txt")
REMOVED = key_line("key", hashlib.sha256(b"Coffer published test key: removed").digest())
OUTSIDER = hashlib.sha256(b"Coffer published test key: outsider").digest()
OTHER_PASSPHRASE = "Gr\u00fc\u00dfe, \u4e16\u754c \U0001f40e"

# Keyed by the name in an expectation.
SECRETS = {"key": KEY, "passphrase": PASSPHRASE, "identity": IDENTITY}


def value(line):
    """The bytes of a key line, or of a passphrase."""
    parse = keyfiles.key_line if line.startswith("coffer-") else keyfiles.passphrase
    return parse(line.encode()).value
