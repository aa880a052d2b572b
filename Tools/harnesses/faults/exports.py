"""Reads the files that dbtool makes: stores with the second reader, all others with Python's own readers."""

import csv
import json
import plistlib
import sqlite3
from itertools import groupby

from storereader import keyfiles

from . import oracle


def shelves(path, secrets):
    """{collection: ((id, text), …) in order}; "" is the only collection of a format without collection names.

    Raises unless the file is complete and valid in its format.
    """
    return _READERS[path.suffix](path, secrets)


def of(documents):
    """The same for documents that oracle.look found."""
    return {
        name: tuple((document[0], text_of(document[5])) for document in each)
        for name, each in groupby(sorted(documents, key=lambda document: document[1:3]), lambda document: document[1])
    }


def text_of(text):
    return text.decode() if isinstance(text, bytes) else text


def _grouped(documents):
    found = {}
    for document in documents:
        shelf = found.setdefault(document.get("collection", ""), [])
        shelf.append((int(document["id"]), document["text"]))
    return {name: tuple(shelf) for name, shelf in found.items()}


def _lines(path):
    content = path.read_text()
    if content and not content.endswith("\n"):
        raise ValueError("its last line has no end")
    return [json.loads(line) for line in content.splitlines()]


def _rows(path, dialect):
    with path.open(newline="") as file:
        return _grouped(csv.DictReader(file, dialect=dialect, strict=True))


def _property_list(path, _):
    table = plistlib.loads(path.read_bytes())
    order = sorted(table["index"], key=lambda id: int(table["index"][id]))
    return {"": tuple((int(id), table["data"][int(table["index"][id])]["text"]) for id in order)}


def _database(path, _):
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise ValueError("it is not sound")
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            name: tuple(connection.execute(f'SELECT id, text FROM "{name}" ORDER BY position, id')) for name in names}
    finally:
        connection.close()


def _directory(path, _):
    return {
        "" if index.parent == path else index.parent.name: tuple(
            (entry["id"], (index.parent / entry["file"]).read_text()) for entry in _lines(index))
        for index in path.rglob("index.ndjson")
    }


def _store(path, secrets):
    found = oracle.look(path, secrets)
    if found.problems or not found.keys:
        raise ValueError(f"opens with {sorted(found.keys)}: {found.problems}")
    return of(found.documents)


def _key_file(path, _):
    keyfiles.key_file(path.read_bytes())
    return {}


_READERS = {
    ".ndjson": lambda path, _: _grouped(_lines(path)),
    ".json": lambda path, _: _grouped(json.loads(path.read_text())),
    ".csv": lambda path, _: _rows(path, "excel"),
    ".tsv": lambda path, _: _rows(path, "excel-tab"),
    ".plist": _property_list,
    ".sqlite": _database,
    ".text": _directory,
    ".coffer": _store,
    ".key": _key_file,
    ".txt": lambda path, _: {"": ((0, path.read_bytes()),)},
}
