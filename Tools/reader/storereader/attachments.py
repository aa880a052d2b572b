"""FORMAT, "Attachments": their rows, and the chunks of their contents."""

import hashlib
from dataclasses import dataclass

from .database import blob, integer, utf8
from .dots import Dot, read_dot
from .errors import Damaged, Newer, StoreError
from .primitives import EXTENSION_LIMIT, SEAL_OVERHEAD, XAES, extension_part, is_newer, label16, padme, u8, u32, u64
from .records import check_date
from .sealedrows import SealedRow

COLUMNS = "attachment, id, rev, sealed"
# Chunk i of an attachment has the number attachment * CHUNK_NUMBERS + i.
CHUNK_NUMBERS = 1 << 24
CONTENT_LIMIT, LEAST_CHUNK_SIZE, CHUNK_SIZE_LIMIT = 1 << 40, 4096, 1 << 20
NAME_LIMIT, MEDIA_TYPE_LIMIT, KEY_LIMIT = 1024, 255, 64


@dataclass(frozen=True)
class Attachment:
    """`size` is the content's length with its padding; `keys` are pairs of a chunk's number and the key from it on."""

    number: int
    document: int
    rev: int
    uid: bytes
    born: Dot
    name_dot: Dot
    date: int
    name: str
    media_type: str
    length: int
    digest: bytes
    size: int
    chunk_size: int
    key_epoch: int
    keys: list
    extension: dict

    @property
    def is_newer(self):
        return is_newer(self.extension)

    @property
    def chunk_count(self):
        return _chunk_count(self.size, self.chunk_size)

    @property
    def last_chunk_length(self):
        return self.size - (self.chunk_count - 1) * self.chunk_size

    @property
    def first_chunk(self):
        return self.number * CHUNK_NUMBERS


def _chunk_count(size, chunk_size):
    return max(1, -(-size // chunk_size))


class AttachmentRow(SealedRow):
    what, label, set_label, sealed_limit = "attachment", b"coffer3/attach", b"coffer3/set-file", 192 << 10

    def __init__(self, row, context):
        number, document, rev, sealed = row
        super().__init__((number, rev, sealed), context)
        self.document = integer(document, self._what + ": id", 1, context.bound - 1)

    def _number(self, value):
        return integer(value, self._what, 1, self._context.next_attachment - 1)

    def open(self):
        """The attachment, also a newer one: the caller asks for `is_newer` before giving anything out."""
        fields, what = self._fields(), self._what
        if fields.unsigned(8) != self.document:
            raise Damaged(f"{what}: its column names another document")
        uid, born, name_dot = fields.take(16), read_dot(fields, what), read_dot(fields, what)
        date = check_date(fields.signed(), what)
        name = self._bounded(fields, "name", 1, NAME_LIMIT)
        media_type = self._bounded(fields, "media type", 0, MEDIA_TYPE_LIMIT)
        if not all(0x21 <= byte <= 0x7E for byte in media_type):
            raise Damaged(f"{what}: media type out of bounds")
        length, digest = integer(fields.unsigned(8), f"{what}: length", 0, CONTENT_LIMIT), fields.take(32)
        chunk_size = integer(fields.unsigned(4), f"{what}: chunk size", LEAST_CHUNK_SIZE, CHUNK_SIZE_LIMIT)
        key_epoch = integer(fields.unsigned(4), f"{what}: epoch", 1, self._context.active_epoch)
        size = padme(length) if self._context.is_padded and length > 1 else length
        keys = self._keys_of_chunks(fields, _chunk_count(size, chunk_size))
        extension = extension_part(fields.rest(), EXTENSION_LIMIT, 0, what)
        return Attachment(
            self.number, self.document, self.rev, uid, born, name_dot, date, utf8(name, what).decode(),
            media_type.decode(), length, digest, size, chunk_size, key_epoch, keys, extension)

    def _bounded(self, fields, name, least, most):
        return fields.take(integer(fields.unsigned(4), f"{self._what}: {name}", least, most))

    def _keys_of_chunks(self, fields, chunk_count):
        if chunk_count > CHUNK_NUMBERS:
            raise Damaged(f"{self._what}: too many chunks")
        count = integer(fields.unsigned(1), f"{self._what}: number of keys", 1, KEY_LIMIT)
        keys = [(fields.unsigned(4), fields.take(32)) for _ in range(count)]
        firsts = [first for first, _ in keys]
        if firsts[0] != 0 or firsts != sorted(set(firsts)) or firsts[-1] >= chunk_count:
            raise Damaged(f"{self._what}: its keys do not begin at chunks that rise from 0")
        return keys


class Content:
    """The content of one attachment, read chunk by chunk: a row that lies about its length takes no memory."""

    def __init__(self, store, attachment):
        self._store, self._attachment = store, attachment
        self._keys = [(first, XAES(key)) for first, key in attachment.keys]

    def chunks(self):
        """The chunks without padding; raises behind the last one if their SHA-256 is not the row's."""
        digest = hashlib.sha256()
        for index in range(self._attachment.chunk_count):
            data = self._chunk(index)
            digest.update(data)
            yield data
        if digest.digest() != self._attachment.digest:
            raise Damaged(f"attachment {self._attachment.number}: not the content that its row names")

    def part(self, start, end):
        """The bytes from `start` up to `end`, from their chunks alone: no digest confirms them."""
        size, end = self._attachment.chunk_size, min(end, self._attachment.length)
        first = start // size
        data = b"".join(map(self._chunk, range(first, -(-end // size))))
        return data[start - first * size : end - first * size]

    def _chunk(self, index):
        attachment, what = self._attachment, f"attachment {self._attachment.number}, chunk {index}"
        is_last = index == attachment.chunk_count - 1
        length = attachment.last_chunk_length if is_last else attachment.chunk_size
        sql = "SELECT ct FROM coffer_chunk WHERE chunk = ?"
        (ct,) = next(self._store.rows(sql, attachment.first_chunk + index), (None,))
        sealed = blob(ct, what, SEAL_OVERHEAD + length)
        data = (
            label16(b"coffer3/chunk") + self._store.header.store_id + u64(attachment.number) + u32(index) + u8(is_last))
        key = next(key for first, key in reversed(self._keys) if first <= index)
        plain = key.open_blob(sealed, data, what)
        end = max(0, attachment.length - index * attachment.chunk_size)
        if any(plain[end:]):
            raise Damaged(f"{what}: padding is not zero")
        return plain[:end]


def listing(store, document):
    """A document's attachments by their numbers; raises Newer at one that only a later version can read."""
    if not store.header.has_attachments:
        return
    last, sql = 0, f"SELECT {COLUMNS} FROM coffer_attachment WHERE id = ? ORDER BY attachment"
    for values in store.rows(sql, document):
        row = AttachmentRow(values, store.context)
        if row.document != document or row.number <= last:
            raise Damaged(f"attachment {row.number}: the index gives it out of place")
        last = row.number
        yield _known(row.open())


def rows_of(store, document):
    """The rows of a document's attachments that are within their bounds, unopened."""
    if not store.header.has_attachments:
        return
    for values in store.rows(f"SELECT {COLUMNS} FROM coffer_attachment WHERE id = ? ORDER BY attachment", document):
        try:
            row = AttachmentRow(values, store.context)
        except StoreError:
            continue
        yield row


def attachment(store, number):
    """An attachment, or None where there is none."""
    values = None
    if store.header.has_attachments:
        sql = f"SELECT {COLUMNS} FROM coffer_attachment WHERE attachment = ?"
        values = next(store.rows(sql, number), None)
    return None if values is None else _known(AttachmentRow(values, store.context).open())


def _known(attachment):
    if attachment.is_newer:
        raise Newer(f"attachment {attachment.number}: newer than this reader")
    return attachment


def readable(store):
    """The attachments of all documents that can be opened, newer ones too, by their numbers."""
    found = []
    for values in store.attachment_rows():
        try:
            found.append(AttachmentRow(values, store.context).open())
        except StoreError:
            continue
    return found


# Verify.


def quick_problems(store):
    """Rows that do not open, or without their document, and chunks that are not as many or as long as rows imply."""
    problems = []
    for values in store.attachment_rows():
        try:
            attachment = AttachmentRow(values, store.context).open()
        except StoreError as error:
            problems.append(str(error))
            continue
        if next(store.rows("SELECT 1 FROM coffer_record NOT INDEXED WHERE id = ?", attachment.document), None) is None:
            problems.append(f"attachment {attachment.number}: its document is not there")
        if _chunk_numbers(store, attachment) != (attachment.chunk_count, attachment.chunk_count):
            problems.append(f"attachment {attachment.number}: chunks are missing, of another length, or too many")
    if store.header.has_attachments:
        sql = f"SELECT chunk FROM coffer_chunk WHERE chunk < {CHUNK_NUMBERS} OR chunk / {CHUNK_NUMBERS} >= ?"
        problems += [
            f"chunk {chunk}: no attachment has had its number" for (chunk,) in store.rows(sql, store.state.next_attachment)]
    return problems


def _chunk_numbers(store, attachment):
    """How many chunks have the attachment's numbers, and how many of these are as its row implies."""
    first, last = attachment.first_chunk, attachment.first_chunk + attachment.chunk_count - 1
    sql = (
        "SELECT count(*), count(CASE WHEN chunk <= ?3 AND typeof(ct) = 'blob'"
        " AND length(ct) = CASE chunk WHEN ?3 THEN ?5 ELSE ?4 END THEN 1 END)"
        " FROM coffer_chunk WHERE chunk BETWEEN ?1 AND ?2")
    return next(store.rows(
        sql, first, first + CHUNK_NUMBERS - 1, last, SEAL_OVERHEAD + attachment.chunk_size,
        SEAL_OVERHEAD + attachment.last_chunk_length))


def deep_problems(store, found):
    """The faults of the contents of attachments that open."""
    problems = []
    for attachment in found:
        try:
            for _ in Content(store, attachment).chunks():
                pass
        except StoreError as error:
            problems.append(str(error))
    return problems
