"""A key holder's replicas, dots and deletions, each with one violation of FORMAT.md; and uids that two rows have."""

from storereader.primitives import u8, u32

from . import dots, layout
from .attack import Attack
from .dots import encoded
from .layout import varint
from .writer import Record

LAST = layout.LAST_GENERATION
EAST, WEST, OWN, NORTH = 1, 2, 3, 4
BORN = (0, 2)
# A collection's mask: name, settings, drop, dropped, stamp.
NAME, STAMP, KEPT, MEMBERS = 1, 1 << 6, 1 << 7, 1 << 5
# The document of the base `united` whose dots are forged.
VICTIM = 2
# Of a dot that the vector does not cover nobody but a verify takes notice.
UNCOVERED = {"verify": "damaged", "quick": "ok"}


def attacks(kit):
    yield from _replicas()
    yield from _dots()
    yield from _sound_dots()
    yield from _collections()
    yield from _deletions()
    yield from _uids()
    yield from _held()


# The row of replicas.


def _row(name, what, plain, base="united", **options):
    """`plain` takes the writer and gives the plaintext of the row, which the state then names."""

    def forge(writer):
        writer.odd = {"replicas": plain(writer)}
        writer.commit()

    return Attack(f"forged-replicas-{name}", base, what, forge=forge, **{"open": "damaged"} | options)


def _with(own=None, count=None, **fields):
    """The row with other fields of its last replica; those that are bytes are encoded ones."""

    def plain(writer):
        *others, last = writer.replicas
        changed = vars(last) | {name: value for name, value in fields.items()}
        found = [layout.replica(**vars(one)) for one in others]
        found.append(changed["identity"] + b"".join(
            value if isinstance(value, bytes) else varint(value)
            for value in (changed["counter"], changed["range"], changed["rose"])) + _marks(changed["marks"]))
        return (
            u32(writer.own if own is None else own) + u32(len(found) if count is None else count) + b"".join(found)
            + layout.extension_part(writer.replicas_extension))

    return plain


def _marks(marks):
    if isinstance(marks, bytes):
        return marks
    return layout.replica(b"", 0, 0, 0, marks)[3:]


def _replicas():
    mark = b"eightbyt"
    for name, what, plain in (
        ("empty", "no bytes", lambda w: b""), ("none", "no replicas", lambda w: u32(0) + u32(0)),
        ("own-only", "nothing but the own number", lambda w: u32(0)),
        ("own-5", "the own number is that of no replica", _with(own=5)),
        ("own-2-to-31", "the own number is 2^31", _with(own=2**31)),
        ("own-greatest", "the own number is 2^32 - 1", _with(own=2**32 - 1)),
        ("count-less", "a replica more than the row says", _with(count=4)),
        ("count-more", "a replica less than the row says", _with(count=6)),
        ("count-greatest", "2^32 - 1 replicas and their first five", _with(count=2**32 - 1)),
        ("identity-twice", "two replicas have one identity", lambda w: _with(identity=w.replicas[0].identity)(w)),
        ("counter-above", "a counter of 2^48", _with(counter=LAST + 1)),
        ("counter-2-to-63", "a counter of 2^63", _with(counter=2**63)),
        ("counter-long-form", "a counter that is not in its shortest form", _with(counter=b"\x83\0")),
        ("counter-10-bytes", "a counter of ten bytes", _with(counter=b"\x83" + b"\x80" * 8 + b"\x01")),
        ("range-8192", "a range that there is not", _with(range=8192)),
        ("range-2-to-62", "a range far above all", _with(range=2**62)),
        ("range-long-form", "a range that is not in its shortest form", _with(range=b"\x81\0")),
        ("rose-above", "a counter that rose in a generation to come", lambda w: _with(rose=w.generation + 2)(w)),
        ("rose-greatest", "a counter that rose in generation 2^63 - 1", _with(rose=2**63 - 1)),
        ("rose-long-form", "a generation that is not in its shortest form", _with(rose=b"\x86\0")),
        ("marks-33", "33 marks", _with(counter=100, marks=[(number, mark) for number in range(1, 34)])),
        ("marks-255", "255 marks, and one of them", _with(marks=b"\xff" + b"\1" + mark)),
        ("marks-cut", "a mark that is cut", _with(marks=b"\1\1" + mark[1:])),
        ("marks-missing", "a mark less than the row says", _with(marks=b"\2\1" + mark)),
        ("mark-at-zero", "a mark of counter 0", _with(marks=[(0, mark)])),
        ("marks-equal", "two marks of one counter", _with(marks=[(2, mark), (2, mark)])),
        ("mark-above-counter", "a mark above the counter", _with(marks=[(4, mark)])),
        ("mark-greatest", "a mark 2^63 - 1 above the one before", _with(marks=b"\2\1" + mark + varint(2**63 - 1) + mark)),
        ("mark-long-form", "a distance that is not in its shortest form", _with(marks=b"\1\x81\0" + mark)),
        ("byte-more", "half a type behind the replicas", lambda w: w.replicas_plain() + b"\0"),
        ("cut", "the last byte is missing", lambda w: w.replicas_plain()[:-1]),
    ):
        yield _row(name, what, plain)

    def many(count):
        def plain(writer):
            own = layout.replica(**vars(writer.replicas[0]))
            return layout.replicas_plain(
                0, [own, *(layout.replica(writer.random(16), 1, 1, 1) for _ in range(count - 1))])

        return plain

    def greatest(writer):
        """4,096 replicas, each as long as it may be: more than 2 MiB."""
        writer.generation, writer.ring = 2**47, {}
        marks = [(number << 43, mark) for number in range(1, 32)] + [(LAST, mark)]
        others = [layout.replica(writer.random(16), LAST, 8191, 2**47, marks) for _ in range(4095)]
        return layout.replicas_plain(0, [layout.replica(**vars(writer.replicas[0])), *others])

    yield _row("greatest", "4,096 replicas, each as long as it may be: sound", greatest, "sealed", open="ok", verify="ok")
    yield _row("over-limit", "a row of more than 4 MiB", lambda w: w.replicas_plain() + bytes(4 << 20), "sealed")
    yield _row("4097", "4,097 replicas", many(4097), "sealed")
    for name, what, plain in (
        ("4096", "4,096 replicas: sound", many(4096)),
        ("counters-zero", "a replica of which nothing is included: sound", lambda w: layout.replicas_plain(
            0, [layout.replica(**vars(w.replicas[0])), layout.replica(bytes(16), 0, 8191, 0)])),
        ("counter-greatest", "a replica whose counter is 2^48 - 1: sound", lambda w: layout.replicas_plain(
            0, [layout.replica(**vars(w.replicas[0])), layout.replica(bytes(16), LAST, 0, 9, [(LAST, mark)])])),
        ("ranges-equal", "two replicas of one range: sound", lambda w: layout.replicas_plain(
            0, [layout.replica(**vars(w.replicas[0])), *(layout.replica(bytes([one]) * 16, 1, 0, 1) for one in range(2))])),
        ("marks-32", "32 marks: sound", lambda w: layout.replicas_plain(0, [
            layout.replica(**vars(w.replicas[0])),
            layout.replica(bytes(16), 200, 1, 1, [(6 * number, mark) for number in range(1, 33)])])),
    ):
        yield _row(name, what, plain, "sealed", open="ok", verify="ok")
    # Nothing but a verify compares dots with the vector.
    yield _row(
        "one-less", "the last replica is missing, and dots name it",
        lambda w: layout.replicas_plain(w.own, [layout.replica(**vars(one)) for one in w.replicas[:-1]]), open="ok",
        **UNCOVERED)
    yield _row(
        "own-another", "another replica is the own one: its counter is the state's, and the true one's falls", _with(own=0),
        open="ok", **UNCOVERED)


# Dots of documents.


def _document(name, what, made, base="united", id=VICTIM, **options):
    """A document whose dots are these bytes, or those that `made` gives, from the writer and the true ones."""

    def forge(writer):
        given = made if callable(made) else lambda writer, true: made
        record = writer.records[id]
        record.odd, record.rev = {"dots": lambda true: given(writer, true)}, writer.generation + 1
        writer.seal(record)
        writer._note(layout.DETAILS, record.coll, id)
        writer.commit()

    return Attack(
        f"forged-dots-{name}", base, f"document {id}: {what}", forge=forge,
        **{"get": {id: "damaged"}, "list": "damaged", "verify": "damaged", "quick": "ok"} | options)


def _dots():
    born, far = encoded(BORN), encoded((EAST, 7))
    # The dots up to a list of members, and a list of one without its number.
    start, one = born + u8(MEMBERS), dots.members([(b"a", BORN)])[1:]
    for name, what, made in (
        ("none", "no dots", b""), ("no-mask", "no mask behind its birth", born),
        ("born-zero", "its birth is the zero dot", encoded((0, 0)) + u8(0)),
        ("born-counter-zero", "its birth has counter 0 of another replica", encoded((EAST, 0)) + u8(0)),
        ("counter-zero-of-none", "its birth has counter 0 of a replica that is not in the row", encoded((5, 0)) + u8(0)),
        ("counter-2-to-48", "a counter of 2^48", encoded((0, LAST + 1)) + u8(0)),
        ("counter-greatest", "a counter of 2^63 - 1", encoded((0, 2**63 - 1)) + u8(0)),
        ("replica-long-form", "a replica that is not in its shortest form", b"\x80\0\2" + u8(0)),
        ("counter-long-form", "a counter that is not in its shortest form", b"\0\x82\0" + u8(0)),
        ("zero-in-long-form", "the zero dot, not in its shortest form", born + u8(1) + b"\0\x80\0"),
        ("counter-10-bytes", "a counter of ten bytes", b"\0" + b"\xff" * 9 + b"\1" + u8(0)),
        ("counter-endless", "a counter that never ends", b"\0" + b"\xff" * 30),
        ("part-counter-zero", "a part's dot with counter 0 of another replica", born + u8(1) + encoded((WEST, 0))),
        ("part-missing", "a dot less than the mask says", born + u8(0b11111) + far * 4),
        ("part-more", "a dot more than the mask says", born + u8(0b01111) + far * 5),
        ("mask-255", "every bit of the mask, and no dots", born + u8(255)),
        ("members-none", "a list of no members", start + varint(0)),
        ("members-fall", "names of members that fall", start + dots.members([(b"b", BORN), (b"a", BORN)])),
        ("members-twice", "a member twice", start + dots.members([(b"a", BORN), (b"a", BORN)])),
        ("members-prefix-falls", "a name before its beginning",
         start + dots.members([(b"ab", BORN), (b"a", BORN)])),
        ("members-not-utf8", "a name that is not UTF-8", start + dots.members([(b"\xff", BORN)])),
        ("members-surrogate", "a name that holds a surrogate", start + dots.members([(b"\xed\xa0\x80", BORN)])),
        ("members-length-beyond", "a name beyond the end", start + varint(1) + varint(900) + b"a" + born),
        ("members-length-greatest", "a name of 2^63 - 1 bytes", start + varint(1) + varint(2**63 - 1) + b"a" + born),
        ("members-count-beyond", "a member less than the list says", start + b"\2" + one),
        ("members-count-greatest", "2^63 - 1 members, and one of them",
         start + varint(2**63 - 1) + one),
        ("members-long-form", "a number of members not in its shortest form",
         start + b"\x81\0" + one),
        ("member-counter-zero", "a member's dot with counter 0", start + dots.members([(b"a", (NORTH, 0))])),
        ("stamp-zero", "its stamp is the zero dot", born + u8(STAMP) + encoded((0, 0))),
        ("stamp-missing", "its stamp is missing", born + u8(STAMP)),
        ("kept-zero", "kept by no commit, and the mask says that it was", born + u8(KEPT) + encoded((0, 0))),
        ("byte-more", "half a type behind the dots", born + u8(0) + b"\0"),
        ("as-three-stamps", "three generations", bytes(7) + b"\2" + bytes(7) + b"\2" + bytes(7) + b"\2"),
    ):
        yield _document(name, what, made)


def _sound_dots():
    """Unusual, and as FORMAT.md allows them. A document's dots are then these bytes, not those that its parts imply."""
    def document(name, what, change, is_covered=True, **options):
        def forge(writer):
            record = writer.records[VICTIM]
            change(writer, record.dots)
            record.rev = writer.generation + 1
            writer.seal(record)
            writer._note(layout.DETAILS, record.coll, VICTIM)
            writer.commit()

        if is_covered:
            return Attack(f"forged-sound-dots-{name}", "united", f"unusual and sound: {what}", forge=forge, verify="ok")
        return Attack(f"forged-dots-{name}", "united", f"document {VICTIM}: {what}", forge=forge, **UNCOVERED | options)

    def fields(**values):
        def change(writer, dots):
            for name, value in values.items():
                setattr(dots, name, value)

        return change

    every = dict.fromkeys(dots.DOCUMENT_PARTS, (0, 0))
    yield document("parts-zero", "nobody has written any part", fields(parts=every, members={b"a": (0, 0)}))
    yield document("parts-as-born", "parts with the dot of its birth", fields(parts=dict.fromkeys(every, BORN)))
    yield document(
        "members-as-attributes", "members with the dot of the attributes", fields(members={b"a": BORN, b"z": BORN}))
    yield document("member-empty", "a member without a name", fields(members={b"": (EAST, 1)}))
    yield document(
        "member-nul", "a member whose name holds U+0000", fields(members={b"\0": (EAST, 1), b"\0\0": (WEST, 1)}))
    yield document("member-long", "a member with a long name", fields(members={b"n" * 60_000: (EAST, 1)}))
    yield document("members-many", "1,000 members that were removed", fields(
        members={b"%d" % number: (EAST, number + 1) for number in range(1000)}))
    yield document("stamp-low", "a stamp that is not the greatest dot", fields(stamp=(EAST, 1)))
    yield document("kept", "kept by another replica", fields(kept=(NORTH, 1)))
    yield document("first-counters", "counter 1 of each replica", fields(
        born=(NORTH, 1), parts=dict(zip(dots.DOCUMENT_PARTS, ((0, 1), (EAST, 1), (WEST, 1), (OWN, 1), (NORTH, 1))))))
    yield document("last-counters", "the last counter of each replica", lambda writer, of: (
        setattr(of, "born", (OWN, writer.now[1])), of.parts.update(
            text=(EAST, writer.replicas[EAST].counter), title=(WEST, writer.replicas[WEST].counter),
            key=(0, writer.replicas[0].counter), place=(NORTH, writer.replicas[NORTH].counter))))
    yield document("stamps-equal", "parts of one counter and several replicas", fields(
        born=(EAST, 5), parts={"text": (WEST, 5), "title": (NORTH, 3)}, stamp=None))

    # Dots that the vector does not cover: nothing but a verify compares them.
    def ahead(part):
        def change(writer, dots):
            dot = writer.own, writer.now[1] + 1
            if part in ("born", "stamp", "kept"):
                setattr(dots, part, dot)
            elif part == "member":
                dots.members[b"a"] = dot
            else:
                dots.parts[part] = dot

        return change

    for part, what in {
        "born": "born in", "text": "a text of", "key": "a key of", "member": "a member of", "stamp": "a stamp of", "kept": "kept by",
    }.items():
        yield document(f"{part}-ahead", f"{what} a commit to come", ahead(part), False)
    for name, what, change in (
        ("born-of-another-ahead", "born above another replica's counter", fields(born=(NORTH, 4))),
        ("of-former-own-ahead", "born after its replica was given up",
         lambda writer, of: setattr(of, "born", (0, writer.replicas[0].counter + 1))),
        ("counter-2-to-48-less-1", "the greatest counter, which no replica has", fields(born=(0, LAST))),
        ("replica-5", "born in a replica that is not in the row", fields(born=(5, 1))),
        ("part-replica-5", "a place of a replica that is not in the row", fields(parts={"place": (5, 1)})),
        ("key-replica-5", "a key of a replica that is not in the row", fields(parts={"key": (5, 1)})),
        ("member-replica-5", "a member of a replica that is not in the row", fields(members={b"a": (5, 1)})),
        ("stamp-replica-5", "a stamp of a replica that is not in the row", fields(stamp=(5, 1))),
        ("kept-replica-5", "kept by a replica that is not in the row", fields(kept=(5, 1))),
        ("replica-4095", "born in replica 4,095", fields(born=(4095, 1))),
    ):
        yield document(name, what, change, False)
    # There is no replica of such a number in any store, so that a reader may refuse it at once.
    for name, number in (("4096", 4096), ("2-to-32", 2**32), ("greatest", 2**63 - 1)):
        yield document(
            f"replica-{name}", f"born in replica {number}", fields(born=(number, 1)), False,
            also={f"get_of_{VICTIM}": ["damaged"], "list": ["damaged"]})


# Dots of collections, and deletions.


def _collections():
    born = encoded(BORN)

    def collection(name, what, made, **options):
        def forge(writer):
            row = writer.collections[2]
            row.rev = writer.generation + 1
            made_now = made(writer) if callable(made) else made
            plain = writer.collection_plain(row)
            true = len(row.uid + row.dots.encoded())
            writer.seal_collection(row, row.uid + made_now + plain[true:])
            writer._note(layout.COLLECTION, 2)
            writer.commit()

        return Attack(
            f"forged-collection-dots-{name}", "united", f"collection 2: {what}", forge=forge,
            **{"list": "damaged", "verify": "damaged", "quick": "ok", "also": {"verify_quick": ["damaged"]}} | options)

    for name, what, made in (
        ("born-zero", "its birth is the zero dot", encoded((0, 0)) + u8(0)),
        ("born-counter-zero", "its birth has counter 0", encoded((WEST, 0)) + u8(0)),
        ("name-zero", "its name has the zero dot", born + u8(NAME) + encoded((0, 0))),
        ("settings-zero", "its settings have the zero dot", born + u8(2) + encoded((0, 0))),
        ("drop-zero", "it was dropped by the zero dot", born + u8(4 | 8) + encoded((0, 0))),
        ("stamp-zero", "its stamp is the zero dot", born + u8(STAMP) + encoded((0, 0))),
        ("counter-long-form", "a counter that is not in its shortest form", b"\0\x82\0" + u8(0)),
        *((f"mask-bit-{bit}", f"bit {bit} of the mask, which means nothing", born + u8(1 << bit)) for bit in (4, 5, 7)),
        ("mask-255", "every bit of the mask", born + u8(255) + born * 4),
        ("dot-missing", "a dot less than the mask says", born + u8(NAME | 2)),
    ):
        yield collection(name, what, made)
    for name, what, made in (
        ("name-ahead", "a name of a commit to come", lambda w: born + u8(NAME) + encoded((w.own, w.now[1] + 1))),
        ("stamp-ahead", "a stamp of a commit to come", lambda w: born + u8(STAMP) + encoded((w.own, w.now[1] + 1))),
        ("replica-5", "a replica that is not in the row", encoded((5, 1)) + u8(0)),
    ):
        yield collection(name, what, made, list="ok")
    sound = {"list": "ok", "verify": "ok"}
    yield collection(
        "sound-every", "every dot, all different: sound", born + u8(0b1000111) + b"".join(
            map(encoded, ((EAST, 1), (WEST, 1), (NORTH, 1), (EAST, 2)))), **sound)
    yield collection("sound-as-born", "dots as its birth, one by one: sound", born + u8(0b1000111) + born * 4, **sound)
    yield collection(
        "sound-dropped", "dropped, and listed because of its document: sound", born + u8(8 | 4) + encoded((EAST, 9)), **sound)


def _deletions():
    def deletion(name, what, made, **options):
        """`made` are the bytes behind the uid, or a function that gives them."""

        def forge(writer):
            row = writer.deletions[1]
            row.rev = writer.generation + 1
            writer.seal_deletion(row, row.uid + (made(writer) if callable(made) else made))
            writer.commit()

        return Attack(
            f"forged-deletion-{name}", "united", f"deletion 1: {what}", forge=forge,
            **{"verify": "damaged", "quick": "ok"} | options)

    one, two = encoded((0, 3)), encoded((EAST, 9))
    for name, what, made in (
        ("nothing", "nothing behind the uid", b""), ("no-dots", "no dots", varint(0) + one),
        ("no-stamp", "no stamp", varint(1) + one), ("dots-fall", "dots that fall", varint(2) + two + one + two),
        ("dot-twice", "a dot twice", varint(2) + one + one + one),
        ("dot-missing", "a dot less than it says", varint(3) + one + two),
        ("dots-beyond", "2^63 - 1 dots, and one of them", varint(2**63 - 1) + one + one),
        ("count-long-form", "a number of dots not in its shortest form", b"\x81\0" + one + one),
        ("dot-zero", "a zero dot", varint(1) + encoded((0, 0)) + one),
        ("dot-zero-first", "a zero dot before another", varint(2) + encoded((0, 0)) + one + one),
        ("dot-counter-zero", "a dot with counter 0", varint(1) + encoded((EAST, 0)) + one),
        ("dot-long-form", "a counter that is not in its shortest form", varint(1) + b"\0\x83\0" + one),
        ("replica-5", "a replica that is not in the row", varint(1) + encoded((5, 1)) + one),
        ("stamp-zero", "its stamp is the zero dot", varint(1) + one + encoded((0, 0))),
        ("stamp-replica-5", "a stamp of a replica that is not in the row", varint(1) + one + encoded((5, 1))),
        ("dot-ahead", "a dot of a commit to come", lambda w: varint(1) + encoded((w.own, w.now[1] + 1)) + one),
        ("stamp-ahead", "a stamp of a commit to come", lambda w: varint(1) + one + encoded((w.own, w.now[1] + 1))),
        ("byte-more", "half a type behind the stamp", varint(1) + one + one + b"\0"),
    ):
        yield deletion(name, what, made)

    first, second = encoded((EAST, 9)), encoded((WEST, 9))
    yield deletion("numbers-fall", "equal counters, and numbers of replicas that fall", varint(2) + second + first + first)
    yield deletion(
        "sound-numbers", "equal counters, and numbers of replicas that rise: sound", varint(2) + first + second + first, verify="ok")
    yield deletion(
        "sound-many", "300 dots: sound", varint(300) + b"".join(encoded((EAST, number)) for number in range(1, 301)) + one,
        verify="ok")
    yield deletion(
        "sound-counters", "the first and the last counter: sound",
        lambda w: varint(2) + encoded((NORTH, 1)) + encoded(w.now) + encoded((NORTH, 1)), verify="ok")

    def frame(writer):
        row = writer.deletions[1]
        row.rev = writer.generation + 1
        true, writer.frame = writer.frame, lambda data, least: bytes(1) + len(data).to_bytes(7, "big") + data
        writer.seal_deletion(row)
        writer.frame = true
        writer.commit()

    yield Attack(
        "forged-deletion-frame-not-padded", "united", "deletion 1: a frame without padding", forge=frame, verify="damaged",
        quick="ok", also={"verify_quick": ["damaged"]})

    def numbered(number):
        def forge(writer):
            row = writer.deletions.pop(3)
            row.gone, row.rev = number, writer.generation + 1
            writer.deletions[number] = row
            writer.seal_deletion(row)
            writer.commit()

        return forge

    yield Attack(
        "forged-deletion-number-greatest", "united", "deletion 2^63 - 1: sound", forge=numbered(2**63 - 1), verify="ok",
        put="ok")


def _uids():
    """Readers do not look for a uid that two rows have; verify does."""
    def attack(name, what, change, base="sealed", **options):
        def forge(writer):
            change(writer)
            writer.commit()

        return Attack(f"forged-uid-{name}", base, what, forge=forge, **{"verify": "damaged", "quick": "ok"} | options)

    def resealed(writer, row):
        row.rev = writer.generation + 1
        (writer.seal if isinstance(row, Record) else writer.seal_collection)(row)

    def in_two_records(writer):
        writer.records[5].uid = writer.records[4].uid
        resealed(writer, writer.records[5])

    def of_parent(writer):
        """Document 3 names a parent that there is twice."""
        writer.records[7].uid = writer.records[2].uid
        resealed(writer, writer.records[7])

    def in_two_collections(writer):
        writer.collections[2].uid = writer.collections[1].uid
        resealed(writer, writer.collections[2])

    def of_dropped_collection(writer):
        writer.collections[3].uid = writer.collections[1].uid
        resealed(writer, writer.collections[3])

    yield attack("in-two-records", "two documents have one uid", in_two_records)
    yield attack("of-parent", "two documents have the uid of a third one's parent", of_parent)
    yield attack(
        "in-record-and-deletion", "a document has the uid of a deletion",
        lambda writer: writer.add_deletion(writer.records[4].uid, [(0, 3)], (0, 3)))
    yield attack(
        "in-two-deletions", "two deletions have one uid",
        lambda writer: writer.add_deletion(writer.deletions[1].uid, [(0, 3)], (0, 3)))
    yield attack(
        "in-two-collections", "two collections have one uid", in_two_collections,
        also={"list": ["damaged"], "verify_quick": ["damaged"]})
    yield attack(
        "of-dropped-collection", "a dropped collection has the uid of another", of_dropped_collection, "united",
        also={"list": ["damaged"], "verify_quick": ["damaged"]})


def _held():
    """Which of several documents holds their key: of it the flags tell, and only the seal binds them. Of documents 1, 2 and
    5 of the base the last holds the key; 4 has one that no other has."""
    def attack(name, what, held, **options):
        def forge(writer):
            for id, is_held in held.items():
                writer.records[id].odd = {"held": is_held}
            writer.commit()

        return Attack(f"forged-held-{name}", "clashes", what, forge=forge, **{"verify": "ok"} | options)

    yield attack("another", "the holder of a key is not that of the least dot: sound for readers", {1: False, 5: True})
    yield attack("by-none", "nobody holds a key that three documents have: sound for readers", {5: True})
    yield attack("alone", "a document does not hold its key, which no other has: sound for readers", {4: True})
    yield attack(
        "by-two", "two documents hold one key, which SQLite writes only past its index", {1: False}, verify="damaged")

    def in_two_epochs(writer):
        writer.add(1, "in the active epoch", title=b"t", key=writer.records[1].key, odd={"held": False})
        writer.commit()

    # FORMAT.md does not say whether a verify compares the keys of several epochs.
    yield Attack(
        "forged-held-by-two-in-two-epochs", "keys-only", "two documents of different epochs hold one key", forge=in_two_epochs,
        verify="ok", also={"verify": ["damaged"], "verify_quick": ["damaged"]})
