"""What a careless or hostile key holder writes: sealed rightly, summed rightly, and against the page in one thing.

Readers refuse what writers never write, so that a hole in one program does not become a hole in the next.
"""

from storereader.primitives import u8, u32, u64

from .attack import Attack
from .writer import document

BAD_ATTRIBUTES = {
    "empty-object": b"{}", "array": b"[1]", "number": b"1", "space": b'{"a": 1}', "order": b'{"b":1,"a":2}',
    "twice": b'{"a":1,"a":1}', "number-form": b'{"a":1.0}', "exponent": b'{"a":1e3}', "minus-zero": b'{"a":-0}',
    "escaped": b'{"a":"\\u0041"}', "slash": b'{"a":"\\/"}', "not-utf8": b'{"a":"\xff"}', "cut": b'{"a":1',
    "trailing": b'{"a":1}x', "lone-surrogate": b'{"a":"\\ud800"}', "byte-order-mark": b'\xef\xbb\xbf{"a":1}',
    "control": b'{"a":"\x01"}', "nan": b'{"a":NaN}', "huge-number": b'{"a":1e999}', "leading-zero": b'{"a":01}',
    "nested-order": b'{"a":{"c":1,"b":2}}',
}
BAD_SETTINGS = {
    "order": b'{"title":0,"folding":0}', "folding-2": b'{"folding":2,"title":0}', "space": b'{"folding":0, "title":0}',
    "member-more": b'{"folding":0,"title":0,"x":0}', "member-less": b'{"folding":0}', "empty": b"", "true": b'{"folding":true,"title":0}',
}


def attacks(kit):
    yield from _heads()
    yield from _frames()
    yield from _titles()
    yield from _keys()
    yield from _rows()
    yield from _collections()
    yield from _states()
    yield from _headers()
    yield from _old_keys(kit)


def _document(name, what, base="sealed", id=2, list="damaged", **fields):
    """One document is against the page; nothing else is, so verify finds damage and no mismatch."""
    odd = {key: fields.pop(key) for key in [
        "body_frame", "head_frame", "head_plain", "column", "in_head", "lookup", "length", "least"] if key in fields}
    options = {key: fields.pop(key) for key in ["also", "get", "quick", "verify"] if key in fields}

    def forge(writer):
        writer.change(id, odd=odd, **fields)
        writer.commit()

    return Attack(
        f"forged-{name}", base, what, forge=forge,
        **{"get": {id: "damaged"}, "list": list, "verify": "damaged", "quick": "ok"} | options)


def _splice(offset, count, data):
    return lambda plain: plain[:offset] + data + plain[offset + count :]


def _heads():
    length = 16  # where the text's length stands
    marker = 24  # of the key
    for name, change in {
        "empty": lambda plain: b"", "cut-in-dates": lambda plain: plain[:15], "cut-in-length": lambda plain: plain[:20],
        "cut-before-attributes": lambda plain: plain[:-1], "byte-more": lambda plain: plain + b"\0",
        "length-less": _splice(length, 8, u64(3)), "length-more": _splice(length, 8, u64(30)),
        "length-above-limit": _splice(length, 8, u64((256 << 20) + 1)), "length-greatest": _splice(length, 8, b"\xff" * 8),
        "length-negative": _splice(length, 8, u64(2**63)),
        "key-marker-2": _splice(marker, 1, u8(2)), "key-marker-255": _splice(marker, 1, u8(255)),
        "key-length-beyond": _splice(marker + 1, 4, u32(2**31 - 1)), "key-length-greatest": _splice(marker + 1, 4, b"\xff" * 4),
        "title-marker-2": _splice(marker + 7, 1, u8(2)), "title-length-beyond": _splice(marker + 8, 4, b"\xff" * 4),
        "attributes-length-beyond": lambda plain: plain[:-4] + b"\xff" * 4,
        "attributes-length-short": lambda plain: plain[:-4] + u32(0) + b"{}",
    }.items():
        # Lists open no body: that the lengths differ is seen where both are opened.
        yield _document(
            f"head-{name}", f"the head's data are not as they should be ({name})", head_plain=change,
            list="ok" if name in ("length-less", "length-more") else "damaged")
    for name, value in BAD_ATTRIBUTES.items():
        yield _document(f"attributes-{name}", f"attributes that are no RFC 8785 object: {name}", attributes=value)
    yield _document(
        "attributes-deep", "attributes of 20,000 levels: refused, or read, never a crash",
        attributes=b'{"a":' * 20000 + b"1" + b"}" * 20000, also={"get_of_2": ["ok"], "list": ["ok"], "verify": ["ok"]})


def _frames():
    for part, list in (("head", "damaged"), ("body", "ok")):
        for name, change in {
            "codec-1": lambda frame: b"\x01" + frame[1:], "codec-255": lambda frame: b"\xff" + frame[1:],
            "length-beyond": lambda frame: frame[:1] + (len(frame)).to_bytes(7, "big") + frame[8:],
            "length-greatest": lambda frame: frame[:1] + b"\xff" * 7 + frame[8:],
            "padding-last": lambda frame: frame[:-1] + b"\x01", "cut-by-one": lambda frame: frame[:-1],
            "one-more": lambda frame: frame + b"\0", "not-padded": lambda frame: frame[: 8 + frame[7]],
            "padded-more": lambda frame: frame.ljust(2 * len(frame), b"\0"), "seven-bytes": lambda frame: frame[:7],
            "empty": lambda frame: b"",
        }.items():
            yield _document(
                f"{part}-frame-{name}", f"the {part}'s frame is not as it should be ({name})", list=list,
                also={"verify_quick": ["damaged"]}, **{f"{part}_frame": change})
    yield _document("body-not-utf8", "the text is not UTF-8", text=b"\xff\xfe text", list="ok")
    yield _document("body-surrogate", "the text holds a surrogate in UTF-8's clothes", text=b"\xed\xa0\x80", list="ok")
    yield _document("body-overlong", "the text holds an overlong form", text=b"\xc0\x80", list="ok")
    yield _document(
        "unpadded-body-padded", "a padded frame in a store without padding", base="clear", list="ok",
        body_frame=lambda frame: frame.ljust(64, b"\0"), also={"verify_quick": ["damaged"]})
    yield _document(
        "unpadded-head-padded", "a padded head in a store without padding", base="clear",
        head_frame=lambda frame: frame.ljust(128, b"\0"))
    yield _document(
        "head-of-other-minimum", "a head of the other minimum, as a mode change leaves it: sound", least=64, key=None, title=None,
        get={}, list="ok", verify="ok")


def _titles():
    yield _document("title-in-column", "sealed titles: the title stands in clear", column=b"clear", in_head=None)
    yield _document("title-twice", "sealed titles: a title stands in head and column", column=b"clear")
    yield _document("title-twice-clear", "clear titles: a title stands in head and column", base="clear", in_head=b"two")
    yield _document("title-in-head-clear", "clear titles: the title stands in the head", base="clear", column=None, in_head=b"x")
    yield _document("title-in-head-none", "no titles: one stands in the head", base="none", in_head=b"x")
    yield _document("title-in-column-none", "no titles: one stands in clear", base="none", column=b"x")
    yield _document("title-not-utf8", "a sealed title that is not UTF-8", title=b"\xff")
    # A row that can't be an element of the set may count as one that is missing.
    yield _document(
        "title-not-utf8-clear", "a clear title that is not UTF-8", base="clear", title=b"\xff", quick="mismatch",
        verify="mismatch", also={"verify": ["damaged"], "verify_quick": ["damaged", "ok"]})
    yield _document("title-nul", "a title that holds U+0000: sound", title=b"a\0b", get={}, list="ok", verify="ok")

    def huge(writer):
        writer.change(2, title=b"t" * (1 << 20))
        writer.commit()

    yield Attack(
        "forged-title-over-limit", "sealed", "a head above 1 MiB", forge=huge, get={2: "damaged"}, list="damaged",
        also={"verify": ["damaged"], "verify_quick": ["damaged"]})


def _keys():
    yield _document("key-without-lookup", "a key in the head, and no lookup", lookup=None)
    yield _document("lookup-without-key", "a lookup, and no key in the head", key=None, lookup=bytes(16))
    yield _document("key-empty", "a key of no bytes", key=b"")
    yield _document("key-1025-bytes", "a key of 1025 bytes", key=b"k" * 1025)
    yield _document("key-1024-bytes", "a key of 1024 bytes: sound", key=b"k" * 1024, get={}, list="ok", verify="ok")
    yield _document(
        "lookup-of-another-key", "a lookup that is not that of the key: found by no key", lookup=b"0123456789abcdef",
        get={}, list="ok")
    yield _document(
        "folded-key-not-utf8", "a folded collection's key that is not UTF-8", id=4, key=b"\xff\xfe", lookup=bytes(16),
        get={}, list="ok", also={"get_of_4": ["damaged"], "list": ["damaged"]})


def _rows():
    yield _document("flags-unknown", "a flag that no writer sets", flags=2, quick="mismatch", verify="mismatch")
    yield _rev()
    for name, changes, options in (
        ("parent-itself", {"parent": 2}, {}), ("parent-gone", {"parent": 6}, {}), ("parent-elsewhere", {"parent": 4}, {}),
        ("parent-above-next", {"parent": 2**62}, {}), ("pos-least", {"pos": -(2**63)}, {}), ("pos-greatest", {"pos": 2**63 - 1}, {}),
        ("pos-equal", {"pos": 5 * 2**33}, {}), ("created-least", {"created": -(2**63)}, {}), ("modified-greatest", {"modified": 2**63 - 1}, {}),
    ):
        def forge(writer, changes=changes):
            writer.change(2, **changes)
            writer.commit()

        yield Attack(
            f"forged-sound-{name}", "sealed", f"unusual and sound: {name}", forge=forge, verify="ok",
            also={"verify": ["damaged"]} if name == "parent-elsewhere" else {}, **options)

    def cycle(writer):
        writer.change(2, parent=3)
        writer.commit()

    yield Attack(
        "forged-sound-parent-cycle", "sealed", "documents 2 and 3 are each other's parents: readers stop", forge=cycle,
        verify="ok")

    def no_collection(writer):
        writer.delete(4)
        writer.delete(5)
        del writer.collections[2]
        writer.commit()
        writer.add_collection(2, b"Two")
        writer.add(2, "of a collection that is gone", id=8)
        del writer.collections[2]
        writer.commit()

    yield Attack(
        "forged-collection-gone", "sealed", "a document whose collection is gone: read by its number, and verify tells",
        forge=no_collection, get={4: "missing", 5: "missing", 8: "ok"}, verify="damaged",
        also={"verify_quick": ["ok"]})


def _rev():
    def forge(writer):
        writer.records[2].rev = 1000
        writer.seal(writer.records[2])
        writer.commit()

    return Attack(
        "forged-rev-above", "sealed", "a row from a transaction that is still to come", forge=forge, get={2: "damaged"},
        list="damaged")


def _collections():
    def collection(name, what, change, coll=2, **options):
        def forge(writer):
            row = writer.collections[coll]
            row.rev = writer.generation + 1
            plain = change(row)
            writer.seal_collection(row, plain)
            writer.commit()

        return Attack(
            f"forged-collection-{name}", "sealed", what, forge=forge,
            **{"list": "damaged", "verify": "damaged", "quick": "damaged", "also": {"verify_quick": ["ok"]}} | options)

    def name(value):
        def change(row):
            row.name = value

        return change

    yield collection("name-twice", "both collections have one name", name(b"Notes"), list="ok", also={
        "list": ["damaged"], "verify_quick": ["ok"]})
    yield collection("name-1025-bytes", "a name of 1025 bytes", name(b"n" * 1025))
    yield collection("name-not-utf8", "a name that is not UTF-8", name(b"\xff"))
    yield collection("name-empty", "a name of no bytes", name(b""), list="ok", verify="ok", quick="ok", also={
        "list": ["damaged"], "verify": ["damaged"], "verify_quick": ["damaged"]})
    yield collection("name-nul", "a name that holds U+0000: sound", name(b"a\0b"), list="ok", verify="ok", quick="ok")
    yield collection("length-beyond", "the name's length goes beyond its end", lambda row: b"\xff\xff\xff\xff" + row.name)
    yield collection("length-cut", "three bytes and no more", lambda row: b"\0\0\0")
    yield collection("nothing", "an empty frame", lambda row: b"")
    for kind, value in BAD_SETTINGS.items():
        def settings(row, value=value):
            row.settings = value

        yield collection(f"settings-{kind}", f"settings that are none of the four: {kind}", settings)


def _states():
    def state(name, what, odd, **options):
        def forge(writer):
            writer.odd = odd(writer) if callable(odd) else odd
            writer.commit()

        return Attack(f"forged-state-{name}", "sealed", what, forge=forge, **options)

    ids = (1, 2, 3, 4, 5, 7)
    yield state("count-more", "the state counts a document more", {"count": 7})
    yield state("count-zero", "the state counts no documents", {"count": 0}, also={"list": ["damaged"]})
    yield state("count-greatest", "the state counts all there could be", {"count": 2**63 - 1})
    yield state("count-negative", "a count that no integer column holds", {"count": 2**63}, open="damaged")
    yield state("set-hash", "another set hash", {"set_hash": bytes(32)})
    yield state("generation-zero", "generation 0", {"generation": 0}, open="damaged")
    yield state("generation-negative", "generation 2^63", {"generation": 2**63}, open="damaged")
    yield state(
        "generation-low", "a generation below that of the rows", {"generation": 1}, get=dict.fromkeys(ids, "damaged"),
        list="damaged", anchor="rolled-back")
    yield state(
        "next-id-low", "a next id that is not above the rows'", {"next_id": 7}, get={7: "damaged"}, list="damaged",
        put="damaged")
    yield state(
        "next-id-one", "next id 1", {"next_id": 1}, get=dict.fromkeys(ids, "damaged"), list="damaged", put="damaged")
    yield state("next-id-zero", "next id 0", {"next_id": 0}, open="damaged")
    yield state("next-id-greatest", "next id 2^63 - 1: sound, and nothing fits behind it", {"next_id": 2**63 - 1}, verify="ok")
    yield state("next-id-negative", "next id 2^63", {"next_id": 2**63}, open="damaged")
    yield state("target-above-u32", "a target that no epoch can be", {"target": 2**31}, open="damaged")
    yield state("cursor-negative", "a cursor of 2^63", {"cursor": 2**63}, open="damaged")
    yield state("header-mac", "the state names another header", {"header_mac": bytes(32)}, open="rolled-back")
    yield state("123-bytes", "a state of 123 bytes", lambda writer: {"state": bytes(123)}, open="damaged")
    yield state("125-bytes", "a state of 125 bytes", lambda writer: {"state": bytes(125)}, open="damaged")
    yield state("empty", "a state of no bytes", {"state": b""}, open="damaged")


def _headers():
    def header(name, what, change, **options):
        def forge(writer):
            change(writer)
            writer.commit()

        return Attack(f"forged-header-{name}", "sealed", what, forge=forge, **{"verify": "ok"} | options)

    def attribute(**fields):
        def change(writer):
            for name, value in fields.items():
                setattr(writer, name, value)

        return change

    def keyring(plain):
        def change(writer):
            writer.odd = {"keyring": plain(writer)}

        return change

    yield header("ro-compat", "a feature that only readers may be without: opens for reading", attribute(ro_compat=2), put="read-only")
    yield header("ro-compat-search", "the reserved search index: opens for reading", attribute(ro_compat=1), put="read-only")
    yield header("compat", "features that anyone may ignore", attribute(compat=2**62 + 5), put="ok")
    yield header("incompat", "a feature that readers must know", lambda w: setattr(w, "incompat", w.incompat | 4), open="newer")
    yield header("newer", "format 2, sealed as such", attribute(format=2, user_version=2), open="newer")
    yield header("newer-in-row", "format 2 in the header, 1 in the file", attribute(format=2), open="newer")
    yield header("newer-in-file", "format 1 in the header, 2 in the file", attribute(user_version=2), open="newer")
    yield header("titles-3", "a title mode that there is not", attribute(titles=3), open="damaged")
    yield header(
        "not-test", "test keys in a store without the mark",
        lambda w: setattr(w, "incompat", w.incompat & ~1), open="refused")
    yield header(
        "titles-changed", "clear titles in the header, sealed ones in the rows", attribute(titles=1),
        get=dict.fromkeys((1, 2, 3, 4, 7), "damaged"), list="damaged", verify="damaged", quick="ok")
    yield header(
        "not-padded", "no padding in the header, padded rows", lambda w: setattr(w, "incompat", w.incompat & ~2),
        get=dict.fromkeys((1, 2, 3, 4, 5, 7), "damaged"), list="damaged", verify="damaged", quick="ok",
        also={"verify_quick": ["damaged"]})
    one = lambda w: w.epochs[1]  # noqa: E731
    for name, plain in {
        "empty": lambda w: b"", "no-epoch": lambda w: u32(1), "active-unknown": lambda w: u32(2) + u32(1) + one(w),
        "active-zero": lambda w: u32(0) + u32(1) + one(w), "epoch-zero": lambda w: u32(0) + u32(0) + one(w),
        "falling": lambda w: u32(1) + u32(2) + bytes(32) + u32(1) + one(w), "twice": lambda w: u32(1) + (u32(1) + one(w)) * 2,
        "cut": lambda w: u32(1) + u32(1) + one(w)[:31], "one-more": lambda w: u32(1) + u32(1) + one(w) + b"\0",
        "epoch-above-u32": lambda w: u32(1) + u32(1) + one(w) + u32(2**31) + bytes(32),
        "of-65": lambda w: u32(1) + u32(1) + one(w) + b"".join(u32(e) + bytes(32) for e in range(2, 66)),
    }.items():
        yield header(f"keyring-{name}", f"a keyring that no writer makes: {name}", keyring(plain), open="damaged")
    yield header(
        "keyring-of-64", "64 epochs: sound", keyring(
            lambda w: u32(1) + u32(1) + one(w) + b"".join(u32(e) + bytes([e]) * 32 for e in range(2, 65))))

    def slots(count, params, kind):
        def change(writer):
            for _ in range(count):
                writer.add_slot(kind, params, bytes(32))

        return change

    yield header("slots-64", "64 slots, most of a kind that is unknown: sound", slots(61, b"", 99))
    yield header("slots-65", "65 slots", slots(62, b"", 99), open="damaged", also={"open": ["refused"]})
    yield header(
        "scrypt-sum", "passphrase slots together above the bound: refused by passphrase, not by key",
        slots(26, bytes([14, 8, 4]) + bytes(16), 1), open_by={"passphrase.txt": "refused"})
    yield header(
        "slot-zeros", "a recipient's slot around zeros: the identity opens nothing by it",
        slots(1, bytes(64), 3), open_by={"identity.key": "ok"})


def _old_keys(kit):
    """Who held the old keys and can write while a rekey runs: the page promises nothing until it ends."""

    def forge(writer):
        writer.random = type(writer.random)("the attacker's")
        writer.records[5].text, writer.records[5].rev = b"forged under the old epoch", writer.generation
        writer.seal(writer.records[5])

    attacked = kit.histories["mid"][-1].copy()
    forge(attacked)
    yield Attack(
        "forged-by-old-key", "mid", "a row of the old epoch, forged by who knows its key: only the set hash tells",
        forge=forge, reads={5: document(attacked, attacked.records[5])})

    def forge_title(writer):
        writer.random = type(writer.random)("the attacker's")
        writer.records[7].odd = {"in_head": None, "column": b"clear"}
        writer.seal(writer.records[7])

    attacked = kit.histories["mid"][-1].copy()
    forge_title(attacked)
    reads = document(attacked, attacked.records[7]) | {"title": "clear"}
    yield Attack(
        "forged-by-old-key-title", "mid", "the same with a clear title, which a row below the target may have",
        forge=forge_title, reads={7: reads})
