"""What commands did to the files of one folder, in order, as record.c wrote it down."""

import struct
from dataclasses import dataclass

_HEAD = struct.Struct("=5Q")


@dataclass(frozen=True)
class Event:
    """One thing that was done: a kind of record.c's, to a file by its number, or to a name."""

    kind: str
    file: int = 0
    offset: int = 0
    name: str = ""
    data: bytes = b""


SYNCHRONISING = ("synced", "folder synced", "all synced")
# Between two commands: the first has said that it is done.
ACKNOWLEDGED = Event("acknowledged")


def read(path, start=0):
    """The events behind the first `start` bytes, and where they end."""
    events = []
    with open(path, "rb") as file:
        file.seek(start)
        while head := file.read(_HEAD.size):
            kind, number, offset, name_count, data_count = _HEAD.unpack(head)
            events.append(
                Event(_KINDS[chr(kind)], number, offset, file.read(name_count).decode(), file.read(data_count)))
        return events, file.tell()


_KINDS = {
    "m": "made", "d": "folder made", "n": "named", "e": "exchanged", "r": "removed", "w": "written", "c": "cut",
    "s": "synced", "f": "folder synced", "a": "all synced", "x": "mapped",
}
