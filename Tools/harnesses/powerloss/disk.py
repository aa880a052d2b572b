"""A folder on a disk that may lose power: what is safe, and what is only under way.

Safe is what was synchronised: a file's bytes and length by fsync or fdatasync of that file, names by fsync of the folder,
everything by syncfs.
All else may or may not have happened, in any combination: each 512-byte sector of each write, each change of a length,
each change of a name; two names that are exchanged change together. Of one sector or one name a later change that is there covers an earlier one. A length that grew
without its bytes shows zeros, or whatever stood on the disk before.
"""

from dataclasses import dataclass

SECTOR = 512
# The number of the folder itself.
ROOT = 1


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
    # A change of names: {name: file, folder or None}.
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

    def settle(self):
        self.safe, self.pending = self.content(set(self.pending)), []


def _grow(content, size, stale):
    if size > len(content):
        more = size - len(content)
        content += (stale * (more // len(stale) + 1))[:more]


class Folder:
    """Names, each of a file or of another folder: those that are safe, and those that there are now."""

    def __init__(self):
        self.safe, self.now, self.pending = {}, {}, []

    def change(self, write, changes):
        self.pending.append(Piece(write, names=changes))
        _change(self.now, changes)

    def settle(self):
        for piece in self.pending:
            _change(self.safe, piece.names)
        self.pending = []

    def known(self):
        """Every file and folder that one of its names means, or may come to mean."""
        changed = (node for piece in self.pending for node in piece.names.values() if node)
        return {id(node): node for node in (*self.safe.values(), *self.now.values(), *changed)}.values()

    def content(self, chosen):
        names = dict(self.safe)
        for piece in self.pending:
            if piece in chosen:
                _change(names, piece.names)
        return names


class Disk:
    """What a folder's files, names and folders are, after the events so far. A path begins in that folder."""

    def __init__(self, files):
        """`files`: {path: bytes} that are safe to begin with; the path of a folder ends in "/"."""
        self.root, self.calls = Folder(), 0
        self.by_number = {ROOT: self.root}
        for path in sorted(files):
            folder, name = self._place(path.rstrip("/"))
            folder.safe[name] = folder.now[name] = Folder() if path.endswith("/") else File(files[path])

    def _place(self, path):
        """The folder that a path's last name stands in now, and that name."""
        *above, name = path.split("/")
        folder = self.root
        for each in above:
            folder = folder.now[each]
        return folder, name

    def know(self, number, path):
        """Which file or folder of the beginning a number means."""
        folder, name = self._place(path.rstrip("/"))
        self.by_number[number] = folder.safe[name]

    def apply(self, event):
        self.calls += 1
        getattr(self, "_" + event.kind.replace(" ", "_"))(event)

    # Names.

    def _made(self, event):
        self.by_number[event.file] = File()

    def _folder_made(self, event):
        self.by_number[event.file] = Folder()
        self._rename({event.name: self.by_number[event.file]})

    def _named(self, event):
        changes = {event.name: self.by_number[event.file]}
        if event.data:
            changes[event.data.decode()] = None
        self._rename(changes)

    def _exchanged(self, event):
        """Both names in one piece: no state has the one without the other."""
        one, other = event.name, event.data.decode()
        self._rename({one: self._now(other), other: self._now(one)})

    def _removed(self, event):
        self._rename({event.name: None})

    def _now(self, path):
        folder, name = self._place(path)
        return folder.now[name]

    def _rename(self, changes):
        """{path: what it means then}, all in one folder."""
        places = [(*self._place(path), node) for path, node in changes.items()]
        folder = places[0][0]
        if any(each is not folder for each, _, _ in places):
            raise NotImplementedError(f"names of two folders change at once: {sorted(changes)}")
        folder.change(self.calls, {name: node for _, name, node in places})

    # Bytes.

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

    def _mapped(self, event):
        """From now on it may change without an event."""
        self.by_number[event.file].is_mapped = True

    # Synchronising.

    def _synced(self, event):
        self.by_number[event.file].settle()

    def _folder_synced(self, event):
        self.by_number[event.file].settle()

    def _all_synced(self, event):
        for node in {id(node): node for node in (*self.by_number.values(), *self._known())}.values():
            node.settle()

    # What may be there after a cut.

    def _known(self):
        found, ahead = {}, [self.root]
        while ahead:
            node = ahead.pop()
            if id(node) not in found:
                found[id(node)] = node
                ahead += node.known() if isinstance(node, Folder) else ()
        return found.values()

    def pieces(self):
        """All that is under way, in its order."""
        return sorted((piece for node in self._known() for piece in node.pending), key=lambda piece: piece.write)

    def state(self, chosen, stale=b"\0"):
        """{path: bytes} with those pieces of what is under way; the path of a folder ends in "/"."""
        return dict(_state(self.root, "", chosen, stale))

    def mapped(self):
        """The paths of files that change without an event."""
        return {
            name for name, node in self.root.now.items() if isinstance(node, File) and node.is_mapped}


def _state(folder, prefix, chosen, stale):
    for name, node in folder.content(chosen).items():
        if isinstance(node, Folder):
            yield f"{prefix}{name}/", b""
            yield from _state(node, f"{prefix}{name}/", chosen, stale)
        else:
            yield prefix + name, node.content(chosen, stale)


def _change(names, changes):
    for name, node in changes.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
