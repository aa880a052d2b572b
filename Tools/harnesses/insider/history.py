"""A store's history from a seed, with every moment kept: rekeys of all kinds, and writes before, during and after them."""

import hashlib
import random
from dataclasses import dataclass

from attackkit.attachmentstores import LEAST_CHUNK
from attackkit.keys import Random
from attackkit.positions import place
from attackkit.secrets import IDENTITY, KEY, NEXT, PASSPHRASE, RECIPIENT, REMOVED, key_line, value
from attackkit.starting import FOLDED
from attackkit.writer import CLEAR, SEALED, Writer

THIRD = key_line("key", hashlib.sha256(b"Coffer published test key: third").digest())
KEYS = (KEY, NEXT, THIRD)


@dataclass
class Moment:
    """The store after one commit, and the secrets that open it: by name, key lines or passphrases."""

    index: int
    label: str
    writer: Writer
    secrets: dict

    @property
    def root(self):
        return self.writer.rk_generation


def file_of(row):
    """An attachment as its owner finds it."""
    return row.document, row.number, row.name.decode(), row.digest.hex()


class History:
    """`moments` in order; `versions` by id: every row that the store ever held, with the moment that wrote it; `files`:
    the attachments that it ever held, each with the root key under which its row was sealed, and the row's `rev`."""

    def __init__(self, seed):
        self.rng, self.moments, self.versions, self.files = random.Random(seed), [], {}, set()
        rng = self.rng
        self.writer = Writer(seed, titles=rng.choice((SEALED, SEALED, CLEAR)), padded=rng.random() < 0.7)
        self.key, self.secrets, self.texts = KEYS[0], {}, 0
        self._slots(self.writer)
        self._commit("created")
        self.writer.add_collection(1, b"Notes")
        self.writer.add_collection(2, b"More", FOLDED)
        for _ in range(rng.randint(4, 7)):
            self._add()
        for _ in range(3):
            self._attach()
        self._commit("filled")
        for _ in range(rng.randint(2, 3)):
            self._live()
            self._rekey()
        self._live()

    def _slots(self, writer):
        """The slots of a root key: always a key file, the others by chance."""
        self.secrets = {"key": self.key}
        writer.add_key_file(value(self.key), b"key file", slot=1)
        if self.rng.random() < 0.4:
            writer.add_passphrase(value(PASSPHRASE), b"words", slot=2)
            self.secrets["passphrase"] = PASSPHRASE
        if self.rng.random() < 0.6:
            writer.add_recipient(value(RECIPIENT), b"recipient", slot=3)
            self.secrets["identity"] = IDENTITY

    def _commit(self, label):
        writer = self.writer.commit().copy()
        moment = Moment(len(self.moments), f"{label} ({len(self.moments)})", writer, dict(self.secrets))
        self.moments.append(moment)
        for record in writer.records.values():
            known = self.versions.setdefault(record.id, [])
            if all(record.head != other.head for _, other in known):
                known.append((moment.index, record))
        self.files |= {(moment.root, row.rev, file_of(row)) for row in writer.attachments.values()}

    def _text(self):
        self.texts += 1
        return f"Text {self.texts}." + " And more." * self.rng.choice((0, 0, 0, 5, 300))

    def _add(self):
        key = f"key {self.texts}".encode() if self.rng.random() < 0.5 else None
        self.writer.add(self.rng.choice((1, 1, 2)), self._text(), title=f"Title {self.texts}".encode(), key=key)

    def _attach(self):
        self.texts += 1
        content = hashlib.shake_128(f"content {self.texts}".encode()).digest(self.rng.choice((0, 10, 5000, 10_000)))
        self.writer.attach(
            self.rng.choice(sorted(self.writer.records)), f"file {self.texts}".encode(), content, chunk_size=LEAST_CHUNK)

    def _write(self):
        """A user's commit of one change."""
        writer, rng = self.writer, self.rng
        act = rng.choice(("add", "text", "text", "title", "move", "delete", "rename", "slot", "replica", "attach",
                          "detach", "rename file"))
        id = rng.choice(sorted(writer.records)) if writer.records else None
        if act == "add" or id is None or act == "delete" and len(writer.records) < 4:
            self._add()
        elif act == "text":
            writer.change(id, text=self._text().encode())
        elif act == "title":
            self.texts += 1
            writer.change(id, title=f"Title {self.texts}".encode())
        elif act == "move":
            writer.change(id, pos=place(rng.randrange(1, 2**40)))
        elif act == "delete":
            writer.delete(id)
        elif act == "attach" or act in ("detach", "rename file") and not writer.attachments:
            self._attach()
        elif act == "detach":
            writer.remove_attachment(rng.choice(sorted(writer.attachments)), keeps_chunks=rng.random() < 0.3)
        elif act == "rename file":
            self.texts += 1
            writer.rename_attachment(rng.choice(sorted(writer.attachments)), f"file {self.texts}".encode())
        elif act == "rename":
            self.texts += 1
            writer.change_collection(rng.choice((1, 2)), name=f"Name {self.texts}".encode())
        elif act == "replica":
            writer.add_replica(rng.randrange(1, 8192))
            writer.change(id, text=self._text().encode())
        elif "removed" in self.secrets:
            del writer.slots[-1], self.secrets["removed"]
        else:
            writer.add_key_file(value(REMOVED), b"to be removed")
            self.secrets["removed"] = REMOVED
        self._commit(act)

    def _live(self):
        for _ in range(self.rng.randint(1, 4)):
            self._write()

    def _rekey(self):
        """A rekey: in full, of keys only, or taken over by a second one in its middle; with writes between batches."""
        rng, writer = self.rng, self.writer
        kind = rng.choice(("full", "full", "full", "keys only", "taken over"))
        for turn in range(2 if kind == "taken over" else 1):
            writer.random = Random(f"{writer.store_id.hex()} {writer.rk_generation}")
            if rng.random() < 0.6:
                self.key = KEYS[(KEYS.index(self.key) + 1) % len(KEYS)]
            titles = 1 - writer.titles if rng.random() < 0.2 else None
            writer.change_root(self._slots, titles)
            self._commit("rekey begun")
            if kind == "keys only":
                return
            while (left := self._left()) and not (kind == "taken over" and turn == 0 and len(left) < 4):
                writer.reseal(*left[: rng.randint(1, 2)])
                self._commit("rekey batch")
                if rng.random() < 0.4:
                    self._write()
        while number := next((n for n, row in writer.attachments.items() if self._has_old_key(row)), None):
            writer.reseal_chunks(number, 2)
            self._commit("rekey batch of chunks")
            if rng.random() < 0.2:
                self._write()
        writer.end_rekey()
        self._commit("rekey ended")

    def _has_old_key(self, row):
        return row.key_epoch < self.writer.target or len(row.keys) > 1

    def _left(self):
        return [id for id, record in sorted(self.writer.records.items())
                if record.epoch < self.writer.target and id >= self.writer.cursor]
