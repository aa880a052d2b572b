"""The permitted results of damage.

Always: no text, title, number or place that the library gives out differs from the stored one; every error is one that
the library's page names; reading leaves the file as it was, and no file beside it; it takes at most a second of CPU
time; and if a document can't be read, or a list or lookup misses one, verify reports that.
Further rules depend on the use of the damaged bytes:

- values of a document: that document is refused and verify names it; every other one is read by its number and its key;
- values of the header, a slot, the state or the replicas: the store is refused;
- values of a collection or a deletion, or an index of SQLite: every document is read by its number, and verify reports
  a fault;
- values of an attachment's row or of a chunk: every document is read and listed, that attachment is refused, every other
  one is read by its number, and verify reports a fault;
- a sealed index: every document is read and listed, verify reports a fault, and searches and queries answer as before,
  or not at all where the root is damaged;
- structure (the bytes by which SQLite finds rows) of a page of documents: every other document is read as before;
- structure of any other page, SQLite's header, its schema: only the rules above hold;
- bytes that nothing points to: everything is read.
"""

from .pages import FREE, INDEX, VALUES

DOCUMENTS = {"coffer_record", "coffer_body"}
INDEXES = {"coffer_x_index", "coffer_x_index_page"}
ATTACHMENTS = {"coffer_attachment", "coffer_chunk"}
# The bits of a chunk's number below that of its attachment.
CHUNK_BITS = 24
HEADS = {"coffer_header", "coffer_slot", "coffer_state", "coffer_replica"}
OPENING = {
    "ok", "damaged", "notAStore", "otherFormat", "cannotUnlock", "parametersRefused", "testKeyRefused", "rolledBack"}
READING = {
    "ok", "damaged", "noSuchDocument", "noSuchCollection", "noSuchAttachment", "partial", "missing"}
# Whatever reads a whole collection compares the number of rows at its end.
WALKING = READING | {"setMismatch"}
SECONDS = 1.0


def violations(found, store, edit):
    """The parts of a finding (the judge's answer to `edit`) that are not permitted, in words."""
    _, length, patches = edit
    said = list(always(found))
    regions = [
        region for offset, data in patches for region in store.within(offset, min(offset + len(data), len(store.bytes)))]
    if not patches or length != len(store.bytes):
        if length < len(store.bytes) and found["open"] == "ok" and found["verify"] == "ok":
            said.append("a file that was cut short is sound")
        return said
    return said + list(by_region(found, store, regions, patches))


def is_unharmed(found):
    return found["open"] == "ok" and not (
        found["documents"] or found["lists"] or found["keys"] or found["others"] or found["answers"]
        or found["attachments"] or found["attached"])


def always(found):
    for what, part in (
            ("document", "documents"), ("lookup of document", "keys"), ("attachment", "attachments"),
            ("attachments of document", "attached")):
        yield from (f"{what} {id}: {end}" for id, end in found[part].items() if end not in READING)
    for name, listing in found["lists"].items():
        for kind, walk in listing.items():
            if walk["different"] or walk["end"] not in WALKING:
                yield f"{kind} of {name}: {walk['end']}, different: {walk['different']}"
    for question, end in found["answers"].items():
        if end not in WALKING | {"noIndex", "invalidArgument"}:
            yield f"{question}: {end}"
    for other in found["others"]:
        if not other.endswith((" damaged", " missing")):
            yield f"other: {other}"
    if found["open"] not in OPENING:
        yield f"opening ends with {found['open']}"
    elif found["open"] == "ok":
        if found["verify"] not in ("ok", "mismatch", "damaged", "threw damaged"):
            yield f"verify: {found['verify']}"
        if not is_unharmed(found) and found["verify"] == "ok":
            yield "something is missing, and verify finds nothing"
    if found["left"]:
        yield f"left behind: {found['left']}"
    if found["seconds"] > SECONDS:
        yield f"took {found['seconds']:.2f} s"


def by_region(found, store, regions, patches):
    if all(region.kind == FREE for region in regions):
        if not is_unharmed(found):
            yield "bytes that nothing points to count"
    elif all(region.kind in (VALUES, FREE) for region in regions):
        tables = {region.table for region in regions if region.kind == VALUES}
        rows = {region.row for region in regions if region.table in DOCUMENTS}
        if tables & HEADS:
            if found["open"] == "ok":
                yield "header, slot, state or replicas are damaged, and the store opens"
        elif tables <= DOCUMENTS:
            yield from _documents(found, {str(row) for row in rows})
        elif tables <= {"coffer_collection", "coffer_gone"}:
            yield from _apart(found)
        elif tables <= ATTACHMENTS:
            yield from _attachments(found, {
                str(region.row >> (CHUNK_BITS if region.table == "coffer_chunk" else 0))
                for region in regions if region.kind == VALUES})
        elif tables <= INDEXES:
            yield from _beside(found, "coffer_x_index" in tables)
    elif all(region.kind in (INDEX, FREE) for region in regions):
        yield from _apart(found)
    elif all(region.table in DOCUMENTS and region.is_leaf or region.kind == FREE for region in regions):
        pages = {store.page(offset) for offset, _ in patches}
        spared = {str(row) for row, its_pages in store.pages_of.items() if not its_pages & pages}
        if found["open"] != "ok":
            yield f"a page of documents is damaged, and opening ends with {found['open']}"
        lost = spared & set(found["documents"])
        if lost:
            yield f"documents of other pages can't be read: {sorted(lost, key=int)}"


def _documents(found, damaged):
    if found["open"] != "ok":
        yield f"one document is damaged, and opening ends with {found['open']}"
        return
    if set(found["documents"]) - damaged:
        yield f"other documents can't be read: {found['documents']}"
    if set(found["keys"]) - damaged:
        yield f"other documents are not found by their keys: {found['keys']}"
    if any(found["documents"].get(id) != "damaged" for id in damaged):
        yield f"what is damaged is not refused: {sorted(damaged)}, {found['documents']}"
    if damaged - set(found["named"]):
        yield f"verify does not name {sorted(damaged)}: {found['named']}"


def _attachments(found, damaged):
    """Damage of attachments, which leaves documents and other attachments alone."""
    yield from _apart(found)
    for part in ("lists", "keys"):
        if found[part]:
            yield f"an attachment is damaged, and so are {part}: {found[part]}"
    if set(found["attachments"]) != damaged:
        yield f"attachments {sorted(damaged)} are damaged, and not read: {found['attachments']}"


def _beside(found, hits_root):
    """Damage of a sealed index, which the library can rebuild from the documents."""
    yield from _apart(found)
    for part in ("lists", "keys", "others"):
        if found[part]:
            yield f"an index is damaged, and so are {part}: {found[part]}"
    for question, end in found["answers"].items():
        if not hits_root or end != "damaged":
            yield f"{question}: {end}, from a damaged index"


def _apart(found):
    """Damage outside of the documents."""
    if found["open"] != "ok":
        yield f"no document is damaged, and opening ends with {found['open']}"
        return
    if found["documents"]:
        yield f"no document is damaged, and some can't be read: {found['documents']}"
    if found["verify"] == "ok":
        yield "verify finds nothing"
