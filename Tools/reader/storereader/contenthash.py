"""FORMAT, "Content hash": equal in stores that share a family key and have equal contents."""

import hashlib

from . import attachments
from .errors import Damaged, Newer
from .primitives import SetHash, hkdf, hmac, i64, pae, u8, u32
from .records import IS_VALUE, RecordRow


def content_hash(store):
    """SHA-256 of the sum; raises at a row that is damaged, or newer than this reader."""
    return content_hash_of(store.family_key, _documents(store), store.collections().values())


def content_hash_of(family_key, documents, collections):
    """SHA-256 of the sum over quadruples of flags, head, collection and attachments, and over collections."""
    key, sums = hkdf(family_key, b"", b"coffer3/content"), SetHash()
    for document in documents:
        sums.add(hmac(key, _document(*document)))
    for collection in collections:
        sums.add(hmac(key, pae(
            b"coffer3/content-collection", collection.uid, collection.name.encode(), collection.settings.encode())))
    return hashlib.sha256(sums.total()).digest()


def _documents(store):
    collections, attached = store.collections(), _attached(store)
    for values in store.record_rows():
        row = RecordRow(values, store.context)
        head = row.open_head()
        if head.is_newer:
            raise Newer(f"document {row.id}: newer than this reader")
        if row.coll not in collections:
            raise Damaged(f"document {row.id}: its collection is gone")
        yield row.flags, head, collections[row.coll], attached.get(row.id, [])


def _attached(store):
    """The attachments by the ids of their documents."""
    found = {}
    for values in store.attachment_rows():
        attachment = attachments.AttachmentRow(values, store.context).open()
        if attachment.is_newer:
            raise Newer(f"attachment {attachment.number}: newer than this reader")
        found.setdefault(attachment.document, []).append(attachment)
    return found


def _document(flags, head, collection, attached):
    title = None if head.title is None else head.title.encode()
    return pae(
        b"coffer3/content", head.uid, head.digest, u32(flags & IS_VALUE), _optional(title), _optional(head.key),
        head.attributes.encode(), collection.uid, _optional(head.parent), i64(head.created), i64(head.modified),
        *(pae(one.uid, one.name.encode(), one.media_type.encode(), i64(one.date), one.digest)
          for one in sorted(attached, key=lambda one: one.uid)))


def _optional(value):
    return u8(0) if value is None else u8(1) + value
