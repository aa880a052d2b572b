"""FORMAT, "Header" and "Slots": reading them, their bounds, unlocking the root key, keyring and MAC."""

import hmac as hmac_module
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .database import FORMAT_VERSION, blob, integer, short, text
from .errors import CannotUnlock, Damaged, Newer, Refused, TestRefused
from .primitives import XAES, Cursor, hkdf, hmac, pae, u32, u64

TEST, PADDED = 1, 2
TITLES = {0: "sealed", 1: "clear", 2: "none"}
PASSPHRASE, KEY_FILE, RECIPIENT, EXTERNAL = 1, 2, 3, 4
SLOT_LIMIT, EPOCH_LIMIT = 64, 64
KDF_SUM_LIMIT, KDF_MEMORY_LIMIT = 1 << 19, 512 << 20
_PROVIDER = re.compile(rb"[a-z0-9-]{1,32}")
_SLOT_KIND = {"passphrase": PASSPHRASE, "key": KEY_FILE, "identity": RECIPIENT}


@dataclass(frozen=True)
class Slot:
    slot: int
    kind: int
    label: bytes
    params: bytes
    wrapped: bytes

    def check_bounds(self, is_test):
        """Refuses by field, before any work. Slots of a kind that is unknown here are left alone."""
        name, params = f"slot {self.slot}", self.params
        if self.kind == PASSPHRASE:
            if len(params) != 19:
                raise Damaged(f"{name}: params of a wrong size")
            if not (10 if is_test else 15) <= params[0] <= (14 if is_test else 20):
                raise Refused(f"{name}: scrypt logN out of bounds")
            if params[1] != 8:
                raise Refused(f"{name}: scrypt r out of bounds")
            if not 1 <= params[2] <= 4:
                raise Refused(f"{name}: scrypt p out of bounds")
            if 128 * params[1] << params[0] > KDF_MEMORY_LIMIT:
                raise Refused(f"{name}: scrypt logN needs too much memory")
        elif self.kind == KEY_FILE and len(params) != 16 or self.kind == RECIPIENT and len(params) != 64:
            raise Damaged(f"{name}: params of a wrong size")
        elif self.kind == EXTERNAL:
            length = params[16] if len(params) > 16 else 0
            provider = params[17 : 17 + length]
            if not _PROVIDER.fullmatch(provider) or len(provider) != length:
                raise Damaged(f"{name}: params without a provider name")

    def key_encryption_key(self, secret, store_id):
        """The KEK that a secret of this slot's kind gives; None where the secret cannot be this slot's."""
        test = b"test-" if secret.is_test else b""
        if self.kind == PASSPHRASE:
            log_n, r, p = self.params[:3]
            salt = b"coffer1/scrypt" + store_id + self.params[3:]
            return Scrypt(salt=salt, length=32, n=1 << log_n, r=r, p=p).derive(secret.value)
        if self.kind == KEY_FILE:
            return hkdf(secret.value, self.params, b"coffer1/" + test + b"key" + store_id)
        identity = X25519PrivateKey.from_private_bytes(secret.value)
        ephemeral, recipient = self.params[:32], self.params[32:]
        if identity.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) != recipient:
            return None
        try:
            shared = identity.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        except ValueError:  # all zeros
            return None
        return hkdf(shared, self.params, b"coffer1/" + test + b"x25519" + store_id)

    def unwrap(self, kek, store_id):
        data = pae(b"coffer1/slot", store_id, u32(self.slot), u32(self.kind), self.params)
        try:
            return AESGCM(kek).decrypt(bytes(12), self.wrapped, data)
        except InvalidTag:
            return None


class Header:
    """The header row with its slots, sound in form; `unlock` and `authenticate` say whether it is true."""

    def __init__(self, connection):
        rows = connection.execute(
            "SELECT format, store_id, incompat, ro_compat, compat, titles, rk_generation, rk_commit, keyring, mac"
            " FROM coffer_header"
        ).fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one header")
        row = rows[0]
        if integer(row[0], "format") > FORMAT_VERSION:
            raise Newer("the format is newer than this reader")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if row[0] != version or version < 1:
            raise Damaged("format and user_version differ")
        self.format = row[0]
        self.incompat = integer(row[2], "incompat")
        if self.incompat & ~(TEST | PADDED):
            raise Newer("the store has a feature that this reader does not know")
        self.store_id = blob(row[1], "store_id", 16)
        self.ro_compat = integer(row[3], "ro_compat")
        self.compat = integer(row[4], "compat")
        self.titles = short(row[5], "titles", 0)
        if self.titles not in TITLES:
            raise Damaged("titles: unknown mode")
        self.rk_generation = integer(row[6], "rk_generation", 1)
        self.rk_commit = blob(row[7], "rk_commit", 32)
        self.keyring = blob(row[8], "keyring", most=40 + 4 + 36 * EPOCH_LIMIT)
        self.mac = blob(row[9], "mac", 32)
        self.slots = _slots(connection)

    @property
    def is_test(self):
        return bool(self.incompat & TEST)

    @property
    def is_padded(self):
        return bool(self.incompat & PADDED)

    @property
    def pin(self):
        return "coffer-pin-1-" + (self.store_id + self.rk_commit).hex()

    def check_bounds(self, secrets, allow_test):
        """Everything that is refused before work with keys: slots' bounds, then the TEST rule."""
        for slot in self.slots:
            slot.check_bounds(self.is_test)
        if any(secret.kind == "passphrase" for secret in secrets):
            if sum(slot.params[2] << slot.params[0] for slot in self.slots if slot.kind == PASSPHRASE) > KDF_SUM_LIMIT:
                raise Refused("scrypt p and logN: the slots together are out of bounds")
        if (self.is_test or any(secret.is_test for secret in secrets)) and not allow_test:
            raise TestRefused("a TEST store or test key, and none is allowed here")
        if not self.is_test and any(secret.is_test for secret in secrets):
            raise TestRefused("a test key does not open a store that is not a TEST store")

    def unlock(self, secrets):
        """The root key, from the first slot that opens and whose key is the committed one."""
        for secret in secrets:
            for slot in self.slots:
                if slot.kind != _SLOT_KIND.get(secret.kind):
                    continue
                kek = slot.key_encryption_key(secret, self.store_id)
                root_key = kek and slot.unwrap(kek, self.store_id)
                if root_key and hmac_module.compare_digest(self._key(root_key, "commit"), self.rk_commit):
                    return root_key
        raise CannotUnlock("no slot opens with this key")

    def _key(self, root_key, label):
        return hkdf(root_key, self.store_id, b"coffer1/" + label.encode())

    def authenticate(self, root_key):
        """Checks the MAC, then gives the keys of state and anchor and the epoch keys of the keyring."""
        message = pae(
            b"coffer1/header", u32(self.format), self.store_id, u64(self.incompat), u64(self.ro_compat),
            u64(self.compat), u32(self.titles), u64(self.rk_generation), self.rk_commit, self.keyring,
            *(pae(u32(slot.slot), u32(slot.kind), slot.label, slot.params, slot.wrapped) for slot in self.slots),
        )
        if not hmac_module.compare_digest(hmac(self._key(root_key, "header-mac"), message), self.mac):
            raise Damaged("the header is damaged, or an older one was put back")
        epochs, active = self._open_keyring(root_key)
        return self._key(root_key, "state"), self._key(root_key, "anchor"), epochs, active

    def _open_keyring(self, root_key):
        data = pae(b"coffer1/keyring", self.store_id, u64(self.rk_generation))
        plaintext = XAES(self._key(root_key, "keyring")).open_blob(self.keyring, data, "keyring")
        fields = Cursor(plaintext, "keyring")
        active, epochs = fields.unsigned(4), {}
        for _ in range((len(plaintext) - 4) // 36):
            epoch = short(fields.unsigned(4), "keyring: epoch")
            if epochs and epoch <= max(epochs):
                raise Damaged("keyring: epochs do not rise")
            epochs[epoch] = fields.take(32)
        fields.end()
        if active not in epochs:
            raise Damaged("keyring: no active epoch")
        return epochs, active


def _slots(connection):
    rows = connection.execute(
        "SELECT slot, kind, label, params, wrapped FROM coffer_slot ORDER BY slot LIMIT ?", (SLOT_LIMIT + 1,)
    ).fetchall()
    if not 1 <= len(rows) <= SLOT_LIMIT:
        raise Damaged("not 1 to 64 slots")
    return [
        Slot(
            short(slot, "slot"), short(kind, "slot kind"), text(label, "slot label", 255),
            blob(params, "slot params", most=4096), blob(wrapped, "wrapped key", 48),
        )
        for slot, kind, label, params, wrapped in rows
    ]
