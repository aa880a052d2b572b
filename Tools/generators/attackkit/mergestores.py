"""Sound stores of several replicas: united by merges, copied, and with what merges leave to be settled."""

import hashlib

from . import layout
from .dots import ZERO, CollectionDots, DocumentDots, order
from .positions import LIMIT, STEP, place
from .starting import FOLDED, created, only_key, started
from .writer import RANGE_SIZE, Collection, Replica

# A counter that another replica has reached, as far ahead as a merge takes it.
FAR_COUNTER = 2**32


def unite(writer):
    """Merges: documents of five replicas, the own one promoted in between. Yields after each commit."""
    identities = {name: hashlib.sha256(name.encode()).digest()[:16] for name in ("east", "west", "north")}
    yield "created", writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, "L\u00e4nder".encode(), FOLDED)
    writer.add_collection(3, b"Dropped")
    writer.add(1, "As it was first.", title=b"one", key=b"k1", attributes=b'{"a":1,"b":2,"c":3}')
    writer.add(1, "Two.", title=b"two", key=b"k2", parent=1)
    writer.add(2, "Gr\u00fc\u00dfe", title=b"three", key="Stra\u00dfe".encode())
    writer.add(3, "Deleted with its collection.", title=b"four")
    writer.add(1, "Deleted later, here and elsewhere.", title=b"five")
    yield "filled", writer.commit()
    writer.change(1, attributes=b'{"a":9,"c":3}', text=b"As it is here.")
    writer.change(2, modified=1_700_000_000_500)
    writer.delete(5)
    writer.drop_collection(3)
    yield "changed", writer.commit()

    # A merge with a copy, which knew all of this up to the commit before, and had a sibling of its own.
    east = writer.learn(identities["east"], FAR_COUNTER, 12, [(FAR_COUNTER - 7, b"east one"), (FAR_COUNTER, b"east two")])
    west = writer.learn(identities["west"], FAR_COUNTER, 8191)
    born, now = (east, 4), writer.now
    writer.add(
        1, "Of the eastern copy.", id=12 * RANGE_SIZE, title=b"east", key=b"k1", parent=2,
        attributes=b'{"n":1}', dots=DocumentDots(born, {"title": (west, 5), "place": (east, FAR_COUNTER - 7)}))
    one, two = writer.records[1], writer.records[2]
    # A text that lost in a document that was called otherwise there: every replica makes the same document of it.
    uid = copy_uid(one.uid, identities["east"], FAR_COUNTER - 6)
    writer.add(
        1, "As it is in the east.", id=12 * RANGE_SIZE + 1, uid=uid, title=copy_title(b"one in the east"),
        pos=copy_position(one.pos, uid), attributes=b'{"a":1,"b":2,"d":true}', created=one.created,
        modified=1_700_000_000_900, dots=copy_dots((east, FAR_COUNTER - 6), now))
    # Members of both sides; one was removed here, and one there.
    one.attributes, one.dots.stamp = b'{"a":9,"d":true}', now
    one.dots.members |= {b"c": (east, FAR_COUNTER - 5), b"d": (east, FAR_COUNTER - 5), b"": (west, FAR_COUNTER)}
    # Deleted there, changed here, and kept.
    two.dots.stamp = two.dots.kept = now
    for record in (one, two):
        record.rev = writer.generation + 1
        writer.seal(record)
        writer._note(layout.DETAILS, 1, record.id)
    # Deleted on both sides, with a stamp of this merge; and deleted there alone.
    deletion = next(d for d in writer.deletions.values() if d.dots == [(0, 3)])
    deletion.dots, deletion.stamp, deletion.rev = [(0, 3), (east, 9), (west, 9)], now, writer.generation + 1
    deletion.dots.sort(key=order)
    writer.seal_deletion(deletion)
    writer.add_deletion(writer.random(16), [(west, 1)], (west, 1))
    # Another collection of the first one's name, and the dropped one again, in which a document was changed elsewhere.
    writer.collections[4] = Collection(
        4, writer.generation + 1, writer.collection_uid(b"Notizen"), CollectionDots((east, 2), {"name": (east, FAR_COUNTER - 7)}), b"Notes",
        b'{"folding":0,"title":0}')
    writer.seal_collection(writer.collections[4])
    writer._note(layout.COLLECTION, 4)
    writer.add(4, "In the eastern Notes.", id=8191 * RANGE_SIZE + 5, title=b"west", dots=DocumentDots((west, 6)))
    writer.add(
        3, "Changed while its collection was dropped.", id=12 * RANGE_SIZE + 2, title=b"kept",
        dots=DocumentDots((0, 2), {"text": (east, 10)}, kept=now))
    writer.next_id = 7
    yield "merged", writer.commit()

    writer.add_replica(4095)
    writer.add(1, "After the promotion.", title=b"promoted", key=b"k3")
    writer.change(2, title=b"two now")
    yield "promoted", writer.commit()
    # A merge with a replica whose counter is lower leaves the own one as it would be.
    writer.learn(identities["north"], 3, 1, [(1, b"north ne"), (3, b"northern")])
    writer.add(1, "Of the north.", id=RANGE_SIZE, title=b"north", dots=DocumentDots((4, 2)))
    yield "before-last", writer.commit()
    writer.change(12 * RANGE_SIZE, pos=place(-STEP), attributes=b"")
    yield "last", writer.commit()


def copy_uid(uid, identity, counter):
    """The uid of the document that a text becomes after it lost in a conflict."""
    return hashlib.sha256(b"coffer3/copy" + uid + identity + counter.to_bytes(8, "big")).digest()[:16]


def copy_position(pos, uid):
    return pos + place(0, 0, uid[:3])


def copy_title(title):
    return title + b" (other version)"


def copy_dots(dot, now):
    """The text's dot, and that of the merging transaction."""
    return DocumentDots(dot, dict.fromkeys(("title", "key", "attributes", "place"), ZERO), now)


def _replicas(seed, made):
    # 40 commits, of which the row of the first root key keeps the marks of 32; then a replica more.
    writer = started(b"Notes", seed("marks"), only_key)
    writer.add(1, "text 0", title=b"t")
    for number in range(40):
        writer.commit()
        writer.change(1, text=f"text {number}".encode())
    writer.commit()
    writer.change_root(only_key)
    writer.commit()
    writer.add_replica(2)
    writer.change(1, text=b"by another replica")
    yield "marks", writer.commit()

    # The file was copied over another by a program without a key: the next transaction adds a replica.
    writer = started(b"Notes", seed("restored"), only_key)
    writer.add(1, "text", title=b"t")
    writer.commit()
    writer.restored = 1
    yield "restored", writer

    # Numbers of other ranges stay; the own range is nearly, and then quite used up.
    writer = created(seed("ranges"), only_key).commit()
    writer.add_replica(8191)
    writer.add_collection(1, b"Notes")
    end = 8192 * RANGE_SIZE
    for id in (None, end - 2, 5, 3 * RANGE_SIZE, end - 1, None, None):
        writer.add(1, f"document {id}", id=id)
    yield "ranges", writer.commit()
    writer = created(seed("bound-below-next"), only_key).commit()
    writer.add_collection(1, b"Notes")
    writer.add(1, "Of range 0.", title=b"t")
    writer.commit()
    writer.add_replica(5000)
    yield "bound-below-next", writer.commit()

    # As many replicas as there may be, and a document of each of some.
    writer = created(seed("replicas-4096"), only_key, page_size=8192).commit()
    writer.replicas += [
        Replica(writer.random(16), number, number % 8192, 2, [(number, writer.random(8))]) for number in range(1, 4096)]
    writer.lead, writer._has_new_replicas = 4095, True
    writer.add_collection(1, b"Notes")
    for number in (1, 127, 128, 2047, 4095):
        writer.add(1, f"Of replica {number}.", dots=DocumentDots((number, 1), {"text": (number, number)}))
    yield "replicas-4096", writer.commit()

    # A position as long as there may be, beside the one before it.
    writer = started(b"Notes", seed("long-position"), only_key)
    longest = (place(0) * LIMIT)[: LIMIT - 1] + b"\xff"
    for pos in (longest, longest[:-1]):
        writer.add(1, f"{len(pos)} bytes", pos=pos)
    yield "long-position", writer.commit()


def _copies(seed, made):
    original = made["united"]["last"]

    def copied(name, is_editable):
        """A new store with the documents of `united`: an editable copy, or a plain one, which is of one commit and has
        nothing that links it to the original: new uids, and no key that another document holds."""
        writer = created(seed(name), titles=original.titles)
        if is_editable:
            writer.family, own = original.family, writer.replicas[0]
            vector = [*(one.counter for one in original.replicas[: original.own]), original.generation + original.lead]
            vector += [one.counter for one in original.replicas[original.own + 1 :]]
            writer.replicas = [
                Replica(one.identity, counter, one.range, 1, [*one.marks])
                for one, counter in zip(original.replicas, vector)]
            writer.replicas[original.own].marks = [*original.marks]
            own.range = 333
            writer.replicas.append(own)
            writer.own, writer.lead, writer.next_id = len(writer.replicas) - 1, max(vector), own.range * RANGE_SIZE
        for c in original.collections.values():
            if is_editable:
                copy = original.copy().collections[c.coll]
                copy.rev, writer.collections[c.coll] = 1, copy
                writer.seal_collection(copy)
            elif original.is_listed(c):
                writer.add_collection(c.coll, c.name + b" " * (c.coll == 4), c.settings)
        uids = {r.uid: r.uid if is_editable else writer.random(16) for r in original.records.values()}
        for r in original.copy().records.values():
            has_key = is_editable or not r.flags & layout.HELD_ELSEWHERE
            writer.add(
                r.coll, r.text, id=r.id, pos=r.pos, title=r.title, key=r.key if has_key else None,
                parent_uid=r.parent_uid if is_editable else uids.get(r.parent_uid), flags=r.flags & layout.IS_VALUE,
                attributes=r.attributes, created=r.created, modified=r.modified, uid=uids[r.uid],
                dots=r.dots if is_editable else None)
        for d in original.deletions.values() if is_editable else ():
            writer.add_deletion(d.uid, d.dots, d.stamp)
        return writer

    yield "plain-copy", copied("plain-copy", False).commit()
    writer = copied("editable", True)
    writer.commit()
    writer.change(3, text="Auf der anderen Seite ge\u00e4ndert.".encode())
    writer.add(1, "New on this side.", title=b"nine")
    yield "editable", writer.commit()


def _clashes(seed, made):
    """What merges leave to be settled by whoever reads."""
    writer = created(seed("clashes"), only_key).commit()
    # A replica of a greater number and a lesser identity.
    other = writer.learn(bytes(15) + b"\1", 100, 7)

    def collection(coll, name, counter, uid, settings=b'{"folding":0,"title":0}', replica=other, **dots):
        writer.collections[coll] = Collection(
            coll, writer.generation + 1, uid, CollectionDots((replica, counter), **dots), name, settings)
        writer.seal_collection(writer.collections[coll])
        writer._note(layout.COLLECTION, coll)

    # The least dot of the name has the name, of equal ones the least uid. The others have theirs in the order of their
    # uids, and these names are taken, too.
    uid = bytes.fromhex("0123456789abcdef0123456789abcd")
    collection(1, b"Notes", 9, uid + b"\1", parts={"name": (other, 20)})
    collection(2, b"Notes", 9, uid + b"\3")
    collection(3, b"Notes", 9, uid + b"\2")
    collection(4, b"Notes~01234567", 10, uid + b"\4")
    collection(5, b"Notes", 8, uid + b"\5", is_dropped=True)
    collection(6, b"Keys", 8, uid + b"\6", FOLDED)
    # Of equal counters the one of the lesser identity.
    collection(7, b"Equal", 12, uid + b"\7", replica=0)
    collection(8, b"Equal", 12, uid + b"\x08")
    # The one with the least dot holds the key, whichever has the least number or was written last.
    for id, key, counter in ((1, b"k", 30), (2, b"k", 29), (3, b"K", 28), (4, b"only", 27), (5, b"k", 29)):
        writer.add(1, f"{key.decode()} {counter}", id=id, title=b"t", key=key, dots=DocumentDots(
            (other, 5), {"key": (other, counter)}), uid=bytes([9 - id]) * 16)
    for id, replica in ((6, 0), (7, other), (8, 0)):
        writer.add(1, f'"of replica {replica}"', id=id, key=b"equal", flags=layout.IS_VALUE * (id == 8), dots=DocumentDots(
            (other, 5), {"key": (replica, 33)}))
    for id, key in ((11, "stra\u00dfe"), (12, "STRASSE"), (13, "Strasse")):
        writer.add(6, key, id=id, key=key.encode(), dots=DocumentDots((other, 40 - id)))
    writer.add(6, "no text", id=14, key=b"\0", attributes=b'{"":null,"\xc3\xa9":1}', dots=DocumentDots(
        (other, 5), {"key": ZERO, "text": ZERO, "place": ZERO}, members={b"": ZERO, "\u00e9".encode(): (other, 6), b"z": ZERO}))
    # Parents: a cycle of three, one of itself, one in another collection, one that there is not.
    cycle = {id: bytes([id]) * 16 for id in range(21, 27)}
    for id, parent, counter in ((21, 22, 50), (22, 23, 52), (23, 21, 52), (24, 21, 1), (25, 25, 1)):
        writer.add(2, f"child of {parent}", id=id, uid=cycle[id], parent_uid=cycle[parent], dots=DocumentDots(
            (other, 1), {"place": (other, counter)}))
    writer.add(1, "parent elsewhere", id=26, parent_uid=cycle[21], dots=DocumentDots((other, 1)))
    writer.add(1, "parent unknown", id=27, parent_uid=bytes(16), dots=DocumentDots((other, 1)))
    yield "clashes", writer.commit()

    # Documents that did not hold their keys, and the ways in which a holder leaves its key to the next of them.
    writer = created(seed("keys-passed-on"), only_key).commit()
    other = writer.learn(writer.random(16), 100, 7)
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, b"Other", FOLDED)
    for number, name in enumerate(("deleted", "changed", "taken away", "moved", "kept")):
        for counter in (3, 2, 1):
            writer.add(1, f"{name} {counter}", id=10 * number + counter, title=b"t", key=name.encode(), dots=DocumentDots(
                (other, 1), {"key": (other, 20 + counter)}))
    writer.commit()
    writer.delete(1)
    writer.change(11, key=b"changed now")
    writer.change(21, key=None)
    writer.change(31, coll=2, pos=place(0))
    # Documents that do not hold their keys: one is deleted, one gets a key of its own, one moves and holds its key there.
    writer.delete(43)
    writer.commit()
    writer.change(13, key=b"another")
    writer.change(42, coll=2, pos=place(STEP))
    writer.add(2, "a value", key=b"value", flags=layout.IS_VALUE)
    yield "keys-passed-on", writer.commit()

    # A collection that is made again is the dropped one; another that has its old name is not.
    writer = started(b"Again", seed("made-again"), only_key)
    writer.add_collection(2, b"Renamed")
    writer.add(1, "deleted", title=b"t")
    writer.commit()
    writer.drop_collection(1)
    writer.change_collection(2, name=b"Otherwise")
    writer.commit()
    writer.add_collection(3, b"Again", FOLDED)
    writer.add_collection(3, b"Renamed")
    yield "made-again", writer.commit()


MAKERS = (_replicas, _copies, _clashes)
