"""An open store: FORMAT, "Reading" and "Key files, pin, anchor". Start here."""

import dataclasses
import hashlib
import sqlite3

from . import attachments, clashes, database, proofs
from .dots import Replicas
from .errors import Damaged, Newer, NotAStore, StoreError
from .header import TITLES, Header, attachments_feature
from .primitives import hmac
from .records import RECORD_COLUMNS, Context, EpochKeys, RecordRow, fold
from .sealedrows import CollectionRow, DeletionRow
from .state import State

# Of an entry longer than this, plain data has only the SHA-256.
LONG_ENTRY = 2048


def plain(row, head, text):
    """A document as plain data, with position, key and uids in hex."""
    return {
        "id": row.id, "coll": row.coll, "pos": row.pos.hex(), "parent": row.parent, "epoch": row.epoch, "rev": row.rev,
        "flags": row.flags, "title": head.title, "key": None if head.key is None else head.key.hex(),
        "created": head.created, "modified": head.modified, "length": head.length, "attributes": head.attributes,
        "uid": head.uid.hex(), "parent_uid": None if head.parent is None else head.parent.hex(),
        "dots": plain_dots(head.dots), "extension": plain_entries(head.extension), "text": text,
    }


def plain_dots(dots):
    """Dots by the names of their parts, each a list of replica and counter."""
    found = {name: list(value) for name, value in vars(dots).items() if isinstance(value, tuple)}
    members = getattr(dots, "members", None)
    return found if members is None else found | {"members": {name: list(dot) for name, dot in members.items()}}


def plain_replicas(replicas):
    """The row of replicas as plain data; `vector` has the own replica's present counter."""
    return {
        "own": replicas.own, "restored": replicas.restored, "vector": replicas.vector.counters,
        "replicas": [
            {"identity": one.identity.hex(), "counter": one.counter, "range": one.range, "rose": one.rose,
             "marks": [[counter, mark.hex()] for counter, mark in one.marks.items()]}
            for one in replicas.list],
        "extension": plain_entries(replicas.extension)}


def plain_deletion(deletion):
    return {
        "rev": deletion.rev, "uid": deletion.uid.hex(), "dots": [list(dot) for dot in deletion.dots],
        "stamp": list(deletion.stamp), "extension": plain_entries(deletion.extension)}


def plain_attachment(attachment):
    return {
        "number": attachment.number, "rev": attachment.rev, "uid": attachment.uid.hex(), "born": list(attachment.born),
        "name_dot": list(attachment.name_dot), "date": attachment.date, "name": attachment.name,
        "media_type": attachment.media_type, "length": attachment.length, "sha256": attachment.digest.hex(),
        "chunk_size": attachment.chunk_size, "chunks": attachment.chunk_count, "key_epoch": attachment.key_epoch,
        "keys_from": [first for first, _ in attachment.keys], "extension": plain_entries(attachment.extension)}


def plain_entries(extension):
    """The entries of an extension part as plain data; of a long one the SHA-256."""
    return [
        {"type": kind} | (
            {"bytes": data.hex()} if len(data) <= LONG_ENTRY else {"bytes_sha256": hashlib.sha256(data).hexdigest()})
        for kind, data in extension.items()]


def _check_known(id, head):
    if head.is_newer:
        raise Newer(f"document {id}: newer than this reader")


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
        # One read transaction to the end of this reader's life: every answer is of one moment.
        self.connection.execute("BEGIN")
        database.check_schema(self.connection, attachments_feature(database.incompat(self.connection)))
        header = self.header = Header(self.connection)
        if self.connection.execute("SELECT count(*) FROM coffer_state").fetchone() != (1,):
            raise Damaged("not exactly one state")
        header.check_bounds(secrets, allow_test)
        root_key = self.root_key = header.unlock(secrets)
        epochs, self.active_epoch, self.family_key = header.authenticate(root_key)
        self._anchor_key = header.key(root_key, "anchor")
        state = self.state = State(self.connection, header, header.key(root_key, "state"), self.active_epoch)
        self.replicas = Replicas(self.connection, header, header.key(root_key, "replicas"), state)
        self.epochs = {number: EpochKeys(header.store_id, number, epoch) for number, epoch in epochs.items()}
        self.context = Context(
            header.store_id, header.is_padded, header.titles, self.epochs, self.active_epoch,
            state.generation, state.bound, state.target, state.cursor, state.next_attachment)
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
        return self.rows("SELECT coll, rev, sealed FROM coffer_collection ORDER BY coll")

    def deletion_rows(self):
        return self.rows("SELECT gone, rev, sealed FROM coffer_gone ORDER BY gone")

    def attachment_rows(self):
        if not self.header.has_attachments:
            return ()
        return self.rows(f"SELECT {attachments.COLUMNS} FROM coffer_attachment NOT INDEXED ORDER BY attachment")

    def record_rows(self):
        """A table scan, so that no index can hide a row."""
        return self.rows(f"SELECT {RECORD_COLUMNS} FROM coffer_record NOT INDEXED ORDER BY id")

    def rows(self, sql, *parameters):
        try:
            yield from self.connection.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise Damaged(f"SQLite: {error}") from None

    def all_collections(self):
        """Every collection by number, dropped ones too; raises at the first that is damaged."""
        return {row[0]: CollectionRow(row, self.context).open() for row in self.collection_rows()}

    def collections(self):
        """The listed collections by number: dropped ones only while documents are in them."""
        used = {coll for (coll,) in self.rows("SELECT DISTINCT coll FROM coffer_record NOT INDEXED")}
        return {
            coll: collection for coll, collection in self.all_collections().items()
            if not collection.dots.is_dropped or coll in used}

    def names(self):
        """The names that the listed collections are read by, by number: of equal names one is as it is stored."""
        return clashes.names(self.collections().values(), self.replicas.vector)

    def deletions(self):
        """The deletions by number; raises at the first that is damaged or newer. Nothing but a verify reads them."""
        return {row[0]: DeletionRow(row, self.context).open() for row in self.deletion_rows()}

    def listing(self, coll):
        """Rows and heads of a collection in order; raises Newer at a newer document."""
        for row, head in self._listed(coll):
            _check_known(row.id, head)
            yield row, head

    def order(self, coll):
        """The ids of a collection's documents in order, newer ones too."""
        return [row.id for row, _ in self._listed(coll)]

    def _listed(self, coll):
        """Rows and heads as the index gives them and the rows confirm."""
        last = None
        sql = f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE coll = ? ORDER BY pos, id"
        for values in self.rows(sql, coll):
            row = RecordRow(values, self.context)
            head = row.open_head()
            if row.coll != coll or last is not None and (row.pos, row.id) <= last:
                raise Damaged(f"document {row.id}: the index gives it out of place")
            last = (row.pos, row.id)
            yield row, head

    def document(self, id):
        """Row, head and text of a document, or None where there is none."""
        values = next(self.rows(f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE id = ?", id), None)
        return None if values is None else self.open_document(values)

    def open_document(self, values):
        """Row, head and text, the head without a key that another document holds; raises Newer for a newer document."""
        row, head, text = self.verified_document(values)
        _check_known(row.id, head)
        if not row.is_holder:
            head = dataclasses.replace(head, key=None)
        return row, head, text

    def verified_document(self, values):
        """The same with the head as it is, for a newer document too."""
        row = RecordRow(values, self.context)
        head = row.open_head()
        sql = "SELECT body, ct FROM coffer_record r LEFT JOIN coffer_body b ON b.id = r.id WHERE r.id = ?"
        return row, head, row.open_text(*next(self.rows(sql, row.id), (None, None)), head)

    # Keys.

    def find(self, coll, key):
        """The id of the document that holds an external key, or None."""
        folded = self._folded(coll, key)
        sql = f"SELECT {RECORD_COLUMNS} FROM coffer_record WHERE coll = ? AND lookup = ? AND flags < 2"
        for keys in self.epochs.values():
            for values in self.rows(sql, coll, keys.lookup(coll, folded)):
                row = RecordRow(values, self.context)
                head = row.open_head()
                if row.coll != coll or not row.is_holder or head.key is None or self._folded(coll, head.key) != folded:
                    raise Damaged(f"document {row.id}: found by a key that it does not hold")
                _check_known(row.id, head)
                return row.id
        return None

    def _folded(self, coll, key):
        """The key as its collection compares it; of a collection that is gone, byte by byte."""
        values = next(self.rows("SELECT coll, rev, sealed FROM coffer_collection WHERE coll = ?", coll), None)
        return fold(key) if values and CollectionRow(values, self.context).open().folding else key

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
        """A writer's checks before its first row: the state is not older than the rows, and the next id is free."""
        highest = self.connection.execute("SELECT max(id) FROM coffer_record").fetchone()[0]
        if highest is not None and highest >= self.state.bound:
            raise Damaged("the state is older than the rows")
        if self.connection.execute("SELECT 1 FROM coffer_record WHERE id = ?", (self.state.next_id,)).fetchone():
            raise Damaged("the next id is that of a document")
