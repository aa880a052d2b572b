"""An open store: FORMAT, "State", "Reading" and "Key files, pin, anchor". Start here."""

import hashlib
import sqlite3
from collections import Counter

from . import database, indexes, proofs
from .errors import Damaged, Newer, NotAStore, StoreError
from .header import TITLES, Header
from .primitives import SetHash, hmac
from .records import INLINE_LIMIT, RECORD_COLUMNS, CollectionRow, Context, EpochKeys, RecordRow, fold
from .state import State

# Of an entry longer than this, plain data has only the SHA-256.
LONG_ENTRY = 2048
# A body in two places, in none, or in the one where its length does not belong.
_MISPLACED = f"""
SELECT r.id FROM coffer_record r NOT INDEXED LEFT JOIN coffer_body b ON b.id = r.id
WHERE (r.body IS NULL) = (b.id IS NULL) OR typeof(r.body) NOT IN ('null', 'blob')
OR length(r.body) NOT BETWEEN 8 AND {INLINE_LIMIT} OR typeof(b.ct) NOT IN ('null', 'blob')
OR length(b.ct) <= {INLINE_LIMIT}
"""


def plain(row, head, text):
    """A document as plain data, with position, key and uid in hex."""
    return {
        "id": row.id, "coll": row.coll, "pos": row.pos.hex(), "parent": row.parent, "epoch": row.epoch, "rev": row.rev,
        "flags": row.flags, "title": head.title, "key": None if head.key is None else head.key.hex(),
        "created": head.created, "modified": head.modified, "length": head.length, "born": head.born,
        "edited": head.edited, "placed": head.placed, "uid": head.uid.hex(), "attributes": head.attributes,
        "extension": plain_entries(head.extension), "text": text,
    }


def plain_entries(extension):
    """The entries of an extension part as plain data; of a long one the SHA-256."""
    return [
        {"type": kind} | (
            {"bytes": data.hex()} if len(data) <= LONG_ENTRY else {"bytes_sha256": hashlib.sha256(data).hexdigest()})
        for kind, data in extension.items()]


def _check_known(row, head):
    if head.is_newer:
        raise Newer(f"document {row.id}: newer than this reader")


class Store:
    """Opens for reading, or raises a StoreError. Every check of the page's "Opening", in its order."""

    def __init__(self, path, secrets, allow_test=False, pin=None, anchor=None, descends=False):
        self.connection = database.connect(path)
        try:
            self._open(secrets, allow_test)
        except sqlite3.DatabaseError as error:
            not_a_database = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
            raise (NotAStore if not_a_database else Damaged)(f"SQLite: {error}") from None
        if pin is not None:
            proofs.check_pin(self, pin)
        self._is_new_key_known = pin is not None
        self.descent = None if anchor is None else self.check_anchor(anchor, descends)

    def _open(self, secrets, allow_test):
        database.check_kind(self.connection)
        database.check_schema(self.connection)
        # One read transaction to the end of this reader's life: every answer is of one moment.
        self.connection.execute("BEGIN")
        header = self.header = Header(self.connection)
        if self.connection.execute("SELECT count(*) FROM coffer_state").fetchone() != (1,):
            raise Damaged("not exactly one state")
        header.check_bounds(secrets, allow_test)
        self.root_key = header.unlock(secrets)
        state_key, self._anchor_key, epochs, self.active_epoch = header.authenticate(self.root_key)
        state = self.state = State(self.connection, header, state_key, self.active_epoch)
        self.epochs = {number: EpochKeys(header.store_id, number, epoch) for number, epoch in epochs.items()}
        self.context = Context(
            header.store_id, header.is_padded, header.titles, self.epochs, self.active_epoch,
            state.generation, state.next_id, state.target, state.cursor)
        self._check_collections()

    def _check_collections(self):
        """A newer collection makes the store newer; a damaged one is found where it is read."""
        try:
            for values in self.collection_rows():
                try:
                    CollectionRow(values, self.context).open()
                except Damaged:
                    continue
        except Damaged:
            pass  # SQLite finds no more rows.

    @property
    def titles(self):
        return TITLES[self.header.titles]

    def commitment(self, phase):
        return self.header.commitment(self.root_key, phase)

    @property
    def mark(self):
        return hmac(self._anchor_key, self.state.plaintext)

    @property
    def anchor(self):
        header = self.header
        return (
            f"coffer3:{header.store_id.hex()}:{header.rk_generation}:{header.phase}:{self.state.generation}"
            f":{header.rk_commit.hex()}:{self.mark.hex()}"
        )

    def check_anchor(self, line, descends=False):
        """Raises if the store is older than the anchor or no descendant of it; gives the result that is proved."""
        return proofs.check_anchor(self, line, descends, self._is_new_key_known)

    # Rows. The reader opens each row separately, so that a damaged row harms no other.

    def collection_rows(self):
        return self._rows("SELECT coll, epoch, rev, sealed FROM coffer_collection ORDER BY coll")

    def record_rows(self):
        """A table scan, so that no index can hide a row."""
        return self._rows(f"SELECT {RECORD_COLUMNS} FROM coffer_record NOT INDEXED ORDER BY id")

    def _rows(self, sql, *parameters):
        try:
            yield from self.connection.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise Damaged(f"SQLite: {error}") from None

    def collections(self):
        """Every collection by number; raises at the first that is damaged."""
        return {row[0]: CollectionRow(row, self.context).open() for row in self.collection_rows()}

    def listing(self, coll):
        """Rows and heads of a collection in order; raises Newer at a newer document."""
        for row, head in self._listed(coll):
            _check_known(row, head)
            yield row, head

    def order(self, coll):
        """The ids of a collection's documents in order, newer ones too."""
        return [row.id for row, _ in self._listed(coll)]

    def _listed(self, coll):
        """Rows and heads as the index gives them and the rows confirm."""
        last = None
        sql = f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE coll = ? ORDER BY pos, id"
        for values in self._rows(sql, coll):
            row = RecordRow(values, self.context)
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
        """Row, head and text; raises Newer for a newer document."""
        row, head, text = self.verified_document(values)
        _check_known(row, head)
        return row, head, text

    def verified_document(self, values):
        """The same, for a newer document too."""
        row = RecordRow(values, self.context)
        head = row.open_head()
        sql = "SELECT body, ct FROM coffer_record r LEFT JOIN coffer_body b ON b.id = r.id WHERE r.id = ?"
        return row, head, row.open_text(*next(self._rows(sql, row.id), (None, None)), head)

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
        """The differences from the state: the verdict "mismatch"."""
        sums, count = SetHash(), 0
        for values in self.record_rows():
            count += 1
            self._add_element(sums, RecordRow, values)
        for values in self.collection_rows():
            self._add_element(sums, CollectionRow, values)
        problems = []
        if count != self.state.count:
            problems.append(f"{count} documents, and the state counts {self.state.count}")
        if sums.total() != self.state.set_hash:
            problems.append("the set hash differs: rows are missing, changed or older")
        return problems

    def _add_element(self, sums, kind, values):
        try:
            sums.add(kind(values, self.context).element_hash())
        except StoreError:
            pass  # A row that cannot be an element leaves a difference.

    def quick_problems(self):
        """The faults found in all rows without opening them, except for set hash and count."""
        problems = [bytes(row[0]).decode("utf-8", "replace") for row in self._rows("PRAGMA integrity_check")]
        if problems == ["ok"]:
            problems = []
        copies = [copy for (copy,) in self._rows("SELECT copy FROM coffer_spare")]
        if copies != [self.header.spare] or type(copies[0]) is not bytes:
            problems.append("the spare copy of the header is not the header's")
        for what, sql in {
            "its body is missing, or not in its place": _MISPLACED,
            "body without a record": "SELECT id FROM coffer_body WHERE id NOT IN (SELECT id FROM coffer_record)",
        }.items():
            problems += [f"document {id}: {what}" for (id,) in self._rows(sql)]
        for what, kind, rows in (
            ("collection", CollectionRow, self.collection_rows()), ("document", RecordRow, self.record_rows())
        ):
            last = 0
            for values in rows:
                # The set hash does not see 2^16 equal rows.
                if values[0] <= last:
                    problems.append(f"{what} {values[0]}: numbers do not rise")
                last = values[0]
                try:
                    kind(values, self.context).check_epoch()
                except StoreError as error:
                    problems.append(str(error))
        return problems

    def deep_problems(self):
        """Every name, head, body, lookup and listing opened."""
        problems, collections = [], {}
        for values in self.collection_rows():
            try:
                collections[values[0]] = CollectionRow(values, self.context).open()
            except StoreError as error:
                problems.append(str(error))
        names = [collection.name for collection in collections.values()]
        if len(set(names)) != len(names):
            problems.append("two collections have one name")
        for values in self.record_rows():
            try:
                row, head, _ = self.verified_document(values)
                problems += self._place_problems(row, head, collections)
            except StoreError as error:
                problems.append(str(error))
        stored = Counter(values[1] for values in self.record_rows())
        for coll in collections:
            try:
                if len(self.order(coll)) != stored[coll]:
                    problems.append(f"collection {coll}: the index hides documents")
            except StoreError as error:
                problems.append(str(error))
        return list(dict.fromkeys(problems + indexes.problems(self)))

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

    def newer_documents(self):
        """The ids of the documents that only a later version can read. That alone is no fault."""
        found = []
        for values in self.record_rows():
            try:
                row = RecordRow(values, self.context)
                found += [row.id] if row.open_head().is_newer else []
            except StoreError:
                continue
        return found

    def check_writable(self):
        """A writer's check before its first row: the state is not older than the rows."""
        highest = self.connection.execute("SELECT max(id) FROM coffer_record").fetchone()[0]
        if highest is not None and highest >= self.state.next_id:
            raise Damaged("the state is older than the rows")
