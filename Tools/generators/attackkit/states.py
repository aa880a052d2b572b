"""A key holder's states: counters, set hash, ring. One that is ill-formed is damaged as a whole."""

import hashlib

from . import layout
from .attack import IDS, Attack
from .layout import COLLECTION, DETAILS, EVERYTHING, INSERTED, TEXT, ring_entry, varint
from .writer import RANGE_SIZE

MARK = bytes(16)
LAST = layout.LAST_GENERATION
# Of a state without extension part.
RING_SIZE = layout.ring_size(b"")


def attacks(kit):
    yield from _counters()
    yield from _ids()
    yield from _leads()
    yield from _rings()
    yield from _anchors(kit)


def _state(name, what, odd, base="sealed", **options):
    def forge(writer):
        writer.odd = odd(writer) if callable(odd) else odd
        writer.commit()

    return Attack(f"forged-state-{name}", base, what, forge=forge, **options)


def _damaged(name, what, odd, **options):
    return _state(name, what, odd, open="damaged", **options)


def _counters():
    rows = {"get": dict.fromkeys(IDS, "damaged"), "list": "damaged"}
    bounds = {"verify": ["damaged"], "verify_quick": ["damaged"]}
    yield _state("count-more", "the state counts a document more", {"count": 8})
    yield _state("count-zero", "the state counts no documents", {"count": 0}, also={"list": ["damaged"]})
    yield _state("count-2-to-40", "the state counts all that there may be", {"count": 2**40})
    yield _state("count-above-limit", "the state counts more than there may be", {"count": 2**40 + 1})
    yield _state("count-greatest", "the state counts all that a column may say", {"count": 2**63 - 1})
    yield _damaged("count-negative", "a count that no integer column holds", {"count": 2**63})
    for name, value in {"zero": 0, "more": 2, "2-to-40": 2**40, "above-limit": 2**40 + 1, "greatest": 2**63 - 1}.items():
        yield _state(f"gone-count-{name}", f"the state counts {value} deletions, and there is 1", {"gone_count": value})
    yield _damaged("gone-count-negative", "a count of deletions that no integer column holds", {"gone_count": 2**63})
    yield _state("set-hash-zeros", "another set hash", {"set_hash": bytes(layout.SET_HASH_SIZE)})
    yield _state("set-hash-lane", "the last lane of the set hash is one more", lambda w: {"set_hash": _one_more(w)})
    yield _damaged("generation-zero", "generation 0", {"generation": 0, "known": 1, "ring": b""})
    for value, name in ((LAST + 1, "above"), (2**62, "2-to-62"), (2**63, "negative"), (2**64 - 1, "2-to-64")):
        odd = {"generation": value, "known": min(value + 1, 2**64 - 1), "ring": b""}
        yield _damaged(f"generation-{name}", f"generation {value}", odd)
    yield _state(
        "generation-greatest", "generation 2^48 - 1: sound, and nothing is written after it",
        {"generation": LAST, "known": LAST + 1, "ring": b""}, verify="ok", put="error")
    yield _state(
        "generation-low", "a generation below that of the rows", {"generation": 1, "known": 2, "ring": b""},
        anchor="rolled-back", also=bounds, **rows)
    yield _damaged("target-above-u32", "a target that no epoch can be", {"target": 2**31})
    yield _damaged("target-unknown", "a target that is not the active epoch", {"target": 2})
    yield _state("target-active", "a target, and no older epoch: a rekey that only has to end", {"target": 1}, verify="ok")
    yield _damaged("cursor-without-target", "a cursor where no rekey is under way", {"cursor": 1})
    yield _damaged("cursor-negative", "a cursor of 2^63", {"target": 1, "cursor": 2**63})
    yield _state("header-mac", "the state names another header", {"header_mac": bytes(32)}, open="rolled-back")
    for name, length in {
        "zero": 0, "of-2048-bytes": 2048, "less": RING_SIZE - 1, "more": RING_SIZE + 1, "greatest": 2**32 - 1,
    }.items():
        yield _damaged(
            f"ring-length-{name}", f"a length of the ring that is not the ring's ({name})", {"ring_length": length})
    for size in (0, 124, 4279, 8112, 8114):
        yield _damaged(f"of-{size}-bytes", f"a state of {size} bytes", {"state": bytes(size)})
    for value, is_sound in {1: True, LAST: True, LAST + 1: False, 2**63: False}.items():
        yield _state(
            f"unwiped-{value}", f"unwiped is {value}", {"unwiped": value},
            **({"verify": "ok"} if is_sound else {"open": "damaged"}))


def _ids():
    """`bound` is above every id; the next id may be anywhere."""
    rows = {"get": dict.fromkeys(IDS, "damaged"), "list": "damaged"}
    bounds = {"verify": ["damaged"], "verify_quick": ["damaged"]}
    yield _state(
        "bound-low", "a bound that is not above the rows' ids", {"bound": 8}, get={8: "damaged"}, list="damaged",
        put="damaged", also=bounds)
    yield _state("bound-one", "bound 1", {"bound": 1}, put="damaged", also=bounds, **rows)
    yield _state("bound-high", "a bound far above the rows' ids: sound", {"bound": 2**50}, verify="ok", put="ok")
    # The own range still has numbers; a writer may also keep to the limit of `bound`.
    yield _state(
        "bound-greatest", "bound 2^63 - 1: sound", {"bound": 2**63 - 1}, verify="ok", put="ok", also={"put": ["error"]})
    for name in ("next_id", "bound"):
        what = name.replace("_", "-")
        yield _damaged(f"{what}-zero", f"{name} is 0", {name: 0})
        yield _damaged(f"{what}-negative", f"{name} is 2^63", {name: 2**63})
    yield _state(
        "next-id-greatest", "next id 2^63 - 1: sound, and nothing fits behind it",
        {"next_id": 2**63 - 1, "bound": 2**63 - 1}, verify="ok", put="error")
    yield _state("next-id-taken", "a next id that a document has", {"next_id": 3}, verify="ok", put="damaged")
    yield _state("next-id-of-deleted", "a next id below some ids, and free: sound", {"next_id": 6}, verify="ok", put="ok")
    yield _state(
        "next-id-of-another-range", "a next id of another range: sound", {"next_id": 2**50, "bound": 9}, verify="ok",
        put="ok")


def _leads():
    """The counter of a commit is generation + lead."""
    for name, value in {
        "above": LAST - 8, "2-to-48": 2**48, "2-to-63": 2**63, "2-to-64": 2**64 - 1, "wrapping": 2**64 - 9,
    }.items():
        yield _damaged(f"lead-{name}", f"a lead of {value}: the counter is above 2^48 - 1", {"lead": value})
    yield _state("lead-high", "a lead of 2^40: sound", {"lead": 2**40}, verify="ok", put="ok")
    yield _state(
        "lead-greatest", "a lead that makes the counter 2^48 - 1: sound, and nothing is written after it",
        lambda writer: {"lead": LAST - writer.generation - 1}, verify="ok", put="error")
    # Dots of the own replica are then above its counter. A reader may leave that to verify.
    uncovered = (2, 12 * RANGE_SIZE, 4095 * RANGE_SIZE)
    yield _state(
        "lead-falls", "a lead that is less than before", {"lead": 0}, base="united", list="damaged", verify="damaged",
        quick="ok", get=dict.fromkeys(uncovered, "damaged"),
        also={"list": ["ok"]} | {f"get_of_{id}": ["ok"] for id in uncovered})
    for name, value in {"zeros": bytes(32), "of-nothing": hashlib.sha256(b"").digest()}.items():
        yield _damaged(f"replicas-digest-{name}", "the digest of another row of replicas", {"replicas_digest": value})


def _one_more(writer):
    writer.generation += 1
    lanes = bytearray(writer.set_hash())
    writer.generation -= 1
    lanes[-2] = (lanes[-2] + 1) % 256
    return bytes(lanes)


def _record(*entries, count=None):
    return MARK + (len(entries) if count is None else count).to_bytes(2, "big") + b"".join(entries)


def _ranges(kind, coll, *pairs, count=None):
    """An entry from gaps and lengths less one as stored."""
    numbers = [number for pair in pairs for number in pair]
    return bytes([kind]) + varint(coll) + varint(len(pairs) if count is None else count) + b"".join(map(varint, numbers))


def _rings():
    def last(record):
        """A ring of the last generation alone."""
        return lambda writer: {"known": writer.generation + 1, "ring": record}

    one = ring_entry(INSERTED, 1, [1])
    for name, what, record in (
        ("kind-0", "an entry of kind 0", _record(b"\0\1")), ("kind-8", "an entry of kind 8", _record(b"\x08\1\1\1\0")),
        ("entry-missing", "an entry fewer than the record says", _record(one, count=2)),
        ("entry-more", "an entry more than the record says", _record(one, one[:1] + b"\2" + one[2:], count=1)),
        ("many-entries", "65,535 entries", _record(one, count=65535)),
        ("entries-equal", "two entries of one kind and collection", _record(one, one)),
        ("entries-fall", "kinds that fall", _record(ring_entry(TEXT, 1, [1]), one)),
        ("collections-fall", "collections that fall", _record(ring_entry(TEXT, 2, [1]), ring_entry(TEXT, 1, [2]))),
        ("collection-zero", "collection 0", _record(ring_entry(INSERTED, 0, [1]))),
        ("collection-above-u32", "collection 2^31", _record(ring_entry(COLLECTION, 2**31))),
        ("no-ranges", "an entry without ranges", _record(_ranges(INSERTED, 1))),
        ("first-gap-zero", "a range that begins at 0", _record(_ranges(INSERTED, 1, (0, 0)))),
        ("gap-zero", "two ranges that touch", _record(_ranges(INSERTED, 1, (1, 0), (0, 0)))),
        ("id-greatest", "a range that ends at 2^63 - 1", _record(_ranges(INSERTED, 1, (2**63 - 1, 0)))),
        ("id-beyond", "a range that ends beyond all ids", _record(_ranges(INSERTED, 1, (2**62, 2**62)))),
        ("ids-overflow", "ranges whose sum passes 2^64",
         _record(_ranges(INSERTED, 1, (2**62, 2**62), (2**62, 2**62), (2**62, 1)))),
        ("ranges-beyond", "more ranges than the ring has bytes", _record(_ranges(INSERTED, 1, (1, 0), count=2**40))),
        ("varint-long-form", "a varint that is not in its shortest form", _record(b"\1\x81\0\1\1\0")),
        ("varint-10-bytes", "a varint of ten bytes", _record(b"\1\1\1" + b"\xff" * 9 + b"\1\0")),
        ("varint-endless", "a varint that never ends", _record(b"\1\1\1").ljust(RING_SIZE, b"\xff")),
        ("everything-and-more", "everything, beside another entry", _record(one, bytes([EVERYTHING]))),
        ("everything-twice", "everything, twice", _record(bytes([EVERYTHING]), bytes([EVERYTHING]))),
        ("behind", "a byte behind the last generation", _record(one) + b"\1"),
        ("last-byte", "the ring's last byte", _record(one).ljust(RING_SIZE - 1, b"\0") + b"\1"),
    ):
        yield _damaged(f"ring-{name}", what, last(record))
    for name, what, odd in (
        ("known-zero", "known is 0", {"known": 0}), ("known-one", "known is 1: no state came before the first", {"known": 1}),
        ("known-above", "known is above the generation + 1", lambda w: {"known": w.generation + 3, "ring": b""}),
        ("known-greatest", "known is 2^64 - 1", {"known": 2**64 - 1, "ring": b""}),
        ("known-later", "a generation more in the ring than known says", lambda w: {"known": 3}),
        ("empty-but-bytes", "an empty ring with a byte in it", lambda w: {"known": w.generation + 2, "ring": b"\1"}),
        ("too-many", "more generations than the ring has bytes for", lambda w: {"generation": 1000, "known": 2, "ring": b""}),
    ):
        yield _damaged(f"ring-{name}", what, odd)
    for name, what, record in (
        ("no-entries", "a generation without entries: sound", _record()),
        ("unknown-ids", "ids and collections that there are not: sound",
         _record(ring_entry(DETAILS, 2**31 - 1, [1, 2, 3, 2**63 - 2]))),
        ("contradictions", "a document is inserted, changed and deleted: readers do not check that", _record(
            *(ring_entry(kind, 1, [1]) for kind in range(1, 6)), ring_entry(COLLECTION, 1))),
        ("everything", "everything, and nothing else: sound", _record(bytes([EVERYTHING]))),
    ):
        yield _state(f"ring-{name}", what, last(record), verify="ok", anchor="mismatch")
    yield _state(
        "ring-emptied", "the ring is empty: an older anchor's descent is not proved",
        lambda w: {"known": w.generation + 2, "ring": b""}, verify="ok")


def _anchors(kit):
    """Compares forks and older files with anchors."""
    history = kit.histories["sealed"]
    first, last = history["filled"].anchor, history["last"].anchor

    def fork(name, what, change, count=1, known=("mismatch", "mismatch"), **options):
        """A key holder continues from the moment before the last one, with `count` other transactions."""

        def forge(writer):
            older = history["before-last"].copy()
            writer.__dict__ = older.__dict__
            writer.random = type(writer.random)(f"fork {name}")
            for number in range(count):
                change(writer, number)
                writer.commit()

        return Attack(
            f"fork-{name}", "sealed", what, forge=forge, verify="ok", anchor=known[0],
            anchors={last: known, first: options.pop("first", ("ok", "ok"))}, **options)

    def text(writer, number):
        writer.change(2, text=f"the fork's text {number}".encode())

    yield fork("same-generation", "another transaction in the place of the last: as old, in another state", text)
    yield fork("newer", "a fork went on: newer, and its ring has another mark", text, 3)
    yield fork(
        "long-gone", "a fork went on until the ring forgot: newer, descent not proved", text, 300,
        ("ok", "mismatch"), first=("ok", "mismatch"))
