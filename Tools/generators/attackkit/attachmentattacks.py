"""Attacks on attachments without a key: rows and chunks edited, exchanged, repeated, missing, older or of another store."""

from . import layout
from .attachmentstores import (
    DELETED, EMPTY, MERGED, OF_THREE, OF_TWO, ONE, REMOVED, WITH_NONE, WITH_ONE, WITH_THREE, WITH_TWO)
from .attack import Attack, loosely, run, schema
from .contents import attachment
from .files import from_file, put_back
from .layout import ATTACHMENTS, CHUNK_NUMBERS
from .rows import _update

BASE, FEATURES = "attachments", ("attachments",)
# Above all attachments of the base.
NEXT = MERGED + 1
# The number of a chunk; the chunks of the removed attachment are left over.
CHUNK = CHUNK_NUMBERS.__mul__


def attacks(kit):
    yield from _rows()
    yield from _classes()
    yield from _moved_rows(kit)
    yield from _chunks()
    yield from _moved_chunks()
    yield from _chunk_numbers()
    yield from _during_rekey(kit)
    yield from _schemas()


def _rows():
    """The document's number is sealed in the row, so the column is no part of the set."""
    where, victim = f"attachment={ONE}", {ONE: "damaged"}
    for name, what, edit, lists in (
        ("another", "that of another document", f"id={WITH_TWO}", {WITH_TWO: "damaged"}),
        ("none", "that of a document without attachments", f"id={WITH_NONE}", {WITH_NONE: "damaged"}),
        ("deleted", "that of a deleted document", "id=5", {5: "damaged"}),
    ):
        yield Attack(
            f"attachment-id-{name}", BASE, f"attachment {ONE}: its document's number becomes {what}",
            _update("coffer_attachment", edit, where), attachments=victim, attachment_lists=lists, verify="damaged")
    # Whether a row with number 0 is an element, FORMAT.md does not say.
    zero = {"also": {"verify": ["damaged"], "verify_quick": ["damaged"]}}
    for name, value, options in (
        ("zero", 0, zero), ("negative", -1, {}), ("above-bound", 1000, {}), ("greatest", 2**63 - 1, {})):
        yield Attack(
            f"attachment-id-{name}", BASE, f"attachment {ONE}: its document's number becomes {value}",
            _update("coffer_attachment", f"id={value}", where), attachments=victim, **options)
    lists = {WITH_THREE: "damaged"}
    for name, edit in {
        "rev": "rev=rev+1", "rev-lower": "rev=rev-1", "rev-zero": "rev=0", "rev-high": "rev=1000",
        "rev-2-to-48": "rev=281474976710656",
        "nonce": "sealed={flip(sealed,1)}", "ciphertext": "sealed={flip(sealed,30)}", "tag": "sealed={flip_last(sealed)}",
        "cut": "sealed=substr(sealed,1,length(sealed)-1)", "one-more": "sealed=CAST(sealed||x'00' AS BLOB)",
        "47-bytes": "sealed=substr(sealed,1,47)", "39-bytes": "sealed=substr(sealed,1,39)", "empty": "sealed=x''",
        "over-limit": "sealed=zeroblob(196609)", "huge": "sealed=zeroblob(3000000)",
    }.items():
        yield Attack(
            f"attachment-{name}", BASE, f"attachment {ONE} is edited ({name})", _update("coffer_attachment", edit, where),
            attachments=victim, attachment_lists=lists)
    for name, number in {
        "free": DELETED, "next": NEXT, "zero": 0, "negative": -1, "2-to-39": 2**39, "greatest": 2**63 - 1,
    }.items():
        yield Attack(
            f"attachment-number-{name}", BASE, f"attachment {ONE} gets the number {number}",
            _update("coffer_attachment", f"attachment={number}", where), attachments={ONE: "missing", number: "damaged"},
            attachment_lists=lists, also={f"get_attachment_{number}": ["missing"]} if number < 1 else {})


def _classes():
    where, victim = f"WHERE attachment={ONE}", {ONE: "damaged"}
    for name, column, value in (
        ("id-text", "id", "'one'"), ("id-null", "id", "NULL"), ("id-real", "id", "1.5"), ("rev-text", "rev", "'x'"),
        ("rev-null", "rev", "NULL"), ("sealed-text", "sealed", "CAST(sealed AS TEXT)"), ("sealed-null", "sealed", "NULL"),
    ):
        lists = {} if column == "id" else {WITH_THREE: "damaged"}
        yield Attack(
            f"class-attachment-{name}", BASE, f"attachment {ONE}: {column} is {value}",
            loosely(f"UPDATE coffer_attachment SET {column}={value} {where}"), attachments=victim, attachment_lists=lists)
    for name, value in {"text": "CAST(ct AS TEXT)", "null": "NULL", "integer": "1"}.items():
        yield Attack(
            f"class-chunk-{name}", BASE, f"the chunk of attachment {ONE} is {value}",
            loosely(f"UPDATE coffer_chunk SET ct={value} WHERE chunk={CHUNK(ONE)}"), attachments=victim, verify="damaged")


def _moved_rows(kit):
    two = {OF_THREE: "damaged", OF_TWO: "damaged"}
    both = {WITH_THREE: "damaged", WITH_TWO: "damaged"}
    row = "SELECT {},id,rev,sealed FROM coffer_attachment WHERE attachment=%d" % ONE
    for name, what, statements, options in (
        ("gone", "the row of an attachment is gone; its chunks would be left over",
         [f"DELETE FROM coffer_attachment WHERE attachment={OF_THREE}"], {"attachments": {OF_THREE: "missing"}}),
        ("gone-with-chunks", "the row of an attachment is gone, and so are its chunks", [
            f"DELETE FROM coffer_attachment WHERE attachment={ONE}", f"DELETE FROM coffer_chunk WHERE chunk={CHUNK(ONE)}"],
         {"attachments": {ONE: "missing"}}),
        ("all-gone", "all rows of attachments are gone", ["DELETE FROM coffer_attachment"],
         {"attachments": dict.fromkeys(kit.base(BASE).attachments, "missing")}),
        ("deletion-gone", "the deletion of an attachment is gone", ["DELETE FROM coffer_gone"], {}),
        ("planted", "the row of an attachment a second time, under the number of a removed one",
         ["INSERT INTO coffer_attachment " + row.format(REMOVED)],
         {"attachments": {REMOVED: "damaged"}, "attachment_lists": {WITH_THREE: "damaged"}}),
        ("planted-above-next", "the row of an attachment a second time, under a number that was never given",
         ["INSERT INTO coffer_attachment " + row.format(NEXT)],
         {"attachments": {NEXT: "damaged"}, "attachment_lists": {WITH_THREE: "damaged"}}),
        ("planted-greatest", "the row of an attachment a second time, under the greatest number of a row",
         ["INSERT INTO coffer_attachment " + row.format(2**63 - 1)],
         {"attachments": {2**63 - 1: "damaged"}, "attachment_lists": {WITH_THREE: "damaged"}}),
        *((f"planted-{name}", f"the row of an attachment a second time, under the number {number}",
           ["INSERT INTO coffer_attachment " + row.format(number)],
           {"attachments": {number: "damaged"}, "attachment_lists": {WITH_THREE: "damaged"},
            "also": {f"get_attachment_{number}": ["missing"]}})
          for name, number in (("zero", 0), ("negative", -1), ("least", -(2**63)))),
        ("of-deletion", "the row of a deletion as that of an attachment",
         [f"INSERT INTO coffer_attachment SELECT {REMOVED},{WITH_NONE},rev,sealed FROM coffer_gone WHERE gone=1"],
         {"attachments": {REMOVED: "damaged"}, "attachment_lists": {WITH_NONE: "damaged"}}),
        ("rows-exchanged", "the rows of two attachments are exchanged, all but their numbers", [
            f"UPDATE coffer_attachment SET attachment=-attachment WHERE attachment IN ({OF_THREE},{OF_TWO})",
            f"UPDATE coffer_attachment SET attachment={OF_THREE + OF_TWO}+attachment WHERE attachment<0"],
         {"attachments": two, "attachment_lists": both}),
    ):
        yield Attack(f"attachment-{name}", BASE, what, run(*statements), **options)
    before = kit.histories[BASE]["filled"]
    yield Attack(
        "attachment-older", BASE, f"attachment {OF_THREE} as it was before its renaming",
        from_file((BASE, "filled"), *put_back("attachment", where=f"WHERE attachment={OF_THREE}")),
        attachment_reads={OF_THREE: attachment(before, before.attachments[OF_THREE])})
    removed = attachment(before, before.attachments[REMOVED])
    for name, what, deletion in (
        ("brought-back", "a removed attachment is back, before its chunks were deleted", ()),
        ("brought-back-without-deletion", "the same, and its deletion is gone", (
            "DELETE FROM coffer_gone WHERE gone=1",)),
    ):
        yield Attack(
            f"attachment-{name}", BASE, what,
            from_file((BASE, "filled"), *put_back("attachment", where=f"WHERE attachment={REMOVED}"), *deletion),
            attachments={REMOVED: "ok"}, attachment_reads={REMOVED: removed})
    yield Attack(
        "attachment-brought-back-without-chunks", BASE, "the attachment of a deleted document is back, its chunks are not",
        from_file((BASE, "filled"), *put_back("attachment", where=f"WHERE attachment={DELETED}")),
        attachments={DELETED: "damaged"})
    other = ("attachments-other", "last")
    yield Attack(
        "attachment-transplanted", BASE, "the row of an attachment of another store with the same keys",
        from_file(other, *put_back("attachment", where=f"WHERE attachment={OF_TWO}")), attachments={OF_TWO: "damaged"},
        attachment_lists={WITH_TWO: "damaged"})
    yield Attack(
        "attachment-transplanted-with-chunks", BASE, "all attachments of another store, rows and chunks",
        from_file(other, *put_back("attachment", "chunk")),
        attachments=dict.fromkeys(kit.base(BASE).attachments, "damaged"),
        attachment_lists=dict.fromkeys((WITH_THREE, WITH_TWO, WITH_ONE), "damaged"))
    yield Attack(
        "attachment-index-hides", BASE, "the index of attachments hides one: verify alone can tell",
        _lie(f"attachment,id FROM coffer_attachment WHERE attachment!={ONE}"), verify="damaged")
    yield Attack(
        "attachment-index-wrong-document", BASE, "the index of attachments names one under another document",
        _lie(f"attachment,iif(attachment={ONE},{WITH_NONE},id) FROM coffer_attachment"), verify="damaged",
        attachment_lists={WITH_NONE: "damaged"})


def _lie(rows):
    """Replaces the index by one that an attacker made of other rows."""
    return schema(
        "CREATE TABLE other(attachment INTEGER PRIMARY KEY,id INTEGER NOT NULL)",
        f"INSERT INTO other SELECT {rows}",
        "CREATE INDEX other_i ON other(id)", "PRAGMA writable_schema=ON",
        "UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='other_i')"
        " WHERE name='coffer_attachment_id'", "DELETE FROM sqlite_schema WHERE name LIKE 'other%'")


def _chunks():
    """The middle one of three chunks, unless said otherwise. Nothing in a row or in the set depends on their bytes."""
    middle, victim = f"chunk={CHUNK(OF_THREE) + 1}", {OF_THREE: "damaged"}
    # Outside of the edited chunk, a part reads as before.
    others = ((OF_THREE, 0, 4096, "ok"), (OF_THREE, 4000, 4097, "damaged"), (OF_THREE, 8192, 10_000, "ok"))
    for name, edit, quick in (
        ("nonce", "{flip(ct,1)}", "ok"), ("first-byte", "{flip(ct,25)}", "ok"), ("last-byte", "{flip_last(ct)}", "ok"),
        ("zeros", "zeroblob(length(ct))", "ok"), ("cut-by-one", "substr(ct,1,length(ct)-1)", "damaged"),
        ("one-more", "CAST(ct||x'00' AS BLOB)", "damaged"), ("39-bytes", "substr(ct,1,39)", "damaged"),
        ("40-bytes", "substr(ct,1,40)", "damaged"), ("empty", "x''", "damaged"), ("huge", "zeroblob(2000000)", "damaged"),
    ):
        yield Attack(
            f"chunk-{name}", BASE, f"attachment {OF_THREE}, chunk 1 is edited ({name})",
            _update("coffer_chunk", f"ct={edit}", middle), attachments=victim, verify="damaged", quick=quick,
            attachment_parts=others)
    yield Attack(
        "chunk-padded", "attachments-padded", "a byte of the last chunk, in the padding",
        _update("coffer_chunk", "ct={flip(ct,1850)}", f"chunk={CHUNK(OF_THREE) + 2}"), attachments=victim,
        verify="damaged", quick="ok")
    for name, what, number, indices in (
        ("last-missing", "the last of three chunks is missing: cut where a chunk ends", OF_THREE, (2,)),
        ("first-missing", "the first of three chunks is missing", OF_THREE, (0,)),
        ("middle-missing", "the middle one of three chunks is missing", OF_THREE, (1,)),
        ("all-missing", "all chunks of an attachment are missing", OF_THREE, (0, 1, 2)),
        ("last-of-two-missing", "the last of two whole chunks is missing", OF_TWO, (1,)),
        ("of-empty-missing", "the chunk of an empty attachment is missing", EMPTY, (0,)),
    ):
        numbers = ",".join(str(CHUNK(number) + index) for index in indices)
        yield Attack(
            f"chunk-{name}", BASE, what, run(f"DELETE FROM coffer_chunk WHERE chunk IN ({numbers})"),
            attachments={number: "damaged"}, verify="damaged")


def _copied(source, target):
    return f"UPDATE coffer_chunk SET ct=(SELECT ct FROM coffer_chunk WHERE chunk={source}) WHERE chunk={target}"


def _exchanged(first, second):
    return [
        f"UPDATE coffer_chunk SET chunk={new} WHERE chunk={old}"
        for old, new in ((first, -1), (second, first), (-1, second))]


def _moved_chunks():
    """Chunks as long as those that they replace."""
    three, two, removed = CHUNK(OF_THREE), CHUNK(OF_TWO), CHUNK(REMOVED)
    for name, what, statements, victims in (
        ("exchanged", "two chunks of one attachment are exchanged", _exchanged(three, three + 1), (OF_THREE,)),
        ("exchanged-between", "the first chunks of two attachments are exchanged",
         _exchanged(three, two), (OF_THREE, OF_TWO)),
        ("exchanged-last-between", "a last chunk and one that is none are exchanged",
         _exchanged(three + 1, two + 1), (OF_THREE, OF_TWO)),
        ("repeated", "the first chunk in the place of the second", (_copied(three, three + 1),), (OF_THREE,)),
        ("of-removed", "a chunk left over of a removed attachment in the place of another's",
         (_copied(removed, two),), (OF_TWO,)),
    ):
        yield Attack(
            f"chunk-{name}", BASE, what, run(*statements), attachments=dict.fromkeys(victims, "damaged"), verify="damaged",
            quick="ok")
    other = ("attachments-other", "last")
    yield Attack(
        "chunk-transplanted", BASE, "the same chunk of another store with the same keys and files",
        from_file(other, *put_back("chunk", where=f"WHERE chunk={three}")), attachments={OF_THREE: "damaged"},
        verify="damaged", quick="ok")


def _chunk_numbers():
    three = CHUNK(OF_THREE)
    insert = "INSERT INTO coffer_chunk SELECT {},ct FROM coffer_chunk WHERE chunk=%d"
    for name, what, number, source in (
        ("one-more-behind", "a chunk behind the last one", three + 3, three + 2),
        ("far-behind", "a chunk with the greatest number that the attachment has", CHUNK(OF_THREE + 1) - 1, three),
    ):
        yield Attack(
            f"chunk-{name}", BASE, f"{what}: a verify alone tells", run((insert % source).format(number)),
            verify="damaged")
    for name, what, number in (
        ("at-next", "a chunk of the attachment that comes next", CHUNK(NEXT)),
        ("above-next", "a chunk of an attachment that is still to come", CHUNK(NEXT + 1000) + 1),
        ("greatest", "the greatest number of a chunk", 2**63 - 1), ("zero", "chunk 0", 0),
        ("of-attachment-0", "a chunk of attachment 0", CHUNK_NUMBERS - 1), ("negative", "a chunk below 0", -1),
    ):
        yield Attack(f"chunk-{name}", BASE, what, run((insert % three).format(number)), verify="damaged")
    for name, what, statement in (
        ("left-over", "chunks with a number that a removed attachment had are left over: sound",
         f"INSERT INTO coffer_chunk VALUES({CHUNK(DELETED)},zeroblob(140))"),
        ("left-over-far", "a left-over chunk just below the next attachment's: sound",
         f"INSERT INTO coffer_chunk VALUES({CHUNK(REMOVED + 1) - 1},zeroblob(40))"),
        ("left-over-gone", "chunks that were left over are deleted: sound",
         f"DELETE FROM coffer_chunk WHERE chunk/{CHUNK_NUMBERS}={REMOVED}"),
    ):
        yield Attack(f"chunk-{name}", BASE, what, run(statement), verify="ok", put="ok")


def _during_rekey(kit):
    """Two chunks of three are sealed again, and the row names two keys."""
    base, three = "attachments-mid-rekey", CHUNK(OF_THREE)
    damaged = {"attachments": {OF_THREE: "damaged"}}
    yield Attack(
        "attachment-rekey-chunk-of-before", base, "a chunk that the rekey has passed, sealed with the key of before",
        from_file((base, "begun"), *put_back("chunk", where=f"WHERE chunk={three}")), verify="damaged", quick="ok",
        attachment_parts=((OF_THREE, 0, 10, "damaged"), (OF_THREE, 8192, 10_000, "ok")), **damaged)
    yield Attack(
        "attachment-rekey-row-of-before", base, "the row of before the rekey, which the old epoch's key opens",
        from_file((base, "before"), *put_back("attachment", where=f"WHERE attachment={OF_THREE}")),
        attachment_lists={WITH_THREE: "damaged"}, **damaged)
    for name, what, tables in (
        ("row-of-a-batch-before", "the row of a batch before: a chunk does not open with the key that it names",
         ("attachment",)),
        ("row-and-chunks-of-a-batch-before", "row and chunks of a batch before: a verify alone tells",
         ("attachment", "chunk")),
    ):
        reads, options = kit.histories[base]["first-chunk"], damaged
        if "chunk" in tables:
            options = {"attachment_reads": {OF_THREE: attachment(reads, reads.attachments[OF_THREE])}}
        yield Attack(
            f"attachment-rekey-{name}", base, what, from_file((base, "first-chunk"), *put_back(*tables)), **options)


def _schemas():
    refused = {"open": "refused"}
    yield Attack(
        "schema-attachments-without-bit", "sealed", "tables of attachments, and no bit of them",
        run(*layout.ATTACHMENT_SCHEMA), **refused)
    for number, statement in enumerate(layout.ATTACHMENT_SCHEMA[:2], 1):
        yield Attack(
            f"schema-attachments-table-{number}-without-bit", "sealed", "one of the tables of attachments, and no bit of them",
            run(statement), **refused)
    yield Attack(
        "header-incompat-attachments", "sealed", "the bit of attachments, and no tables",
        run(f"UPDATE coffer_header SET incompat=incompat+{ATTACHMENTS}"), features=FEATURES, **refused)
    yield Attack(
        "header-incompat-attachments-cleared", BASE, "the bit of attachments is cleared, the tables are there",
        run(f"UPDATE coffer_header SET incompat=incompat-{ATTACHMENTS}"), **refused)
    drops = {
        "row": "DROP TABLE coffer_attachment", "chunk": "DROP TABLE coffer_chunk",
        "index": "DROP INDEX coffer_attachment_id"}
    for name, statement in drops.items():
        yield Attack(f"schema-without-attachment-{name}", BASE, statement, run(statement), **refused)
    yield Attack(
        "schema-without-attachments", BASE, "the bit of attachments, and none of their tables",
        run(drops["row"], drops["chunk"]), **refused)
    for name, what, statement in (
        ("not-strict", "a table that is not STRICT",
         "UPDATE sqlite_schema SET sql=replace(sql,') STRICT',')') WHERE name='coffer_chunk'"),
        ("index-unique", "a unique index, which a merge could not fill",
         "UPDATE sqlite_schema SET sql=replace(sql,'CREATE INDEX','CREATE UNIQUE INDEX')"
         " WHERE name='coffer_attachment_id'"),
        ("index-planted", "another index", "CREATE INDEX coffer_attachment_rev ON coffer_attachment(rev)"),
        ("index-of-chunks", "an index on chunks", "CREATE INDEX coffer_chunk_ct ON coffer_chunk(ct)"),
        ("index-tolerated-name", "an index with a tolerated name", "CREATE INDEX coffer_x_rev ON coffer_attachment(rev)"),
        ("index-more-columns", "an index with another column",
         "UPDATE sqlite_schema SET sql=replace(sql,'(id)','(id,rev)') WHERE name='coffer_attachment_id'"),
        ("index-partial", "an index that can leave rows out",
         "UPDATE sqlite_schema SET sql=sql||' WHERE id<2' WHERE name='coffer_attachment_id'"),
        ("index-of-another-table", "the index is one of another table",
         "UPDATE sqlite_schema SET sql=replace(sql,'coffer_attachment(','coffer_record('),tbl_name='coffer_record'"
         " WHERE name='coffer_attachment_id'"),
        ("column-added", "a column more",
         "UPDATE sqlite_schema SET sql=replace(sql,') STRICT',',planted TEXT) STRICT') WHERE name='coffer_attachment'"),
        ("column-generated", "a column that SQLite computes",
         "UPDATE sqlite_schema SET sql=replace(sql,') STRICT',',planted TEXT AS (hex(ct)) VIRTUAL) STRICT')"
         " WHERE name='coffer_chunk'"),
        ("conflict", "rows that replace others",
         "UPDATE sqlite_schema SET sql=replace(sql,'PRIMARY KEY','PRIMARY KEY ON CONFLICT REPLACE')"
         " WHERE name='coffer_chunk'"),
        ("upper-case", "a name with a capital",
         "UPDATE sqlite_schema SET name='Coffer_chunk',tbl_name='Coffer_chunk' WHERE name='coffer_chunk'"),
        ("table-is-view", "a view in the place of the table of chunks",
         "UPDATE sqlite_schema SET type='view',rootpage=0,sql='CREATE VIEW coffer_chunk AS SELECT 1 AS chunk,2 AS ct'"
         " WHERE name='coffer_chunk'"),
        ("table-without-rowid", "a table without row numbers",
         "UPDATE sqlite_schema SET sql=replace(sql,') STRICT',') STRICT,WITHOUT ROWID') WHERE name='coffer_chunk'"),
        ("view-planted", "a view on rows", "CREATE VIEW coffer_attachments AS SELECT * FROM coffer_attachment"),
        ("trigger-planted", "a trigger on chunks",
         "CREATE TRIGGER t AFTER DELETE ON coffer_chunk BEGIN DELETE FROM coffer_record; END"),
    ):
        yield Attack(f"schema-attachments-{name}", BASE, what, schema(statement), **refused)
