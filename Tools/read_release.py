#!/usr/bin/env python3
"""Reads a release folder without the library: written from FORMAT, "Release folders", alone.

usage: read_release.py FOLDER --publisher LINE [--customer NAME --key-file FILE] [--copy STORE] [--compare STORE]

Checks the index's signatures and releases, and the length and the SHA-256 of each file in FOLDER that it lists. With a
customer's name and identity, opens the key file and the update files that lead to the newest release, from the documents
of COPY, which nobody may have edited, or from none, and requires the documents that result to be those of the release.
--compare STORE: they must also be those of STORE, with positions, dots and deletions. --key-file: the customer's
identity, and keys of the stores. --at TIME: the present time. Prints one JSON object: release, releases (number, time,
expires, documents, collections, next), files (each with name, bytes, from, to, is_there and, if it was opened,
the numbers of its documents, collections and deletions), way (the names of the files that were opened), documents by
uid (collection's name, title, key in hex, parent's uid, attributes as JSON text, json, dates, text, attachments by uid),
and content_hash.

Exit codes: 0 as released, 1 the copy lacks changes, 10 a file is missing, 12 the identity doesn't open the key file,
13 no key file for the customer, 15 newer, 16 TEST not allowed, 20 damaged, 21 not as released, older, expired or different, 64 usage.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent / "reader"))

try:
    from storereader import keyfiles
    from storereader.changesets import Contents
    from storereader.contenthash import content_hash_of
    from storereader.errors import Mismatch, StoreError, TestRefused
    from storereader.releasefolders import Folder, contents_of, differences, require_release
    from storereader.releases import proved_release, releases_of
    from storereader.store import Store
except ImportError as error:
    sys.exit(f"read_release: {error}. On Debian: apt-get install python3-cryptography")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"read_release: error: {message}\n")


def arguments():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--publisher", required=True, metavar="LINE", help="who must have signed the releases")
    parser.add_argument("--customer", metavar="NAME")
    parser.add_argument("--key-file", action="append", default=[], metavar="FILE")
    parser.add_argument("--copy", metavar="STORE", help="a copy to begin from, which nobody edited")
    parser.add_argument("--compare", metavar="STORE", help="the store that the documents must be those of")
    parser.add_argument("--allow-older", action="store_true", help="take an older or expired release")
    parser.add_argument("--allow-test", action="store_true", help="take TEST publishers, whose keys are published")
    parser.add_argument("--at", metavar="TIME", help="the present time, as the time of a release is written")
    options = parser.parse_args()
    now = datetime.datetime.now(datetime.timezone.utc)
    options.now = options.at or f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z"
    try:
        options.secrets = [keyfiles.key_file(Path(name).read_bytes()) for name in options.key_file]
        options.is_test = keyfiles.key_line(options.publisher.encode()).is_test
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if (options.copy or options.compare) and not options.customer:
        parser.error("--copy and --compare need --customer")
    return options


def read(options):
    if options.is_test and not options.allow_test:
        raise TestRefused("a test publisher, and none is allowed here")
    folder = Folder(options.folder)
    index, own, number, family, contents = folder.index, [], 0, None, Contents()
    if options.copy:
        copy = Store(options.copy, options.secrets, options.allow_test)
        proved_release(copy, options.publisher)
        own, family, contents = releases_of(copy), copy.family_key, contents_of(copy)
        number = own[-1].number
    index.prove(options.publisher, options.now, options.allow_older, own, family)
    files = {update.name: file(folder, update) for update in index.updates}
    report = {
        "release": index.newest.number, "releases": [release(one) for one in index.releases], "files": list(files.values())}
    if not options.customer:
        return report
    way = index.way(number) if number < index.newest.number else []
    if way:
        keys = folder.release_keys(options.customer, options.secrets, options.is_test)
        family, taken = folder.read(way, keys, contents, family)
        require_release(index.newest, family, contents)
        for name, changeset in taken.items():
            for member in ("documents", "collections", "deletions"):
                files[name][member] = len(getattr(changeset, member))
    if options.compare:
        other = Store(options.compare, options.secrets, options.allow_test)
        found = differences(contents, contents_of(other))
        if found:
            raise Mismatch(f"not the documents of the store to compare: {'; '.join(found[:5])}")
    documents = {uid.hex(): document(contents, one) for uid, one in sorted(contents.documents.items())}
    return report | {
        "way": [update.name for update in way], "documents": documents,
        "content_hash": content_hash_of(family, contents.hashed(), contents.listed()).hex()}


def file(folder, update):
    is_there = (folder.path / update.name).exists()
    if is_there:
        folder.sealed(update)
    return {"name": update.name, "bytes": update.size, "from": update.start, "to": update.to, "is_there": is_there}


def release(one):
    fields = one.fields
    return {
        "number": one.number, "time": fields["time"], "expires": None if fields["expires"] == "none" else fields["expires"],
        "documents": int(fields["documents"]), "collections": int(fields["collections"]), "next": fields["next"]}


def document(contents, one):
    head = one.head
    return {
        "collection": contents.collections[one.collection][0].name, "title": head.title,
        "key": None if head.key is None else head.key.hex(), "parent": None if head.parent is None else head.parent.hex(),
        "attributes": head.attributes, "json": bool(one.flags), "created": head.created, "modified": head.modified,
        "text": one.text, "attachments": {
            uid.hex(): {
                "name": attachment.name, "media_type": attachment.media_type, "date": attachment.date,
                "length": attachment.length, "sha256": attachment.digest.hex()}
            for uid, (attachment, _) in sorted(one.attachments.items())}}


def main():
    options = arguments()
    try:
        report = read(options)
    except StoreError as error:
        print(f"read_release: error: {error.kind}: {error}", file=sys.stderr)
        return error.exit_code
    except ValueError as error:
        print(f"read_release: error: {error}", file=sys.stderr)
        return 64
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
