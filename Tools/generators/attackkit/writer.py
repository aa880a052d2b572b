"""A writer of stores, from FORMAT.md alone: a seed determines every byte that a library would draw at random.

Slow and simple: rows are kept as the file will hold them, and every commit sums and seals everything again. Each mistake
that a key holder could make has a name in `odd`, so that such stores can be made and refused.
"""

import copy
import hashlib
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from storereader.primitives import XAES, hkdf, hmac, i64, label16, padme, pae, u8, u32, u64
from storereader.records import fold

from . import layout
from .layout import COLLECTION, DELETED, DETAILS, FORMAT, INSERTED, MOVED, TEXT
from .positions import STEP, TAG_SIZE, first_number, place

PAGE_SIZE = 512
TEST, PADDED = 1, 2
SEALED, CLEAR, NONE = 0, 1, 2
# The kind of change of each field of a document, for the ring and for the stamps of its head.
RING_KIND = dict.fromkeys(("title", "key", "attributes", "flags", "parent", "created", "modified"), DETAILS)
RING_KIND |= {"text": TEXT, "pos": MOVED}
# The part of the document that a field belongs to; an entry's type has it in bits 8 to 11.
PART = {"text": 1, "title": 2, "key": 3, "attributes": 4, "pos": 5, "parent": 5, "coll": 5}
EDITS, PLACES = {"title", "text", "key", "attributes", "flags"}, {"pos", "parent", "coll"}


class Random:
    """Bytes that look random and are the same for the same seed."""

    def __init__(self, seed):
        self._seed, self._taken = seed.encode(), 0

    def __call__(self, count):
        self._taken += 1
        return hashlib.shake_128(self._seed + u64(self._taken)).digest(count)


@dataclass
class Slot:
    slot: int
    kind: int
    label: object
    params: object
    wrapped: object


@dataclass
class Epoch:
    key: bytes
    closed: int = 0
    ceiling: int = 0
    floor: int = 1


@dataclass
class Collection:
    coll: int
    epoch: int
    rev: int
    born: int
    edited: int
    uid: bytes
    name: bytes
    settings: bytes
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
    born: int
    edited: int
    placed: int
    uid: bytes
    text: bytes
    title: bytes = None
    key: bytes = None
    parent: int = None
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
    # Mistakes of a careless or hostile key holder, by name; see `Writer.seal` and `Writer.save`.
    odd: dict = field(default_factory=dict)

    @property
    def is_body_in_row(self):
        return len(self.ct) <= layout.BODY_IN_ROW


class Writer:
    """A store with its changes: call the acts of a user, then `commit`; `save` writes the file as it is now."""

    def __init__(self, seed, titles=SEALED, padded=True, page_size=PAGE_SIZE, journal="DELETE"):
        self.random = Random(seed)
        self.store_id, self.root = self.random(16), self.random(32)
        self.rk_generation, self.phase, self.active = 1, 1, 1
        self.epochs = {1: Epoch(self.random(32))}
        self.format = self.user_version = FORMAT
        self.incompat, self.ro_compat, self.compat = TEST | (PADDED if padded else 0), 0, 0
        self.titles, self.page_size, self.journal = titles, page_size, journal
        self.slots, self.collections, self.records = [], {}, {}
        # Number, count and tag of the last position that this writer chose.
        self.run = None
        self.generation, self.next_id, self.target, self.cursor = 0, 1, 0, 0
        self.origin, self.unwiped = layout.origin_fields(), 0
        # The entries of the state's extension part, by type.
        self.extension = {}
        # The record's bytes and the changes in it, keyed by generation.
        self.ring, self.changes = {}, {}
        self.state_plain, self._has_new_root = b"", True
        self.odd, self._header_holds = {}, None
        # SQL run after everything else: tables of other features.
        self.extra_sql = []

    def copy(self):
        """The store at this moment; the bytes drawn at random afterwards are the same in both."""
        return copy.deepcopy(self)

    # Keys.

    def _key(self, label):
        return hkdf(self.root, self.store_id, b"coffer3/" + label)

    def commitment(self, phase=None):
        """The root key's commitment for a phase, by default the present one."""
        return self._key(b"commit" + u64(self.rk_generation) + u64(phase or self.phase))

    def epoch_key(self, label, epoch):
        return hkdf(self.epochs[epoch].key, self.store_id, b"coffer3/" + label + u32(epoch))

    def xseal(self, key, data, plain):
        nonce = self.random(24)
        return nonce + XAES(key).seal(nonce, data, plain)

    def add_slot(self, kind, params, kek, label=b"", slot=None):
        slot = slot or max((s.slot for s in self.slots), default=0) + 1
        data = pae(b"coffer3/slot", self.store_id, u32(slot), u32(kind), u64(self.rk_generation), params)
        self.slots.append(Slot(slot, kind, label, params, AESGCM(kek).encrypt(bytes(12), self.root, data)))
        return slot

    def add_key_file(self, key, label=b"", slot=None):
        salt = self.random(16)
        fingerprint = hkdf(key, self.store_id, b"coffer3/fingerprint")[:8]
        kek = hkdf(key, salt, b"coffer3/test-key" + self.store_id)
        return self.add_slot(2, salt + fingerprint, kek, label, slot)

    def add_passphrase(self, passphrase, label=b"", log_n=10, p=1, r=8, slot=None):
        salt = self.random(16)
        kdf = Scrypt(salt=b"coffer3/scrypt" + self.store_id + salt, length=32, n=1 << log_n, r=r, p=p)
        return self.add_slot(1, bytes([log_n, r, p]) + salt, kdf.derive(passphrase), label, slot)

    def add_recipient(self, public, label=b"", ephemeral_secret=None, slot=None):
        secret = X25519PrivateKey.from_private_bytes(ephemeral_secret or self.random(32))
        shared = secret.exchange(X25519PublicKey.from_public_bytes(public))
        params = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) + public
        return self.add_slot(3, params, hkdf(shared, params, b"coffer3/test-x25519" + self.store_id), label, slot)

    def add_external(self, provider, blob, answer, label=b""):
        salt = self.random(16)
        params = salt + u8(len(provider)) + provider + blob
        return self.add_slot(4, params, hkdf(answer, salt, b"coffer3/external" + self.store_id), label)

    # Documents.

    def add_collection(self, coll, name, settings=b'{"folding":0,"title":0}'):
        now = self.generation + 1
        self.collections[coll] = Collection(coll, self.active, now, now, now, self.random(16), name, settings)
        self.seal_collection(self.collections[coll])
        self._note(COLLECTION, coll)

    def change_collection(self, coll, **fields):
        row = self.collections[coll]
        for name, value in fields.items():
            setattr(row, name, value)
        row.rev = row.edited = self.generation + 1
        self.seal_collection(row)
        self._note(COLLECTION, coll)

    def drop_collection(self, coll):
        for id in [r.id for r in self.records.values() if r.coll == coll]:
            self.delete(id)
        del self.collections[coll]
        self._note(COLLECTION, coll)

    def seal_collection(self, row, plain=None):
        data = label16(b"coffer3/name") + self.store_id + u64(row.coll) + u32(row.epoch) + u64(row.rev)
        plain = self.collection_plain(row) if plain is None else plain
        row.sealed = self.xseal(self.epoch_key(b"name", row.epoch), data, self.frame(plain, 64))

    @staticmethod
    def collection_plain(row):
        return (
            u64(row.born) + u64(row.edited) + row.uid + u32(len(row.name)) + row.name
            + u32(len(row.settings)) + row.settings + layout.extension_part(row.extension)
        )

    def add(self, coll, text, id=None, **fields):
        id, now = id or self.next_id, self.generation + 1
        stamps = {name: fields.pop(name, now) for name in ("born", "edited", "placed")}
        pos = fields.pop("pos") if "pos" in fields else self.end(coll)
        record = Record(
            id, coll, self.active, now, pos, uid=fields.pop("uid", None) or self.random(16),
            text=text.encode() if isinstance(text, str) else text, **stamps, **fields)
        self.records[id] = record
        self.next_id = max(self.next_id, id + 1)
        self.seal(record)
        self._note(INSERTED, coll, id)
        return record

    def change(self, id, **fields):
        record, now = self.records[id], self.generation + 1
        if "coll" in fields:
            self._note(DELETED, record.coll, id)
            self._note(INSERTED, fields["coll"], id)
        # Entries of a part leave with its old value.
        changed = {PART[name] for name in fields if name in PART}
        record.extension = {kind: data for kind, data in record.extension.items() if kind >> 8 & 15 not in changed}
        for name, value in fields.items():
            setattr(record, name, value)
            if name in RING_KIND:
                self._note(RING_KIND[name], record.coll, id)
        record.edited = now if EDITS & set(fields) else record.edited
        record.placed = now if PLACES & set(fields) else record.placed
        record.rev, record.epoch = now, self.active
        for name, value in record.odd.get("stamps", {}).items():
            setattr(record, name, value)
        self.seal(record)
        return record

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
        record = self.records.pop(id)
        if record.born == self.generation + 1:
            for ids in self.changes.values():
                ids.discard(id)
        else:
            self._note(DELETED, record.coll, id)

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
        sealed), column, in_head (titles), lookup, length, digest, least, stamps; and place (for `save`): row, table, both, none."""
        r, odd = record, record.odd
        body = label16(b"coffer3/body") + self.store_id + u32(r.coll) + u64(r.id) + u32(r.epoch)
        sealed = self.xseal(self.epoch_key(b"body", r.epoch), body, self.frame(r.text, 64, odd.get("body_frame")))
        r.body_nt, r.ct = sealed[:24] + sealed[-16:], sealed[24:-16]
        r.lookup = odd["lookup"] if "lookup" in odd else self.lookup(r)
        r.column = odd.get("column", r.title if self.titles == CLEAR else None)
        self.seal_head(r)

    def lookup(self, record):
        if record.key is None:
            return None
        key = record.key
        if record.coll in self.collections and self.collections[record.coll].settings.startswith(b'{"folding":1'):
            key = fold(key)
        return hmac(self.epoch_key(b"lookup", record.epoch), pae(b"coffer3/lookup", u32(record.coll), key))[:16]

    def seal_head(self, r):
        odd = r.odd
        title = odd.get("in_head", r.title if self.titles == SEALED else None)

        def optional(value):
            return u8(0) if value is None else u8(1) + u32(len(value)) + value

        plain = (
            i64(r.created) + i64(r.modified) + u64(odd.get("length", len(r.text)))
            + odd.get("digest", hashlib.sha256(r.text).digest()) + optional(r.key) + optional(title)
            + u64(r.born) + u64(r.edited) + u64(r.placed) + r.uid + u32(len(r.attributes)) + r.attributes
            + layout.extension_part(r.extension)
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
        return row.epoch, (
            label16(b"coffer3/set-name") + self.store_id + u64(row.coll) + u32(row.epoch) + u64(row.rev) + row.sealed
        )

    def set_hash(self):
        total, keys = 0, {}
        for row in (*self.records.values(), *self.collections.values()):
            epoch, element = self.element(row)
            if epoch not in keys:
                keys[epoch] = self.epoch_key(b"set", epoch)
            total = layout.add_lanes(total, layout.lanes(hmac(keys[epoch], element)))
        return total.to_bytes(layout.SET_HASH_SIZE, "little")

    def keyring_plain(self):
        return u32(self.active) + b"".join(
            u32(number) + epoch.key + u64(epoch.closed) + u64(epoch.ceiling) + u64(epoch.floor)
            for number, epoch in sorted(self.epochs.items()))

    def commit(self):
        """One write transaction; `self.odd` may hold keyring (plaintext) and spare, and, for the state: generation,
        next_id, count, set_hash, header_mac, target, cursor, origin, unwiped, known, ring, ring_length, extension, state."""
        odd, before = self.odd, self.mark
        self.generation += 1
        self._commit_header(odd)
        self._commit_ring(before)
        fields = {
            "generation": self.generation, "next_id": self.next_id, "count": len(self.records), "target": self.target,
            "cursor": self.cursor, "header_mac": self.mac, "origin": self.origin, "unwiped": self.unwiped,
            "known": self.known, "ring": b"".join(record for record, _ in self.ring.values()), "extension": self.extension,
        } | {name: value for name, value in odd.items() if name not in ("keyring", "spare", "state")}
        fields.setdefault("set_hash", self.set_hash())
        self.state_plain = layout.state_plain(**fields)
        self.sealed_state = self.xseal(
            self._key(b"state"), pae(b"coffer3/state", self.store_id), odd.get("state", self.state_plain))
        return self

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

    def pin_of(self, phase):
        return "coffer-pin-3-" + (
            self.store_id + u64(self.rk_generation) + u64(phase) + self.commitment(phase)).hex()

    @property
    def pin(self):
        return self.pin_of(self.phase)

    # Changing keys.

    def change_root(self, keep_slots, titles=None):
        """The first transaction of a rekey, also over an unfinished one; `keep_slots` wraps the new root key."""
        if self.target:
            for number, epoch in self.epochs.items():
                if number < self.target:
                    epoch.floor = max(epoch.floor, self.cursor)
        self.root, self.rk_generation, self.phase = self.random(32), self.rk_generation + 1, 1
        self.epochs[self.active].closed, self.epochs[self.active].ceiling = self.generation + 1, self.next_id
        self.active = max(self.epochs) + 1
        self.epochs[self.active] = Epoch(self.random(32))
        self.titles = self.titles if titles is None else titles
        self.slots = []
        keep_slots(self)
        for row in self.collections.values():
            row.epoch = self.active
            self.seal_collection(row)
        self.target, self.cursor, self._has_new_root = self.active, 0, True

    def reseal(self, *ids):
        """A batch of a rekey: rev, place and stamps stay."""
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
        Path(path).unlink(missing_ok=True)
        with database(path) as db:
            db.execute(f"PRAGMA page_size={self.page_size}")
            db.execute(f"PRAGMA application_id={layout.APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={self.user_version}")
            db.execute("BEGIN")
            for sql in layout.SCHEMA:
                db.execute(sql)
            db.execute(
                "INSERT INTO coffer_header VALUES(1,?,?,?,?,?,?,?,?,?,?,?)",
                (self.format, self.store_id, self.incompat, self.ro_compat, self.compat, self.titles,
                 self.rk_generation, self.phase, self.rk_commit, self.keyring, self.mac))
            db.execute("INSERT INTO coffer_spare VALUES(1,?)", (self.odd.get("spare", self.spare),))
            for s in self.slots:
                db.execute(
                    "INSERT INTO coffer_slot VALUES(?,?,CAST(? AS TEXT),?,?)",
                    (s.slot, s.kind, s.label, s.params, s.wrapped))
            db.execute("INSERT INTO coffer_state VALUES(1,?)", (self.sealed_state,))
            for c in self.collections.values():
                db.execute("INSERT INTO coffer_collection VALUES(?,?,?,?)", (c.coll, c.epoch, c.rev, c.sealed))
            for r in sorted(self.records.values(), key=lambda r: r.id):
                self._save_record(db, r)
            for statement in self.extra_sql:
                db.execute(statement)
            db.execute("COMMIT")
        if self.journal == "WAL":
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.close()
            normalize(path)

    @staticmethod
    def _save_record(db, r):
        place = r.odd.get("place") or ("row" if r.is_body_in_row else "table")
        db.execute(
            "INSERT INTO coffer_record VALUES(?,?,?,?,?,?,?,?,CAST(? AS TEXT),?,?,?)",
            (r.id, r.coll, r.epoch, r.rev, r.pos, r.parent, r.flags, r.lookup, r.column, r.head, r.body_nt,
             r.ct if place in ("row", "both") else None))
        if place in ("table", "both"):
            db.execute("INSERT INTO coffer_body VALUES(?,?)", (r.id, r.ct))


class database:
    """A plain connection in autocommit, closed at the end; errors of SQL are the kit's own bugs and propagate."""

    def __init__(self, path):
        self._path, self._connection = path, sqlite3.connect(path, isolation_level=None)

    def __enter__(self):
        for pragma in ("secure_delete=ON", "synchronous=OFF", "journal_mode=MEMORY"):
            self._connection.execute(f"PRAGMA {pragma}")
        return self._connection

    def __exit__(self, *_):
        self._connection.close()
        normalize(self._path)


def normalize(path):
    """Sets a fixed version of the SQLite that wrote last, so that every version gives the same bytes."""
    with open(path, "r+b") as file:
        file.seek(96)
        file.write((3_040_001).to_bytes(4, "big"))
