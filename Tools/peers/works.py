"""The works on a store, and the shapes of their stores.

Does: lists them. Knows: the names of each work on our side and on SQLite's. Does not know: how they are run.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """A store that works start from."""

    documents: int
    text_bytes: int = 1024
    collections: int = 1


@dataclass(frozen=True)
class Work:
    what: str
    # The content of the file at the start: documents by "insert", with "clear" titles, by "values", or "none".
    start: str
    # A number, or "all" or "tenth" of the documents.
    count: object
    # ours / plain
    limit: object = None
    is_unchanged: bool = False
    # Names in coffer-bench and in works.c, if they differ.
    ours: str = ""
    plain: str = ""
    # The call of the library, if the work is one that people write rather than the fastest way.
    calls: str = ""
    # Peers have no such work.
    is_ours_alone: bool = False
    # The store's shape where it isn't that of the other works.
    shape: Shape = None

    def shape_of(self, shape):
        return self.shape or shape

    def count_of(self, documents):
        documents = self.shape.documents if self.shape else documents
        return {"all": documents, "tenth": max(documents // 10, 1)}.get(self.count, self.count)

    @property
    def titles(self):
        return "clear" if self.start == "clear" else "sealed"


# The works of attachments, beside plain SQLite with the same rows of chunks.
ATTACHMENT_WORKS = ["attach", "attach-read", "attach-range"]
# Those that are also measured beside plain files with the same contents.
FILE_WORKS = {
    "attach": "attach 1 GiB, 10 MiB each (beside writing files)",
    "attach-read": "read 1 GiB of attachments (beside reading files)",
}
# Lists of documents of which some have an attachment, beside the same documents without any: the work, what they are, the
# store, the ratio to hold.
LISTS = [
    ("list", "list titles, 1 of 1,000 with a file (beside none)", "attached-few", 1.1),
    ("pages", "list by pages, 1 of 1,000 with a file (beside none)", "attached-few", 1.1),
    ("list", "list titles, 1 of 10 with a file (beside none)", "attached-many", None),
]
# The file of attachments of 10 MiB, beside the bytes of their contents: the ratio to hold.
FILE_LIMIT = 1.02

# Attachments of 10 MiB, 1 GiB in all; each is a text of the other works.
ATTACHMENTS = Shape(102, 10 << 20)


def _named(works):
    return {name: replace(work, ours=work.ours or name, plain=work.plain or name) for name, work in works.items()}


WORKS = _named({
    "insert": Work("bulk insert, one transaction", "none", "all", 1.1),
    "insert-each": Work(
        "insert, a call for each document", "none", "all", 1.6, plain="insert",
        calls="tx.insert(Document(title: title, text: text), into: notes)"),
    "insert-sequence": Work(
        "insert a sequence of documents", "none", "all", 1.6, plain="insert",
        calls="tx.insert(contentsOf: documents, into: notes)"),
    "commit": Work("single durable commits", "insert", 300, 1.25),
    "get": Work("random get by id, one read transaction", "insert", "all", 1.8, True),
    "get-again": Work("get again what was read before", "insert", "all", 0.15, True),
    "list-clear": Work("list every title, clear, proved", "clear", "all", 1.5, True, "list", "list"),
    "list-unproved": Work("list every title, clear, without a key", "clear", "all", 0.4, True, plain="list"),
    "list": Work("list every title, sealed", "insert", "all", 1.5, True),
    "read": Work("read every text", "insert", "all", 1.4, True),
    "search": Work("find a word in every text (beside memmem)", "insert", "all", None, True),
    "search-folded": Work(
        "find a word without regard to case (beside memmem)", "insert", "all", None, True, plain="search"),
    "search-regex": Work("find a regular expression (beside memmem)", "insert", "all", None, True, plain="search"),
    "update": Work("update at random, one transaction", "insert", "tenth", 1.6),
    "move": Work("move beside another at random (beside an UPDATE each)", "insert", "tenth", 3.0),
    "top": Work("insert at the top, a call for each document", "insert", "tenth", 3.0),
    "find": Work("look up a key (beside a SELECT of the row)", "insert", "all", 1.6),
    "find-id": Work("look up a key (beside a SELECT of the index alone)", "insert", "all", ours="find"),
    "key": Work("change the key (beside one commit each)", "insert", 50, plain="commit", is_ours_alone=True),
    "rewrite": Work("re-encrypt everything (beside an UPDATE of every text)", "insert", "all", 1.3),
    "verify": Work("verify (beside integrity_check and reading all)", "insert", "all", 1.7, True),
    "get-each": Work(
        "get by id at random, a read each", "insert", "all", None, True, calls="store.read { try $0.text(of: id) }"),
    "pages": Work(
        "list by pages of 50, a read each", "insert", "all", None, True,
        calls="store.read { try $0.headers(in: notes, after: last, limit: 50) }"),
    "values": Work(
        "insert Codable values, key and three attributes", "none", "all", 2.5,
        calls="tx.insert(note, into: notes, key: key, attributes: attributes)"),
    "values-sequence": Work(
        "insert a sequence of Codable values, key and three attributes", "none", "all", 1.8, plain="values",
        calls="tx.insert(contentsOf: notes, into: notes, key: { … }, attributes: { … })"),
    "values-get": Work(
        "get a value by its key", "values", "all", 2.5, True, calls="tx.value(Note.self, forKey: key, in: notes)"),
    "values-read": Work("read every value", "values", "all", 3.5, True, calls="tx.values(Note.self, in: notes)"),
    "values-put": Work(
        "replace values by their keys", "values", "tenth",
        calls="tx.put(note, into: notes, key: key, attributes: attributes)"),
    "attach": Work(
        "attach 1 GiB, 10 MiB each (beside the same rows of chunks)", "none", "all", 1.4, shape=ATTACHMENTS,
        calls="tx.attach(.bytes(bytes), to: id, name: name)"),
    "attach-read": Work(
        "read 1 GiB of attachments", "attach", "all", 1.25, True, shape=ATTACHMENTS,
        calls="tx.forEachPart(of: attachment) { part in … }"),
    "attach-range": Work(
        "read 4 KiB of an attachment at random", "attach", 5000, 3.0, True, shape=ATTACHMENTS,
        calls="tx.content(of: attachment, in: range)"),
})

FAST = [name for name, work in WORKS.items() if not work.calls]
ORDINARY = [name for name, work in WORKS.items() if work.calls]

CURVE_WORKS = ["insert", "get", "list", "read", "update"]
# At most so many gets and updates for a point of a curve.
CURVE_COUNT = 100_000
# name: (title, axis, its values and the shape of each; factor makes all smaller for a trial)
CURVES = {
    "documents": ("Number of documents, 1 KiB each", "documents", lambda factor: {
        count: Shape(count) for count in (int(power * factor) for power in (1e3, 1e4, 1e5, 1e6)) if count >= 10}),
    "text": ("Size of a text, 256 MiB of texts in all", "bytes of a text", lambda factor: {
        size: Shape(max(int((256 << 20) * factor) // size, 1), size)
        for size in (100, 1 << 10, 10 << 10, 100 << 10, 1 << 20)}),
    "collections": ("Number of collections, 200,000 documents of 1 KiB in all", "collections", lambda factor: {
        count: Shape(int(200_000 * factor), 1024, count) for count in (1, 10, 100, 1000)}),
}
