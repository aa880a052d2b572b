"""FORMAT, "Conventions", "Primitives" and "Set hash": encodings, key derivation, sealing, frames, extension parts, LtHash."""

import hashlib
import hmac as hmac_module

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import Damaged

SEAL_OVERHEAD = 40
NONCE_SIZE = 24
TAG_SIZE = 16
# Extension parts: their greatest length in head data and in a collection's data, and elsewhere; bits of an entry's type.
EXTENSION_LIMIT, SMALL_EXTENSION_LIMIT, REPLICAS_EXTENSION_LIMIT = 65536, 300, 1048576
MUST_UNDERSTAND, RESERVED_BITS = 0x8000, 0x7000


def u8(value):
    return value.to_bytes(1, "big")


def u32(value):
    return value.to_bytes(4, "big")


def u64(value):
    return value.to_bytes(8, "big")


def i64(value):
    return value.to_bytes(8, "big", signed=True)


def label16(label):
    return label.ljust(16, b"\0")


def pae(*parts):
    """One byte string for a list of them, different for every list."""
    return u32(len(parts)) + b"".join(u32(len(part)) + part for part in parts)


def hmac(key, message):
    return hmac_module.new(key, message, hashlib.sha256).digest()


def hkdf(key, salt, info):
    """RFC 5869 with SHA-256; 32 bytes are one round of the expansion."""
    return hmac(hmac(salt, key), info + b"\x01")


class XAES:
    """XAES-256-GCM (C2SP) under one key; the part that depends on the key alone is computed once."""

    def __init__(self, key):
        self._ecb = Cipher(algorithms.AES(key), modes.ECB())
        block = int.from_bytes(self._encrypt(bytes(16)), "big")
        shifted = (block << 1) & ((1 << 128) - 1)
        self._k1 = shifted ^ 0x87 if block >> 127 else shifted

    def _encrypt(self, blocks):
        encryptor = self._ecb.encryptor()
        return encryptor.update(blocks) + encryptor.finalize()

    def derived_key(self, nonce):
        k1 = self._k1.to_bytes(16, "big")
        blocks = b""
        for counter in (1, 2):
            message = bytes([0, counter, 0x58, 0]) + nonce[:12]
            blocks += bytes(a ^ b for a, b in zip(message, k1))
        return self._encrypt(blocks)

    def seal(self, nonce, data, plaintext):
        """Ciphertext and tag. The reader never needs it; the published vectors do."""
        return AESGCM(self.derived_key(nonce)).encrypt(nonce[12:], plaintext, data)

    def open(self, nonce, ciphertext, tag, data, what):
        try:
            return AESGCM(self.derived_key(nonce)).decrypt(nonce[12:], ciphertext + tag, data)
        except InvalidTag:
            raise Damaged(f"{what} does not open") from None

    def open_blob(self, blob, data, what):
        """Opens N || C || T."""
        if len(blob) < SEAL_OVERHEAD:
            raise Damaged(f"{what} is too short")
        return self.open(blob[:NONCE_SIZE], blob[NONCE_SIZE:-TAG_SIZE], blob[-TAG_SIZE:], data, what)


class SetHash:
    """LtHash16: the sum of 1,024 lanes of 16 bits for each element, lane by lane."""

    SIZE = 2048
    _EVEN = int.from_bytes(b"\xff\xff\0\0" * (SIZE // 4), "little")
    _COUNTER = modes.CTR(bytes(16))

    def __init__(self):
        # Even and odd lanes, each 32 bits wide in one integer: 65,535 elements fit before they are cut to 16 bits.
        self._even = self._odd = self._room = 0

    def add(self, digest):
        if self._room == 0:
            self._even, self._odd, self._room = self._even & self._EVEN, self._odd & self._EVEN, 0xFFFF
        self._room -= 1
        stream = Cipher(algorithms.AES(digest), self._COUNTER).encryptor().update(bytes(self.SIZE))
        lanes = int.from_bytes(stream, "little")
        self._even += lanes & self._EVEN
        self._odd += lanes >> 16 & self._EVEN

    def total(self):
        return (self._even & self._EVEN | (self._odd & self._EVEN) << 16).to_bytes(self.SIZE, "little")


def padme(size):
    exponent = size.bit_length() - 1
    low_bits = exponent - exponent.bit_length()
    mask = (1 << low_bits) - 1
    return (size + mask) & ~mask


def frame_data(frame, padded, minimums, what):
    """The data in a frame of one of the sizes that a writer gives it; any other frame is damage."""
    if len(frame) < 8:
        raise Damaged(f"{what}: frame too short")
    if frame[0] != 0:
        raise Damaged(f"{what}: unknown codec")
    end = 8 + int.from_bytes(frame[1:8], "big")
    sizes = {max(padme(end), minimum) for minimum in minimums} if padded else {end}
    if len(frame) not in sizes:
        raise Damaged(f"{what}: frame of a wrong length")
    if any(frame[end:]):
        raise Damaged(f"{what}: padding is not zero")
    return frame[8:end]


def extension_part(data, limit, last_part, what):
    """The entries of an extension part, by type; parts above `last_part` are damage."""
    if len(data) > limit:
        raise Damaged(f"{what}: extension part over its limit")
    fields, entries, last = Cursor(data, f"{what}: extension part"), {}, -1
    while not fields.is_at_end:
        kind = fields.unsigned(2)
        if kind <= last or kind & RESERVED_BITS or kind >> 8 & 15 > last_part:
            raise Damaged(f"{what}: extension part: types do not rise, or have reserved bits or another part")
        entries[kind], last = fields.take(fields.unsigned(4)), kind
    return entries


def is_newer(entries):
    """Whether an entry must be understood: this reader knows none."""
    return any(kind & MUST_UNDERSTAND for kind in entries)


class Cursor:
    """Takes fields from the front of a plaintext; a field beyond its end is damage."""

    def __init__(self, data, what):
        self._data, self._offset, self._what = data, 0, what

    def take(self, count):
        if count > len(self._data) - self._offset:
            raise Damaged(f"{self._what}: too short")
        self._offset += count
        return self._data[self._offset - count : self._offset]

    def unsigned(self, size):
        return int.from_bytes(self.take(size), "big")

    def signed(self):
        return int.from_bytes(self.take(8), "big", signed=True)

    def varint(self):
        """LEB128 in its shortest form, below 2^63."""
        value, shift = 0, 0
        while True:
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 56:
                raise Damaged(f"{self._what}: a number above 63 bits")
        if shift and byte == 0:
            raise Damaged(f"{self._what}: a number not in its shortest form")
        return value

    def has_value(self):
        """Whether a value follows: u8 0 or 1."""
        marker = self.unsigned(1)
        if marker > 1:
            raise Damaged(f"{self._what}: unknown marker")
        return marker == 1

    def optional(self):
        """u8 0, or u8 1 || u32 length || bytes."""
        return self.take(self.unsigned(4)) if self.has_value() else None

    def rest(self):
        return self.take(len(self._data) - self._offset)

    @property
    def is_at_end(self):
        return self._offset == len(self._data)

    def end(self):
        if not self.is_at_end:
            raise Damaged(f"{self._what}: too long")
