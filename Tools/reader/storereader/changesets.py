"""Sync-Format, "Files" and "Payload": sealed parts, and the rows that a changeset carries."""

import hashlib
from dataclasses import dataclass

from .attachments import CONTENT_LIMIT, MEDIA_TYPE_LIMIT, NAME_LIMIT
from .database import GENERATION_LIMIT, integer, utf8
from .dots import Dot, read_dot, replicas_data
from .errors import Damaged, Newer
from .primitives import (
    EXTENSION_LIMIT, NONCE_SIZE, SEAL_OVERHEAD, TAG_SIZE, Cursor, extension_part, is_newer, label16, padme, u8, u32)
from .records import IS_VALUE, POSITION_LIMIT, Head, check_date, head_data
from .sealedrows import Collection, collection_data, deletion_data

PART_SIZE = 65536
CONTENT_ENTRY_LIMIT = 1 << 20
ORIGIN, COLLECTION, DELETION, DOCUMENT, ATTACHMENT, CONTENT, END = 1, 2, 3, 4, 5, 6, 0


def opened_parts(sealed, key, label, identity, payload_size, what):
    """The payload in sealed parts, without the zeros behind it."""
    size, parts, offset = padme(max(payload_size, 2)), [], 0
    for index, start in enumerate(range(0, size, PART_SIZE)):
        length = min(PART_SIZE, size - start)
        part = sealed[offset : offset + length + SEAL_OVERHEAD]
        data = label16(label) + identity + u32(index) + u8(start + length == size)
        if len(part) != length + SEAL_OVERHEAD:
            raise Damaged(f"{what}: cut")
        parts.append(key.open(part[:NONCE_SIZE], part[NONCE_SIZE:-TAG_SIZE], part[-TAG_SIZE:], data, what))
        offset += len(part)
    plain = b"".join(parts)
    if offset != len(sealed) or any(plain[payload_size:]):
        raise Damaged(f"{what}: bytes behind the payload")
    return plain[:payload_size]


@dataclass(frozen=True)
class CarriedAttachment:
    """`content` is None if it doesn't travel."""

    uid: bytes
    born: Dot
    name_dot: Dot
    date: int
    name: str
    media_type: str
    length: int
    digest: bytes
    content: bytes


@dataclass(frozen=True)
class CarriedDocument:
    flags: int
    pos: bytes
    coll: int
    head: Head
    text: str
    attachments: list


class Changeset:
    """Everything in a changeset. `vector` and `base` are counters by the identities of replicas."""

    def __init__(self, payload, what):
        self._fields, self._what = Cursor(payload, what), what
        self._read_origin()
        self.collections, self.deletions, self.documents = {}, [], []
        for kind, read in ((COLLECTION, self._collection), (DELETION, self._deletion), (DOCUMENT, self._document)):
            while self._kind == kind:
                read(self._take())
        if self._kind != END or self._size:
            raise Damaged(f"{what}: an entry out of place")
        self._fields.end()
        for document in self.documents:
            if document.coll not in self.collections:
                raise Damaged(f"{what}: a document's collection is missing")

    def _step(self):
        self._kind, self._size = self._fields.unsigned(1), self._fields.unsigned(4)

    def _take(self):
        """The bytes of this entry; steps to the next."""
        data = self._fields.take(self._size)
        self._step()
        return data

    def _read_origin(self):
        self._step()
        if self._kind != ORIGIN:
            raise Damaged(f"{self._what}: no origin")
        fields = Cursor(self._take(), f"{self._what}: origin")
        _, replicas, extension = replicas_data(fields.take(fields.unsigned(4)), GENERATION_LIMIT)
        if is_newer(extension):
            raise Newer(f"{self._what}: newer than this reader")
        self.identities = [replica.identity for replica in replicas]
        self.vector = {replica.identity: replica.counter for replica in replicas}
        self.base = {
            replica.identity: integer(fields.varint(), f"{self._what}: base", 0, replica.counter) for replica in replicas}
        fields.end()

    def _collection(self, data):
        fields = Cursor(data, f"{self._what}: collection")
        number = integer(fields.unsigned(4), f"{self._what}: collection", 1, 2**31 - 1)
        self.collections[number] = collection_data(fields, number, 1, f"{self._what}: collection {number}")

    def _deletion(self, data):
        self.deletions.append(deletion_data(Cursor(data, self._what), 1, 1, f"{self._what}: deletion"))

    def _document(self, data):
        fields, what = Cursor(data, f"{self._what}: document"), f"{self._what}: document"
        id, coll = integer(fields.signed(), what, 1, 2**63 - 2), fields.unsigned(4)
        flags = IS_VALUE if fields.has_value() else 0
        pos = fields.take(integer(fields.unsigned(1), f"{what}: position", 1, POSITION_LIMIT))
        head = head_data(fields.take(fields.unsigned(4)), what)
        if is_newer(head.extension):
            raise Newer(f"{what} {id}: newer than this reader")
        text = fields.rest()
        if len(text) != head.length or hashlib.sha256(text).digest() != head.digest:
            raise Damaged(f"{what} {id}: not the text that its head names")
        attached = []
        while self._kind == ATTACHMENT:
            attached.append(self._attachment(self._take(), id))
        self.documents.append(CarriedDocument(flags, pos, coll, head, utf8(text, what).decode("utf-8"), attached))

    def _attachment(self, data, id):
        fields, what = Cursor(data, f"{self._what}: attachment"), f"{self._what}: attachment of {id}"
        if fields.signed() != id:
            raise Damaged(f"{what}: of another document than the one before it")
        uid, born, name_dot = fields.take(16), read_dot(fields, what), read_dot(fields, what)
        date = check_date(fields.signed(), what)
        name = fields.take(integer(fields.unsigned(4), f"{what}: name", 1, NAME_LIMIT))
        media_type = fields.take(integer(fields.unsigned(4), f"{what}: media type", 0, MEDIA_TYPE_LIMIT))
        length, digest = integer(fields.unsigned(8), f"{what}: length", 0, CONTENT_LIMIT), fields.take(32)
        travels = fields.has_value()
        if is_newer(extension_part(fields.rest(), EXTENSION_LIMIT, 0, what)):
            raise Newer(f"{what}: newer than this reader")
        content = self._content(length, digest, what) if travels else None
        return CarriedAttachment(
            uid, born, name_dot, date, utf8(name, what).decode(), media_type.decode(), length, digest, content)

    def _content(self, length, digest, what):
        parts = []
        while self._kind == CONTENT:
            integer(self._size, f"{what}: part", 1, CONTENT_ENTRY_LIMIT)
            parts.append(self._take())
        content = b"".join(parts)
        if len(content) != length or hashlib.sha256(content).digest() != digest:
            raise Damaged(f"{what}: not the content that its entry names")
        return content


@dataclass(frozen=True)
class Entry:
    """A document with its collection's uid, and dots whose replicas have their identities."""

    flags: int
    pos: bytes
    collection: bytes
    head: Head
    dots: dict
    text: str
    # By uid.
    attachments: dict


class Contents:
    """What a copy has that nobody edited: its documents, collections and deletions by uid, and its vector."""

    def __init__(self):
        self.documents, self.collections, self.deletions, self.vector = {}, {}, {}, {}

    def listed(self):
        """The collections that the content hash has."""
        used = {document.collection for document in self.documents.values()}
        return [
            collection for uid, (collection, _) in self.collections.items()
            if not collection.dots.is_dropped or uid in used]

    def hashed(self):
        """The documents as `content_hash_of` takes them."""
        for document in self.documents.values():
            attached = [attachment for attachment, _ in document.attachments.values()]
            yield document.flags, document.head, self.collections[document.collection][0], attached

    def take(self, changeset):
        """Whole rows travel, so each takes the place of the one that there is."""
        named = Names(changeset.identities)
        for collection in changeset.collections.values():
            self.collections[collection.uid] = (collection, named.dots(collection.dots))
        for deletion in changeset.deletions:
            self.deletions[deletion.uid] = named.deletion(deletion)
            self.documents.pop(deletion.uid, None)
            for document in self.documents.values():
                document.attachments.pop(deletion.uid, None)
        for document in changeset.documents:
            uid = document.head.uid
            former = self.documents[uid].attachments if uid in self.documents else {}
            self.deletions.pop(uid, None)
            self.documents[uid] = Entry(
                document.flags, document.pos, changeset.collections[document.coll].uid, document.head,
                named.dots(document.head.dots), document.text,
                {one.uid: (_with_content(one, former), named.attachment(one)) for one in document.attachments})
        for identity, counter in changeset.vector.items():
            self.vector[identity] = max(counter, self.vector.get(identity, 0))


def _with_content(attachment, former):
    if attachment.content is None:
        known = former.get(attachment.uid, (None,))[0]
        if known is None or (known.length, known.digest) != (attachment.length, attachment.digest):
            raise Damaged("the content of an attachment is missing")
    return attachment


class Names:
    """Gives dots the identities of their replicas in place of numbers."""

    def __init__(self, identities):
        self._identities = identities

    def dot(self, dot):
        if dot.replica >= len(self._identities):
            raise Damaged("a dot of an unknown replica")
        return (self._identities[dot.replica].hex(), dot.counter) if dot.counter else None

    def dots(self, dots):
        found = {name: self.dot(value) for name, value in vars(dots).items() if isinstance(value, Dot)}
        members = getattr(dots, "members", {})
        return found | {"members": {name: self.dot(dot) for name, dot in members.items()}}

    def deletion(self, deletion):
        return sorted(map(self.dot, deletion.dots)), self.dot(deletion.stamp)

    def attachment(self, attachment):
        return self.dot(attachment.born), self.dot(attachment.name_dot)
