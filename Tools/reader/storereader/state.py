"""FORMAT, "State": the store's counters, set hash and ring of recent changes."""

from dataclasses import dataclass

from .database import GENERATION_LIMIT, blob, generation_number, integer, short
from .errors import Damaged, Newer, RolledBack
from .primitives import SEAL_OVERHEAD, SMALL_EXTENSION_LIMIT, XAES, Cursor, SetHash, extension_part, is_newer, pae

# Ring and extension part share the bytes behind the ring's length.
STATE_SIZE, RING_START, MARK_START = 8113, 2240, 16
ID_LIMIT, ATTACHMENT_LIMIT = 2**63 - 1, 2**39
INSERTED, COLLECTION, EVERYTHING = 1, 6, 7


class State:
    def __init__(self, connection, header, key, active_epoch):
        rows = connection.execute("SELECT sealed FROM coffer_state").fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one state")
        sealed = blob(rows[0][0], "state", STATE_SIZE + SEAL_OVERHEAD)
        self.plaintext = XAES(key).open_blob(sealed, pae(b"coffer3/state", header.store_id), "state")
        fields = Cursor(self.plaintext, "state")
        self.generation = generation_number(fields.unsigned(8), "state: generation")
        self.next_id = integer(fields.unsigned(8), "state: next id", 1, ID_LIMIT)
        self.bound = integer(fields.unsigned(8), "state: bound", 1, ID_LIMIT)
        self.count = integer(fields.unsigned(8), "state: count")
        self.gone_count = integer(fields.unsigned(8), "state: count of deletions")
        self.set_hash = fields.take(SetHash.SIZE)
        self.target = short(fields.unsigned(4), "state: target", 0)
        self.cursor = integer(fields.unsigned(8), "state: cursor")
        self.header_mac = fields.take(32)
        if self.header_mac != header.mac:
            raise RolledBack("the state belongs to another header: one of them is older")
        if self.target not in (0, active_epoch) or self.cursor and not self.target:
            raise Damaged("state: target or cursor of no rekey")
        self.lead = integer(fields.unsigned(8), "state: lead", 0, GENERATION_LIMIT - self.generation)
        self.replicas_digest = fields.take(32)
        self.unwiped = integer(fields.unsigned(8), "state: unwiped", 0, GENERATION_LIMIT)
        self.next_attachment = integer(fields.unsigned(8), "state: next attachment", 1, ATTACHMENT_LIMIT)
        self.attachment_count = integer(fields.unsigned(8), "state: count of attachments")
        if not header.has_attachments and (self.next_attachment, self.attachment_count) != (1, 0):
            raise Damaged("state: attachments of a store without their bit")
        self.index_identities = fields.take(16), fields.take(16)
        self.known = integer(fields.unsigned(8), "state: first generation of the ring", 2, self.generation + 1)
        self.ring = _ring(fields.take(fields.unsigned(4)), self.known, self.generation)
        self.extension = extension_part(fields.rest(), SMALL_EXTENSION_LIMIT, 0, "state")
        if is_newer(self.extension):
            raise Newer("the state is newer than this reader")

    @property
    def counter(self):
        """The own replica's counter: that of this state's commit."""
        return self.generation + self.lead

    def mark_start(self, generation):
        """The first 16 bytes of the mark of an earlier generation, or None where the ring no longer holds it."""
        return self.ring[generation + 1].mark if self.known - 1 <= generation < self.generation else None


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
    coll, ranges, end = short(fields.varint(), "ring: collection"), [], 0
    if kind != COLLECTION:
        for _ in range(integer(fields.varint(), "ring: number of ranges", 1, STATE_SIZE - RING_START)):
            start = end + integer(fields.varint(), "ring: gap", 1)
            end = integer(start + fields.varint() + 1, "ring: end of a range", 1, ID_LIMIT)
            ranges.append((start, end))
    return Change(kind, coll, tuple(ranges))


def _check(changes):
    order = [(change.kind, change.coll) for change in changes]
    if any(one >= other for one, other in zip(order, order[1:])):
        raise Damaged("ring: entries do not rise")
    if len(changes) > 1 and changes[-1].kind == EVERYTHING:
        raise Damaged("ring: entries beside \"everything\"")
