"""What stands in a store after a fault, by the second reader alone."""

import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from storereader import keyfiles
from storereader.errors import StoreError
from storereader.store import Store

CANNOT_UNLOCK = 12


@dataclass(frozen=True)
class Found:
    """Which keys open it, what it holds, and what is wrong with it."""

    keys: frozenset
    documents: tuple
    target: int
    epochs: int
    titles: str
    problems: tuple


def secret(path):
    return keyfiles.key_file(path.read_bytes())


def look(path, secrets):
    """Looks at a copy: what a killed writer left beside the store is for the library to undo."""
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
    return Found(frozenset(opened), documents, target, epochs, titles, tuple(dict.fromkeys(problems)))


def _documents(store, problems):
    """What a user would miss: id, collection, place, title, text, key, attributes, dates."""
    found = []
    for values in store.record_rows():
        try:
            row, head, text = store.open_document(values)
        except StoreError as error:
            problems.append(str(error))
            continue
        found.append((row.id, row.coll, row.pos, row.parent, head.title, text, head.key, head.attributes, head.created))
    return tuple(sorted(found))
