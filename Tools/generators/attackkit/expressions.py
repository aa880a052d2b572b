"""Attacks on the file without a key: expressions in the schema that never end, or fail, wherever SQLite computes some.

SQLite computes a CHECK constraint in its integrity check, a generated column and an index's expression when a row is
written, deleted or checked, and the statistics' columns whenever it reads the schema, before any reader can compare it.
"""

from .attack import Attack, schema

# Each takes SQLite years, or gigabytes, or fails.
ENDLESS = "instr(hex(zeroblob(40000000)),hex(zeroblob(20000000))||'1')"
EXPRESSIONS = {
    "function": ENDLESS, "like": f"'{'a' * 3000}' LIKE '{'%a' * 900}%b'", "glob": f"'{'a' * 3000}' GLOB '{'*a' * 900}*b'",
    "memory": "length(randomblob(300000000)||randomblob(300000000))", "overflow": "abs(-9223372036854775808)",
    "invalid": "json('{')", "replaced": "replace(hex(zeroblob(9000000)),'0',hex(zeroblob(20)))",
    "printed": "printf('%.*c',300000000,'x')", "unknown": "nothing(1)", "extension": "load_extension('planted')",
    "concatenated": "||".join(["a"] * 900), "nested": "hex(" * 90 + "a" + ")" * 90, "matched": "a MATCH b",
    "row": "(SELECT count(*) FROM coffer_body a,coffer_body b,coffer_body c,coffer_body d)",
}
# The texts of a table with a column that SQLite computes or checks.
TABLES = {
    "check": "(a CHECK({e}),b)", "check-of-table": "(a,b,CHECK({e}))", "check-named": "(a CONSTRAINT c CHECK({e}),b)",
    "check-other-case": "(a,b cHeCk({e}))", "check-after-type": "(a NUMERIC(9)CHECK({e}),b)",
    "check-after-name": '("a"CHECK({e}),b)', "check-between-brackets": "([a'] CHECK({e}),[b'])",
    "check-after-quotes": '("a""b" CHECK({e}),b)', "check-after-lines": "(a\n\t\rCHECK\n({e}),b)",
    "check-strict": "(a INT CHECK({e}),b INT) STRICT", "check-without-rowid": "(a PRIMARY KEY CHECK({e}),b) WITHOUT ROWID",
    "check-after-comment": "(a/*'*/CHECK({e}),b/*'*/)", "check-after-line-comment": "(a--'\n CHECK({e}),b--'\n)",
    "check-with-conflict": "(a NOT NULL ON CONFLICT IGNORE CHECK({e}),b)",
    "default": "(a DEFAULT({e}),b)", "generated-virtual": "(a,b GENERATED ALWAYS AS ({e}) VIRTUAL)",
    "generated-stored": "(a,b GENERATED ALWAYS AS ({e}) STORED)", "generated-short": "(a,b aS({e}))",
    "generated-not-null": "(a,b AS ({e}) NOT NULL)", "generated-unique": "(a,b AS ({e}) UNIQUE)",
    "foreign-key": "(a REFERENCES coffer_record(id) ON DELETE CASCADE,b CHECK({e}))",
    "foreign-key-of-table": "(a,b,FOREIGN KEY(a) REFERENCES coffer_x_e(b) ON UPDATE CASCADE)",
}
INDEXES = {
    "expression": "({e})", "second": "(a,{e})", "descending": "({e} DESC)", "collated": "({e} COLLATE NOCASE)",
    "partial": "(a) WHERE {e}", "partial-other-case": "(a) wHeRe {e}", "operator": "(a||a)", "cast": "(CAST(a AS TEXT))",
    "in-parentheses": "((a))", "comment": "(a/*'*/,{e}/*'*/)",
}


def attacks(kit):
    for name, text in TABLES.items():
        yield _table(f"table-{name}", "coffer_x_e", text)
    for name, expression in EXPRESSIONS.items():
        for kind in ("check", "generated-virtual"):
            yield _table(f"{kind}-of-{name}", "coffer_x_e", TABLES[kind], expression)
    for table in ("_litestream_e", "sqlite_stat1", "sqlite_stat4", "sqlite_stat_e", "sqlite_sequence", "coffer_x_index"):
        for name in ("check", "generated-virtual", "default"):
            yield _table(f"{name}-in-{table}", table, TABLES[name])
    for name, text in INDEXES.items():
        yield _index(f"index-{name}", "coffer_x_i", text)
    yield from _statistics()
    yield from _own()
    yield from _other_objects()
    yield from _crowds()


def _refused(name, what, *statements):
    return Attack(f"expression-{name}", "sealed", what, schema(*statements), open="refused")


def _entry(kind, name, table, sql):
    return (
        "INSERT INTO sqlite_schema SELECT ?,?,?,(SELECT rootpage FROM sqlite_schema WHERE name='coffer_x_root'),?",
        (kind, name, table, sql))


# The pages of the planted table: two columns, one row.
ROOT = "CREATE TABLE coffer_x_root(a,b)", "INSERT INTO coffer_x_root VALUES(1,2)"


def _table(name, table, text, expression=ENDLESS):
    sql = f"CREATE TABLE {table}{text.replace('{e}', expression)}"
    return _refused(name, f"planted: {sql[:120]}", *ROOT, _entry("table", table, table, sql))


def _index(name, index, text, expression=ENDLESS):
    sql = f"CREATE INDEX {index} ON coffer_x_root{text.replace('{e}', expression)}"
    return _refused(
        name, f"planted: {sql[:120]}", *ROOT, "CREATE INDEX coffer_x_keys ON coffer_x_root(a)",
        ("UPDATE sqlite_schema SET name=?,sql=? WHERE name='coffer_x_keys'", (index, sql)))


def _statistics():
    """SQLite reads these columns together with the schema."""
    stat1 = "tbl", "idx", "stat"
    for name, expression in EXPRESSIONS.items():
        for column in stat1 if name == "function" else ("stat",):
            columns = ",".join(f"{one} AS ({expression.replace('a MATCH b', 'a MATCH a')})" if one == column else one for one in stat1)
            sql = f"CREATE TABLE sqlite_stat1(a,{columns})"
            yield _refused(
                f"statistics-{column}-of-{name}", f"planted: {sql[:120]}", "CREATE TABLE coffer_x_root(a,b,c)",
                "INSERT INTO coffer_x_root VALUES('coffer_record','coffer_record_pos','1 1 1')",
                _entry("table", "sqlite_stat1", "sqlite_stat1", sql))
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000)"
    sql = f"CREATE TABLE sqlite_stat1(tbl,idx,stat AS ({'||'.join(['tbl'] * 900)}))"
    yield _refused(
        "statistics-of-many-rows", "long values of 20,000 rows of statistics", "CREATE TABLE coffer_x_root(a,b)",
        f"{many} INSERT INTO coffer_x_root SELECT hex(zeroblob(400)),'coffer_record_pos' FROM n",
        _entry("table", "sqlite_stat1", "sqlite_stat1", sql))


def _own():
    """Our own tables and indexes with an expression more."""
    for table, old, new in (
        ("coffer_record", ") STRICT", ",planted TEXT AS ({e})) STRICT"), ("coffer_record", ") STRICT", ",CHECK({e})) STRICT"),
        ("coffer_body", ") STRICT", ",CHECK({e})) STRICT"), ("coffer_state", "sealed BLOB NOT NULL", "sealed BLOB AS ({e})"),
        ("coffer_header", "CHECK(one=1)", "CHECK({e})"), ("coffer_header", "keyring BLOB NOT NULL", "keyring BLOB AS ({e})"),
        ("coffer_slot", "params BLOB NOT NULL", "params BLOB AS ({e}) STORED"),
        ("coffer_spare", "copy BLOB NOT NULL", "copy BLOB DEFAULT({e})"),
        ("coffer_collection", ") STRICT", ",CHECK({e})) STRICT"), ("coffer_gone", ") STRICT", ",CHECK({e})) STRICT"),
        ("coffer_replica", "restored INTEGER NOT NULL", "restored INTEGER AS ({e})"),
        ("coffer_record_pos", "coll,pos,id,title", "coll,pos,id,{e}"), ("coffer_record_held", "flags>=2", "{e}"),
        ("coffer_record_parent", "parent IS NOT NULL", "{e}"), ("coffer_record_lookup", "flags<2", "{e}"),
    ):
        new = new.replace("{e}", ENDLESS)
        yield _refused(
            f"own-{table}-{'-'.join(new.lower().split('(')[0].strip(' ,)').split()[-1:]) or 'check'}-{len(old)}",
            f"{table}: {old} becomes {new[:90]}",
            ("UPDATE sqlite_schema SET sql=replace(sql,?,?) WHERE name=?", (old, new, table)))


def _other_objects():
    for number, (name, kind, table, sql) in enumerate((
        ("coffer_x_t", "trigger", "coffer_record", f"CREATE TRIGGER coffer_x_t AFTER INSERT ON coffer_record BEGIN SELECT {ENDLESS}; END"),
        ("coffer_x_u", "trigger", "coffer_state", f"CREATE TRIGGER coffer_x_u BEFORE UPDATE ON coffer_state WHEN {ENDLESS} BEGIN SELECT 1; END"),
        ("coffer_x_d", "trigger", "coffer_x_root", f"CREATE TRIGGER coffer_x_d AFTER DELETE ON coffer_x_root BEGIN SELECT {ENDLESS}; END"),
        ("coffer_x_v", "view", "coffer_x_v", f"CREATE VIEW coffer_x_v AS SELECT {ENDLESS}"),
        ("sqlite_stat1", "view", "sqlite_stat1", f"CREATE VIEW sqlite_stat1 AS SELECT 1 AS tbl,2 AS idx,{ENDLESS} AS stat"),
        ("sqlite_stat4", "view", "sqlite_stat4", f"CREATE VIEW sqlite_stat4 AS SELECT {ENDLESS} AS idx"),
        ("coffer_x_s", "table", "coffer_x_s", f"CREATE TABLE coffer_x_s AS SELECT {ENDLESS} AS a"),
        ("coffer_x_f", "table", "coffer_x_f", "CREATE VIRTUAL TABLE coffer_x_f USING fts5(a)"),
        ("sqlite_stat1", "table", "sqlite_stat1", "CREATE VIRTUAL TABLE sqlite_stat1 USING fts5(tbl,idx,stat)"),
        ("coffer_x_p", "table", "coffer_x_p", "CREATE VIRTUAL TABLE coffer_x_p USING pragma_integrity_check"),
        ("coffer_x_n", "table", "coffer_x_n", f"CREATE TEMP TABLE coffer_x_n(a CHECK({ENDLESS}))"),
        ("COFFER_X_E", "table", "COFFER_X_E", f"CREATE TABLE COFFER_X_E(a CHECK({ENDLESS}))"),
        ("Sqlite_Stat1", "table", "Sqlite_Stat1", f"CREATE TABLE Sqlite_Stat1(tbl,idx,stat AS ({ENDLESS}))"),
        ("coffer_x_é", "table", "coffer_x_é", f"CREATE TABLE coffer_x_é(a CHECK({ENDLESS}))"),
        ("coffer_x_e", "table", "coffer_x_e", f"create table coffer_x_e(a check({ENDLESS}))"),
        ("coffer_x_e", "table", "coffer_x_e", f"CREATE TABLE IF NOT EXISTS coffer_x_e(a CHECK({ENDLESS}))"),
        ("coffer_x_e", "table", "coffer_x_e", f"CREATE TABLE main.coffer_x_e(a CHECK({ENDLESS}))"),
        ("coffer_x_e", "table", "coffer_x_e", f"CREATE TABLE coffer_record(a CHECK({ENDLESS}))"),
        ("coffer_x_i", "index", "coffer_x_root", f"CREATE INDEX coffer_x_i ON coffer_record(id,{ENDLESS})"),
        ("coffer_x_i", "index", "coffer_record", f"CREATE INDEX coffer_x_i ON coffer_record(id,{ENDLESS})"),
        ("sqlite_autoindex_coffer_x_root_1", "index", "coffer_x_root", f"CREATE INDEX sqlite_autoindex_coffer_x_root_1 ON coffer_x_root({ENDLESS})"),
    )):
        yield _refused(f"object-{kind}-{number}", f"planted: {sql[:120]}", *ROOT, _entry(kind, name, table, sql))


def _crowds():
    """SQLite's time grows with the square of the number of columns."""
    wide = ",".join(f"c{number}" for number in range(2000))
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<900)"
    for name, text in {"columns": wide}.items():
        yield _refused(
            f"crowd-of-{name}", f"900 tables with many {name}",
            f"{numbers} INSERT INTO sqlite_schema SELECT 'table','coffer_x_'||i,'coffer_x_'||i,2,"
            f"'CREATE TABLE coffer_x_'||i||'({text})' FROM n")
