"""A folder on a disk that may lose power: what is safe, and what is only under way.

Safe is what was synchronised: a file's bytes and length by fsync or fdatasync of that file, names by fsync of the folder.
All else may or may not have happened, in any combination: each 512-byte sector of each write, each change of a length,
each change of a name. Of one sector or one name a later change that is there covers an earlier one. A length that grew
without its bytes shows zeros, or whatever stood on the disk before.
"""

from dataclasses import dataclass

SECTOR = 512


@dataclass(frozen=True, eq=False)
class Piece:
    """What happens wholly or not at all; `write` tells pieces of one call."""

    write: int
    offset: int = 0
    # None for a change of the length.
    data: bytes = None
    size: int = 0
    # Whether the length may only become larger by it.
    grows: bool = False
    # A change of names: {name: file or None}.
    names: dict = None


class File:
    def __init__(self, safe=b""):
        self.safe, self.pending, self.size, self.is_mapped = bytes(safe), [], len(safe), False

    def content(self, chosen, stale=b"\0"):
        """The bytes with those pieces; `stale` repeats where nothing was written."""
        content = bytearray(self.safe)
        for piece in self.pending:
            if piece not in chosen:
                continue
            if piece.data is not None:
                _grow(content, piece.offset, stale)
                content[piece.offset:piece.offset + len(piece.data)] = piece.data
            elif piece.size > len(content):
                _grow(content, piece.size, stale if piece.grows else b"\0")
            elif not piece.grows:
                del content[piece.size:]
        return bytes(content)


def _grow(content, size, stale):
    if size > len(content):
        more = size - len(content)
        content += (stale * (more // len(stale) + 1))[:more]


class Disk:
    """What a folder's files and names are, after the events so far."""

    def __init__(self, files):
        """`files`: {name: bytes} that are safe to begin with."""
        self.names = {name: File(content) for name, content in files.items()}
        self.pending = []
        self.now = dict(self.names)
        self.by_number = {}
        self.calls = 0

    def know(self, number, name):
        """Which file of the beginning a number means."""
        self.by_number[number] = self.names[name]

    def apply(self, event):
        self.calls += 1
        getattr(self, "_" + event.kind.replace(" ", "_"))(event)

    def _made(self, event):
        self.by_number[event.file] = File()

    def _named(self, event):
        file = self.by_number[event.file]
        changes = {event.name: file}
        if event.data:
            changes[event.data.decode()] = None
        self._rename(changes)

    def _removed(self, event):
        self._rename({event.name: None})

    def _rename(self, changes):
        self.pending.append(Piece(self.calls, names=changes))
        _change(self.now, changes)

    def _written(self, event):
        file = self.by_number[event.file]
        end = event.offset + len(event.data)
        if end > file.size:
            file.pending.append(Piece(self.calls, size=end, grows=True))
            file.size = end
        start = event.offset
        while start < end:
            stop = min(end, (start // SECTOR + 1) * SECTOR)
            data = event.data[start - event.offset:stop - event.offset]
            file.pending.append(Piece(self.calls, start, data))
            start = stop

    def _cut(self, event):
        file = self.by_number[event.file]
        file.pending.append(Piece(self.calls, size=event.offset))
        file.size = event.offset

    def _synced(self, event):
        file = self.by_number[event.file]
        file.safe, file.pending = file.content(set(file.pending)), []

    def _folder_synced(self, event):
        for piece in self.pending:
            _change(self.names, piece.names)
        self.pending = []

    def _mapped(self, event):
        """From now on it may change without an event."""
        self.by_number[event.file].is_mapped = True

    # What may be there after a cut.

    def pieces(self):
        """All that is under way, in its order."""
        files = {id(file): file for file in [*self.names.values(), *self.now.values()]}
        for piece in self.pending:
            files |= {id(file): file for file in piece.names.values() if file}
        found = [*self.pending, *(piece for file in files.values() for piece in file.pending)]
        return sorted(found, key=lambda piece: piece.write)

    def state(self, chosen, stale=b"\0"):
        """{name: bytes} with those pieces of what is under way."""
        names = dict(self.names)
        for piece in self.pending:
            if piece in chosen:
                _change(names, piece.names)
        return {name: file.content(chosen, stale) for name, file in names.items()}


def _change(names, changes):
    for name, file in changes.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file
