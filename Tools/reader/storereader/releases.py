"""FORMAT, "Releases": who published the rows of a store."""

import base64
import hashlib
import re
import sqlite3

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .contenthash import content_hash
from .errors import Damaged, Mismatch
from .keyfiles import key_line
from .primitives import hkdf
from .records import RecordRow

FEATURE = 2
_TEXT = re.compile(
    r"coffer-release-1\nset (?P<set>[0-9a-f]{32})\nnumber (?P<number>[1-9]\d*)\ntime (?P<time>\S+Z)\n"
    r"expires (?P<expires>none|\S+Z)\ndocuments (?P<documents>\d+)\ncollections (?P<collections>\d+)\n"
    r"content (?P<content>[0-9a-f]{64})\nprevious (?P<previous>none|[0-9a-f]{64})\n(next (?P<next>coffer-\S+)\n)?")


class Release:
    """One row of the table: the fields of the text, and its signatures."""

    def __init__(self, number, note):
        self.text, _, signatures = note.rpartition("\n\n")
        self.text += "\n"
        fields = _TEXT.fullmatch(self.text)
        if fields is None or int(fields["number"]) != number:
            raise Damaged(f"release {number} isn't the note of a release")
        self.number, self.fields, self.signatures = number, fields, signatures.splitlines()

    def is_signed_by(self, publisher):
        """Whether a signature is by this publisher's line."""
        key = key_line(publisher.encode())
        name = "coffer-test-release" if key.is_test else "coffer-release"
        key_id = hashlib.sha256(name.encode() + b"\n\x01" + key.value).digest()[:4]
        for line in self.signatures:
            value = base64.b64decode(line.removeprefix(f"\u2014 {name} ")) if line.startswith(f"\u2014 {name} ") else b""
            if value[:4] == key_id:
                try:
                    Ed25519PublicKey.from_public_bytes(key.value).verify(value[4:], self.text.encode())
                    return True
                except InvalidSignature:
                    return False
        return False


def releases(connection):
    """The releases that the file names, without a key."""
    try:
        rows = connection.execute("SELECT number, note FROM coffer_x_release ORDER BY number").fetchall()
    except sqlite3.OperationalError:
        return []
    return [Release(number, note if isinstance(note, str) else note.decode()) for number, note in rows]


def proved_release(store, publisher):
    """The newest release, if this publisher signed it and the rows are its own."""
    chain = releases(store.connection) if store.header.compat & FEATURE else []
    own = [index for index, release in enumerate(chain) if release.is_signed_by(publisher)]
    if not own:
        raise Mismatch("no release is signed by the publisher")
    signer = publisher
    for index in range(own[-1], len(chain)):
        release = chain[index]
        if index > own[-1]:
            former = chain[index - 1]
            follows = release.number == former.number + 1 and release.is_signed_by(signer)
            if not follows or release.fields["previous"] != hashlib.sha256(former.text.encode()).hexdigest():
                raise Mismatch(f"release {release.number} isn't signed by the publisher")
        signer = release.fields["next"] or signer
    last = chain[-1]
    found = (hkdf(store.family_key, b"", b"coffer3/data-set")[:16].hex(), content_hash(store).hex(), store.state.count,
             len(store.collections()))
    fields = last.fields
    if found != (fields["set"], fields["content"], int(fields["documents"]), int(fields["collections"])):
        raise Mismatch(f"the documents aren't those of release {last.number}")
    if not _is_plain(store):
        raise Mismatch("a name, key or parent isn't the one that follows from the contents")
    return last


def _is_plain(store):
    """Whether nothing that a reader sees, and the content hash lacks, differs from what follows from the hash."""
    names = [collection.name for collection in store.collections().values()]
    rows = [(row, row.open_head()) for row in (RecordRow(values, store.context) for values in store.record_rows())]
    by_uid = {head.uid: row for row, head in rows}
    ids = {row.id for row, _ in rows}
    for row, head in rows:
        parent = by_uid.get(head.parent)
        if parent is not None and parent.coll == row.coll:
            is_right = row.parent == parent.id
        else:
            is_right = row.parent is None or row.parent not in ids
        if not is_right or row.flags & 2:
            return False
    return len(set(names)) == len(names)
