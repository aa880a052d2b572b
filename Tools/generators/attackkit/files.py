"""Who can write the file, and holds no key, moves authentic bytes: between documents, from older copies, from other
stores, and from one side of a key change to the other."""

from .attack import Attack, run
from .writer import document

OLD, LATEST = 1, -1  # of a history: document 2 as first written and 6 still there; the base
EVERYTHING = ("header", "slot", "state", "collection", "record", "body")


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
        for name in names:
            # Lookups are unique.
            if name == "lookup":
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
    two = {1: "damaged", 2: "damaged"}
    record, body = "coffer_record", "coffer_body"
    for name, columns in {
        "heads": "head", "positions": "pos", "lookups": "lookup", "revisions": "rev", "parents": "parent",
        "nonces-and-tags": "body_nt", "all-columns": "coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt",
    }.items():
        unchanged = name == "parents"
        yield Attack(
            f"swap-{name}", "sealed", f"documents 1 and 2 exchange {columns}",
            _exchange(record, columns) if not unchanged else _exchange(record, columns, 2, 3),
            get=two if not unchanged else {2: "damaged", 3: "damaged"}, list="damaged")
    yield Attack(
        "swap-bodies", "sealed", "documents 1 and 2 exchange their bodies' ciphertexts", _exchange(body, "ct"), get=two,
        verify="damaged", quick="ok", also={"verify_quick": ["damaged"]})
    yield Attack(
        "swap-bodies-with-nonces", "sealed", "the same with nonces and tags",
        _both(_exchange(body, "ct"), _exchange(record, "body_nt")), get=two, list="damaged")
    yield Attack(
        "swap-rows-and-bodies", "sealed", "documents 1 and 2 exchange everything but their numbers",
        _both(
            _exchange(body, "ct"),
            _exchange(record, "coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt")), get=two, list="damaged")
    yield Attack(
        "swap-numbers", "sealed", "documents 1 and 2 exchange their numbers",
        run(*(f"UPDATE {table} SET id=-id WHERE id IN (1,2)" for table in (record, body)),
            *(f"UPDATE {table} SET id=3+id WHERE id<0" for table in (record, body))),
        get=two, list="damaged")
    yield Attack(
        "swap-numbers-of-bodies", "sealed", "the bodies of 1 and 2 exchange their numbers",
        run(f"UPDATE {body} SET id=-id WHERE id IN (1,2)", f"UPDATE {body} SET id=3+id WHERE id<0"), get=two,
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
        "swap-state-and-name", "sealed", "the state's bytes stand as a collection's name",
        run("UPDATE coffer_collection SET sealed=(SELECT sealed FROM coffer_state) WHERE coll=2"), list="damaged")


def _copies():
    columns = "coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt"
    for name, number, put in (("free-number", 6, None), ("number-above-next", 8, "damaged")):
        yield Attack(
            f"copy-to-{name}", "sealed", f"document 3 stands a second time as {number}",
            run(f"INSERT INTO coffer_record SELECT {number},{columns} FROM coffer_record WHERE id=3",
                f"INSERT INTO coffer_body SELECT {number},ct FROM coffer_body WHERE id=3"),
            get={number: "damaged"}, list="damaged", put=put)
    yield Attack(
        "copy-to-collection", "sealed", "document 3 stands a second time as 6, in the other collection",
        run("INSERT INTO coffer_record SELECT 6,2,epoch,rev,pos,parent,flags,lookup,title,head,body_nt"
            " FROM coffer_record WHERE id=3", "INSERT INTO coffer_body SELECT 6,ct FROM coffer_body WHERE id=3"),
        get={6: "damaged"}, list="damaged")
    yield Attack(
        "copy-of-collection", "sealed", "collection 1 stands a second time as 3",
        run("INSERT INTO coffer_collection SELECT 3,epoch,rev,sealed FROM coffer_collection WHERE coll=1"),
        list="damaged")
    yield Attack(
        "copy-of-body", "sealed", "a body stands under a number that no row has",
        run("INSERT INTO coffer_body SELECT 6,ct FROM coffer_body WHERE id=3"), verify="damaged", get={6: "missing"})
    yield Attack(
        "copy-of-head-as-name", "sealed", "a head stands as a collection's name",
        run("UPDATE coffer_collection SET sealed=(SELECT head FROM coffer_record WHERE id=1) WHERE coll=2"),
        list="damaged")


def _deletions():
    for name, what, edit, options in (
        ("document", "document 2 is gone, row and body",
         ("DELETE FROM coffer_record WHERE id=2", "DELETE FROM coffer_body WHERE id=2"), {"get": {2: "missing"}}),
        ("row", "the row of document 2 is gone", ("DELETE FROM coffer_record WHERE id=2",), {"get": {2: "missing"}}),
        ("body", "the body of document 2 is gone", ("DELETE FROM coffer_body WHERE id=2",),
         {"get": {2: "damaged"}, "verify": "damaged"}),
        ("last", "the last document is gone",
         ("DELETE FROM coffer_record WHERE id=7", "DELETE FROM coffer_body WHERE id=7"), {"get": {7: "missing"}}),
        ("all", "all documents are gone", ("DELETE FROM coffer_record", "DELETE FROM coffer_body"),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "missing")}),
        ("all-rows", "all rows are gone", ("DELETE FROM coffer_record",),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "missing")}),
        ("all-bodies", "all bodies are gone", ("DELETE FROM coffer_body",),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "damaged"), "verify": "damaged"}),
        ("collection", "collection 2 is gone, its documents are not", ("DELETE FROM coffer_collection WHERE coll=2",), {}),
        ("collections", "all collections are gone", ("DELETE FROM coffer_collection",), {}),
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


def _replays(kit):
    older = ("sealed", OLD)
    both = put_back("record", "body", where="WHERE id=2")
    yield Attack(
        "replay-document", "sealed", "document 2 as it was before its change, row and body", from_file(older, *both),
        reads={2: _old(kit, 2)})
    yield Attack(
        "replay-row", "sealed", "the row of document 2 as it was, with today's body",
        from_file(older, *put_back("record", where="WHERE id=2")), get={2: "damaged"})
    yield Attack(
        "replay-body", "sealed", "the body of document 2 as it was, with today's row",
        from_file(older, *put_back("body", where="WHERE id=2")), get={2: "damaged"}, verify="damaged", quick="ok",
        also={"verify_quick": ["damaged"]})
    yield Attack(
        "replay-body-with-nonce", "sealed", "the same with nonce and tag",
        from_file(
            older, *put_back("body", where="WHERE id=2"),
            "UPDATE coffer_record SET body_nt=(SELECT body_nt FROM o.coffer_record WHERE id=2) WHERE id=2"),
        get={2: "damaged"}, list="damaged")
    yield Attack(
        "replay-head", "sealed", "the head of document 2 as it was, in today's row",
        from_file(older, "UPDATE coffer_record SET head=(SELECT head FROM o.coffer_record WHERE id=2) WHERE id=2"),
        get={2: "damaged"}, list="damaged")
    yield Attack(
        "replay-place", "sealed", "document 1 in the place where it was before it was moved",
        from_file(older, *put_back("record", "body", where="WHERE id=1")), reads={1: _old(kit, 1)})
    yield Attack(
        "replay-clear-document", "clear", "document 2 as it was, with the clear title it had",
        from_file(("clear", OLD), *both), reads={2: _old(kit, 2, store="clear")})
    yield Attack(
        "replay-clear-title", "clear", "the clear title that document 2 had, in today's row",
        from_file(
            ("clear", OLD), "UPDATE coffer_record SET title=(SELECT title FROM o.coffer_record WHERE id=2) WHERE id=2"),
        get={2: "damaged"}, list="damaged")


def _resurrections(kit):
    older, where = ("sealed", OLD), "WHERE id=6"
    yield Attack(
        "resurrect-document", "sealed", "document 6, which was deleted, is back",
        from_file(older, *put_back("record", "body", where=where)), get={6: "ok"}, reads={6: _old(kit, 6)})
    yield Attack(
        "resurrect-row", "sealed", "the row of document 6 is back without its body",
        from_file(older, *put_back("record", where=where)), get={6: "damaged"})
    yield Attack(
        "resurrect-body", "sealed", "the body of document 6 is back without its row",
        from_file(older, *put_back("body", where=where)), get={6: "missing"}, verify="damaged")
    yield Attack(
        "resurrect-under-another-number", "sealed", "document 6 is back as 8",
        from_file(
            older, "INSERT INTO coffer_body SELECT 8,ct FROM o.coffer_body WHERE id=6",
            "INSERT INTO coffer_record SELECT 8,coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt"
            " FROM o.coffer_record WHERE id=6"), get={8: "damaged"}, list="damaged", put="damaged")
    yield Attack(
        "resurrect-in-place-of-another", "sealed", "document 6 stands back in the place of 7",
        from_file(
            older, "DELETE FROM coffer_record WHERE id=7", "DELETE FROM coffer_body WHERE id=7",
            "INSERT INTO coffer_body SELECT 7,ct FROM o.coffer_body WHERE id=6",
            "INSERT INTO coffer_record SELECT 7,coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt"
            " FROM o.coffer_record WHERE id=6"), get={7: "damaged"}, list="damaged")


def _transplants():
    other = ("other", LATEST)
    for name, what, statements, options in (
        ("document", "document 2 of another store with the same keys", put_back("record", "body", where="WHERE id=2"),
         {"get": {2: "damaged"}, "list": "damaged"}),
        ("row", "the row of document 2 of another store", put_back("record", where="WHERE id=2"),
         {"get": {2: "damaged"}, "list": "damaged"}),
        ("body", "the body of document 2 of another store", put_back("body", where="WHERE id=2"),
         {"get": {2: "damaged"}, "verify": "damaged", "quick": "ok", "also": {"verify_quick": ["damaged"]}}),
        ("collection", "collection 2 of another store", put_back("collection", where="WHERE coll=2"),
         {"list": "damaged"}),
        ("documents", "all documents of another store", put_back("record", "body"),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "damaged"), "list": "damaged"}),
        ("rows-and-collections", "all rows of another store", put_back("record", "body", "collection"),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "damaged"), "list": "damaged"}),
        ("header", "the header of another store", put_back("header"), {"open": "cannot-unlock"}),
        ("slots", "the slots of another store", put_back("slot"), {"open": "cannot-unlock"}),
        ("header-and-slots", "header and slots of another store", put_back("header", "slot"), {"open": "damaged"}),
        ("state", "the state of another store", put_back("state"), {"open": "damaged"}),
        ("keyring", "the keyring of another store",
         ["UPDATE coffer_header SET keyring=(SELECT keyring FROM o.coffer_header)"], {"open": "damaged"}),
        ("store-id", "the identity of another store",
         ["UPDATE coffer_header SET store_id=(SELECT store_id FROM o.coffer_header)"], {"open": "cannot-unlock"}),
        ("slot", "the key file's slot of another store", put_back("slot", where="WHERE slot=1"),
         {"open": "cannot-unlock", "open_by": {"passphrase.txt": "damaged"}}),
        # The rows of the base under the head of the other store: none of them opens.
        ("all-but-rows", "header, slots and state of another store", put_back("header", "slot", "state"),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "damaged"), "list": "damaged", "anchor": "mismatch"}),
        ("everything", "everything of another store: a whole other file, which only pin or anchor tell",
         put_back(*EVERYTHING),
         {"get": dict.fromkeys((1, 2, 3, 4, 5, 7), "other"), "verify": "ok", "anchor": "mismatch"}),
    ):
        yield Attack(f"transplant-{name}", "sealed", what, from_file(other, *statements), **options)


def _rollbacks(kit):
    older = ("sealed", 3)  # before document 1 was moved
    for name, tables, options in (
        ("state", ("state",),
         {"verify": "mismatch", "get": {1: "damaged"}, "list": "damaged", "anchor": "rolled-back"}),
        ("all-but-records", ("header", "slot", "state", "collection"),
         {"verify": "mismatch", "get": {1: "damaged"}, "list": "damaged", "anchor": "rolled-back"}),
        ("records", ("record", "body"), {"reads": {1: _old(kit, 1, 3)}}),
        ("file", EVERYTHING, {"verify": "ok", "anchor": "rolled-back", "reads": {1: _old(kit, 1, 3)}}),
    ):
        yield Attack(
            f"rollback-{name}", "sealed", f"put back as before the last change: {', '.join(tables)}",
            from_file(older, *put_back(*tables)), **options)
    yield Attack(
        "rollback-header", "slots", "the header of before a slot was removed", from_file(("slots", 0), *put_back("header")),
        open="damaged")
    yield Attack(
        "rollback-removed-slot", "slots", "a slot that was removed is put back",
        from_file(("slots", 0), *put_back("slot")), open="damaged", open_by={"next.key": "damaged"})
    yield Attack(
        "rollback-removed-slot-and-header", "slots", "a slot that was removed is put back, with its header",
        from_file(("slots", 0), *put_back("slot", "header")), open="rolled-back", open_by={"next.key": "rolled-back"})
    yield Attack(
        "rollback-removed-slot-header-and-state", "slots",
        "the same with the state: opens, as the page says, until the anchor is looked at",
        from_file(("slots", 0), *put_back("slot", "header", "state")), verify="ok", anchor="rolled-back",
        open_by={"next.key": "ok"})


def _during_rekey(kit):
    """The history of `mid`: 0 before, 1 after the first transaction, 2 and 3 with documents 1 and 2 sealed again."""
    for name, moment, tables, options in (
        ("state-of-a-batch-before", 3, ("state",), {"verify": "mismatch", "anchor": "rolled-back"}),
        ("state-of-before", 0, ("state",), {"open": "damaged"}),
        ("header-and-slots-of-before", 0, ("header", "slot"), {"open": "damaged"}),
        ("header-of-before", 0, ("header",), {"open": "cannot-unlock"}),
        ("slots-of-before", 0, ("slot",), {"open": "cannot-unlock"}),
        ("header-slots-and-state-of-before", 0, ("header", "slot", "state"),
         {"get": {1: "damaged", 2: "damaged", 3: "damaged"}, "list": "damaged", "verify": "mismatch",
          "anchor": "rolled-back"}),
        ("row-and-body-of-before", 0, ("record", "body"), {}),
        ("row-of-before", 0, ("record",), {"get": {1: "damaged", 2: "damaged", 3: "damaged"}}),
        ("bodies-of-before", 0, ("body",),
         {"get": {1: "damaged", 2: "damaged", 3: "damaged"}, "verify": "damaged", "quick": "ok",
          "also": {"verify_quick": ["damaged"]}}),
        ("names-of-before", 0, ("collection",), {}),
        ("whole-file-of-before", 0, EVERYTHING, {"verify": "ok", "anchor": "rolled-back"}),
    ):
        yield Attack(
            f"rekey-{name}", "mid", f"a rekey is in its middle; put back as before: {', '.join(tables)} ({name})",
            from_file(("mid", moment), *put_back(*tables)), **options)
    for name, edit, ids in (
        ("epoch-lowered", "UPDATE coffer_record SET epoch=1 WHERE id=1", [1]),
        ("epoch-raised", "UPDATE coffer_record SET epoch=2 WHERE id=7", [7]),
        ("epochs-all-raised", "UPDATE coffer_record SET epoch=2", [4, 5, 7]),
    ):
        yield Attack(
            f"rekey-{name}", "mid", f"a rekey is in its middle: {edit}", run(edit), get=dict.fromkeys(ids, "damaged"),
            list="damaged")
    yield Attack(
        "rekey-old-title-planted", "mid", "a clear title in a row of the old epoch: the row binds it",
        run("UPDATE coffer_record SET title='planted' WHERE id=7"), get={7: "damaged"}, list="damaged")
