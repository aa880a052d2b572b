#!/usr/bin/env python3
"""Reads a store without the library: a second reader, written from FORMAT.md alone.

Opens STORE, does every check of a reader, verifies every document, and prints one JSON object:
store_id, rk_generation, phase, pin, generation, anchor, descent ("same", "newer" or "newer, descent not proved", of
the anchor given), titles, padded, test, next_id, bound, count, gone_count, next_attachment, attachment_count, target,
cursor, lead, unwiped, epochs, replicas (the own one's number, each with its marks, and the version vector), changes
{generation: entries of the ring, as [kind, collection, ranges of ids]}, collections {number: name, as it is read},
documents in (coll, pos, id) order (pos, key and uids in hex, dates in milliseconds since 1970, attributes as their JSON
text, dots as [replica, counter], the entries of the extension part, the attachments by number), deletions by number,
newer and newer_attachments, the ids of documents and the numbers of attachments that only a later version can read,
release, the number of the release that --publisher proves, content_hash, null where something can't be read, set_hash "ok" or "mismatch", and problems, a list that should be empty.

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
    from storereader import attachments, keyfiles, verifying
    from storereader.contenthash import content_hash
    from storereader.errors import StoreError
    from storereader.releases import proved_release
    from storereader.store import Store, plain, plain_attachment, plain_deletion, plain_replicas
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
    parser.add_argument("--publisher", metavar="LINE", help="the store must be a release of this publisher")
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


def documents(store, attached):
    """Every document that can be read, in order, with its attachments; the others are among the problems, or newer."""
    opened = []
    for values in store.record_rows():
        try:
            document = plain(*store.open_document(values))
        except StoreError:
            continue
        opened.append(document | {"attachments": [
            plain_attachment(one) for one in attached if one.document == document["id"] and not one.is_newer]})
    return sorted(opened, key=lambda document: (document["coll"], document["pos"], document["id"]))


def read(action, otherwise):
    """What can be read; a fault is among the problems."""
    try:
        return action()
    except StoreError:
        return otherwise


def deletions(store):
    return {gone: plain_deletion(deletion) for gone, deletion in store.deletions().items()}


def main():
    options = arguments()
    try:
        store = Store(
            options.store, options.secrets, options.allow_test, options.pin, options.anchor, options.descends)
        differences = verifying.set_hash_problems(store)
        problems = differences + verifying.quick_problems(store) + verifying.deep_problems(store)
        release = None if options.publisher is None else proved_release(store, options.publisher).number
        header, state, attached = store.header, store.state, attachments.readable(store)
        report = {
            "store_id": header.store_id.hex(), "rk_generation": header.rk_generation, "phase": header.phase,
            "pin": header.pin, "generation": state.generation, "anchor": store.anchor, "descent": store.descent,
            "titles": store.titles, "padded": header.is_padded, "test": header.is_test, "next_id": state.next_id,
            "bound": state.bound, "count": state.count, "gone_count": state.gone_count,
            "next_attachment": state.next_attachment, "attachment_count": state.attachment_count, "target": state.target,
            "cursor": state.cursor, "lead": state.lead, "unwiped": state.unwiped, "epochs": sorted(store.epochs),
            "replicas": plain_replicas(store.replicas),
            "changes": {
                generation: [[change.kind, change.coll, change.ranges] for change in commit.changes]
                for generation, commit in state.ring.items()},
            "collections": read(store.names, {}), "documents": documents(store, attached),
            "deletions": read(lambda: deletions(store), {}), "newer": store.newer_documents(),
            "newer_attachments": [one.number for one in attached if one.is_newer],
            "release": release, "content_hash": read(lambda: content_hash(store).hex(), None),
            "set_hash": "mismatch" if differences else "ok", "problems": list(dict.fromkeys(problems)),
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
