"""Dots, from FORMAT.md alone: which commit gave each part of a document, a collection or a deletion its value."""

from dataclasses import dataclass, field

from storereader.primitives import u8

from .layout import varint

# The parts of a document and of a collection that have dots, in the order of their bits.
DOCUMENT_PARTS = ("text", "title", "key", "attributes", "place")
COLLECTION_PARTS = ("name", "settings", "drop")
MEMBERS, STAMP, KEPT = 1 << 5, 1 << 6, 1 << 7
DROPPED = 1 << 3
ZERO = (0, 0)


def encoded(dot):
    """A dot is a pair: the number of a replica, and its counter."""
    return varint(dot[0]) + varint(dot[1])


def order(dot):
    """Sorts the dots of one store: by counter, then by the number of the replica."""
    return dot[1], dot[0]


@dataclass
class Dots:
    """`parts` holds the dots of parts, by name, that are not `born`; a stamp of None is the greatest dot."""

    born: tuple
    parts: dict = field(default_factory=dict)
    stamp: tuple = None

    def of(self, part):
        return self.parts.get(part, self.born)

    def change(self, part, dot):
        """Gives a part a new dot, which is the stamp too."""
        self.parts[part] = self.stamp = dot
        if dot == self.born:
            del self.parts[part]

    def named(self):
        return [self.born, *self.parts.values()]

    def greatest(self):
        return max(self.named(), key=order)

    def _mask_and_dots(self, names):
        mask = sum(1 << bit for bit, name in enumerate(names) if name in self.parts)
        return mask, b"".join(encoded(self.parts[name]) for name in names if name in self.parts)

    def _stamp(self):
        """The stamp as it is encoded: nothing where it is the greatest dot."""
        is_implied = self.stamp is None or self.stamp == self.greatest()
        return (0, b"") if is_implied else (STAMP, encoded(self.stamp))

    def _plain(self, names):
        found = {"born": self.born} | {name: self.of(name) for name in names}
        found["stamp"] = self.stamp or self.greatest()
        return {name: list(dot) for name, dot in found.items()}


@dataclass
class DocumentDots(Dots):
    """`members` holds the dots of members of the attributes that have their own, by name."""

    members: dict = field(default_factory=dict)
    kept: tuple = ZERO

    def change_member(self, name, dot):
        self.members[name] = self.stamp = dot
        if dot == self.of("attributes"):
            del self.members[name]

    def named(self):
        return [*super().named(), *self.members.values()]

    def encoded(self):
        mask, data = self._mask_and_dots(DOCUMENT_PARTS)
        if self.members:
            mask, data = mask | MEMBERS, data + members(sorted(self.members.items()))
        stamp, its_data = self._stamp()
        kept, its_end = (0, b"") if self.kept == ZERO else (KEPT, encoded(self.kept))
        return encoded(self.born) + u8(mask | stamp | kept) + data + its_data + its_end

    def plain(self):
        members = {name.decode(): list(dot) for name, dot in sorted(self.members.items())}
        return self._plain(DOCUMENT_PARTS) | {"members": members, "kept": list(self.kept)}


def members(pairs):
    """Names of members with their dots, in this order."""
    return varint(len(pairs)) + b"".join(varint(len(name)) + name + encoded(dot) for name, dot in pairs)


@dataclass
class CollectionDots(Dots):
    is_dropped: bool = False

    def encoded(self):
        mask, data = self._mask_and_dots(COLLECTION_PARTS)
        stamp, its_data = self._stamp()
        return encoded(self.born) + u8(mask | stamp | (DROPPED if self.is_dropped else 0)) + data + its_data

    def plain(self):
        return self._plain(COLLECTION_PARTS)
