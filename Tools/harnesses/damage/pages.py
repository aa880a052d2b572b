"""Finds the use of each byte of a SQLite file, by the description of SQLite's file format."""

import bisect
import sqlite3
from dataclasses import dataclass

# The uses of a byte.
FILE_HEADER, STRUCTURE, VALUES, INDEX, FREE = "file header", "structure", "values", "index", "free"
_LEAF_TABLE, _INTERIOR_TABLE, _LEAF_INDEX, _INTERIOR_INDEX = 13, 5, 10, 2


@dataclass(frozen=True)
class Region:
    """Bytes from `start` to `end`. `table` is None for bytes of no table, `row` is None for bytes of no single row.

    STRUCTURE are the bytes by which SQLite finds rows: page headers, pointers to cells and pages, lengths, numbers and
    types of values. VALUES are the values themselves, and INDEX those of an index."""

    start: int
    end: int
    kind: str
    table: str = None
    row: int = None
    is_leaf: bool = False


class Map:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        size = int.from_bytes(self.bytes[16:18], "big")
        self.page_size = 65536 if size == 1 else size
        self._found = [Region(0, 100, FILE_HEADER)]
        self._pages = set()
        # The pages that hold each document's row and body.
        self.pages_of = {}
        self._tree(1, "sqlite_schema", False)
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        roots = connection.execute("SELECT name, rootpage, type FROM sqlite_schema").fetchall()
        connection.close()
        for name, root, kind in roots:
            self._tree(root, name, kind == "index")
        self.regions = self._filled(sorted(self._found, key=lambda region: region.start))
        self._starts = [region.start for region in self.regions]

    def at(self, offset):
        return self.regions[bisect.bisect_right(self._starts, offset) - 1]

    def within(self, start, end):
        """The regions that hold any of these bytes."""
        first = bisect.bisect_right(self._starts, start) - 1
        return self.regions[first : bisect.bisect_left(self._starts, end)]

    def page(self, offset):
        return offset // self.page_size + 1

    def _filled(self, found):
        """The regions, with the free bytes between them, which nothing points to."""
        regions, last = [], 0
        for region in found:
            if region.start > last:
                regions.append(Region(last, region.start, FREE))
            if region.end > region.start:
                regions.append(region)
            last = max(last, region.end)
        if last < len(self.bytes):
            regions.append(Region(last, len(self.bytes), FREE))
        return regions

    def _number(self, offset, size):
        return int.from_bytes(self.bytes[offset : offset + size], "big")

    def _varint(self, offset):
        value = 0
        for count in range(9):
            byte = self.bytes[offset + count]
            if count == 8:
                return value << 8 | byte, offset + 9
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, offset + count + 1

    def _tree(self, page, table, is_index):
        start = (page - 1) * self.page_size
        header = start + (100 if page == 1 else 0)
        kind, cells = self.bytes[header], self._number(header + 3, 2)
        is_leaf = kind in (_LEAF_TABLE, _LEAF_INDEX)
        pointers = header + (8 if is_leaf else 12)
        self._found.append(Region(header, pointers + 2 * cells, STRUCTURE, table, None, is_leaf))
        for cell in range(cells):
            self._cell(start + self._number(pointers + 2 * cell, 2), page, table, kind)
        if not is_leaf:
            self._tree(self._number(header + 8, 4), table, is_index)

    def _cell(self, start, page, table, kind):
        offset = start
        if kind in (_INTERIOR_TABLE, _INTERIOR_INDEX):
            self._tree(self._number(offset, 4), table, kind == _INTERIOR_INDEX)
            offset += 4
        if kind == _INTERIOR_TABLE:
            _, offset = self._varint(offset)
            self._found.append(Region(start, offset, STRUCTURE, table))
            return
        length, offset = self._varint(offset)
        row = None
        if kind == _LEAF_TABLE:
            row, offset = self._varint(offset)
        usable = self.page_size
        most = usable - 35 if kind == _LEAF_TABLE else (usable - 12) * 64 // 255 - 23
        least = (usable - 12) * 32 // 255 - 23
        local = length
        if length > most:
            local = least + (length - least) % (usable - 4)
            local = least if local > most else local
        types_end = offset + self._varint(offset)[0]
        is_leaf = kind in (_LEAF_TABLE, _LEAF_INDEX)
        values = INDEX if kind in (_LEAF_INDEX, _INTERIOR_INDEX) else VALUES
        self._found.append(Region(start, types_end, STRUCTURE, table, row, is_leaf))
        self._found.append(Region(types_end, offset + local, values, table, row, is_leaf))
        self._note(table, row, page)
        if local < length:
            self._found.append(Region(offset + local, offset + local + 4, STRUCTURE, table, row, is_leaf))
            self._overflow(self._number(offset + local, 4), length - local, table, row, values)

    def _overflow(self, page, left, table, row, values):
        while page:
            start = (page - 1) * self.page_size
            taken = min(left, self.page_size - 4)
            self._found.append(Region(start, start + 4, STRUCTURE, table, row, True))
            self._found.append(Region(start + 4, start + 4 + taken, values, table, row, True))
            self._note(table, row, page)
            left -= taken
            page = self._number(start, 4)

    def _note(self, table, row, page):
        if table in ("coffer_record", "coffer_body"):
            self.pages_of.setdefault(row, set()).add(page)
