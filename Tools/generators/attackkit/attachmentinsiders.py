"""Rows of attachments of a careless or hostile key holder: sealed and summed correctly, with one violation of FORMAT.md."""

from storereader.primitives import u8, u32

from . import layout
from .attachmentstores import GONE, LEAST_CHUNK, NAMED, OF_THREE, ONE, WITH_NONE, WITH_ONE, WITH_THREE, content
from .attack import Attack
from .layout import CHUNK_NUMBERS, LAST_ATTACHMENT

BASE, PADDED = "attachments", "attachments-padded"
LAST = layout.LAST_GENERATION
GREATEST = 2**40


def attacks(kit):
    yield from _rows()
    yield from _sound_rows()
    yield from _sizes()
    yield from _keys()
    yield from _dots()
    yield from _documents()
    yield from _uids()
    yield from _frames()
    yield from _states()


def _row(name, what, change, base=BASE, number=ONE, document=WITH_THREE, **options):
    """`change` takes the row, and may give the plaintext to seal, from the true one."""

    def forge(writer):
        row = writer.attachments[number]
        row.rev = writer.generation + 1
        changed = change(writer, row)
        writer.seal_attachment(row, changed and changed(writer.attachment_plain(row)))
        writer.commit()

    return Attack(
        f"forged-attachment-{name}", base, f"attachment {number}: {what}", forge=forge,
        **{"attachments": {number: "damaged"}, "attachment_lists": {document: "damaged"}, "verify": "damaged"} | options)


def _fields(**values):
    def change(writer, row):
        for name, value in values.items():
            setattr(row, name, value)

    return change


def _plain(change):
    return lambda writer, row: change


SOUND = {"attachments": {}, "attachment_lists": {}, "verify": "ok"}
# The row is sound in form, and its content is not.
CONTENT = {"attachment_lists": {}}
# Only a verify that opens everything tells.
DEEP = {"attachments": {}, "attachment_lists": {}, "quick": "ok"}


def _rows():
    for name, what, change in (
        ("name-empty", "a name of no bytes", _fields(name=b"")),
        ("name-1025-bytes", "a name of 1,025 bytes", _fields(name=b"n" * 1025)),
        ("name-not-utf8", "a name that is not UTF-8", _fields(name=b"\xff")),
        ("name-surrogate", "a name that holds a surrogate", _fields(name=b"\xed\xa0\x80")),
        ("media-type-256-bytes", "a media type of 256 bytes", _fields(media_type=b"t" * 256)),
        ("media-type-space", "a media type with a space", _fields(media_type=b"text/plain; charset=utf-8")),
        ("media-type-delete", "a media type with a control character", _fields(media_type=b"text\x7f")),
        ("media-type-nul", "a media type that holds U+0000", _fields(media_type=b"text\0")),
        ("media-type-not-ascii", "a media type that is not ASCII", _fields(media_type="te\u00dft".encode())),
        ("date-before-year-0000", "a date before the year 0000", _fields(date=-62_167_219_200_001)),
        ("date-after-year-9999", "a date after the year 9999", _fields(date=253_402_300_800_000)),
        ("date-greatest", "the greatest date", _fields(date=2**63 - 1)),
        ("nothing", "an empty frame", _plain(lambda plain: b"")),
        ("cut", "the last byte is missing", _plain(lambda plain: plain[:-1])),
        ("uid-cut", "a byte of the uid is missing", _plain(lambda plain: plain[:8] + plain[9:])),
        ("byte-more", "half a type behind the keys", _plain(lambda plain: plain + b"\0")),
        ("without-document", "no number of a document", _plain(lambda plain: plain[8:])),
        ("name-length-beyond", "a name beyond the end", _plain(lambda plain: plain[:36] + b"\xff" * 4 + plain[40:])),
        ("rev-above", "a row of a transaction that is still to come", _fields(rev=1000)),
        ("epoch-zero", "keys of epoch 0", _fields(key_epoch=0)),
        ("epoch-above", "keys of an epoch that is still to come", _fields(key_epoch=2)),
        ("epoch-2-to-31", "keys of epoch 2^31", _fields(key_epoch=2**31)),
    ):
        yield _row(name, what, change, **({"verify": "mismatch"} if name == "rev-above" else {}))

    def not_summed(writer):
        row = writer.attachments.pop(ONE)
        writer.odd = {"attachment_count": 6}
        writer.commit()
        row.rev = 1000
        writer.seal_attachment(row)
        writer.attachments[ONE] = row

    yield Attack(
        "forged-attachment-rev-above-not-summed", BASE,
        f"attachment {ONE}: a row of a transaction that is still to come, in the count and not in the sum",
        forge=not_summed, attachments={ONE: "damaged"}, attachment_lists={WITH_THREE: "damaged"})


def _sound_rows():
    for name, what, fields in (
        ("name-1024-bytes", "a name of 1,024 bytes", {"name": b"n" * 1024}),
        ("name-nul", "a name that holds U+0000", {"name": b"a\0b"}),
        ("name-path", "a name that is a path: readers of files beware", {"name": b"../../etc/passwd"}),
        ("name-of-another", "the name of another attachment of the document", {"name": b"empty"}),
        ("media-type-none", "no media type", {"media_type": b""}),
        ("media-type-255-bytes", "a media type of 255 bytes", {"media_type": b"~" * 255}),
        ("date-year-0000", "the first date", {"date": -62_167_219_200_000}),
        ("date-year-9999", "the last date", {"date": 253_402_300_799_999}),
        ("name-dot", "a name of another commit", {"name_dot": (0, 1)}),
        ("entry", "an entry that a reader may ignore", {"extension": {7: bytes(65_530)}}),
    ):
        yield _row(f"sound-{name}", f"unusual and sound: {what}", _fields(**fields), **SOUND)

    def sized(chunk_size, size):
        def forge(writer):
            writer.attach(WITH_NONE, b"sized", content(f"{size}", size), chunk_size=chunk_size)
            writer.commit()

        return forge

    for chunk_size, size in (
        (LEAST_CHUNK, 4095), (LEAST_CHUNK, 4096), (LEAST_CHUNK, 4097), (4097, 4098), (2**20, 2**20 + 1), (65_536, 2),
    ):
        for base in (BASE, PADDED):
            yield Attack(
                f"forged-attachment-sound-{size}-by-{chunk_size}{'' if base == BASE else '-padded'}", base,
                f"{size} bytes in chunks of {chunk_size}: sound", forge=sized(chunk_size, size), verify="ok",
                attachments={9: "ok"})


def _sizes():
    """Of a content that lies nobody takes memory before its chunks are there."""
    greatest = {"length": GREATEST - 1, "chunk_size": 2**20}
    for name, what, fields, options in (
        ("length-less", "a length less by one", {"length": 359}, CONTENT),
        ("length-more", "a length more by one", {"length": 361}, CONTENT),
        ("length-zero", "a length of 0", {"length": 0}, CONTENT),
        ("length-2-to-40", "a length of 2^40, and chunks of 64 KiB", {"length": GREATEST}, CONTENT),
        ("length-2-to-40-less-1", "a length of 2^40 - 1, and chunks of 1 MiB", greatest, CONTENT),
        ("length-above", "a length of 2^40 + 1", greatest | {"length": GREATEST + 1}, {}),
        ("length-2-to-63", "a length of 2^63", {"length": 2**63}, {}),
        ("length-greatest", "a length of 2^64 - 1", {"length": 2**64 - 1}, {}),
        ("chunks-2-to-24", "2^24 chunks of 4 KiB", {"length": LEAST_CHUNK * 2**24, "chunk_size": LEAST_CHUNK}, CONTENT),
        ("chunks-above", "a chunk more than 2^24", {"length": LEAST_CHUNK * 2**24 + 1, "chunk_size": LEAST_CHUNK}, {}),
        ("chunk-size-zero", "chunks of no bytes", {"chunk_size": 0}, {}),
        ("chunk-size-4095", "chunks of 4,095 bytes", {"chunk_size": LEAST_CHUNK - 1}, {}),
        ("chunk-size-above", "chunks of more than 1 MiB", {"chunk_size": 2**20 + 1}, {}),
        ("chunk-size-greatest", "chunks of 2^32 - 1 bytes", {"chunk_size": 2**32 - 1}, {}),
    ):
        yield _row(name, what, _fields(**fields), **options)
    yield _row(
        "length-2-to-40-padded", "a length of 2^40 - 1, which padding makes 2^40", _fields(length=GREATEST - 1), PADDED,
        **CONTENT)
    yield _row(
        "chunk-size-another", "another size than that of its chunks", _fields(chunk_size=8192), number=OF_THREE,
        **CONTENT)
    yield _row(
        "digest", "the digest of another content: its parts read, the whole does not", _fields(digest=bytes(32)),
        quick="ok", attachment_parts=((ONE, 0, 360, "ok"),), **CONTENT)


def _keys():
    def keys(*firsts, count=None):
        """Keys that begin at these chunks; `count` is the number that the row says."""

        def change(writer, row):
            _, key = row.keys[0]
            row.keys = [(first, key) for first in firsts]
            true = u8(len(firsts)) + b"".join(u32(first) + key for first in firsts)
            return None if count is None else lambda plain: plain[: -len(true)] + u8(count) + true[1:]

        return change

    for name, what, change in (
        ("none", "no keys", keys()), ("more-than-chunks", "65 keys for 3 chunks", keys(*range(65))),
        ("count-less", "a key more than the row says", keys(0, 1, count=1)),
        ("count-more", "a key less than the row says", keys(0, 1, count=3)),
        ("count-greatest", "255 keys, and one of them", keys(0, count=255)),
        ("first-1", "keys from chunk 1 on", keys(1)), ("equal", "two keys from one chunk on", keys(0, 1, 1)),
        ("fall", "keys that fall", keys(0, 2, 1)), ("at-end", "a key of a chunk behind the last", keys(0, 3)),
        ("far", "a key of the greatest chunk", keys(0, CHUNK_NUMBERS - 1)),
        ("greatest", "a key of chunk 2^32 - 1", keys(0, 2**32 - 1)),
    ):
        yield _row(f"keys-{name}", what, change, number=OF_THREE)

    def too_many(writer):
        """A key for each of 65 chunks."""
        row = writer.attach(WITH_NONE, b"65 keys", content("65 keys", 65 * LEAST_CHUNK), chunk_size=LEAST_CHUNK)
        row.keys = [(number, row.keys[0][1]) for number in range(65)]
        writer.seal_attachment(row)
        writer.commit()

    yield Attack(
        "forged-attachment-65-keys", BASE, "an attachment of 65 chunks and as many keys", forge=too_many, verify="damaged",
        attachments={9: "damaged"}, attachment_lists={WITH_NONE: "damaged"})
    yield _row(
        "keys-equal-bytes", "one key three times, for chunks that rise: sound for readers", keys(0, 1, 2), number=OF_THREE,
        **SOUND)
    yield _row(
        "keys-another", "another key than that of its chunks", _fields(keys=[(0, bytes(32))]), number=OF_THREE, quick="ok",
        **CONTENT)


def _dots():
    for name, what, fields in (
        ("born-zero", "its birth is the zero dot", {"born": (0, 0)}),
        ("name-zero", "its name has the zero dot", {"name_dot": (0, 0)}),
        ("born-counter-zero", "its birth has counter 0 of another replica", {"born": (1, 0)}),
        ("name-counter-2-to-48", "its name has a counter of 2^48", {"name_dot": (0, LAST + 1)}),
    ):
        yield _row(f"dots-{name}", what, _fields(**fields))
    for name, what, fields in (
        ("born-ahead", "born in a commit to come", {"born": (0, LAST)}),
        ("name-ahead", "a name of a commit to come", {"name_dot": (0, LAST)}),
        ("born-replica-5", "born in a replica that is not in the row", {"born": (5, 1)}),
        ("name-replica-5", "a name of a replica that is not in the row", {"name_dot": (5, 1)}),
    ):
        yield _row(f"dots-{name}", what, _fields(**fields), **DEEP)


def _documents():
    def of(name, what, sealed, column, lists, **options):
        return _row(
            f"document-{name}", what, _fields(document=sealed, column=column), attachment_lists=lists, **options)

    yield of("gone", "it belongs to a document that was deleted", GONE, GONE, {}, attachments={})
    yield of("in-column", "the column names another document than the row", WITH_THREE, WITH_ONE, {WITH_ONE: "damaged"})
    yield of("in-row", "the row names another document than the column", WITH_ONE, WITH_THREE, {WITH_THREE: "damaged"})
    # A row of a number that no document has had is none that the state knows.
    yield of(
        "above-bound", "it belongs to a document that is still to come", 1000, 1000, {1000: "damaged"}, verify="mismatch")
    yield of("greatest", "it belongs to document 2^64 - 1", 2**64 - 1, WITH_THREE, {WITH_THREE: "damaged"})

    def newer(writer, row):
        row.extension = {1: b"one", 0x8001: b"must be understood"}

    for name, number, place in (("newer", ONE, "first"), ("newer-last", OF_THREE, "last")):
        yield _row(
            name, f"an entry that must be understood: it alone is newer, and the {place} of its document's list", newer,
            number=number, attachments={number: "newer"}, attachment_lists={WITH_THREE: "newer"}, verify="ok")


def _uids():
    for name, what, uid in (
        ("of-document", "the uid of a document", lambda writer: writer.records[WITH_ONE].uid),
        ("of-its-document", "the uid of its own document", lambda writer: writer.records[WITH_THREE].uid),
        ("of-deletion", "the uid of a deletion", lambda writer: writer.deletions[1].uid),
        ("of-another", "the uid of another attachment", lambda writer: writer.attachments[NAMED].uid),
    ):
        yield _row(f"uid-{name}", what, lambda writer, row, uid=uid: setattr(row, "uid", uid(writer)), **DEEP)
    yield _row(
        "uid-of-collection", "the uid of a collection: sound",
        lambda writer, row: setattr(row, "uid", writer.collections[1].uid), **SOUND)


def _frames():
    def frame(name, what, odd):
        def forge(writer):
            row = writer.attachments[ONE]
            row.rev = writer.generation + 1
            true, writer.frame = writer.frame, lambda data, least: odd(true(data, least))
            writer.seal_attachment(row)
            del writer.frame
            writer.commit()

        return Attack(
            f"forged-attachment-frame-{name}", PADDED, f"attachment {ONE}: {what}", forge=forge, verify="damaged",
            attachments={ONE: "damaged"}, attachment_lists={WITH_THREE: "damaged"})

    yield frame("not-padded", "a frame without padding", lambda frame: frame[: 8 + int.from_bytes(frame[1:8], "big")])
    yield frame("padding-last", "a frame whose last byte is not zero", lambda frame: frame[:-1] + b"\1")
    yield frame("codec-1", "a frame of another codec", lambda frame: b"\1" + frame[1:])


def _states():
    def state(name, what, base=BASE, odd=None, **options):
        def forge(writer):
            writer.odd = odd
            writer.commit()

        return Attack(f"forged-state-{name}", base, what, forge=forge, **options)

    def counts(name, value, base=BASE, **options):
        what = f"the state counts {value} attachments"
        return state(f"attachment-count-{name}", what, base, {"attachment_count": value}, **options)

    def comes_next(name, value, **options):
        what = f"the next attachment is {value}"
        return state(f"next-attachment-{name}", what, odd={"next_attachment": value}, **options)

    # There are 6.
    for name, value in {
        "more": 7, "less": 5, "zero": 0, "2-to-39": LAST_ATTACHMENT, "2-to-40": 2**40, "above-limit": 2**40 + 1,
        "greatest": 2**63 - 1,
    }.items():
        yield counts(name, value)
    def forgotten(writer):
        """A state of no attachments, and the rows of all."""
        rows, writer.attachments = writer.attachments, {}
        writer.odd = {"next_attachment": 1}
        writer.commit()
        writer.attachments = rows

    yield Attack(
        "forged-state-attachments-forgotten", BASE, "the state has had no attachments, and their rows are there",
        forge=forgotten, attachments=dict.fromkeys((1, 2, 3, 4, 5, 8), "damaged"),
        attachment_lists=dict.fromkeys((1, 2, 3), "damaged"),
        # A list may ask the state's count first.
        also={f"list_attachments_{id}": ["ok"] for id in (1, 2, 3)})
    yield counts("negative", 2**63, open="damaged")
    yield counts("without-tables", 1, "sealed", open="damaged")
    yield comes_next("without-tables", 2, base="sealed", open="damaged")
    for name, value in {"zero": 0, "above": LAST_ATTACHMENT + 1, "negative": 2**63}.items():
        yield comes_next(name, value, open="damaged")
    for name, value in {"high": 1000, "greatest": LAST_ATTACHMENT}.items():
        yield comes_next(name, value, verify="ok", put="ok")
    yield comes_next("low", 8, attachments={8: "damaged"}, attachment_lists={2: "damaged"})
    yield comes_next(
        "one", 1, attachments=dict.fromkeys((1, 2, 3, 4, 5, 8), "damaged"),
        attachment_lists=dict.fromkeys((1, 2, 3), "damaged"))
