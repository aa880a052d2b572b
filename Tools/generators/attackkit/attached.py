"""The attachments of a store that is written: their rows and chunks."""

import hashlib
from dataclasses import dataclass, field

from storereader.primitives import i64, label16, padme, u8, u32, u64

from . import dots, layout
from .layout import ATTACHMENTS, CHUNK_NUMBERS, DETAILS, PADDED

# The chunk size that writers choose.
CHUNK_SIZE = 65_536


@dataclass
class Attachment:
    """A row with its content. `keys` are pairs of a chunk's number and the key from it on; `chunks` are the sealed ones."""

    number: int
    document: int
    rev: int
    uid: bytes
    born: tuple
    name_dot: tuple
    name: bytes
    media_type: bytes
    content: bytes
    key_epoch: int
    keys: list
    chunk_size: int = CHUNK_SIZE
    date: int = 1_700_000_000_000
    # Of a hostile row: the length, the digest and the column of the document.
    length: int = None
    digest: bytes = None
    column: int = None
    sealed: bytes = b""
    chunks: dict = field(default_factory=dict)
    # The entries of the extension part, by type.
    extension: dict = field(default_factory=dict)

    def __post_init__(self):
        self.length = len(self.content) if self.length is None else self.length
        self.digest = self.digest or hashlib.sha256(self.content).digest()
        self.column = self.column or self.document


class Attaching:
    """The acts of a writer on attachments. The first one makes a store one with attachments."""

    def attach(self, document, name, content, media_type=b"", born=None, name_dot=None, **fields):
        self.incompat |= ATTACHMENTS
        number, self.next_attachment = self.next_attachment, self.next_attachment + 1
        born = born or self.now
        row = self.attachments[number] = Attachment(
            number, document, self.generation + 1, self.random(16), born, name_dot or born, name, media_type, content,
            self.active, [(0, self.random(32))], **fields)
        self.seal_chunks(row, range(self.chunk_count(row)))
        self.seal_attachment(row)
        self._note_attachments(document)
        return row

    def rename_attachment(self, number, name):
        row = self.attachments[number]
        row.name, row.name_dot, row.rev = name, self.now, self.generation + 1
        self.seal_attachment(row)
        self._note_attachments(row.document)

    def remove_attachment(self, number, keeps_chunks=False):
        """An attachment of this transaction leaves no deletion. Chunks that are kept are left over."""
        row = self.attachments.pop(number)
        if keeps_chunks:
            self.left_over |= {self.chunk_number(row, index): ct for index, ct in row.chunks.items()}
        if row.born != self.now:
            self.add_deletion(row.uid, [self.now], self.now)
        self._note_attachments(row.document)

    def _note_attachments(self, document):
        self._note(DETAILS, self.records[document].coll, document)

    # Rows and chunks.

    def attachment_plain(self, row):
        return (
            u64(row.document) + row.uid + dots.encoded(row.born) + dots.encoded(row.name_dot) + i64(row.date)
            + u32(len(row.name)) + row.name + u32(len(row.media_type)) + row.media_type + u64(row.length) + row.digest
            + u32(row.chunk_size) + u32(row.key_epoch) + u8(len(row.keys))
            + b"".join(u32(first) + key for first, key in row.keys) + layout.extension_part(row.extension)
        )

    def seal_attachment(self, row, plain=None):
        plain = self.attachment_plain(row) if plain is None else plain
        row.sealed = self._sealed_row(b"coffer3/attach", row.number, row.rev, plain)

    def padded_content(self, row):
        size = len(row.content)
        return row.content.ljust(padme(size), b"\0") if self.incompat & PADDED and size > 1 else row.content

    def chunk_count(self, row):
        return max(1, -(-len(self.padded_content(row)) // row.chunk_size))

    @staticmethod
    def chunk_number(row, index):
        return row.number * CHUNK_NUMBERS + index

    def seal_chunks(self, row, indices):
        content, last = self.padded_content(row), self.chunk_count(row) - 1
        for index in indices:
            data = content[index * row.chunk_size :][: row.chunk_size]
            row.chunks[index] = self.sealed_chunk(row, index, data, index == last)

    def sealed_chunk(self, row, index, data, is_last, key=None):
        key = key or next(key for first, key in reversed(row.keys) if first <= index)
        return self.xseal(key, self.chunk_binding(row, index, is_last), data)

    def chunk_binding(self, row, index, is_last):
        return label16(b"coffer3/chunk") + self.store_id + u64(row.number) + u32(index) + u8(is_last)

    # Changing keys.

    def reseal_chunks(self, number, count):
        """A batch of a rekey. The first one draws a key; keys that no chunk has any more leave the row."""
        row = self.attachments[number]
        chunks = self.chunk_count(row)
        if row.key_epoch < self.target:
            key, start, older = self.random(32), 0, row.keys
            row.key_epoch = self.active
        else:
            (_, key), *older = row.keys
            start = older[0][0]
        end = min(start + count, chunks)
        row.keys = [(0, key)]
        self.seal_chunks(row, range(start, end))
        ends = [first for first, _ in older[1:]] + [chunks]
        row.keys += [(max(first, end), its_key) for (first, its_key), its_end in zip(older, ends) if its_end > end]
        self.seal_attachment(row)
