"""C2SP's signed notes, as FORMAT, "Releases" and "Release folders" use them."""

import base64
import binascii
import hashlib
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .keyfiles import key_line

LIMIT, SIGNATURE_LIMIT = 8192, 16
_SIGNATURE = re.compile(r"\u2014 (?P<name>[^ +]+) (?P<value>[A-Za-z0-9+/]+={0,2})")


class SignedNote:
    """A text and its signatures; ValueError for anything else."""

    def __init__(self, note, limit=LIMIT):
        text, gap, signatures = note.rpartition("\n\n")
        self.text = text + "\n"
        lines = signatures.split("\n")
        if len(note.encode()) > limit or not gap or not text or lines.pop() or not 1 <= len(lines) <= SIGNATURE_LIMIT:
            raise ValueError("not a signed note")
        if any(character < " " and character != "\n" for character in note):
            raise ValueError("a signed note has no control characters")
        self._signatures = [_signature(line) for line in lines]

    @property
    def digest(self):
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def is_signed_by(self, publisher):
        """Whether a signature is by this publisher's line."""
        key = key_line(publisher.encode())
        if key.kind != "publisher":
            raise ValueError("not the line of a publisher")
        name = "coffer-test-release" if key.is_test else "coffer-release"
        key_id = hashlib.sha256(name.encode() + b"\n\x01" + key.value).digest()[:4]
        for found, value in self._signatures:
            if found == name and value[:4] == key_id:
                try:
                    Ed25519PublicKey.from_public_bytes(key.value).verify(value[4:], self.text.encode())
                    return True
                except InvalidSignature:
                    return False
        return False


def _signature(line):
    match = _SIGNATURE.fullmatch(line)
    if not match:
        raise ValueError("not a line of a signature")
    try:
        return match["name"], base64.b64decode(match["value"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"not the Base64 of a signature: {error}") from None
