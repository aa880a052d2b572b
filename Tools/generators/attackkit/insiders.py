"""Stores of a careless or hostile key holder: correctly sealed and summed, with one violation of FORMAT.md.

Readers refuse what writers never write, so that a hole in one program does not become a hole in the next.
"""

from storereader.primitives import hkdf, u8, u32, u64

from . import secrets
from .attack import IDS, Attack
from .positions import LIMIT
from .starting import usual_slots
from .stores import MOVED_TO

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


def attacks(kit):
    yield from _heads()
    yield from _frames()
    yield from _titles()
    yield from _keys()
    yield from _rows()
    yield from _parents()
    yield from _collections()
    yield from _headers()


def _document(name, what, base="sealed", id=2, list="damaged", **fields):
    """One document violates FORMAT.md, and nothing else does, so verify finds damage and no mismatch."""
    odd = {key: fields.pop(key) for key in [
        "body_frame", "head_frame", "head_plain", "column", "in_head", "lookup", "length", "digest", "least", "dots", "parent", "held"] if key in fields}
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
    # Offset of the uid, behind a title of seven bytes and no attributes; the marker of the parent and the dots follow.
    uid = 56 + 7 + 12 + 4
    for name, change in {
        "empty": lambda plain: b"", "cut-in-dates": lambda plain: plain[:15], "cut-in-length": lambda plain: plain[:20],
        "cut-by-one": lambda plain: plain[:-1], "byte-more": lambda plain: plain + b"\0",
        "length-less": _splice(length, 8, u64(3)), "length-more": _splice(length, 8, u64(30)),
        "length-above-limit": _splice(length, 8, u64((256 << 20) + 1)), "length-greatest": _splice(length, 8, b"\xff" * 8),
        "length-negative": _splice(length, 8, u64(2**63)),
        "digest-of-another": _splice(digest, 32, bytes(32)), "digest-cut": _splice(digest, 32, b""),
        "key-marker-2": _splice(marker, 1, u8(2)), "key-marker-255": _splice(marker, 1, u8(255)),
        "key-length-beyond": _splice(marker + 1, 4, u32(2**31 - 1)), "key-length-greatest": _splice(marker + 1, 4, b"\xff" * 4),
        "title-marker-2": _splice(marker + 7, 1, u8(2)), "title-length-beyond": _splice(marker + 8, 4, b"\xff" * 4),
        "uid-gone": _splice(uid, 16, b""), "uid-cut": _splice(uid, 1, b""), "end-behind-uid": lambda plain: plain[: uid + 16],
        "parent-marker-2": _splice(uid + 16, 1, u8(2)), "parent-marker-255": _splice(uid + 16, 1, u8(255)),
        "parent-cut": lambda plain: plain[: uid + 16] + u8(1) + bytes(15), "end-behind-parent": lambda plain: plain[: uid + 17],
        "attributes-length-beyond": _splice(uid - 4, 4, b"\xff" * 4), "attributes-length-short": _splice(uid, 0, b"{}"),
        "as-of-three-stamps": lambda plain: plain[: uid - 4] + u64(2) * 3 + plain[uid : uid + 16] + u32(0),
    }.items():
        # Lists open no body: only a reader that opens both sees that the lengths differ. The digest of a text under the
        # active epoch is compared by verify.
        yield _document(
            f"head-{name}", f"the head's data are not as they should be ({name})", head_plain=change,
            list="ok" if name in ("length-less", "length-more", "digest-of-another") else "damaged",
            **({"get": {2: "ok"}, "also": {"get_of_2": ["damaged"]}} if name == "digest-of-another" else {}))
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
    # 62 bytes before the attributes and 31 behind them, 8 of theirs around the x.
    yield _document(
        "head-rest-over-limit", "the head's data without the title are 921,601 bytes", title=None, key=None,
        attributes=b'{"a":"%s"}' % (b"x" * (921_601 - 62 - 31 - 8)))
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
    yield _document("flags-unknown", "a flag that no writer sets", flags=4, quick="mismatch", verify="mismatch")
    yield _document("held-without-key", "another document holds its key, and it has none", id=5, held=True)
    yield _document(
        "held-without-key-value", "the same in a document whose text is a value", id=7, held=True, text=b'{"a":2}', flags=1)
    yield _document("pos-empty", "a position of no bytes", pos=b"", quick="mismatch", verify="mismatch")
    yield _document(
        "pos-long", "a position of 256 bytes, whose length is sealed as 0", pos=bytes(LIMIT + 1), quick="mismatch",
        verify="mismatch")
    yield _rev()
    for name, changes in (
        ("pos-least", {"pos": b"\0"}), ("pos-greatest", {"pos": b"\xff" * LIMIT}), ("pos-equal", {"pos": MOVED_TO}),
    ):
        yield Attack(
            f"forged-sound-{name}", "sealed", f"unusual and sound: {name}", forge=_committed(**changes), verify="ok")

    def no_collection(writer):
        writer.add_collection(3, b"Three")
        writer.add(3, "of a collection that is gone", id=9, key=b"K9")
        del writer.collections[3]
        writer.commit()

    yield Attack(
        "forged-collection-gone", "sealed", "a document whose collection is gone: read by its number, and verify tells",
        forge=no_collection, get={9: "ok"}, verify="damaged", also={"verify_quick": ["ok"]},
        note="a rekey seals document 9 again, its key as it is: as if keys were compared byte by byte")


def _parents():
    """The column is read as it is stored; verify compares it with the uid in the head. NULL is sound for any head."""
    yield _document(
        "parent-column-taken", "the head names a parent, the column none: sound", id=3, get={}, list="ok", verify="ok",
        parent=None)
    # FORMAT.md does not allow this, and does not call it damage either.
    yield _document(
        "parent-column-of-none", "the head names a parent, and the column a document that there is not", id=3, get={},
        list="ok", parent=6, also={"verify": ["ok"]})
    for name, what, id, fields in (
        ("column-planted", "the column names a parent, the head none", 2, {"parent": 1}),
        ("column-of-another", "head and column name two parents", 3, {"parent": 1}),
        ("column-itself", "the column names the document itself", 2, {"parent": 2}),
        ("column-deleted", "the column names a document that was deleted", 2, {"parent": 6}),
        ("column-above-bound", "the column names a number that there can't be", 2, {"parent": 2**62}),
        ("column-greatest", "the column names the greatest number", 2, {"parent": 2**63 - 1}),
        ("column-in-another-collection", "the column names a document of the other collection", 2, {"parent": 4}),
    ):
        yield _document(f"parent-{name}", what, id=id, get={}, list="ok", **fields)

    def cycle(name, what, columns, **options):
        """Documents 2 and 3 name each other; the place of document 3 has the greater dot."""

        def forge(writer):
            writer.change(2, parent=3)
            writer.commit()
            writer.change(3, pos=b"\x80")
            for id, parent in columns.items():
                writer.records[id].odd = {"parent": parent}
            writer.commit()

        return Attack(f"forged-parent-{name}", "sealed", what, forge=forge, **{"verify": "damaged", "quick": "ok"} | options)

    for name, what, columns in (
        ("cycle", "a cycle of parents, cut at the one that moved last", {}),
        ("cycle-in-columns", "a cycle in the columns, where readers stop", {2: 3, 3: 2}),
        ("cycle-cut-elsewhere", "a cycle, cut at the other document", {2: None, 3: 2}),
        ("cycle-cut-twice", "a cycle, cut at both documents", {2: None, 3: None}),
    ):
        yield cycle(name, f"{what}: sound", columns, verify="ok")

    def elsewhere(name, what, uid, parent, **options):
        def forge(writer):
            writer.change(2, parent_uid=uid(writer), odd={"parent": parent} if parent else {})
            writer.commit()

        return Attack(f"forged-parent-{name}", "sealed", what, forge=forge, **{"verify": "ok"} | options)

    def deleted(writer):
        return writer.deletions[1].uid

    damaged, sound = {"verify": "damaged", "quick": "ok"}, {}
    for name, what, uid, parent, options in (
        ("deleted", "the parent was deleted", deleted, 6, sound),
        ("itself", "a parent of itself", lambda w: w.records[2].uid, 2, sound),
        ("in-another-collection", "a parent in the other collection", lambda w: w.records[4].uid, 4, damaged),
        ("unknown", "a parent that there never was", lambda w: bytes(16), 99, sound),
    ):
        yield elsewhere(f"head-{name}", f"{what}: sound without a column", uid, None)
        yield elsewhere(
            f"head-and-column-{name}", f"{what}, in the column, too{'' if options else ': sound'}", uid, parent, **options)
    for name, what, uid, parent, options in (
        ("head-unknown-and-column-of-another", "a parent that there never was, and a column of another", lambda w: bytes(16), 7, damaged),
        ("head-unknown-and-column-greatest", "a parent that there never was, and the greatest number: sound", lambda w: bytes(16), 2**63 - 1, sound),
        ("head-deleted-and-column-itself", "a deleted parent, and a column of the document itself", deleted, 2, damaged),
    ):
        yield elsewhere(name, what, uid, parent, **options)


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
        """`change` takes the row and the bytes before its name, and may return a plaintext to seal."""

        def forge(writer):
            row = writer.collections[coll]
            row.rev = writer.generation + 1
            writer.seal_collection(row, change(row, row.uid + row.dots.encoded()))
            writer.commit()

        return Attack(
            f"forged-collection-{name}", "sealed", what, forge=forge,
            **{"list": "damaged", "verify": "damaged", "quick": "damaged", "also": {"verify_quick": ["ok"]}} | options)

    def fields(**values):
        def change(row, start):
            for name, value in values.items():
                setattr(row, name, value)

        return change

    sound = {"list": "ok", "verify": "ok", "quick": "ok", "also": {}}
    yield collection("name-1025-bytes", "a name of 1025 bytes", fields(name=b"n" * 1025))
    yield collection("name-not-utf8", "a name that is not UTF-8", fields(name=b"\xff"))
    yield collection("name-empty", "a name of no bytes", fields(name=b""))
    yield collection("name-nul", "a name that holds U+0000: sound", fields(name=b"a\0b"), **sound)
    yield collection(
        "name-twice", "both collections have one name, as a merge may leave them: sound", fields(name=b"Notes"), **sound)
    yield collection(
        "length-beyond", "the name's length goes beyond its end", lambda row, start: start + b"\xff" * 4 + row.name)
    yield collection(
        "settings-length-beyond", "the settings' length goes beyond their end",
        lambda row, start: start + u32(len(row.name)) + row.name + b"\xff" * 4 + row.settings)
    yield collection(
        "settings-length-gone", "settings without their length",
        lambda row, start: start + u32(len(row.name)) + row.name + row.settings)
    yield collection("length-cut", "three bytes and no more", lambda row, start: start + b"\0\0\0")
    yield collection("uid-cut", "a byte of the uid is missing", lambda row, start: start[1:] + _rest(row))
    yield collection("dots-gone", "no dots behind the uid", lambda row, start: row.uid + _rest(row))
    yield collection(
        "as-of-two-stamps", "two generations before the uid", lambda row, start: u64(2) * 2 + row.uid + _rest(row))
    yield collection("of-format-1", "nothing before the name", lambda row, start: _rest(row)[:-4 - len(row.settings)] + row.settings)
    yield collection("nothing", "an empty frame", lambda row, start: b"")
    yield collection(
        "uid-another", "a uid that is not that of its name, as after a renaming: sound", fields(uid=bytes(16)), **sound)
    for kind, value in BAD_SETTINGS.items():
        yield collection(f"settings-{kind}", f"settings that no writer makes: {kind}", fields(settings=value))
    for kind, value in GOOD_SETTINGS.items():
        yield collection(
            f"settings-{kind}", f"settings as a writer makes them: {kind}", fields(settings=value), **sound)


def _rest(row):
    """The bytes of a collection from the length of its name on."""
    return u32(len(row.name)) + row.name + u32(len(row.settings)) + row.settings


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
    yield header("incompat", "a feature that readers must know", lambda w: setattr(w, "incompat", w.incompat | 8), open="newer")
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
        return lambda w: u32(active) + w.family + b"".join(part(w) if callable(part) else part for part in parts)

    one, two, closed = entry(1), entry(2, bytes(32)), entry(1, None, 9, 9)
    for name, plain in {
        "empty": lambda w: b"", "no-epoch": entries(1), "active-unknown": entries(2, one), "active-zero": entries(0, one),
        "active-not-last": entries(1, one, two), "epoch-zero": entries(0, entry(0)), "falling": entries(1, two, one),
        "twice": entries(1, one, one), "cut": lambda w: entries(1, one)(w)[:-1], "one-more": entries(1, one, b"\0"),
        "epoch-above-u32": entries(2**31, closed, entry(2**31, bytes(32))), "of-format-1": lambda w: u32(1) + one(w)[:36],
        "without-family": lambda w: u32(1) + one(w), "family-cut": lambda w: entries(1, one)(w)[1:],
        "of-65": entries(65, *(entry(e, None, 9, 9) for e in range(1, 65)), entry(65)),
        "active-closed": entries(1, entry(1, None, 9)), "active-ceiling": entries(1, entry(1, None, 0, 9)),
        "active-floor-zero": entries(1, entry(1, None, 0, 0, 0)), "active-floor-2": entries(1, entry(1, None, 0, 0, 2)), "old-not-closed": entries(2, one, two),
        "old-closed-above": entries(2, entry(1, None, 2**48, 9), two),
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
            writer.seal_collection(row)
        for row in writer.deletions.values():
            writer.seal_deletion(row)

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
    for name, params, kind in (
        ("scrypt-31", bytes([31, 8, 1]) + bytes(16), 1), ("key-cut", bytes(23), 2), ("provider-slash", bytes(16) + b"\x05a/../", 4),
    ):
        yield header(
            f"slot-{name}", f"a slot that is out of its bounds ({name}): never tried, and harmless", slots(1, params, kind),
            open_by={"passphrase": "ok", "identity": "ok"})

    def wrapped_cut(writer):
        writer.add_slot(2, bytes(24), bytes(32))
        writer.slots[-1].wrapped = bytes(47)

    yield header("slot-wrapped-47-bytes", "a slot whose wrapped key is cut: nobody opens it, and it's harmless", wrapped_cut)


def _rewrapped(**fields):
    """Sets fields and wraps the slots for them: the header is sound except for the values themselves."""

    def change(writer):
        for name, value in fields.items():
            setattr(writer, name, value)
        writer.slots = []
        usual_slots(writer)

    return change
