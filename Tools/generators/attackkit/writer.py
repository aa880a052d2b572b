"""A writer of stores, from FORMAT.md alone: a seed determines every byte that a library would draw at random.

Slow and simple: rows are kept as the file will hold them, and every commit sums and seals everything again. Each mistake
that a key holder could make has a name in `odd`, so that such stores can be made and refused.
"""

import copy
import hashlib
import json
from dataclasses import dataclass, field

from storereader.primitives import hmac, i64, label16, padme, pae, u8, u32, u64
from storereader.records import fold

from . import dots, layout, storefile
from .attached import Attaching, Attachment
from .dots import CollectionDots, DocumentDots
from .keys import Epoch, Keys
from .layout import COLLECTION, DELETED, DETAILS, FORMAT, HELD_ELSEWHERE, INSERTED, MOVED, PADDED, TEST, TEXT
from .positions import STEP, TAG_SIZE, first_number, place

PAGE_SIZE = 512
SEALED, CLEAR, NONE = 0, 1, 2
# The kind of change of each field of a document, for the ring.
RING_KIND = dict.fromkeys(("title", "key", "attributes", "flags", "parent_uid", "created", "modified"), DETAILS)
RING_KIND |= {"text": TEXT, "pos": MOVED}
# The part of the document that a field belongs to, which has a dot; the type of an entry has its number in bits 8 to 11.
PART = {"title": "title", "key": "key", "attributes": "attributes"}
PART |= dict.fromkeys(("text", "flags"), "text") | dict.fromkeys(("pos", "parent_uid", "coll"), "place")
# A replica takes the numbers of new documents from a range of this many.
RANGE_SIZE = 2**40


@dataclass
class Replica:
    """`marks` are pairs of a counter and the first bytes of the mark of that commit."""

    identity: bytes
    counter: int = 0
    range: int = 0
    rose: int = 0
    marks: list = field(default_factory=list)


@dataclass
class Collection:
    coll: int
    rev: int
    uid: bytes
    dots: CollectionDots
    name: bytes
    settings: bytes
    sealed: bytes = b""
    # The entries of the extension part, by type.
    extension: dict = field(default_factory=dict)


@dataclass
class Deletion:
    """The deletion of a document or an attachment; `dots` are those of the commits that deleted it."""

    gone: int
    rev: int
    uid: bytes
    dots: list
    stamp: tuple
    sealed: bytes = b""
    # The entries of the extension part, by type.
    extension: dict = field(default_factory=dict)


@dataclass
class Record:
    """A document's row and body as the file holds them, and the data sealed in them."""

    id: int
    coll: int
    epoch: int
    rev: int
    pos: bytes
    uid: bytes
    dots: DocumentDots
    text: bytes
    title: bytes = None
    key: bytes = None
    # The column's number, which a commit sets by the parent's uid in the head, as it does the flag of a key held elsewhere.
    parent: int = None
    parent_uid: bytes = None
    flags: int = 0
    attributes: bytes = b""
    created: int = 1_700_000_000_000
    modified: int = 1_700_000_000_000
    lookup: bytes = None
    column: bytes = None
    head: bytes = b""
    body_nt: bytes = b""
    ct: bytes = b""
    # The entries of the head's extension part, by type.
    extension: dict = field(default_factory=dict)
    # Mistakes of a careless or hostile key holder, by name; see `Writer.seal`, `Writer.save` and `Writer.commit`.
    odd: dict = field(default_factory=dict)

    @property
    def is_body_in_row(self):
        return len(self.ct) <= layout.BODY_IN_ROW


class Writer(Keys, Attaching):
    """A store with its changes: call the acts of a user, then `commit`; `save` writes the file as it is now."""

    def __init__(self, seed, titles=SEALED, padded=True, page_size=PAGE_SIZE, journal="DELETE"):
        super().__init__(seed)
        self.format = self.user_version = FORMAT
        self.incompat, self.ro_compat, self.compat = TEST | (PADDED if padded else 0), 0, 0
        self.titles, self.page_size, self.journal = titles, page_size, journal
        self.collections, self.records, self.deletions = {}, {}, {}
        # Sealed chunks of attachments that are gone, by their numbers.
        self.attachments, self.next_attachment, self.left_over = {}, 1, {}
        self.replicas, self.own, self.lead, self.restored = [Replica(self.random(16))], 0, 0, 0
        # Of the parts of the indexes, by number, the identities and what the file holds; the collections declared.
        self.index_identities, self.indexes, self.indexed = {1: bytes(16), 2: bytes(16)}, {}, ()
        # Marks of the own replica's last commits, and whether a transaction writes the row of replicas.
        self.marks, self._has_new_replicas = [], True
        # Number, count and tag of the last position that this writer chose.
        self.run = None
        self.generation, self.next_id, self.bound, self.target, self.cursor, self.unwiped = 0, 1, 1, 0, 0, 0
        # The entries of the extension parts of the state and the replicas, by type.
        self.extension, self.replicas_extension = {}, {}
        # The record's bytes and the changes in it, keyed by generation.
        self.ring, self.changes = {}, {}
        self.state_plain, self._has_new_root = b"", True
        self.odd, self._header_holds = {}, None
        # SQL run after everything else: tables of other features.
        self.extra_sql = []
        # The notes of releases by number, and the results of opening the store for publishers, by line.
        self.notes, self.publishers = {}, {}

    def copy(self):
        """The store at this moment; the bytes drawn at random afterwards are the same in both."""
        return copy.deepcopy(self)

    # Replicas.

    @property
    def now(self):
        """The dot of the present transaction."""
        return self.own, self.generation + 1 + self.lead

    def order_of_names(self, dot):
        """Sorts dots of several stores: by counter, then by the identity of the replica."""
        return dot[1], self.replicas[dot[0]].identity if dot[0] < len(self.replicas) else b"\xff" * 17

    def add_replica(self, range):
        """Makes a new replica the own one, before anything else in the transaction."""
        self._keep_own_entry(self.generation)
        self.replicas.append(Replica(self.random(16), range=range))
        self.own, self.marks, self.restored = len(self.replicas) - 1, [], 0
        self.next_id = max(1, range * RANGE_SIZE)
        self._keep_next_id()
        self._has_new_replicas = True

    def learn(self, identity, counter, range=0, marks=()):
        """Takes another replica's counter as a merge does, before anything else; gives the replica's number."""
        number = next((n for n, one in enumerate(self.replicas) if one.identity == identity), len(self.replicas))
        self.replicas[number:number + 1] = [Replica(identity, counter, range, self.generation + 1, list(marks))]
        self.lead = max(self.lead, counter - self.generation)
        self._has_new_replicas = True
        return number

    def _keep_own_entry(self, generation):
        own = self.replicas[self.own]
        own.counter, own.rose = generation + self.lead, generation
        own.marks = [mark for mark in self.marks if mark[0] <= own.counter]

    def replicas_plain(self):
        return layout.replicas_plain(
            self.own, [layout.replica(**vars(one)) for one in self.replicas], self.replicas_extension)

    # Numbers of documents.

    def _take_id(self, id):
        """Raises `bound`, and the next id if the number is of the own range."""
        end = (self.replicas[self.own].range + 1) * RANGE_SIZE
        self.bound = max(self.bound, id + 1)
        if self.next_id <= id and (id < end or self.next_id >= end):
            self.next_id = id + 1
        self._keep_next_id()

    def _keep_next_id(self):
        """Where the own range is used up, or an epoch is closed, no number below `bound` is given."""
        if self.next_id >= (self.replicas[self.own].range + 1) * RANGE_SIZE or len(self.epochs) > 1:
            self.next_id = max(self.next_id, self.bound)

    # Collections.

    def add_collection(self, coll, name, settings=b'{"folding":0,"title":0}'):
        """Makes a collection, or makes anew the dropped one that has its uid, under that one's number."""
        listed = {c.uid for c in self.collections.values() if self.is_listed(c)}
        number = 0
        while (uid := self.collection_uid(name, number)) in listed:
            number += 1
        row = next((c for c in self.collections.values() if c.uid == uid), None)
        if row is None:
            row = self.collections[coll] = Collection(
                coll, self.generation + 1, uid, CollectionDots(self.now), name, settings)
        else:
            row.dots.is_dropped, row.rev = False, self.generation + 1
            for part, value in (("name", name), ("settings", settings), ("drop", None)):
                if value is None or value != getattr(row, part):
                    row.dots.change(part, self.now)
            row.name, row.settings = name, settings
        self.seal_collection(row)
        self._note(COLLECTION, row.coll)
        return row

    def collection_uid(self, name, number=0):
        return hmac(self.family, pae(b"coffer3/collection", u32(number), name))[:16]

    def is_listed(self, row):
        return not row.dots.is_dropped or any(r.coll == row.coll for r in self.records.values())

    def change_collection(self, coll, **fields):
        row = self.collections[coll]
        for name, value in fields.items():
            setattr(row, name, value)
            if name in dots.COLLECTION_PARTS:
                row.dots.change(name, self.now)
        row.rev = self.generation + 1
        self.seal_collection(row)
        self._note(COLLECTION, coll)

    def drop_collection(self, coll):
        for id in [r.id for r in self.records.values() if r.coll == coll]:
            self.delete(id)
        row = self.collections[coll]
        row.dots.change("drop", self.now)
        row.dots.is_dropped, row.rev = True, self.generation + 1
        self.seal_collection(row)
        self._note(COLLECTION, coll)

    def seal_collection(self, row, plain=None):
        plain = self.collection_plain(row) if plain is None else plain
        row.sealed = self._sealed_row(b"coffer3/name", row.coll, row.rev, plain)

    def _sealed_row(self, label, number, rev, plain):
        data = label16(label) + self.store_id + u64(number) + u32(self.active) + u64(rev)
        return self.xseal(self.epoch_key(b"name", self.active), data, self.frame(plain, 64))

    def collection_plain(self, row):
        return (
            row.uid + row.dots.encoded() + u32(len(row.name)) + row.name + u32(len(row.settings)) + row.settings
            + layout.extension_part(row.extension)
        )

    # Documents.

    def add(self, coll, text, id=None, **fields):
        """`parent` is a document's number; `dots` are those of a document that a merge brings."""
        id, now = id or self.next_id, self.generation + 1
        self._take_id(id)
        pos = fields.pop("pos") if "pos" in fields else self.end(coll)
        if "parent" in fields:
            fields["parent_uid"] = self._uid_of(fields["parent"])
        record = Record(
            id, coll, self.active, now, pos, uid=fields.pop("uid", None) or self.random(16),
            dots=fields.pop("dots", None) or DocumentDots(self.now), text=text.encode() if isinstance(text, str) else text,
            **fields)
        self.records[id] = record
        self.seal(record)
        self._note(INSERTED, coll, id)
        return record

    def _uid_of(self, id):
        return self.records[id].uid if id is not None else None

    def change(self, id, **fields):
        """Changes a document as its user does: the parts that change get the dot of this transaction."""
        record, now = self.records[id], self.generation + 1
        if "parent" in fields:
            fields["parent_uid"] = self._uid_of(fields.pop("parent"))
        if "coll" in fields:
            self._note(DELETED, record.coll, id)
            self._note(INSERTED, fields["coll"], id)
        # Entries of a part leave with its old value.
        changed = {dots.DOCUMENT_PARTS.index(PART[name]) + 1 for name in fields if name in PART and name != "flags"}
        record.extension = {kind: data for kind, data in record.extension.items() if kind >> 8 & 15 not in changed}
        record.dots.stamp = self.now
        for name, value in fields.items():
            if name == "attributes":
                self._change_attributes(record, value)
            elif name in PART:
                record.dots.change(PART[name], self.now)
            setattr(record, name, value)
            if name in RING_KIND:
                self._note(RING_KIND[name], record.coll, id)
        record.rev, record.epoch = now, self.active
        self.seal(record)
        return record

    def _change_attributes(self, record, attributes):
        """Gives each member that differs a dot of its own; attributes that a forger made bad are one part."""
        try:
            old, new = (json.loads(data or b"{}") for data in (record.attributes, attributes))
            names = [name.encode() for name in old | new if (name in old, old.get(name)) != (name in new, new.get(name))]
        except (ValueError, TypeError, RecursionError):
            record.dots.change("attributes", self.now)
            return
        for name in names:
            record.dots.change_member(name, self.now)

    def end(self, coll):
        """A position at a collection's end: the next of the writer's run if the last one is of it, else a new run."""
        last = max((r.pos for r in self.records.values() if r.coll == coll), default=None)
        if last is not None and self.run and last == place(*self.run):
            number, count, tag = self.run
            self.run = number, count + 1, tag
        else:
            self.run = 0 if last is None else first_number(last) + STEP, 0, self.random(TAG_SIZE)
        return place(*self.run)

    def delete(self, id):
        """A document of this transaction leaves no deletion, and its attachments leave none."""
        record = self.records.pop(id)
        self.attachments = {number: row for number, row in self.attachments.items() if row.document != id}
        if record.dots.born == self.now:
            for ids in self.changes.values():
                ids.discard(id)
            return
        self._note(DELETED, record.coll, id)
        self.add_deletion(record.uid, [self.now], self.now)

    def add_deletion(self, uid, dots, stamp, **fields):
        gone = max(self.deletions, default=0) + 1
        row = self.deletions[gone] = Deletion(gone, self.generation + 1, uid, dots, stamp, **fields)
        self.seal_deletion(row)
        return row

    def seal_deletion(self, row, plain=None):
        plain = self.deletion_plain(row) if plain is None else plain
        row.sealed = self._sealed_row(b"coffer3/gone", row.gone, row.rev, plain)

    @staticmethod
    def deletion_plain(row):
        return (
            row.uid + layout.varint(len(row.dots)) + b"".join(map(dots.encoded, row.dots)) + dots.encoded(row.stamp)
            + layout.extension_part(row.extension)
        )

    def _settle(self):
        """Sets the columns and flags that this transaction has made others. `odd` may have some: parent, held."""
        parents, held = self.parents(), self.held()
        for id, record in self.records.items():
            parent = record.odd.get("parent", parents[id])
            flags = record.flags & ~HELD_ELSEWHERE | (HELD_ELSEWHERE if record.odd.get("held", id in held) else 0)
            if (record.parent, record.flags) != (parent, flags):
                record.parent, record.flags, record.rev, record.epoch = parent, flags, self.generation + 1, self.active
                self.seal(record)
                self._note(DETAILS, record.coll, id)

    def parents(self):
        """The columns that the heads require, by the documents' numbers. One that names a deleted document stays."""
        by_uid, found = {r.uid: r for r in self.records.values()}, {}
        for r in self.records.values():
            parent = by_uid.get(r.parent_uid)
            if parent:
                found[r.id] = parent.id if parent.coll == r.coll else None
            else:
                found[r.id] = None if r.parent_uid is None or r.parent in self.records else r.parent
        for r in self.records.values():
            cycle, id = [r.id], found[r.id]
            while id not in (None, *cycle) and id in found:
                cycle.append(id)
                id = found[id]
            if id == r.id:
                last = max(cycle, key=lambda id: self._order_of(self.records[id], "place"))
                found[last] = None
        return found

    def _order_of(self, row, part):
        """Sorts rows that clash by the dot of a part, then by their uid."""
        return *self.order_of_names(row.dots.of(part)), row.uid

    def held(self):
        """The numbers of the documents whose keys others of their collections hold."""
        by_key, held = {}, set()
        for record in self.records.values():
            key = self.compared(record)
            if key is not None:
                by_key.setdefault((record.coll, key), []).append(record)
        for records in by_key.values():
            holder = min(records, key=lambda record: self._order_of(record, "key"))
            held |= {record.id for record in records if record is not holder}
        return held

    def compared(self, record):
        """A document's key as its collection compares it; None without one, and of one that can't be folded."""
        is_folded = record.coll in self.collections and self.collections[record.coll].settings.startswith(b'{"folding":1')
        try:
            return fold(record.key) if is_folded and record.key is not None else record.key
        except UnicodeDecodeError:
            return None

    def _note(self, kind, coll, id=None):
        """Notes a change for the ring; an inserted or deleted document is in no other entry."""
        if id is not None and any(id in self.changes.get((alone, coll), ()) for alone in (INSERTED, DELETED)):
            return
        if kind == DELETED:
            for (other, _), ids in self.changes.items():
                if other in (TEXT, DETAILS, MOVED):
                    ids.discard(id)
        self.changes.setdefault((kind, coll), set()).update(() if id is None else (id,))

    def frame(self, data, least, odd=None):
        """The data in its frame; `odd` is a function that changes the correct frame."""
        frame = bytes(1) + len(data).to_bytes(7, "big") + data
        if self.incompat & PADDED:
            frame = frame.ljust(max(padme(len(frame)), least), b"\0")
        return odd(frame) if odd else frame

    def seal(self, record):
        """Seals body and head. `record.odd` may hold: body_frame, head_frame, head_plain (functions of the data to be
        sealed), dots (a function of theirs), column, in_head (titles), lookup, length, digest, least; and place (for `save`):
        row, table, both, none."""
        r, odd = record, record.odd
        body = label16(b"coffer3/body") + self.store_id + u32(r.coll) + u64(r.id) + u32(r.epoch)
        sealed = self.xseal(self.epoch_key(b"body", r.epoch), body, self.frame(r.text, 64, odd.get("body_frame")))
        r.body_nt, r.ct = sealed[:24] + sealed[-16:], sealed[24:-16]
        r.lookup = odd["lookup"] if "lookup" in odd else self.lookup(r)
        r.column = odd.get("column", r.title if self.titles == CLEAR else None)
        self.seal_head(r)

    def lookup(self, record):
        key = self.compared(record)
        return None if key is None else hmac(self.epoch_key(b"lookup", record.epoch), pae(b"coffer3/lookup", u32(record.coll), key))[:16]

    def seal_head(self, r):
        odd = r.odd
        title = odd.get("in_head", r.title if self.titles == SEALED else None)

        def optional(value):
            return u8(0) if value is None else u8(1) + u32(len(value)) + value

        plain = (
            i64(r.created) + i64(r.modified) + u64(odd.get("length", len(r.text)))
            + odd.get("digest", hashlib.sha256(r.text).digest()) + optional(r.key) + optional(title)
            + u32(len(r.attributes)) + r.attributes + r.uid + (u8(0) if r.parent_uid is None else u8(1) + r.parent_uid)
            + odd.get("dots", lambda data: data)(r.dots.encoded()) + layout.extension_part(r.extension)
        )
        plain = odd["head_plain"](plain) if "head_plain" in odd else plain
        least = 128 if self.titles == SEALED else 64
        r.head = self.xseal(
            self.epoch_key(b"head", r.epoch), label16(b"coffer3/head") + self.row(r) + self.t(r),
            self.frame(plain, odd.get("least", least), odd.get("head_frame")))

    def row(self, r):
        return (
            self.store_id + u64(r.id) + u32(r.coll) + u32(r.epoch) + u64(r.rev) + self.p(r) + u64(r.parent or 0)
            + u32(r.flags) + (bytes(17) if r.lookup is None else u8(1) + r.lookup) + r.body_nt
        )

    def title(self, r):
        """The title as it is read: in title mode `none` there is none, except in a row below the target."""
        return r.title if self.titles != NONE or r.column is not None or r.epoch < self.target else None

    @staticmethod
    def p(r):
        """The position with its length, of which a forged position of 256 bytes has the low byte."""
        return u8(len(r.pos) % 256) + r.pos

    @staticmethod
    def t(r):
        return u8(0) if r.column is None else u8(1) + r.column

    # Commit.

    def element(self, row):
        """An element of the set hash, with its epoch."""
        if isinstance(row, Record):
            return row.epoch, (
                label16(b"coffer3/row") + self.row(row) + u32(len(row.head)) + row.head + self.t(row)
            )
        if isinstance(row, Deletion):
            label, number = b"set-gone", row.gone
        elif isinstance(row, Attachment):
            label, number = b"set-file", row.number
        else:
            label, number = b"set-name", row.coll
        return self.active, (
            label16(b"coffer3/" + label) + self.store_id + u64(number) + u32(self.active) + u64(row.rev) + row.sealed
        )

    def set_hash(self):
        total, keys = 0, {}
        rows = self.records, self.collections, self.deletions, self.attachments
        for row in (row for table in rows for row in table.values()):
            epoch, element = self.element(row)
            if epoch not in keys:
                keys[epoch] = self.epoch_key(b"set", epoch)
            total = layout.add_lanes(total, layout.lanes(hmac(keys[epoch], element)))
        return total.to_bytes(layout.SET_HASH_SIZE, "little")

    def commit(self):
        """One write transaction; `self.odd` may hold keyring and replicas (plaintexts) and spare, and, for the state:
        generation, next_id, bound, count, gone_count, set_hash, header_mac, target, cursor, lead, replicas_digest, unwiped,
        next_attachment, attachment_count, index_identities, known, ring, ring_length, extension, state."""
        odd, before = self.odd, self.mark
        self._settle()
        self.generation += 1
        self._commit_header(odd)
        self._commit_replicas(odd)
        self._commit_ring(before)
        fields = {
            "generation": self.generation, "next_id": self.next_id, "bound": self.bound, "count": len(self.records),
            "gone_count": len(self.deletions), "target": self.target, "cursor": self.cursor, "header_mac": self.mac,
            "lead": self.lead, "replicas_digest": hashlib.sha256(self.sealed_replicas).digest(), "unwiped": self.unwiped,
            "next_attachment": self.next_attachment, "attachment_count": len(self.attachments),
            "index_identities": b"".join(self.index_identities.values()),
            "known": self.known, "ring": b"".join(record for record, _ in self.ring.values()), "extension": self.extension,
        } | {name: value for name, value in odd.items() if name not in ("keyring", "replicas", "spare", "state")}
        fields.setdefault("set_hash", self.set_hash())
        self.state_plain = layout.state_plain(**fields)
        self.sealed_state = self.xseal(
            self._key(b"state"), pae(b"coffer3/state", self.store_id), odd.get("state", self.state_plain))
        self.marks = [*self.marks, (self.generation + self.lead, self.mark[: layout.MARK_SIZE])][-layout.MARKS :]
        return self

    def _commit_replicas(self, odd):
        """Seals the row of replicas where it changes; the mark of this commit comes too late for it."""
        if self._has_new_replicas or self._has_new_root or "replicas" in odd:
            self._keep_own_entry(self.generation)
            self.sealed_replicas = self.xseal(
                self._key(b"replicas"), pae(b"coffer3/replicas", self.store_id),
                odd.get("replicas", self.replicas_plain()))
            self._has_new_replicas = False

    def _commit_header(self, odd):
        """Seals the header; a transaction that does not change the header keeps its bytes."""
        slots = [
            pae(u32(s.slot), u32(s.kind), s.label, s.params, s.wrapped)
            for s in sorted(self.slots, key=lambda s: s.slot)
        ]
        holds = (self.root, self.keyring_plain(), slots, odd.get("keyring"), odd.get("rk_commit"), self.format,
                 self.incompat, self.ro_compat, self.compat, self.titles, self.rk_generation, self.phase)
        if holds == self._header_holds:
            return
        self._header_holds = holds
        self.rk_commit = odd.pop("rk_commit", None) or self.commitment()
        self.keyring = self.xseal(
            self._key(b"keyring"), pae(b"coffer3/keyring", self.store_id, u64(self.rk_generation), u64(self.phase)),
            odd.get("keyring", self.keyring_plain()))
        elements = [
            b"coffer3/header", u32(self.format), self.store_id, u64(self.incompat), u64(self.ro_compat),
            u64(self.compat), u32(self.titles), u64(self.rk_generation), u64(self.phase), self.rk_commit, self.keyring,
            *slots]
        self.mac = hmac(self._key(b"header-mac"), pae(*elements))
        self.spare = b"coffer3/spare" + pae(*elements, self.mac)

    def _commit_ring(self, before):
        if self._has_new_root:
            self.ring, self._has_new_root = {}, False
        else:
            changes = {entry: set(ids) for entry, ids in self.changes.items() if ids or entry[0] == COLLECTION}
            size = layout.ring_size(self.extension)
            self.ring[self.generation] = layout.ring_generation(before, changes, size)
            while sum(len(record) for record, _ in self.ring.values()) > size:
                del self.ring[min(self.ring)]
        self.changes = {}

    @property
    def known(self):
        return min(self.ring, default=self.generation + 1)

    @property
    def mark(self):
        return hmac(self._key(b"anchor"), self.state_plain)

    @property
    def anchor(self):
        generation = int.from_bytes(self.state_plain[:8], "big")
        return (
            f"coffer3:{self.store_id.hex()}:{self.rk_generation}:{self.phase}:{generation}:"
            f"{self.rk_commit.hex()}:{self.mark.hex()}")

    # Changing keys.

    def change_root(self, keep_slots, titles=None):
        """The first transaction of a rekey, also over an unfinished one; `keep_slots` wraps the new root key."""
        if self.target:
            for number, epoch in self.epochs.items():
                if number < self.target:
                    epoch.floor = max(epoch.floor, self.cursor)
        self.root, self.rk_generation, self.phase = self.random(32), self.rk_generation + 1, 1
        self.epochs[self.active].closed, self.epochs[self.active].ceiling = self.generation + 1, self.bound
        self.active = max(self.epochs) + 1
        self.epochs[self.active] = Epoch(self.random(32))
        self.titles = self.titles if titles is None else titles
        self.slots = []
        keep_slots(self)
        for row in self.collections.values():
            self.seal_collection(row)
        for row in self.deletions.values():
            self.seal_deletion(row)
        for row in self.attachments.values():
            self.seal_attachment(row)
        for index in self.indexes.values():
            index.empty(self)
        self._keep_next_id()
        self.target, self.cursor, self._has_new_root = self.active, 0, True

    def reseal(self, *ids):
        """A batch of a rekey: rev, place and dots stay."""
        for id in ids:
            self.records[id].epoch = self.active
            self.seal(self.records[id])
            self.cursor = id + 1

    def end_rekey(self):
        """The last transaction: old epochs leave the keyring, in the next phase."""
        self.epochs = {self.active: self.epochs[self.active]}
        self.phase, self.target, self.cursor = self.phase + 1, 0, 0

    # The file.

    def save(self, path):
        """Writes the file as it is now."""
        storefile.save(self, path)
