"""The contents that every reader must find in a sound store, for the JSON beside it."""

import hashlib

from .layout import COLLECTION, EVERYTHING, MUST_UNDERSTAND, ranges
from .stores import open_with
from .writer import NONE, PADDED

# The JSON has only the SHA-256 of texts and entries longer than this.
LONG = 2048


def contents(name, writer):
    records = sorted(writer.records.values(), key=lambda r: (r.coll, r.pos, r.id))
    newer = sorted(r.id for r in records if is_newer(r))
    found = {
        "store": f"{name}.coffer", "test": True, "titles": ["sealed", "clear", "none"][writer.titles],
        "padded": bool(writer.incompat & PADDED), "open_with": open_with(name), "open": "ok",
        "list": "newer" if newer else "ok", "newer": newer, "verify": "ok",
        "anchor": writer.anchor, "anchor_check": "ok", "pin": writer.pin,
        "rk_generation": writer.rk_generation, "phase": writer.phase, "generation": writer.generation,
    }
    if writer.target:
        found["final_pin"] = writer.pin_of(writer.phase + 1)
    if writer.target or writer.unwiped:
        found["status"] = "unfinished"
    return found | {
        "slots": [slot(s) for s in sorted(writer.slots, key=lambda s: s.slot)],
        "epochs": sorted(writer.epochs),
        "keyring": {"active": writer.active, "entries": [
            {"epoch": number, "closed": epoch.closed, "ceiling": epoch.ceiling, "floor": epoch.floor}
            for number, epoch in sorted(writer.epochs.items())]},
        "state": state(writer),
        "lookups": lookups(writer),
        "collections": {str(c.coll): c.name.decode() for c in writer.collections.values()},
        "collection_rows": {str(c.coll): {
            "epoch": c.epoch, "rev": c.rev, "born": c.born, "edited": c.edited, "uid": c.uid.hex(),
            "settings": c.settings.decode(), "extension": entries(c.extension)} for c in writer.collections.values()},
        "order": {str(coll): [r.id for r in records if r.coll == coll] for coll in writer.collections},
        "documents": {str(r.id): document(writer, r) for r in records if not is_newer(r)},
    }


def is_newer(record):
    """Whether an entry must be understood: only a later version can read the document."""
    return any(kind & MUST_UNDERSTAND for kind in record.extension)


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
    o = writer.origin
    number = lambda at: int.from_bytes(o[at : at + 8], "big")  # noqa: E731
    return {
        "generation": writer.generation, "next": writer.next_id, "count": len(writer.records),
        "set_hash_sha256": hashlib.sha256(writer.set_hash()).hexdigest(), "target": writer.target,
        "cursor": writer.cursor, "mac": writer.mac.hex(),
        "origin": {
            "kind": o[0], "store_id": o[1:17].hex(), "rk_generation": number(17), "phase": number(25),
            "generation": number(33), "commit": o[41:73].hex(), "mark": o[73:105].hex(), "next": number(105)},
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


def lookups(writer):
    """Lookups of each readable document's key that is text, of its capitals, and of one absent key."""
    found = []
    for r in writer.records.values():
        if r.key is None or r.key.decode("utf-8", "ignore").encode() != r.key or r.coll not in writer.collections:
            continue
        if is_newer(r):
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
    """A document as a reader must give it; in title mode `none` without a title, except in a row below the target."""
    has_title = r.title is not None and (writer.titles != NONE or r.column is not None or r.epoch < writer.target)
    found = {
        "id": r.id, "coll": r.coll, "pos": r.pos.hex(), "parent": r.parent, "flags": r.flags,
        "title": r.title.decode() if has_title else None, "key": None if r.key is None else r.key.hex(),
        "created": r.created, "modified": r.modified, "length": len(r.text), "attributes": r.attributes.decode(),
        "epoch": r.epoch, "rev": r.rev, "born": r.born, "edited": r.edited, "placed": r.placed, "uid": r.uid.hex(),
        "extension": entries(r.extension), "body_in": "row" if r.is_body_in_row else "table",
    }
    text = r.text.decode()
    if len(r.text) > LONG:
        return found | {"text_sha256": hashlib.sha256(r.text).hexdigest()}
    return found | {"text": text}
