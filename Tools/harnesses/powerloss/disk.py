"""A folder on a disk that may lose power: its synchronised changes, which are safe, and its pending ones.

fsync or fdatasync of a file makes the file's bytes and length safe, fsync of a folder the names in it, syncfs
everything. Pending changes may have reached the disk in any combination: each 512-byte sector of each write, each
change of a length, each change of a name. Two names that are exchanged change together. If two changes of one sector or
one name have reached the disk, the later one counts. A length that grew without its bytes shows zeros, or old bytes of
the disk.
"""

from dataclasses import dataclass

SECTOR = 512
# The number of the folder itself.
ROOT = 1


@dataclass(frozen=True, eq=False)
class Piece:
    """A change that reaches the disk wholly or not at all. Pieces of one call have the same `write`."""

    write: int
    offset: int = 0
    # None for a change of the length.
    data: bytes = None
    size: int = 0
    # Whether the piece can only make the length larger.
    grows: bool = False
    # A change of names: {name: file, folder or None}.
    names: dict = None


class File:
    def __init__(self, safe=b""):
        self.safe, self.pending, self.size, self.is_mapped = bytes(safe), [], len(safe), False

    def content(self, chosen, stale=b"\0"):
        """The bytes with the chosen pieces; the pattern `stale` fills bytes that no piece wrote."""
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
    """The names of files and folders in a folder: the safe ones, and the present ones."""

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
        """Every file and folder that a name refers to: on the disk, now, or after a pending change."""
        changed = (node for piece in self.pending for node in piece.names.values() if node)
        return {id(node): node for node in (*self.safe.values(), *self.now.values(), *changed)}.values()

    def content(self, chosen):
        names = dict(self.safe)
        for piece in self.pending:
            if piece in chosen:
                _change(names, piece.names)
        return names


class Disk:
    """A folder's files, names and folders after the events so far. Paths are relative to that folder."""

    def __init__(self, files):
        """`files`: {path: bytes} that are safe to begin with; the path of a folder ends in "/"."""
        self.root, self.calls = Folder(), 0
        self.by_number = {ROOT: self.root}
        for path in sorted(files):
            folder, name = self._place(path.rstrip("/"))
            folder.safe[name] = folder.now[name] = Folder() if path.endswith("/") else File(files[path])

    def _place(self, path):
        """The folder that contains a path's last name now, and that name."""
        *above, name = path.split("/")
        folder = self.root
        for each in above:
            folder = folder.now[each]
        return folder, name

    def know(self, number, path):
        """Gives an initial file or folder the number that the record uses for it."""
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
        """Changes both names in one piece: no state has only one of the changes."""
        one, other = event.name, event.data.decode()
        self._rename({one: self._now(other), other: self._now(one)})

    def _removed(self, event):
        self._rename({event.name: None})

    def _now(self, path):
        folder, name = self._place(path)
        return folder.now[name]

    def _rename(self, changes):
        """Changes names, {path: file, folder or None}, all in one folder."""
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
        """From now on the file may change without an event."""
        self.by_number[event.file].is_mapped = True

    # Synchronising.

    def _synced(self, event):
        self.by_number[event.file].settle()

    _folder_synced = _synced

    def _all_synced(self, event):
        for node in {id(node): node for node in (*self.by_number.values(), *self._known())}.values():
            node.settle()

    # States after a cut.

    def _known(self):
        found, ahead = {}, [self.root]
        while ahead:
            node = ahead.pop()
            if id(node) not in found:
                found[id(node)] = node
                ahead += node.known() if isinstance(node, Folder) else ()
        return found.values()

    def pieces(self):
        """All pending pieces, in the order of their calls."""
        return sorted((piece for node in self._known() for piece in node.pending), key=lambda piece: piece.write)

    def state(self, chosen, stale=b"\0"):
        """{path: bytes} with the chosen pending pieces; the path of a folder ends in "/"."""
        return dict(_state(self.root, "", chosen, stale))

    def mapped(self):
        """The paths of files that change without an event."""
        return {name for name, node in self.root.now.items() if isinstance(node, File) and node.is_mapped}


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
