"""FORMAT, "Replicas": the row of replicas, the version vector, and the dots that name commits."""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

from .database import GENERATION_LIMIT, blob, integer, utf8
from .errors import Damaged, Newer
from .primitives import REPLICAS_EXTENSION_LIMIT, XAES, Cursor, extension_part, is_newer, pae

REPLICA_LIMIT, RANGE_LIMIT, MARK_LIMIT, MARK_SIZE = 4096, 8191, 32, 8
SEALED_LIMIT = 4 << 20


class Dot(NamedTuple):
    """A commit: the number of its replica, and that replica's counter."""

    replica: int
    counter: int


ZERO = Dot(0, 0)


def order(dot):
    """Sorts the dots of one store: by counter, then by the number of the replica; the zero dot is the first."""
    return dot.counter, dot.replica


def read_dot(fields, what, may_be_zero=False):
    """A dot, which the vector need not cover; the zero dot only where it is allowed."""
    dot = Dot(fields.varint(), fields.varint())
    if dot == ZERO:
        if not may_be_zero:
            raise Damaged(f"{what}: the zero dot")
    elif not 1 <= dot.counter <= GENERATION_LIMIT:
        raise Damaged(f"{what}: a dot whose counter is out of its range")
    return dot


@dataclass(frozen=True)
class Replica:
    """`marks` are the first bytes of the marks of some of its last commits, by counter."""

    identity: bytes
    counter: int
    range: int
    rose: int
    marks: dict


class Replicas:
    """The row of replicas, which the state names by its digest."""

    def __init__(self, connection, header, key, state):
        rows = connection.execute("SELECT restored, sealed FROM coffer_replica").fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one row of replicas")
        self.restored = integer(rows[0][0], "replicas: restored", 0, 1)
        self.sealed = blob(rows[0][1], "replicas", most=SEALED_LIMIT)
        if hashlib.sha256(self.sealed).digest() != state.replicas_digest:
            raise Damaged("replicas: not the row that the state names")
        data = pae(b"coffer3/replicas", header.store_id)
        data = XAES(key).open_blob(self.sealed, data, "replicas")
        self.own, self.list, self.extension = replicas_data(data, state.generation)
        counters = [replica.counter for replica in self.list]
        counters[self.own] = state.counter
        self.vector = Vector([replica.identity for replica in self.list], counters)
        if is_newer(self.extension):
            raise Newer("the replicas are newer than this reader")


def replicas_data(data, generation):
    """The number of the own replica, all replicas and the extension part in the data of a row."""
    fields = Cursor(data, "replicas")
    own = fields.unsigned(4)
    count = integer(fields.unsigned(4), "replicas: their number", 1, REPLICA_LIMIT)
    replicas = [_replica(fields, generation) for _ in range(count)]
    extension = extension_part(fields.rest(), REPLICAS_EXTENSION_LIMIT, 0, "replicas")
    if own >= count:
        raise Damaged("replicas: the own one is not among them")
    if len({replica.identity for replica in replicas}) < count:
        raise Damaged("replicas: two have one identity")
    return own, replicas, extension


class Vector:
    """The version vector: for each replica, by its number, the counter up to which its changes are included."""

    def __init__(self, identities, counters):
        self._identities, self.counters = identities, counters

    def covers(self, dot):
        return dot == ZERO or dot.replica < len(self.counters) and dot.counter <= self.counters[dot.replica]

    def order_of_names(self, dot):
        """Sorts dots of several stores: by counter, then by the identity of the replica, an unknown one last."""
        is_known = dot.replica < len(self._identities)
        return dot.counter, not is_known, self._identities[dot.replica] if is_known else b""


def _replica(fields, generation):
    identity, counter = fields.take(16), integer(fields.varint(), "replica: counter", 0, GENERATION_LIMIT)
    ids, rose = (
        integer(fields.varint(), f"replica: {name}", 0, most)
        for name, most in (("range", RANGE_LIMIT), ("rose", generation)))
    marks, last = {}, 0
    for _ in range(integer(fields.unsigned(1), "replica: number of marks", 0, MARK_LIMIT)):
        last = integer(last + integer(fields.varint(), "replica: distance of a mark", 1), "replica: mark", 1, counter)
        marks[last] = fields.take(MARK_SIZE)
    return Replica(identity, counter, ids, rose, marks)


@dataclass(frozen=True)
class DocumentDots:
    """The dots of a document's parts. `members` are those of members of the attributes that have their own, by name."""

    born: Dot
    text: Dot
    title: Dot
    key: Dot
    attributes: Dot
    place: Dot
    members: dict
    stamp: Dot
    kept: Dot

    def all(self):
        return [
            self.born, self.text, self.title, self.key, self.attributes, self.place, *self.members.values(), self.stamp,
            self.kept]


@dataclass(frozen=True)
class CollectionDots:
    born: Dot
    name: Dot
    settings: Dot
    drop: Dot
    stamp: Dot
    is_dropped: bool

    def all(self):
        return [self.born, self.name, self.settings, self.drop, self.stamp]


def document_dots(fields, what):
    born, mask = read_dot(fields, what), fields.unsigned(1)
    parts = [read_dot(fields, what, may_be_zero=True) if mask & 1 << bit else born for bit in range(5)]
    members = _members(fields, what) if mask & 1 << 5 else {}
    stamp = _stamp(fields, mask, [born, *parts, *members.values()], what)
    kept = read_dot(fields, what) if mask & 1 << 7 else ZERO
    return DocumentDots(born, *parts, members, stamp, kept)


def _members(fields, what):
    members, last = {}, None
    for _ in range(integer(fields.varint(), f"{what}: number of members", 1)):
        name = fields.take(fields.varint())
        if last is not None and name <= last:
            raise Damaged(f"{what}: names of members do not rise")
        members[utf8(name, f"{what}: name of a member").decode()] = read_dot(fields, what, may_be_zero=True)
        last = name
    return members


def collection_dots(fields, what):
    born, mask = read_dot(fields, what), fields.unsigned(1)
    if mask & ~0b100_1111:
        raise Damaged(f"{what}: an unknown bit in its mask")
    parts = [read_dot(fields, what) if mask & 1 << bit else born for bit in range(3)]
    return CollectionDots(born, *parts, _stamp(fields, mask, [born, *parts], what), bool(mask & 1 << 3))


def _stamp(fields, mask, dots, what):
    return read_dot(fields, what) if mask & 1 << 6 else max(dots, key=order)
