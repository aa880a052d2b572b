"""What stands in a store after a fault, by the second reader alone; and what stands where it should not."""

import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from storereader import keyfiles
from storereader.errors import StoreError
from storereader.store import Store

CANNOT_UNLOCK = 12


@dataclass(frozen=True)
class Found:
    """Which keys open it, what it holds, and what is wrong with it."""

    keys: frozenset = frozenset()
    documents: tuple = ()
    target: int = 0
    epochs: int = 0
    titles: str = None
    problems: tuple = ()
    is_there: bool = False

    def undated(self, known):
        """The documents, without the dates of those that are not among the known: each run gives others."""
        return tuple(
            document if document[0] in known else document[:-1] for document in self.documents)


def secret(path):
    content = path.read_bytes()
    return keyfiles.passphrase_file(content) if path.suffix == ".txt" else keyfiles.key_file(content)


def look(path, secrets):
    """Looks at a copy: what a killed writer left beside the store is for the library to undo."""
    if not path.exists():
        return Found()
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        for suffix in ("", "-journal", "-wal"):
            if (part := path.with_name(path.name + suffix)).exists():
                shutil.copy(part, folder)
        return _look(Path(folder, path.name), secrets)


def _look(path, secrets):
    """Opens the store by each of the secrets, {name: secret}; all that open it must find the same."""
    opened, seen, problems = set(), [], []
    for name, key in secrets.items():
        try:
            store = Store(path, [key], allow_test=True)
        except StoreError as error:
            if error.exit_code != CANNOT_UNLOCK:
                problems.append(f"{name}: {error}")
            continue
        except sqlite3.Error as error:
            problems.append(f"{name}: SQLite: {error}")
            continue
        opened.add(name)
        problems += store.set_hash_problems() + store.quick_problems() + store.deep_problems()
        seen.append((_documents(store, problems), store.state.target, len(store.epochs), store.titles))
        store.connection.close()
    if len(set(seen)) > 1:
        problems.append("keys of one store find different documents")
    documents, target, epochs, titles = seen[0] if seen else ((), 0, 0, None)
    return Found(frozenset(opened), documents, target, epochs, titles, tuple(dict.fromkeys(problems)), True)


def _documents(store, problems):
    """What a user would miss: id, collection, place in its order, parent, title, text, key, attributes, date."""
    names = {coll: collection.name for coll, collection in store.collections().items()}
    found = []
    for values in store.record_rows():
        try:
            row, head, text = store.open_document(values)
        except StoreError as error:
            problems.append(str(error))
            continue
        found.append((names.get(row.coll), row.pos, row.id, row.parent, head, text))
    placed = []
    for name, documents in groupby(sorted(found, key=lambda document: document[:3]), key=lambda document: document[0]):
        for place, (_, _, id, parent, head, text) in enumerate(documents):
            placed.append((id, name, place, parent, head.title, text, head.key, head.attributes, head.created))
    return tuple(sorted(placed))


def showing(folder, phrases, passed=()):
    """The files below a folder that hold one of the phrases in clear, in any UTF."""
    needles = [phrase.encode(form) for phrase in phrases for form in ("utf-8", "utf-16le", "utf-16be")]
    for root, _, names in os.walk(folder):
        for path in (Path(root, name) for name in names):
            if path.relative_to(folder).parts[0] in passed:
                continue
            content = path.read_bytes()
            if any(needle in content for needle in needles):
                yield path.relative_to(folder)


def contents(path):
    """A file's bytes, or those of everything in a directory by name; None where nothing stands."""
    if path.is_dir():
        return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    return path.read_bytes() if path.exists() else None
