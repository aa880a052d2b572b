"""A writer that goes on from a store that any program made: it changes the rows in the file, and leaves the rest."""

import os
import sqlite3

from storereader.database import COUNTER_LIMIT
from storereader.records import CollectionRow, RecordRow
from storereader.store import Store

from . import layout
from .layout import COLLECTION, DETAILS
from .writer import Collection, Record, Writer

# The origin's bytes in the state.
ORIGIN = slice(2116, 2229)


class Opened:
    """`writer` holds rows and state as they are in the file; `save` writes those that `change` sealed again."""

    def __init__(self, path, secret):
        self.path, self.changed = path, []
        store = Store(path, [secret], allow_test=True)
        try:
            self._read(store)
        finally:
            store.connection.close()

    def _read(self, store):
        header, state = store.header, store.state
        if len(store.epochs) > 1:
            raise ValueError("a rekey is under way")
        writer = self.writer = Writer("", header.titles, header.is_padded)
        writer.random = os.urandom
        writer.store_id, writer.root, writer.mac = header.store_id, store.root_key, header.mac
        writer.rk_generation, writer.phase, writer.rk_commit = header.rk_generation, header.phase, header.rk_commit
        writer.active, writer.epochs = store.active_epoch, {store.active_epoch: store.epochs[store.active_epoch].epoch}
        writer.generation, writer.next_id, writer.unwiped = state.generation, state.next_id, state.unwiped
        writer.target, writer.cursor, writer.origin = state.target, state.cursor, state.plaintext[ORIGIN]
        writer.extension, writer.state_plain, writer._has_new_root = state.extension, state.plaintext, False
        # The header stays as it is.
        writer._commit_header = lambda odd: None
        for generation, commit in state.ring.items():
            changes = {
                (change.kind, change.coll or None): {id for first, end in change.ranges for id in range(first, end)}
                for change in commit.changes}
            writer.ring[generation] = layout.ring_generation(commit.mark, changes)
        for values in store.collection_rows():
            c = CollectionRow(values, store.context).open()
            writer.collections[c.coll] = Collection(
                c.coll, c.epoch, c.rev, c.born, c.edited, c.uid, c.name.encode(), c.settings.encode(), values[3], c.extension)
        for values in store.record_rows():
            row, head, text = store.verified_document(values)
            writer.records[row.id] = Record(
                row.id, row.coll, row.epoch, row.rev, row.pos, head.born, head.edited, head.placed, head.uid, text.encode(),
                None if head.title is None else head.title.encode(), head.key, row.parent, row.flags,
                head.attributes.encode(), head.created, head.modified, row.lookup, row.title, row.head, row.body_nt,
                extension=head.extension)
        self._sealed = self._state(store.connection)

    @staticmethod
    def _state(connection):
        return connection.execute("SELECT sealed FROM coffer_state").fetchone()[0]

    def change(self, row, entries):
        """Adds entries to a document or a collection: no stamp moves, since nothing that this version knows changes."""
        writer = self.writer
        _check_room(row.extension | entries, layout.EXTENSION_SIZE)
        row.extension, row.rev = row.extension | entries, writer.generation + 1
        if isinstance(row, Record):
            writer.seal_head(row)
            writer._note(DETAILS, row.coll, row.id)
        else:
            writer.seal_collection(row)
            writer._note(COLLECTION, row.coll)
        self.changed.append(row)

    def change_state(self, entries):
        self.writer.extension = self.writer.extension | entries
        _check_room(self.writer.extension, layout.STATE_EXTENSION_SIZE)

    def save(self):
        """Commits the changes as the next generation."""
        if self.writer.generation == COUNTER_LIMIT:
            raise ValueError("the last generation there is")
        writer = self.writer.commit()
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            if self._state(connection) != self._sealed:
                raise ValueError("another program has written meanwhile")
            for row in self.changed:
                if isinstance(row, Record):
                    sql, values = "UPDATE coffer_record SET rev=?, head=? WHERE id=?", (row.rev, row.head, row.id)
                else:
                    sql, values = "UPDATE coffer_collection SET rev=?, sealed=? WHERE coll=?", (row.rev, row.sealed, row.coll)
                connection.execute(sql, values)
            connection.execute("UPDATE coffer_state SET sealed=?", (writer.sealed_state,))
            connection.execute("COMMIT")
        finally:
            connection.close()


def _check_room(extension, limit):
    if len(layout.extension_part(extension)) > limit:
        raise ValueError("no room for another entry")
