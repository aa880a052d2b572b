"""Files planted beside a store: journals, logs, shared memory, and the links and pipes that can take their names.

Each is a folder with `store.coffer` in it. A journal can make SQLite delete a file that it names, so every victim is a
file that the kit itself writes into that folder, under a name that nothing else has; no other file is ever named.
"""

import os
import shutil
from dataclasses import dataclass, field

from .keys import Random
from .secrets import SECRETS
from .storefile import database

STORE = "store.coffer"
JOURNAL, LOG, MEMORY = (STORE + suffix for suffix in ("-journal", "-wal", "-shm"))
MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR = 512
# The store whose file is in write-ahead mode.
IN_WAL = "unwiped"


@dataclass
class Plant:
    """A folder with a store, to which `make`, given the path, adds files."""

    name: str
    base: str
    what: str
    make: object
    # The plants to remove before the store reads as its base again; all other files must remain, unchanged.
    plants: tuple = ()
    open: str = "refused"
    verify: str = None
    get: dict = field(default_factory=dict)
    also: dict = field(default_factory=dict)
    # Whether a reader may change the store and the files beside it: it rolls back a journal or takes over a log.
    may_change: bool = False
    after: str = "ok"
    note: str = None

    def expectation(self, kit, folder):
        found = {
            "attack": self.what, "base": self.base, "by": "file", "directory": True, "store": STORE,
            "files": {path.name: _kind(path) for path in sorted(folder.iterdir())},
            "opener": {"key": SECRETS["key"]}, "open": self.open, "plants": list(self.plants),
            "may_change": self.may_change, "after": self.after,
        }
        if self.open == "ok":
            found["get"] = {str(id): self.get.get(id, "ok") for id in sorted(kit.base(self.base).records)}
            found["verify"] = self.verify or "ok"
        if self.also:
            found["also_acceptable"] = self.also
        return found | ({"note": self.note} if self.note else {})


def _kind(path):
    if path.is_symlink():
        return f"symbolic link to {os.readlink(path)}"
    if path.is_fifo():
        return "pipe"
    if path.is_dir():
        return "directory"
    return "file" if path.stat().st_nlink == 1 else "hard link"


# Formats of SQLite (its "Database File Format", rollback journal and write-ahead log).


def journal(pages, count, page_size, records=None):
    """A journal with earlier `pages`, by number, of a store of `count` pages."""
    nonce, data = 0x434F4646, b""
    for number, page in sorted(pages.items()):
        total = nonce + sum(page[place] for place in range(page_size - 200, 0, -200))
        data += number.to_bytes(4, "big") + page + (total & 0xFFFFFFFF).to_bytes(4, "big")
    header = MAGIC + b"".join(
        value.to_bytes(4, "big")
        for value in (len(pages) if records is None else records, nonce, count, SECTOR, page_size))
    return header.ljust(SECTOR, b"\0") + data


def super_journal(name, page_size):
    """The end of a journal, which names a super-journal."""
    page = 2**30 // page_size + 1
    return (
        page.to_bytes(4, "big") + name + len(name).to_bytes(4, "big")
        + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big") + MAGIC)


def log(before, after, page_size):
    """A log that turns one file into another of the same size, in one commit."""

    def checksum(data, sums):
        first, second = sums
        for place in range(0, len(data), 8):
            first = first + int.from_bytes(data[place : place + 4], "big") + second & 0xFFFFFFFF
            second = second + int.from_bytes(data[place + 4 : place + 8], "big") + first & 0xFFFFFFFF
        return first, second

    def words(*values):
        return b"".join(value.to_bytes(4, "big") for value in values)

    salts = words(0x434F4646, 0x45523221)
    header = words(0x377F0683, 3007000, page_size, 0) + salts
    sums = checksum(header, (0, 0))
    found = header + words(*sums)
    changed = [
        place for place in range(0, len(after), page_size)
        if before[place : place + page_size] != after[place : place + page_size]]
    for place in changed:
        start = words(place // page_size + 1, len(after) // page_size if place == changed[-1] else 0)
        page = after[place : place + page_size]
        sums = checksum(start + page, sums)
        found += start + salts + words(*sums) + page
    return found


def _store(folder):
    """The bytes of the store, and its page size."""
    data = (folder / STORE).read_bytes()
    return data, int.from_bytes(data[16:18], "big")


def _victim(folder, name):
    """A file of the kit, which no reader may change or delete."""
    path = folder / f"coffer-attack-victim-{name}"
    path.write_bytes(b"Written by the kit of attacks: nothing may change or delete this file.\n" * 1000)
    return path


def plants():
    yield from _journals()
    yield from _links()
    yield from _memories()
    yield from _logs()
    yield from _sound()
    yield from _stores()


def _journals():
    def journal_with(name, trailer, victim):
        def make(folder):
            data, size = _store(folder)
            if victim:
                _victim(folder, name)
            found = journal({}, len(data) // size, size)
            if trailer:
                found += super_journal(f"coffer-attack-victim-{name}".encode(), size)
            (folder / JOURNAL).write_bytes(found)

        return make

    yield Plant(
        "journal-super", "sealed", "a journal that names a file as its super-journal, for SQLite to delete",
        journal_with("journal-super", True, True), (JOURNAL,),
        note="the name is relative: the working directory of the reader is this folder")
    yield Plant(
        "journal-super-absent", "sealed", "a journal whose super-journal is gone: SQLite drops it without rolling back",
        journal_with("journal-super-absent", True, False), (JOURNAL,))

    def with_page(folder):
        """As in a commit over two files: the first page as it was, then the name."""
        data, size = _store(folder)
        _victim(folder, "journal-super-with-page")
        (folder / JOURNAL).write_bytes(
            journal({2: data[size : 2 * size]}, len(data) // size, size)
            + super_journal(b"coffer-attack-victim-journal-super-with-page", size))

    yield Plant("journal-super-with-page", "sealed", "the same with a page to roll back", with_page, (JOURNAL,))

    def truncating(folder):
        (folder / JOURNAL).write_bytes(journal({}, 1, _store(folder)[1]))

    yield Plant(
        "journal-truncates", "sealed", "a journal of the right owner that cuts the store to one page", truncating,
        (JOURNAL,), open="damaged", may_change=True, after="damaged",
        also={"open": ["refused", "not-a-store"], "after": ["not-a-store"]},
        note="an attacker who can write beside the store can do this: it is found, not prevented")


def _links():
    def hard(name, suffix):
        return lambda folder: os.link(_victim(folder, name), folder / (STORE + suffix))

    def symbolic(name, suffix):
        return lambda folder: os.symlink(_victim(folder, name).name, folder / (STORE + suffix))

    def dangling(name, suffix):
        return lambda folder: os.symlink(f"coffer-attack-victim-{name}", folder / (STORE + suffix))

    def pipe(name, suffix):
        return lambda folder: os.mkfifo(folder / (STORE + suffix))

    def directory(name, suffix):
        return lambda folder: (folder / (STORE + suffix)).mkdir()

    for suffix, bases in (("-journal", ("sealed",)), ("-wal", ("sealed", IN_WAL)), ("-shm", (IN_WAL,))):
        for base in bases:
            for kind, make in (
                ("hard-link", hard), ("symbolic-link", symbolic), ("dangling-link", dangling), ("pipe", pipe),
                ("directory", directory),
            ):
                name = f"{suffix[1:]}-{kind}{'-of-rollback' if suffix == '-wal' and base == 'sealed' else ''}"
                yield Plant(
                    name, base, f"{suffix} is a {kind.replace('-', ' ')}", make(name, suffix), (STORE + suffix,),
                    note="a reader that waits on the pipe hangs" if kind == "pipe" else None)


def _memories():
    """Shared memory that SQLite opens although byte 18 does not say so."""

    def by_read_version(folder):
        data = bytearray((folder / STORE).read_bytes())
        data[18:20] = b"\1\2"
        (folder / STORE).write_bytes(data)
        os.link(_victim(folder, "shm-by-read-version"), folder / MEMORY)

    def by_journal(folder):
        """The journal's first page is in write-ahead mode, the store's is not."""
        data, size = _store(folder)
        (folder / JOURNAL).write_bytes(journal({1: data[:size]}, len(data) // size, size))
        (folder / STORE).write_bytes(data[:18] + b"\1\1" + data[20:])
        os.link(_victim(folder, "shm-by-journal"), folder / MEMORY)

    yield Plant(
        "shm-by-read-version", IN_WAL, "-shm is a hard link, byte 18 is 1 and byte 19 is 2", by_read_version, (MEMORY,))
    yield Plant(
        "shm-by-journal", IN_WAL, "-shm is a hard link, and a journal makes bytes 18 and 19 of the store 2", by_journal,
        (MEMORY,), may_change=True)


def _commit(folder, sql):
    """Writes a log with one commit, which leaves the file as large as before."""
    data, size = _store(folder)
    path = folder / "edited"
    path.write_bytes(data[:18] + b"\1\1" + data[20:])
    with database(path) as db:
        db.execute(sql)
    edited = path.read_bytes()
    path.unlink()
    assert len(edited) == len(data)
    (folder / LOG).write_bytes(log(data, edited[:18] + data[18:20] + edited[20:], size))


def _logs():
    def deleting(folder):
        _commit(folder, "DELETE FROM coffer_record WHERE id=1")

    yield Plant(
        "wal-row-deleted", IN_WAL, "a log with a commit that deletes document 1: as if the file itself were edited",
        deleting, (LOG,), open="ok", get={1: "missing"}, verify="mismatch", may_change=True, after=None)
    yield Plant(
        "wal-beside-rollback", "sealed", "a log beside a store that is not in write-ahead mode", deleting, (LOG,))
    yield Plant(
        "wal-empty-beside-rollback", "sealed", "the same, the log being empty",
        lambda folder: (folder / LOG).write_bytes(b""), (LOG,))


def _sound():
    def hot(folder):
        """Zeros the page of all records; the journal has the original page."""
        data, size = _store(folder)
        data = bytearray(data)
        with database(folder / STORE) as db:
            root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name='coffer_record'").fetchone()[0]
        start = (root - 1) * size
        (folder / JOURNAL).write_bytes(journal({root: bytes(data[start : start + size])}, len(data) // size, size))
        data[start : start + size] = bytes(size)
        (folder / STORE).write_bytes(data)

    def grown(folder):
        """Adds a page; the journal is of the transaction that added it."""
        data, size = _store(folder)
        (folder / JOURNAL).write_bytes(journal({1: data[:size]}, len(data) // size, size))
        with open(folder / STORE, "ab") as file:
            file.write(Random("page")(size))

    for name, what, make in (
        ("hot", "a journal that a killed writer left: rolled back", hot),
        ("hot-grown", "the same, of a transaction that had made the file longer", grown),
        ("ended", "a journal whose header is zeros: over, and ignored",
         lambda folder: (folder / JOURNAL).write_bytes(bytes(SECTOR))),
        ("empty", "an empty journal: ignored", lambda folder: (folder / JOURNAL).write_bytes(b"")),
    ):
        yield Plant(f"journal-{name}", "sealed", f"sound: {what}", make, (), open="ok", may_change=True)

    def committed(folder):
        _commit(folder, "UPDATE coffer_record SET rev=rev")

    yield Plant(
        "wal-committed", IN_WAL, "sound: a log with a commit, as a killed writer leaves it", committed, (), open="ok",
        may_change=True)

    def torn(folder):
        committed(folder)
        data = (folder / LOG).read_bytes()
        (folder / LOG).write_bytes(data[:-8])

    yield Plant(
        "wal-torn", IN_WAL, "sound: a log whose commit is cut short: ignored", torn, (), open="ok", may_change=True)


def _stores():
    def pipe(folder):
        (folder / STORE).unlink()
        os.mkfifo(folder / STORE)

    def directory(folder):
        (folder / STORE).unlink()
        (folder / STORE).mkdir()

    def dangling(folder):
        (folder / STORE).unlink()
        os.symlink("coffer-attack-no-such-file", folder / STORE)

    for name, make in (("pipe", pipe), ("directory", directory), ("dangling-link", dangling)):
        yield Plant(
            f"store-{name}", "sealed", f"the store is a {name.replace('-', ' ')}", make, (), open="not-a-store",
            also={"open": ["refused", "error"]}, after=None)


def write(plant, kit, folder):
    """Makes the folder of a plant."""
    folder.mkdir()
    shutil.copyfile(kit.folder / f"{plant.base}.coffer", folder / STORE)
    plant.make(folder)
    return plant.expectation(kit, folder)
