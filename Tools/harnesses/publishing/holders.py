"""What a customer with a slot and full control of the file can do to it, and what a reader with --publisher must say.

The forger has the reference implementation and every key but the signing key, so each seal, header and state is right.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from typing import Callable

from . import forging

NOT_RELEASED = 21
# Each reads with --publisher; a forgery is shown to some of them, the first one to all.
VERBS = (
    ("ls",), ("verify",), ("show", "1"), ("export", "--to", "ndjson"), ("search", "tram"), ("attachment ls", "2"),
    ("query", "SELECT text FROM documents"), ("collection list",))


@dataclass
class Forgery:
    """`codes` are the permitted exit codes with the publisher, and `plain` those of `verify` without one."""

    name: str
    forge: Callable
    codes: tuple = (NOT_RELEASED,)
    plain: tuple = (0,)
    start: int = 4
    options: tuple = ()


class Holder:
    """The forger, with the file `forged.coffer` in a folder of its own."""

    def __init__(self, setting, path):
        self.setting, self.path = setting, path

    def do(self, verb, *words):
        self.setting.succeed(verb, self.path, *words, key="anna.identity")

    def sql(self, *statements):
        self.setting.sql(self.path, [one if isinstance(one, tuple) else (one, ()) for one in statements])

    def notes(self):
        index = (self.setting.place("public-4") / "index").read_text(encoding="utf-8")
        return forging.notes_of(index)[1]

    def put_notes(self, notes):
        self.sql("DELETE FROM coffer_x_release", *(
            ("INSERT INTO coffer_x_release(number, note) VALUES(?, ?)", (number, note))
            for number, note in enumerate(notes, 1)))

    def contents(self):
        """The content hash and the counts of the rows, for a note that claims them."""
        report = json.loads(self.setting.read_store(self.path, "anna").output)
        return report["content_hash"], report["count"], len(report["collections"])


def forgeries():
    yield Forgery("nothing", lambda holder: None, (0,))
    for name, verb, *words in (
        ("a text", "put", "--id", "2", "--text", "forged"), ("a title", "edit", "2", "--set-title", "forged"),
        ("an attribute", "edit", "2", "--attr", "lines:=2"), ("an attribute removed", "edit", "2", "--remove-attr", "lines"),
        ("a document more", "put", "-c", "cities", "--text", "forged"), ("a document less", "rm", "2"),
        ("a document in another collection", "mv", "3", "--into", "sources"),
        ("a collection more", "collection create", "forged"), ("a collection renamed", "collection rename", "cities", "forged"),
        ("a collection dropped", "collection drop", "sources", "--force"),
        ("an attachment less", "attachment rm", "2", "map.bin"),
    ):
        yield Forgery(name, lambda holder, verb=verb, words=words: holder.do(verb, *words))
    yield Forgery("an attachment more", lambda holder: holder.do("attachment add", "3", holder.setting.place("map.bin")))
    yield Forgery("another attachment of that name", _attach)
    yield Forgery("the texts of two documents exchanged", lambda holder: (
        holder.do("put", "--id", "2", "--text", "Eight trams."), holder.do("put", "--id", "3", "--text", "Two trams.")))
    yield Forgery("a document deleted, and made again with its ID and text", lambda holder: (
        holder.do("rm", "3"), holder.do("put", "--id", "3", "--text", "Eight trams.", "--title", "Oslo", "-c", "cities")),
        plain=(0,))
    yield Forgery("a text put back", lambda holder: (
        holder.do("put", "--id", "3", "--text", "forged"), holder.do("put", "--id", "3", "--text", "Eight trams.")))
    yield Forgery("a row removed", lambda holder: holder.sql(
        "DELETE FROM coffer_record WHERE id = 3", "DELETE FROM coffer_body WHERE id = 3"), (NOT_RELEASED, 20), (21,))
    yield Forgery("rows with each other's IDs", lambda holder: holder.sql(
        "UPDATE coffer_record SET id = 1000 WHERE id = 2", "UPDATE coffer_record SET id = 2 WHERE id = 3",
        "UPDATE coffer_record SET id = 3 WHERE id = 1000"), (NOT_RELEASED, 20), (20, 21))
    yield Forgery("a row of another copy", _row, (NOT_RELEASED, 20), (20, 21))
    yield from _notes()
    yield from _files()


def _attach(holder):
    holder.do("attachment rm", "2", "map.bin")
    path = holder.path.parent / "map.bin"
    path.write_bytes(bytes(76_800))
    holder.do("attachment add", "2", path)


def _row(holder):
    holder.sql((f"ATTACH ? AS other", (str(holder.setting.place("anna-3.coffer")),)),
               "REPLACE INTO main.coffer_record SELECT * FROM other.coffer_record WHERE id = 3")


def _notes():
    """The record of the release is the forger's."""
    def edit(holder):
        holder.do("put", "--id", "2", "--text", "forged")

    def claim(signer):
        """The newest note claims the forged rows, under the true signature or the forger's."""
        def forge(holder):
            edit(holder)
            digest, documents, collections = holder.contents()
            notes, lines = holder.notes(), []
            for line in forging.text_of(notes[-1]).splitlines():
                name = line.split(" ")[0]
                claimed = {"content": digest, "documents": documents, "collections": collections}
                lines.append(f"{name} {claimed[name]}" if name in claimed else line)
            text = "".join(f"{line}\n" for line in lines)
            signature = notes[-1][len(forging.text_of(notes[-1])):]
            notes[-1] = text + signature if signer is None else forging.signed(text, holder.setting.place(f"{signer}.key"))
            holder.put_notes(notes)
        return forge

    yield Forgery("a note that claims the forged rows", claim(None))
    yield Forgery("the same, signed by the forger", claim("attacker"))
    yield Forgery("the same, signed by the former signing key", claim("former"))
    yield Forgery("a true note before forged rows", edit)
    yield Forgery("the note of an earlier release", lambda holder: holder.put_notes(holder.notes()[:3]))
    yield Forgery("the note of a later release", lambda holder: holder.put_notes(holder.notes()), start=3)
    yield Forgery("a note left out", lambda holder: holder.sql("DELETE FROM coffer_x_release WHERE number = 3"))
    yield Forgery("notes in another order", lambda holder: holder.put_notes(
        [holder.notes()[at] for at in (0, 2, 1, 3)]), (NOT_RELEASED, 20), (0, 20))
    yield Forgery("a text in place of a note", lambda holder: holder.sql(
        "UPDATE coffer_x_release SET note = 'text' WHERE number = 4"), (NOT_RELEASED, 20), (0, 20))
    yield Forgery("no notes", lambda holder: holder.sql("DELETE FROM coffer_x_release"))
    yield Forgery("no table of notes", lambda holder: holder.sql("DROP TABLE coffer_x_release"), (NOT_RELEASED, 20), (0, 20))

    def own(holder):
        """The forger signs everything with a key of its own."""
        edit(holder)
        holder.sql("DELETE FROM coffer_x_release")
        holder.do("release make", "--signing", "attacker.key")

    yield Forgery("the forger's own release", own)
    yield Forgery("the forger's own release after the true ones", lambda holder: (
        own(holder), holder.put_notes([*holder.notes(), _own_note(holder)])))


def _own_note(holder):
    """A fifth release of the present rows, which names its predecessor, by the forger."""
    digest, documents, collections = holder.contents()
    former = forging.text_of(holder.notes()[-1])
    fields = dict(line.split(" ", 1) for line in former.splitlines()[1:])
    fields |= {
        "number": 5, "content": digest, "documents": documents, "collections": collections,
        "previous": hashlib.sha256(former.encode()).hexdigest()}
    text = "coffer-release-1\n" + "".join(f"{name} {value}\n" for name, value in fields.items())
    return forging.signed(text, holder.setting.place("attacker.key"))


def _files():
    """The forger makes another file, with keys of its own."""
    def copied(*options):
        def forge(holder):
            """A new family key, under a release of the forger, in whose place the true notes then are."""
            new = holder.path.parent / "new.coffer"
            holder.do("copy", new, "--recipient", holder.setting.customers["anna"], *options)
            new.replace(holder.path)
            if "--editable" not in options:
                holder.do("release make", "--signing", "attacker.key")
                holder.put_notes(holder.notes())
        return forge

    yield Forgery("a copy with another family key", copied())
    yield Forgery("a rekeyed copy", lambda holder: holder.do("rekey"), (0,))
    yield Forgery("a rekeyed copy with a forged text", lambda holder: (
        holder.do("put", "--id", "2", "--text", "forged"), holder.do("rekey")))
    yield Forgery("an editable copy", copied("--editable"), (0,))
    # The page promises nothing about these: the order of documents, and a whole earlier release.
    yield Forgery("another order", lambda holder: holder.do("mv", "3", "--to", "top"), (0,))
    yield Forgery("a whole earlier release", lambda holder: None, (0,), start=3)
    yield Forgery("a whole earlier release, and the reader has an anchor", lambda holder: None, start=3, options=("--anchor",))
    yield Forgery("the file of another data set of the publisher", lambda holder: shutil.copy(
        holder.setting.place("same publisher") / "anna.coffer", holder.path), (0,))
    yield Forgery("the file of another publisher", lambda holder: shutil.copy(
        holder.setting.place("other publisher") / "anna.coffer", holder.path))
