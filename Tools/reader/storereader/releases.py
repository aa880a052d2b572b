"""FORMAT, "Releases": who published the rows of a store."""

import re
import sqlite3

from .contenthash import content_hash
from .errors import Damaged, Mismatch
from .primitives import hkdf
from .records import RecordRow
from .signednotes import SignedNote

FEATURE = 2
NUMBER_LIMIT = 2**31 - 1
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_TEXT = re.compile(
    r"coffer-release-1\nset (?P<set>[0-9a-f]{32})\nnumber (?P<number>[1-9]\d*)\n"
    rf"time (?P<time>{_TIME})\nexpires (?P<expires>none|{_TIME})\n"
    r"documents (?P<documents>0|[1-9]\d*)\ncollections (?P<collections>0|[1-9]\d*)\n"
    r"content (?P<content>[0-9a-f]{64})\nprevious (?P<previous>none|[0-9a-f]{64})\n(next (?P<next>coffer-\S+)\n)?")


class Release:
    """One note: the fields of its text, and its signatures. `number` is None for a note that isn't in a table."""

    def __init__(self, note, number=None):
        try:
            self.note = SignedNote(note)
        except ValueError:
            self.note = None
        fields = self.note and _TEXT.fullmatch(self.note.text)
        if not fields or int(fields["number"]) > NUMBER_LIMIT or number not in (None, int(fields["number"])):
            raise Damaged(f"release {number}: not the note of a release")
        self.number, self.fields = int(fields["number"]), fields

    def is_signed_by(self, publisher):
        return self.note.is_signed_by(publisher)

    def is_of(self, family_key, content, documents, collections):
        """Whether these are the data set, the content hash and the counts of the release."""
        fields = self.fields
        return (data_set(family_key), content.hex(), documents, collections) == (
            fields["set"], fields["content"], int(fields["documents"]), int(fields["collections"]))


def data_set(family_key):
    return hkdf(family_key, b"", b"coffer3/data-set")[:16].hex()


def releases(connection):
    """The releases that the file names, without a key."""
    try:
        rows = connection.execute("SELECT number, note FROM coffer_x_release ORDER BY number").fetchall()
    except sqlite3.OperationalError:
        return []
    return [Release(note if isinstance(note, str) else note.decode(), number) for number, note in rows]


def releases_of(store):
    return releases(store.connection) if store.header.compat & FEATURE else []


def newest_of(chain, publisher):
    """The newest of the releases, and its publisher, if that is this one or one that this one leads to."""
    own = next((index for index, release in enumerate(chain) if release.is_signed_by(publisher)), None)
    if own is None:
        raise Mismatch("no release is signed by the publisher")
    signer = publisher
    for former, release in zip(chain[own:], chain[own + 1:]):
        signer = former.fields["next"] or signer
        follows = release.number == former.number + 1 and release.fields["previous"] == former.note.digest
        decides = release.fields["next"] or release is chain[-1]
        if not follows or decides and not release.is_signed_by(signer):
            raise Mismatch(f"release {release.number} isn't signed by the publisher")
    return chain[-1], signer


def proved_release(store, publisher):
    """The newest release, if this publisher signed it and the rows are its own."""
    last, _ = newest_of(releases_of(store), publisher)
    if not last.is_of(store.family_key, content_hash(store), store.state.count, len(store.collections())):
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
