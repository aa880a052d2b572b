"""Stores of a careless or hostile key holder: correctly sealed and summed, with one violation of FORMAT.md.

Readers refuse what writers never write, so that a hole in one program does not become a hole in the next.
"""

from storereader.primitives import hkdf, u8, u32, u64

from . import secrets
from .attack import IDS, Attack
from .positions import LIMIT
from .stores import MOVED_TO, usual_slots

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
    "order-0": b'{"folding":0,"order":0,"title":0}', "order-beyond": b'{"folding":0,"order":9007199254740992,"title":0}',
    "order-half": b'{"folding":0,"order":0.5,"title":0}', "order-string": b'{"folding":0,"order":"1","title":0}',
    "attributes-empty": b'{"attributes":{},"folding":0,"title":0}',
    "attributes-array": b'{"attributes":[1],"folding":0,"title":0}',
    "attributes-twice": b'{"attributes":{"a":1,"a":1},"folding":0,"title":0}',
    "attributes-long": b'{"attributes":{"a":"' + b"x" * 65530 + b'"},"folding":0,"title":0}',
}
GOOD_SETTINGS = {
    "order-least": b'{"folding":1,"order":-9007199254740991,"title":0}',
    "attributes-and-order": b'{"attributes":{"a":{"b":[1,null]}},"folding":1,"order":7,"title":0}',
    "attributes-longest": b'{"attributes":{"a":"' + b"x" * 65528 + b'"},"folding":1,"title":0}',
}


STAMP_LIMIT = 2**62


def attacks(kit):
    yield from _heads()
    yield from _frames()
    yield from _titles()
    yield from _keys()
    yield from _rows()
    yield from _collections()
    yield from _headers()


def _document(name, what, base="sealed", id=2, list="damaged", **fields):
    """One document violates FORMAT.md, and nothing else does, so verify finds damage and no mismatch."""
    odd = {key: fields.pop(key) for key in [
        "body_frame", "head_frame", "head_plain", "column", "in_head", "lookup", "length", "digest", "least", "stamps"] if key in fields}
    options = {key: fields.pop(key) for key in ["also", "get", "quick", "verify"] if key in fields}

    def forge(writer):
        writer.change(id, odd=odd, **fields)
        writer.commit()

    return Attack(
        f"forged-{name}", base, what, forge=forge,
        **{"get": {id: "damaged"}, "list": list, "verify": "damaged", "quick": "ok"} | options)


def _committed(**fields):
    """Changes document 2, and commits."""

    def forge(writer):
        writer.change(2, **fields)
        writer.commit()

    return forge


def _splice(offset, count, data):
    return lambda plain: plain[:offset] + data + plain[offset + count :]


def _heads():
    length = 16  # offset of the text's length
    digest = 24  # offset of the text's SHA-256
    marker = 56  # offset of the marker of the key, which has two bytes
    stamps = 56 + 7 + 12  # offset of born, edited, placed, uid: behind a title of seven bytes
    for name, change in {
        "empty": lambda plain: b"", "cut-in-dates": lambda plain: plain[:15], "cut-in-length": lambda plain: plain[:20],
        "cut-before-attributes": lambda plain: plain[:-1], "byte-more": lambda plain: plain + b"\0",
        "length-less": _splice(length, 8, u64(3)), "length-more": _splice(length, 8, u64(30)),
        "length-above-limit": _splice(length, 8, u64((256 << 20) + 1)), "length-greatest": _splice(length, 8, b"\xff" * 8),
        "length-negative": _splice(length, 8, u64(2**63)),
        "digest-of-another": _splice(digest, 32, bytes(32)), "digest-cut": _splice(digest, 32, b""),
        "key-marker-2": _splice(marker, 1, u8(2)), "key-marker-255": _splice(marker, 1, u8(255)),
        "key-length-beyond": _splice(marker + 1, 4, u32(2**31 - 1)), "key-length-greatest": _splice(marker + 1, 4, b"\xff" * 4),
        "title-marker-2": _splice(marker + 7, 1, u8(2)), "title-length-beyond": _splice(marker + 8, 4, b"\xff" * 4),
        "stamps-gone": _splice(stamps, 40, b""), "uid-cut": _splice(stamps + 24, 1, b""),
        "attributes-length-beyond": lambda plain: plain[:-4] + b"\xff" * 4,
        "attributes-length-short": lambda plain: plain[:-4] + u32(0) + b"{}",
    }.items():
        # Lists open no body: only a reader that opens both sees that the lengths differ. The digest of a text under the
        # active epoch is compared by verify.
        yield _document(
            f"head-{name}", f"the head's data are not as they should be ({name})", head_plain=change,
            list="ok" if name in ("length-less", "length-more", "digest-of-another") else "damaged",
            **({"get": {2: "ok"}, "also": {"get_of_2": ["damaged"]}} if name == "digest-of-another" else {}))
    for name in ("born", "edited", "placed"):
        for value, is_sound in {0: False, 1: True, STAMP_LIMIT: True, STAMP_LIMIT + 1: False, 2**64 - 1: False}.items():
            options = {"get": {}, "list": "ok", "verify": "ok"} if is_sound else {}
            yield _document(
                f"{name}-{value}", f"{name} is {value}{': sound' if is_sound else ''}", stamps={name: value}, **options)
    for name, value in {
        "year-0000": -62_167_219_200_000, "before-year-0000": -62_167_219_200_001, "year-9999": 253_402_300_799_999,
        "after-year-9999": 253_402_300_800_000, "least": -(2**63), "greatest": 2**63 - 1,
    }.items():
        is_sound = name.startswith("year")
        options = {"get": {}, "list": "ok", "verify": "ok"} if is_sound else {}
        for date in ("created", "modified"):
            yield _document(f"{date}-{name}", f"{date} is {value}{': sound' if is_sound else ''}", **{date: value}, **options)
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
            also = {"verify_quick": ["damaged"]}
            if part == "body" and name in ("seven-bytes", "empty"):
                # No body of a row is that short.
                also = {"verify_quick": ["damaged", "mismatch"], "verify": ["mismatch"], "list": ["damaged"]}
            yield _document(
                f"{part}-frame-{name}", f"the {part}'s frame is not as it should be ({name})", list=list, also=also,
                **{f"{part}_frame": change})
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
    yield _document("title-in-column", "sealed titles: the title is in clear", column=b"clear", in_head=None)
    yield _document("title-twice", "sealed titles: a title is in head and column", column=b"clear")
    yield _document("title-twice-clear", "clear titles: a title is in head and column", base="clear", in_head=b"two")
    yield _document("title-in-head-clear", "clear titles: the title is in the head", base="clear", column=None, in_head=b"x")
    yield _document("title-in-head-none", "no titles: one is in the head", base="none", in_head=b"x")
    yield _document("title-in-column-none", "no titles: one is in clear", base="none", column=b"x")
    yield _document("title-not-utf8", "a sealed title that is not UTF-8", title=b"\xff")
    # A reader may count a row that can't be an element of the set as missing.
    yield _document(
        "title-not-utf8-clear", "a clear title that is not UTF-8", base="clear", title=b"\xff", quick="mismatch",
        verify="mismatch", also={"verify": ["damaged"], "verify_quick": ["damaged", "ok"]})
    yield _document("title-nul", "a title that holds U+0000: sound", title=b"a\0b", get={}, list="ok", verify="ok")

    yield _document("title-65536", "a sealed title of 65,536 bytes: sound", title=b"t" * 65536, get={}, list="ok", verify="ok")
    yield _document("title-65537", "a sealed title of 65,537 bytes", title=b"t" * 65537)
    yield _document(
        "title-65537-clear", "a clear title of 65,537 bytes", base="clear", title=b"t" * 65537, verify="mismatch",
        also={"verify": ["damaged"], "verify_quick": ["mismatch", "damaged"]})
    # 102 bytes before the attributes, 8 of theirs around the x.
    yield _document(
        "head-rest-over-limit", "the head's data without the title are 921,601 bytes", title=None, key=None,
        attributes=b'{"a":"%s"}' % (b"x" * (921_601 - 102 - 8)))
    yield Attack(
        "forged-title-over-limit", "sealed", "a head above 1 MiB", forge=_committed(title=b"t" * (1 << 20)), get={2: "damaged"}, list="damaged",
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
    yield _document("pos-empty", "a position of no bytes", pos=b"", quick="mismatch", verify="mismatch")
    yield _document(
        "pos-long", "a position of 256 bytes, whose length is sealed as 0", pos=bytes(LIMIT + 1), quick="mismatch",
        verify="mismatch")
    yield _rev()
    for name, changes, options in (
        ("parent-itself", {"parent": 2}, {}), ("parent-gone", {"parent": 6}, {}), ("parent-elsewhere", {"parent": 4}, {}),
        ("parent-above-next", {"parent": 2**62}, {}), ("pos-least", {"pos": b"\0"}, {}),
        ("pos-greatest", {"pos": b"\xff" * LIMIT}, {}), ("pos-equal", {"pos": MOVED_TO}, {}),
    ):
        yield Attack(
            f"forged-sound-{name}", "sealed", f"unusual and sound: {name}", forge=_committed(**changes), verify="ok",
            also={"verify": ["damaged"]} if name == "parent-elsewhere" else {}, **options)

    yield Attack(
        "forged-sound-parent-cycle", "sealed", "documents 2 and 3 are each other's parents: readers stop",
        forge=_committed(parent=3), verify="ok")

    def no_collection(writer):
        writer.drop_collection(2)
        writer.commit()
        writer.add_collection(2, b"Two")
        writer.add(2, "of a collection that is gone", id=9, key=b"K9")
        del writer.collections[2]
        writer.commit()

    yield Attack(
        "forged-collection-gone", "sealed", "a document whose collection is gone: read by its number, and verify tells",
        forge=no_collection, get={4: "missing", 5: "missing", 9: "ok"}, verify="damaged", also={"verify_quick": ["ok"]},
        note="a rekey seals document 9 again, its key as it is: as if keys were compared byte by byte")


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
        """`change` takes the row, and may return a plaintext to seal instead of the row's."""

        def forge(writer):
            row = writer.collections[coll]
            row.rev = row.edited = writer.generation + 1
            writer.seal_collection(row, change(row))
            writer.commit()

        return Attack(
            f"forged-collection-{name}", "sealed", what, forge=forge,
            **{"list": "damaged", "verify": "damaged", "quick": "damaged", "also": {"verify_quick": ["ok"]}} | options)

    def fields(**values):
        def change(row):
            for name, value in values.items():
                setattr(row, name, value)

        return change

    def name(value):
        return fields(name=value)

    def stamps(row):
        return u64(row.born) + u64(row.edited) + row.uid

    yield collection("name-twice", "both collections have one name", name(b"Notes"), list="ok", also={
        "list": ["damaged"], "verify_quick": ["ok"]})
    yield collection("name-1025-bytes", "a name of 1025 bytes", name(b"n" * 1025))
    yield collection("name-not-utf8", "a name that is not UTF-8", name(b"\xff"))
    yield collection("name-empty", "a name of no bytes", name(b""))
    yield collection("name-nul", "a name that holds U+0000: sound", name(b"a\0b"), list="ok", verify="ok", quick="ok")
    yield collection("length-beyond", "the name's length goes beyond its end", lambda row: stamps(row) + b"\xff" * 4 + row.name)
    yield collection(
        "settings-length-beyond", "the settings' length goes beyond their end",
        lambda row: stamps(row) + u32(len(row.name)) + row.name + b"\xff" * 4 + row.settings)
    yield collection(
        "settings-length-gone", "settings without their length",
        lambda row: stamps(row) + u32(len(row.name)) + row.name + row.settings)
    yield collection("length-cut", "three bytes and no more", lambda row: stamps(row) + b"\0\0\0")
    for stamp in ("born", "edited"):
        for value, is_sound in {0: False, 1: True, STAMP_LIMIT: True, STAMP_LIMIT + 1: False}.items():
            options = {"list": "ok", "verify": "ok", "quick": "ok", "also": {}} if is_sound else {}
            yield collection(
                f"{stamp}-{value}", f"{stamp} is {value}{': sound' if is_sound else ''}", fields(**{stamp: value}),
                **options)
    yield collection(
        "of-format-1", "no stamps before the name", lambda row: u32(len(row.name)) + row.name + row.settings)
    yield collection("nothing", "an empty frame", lambda row: b"")
    for kind, value in BAD_SETTINGS.items():
        yield collection(f"settings-{kind}", f"settings that no writer makes: {kind}", fields(settings=value))
    for kind, value in GOOD_SETTINGS.items():
        yield collection(
            f"settings-{kind}", f"settings as a writer makes them: {kind}", fields(settings=value), list="ok",
            verify="ok", quick="ok", also={})


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

    yield header("ro-compat", "a feature that only readers may be without: opens for reading", attribute(ro_compat=1), put="read-only")
    yield header("ro-compat-high", "the same, another bit", attribute(ro_compat=2**62), put="read-only")
    yield header("compat", "features that anyone may ignore", attribute(compat=2**62 + 5), put="ok")
    yield header("incompat", "a feature that readers must know", lambda w: setattr(w, "incompat", w.incompat | 4), open="newer")
    yield header("newer", "format 4, sealed as such", attribute(format=4, user_version=4), open="newer")
    yield header("newer-in-row", "format 4 in the header, 3 in the file", attribute(format=4), open="newer")
    yield header("newer-in-file", "format 3 in the header, 4 in the file", attribute(user_version=4), open="newer")
    yield header("older", "format 2, sealed as such", attribute(format=2, user_version=2), open="newer")
    yield header("older-in-row", "format 2 in the header, 3 in the file", attribute(format=2), open="damaged")
    for field, name in (("rk_generation", "rk-generation"), ("phase", "phase")):
        for value in (0, 2**62 + 1):
            yield header(f"{name}-{value}", f"{name} {value}", _rewrapped(**{field: value}), open="damaged")
        yield header(
            f"{name}-greatest", f"{name} 2^62: sound, and the last", _rewrapped(**{field: 2**62}),
            anchor="mismatch" if field == "rk_generation" else "ok")
    yield header("titles-3", "a title mode that there is not", attribute(titles=3), open="damaged")
    yield header(
        "not-test", "test keys in a store without the mark",
        lambda w: setattr(w, "incompat", w.incompat & ~1), open="refused")
    yield header(
        "titles-changed", "clear titles in the header, sealed ones in the rows", attribute(titles=1),
        get=dict.fromkeys((1, 2, 3, 4, 7, 8), "damaged"), list="damaged", verify="damaged", quick="ok")
    yield header(
        "not-padded", "no padding in the header, padded rows", lambda w: setattr(w, "incompat", w.incompat & ~2),
        get=dict.fromkeys(IDS, "damaged"), list="damaged", verify="damaged", quick="ok",
        also={"verify_quick": ["damaged"]})
    def entry(number, key=None, closed=0, ceiling=0, floor=1):
        return lambda w: u32(number) + (key or w.epochs[1].key) + u64(closed) + u64(ceiling) + u64(floor)

    def entries(active, *parts):
        return lambda w: u32(active) + b"".join(part(w) if callable(part) else part for part in parts)

    one, two, closed = entry(1), entry(2, bytes(32)), entry(1, None, 9, 9)
    for name, plain in {
        "empty": lambda w: b"", "no-epoch": entries(1), "active-unknown": entries(2, one), "active-zero": entries(0, one),
        "active-not-last": entries(1, one, two), "epoch-zero": entries(0, entry(0)), "falling": entries(1, two, one),
        "twice": entries(1, one, one), "cut": lambda w: entries(1, one)(w)[:-1], "one-more": entries(1, one, b"\0"),
        "epoch-above-u32": entries(2**31, closed, entry(2**31, bytes(32))), "of-format-1": lambda w: u32(1) + one(w)[:36],
        "of-65": entries(65, *(entry(e, None, 9, 9) for e in range(1, 65)), entry(65)),
        "active-closed": entries(1, entry(1, None, 9)), "active-ceiling": entries(1, entry(1, None, 0, 9)),
        "active-floor-zero": entries(1, entry(1, None, 0, 0, 0)), "active-floor-2": entries(1, entry(1, None, 0, 0, 2)), "old-not-closed": entries(2, one, two),
        "old-closed-above": entries(2, entry(1, None, 2**62 + 1, 9), two),
        "old-ceiling-zero": entries(2, entry(1, None, 9, 0), two), "old-ceiling-negative": entries(2, entry(1, None, 9, 2**63), two),
        "old-floor-zero": entries(2, entry(1, None, 9, 9, 0), two), "old-floor-negative": entries(2, entry(1, None, 9, 9, 2**63), two),
    }.items():
        yield header(f"keyring-{name}", f"a keyring that no writer makes: {name}", keyring(plain), open="damaged")

    def of_64(writer):
        """The last of 64 epochs is active, as after 63 rekeys that were never finished."""
        writer.epochs |= {e: type(writer.epochs[1])(bytes([e]) * 32, 9, 9) for e in range(2, 64)}
        writer.epochs[1].closed, writer.epochs[1].ceiling = 9, 9
        writer.active = writer.target = 64
        writer.epochs[64] = type(writer.epochs[1])(b"@" * 32)
        for row in writer.collections.values():
            row.epoch = 64
            writer.seal_collection(row)

    yield header("keyring-of-64", "64 epochs: sound", of_64, note="a further rekey throws before its first write")

    def wrong_fingerprint(writer):
        """Sets a fingerprint of zeros: it only tells key files apart; the wrapping key depends on the salt alone."""
        salt, key = writer.random(16), secrets.value(secrets.KEY)
        kek = hkdf(key, salt, b"coffer3/test-key" + writer.store_id)
        del writer.slots[0]
        writer.add_slot(2, salt + bytes(8), kek, b"key file", slot=1)

    yield header("fingerprint", "a slot that is wrapped rightly, with a fingerprint of zeros: harmless", wrong_fingerprint)

    def slots(count, params, kind):
        def change(writer):
            for _ in range(count):
                writer.add_slot(kind, params, bytes(32))

        return change

    yield header("slots-64", "64 slots, most of a kind that is unknown: sound", slots(61, b"", 99))
    yield header("slots-65", "65 slots", slots(62, b"", 99), open="damaged", also={"open": ["refused"]})
    yield header(
        "scrypt-sum", "passphrase slots together above the bound: refused by passphrase, not by key",
        slots(26, bytes([14, 8, 4]) + bytes(16), 1), open_by={"passphrase": "refused"})
    yield header(
        "slot-zeros", "a recipient's slot around zeros: the identity opens nothing by it",
        slots(1, bytes(64), 3), open_by={"identity": "ok"})


def _rewrapped(**fields):
    """Sets fields and wraps the slots for them: the header is sound except for the values themselves."""

    def change(writer):
        for name, value in fields.items():
            setattr(writer, name, value)
        writer.slots = []
        usual_slots(writer)

    return change
