"""The insider: holds the root keys of some generations and every copy up to now, and edits the file at will.

Does not know: the present root key, or any epoch key that only its keyring holds.
"""

import copy
import random

from attackkit.attachmentstores import LEAST_CHUNK
from attackkit.dots import CollectionDots, DocumentDots
from attackkit.keys import Random
from attackkit.layout import HELD_ELSEWHERE
from attackkit.positions import place
from attackkit.secrets import OUTSIDER, RECIPIENT, value
from attackkit.starting import FOLDED
from attackkit.writer import Collection, Deletion, Record, Writer
from storereader.primitives import hmac, pae, u32, u64

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HEADER = ("format", "incompat", "ro_compat", "compat", "titles", "rk_generation", "phase", "rk_commit", "keyring", "mac")
COLUMNS = ("coll", "epoch", "rev", "pos", "parent", "flags", "lookup", "column", "head", "body_nt", "ct")
FORGED = "Forged text"
ROWS = ["collections", "deletions", "records", "attachments"]


class Insider:
    """`store` is the insider's file; `forged` holds, for each id, rows correctly sealed under a key of the insider."""

    def __init__(self, history, now, roots):
        self.moments = history.moments[: now + 1]
        self.now, self.roots = self.moments[now], roots
        self.keys, self.held = {}, [moment for moment in self.moments if moment.root in roots]
        for moment in self.held:
            for number, epoch in moment.writer.epochs.items():
                self.keys[number] = epoch
        self.store, self.forged = self.now.writer.copy(), {}
        # The moment whose header and state the file has; forgeries try numbers near its bounds.
        self.base = self.now.writer

    def do(self, name, seed):
        """Does one act. Its random choices depend on `seed` alone, so leaving out another act doesn't change them."""
        self.rng = random.Random(seed)
        self.random = Random(f"insider {seed}")
        getattr(self, name)()

    def acts(self):
        """The acts that the insider's keys allow, by name, with their weights."""
        weights = {
            "put_back": 4, "put_back_whole": 2, "roll_back": 4, "row_put_back": 4, "row_mixed": 2, "row_gone": 2, "row_edited": 2,
            "row_moved": 1, "collection_put_back": 1, "collection_gone": 1, "deletion_put_back": 1, "deletion_gone": 1,
            "file_put_back": 2, "file_gone": 1, "file_moved": 1, "chunk_changed": 3,
            "restored_set": 1, "slot_edited": 1, "slot_added": 1, "spare_edited": 1, "body_misplaced": 1, "outsiders_store": 1}
        if self.keys:
            weights |= {
                "row_forged": 9, "row_mislabelled": 1, "collection_forged": 1, "deletion_forged": 1, "head_forged": 2,
                "file_forged": 2}
        if self.held:
            weights |= {"own_store": 3, "state_forged": 1, "header_forged": 1, "keyring_forged": 1}
        return weights

    def save(self, path):
        """Writes the file. Of two rows with one number the file has the later one."""
        store = self.store
        store.slots = list({slot.slot: slot for slot in store.slots}.values())
        store.records = {record.id: record for record in store.records.values()}
        store.save(path)

    # With copies alone.

    def _moment(self):
        return self.rng.choice(self.moments if self.rng.random() < 0.5 else self.moments[-12:])

    def _row(self):
        return self.store.records[self.rng.choice(sorted(self.store.records))] if self.store.records else None

    def put_back(self):
        """Replaces parts of the file by those of an older copy."""
        parts = self.rng.choice((
            ["header"], ["state"], ["replicas"], ["slots"], ["header", "slots"], ["header", "state"],
            ["state", "replicas"], ["header", "slots", "state"], ["header", "slots", "state", "replicas"],
            ["header", "slots", "state", "replicas", "collections"], ["collections"], ["deletions"], ["records"], ["attachments"],
            ["state", "records"], ["state", "replicas", *ROWS], ["keyring"], ["slots", "state"]))
        self._take(self._moment().writer, parts)

    def put_back_whole(self):
        self.base = self._moment().writer
        self._take(self.base, ["header", "slots", "state", "replicas", *ROWS])

    def roll_back(self):
        """Restores an earlier moment of the same root key, mostly from its rekey; sometimes without its rows."""
        moments = [moment for moment in self.moments if moment.root == self.now.root]
        unfinished = [moment for moment in moments if moment.writer.target]
        self.base = self.rng.choice(unfinished if unfinished and self.rng.random() < 0.7 else moments).writer
        rows = ROWS if self.rng.random() < 0.7 else []
        self._take(self.base, ["header", "slots", "state", "replicas", *rows])

    def _take(self, writer, parts):
        source = writer.copy()
        if "header" in parts:
            for name in (*HEADER, "spare"):
                setattr(self.store, name, getattr(source, name))
        if "keyring" in parts:
            self.store.keyring = source.keyring
        if "state" in parts:
            self.store.sealed_state = source.sealed_state
        if "replicas" in parts:
            self.store.sealed_replicas = source.sealed_replicas
        for name in ("slots", *ROWS):
            if name in parts:
                setattr(self.store, name, getattr(source, name))

    def row_put_back(self):
        """Restores one to three rows of an older copy, deleted ones too; sometimes under another number."""
        source = self._moment().writer.copy().records
        for id in self.rng.sample(sorted(source), min(len(source), self.rng.randint(1, 3))):
            record = source[id]
            if self.rng.random() < 0.1:
                record.id = self.rng.randrange(1, self.store.bound + 2)
            self.store.records[record.id] = record

    def row_mixed(self):
        """Replaces some columns of a row by those of another row, or of the same row in a copy."""
        source, row = self._moment().writer.records, self._row()
        if row is None or not source:
            return
        other = source.get(row.id) if self.rng.random() < 0.7 else None
        other = other or source[self.rng.choice(sorted(source))]
        for name in self.rng.sample(COLUMNS, self.rng.randint(1, 4)):
            setattr(row, name, getattr(other, name))

    def row_gone(self):
        if row := self._row():
            del self.store.records[row.id]

    def row_moved(self):
        """Two rows exchange their numbers."""
        first, second = self._row(), self._row()
        if first and first is not second:
            first.id, second.id = second.id, first.id
            self.store.records |= {first.id: first, second.id: second}

    def row_edited(self):
        row = self._row()
        if row is None:
            return
        name = self.rng.choice(COLUMNS)
        old = getattr(row, name)
        if isinstance(old, bytes) and old:
            at = self.rng.randrange(len(old))
            old = old[:at] + bytes([old[at] ^ 1 << self.rng.randrange(8)]) + old[at + 1 :]
            if name == "column":
                old = b"edited"
        elif isinstance(old, int):
            old = max(0, old + self.rng.choice((-1, 1, 1000)))
        elif name == "parent":
            old = self.rng.randrange(1, self.store.bound + 1)
        elif name == "column":
            old = b"edited"
        setattr(row, name, old)

    def body_misplaced(self):
        if row := self._row():
            row.odd = {"place": self.rng.choice(("row", "table", "both", "none"))}

    def collection_put_back(self):
        source = self._moment().writer.copy().collections
        for coll in self.rng.sample(sorted(source), min(len(source), self.rng.randint(1, 2))):
            self.store.collections[coll] = source[coll]

    def collection_gone(self):
        if self.store.collections:
            del self.store.collections[self.rng.choice(sorted(self.store.collections))]

    def deletion_put_back(self):
        source = self._moment().writer.copy().deletions
        for gone in self.rng.sample(sorted(source), min(len(source), self.rng.randint(1, 2))):
            self.store.deletions[gone] = source[gone]

    def deletion_gone(self):
        if self.store.deletions:
            del self.store.deletions[self.rng.choice(sorted(self.store.deletions))]

    def _file(self, of=None):
        files = (of or self.store).attachments
        return files[self.rng.choice(sorted(files))] if files else None

    def file_put_back(self):
        """Restores the row of an attachment of an older copy, a removed one too; sometimes with its chunks."""
        if (old := self._file(self._moment().writer.copy())) is None:
            return
        row = self.store.attachments.setdefault(old.number, old)
        row.rev, row.sealed, row.column = old.rev, old.sealed, old.column
        if self.rng.random() < 0.5:
            row.chunks = old.chunks

    def file_gone(self):
        """Removes the row of an attachment, and by chance its chunks."""
        if row := self._file():
            del self.store.attachments[row.number]
            if self.rng.random() < 0.5:
                self.store.left_over |= {self.store.chunk_number(row, index): ct for index, ct in row.chunks.items()}

    def file_moved(self):
        if (row := self._file()) and self.store.records:
            row.column = self.rng.choice(sorted(self.store.records))

    def chunk_changed(self):
        """A chunk is cut or gone, or replaced: by one of the same or another attachment, now or in a copy, or in a store with
        the same numbers."""
        row = self._file()
        if row is None or not row.chunks:
            return
        index = self.rng.choice(sorted(row.chunks))
        other = self._file(self._moment().writer) or row
        act = self.rng.choice(("cut", "gone", "exchanged", "old", "foreign"))
        if act == "gone":
            del row.chunks[index]
        elif act == "cut":
            row.chunks[index] = row.chunks[index][: self.rng.randrange(len(row.chunks[index]))]
        elif act == "exchanged":
            row.chunks[index] = other.chunks[self.rng.choice(sorted(other.chunks))]
        elif act == "old":
            copies = [moment.writer.attachments.get(row.number) for moment in self.moments]
            row.chunks[index] = self.rng.choice([copy for copy in copies if copy and index in copy.chunks] or [row]).chunks[index]
        else:
            stranger, content = Writer("another store"), self.random(max(0, len(row.chunks[index]) - 40))
            row.chunks[index] = stranger.sealed_chunk(row, index, content, index == max(row.chunks))

    def restored_set(self):
        """Makes the store take another identity with its next write."""
        self.store.restored = 1

    def slot_edited(self):
        slot = self.rng.choice(self.store.slots)
        old = self.rng.choice(self._moment().writer.slots)
        act = self.rng.choice(("label", "params", "wrapped", "number", "recipient"))
        if act == "label":
            slot.label = b"edited"
        elif act == "params":
            slot.params = old.params
        elif act == "wrapped":
            slot.wrapped = old.wrapped
        elif act == "number":
            slot.slot += 10
        elif slot.kind == 3:
            slot.params = slot.params[:32] + _public(OUTSIDER)

    def slot_added(self):
        """Adds a slot of an older copy, under a free number."""
        slot = copy.deepcopy(self.rng.choice(self._moment().writer.slots))
        if slot.slot in {other.slot for other in self.store.slots}:
            slot.slot = max(other.slot for other in self.store.slots) + 1
        self.store.slots.append(slot)

    def spare_edited(self):
        self.store.odd = {"spare": self._moment().writer.spare}

    # With keys.

    def _forger(self):
        """A writer with the store's identity and form, and the insider's epoch keys in place of the store's."""
        forger = Writer("forger", titles=self.store.titles)
        forger.random, forger.store_id, forger.incompat = self.random, self.store.store_id, self.store.incompat
        forger.epochs = {number: copy.deepcopy(epoch) for number, epoch in self.keys.items()}
        forger.collections, forger.replicas, forger.own = self.store.collections, self.store.replicas, self.store.own
        return forger

    def _near(self, *numbers):
        """One of these numbers, or one beside it."""
        return max(1, self.rng.choice(numbers) + self.rng.choice((-1, 0, 0, 0, 1)))

    def _forgery(self, epoch):
        """The data of a forged row: a new row, or another text, title or place for a known one."""
        rng, now = self.rng, self.base
        closed = now.epochs.get(epoch)
        id = rng.choice((
            self._near(*sorted(now.records) or [1]), self._near(now.next_id, now.bound, now.cursor),
            self._near(closed.ceiling, closed.floor) if closed else self._near(1)))
        rev = rng.choice((1, self._near(closed.closed if closed and closed.closed else now.generation),
                          self._near(now.generation), rng.randint(1, now.generation)))
        born = rng.randrange(len(now.replicas)), self._near(1, rev, now.generation + now.lead)
        record = Record(
            id, rng.choice((1, 1, 2)), epoch, rev, place(rng.randrange(1, 2**40)), self.random(16), DocumentDots(born),
            f"{FORGED} {self.random(4).hex()}".encode() + b" and more" * rng.choice((0, 0, 300)), b"Forged title",
            key=rng.choice((None, b"key 1", b"forged key")))
        known = [moment.writer.records[id] for moment in self.moments if id in moment.writer.records]
        if known and rng.random() < 0.6:
            old = rng.choice(known)
            for name in ("coll", "pos", "key", "rev", "uid", "dots"):
                setattr(record, name, copy.deepcopy(getattr(old, name)))
        if record.key is not None and rng.random() < 0.2:
            record.flags = HELD_ELSEWHERE
        return record

    def _plant(self, record):
        self.store.records[record.id] = record
        self.forged.setdefault(record.id, []).append(copy.deepcopy(record))

    def row_forged(self):
        forger = self._forger()
        for _ in range(self.rng.randint(1, 2)):
            record = self._forgery(self.rng.choice(sorted(self.keys)))
            if self.rng.random() < 0.2:
                forger.titles = 1 - forger.titles
            forger.seal(record)
            self._plant(record)

    def row_mislabelled(self):
        """Plants a row that is sealed under one of the insider's keys, and named as a row of another epoch."""
        forger, other = self._forger(), self.rng.choice((self.now.writer.active, *self.now.writer.epochs))
        key = self.keys[self.rng.choice(sorted(self.keys))]
        record = self._forgery(self.rng.choice(sorted(self.keys)))
        record.epoch = other
        forger.epochs[other] = key
        forger.seal(record)
        self._plant(record)

    def head_forged(self):
        """Gives a row of the insider's epochs another title and place, and keeps its true text."""
        rows = [row for row in self.store.records.values() if row.epoch in self.keys]
        if not rows:
            return
        row, forger = self.rng.choice(sorted(rows, key=lambda row: row.id)), self._forger()
        row.title, row.pos = b"Forged title", place(self.rng.randrange(1, 2**40))
        row.column = row.title if forger.titles == 1 else None
        forger.seal_head(row)
        self._plant(row)

    def collection_forged(self):
        forger, coll = self._of_epoch(self._forger()), self.rng.choice((1, 2, 3))
        row = Collection(
            coll, self.rng.randint(1, self.now.writer.generation), self.random(16), CollectionDots((0, 1)), b"Forged name",
            FOLDED)
        forger.seal_collection(row)
        self.store.collections[coll] = row

    def deletion_forged(self):
        """A deletion of a document that there is, or of one that there never was."""
        forger, row = self._of_epoch(self._forger()), self._row()
        gone = self.rng.randint(1, max(self.store.deletions, default=0) + 1)
        deletion = Deletion(
            gone, self.rng.randint(1, self.now.writer.generation), row.uid if row else self.random(16), [(0, 1)], (0, 1))
        forger.seal_deletion(deletion)
        self.store.deletions[gone] = deletion

    def file_forged(self):
        """An attachment of a document that there is, new or in the place of another."""
        forger, row, old = self._of_epoch(self._forger()), self._row(), self._file()
        if row is None:
            return
        forger.records, forger.generation = self.store.records, self.now.writer.generation - 1
        forger.next_attachment = old.number if old and self.rng.random() < 0.7 else self.store.next_attachment
        new = forger.attach(row.id, b"forged.bin", self.random(self.rng.choice((10, 5000))), chunk_size=LEAST_CHUNK)
        self.store.attachments[new.number] = new

    def _of_epoch(self, forger):
        """The forger, whose active epoch is one of the insider's."""
        forger.active = self.rng.choice(sorted(self.keys))
        return forger

    # With a root key.

    def _root(self):
        """A moment of a root key that the insider holds, which opens the moment's keyring too."""
        held = self.rng.choice(self.held).writer.copy()
        held.random = self.random
        return held

    def own_store(self):
        """An old copy, edited and committed under its own root key, with any numbers."""
        own, rng, now = self._root(), self.rng, self.now.writer
        own.generation = rng.choice((own.generation, now.generation - 1, now.generation, now.generation + rng.randrange(1000)))
        if rng.random() < 0.4:
            own.rk_generation, own.phase = rng.choice((
                (now.rk_generation, now.phase), (now.rk_generation, now.phase + 1), (now.rk_generation + 1, 1),
                (own.rk_generation, own.phase + 1)))
        if rng.random() < 0.5:
            own.slots = [slot for slot in own.slots if slot.kind != 3]
            own.add_recipient(value(RECIPIENT), b"recipient", slot=3)
        if rng.random() < 0.3:
            own.slots = [copy.deepcopy(slot) for slot in now.slots]
        if rng.random() < 0.3:
            own.ring = {}
        if own.records and rng.random() < 0.7:
            own.change(rng.choice(sorted(own.records)), text=f"{FORGED} {self.random(4).hex()}".encode())
        if rng.random() < 0.5:
            own.add(1, f"{FORGED} {self.random(4).hex()}", title=b"Forged title")
        self._take_over(own)

    def _take_over(self, own):
        """Replaces the file; its forged texts count as forged, because a restored header of the store may open them."""
        for record in own.records.values():
            if record.text.startswith(FORGED.encode()):
                self.forged.setdefault(record.id, []).append(copy.deepcopy(record))
        self.store = own.commit()

    def outsiders_store(self):
        """Makes a store with this id and a new root key, wrapped for the recipient, whose public key is no secret."""
        now, own = self.now.writer, Writer("an outsider's store")
        own.random, own.store_id = self.random, now.store_id
        own.root = self.random(32)
        own.rk_generation, own.phase = self.rng.choice(((1, 1), (now.rk_generation, now.phase), (now.rk_generation + 1, 1)))
        own.generation = now.generation + self.rng.randrange(2)
        own.add_recipient(value(RECIPIENT), b"recipient", slot=3)
        own.add_key_file(OUTSIDER, b"key file", slot=1)
        own.add_collection(1, b"Notes")
        own.add(1, f"{FORGED} {self.random(4).hex()}", title=b"Forged title")
        self.store = own.commit()

    def state_forged(self):
        """Seals a state under an old root key, for the rows and the header of the file."""
        held = self._root()
        held.mac, held.generation = self.store.mac, self.now.writer.generation + self.rng.randrange(3)
        held._commit_header = held._settle = lambda *_: None
        held.records = {id: row for id, row in self.store.records.items() if row.epoch in held.epochs}
        held.collections, held.deletions = self.store.collections, self.store.deletions
        held.attachments, held.next_attachment = self.store.attachments, self.store.next_attachment
        held.sealed_replicas = self.store.sealed_replicas
        held.commit()
        self.store.sealed_state = held.sealed_state

    def header_forged(self):
        """Computes the header's MAC under an old root key, over the header and slots of the file."""
        store, held = self.store, self._root()
        slots = [pae(u32(s.slot), u32(s.kind), s.label, s.params, s.wrapped) for s in sorted(store.slots, key=lambda s: s.slot)]
        elements = [
            b"coffer3/header", u32(store.format), store.store_id, u64(store.incompat), u64(store.ro_compat),
            u64(store.compat), u32(store.titles), u64(store.rk_generation), u64(store.phase), store.rk_commit,
            store.keyring, *slots]
        store.mac = hmac(held._key(b"header-mac"), pae(*elements))
        store.spare = b"coffer3/spare" + pae(*elements, store.mac)

    def keyring_forged(self):
        """Seals a keyring of the insider's epochs under an old root key, with that key's commitment or the true one."""
        store, held = self.store, self._root()
        store.keyring = held.xseal(
            held._key(b"keyring"), pae(b"coffer3/keyring", store.store_id, u64(store.rk_generation), u64(store.phase)),
            held.keyring_plain())
        if self.rng.random() < 0.5:
            held.rk_generation = store.rk_generation
            store.rk_commit = held.commitment(store.phase)


def _public(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
