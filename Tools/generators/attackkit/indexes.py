"""Sealed indexes, written from Index-Format.md: roots, maps, pages and inner databases."""

import copy
import json
import sqlite3
import unicodedata

from storereader.primitives import hmac, i64, label16, pae, u8, u32, u64

FEATURE, RESERVED, PAGE_SIZE = 1, 96, 1024
CONTENTS, TITLES = 1, 2
# In the lower half of a place, the number of the first map page; the bytes of an entry and the entries of a map page.
MAP, ENTRY_SIZE = 2**31, 8
ENTRIES = (PAGE_SIZE - RESERVED) // ENTRY_SIZE
# A writer moves changes into the map when there are more than MOST of them, until at most FEW are left.
MOST, FEW = 512, 256
TABLES = (
    "CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
)
FIELDS = [{"name": "bytes", "path": "@size", "kind": "number"}, {"name": "heading", "path": "@title", "kind": "text"}]


def declare(writer, *colls):
    """Declares indexes of these collections, in a transaction of its own: each part gets a new identity."""
    writer.compat |= FEATURE
    writer.indexed, writer.indexes = colls, {}
    writer.index_identities = {part: writer.random(16) for part in (CONTENTS, TITLES)}
    writer.commit()


def drop(writer, part):
    """Drops a part, in a transaction of its own."""
    del writer.indexes[part]
    writer.index_identities[part] = bytes(16)
    writer.commit()
    write(writer)


class Index:
    """One part of a store's indexes: its root, map and pages; `update` writes them for the present documents."""

    def __init__(self, writer, part, moves=None, free=0):
        """`free` pages at least hold nothing."""
        self.part, self.identity, self.free, self.sealed_root = part, writer.index_identities[part], free, b""
        self._clear()
        self.update(writer, moves)

    def _clear(self):
        self.plain, self.pages = [], []
        # Content and sealed bytes of the map pages; the entries of pages that were written since, by page.
        self.maps, self.map_pages, self.changes = [], [], {}

    def empty(self, writer):
        """Leaves a root without pages, in the first transaction of a rekey: the part will be made from nothing."""
        self.identity = writer.index_identities[self.part] = writer.random(16)
        self._clear()
        self.seal_root(writer, contents=u8(0))

    def update(self, writer, moves=None, edits=()):
        """Builds the inner database of the present documents, after SQL that edits it; seals the pages that differ.

        `moves` are the map pages that take their changes, by default as many as a writer needs.
        """
        made = _inner(writer, self.part, self.free, edits)
        plain = [made[at : at + PAGE_SIZE - RESERVED] for at in range(0, len(made), PAGE_SIZE)]
        needed = -(-len(plain) // ENTRIES)
        del self.pages[len(plain) :], self.maps[needed:], self.map_pages[needed:]
        self.changes = {page: entry for page, entry in self.changes.items() if page < len(plain)}
        for page, content in enumerate(plain):
            if self.plain[page : page + 1] != [content]:
                self.write_page(writer, page, content)
        self.plain = plain
        for number in self._full() if moves is None else moves:
            self.move(writer, number)
        self.seal_root(writer)

    def write_page(self, writer, page, content, key=None):
        self.pages[page : page + 1] = [self.seal_page(writer, page, content, key)]
        self.changes[page] = self.pages[page][-16:][:ENTRY_SIZE]

    def _full(self):
        """The map pages to move into, those with most changes first."""
        counts = {}
        for page in self.changes:
            counts[page // ENTRIES] = counts.get(page // ENTRIES, 0) + 1
        left = len(self.changes)
        for number in sorted(counts, key=lambda number: (-counts[number], number)) if left > MOST else ():
            if left > FEW:
                left -= counts[number]
                yield number

    def move(self, writer, number):
        """Moves the changes of a map page into it; makes it, and those before it, if they are not there."""
        while len(self.maps) <= number:
            self.write_map(writer, len(self.maps), bytes(ENTRIES * ENTRY_SIZE))
        content = bytearray(self.maps[number])
        for page in [page for page in self.changes if page // ENTRIES == number]:
            at = page % ENTRIES * ENTRY_SIZE
            content[at : at + ENTRY_SIZE] = self.changes.pop(page)
        self.write_map(writer, number, bytes(content))

    def name_as_changes(self, writer, count):
        """Makes the map again: the first pages are changes, and the entries of all others are in it."""
        self.maps, self.map_pages = [], []
        self.changes = {page: sealed[-16:][:ENTRY_SIZE] for page, sealed in enumerate(self.pages)}
        first = {page: self.changes.pop(page) for page in range(count)}
        for number in sorted({page // ENTRIES for page in self.changes}):
            self.move(writer, number)
        self.changes = first
        self.seal_root(writer)

    def write_map(self, writer, number, content):
        self.maps[number : number + 1] = [content]
        self.map_pages[number : number + 1] = [self.seal_page(writer, MAP + number, content)]

    def seal_page(self, writer, number, content, key=None):
        place = writer.store_id + self.identity + u32(self.part) + u32(writer.active) + u32(number)
        return writer.xseal(key or writer.epoch_key(b"index", writer.active), label16(b"coffer3/page") + place, content)

    def seal_root(self, writer, key=None, **odd):
        """Seals the root; `odd` may replace each of its members, and add an end."""
        contents = u8(1) + u64(writer.generation) + writer.mark + u64(len(writer.records)) + writer.set_hash()
        declaration = odd.get("declaration", json.dumps(declaration_of(writer, self.part)).encode())
        tags = odd.get("map_tags", [sealed[-16:] for sealed in self.map_pages])
        changes = odd.get("changes", sorted(self.changes.items()))
        root = (
            u32(odd.get("version", 3)) + u32(odd.get("page_size", PAGE_SIZE)) + u32(len(declaration)) + declaration
            + odd.get("identity", self.identity) + u32(odd.get("page_count", len(self.pages))) + u32(odd.get("map_count", len(tags))) + b"".join(tags)
            + u32(odd.get("change_count", len(changes))) + b"".join(u32(page) + entry for page, entry in changes)
            + odd.get("contents", contents) + odd.get("end", b""))
        data = label16(b"coffer3/index") + writer.store_id + u32(self.part) + u32(writer.active)
        self.sealed_root = writer.xseal(
            key or writer.epoch_key(b"index", writer.active), data, writer.frame(root, 64))

    def rows(self):
        """Sealed pages and map pages, by the lower half of their place."""
        return dict(enumerate(self.pages)) | {MAP + number: sealed for number, sealed in enumerate(self.map_pages)}

    def sql(self, writer):
        yield f"INSERT INTO coffer_x_index VALUES({self.part},{writer.active},x'{self.sealed_root.hex()}')"
        for number, sealed in self.rows().items():
            place = self.part << 32 | number
            yield f"INSERT INTO coffer_x_index_page VALUES({place},{writer.active},x'{sealed.hex()}')"


def write(writer):
    """Sets the SQL that saves the indexes, as they are now, with the store."""
    writer.extra_sql = [*TABLES, *(sql for index in writer.indexes.values() for sql in index.sql(writer))]


def indexed(moments, moves, free=0):
    """Adds indexes to the moments of a store: made at the first, brought up to date at the others.

    `moves` are the map pages that changes move into, at each moment.
    """
    first, *others = moments
    first.indexes = {part: Index(first, part, moves[0], free) for part in (CONTENTS, TITLES)}
    write(first)
    for before, moment, into in zip(moments, others, moves[1:]):
        moment.indexes = copy.deepcopy(before.indexes)
        for index in moment.indexes.values():
            index.update(moment, into)
        write(moment)


# The inner databases.


def declaration_of(writer, part):
    def entry(row):
        found = {"number": row.coll, "uid": row.uid.hex(), "hasSubstrings": False, "hasTitles": False}
        if part == TITLES:
            return found | {"hasTitles": True, "fields": []}
        return found | {"hasSubstrings": True, "keepsDiacritics": False, "fields": FIELDS}

    return {"collections": [entry(writer.collections[coll]) for coll in writer.indexed]}


def _inner(writer, part, free, edits):
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
    records = sorted((r for r in writer.records.values() if r.coll in writer.indexed), key=lambda r: r.id)
    (_titles if part == TITLES else _contents)(inner, writer, records)
    for statement in edits:
        inner.execute(statement)
    if free:
        inner.execute("CREATE TABLE last(a)")
        inner.execute("INSERT INTO last VALUES(zeroblob(?))", (free * PAGE_SIZE,))
        inner.execute("DROP TABLE last")
    inner.execute("COMMIT")
    made = bytearray(inner.serialize())
    inner.close()
    made[96:100] = (3_040_001).to_bytes(4, "big")
    return bytes(made)


def _mark(writer, record):
    epoch, element = writer.element(record)
    return _number(hmac(writer.epoch_key(b"set", epoch), element))


def _attached(writer, record):
    """The attachments of a document by their numbers."""
    return sorted((a for a in writer.attachments.values() if a.column == record.id), key=lambda a: a.number)


def _mark_of_all(writer, record):
    """The mark of a document with its attachments."""
    total = _mark(writer, record) + sum(_mark(writer, attachment) for attachment in _attached(writer, record))
    return (total + 2**63) % 2**64 - 2**63


def _names(writer, record):
    return b"".join(attachment.name + b"\n" for attachment in _attached(writer, record))


def _number(digest):
    return int.from_bytes(digest[:8], "big", signed=True)


def _contents(inner, writer, records):
    inner.execute(
        "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,"
        "print INTEGER NOT NULL,row INTEGER) STRICT")
    inner.execute("CREATE TABLE extra_row(row INTEGER PRIMARY KEY AUTOINCREMENT,id INTEGER NOT NULL) STRICT")
    inner.execute(
        "CREATE TABLE made(coll INTEGER PRIMARY KEY,outdated_rows INTEGER NOT NULL,"
        "outdated_tokens INTEGER NOT NULL) STRICT")
    for coll in writer.indexed:
        inner.execute("INSERT INTO made VALUES(?,0,0)", (coll,))
        inner.execute(f"CREATE TABLE outdated_{coll}(row INTEGER PRIMARY KEY) STRICT")
        # SQLite doesn't have the tokenizer of words: this one takes words that are divided by spaces.
        inner.execute(f"CREATE VIRTUAL TABLE words_{coll} USING fts5(title,text,names,content='',tokenize=\"ascii tokenchars '.'\")")
        inner.execute(
            f"CREATE VIRTUAL TABLE parts_{coll} USING fts5(title,text,content='',detail=none,columnsize=0,"
            "tokenize='trigram case_sensitive 1')")
        inner.execute(f"CREATE TABLE fields_{coll}(id INTEGER PRIMARY KEY,f0,f1)")
    for r in records:
        inner.execute(
            "INSERT INTO document VALUES(?,?,?,?,NULL)", (r.id, r.coll, _mark_of_all(writer, r), _print(writer, r)))
        title, text, names = (r.title or b"").decode(), _strings(r), _names(writer, r).decode()
        inner.execute(
            f"INSERT INTO words_{r.coll}(rowid,title,text,names) VALUES(?,?,?,?)",
            (r.id, *map(_words, (title, text, names))))
        inner.execute(
            f"INSERT INTO parts_{r.coll}(rowid,title,text) VALUES(?,?,?)", (r.id, _folded(title), _folded(text)))
        inner.execute(
            f"INSERT INTO fields_{r.coll} VALUES(?,?,?)",
            (r.id, len(r.text), None if r.title is None else r.title.decode()))
    for coll in writer.indexed:
        for field in range(len(FIELDS)):
            inner.execute(f"CREATE INDEX fields_{coll}_{field} ON fields_{coll}(f{field})")
    inner.execute("PRAGMA writable_schema=ON")
    for coll in writer.indexed:
        sql = f"CREATE VIRTUAL TABLE words_{coll} USING fts5(title,text,names,content='',tokenize='coffer_words')"
        inner.execute("UPDATE sqlite_schema SET sql=? WHERE name=?", (sql, f"words_{coll}"))
    inner.execute("PRAGMA writable_schema=OFF")


def _print(writer, r):
    numbers = (
        r.body_nt[-8:] + i64(r.created) + i64(r.modified) + u8(r.flags & 1) + u8(0 if r.title is None else 1))
    data = pae(b"coffer3/print", numbers, r.title or b"", r.key or b"", r.attributes, _names(writer, r))
    return _number(hmac(writer.epoch_key(b"set", writer.active), data))


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


# Scripts whose letters are words, as far as the kit's texts have them.
SINGLE = [(0xE01, 0xEFF), (0x1100, 0x11FF), (0x3005, 0x312F), (0x3400, 0x9FFF), (0xAC00, 0xD7FF)]


def _words(text):
    """The words of a text without Indic vowel signs, divided by spaces (Index-Format, "Words")."""
    characters = []
    for one in text:
        if characters and (unicodedata.category(one)[0] == "M" or "\u1160" <= one <= "\u11ff"):
            characters[-1] += one
        else:
            characters.append(one)
    words, last, is_apart = [], None, False
    for character in characters:
        kind = _kind(character[0])
        if kind is None:
            is_apart = True
            continue
        if last and is_apart and "single" in (kind, last):
            words.append(".")
        if kind == last == "letter" and not is_apart:
            words[-1] += _folded_character(character)
        else:
            words.append(_folded_character(character))
        last, is_apart = kind, False
    return " ".join(words)


def _kind(scalar):
    category = unicodedata.category(scalar)
    if category[0] != "L" and category not in ("Nd", "Nl", "No", "Co"):
        return None
    is_single = category not in ("Nd", "No", "Co") and any(low <= ord(scalar) <= high for low, high in SINGLE)
    return "single" if is_single else "letter"


def _folded_character(character):
    """Without marks, decomposed and case folded; a Hangul syllable composed."""
    letters = "".join(one for one in unicodedata.normalize("NFD", character) if unicodedata.category(one) != "Mn")
    folded = unicodedata.normalize("NFD", letters.casefold())
    return unicodedata.normalize("NFC", folded) if "\u1100" <= folded[:1] <= "\u1112" else folded


def _folded(text):
    """Scalar by scalar: decomposed, case folded, without marks."""
    folded = "".join(unicodedata.normalize("NFD", unicodedata.normalize("NFD", one).casefold()) for one in text)
    return "".join(
        "\1" if one == "\0" else one for one in folded if not unicodedata.category(one).startswith("M") and one != "\u03b9")


def _titles(inner, writer, records):
    inner.execute(
        "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,"
        "position BLOB NOT NULL) STRICT")
    inner.execute("CREATE TABLE made(coll INTEGER PRIMARY KEY) STRICT")
    for coll in writer.indexed:
        inner.execute("INSERT INTO made VALUES(?)", (coll,))
        inner.execute(
            f"CREATE TABLE titles_{coll}(position BLOB NOT NULL,id INTEGER NOT NULL,header BLOB NOT NULL,"
            "PRIMARY KEY(position,id)) STRICT, WITHOUT ROWID")
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
