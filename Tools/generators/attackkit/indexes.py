"""Sealed indexes, written from FORMAT, "Indexes", and attacks on their rows.

An index is derived: after any attack on it, every document is read, listed and found as before.
"""

import copy
import json
import sqlite3
import unicodedata

from storereader.primitives import hmac, i64, label16, pae, u8, u32, u64

from . import layout
from .attack import Attack, loosely, run

FEATURE, RESERVED, PAGE_SIZE = 1, 96, 1024
CONTENTS, TITLES = 1, 2
TABLES = (
    "CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,rev INTEGER NOT NULL,"
    "sealed BLOB NOT NULL) STRICT",
)
FIELDS = [{"name": "bytes", "path": "@size", "kind": "number"}, {"name": "heading", "path": "@title", "kind": "text"}]
# Texts to search for; some documents contain them.
SEARCHES = ("long text", "first", "now", "absent")


class Index:
    """One part of a store's indexes: its root and pages; `update` writes them for the present documents."""

    def __init__(self, writer, part):
        self.part, self.identity, self.revision = part, writer.random(16), 0
        self.plain, self.pages, self.sealed_root = [], [], b""
        self.update(writer)

    def update(self, writer):
        """Builds the inner database of the present documents; seals the pages that differ, under the next revision."""
        made = _inner(writer, self.part)
        plain = [made[at : at + PAGE_SIZE - RESERVED] for at in range(0, len(made), PAGE_SIZE)]
        self.revision += 1
        self.pages = [
            self.pages[page] if self.plain[page : page + 1] == [content]
            else (self.revision, self.seal_page(writer, page, self.revision, content))
            for page, content in enumerate(plain)]
        self.plain = plain
        self.seal_root(writer)

    def place(self, writer, page, revision):
        return writer.store_id + self.identity + u32(self.part) + u32(writer.active) + u32(page) + u64(revision)

    def seal_page(self, writer, page, revision, content, key=None):
        data = label16(b"coffer3/page") + self.place(writer, page, revision)
        return writer.xseal(key or writer.epoch_key(b"index", writer.active), data, content)

    def sum(self, writer):
        total, key = 0, writer.epoch_key(b"set", writer.active)
        for page, (revision, sealed) in enumerate(self.pages):
            element = label16(b"coffer3/page-sum") + self.place(writer, page, revision) + sealed[:24] + sealed[-16:]
            total = layout.add_lanes(total, layout.lanes(hmac(key, element)))
        return total.to_bytes(layout.SET_HASH_SIZE, "little")

    def seal_root(self, writer, key=None, **odd):
        """Seals the root; `odd` may replace revision, page_size, page_count, sum, contents and declaration."""
        contents = u8(1) + u64(writer.generation) + writer.mark + u64(len(writer.records)) + writer.set_hash()
        declaration = odd.get("declaration", json.dumps(_declaration(writer, self.part)).encode())
        root = (
            self.identity + u64(odd.get("revision", self.revision)) + u32(odd.get("page_size", PAGE_SIZE))
            + u32(odd.get("page_count", len(self.pages))) + odd.get("sum", self.sum(writer))
            + odd.get("contents", contents) + u32(len(declaration)) + declaration)
        data = label16(b"coffer3/index") + writer.store_id + u32(self.part) + u32(writer.active)
        self.sealed_root = writer.xseal(
            key or writer.epoch_key(b"index", writer.active), data, writer.frame(root, 64))

    def sql(self, writer):
        yield f"INSERT INTO coffer_x_index VALUES({self.part},{writer.active},x'{self.sealed_root.hex()}')"
        for page, (revision, sealed) in enumerate(self.pages):
            yield (
                f"INSERT INTO coffer_x_index_page VALUES({self.part << 32 | page},{writer.active},{revision},"
                f"x'{sealed.hex()}')")


def write(writer):
    """Sets the SQL that saves the indexes, as they are now, with the store."""
    writer.extra_sql = [*TABLES, *(sql for index in writer.indexes.values() for sql in index.sql(writer))]


def indexed(earlier, last):
    """Adds indexes to two moments of a store: made at the earlier one, brought up to date at the last."""
    earlier.indexes = {part: Index(earlier, part) for part in (CONTENTS, TITLES)}
    write(earlier)
    last.indexes = copy.deepcopy(earlier.indexes)
    for index in last.indexes.values():
        index.update(last)
    write(last)


# The inner databases.


def _declaration(writer, part):
    def entry(row):
        found = {"number": row.coll, "uid": row.uid.hex(), "hasSubstrings": False, "hasTitles": False}
        if part == TITLES:
            return found | {"hasTitles": True, "fields": []}
        return found | {"hasSubstrings": True, "keepsDiacritics": False, "fields": FIELDS}

    return {"collections": [entry(writer.collections[coll]) for coll in sorted(writer.collections)]}


def _inner(writer, part):
    inner = sqlite3.connect(":memory:", isolation_level=None)
    inner.execute(f"PRAGMA page_size={PAGE_SIZE}")
    inner.execute("CREATE TABLE first(a)")
    inner.execute("DROP TABLE first")
    inner.execute("VACUUM")
    # SQLite has no pragma for reserved bytes: they are set in an empty database.
    page = bytearray(inner.serialize())
    page[20] = RESERVED
    page[105:107] = (PAGE_SIZE - RESERVED).to_bytes(2, "big")
    inner.deserialize(bytes(page))
    inner.execute("BEGIN")
    records = sorted(writer.records.values(), key=lambda r: r.id)
    (_titles if part == TITLES else _contents)(inner, writer, records)
    inner.execute("COMMIT")
    made = bytearray(inner.serialize())
    inner.close()
    made[96:100] = (3_040_001).to_bytes(4, "big")
    return bytes(made)


def _mark(writer, record):
    epoch, element = writer.element(record)
    return _signed(hmac(writer.epoch_key(b"set", epoch), element)[:8])


def _signed(data):
    return int.from_bytes(data, "little", signed=True)


def _contents(inner, writer, records):
    inner.execute(
        "CREATE TABLE document(id INTEGER PRIMARY KEY, coll INTEGER NOT NULL, mark INTEGER NOT NULL, print INTEGER NOT NULL,"
        " row INTEGER) STRICT")
    inner.execute("CREATE TABLE extra_row(row INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL) STRICT")
    inner.execute(
        "CREATE TABLE made(coll INTEGER PRIMARY KEY, outdated_rows INTEGER NOT NULL, outdated_tokens INTEGER NOT NULL) STRICT")
    for coll in sorted(writer.collections):
        inner.execute("INSERT INTO made VALUES(?,0,0)", (coll,))
        inner.execute(f"CREATE TABLE outdated_{coll}(row INTEGER PRIMARY KEY) STRICT")
        inner.execute(
            f"CREATE VIRTUAL TABLE words_{coll} USING fts5(title, text, content='', tokenize='unicode61 remove_diacritics 2')")
        inner.execute(
            f"CREATE VIRTUAL TABLE parts_{coll} USING fts5(title, text, content='', detail=none, columnsize=0,"
            " tokenize='trigram case_sensitive 1')")
        inner.execute(f"CREATE TABLE fields_{coll}(id INTEGER PRIMARY KEY, f0, f1)")
    for r in records:
        inner.execute(
            "INSERT INTO document VALUES(?,?,?,?,NULL)", (r.id, r.coll, _mark(writer, r), _print(writer, r)))
        title, text = (r.title or b"").decode(), _strings(r)
        for table, folded in (("words", str), ("parts", _folded)):
            inner.execute(
                f"INSERT INTO {table}_{r.coll}(rowid,title,text) VALUES(?,?,?)", (r.id, folded(title), folded(text)))
        inner.execute(
            f"INSERT INTO fields_{r.coll} VALUES(?,?,?)",
            (r.id, len(r.text), None if r.title is None else r.title.decode()))
    for coll in sorted(writer.collections):
        for field in range(len(FIELDS)):
            inner.execute(f"CREATE INDEX fields_{coll}_{field} ON fields_{coll}(f{field})")


def _print(writer, r):
    numbers = (
        r.body_nt[-8:][::-1] + i64(r.created) + i64(r.modified) + u8(r.flags & 1) + u8(0 if r.title is None else 1))
    data = pae(b"coffer3/print", numbers, r.title or b"", r.key or b"", r.attributes)
    return _signed(hmac(writer.epoch_key(b"set", writer.active), data)[:8])


def _strings(r):
    """A document's text as it is indexed; of a value its strings."""

    def walk(value):
        if isinstance(value, str):
            yield value
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from walk(part)

    if not r.flags & 1:
        return r.text.decode()
    return "".join(string + "\n" for string in walk(json.loads(r.text)))


def _folded(text):
    """Scalar by scalar: decomposed, case folded, without marks."""
    folded = "".join(unicodedata.normalize("NFD", unicodedata.normalize("NFD", one).casefold()) for one in text)
    return "".join(
        "\1" if one == "\0" else one for one in folded if not unicodedata.category(one).startswith("M") and one != "\u03b9")


def _titles(inner, writer, records):
    inner.execute(
        "CREATE TABLE document(id INTEGER PRIMARY KEY, coll INTEGER NOT NULL, mark INTEGER NOT NULL,"
        " position BLOB NOT NULL) STRICT")
    inner.execute("CREATE TABLE made(coll INTEGER PRIMARY KEY) STRICT")
    for coll in sorted(writer.collections):
        inner.execute("INSERT INTO made VALUES(?)", (coll,))
        inner.execute(
            f"CREATE TABLE titles_{coll}(position BLOB NOT NULL, id INTEGER NOT NULL, header BLOB NOT NULL,"
            " PRIMARY KEY(position,id)) STRICT, WITHOUT ROWID")
    for r in records:
        inner.execute("INSERT INTO document VALUES(?,?,?,?)", (r.id, r.coll, _mark(writer, r), r.pos))
        inner.execute(f"INSERT INTO titles_{r.coll} VALUES(?,?,?)", (r.pos, r.id, _header(r)))


def _header(r):
    parts = (None if r.parent is None else i64(r.parent), _counted(r.title), _counted(r.key))
    flags = sum(1 << bit for bit, part in enumerate(parts) if part is not None) | (r.flags & 1) << 3
    return (
        u8(flags) + i64(r.created) + i64(r.modified) + u64(len(r.text)) + b"".join(part or b"" for part in parts)
        + r.attributes)


def _counted(value):
    return None if value is None else u32(len(value)) + value


# Attacks.

PAGE = "coffer_x_index_page"
LEFT = f"place=(SELECT min(place)+1 FROM {PAGE} WHERE place>>32={{}})"


def _attack(name, what, edit=None, verify="damaged", **options):
    also = {"verify_quick": ["ok"]} | options.pop("also", {})
    return Attack(
        f"sealed-index-{name}", "indexed", what, edit, verify=verify, put="ok", searches=SEARCHES, also=also, **options)


def attacks(kit):
    yield from _pages()
    yield from _replays(kit)
    yield from _roots()
    yield from _tables()
    yield from _forged()


def _flipped(column, table, key, place):
    def edit(db, kit):
        value = bytearray(db.execute(f"SELECT {column} FROM {table} WHERE {key}").fetchone()[0])
        value[place] ^= 1
        db.execute(f"UPDATE {table} SET {column}=? WHERE {key}", (bytes(value),))

    return edit


def _pages():
    for part, what in ((CONTENTS, "contents"), (TITLES, "titles")):
        key = LEFT.format(part)
        for name, place in {"nonce": 0, "ciphertext": 60, "tag": -1}.items():
            yield _attack(f"{what}-{name}", f"{what}: a byte of a page's {name}", _flipped("sealed", PAGE, key, place))
        yield _attack(
            f"{what}-first-page", f"{what}: a byte of the first page",
            _flipped("sealed", PAGE, f"place={part << 32}", 100))
        for name, sql in {
            "gone": f"DELETE FROM {PAGE} WHERE {key}",
            "last-gone": f"DELETE FROM {PAGE} WHERE place=(SELECT max(place) FROM {PAGE} WHERE place>>32={part})",
            "no-pages": f"DELETE FROM {PAGE} WHERE place>>32={part}",
            "other-page": f"UPDATE {PAGE} SET sealed=(SELECT sealed FROM {PAGE} WHERE place={part << 32}) WHERE {key}",
            "rev-higher": f"UPDATE {PAGE} SET rev=rev+1 WHERE {key}", "rev-zero": f"UPDATE {PAGE} SET rev=0 WHERE {key}",
            "rev-greatest": f"UPDATE {PAGE} SET rev=9223372036854775807 WHERE {key}",
            "epoch": f"UPDATE {PAGE} SET epoch=2 WHERE {key}", "epoch-zero": f"UPDATE {PAGE} SET epoch=0 WHERE {key}",
            "epoch-above-u32": f"UPDATE {PAGE} SET epoch=4294967297 WHERE {key}",
            "cut": f"UPDATE {PAGE} SET sealed=substr(sealed,1,length(sealed)-1) WHERE {key}",
            "longer": f"UPDATE {PAGE} SET sealed=CAST(sealed||x'00' AS BLOB) WHERE {key}",
            "empty": f"UPDATE {PAGE} SET sealed=x'' WHERE {key}",
        }.items():
            yield _attack(f"{what}-{name}", f"{what}: a page is edited ({name})", run(sql))
        for name, column, value in (
            ("text", "sealed", "'page'"), ("null", "sealed", "NULL"), ("rev-text", "rev", "'1'"), ("rev-real", "rev", "1.5")):
            yield _attack(
                f"{what}-class-{name}", f"{what}: a page's {column} is {value}",
                loosely(f"UPDATE {PAGE} SET {column}={value} WHERE {key}"))
    yield _attack(
        "parts-exchanged", "the first pages of both parts are exchanged",
        run(*(f"UPDATE {PAGE} SET place=-1 WHERE place={CONTENTS << 32};"
              f"UPDATE {PAGE} SET place={CONTENTS << 32} WHERE place={TITLES << 32};"
              f"UPDATE {PAGE} SET place={TITLES << 32} WHERE place=-1").split(";")))
    # No reader reads a page after the last one.
    for name, place in {"negative": -5, "of-no-part": 9 << 32}.items():
        yield _attack(
            f"page-{name}", "a page that belongs to no index",
            run(f"INSERT INTO {PAGE} VALUES({place},1,1,zeroblob(900))"), also={"verify": ["ok"]})


def _replays(kit):
    """Earlier rows, kept by an attacker who can read and write the file."""

    def put_back(part, pages, root):
        def edit(db, kit):
            old, new = kit.base("indexed-earlier").indexes[part], kit.base("indexed").indexes[part]
            changed = [page for page, content in enumerate(old.pages) if new.pages[page : page + 1] != [content]]
            for page in pages(changed):
                db.execute(f"REPLACE INTO {PAGE} VALUES(?,1,?,?)", (part << 32 | page, *old.pages[page]))
            if root:
                db.execute("UPDATE coffer_x_index SET sealed=? WHERE part=?", (old.sealed_root, part))
                db.execute(f"DELETE FROM {PAGE} WHERE place>>32=? AND place>=?", (part, part << 32 | len(old.pages)))

        return edit

    for part, what in ((CONTENTS, "contents"), (TITLES, "titles")):
        # An old page of words may hide a hit, until verify.
        also = {"searches": ["missing"]} if part == CONTENTS else {}
        yield _attack(f"{what}-old-page", f"{what}: an old page", put_back(part, lambda all: all[-1:], False), also=also)
        yield _attack(f"{what}-old-pages", f"{what}: all old pages", put_back(part, lambda all: all, False), also=also)
        yield _attack(f"{what}-old-root", f"{what}: an old root over new pages", put_back(part, lambda all: [], True))
        yield _attack(
            f"{what}-of-yesterday", f"{what}: root and pages of an earlier moment", put_back(part, lambda all: all, True),
            verify="ok")


def _roots():
    for part, what in ((CONTENTS, "contents"), (TITLES, "titles")):
        for name, place in {"nonce": 0, "ciphertext": 100, "tag": -1}.items():
            yield _attack(
                f"{what}-root-{name}", f"{what}: a byte of the root's {name}",
                _flipped("sealed", "coffer_x_index", f"part={part}", place))
        for name, sql in {
            "gone": "DELETE FROM coffer_x_index WHERE part={}", "empty": "UPDATE coffer_x_index SET sealed=x'' WHERE part={}",
            "epoch": "UPDATE coffer_x_index SET epoch=2 WHERE part={}",
            "huge": "UPDATE coffer_x_index SET sealed=zeroblob(3000000) WHERE part={}",
            "number": "UPDATE coffer_x_index SET part=3 WHERE part={}",
            "number-negative": "UPDATE coffer_x_index SET part=-1 WHERE part={}",
        }.items():
            # Pages without a root belong to no index.
            yield _attack(f"{what}-root-{name}", f"{what}: the root is edited ({name})", run(sql.format(part)))

    def of_another_store(db, kit):
        for index in kit.base("indexed-other").indexes.values():
            db.execute("UPDATE coffer_x_index SET sealed=? WHERE part=?", (index.sealed_root, index.part))
            for page, (revision, sealed) in enumerate(index.pages):
                db.execute(f"REPLACE INTO {PAGE} VALUES(?,1,?,?)", (index.part << 32 | page, revision, sealed))

    yield _attack("of-another-store", "roots and pages are those of another store", of_another_store)


def _tables():
    for name, statements in {
        "tables-gone": ("DROP TABLE coffer_x_index", f"DROP TABLE {PAGE}"), "pages-table-gone": (f"DROP TABLE {PAGE}",),
        "table-of-another-text": (
            "DROP TABLE coffer_x_index", "CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch,sealed)",
            "INSERT INTO coffer_x_index VALUES(1,1,x'00')"),
        "emptied": ("DELETE FROM coffer_x_index", f"DELETE FROM {PAGE}"),
    }.items():
        yield _attack(name, f"tables of indexes: {name}", run(*statements), verify="ok", also={"verify": ["damaged"]})


def _forged():
    """Pages and roots that a key holder seals."""

    def forged(name, what, change, part=TITLES, verify="damaged", **options):
        def forge(writer):
            change(writer, writer.indexes[part])
            write(writer)

        return _attack(f"forged-{name}", what, forge=forge, verify=verify, **options)

    def root(name, part=TITLES, **odd):
        return forged(
            f"root-{name}", f"a root with another {name}", lambda writer, index: index.seal_root(writer, **odd), part)

    yield root("page-size", page_size=1000)
    yield root("page-size-512", page_size=512)
    yield root("page-count", page_count=3)
    yield root("page-count-2-to-31", page_count=2**31 - 1)
    yield root("page-count-greatest", page_count=2**32 - 1)
    yield root("declaration-of-contents", part=CONTENTS, declaration=b"{}")
    yield root("sum", sum=bytes(layout.SET_HASH_SIZE))
    yield root("revision", revision=2**63)
    yield root("declaration", declaration=b"[]")
    yield root("declaration-not-json", declaration=b"{")
    yield root("contents", contents=u8(2))

    def unlike_keys(writer, index):
        index.pages = [
            (revision, index.seal_page(writer, page, revision, content, key=writer.epoch_key(b"body", 1)))
            for page, (content, (revision, _)) in enumerate(zip(index.plain, index.pages))]
        index.seal_root(writer)

    yield forged("pages-under-another-key", "pages under a key of texts, rightly summed", unlike_keys)

    def overwritten(content):
        def change(writer, index):
            last = len(index.pages) - 1
            for page in (0, last):
                index.pages[page] = index.revision, index.seal_page(writer, page, index.revision, content)
            index.seal_root(writer)

        return change

    # Correctly sealed and summed: verify may find these by comparison with the documents only.
    for part, what in ((CONTENTS, "contents"), (TITLES, "titles")):
        for name, content in {"zeros": bytes(PAGE_SIZE - RESERVED), "noise": bytes(range(232)) * 4}.items():
            yield forged(
                f"{what}-of-{name}", f"{what}: pages that are no pages of a database", overwritten(content), part,
                also={"verify": ["ok"]})
