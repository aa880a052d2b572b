"""FORMAT, "State": the store's counters, set hash, origin and ring of recent changes."""

from dataclasses import dataclass

from .database import COUNTER_LIMIT, blob, counter, integer, short
from .errors import Damaged, Newer, RolledBack
from .primitives import SEAL_OVERHEAD, XAES, Cursor, SetHash, extension_part, is_newer, pae

# Ring and extension part share the bytes behind the ring's length.
STATE_SIZE, RING_START, EXTENSION_LIMIT, MARK_START = 8113, 2249, 300, 16
ID_LIMIT = 2**63 - 1
INSERTED, COLLECTION, EVERYTHING = 1, 6, 7


class State:
    def __init__(self, connection, header, key, active_epoch):
        rows = connection.execute("SELECT sealed FROM coffer_state").fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one state")
        sealed = blob(rows[0][0], "state", STATE_SIZE + SEAL_OVERHEAD)
        self.plaintext = XAES(key).open_blob(sealed, pae(b"coffer3/state", header.store_id), "state")
        fields = Cursor(self.plaintext, "state")
        self.generation = counter(fields.unsigned(8), "state: generation")
        self.next_id = integer(fields.unsigned(8), "state: next id", 1, ID_LIMIT)
        self.count = integer(fields.unsigned(8), "state: count")
        self.set_hash = fields.take(SetHash.SIZE)
        self.target = short(fields.unsigned(4), "state: target", 0)
        self.cursor = integer(fields.unsigned(8), "state: cursor")
        self.header_mac = fields.take(32)
        if self.header_mac != header.mac:
            raise RolledBack("the state belongs to another header: one of them is older")
        if self.target not in (0, active_epoch) or self.cursor and not self.target:
            raise Damaged("state: target or cursor of no rekey")
        self.origin = _origin(fields)
        self.unwiped = integer(fields.unsigned(8), "state: unwiped", 0, COUNTER_LIMIT)
        self.known = integer(fields.unsigned(8), "state: first generation of the ring", 2, self.generation + 1)
        self.ring = _ring(fields.take(fields.unsigned(4)), self.known, self.generation)
        self.extension = extension_part(fields.rest(), EXTENSION_LIMIT, 0, "state")
        if is_newer(self.extension):
            raise Newer("the state is newer than this reader")

    def mark_start(self, generation):
        """The first 16 bytes of the mark of an earlier generation, or None where the ring no longer holds it."""
        return self.ring[generation + 1].mark if self.known - 1 <= generation < self.generation else None


@dataclass(frozen=True)
class Origin:
    """The store that this one was exported or salvaged from, or is an editable copy of."""

    kind: int
    store_id: bytes
    rk_generation: int
    phase: int
    generation: int
    commitment: bytes
    mark: bytes
    next_id: int

    @property
    def plain(self):
        return {name: value.hex() if isinstance(value, bytes) else value for name, value in vars(self).items()}


def _origin(fields):
    """None for a store that has none."""
    kind = fields.unsigned(1)
    if kind == 0:
        if any(fields.take(112)):
            raise Damaged("origin: fields without a kind")
        return None
    if kind > 2:
        raise Damaged("origin: unknown kind")
    return Origin(
        kind, fields.take(16),
        *(counter(fields.unsigned(8), "origin: " + name) for name in ("rk_generation", "phase", "generation")),
        fields.take(32), fields.take(32), integer(fields.unsigned(8), "origin: next id", 1, ID_LIMIT))


@dataclass(frozen=True)
class Change:
    """An entry of the ring; `ranges` are of ids, their ends not included."""

    kind: int
    coll: int
    ranges: tuple


@dataclass(frozen=True)
class Commit:
    """The changes of one generation, and the first 16 bytes of the mark before it."""

    mark: bytes
    changes: list


def _ring(data, known, generation):
    """The commits by generation."""
    fields, ring = Cursor(data, "ring"), {}
    for number in range(known, generation + 1):
        mark, changes = fields.take(MARK_START), []
        for _ in range(fields.unsigned(2)):
            changes.append(_change(fields))
        _check(changes)
        ring[number] = Commit(mark, changes)
    if any(fields.rest()):
        raise Damaged("ring: not zero behind its end")
    return ring


def _change(fields):
    kind = fields.unsigned(1)
    if not INSERTED <= kind <= EVERYTHING:
        raise Damaged("ring: unknown kind")
    if kind == EVERYTHING:
        return Change(kind, 0, ())
    coll, ranges, end = short(_varint(fields), "ring: collection"), [], 0
    if kind != COLLECTION:
        for _ in range(integer(_varint(fields), "ring: number of ranges", 1, STATE_SIZE - RING_START)):
            start = end + integer(_varint(fields), "ring: gap", 1)
            end = integer(start + _varint(fields) + 1, "ring: end of a range", 1, ID_LIMIT)
            ranges.append((start, end))
    return Change(kind, coll, tuple(ranges))


def _varint(fields):
    """LEB128 in its shortest form, below 2^63."""
    value, shift = 0, 0
    while True:
        byte = fields.unsigned(1)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 56:
            raise Damaged("ring: a number above 63 bits")
    if shift and byte == 0:
        raise Damaged("ring: a number not in its shortest form")
    return value


def _check(changes):
    order = [(change.kind, change.coll) for change in changes]
    if any(one >= other for one, other in zip(order, order[1:])):
        raise Damaged("ring: entries do not rise")
    if len(changes) > 1 and changes[-1].kind == EVERYTHING:
        raise Damaged("ring: entries beside \"everything\"")
