"""An open store: FORMAT, "State", "Reading" and "Key files, pin, anchor". Start here."""

import re
import sqlite3
from collections import Counter

from . import database
from .database import blob, integer, short
from .errors import Damaged, Mismatch, NotAStore, RolledBack, StoreError
from .header import TITLES, Header
from .primitives import XAES, Cursor, hmac, pae
from .records import RECORD_COLUMNS, CollectionRow, Context, EpochKeys, RecordRow, fold

STATE_SIZE = 124
_ANCHOR = re.compile(r"coffer1:([0-9a-f]{32}):(0|[1-9][0-9]{0,18}):([0-9a-f]{32})")


class State:
    def __init__(self, connection, header, key):
        rows = connection.execute("SELECT sealed FROM coffer_state").fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one state")
        sealed = blob(rows[0][0], "state", STATE_SIZE + 40)
        self.plaintext = XAES(key).open_blob(sealed, pae(b"coffer1/state", header.store_id), "state")
        fields = Cursor(self.plaintext, "state")
        self.generation = integer(fields.unsigned(8), "state: generation", 1)
        self.next_id = integer(fields.unsigned(8), "state: next id", 1)
        self.count = integer(fields.unsigned(8), "state: count")
        self.set_hash = fields.unsigned(32)
        self.target = short(fields.unsigned(4), "state: target", 0)
        self.cursor = integer(fields.unsigned(8), "state: cursor")
        self.header_mac = fields.take(32)
        self.origin = fields.take(16)
        self.origin_generation = integer(fields.unsigned(8), "state: origin generation")
        if self.header_mac != header.mac:
            raise RolledBack("the state belongs to another header: one of them is older")


class Store:
    """Opens for reading, or raises a StoreError. Every check of the page's "Opening", in its order."""

    def __init__(self, path, secrets, allow_test=False, pin=None, anchor=None):
        self.connection = database.connect(path)
        try:
            self._open(secrets, allow_test)
        except sqlite3.DatabaseError as error:
            not_a_database = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
            raise (NotAStore if not_a_database else Damaged)(f"SQLite: {error}") from None
        if pin is not None and pin != self.header.pin:
            raise Mismatch("another store than the pin says")
        if anchor is not None:
            self.check_anchor(anchor)

    def _open(self, secrets, allow_test):
        database.check_kind(self.connection)
        database.check_schema(self.connection)
        # One read transaction to the end of this reader's life: every answer is of one moment.
        self.connection.execute("BEGIN")
        header = self.header = Header(self.connection)
        if self.connection.execute("SELECT count(*) FROM coffer_state").fetchone() != (1,):
            raise Damaged("not exactly one state")
        header.check_bounds(secrets, allow_test)
        root_key = header.unlock(secrets)
        state_key, self._anchor_key, epochs, self.active_epoch = header.authenticate(root_key)
        self.state = State(self.connection, header, state_key)
        self.epochs = {epoch: EpochKeys(header.store_id, epoch, key) for epoch, key in epochs.items()}
        self._context = Context(
            header.store_id, header.is_padded, header.titles, self.epochs,
            self.state.generation, self.state.next_id, self.state.target)

    @property
    def titles(self):
        return TITLES[self.header.titles]

    @property
    def anchor(self):
        digest = hmac(self._anchor_key, self.state.plaintext)[:16]
        return f"coffer1:{self.header.store_id.hex()}:{self.state.generation}:{digest.hex()}"

    def check_anchor(self, line):
        """Raises where the store is older than the anchor, or not the same."""
        match = _ANCHOR.fullmatch(line)
        if not match:
            raise ValueError("not an anchor line")
        if match[1] != self.header.store_id.hex():
            raise Mismatch("the anchor is another store's")
        generation = int(match[2])
        if self.state.generation < generation:
            raise RolledBack("the store is older than its anchor")
        if self.state.generation == generation and line != self.anchor:
            raise Mismatch("the store is not the one that was anchored")

    # Rows. Each is opened on its own, so that one that is damaged takes no other with it.

    def collection_rows(self):
        return self._rows("SELECT coll, epoch, rev, sealed FROM coffer_collection ORDER BY coll")

    def record_rows(self):
        """By table scan, so that no index can hide a row."""
        return self._rows(f"SELECT {RECORD_COLUMNS} FROM coffer_record NOT INDEXED ORDER BY id")

    def _rows(self, sql, *parameters):
        try:
            yield from self.connection.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise Damaged(f"SQLite: {error}") from None

    def collections(self):
        """Every collection by number; raises at the first that is damaged."""
        return {row[0]: CollectionRow(row, self._context).open() for row in self.collection_rows()}

    def listing(self, coll):
        """Rows and heads of a collection in order, as the index gives them and the rows confirm."""
        last = None
        sql = f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE coll = ? ORDER BY pos, id"
        for values in self._rows(sql, coll):
            row = RecordRow(values, self._context)
            head = row.open_head()
            if row.coll != coll or last is not None and (row.pos, row.id) <= last:
                raise Damaged(f"document {row.id}: the index gives it out of place")
            last = (row.pos, row.id)
            yield row, head

    def document(self, id):
        """Row, head and text of a document, or None where there is none."""
        values = next(self._rows(f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE id = ?", id), None)
        return None if values is None else self.open_document(values)

    def open_document(self, values):
        row = RecordRow(values, self._context)
        head = row.open_head()
        body = next(self._rows("SELECT ct FROM coffer_body WHERE id = ?", row.id), None)
        if body is None:
            raise Damaged(f"document {row.id}: without a body")
        return row, head, row.open_text(body[0], head.length)

    def find(self, coll, key):
        """The id of the document with an external key, or None."""
        collection = self.collections()[coll]
        folded = fold(key) if collection.folding else key
        for keys in self.epochs.values():
            sql = "SELECT id FROM coffer_record WHERE coll = ? AND lookup = ?"
            for (id,) in self._rows(sql, coll, keys.lookup(coll, folded)):
                row, head, _ = self.document(id)
                found = fold(head.key) if collection.folding else head.key
                if row.coll != coll or found != folded:
                    raise Damaged(f"document {id}: found by a key that is not its own")
                return id
        return None

    # Verify.

    def set_hash_problems(self):
        """What differs from the state: the verdict "mismatch"."""
        total, count = 0, 0
        for values in self.record_rows():
            count += 1
            total += self._element_hash(RecordRow, values)
        for values in self.collection_rows():
            total += self._element_hash(CollectionRow, values)
        problems = []
        if count != self.state.count:
            problems.append(f"{count} documents, and the state counts {self.state.count}")
        if total % 2**256 != self.state.set_hash:
            problems.append("the set hash differs: rows are missing, changed or older")
        return problems

    def _element_hash(self, kind, values):
        try:
            return kind(values, self._context).element_hash()
        except StoreError:
            return 0  # A row that cannot be an element leaves a difference.

    def quick_problems(self):
        """What a look at all rows without opening them shows, set hash and count apart."""
        problems = [bytes(row[0]).decode("utf-8", "replace") for row in self._rows("PRAGMA integrity_check")]
        if problems == ["ok"]:
            problems = []
        orphans = {
            "record without a body": "SELECT id FROM coffer_record WHERE id NOT IN (SELECT id FROM coffer_body)",
            "body without a record": "SELECT id FROM coffer_body WHERE id NOT IN (SELECT id FROM coffer_record)",
        }
        for what, sql in orphans.items():
            problems += [f"document {id}: {what}" for (id,) in self._rows(sql)]
        for kind, rows in ((CollectionRow, self.collection_rows()), (RecordRow, self.record_rows())):
            for values in rows:
                try:
                    kind(values, self._context)
                except StoreError as error:
                    problems.append(str(error))
        return problems

    def deep_problems(self):
        """Every name, head, body, lookup and listing opened."""
        problems, collections = [], {}
        for values in self.collection_rows():
            try:
                collections[values[0]] = CollectionRow(values, self._context).open()
            except StoreError as error:
                problems.append(str(error))
        names = [collection.name for collection in collections.values()]
        if len(set(names)) != len(names):
            problems.append("two collections have one name")
        for values in self.record_rows():
            try:
                row, head, _ = self.open_document(values)
                problems += self._place_problems(row, head, collections)
            except StoreError as error:
                problems.append(str(error))
        stored = Counter(values[1] for values in self.record_rows())
        for coll in collections:
            try:
                if sum(1 for _ in self.listing(coll)) != stored[coll]:
                    problems.append(f"collection {coll}: the index hides documents")
            except StoreError as error:
                problems.append(str(error))
        return list(dict.fromkeys(problems))

    def _place_problems(self, row, head, collections):
        if row.coll not in collections:
            return [f"document {row.id}: its collection is gone"]
        if head.key is None:
            return []
        try:
            key = fold(head.key) if collections[row.coll].folding else head.key
        except UnicodeDecodeError:
            return [f"document {row.id}: a folded key that is not UTF-8"]
        return [] if row.keys.lookup(row.coll, key) == row.lookup else [f"document {row.id}: not found by its key"]

    def check_writable(self):
        """What a writer checks before its first row: the state is not older than the rows."""
        highest = self.connection.execute("SELECT max(id) FROM coffer_record").fetchone()[0]
        if highest is not None and highest >= self.state.next_id:
            raise Damaged("the state is older than the rows")
