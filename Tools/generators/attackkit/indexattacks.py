"""Attacks on sealed indexes, by whoever can write the file and by a key holder.

An index is derived: after any attack on it, every document is read, listed and found as before.
"""

import json

from storereader.primitives import u8

from . import indexes
from .attack import Attack, loosely, run
from .expressions import ENDLESS
from .indexes import CONTENTS, ENTRIES, ENTRY_SIZE, MAP, MOST, PAGE_SIZE, RESERVED, TITLES, declaration_of

ROOT, PAGE = "coffer_x_index", "coffer_x_index_page"
# Texts to search for; some documents contain them.
SEARCHES = ("long text", "first", "now", "absent")
PARTS = ((CONTENTS, "contents"), (TITLES, "titles"))


def _attack(name, what, edit=None, verify="damaged", base="indexed", **options):
    also = {"verify_quick": ["ok"]} | options.pop("also", {})
    return Attack(
        f"sealed-index-{name}", base, what, edit, verify=verify, put="ok", searches=SEARCHES, also=also, **options)


def attacks(kit):
    yield from _pages()
    yield from _places(kit)
    yield from _replays(kit)
    yield from _replayed_declarations(kit)
    yield from _roots()
    yield from _tables()
    yield from _forged_roots(kit)
    yield from _forged_identities()
    yield from _forged_pages()
    yield from _forged_schemas()


def _flipped(column, table, key, place):
    def edit(db, kit):
        value = bytearray(db.execute(f"SELECT {column} FROM {table} WHERE {key}").fetchone()[0])
        value[place] ^= 1
        db.execute(f"UPDATE {table} SET {column}=? WHERE {key}", (bytes(value),))

    return edit


def _pages():
    for part, what in PARTS:
        first = part << 32
        yield _attack(
            f"{what}-first-page", f"{what}: a byte of the first page", _flipped("sealed", PAGE, f"place={first}", 100))
        for place, kind, name in ((first + 1, "page", ""), (first + MAP, "map page", "map-")):
            key = f"place={place}"
            for bytes_of, at in {"nonce": 0, "ciphertext": 60, "tag": -1, "tag-begin": -16}.items():
                yield _attack(
                    f"{what}-{name}{bytes_of}", f"{what}: a byte of a {kind}'s {bytes_of}",
                    _flipped("sealed", PAGE, key, at))
            for edited, sql in {
                "gone": f"DELETE FROM {PAGE} WHERE {key}",
                "epoch": f"UPDATE {PAGE} SET epoch=2 WHERE {key}",
                "epoch-zero": f"UPDATE {PAGE} SET epoch=0 WHERE {key}",
                "epoch-above-u32": f"UPDATE {PAGE} SET epoch=4294967297 WHERE {key}",
                "cut": f"UPDATE {PAGE} SET sealed=substr(sealed,1,length(sealed)-1) WHERE {key}",
                "longer": f"UPDATE {PAGE} SET sealed=CAST(sealed||x'00' AS BLOB) WHERE {key}",
                "empty": f"UPDATE {PAGE} SET sealed=x'' WHERE {key}",
            }.items():
                yield _attack(f"{what}-{name}{edited}", f"{what}: a {kind} is edited ({edited})", run(sql))
            for edited, column, value in (
                ("text", "sealed", "'page'"), ("null", "sealed", "NULL"), ("epoch-text", "epoch", "'1'"),
                ("epoch-real", "epoch", "1.5")):
                yield _attack(
                    f"{what}-{name}class-{edited}", f"{what}: a {kind}'s {column} is {value}",
                    loosely(f"UPDATE {PAGE} SET {column}={value} WHERE {key}"))
        yield _attack(
            f"{what}-last-gone", f"{what}: the last page is gone",
            run(f"DELETE FROM {PAGE} WHERE place=(SELECT max(place) FROM {PAGE} WHERE place<{first + MAP})"))
        yield _attack(
            f"{what}-no-pages", f"{what}: all pages are gone", run(f"DELETE FROM {PAGE} WHERE place>>32={part}"))


def _places(kit):
    """Rows at places that are not theirs."""

    def copied(source, target):
        return run(f"UPDATE {PAGE} SET sealed=(SELECT sealed FROM {PAGE} WHERE place={source}) WHERE place={target}")

    def moved(source, target):
        return run(f"UPDATE {PAGE} SET place={target} WHERE place={source}")

    def exchanged(one, other):
        return run(
            *(f"UPDATE {PAGE} SET place={target} WHERE place={source}"
              for source, target in ((one, -1), (other, one), (-1, other))))

    def added(source, target, epoch=1):
        return run(f"INSERT INTO {PAGE} SELECT {target},{epoch},sealed FROM {PAGE} WHERE place={source}")

    for part, what in PARTS:
        first, other, count = part << 32, 3 - part << 32, len(kit.base("indexed").indexes[part].pages)
        for name, words, edit in (
            ("other-page", "a page is the first one", copied(first, first + 1)),
            ("pages-exchanged", "two pages are exchanged", exchanged(first + 1, first + 2)),
            ("page-of-other-part", "a page is that of the other part", copied(other + 1, first + 1)),
            ("map-page-of-other-part", "a map page is that of the other part", copied(other + MAP, first + MAP)),
            ("page-for-map-page", "a map page is a page", copied(first, first + MAP)),
            ("map-page-for-page", "a page is a map page", copied(first + MAP, first)),
            ("map-page-moved", "a map page has the next number", moved(first + MAP, first + MAP + 1)),
            ("page-behind", "a row behind the last page", added(first, first + count)),
            ("map-page-behind", "a row behind the last map page", added(first + MAP, first + MAP + 1)),
            ("page-behind-of-epoch", "a row of another epoch behind the last page", added(first, first + count, 2)),
        ):
            yield _attack(f"{what}-{name}", f"{what}: {words}", edit)
    contents, titles = CONTENTS << 32, TITLES << 32
    yield _attack("parts-exchanged", "the first pages of both parts are exchanged", exchanged(contents, titles))
    yield _attack(
        "maps-exchanged", "the map pages of both parts are exchanged", exchanged(contents + MAP, titles + MAP))
    yield _attack(
        "map-pages-exchanged", "two map pages of one part are exchanged", exchanged(contents + MAP, contents + MAP + 1),
        base="indexed-large")
    yield _attack(
        "map-page-other", "a map page is the one before it", copied(contents + MAP, contents + MAP + 1),
        base="indexed-large")
    # No reader reads a page after the last one.
    for name, place in {"negative": -5, "of-no-part": 9 << 32}.items():
        yield _attack(
            f"page-{name}", "a page that belongs to no index",
            run(f"INSERT INTO {PAGE} VALUES({place},1,zeroblob(900))"), also={"verify": ["ok"]})


def _replays(kit):
    """Earlier rows, kept by an attacker who can read and write the file."""
    earlier, now = kit.base("indexed-earlier").indexes, kit.base("indexed").indexes
    for part, what in PARTS:
        old, new = earlier[part], now[part]
        changed = [number for number, sealed in old.rows().items() if new.rows().get(number) != sealed]
        pages = [number for number in changed if number < MAP]
        recent = [page for page in pages if page in new.changes]
        mapped = [page for page in pages if page not in new.changes]
        map_page = [number for number in changed if number >= MAP][:1]

        def put_back(numbers, root=False, part=part, old=old, new=new):
            before, after = old.rows(), new.rows()
            statements = [
                (f"REPLACE INTO {PAGE} VALUES(?,1,?)", (part << 32 | number, before[number])) for number in numbers]
            if root:
                statements.append((f"UPDATE {ROOT} SET sealed=? WHERE part=?", (old.sealed_root, part)))
                statements += [
                    f"DELETE FROM {PAGE} WHERE place={part << 32 | number}"
                    for number in sorted(after.keys() - before.keys())]
            return run(*statements)

        for name, words, edit in (
            ("old-page", "an old page; the changes name the present one", put_back(recent[-1:])),
            ("old-first-page", "the first page that changed is an old one", put_back(pages[:1])),
            ("old-pages", "all old pages, under the present map", put_back(pages)),
            ("old-map-page", "an old map page", put_back(map_page)),
            ("old-map-page-and-page", "an old map page, and an old page", put_back(map_page + pages[-1:])),
            ("old-map-page-and-pages", "all old pages and map pages, under the present root", put_back(changed)),
            ("old-root", "an old root over present pages", put_back([], True)),
            ("old-root-and-map-page", "an old root and its map page over present pages", put_back(map_page, True)),
            ("old-root-and-pages", "an old root and its pages, with the present map page", put_back(pages, True)),
        ):
            yield _attack(f"{what}-{name}", f"{what}: {words}", edit)
        if mapped:
            yield _attack(
                f"{what}-old-page-of-map", f"{what}: an old page; the map names the present one", put_back(mapped[-1:]))
        yield _attack(
            f"{what}-of-yesterday", f"{what}: root and pages of an earlier moment", put_back(changed, True),
            verify="ok")


def _replayed_declarations(kit):
    """Roots with all their pages that were sound once; the state names others."""

    def whole(*earlier):
        statements = []
        for index in earlier:
            statements += [
                f"DELETE FROM {PAGE} WHERE place>>32={index.part}",
                (f"REPLACE INTO {ROOT} VALUES(?,1,?)", (index.part, index.sealed_root))]
            statements += [
                (f"INSERT INTO {PAGE} VALUES(?,1,?)", (index.part << 32 | number, sealed))
                for number, sealed in index.rows().items()]
        return run(*statements)

    declared, made = kit.base("indexed-declared").indexes, kit.base("indexed").indexes
    for part, what in PARTS:
        yield _attack(
            f"{what}-of-declaration-before", f"{what}: root and pages of the declaration before", whole(declared[part]))
    yield _attack(
        "declaration-before", "roots and pages of both parts, of the declaration before", whole(*declared.values()))
    yield _attack(
        "dropped-put-back", "titles: root and pages of before they were dropped", whole(made[TITLES]),
        base="indexed-dropped")
    yield _attack(
        "of-before-rekey", "roots and pages of before the rekey, in the old epoch", whole(*made.values()),
        base="indexed-mid-rekey")


def _roots():
    for part, what in PARTS:
        for name, place in {"nonce": 0, "ciphertext": 100, "tag": -1}.items():
            yield _attack(
                f"{what}-root-{name}", f"{what}: a byte of the root's {name}",
                _flipped("sealed", ROOT, f"part={part}", place))
        for name, sql in {
            "gone": f"DELETE FROM {ROOT} WHERE part={{}}", "empty": f"UPDATE {ROOT} SET sealed=x'' WHERE part={{}}",
            "epoch": f"UPDATE {ROOT} SET epoch=2 WHERE part={{}}",
            "huge": f"UPDATE {ROOT} SET sealed=zeroblob(3000000) WHERE part={{}}",
            "number": f"UPDATE {ROOT} SET part=3 WHERE part={{}}",
            "number-negative": f"UPDATE {ROOT} SET part=-1 WHERE part={{}}",
        }.items():
            # Pages without a root belong to no index.
            yield _attack(f"{what}-root-{name}", f"{what}: the root is edited ({name})", run(sql.format(part)))
    yield _attack(
        "roots-exchanged", "the roots of both parts are exchanged",
        run(*(f"UPDATE {ROOT} SET part={target} WHERE part={source}" for source, target in ((1, -1), (2, 1), (-1, 2)))))

    def of_another_store(db, kit):
        for index in kit.base("indexed-other").indexes.values():
            db.execute(f"UPDATE {ROOT} SET sealed=? WHERE part=?", (index.sealed_root, index.part))
            for number, sealed in index.rows().items():
                db.execute(f"REPLACE INTO {PAGE} VALUES(?,1,?)", (index.part << 32 | number, sealed))

    yield _attack("of-another-store", "roots and pages are those of another store", of_another_store)


def _tables():
    for name, statements in {
        "tables-gone": (f"DROP TABLE {ROOT}", f"DROP TABLE {PAGE}"), "pages-table-gone": (f"DROP TABLE {PAGE}",),
        "table-of-another-text": (
            f"DROP TABLE {ROOT}", f"CREATE TABLE {ROOT}(part INTEGER PRIMARY KEY,epoch,sealed)",
            f"INSERT INTO {ROOT} VALUES(1,1,x'00')"),
        "pages-table-of-another-text": (f"ALTER TABLE {PAGE} ADD COLUMN more INTEGER",),
        "emptied": (f"DELETE FROM {ROOT}", f"DELETE FROM {PAGE}"),
    }.items():
        yield _attack(name, f"tables of indexes: {name}", run(*statements), verify="ok", also={"verify": ["damaged"]})


def _forged(name, what, change, part=TITLES, **options):
    """An attack by a key holder: `change` seals pages and root of a part again."""

    def forge(writer):
        change(writer, writer.indexes[part])
        indexes.write(writer)

    return _attack(f"forged-{name}", what, forge=forge, **options)


def _forged_roots(kit):
    def root(name, part=TITLES, verify="damaged", **odd):
        return _forged(
            f"root-{name}", f"a root with another {name}", lambda writer, index: index.seal_root(writer, **odd), part,
            verify=verify)

    index, contents = kit.base("indexed").indexes[TITLES], kit.base("indexed").indexes[CONTENTS]
    count, tags, changes = len(index.pages), [sealed[-16:] for sealed in index.map_pages], sorted(index.changes.items())
    spared = next(page for page in range(count) if page not in index.changes)
    for version in (0, 1, 2, 4, 2**32 - 1):
        yield root(f"version-{version}", version=version, verify="ok")
    yield root("version-4-of-contents", part=CONTENTS, version=4, verify="ok")
    yield root("version-4-not-json", version=4, declaration=b"{", verify="ok")
    yield root("identity", identity=bytes(16))
    for size in (0, 512, 1000, 2048, 2**17):
        yield root(f"page-size-{size}", page_size=size)
    for name, number in {
        "none": 0, "less": count - 1, "more": count + 1, "2-to-31-less-1": 2**31 - 1, "2-to-31": 2**31,
        "greatest": 2**32 - 1,
    }.items():
        yield root(f"page-count-{name}", page_count=number)
    yield root("map-count-more", map_count=len(tags) + 1)
    yield root("map-count-2-to-31", map_count=2**31)
    yield root("map-tags-none", map_tags=[])
    yield root("map-tags-more", map_tags=[*tags, bytes(16)])
    yield root("map-tags-zeros", map_tags=[bytes(16)])
    yield root("map-tags-last-bit", map_tags=[tags[0][:15] + bytes([tags[0][15] ^ 1])])
    yield root("map-tags-of-contents", map_tags=[contents.map_pages[0][-16:]])
    (one, first), (other, second) = changes[:2]
    for name, forged in {
        "none": [], "first-gone": changes[1:], "of-another-page": sorted([(spared, first), *changes[1:]]),
        "entries-exchanged": [(one, second), (other, first), *changes[2:]], "fall": changes[::-1],
        "twice": [changes[0], *changes], "twice-unlike": [(one, bytes(8)), *changes],
        "of-page-behind": [*changes, (count, bytes(8))], "of-map-page": [*changes, (MAP, tags[0][:8])],
        "zeros": [(one, bytes(8)), *changes[1:]], "last-bit": [(one, first[:7] + bytes([first[7] ^ 1])), *changes[1:]],
    }.items():
        yield root(f"changes-{name}", changes=forged)
    yield root("change-count-more", change_count=len(changes) + 1)
    yield root("change-count-less", change_count=len(changes) - 1)
    yield root("change-count-greatest", change_count=2**32 - 1)
    for number, verify in ((MOST, "ok"), (MOST + 1, "damaged")):
        yield _forged(
            f"root-changes-{number}", f"a root with {number} changes",
            lambda writer, index, number=number: index.name_as_changes(writer, number), CONTENTS, base="indexed-large",
            verify=verify)
    yield root("declaration-of-contents", part=CONTENTS, declaration=b"{}")
    yield root("contents", contents=u8(2))
    yield root("end", end=b"\0")
    yield from _forged_declarations(root, declaration_of(kit.base("indexed"), CONTENTS)["collections"])


def _forged_identities():
    """The state names other identities than the roots have."""

    def named(name, what, identities):
        def change(writer, index):
            writer.odd = {"index_identities": b"".join(identities(*writer.index_identities.values()))}
            writer.commit()

        return _forged(f"identities-{name}", f"the state names {what}", change)

    yield named("zeros", "no indexes", lambda contents, titles: (bytes(16), bytes(16)))
    yield named("zeros-of-titles", "no titles", lambda contents, titles: (contents, bytes(16)))
    yield named("exchanged", "the parts by each other's identity", lambda contents, titles: (titles, contents))
    yield named("equal", "both parts by one identity", lambda contents, titles: (contents, contents))
    yield named(
        "last-bit", "titles by another last bit",
        lambda contents, titles: (contents, titles[:15] + bytes([titles[15] ^ 1])))

    def remade(writer, index):
        index.identity = writer.random(16)
        for page, content in enumerate(index.plain):
            index.write_page(writer, page, content)
        index.name_as_changes(writer, len(index.pages))

    yield _forged("identity-of-its-own", "root and pages with an identity that the state does not name", remade)


def _forged_declarations(root, sound):
    yield root("declaration", declaration=b"[]")
    yield root("declaration-not-json", declaration=b"{")
    yield root("declaration-over-limit", declaration=b'{"collections":[]}'.ljust(2**20 + 1))

    def field(name, path="@size", kind="number"):
        return {"name": name, "path": path, "kind": kind}

    def entry(fields=(), number=9, uid="0" * 32):
        return {
            "number": number, "uid": uid, "hasSubstrings": True, "keepsDiacritics": False, "hasTitles": False,
            "fields": list(fields)}

    def declared(name, *entries, verify="damaged"):
        declaration = json.dumps({"collections": entries}).encode()
        return root(f"declaration-{name}", part=CONTENTS, declaration=declaration, verify=verify)

    # The tables of the first are missing; the others break a rule.
    yield declared("of-no-collection", *sound, entry([field("n"), field("n" * 128)]))
    yield declared("falls", *sound[::-1])
    yield declared("number-twice", *sound, entry(), entry(uid="1" * 32))
    yield declared("number-zero", entry(number=0), *sound)
    yield declared("uid-short", *sound, entry(uid="0" * 31))
    yield declared("uid-upper-case", *sound, entry(uid="A" * 32))
    yield declared("flag-is-number", *sound, entry() | {"hasSubstrings": 1})
    yield declared("members-none", *sound, entry() | {"members": []})
    yield declared("members-65", *sound, entry() | {"members": ["$.a"] * 65})
    yield declared("members-of-header", *sound, entry() | {"members": ["@title"]})
    without_words = {key: value for key, value in entry().items() if key != "keepsDiacritics"}
    yield declared("members-without-words", *sound, without_words | {"members": ["$.a"]})
    for name, fields in {
        "65": [field(f"n{number}") for number in range(65)], "name-twice": [field("n"), field("N")],
        "name-empty": [field("")], "name-129-bytes": [field("n" * 129)], "name-nul": [field("n\0")],
        "kind": [field("n", kind="integer")], "kind-of-path": [field("n", "@created")], "path": [field("n", "@other")],
    }.items():
        yield declared(f"fields-{name}", *sound, entry(fields))


def _forged_pages():
    def unlike_keys(writer, index):
        for page, content in enumerate(index.plain):
            index.write_page(writer, page, content, key=writer.epoch_key(b"body", 1))
        index.seal_root(writer)

    yield _forged("pages-under-another-key", "pages under a key of texts, rightly named", unlike_keys)

    def mapped(name, what, change):
        """A map page with another content, whose tag the root names; all entries are in it."""

        def forge(writer, index):
            index.move(writer, 0)
            index.write_map(writer, 0, change(index.maps[0]))
            index.seal_root(writer)

        return _forged(f"map-{name}", f"a map page: {what}", forge)

    for name, what, change in (
        ("zeros", "no entries", lambda content: bytes(len(content))),
        ("first-entry-zeros", "no entry for the first page", lambda content: bytes(8) + content[8:]),
        ("last-bit", "another last bit of an entry",
         lambda content: content[:7] + bytes([content[7] ^ 1]) + content[8:]),
        ("entries-exchanged", "two entries are exchanged",
         lambda content: content[8:16] + content[:8] + content[16:]),
        ("shifted", "each entry is one further", lambda content: bytes(8) + content[:-8]),
        ("cut", "no room for the last entry", lambda content: content[:-8]),
        ("longer", "room for another entry", lambda content: content + bytes(8)),
    ):
        yield mapped(name, what, change)

    def behind(writer, index):
        """Entries of pages that there are not mean nothing."""
        end = len(index.plain) * ENTRY_SIZE
        index.move(writer, 0)
        index.write_map(writer, 0, index.maps[0][:end] + b"\1" * (ENTRIES * ENTRY_SIZE - end))
        index.seal_root(writer)

    yield _forged("map-entries-behind", "a map page with entries of pages that there are not", behind, verify="ok")

    def more_maps(writer, index):
        index.write_map(writer, 1, bytes(ENTRIES * ENTRY_SIZE))
        index.seal_root(writer)

    yield _forged("map-page-more", "a map page that the number of pages does not need", more_maps)

    yield _forged(
        "map-none", "all entries are changes", lambda writer, index: index.name_as_changes(writer, len(index.pages)),
        verify="ok")

    def resized(writer, index):
        index.write_page(writer, 1, index.plain[1] + bytes(RESERVED))
        index.seal_root(writer)

    yield _forged("page-with-reserve", "a page with its reserved bytes", resized)

    def overwritten(content):
        def change(writer, index):
            for page in (0, len(index.pages) - 1):
                index.write_page(writer, page, content)
            index.seal_root(writer)

        return change

    # Correctly sealed and named: verify may find these by comparison with the documents only.
    for part, what in PARTS:
        for name, content in {"zeros": bytes(PAGE_SIZE - RESERVED), "noise": bytes(range(232)) * 4}.items():
            yield _forged(
                f"{what}-of-{name}", f"{what}: pages that are no pages of a database", overwritten(content), part,
                also={"verify": ["ok"]})


def _sql(text):
    return text.replace("'", "''")


def _forged_schemas():
    """Inner databases whose schema is not the one that the declaration implies."""

    def rewritten(name, text, instead):
        return (
            "PRAGMA writable_schema=ON",
            f"UPDATE sqlite_schema SET sql=replace(sql,'{text}','{instead}') WHERE name='{name}'")

    def in_place(name, sql):
        return f"DROP TABLE {name}", sql

    made = "id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL"
    schemas = {
        CONTENTS: {
            "trigger": ("CREATE TRIGGER planted AFTER INSERT ON document BEGIN DELETE FROM document; END",),
            "trigger-of-fields": (
                "CREATE TRIGGER t AFTER DELETE ON fields_1 BEGIN INSERT INTO fields_1 VALUES(1,2,3); END",),
            "view": ("CREATE VIEW planted AS SELECT * FROM document",),
            "view-in-place": in_place("fields_1", "CREATE VIEW fields_1 AS SELECT id,1 AS f0,2 AS f1 FROM document"),
            "table": ("CREATE TABLE planted(a)",),
            "table-of-collection": ("CREATE TABLE fields_9(id INTEGER PRIMARY KEY,f0)",),
            "virtual-table": ("CREATE VIRTUAL TABLE planted USING fts5(a)",),
            "words-of-collection": (
                "CREATE VIRTUAL TABLE words_9 USING fts5(title,text,content='',"
                "tokenize='unicode61 remove_diacritics 2')",),
            "index": ("CREATE INDEX planted ON document(coll)",),
            "index-expression": ("CREATE INDEX planted ON document(abs(mark))",),
            "column-renamed": ("ALTER TABLE document RENAME COLUMN print TO printed",),
            "column-added": ("ALTER TABLE document ADD COLUMN planted INTEGER",),
            "column-of-words": rewritten("words_1", "title,text,names", "text,title,names"),
            "column-generated": in_place(
                "document", f"CREATE TABLE document({made},print INTEGER NOT NULL,row INTEGER AS (id+1)) STRICT"),
            "field-renamed": ("ALTER TABLE fields_1 RENAME COLUMN f1 TO f2",), "field-gone": ("DROP INDEX fields_1_1",),
            "field-index-of-another": ("DROP INDEX fields_1_1", "CREATE INDEX fields_1_1 ON fields_1(f0)"),
            "tokenizer": rewritten("words_1", "coffer_words", "coffer_words keep_diacritics"),
            "spaces": rewritten("made", ",", ", "), "outdated-gone": ("DROP TABLE outdated_1",),
            "words-gone": ("DROP TABLE words_1",), "made-gone": ("DROP TABLE made",),
            "statistics-computed": (
                "ANALYZE", "PRAGMA writable_schema=ON",
                f"UPDATE sqlite_schema SET sql='CREATE TABLE sqlite_stat1(tbl,idx,stat AS ({_sql(ENDLESS)}))'"
                " WHERE name='sqlite_stat1'"),
            "check-computed": rewritten("made", ") STRICT", f",CHECK({_sql(ENDLESS)})) STRICT"),
            "made-of-undeclared": ("INSERT INTO made VALUES(9,0,0)",),
        },
        TITLES: {
            "trigger": ("CREATE TRIGGER planted AFTER INSERT ON titles_1 BEGIN DELETE FROM titles_1; END",),
            "view": ("CREATE VIEW planted AS SELECT * FROM titles_1",),
            "view-in-place": in_place(
                "titles_1", "CREATE VIEW titles_1 AS SELECT position,id,x'00' AS header FROM document"),
            "table": ("CREATE TABLE planted(a)",), "index": ("CREATE INDEX planted ON titles_1(header)",),
            "column-renamed": ("ALTER TABLE titles_1 RENAME COLUMN header TO head",),
            "column-of-contents": ("ALTER TABLE document ADD COLUMN row INTEGER",),
            "collation": in_place(
                "titles_1", "CREATE TABLE titles_1(position BLOB NOT NULL COLLATE NOCASE,id INTEGER NOT NULL,"
                "header BLOB NOT NULL,PRIMARY KEY(position,id)) STRICT, WITHOUT ROWID"),
            "with-rowid": in_place(
                "titles_1", "CREATE TABLE titles_1(position BLOB NOT NULL,id INTEGER NOT NULL,header BLOB NOT NULL,"
                "PRIMARY KEY(position,id)) STRICT"),
            "titles-gone": ("DROP TABLE titles_1",),
        },
    }
    for part, what in PARTS:
        def edited(statements):
            return lambda writer, index: index.update(writer, (), statements)

        for name, statements in schemas[part].items():
            yield _forged(f"{what}-schema-{name}", f"{what}: another inner schema ({name})", edited(statements), part)
        yield _forged(
            f"{what}-schema-statistics", f"{what}: with the statistics that SQLite makes", edited(("ANALYZE",)), part,
            verify="ok")
