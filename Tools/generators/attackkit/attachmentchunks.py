"""Chunks sealed by a holder of an attachment's keys or of older ones, and rows by a holder of an old epoch's key.

The row's SHA-256 alone binds a content against such a holder, so a read of the whole and a full verify tell, and a read of
a part does not.
"""

from storereader.primitives import label16, u8, u32, u64

from . import sametag
from .attachmentstores import DELETED, LEAST_CHUNK, OF_THREE, OF_TWO, ONE, THREE, TWO, WITH_NONE, content
from .attack import Attack
from .keys import Random
from .sametag import LONG_TRUE

BASE, PADDED, REKEY = "attachments", "attachments-padded", "attachments-mid-rekey"


def attacks(kit):
    yield from _chunks()
    yield from _forged_chunks()
    yield from _old_epoch()
    yield _same_tag_row()
    yield _same_tag_chunk()


def _chunk(name, what, change, base=BASE, number=OF_THREE, **options):
    """`change` takes the writer and the row, and seals chunks; nothing that is summed changes."""

    def forge(writer):
        writer.random = Random(f"forged chunk {name}")
        change(writer, writer.attachments[number])

    return Attack(
        f"forged-chunk-{name}", base, f"attachment {number}: {what}", forge=forge,
        **{"attachments": {number: "damaged"}, "verify": "damaged", "quick": "ok"} | options)


def _data(row, index):
    return row.content[index * row.chunk_size :][: row.chunk_size]


def _chunks():
    def sealed(index, is_last, data=None):
        def change(writer, row):
            row.chunks[index] = writer.sealed_chunk(row, index, _data(row, index) if data is None else data, is_last)

        return change

    def under(label=b"coffer3/chunk", number=OF_THREE, index=0, is_last=0, store_id=None):
        """Chunk 0, bound to something else."""

        def change(writer, row):
            data = label16(label) + (store_id or writer.store_id) + u64(number) + u32(index) + u8(is_last)
            row.chunks[0] = writer.xseal(row.keys[0][1], data, _data(row, 0))

        return change

    yield _chunk("last-flag-of-first", "the first chunk says that it is the last", sealed(0, True))
    yield _chunk("last-flag-of-last", "the last chunk says that it is not the last", sealed(2, False))
    for name, what, change in (
        ("label", "another label", under(label=b"coffer3/body")), ("number", "another attachment", under(number=OF_TWO)),
        ("index", "another chunk", under(index=1)), ("flag-2", "a flag of 2", under(is_last=2)),
        ("store", "another store", under(store_id=bytes(16))),
    ):
        yield _chunk(f"of-{name}", f"its first chunk is bound to {what}", change)
    part = ((OF_THREE, 0, 4096, "ok"), (OF_THREE, 4096, THREE, "ok"))
    yield _chunk(
        "another", "another first chunk under its key: a part reads, the whole does not",
        sealed(0, False, content("forged", LEAST_CHUNK)), attachment_parts=part)
    yield _chunk(
        "longer", "a last chunk that is longer, with zeros",
        sealed(2, True, content("three", THREE)[2 * LEAST_CHUNK :].ljust(2048, b"\0")), quick="damaged")

    def padding(writer, row):
        data = writer.padded_content(row)[2 * LEAST_CHUNK : -1] + b"\1"
        row.chunks[2] = writer.sealed_chunk(row, 2, data, True)

    yield _chunk(
        "padding", "the last byte of its padding is not zero", padding, PADDED, attachment_parts=(
            (OF_THREE, 0, 4096, "ok"), (OF_THREE, 8192, THREE, "damaged")))

    def padding_chunk(byte):
        """262,145 bytes: the last chunk is padding alone."""

        def forge(writer):
            row = writer.attach(WITH_NONE, b"padded", content("padded", 2**18 + 1), chunk_size=LEAST_CHUNK)
            row.chunks[65] = writer.sealed_chunk(row, 65, bytes(LEAST_CHUNK - 1) + bytes([byte]), True)
            writer.commit()

        return forge

    part = ((9, 2**18 - 1, 2**18 + 1, "ok"),)
    yield Attack(
        "forged-chunk-of-padding-alone", PADDED, "a last chunk that is padding alone: sound", forge=padding_chunk(0),
        attachments={9: "ok"}, attachment_parts=part, verify="ok")
    yield Attack(
        "forged-chunk-of-padding-alone-not-zero", PADDED,
        "a last chunk that is padding alone, and not zero: parts of the content read, the whole does not",
        forge=padding_chunk(1), attachments={9: "damaged"}, attachment_parts=part, verify="damaged", quick="ok")

    def unpadded(writer, row):
        row.chunks[2] = writer.sealed_chunk(row, 2, _data(row, 2), True)

    yield _chunk("unpadded", "its last chunk has no padding", unpadded, PADDED, quick="damaged")

    def shorter(writer, row):
        """Cut where a chunk ends, by somebody who also changes the last flag."""
        row.chunks[1] = writer.sealed_chunk(row, 1, _data(row, 1), True)
        del row.chunks[2]

    yield _chunk(
        "cut-with-flag", "the last chunk is missing, and the one before says that it is the last", shorter,
        quick="damaged")


def _forged_chunks():
    """By a holder of the keys of before, in the middle of a rekey: two chunks of three are sealed again."""

    def forged(index):
        def change(writer, row):
            _, old = row.keys[-1]
            data = content("forged", len(_data(row, index)))
            row.chunks[index] = writer.sealed_chunk(row, index, data, index == writer.chunk_count(row) - 1, old)

        return change

    yield _chunk(
        "with-old-key", "a chunk ahead of the rekey, forged with the old key: a part reads, the whole does not",
        forged(2), REKEY, attachment_parts=((OF_THREE, 0, 8192, "ok"), (OF_THREE, 8192, THREE, "ok")))
    yield _chunk(
        "with-old-key-of-untouched", "a chunk of an attachment that the rekey has not reached, forged with its key",
        forged(0), REKEY, OF_TWO, attachment_parts=((OF_TWO, 0, TWO, "ok"),))
    yield _chunk(
        "with-old-key-behind", "a chunk that the rekey has passed, forged with the old key", forged(1), REKEY,
        attachment_parts=((OF_THREE, 0, 4096, "ok"), (OF_THREE, 4096, 4097, "damaged"), (OF_THREE, 8192, THREE, "ok")))


def _old_epoch():
    """Rows have no column for an epoch: it's the active one."""

    def forge(writer, act):
        writer.random = Random("forged attachment")
        active, writer.active = writer.active, 1
        act(writer)
        writer.active = active

    def renamed(writer):
        row = writer.attachments[OF_TWO]
        row.name = b"forged"
        writer.seal_attachment(row)

    def planted(writer):
        next_attachment, changes = writer.next_attachment, writer.changes
        writer.next_attachment = DELETED
        row = writer.attach(WITH_NONE, b"planted", b"planted")
        row.rev = writer.generation
        writer.seal_attachment(row)
        writer.next_attachment, writer.changes = next_attachment, changes

    yield Attack(
        "closed-epoch-attachment", REKEY, "an attachment's row of epoch 1, with another name",
        forge=lambda writer: forge(writer, renamed), attachments={OF_TWO: "damaged"}, attachment_lists={2: "damaged"})
    yield Attack(
        "closed-epoch-attachment-planted", REKEY, "an attachment planted by a holder of the old epoch's key",
        forge=lambda writer: forge(writer, planted), attachments={DELETED: "damaged"},
        attachment_lists={WITH_NONE: "damaged"})


def _same_tag_row():
    def forge(writer):
        writer.rename_attachment(ONE, LONG_TRUE)
        writer.commit()
        row = writer.attachments[ONE]
        data = label16(b"coffer3/attach") + writer.store_id + u64(row.number) + u32(writer.active) + u64(row.rev)
        row.sealed, plain = sametag.exchanged(writer.epoch_key(b"name", writer.active), row.sealed, data, LONG_TRUE)
        row.name = sametag.found(plain, LONG_TRUE)

    return Attack(
        "same-tag-attachment", BASE,
        f"attachment {ONE}: another name with the same tag, by a holder of the active epoch's key", forge=forge)


def _same_tag_chunk():
    def forge(writer):
        true = writer.attach(WITH_NONE, b"forged", LONG_TRUE.ljust(TWO), chunk_size=LEAST_CHUNK)
        writer.commit()
        binding = writer.chunk_binding(true, 0, False)
        true.chunks[0], _ = sametag.exchanged(true.keys[0][1], true.chunks[0], binding, LONG_TRUE)

    return Attack(
        "same-tag-chunk", BASE, "a chunk with another content and the same tag, by a holder of the attachment's key",
        forge=forge, attachments={9: "damaged"}, attachment_parts=((9, 0, TWO, "ok"),), verify="damaged", quick="ok")
