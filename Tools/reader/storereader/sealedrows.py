"""FORMAT, "Collections" and "Deletions": rows of a number, a revision and sealed data, one at a time."""

from dataclasses import dataclass

from .database import blob, integer, short, utf8
from .dots import CollectionDots, Dot, collection_dots, order, read_dot
from .errors import Damaged, Newer
from .jcs import canonical_object, canonical_text
from .primitives import (
    EXTENSION_LIMIT, SEAL_OVERHEAD, SMALL_EXTENSION_LIMIT, Cursor, extension_part, frame_data, is_newer, label16, u32, u64)

FRAME_HEADER = 8
NAME_LIMIT, COLLECTION_DATA_LIMIT, ORDER_LIMIT = 1024, 64 << 10, 2**53 - 1


class SealedRow:
    """A row, sound in form; it is of the active epoch."""

    what = label = set_label = sealed_limit = None

    def __init__(self, row, context):
        self._what, self._context = f"{self.what} {row[0]}", context
        self.number = self._number(row[0])
        self.rev = integer(row[1], self._what + ": rev", 1, context.generation)
        self.sealed = blob(
            row[2], self._what, least=SEAL_OVERHEAD + FRAME_HEADER, most=self.sealed_limit)
        self._epoch, self._keys = context.active_epoch, context.keys(context.active_epoch, self._what)

    def element_hash(self):
        element = (
            label16(self.set_label) + self._context.store_id + u64(self.number) + u32(self._epoch) + u64(self.rev)
            + self.sealed
        )
        return self._keys.element_hash(element)

    def _fields(self):
        data = label16(self.label) + self._context.store_id + u64(self.number) + u32(self._epoch) + u64(self.rev)
        frame = self._keys.name.open_blob(self.sealed, data, self._what)
        return Cursor(frame_data(frame, self._context.is_padded, [64], self._what), self._what)


@dataclass(frozen=True)
class Collection:
    """`name` is the stored one: another collection may have it."""

    coll: int
    name: str
    folding: int
    title_rule: int
    order: int
    attributes: dict
    uid: bytes
    dots: CollectionDots
    rev: int
    settings: str
    extension: dict


def collection_data(fields, number, rev, what):
    """The collection in its data; raises Newer where an entry must be understood."""
    uid, dots = fields.take(16), collection_dots(fields, what)
    name, settings = fields.take(fields.unsigned(4)), fields.take(fields.unsigned(4))
    extension = extension_part(fields.rest(), EXTENSION_LIMIT, 0, what)
    if not 1 <= len(name) <= NAME_LIMIT:
        raise Damaged(f"{what}: name out of bounds")
    collection = Collection(
        number, utf8(name, what).decode(), *_settings(settings, what), uid, dots, rev, settings.decode("utf-8"), extension)
    if is_newer(extension):
        raise Newer(f"{what}: newer than this reader")
    return collection


def _settings(settings, what):
    """Folding, title rule, order and attributes of settings that are exactly as a writer makes them."""
    try:
        members = canonical_object(settings)
    except ValueError as error:
        raise Damaged(f"{what}: settings: {error}") from error
    numbers = [members.get("folding"), members.get("title"), members.get("order", 0)]
    attributes = members.get("attributes", {})
    # True equals 1, so the types are looked at too.
    if (
        members.keys() - {"attributes", "folding", "order", "title"}
        or any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers)
        or numbers[0] not in (0, 1) or numbers[1] not in (0, 1) or members.get("order") == 0
        or abs(numbers[2]) > ORDER_LIMIT or numbers[2] != int(numbers[2])
        or not isinstance(attributes, dict) or members.get("attributes") == {}
        or len(canonical_text(attributes).encode("utf-8")) > COLLECTION_DATA_LIMIT
    ):
        raise Damaged(f"{what}: settings out of bounds")
    return int(numbers[0]), int(numbers[1]), int(numbers[2]), attributes


class CollectionRow(SealedRow):
    what, label, set_label, sealed_limit = "collection", b"coffer3/name", b"coffer3/set-name", 192 << 10

    def _number(self, value):
        return short(value, self._what)

    def open(self):
        """The collection; raises Newer where an entry must be understood."""
        return collection_data(self._fields(), self.number, self.rev, self._what)


@dataclass(frozen=True)
class Deletion:
    gone: int
    rev: int
    uid: bytes
    dots: list
    stamp: Dot
    extension: dict


def deletion_data(fields, number, rev, what):
    """The deletion in its data; raises Newer where an entry must be understood."""
    uid, dots = fields.take(16), []
    for _ in range(integer(fields.varint(), f"{what}: number of dots", 1)):
        dots.append(read_dot(fields, what))
    if any(order(one) >= order(other) for one, other in zip(dots, dots[1:])):
        raise Damaged(f"{what}: its dots do not rise")
    stamp = read_dot(fields, what)
    extension = extension_part(fields.rest(), SMALL_EXTENSION_LIMIT, 0, what)
    if is_newer(extension):
        raise Newer(f"{what}: newer than this reader")
    return Deletion(number, rev, uid, dots, stamp, extension)


class DeletionRow(SealedRow):
    what, label, set_label, sealed_limit = "deletion", b"coffer3/gone", b"coffer3/set-gone", 64 << 10

    def _number(self, value):
        return integer(value, self._what, 1)

    def open(self):
        """The deletion; raises Newer where an entry must be understood."""
        return deletion_data(self._fields(), self.number, self.rev, self._what)
