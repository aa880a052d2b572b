"""The content hash, from FORMAT.md alone."""

import hashlib

from storereader.primitives import hkdf, hmac, i64, pae, u8, u32

from . import layout


def content_hash(writer):
    key, total = hkdf(writer.family, b"", b"coffer3/content"), 0
    for element in elements(writer):
        total = layout.add_lanes(total, layout.lanes(hmac(key, element)))
    return hashlib.sha256(total.to_bytes(layout.SET_HASH_SIZE, "little")).digest()


def elements(writer):
    for record in writer.records.values():
        yield document(writer, record)
    for row in writer.collections.values():
        if writer.is_listed(row):
            yield pae(b"coffer3/content-collection", row.uid, row.name, row.settings)


def document(writer, record):
    attached = [row for row in writer.attachments.values() if row.document == record.id]
    attached.sort(key=lambda row: row.uid)
    return pae(
        b"coffer3/content", record.uid, hashlib.sha256(record.text).digest(), u32(record.flags & layout.IS_VALUE),
        _optional(writer.title(record)), _optional(record.key), record.attributes, writer.collections[record.coll].uid,
        _optional(record.parent_uid), i64(record.created), i64(record.modified),
        *(pae(row.uid, row.name, row.media_type, i64(row.date), row.digest) for row in attached))


def _optional(value):
    return u8(0) if value is None else u8(1) + value
