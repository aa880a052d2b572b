"""Writes notes, indexes, key files and update files with whatever keys an attacker has."""

import base64
import hashlib
import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from storereader import keyfiles
from storereader.changesets import PART_SIZE
from storereader.primitives import hkdf, label16, padme, pae, u8, u32, u64
from storereader.releasefolders import Folder



def signed(text, key_file):
    """A note with a text, by the signing key in a file."""
    secret = keyfiles.key_file(Path(key_file).read_bytes())
    key = Ed25519PrivateKey.from_private_bytes(secret.value)
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    name = "coffer-test-release" if secret.is_test else "coffer-release"
    key_id = hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]
    return f"{text}\n\u2014 {name} {base64.b64encode(key_id + key.sign(text.encode())).decode()}\n"


def text_of(note):
    return note.rpartition("\n\n")[0] + "\n"


def notes_of(index):
    """The list of an index, and the notes of the releases."""
    parts = index.split("\n\n")
    notes = [f"{text}\n\n{signatures}".removesuffix("\n") + "\n" for text, signatures in zip(parts[::2], parts[1::2])]
    return notes[0], notes[1:]


def index_of(listed, notes):
    return "\n".join([listed, *notes])


def list_of(notes, updates):
    """The text of a list that fits the last of the notes."""
    text = text_of(notes[-1])
    fields = dict(line.split(" ", 1) for line in text.splitlines()[1:])
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"coffer-index-1\nset {fields['set']}\nrelease {fields['number']} {digest}\n{updates}"


def updates_of(listed):
    """The lines of the files."""
    return "".join(f"{line}\n" for line in text_of(listed).splitlines()[3:])


def key_file(key, set_id, number, recipient_line):
    """A key file for a recipient, whose public line is all that it takes."""
    recipient = keyfiles.key_line(recipient_line.encode()).value
    ephemeral = X25519PrivateKey.generate()
    params = ephemeral.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) + recipient
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    kek = hkdf(shared, params, b"coffer3/x25519" + set_id)
    data = pae(b"coffer3/slot", set_id, u32(1), u32(3), u64(number), params)
    wrapped = AESGCM(kek).encrypt(bytes(12), key, data)
    return f"coffer-release-key-1\nparams {params.hex()}\nwrapped {wrapped.hex()}\n"


def release_keys(folder, customer, identity):
    """The keys of releases that a customer has from a folder, by number."""
    secret = keyfiles.key_file(Path(identity).read_bytes())
    return Folder(folder).release_keys(customer, [secret], secret.is_test)


def opened(folder, update, key):
    """The payload of a file with its padding."""
    sealed, plain, offset = (folder / update.name).read_bytes(), b"", 0
    opener, size = update.key(key, b"file"), padme(max(update.payload, 2))
    for index, start in enumerate(range(0, size, PART_SIZE)):
        length = min(PART_SIZE, size - start)
        part = sealed[offset : offset + length + 40]
        data = label16(b"coffer3/update") + update.identity + u32(index) + u8(start + length == size)
        plain += opener.open_blob(part, data, update.name)
        offset += len(part)
    return plain


def resealed(update, key, plain):
    """A file with another payload of the same length, sealed as the publisher would."""
    sealer, size, parts = update.key(key, b"file"), len(plain), []
    for index, start in enumerate(range(0, size, PART_SIZE)):
        part, nonce = plain[start : start + PART_SIZE], os.urandom(24)
        data = label16(b"coffer3/update") + update.identity + u32(index) + u8(start + len(part) == size)
        parts.append(nonce + sealer.seal(nonce, data, part))
    return b"".join(parts)


def own_key():
    return os.urandom(32)
