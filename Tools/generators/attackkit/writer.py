"""A writer of stores, from FORMAT.md alone: every byte that a library would draw at random comes from a seed.

Slow and simple: rows are kept as they will stand in the file, and every commit sums and seals everything anew. What a
key holder could get wrong can be asked for by name, so that such stores can be made and refused.
"""

import copy
import hashlib
import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from storereader.database import APPLICATION_ID, SCHEMA
from storereader.primitives import XAES, hkdf, hmac, i64, label16, padme, pae, u8, u32, u64
from storereader.records import fold

PAGE_SIZE = 1024
TEST, PADDED = 1, 2
SEALED, CLEAR, NONE = 0, 1, 2


class Random:
    """Bytes that look drawn at random and are the same for the same seed."""

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
class Collection:
    coll: int
    epoch: int
    rev: int
    name: bytes
    settings: bytes
    sealed: bytes = b""


@dataclass
class Record:
    """A document's row and body as they stand in the file, and what is sealed in them."""

    id: int
    coll: int
    epoch: int
    rev: int
    pos: int
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
    # What a careless or hostile key holder does otherwise, by name; see `Writer.seal`.
    odd: dict = field(default_factory=dict)


class Writer:
    """A store as it grows: call what a user does, then `commit`; `save` writes the file as it is now."""

    def __init__(self, seed, titles=SEALED, padded=True):
        self.random = Random(seed)
        self.store_id, self.root = self.random(16), self.random(32)
        self.rk_generation, self.epochs, self.active = 1, {1: self.random(32)}, 1
        self.format = self.user_version = 1
        self.incompat, self.ro_compat, self.compat = TEST | (PADDED if padded else 0), 0, 0
        self.titles = titles
        self.slots, self.collections, self.records = [], {}, {}
        self.generation, self.next_id, self.target, self.cursor = 0, 1, 0, 0
        self.origin, self.origin_generation = bytes(16), 0
        self.odd, self._header_holds = {}, None
        self.state_plain = b""

    def copy(self):
        """The store at this moment; what is drawn at random afterwards is the same in both."""
        return copy.deepcopy(self)

    # Keys.

    def _key(self, label):
        return hkdf(self.root, self.store_id, b"coffer1/" + label)

    def epoch_key(self, label, epoch):
        return hkdf(self.epochs[epoch], self.store_id, b"coffer1/" + label + u32(epoch))

    def xseal(self, key, data, plain):
        nonce = self.random(24)
        return nonce + XAES(key).seal(nonce, data, plain)

    def add_slot(self, kind, params, kek, label=b"", slot=None):
        slot = slot or max((s.slot for s in self.slots), default=0) + 1
        data = pae(b"coffer1/slot", self.store_id, u32(slot), u32(kind), params)
        self.slots.append(Slot(slot, kind, label, params, AESGCM(kek).encrypt(bytes(12), self.root, data)))
        return slot

    def add_key_file(self, key, label=b""):
        salt = self.random(16)
        return self.add_slot(2, salt, hkdf(key, salt, b"coffer1/test-key" + self.store_id), label)

    def add_passphrase(self, passphrase, label=b"", log_n=10, p=1, r=8):
        salt = self.random(16)
        kdf = Scrypt(salt=b"coffer1/scrypt" + self.store_id + salt, length=32, n=1 << log_n, r=r, p=p)
        return self.add_slot(1, bytes([log_n, r, p]) + salt, kdf.derive(passphrase), label)

    def add_recipient(self, public, label=b"", ephemeral_secret=None):
        secret = X25519PrivateKey.from_private_bytes(ephemeral_secret or self.random(32))
        shared = secret.exchange(X25519PublicKey.from_public_bytes(public))
        params = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) + public
        return self.add_slot(3, params, hkdf(shared, params, b"coffer1/test-x25519" + self.store_id), label)

    # Documents.

    def add_collection(self, coll, name, settings=b'{"folding":0,"title":0}'):
        self.collections[coll] = Collection(coll, self.active, self.generation + 1, name, settings)
        self.seal_collection(self.collections[coll])

    def seal_collection(self, row, plain=None):
        data = label16(b"coffer1/name") + self.store_id + u32(row.coll) + u64(row.rev) + u32(row.epoch)
        plain = u32(len(row.name)) + row.name + row.settings if plain is None else plain
        row.sealed = self.xseal(self.epoch_key(b"name", row.epoch), data, self.frame(plain, 64))

    def add(self, coll, text, id=None, **fields):
        id = id or self.next_id
        last = max((r.pos for r in self.records.values() if r.coll == coll), default=0)
        record = Record(
            id, coll, self.active, self.generation + 1, fields.pop("pos", last + 2**32), text.encode()
            if isinstance(text, str) else text, **fields)
        self.records[id] = record
        self.next_id = max(self.next_id, id + 1)
        self.seal(record)
        return record

    def change(self, id, **fields):
        record = self.records[id]
        for name, value in fields.items():
            setattr(record, name, value)
        record.rev, record.epoch = self.generation + 1, self.active
        self.seal(record)
        return record

    def delete(self, id):
        del self.records[id]

    def frame(self, data, least, odd=None):
        """The data in its frame; `odd` is a function of the frame that a writer should have made."""
        frame = bytes(1) + len(data).to_bytes(7, "big") + data
        if self.incompat & PADDED:
            frame = frame.ljust(max(padme(len(frame)), least), b"\0")
        return odd(frame) if odd else frame

    def seal(self, record):
        """Seals body and head. `record.odd` may hold: body_frame, head_frame, head_plain, row (functions of what would
        be sealed), column, in_head (titles), lookup, length."""
        r, odd = record, record.odd
        body = label16(b"coffer1/body") + self.store_id + u32(r.coll) + u64(r.id) + u32(r.epoch)
        sealed = self.xseal(
            self.epoch_key(b"body", r.epoch), body, self.frame(r.text, 64, odd.get("body_frame")))
        r.body_nt, r.ct = sealed[:24] + sealed[-16:], sealed[24:-16]
        r.lookup = odd["lookup"] if "lookup" in odd else self.lookup(r)
        r.column = odd.get("column", r.title if self.titles == CLEAR else None)
        self.seal_head(r)

    def lookup(self, record):
        if record.key is None:
            return None
        key, settings = record.key, self.collections[record.coll].settings
        if settings.startswith(b'{"folding":1'):
            key = fold(key)
        return hmac(self.epoch_key(b"lookup", record.epoch), pae(b"coffer1/lookup", u32(record.coll), key))[:16]

    def seal_head(self, r):
        odd = r.odd
        title = odd.get("in_head", r.title if self.titles == SEALED else None)

        def optional(value):
            return u8(0) if value is None else u8(1) + u32(len(value)) + value

        plain = (
            i64(r.created) + i64(r.modified) + u64(odd.get("length", len(r.text))) + optional(r.key) + optional(title)
            + u32(len(r.attributes)) + r.attributes
        )
        plain = odd["head_plain"](plain) if "head_plain" in odd else plain
        least = 128 if self.titles == SEALED else 64
        r.head = self.xseal(
            self.epoch_key(b"head", r.epoch), label16(b"coffer1/head") + self.row(r) + self.t(r),
            self.frame(plain, odd.get("least", least), odd.get("head_frame")))

    def row(self, r):
        return (
            self.store_id + u64(r.id) + u32(r.coll) + u32(r.epoch) + u64(r.rev) + i64(r.pos) + u64(r.parent or 0)
            + u32(r.flags) + (bytes(17) if r.lookup is None else u8(1) + r.lookup) + r.body_nt
        )

    @staticmethod
    def t(r):
        return u8(0) if r.column is None else u8(1) + r.column

    # Commit.

    def set_hash(self):
        total = 0
        for r in self.records.values():
            element = label16(b"coffer1/row") + self.row(r) + r.head[:24] + r.head[-16:] + self.t(r)
            total += int.from_bytes(hmac(self.epoch_key(b"set", r.epoch), element), "big")
        for c in self.collections.values():
            element = (
                b"coffer1/collection".ljust(20, b"\0") + self.store_id + u32(c.coll) + u32(c.epoch) + u64(c.rev)
                + c.sealed[:24] + c.sealed[-16:]
            )
            total += int.from_bytes(hmac(self.epoch_key(b"set", c.epoch), element), "big")
        return (total % 2**256).to_bytes(32, "big")

    def seal_keyring(self, plain=None):
        if plain is None:
            plain = u32(self.active) + b"".join(u32(e) + self.epochs[e] for e in sorted(self.epochs))
        data = pae(b"coffer1/keyring", self.store_id, u64(self.rk_generation))
        self.keyring = self.xseal(self._key(b"keyring"), data, plain)

    def commit(self):
        """One write transaction; `self.odd` may hold keyring (plaintext), generation, next_id, count, set_hash,
        header_mac, target, cursor (what the state should not say)."""
        odd = self.odd
        self.generation += 1
        self._commit_header(odd)
        self.state_plain = (
            u64(odd.get("generation", self.generation)) + u64(odd.get("next_id", self.next_id))
            + u64(odd.get("count", len(self.records))) + odd.get("set_hash", self.set_hash())
            + u32(odd.get("target", self.target)) + u64(odd.get("cursor", self.cursor))
            + odd.get("header_mac", self.mac) + self.origin + u64(self.origin_generation)
        )
        self.sealed_state = self.xseal(
            self._key(b"state"), pae(b"coffer1/state", self.store_id), odd.get("state", self.state_plain))
        return self

    def _commit_header(self, odd):
        """A transaction that changes nothing of the header keeps its bytes."""
        slots = [
            pae(u32(s.slot), u32(s.kind), s.label, s.params, s.wrapped)
            for s in sorted(self.slots, key=lambda s: s.slot)
        ]
        holds = (self.root, dict(self.epochs), self.active, slots, odd.get("keyring"), self.format, self.incompat,
                 self.ro_compat, self.compat, self.titles)
        if holds == self._header_holds:
            return
        self._header_holds = holds
        self.rk_commit = self._key(b"commit")
        self.seal_keyring(odd.get("keyring"))
        self.mac = hmac(self._key(b"header-mac"), pae(
            b"coffer1/header", u32(self.format), self.store_id, u64(self.incompat), u64(self.ro_compat),
            u64(self.compat), u32(self.titles), u64(self.rk_generation), self.rk_commit, self.keyring, *slots))

    @property
    def anchor(self):
        digest = hmac(self._key(b"anchor"), self.state_plain)[:16].hex()
        return f"coffer1:{self.store_id.hex()}:{int.from_bytes(self.state_plain[:8], 'big')}:{digest}"

    @property
    def pin(self):
        return "coffer-pin-1-" + (self.store_id + self.rk_commit).hex()

    # Changing keys.

    def change_root(self, keep_slots):
        """The first transaction of a rekey; `keep_slots` wraps the new root key again."""
        self.root, self.rk_generation = self.random(32), self.rk_generation + 1
        self.active = max(self.epochs) + 1
        self.epochs[self.active] = self.random(32)
        self.slots = []
        keep_slots(self)
        for row in self.collections.values():
            row.epoch = self.active
            self.seal_collection(row)
        self.target, self.cursor = self.active, 0

    def reseal(self, id):
        record = self.records[id]
        record.epoch = self.active
        self.seal(record)
        self.cursor = id + 1

    # The file.

    def save(self, path, page_size=PAGE_SIZE):
        Path(path).unlink(missing_ok=True)
        with database(path) as db:
            db.execute(f"PRAGMA page_size={page_size}")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={self.user_version}")
            db.execute("BEGIN")
            for sql in SCHEMA.values():
                db.execute(sql.decode())
            db.execute(
                "INSERT INTO coffer_header VALUES(1,?,?,?,?,?,?,?,?,?,?)",
                (self.format, self.store_id, self.incompat, self.ro_compat, self.compat, self.titles,
                 self.rk_generation, self.rk_commit, self.keyring, self.mac))
            for s in self.slots:
                db.execute(
                    "INSERT INTO coffer_slot VALUES(?,?,CAST(? AS TEXT),?,?)",
                    (s.slot, s.kind, s.label, s.params, s.wrapped))
            db.execute("INSERT INTO coffer_state VALUES(1,?)", (self.sealed_state,))
            for c in self.collections.values():
                db.execute("INSERT INTO coffer_collection VALUES(?,?,?,?)", (c.coll, c.epoch, c.rev, c.sealed))
            for r in self.records.values():
                db.execute(
                    "INSERT INTO coffer_record VALUES(?,?,?,?,?,?,?,?,CAST(? AS TEXT),?,?)",
                    (r.id, r.coll, r.epoch, r.rev, r.pos, r.parent, r.flags, r.lookup, r.column, r.head, r.body_nt))
                db.execute("INSERT INTO coffer_body VALUES(?,?)", (r.id, r.ct))
            db.execute("COMMIT")

    def contents(self):
        """What every reader must find, for the JSON beside the file."""
        return {
            "store_id": self.store_id.hex(), "pin": self.pin, "anchor": self.anchor,
            "titles": ["sealed", "clear", "none"][self.titles], "padded": bool(self.incompat & PADDED),
            "generation": self.generation, "next_id": self.next_id,
            "collections": {str(c.coll): c.name.decode() for c in self.collections.values()},
            "documents": {str(r.id): document(self, r) for r in sorted(self.records.values(), key=lambda r: r.id)},
        }


def document(writer, r):
    """A document as a reader must give it; in title mode `none` there is no title."""
    return {
        "coll": r.coll, "pos": r.pos, "parent": r.parent, "flags": r.flags,
        "title": None if r.title is None or writer.titles == NONE else r.title.decode(),
        "key": None if r.key is None else r.key.hex(), "created": r.created, "modified": r.modified,
        "attributes": json.loads(r.attributes) if r.attributes else None, "text": r.text.decode(),
    }


class database:
    """A plain connection in autocommit, closed at the end; errors of SQL are the kit's own bugs and propagate."""

    def __init__(self, path):
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self):
        for pragma in ("secure_delete=ON", "synchronous=OFF", "journal_mode=MEMORY"):
            self._connection.execute(f"PRAGMA {pragma}")
        return self._connection

    def __exit__(self, *_):
        self._connection.close()
