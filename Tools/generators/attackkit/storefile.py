"""The files of stores that are written, and connections that make the same bytes with every SQLite."""

import sqlite3
from pathlib import Path

from . import layout


def save(writer, path):
    """Writes the file of a store as its writer holds it."""
    Path(path).unlink(missing_ok=True)
    with database(path) as db:
        db.execute(f"PRAGMA page_size={writer.page_size}")
        db.execute(f"PRAGMA application_id={layout.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={writer.user_version}")
        db.execute("BEGIN")
        for sql in (*layout.SCHEMA, *(layout.ATTACHMENT_SCHEMA if _has_attachments(writer) else ())):
            db.execute(sql.replace("CREATE UNIQUE", "CREATE") if _holds_twice(writer) else sql)
        db.execute(
            "INSERT INTO coffer_header VALUES(1,?,?,?,?,?,?,?,?,?,?,?)",
            (writer.format, writer.store_id, writer.incompat, writer.ro_compat, writer.compat, writer.titles,
             writer.rk_generation, writer.phase, writer.rk_commit, writer.keyring, writer.mac))
        db.execute("INSERT INTO coffer_spare VALUES(1,?)", (writer.odd.get("spare", writer.spare),))
        for s in writer.slots:
            db.execute(
                "INSERT INTO coffer_slot VALUES(?,?,CAST(? AS TEXT),?,?)",
                (s.slot, s.kind, s.label, s.params, s.wrapped))
        db.execute("INSERT INTO coffer_state VALUES(1,?)", (writer.sealed_state,))
        db.execute("INSERT INTO coffer_replica VALUES(1,?,?)", (writer.restored, writer.sealed_replicas))
        for c in writer.collections.values():
            db.execute("INSERT INTO coffer_collection VALUES(?,?,?)", (c.coll, c.rev, c.sealed))
        for d in writer.deletions.values():
            db.execute("INSERT INTO coffer_gone VALUES(?,?,?)", (d.gone, d.rev, d.sealed))
        for r in sorted(writer.records.values(), key=lambda r: r.id):
            _save_record(db, r)
        if _has_attachments(writer):
            _save_attachments(db, writer)
        for statement in writer.extra_sql:
            db.execute(statement)
        if _holds_twice(writer):
            db.execute("PRAGMA writable_schema=ON")
            for sql in layout.SCHEMA:
                db.execute("UPDATE sqlite_schema SET sql=? WHERE sql=?", (sql, sql.replace("CREATE UNIQUE", "CREATE")))
        db.execute("COMMIT")
    if writer.journal == "WAL":
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        normalize(path)


def _holds_twice(writer):
    """Whether two rows have one lookup, so that SQLite would write them only past the index."""
    held = [(r.coll, r.lookup) for r in writer.records.values() if r.lookup is not None and r.flags < layout.HELD_ELSEWHERE]
    return len(set(held)) < len(held)


def _has_attachments(writer):
    return writer.incompat & layout.ATTACHMENTS


def _save_attachments(db, writer):
    for row in writer.attachments.values():
        db.execute("INSERT INTO coffer_attachment VALUES(?,?,?,?)", (row.number, row.column, row.rev, row.sealed))
    chunks = {
        writer.chunk_number(row, index): ct for row in writer.attachments.values() for index, ct in row.chunks.items()}
    for number, ct in sorted((writer.left_over | chunks).items()):
        db.execute("INSERT INTO coffer_chunk VALUES(?,?)", (number, ct))


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
