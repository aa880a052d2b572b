"""FORMAT, "The SQLite file": the files beside it, opening, hardening, the schema, storage classes of columns."""

import errno
import os
import re
import sqlite3
import stat
from pathlib import Path

from .errors import Damaged, Newer, NotAStore, Refused

APPLICATION_ID = 0x434F4652
FORMAT_VERSION = 3
LENGTH_LIMIT = 320 << 20
ENTRY_LIMIT = 1000
# The highest rk_generation and phase; the highest generation, rev and counter of a dot.
COUNTER_LIMIT, GENERATION_LIMIT = 2**62, 2**48 - 1
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
ROLLBACK = 1

# The thirteen objects and their exact text in the page.
SCHEMA = {
    b"coffer_header": b"CREATE TABLE coffer_header(one INTEGER PRIMARY KEY CHECK(one=1),format INTEGER NOT NULL,"
    b"store_id BLOB NOT NULL,incompat INTEGER NOT NULL,ro_compat INTEGER NOT NULL,compat INTEGER NOT NULL,"
    b"titles INTEGER NOT NULL,rk_generation INTEGER NOT NULL,phase INTEGER NOT NULL,rk_commit BLOB NOT NULL,"
    b"keyring BLOB NOT NULL,mac BLOB NOT NULL) STRICT",
    b"coffer_spare": b"CREATE TABLE coffer_spare(one INTEGER PRIMARY KEY CHECK(one=1),copy BLOB NOT NULL) STRICT",
    b"coffer_slot": b"CREATE TABLE coffer_slot(slot INTEGER PRIMARY KEY,kind INTEGER NOT NULL,label TEXT NOT NULL,"
    b"params BLOB NOT NULL,wrapped BLOB NOT NULL) STRICT",
    b"coffer_state": b"CREATE TABLE coffer_state(one INTEGER PRIMARY KEY CHECK(one=1),sealed BLOB NOT NULL) STRICT",
    b"coffer_replica": b"CREATE TABLE coffer_replica(one INTEGER PRIMARY KEY CHECK(one=1),restored INTEGER NOT NULL,"
    b"sealed BLOB NOT NULL) STRICT",
    b"coffer_collection": b"CREATE TABLE coffer_collection(coll INTEGER PRIMARY KEY,rev INTEGER NOT NULL,"
    b"sealed BLOB NOT NULL) STRICT",
    b"coffer_gone": b"CREATE TABLE coffer_gone(gone INTEGER PRIMARY KEY,rev INTEGER NOT NULL,"
    b"sealed BLOB NOT NULL) STRICT",
    b"coffer_record": b"CREATE TABLE coffer_record(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,"
    b"epoch INTEGER NOT NULL,rev INTEGER NOT NULL,pos BLOB NOT NULL,parent INTEGER,flags INTEGER NOT NULL,"
    b"lookup BLOB,title TEXT,head BLOB NOT NULL,body_nt BLOB NOT NULL,body BLOB) STRICT",
    b"coffer_body": b"CREATE TABLE coffer_body(id INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT",
    b"coffer_record_lookup": b"CREATE UNIQUE INDEX coffer_record_lookup ON coffer_record(coll,lookup) "
    b"WHERE lookup IS NOT NULL AND flags<2",
    b"coffer_record_held": b"CREATE INDEX coffer_record_held ON coffer_record(coll,lookup) WHERE flags>=2",
    b"coffer_record_pos": b"CREATE INDEX coffer_record_pos ON coffer_record(coll,pos,id,title)",
    b"coffer_record_parent": b"CREATE INDEX coffer_record_parent ON coffer_record(parent) WHERE parent IS NOT NULL",
}
# The objects of a store with attachments.
ATTACHMENT_SCHEMA = {
    b"coffer_attachment": b"CREATE TABLE coffer_attachment(attachment INTEGER PRIMARY KEY,id INTEGER NOT NULL,"
    b"rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    b"coffer_chunk": b"CREATE TABLE coffer_chunk(chunk INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT",
    b"coffer_attachment_id": b"CREATE INDEX coffer_attachment_id ON coffer_attachment(id)",
}
# SQLite computes the columns of its statistics when it reads the schema. Until the schema has been compared, expressions
# can't call functions or build long values, and constraints that take SQLite long are refused.
SCHEMA_LIMITS = {
    "SQLITE_LIMIT_FUNCTION_ARG": 0, "SQLITE_LIMIT_LENGTH": 1 << 20, "SQLITE_LIMIT_SQL_LENGTH": 1 << 14,
    "SQLITE_LIMIT_COLUMN": 200}
# The steps of a statement until then. An entry of the schema takes SQLite 7 or a few more.
SCHEMA_STEPS = 12 * ENTRY_LIMIT
COMPARED_LIMITS = {"SQLITE_LIMIT_FUNCTION_ARG": 100, "SQLITE_LIMIT_LENGTH": LENGTH_LIMIT}
TOLERATED_TABLES = (b"_litestream_", b"sqlite_stat")
EXTENSION_PREFIX = b"coffer_x_"
QUOTED = re.compile(rb"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]")


class Text(bytes):
    """The bytes of a column stored as TEXT, in a type that differs from that of a BLOB; they may be any bytes."""


def connect(path):
    """A hardened connection that changes nothing but a killed writer's journal."""
    if not os.path.isfile(path):
        raise NotAStore("no such file")
    with open(path, "rb") as file:
        first = file.read(100)
    if not first.startswith(b"SQLite format 3\0") or len(first) < 100:
        raise NotAStore("not a store")
    page_size = int.from_bytes(first[16:18], "big")
    if os.path.getsize(path) < (65536 if page_size == 1 else page_size):
        raise NotAStore("not a store: its first page is cut short")
    path = Path(path).resolve()
    check_neighbours(path, first[18])
    mode = "rw" if os.access(path, os.W_OK) else "ro"
    connection = sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None)
    connection.text_factory = Text
    for name, limit in SCHEMA_LIMITS.items():
        connection.setlimit(getattr(sqlite3, name), limit)
    connection.set_progress_handler(lambda: True, SCHEMA_STEPS)
    for name in ("SQLITE_DBCONFIG_DEFENSIVE", "SQLITE_DBCONFIG_ENABLE_TRIGGER", "SQLITE_DBCONFIG_ENABLE_VIEW"):
        if hasattr(sqlite3, name):
            connection.setconfig(getattr(sqlite3, name), name.endswith("DEFENSIVE"))
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY", "query_only=ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def check_neighbours(path, write_version):
    """Refuses files beside the store through which SQLite would write, delete or read other files."""
    store = os.stat(path)
    journal = _neighbour(path, "-journal", store)
    if journal and journal.st_size >= len(JOURNAL_MAGIC):
        try:
            with open(f"{path}-journal", "rb") as file:
                file.seek(-len(JOURNAL_MAGIC), os.SEEK_END)
                if file.read() == JOURNAL_MAGIC:
                    raise Refused("the journal names a super-journal")
        except OSError as error:
            # Its writer has finished meanwhile, and removed or emptied it.
            if error.errno not in (errno.ENOENT, errno.EINVAL):
                raise
    if _neighbour(path, "-wal", store) and write_version == ROLLBACK:
        raise Refused("a log beside a store in rollback mode")
    _neighbour(path, "-shm", store)


def _neighbour(path, suffix, store):
    """The status of the file, which must be regular, with one link, of a user who may write the store; or None."""
    try:
        file = os.lstat(f"{path}{suffix}")
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(file.st_mode) or file.st_nlink != 1:
        raise Refused(f"the file {suffix} is not a regular file with one link")
    is_writers = (
        file.st_uid in (store.st_uid, 0, os.geteuid()) or store.st_mode & stat.S_IWOTH
        or store.st_mode & stat.S_IWGRP and file.st_gid == store.st_gid
    )
    if not is_writers:
        raise Refused(f"the file {suffix} belongs to another user")
    return file


def check_kind(connection):
    """Checks by application_id, user_version and encoding that the file is a store of this format."""
    if pragma(connection, "application_id") != APPLICATION_ID:
        raise NotAStore("not a store")
    version = pragma(connection, "user_version")
    if version > FORMAT_VERSION:
        raise Newer("the format is newer than this reader")
    if version in (1, 2):
        raise Newer("the store was made before the first release")
    if version != FORMAT_VERSION:
        raise Damaged("user_version is no format's")
    if pragma(connection, "encoding") != b"UTF-8":
        raise Damaged("the encoding is not UTF-8")


def incompat(connection):
    """The header's `incompat`; None where the text of its table, or the number of its rows, is not a store's."""
    name = b"coffer_header"
    tables = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name.decode(),)).fetchall()
    if tables != [(SCHEMA[name],)]:
        return None
    rows = connection.execute("SELECT incompat FROM coffer_header NOT INDEXED LIMIT 2").fetchall()
    return integer(rows[0][0], "incompat") if len(rows) == 1 else None


def check_schema(connection, has_attachments):
    """Refuses every foreign schema; `has_attachments` is None where the header does not tell."""
    entries = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?", (ENTRY_LIMIT + 1,))
    known = SCHEMA | ATTACHMENT_SCHEMA
    missing = set(known)
    for number, (kind, name, table, sql) in enumerate(entries):
        if number == ENTRY_LIMIT:
            raise Refused("the schema has too many entries")
        if name in known:
            if sql != known[name]:
                raise Refused("the schema is not a store's")
            missing.discard(name)
        elif not _is_tolerated(kind, name, table, sql):
            raise Refused("the schema holds something foreign")
    if missing not in (set(), set(ATTACHMENT_SCHEMA)):
        raise Refused("the schema lacks a table or index")
    if has_attachments not in (None, not missing):
        raise Refused("the header's bit of attachments and their tables do not agree")
    for name, limit in COMPARED_LIMITS.items():
        connection.setlimit(getattr(sqlite3, name), limit)
    connection.set_progress_handler(None, 0)


def _is_tolerated(kind, name, table, sql):
    if kind == b"table":
        # The SQL of a virtual table begins with other words.
        is_known = name.startswith(TOLERATED_TABLES + (EXTENSION_PREFIX,)) or name == b"sqlite_sequence"
        return is_known and sql.startswith(b"CREATE TABLE ") and _has_plain_columns(sql)
    if kind != b"index":
        return False
    if sql is None:
        return name.startswith(b"sqlite_autoindex_")
    is_known = name.startswith(EXTENSION_PREFIX) and table.startswith(EXTENSION_PREFIX)
    return is_known and _has_plain_columns(sql) and not re.search(rb"\([^()]*\(", QUOTED.sub(b"", sql))


def _has_plain_columns(sql):
    """Whether SQLite computes no expression for the table or index."""
    bare = QUOTED.sub(b"", sql)
    if not re.fullmatch(rb"[\w$\x80-\xff(),;\s]*", bare):
        return False
    return not re.search(rb"\b(CHECK|DEFAULT|GENERATED|AS|REFERENCES|WHERE)\b", bare, re.IGNORECASE)


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


# Storage classes, signs and sizes. STRICT tables guard writes only.


def integer(value, what, least=0, most=2**63 - 1):
    if type(value) is not int or not least <= value <= most:
        raise Damaged(f"{what}: not an integer in its range")
    return value


def counter(value, what):
    """An rk_generation or phase."""
    return integer(value, what, 1, COUNTER_LIMIT)


def generation_number(value, what):
    """A generation or rev."""
    return integer(value, what, 1, GENERATION_LIMIT)


def short(value, what, least=1):
    """A number that the page writes as u32."""
    return integer(value, what, least, 2**31 - 1)


def blob(value, what, size=None, most=LENGTH_LIMIT, least=0):
    if type(value) is not bytes or not least <= len(value) <= most or (size is not None and len(value) != size):
        raise Damaged(f"{what}: not a blob of its size")
    return value


def text(value, what, most=LENGTH_LIMIT):
    """The bytes of a TEXT column, which must be UTF-8."""
    if type(value) is not Text or len(value) > most:
        raise Damaged(f"{what}: not a text of its size")
    return utf8(bytes(value), what)


def utf8(data, what):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise Damaged(f"{what}: not UTF-8") from None
    return data
