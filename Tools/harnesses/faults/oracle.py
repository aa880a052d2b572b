"""Reads a store after a fault, with the second reader alone, and finds files that show sealed text."""

import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from harness import KEYS
from storereader import keyfiles, verifying
from storereader.attachments import AttachmentRow
from storereader.errors import StoreError
from storereader.store import Store

CANNOT_UNLOCK = 12


@dataclass(frozen=True)
class Found:
    """The keys that open a store, its documents, and its problems."""

    keys: frozenset = frozenset()
    documents: tuple = ()
    target: int = 0
    epochs: int = 0
    titles: str = None
    problems: tuple = ()
    is_there: bool = False

    @property
    def lasting(self):
        """The parts that are equal in every run: keys, documents without their creation dates, and problems."""
        return self.keys, tuple(document[:-1] for document in self.documents), self.problems

    def undated(self, known):
        """The documents; those with an id outside `known` without their creation date, which differs in each run."""
        return tuple(document if document[0] in known else document[:-1] for document in self.documents)


def secrets(*names):
    """Returns published test keys, and the passphrase, by their names."""
    found = {name: (KEYS / f"{name}.key").read_bytes() for name in names if name != "phrase"}
    found = {name: keyfiles.key_file(content) for name, content in found.items()}
    if "phrase" in names:
        found["phrase"] = keyfiles.passphrase_file((KEYS / "passphrase.txt").read_bytes())
    return found


def look(path, secrets):
    """Reads a copy, so that a killed writer's journal or log beside the store is left for the library to recover."""
    if not path.exists():
        return Found()
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        for suffix in ("", "-journal", "-wal"):
            if (part := path.with_name(path.name + suffix)).exists():
                shutil.copy(part, folder)
        return _look(Path(folder, path.name), secrets)


def _look(path, secrets):
    """Opens the store with each of the secrets, {name: secret}; all that open it must find the same documents."""
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
        for find in (verifying.set_hash_problems, verifying.quick_problems, verifying.deep_problems):
            problems += find(store)
        seen.append((_documents(store, problems), store.state.target, len(store.epochs), store.titles))
        store.connection.close()
    if len(set(seen)) > 1:
        problems.append("keys of one store find different documents")
    documents, target, epochs, titles = seen[0] if seen else ((), 0, 0, None)
    return Found(frozenset(opened), documents, target, epochs, titles, tuple(dict.fromkeys(problems)), True)


def _documents(store, problems):
    """The parts that a user would miss: id, collection, place in order, parent, title, text, key, attributes,
    attachments, date."""
    names, attached = store.names(), _attachments(store, problems)
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
            placed.append((
                id, name, place, parent, head.title, text, head.key, head.attributes, tuple(sorted(attached.pop(id, ()))),
                head.created))
    problems += [f"attachments of document {id}, which is gone" for id in attached]
    return tuple(sorted(placed))


def _attachments(store, problems):
    """Returns the names, types and digests of the attachments by their document; verifying compares the contents."""
    found = {}
    for values in store.attachment_rows():
        try:
            attachment = AttachmentRow(values, store.context).open()
        except StoreError as error:
            problems.append(str(error))
            continue
        found.setdefault(attachment.document, []).append((attachment.name, attachment.media_type, attachment.digest))
    return found


def showing(folder, phrases, passed=()):
    """The files below a folder that contain one of the phrases in clear, as UTF-8 or UTF-16."""
    needles = [phrase.encode(form) for phrase in phrases for form in ("utf-8", "utf-16le", "utf-16be")]
    for root, _, names in os.walk(folder):
        for path in (Path(root, name) for name in names):
            if path.relative_to(folder).parts[0] in passed:
                continue
            content = path.read_bytes()
            if any(needle in content for needle in needles):
                yield path.relative_to(folder)


def contents(path):
    """A file's bytes, or {name: bytes} of all files in a directory; None if the path does not exist."""
    if path.is_dir():
        return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    return path.read_bytes() if path.exists() else None
