"""A key holder's extension parts: ill-formed ones, and entries that a reader must understand."""

from . import layout
from .attachmentstores import ONE as ONE_CHUNK
from .attachmentstores import WITH_THREE
from .attack import Attack
from .layout import extension_entry as entry

ONE, TWO = entry(1, b"one"), entry(2, b"two")
LAST_PART = {"head": 5, "collection": 0, "attachment": 0, "deletion": 0, "state": 0, "replicas": 0}
LIMIT = dict.fromkeys(("head", "collection", "attachment"), layout.EXTENSION_SIZE)
LIMIT |= dict.fromkeys(("deletion", "state"), layout.SMALL_EXTENSION_SIZE)
LIMIT["replicas"] = layout.REPLICAS_EXTENSION_SIZE


def ill_formed(place):
    """Extension parts that are damage in this place, by name, each with what is wrong."""
    over, part = LIMIT[place] + 1, LAST_PART[place] + 1
    return {
        "falling": ("types that fall", TWO + ONE), "twice": ("a type twice", ONE + ONE),
        "newer-falling": ("a type that must be understood, before another", entry(0x8001) + TWO),
        "newer-twice": ("a type that must be understood, twice", entry(0x8001) + entry(0x8001)),
        "bit-12": ("a reserved bit", entry(0x1001)), "bit-13": ("a reserved bit", entry(0x2001)),
        "bit-14": ("a reserved bit", entry(0x4001)), "newer-bit-14": ("a reserved bit beside bit 15", entry(0xC001)),
        f"part-{part}": ("a part that there is not", entry(part << 8 | 1)),
        "part-15": ("the greatest part", entry(0xF01)),
        f"newer-part-{part}": ("a part that there is not, beside bit 15", entry(0x8001 | part << 8)),
        "length-beyond": ("a length beyond the end", entry(1, b"one!")[:-1]),
        "length-greatest": ("the greatest length", b"\0\1" + b"\xff" * 4),
        "one-byte": ("half a type", ONE + b"\0"), "type-alone": ("a type without a length", ONE + b"\0\2"),
        "header-cut": ("a length that is cut", TWO[:5]),
        f"of-{over}-bytes": ("an entry over the limit", entry(1, bytes(over - 6))),
        "many-over-limit": (
            "entries that are over the limit together",
            b"".join(entry(number, bytes(LIMIT[place] // 4 - 5)) for number in range(4))),
    }


def attacks(kit):
    for name, (what, part) in ill_formed("head").items():
        yield _head(name, what, part)
    for name, (what, part) in ill_formed("collection").items():
        yield _collection(
            name, what, part, list="damaged", verify="damaged", quick="damaged", also={"verify_quick": ["ok"]})
    for name, (what, part) in ill_formed("deletion").items():
        yield _deletion(name, what, part, verify="damaged", quick="ok")
    for name, (what, part) in ill_formed("attachment").items():
        yield _attachment(name, what, part)
    for name, (what, part) in ill_formed("state").items():
        yield _state(name, what, part, "damaged")
    for name, (what, part) in ill_formed("replicas").items():
        yield _replicas(name, what, part, "damaged")
    yield from _newer()


def _head(name, what, part, odd=None, **options):
    def forge(writer):
        writer.change(2, odd={"head_plain": lambda plain: plain + part} | (odd or {}))
        writer.commit()

    return Attack(
        f"forged-extension-head-{name}", "sealed", f"document 2: {what}", forge=forge,
        **{"get": {2: "damaged"}, "list": "damaged", "verify": "damaged", "quick": "ok"} | options)


def _collection(name, what, part, **options):
    def forge(writer):
        row = writer.collections[2]
        row.rev = writer.generation + 1
        writer.seal_collection(row, writer.collection_plain(row) + part)
        writer.commit()

    return Attack(f"forged-extension-collection-{name}", "sealed", f"collection 2: {what}", forge=forge, **options)


def _deletion(name, what, part, **options):
    def forge(writer):
        row = writer.deletions[1]
        row.rev = writer.generation + 1
        writer.seal_deletion(row, writer.deletion_plain(row) + part)
        writer.commit()

    return Attack(f"forged-extension-deletion-{name}", "sealed", f"deletion 1: {what}", forge=forge, **options)


def _attachment(name, what, part):
    def forge(writer):
        row = writer.attachments[ONE_CHUNK]
        row.rev = writer.generation + 1
        writer.seal_attachment(row, writer.attachment_plain(row) + part)
        writer.commit()

    return Attack(
        f"forged-extension-attachment-{name}", "attachments", f"attachment {ONE_CHUNK}: {what}", forge=forge,
        attachments={ONE_CHUNK: "damaged"}, attachment_lists={WITH_THREE: "damaged"}, verify="damaged")


def _replicas(name, what, part, outcome):
    def forge(writer):
        writer.odd = {"replicas": writer.replicas_plain() + part}
        writer.commit()

    return Attack(f"forged-extension-replicas-{name}", "sealed", f"the replicas: {what}", forge=forge, open=outcome)


def _state(name, what, part, outcome):
    def forge(writer):
        writer.odd = {"extension": part}
        writer.commit()

    return Attack(f"forged-extension-state-{name}", "sealed", f"the state: {what}", forge=forge, open=outcome)


def _newer():
    """Entries that must be understood: a document is newer alone, anything else with the store."""
    for name, part in {
        "newer": ONE + entry(0x8001, b"later"), "newer-place": entry(0x8501), "newer-of-65536-bytes": entry(0x85FF, bytes(65_530)),
    }.items():
        yield _head(name, f"an entry that must be understood ({name})", part, get={2: "newer"}, list="newer", verify="ok")
    yield _head(
        "newer-and-damaged", "an entry that must be understood, and the digest of another text", entry(0x8001),
        {"digest": bytes(32)}, get={2: "newer"}, list="newer", also={"get_of_2": ["damaged"]})
    yield _collection("newer", "an entry that must be understood: the store is newer", ONE + entry(0x8001), open="newer")
    # Of dbtool, the verify tells whether the store opens.
    by_verify = {"open": ["newer"]}
    yield _deletion(
        "newer", "an entry that must be understood: a verify finds the store newer, and nothing else opens deletions",
        ONE + entry(0x8001), verify="newer", quick="ok", also=by_verify)
    yield _deletion(
        "newer-of-300-bytes", "the same, as long as it may be", entry(0x80FF, bytes(294)), verify="newer", quick="ok",
        also=by_verify)
    yield _state("newer", "an entry that must be understood: the store is newer", ONE + entry(0x8001), "newer")
    yield _replicas("newer", "an entry that must be understood: the store is newer", ONE + entry(0x8001), "newer")
