"""FORMAT, "Indexes": the sealed pages of the inner databases, proved by their root, and opened."""

import json
import re
import sqlite3
from dataclasses import dataclass

from .database import COUNTER_LIMIT
from .errors import Damaged
from .primitives import NONCE_SIZE, SEAL_OVERHEAD, TAG_SIZE, XAES, Cursor, SetHash, frame_data, hkdf, label16, u32, u64

FEATURE = 1
RESERVED = 96
_UID = re.compile("[0-9a-f]{32}")
# Tables with any other SQL are no indexes.
TABLES = {
    b"CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    b"CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,rev INTEGER NOT NULL,"
    b"sealed BLOB NOT NULL) STRICT",
}


@dataclass(frozen=True)
class Root:
    """An index's root, and the keys of the active epoch."""

    store_id: bytes
    part: int
    epoch: int
    identity: bytes
    revision: int
    page_size: int
    page_count: int
    sum: bytes
    # (generation, mark, count, set) of the documents; None before the index is built.
    contents: tuple
    declaration: dict

    def page_data(self, page, revision):
        return self.store_id + self.identity + u32(self.part) + u32(self.epoch) + u32(page) + u64(revision)


def index_key(store):
    epoch = store.epochs[store.active_epoch]
    return XAES(hkdf(epoch.epoch.key, store.header.store_id, b"coffer3/index" + u32(store.active_epoch)))


def has_tables(store):
    tables = store.connection.execute("SELECT sql FROM sqlite_schema WHERE name IN ('coffer_x_index', 'coffer_x_index_page')")
    return bool(store.header.compat & FEATURE) and {bytes(sql) for (sql,) in tables} == TABLES


def roots(store):
    """Every root in the store; raises if one does not open."""
    if not has_tables(store):
        return []
    return [
        _root(store, *row) for row in store.connection.execute("SELECT part, epoch, sealed FROM coffer_x_index ORDER BY part")
    ]


def _root(store, part, epoch, sealed):
    what = f"index {part}"
    if part not in (1, 2):
        raise Damaged(f"{what}: there is no such part")
    if epoch != store.active_epoch:
        raise Damaged(f"{what}: another epoch")
    data = label16(b"coffer3/index") + store.header.store_id + u32(part) + u32(epoch)
    frame = index_key(store).open_blob(sealed, data, what)
    cursor = Cursor(frame_data(frame, store.header.is_padded, (64,), what), what)
    identity, revision = cursor.take(16), cursor.unsigned(8)
    page_size, page_count, total = cursor.unsigned(4), cursor.unsigned(4), cursor.take(SetHash.SIZE)
    contents = None
    if cursor.unsigned(1):
        contents = cursor.unsigned(8), cursor.take(32), cursor.unsigned(8), cursor.take(SetHash.SIZE)
    declaration = _declaration(cursor.take(cursor.unsigned(4)), what)
    cursor.end()
    if revision > COUNTER_LIMIT or not 1024 <= page_size <= 65536 or page_size & page_size - 1:
        raise Damaged(f"{what}: a number out of its range")
    return Root(
        store.header.store_id, part, epoch, identity, revision, page_size, page_count, total, contents, declaration)


def _declaration(data, what):
    try:
        declaration = json.loads(data)
        if all(isinstance(entry["number"], int) and _UID.fullmatch(entry["uid"]) for entry in declaration["collections"]):
            return declaration
    except (ValueError, TypeError, KeyError):
        pass
    raise Damaged(f"{what}: its declaration can't be read")


def pages(store, root):
    """The opened pages, joined; raises unless they are the pages that the root names."""
    key, keys, sums, opened = index_key(store), store.epochs[root.epoch], SetHash(), []
    sql = "SELECT place & 0xFFFFFFFF, epoch, rev, sealed FROM coffer_x_index_page WHERE place >> 32 = ? ORDER BY place"
    for page, epoch, revision, sealed in store.connection.execute(sql, (root.part,)):
        what = f"index {root.part}, page {page}"
        if page != len(opened) or epoch != root.epoch or not 1 <= revision <= root.revision:
            raise Damaged(f"{what}: not one that the root names")
        if len(sealed) != root.page_size - RESERVED + SEAL_OVERHEAD:
            raise Damaged(f"{what}: another length")
        data = root.page_data(page, revision)
        opened.append(key.open_blob(sealed, label16(b"coffer3/page") + data, what) + bytes(RESERVED))
        sums.add(keys.element_hash(label16(b"coffer3/page-sum") + data + sealed[:NONCE_SIZE] + sealed[-TAG_SIZE:]))
    if len(opened) != root.page_count:
        raise Damaged(f"index {root.part}: {len(opened)} pages, and the root counts {root.page_count}")
    if sums.total() != root.sum:
        raise Damaged(f"index {root.part}: its pages are not those that were written last")
    return b"".join(opened)


def problems(store):
    """The faults of all indexes: pages that their roots do not name, and documents that the rows do not have."""
    found = []
    try:
        found_roots = roots(store)
        if _has_other_pages(store, [root.part for root in found_roots]):
            found.append("pages of no index")
        for root in found_roots:
            content = pages(store, root)
            if root.contents and content:
                found += _inner_problems(store, root, content)
    except Damaged as error:
        found.append(str(error))
    except sqlite3.DatabaseError as error:
        found.append(f"an index: SQLite: {error}")
    return found


def _has_other_pages(store, parts):
    if not has_tables(store):
        return False
    places = store.connection.execute("SELECT DISTINCT place >> 32 FROM coffer_x_index_page").fetchall()
    return not {part for (part,) in places} <= set(parts)


def _inner_problems(store, root, content):
    inner = sqlite3.connect(":memory:")
    inner.deserialize(content)
    found = [text for (text,) in inner.execute("PRAGMA integrity_check") if text != "ok"]
    _, _, count, total = root.contents
    # An index that is behind has other documents.
    if (count, total) == (store.state.count, store.state.set_hash):
        for entry in root.declaration["collections"]:
            number = (entry["number"],)
            rows = store.connection.execute("SELECT id FROM coffer_record WHERE coll = ? ORDER BY id", number).fetchall()
            if inner.execute("SELECT id FROM document WHERE coll = ? ORDER BY id", number).fetchall() != rows:
                found.append(f"index {root.part}: other documents than those of collection {number[0]}")
    inner.close()
    return found
