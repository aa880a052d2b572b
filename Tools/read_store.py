#!/usr/bin/env python3
"""Reads a store without the library: a second reader, written from FORMAT.md alone.

Opens STORE, does every check of a reader, verifies every document, and prints one JSON object:
store_id, rk_generation, phase, pin, generation, anchor, descent ("same", "newer" or "newer, descent not proved", of
the anchor given), titles, padded, test, next_id, count, target, cursor, unwiped, origin, epochs, changes {generation:
entries of the ring, as [kind, collection, ranges of ids]}, collections {number: name}, documents in (coll, pos, id)
order (pos, key and uid in hex, dates in milliseconds since 1970, attributes as their JSON text, the entries of the
extension part), newer, the ids of documents that only a later version can read, set_hash "ok" or "mismatch", and
problems, a list that should be empty.

Exit codes: 0 sound, 10 not a store, 12 no slot opens, 15 newer, or made before the first release, 16 TEST not allowed,
20 damaged, 21 mismatch, rolled back or rekey unfinished, 64 usage.
"""

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent / "reader"))

try:
    from storereader import keyfiles
    from storereader.errors import StoreError
    from storereader.store import Store, plain
except ImportError as error:
    sys.exit(f"read_store: {error}. On Debian: apt-get install python3-cryptography")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"read_store: error: {message}\n")


def arguments():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--key-file", action="append", default=[], metavar="FILE", help="a key file or an identity file")
    parser.add_argument("--passphrase-file", action="append", default=[], metavar="FILE")
    parser.add_argument("--allow-test", action="store_true", help="open TEST stores, whose keys are published")
    parser.add_argument("--pin", metavar="PIN", help="the store must be this one")
    parser.add_argument("--anchor", metavar="LINE", help="the store must not be older than this")
    parser.add_argument("--descends", action="store_true", help="descent from the anchor must be proved")
    options = parser.parse_args()
    try:
        options.secrets = list(secrets(options))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not options.secrets:
        parser.error("one of --key-file, --passphrase-file is needed")
    return options


def secrets(options):
    for paths, parse, kinds in (
        (options.key_file, keyfiles.key_file, ("key", "identity")),
        (options.passphrase_file, keyfiles.passphrase_file, ("passphrase",)),
    ):
        for path in paths:
            with open(path, "rb") as file:
                secret = parse(file.read())
            if secret.kind not in kinds:
                raise ValueError(f"{path} holds a {secret.kind}, not a {' or '.join(kinds)}")
            yield secret


def documents(store):
    """Every document that can be read, in order; the others are among the problems, or newer."""
    opened = []
    for values in store.record_rows():
        try:
            opened.append(plain(*store.open_document(values)))
        except StoreError:
            continue
    return sorted(opened, key=lambda document: (document["coll"], document["pos"], document["id"]))


def names(store):
    try:
        return {coll: collection.name for coll, collection in store.collections().items()}
    except StoreError:
        return {}


def main():
    options = arguments()
    try:
        store = Store(
            options.store, options.secrets, options.allow_test, options.pin, options.anchor, options.descends)
        differences = store.set_hash_problems()
        problems = differences + store.quick_problems() + store.deep_problems()
        header, state = store.header, store.state
        report = {
            "store_id": header.store_id.hex(), "rk_generation": header.rk_generation, "phase": header.phase,
            "pin": header.pin, "generation": state.generation, "anchor": store.anchor, "descent": store.descent,
            "titles": store.titles, "padded": header.is_padded, "test": header.is_test, "next_id": state.next_id,
            "count": state.count, "target": state.target, "cursor": state.cursor, "unwiped": state.unwiped,
            "origin": state.origin and state.origin.plain, "epochs": sorted(store.epochs),
            "changes": {
                generation: [[change.kind, change.coll, change.ranges] for change in commit.changes]
                for generation, commit in state.ring.items()},
            "collections": names(store),
            "documents": documents(store), "newer": store.newer_documents(), "set_hash": "mismatch" if differences else "ok",
            "problems": list(dict.fromkeys(problems)),
        }
    except StoreError as error:
        print(f"read_store: error: {error.kind}: {error}", file=sys.stderr)
        return error.exit_code
    except ValueError as error:
        print(f"read_store: error: {error}", file=sys.stderr)
        return 64
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
    print()
    return 21 if differences else 20 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
