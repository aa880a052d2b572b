"""Attacks on the file without a key: foreign schemas, refused before a row is read or a key derived."""

from .attack import IDS, Attack, run, schema

TABLES = ("header", "spare", "slot", "state", "replica", "collection", "gone", "record", "body")
INDEXES = ("lookup", "held", "pos", "parent")


def attacks(kit):
    yield from _planted()
    yield from _changed()
    yield from _missing()
    yield from _tolerated()
    yield from _indexes_that_lie()


def _refused(name, what, edit):
    return Attack(f"schema-{name}", "sealed", what, edit, open="refused")


def _planted():
    for name, statements in {
        "trigger-insert": ["CREATE TRIGGER t AFTER INSERT ON coffer_record BEGIN DELETE FROM coffer_record; END"],
        "trigger-update": ["CREATE TRIGGER t AFTER UPDATE ON coffer_state BEGIN DELETE FROM coffer_body; END"],
        "trigger-delete": ["CREATE TRIGGER t BEFORE DELETE ON coffer_body BEGIN SELECT raise(IGNORE); END"],
        "trigger-slot": ["CREATE TRIGGER t AFTER INSERT ON coffer_slot BEGIN UPDATE coffer_slot SET wrapped=x''; END"],
        "trigger-ours": ["CREATE TRIGGER coffer_x_t AFTER INSERT ON coffer_record BEGIN SELECT 1; END"],
        "trigger-on-extension": [
            "CREATE TABLE coffer_x_t(a)", "CREATE TRIGGER coffer_x_u AFTER INSERT ON coffer_x_t BEGIN SELECT 1; END"],
        "view": ["CREATE VIEW v AS SELECT * FROM coffer_record"],
        "view-ours": ["CREATE VIEW coffer_x_v AS SELECT * FROM coffer_slot"],
        "virtual-fts": ["CREATE VIRTUAL TABLE f USING fts4(a)"],
        "virtual-fts-ours": ["CREATE VIRTUAL TABLE coffer_x_f USING fts4(a)"],
        "virtual-rtree": ["CREATE VIRTUAL TABLE coffer_x_r USING rtree(id,a,b)"],
        "table": ["CREATE TABLE planted(a)"], "table-almost-ours": ["CREATE TABLE coffer_planted(a)"],
        "table-prefix-alone": ["CREATE TABLE coffer_x(a)"], "table-sqlite-like": ["CREATE TABLE sqlitestat1(a)"],
        "extension-check": ["CREATE TABLE coffer_x_t(a CHECK(length(a)<9))"],
        "extension-default": ["CREATE TABLE coffer_x_t(a DEFAULT(random()))"],
        "extension-generated": ["CREATE TABLE coffer_x_t(a,b GENERATED ALWAYS AS (hex(a)))"],
        "extension-as": ["CREATE TABLE coffer_x_t(a,b as(hex(a)))"],
        "extension-references": ["CREATE TABLE coffer_x_t(a REFERENCES coffer_record(id) ON DELETE CASCADE)"],
        "extension-index-expression": ["CREATE TABLE coffer_x_t(a)", "CREATE INDEX coffer_x_i ON coffer_x_t(hex(a))"],
        "extension-index-operator": ["CREATE TABLE coffer_x_t(a)", "CREATE INDEX coffer_x_i ON coffer_x_t(a||a)"],
        "extension-index-partial": ["CREATE TABLE coffer_x_t(a)", "CREATE INDEX coffer_x_i ON coffer_x_t(a) WHERE a>1"],
        "extension-comment": ["CREATE TABLE coffer_x_t(a /* b */)"], "extension-other-case": ["CREATE TABLE COFFER_X_t(a)"],
        "litestream-default": ["CREATE TABLE _litestream_seq(id INTEGER PRIMARY KEY,seq DEFAULT(1))"],
        "table-litestream-like": ["CREATE TABLE litestream_seq(a)"],
        "index-on-record": ["CREATE INDEX planted ON coffer_record(epoch)"],
        "index-ours-on-record": ["CREATE INDEX coffer_x_i ON coffer_record(epoch)"],
        "index-expression": ["CREATE INDEX planted ON coffer_record(hex(pos))"],
        "index-on-body": ["CREATE INDEX coffer_x_i ON coffer_body(length(ct))"],
        "index-unique": ["CREATE UNIQUE INDEX planted ON coffer_slot(params)"],
        "index-on-slot": ["CREATE INDEX coffer_slot_kind ON coffer_slot(kind)"],
        "index-other-on-extension": ["CREATE TABLE coffer_x_t(a)", "CREATE INDEX planted ON coffer_x_t(a)"],
    }.items():
        yield _refused(name, f"planted: {'; '.join(statements)}", run(*statements))
    for count in (989, 20_000):
        yield _refused(
            f"crowd-{count}", f"{count} tables that might be a feature's: over 1,000 entries",
            schema(
                f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{count}) INSERT INTO sqlite_schema "
                "SELECT 'table','coffer_x_'||i,'coffer_x_'||i,2,'CREATE TABLE coffer_x_'||i||'(a)' FROM n"))
    yield _refused(
        "virtual-by-text", "a table's text becomes that of a virtual table",
        schema("INSERT INTO sqlite_schema VALUES('table','coffer_x_v','coffer_x_v',0,'CREATE VIRTUAL TABLE coffer_x_v USING fts4(a)')"))
    yield _refused(
        "view-by-text", "an object named as a table, whose text makes a view",
        schema("INSERT INTO sqlite_schema VALUES('view','coffer_x_w','coffer_x_w',0,'CREATE VIEW coffer_x_w AS SELECT 1')"))


def _changed():
    """SQL that means the same is refused too: a reader accepts only the exact bytes."""
    record, body = "coffer_record", "coffer_body"
    for name, table, old, new in (
        ("not-strict", record, ") STRICT", ")"), ("not-null-taken", record, "head BLOB NOT NULL", "head BLOB"),
        ("type", record, "rev INTEGER NOT NULL", "rev INT NOT NULL"),
        ("type-of-pos", record, "pos BLOB NOT NULL", "pos INTEGER NOT NULL"),
        ("type-any", body, "ct BLOB NOT NULL", "ct ANY NOT NULL"),
        ("collation", record, "title TEXT", "title TEXT COLLATE NOCASE"), ("default", record, "title TEXT", "title TEXT DEFAULT 'x'"),
        ("check", record, "title TEXT", "title TEXT CHECK(length(title)<9)"),
        ("check-on-random", body, "ct BLOB NOT NULL", "ct BLOB NOT NULL CHECK(random()!=0)"),
        ("generated", record, "title TEXT", "title TEXT AS (hex(head))"),
        ("generated-added", record, ") STRICT", ",planted TEXT AS (hex(head)) VIRTUAL) STRICT"),
        ("column-added", record, ") STRICT", ",planted TEXT) STRICT"),
        ("column-dropped", record, "title TEXT,", ""), ("columns-exchanged", record, "epoch INTEGER NOT NULL,rev INTEGER NOT NULL", "rev INTEGER NOT NULL,epoch INTEGER NOT NULL"),
        ("unique", record, "pos BLOB NOT NULL", "pos BLOB NOT NULL ON CONFLICT REPLACE"),
        ("conflict", body, "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY ON CONFLICT REPLACE"),
        ("autoincrement", record, "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT"),
        ("primary-key-descending", body, "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY DESC"),
        ("space", body, "coffer_body(", "coffer_body ("), ("lower-case", body, "CREATE TABLE", "create table"),
        ("comment", body, ") STRICT", ")/**/ STRICT"), ("quoted", body, "coffer_body(", '"coffer_body"('),
        ("foreign-key", body, "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY REFERENCES coffer_record"),
        ("header-check-taken", "coffer_header", " CHECK(one=1)", ""), ("state-check-taken", "coffer_state", " CHECK(one=1)", ""),
        ("replica-check-taken", "coffer_replica", " CHECK(one=1)", ""),
        ("collection-with-epoch", "coffer_collection", "coll INTEGER PRIMARY KEY,", "coll INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,"),
        ("gone-autoincrement", "coffer_gone", "gone INTEGER PRIMARY KEY", "gone INTEGER PRIMARY KEY AUTOINCREMENT"),
        ("slot-type", "coffer_slot", "label TEXT", "label BLOB"),
        ("index-not-unique", "coffer_record_lookup", "CREATE UNIQUE INDEX", "CREATE INDEX"),
        ("index-unique", "coffer_record_held", "CREATE INDEX", "CREATE UNIQUE INDEX"),
        ("index-whole", "coffer_record_lookup", " WHERE lookup IS NOT NULL AND flags<2", ""),
        ("index-of-all-keys", "coffer_record_lookup", " AND flags<2", ""), ("index-of-none", "coffer_record_held", "flags>=2", "flags>=4"),
        ("index-other-condition", "coffer_record_parent", "parent IS NOT NULL", "parent>3"),
        ("index-descending", "coffer_record_pos", "pos,", "pos DESC,"), ("index-other-column", "coffer_record_pos", "coll,pos", "coll,rev"),
        ("index-of-format-1", "coffer_record_pos", ",id,title", ""), ("body-not-null", record, "body BLOB)", "body BLOB NOT NULL)"),
        ("body-taken", record, ",body BLOB)", ")"), ("spare-check-taken", "coffer_spare", " CHECK(one=1)", ""),
        ("index-collation", "coffer_record_lookup", "coll,lookup", "coll,lookup COLLATE NOCASE"),
        ("index-more-columns", "coffer_record_pos", "id,title", "id,title,epoch"),
        ("index-expression-in-place", "coffer_record_pos", "coll,pos", "coll,hex(pos)"),
        ("nul-after-text", body, ") STRICT", ") STRICT'||char(0)||'"), ("space-after-text", body, ") STRICT", ") STRICT "),
    ):
        quoted = f"replace(sql,'{_sql(old)}','{new if 'char(0)' in new else _sql(new)}')"
        yield _refused(
            f"changed-{name}", f"{table}: {old or 'text'!r} becomes {new!r}",
            schema(f"UPDATE sqlite_schema SET sql={quoted} WHERE name='{table}'"))


def _sql(text):
    return text.replace("'", "''")


def _missing():
    for table in TABLES:
        yield _refused(f"without-{table}", f"there is no table coffer_{table}", run(f"DROP TABLE coffer_{table}"))
        yield _refused(
            f"renamed-{table}", f"coffer_{table} has another name",
            schema(f"UPDATE sqlite_schema SET name='Coffer_{table}',tbl_name='Coffer_{table}' WHERE name='coffer_{table}'"))
    for index in INDEXES:
        yield _refused(f"without-index-{index}", f"there is no index {index}", run(f"DROP INDEX coffer_record_{index}"))
    yield _refused("empty", "there is nothing at all in it", run(*(f"DROP TABLE coffer_{table}" for table in TABLES)))
    yield _refused(
        "table-is-view", "coffer_body is a view of another table",
        run("ALTER TABLE coffer_body RENAME TO coffer_x_body", "CREATE VIEW coffer_body AS SELECT * FROM coffer_x_body"))
    yield _refused(
        "twice", "coffer_state is in the schema twice",
        schema("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name='coffer_state'"))


def _tolerated():
    for name, statements in {
        "extension-table": ["CREATE TABLE coffer_x_t(a,b UNIQUE)", "INSERT INTO coffer_x_t VALUES(1,2)"],
        "extension-index": ["CREATE TABLE coffer_x_t(a)", "CREATE INDEX coffer_x_i ON coffer_x_t(a)"],
        "sequence": ["CREATE TABLE coffer_x_s(a INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO coffer_x_s VALUES(NULL)"],
        "extension-quoted": ['CREATE TABLE coffer_x_t("check" TEXT, [default] BLOB, `as` VARCHAR(9), PRIMARY KEY("check",[default]))'],
        "litestream": [
            "CREATE TABLE _litestream_seq(id INTEGER PRIMARY KEY,seq INTEGER)", "CREATE TABLE _litestream_lock(id INTEGER)"],
        "crowd": [f"CREATE TABLE coffer_x_{number}(a)" for number in range(987)],
        "statistics": ["ANALYZE"],
        "statistics-that-lie": [
            "ANALYZE", "DELETE FROM sqlite_stat1",
            "INSERT INTO sqlite_stat1 VALUES('coffer_record','coffer_record_pos','9223372036854775807 1 1'),"
            "('coffer_record','coffer_record_lookup','0 0 0'),('coffer_record',NULL,'x'),('coffer_body',NULL,'-1'),"
            "('none','none','unordered sz=1000000000 noskipscan')"],
        "statistics-not-text": ["ANALYZE", "UPDATE sqlite_stat1 SET stat=zeroblob(100000),idx=5"],
    }.items():
        yield Attack(
            f"schema-tolerated-{name}", "sealed", f"what known tools make is ignored: {statements[0]}", run(*statements),
            verify="ok")


def _lie(columns, where="", index="pos", target="coll,pos,id,title"):
    """Replaces the pages of an index by those of an index over other values, which the attacker made."""

    def edit(db, kit):
        for statement in (
            "CREATE TABLE other(coll INTEGER NOT NULL,pos BLOB NOT NULL,lookup BLOB,parent INTEGER,title TEXT,"
            "id INTEGER PRIMARY KEY,flags INTEGER)",
            f"INSERT INTO other SELECT {columns},flags FROM coffer_record {where}", f"CREATE INDEX other_i ON other({target})",
            "PRAGMA writable_schema=ON",
            "UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='other_i')"
            f" WHERE name='coffer_record_{index}'",
            "DELETE FROM sqlite_schema WHERE name LIKE 'other%'",
        ):
            db.execute(statement)

    return edit


def _indexes_that_lie():
    for name, what, edit, options in (
        ("hides", "the index of places hides document 2: verify alone can tell",
         _lie("coll,pos,lookup,parent,title,id", "WHERE id!=2"), {}),
        ("empty", "the index of places is empty", _lie("coll,pos,lookup,parent,title,id", "WHERE 0"), {}),
        ("wrong-collection", "the index of places names documents under the other collection",
         _lie("3-coll,pos,lookup,parent,title,id"), {"list": "damaged"}),
        ("wrong-order", "the index of places has another order", _lie("coll,CAST(9-id AS BLOB),lookup,parent,title,id"),
         {"list": "damaged"}),
        ("wrong-numbers", "the index of places names numbers that there are not",
         _lie("coll,pos,lookup,parent,title,id+100"), {"list": "damaged"}),
        ("shifted", "the index of places names each document's neighbour", _lie("coll,pos,lookup,parent,title,id%7+1", "WHERE id<5"),
         {"list": "damaged"}),
        ("titles", "the index of places has sealed rows with clear titles: a list with the key never shows them",
         _lie("coll,pos,lookup,parent,'planted',id"), {"also": {"list": ["damaged"]}}),
        ("lookup-hides", "the index of keys is empty: a lookup that finds nothing rests on it",
         _lie("coll,pos,lookup,parent,title,id", "WHERE 0", "lookup", "coll,lookup) WHERE (lookup IS NOT NULL AND flags<2"), {}),
        ("parent-hides", "the index of parents is empty",
         _lie("coll,pos,lookup,parent,title,id", "WHERE 0", "parent", "parent) WHERE (parent IS NOT NULL"), {}),
    ):
        yield Attack(f"index-{name}", "sealed", what, edit, **{"verify": "damaged"} | options)
    for name, what, edit in (
        ("held-hides", "the index of keys that others hold is empty",
         _lie("coll,pos,lookup,parent,title,id", "WHERE 0", "held", "coll,lookup) WHERE (flags>=2")),
        ("lookup-of-others", "the index of keys names the documents that do not hold them, and no others",
         _lie("coll,pos,lookup,parent,title,id", "WHERE flags>=2", "lookup", "coll,lookup) WHERE (lookup IS NOT NULL")),
    ):
        yield Attack(f"index-{name}", "clashes", what, edit, verify="damaged")
    yield Attack(
        "index-clear-titles", "clear", "the index of places has other titles: a list with the key shows those of the rows",
        _lie("coll,pos,lookup,parent,'planted',id"), verify="damaged", also={"list": ["damaged"]})
    # The table of records then has the pages of the two long bodies.
    unread = {id: "damaged" if id in (5, 8) else "missing" for id in IDS}
    for first, second, options in (
        ("coffer_record_lookup", "coffer_record_held", {"verify": "damaged"}),
        ("coffer_record_pos", "coffer_record_lookup", {"list": "damaged", "verify": "damaged"}),
        ("coffer_record", "coffer_body", {"list": "damaged", "get": unread}),
        ("coffer_header", "coffer_state", {"open": "damaged"}), ("coffer_slot", "coffer_collection", {"open": "damaged"}),
        ("coffer_state", "coffer_replica", {"open": "damaged"}), ("coffer_collection", "coffer_gone", {"list": "damaged"}),
    ):
        yield Attack(
            f"roots-swapped-{first}-{second}", "sealed", f"the pages of {first} and {second} are exchanged",
            schema(
                f"UPDATE sqlite_schema SET rootpage=(SELECT sum(rootpage) FROM sqlite_schema"
                f" WHERE name IN ('{first}','{second}'))-rootpage WHERE name IN ('{first}','{second}')"), **options)
    for name in ("coffer_body", "coffer_record_pos", "coffer_state"):
        yield Attack(
            f"root-beyond-{name}", "sealed", f"the root page of {name} is one that there is not",
            schema(f"UPDATE sqlite_schema SET rootpage=1000000 WHERE name='{name}'"), open="damaged")
