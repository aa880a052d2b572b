#!/usr/bin/env python3
"""Checks who signed the releases of a store or of a release folder, without a key: check_release.py PLACE PUBLISHER

Written from FORMAT, "Releases" and "Release folders". Compares the files of a folder with its signed list, too. Whether
the documents of a store are those of its release takes a key: `dbtool verify --publisher` says it.
"""
import base64, datetime, hashlib, pathlib, sqlite3, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def text_of(note):
    return note.rsplit("\n\n", 1)[0] + "\n"


def is_signed(note, publisher):
    name = "coffer-test-release" if publisher.startswith("coffer-test-") else "coffer-release"
    key = bytes.fromhex(publisher.rpartition("-")[2])[:32]
    key_id = hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]
    for line in note.rsplit("\n\n", 1)[1].splitlines():
        mark, signer, value = line.split(" ")
        if (mark, signer) == ("\u2014", name) and base64.b64decode(value)[:4] == key_id:
            signature = base64.b64decode(value)[4:]
            Ed25519PublicKey.from_public_bytes(key).verify(signature, text_of(note).encode())  # raises InvalidSignature
            return True
    return False


place, publisher = pathlib.Path(sys.argv[1]), sys.argv[2]
if place.is_file():
    database = sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True)
    index, notes = None, [note for note, in database.execute("SELECT note FROM coffer_x_release ORDER BY number")]
else:
    parts = (place / "index").read_text("utf-8").split("\n\n")
    index, *notes = [f"{text}\n\n{signatures}" for text, signatures in zip(parts[::2], parts[1::2])]
first = min((at for at, note in enumerate(notes) if is_signed(note, publisher)), default=None)
if first is None:
    sys.exit("no release is signed by the publisher")
for at, note in enumerate(notes[first:]):
    release = dict(line.split(" ", 1) for line in text_of(note).splitlines()[1:])
    if at and (int(release["number"]) != number + 1 or release["previous"] != digest or not is_signed(note, publisher)):
        sys.exit(f"release {release['number']} isn't signed by the publisher")
    number, digest = int(release["number"]), sha256(text_of(note).encode())
    signer, publisher = publisher, release.get("next", publisher)
if release["expires"] != "none" and release["expires"] < datetime.datetime.now(datetime.timezone.utc).isoformat():
    sys.exit(f"release {number} expired at {release['expires']}")
if index:
    start = f"coffer-index-1\nset {release['set']}\nrelease {number} {digest}\n"
    if not index.startswith(start) or not is_signed(index, signer):
        sys.exit("the list of files isn't signed by the publisher")
    for line in text_of(index)[len(start):].splitlines():
        _, former, to, *_, size, digest = line.split(" ")
        file = place / f"{former}-{to}.update"
        if file.exists() and (file.stat().st_size, sha256(file.read_bytes())) != (int(size), digest):
            sys.exit(f"{file} isn't the file that the publisher signed")
print(f"release {number} of {release['time']}: {release['documents']} documents, {release['collections']} collections")
