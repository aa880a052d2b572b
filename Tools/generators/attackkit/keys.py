"""The keys of a store that is written: root key, epochs, family key, slots, pin."""

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from storereader.primitives import XAES, hkdf, pae, u8, u32, u64


class Random:
    """Bytes that look random and are the same for the same seed."""

    def __init__(self, seed):
        self._seed, self._taken = seed.encode(), 0

    def __call__(self, count):
        self._taken += 1
        return hashlib.shake_128(self._seed + u64(self._taken)).digest(count)


@dataclass
class Slot:
    slot: int
    kind: int
    label: object
    params: object
    wrapped: object


@dataclass
class Epoch:
    key: bytes
    closed: int = 0
    ceiling: int = 0
    floor: int = 1


class Keys:
    """Everything that a seed determines first, and the slots."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.store_id, self.root = self.random(16), self.random(32)
        self.rk_generation, self.phase, self.active = 1, 1, 1
        self.epochs, self.family = {1: Epoch(self.random(32))}, self.random(32)
        self.slots = []

    def _key(self, label):
        return hkdf(self.root, self.store_id, b"coffer3/" + label)

    def commitment(self, phase=None):
        """The root key's commitment for a phase, by default the present one."""
        return self._key(b"commit" + u64(self.rk_generation) + u64(phase or self.phase))

    def epoch_key(self, label, epoch):
        return hkdf(self.epochs[epoch].key, self.store_id, b"coffer3/" + label + u32(epoch))

    def xseal(self, key, data, plain):
        nonce = self.random(24)
        return nonce + XAES(key).seal(nonce, data, plain)

    def add_slot(self, kind, params, kek, label=b"", slot=None):
        slot = slot or max((s.slot for s in self.slots), default=0) + 1
        data = pae(b"coffer3/slot", self.store_id, u32(slot), u32(kind), u64(self.rk_generation), params)
        self.slots.append(Slot(slot, kind, label, params, AESGCM(kek).encrypt(bytes(12), self.root, data)))
        return slot

    def add_key_file(self, key, label=b"", slot=None):
        salt = self.random(16)
        fingerprint = hkdf(key, self.store_id, b"coffer3/fingerprint")[:8]
        kek = hkdf(key, salt, b"coffer3/test-key" + self.store_id)
        return self.add_slot(2, salt + fingerprint, kek, label, slot)

    def add_passphrase(self, passphrase, label=b"", log_n=10, p=1, r=8, slot=None):
        salt = self.random(16)
        kdf = Scrypt(salt=b"coffer3/scrypt" + self.store_id + salt, length=32, n=1 << log_n, r=r, p=p)
        return self.add_slot(1, bytes([log_n, r, p]) + salt, kdf.derive(passphrase), label, slot)

    def add_recipient(self, public, label=b"", ephemeral_secret=None, slot=None):
        secret = X25519PrivateKey.from_private_bytes(ephemeral_secret or self.random(32))
        shared = secret.exchange(X25519PublicKey.from_public_bytes(public))
        params = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) + public
        return self.add_slot(3, params, hkdf(shared, params, b"coffer3/test-x25519" + self.store_id), label, slot)

    def add_external(self, provider, blob, answer, label=b""):
        salt = self.random(16)
        params = salt + u8(len(provider)) + provider + blob
        return self.add_slot(4, params, hkdf(answer, salt, b"coffer3/external" + self.store_id), label)

    def keyring_plain(self):
        return u32(self.active) + self.family + b"".join(
            u32(number) + epoch.key + u64(epoch.closed) + u64(epoch.ceiling) + u64(epoch.floor)
            for number, epoch in sorted(self.epochs.items()))

    def pin_of(self, phase):
        return "coffer-pin-3-" + (
            self.store_id + u64(self.rk_generation) + u64(phase) + self.commitment(phase)).hex()

    @property
    def pin(self):
        return self.pin_of(self.phase)
