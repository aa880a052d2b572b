"""Index-Format.md: the sealed pages of the inner databases, proved by root and map, and opened."""

import json
import re
import sqlite3
from dataclasses import dataclass

from . import attachments
from .database import blob
from .errors import Damaged, StoreError
from .primitives import (
    SEAL_OVERHEAD, TAG_SIZE, XAES, Cursor, SetHash, frame_data, hkdf, i64, label16, pae, u8, u32, u64)
from .records import RECORD_COLUMNS, RecordRow

FEATURE, VERSION = 1, 3
RESERVED = 96
CONTENTS, TITLES = 1, 2
# In the lower half of a place, the number of the first map page.
MAP = 2**31
ENTRY_SIZE = 8
CHANGES_LIMIT, DECLARATION_LIMIT, FIELDS_LIMIT, FIELD_NAME_LIMIT = 512, 1 << 20, 64, 128
COMPOUNDS_LIMIT, COMPOUND_LIMIT = 16, 8
_UID = re.compile("[0-9a-f]{32}")
# Tables with any other SQL are no indexes.
TABLES = {
    b"CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    b"CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
}
# The objects of each part's inner database: those of the whole part, then those of a collection.
WHOLE = {
    CONTENTS: {
        "document": "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,"
        "print INTEGER NOT NULL,row INTEGER) STRICT",
        "extra_row": "CREATE TABLE extra_row(row INTEGER PRIMARY KEY AUTOINCREMENT,id INTEGER NOT NULL) STRICT",
        "made": "CREATE TABLE made(coll INTEGER PRIMARY KEY,outdated_rows INTEGER NOT NULL,"
        "outdated_tokens INTEGER NOT NULL) STRICT",
    },
    TITLES: {
        "document": "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,"
        "position BLOB NOT NULL) STRICT",
        "made": "CREATE TABLE made(coll INTEGER PRIMARY KEY) STRICT",
    },
}
OUTDATED = "CREATE TABLE outdated_{}(row INTEGER PRIMARY KEY) STRICT"
WORDS = "CREATE VIRTUAL TABLE words_{} USING fts5(title,text,names,content='',tokenize='coffer_words{}')"
PARTS = (
    "CREATE VIRTUAL TABLE parts_{} USING fts5(title,text,content='',detail=none,columnsize=0,"
    "tokenize='trigram case_sensitive 1')")
TITLE_LIST = (
    "CREATE TABLE titles_{}(position BLOB NOT NULL,id INTEGER NOT NULL,header BLOB NOT NULL,"
    "PRIMARY KEY(position,id)) STRICT, WITHOUT ROWID")
# Tables that SQLite makes by itself, and those that FTS5 makes beside a table.
OF_SQLITE = {
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
OF_PARTS = {
    "data": "CREATE TABLE '{0}_data'(id INTEGER PRIMARY KEY, block BLOB)",
    "idx": "CREATE TABLE '{0}_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    "config": "CREATE TABLE '{0}_config'(k PRIMARY KEY, v) WITHOUT ROWID",
}
OF_WORDS = OF_PARTS | {"docsize": "CREATE TABLE '{0}_docsize'(id INTEGER PRIMARY KEY, sz BLOB)"}
# The kinds of a field, by paths that are not into text or attributes.
PATH_KINDS = {
    "@created": {"date"}, "@modified": {"date"}, "@size": {"number"},
    "@title": {"text", "folded"}, "@key": {"text", "folded"}}
# Names of columns, in lower case, that no field has.
RESERVED_NAMES = {
    "id", "position", "title", "text", "json", "key", "created", "modified", "size", "parent", "attributes", "isjson",
    "collection", "rowid", "_rowid_", "oid"}
KINDS = {"number", "boolean", "text", "folded", "date"}


@dataclass(frozen=True)
class Root:
    part: int
    epoch: int
    identity: bytes
    page_size: int
    page_count: int
    # The tag of each map page.
    map_tags: tuple
    # The first bytes of the tags of changed pages, by page.
    changes: dict
    # (generation, mark, count, set) of the documents; None before the index is built.
    contents: tuple
    declaration: dict

    @property
    def entries(self):
        """The entries of a map page."""
        return (self.page_size - RESERVED) // ENTRY_SIZE

    def has_place(self, place):
        number = place & 0xFFFFFFFF
        return place >> 32 == self.part and (number < self.page_count or 0 <= number - MAP < len(self.map_tags))


def index_key(store):
    epoch = store.epochs[store.active_epoch]
    return XAES(hkdf(epoch.epoch.key, store.header.store_id, b"coffer3/index" + u32(store.active_epoch)))


def has_tables(store):
    sql = "SELECT sql FROM sqlite_schema WHERE name IN ('coffer_x_index', 'coffer_x_index_page')"
    tables = store.connection.execute(sql)
    return bool(store.header.compat & FEATURE) and {bytes(sql) for (sql,) in tables} == TABLES


def _root(store, part, epoch, sealed):
    """A root, or None for one of another version; raises at one that the state does not name."""
    what = f"index {part}"
    if part not in (CONTENTS, TITLES):
        raise Damaged(f"{what}: there is no such part")
    if epoch != store.active_epoch:
        raise Damaged(f"{what}: another epoch")
    data = label16(b"coffer3/index") + store.header.store_id + u32(part) + u32(epoch)
    frame = index_key(store).open_blob(blob(sealed, what), data, what)
    cursor = Cursor(frame_data(frame, store.header.is_padded, (64,), what), what)
    version, page_size, length = cursor.unsigned(4), cursor.unsigned(4), cursor.unsigned(4)
    if not 1024 <= page_size <= 65536 or page_size & page_size - 1:
        raise Damaged(f"{what}: a number out of its range")
    if length > DECLARATION_LIMIT:
        raise Damaged(f"{what}: its declaration is too long")
    declaration = cursor.take(length)
    if version != VERSION:
        return None
    identity, page_count = cursor.take(16), cursor.unsigned(4)
    if identity != store.state.index_identities[part - 1] or not any(identity):
        raise Damaged(f"{what}: not the one that the state names")
    declaration = _declaration(declaration, what)
    if page_count >= MAP:
        raise Damaged(f"{what}: a number out of its range")
    map_count = cursor.unsigned(4)
    if map_count > -(-page_count // ((page_size - RESERVED) // ENTRY_SIZE)):
        raise Damaged(f"{what}: more map pages than it needs")
    tags = cursor.take(TAG_SIZE * map_count)
    changes = _changes(cursor, page_count, what)
    if page_count > map_count * ((page_size - RESERVED) // ENTRY_SIZE) + len(changes):
        raise Damaged(f"{what}: pages without an expected tag")
    is_built, contents = cursor.unsigned(1), None
    if is_built > 1:
        raise Damaged(f"{what}: unknown marker")
    if is_built:
        contents = cursor.unsigned(8), cursor.take(32), cursor.unsigned(8), cursor.take(SetHash.SIZE)
    cursor.end()
    map_tags = tuple(tags[at : at + TAG_SIZE] for at in range(0, len(tags), TAG_SIZE))
    return Root(part, epoch, identity, page_size, page_count, map_tags, changes, contents, declaration)


def _changes(cursor, page_count, what):
    count, changes, last = cursor.unsigned(4), {}, -1
    if count > CHANGES_LIMIT:
        raise Damaged(f"{what}: too many changes")
    for _ in range(count):
        page = cursor.unsigned(4)
        if not last < page < page_count:
            raise Damaged(f"{what}: its changes do not rise, or name a page that there is not")
        changes[page], last = cursor.take(ENTRY_SIZE), page
    return changes


def _declaration(data, what):
    try:
        declaration = json.loads(data)
        numbers = [entry["number"] for entry in declaration["collections"]]
        # Equal numbers are one less in the set.
        if numbers == sorted(set(numbers)) and all(_is_entry(entry) for entry in declaration["collections"]):
            return declaration
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise Damaged(f"{what}: its declaration can't be read")


def _is_entry(entry):
    names = [field["name"] for field in entry["fields"]]
    flags = [entry["hasSubstrings"], entry["hasTitles"], entry.get("keepsDiacritics", False)]
    return (
        type(entry["number"]) is int and 1 <= entry["number"] < 2**31 and _UID.fullmatch(entry["uid"])
        and all(type(flag) is bool for flag in flags) and len(names) <= FIELDS_LIMIT and _are_members(entry)
        and all(1 <= len(name.encode()) <= FIELD_NAME_LIMIT and "\0" not in name for name in names)
        and len({_ascii_lower(name) for name in names} - RESERVED_NAMES) == len(names)
        and all(field["kind"] in _kinds(field["path"]) for field in entry["fields"])
        and _are_compounds(entry.get("compounds", []), names) and entry.get("compounds") != [])


def _are_compounds(compounds, fields):
    """Whether each compound is a list of different fields, and no two are equal."""
    return (
        len(compounds) <= COMPOUNDS_LIMIT and len(set(map(tuple, compounds))) == len(compounds)
        and all(2 <= len(set(names)) == len(names) <= COMPOUND_LIMIT for names in compounds)
        and all(name in fields for names in compounds for name in names))


def _are_members(entry):
    """Whether the members of words are there only with words, and are paths into the text."""
    if "members" not in entry:
        return True
    members = entry["members"]
    return (
        "keepsDiacritics" in entry and 1 <= len(members) <= FIELDS_LIMIT
        and all(isinstance(path, str) and not path.startswith("@") for path in members))


def _ascii_lower(name):
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), name)


def _kinds(path):
    if not isinstance(path, str):
        raise TypeError("no path")
    is_plain = not path.startswith("@") or re.match(r"@attributes(?![\w@])", path)
    return PATH_KINDS.get(path, KINDS if is_plain else set())


def pages(store, root):
    """The opened pages, joined; raises unless they are the pages that root and map name."""
    key, opened = index_key(store), []
    maps = [_page(store, root, key, MAP + number, tag) for number, tag in enumerate(root.map_tags)]
    for page in range(root.page_count):
        expected = root.changes.get(page)
        if expected is None and page // root.entries < len(maps):
            at = page % root.entries * ENTRY_SIZE
            expected = maps[page // root.entries][at : at + ENTRY_SIZE]
        if expected in (None, bytes(ENTRY_SIZE)):
            raise Damaged(f"index {root.part}, page {page}: neither in the map nor in the changes")
        opened.append(_page(store, root, key, page, expected) + bytes(RESERVED))
    return b"".join(opened)


def _page(store, root, key, number, tag):
    """A page, opened; raises unless its tag begins as given."""
    what = f"index {root.part}, " + (f"map page {number - MAP}" if number >= MAP else f"page {number}")
    sql = "SELECT epoch, sealed FROM coffer_x_index_page WHERE place = ?"
    epoch, sealed = store.connection.execute(sql, (root.part << 32 | number,)).fetchone() or (None, None)
    if epoch != root.epoch:
        raise Damaged(f"{what}: missing, or of another epoch")
    sealed = blob(sealed, what, root.page_size - RESERVED + SEAL_OVERHEAD)
    if not sealed[-TAG_SIZE:].startswith(tag):
        raise Damaged(f"{what}: not the one that was written last")
    data = store.header.store_id + root.identity + u32(root.part) + u32(epoch) + u32(number)
    return key.open_blob(sealed, label16(b"coffer3/page") + data, what)


def problems(store):
    """The faults of all indexes: in roots, pages and inner schemas, and documents that are not those of the rows."""
    found, roots, others = [], [], set()
    try:
        if not has_tables(store):
            return found
        for row in store.connection.execute("SELECT part, epoch, sealed FROM coffer_x_index ORDER BY part").fetchall():
            try:
                root = _root(store, *row)
                if root is None:
                    others.add(row[0])
                    continue
                roots.append(root)
                content = pages(store, roots[-1])
                if roots[-1].contents:
                    found += _inner_problems(store, roots[-1], content)
            except Damaged as error:
                found.append(str(error))
            except sqlite3.DatabaseError as error:
                found.append(f"index {row[0]}: SQLite: {error}")
        places = store.connection.execute("SELECT place FROM coffer_x_index_page")
        if not all(place >> 32 in others or any(root.has_place(place) for root in roots) for (place,) in places):
            found.append("pages of no index")
    except sqlite3.DatabaseError as error:
        found.append(f"an index: SQLite: {error}")
    return found


# The inner databases.


def _inner_problems(store, root, content):
    if not content:
        return [f"index {root.part}: no tables"]
    inner = sqlite3.connect(":memory:")
    try:
        inner.execute("PRAGMA trusted_schema=OFF")
        inner.setlimit(sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 0)
        inner.deserialize(content)
        found = _form_problems(root, content) or _schema_problems(inner, root)
        if not found:
            inner.setlimit(sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 100)
            found = [text for (text,) in inner.execute("PRAGMA integrity_check") if text != "ok"]
        _, _, count, total = root.contents
        # An index that is behind has other documents.
        if not found and (count, total) == (store.state.count, store.state.set_hash):
            uids = {coll: collection.uid.hex() for coll, collection in store.all_collections().items()}
            for entry in root.declaration["collections"]:
                if entry["uid"] == uids.get(entry["number"]):
                    found += _document_problems(store, root.part, entry, inner)
        return [f"index {root.part}: {problem}" for problem in found]
    finally:
        inner.close()


def _form_problems(root, content):
    """Differences in SQLite's header: size of a page, reserved bytes, encoding."""
    size = int.from_bytes(content[16:18], "big")
    is_right = root.page_size == (65536 if size == 1 else size) and content[20] == RESERVED and content[56:60] == u32(1)
    return [] if is_right else ["pages of another size or reserve, or texts of another encoding"]


def _schema_problems(inner, root):
    """Differences from the schema that the declaration implies."""
    implied = dict(WHOLE[root.part])
    for entry in root.declaration["collections"]:
        implied |= _objects(root.part, entry)
    texts = dict(inner.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    found = [
        f"{name} is not what the declaration implies" for name, sql in texts.items()
        if sql != implied.get(name, OF_SQLITE.get(name))]
    found += [f"its table or index {name} is missing" for name in sorted(implied.keys() - texts.keys())]
    if not found:
        made = [coll for (coll,) in inner.execute("SELECT coll FROM made ORDER BY coll")]
        if made != [entry["number"] for entry in root.declaration["collections"]]:
            found = ["its tables are those of other collections"]
    return found


def _objects(part, entry):
    """The SQL by name of the objects of a collection."""
    coll, found = entry["number"], {}
    if part == TITLES:
        return {f"titles_{coll}": TITLE_LIST.format(coll)} if entry["hasTitles"] else {}
    if "keepsDiacritics" in entry:
        found[f"words_{coll}"] = WORDS.format(coll, " keep_diacritics" if entry["keepsDiacritics"] else "")
        found |= {f"words_{coll}_{name}": sql.format(f"words_{coll}") for name, sql in OF_WORDS.items()}
    if entry["hasSubstrings"]:
        found[f"parts_{coll}"] = PARTS.format(coll)
        found |= {f"parts_{coll}_{name}": sql.format(f"parts_{coll}") for name, sql in OF_PARTS.items()}
    if found:
        found[f"outdated_{coll}"] = OUTDATED.format(coll)
    if entry["fields"]:
        columns = [f"f{number}" for number in range(len(entry["fields"]))]
        found[f"fields_{coll}"] = f"CREATE TABLE fields_{coll}(id INTEGER PRIMARY KEY,{','.join(columns)})"
        numbers = {field["name"]: number for number, field in enumerate(entry["fields"])}
        compounds = [[numbers[name] for name in names] for names in entry.get("compounds", [])]
        for indexed in [[number] for number in range(len(columns))] + compounds:
            name = "_".join(map(str, [f"fields_{coll}", *indexed]))
            found[name] = f"CREATE INDEX {name} ON fields_{coll}({','.join(columns[number] for number in indexed)})"
    return found


def _document_problems(store, part, entry, inner):
    """The differences of an index that is up to date from a collection's rows; a damaged row is found elsewhere."""
    coll, documents, titles, ids = entry["number"], [], [], []
    sql = f"SELECT {RECORD_COLUMNS} FROM coffer_record NOT INDEXED WHERE coll = ? ORDER BY id"
    for values in store.connection.execute(sql, (coll,)):
        ids.append(values[0])
        try:
            row = RecordRow(values, store.context)
            head = row.open_head()
        except StoreError:
            continue
        mark = _number(row.element_hash())
        if part == TITLES:
            documents.append((row.id, mark, row.pos))
        else:
            marks, names = _attached(store, row.id)
            documents.append((row.id, _signed(mark + marks), _print(store, row, head, names)))
        titles.append((row.pos, row.id, _header(row, head)))
    column = "position" if part == TITLES else "print"
    found = inner.execute(f"SELECT id, mark, {column} FROM document WHERE coll = ? ORDER BY id", (coll,)).fetchall()
    if [id for id, _, _ in found] != ids:
        return [f"other documents than those of collection {coll}"]
    if not set(documents) <= set(found):
        return [f"documents of collection {coll} are not as they were indexed"]
    if part == TITLES and entry["hasTitles"] and ids:
        listed = inner.execute(f"SELECT position, id, header FROM titles_{coll} ORDER BY position, id").fetchall()
        if [id for _, id, _ in listed if id in ids] != [id for _, id, _ in listed] or not set(titles) <= set(listed):
            return [f"other titles than those of collection {coll}"]
    return []


def _number(digest):
    return int.from_bytes(digest[:8], "big", signed=True)


def _signed(number):
    return (number + 2**63) % 2**64 - 2**63


def _attached(store, document):
    """The sum of the marks of a document's attachments, and their names; damaged and newer ones have no name."""
    marks, names = 0, b""
    for row in attachments.rows_of(store, document):
        marks += _number(row.element_hash())
        try:
            attachment = row.open()
        except StoreError:
            continue
        if not attachment.is_newer:
            names += attachment.name.encode() + b"\n"
    return marks, names


def _print(store, row, head, names):
    numbers = (
        row.body_nt[-8:] + i64(head.created) + i64(head.modified) + u8(row.flags & 1) + u8(head.title is not None))
    parts = (head.title or "").encode(), head.key or b"", head.attributes.encode(), names
    return _number(store.epochs[store.active_epoch].element_hash(pae(b"coffer3/print", numbers, *parts)))


def _header(row, head):
    title = None if head.title is None else _counted(head.title.encode())
    parts = (None if row.parent is None else i64(row.parent), title, None if head.key is None else _counted(head.key))
    flags = sum(1 << bit for bit, part in enumerate(parts) if part is not None) | (row.flags & 1) << 3
    return (
        u8(flags) + i64(head.created) + i64(head.modified) + u64(head.length) + b"".join(part or b"" for part in parts)
        + head.attributes.encode())


def _counted(data):
    return u32(len(data)) + data
