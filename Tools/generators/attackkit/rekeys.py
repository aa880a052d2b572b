"""Attacks around a change of keys: by holders of old keys, while it runs and after it; with old files, headers, pins."""

from . import layout
from .attack import IDS, Attack, run
from .contents import document
from .dots import DocumentDots
from .files import EVERYTHING, from_file, moment_reads, put_back
from .keys import Random
from .secrets import OUTSIDER, RECIPIENT, value
from .starting import FOLDED
from .storefile import database
from .writer import Writer


def attacks(kit):
    yield from _old_rows(kit)
    yield from _left_behind()
    yield from _old_sealed_rows()
    yield from _old_files(kit)
    yield from _old_roots(kit)
    yield from _spares(kit)


def _forged_row(name, base, what, id, epoch, rev, is_read, kit, odd=None, **fields):
    """A row sealed under an old epoch by a holder of its key, who lacks the root key for the set hash."""

    def forge(writer):
        writer.random = Random(f"forged {name}")
        if id not in writer.records:
            writer.add(1, b"planted", id=id, title=b"planted", dots=DocumentDots((0, 2)))
            writer.changes = {}
        record = writer.records[id]
        record.text, record.epoch, record.rev, record.odd = b"forged under an old epoch", epoch, rev, odd or {}
        for field, content in fields.items():
            setattr(record, field, content)
        writer.seal(record)

    if not is_read:
        return Attack(name, base, what, forge=forge, get={id: "damaged"}, list="damaged")
    forged = kit.base(base).copy()
    forge(forged)
    reads = document(forged, forged.records[id])
    if odd and odd.get("column"):
        reads["title"] = odd["column"].decode()
    return Attack(name, base, what, forge=forge, get={id: "ok"}, reads={id: reads})


def _old_rows(kit):
    where = "WHERE id=2"
    sealed = kit.base("sealed")
    yield Attack(
        "closed-epoch-older-row", "keys-only", "document 2 as before the change of keys over its newer row: verify sees it",
        from_file(("sealed", "last"), *put_back("record", where=where)), reads={2: document(sealed, sealed.records[2])})
    yield Attack(
        "taken-over-row-of-first-epoch", "taken-over", "document 2 of epoch 1 where epoch 2 has written",
        from_file(("sealed", "last"), *put_back("record", where=where)), get={2: "damaged"}, list="damaged")
    yield Attack(
        "taken-over-row-behind-cursor", "taken-over", "document 1 of epoch 2, behind the cursor of the second rekey",
        from_file(("mid-rekey", "sealed-3"), *put_back("record", where="WHERE id=1")), get={1: "damaged"}, list="damaged")
    yield Attack(
        "rekeyed-row-of-old-epoch", "rekeyed", "document 2 of epoch 1, whose key is gone",
        from_file(("sealed", "last"), *put_back("record", where=where)), get={2: "damaged"}, list="damaged")
    filled = kit.histories["sealed"]["filled"]
    yield Attack(
        "closed-epoch-resurrected", "mid-rekey", "document 6, deleted before the rekey, is back ahead of the cursor",
        from_file(("sealed", "filled"), *put_back("record", where="WHERE id=6")), get={6: "ok"},
        reads={6: document(filled, filled.records[6])})
    # Base, and by epoch: closed, ceiling; the cursor.
    for base, epoch, closed, cases in (
        ("keys-only", 1, 9, {
            "rev-closed": (7, 9, False), "rev-before-closed": (7, 8, True), "id-ceiling": (9, 8, False),
            "id-before-ceiling": (8, 8, True), "rev-generation": (7, 10, False), "id-free": (6, 8, True)}),
        ("mid-rekey", 1, 9, {
            "behind-cursor": (3, 8, False), "at-cursor": (4, 8, True), "ahead-of-cursor": (7, 8, True),
            "first": (1, 1, False), "rev-closed": (7, 9, False)}),
        ("taken-over", 1, 9, {
            "below-floor": (3, 8, False), "at-floor": (4, 8, True), "rev-closed": (7, 9, False),
            "behind-cursor": (1, 8, False)}),
        ("taken-over", 2, 13, {
            "ahead-of-cursor": (2, 12, True), "rev-closed": (2, 13, False), "id-ceiling": (9, 12, False),
            "behind-cursor": (1, 12, False), "over-first-epoch": (7, 12, True)}),
    ):
        assert kit.base(base).epochs[epoch].closed == closed
        for name, (id, rev, is_read) in cases.items():
            yield _forged_row(
                f"closed-epoch-{base}-{epoch}-{name}", base,
                f"a row of epoch {epoch}, forged by a holder of its key: document {id}, rev {rev} ({name})", id, epoch,
                rev, is_read, kit)
    yield _forged_row(
        "closed-epoch-key-taken", "keys-only", "a planted row has the key of document 2: until verify runs, both are read with it",
        6, 1, 8, True, kit, key=b"k2", dots=DocumentDots((0, 1)))
    yield _forged_row(
        "closed-epoch-key-held", "keys-only", "a planted row has a key that it says another holds", 6, 1, 8, True, kit,
        key=b"k6", flags=layout.HELD_ELSEWHERE)
    yield _forged_row(
        "closed-epoch-held-without-key", "keys-only", "a planted row says that another holds its key, and has none", 6, 1, 8,
        False, kit, flags=layout.HELD_ELSEWHERE)
    yield _forged_row(
        "closed-epoch-clear-title", "mid-rekey", "the same with a clear title, which a row below the target may have", 7, 1,
        8, True, kit, odd={"in_head": None, "column": b"clear"})
    yield _forged_row(
        "closed-epoch-two-titles", "mid-rekey", "the same with two titles", 7, 1, 8, False, kit, odd={"column": b"clear"})
    yield _forged_row(
        "active-epoch-clear-title", "mid-rekey", "a row of the active epoch with a clear title", 7, 2, 8, False, kit,
        odd={"in_head": None, "column": b"clear"})


def _left_behind():
    """A document that a rekey could not open stays behind the cursor, is listed, and keeps the old key alive."""

    def forge(writer):
        writer.reseal(4, 5, 7)
        writer.cursor = writer.bound
        record = writer.records[8]
        record.ct = bytes([record.ct[0] ^ 1]) + record.ct[1:]
        writer.commit()

    yield Attack(
        "closed-epoch-left-behind", "mid-rekey", "a document whose body does not open, left by the rekey's walk",
        forge=forge, get={8: "damaged"}, list="damaged", verify="damaged",
        also={"verify": ["mismatch"], "verify_quick": ["mismatch"]}, note="rekey: listed, exit 3; the old keys stay")


def _old_sealed_rows():
    def of_old_epoch(writer, act):
        """Seals a row under the first epoch, which has no column for it."""
        writer.random = Random("forged collection")
        active, writer.active = writer.active, 1
        act(writer)
        writer.active = active

    def folding_off(writer):
        row = writer.collections[2]
        assert row.settings == FOLDED
        row.settings = b'{"folding":0,"title":1}'
        writer.seal_collection(row)

    def deletion(writer):
        row = writer.add_deletion(writer.records[7].uid, [(0, 2)], (0, 2))
        row.rev = writer.generation
        writer.seal_deletion(row)

    for base in ("keys-only", "mid-rekey", "taken-over"):
        yield Attack(
            f"closed-epoch-collection-{base}", base, "a collection's row of epoch 1, its folding turned off",
            forge=lambda writer: of_old_epoch(writer, folding_off), list="damaged")
        yield Attack(
            f"closed-epoch-deletion-{base}", base, "a deletion's row of epoch 1, of a document that there is",
            forge=lambda writer: of_old_epoch(writer, deletion))
    for table in ("collection", "gone"):
        what = "a collection's" if table == "collection" else "a deletion's"
        key, options = ("coll=2", {"list": "damaged"}) if table == "collection" else ("gone=1", {})
        yield Attack(
            f"closed-epoch-{table}-older", "keys-only", f"{what} row as before the change of keys",
            from_file(("sealed", "last"), *put_back(table, where=f"WHERE {key}")), **options)


def _old_files(kit):
    """Older files, or their headers, after a finished rekey: the file can't show that, but pin and anchor do."""
    history = kit.histories["rekeyed"]
    before, middle, last = history["before"], history["sealed-3"], history["last"]
    begun = middle.pin
    for name, moment, pins, what in (
        ("before", "before", {before.pin: "ok", begun: "rolled-back", last.pin: "rolled-back"}, "before the rekey"),
        ("begun", "begun", {before.pin: "mismatch", begun: "ok", last.pin: "unfinished"}, "its first transaction"),
        ("middle", "sealed-3", {before.pin: "mismatch", begun: "ok", last.pin: "unfinished"}, "in its middle"),
        ("before-end", "sealed-8", {begun: "ok", last.pin: "unfinished"}, "before its last transaction"),
    ):
        yield Attack(
            f"rekeyed-file-of-{name}", "rekeyed", f"a finished rekey; the whole file as it was: {what}",
            from_file(("rekeyed", moment), *put_back(*EVERYTHING)), verify="ok", anchor="rolled-back", pins=pins,
            reads=moment_reads(kit, "rekeyed", "rekeyed", moment), anchors={
                before.anchor: ("ok", "ok") if moment == "before" else ("mismatch", "mismatch"),
                history[moment].anchor: ("ok", "ok")})
    for name, tables, open_ in (
        ("header", ("header", "spare"), "rolled-back"), ("state", ("state",), "rolled-back"),
    ):
        yield Attack(
            f"rekeyed-{name}-of-before-end", "rekeyed", f"a finished rekey; {name} as before its last transaction",
            from_file(("rekeyed", "sealed-8"), *put_back(*tables)), open=open_)
    yield Attack(
        "rekeyed-pins", "rekeyed", "a finished rekey, a document deleted: the pins of its beginning and end",
        run("DELETE FROM coffer_record WHERE id=2"), get={2: "missing"},
        pins={begun: "ok", last.pin: "ok", before.pin: "mismatch", kit.base("other").pin: "mismatch"},
        anchors={
            before.anchor: ("mismatch", "mismatch"), history["begun"].anchor: ("ok", "ok"), last.anchor: ("ok", "ok"),
            kit.base("other").anchor: ("mismatch", "mismatch")},
        anchors_by_pin=(
            (before.anchor, last.pin, "ok", "mismatch"), (before.anchor, begun, "ok", "mismatch"),
            (last.anchor, last.pin, "ok", "ok")))
    promoted = kit.base("promoted")
    yield Attack(
        "promoted-file-of-before", "promoted", "a promoted copy; the whole file as before the promotion",
        from_file(("sealed", "last"), *put_back(*EVERYTHING)), verify="ok", anchor="rolled-back",
        pins={promoted.pin: "rolled-back", before.pin: "ok"})


def _old_roots(kit):
    """A holder of an old root key, or an outsider without any key, makes a file that looks newer than a finished rekey."""
    history = kit.histories["rekeyed"]
    last = history["last"]

    def raised(rk_generation, phase, slots, generation=1000):
        """The file before the rekey, whose root key the insider knows, with higher counters."""

        def forge(writer):
            writer.__dict__ = history["before"].copy().__dict__
            writer.random = Random("an insider's")
            writer.rk_generation, writer.phase, writer.generation = rk_generation, phase, generation
            writer.ring = {}
            slots(writer)
            writer._has_new_root = True
            writer.commit()

        return forge

    def recipient_again(writer):
        writer.slots = [slot for slot in writer.slots if slot.kind != 3]
        writer.add_recipient(value(RECIPIENT), "Empf\u00e4nger".encode(), slot=3)

    yield Attack(
        "insider-raised-generation", "rekeyed", "the file before the rekey, its generation raised by a holder of its root key",
        forge=raised(1, 1, lambda writer: None), verify="ok", anchor="rolled-back",
        pins={last.pin: "rolled-back"}, anchors={last.anchor: ("rolled-back", "rolled-back")})
    for name, pair in (("same-pair", (2, 2)), ("higher-phase", (2, 3)), ("higher-root", (3, 1))):
        wrong = {last.anchor: ("mismatch", "mismatch")}
        yield Attack(
            f"insider-old-slots-{name}", "rekeyed",
            f"the same under root key generation {pair[0]}, phase {pair[1]}, with its slots: they bind their generation",
            forge=raised(*pair, lambda writer: None), open="cannot-unlock",
            open_by={"passphrase": "cannot-unlock", "identity": "cannot-unlock"})
        yield Attack(
            f"insider-recipient-{name}", "rekeyed",
            "the same with the recipient's slot wrapped again, which anyone can: pin and anchor alone tell",
            forge=raised(*pair, recipient_again), opener="identity", open_by={"key": "cannot-unlock"}, verify="ok",
            anchor="mismatch", pins={last.pin: "mismatch"}, anchors=wrong)
    higher, early = raised(3, 1, recipient_again), raised(3, 1, recipient_again, 0)
    pins = []
    for forge in (higher, early):
        writer = history["last"].copy()
        forge(writer)
        pins.append(writer.pin)
    assert pins[0] == pins[1]
    yield Attack(
        "root-with-lower-generation", "rekeyed",
        "a higher root key generation, given with its pin, and a generation that is not above the anchor's", forge=early,
        opener="identity", open_by={"key": "cannot-unlock"}, verify="mismatch", list="damaged",
        get=dict.fromkeys(IDS, "damaged"), anchor="mismatch", pins={pins[0]: "ok"},
        also={"verify": ["damaged"], "verify_quick": ["damaged"]},
        anchors_by_pin=((last.anchor, pins[0], "rolled-back", "rolled-back"),))

    def outsider(writer):
        """Another store under the same id, made from public parts."""
        own = Writer("an outsider's store")
        own.store_id = writer.store_id
        own.rk_generation, own.phase, own.generation = 2, 2, 1000
        own.add_recipient(value(RECIPIENT), "Empf\u00e4nger".encode())
        own.add_key_file(OUTSIDER, b"key file")
        own.add_collection(1, b"Notes")
        own.add(1, "planted by an outsider", title=b"planted")
        own.commit()
        writer.__dict__ = own.__dict__

    yield Attack(
        "outsider-store-for-recipient", "rekeyed", "another store under the same id, made for a public recipient",
        forge=outsider, opener="identity", open_by={"key": "cannot-unlock"}, verify="ok", anchor="mismatch",
        pins={last.pin: "mismatch"}, get=dict.fromkeys(IDS[1:], "missing"))


def _spares(kit):
    """Only salvage reads the header's copy."""

    def destroyed(*tables, page_one=False):
        def patch(path, kit):
            data = bytearray(path.read_bytes())
            size = int.from_bytes(data[16:18], "big")
            with database(path) as db:
                roots = [
                    db.execute("SELECT rootpage FROM sqlite_schema WHERE name=?", (name,)).fetchone()[0]
                    for name in tables]
            for page in roots + ([1] if page_one else []):
                data[(page - 1) * size : page * size] = bytes(size)
            path.write_bytes(data)

        return patch

    yield Attack(
        "spare-header-destroyed", "sealed", "the header's page is zeros; its copy is there", patch=destroyed("coffer_header"),
        open="damaged", note="salvage: complete, by the header's copy")
    yield Attack(
        "spare-first-page-destroyed", "sealed", "the first page and the header's are zeros; the copy is there",
        patch=destroyed("coffer_header", page_one=True), open="not-a-store",
        note="salvage may find header's copy, rows and bodies page by page")
    yield Attack(
        "spare-header-and-spare-destroyed", "sealed", "the pages of header and copy are zeros",
        patch=destroyed("coffer_header", "coffer_spare"), open="damaged", also={"open": ["refused"]},
        note="salvage: no header, nothing")
    yield Attack(
        "spare-unlike-header", "rekeyed", "the header's copy as before the rekey", verify="damaged",
        edit=from_file(("rekeyed", "before"), *put_back("spare")))
    yield Attack(
        "spare-of-other-phase", "rekeyed", "the header's copy as before the rekey's last transaction", verify="damaged",
        edit=from_file(("rekeyed", "sealed-8"), *put_back("spare")))

    def several(path, kit):
        """Two older copies are in an extension's table; then the header's page is destroyed."""
        with database(path) as db:
            db.execute("CREATE TABLE coffer_x_old(one INTEGER PRIMARY KEY,copy BLOB)")
            for number, moment in enumerate(("before", "sealed-8"), 1):
                db.execute("INSERT INTO coffer_x_old VALUES(?,?)", (number, kit.histories["rekeyed"][moment].spare))
        destroyed("coffer_header")(path, kit)

    yield Attack(
        "spare-several", "rekeyed", "the header's page is zeros, and older copies of it are elsewhere", patch=several,
        open="damaged", note="salvage: complete, by the copy of the highest pair whose MAC fits")


