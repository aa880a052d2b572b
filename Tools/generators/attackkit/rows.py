"""Attacks on the file without a key: single columns edited, their values, storage classes, lengths."""

from .attack import Attack, loosely, past_unique, run
from .positions import LIMIT
from .storefile import database

VICTIM = 2


def attacks(kit):
    yield from _columns()
    yield from _classes()
    yield from _bodies()
    yield _id_twice()
    yield from _sealed_rows()
    yield from _states()
    yield from _replicas()


def _columns():
    """The row is in the head's additional data: each edit damages one document, and changes the set."""
    edits = {
        "coll-other": "coll=2", "coll-unknown": "coll=99", "coll-zero": "coll=0", "coll-above-u32": "coll=4294967297",
        "epoch-unknown": "epoch=2", "epoch-zero": "epoch=0", "epoch-negative": "epoch=-1",
        "epoch-above-u32": "epoch=4294967297", "epoch-2-to-31": "epoch=2147483648",
        "rev-lower": "rev=rev-1", "rev-higher": "rev=rev+1", "rev-zero": "rev=0", "rev-negative": "rev=-3",
        "rev-above-generation": "rev=1000", "rev-greatest": "rev=9223372036854775807",
        "pos-next": "pos=CAST(pos||x'00' AS BLOB)", "pos-least": "pos=x'00'",
        "pos-greatest": f"pos=x'{'ff' * LIMIT}'", "pos-as-another": "pos=(SELECT pos FROM coffer_record WHERE id=1)",
        "parent-planted": "parent=1", "parent-itself": "parent=2", "parent-zero": "parent=0",
        "parent-negative": "parent=-1", "parent-greatest": "parent=9223372036854775807",
        "flags-value": "flags=1", "flags-held": "flags=2", "flags-held-value": "flags=3", "flags-unknown": "flags=4",
        "flags-negative": "flags=-1",
        "flags-above-u32": "flags=4294967296",
        "lookup-to-null": "lookup=NULL", "lookup-zeros": "lookup=zeroblob(16)", "lookup-empty": "lookup=x''",
                "lookup-short": "lookup=substr(lookup,1,15)", "lookup-long": "lookup=CAST(lookup||x'00' AS BLOB)",
        "title-planted": "title='planted'", "title-planted-empty": "title=''",
        "head-nonce": "head={flip(head,1)}", "head-tag": "head={flip_last(head)}",
        "head-cut-by-one": "head=substr(head,1,length(head)-1)", "head-one-more": "head=CAST(head||x'00' AS BLOB)",
        "head-39-bytes": "head=substr(head,1,39)", "head-40-bytes": "head=substr(head,1,40)", "head-empty": "head=x''",
        "head-over-limit": "head=CAST(head||zeroblob(1048576) AS BLOB)",
        "body-nonce": "body_nt={flip(body_nt,1)}", "body-tag": "body_nt={flip_last(body_nt)}",
        "body-nt-39-bytes": "body_nt=substr(body_nt,1,39)", "body-nt-41-bytes": "body_nt=CAST(body_nt||x'00' AS BLOB)",
        "body-nt-empty": "body_nt=x''",
        "title-over-limit": "title=replace(hex(zeroblob(32769)),'0','t')",
    }
    for name, edit in edits.items():
        moved = name in ("coll-other", "coll-unknown", "coll-zero", "coll-above-u32")
        yield Attack(
            f"row-{name}", "sealed", f"document {VICTIM}: {edit.split('=')[0]} is edited ({name})",
            _update("coffer_record", edit), get={VICTIM: "damaged"},
            # A document of an unknown collection is in no list.
            list="ok" if moved and name != "coll-other" else "damaged")
    yield Attack(
        "row-head-ciphertext", "sealed", "document 2: a byte of the head's ciphertext",
        _update("coffer_record", "head={flip(head,30)}"), get={2: "damaged"}, list="damaged")
    yield Attack(
        "row-lookup-as-another", "sealed", "document 2: its lookup is that of document 1",
        past_unique("UPDATE coffer_record SET lookup=(SELECT lookup FROM coffer_record WHERE id=1) WHERE id=2"),
        get={2: "damaged"}, list="damaged")
    # Of documents 1, 2 and 5 the last holds the key.
    for name, what, statements, ids in (
        ("taken", "document 1, whose key another holds: the flag is taken away", ("UPDATE coffer_record SET flags=0 WHERE id=1",), (1,)),
        ("passed-on", "the flags of a key's documents are exchanged",
         ("UPDATE coffer_record SET flags=2 WHERE id=5", "UPDATE coffer_record SET flags=0 WHERE id=1"), (1, 5)),
        ("of-holder", "document 5, which holds its key: the flag is planted", ("UPDATE coffer_record SET flags=2 WHERE id=5",), (5,)),
        ("of-value", "document 8, whose key another holds: its text is a value no more",
         ("UPDATE coffer_record SET flags=2 WHERE id=8",), (8,)),
    ):
        yield Attack(
            f"row-held-{name}", "clashes", what, (past_unique if name == "taken" else run)(*statements),
            get=dict.fromkeys(ids, "damaged"), list="damaged")
    yield Attack(
        "row-parent-to-null", "sealed", "document 3: its parent is taken away",
        run("UPDATE coffer_record SET parent=NULL WHERE id=3"), get={3: "damaged"}, list="damaged")
    yield Attack(
        "row-lookup-planted", "sealed", "document 5, which has no key: a lookup is planted",
        run("UPDATE coffer_record SET lookup=zeroblob(16) WHERE id=5"), get={5: "damaged"}, list="damaged")
    for name, number in {"zero": 0, "negative": -5, "above-bound": 1000, "greatest": 2**63 - 1}.items():
        yield Attack(
            f"row-id-{name}", "sealed", f"document 2 gets the number {number}, in both tables",
            run(f"UPDATE coffer_record SET id={number} WHERE id=2", f"UPDATE coffer_body SET id={number} WHERE id=2"),
            get={2: "missing", number: "damaged"}, list="damaged", put="damaged" if number > 9 else None,
            also={f"get_of_{number}": ["missing"]} if number < 1 else {})
    for name, value in {
        "edited": "'another'", "cut": "'on'", "to-null": "NULL", "to-empty": "''", "nul-appended": "title||char(0)",
        "not-utf8": "CAST(x'ff6f6e65' AS TEXT)", "as-another": "(SELECT title FROM coffer_record WHERE id=4)",
    }.items():
        yield Attack(
            f"row-clear-title-{name}", "clear", f"document 1, clear titles: the title is edited ({name})",
            run(f"UPDATE coffer_record SET title={value} WHERE id=1"), get={1: "damaged"}, list="damaged")
    yield Attack(
        "row-clear-title-planted", "clear", "document 5, clear titles, has none: an empty one is planted",
        run("UPDATE coffer_record SET title='' WHERE id=5"), get={5: "damaged"}, list="damaged")
    yield Attack(
        "row-title-in-mode-none", "none", "a title is planted where the store keeps none",
        run("UPDATE coffer_record SET title='planted' WHERE id=1"), get={1: "damaged"}, list="damaged")


def _update(table, edit, key=f"id={VICTIM}"):
    edit = edit.replace("{flip(", "@(").replace("{flip_last(", "@@(")

    def change(db, kit):
        column = edit.split("=", 1)[0]
        if "@" not in edit:
            db.execute(f"UPDATE {table} SET {edit} WHERE {key}")
            return
        place = -1 if "@@" in edit else int(edit.split(",")[1].split(")")[0]) - 1
        value = bytearray(db.execute(f"SELECT {column} FROM {table} WHERE {key}").fetchone()[0])
        value[place] ^= 1
        db.execute(f"UPDATE {table} SET {column}=? WHERE {key}", (bytes(value),))

    return change


def _id_twice():
    """Two rows with one number, which SQLite never writes: document 7 is copied over document 8, and a patch of the
    page gives the copy the number 7. The count fits."""

    def patch(path, kit):
        with database(path) as db:
            for statement in (
                "DELETE FROM coffer_record WHERE id=8", "DELETE FROM coffer_body WHERE id=8",
                "INSERT INTO coffer_record SELECT 8,coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt,body"
                " FROM coffer_record WHERE id=7",
            ):
                db.execute(statement)
            pages = [row[0] for row in db.execute("SELECT pageno FROM dbstat WHERE name='coffer_record' AND pagetype='leaf'")]
        data = bytearray(path.read_bytes())
        size = int.from_bytes(data[16:18], "big")
        for start in ((page - 1) * size for page in pages):
            for place in range(int.from_bytes(data[start + 3 : start + 5], "big")):
                at = start + 8 + 2 * place
                cell = start + int.from_bytes(data[at : at + 2], "big")
                while data[cell] & 0x80:  # the length, a varint
                    cell += 1
                if data[cell + 1] == 8:
                    data[cell + 1] = 7
        path.write_bytes(data)

    return Attack(
        "row-id-twice", "sealed", "document 7 twice, once in the place of 8", patch=patch,
        get={7: "ok", 8: "missing"}, list="damaged", also={"get_of_7": ["damaged"], "list": ["ok"]})


def _classes():
    """STRICT guards writes only: values of other storage classes, planted past it."""
    wrong = {
        "coll": ("CAST(coll AS TEXT)", "CAST(coll AS REAL)", "NULL"), "epoch": ("'1'", "1.5", "x'01'"),
        "rev": ("'5'", "NULL", "x'05'"), "pos": ("1", "'high'", "NULL", "x''", "zeroblob(256)"),
        "parent": ("'2'", "x'02'", "2.5"),
        "flags": ("0.5", "NULL", "''"), "lookup": ("CAST(lookup AS TEXT)", "0", "1.5"),
        "title": ("x'6f6e65'", "5", "1.5"), "head": ("NULL", "CAST(head AS TEXT)", "7"),
        "body_nt": ("NULL", "CAST(body_nt AS TEXT)", "0"),
    }
    for column, values in wrong.items():
        for number, value in enumerate(values, 1):
            yield Attack(
                f"class-{column}-{number}", "sealed", f"document 2: {column} is {value}",
                loosely(f"UPDATE coffer_record SET {column}={value} WHERE id=2"), get={2: "damaged"}, list="damaged",
                # A row whose collection is not a number is in no list.
                also={"list": ["ok"]} if column == "coll" else {})
    for name, value in {"null": "NULL", "text": "CAST(ct AS TEXT)", "integer": "1"}.items():
        yield Attack(
            f"class-ct-{name}", "sealed", f"document 8: the body is {value}",
            loosely(f"UPDATE coffer_body SET ct={value} WHERE id=8"), get={8: "damaged"}, verify="damaged",
            quick="ok", also={"verify_quick": ["damaged"]})
    for name, value in {"text": "CAST(body AS TEXT)", "integer": "1", "real": "1.5"}.items():
        # The set hash does not depend on the body's column; a reader of rows may still check its storage class.
        yield Attack(
            f"class-body-{name}", "sealed", f"document 2: the body in its row is {value}",
            loosely(f"UPDATE coffer_record SET body={value} WHERE id=2"), get={2: "damaged"}, verify="damaged",
            quick="ok", also={"verify": ["mismatch"], "verify_quick": ["damaged", "mismatch"], "list": ["damaged"]})
    for column, value in {
        "rev": "1.5", "rev-null": "NULL", "sealed": "CAST(sealed AS TEXT)", "sealed-null": "NULL",
    }.items():
        yield Attack(
            f"class-collection-{column}", "sealed", f"collection 2: {column} is {value}",
            loosely(f"UPDATE coffer_collection SET {column.split('-')[0]}={value} WHERE coll=2"), list="damaged")
        yield Attack(
            f"class-gone-{column}", "sealed", f"deletion 1: {column} is {value}",
            loosely(f"UPDATE coffer_gone SET {column.split('-')[0]}={value} WHERE gone=1"))
    for name, table, column, value in (
        ("store-id-text", "coffer_header", "store_id", "CAST(store_id AS TEXT)"),
        ("mac-null", "coffer_header", "mac", "NULL"), ("keyring-text", "coffer_header", "keyring", "'ring'"),
        ("incompat-text", "coffer_header", "incompat", "'3'"), ("incompat-null", "coffer_header", "incompat", "NULL"),
        ("titles-real", "coffer_header", "titles", "0.5"), ("rk-generation-blob", "coffer_header", "rk_generation", "x'01'"),
        ("phase-real", "coffer_header", "phase", "1.5"), ("phase-null", "coffer_header", "phase", "NULL"),
        ("rk-commit-null", "coffer_header", "rk_commit", "NULL"), ("format-null", "coffer_header", "format", "NULL"),
        ("format-text", "coffer_header", "format", "'1'"), ("state-null", "coffer_state", "sealed", "NULL"),
        ("state-text", "coffer_state", "sealed", "CAST(sealed AS TEXT)"),
        ("replica-null", "coffer_replica", "sealed", "NULL"),
        ("replica-text", "coffer_replica", "sealed", "CAST(sealed AS TEXT)"),
        ("slot-label-blob", "coffer_slot", "label", "x'61'"), ("slot-label-null", "coffer_slot", "label", "NULL"),
        ("slot-params-text", "coffer_slot", "params", "CAST(params AS TEXT)"),
        ("slot-params-null", "coffer_slot", "params", "NULL"), ("slot-wrapped-null", "coffer_slot", "wrapped", "NULL"),
        ("slot-wrapped-text", "coffer_slot", "wrapped", "CAST(wrapped AS TEXT)"),
        ("slot-kind-text", "coffer_slot", "kind", "'2'"), ("slot-kind-null", "coffer_slot", "kind", "NULL"),
    ):
        yield Attack(
            f"class-{name}", "sealed", f"{table}: {column} is {value}",
            loosely(f"UPDATE {table} SET {column}={value}"), open="damaged")


def _bodies():
    """Only the body's own tag detects these: nothing in the row depends on the ciphertext's bytes. Document 2 has its
    body in its row, document 8 in the table of bodies."""
    for name, value in {
        "first-byte": None, "last-byte": None, "cut-by-one": "substr({},1,length({})-1)",
        "one-more": "CAST({}||x'00' AS BLOB)", "empty": "x''", "zeros": "zeroblob(length({}))",
        "next-size": "CAST({}||zeroblob(64) AS BLOB)", "huge": "zeroblob(2000000)", "seven-bytes": "substr({},1,7)",
    }.items():
        for kind, table, column, id in (("row", "coffer_record", "body", 2), ("table", "coffer_body", "ct", 8)):
            change = value.format(column, column) if value else (
                f"{{flip({column},1)}}" if name == "first-byte" else f"{{flip_last({column})}}")
            # A length of no frame, or of a frame for the other place, is visible without a key.
            quick = ["damaged", "mismatch"] if kind == "row" else ["damaged"]
            yield Attack(
                f"body-{kind}-{name}", "sealed", f"document {id}: the body is edited ({name})",
                _update(table, f"{column}={change}", f"id={id}"), get={id: "damaged"}, verify="damaged", quick="ok",
                also={"verify_quick": quick} | ({"verify": ["mismatch"], "list": ["damaged"]} if kind == "row" else {}))
    yield from _places()


def _places():
    """A frame of at most 2,048 bytes belongs in the row, a longer one in the table of bodies."""

    def place(id, where, base="bodies-padded"):
        def forge(writer):
            writer.records[id].odd = {"place": where}

        return Attack(
            f"place-{where}-of-{id}{'' if base.endswith('padded') else '-unpadded'}", base,
            f"document {id}: its body's place: {where}", forge=forge, get={id: "damaged"}, verify="damaged",
            also={"verify": ["mismatch"], "verify_quick": ["mismatch"], "list": ["damaged"]}
            # A reader of one text may ignore a second body, which verify finds.
            | ({f"get_of_{id}": ["ok"]} if where == "both" and id == 6 else {}))

    # Document 6 fills its row, document 5 is as short as a body in the table can be.
    for base in ("bodies-padded", "bodies"):
        for id, wrong in ((6, "table"), (5, "row"), (7, "row")):
            for where in (wrong, "both", "none"):
                yield place(id, where, base)


def _sealed_rows():
    """Nothing but a verify reads deletions, and none of their edits keeps a document from being read."""
    edits = {
        "rev": "rev=rev+1", "rev-zero": "rev=0", "rev-high": "rev=1000", "rev-2-to-48": "rev=281474976710656",
        "nonce": "sealed={flip(sealed,1)}", "tag": "sealed={flip_last(sealed)}", "cut": "sealed=substr(sealed,1,60)",
        "39-bytes": "sealed=substr(sealed,1,39)", "empty": "sealed=x''", "ciphertext": "sealed={flip(sealed,30)}",
    }
    numbers = {
        "collection": {"number": "coll=3", "number-zero": "coll=0", "number-above-u32": "coll=4294967298"},
        "gone": {"number": "gone=3", "number-zero": "gone=0", "number-negative": "gone=-1"},
    }
    for table, key, options in (
        ("collection", "coll=2", {"list": "damaged"}), ("gone", "gone=1", {}),
    ):
        what = "collection 2" if table == "collection" else "deletion 1"
        for name, edit in (edits | numbers[table]).items():
            yield Attack(
                f"{table}-{name}", "sealed", f"{what} is edited ({name})", _update(f"coffer_{table}", edit, key), **options)
    yield Attack(
        "gone-over-limit", "sealed", "deletion 1 has more than 64 KiB",
        run("UPDATE coffer_gone SET sealed=zeroblob(65537) WHERE gone=1"))


def _replicas():
    """The state has the digest of the sealed row; `restored` is not sealed."""
    for name, edit in {
        "nonce": "sealed={flip(sealed,1)}", "ciphertext": "sealed={flip(sealed,40)}", "tag": "sealed={flip_last(sealed)}",
        "cut": "sealed=substr(sealed,1,length(sealed)-1)", "one-more": "sealed=CAST(sealed||x'00' AS BLOB)",
        "empty": "sealed=x''", "39-bytes": "sealed=substr(sealed,1,39)", "huge": "sealed=zeroblob(5000000)",
        "as-state": "sealed=(SELECT sealed FROM coffer_state)",
    }.items():
        yield Attack(
            f"replica-{name}", "sealed", f"the row of replicas is edited ({name})", _update("coffer_replica", edit, "one=1"),
            open="damaged")
    yield Attack("replica-gone", "sealed", "there is no row of replicas", run("DELETE FROM coffer_replica"), open="damaged")
    yield Attack(
        "replica-twice", "sealed", "there are two rows of replicas",
        loosely("INSERT INTO coffer_replica SELECT 2,restored,sealed FROM coffer_replica"), open="damaged")
    yield Attack(
        "replica-restored", "sealed", "restored is set: the store only takes a new identity",
        run("UPDATE coffer_replica SET restored=1"), verify="ok", put="ok")
    yield Attack(
        "replica-not-restored", "restored", "restored is taken back: a key alone tells", verify="ok", put="ok",
        edit=run("UPDATE coffer_replica SET restored=0"))
    for name, value in {"2": "2", "negative": "-1", "text": "'1'", "null": "NULL", "real": "0.5"}.items():
        # A reader that does not read the column does not see it.
        yield Attack(
            f"replica-restored-{name}", "sealed", f"restored is {value}",
            loosely(f"UPDATE coffer_replica SET restored={value}"), open="damaged", also={"open": ["ok"]})


def _states():
    for name, edit in {
        "nonce": "sealed={flip(sealed,1)}", "ciphertext": "sealed={flip(sealed,40)}", "tag": "sealed={flip_last(sealed)}",
        "cut": "sealed=substr(sealed,1,8152)", "one-more": "sealed=CAST(sealed||x'00' AS BLOB)", "empty": "sealed=x''",
        "zeros": "sealed=zeroblob(8153)", "of-format-1": "sealed=zeroblob(164)", "of-4319-bytes": "sealed=zeroblob(4319)",
        "huge": "sealed=zeroblob(3000000)",
    }.items():
        yield Attack(
            f"state-{name}", "sealed", f"the state is edited ({name})", _update("coffer_state", edit, "one=1"),
            open="damaged")
    yield Attack("state-gone", "sealed", "there is no state", run("DELETE FROM coffer_state"), open="damaged")
    yield Attack(
        "state-twice", "sealed", "there are two states",
        loosely("INSERT INTO coffer_state SELECT 2, sealed FROM coffer_state"), open="damaged")
    yield from _spares()


def _spares():
    for name, statement in {
        "gone": "DELETE FROM coffer_spare", "empty": "UPDATE coffer_spare SET copy=x''",
        "zeros": "UPDATE coffer_spare SET copy=zeroblob(length(copy))",
        "cut": "UPDATE coffer_spare SET copy=substr(copy,1,length(copy)-1)",
        "one-more": "UPDATE coffer_spare SET copy=CAST(copy||x'00' AS BLOB)",
        "label": "UPDATE coffer_spare SET copy=CAST('coffer1/spare'||substr(copy,14) AS BLOB)",
        "over-limit": "UPDATE coffer_spare SET copy=zeroblob(327681)",
    }.items():
        yield Attack(f"spare-{name}", "sealed", f"the header's copy: {statement}", run(statement), verify="damaged")
    yield Attack(
        "spare-text", "sealed", "the header's copy is a text", verify="damaged",
        edit=loosely("UPDATE coffer_spare SET copy=CAST(copy AS TEXT)"))
    yield Attack(
        "spare-twice", "sealed", "there are two copies of the header", verify="damaged",
        edit=loosely("INSERT INTO coffer_spare SELECT 2, copy FROM coffer_spare"))
