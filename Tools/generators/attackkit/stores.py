"""The sound stores: those that attacks start from, with their histories, and one for each shape that a store can have.

A history is a dictionary of moments in their order, the last of which is the store that is written. Each store has the
slots 1 (key), 2 (passphrase) and 3 (recipient) unless its function gives it others.
"""

import unicodedata

from . import attachmentstores, indexes, layout, mergestores, releasestores
from .dots import DocumentDots
from .keys import Random
from .positions import STEP, place
from .secrets import KEY, NEXT, OTHER_PASSPHRASE, PASSPHRASE, RECIPIENT, REMOVED, SECRETS, WRONG, value
from .starting import FOLDED, created, only_key, started, usual_slots
from .writer import CLEAR, NONE, SEALED

# A body of this many bytes fills a frame of 2,048 bytes, which is a padded length too.
FULL_ROW = layout.BODY_IN_ROW - 8
FAR = 2**50
# Where document 1 of `fill` is at last: behind all others.
MOVED_TO = place(2 * STEP)


def fill(writer):
    """Two collections, eight documents; number 6 is gone, number 2 has been changed. Yields after each commit."""
    yield "created", writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, "L\u00e4nder".encode(), FOLDED)
    writer.add(1, "The first text.", title=b"one", key=b"k1", attributes=b'{"colour":"red","n":1.5}')
    writer.add(1, "Second, as it was first written.", title=b"two", key=b"k2")
    writer.add(1, "", title="\u9898\u540d".encode(), parent=2)
    writer.add(2, "Gr\u00fc\u00dfe\n\u2028\0 and more", title="Stra\u00dfe".encode(), key="Stra\u00dfe".encode())
    writer.add(2, "x" * 2500, title=None, flags=0)
    writer.add(1, "Deleted later.", title=b"six", key=b"k6")
    writer.add(1, '{"a":1}', title=b"seven", flags=1, pos=place(-STEP))
    writer.add(1, "A long text. " * 200, title=b"eight")
    yield "filled", writer.commit()
    writer.change(2, text=b"Second, as it is now.", title=b"two now", modified=1_700_000_000_500)
    yield "changed", writer.commit()
    writer.delete(6)
    yield "deleted", writer.commit()
    writer.add_key_file(value(REMOVED), b"to be removed")
    yield "slot-added", writer.commit()
    writer.slots.pop()
    yield "slot-removed", writer.commit()
    writer.change(8, text=b"Another long text. " * 130)
    yield "before-last", writer.commit()
    writer.change(1, pos=MOVED_TO)
    yield "last", writer.commit()


def histories(seed):
    """The stores that attacks start from, by name."""
    made = {}
    for name, options in {
        "sealed": {}, "clear": {"titles": CLEAR, "padded": False}, "none": {"titles": NONE}, "other": {},
    }.items():
        made[name] = {label: writer.copy() for label, writer in fill(created(f"{seed}/{name}", **options))}
    sealed = made["sealed"]["last"]
    made["mid-rekey"] = _rekey(sealed.copy(), f"{seed}/mid-rekey", stop="sealed-3")
    made["rekeyed"] = _rekey(sealed.copy(), f"{seed}/rekeyed")
    made["taken-over"] = _take_over(made["mid-rekey"]["sealed-3"].copy(), f"{seed}/taken-over")
    made["united"] = {label: writer.copy() for label, writer in mergestores.unite(created(f"{seed}/united"))}
    return made | attachmentstores.histories(seed) | releasestores.histories(seed)


def _rekey(writer, seed, stop=None):
    """A rekey, one document a batch, up to the moment `stop`."""
    writer.random = Random(seed)
    moments = {"before": writer.copy()}
    writer.change_root(usual_slots)
    moments["begun"] = writer.commit().copy()
    for id in sorted(writer.records):
        writer.reseal(id)
        moments[f"sealed-{id}"] = writer.commit().copy()
        if f"sealed-{id}" == stop:
            return moments
    writer.end_rekey()
    moments["last"] = writer.commit().copy()
    return moments


def _take_over(writer, seed):
    """A second rekey begins while documents 1 to 3 are in epoch 2 and the rest in epoch 1; a document is written."""
    writer.random = Random(seed)
    moments = {"before": writer.copy()}
    writer.change_root(usual_slots)
    moments["begun"] = writer.commit().copy()
    writer.add(1, "Written under the third epoch.", title=b"nine")
    moments["written"] = writer.commit().copy()
    writer.reseal(1)
    moments["sealed-1"] = writer.commit().copy()
    return moments


# One store for each shape. A function draws its bytes from the seed alone and yields names and writers.


def shapes(seed, made):
    """Further sound stores, by name; `made` holds the histories."""
    stores = {}
    makers = (_plain, _slots, _texts, _rekeys, _rings, *mergestores.MAKERS, _extended, _indexed, *attachmentstores.MAKERS)
    for make in makers:
        for name, writer in make(lambda name: f"{seed}/{name}", made):
            stores[name] = writer
    return stores


def _indexed(seed, made):
    # Into the map at first, and again later, with changes since; into changes alone; enough pages for five map pages.
    for name, moves, free in (
        ("indexed", ([0], [0], []), 0), ("indexed-other", ([], [], []), 0), ("indexed-large", (None, None, None), 490),
    ):
        moments = []
        for label, writer in fill(created(seed(name), page_size=2048)):
            if label == "filled":
                indexes.declare(writer, 1)
                declared = writer.copy()
                indexes.declare(writer, 1, 2)
            if label in ("filled", "before-last", "last"):
                moments.append(writer.copy())
        indexes.indexed(moments, moves, free)
        yield name, moments[-1]
        if name == "indexed":
            yield "indexed-earlier", moments[0]
            # The declaration before: of one collection.
            indexes.indexed([declared], ([0],))
            yield "indexed-declared", declared
            writer = moments[-1].copy()
            indexes.drop(writer, indexes.TITLES)
            yield "indexed-dropped", writer
            writer = moments[-1].copy()
            writer.change_root(usual_slots)
            writer.commit()
            indexes.write(writer)
            yield "indexed-mid-rekey", writer


def _plain(seed, made):
    yield "empty", created(seed("empty"), only_key).commit()

    writer = started(b"Notes", seed("unpadded"), only_key, padded=False, page_size=512)
    for text in ("a", "", "three"):
        writer.add(1, text, title=text.encode())
    yield "unpadded", writer.commit()

    writer = started(b"Exact", seed("keys-and-parents"), only_key, page_size=2048)
    writer.add_collection(2, b"Folded", b'{"folding":1,"title":0}')
    writer.commit()
    writer.add(1, "r", title=b"root")
    writer.add(1, "c", title=b"child", parent=1)
    writer.add(1, "g", title=b"grandchild", parent=2, key="Stra\u00dfe".encode())
    writer.add(1, "o", title=b"other", key=b"STRASSE")
    writer.add(2, "f", title=b"folded", key="Stra\u00dfe".encode())
    writer.add(2, "e", title=b"composed", key="CAFE\u0301".encode())
    writer.add(2, "d", title=b"deleted", id=10)
    writer.add(2, "p", title=b"parent is gone", parent=10, id=7)
    writer.add(1, "b", title=b"binary key", key=bytes(range(256)), id=8)
    writer.add(1, "n", title=b"negative", pos=place(-5), id=9)
    writer.commit()
    writer.add(1, "n", title=b"same position", pos=place(-5))
    writer.commit()
    writer.delete(10)
    yield "keys-and-parents", writer.commit()

    writer = created(seed("derived"), titles=CLEAR, padded=True)
    writer.commit()
    writer.add_collection(1, b"Derived", b'{"folding":0,"title":1}')
    writer.add_collection(3, b"Both", FOLDED)
    writer.add(1, "First line\nsecond", title=b"First line")
    writer.add(1, "", title=None)
    writer.add(3, "Given\n", title="Selbst gew\u00e4hlt".encode(), key=b"K")
    yield "derived", writer.commit()

    # Features that anyone may ignore, with tables of theirs.
    writer = created(seed("compat"), only_key)
    writer.compat = 3 + 2**40
    writer.extra_sql = [
        "CREATE TABLE coffer_x_index_words(a INTEGER PRIMARY KEY,b BLOB)",
        "INSERT INTO coffer_x_index_words VALUES(1,x'00')",
        "CREATE TABLE coffer_x_release_line(a TEXT)", "CREATE INDEX coffer_x_release_a ON coffer_x_release_line(a)",
        "INSERT INTO coffer_x_release_line VALUES('signed')", "CREATE TABLE coffer_x_later(a BLOB UNIQUE)",
        "INSERT INTO coffer_x_later VALUES(x'01')", "ANALYZE"]
    writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add(1, "indexed", title=b"t")
    yield "compat", writer.commit()


def _slots(seed, made):
    def one_document(writer):
        writer.commit()
        writer.add_collection(1, b"Notes")
        writer.add(1, "text", title=b"t")
        return writer.commit()

    yield "recipient", one_document(created(
        seed("recipient"), lambda w: w.add_recipient(value(RECIPIENT), "Empf\u00e4nger".encode())))

    def two_passphrases(writer):
        writer.add_passphrase(value(PASSPHRASE), b"words")
        writer.add_passphrase(value(OTHER_PASSPHRASE), b"stronger", log_n=12)

    yield "passphrase-test", one_document(created(seed("passphrase-test"), two_passphrases))

    def every_kind(writer):
        usual_slots(writer)
        writer.add_external(b"my-agent", b"what it is asked", b"answer of 32 bytes, or a few more", b"agent")
        writer.add_external(b"a", b"", bytes(1024))
        writer.add_slot(5, bytes(32), bytes(32), b"reserved for Argon2id")
        writer.add_slot(6, bytes(1216), bytes(32), b"reserved for X25519 and ML-KEM-768")
        writer.add_slot(99, b"", bytes(32), b"unknown")
        writer.add_key_file(value(NEXT), b"", slot=2**31 - 1)

    yield "slots", one_document(created(seed("slots"), every_kind))


UNICODE = {
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "japanese": "\u672c\u6587\u3002\n\u4e8c\u884c\u76ee",
    "arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "composed": "\u00e9\u00c5\u1e69", "decomposed": "e\u0301A\u030as\u0323\u0307",
    "mark": "\ufeffkept", "nul": "a\0b\0", "line ends": "\r\n\n\r\u2028\u2029\u0085", "last": "\U0010ffff\uffff\ufffe",
    "long s": "\u017f\u00df\u1e9e\u0130\u0131\ufb03",
}


def _texts(seed, made):
    writer = started("\u00dcn\u00efcode \u65e5\u672c\u8a9e \U0001f5c2".encode(), seed("unicode"), only_key)
    for name, text in UNICODE.items():
        writer.add(1, text, title=f"{name} {text}".encode(), key=text.encode())
    yield "unicode", writer.commit()

    # Frames at the limit of a row and at the next length, which is 2,049 unpadded and 2,176 padded.
    for padded in (True, False):
        name = "bodies-padded" if padded else "bodies"
        writer = started(b"Bodies", seed(name), padded=padded)
        for length in (0, 1, FULL_ROW - 65, FULL_ROW - 1, FULL_ROW, FULL_ROW + 1, FULL_ROW + 65, 5000):
            writer.add(1, "b" * length, title=str(length).encode())
        writer.commit()
        writer.change(5, text=b"c" * (FULL_ROW + 1))
        writer.change(6, text=b"c" * FULL_ROW)
        yield name, writer.commit()

    for name, titles in (("long-titles", SEALED), ("long-titles-clear", CLEAR)):
        writer = started(b"n" * 1024, seed(name), only_key, titles=titles, padded=titles == SEALED, page_size=8192)
        writer.add(1, "text", title=b"t" * 65536)
        writer.add(1, "text", title="\u00e9".encode() * 32768, key=b"k" * 1024)
        yield name, writer.commit()

    # A head of the greatest size: its data without the title are 921,600 bytes.
    writer = started(b"Notes", seed("greatest-head"), only_key, page_size=8192)
    without = 8 + 8 + 8 + 32 + 1 + 5 + 4 + len(b'{"a":""}') + 16 + 1 + 3
    writer.add(1, "text", title=b"t" * 65536, attributes=b'{"a":"%s"}' % (b"x" * (921_600 - without)))
    yield "greatest-head", writer.commit()


def _rekeys(seed, made):
    def from_sealed(name, store="sealed"):
        writer = made[store]["last"].copy()
        writer.random = Random(seed(name))
        return writer

    writer = from_sealed("keys-only")
    writer.change_root(usual_slots)
    writer.commit()
    writer.add(1, "Written in the new epoch.", title=b"nine", key=b"k9")
    writer.change(2, text=b"Changed in the new epoch.")
    yield "keys-only", writer.commit()

    # Rows below the target follow any title mode.
    for name, store, titles in (
        ("sealed-to-clear", "sealed", CLEAR), ("clear-to-sealed", "clear", SEALED), ("clear-to-none", "clear", NONE),
    ):
        writer = from_sealed(name, store)
        writer.change_root(usual_slots, titles)
        writer.commit()
        writer.reseal(1, 2)
        yield name, writer.commit()

    # A rekey to sealed titles passes a title of 65,536 bytes.
    writer = started(b"Notes", seed("long-title-rekeyed"), only_key, titles=CLEAR)
    writer.add(1, "text", title=b"t" * 65536)
    writer.commit()
    writer.change_root(only_key, SEALED)
    writer.commit()
    writer.reseal(1)
    writer.commit()
    writer.end_rekey()
    yield "long-title-rekeyed", writer.commit()

    writer = from_sealed("rekeyed-twice")
    for _ in range(2):
        writer.change_root(usual_slots)
        writer.commit()
        writer.reseal(*sorted(writer.records))
        writer.commit()
        writer.end_rekey()
        writer.commit()
    yield "rekeyed-twice", writer

    # A restored copy that was promoted: a new replica, and the next phase under the same root key.
    writer = from_sealed("promoted")
    writer.phase += 1
    writer.add_replica(77)
    yield "promoted", writer.commit()


def _rings(seed, made):
    writer = started(b"One", seed("ring"), only_key, titles=CLEAR)
    writer.add_collection(200, b"Two hundred")
    writer.add_collection(70000, b"Dropped")
    for id in (1, 2, 3, 4, 5, 6, 10, 11, 300, 2**40):
        writer.add(1 if id < 7 else 200, f"text {id}", id=id, title=str(id).encode())
    writer.add(70000, "dropped with its collection")
    writer.commit()
    # Between documents 2 and 3, whose positions have one number.
    writer.change(1, text=b"1, 2 and 3", title=b"all", pos=writer.records[2].pos + place(0))
    for id in (2, 4, 5):
        writer.change(id, text=b"changed")
    writer.change(3, parent=1)
    writer.change(6, created=5)
    writer.change(300, pos=place(-STEP))
    writer.delete(10)
    writer.commit()
    writer.change(11, coll=1, pos=place(2**40))
    writer.change_collection(200, name=b"Renamed")
    writer.drop_collection(70000)
    writer.commit()
    writer.add(1, "inserted and deleted", id=2**40 + 2)
    writer.delete(2**40 + 2)
    writer.commit()
    writer.add_key_file(value(NEXT), b"slot change: no entries")
    yield "ring", writer.commit()

    writer = started(b"Notes", seed("ring-overflowed"), only_key)
    writer.add(1, "text", title=b"title")
    for number in range(300):
        writer.commit()
        writer.change(1, text=f"text {number}".encode())
    yield "ring-overflowed", writer.commit()

    # A generation of 220 documents far apart, in three entries each, does not fit.
    writer = started(b"Notes", seed("ring-everything"), only_key, titles=CLEAR, padded=False)
    for number in range(1, 221):
        writer.add(1, "t", id=number * FAR, title=b"t")
    writer.commit()
    for number in range(1, 221):
        writer.change(number * FAR, text=b"u", title=b"u", pos=place(number))
    writer.commit()
    writer.change(FAR, text=b"after")
    yield "ring-everything", writer.commit()

    # An entry that fills the ring to its last byte: 18 bytes before it, 4 before its ranges, 648 ranges of 9 bytes and
    # eight of 3, 2, 2, 2, 2, 2, 3 and 3.
    writer = started(b"Notes", seed("ring-full"), only_key, titles=CLEAR, padded=False)
    writer.commit()
    for id in (130, 132, 134, 136, 138, 140, 300, 500, *(500 + 2 * FAR * number for number in range(1, 649))):
        writer.add(1, "", id=id)
    yield "ring-full", writer.commit()

    writer = started(b"Notes", seed("unwiped"), only_key, journal="WAL")
    writer.add(1, "text", title=b"t")
    writer.add_key_file(value(REMOVED))
    writer.commit()
    writer.slots.pop()
    writer.unwiped = writer.generation + 1
    yield "unwiped", writer.commit()

    # Counters at their ends.
    writer = created(seed("greatest-counters"), only_key)
    writer.generation = layout.LAST_GENERATION - 3
    writer.rk_generation = writer.phase = 2**62
    writer.active = 2**31 - 1
    writer.epochs, writer.slots = {writer.active: writer.epochs[1]}, []
    only_key(writer)
    writer.commit()
    writer.add_collection(2**31 - 1, b"Notes")
    writer.add(2**31 - 1, "text", title=b"t", id=2**63 - 2)
    writer.next_id = writer.bound
    writer.commit()
    writer.change(2**63 - 2, text=b"the last generation")
    yield "greatest-counters", writer.commit()

    # The counter is at its end, as after thousands of merges, and the generation is not.
    writer = created(seed("greatest-lead"), only_key).commit()
    writer.learn(writer.random(16), layout.LAST_GENERATION - 2)
    writer.add_collection(1, b"Notes")
    writer.add(
        1, "The counter before the last.", title=b"one",
        dots=DocumentDots((1, 1), {"text": (1, layout.LAST_GENERATION - 2)}))
    writer.commit()
    writer.change(1, text=b"The last counter.")
    yield "greatest-lead", writer.commit()


def _extended(seed, made):
    """Entries that a later version wrote: none of them is known, and only the last store's must be understood."""

    def sealed(count):
        return writer.random(count)

    writer = created(seed("extended"), only_key)
    writer.compat = 2**41
    writer.extra_sql = ["CREATE TABLE coffer_x_later(a BLOB)", "INSERT INTO coffer_x_later VALUES(x'01')"]
    writer.extension = {1: sealed(40), 0xFF: sealed(layout.SMALL_EXTENSION_SIZE - 2 * 6 - 40)}
    writer.replicas_extension = {0: b"", 0x7F: sealed(layout.SMALL_EXTENSION_SIZE - 2 * 6)}
    writer.commit()
    writer.add_collection(1, b"Notes", FOLDED)
    writer.add_collection(2, b"Without entries")
    writer.collections[1].extension = {0: b"", 1: b"of the collection", 0x7F: sealed(100)}
    writer.seal_collection(writer.collections[1])
    for part, name in enumerate(("document", "text", "title", "key", "attributes", "place")):
        writer.add(
            1, f"An entry of the {name}.", title=name.encode(), key=name.encode(), attributes=b'{"part":%d}' % part,
            extension={part << 8 | 1: f"of the {name}".encode()})
    every = {part << 8 | number: sealed(part * number) for part in range(6) for number in (0, 1, 0xFF)}
    writer.add(1, "Entries of every part.", title=b"several", key=b"several", attributes=b'{"n":1}', parent=1, extension=every)
    writer.add(2, "A long text. " * 200, title=b"long", extension={1: b"", 0x105: b"of the long text"})
    writer.add(2, "No entries.", title=b"none")
    writer.commit()
    # The entries of the title and of the place leave with these changes, and the others stay.
    writer.add(2, "Changed later.", title=b"changed", extension={1: b"stays", 0x101: b"stays", 0x201: b"", 0x501: b""})
    writer.commit()
    writer.change(10, title=b"changed now", pos=place(-STEP))
    writer.add_deletion(sealed(16), [writer.now], writer.now, extension={1: b"of a deletion"})
    writer.add_deletion(sealed(16), [writer.now], writer.now, extension={0xFF: sealed(layout.SMALL_EXTENSION_SIZE - 6)})
    yield "extended", writer.commit()

    writer = started(b"Notes", seed("extended-greatest"), only_key, page_size=2048)
    greatest = layout.EXTENSION_SIZE - 6
    writer.collections[1].extension = {1: sealed(greatest)}
    writer.seal_collection(writer.collections[1])
    writer.add(1, "text", title=b"t", extension={1: sealed(greatest // 2), 0x5FF: sealed(greatest - 6 - greatest // 2)})
    yield "extended-greatest", writer.commit()

    writer = started(b"Notes", seed("newer-document"), only_key)
    writer.add_collection(2, b"All readable")
    writer.add(1, "Before it.", title=b"one", key=b"k1", extension={1: b"kept"})
    writer.add(
        1, "For a later version.", title=b"two", key=b"k2", attributes=b'{"n":2}',
        extension={1: b"may be ignored", 0x102: b"", 0x8001: b"must be understood", 0x8102: b"this too"})
    writer.add(1, "Behind it.", title=b"three", key=b"k3", parent=2)
    writer.add(2, "Elsewhere.", title=b"four")
    yield "newer-document", writer.commit()


def open_with(name):
    """The secrets that open a store, and some that do not, by name."""
    wrong = {"wrong": WRONG}
    if name == "recipient":
        return {"identity": SECRETS["identity"]} | wrong
    if name == "passphrase-test":
        return {
            "passphrase": PASSPHRASE, "passphrase2": OTHER_PASSPHRASE,
            "passphrase2_nfd": unicodedata.normalize("NFD", OTHER_PASSPHRASE), "wrong_passphrase": PASSPHRASE + " "}
    if name in ONLY_KEY:
        return {"key": KEY} | wrong
    return SECRETS | wrong


ONLY_KEY = {
    "empty", "unpadded", "keys-and-parents", "compat", "unicode", "long-titles", "long-titles-clear", "greatest-head",
    "long-title-rekeyed", "ring", "ring-overflowed", "ring-everything", "ring-full", "unwiped", "greatest-counters",
    "greatest-lead", "marks", "restored", "ranges", "bound-below-next", "replicas-4096", "long-position", "clashes",
    "keys-passed-on", "made-again", "extended", "extended-greatest", "newer-document", "attachments-64-keys",
    "attachments-none", "newer-attachment", "attachments-editable", "released",
}

