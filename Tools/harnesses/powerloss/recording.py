"""Reads the record that record.c makes: the changes of the files in one folder, in order."""

import struct
from dataclasses import dataclass

_HEAD = struct.Struct("=5Q")


@dataclass(frozen=True)
class Event:
    """One change: its kind, as in record.c, and the number of the file or the name that it concerns."""

    kind: str
    file: int = 0
    offset: int = 0
    name: str = ""
    data: bytes = b""


SYNCHRONISING = ("synced", "folder synced", "all synced")
# Between two commands: the first has reported success.
ACKNOWLEDGED = Event("acknowledged")


def read(path, start=0):
    """The events after the first `start` bytes of a record, and the offset of their end."""
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
