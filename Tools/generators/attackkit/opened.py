"""A writer that goes on from a store that any program made: it changes the rows in the file, and leaves the rest."""

import os
import sqlite3

from storereader.attachments import AttachmentRow, Content
from storereader.database import GENERATION_LIMIT
from storereader.store import Store

from . import dots, layout
from .attached import Attachment
from .dots import CollectionDots, DocumentDots
from .layout import COLLECTION, DETAILS
from .writer import Collection, Deletion, Record, Replica, Writer


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
        writer.generation, writer.next_id, writer.bound = state.generation, state.next_id, state.bound
        writer.target, writer.cursor, writer.unwiped, writer.lead = state.target, state.cursor, state.unwiped, state.lead
        writer.incompat, writer.next_attachment = header.incompat, state.next_attachment
        writer.index_identities = dict(enumerate(state.index_identities, 1))
        writer.extension, writer.state_plain, writer._has_new_root = state.extension, state.plaintext, False
        # The header stays as it is, and so do columns of parents and flags.
        writer._commit_header = lambda odd: None
        writer._settle = lambda: None
        self._read_replicas(store.replicas, state, store.mark)
        for generation, commit in state.ring.items():
            changes = {
                (change.kind, change.coll or None): {id for first, end in change.ranges for id in range(first, end)}
                for change in commit.changes}
            writer.ring[generation] = layout.ring_generation(commit.mark, changes)
        sealed = {values[0]: values[2] for values in store.collection_rows()}
        for c in store.all_collections().values():
            its_dots = CollectionDots(
                c.dots.born, _parts(c.dots, dots.COLLECTION_PARTS), c.dots.stamp, c.dots.is_dropped)
            writer.collections[c.coll] = Collection(
                c.coll, c.rev, c.uid, its_dots, c.name.encode(), c.settings.encode(), sealed[c.coll], c.extension)
        sealed = {values[0]: values[2] for values in store.deletion_rows()}
        for d in store.deletions().values():
            writer.deletions[d.gone] = Deletion(d.gone, d.rev, d.uid, d.dots, d.stamp, sealed[d.gone], d.extension)
        for values in store.record_rows():
            row, head, text = store.verified_document(values)
            its_dots = DocumentDots(
                head.dots.born, _parts(head.dots, dots.DOCUMENT_PARTS), head.dots.stamp,
                {name.encode(): dot for name, dot in head.dots.members.items()}, head.dots.kept)
            writer.records[row.id] = Record(
                row.id, row.coll, row.epoch, row.rev, row.pos, head.uid, its_dots, text.encode(),
                None if head.title is None else head.title.encode(), head.key, row.parent, head.parent, row.flags,
                head.attributes.encode(), head.created, head.modified, row.lookup, row.title, row.head, row.body_nt,
                extension=head.extension)
        for values in store.attachment_rows():
            a = AttachmentRow(values, store.context).open()
            content = b"".join(Content(store, a).chunks())
            writer.attachments[a.number] = Attachment(
                a.number, a.document, a.rev, a.uid, a.born, a.name_dot, a.name.encode(), a.media_type.encode(), content,
                a.key_epoch, a.keys, a.chunk_size, a.date, sealed=values[3], extension=a.extension)
        self._sealed = self._state(store.connection)

    def _read_replicas(self, replicas, state, mark):
        """The marks of the own replica are those of its row, those that the ring holds since, and that of the state."""
        writer = self.writer
        writer.own, writer.restored, writer.sealed_replicas = replicas.own, replicas.restored, replicas.sealed
        writer.replicas_extension, writer._has_new_replicas = replicas.extension, False
        writer.replicas = [
            Replica(one.identity, one.counter, one.range, one.rose, list(one.marks.items())) for one in replicas.list]
        own = replicas.list[replicas.own]
        marks = dict(own.marks) | {
            generation - 1 + state.lead: commit.mark[: layout.MARK_SIZE] for generation, commit in state.ring.items()
            if generation > own.rose}
        writer.marks = sorted((marks | {state.counter: mark[: layout.MARK_SIZE]}).items())[-layout.MARKS :]

    @staticmethod
    def _state(connection):
        return connection.execute("SELECT sealed FROM coffer_state").fetchone()[0]

    def change(self, row, entries):
        """Adds entries to a document, collection, deletion or attachment: no dot is new, since nothing that this version knows changes."""
        writer = self.writer
        _check_room(row.extension | entries, layout.SMALL_EXTENSION_SIZE if isinstance(row, Deletion) else layout.EXTENSION_SIZE)
        row.extension, row.rev = row.extension | entries, writer.generation + 1
        if isinstance(row, Record):
            writer.seal_head(row)
            writer._note(DETAILS, row.coll, row.id)
        elif isinstance(row, Deletion):
            writer.seal_deletion(row)
        elif isinstance(row, Attachment):
            writer.seal_attachment(row)
            writer._note_attachments(row.document)
        else:
            writer.seal_collection(row)
            writer._note(COLLECTION, row.coll)
        self.changed.append(row)

    def change_state_and_replicas(self, entries):
        writer = self.writer
        writer.extension, writer.replicas_extension = writer.extension | entries, writer.replicas_extension | entries
        for extension in (writer.extension, writer.replicas_extension):
            _check_room(extension, layout.SMALL_EXTENSION_SIZE)
        writer._has_new_replicas = True

    def save(self):
        """Commits the changes as the next generation."""
        if self.writer.generation + self.writer.lead == GENERATION_LIMIT:
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
                elif isinstance(row, Deletion):
                    sql, values = "UPDATE coffer_gone SET rev=?, sealed=? WHERE gone=?", (row.rev, row.sealed, row.gone)
                elif isinstance(row, Attachment):
                    sql = "UPDATE coffer_attachment SET rev=?, sealed=? WHERE attachment=?"
                    values = row.rev, row.sealed, row.number
                else:
                    sql, values = "UPDATE coffer_collection SET rev=?, sealed=? WHERE coll=?", (row.rev, row.sealed, row.coll)
                connection.execute(sql, values)
            connection.execute("UPDATE coffer_replica SET sealed=?", (writer.sealed_replicas,))
            connection.execute("UPDATE coffer_state SET sealed=?", (writer.sealed_state,))
            connection.execute("COMMIT")
        finally:
            connection.close()


def _parts(found, names):
    """The dots of parts that are not that of the birth."""
    return {name: getattr(found, name) for name in names if getattr(found, name) != found.born}


def _check_room(extension, limit):
    if len(layout.extension_part(extension)) > limit:
        raise ValueError("no room for another entry")
