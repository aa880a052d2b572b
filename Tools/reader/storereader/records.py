"""FORMAT, "Records" and "Set hash": one row at a time, opened and checked."""

import dataclasses
import hashlib
import unicodedata
from dataclasses import dataclass

from .database import blob, integer, short, text, utf8
from .dots import DocumentDots, document_dots
from .errors import Damaged
from .jcs import canonical_object
from .primitives import (
    EXTENSION_LIMIT, NONCE_SIZE, TAG_SIZE, XAES, Cursor, extension_part, frame_data, hkdf, hmac, is_newer, label16, pae, u8,
    u32, u64)

HEAD_LIMIT, TEXT_LIMIT, KEY_LIMIT = 1 << 20, 256 << 20, 1024
TITLE_LIMIT, UNTITLED_LIMIT, POSITION_LIMIT = 65536, 900 << 10, 255
# Milliseconds of 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
FIRST_DATE, LAST_DATE = -62_167_219_200_000, 253_402_300_799_999
# The last of a document's parts that an entry of an extension part can belong to: its place.
LAST_PART = 5
# The longest frame of a body in the row; a longer one is in `coffer_body`.
INLINE_LIMIT = 2048
SEALED, CLEAR = 0, 1
# Flags: the text is the JSON of a value; another document of the collection holds the key.
IS_VALUE, HELD_ELSEWHERE = 1, 2
RECORD_COLUMNS = "id, coll, epoch, rev, pos, parent, flags, lookup, title, head, body_nt"


class EpochKeys:
    """The working keys of one epoch, and its entry of the keyring."""

    def __init__(self, store_id, number, epoch):
        def derived(label):
            return hkdf(epoch.key, store_id, b"coffer3/" + label + u32(number))

        self.number, self.epoch = number, epoch

        self.body, self.head, self.name = XAES(derived(b"body")), XAES(derived(b"head")), XAES(derived(b"name"))
        self._lookup, self._set = derived(b"lookup"), derived(b"set")

    def lookup(self, coll, key):
        return hmac(self._lookup, pae(b"coffer3/lookup", u32(coll), key))[:16]

    def element_hash(self, element):
        """The bytes that the set hash expands to the element's lanes."""
        return hmac(self._set, element)


@dataclass(frozen=True)
class Context:
    """The values of an opened store that every row is checked against."""

    store_id: bytes
    is_padded: bool
    titles: int
    epochs: dict
    active_epoch: int
    generation: int
    bound: int
    target: int
    cursor: int
    next_attachment: int

    def keys(self, epoch, what):
        if epoch not in self.epochs:
            raise Damaged(f"{what}: unknown epoch")
        return self.epochs[epoch]


def check_date(date, what):
    if not FIRST_DATE <= date <= LAST_DATE:
        raise Damaged(f"{what}: a date outside the years 0000 to 9999")
    return date


def fold(key):
    """Unicode's full case folding between two normalizations to form C."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", key.decode("utf-8")).casefold()).encode("utf-8")


@dataclass(frozen=True)
class Head:
    created: int
    modified: int
    length: int
    digest: bytes
    key: bytes
    title: str
    attributes: str
    uid: bytes
    # The parent's uid, or None.
    parent: bytes
    dots: DocumentDots
    extension: dict

    @property
    def is_newer(self):
        return is_newer(self.extension)


def head_data(data, what):
    """The head in its data, with title and attributes as they're stored; the dots need not be covered."""
    fields = Cursor(data, what + ": head")
    created, modified = check_date(fields.signed(), what), check_date(fields.signed(), what)
    length, digest = fields.unsigned(8), fields.take(32)
    key, title = fields.optional(), fields.optional()
    attributes, uid = fields.take(fields.unsigned(4)), fields.take(16)
    parent = fields.take(16) if fields.has_value() else None
    dots = document_dots(fields, what)
    extension = extension_part(fields.rest(), EXTENSION_LIMIT, LAST_PART, what + ": head")
    if len(title or b"") > TITLE_LIMIT or len(data) - len(title or b"") > UNTITLED_LIMIT:
        raise Damaged(f"{what}: title or head over its limit")
    if length > TEXT_LIMIT:
        raise Damaged(f"{what}: text length out of bounds")
    if key is not None and not 1 <= len(key) <= KEY_LIMIT:
        raise Damaged(f"{what}: key out of bounds")
    _check_attributes(attributes, what)
    title = None if title is None else utf8(title, what + ": title").decode("utf-8")
    return Head(
        created, modified, length, digest, key, title, attributes.decode("utf-8"), uid, parent, dots, extension)


def _check_attributes(attributes, what):
    if not attributes:
        return
    try:
        if not canonical_object(attributes):
            raise ValueError("empty")
    except (ValueError, RecursionError):
        raise Damaged(f"{what}: attributes are not an RFC 8785 object") from None


class RecordRow:
    """A row of coffer_record, sound in form; `open_head` says whether it is true."""

    def __init__(self, row, context):
        what = f"document {row[0]}"
        self.id = integer(row[0], what + ": id", 1, context.bound - 1)
        self.coll, self.epoch = short(row[1], what + ": coll"), short(row[2], what + ": epoch")
        self.rev = integer(row[3], what + ": rev", 1, context.generation)
        self.pos = blob(row[4], what + ": pos", least=1, most=POSITION_LIMIT)
        self.parent = None if row[5] is None else integer(row[5], what + ": parent", 1)
        self.flags = integer(row[6], what + ": flags", 0, IS_VALUE | HELD_ELSEWHERE)
        self.lookup = None if row[7] is None else blob(row[7], what + ": lookup", 16)
        self.title = None if row[8] is None else text(row[8], what + ": title", TITLE_LIMIT)
        self.head = blob(row[9], what + ": head", most=HEAD_LIMIT)
        self.body_nt = blob(row[10], what + ": body_nt", 40)
        if len(self.head) < NONCE_SIZE + TAG_SIZE:
            raise Damaged(f"{what}: head too short")
        self._what, self._context = what, context
        self.keys = context.keys(self.epoch, what)
        self.row = (
            context.store_id + u64(self.id) + u32(self.coll) + u32(self.epoch) + u64(self.rev)
            + u8(len(self.pos)) + self.pos + u64(self.parent or 0) + u32(self.flags)
            + (bytes(17) if self.lookup is None else u8(1) + self.lookup) + self.body_nt
        )
        self.t = u8(0) if self.title is None else u8(1) + self.title

    @property
    def is_holder(self):
        """Whether no other document of the collection holds its key."""
        return not self.flags & HELD_ELSEWHERE

    def element_hash(self):
        return self.keys.element_hash(label16(b"coffer3/row") + self.row + u32(len(self.head)) + self.head + self.t)

    def check_epoch(self):
        """An old key opens nothing that was written since a later epoch was activated, or that a rekey has passed."""
        if self.epoch == self._context.active_epoch:
            return
        epoch, context = self.keys.epoch, self._context
        if self.rev >= epoch.closed:
            raise Damaged(f"{self._what}: written after its epoch was closed")
        if not epoch.floor <= self.id < epoch.ceiling:
            raise Damaged(f"{self._what}: not one of its epoch's numbers")
        if self.epoch < context.target and self.id < context.cursor:
            raise Damaged(f"{self._what}: left behind by the rekey, or put back")

    def open_head(self):
        """The head, also of a newer document: the caller asks for `is_newer` before giving anything out."""
        self.check_epoch()
        what = self._what
        frame = self.keys.head.open_blob(self.head, label16(b"coffer3/head") + self.row + self.t, what + ": head")
        data = frame_data(frame, self._context.is_padded, [64, 128], what + ": head")
        head = head_data(data, what)
        if (head.key is None) != (self.lookup is None):
            raise Damaged(f"{what}: key and lookup do not agree")
        if head.key is None and not self.is_holder:
            raise Damaged(f"{what}: another holds its key, and it has none")
        return dataclasses.replace(head, title=self._title(head.title))

    def _title(self, in_head):
        mode, in_column = self._context.titles, self.title
        if in_head is not None and in_column is not None:
            raise Damaged(f"{self._what}: two titles")
        follows_any_mode = self.epoch < self._context.target
        if not follows_any_mode and (in_head is not None and mode != SEALED or in_column is not None and mode != CLEAR):
            raise Damaged(f"{self._what}: a title where the mode allows none")
        return in_column.decode("utf-8") if in_column is not None else in_head

    def open_text(self, inline, apart, head):
        """The text from the row's `body`, else the `ct` of coffer_body; the head confirms its length and SHA-256."""
        what = self._what + ": body"
        if inline is None:
            ct = blob(apart, what, least=INLINE_LIMIT + 1)
        else:
            ct = blob(inline, what, least=8, most=INLINE_LIMIT)
        data = label16(b"coffer3/body") + self._context.store_id + u32(self.coll) + u64(self.id) + u32(self.epoch)
        frame = self.keys.body.open(self.body_nt[:NONCE_SIZE], ct, self.body_nt[NONCE_SIZE:], data, what)
        content = frame_data(frame, self._context.is_padded, [64], what)
        if len(content) != head.length or hashlib.sha256(content).digest() != head.digest:
            raise Damaged(f"{what}: not the text that the head names")
        return utf8(content, what).decode("utf-8")
