"""What slot holders and others make of a store with releases, for readers who expect a publisher."""

import base64

from .attack import Attack, run
from .positions import STEP, place
from .releasestores import BASE, FIRST, NOBODY, OTHER, SECOND, SOUND, keep, release, text_of


def attacks(kit):
    notes = kit.base(BASE).notes
    yield from _notes(notes)
    yield from _holders(notes)


def _notes(notes):
    """Without a key: other notes, and no row changes."""
    def noted(name, what, statements, publishers, **options):
        return Attack(
            f"release-{name}", BASE, what, run(*statements), verify="ok", publishers=publishers, **options)

    def written(number, note):
        return "UPDATE coffer_x_release SET note=? WHERE number=?", (note, number)

    third = text_of(notes[3])
    signature = notes[3].removeprefix(third)
    for name, old, new in (
        ("content", "content ", "content 00"), ("documents", "documents 5", "documents 4"),
        ("collections", "collections 2", "collections 1"), ("expires", "expires none", "expires 2026-02-01T00:00:00.000Z"),
        ("time", "time 2026-01-03", "time 2026-01-04"),
    ):
        text = third.replace(old, new)
        if name == "content":
            text = "\n".join(line[:72] if line.startswith("content") else line for line in text.split("\n"))
        yield noted(f"{name}-another", f"The newest note has another {name}, under its signature.", [written(3, text + signature)], NOBODY)
    name, value = signature.strip().rsplit(" ", 1)
    broken = bytearray(base64.b64decode(value))
    broken[40] ^= 1
    yield noted("signature-bit", "A bit of the newest note's signature is flipped.",
                [written(3, f"{third}\n{name} {base64.b64encode(broken).decode()}\n")], NOBODY)
    yield noted("signature-of-other", "The newest note is signed by somebody else.", [written(3, OTHER.note(third))],
                NOBODY | {OTHER.line: "ok"})
    yield noted("signature-of-former", "The newest note is signed by the key that was replaced.",
                [written(3, FIRST.note(third))], NOBODY)
    yield noted("signatures-two", "Somebody else signed the newest note, too.",
                [written(3, notes[3] + OTHER.note(third).removeprefix(third + "\n"))], SOUND | {OTHER.line: "ok"})
    yield noted("signature-of-real-name", "The newest note is signed under the name for stores that aren't TEST stores.",
                [written(3, SECOND.note(third, "coffer-release"))], NOBODY)
    yield noted("newest-gone", "The newest note is gone.", ["DELETE FROM coffer_x_release WHERE number=3"], NOBODY)
    yield noted("middle-gone", "The note that names the next publisher is gone.",
                ["DELETE FROM coffer_x_release WHERE number=2"], NOBODY | {SECOND.line: "ok"})
    yield noted("first-gone", "The first note is gone; those before a publisher's first one don't matter.",
                ["DELETE FROM coffer_x_release WHERE number=1"], SOUND)
    yield noted("all-gone", "All notes are gone.", ["DELETE FROM coffer_x_release"], NOBODY)
    for name, note in (
        ("number-another", notes[2]), ("not-a-note", "text"), ("empty", ""), ("line-more", third + "more 1\n" + signature),
        ("line-less", third.replace("expires none\n", "") + signature), ("no-signature", third + "\n"),
        ("zero-ahead", third.replace("documents 5", "documents 05") + signature),
        ("carriage-return", third.replace("\n", "\r\n") + signature),
    ):
        yield noted(name, f"The newest row isn't a note of its release: {name.replace('-', ' ')}.", [written(3, note)],
                    dict.fromkeys(NOBODY, "damaged"), also={"verify": ["damaged"]})


def _holders(notes):
    """By a customer who has a slot: each row, header and state is sealed right."""
    def forged(name, what, change, publishers=NOBODY, sign=None, **options):
        def forge(writer):
            change(writer)
            writer.commit()
            if sign:
                keep(writer, sign(writer))
        return Attack(
            f"forged-release-{name}", BASE, what, forge=forge, verify="ok", publishers=publishers, **options)

    def edit(writer):
        writer.change(2, text=b"A forged text.")

    yield forged("text", "A text is another one.", edit)
    yield forged("title", "A title is another one.", lambda writer: writer.change(2, title=b"forged"))
    yield forged("attributes", "A document has other attributes.", lambda writer: writer.change(1, attributes=b'{"colour":"blue"}'))
    yield forged("date", "A document has another date.", lambda writer: writer.change(1, modified=1))
    yield forged("document-more", "There's one more document.", lambda writer: writer.add(1, "Forged.", title=b"six"))
    yield forged("document-gone", "A document is deleted.", lambda writer: writer.delete(3), get={3: "missing"})
    yield forged("collection-more", "There's one more collection.", lambda writer: writer.add_collection(3, b"Forged"))
    yield forged("order", "A document is at another place, which no release signs.",
                 lambda writer: writer.change(1, pos=place(2 * STEP)), SOUND)
    yield forged("claimed", "The newest note claims the forged rows, under its former signature.", edit,
                 sign=lambda writer: notes | {3: release(writer, notes[2]) + notes[3].removeprefix(text_of(notes[3]))})
    yield forged("by-former-key", "The key that was replaced signs the forged rows as release 3.", edit,
                 sign=lambda writer: notes | {3: FIRST.note(release(writer, notes[2]))})
    yield forged("by-former-key-later", "The key that was replaced signs the forged rows as release 4.", edit,
                 sign=lambda writer: notes | {4: FIRST.note(release(writer, notes[3]))})
    yield forged("by-former-key-next", "The key that was replaced names itself as the next publisher again.", edit,
                 sign=lambda writer: notes | {4: FIRST.note(release(writer, notes[3], following=FIRST))})
    yield forged("by-other", "Somebody else signs the forged rows as release 4.", edit, NOBODY | {OTHER.line: "ok"},
                 sign=lambda writer: notes | {4: OTHER.note(release(writer, notes[3]))})
    yield forged("by-other-alone", "Somebody else signs the forged rows as the only release.", edit, NOBODY | {OTHER.line: "ok"},
                 sign=lambda writer: {1: OTHER.note(release(writer))})
    yield forged("behind-other", "Somebody else names the true publisher as the next, and the true notes follow.", edit,
                 sign=lambda writer: {
                     1: OTHER.note(release(writer, following=FIRST)), 2: notes[2], 3: notes[3]})
    yield forged("earlier", "The true notes end at the release before, and the rows don't.", edit,
                 sign=lambda writer: {1: notes[1], 2: notes[2]})
    yield forged("set-another", "A note of another data set.", edit, NOBODY | {OTHER.line: "mismatch"},
                 sign=lambda writer: {1: OTHER.note(release(writer, set="00" * 16))})
