"""What whoever serves or carries a release folder can do to it, and what a customer's `update` must say.

An attack changes a copy of the folder at release 4, or a customer's copy at an earlier release, which then updates.
"""

import hashlib
import os
import shutil
from dataclasses import dataclass, field
from typing import Callable

from storereader import keyfiles
from storereader.errors import StoreError
from storereader.primitives import XAES, hkdf, pae
from storereader.releasefolders import Folder
from storereader.releases import releases_of
from storereader.store import Store

from . import forging
from .setting import Publisher

NOT_RELEASED, NO_FILE, NO_KEY, CANNOT_UNLOCK, USAGE, FAILED = 21, 10, 13, 12, 64, 1


@dataclass
class Attack:
    """`update`, `make` and `reads` are the exit codes of an update, of a new copy, and of the second reader from nothing.

    `reaches` is the release that the copy has afterward. None: not one byte of it changes.
    """

    name: str
    change: Callable
    update: int = NOT_RELEASED
    make: int = NOT_RELEASED
    reads: int = None
    reaches: int = None
    customer: str = "anna"
    copy: int = 2
    options: tuple = ()
    # Whether the true folder leads the copy on afterward.
    recovers: bool = True
    publisher: Callable = field(default=lambda setting: setting.line_of_publisher)


@dataclass
class Mirror:
    """What an attack changes: the folder that a customer updates from, and the customer's own copy."""

    setting: object
    folder: object
    copy: object

    def place(self, name):
        return self.folder / name

    @property
    def index(self):
        return self.place("index").read_text(encoding="utf-8")

    @index.setter
    def index(self, text):
        self.place("index").write_text(text, encoding="utf-8")

    def replaced(self, old, new):
        text = self.index
        if old not in text:
            raise ValueError(f"the index has no {old}")
        self.index = text.replace(old, new)

    def serve(self, number):
        """Serves the folder as it was at a release."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.setting.place(f"public-{number}"), self.folder)

    def take(self, name, number):
        shutil.copy(self.setting.place(f"public-{number}") / name, self.folder)

    def parts(self, number=4):
        """The list of a release's index, and the notes of all releases."""
        return forging.notes_of((self.setting.place(f"public-{number}") / "index").read_text(encoding="utf-8"))

    def signing(self, name):
        return self.setting.place(f"{name}.key")

    def swap(self, one, other):
        one, other, between = self.place(one), self.place(other), self.place("between")
        one.rename(between), other.rename(one), between.rename(other)

    def exchange(self, name, changed):
        """Writes a file with other bytes, and changes its line to fit. Returns the new index's list without signing it."""
        digest = hashlib.sha256(self.place(name).read_bytes()).hexdigest()
        self.place(name).write_bytes(changed)
        listed, _ = forging.notes_of(self.index)
        return forging.text_of(listed).replace(digest, hashlib.sha256(changed).hexdigest())

    def forged_update(self):
        """The file 3-4.update with another text, sealed under the key that each customer has."""
        folder = Folder(self.folder)
        keys = forging.release_keys(self.folder, "bert", self.setting.place("bert.identity"))
        update = next(one for one in folder.index.updates if one.name == "3-4.update")
        plain = forging.opened(self.folder, update, keys[4])
        if plain.count(b"Eight trams.") != 1:
            raise ValueError("the text isn't in the file")
        digests = [hashlib.sha256(text).digest() for text in (b"Eight trams.", b"Forged trams")]
        return forging.resealed(
            update, keys[4], plain.replace(b"Eight trams.", b"Forged trams").replace(*digests))


def attacks(setting, is_long):
    yield Attack("nothing", lambda mirror: None, 0, 0, reaches=4)
    yield Attack("nothing, for one who expects the new signing key", lambda mirror: None, 0, 0, reaches=4,
                 publisher=lambda setting: setting.next_line)
    yield from _older()
    yield from _withheld()
    yield from _cut_and_edited(setting, 1 if is_long else 4)
    yield from _mixed()
    yield from _strange()
    yield from _keys()
    yield from _forged()


def _older():
    yield Attack("the folder of an earlier release", lambda mirror: mirror.serve(1), make=0)
    yield Attack("the same, accepted by the customer", lambda mirror: mirror.serve(1), 0, 0, options=("--allow-older",))
    yield Attack("the folder of an earlier release that leads on", lambda mirror: mirror.serve(2), 0, 0, copy=1, reaches=2)
    yield Attack("the folder before the signing key changed, for one who expects the new one",
                 lambda mirror: mirror.serve(2), publisher=lambda setting: setting.next_line)
    yield Attack("an expired release", _expire)
    yield Attack("an expired release, accepted by the customer", _expire, 0, 0, reaches=4, options=("--allow-older",),
                 recovers=False)


def _expire(mirror):
    """As the publisher's own folder is after the time."""
    listed, notes = mirror.parts()
    text = forging.text_of(notes[-1]).replace("expires none", "expires 2000-01-01T00:00:00.000Z")
    notes[-1] = forging.signed(text, mirror.signing("release"))
    mirror.index = forging.index_of(
        forging.signed(forging.list_of(notes, forging.updates_of(listed)), mirror.signing("release")), notes)


def _withheld():
    def without(name):
        return lambda mirror: mirror.place(name).unlink()

    yield Attack("no index", without("index"), NO_FILE, NO_FILE)
    yield Attack("no key file", without("4.anna.key"), NO_KEY, NO_KEY)
    yield Attack("no file with all documents", without("0-3.update"), 0, NO_FILE, reaches=4)
    yield Attack("no file of the first step", without("2-3.update"), NO_FILE, 0)
    yield Attack("no file of the second step", without("3-4.update"), NO_FILE, NO_FILE, reaches=3)
    yield Attack("no folder", lambda mirror: shutil.rmtree(mirror.folder), NO_FILE, NO_FILE)


def _cut_and_edited(setting, step):
    """`step`: 1 for each line of the index, 2 for each second one."""
    index = (setting.place("public-4") / "index").read_bytes()
    lines = [at for at, byte in enumerate(index) if byte == 0x0A]

    def cut(name, count):
        def change(mirror):
            content = mirror.place(name).read_bytes()
            mirror.place(name).write_bytes(content[: count if count >= 0 else len(content) + count])
        return change

    def flip(name, at):
        def change(mirror):
            content = bytearray(mirror.place(name).read_bytes())
            content[at] ^= 1
            mirror.place(name).write_bytes(content)
        return change

    def turn(name, at):
        def change(mirror):
            content = bytearray(mirror.place(name).read_bytes())
            content[at] = ord("1" if content[at] == ord("0") else "0")
            mirror.place(name).write_bytes(content)
        return change

    for at in (0, *lines[:-1:step], -1):
        yield Attack(f"index, cut to {at} bytes", cut("index", at))
    for at in sorted({line - 1 for line in lines})[::step]:
        yield Attack(f"index, byte {at} changed", flip("index", at))
    for name, update, make, reaches in (
        ("2-3.update", NOT_RELEASED, 0, None), ("3-4.update", NOT_RELEASED, NOT_RELEASED, 3),
        ("0-3.update", 0, NOT_RELEASED, 4),
    ):
        size = (setting.place("public-4") / name).stat().st_size
        # The second reader compares each file that is there.
        for count in (0, 1, size // 2, -1):
            yield Attack(f"{name}, cut to {count} bytes", cut(name, count), update, make, NOT_RELEASED, reaches)
        for at in (0, size // 2, size - 1):
            yield Attack(f"{name}, byte {at} changed", flip(name, at), update, make, NOT_RELEASED, reaches)
        yield Attack(f"{name}, a byte more", lambda mirror, name=name: _append(mirror, name), update, make, NOT_RELEASED, reaches)
    yield Attack("key file, cut", cut("4.anna.key", -1), FAILED, FAILED, CANNOT_UNLOCK)
    yield Attack("key file, empty", cut("4.anna.key", 0), FAILED, FAILED, CANNOT_UNLOCK)
    yield Attack("key file, of another kind", flip("4.anna.key", 3), FAILED, FAILED, CANNOT_UNLOCK)
    # The ephemeral key, the recipient's and the wrapped one.
    for at in (30, 100, 200, -2):
        yield Attack(f"key file, digit {at} changed", turn("4.anna.key", at), CANNOT_UNLOCK, CANNOT_UNLOCK)


def _append(mirror, name):
    with mirror.place(name).open("ab") as file:
        file.write(b"\0")


def _mixed():
    yield Attack("files exchanged", lambda mirror: mirror.swap("2-3.update", "3-4.update"))
    yield Attack("all documents in place of changes", lambda mirror: shutil.copy(
        mirror.place("0-3.update"), mirror.place("2-3.update")), make=0, reads=NOT_RELEASED)
    yield Attack("changes in place of all documents", lambda mirror: shutil.copy(
        mirror.place("2-3.update"), mirror.place("0-3.update")), 0, NOT_RELEASED, reaches=4)
    yield Attack("the index of an earlier release beside later files", lambda mirror: mirror.take("index", 3), NO_KEY, NO_KEY)
    yield Attack("the same for a copy of the later release", lambda mirror: mirror.take("index", 3), NOT_RELEASED, NO_KEY, copy=4)
    yield Attack("a later index beside earlier files", lambda mirror: (
        mirror.serve(3), mirror.take("index", 4), mirror.take("4.anna.key", 4)), NO_FILE, NO_FILE, reaches=3)

    def compose(listed, notes):
        def change(mirror):
            (earlier_list, earlier), (later_list, later) = mirror.parts(3), mirror.parts(4)
            mirror.index = forging.index_of(
                {3: earlier_list, 4: later_list}[listed], notes(earlier, later))
        return change

    yield Attack("the list of an earlier release, with later notes", compose(3, lambda earlier, later: later))
    yield Attack("the list of a later release, with earlier notes", compose(4, lambda earlier, later: earlier))
    yield Attack("no notes", compose(4, lambda earlier, later: []))
    yield Attack("a note left out", compose(4, lambda earlier, later: [*later[:2], later[3]]))
    yield Attack("notes in another order", compose(4, lambda earlier, later: [later[1], later[0], *later[2:]]))
    yield Attack("a note twice", compose(4, lambda earlier, later: [*later, later[3]]))
    # They are below the copy's release, so nothing depends on them.
    yield Attack("early notes left out", compose(4, lambda earlier, later: later[1:]), 0, 0, reaches=4)
    yield Attack("the index twice", lambda mirror: setattr(mirror, "index", mirror.index + "\n" + mirror.index))
    yield Attack("a line of the list twice", lambda mirror: setattr(mirror, "index", mirror.index.replace(
        _line(mirror, 0), _line(mirror, 0) * 2)))
    yield Attack("lines of the list exchanged", lambda mirror: setattr(mirror, "index", mirror.index.replace(
        _line(mirror, 0) + _line(mirror, 1), _line(mirror, 1) + _line(mirror, 0))))
    yield Attack("a line of the list left out", lambda mirror: mirror.replaced(_line(mirror, 1), ""))
    yield Attack("another release of a line", lambda mirror: mirror.replaced("update 2 3", "update 1 3"))
    yield Attack("other spelling of a number", lambda mirror: mirror.replaced("update 2 3", "update 02 3"))
    yield Attack("other ends of lines", lambda mirror: setattr(mirror, "index", mirror.index.replace("\n", "\r\n")))
    for name, code in (("same publisher", 0), ("other publisher", NOT_RELEASED)):
        yield Attack(f"the folder of another data set, {name}", lambda mirror, name=name: (
            shutil.rmtree(mirror.folder), shutil.copytree(mirror.setting.place(name) / "public", mirror.folder)), make=code)
    for name in ("2-3.update", "3-4.update"):
        yield Attack(f"{name} of another data set", lambda mirror, name=name: shutil.copy(
            mirror.setting.place("same publisher") / "public/0-1.update", mirror.place(name)),
            NOT_RELEASED, 0 if name[0] == "2" else NOT_RELEASED, NOT_RELEASED, None if name[0] == "2" else 3)


def _line(mirror, number):
    return forging.updates_of(mirror.parts()[0]).splitlines(keepends=True)[number]


def _strange():
    def replace(name, make):
        def change(mirror):
            mirror.place(name).unlink()
            make(mirror.place(name))
        return change

    def sparse(path):
        with path.open("wb") as file:
            file.truncate(65 << 20)

    # The second reader doesn't look at what a name stands for, so it isn't asked about pipes.
    for name, update, make, reaches in (
        ("index", FAILED, FAILED, None), ("4.anna.key", FAILED, FAILED, None), ("3-4.update", FAILED, FAILED, 3)):
        yield Attack(f"{name} is a pipe", replace(name, os.mkfifo), update, make, -1, reaches)
        yield Attack(f"{name} is a folder", replace(name, os.mkdir), update, make, -1, reaches)
        yield Attack(f"{name} is a device", replace(name, lambda path: path.symlink_to("/dev/zero")), update, make, -1, reaches)
    yield Attack("a link in place of a file", lambda mirror: (
        mirror.place("index").rename(mirror.place("other")), mirror.place("index").symlink_to("other")), 0, 0, reaches=4)
    yield Attack("an index of 65 MiB", replace("index", sparse), FAILED, FAILED, NOT_RELEASED)
    yield Attack("a key file of 65 MiB", replace("4.anna.key", sparse), FAILED, FAILED, CANNOT_UNLOCK)
    yield Attack("3-4.update of 65 MiB", replace("3-4.update", sparse), reaches=3)
    yield Attack("files that aren't listed", lambda mirror: [
        mirror.place(name).write_text("text") for name in ("0-4.update", "4-5.update", "5.anna.key", "index.new")], 0, 0, reaches=4)


def _keys():
    def put(name, number, as_name="4.anna.key"):
        return lambda mirror: shutil.copy(mirror.setting.place(f"public-{number}") / name, mirror.place(as_name))

    yield Attack("another customer's key file", put("4.bert.key", 4), CANNOT_UNLOCK, CANNOT_UNLOCK)
    yield Attack("the key file of an earlier release", put("3.anna.key", 3), CANNOT_UNLOCK, CANNOT_UNLOCK)
    yield Attack("a revoked customer", lambda mirror: None, NO_KEY, NO_KEY, customer="carl")
    yield Attack("a revoked customer with an earlier key file", put("2.carl.key", 2, "4.carl.key"), CANNOT_UNLOCK,
                 CANNOT_UNLOCK, customer="carl")
    yield Attack("a revoked customer with another's key file", put("4.anna.key", 4, "4.carl.key"), CANNOT_UNLOCK,
                 CANNOT_UNLOCK, customer="carl")
    yield Attack("a revoked customer with the folder of then", lambda mirror: mirror.serve(2), 0, 0, reaches=2,
                 customer="carl", copy=1)
    yield Attack("a key file with the attacker's key", lambda mirror: mirror.place("4.anna.key").write_text(forging.key_file(
        forging.own_key(), bytes.fromhex(Folder(mirror.folder).index.newest.fields["set"]), 4,
        mirror.setting.customers["anna"])), CANNOT_UNLOCK, CANNOT_UNLOCK)


def _forged():
    yield Attack("changes by a customer, sealed right",
                 lambda mirror: mirror.place("3-4.update").write_bytes(mirror.forged_update()), reaches=3)

    def listed(signature):
        """The list has the forged file's digest, under the true signature or the attacker's."""
        def change(mirror):
            text = mirror.exchange("3-4.update", mirror.forged_update())
            former, notes = forging.notes_of(mirror.index)
            mirror.index = forging.index_of(
                text + former[len(forging.text_of(former)):] if signature is None
                else forging.signed(text, mirror.signing(signature)), notes)
        return change

    yield Attack("the same, listed", listed(None))
    yield Attack("the same, listed and signed by the attacker", listed("attacker"))
    yield Attack("the same, listed and signed by the former signing key", listed("former"))

    def follow(name, change=lambda text: text, after=4):
        """A release of the attacker's after a true one, with a list that fits."""
        def forge(mirror):
            updates, notes = forging.updates_of(mirror.parts()[0]), mirror.parts()[1][:after]
            former = forging.text_of(notes[-1])
            text = "".join(
                f"{line}\n" for line in former.splitlines() if not line.startswith("next "))
            fields = dict(line.split(" ", 1) for line in text.splitlines()[1:])
            text = text.replace(f"number {after}", f"number {after + 1}")
            text = text.replace(f"previous {fields['previous']}", f"previous {hashlib.sha256(former.encode()).hexdigest()}")
            notes.append(forging.signed(change(text), mirror.signing(name)))
            mirror.index = forging.index_of(
                forging.signed(forging.list_of(notes, updates if after == 4 else ""), mirror.signing(name)), notes)
        return forge

    yield Attack("a release after the newest, by the attacker", follow("attacker"))
    yield Attack("a release after the newest, by the former signing key", follow("former"))
    yield Attack("the newest release, by the former signing key", _sign_again("former"))
    yield Attack("the newest release, by the attacker", _sign_again("attacker"))
    yield Attack("a release in place of the third, by the former signing key", follow("former", after=2))
    yield Attack("a release in place of the third, by the attacker", follow("attacker", after=2))

    def claim(mirror):
        """The newest note names the attacker as the next publisher."""
        line = mirror.setting.attacker_line
        notes = mirror.parts()[1]
        notes[-1] = notes[-1].replace("\n\n", f"\nnext {line}\n\n")
        mirror.index = forging.index_of(
            forging.signed(forging.list_of(notes, forging.updates_of(mirror.parts()[0])), mirror.signing("attacker")), notes)

    yield Attack("a note that names the attacker as the next publisher", claim)
    yield Attack("another signature in front of the true one", lambda mirror: setattr(
        mirror, "index", mirror.index.replace("\n\n\u2014 coffer-release ", f"\n\n\u2014 coffer-release {'A' * 92}\n\u2014 coffer-release ")),
        0, 0, reaches=4)
    yield Attack("a release of the attacker's own, for one who expects the attacker", lambda mirror: None,
                 publisher=lambda setting: setting.attacker_line)


def _sign_again(name):
    """The true text and the true files, under the signatures of another key."""
    def sign(mirror):
        listed, notes = mirror.parts()
        notes[-1] = forging.signed(forging.text_of(notes[-1]), mirror.signing(name))
        mirror.index = forging.index_of(forging.signed(forging.text_of(listed), mirror.signing(name)), notes)
    return sign


def copies():
    """A customer's own copy claims another base, and can't go on from what it is."""
    def claim(mirror):
        mirror.setting.sql(mirror.copy, [
            ("INSERT INTO coffer_x_release(number, note) VALUES(?, ?)", (number, note))
            for number, note in zip((2, 3), mirror.parts()[1][1:3])])

    yield Attack("a copy that claims a later release", claim, USAGE, 0, copy=1, recovers=False)
    yield Attack("a copy without its releases", lambda mirror: mirror.setting.sql(
        mirror.copy, [("DELETE FROM coffer_x_release", ())]), make=0, recovers=False)
    yield Attack("a copy with another text of a release", lambda mirror: mirror.setting.sql(
        mirror.copy, [("UPDATE coffer_x_release SET note = ? WHERE number = 2", (
            mirror.parts()[1][1].replace("documents 4", "documents 5"),))]), make=0, recovers=False)


def opened_by_others(setting):
    """Sentences on what a revoked customer, or who knew the publisher's store before a rekey, can open. None, as a rule."""
    folder = setting.place("public-4")
    keys = forging.release_keys(setting.place("public-2"), "carl", setting.place("carl.identity"))
    yield from _opened("a revoked customer", folder, keys, 2)
    # The key of the newest release opens all of its chain: the method finds what it should.
    newest = forging.release_keys(folder, "anna", setting.place("anna.identity"))
    if not list(_opened("a customer", folder, {4: newest[4]}, 2)):
        yield "a customer's key opens nothing, so nothing was tried"


def _opened(who, folder, keys, last):
    for update in Folder(folder).index.updates:
        for number, key in keys.items():
            try:
                forging.opened(folder, update, key)
                if update.to > last:
                    yield f"{who} opens {update.name} with the key of release {number}"
            except StoreError:
                continue


def _opened_store(publisher, key):
    return Store(publisher.place("data.coffer"), [keyfiles.key_file(publisher.place(key).read_bytes())])


def opened_by_former_holder(dbtool, folder):
    """What the holder of a former slot of the publisher's store opens in its later file, and in the folder."""
    publisher = Publisher(dbtool, folder, ["anna"])
    publisher.release()
    publisher.publish("public")
    former = _opened_store(publisher, "data.key")
    # A reader would keep the rekey from its end.
    former.connection.close()
    publisher.line("later.key")
    publisher.data("rekey", "--new-key-file", "later.key")
    publisher.key = "later.key"
    for text in ("Three trams.", "Four trams."):
        publisher.data("put", "--id", "2", "--text", text)
        publisher.release()
        publisher.publish("public")
    later = _opened_store(publisher, "later.key")

    def kept(root_key):
        """The keys of releases that a root key opens in the later file."""
        sealer, found = XAES(hkdf(root_key, later.header.store_id, b"coffer3/release")), {}
        rows = later.connection.execute("SELECT number, private FROM coffer_x_release WHERE private IS NOT NULL").fetchall()
        for release, (number, private) in zip(releases_of(later), rows):
            data = pae(b"coffer3/release", bytes.fromhex(release.note.digest))
            try:
                found[number] = sealer.open_blob(private[8:], data, "private part")[:32]
            except StoreError:
                continue
        return found

    if sorted(kept(later.root_key)) != [2, 3]:
        yield "the present root key doesn't open the keys of the releases after the rekey"
    keys = kept(former.root_key)
    if sorted(keys) != [1]:
        yield f"a former root key opens the keys of the releases {sorted(keys)}"
    yield from _opened("the holder of a former key", publisher.place("public"), keys, 1)
