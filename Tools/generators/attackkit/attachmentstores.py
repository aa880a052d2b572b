"""Sound stores with attachments: padded or not, renamed and removed ones, from a merge, and during changes of keys."""

import hashlib

from .dots import DocumentDots
from .keys import Random
from .starting import FOLDED, created, only_key, started, usual_slots

LEAST_CHUNK = 4096
# Bytes of a content of three chunks, the last of which is shorter, and of two whole ones.
THREE, TWO = 10_000, 2 * LEAST_CHUNK
FILE_DATE = 1_600_000_000_123
UNICODE_NAME = "Zeichnung \u2013 \u56f3\u9762 \U0001f469\u200d\U0001f469\u200d\U0001f467.svg".encode()
# The numbers of attachments: of one chunk; empty; of three chunks; of two; with a Unicode name; removed, with its chunks
# left over; deleted with its document; brought by a merge, with the name of another.
ONE, EMPTY, OF_THREE, OF_TWO, NAMED, REMOVED, DELETED, MERGED = range(1, 9)
# The documents that have them.
WITH_THREE, WITH_TWO, WITH_ONE, WITH_NONE, GONE = range(1, 6)


def content(label, size):
    """Bytes that no compression shortens."""
    return hashlib.shake_128(label.encode()).digest(size)


def attach(writer):
    """Four documents, three with attachments. Yields after each commit."""
    yield "created", writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, "L\u00e4nder".encode(), FOLDED)
    writer.add(1, "With three files.", title=b"one", key=b"k1")
    writer.add(1, "With two files.", title=b"two")
    writer.add(2, "With one file.", title="\u9898\u540d".encode())
    writer.add(1, "Without files.", title=b"four")
    writer.add(1, "Deleted with its file.", title=b"five")
    writer.commit()
    short = {"chunk_size": LEAST_CHUNK}
    writer.attach(WITH_THREE, b"report.txt", b"An attached text. " * 20, b"text/plain", date=FILE_DATE)
    writer.attach(WITH_THREE, b"empty", b"")
    writer.attach(WITH_THREE, b"three.bin", content("three", THREE), b"application/octet-stream", **short)
    writer.attach(WITH_TWO, b"two.bin", content("two", TWO), b"application/octet-stream", **short)
    writer.attach(WITH_ONE, UNICODE_NAME, b"x", b"image/svg+xml", date=-1)
    writer.attach(WITH_TWO, b"removed.bin", content("removed", TWO), **short)
    writer.attach(GONE, b"deleted.bin", content("deleted", 100))
    yield "filled", writer.commit()
    writer.rename_attachment(OF_THREE, b"renamed.bin")
    yield "renamed", writer.commit()
    writer.remove_attachment(REMOVED, keeps_chunks=True)
    writer.delete(GONE)
    yield "removed", writer.commit()
    east = writer.learn(hashlib.sha256(b"east").digest()[:16], 9, 12)
    writer.attach(
        WITH_TWO, b"two.bin", content("merged", 300), b"text/plain;charset=utf-8", born=(east, 4), name_dot=(east, 7),
        extension={1: b"of a file", 0xFF: b""})
    yield "last", writer.commit()


def histories(seed):
    made = {}
    for name, options in {
        "attachments": {"padded": False}, "attachments-padded": {}, "attachments-other": {"padded": False},
    }.items():
        made[name] = {label: writer.copy() for label, writer in attach(created(f"{seed}/{name}", **options))}
    made["attachments-mid-rekey"] = _rekey(made["attachments"]["last"].copy(), f"{seed}/attachments-mid-rekey")
    return made


def _rekey(writer, seed):
    """A rekey up to the second chunk of the attachment of three; a file was attached meanwhile."""
    writer.random = Random(seed)
    moments = {"before": writer.copy()}
    writer.change_root(usual_slots)
    moments["begun"] = writer.commit().copy()
    writer.reseal(*sorted(writer.records))
    moments["records"] = writer.commit().copy()
    writer.attach(WITH_NONE, b"meanwhile.txt", b"Attached during the rekey.", b"text/plain")
    for number in (ONE, EMPTY):
        writer.reseal_chunks(number, 1)
    writer.reseal_chunks(OF_THREE, 1)
    moments["first-chunk"] = writer.commit().copy()
    writer.reseal_chunks(OF_THREE, 1)
    moments["last"] = writer.commit().copy()
    return moments


def _end(writer):
    for number, row in writer.attachments.items():
        while row.key_epoch < writer.target or len(row.keys) > 1:
            writer.reseal_chunks(number, 2)
            writer.commit()
    writer.end_rekey()
    return writer.commit()


def _rekeys(seed, made):
    def from_middle(name):
        writer = made["attachments-mid-rekey"]["last"].copy()
        writer.random = Random(seed(name))
        return writer

    # A second rekey begins in the middle of the first, so that three keys are in use.
    writer = from_middle("attachments-taken-over")
    writer.change_root(usual_slots)
    writer.commit()
    writer.reseal(*sorted(writer.records))
    for number in (ONE, EMPTY):
        writer.reseal_chunks(number, 1)
    writer.reseal_chunks(OF_THREE, 1)
    yield "attachments-taken-over", writer.commit()

    yield "attachments-rekeyed", _end(from_middle("attachments-rekeyed"))

    # As many keys as a row may hold, one for each chunk: 63 rekeys took over before they had passed it.
    writer = started(b"Notes", seed("attachments-64-keys"), only_key, page_size=8192)
    writer.add(1, "text", title=b"t")
    row = writer.attach(1, b"64 keys", content("64 keys", 64 * LEAST_CHUNK), chunk_size=LEAST_CHUNK)
    row.keys = [(number, writer.random(32)) for number in range(64)]
    writer.seal_chunks(row, range(64))
    writer.seal_attachment(row)
    writer.commit()
    writer.change_root(only_key)
    yield "attachments-64-keys", writer.commit()


def _shapes(seed, made):
    # The tables are there, and no attachment is any more. The one that a transaction attached and removed left no deletion.
    writer = started(b"Notes", seed("attachments-none"), only_key)
    writer.add(1, "text", title=b"t")
    writer.commit()
    writer.attach(1, b"removed", b"content")
    writer.commit()
    writer.remove_attachment(1)
    writer.attach(1, b"attached and removed", b"content")
    writer.remove_attachment(2)
    yield "attachments-none", writer.commit()

    # A later version wrote an entry that must be understood.
    writer = started(b"Notes", seed("newer-attachment"), only_key)
    writer.add(1, "Readable.", title=b"one")
    writer.add(1, "Readable, and its files.", title=b"two")
    writer.attach(1, b"for a later version", b"content", extension={1: b"may be ignored", 0x8001: b"must be understood"})
    writer.attach(1, b"beside it", b"content")
    writer.attach(2, b"elsewhere", b"content")
    yield "newer-attachment", writer.commit()

    # The other store of a merge has other ids, positions, dots and numbers, another root key and the same contents.
    writer = created(seed("attachments-editable"), only_key)
    original = made["attachments"]["last"]
    writer.family = original.family
    writer.commit()
    for coll, row in original.collections.items():
        writer.add_collection(coll, row.name, row.settings)
    ids = {}
    for record in reversed(original.records.values()):
        copied = writer.add(
            record.coll, record.text, uid=record.uid, title=record.title, key=record.key, created=record.created,
            modified=record.modified, dots=DocumentDots(writer.now))
        ids[record.id] = copied.id
    for row in reversed(original.attachments.values()):
        copied = writer.attach(ids[row.document], row.name, row.content, row.media_type, date=row.date)
        copied.uid = row.uid
        writer.seal_attachment(copied)
    yield "attachments-editable", writer.commit()


MAKERS = (_rekeys, _shapes)
