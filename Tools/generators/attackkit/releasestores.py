"""A sound store with three releases (FORMAT, "Releases").

FIRST signed releases 1 and 2, and release 2 names SECOND, who signed release 3. `publishers` of a store are the results
of opening it as a reader who expects one of these lines.
"""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from storereader.primitives import hkdf

from .contenthash import content_hash
from .secrets import key_line
from .starting import created, only_key

# The bit of `compat`.
RELEASES = 2
TABLE = "CREATE TABLE coffer_x_release(number INTEGER PRIMARY KEY,note TEXT NOT NULL,private BLOB) STRICT"
BASE = "released"


class Publisher:
    """A published signing key, from its sentence."""

    def __init__(self, name):
        self._key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"Coffer published test key: {name}".encode()).digest())
        self._public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.line = key_line("publisher", self._public)

    def note(self, text, name="coffer-test-release"):
        key_id = hashlib.sha256(name.encode() + b"\n\x01" + self._public).digest()[:4]
        return f"{text}\n\u2014 {name} {base64.b64encode(key_id + self._key.sign(text.encode())).decode()}\n"


FIRST, SECOND, OTHER = Publisher("signing"), Publisher("second signing"), Publisher("other signing")
NOBODY = dict.fromkeys((FIRST.line, SECOND.line, OTHER.line), "mismatch")
SOUND = NOBODY | {FIRST.line: "ok", SECOND.line: "ok"}


def text_of(note):
    return note.partition("\n\n")[0] + "\n"


def release(writer, previous=None, following=None, **changes):
    """The text of the next release of the rows; `changes` are other values of its lines."""
    number = 1 + (int(text_of(previous).split("\n")[2].split(" ")[1]) if previous else 0)
    lines = {
        "set": hkdf(writer.family, b"", b"coffer3/data-set")[:16].hex(), "number": number,
        "time": f"2026-01-0{number}T12:00:00.000Z", "expires": "none",
        "documents": len(writer.records), "collections": len(writer.collections), "content": content_hash(writer).hex(),
        "previous": hashlib.sha256(text_of(previous).encode()).hexdigest() if previous else "none"}
    if following:
        lines["next"] = following.line
    return "coffer-release-1\n" + "".join(f"{name} {value}\n" for name, value in (lines | changes).items())


def keep(writer, notes):
    """Makes these notes the store's, by their numbers in the table."""
    writer.extra_sql = [TABLE] + [
        f"INSERT INTO coffer_x_release VALUES({number},'{note}',NULL)" for number, note in notes.items()]
    writer.notes = notes


def histories(seed):
    return {BASE: {label: writer.copy() for label, writer in _released(created(f"{seed}/{BASE}", only_key))}}


def _released(writer):
    writer.compat = RELEASES
    keep(writer, {})
    yield "created", writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, b"Others")
    writer.add(1, "The first text.", title=b"one", key=b"k1", attributes=b'{"colour":"red"}')
    writer.add(1, "The second text.", title=b"two", key=b"k2", parent=1)
    writer.add(1, '{"a":1}', title=b"three", flags=1)
    writer.add(2, "A long text. " * 200, title=b"four")
    yield "filled", writer.commit()
    first = FIRST.note(release(writer))
    keep(writer, {1: first})
    yield "first", writer
    writer.change(2, text=b"The second text, corrected.")
    writer.commit()
    second = FIRST.note(release(writer, first, following=SECOND))
    keep(writer, {1: first, 2: second})
    yield "second", writer
    writer.add(1, "A text that the third release added.", title=b"five")
    writer.commit()
    keep(writer, {1: first, 2: second, 3: SECOND.note(release(writer, second))})
    writer.publishers = SOUND
    yield "last", writer
