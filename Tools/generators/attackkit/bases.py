"""The sound stores that attacks start from, and earlier and foreign ones to take rows from.

Each has the slots 1 (key file primary.key), 2 (passphrase.txt) and 3 (recipient.txt), all of Keys/.
"""

from pathlib import Path

from storereader import keyfiles

from .writer import CLEAR, NONE, SEALED, Writer

KEYS = Path(__file__).resolve().parents[3] / "Keys"
FOLDED = b'{"folding":1,"title":1}'


def key_of(name):
    return keyfiles.key_file((KEYS / name).read_bytes()).value


def usual_slots(writer):
    writer.add_key_file(key_of("primary.key"), b"key file")
    writer.add_passphrase(keyfiles.passphrase_file((KEYS / "passphrase.txt").read_bytes()).value, b"words")
    writer.add_recipient(key_of("recipient.txt"), "Empf\u00e4nger".encode())


def fill(writer):
    """Two collections, seven documents; number 6 is gone, number 2 has been changed. Yields after each commit."""
    usual_slots(writer)
    yield writer.commit()
    writer.add_collection(1, b"Notes")
    writer.add_collection(2, "L\u00e4nder".encode(), FOLDED)
    writer.add(1, "The first text.", title=b"one", key=b"k1", attributes=b'{"colour":"red","n":1.5}')
    writer.add(1, "Second, as it was first written.", title=b"two", key=b"k2")
    writer.add(1, "", title="\u9898\u540d".encode(), parent=2)
    writer.add(2, "Gr\u00fc\u00dfe\n\u2028\0 and more", title="Stra\u00dfe".encode(), key="Stra\u00dfe".encode())
    writer.add(2, "x" * 700, title=None, flags=0)
    writer.add(1, "Deleted later.", title=b"six", key=b"k6")
    writer.add(1, '{"a":1}', title=b"seven", flags=1, pos=2**31)
    yield writer.commit()
    writer.change(2, text=b"Second, as it is now.", title=b"two now", modified=1_700_000_000_500)
    yield writer.commit()
    writer.delete(6)
    yield writer.commit()
    writer.change(1, pos=5 * 2**33)
    yield writer.commit()


def histories(seed):
    """By name: each store at every commit, the last of them the base."""
    made = {}
    for name, titles, padded in (
        ("sealed", SEALED, True), ("clear", CLEAR, False), ("none", NONE, True), ("other", SEALED, True),
    ):
        writer = Writer(f"{seed}/{name}", titles, padded)
        made[name] = [moment.copy() for moment in fill(writer)]
    made["mid"] = _rekeyed(made["sealed"][-1].copy())
    made["slots"] = _slot_removed(made["sealed"][-1].copy())
    return made


def _slot_removed(writer):
    """The same store with a slot for next.key, and without it again."""
    writer.random = type(writer.random)(f"slots of {writer.store_id.hex()}")
    writer.add_key_file(key_of("next.key"), b"to be removed")
    with_slot = writer.commit().copy()
    writer.slots.pop()
    return [with_slot, writer.commit()]


def _rekeyed(writer):
    """A rekey of the store `sealed` that stands in the middle: documents 1 to 3 are sealed again."""
    writer.random = type(writer.random)(writer.store_id.hex())
    moments = [writer.copy()]
    writer.change_root(usual_slots)
    moments.append(writer.commit().copy())
    for id in (1, 2, 3):
        writer.reseal(id)
        moments.append(writer.commit().copy())
    return moments
