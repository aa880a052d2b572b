"""The contents that every reader must find in a sound store, for the JSON beside it."""

import hashlib

from .contenthash import content_hash
from .layout import ATTACHMENTS, COLLECTION, EVERYTHING, HELD_ELSEWHERE, MUST_UNDERSTAND, PADDED, ranges
from .stores import open_with

# The JSON has only the SHA-256 of texts and entries longer than this.
LONG = 2048


def contents(name, writer):
    records = sorted(writer.records.values(), key=lambda r: (r.coll, r.pos, r.id))
    newer = sorted(r.id for r in records if is_newer(r))
    newer_attachments = sorted(a.number for a in writer.attachments.values() if is_newer(a))
    found = {
        "store": f"{name}.coffer", "features": features(writer), "test": True, "titles": ["sealed", "clear", "none"][writer.titles],
        "padded": bool(writer.incompat & PADDED), "open_with": open_with(name), "open": "ok",
        "list": "newer" if newer else "ok", "newer": newer, "verify": "ok",
        "anchor": writer.anchor, "anchor_check": "ok", "pin": writer.pin,
        "rk_generation": writer.rk_generation, "phase": writer.phase, "generation": writer.generation,
    }
    if writer.target:
        found["final_pin"] = writer.pin_of(writer.phase + 1)
    if writer.target or writer.unwiped:
        found["status"] = "unfinished"
    if writer.publishers:
        found["publishers"] = writer.publishers
    return found | {
        "slots": [slot(s) for s in sorted(writer.slots, key=lambda s: s.slot)],
        "epochs": sorted(writer.epochs),
        "keyring": {"active": writer.active, "entries": [
            {"epoch": number, "closed": epoch.closed, "ceiling": epoch.ceiling, "floor": epoch.floor}
            for number, epoch in sorted(writer.epochs.items())]},
        "state": state(writer),
        "replicas": replicas(writer),
        "lookups": lookups(writer),
        "collections": names(writer),
        "collection_rows": {str(c.coll): {
            "rev": c.rev, "uid": c.uid.hex(), "name": c.name.decode(), "dropped": c.dots.is_dropped,
            "dots": c.dots.plain(), "settings": c.settings.decode(),
            "extension": entries(c.extension)} for c in writer.collections.values()},
        "order": {
            str(coll): [r.id for r in records if r.coll == coll] for coll, row in writer.collections.items()
            if writer.is_listed(row)},
        "deletions": {str(d.gone): {
            "rev": d.rev, "uid": d.uid.hex(), "dots": [list(dot) for dot in d.dots], "stamp": list(d.stamp),
            "extension": entries(d.extension)} for d in writer.deletions.values()},
        "documents": {str(r.id): document(writer, r) for r in records if not is_newer(r)},
        "attachments": attachments(writer), "newer_attachments": newer_attachments,
        "content_hash": None if newer or newer_attachments else content_hash(writer).hex(),
    }


def features(writer):
    """The features of `incompat` that a reader must have, by name."""
    return ["attachments"] if writer.incompat & ATTACHMENTS else []


def is_newer(row):
    """Whether an entry must be understood: only a later version can read the document or attachment."""
    return any(kind & MUST_UNDERSTAND for kind in row.extension)


def attachments(writer):
    """The readable attachments of each document that has any."""
    found = {}
    for row in writer.attachments.values():
        if not is_newer(row):
            found.setdefault(str(row.document), []).append(attachment(writer, row))
    return found


def attachment(writer, row):
    return {
        "number": row.number, "rev": row.rev, "uid": row.uid.hex(), "born": list(row.born), "name_dot": list(row.name_dot),
        "date": row.date, "name": row.name.decode(), "media_type": row.media_type.decode(), "length": row.length,
        "sha256": row.digest.hex(), "chunk_size": row.chunk_size, "chunks": writer.chunk_count(row),
        "key_epoch": row.key_epoch, "keys_from": [first for first, _ in row.keys], "extension": entries(row.extension)}


def entries(extension):
    """The entries of an extension part; of a long one the SHA-256."""
    return [
        {"type": kind} | (
            {"bytes": data.hex()} if len(data) <= LONG else {"bytes_sha256": hashlib.sha256(data).hexdigest()})
        for kind, data in sorted(extension.items())]


def slot(s):
    found = {"slot": s.slot, "kind": s.kind, "label": s.label.decode()}
    if s.kind == 2:
        found["fingerprint"] = s.params[16:].hex()
    if s.kind == 3:
        found["fingerprint"] = hashlib.sha256(s.params[32:]).digest()[:8].hex()
    return found


def state(writer):
    return {
        "generation": writer.generation, "next": writer.next_id, "bound": writer.bound, "count": len(writer.records),
        "gone_count": len(writer.deletions), "next_attachment": writer.next_attachment,
        "attachment_count": len(writer.attachments),
        "index_identities": [identity.hex() for identity in writer.index_identities.values()],
        "set_hash_sha256": hashlib.sha256(writer.set_hash()).hexdigest(),
        "target": writer.target, "cursor": writer.cursor, "mac": writer.mac.hex(), "lead": writer.lead,
        "replicas_sha256": hashlib.sha256(writer.sealed_replicas).hexdigest(),
        "known": writer.known, "unwiped": writer.unwiped, "mark": writer.mark.hex(),
        "ring": [generation(*item) for item in sorted(writer.ring.items())],
        "extension": entries(writer.extension),
    }


def generation(number, record_and_changes):
    record, changes = record_and_changes
    return {"generation": number, "mark_before": record[:16].hex(), "entries": [
        entry(kind, coll, changes[kind, coll]) for kind, coll in sorted(changes)]}


def entry(kind, coll, ids):
    if kind == EVERYTHING:
        return {"kind": kind}
    return {"kind": kind, "coll": coll} | ({} if kind == COLLECTION else {"ids": ranges(ids)})


def replicas(writer):
    """The row of replicas, and the version vector, in which the own counter is that of the last commit."""
    vector = [one.counter for one in writer.replicas]
    vector[writer.own] = writer.generation + writer.lead
    return {
        "own": writer.own, "restored": writer.restored, "vector": vector,
        "replicas": [
            {"identity": one.identity.hex(), "counter": one.counter, "range": one.range, "rose": one.rose,
             "marks": [[number, mark.hex()] for number, mark in one.marks]} for one in writer.replicas],
        "extension": entries(writer.replicas_extension)}


def names(writer):
    """The names of listed collections as they are read: one of several with a name has it."""
    listed = sorted(
        (c for c in writer.collections.values() if writer.is_listed(c)),
        key=lambda c: (writer.order_of_names(c.dots.of("name")), c.uid))
    found, taken = {}, set()
    for c in listed:
        if c.name not in taken:
            found[c.coll] = c.name
            taken.add(c.name)
    for c in sorted(listed, key=lambda c: c.uid):
        name = found.get(c.coll) or c.name + b"~" + c.uid.hex()[:8].encode()
        while c.coll not in found and name in taken:
            name += b"~"
        found[c.coll] = name
        taken.add(name)
    return {str(c.coll): found[c.coll].decode() for c in writer.collections.values() if c.coll in found}


def lookups(writer):
    """Lookups of each readable document's key that is text, of its capitals, and of one absent key."""
    found = []
    for r in writer.records.values():
        if r.key is None or r.key.decode("utf-8", "ignore").encode() != r.key or r.coll not in writer.collections:
            continue
        if is_newer(r) or r.flags & HELD_ELSEWHERE:
            continue
        key = r.key.decode()
        is_folded = writer.collections[r.coll].settings.startswith(b'{"folding":1')
        taken = {other.key for other in writer.records.values() if other.coll == r.coll}
        found.append({"coll": r.coll, "key": key, "id": r.id})
        if is_folded or key.upper().encode() not in taken:
            found.append({"coll": r.coll, "key": key.upper(), "id": r.id if is_folded else None})
    if writer.collections:
        found.append({"coll": min(writer.collections), "key": "absent", "id": None})
    return found


def document(writer, r):
    """A document as a reader must give it."""
    has_key, title = r.key is not None and not r.flags & HELD_ELSEWHERE, writer.title(r)
    found = {
        "id": r.id, "coll": r.coll, "pos": r.pos.hex(), "parent": r.parent, "flags": r.flags,
        "title": None if title is None else title.decode(), "key": r.key.hex() if has_key else None,
        "created": r.created, "modified": r.modified, "length": len(r.text), "attributes": r.attributes.decode(),
        "epoch": r.epoch, "rev": r.rev, "uid": r.uid.hex(),
        "parent_uid": None if r.parent_uid is None else r.parent_uid.hex(), "dots": r.dots.plain(),
        "extension": entries(r.extension), "body_in": "row" if r.is_body_in_row else "table",
    }
    text = r.text.decode()
    if len(r.text) > LONG:
        return found | {"text_sha256": hashlib.sha256(r.text).hexdigest()}
    return found | {"text": text}
