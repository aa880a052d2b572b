"""Attacks on the file without a key: header and slots edited, hostile parameters."""

from . import layout
from .attack import Attack, loosely, run, schema
from .rows import _update

LOW_ORDER = {
    "zeros": bytes(32), "one": bytes([1]) + bytes(31),
    "order-8": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "p": bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
}


def attacks(kit):
    yield from _headers()
    yield from _files()
    yield from _parameters()
    yield from _slots()


def _headers():
    refused = "damaged"
    for name, edit, open_ in (
        ("format-zero", "format=0", refused), ("format-negative", "format=-1", refused),
        ("format-1", "format=1", refused), ("format-2", "format=2", refused), ("format-4", "format=4", "newer"),
        ("format-greatest", "format=9223372036854775807", "newer"),
        ("store-id-bit", "store_id={flip(store_id,1)}", "cannot-unlock"),
        ("store-id-15-bytes", "store_id=substr(store_id,1,15)", refused),
        ("store-id-17-bytes", "store_id=CAST(store_id||x'00' AS BLOB)", refused),
        ("store-id-empty", "store_id=x''", refused),
        ("incompat-test-cleared", "incompat=incompat-1", "refused"),
        ("incompat-padded-cleared", "incompat=incompat-2", refused),
        ("incompat-unknown", "incompat=incompat+8", "newer"), ("incompat-bit-62", "incompat=incompat+4611686018427387904", "newer"),
        ("incompat-negative", "incompat=-1", refused),
        ("ro-compat-known", "ro_compat=1", refused), ("ro-compat-unknown", "ro_compat=2", refused),
        ("ro-compat-negative", "ro_compat=-1", refused), ("compat", "compat=1", refused), ("compat-negative", "compat=-1", refused),
        ("titles-clear", "titles=1", refused), ("titles-none", "titles=2", refused), ("titles-3", "titles=3", refused),
        ("titles-negative", "titles=-1", refused), ("titles-above-u32", "titles=4294967296", refused),
        ("rk-generation", "rk_generation=2", "cannot-unlock"), ("rk-generation-zero", "rk_generation=0", refused),
        ("rk-generation-above", "rk_generation=4611686018427387905", refused),
        ("phase", "phase=2", "cannot-unlock"), ("phase-zero", "phase=0", refused), ("phase-negative", "phase=-1", refused),
        ("phase-above", "phase=4611686018427387905", refused),
        ("rk-commit-bit", "rk_commit={flip(rk_commit,1)}", "cannot-unlock"),
        ("rk-commit-31-bytes", "rk_commit=substr(rk_commit,1,31)", refused),
        ("keyring-nonce", "keyring={flip(keyring,1)}", refused), ("keyring-ciphertext", "keyring={flip(keyring,30)}", refused),
        ("keyring-tag", "keyring={flip_last(keyring)}", refused), ("keyring-cut", "keyring=substr(keyring,1,135)", refused),
        ("keyring-one-more", "keyring=CAST(keyring||x'00' AS BLOB)", refused), ("keyring-empty", "keyring=x''", refused),
        ("keyring-of-65", "keyring=zeroblob(3976)", refused),
        ("keyring-without-family", "keyring=zeroblob(104)", refused), ("keyring-huge", "keyring=zeroblob(3000000)", refused),
        ("mac-bit", "mac={flip(mac,1)}", refused), ("mac-31-bytes", "mac=substr(mac,1,31)", refused),
        ("mac-33-bytes", "mac=CAST(mac||x'00' AS BLOB)", refused), ("mac-zeros", "mac=zeroblob(32)", refused),
    ):
        yield Attack(
            f"header-{name}", "sealed", f"the header is edited ({name})", _update("coffer_header", edit, "one=1"),
            open=open_, also={"open": ["damaged"]} if name == "format-greatest" else {})
    unknown = "UPDATE coffer_header SET incompat=incompat+8"
    columns = "format,store_id,incompat,ro_compat,compat,titles,rk_generation,phase,rk_commit,keyring,mac"
    twice = f"INSERT INTO coffer_header SELECT 2,{columns} FROM coffer_header"
    for name, what, edit, open_ in (
        ("with-table", "its table: newer before the schema is judged", run(unknown, "CREATE TABLE coffer_later(a)"),
         "newer"),
        ("without-index", "no index of positions", run(unknown, "DROP INDEX coffer_record_pos"), "newer"),
        ("with-chunks", "one of the tables of attachments", run(unknown, layout.ATTACHMENT_SCHEMA[1]), "newer"),
        ("of-format-2", "format 2", run(unknown, "UPDATE coffer_header SET format=2"), "newer"),
        ("in-another-table", "another text of the header's table", schema(
            unknown, "UPDATE sqlite_schema SET sql=replace(sql,'phase INTEGER','phase ANY') WHERE name='coffer_header'"),
         "refused"),
        ("of-two-headers", "two headers", loosely(unknown, twice), "damaged"),
    ):
        yield Attack(f"header-incompat-unknown-{name}", "sealed", f"an unknown feature, and {what}", edit, open=open_)
    yield Attack("header-gone", "sealed", "there is no header", run("DELETE FROM coffer_header"), open="damaged")
    yield Attack("header-twice", "sealed", "there are two headers", loosely(twice), open="damaged")
    yield Attack(
        "header-number-2", "sealed", "the one header has another number", loosely("UPDATE coffer_header SET one=2"),
        open="ok", verify="ok", also={"open": ["damaged"], "verify": ["damaged"], "verify_quick": ["damaged"]})


def _files():
    for name, statement, open_ in (
        ("application-id-zero", "PRAGMA application_id=0", "not-a-store"),
        ("application-id-other", "PRAGMA application_id=1129270867", "not-a-store"),
        ("user-version-zero", "PRAGMA user_version=0", "damaged"),
        ("user-version-1", "PRAGMA user_version=1", "newer"), ("user-version-2", "PRAGMA user_version=2", "newer"),
        ("user-version-4", "PRAGMA user_version=4", "newer"),
        ("user-version-greatest", "PRAGMA user_version=2147483647", "newer"),
        ("user-version-negative", "PRAGMA user_version=-1", "damaged"),
    ):
        # -1 is too low as a signed number, and a newer version as an unsigned one.
        also = {"open": ["newer"]} if name.endswith("negative") else {}
        yield Attack(f"file-{name}", "sealed", statement, run(statement), open=open_, also=also)


def _parameters():
    """A reader never tries a slot that is out of its bounds; the MAC over all slots shows the change to other secrets."""
    for name, changes, in (
        ("logn-0", {0: 0}), ("logn-1", {0: 1}), ("logn-9", {0: 9}), ("logn-15-in-test", {0: 15}), ("logn-20", {0: 20}),
        ("logn-31", {0: 31}), ("logn-63", {0: 63}), ("logn-64", {0: 64}), ("logn-255", {0: 255}), ("r-0", {1: 0}),
        ("r-1", {1: 1}), ("r-9", {1: 9}), ("r-255", {1: 255}), ("p-0", {2: 0}), ("p-5", {2: 5}), ("p-255", {2: 255}),
        ("all-255", {0: 255, 1: 255, 2: 255}),
    ):
        yield Attack(
            f"scrypt-{name}", "sealed", f"slot 2: scrypt {name}", _params(2, changes), open="damaged",
            open_by={"passphrase": "refused", "identity": "damaged"})
    for name, changes in (("logn-11", {0: 11}), ("logn-14", {0: 14}), ("p-4", {2: 4}), ("salt", {5: 77})):
        yield Attack(
            f"scrypt-{name}", "sealed", f"slot 2: within bounds, but edited ({name})", _params(2, changes),
            open="damaged", open_by={"passphrase": "cannot-unlock"})
    for slot, kind, lengths in ((2, "scrypt", (0, 18, 20)), (1, "key", (0, 16, 23, 25)), (3, "recipient", (0, 63, 65))):
        for length in lengths:
            yield Attack(
                f"{kind}-params-{length}-bytes", "sealed", f"slot {slot}: parameters of {length} bytes",
                run((f"UPDATE coffer_slot SET params=? WHERE slot={slot}", (bytes(length),))),
                open="refused" if kind == "key" else "damaged", also={"open": ["cannot-unlock"]})
    for length in (4097, 2_000_000):
        yield Attack(
            f"unknown-kind-params-{length}-bytes", "sealed", f"a slot of an unknown kind with {length} bytes",
            run((f"INSERT INTO coffer_slot VALUES(4,99,'',zeroblob({length}),zeroblob(48))")), open="damaged",
            also={"open": ["refused"]})
    many = "".join(f",({number},1,'',?,zeroblob(48))" for number in range(5, 30))
    params = bytes([14, 8, 4]) + bytes(16)
    yield Attack(
        "scrypt-sum", "sealed", "26 passphrase slots, each within bounds, together above p times 2^logN of 2^19",
        run((f"INSERT INTO coffer_slot VALUES(4,1,'',?,zeroblob(48)){many}", (params,) * 26)), open="damaged",
        open_by={"passphrase": "refused"}, also={"open": ["refused"]})
    for name, point in LOW_ORDER.items():
        yield Attack(
            f"recipient-ephemeral-{name}", "sealed", f"slot 3: the ephemeral key is a point of low order ({name})",
            _replace(3, 0, point), open="damaged", open_by={"identity": "cannot-unlock"})
        yield Attack(
            f"recipient-public-{name}", "sealed", f"slot 3: the recipient is a point of low order ({name})",
            _replace(3, 32, point), open="damaged", open_by={"identity": "cannot-unlock"})
    for name, params in (
        ("no-name", bytes(17)), ("name-of-33", bytes(16) + b"\x21" + b"a" * 33), ("name-cut", bytes(16) + b"\x08abc"),
        ("upper-case", bytes(16) + b"\x03ABC"), ("slash", bytes(16) + b"\x05a/../"), ("nul", bytes(16) + b"\x03a\0b"),
        ("line-feed", bytes(16) + b"\x04abc\n"), ("shell", bytes(16) + b"\x07$(id)-x"), ("empty", b""), ("salt-alone", bytes(16)),
    ):
        yield Attack(
            f"external-{name}", "sealed", f"an external slot with a provider name that none has ({name})",
            run(("INSERT INTO coffer_slot VALUES(4,4,'',?,zeroblob(48))", (params,))), open="damaged",
            also={"open": ["refused"]})


def _params(slot, changes):
    def edit(db, kit):
        params = bytearray(db.execute("SELECT params FROM coffer_slot WHERE slot=?", (slot,)).fetchone()[0])
        for offset, value in changes.items():
            params[offset] = value
        db.execute("UPDATE coffer_slot SET params=? WHERE slot=?", (bytes(params), slot))

    return edit


def _replace(slot, offset, value):
    return _params(slot, {offset + place: byte for place, byte in enumerate(value)})


def _slots():
    for name, statements, options in (
        ("label", ("UPDATE coffer_slot SET label='mine' WHERE slot=1",), {}),
        ("label-256-bytes", (f"UPDATE coffer_slot SET label='{'x' * 256}' WHERE slot=1",), {}),
        ("label-not-utf8", ("UPDATE coffer_slot SET label=CAST(x'ff' AS TEXT) WHERE slot=1",), {}),
        ("label-nul", ("UPDATE coffer_slot SET label=label||char(0) WHERE slot=1",), {}),
        ("number", ("UPDATE coffer_slot SET slot=9 WHERE slot=1",), {"open": "cannot-unlock"}),
        ("number-zero", ("UPDATE coffer_slot SET slot=0 WHERE slot=1",), {}),
        ("number-negative", ("UPDATE coffer_slot SET slot=-1 WHERE slot=1",), {}),
        ("number-above-u32", ("UPDATE coffer_slot SET slot=4294967297 WHERE slot=1",), {}),
        ("kind-unknown", ("UPDATE coffer_slot SET kind=99 WHERE slot=1",), {"open": "cannot-unlock"}),
        ("kind-zero", ("UPDATE coffer_slot SET kind=0 WHERE slot=1",),
         {"open": "damaged", "also": {"open": ["cannot-unlock"]}}),
        ("kind-reserved", ("UPDATE coffer_slot SET kind=5 WHERE slot=1",), {"open": "cannot-unlock"}),
        ("kind-reserved-6", ("UPDATE coffer_slot SET kind=6 WHERE slot=1",), {"open": "cannot-unlock"}),
        ("kind-negative", ("UPDATE coffer_slot SET kind=-2 WHERE slot=1",), {}),
        ("kind-above-u32", ("UPDATE coffer_slot SET kind=4294967298 WHERE slot=1",), {}),
        ("kind-confused", ("UPDATE coffer_slot SET kind=1 WHERE slot=1",), {"open": "cannot-unlock"}),
        ("wrapped-zeros", ("UPDATE coffer_slot SET wrapped=zeroblob(48) WHERE slot=1",), {"open": "cannot-unlock"}),
        ("wrapped-47-bytes", ("UPDATE coffer_slot SET wrapped=zeroblob(47) WHERE slot=1",), {"open": "cannot-unlock"}),
        ("wrapped-49-bytes", ("UPDATE coffer_slot SET wrapped=zeroblob(49) WHERE slot=1",), {"open": "cannot-unlock"}),
        ("wrapped-empty", ("UPDATE coffer_slot SET wrapped=x'' WHERE slot=1",), {"open": "cannot-unlock"}),
        ("wrapped-4097-bytes", ("UPDATE coffer_slot SET wrapped=zeroblob(4097) WHERE slot=1",), {}),
        ("duplicated", ("INSERT INTO coffer_slot SELECT 4,kind,label,params,wrapped FROM coffer_slot WHERE slot=1",), {}),
        ("added-unknown", ("INSERT INTO coffer_slot VALUES(4,99,'',x'',zeroblob(48))",), {}),
        ("gone", ("DELETE FROM coffer_slot WHERE slot=1",), {"open": "cannot-unlock"}),
        ("another-gone", ("DELETE FROM coffer_slot WHERE slot=2",), {}),
        ("all-gone", ("DELETE FROM coffer_slot",), {"also": {"open": ["refused"]}}),
        ("salt-zeros", ("UPDATE coffer_slot SET params=zeroblob(24) WHERE slot=1",), {"open": "cannot-unlock"}),
        ("fingerprint", ("UPDATE coffer_slot SET params=CAST(substr(params,1,16)||zeroblob(8) AS BLOB) WHERE slot=1",), {"open": "cannot-unlock"}),
    ):
        yield Attack(
            f"slot-{name}", "sealed", f"slots are edited ({name})", run(*statements), **{"open": "damaged"} | options)
    for count in (65, 5000):
        rows = f"WITH RECURSIVE n(i) AS (VALUES(4) UNION ALL SELECT i+1 FROM n WHERE i<{count})"
        yield Attack(
            f"slots-{count}", "sealed", f"there are {count} slots",
            run(f"INSERT INTO coffer_slot SELECT i,99,'',x'',zeroblob(48) FROM ({rows} SELECT i FROM n)"), open="damaged",
            also={"open": ["refused"]})

    def wrapped_for_attacker(db, kit):
        """Replaces slot 3 by another store's: the identity opens it, but its root key does not fit the commitment."""
        other = kit.base("other")
        slot = next(slot for slot in other.slots if slot.kind == 3)
        db.execute("UPDATE coffer_slot SET params=?, wrapped=? WHERE slot=3", (slot.params, slot.wrapped))

    yield Attack(
        "slot-forged-for-recipient", "sealed", "slot 3 is one that another store made for the same recipient",
        wrapped_for_attacker, open="damaged", open_by={"identity": "cannot-unlock"})
