"""Attacks on the file without a key: authentic bytes moved between documents, from older copies, from other stores, and
from one side of a key change to the other."""

from .attack import IDS, Attack, run
from .contents import document
from .writer import RANGE_SIZE

# The moment when document 2 is as first written and 6 not yet deleted; and the base.
OLD, LATEST = "filled", "last"
EVERYTHING = ("header", "spare", "slot", "state", "replica", "collection", "gone", "record", "body")
COLUMNS = "coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt,body"


def attacks(kit):
    yield from _swaps()
    yield from _copies()
    yield from _deletions()
    yield from _replays(kit)
    yield from _resurrections(kit)
    yield from _transplants()
    yield from _rollbacks(kit)
    yield from _during_rekey(kit)


def _exchange(table, columns, first=1, second=2, key="id"):
    names = columns.split(",")

    def edit(db, kit):
        rows = {
            id: db.execute(f"SELECT {columns} FROM {table} WHERE {key}=?", (id,)).fetchone()
            for id in (first, second)
        }
        if "lookup" in names:
            # SQLite holds no two of them at any time.
            db.execute(f"UPDATE {table} SET lookup=NULL WHERE {key} IN (?,?)", (first, second))
        for id, other in ((first, second), (second, first)):
            changes = ",".join(f"{name}=?" for name in names)
            db.execute(f"UPDATE {table} SET {changes} WHERE {key}=?", (*rows[other], id))

    return edit


def _both(*edits):
    def edit(db, kit):
        for one in edits:
            one(db, kit)

    return edit


def _swaps():
    """Documents 1 and 2 have their bodies in their rows, 5 and 8 in the table of bodies."""
    two, long = {1: "damaged", 2: "damaged"}, {5: "damaged", 8: "damaged"}
    record, body = "coffer_record", "coffer_body"
    for name, columns in {
        "heads": "head", "positions": "pos", "lookups": "lookup", "revisions": "rev", "parents": "parent",
        "nonces-and-tags": "body_nt", "bodies-with-nonces": "body_nt,body", "all-columns": COLUMNS,
    }.items():
        unchanged = name == "parents"
        yield Attack(
            f"swap-{name}", "sealed", f"documents 1 and 2 exchange {columns}",
            _exchange(record, columns) if not unchanged else _exchange(record, columns, 2, 3),
            get=two if not unchanged else {2: "damaged", 3: "damaged"}, list="damaged")
    yield Attack(
        "swap-bodies", "sealed", "documents 1 and 2 exchange their bodies' ciphertexts", _exchange(record, "body"),
        get=two, verify="damaged", quick="ok", also={"verify_quick": ["damaged"]})
    yield Attack(
        "swap-long-bodies", "sealed", "the same for documents 5 and 8", _exchange(body, "ct", 5, 8), get=long,
        verify="damaged", quick="ok", also={"verify_quick": ["damaged"]})
    yield Attack(
        "swap-long-bodies-with-nonces", "sealed", "the same with nonces and tags",
        _both(_exchange(body, "ct", 5, 8), _exchange(record, "body_nt", 5, 8)), get=long, list="damaged")
    yield Attack(
        "swap-rows-and-bodies", "sealed", "documents 5 and 8 exchange everything but their numbers",
        _both(_exchange(body, "ct", 5, 8), _exchange(record, COLUMNS, 5, 8)), get=long, list="damaged")
    yield Attack(
        "swap-numbers", "sealed", "documents 5 and 8 exchange their numbers",
        run(*(f"UPDATE {table} SET id=-id WHERE id IN (5,8)" for table in (record, body)),
            *(f"UPDATE {table} SET id=13+id WHERE id<0" for table in (record, body))),
        get=long, list="damaged")
    yield Attack(
        "swap-numbers-of-bodies", "sealed", "the bodies of 5 and 8 exchange their numbers",
        run(f"UPDATE {body} SET id=-id WHERE id IN (5,8)", f"UPDATE {body} SET id=13+id WHERE id<0"), get=long,
        verify="damaged", quick="ok", also={"verify_quick": ["damaged"]})
    yield Attack(
        "swap-clear-titles", "clear", "documents 1 and 2 exchange their clear titles", _exchange(record, "title"),
        get=two, list="damaged")
    yield Attack(
        "swap-across-collections", "sealed", "documents 2 and 4 exchange their collections",
        _exchange(record, "coll", 2, 4), get={2: "damaged", 4: "damaged"}, list="damaged")
    yield Attack(
        "swap-names", "sealed", "the collections exchange their names",
        _exchange("coffer_collection", "sealed", 1, 2, "coll"), list="damaged")
    yield Attack(
        "swap-collections", "sealed", "the collections exchange their numbers",
        run("UPDATE coffer_collection SET coll=-coll", "UPDATE coffer_collection SET coll=3+coll"), list="damaged")
    yield Attack(
        "swap-state-and-name", "sealed", "the state's bytes as a collection's name",
        run("UPDATE coffer_collection SET sealed=(SELECT sealed FROM coffer_state) WHERE coll=2"), list="damaged")


def _copies():
    for name, number, put in (("free-number", 6, None), ("number-above-next", 9, "damaged")):
        yield Attack(
            f"copy-to-{name}", "sealed", f"document 3 a second time as {number}",
            run(f"INSERT INTO coffer_record SELECT {number},{COLUMNS} FROM coffer_record WHERE id=3"),
            get={number: "damaged"}, list="damaged", put=put)
    yield Attack(
        "copy-to-collection", "sealed", "document 3 a second time as 6, in the other collection",
        run(f"INSERT INTO coffer_record SELECT 6,2,{COLUMNS.partition(',')[2]} FROM coffer_record WHERE id=3"),
        get={6: "damaged"}, list="damaged")
    yield Attack(
        "copy-of-collection", "sealed", "collection 1 a second time as 3",
        run("INSERT INTO coffer_collection SELECT 3,rev,sealed FROM coffer_collection WHERE coll=1"),
        list="damaged")
    yield Attack(
        "copy-of-deletion", "sealed", "deletion 1 a second time as 2",
        run("INSERT INTO coffer_gone SELECT 2,rev,sealed FROM coffer_gone WHERE gone=1"))
    for name, number in {"zero": 0, "negative": -1, "least": -(2**63)}.items():
        yield Attack(
            f"copy-of-deletion-{name}", "sealed", f"deletion 1 a second time as {number}, where a walk from 1 on misses it",
            run(f"INSERT INTO coffer_gone SELECT {number},rev,sealed FROM coffer_gone WHERE gone=1"))
    yield Attack(
        "copy-of-collection-as-deletion", "sealed", "collection 2 as deletion 2",
        run("INSERT INTO coffer_gone SELECT 2,rev,sealed FROM coffer_collection WHERE coll=2"))
    yield Attack(
        "copy-of-deletion-as-collection", "sealed", "deletion 1 as collection 1",
        run("UPDATE coffer_collection SET rev=g.rev,sealed=g.sealed FROM coffer_gone g WHERE coll=1"), list="damaged")
    yield Attack(
        "copy-of-body", "sealed", "a body under a number that no row has",
        run("INSERT INTO coffer_body SELECT 6,ct FROM coffer_body WHERE id=8"), verify="damaged", get={6: "missing"})
    yield Attack(
        "copy-of-head-as-name", "sealed", "a head as a collection's name",
        run("UPDATE coffer_collection SET sealed=(SELECT head FROM coffer_record WHERE id=1) WHERE coll=2"),
        list="damaged")


def _deletions():
    for name, what, edit, options in (
        ("document", "document 2 is gone", ("DELETE FROM coffer_record WHERE id=2",), {"get": {2: "missing"}}),
        ("document-and-body", "document 8 is gone, row and body",
         ("DELETE FROM coffer_record WHERE id=8", "DELETE FROM coffer_body WHERE id=8"), {"get": {8: "missing"}}),
        ("row", "the row of document 8 is gone, its body is not", ("DELETE FROM coffer_record WHERE id=8",),
         {"get": {8: "missing"}}),
        ("body", "the body of document 8 is gone", ("DELETE FROM coffer_body WHERE id=8",),
         {"get": {8: "damaged"}, "verify": "damaged"}),
        ("body-in-row", "the body of document 2 is gone", ("UPDATE coffer_record SET body=NULL WHERE id=2",),
         {"get": {2: "damaged"}, "verify": "damaged"}),
        ("all", "all documents are gone", ("DELETE FROM coffer_record", "DELETE FROM coffer_body"),
         {"get": dict.fromkeys(IDS, "missing")}),
        ("all-rows", "all rows are gone", ("DELETE FROM coffer_record",), {"get": dict.fromkeys(IDS, "missing")}),
        ("all-bodies", "all bodies are gone", ("DELETE FROM coffer_body", "UPDATE coffer_record SET body=NULL"),
         {"get": dict.fromkeys(IDS, "damaged"), "verify": "damaged"}),
        ("collection", "collection 2 is gone, its documents are not", ("DELETE FROM coffer_collection WHERE coll=2",), {}),
        ("collections", "all collections are gone", ("DELETE FROM coffer_collection",), {}),
        ("deletion", "the deletion of document 6 is gone", ("DELETE FROM coffer_gone WHERE gone=1",), {}),
        ("collection-with-documents", "collection 2 is gone with its documents",
         ("DELETE FROM coffer_collection WHERE coll=2", "DELETE FROM coffer_record WHERE coll=2",
          "DELETE FROM coffer_body WHERE id IN (4,5)"), {"get": {4: "missing", 5: "missing"}}),
    ):
        yield Attack(f"delete-{name}", "sealed", what, run(*edit), **options)


def from_file(moment, *statements):
    """Statements that see another file as schema o: `moment` is (store, place in its history)."""

    def edit(db, kit):
        db.execute("ATTACH ? AS o", (str(kit.file(*moment)),))
        run(*statements)(db, kit)
        db.execute("DETACH o")

    return edit


def put_back(*tables, where=""):
    return [
        statement for table in tables for statement in (
            f"DELETE FROM coffer_{table} {where}",
            f"INSERT INTO coffer_{table} SELECT * FROM o.coffer_{table} {where}")
    ]


def _old(kit, id, moment=OLD, store="sealed"):
    writer = kit.histories[store][moment]
    return document(writer, writer.records[id])


def moment_reads(kit, base, store, moment):
    """The documents of a moment that are not as in the base."""
    writer, now = kit.histories[store][moment], kit.base(base)
    found = {id: document(writer, record) for id, record in writer.records.items()}
    return {id: one for id, one in found.items() if id not in now.records or one != document(now, now.records[id])}


def _replays(kit):
    older, where = ("sealed", OLD), "WHERE id=2"
    yield Attack(
        "replay-deletion", "united", "a deletion as it was before a merge",
        from_file(("united", "changed"), *put_back("gone", where="WHERE gone=1")))
    yield Attack(
        "replay-replicas", "united", "the row of replicas as it was before the last merge",
        from_file(("united", "promoted"), *put_back("replica")), open="damaged")
    yield Attack(
        "replay-replicas-and-state", "united",
        "the same with its state: opens, until the anchor is looked at; the rows are newer than the state",
        from_file(("united", "promoted"), *put_back("replica", "state")), list="damaged", anchor="rolled-back",
        get={RANGE_SIZE: "damaged", 12 * RANGE_SIZE: "damaged"})
    yield Attack(
        "replay-state", "united", "the state of the moment before the last merge, under the present replicas",
        from_file(("united", "promoted"), *put_back("state")), open="damaged")
    yield Attack(
        "replay-dropped-collection", "united", "a dropped collection as it was before it was dropped",
        from_file(("united", "filled"), *put_back("collection", where="WHERE coll=3")))
    yield Attack(
        "replay-document", "sealed", "document 2 as it was before its change", from_file(older, *put_back("record", where=where)),
        reads={2: _old(kit, 2)})
    yield Attack(
        "replay-long-document", "sealed", "document 8 as it was before its change, row and body",
        from_file(older, *put_back("record", "body", where="WHERE id=8")), reads={8: _old(kit, 8)})
    yield Attack(
        "replay-row", "sealed", "the row of document 8 as it was, with today's body",
        from_file(older, *put_back("record", where="WHERE id=8")), get={8: "damaged"})
    yield Attack(
        "replay-long-body", "sealed", "the body of document 8 as it was, with today's row",
        from_file(older, *put_back("body", where="WHERE id=8")), get={8: "damaged"}, verify="damaged", quick="ok",
        also={"verify_quick": ["damaged"]})
    for name, columns, options in (
        ("body", ("body",), {"verify": "damaged", "quick": "ok", "also": {"verify_quick": ["damaged"]}}),
        ("body-with-nonce", ("body", "body_nt"), {"list": "damaged"}), ("head", ("head",), {"list": "damaged"}),
        ("revision", ("rev",), {"list": "damaged"}),
    ):
        changes = ",".join(f"{name}=(SELECT {name} FROM o.coffer_record {where})" for name in columns)
        yield Attack(
            f"replay-{name}", "sealed", f"document 2: {' and '.join(columns)} as before its change, in today's row",
            from_file(older, f"UPDATE coffer_record SET {changes} {where}"), get={2: "damaged"}, **options)
    yield Attack(
        "replay-place", "sealed", "document 1 in the place where it was before it was moved",
        from_file(older, *put_back("record", where="WHERE id=1")), reads={1: _old(kit, 1)})
    yield Attack(
        "replay-clear-document", "clear", "document 2 as it was, with the clear title it had",
        from_file(("clear", OLD), *put_back("record", where=where)), reads={2: _old(kit, 2, store="clear")})
    yield Attack(
        "replay-clear-title", "clear", "the clear title that document 2 had, in today's row",
        from_file(
            ("clear", OLD), "UPDATE coffer_record SET title=(SELECT title FROM o.coffer_record WHERE id=2) WHERE id=2"),
        get={2: "damaged"}, list="damaged")


def _resurrections(kit):
    older = ("sealed", OLD)
    yield Attack(
        "resurrect-document", "sealed", "document 6, which was deleted, is back",
        from_file(older, *put_back("record", where="WHERE id=6")), get={6: "ok"}, reads={6: _old(kit, 6)})
    yield Attack(
        "resurrect-document-without-deletion", "sealed", "document 6 is back, and its deletion is gone",
        from_file(older, *put_back("record", where="WHERE id=6"), "DELETE FROM coffer_gone"), get={6: "ok"},
        reads={6: _old(kit, 6)})
    yield Attack(
        "resurrect-row", "sealed", "the row of document 6 is back without its body",
        from_file(older, *put_back("record", where="WHERE id=6"), "UPDATE coffer_record SET body=NULL WHERE id=6"),
        get={6: "damaged"})
    yield Attack(
        "resurrect-body", "sealed", "the body of document 6 is back, in the table of bodies, without its row",
        from_file(older, "INSERT INTO coffer_body SELECT 6,body FROM o.coffer_record WHERE id=6"), get={6: "missing"},
        verify="damaged")
    insert = "INSERT INTO coffer_record SELECT {},%s FROM o.coffer_record WHERE id=6" % COLUMNS
    yield Attack(
        "resurrect-under-another-number", "sealed", "document 6 is back as 9", from_file(older, insert.format(9)),
        get={9: "damaged"}, list="damaged", put="damaged")
    yield Attack(
        "resurrect-in-place-of-another", "sealed", "document 6 in the place of 7",
        from_file(older, "DELETE FROM coffer_record WHERE id=7", insert.format(7)), get={7: "damaged"}, list="damaged")


def _transplants():
    other = ("other", LATEST)
    for name, what, statements, options in (
        ("document", "document 2 of another store with the same keys", put_back("record", where="WHERE id=2"),
         {"get": {2: "damaged"}, "list": "damaged"}),
        ("long-document", "document 8 of another store, row and body", put_back("record", "body", where="WHERE id=8"),
         {"get": {8: "damaged"}, "list": "damaged"}),
        ("body", "the body of document 8 of another store", put_back("body", where="WHERE id=8"),
         {"get": {8: "damaged"}, "verify": "damaged", "quick": "ok", "also": {"verify_quick": ["damaged"]}}),
        ("collection", "collection 2 of another store", put_back("collection", where="WHERE coll=2"),
         {"list": "damaged"}),
        ("deletion", "the deletion of another store", put_back("gone"), {}),
        ("replicas", "the replicas of another store", put_back("replica"), {"open": "damaged"}),
        ("documents", "all documents of another store", put_back("record", "body"),
         {"get": dict.fromkeys(IDS, "damaged"), "list": "damaged"}),
        ("rows-and-collections", "all rows of another store", put_back("record", "body", "collection", "gone"),
         {"get": dict.fromkeys(IDS, "damaged"), "list": "damaged"}),
        ("header", "the header of another store", put_back("header"), {"open": "cannot-unlock"}),
        ("slots", "the slots of another store", put_back("slot"), {"open": "cannot-unlock"}),
        ("header-and-slots", "header and slots of another store", put_back("header", "slot"), {"open": "damaged"}),
        ("spare", "the header's copy of another store", put_back("spare"), {"verify": "damaged"}),
        ("state", "the state of another store", put_back("state"), {"open": "damaged"}),
        ("keyring", "the keyring of another store",
         ["UPDATE coffer_header SET keyring=(SELECT keyring FROM o.coffer_header)"], {"open": "damaged"}),
        ("store-id", "the identity of another store",
         ["UPDATE coffer_header SET store_id=(SELECT store_id FROM o.coffer_header)"], {"open": "cannot-unlock"}),
        ("slot", "the key file's slot of another store", put_back("slot", where="WHERE slot=1"),
         {"open": "cannot-unlock", "open_by": {"passphrase": "damaged"}}),
        # The rows of the base under the head of the other store: none of them opens.
        ("all-but-rows", "header, slots, state and replicas of another store",
         put_back("header", "spare", "slot", "state", "replica"),
         {"get": dict.fromkeys(IDS, "damaged"), "list": "damaged", "anchor": "mismatch"}),
        ("everything", "everything of another store: a whole other file, which only pin or anchor tell",
         put_back(*EVERYTHING),
         {"get": dict.fromkeys(IDS, "other"), "verify": "ok", "anchor": "mismatch"}),
    ):
        yield Attack(f"transplant-{name}", "sealed", what, from_file(other, *statements), **options)


def _rollbacks(kit):
    older = ("sealed", "before-last")  # before document 1 was moved
    lines = {name: kit.histories["sealed"][name].anchor for name in ("filled", "deleted", "before-last")}
    known = {lines["filled"]: ("ok", "ok"), lines["before-last"]: ("ok", "ok")}
    for name, tables, options in (
        ("state", ("state",), {"get": {1: "damaged"}, "list": "damaged", "anchor": "rolled-back", "anchors": known}),
        ("all-but-records", ("header", "spare", "slot", "state", "replica", "collection", "gone"),
         {"get": {1: "damaged"}, "list": "damaged", "anchor": "rolled-back"}),
        ("records", ("record", "body"), {"reads": {1: _old(kit, 1, "before-last")}}),
        ("file", EVERYTHING,
         {"verify": "ok", "anchor": "rolled-back", "reads": {1: _old(kit, 1, "before-last")}, "anchors": known}),
    ):
        yield Attack(
            f"rollback-{name}", "sealed", f"put back as before the last change: {', '.join(tables)}",
            from_file(older, *put_back(*tables)), **options)
    for name, tables, open_, what in (
        ("header", ("header",), "damaged", "the header of before a slot was removed"),
        ("removed-slot", ("slot",), "damaged", "a slot that was removed is put back"),
        ("removed-slot-and-header", ("slot", "header", "spare"), "rolled-back", "the same with its header"),
    ):
        options = {"open_by": {"removed": open_}} if name != "header" else {}
        yield Attack(
            f"rollback-{name}", "sealed", what, from_file(("sealed", "slot-added"), *put_back(*tables)), open=open_,
            **options)
    yield Attack(
        "rollback-removed-slot-header-and-state", "sealed",
        "the same with the state: opens, until the anchor is looked at; the rows are newer than the state",
        from_file(("sealed", "slot-added"), *put_back("slot", "header", "spare", "state")),
        get={1: "damaged", 8: "damaged"}, list="damaged", anchor="rolled-back", open_by={"removed": "ok"})


def _during_rekey(kit):
    """The history of `mid-rekey`: before, begun (the first transaction), and with documents 1 to 3 sealed again."""
    passed = {1: "damaged", 2: "damaged", 3: "damaged"}
    for name, moment, tables, options in (
        ("state-of-a-batch-before", "sealed-2", ("state",), {"anchor": "rolled-back"}),
        ("state-of-before", "before", ("state",), {"open": "damaged"}),
        ("header-and-slots-of-before", "before", ("header", "slot"), {"open": "damaged"}),
        ("header-of-before", "before", ("header",), {"open": "cannot-unlock"}),
        ("slots-of-before", "before", ("slot",), {"open": "cannot-unlock"}),
        ("header-slots-and-state-of-before", "before", ("header", "slot", "state"), {"open": "damaged"}),
        ("header-slots-state-and-replicas-of-before", "before", ("header", "slot", "state", "replica"),
         {"get": passed, "list": "damaged", "anchor": "rolled-back"}),
        # Rows behind the cursor, which holders of the old keys may no longer write.
        ("row-and-body-of-before", "before", ("record", "body"),
         {"get": passed, "list": "damaged"}),
        ("names-of-before", "before", ("collection",), {"list": "damaged"}),
        ("deletions-of-before", "before", ("gone",), {}), ("replicas-of-before", "before", ("replica",), {"open": "damaged"}),
        ("whole-file-of-before", "before", EVERYTHING,
         {"verify": "ok", "anchor": "rolled-back", "reads": moment_reads(kit, "mid-rekey", "mid-rekey", "before")}),
    ):
        yield Attack(
            f"rekey-{name}", "mid-rekey", f"a rekey is in its middle; put back as before: {', '.join(tables)} ({name})",
            from_file(("mid-rekey", moment), *put_back(*tables)), **options)
    for name, edit, ids in (
        ("epoch-lowered", "UPDATE coffer_record SET epoch=1 WHERE id=1", [1]),
        ("epoch-raised", "UPDATE coffer_record SET epoch=2 WHERE id=7", [7]),
        ("epochs-all-raised", "UPDATE coffer_record SET epoch=2", [4, 5, 7, 8]),
    ):
        yield Attack(
            f"rekey-{name}", "mid-rekey", f"a rekey is in its middle: {edit}", run(edit),
            get=dict.fromkeys(ids, "damaged"), list="damaged")
    yield Attack(
        "rekey-old-title-planted", "mid-rekey", "a clear title in a row of the old epoch: the row binds it",
        run("UPDATE coffer_record SET title='planted' WHERE id=7"), get={7: "damaged"}, list="damaged")
