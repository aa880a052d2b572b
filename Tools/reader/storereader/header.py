"""FORMAT, "Header" and "Slots": reading them, their bounds, unlocking the root key, keyring and MAC."""

import hmac as hmac_module
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .database import FORMAT_VERSION, GENERATION_LIMIT, blob, counter, integer, short, text
from .errors import CannotUnlock, Damaged, Newer, Refused, TestRefused
from .primitives import SEAL_OVERHEAD, XAES, Cursor, hkdf, hmac, pae, u32, u64

TEST, PADDED, ATTACHMENTS = 1, 2, 4
TITLES = {0: "sealed", 1: "clear", 2: "none"}
PASSPHRASE, KEY_FILE, RECIPIENT, EXTERNAL = 1, 2, 3, 4
SLOT_LIMIT, EPOCH_LIMIT, EPOCH_SIZE = 64, 64, 60
# The keyring before its epochs: the active one, and the family key.
KEYRING_START = 36
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
        """Refuses fields out of bounds, before any work on this slot. Slots of an unknown kind are not checked."""
        name, params = f"slot {self.slot}", self.params
        if self.kind == PASSPHRASE:
            if len(params) != 19:
                raise Refused(f"{name}: params of a wrong size")
            if not (10 if is_test else 15) <= params[0] <= (14 if is_test else 20):
                raise Refused(f"{name}: scrypt logN out of bounds")
            if params[1] != 8:
                raise Refused(f"{name}: scrypt r out of bounds")
            if not 1 <= params[2] <= 4:
                raise Refused(f"{name}: scrypt p out of bounds")
            if 128 * params[1] << params[0] > KDF_MEMORY_LIMIT:
                raise Refused(f"{name}: scrypt logN needs too much memory")
        elif self.kind == KEY_FILE and len(params) != 24 or self.kind == RECIPIENT and len(params) != 64:
            raise Refused(f"{name}: params of a wrong size")
        elif self.kind == EXTERNAL:
            length = params[16] if len(params) > 16 else 0
            provider = params[17 : 17 + length]
            if not _PROVIDER.fullmatch(provider) or len(provider) != length:
                raise Refused(f"{name}: params without a provider name")

    def is_in_bounds(self, is_test):
        try:
            self.check_bounds(is_test)
        except Refused:
            return False
        return True

    def key_encryption_key(self, secret, store_id):
        """The KEK from a secret of this slot's kind; None if the secret cannot be this slot's."""
        test = b"test-" if secret.is_test else b""
        if self.kind == PASSPHRASE:
            log_n, r, p = self.params[:3]
            salt = b"coffer3/scrypt" + store_id + self.params[3:]
            return Scrypt(salt=salt, length=32, n=1 << log_n, r=r, p=p).derive(secret.value)
        if self.kind == KEY_FILE:
            # After the salt is a fingerprint, which only tells key files apart.
            return hkdf(secret.value, self.params[:16], b"coffer3/" + test + b"key" + store_id)
        identity = X25519PrivateKey.from_private_bytes(secret.value)
        ephemeral, recipient = self.params[:32], self.params[32:]
        if identity.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) != recipient:
            return None
        try:
            shared = identity.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        except ValueError:  # all zeros
            return None
        return hkdf(shared, self.params, b"coffer3/" + test + b"x25519" + store_id)

    def unwrap(self, kek, store_id, rk_generation):
        data = pae(b"coffer3/slot", store_id, u32(self.slot), u32(self.kind), u64(rk_generation), self.params)
        try:
            return AESGCM(kek).decrypt(bytes(12), self.wrapped, data)
        except InvalidTag:
            return None


@dataclass(frozen=True)
class Epoch:
    """An entry of the keyring. `closed` and `ceiling` are 0 for the active epoch."""

    key: bytes
    closed: int
    ceiling: int
    floor: int


def attachments_feature(incompat):
    """Whether the features have that of attachments, None where they can't be read; raises Newer at an unknown one."""
    if incompat is None:
        return None
    if incompat & ~(TEST | PADDED | ATTACHMENTS):
        raise Newer("the store has a feature that this reader does not know")
    return bool(incompat & ATTACHMENTS)


class Header:
    """The header row with its slots, sound in form; `unlock` and `authenticate` say whether it is true."""

    def __init__(self, connection):
        rows = connection.execute(
            "SELECT format, store_id, incompat, ro_compat, compat, titles, rk_generation, phase, rk_commit, keyring,"
            " mac FROM coffer_header"
        ).fetchall()
        if len(rows) != 1:
            raise Damaged("not exactly one header")
        row = rows[0]
        if integer(row[0], "format") > FORMAT_VERSION:
            raise Newer("the format is newer than this reader")
        if row[0] != FORMAT_VERSION:
            raise Damaged("format and user_version differ")
        self.format = row[0]
        self.incompat = integer(row[2], "incompat")
        self.store_id = blob(row[1], "store_id", 16)
        self.ro_compat = integer(row[3], "ro_compat")
        self.compat = integer(row[4], "compat")
        self.titles = short(row[5], "titles", 0)
        if self.titles not in TITLES:
            raise Damaged("titles: unknown mode")
        self.rk_generation = counter(row[6], "rk_generation")
        self.phase = counter(row[7], "phase")
        self.rk_commit = blob(row[8], "rk_commit", 32)
        self.keyring = blob(row[9], "keyring")
        start = SEAL_OVERHEAD + KEYRING_START
        if len(self.keyring) not in range(start + EPOCH_SIZE, start + EPOCH_SIZE * EPOCH_LIMIT + 1, EPOCH_SIZE):
            raise Damaged("keyring: not a blob of its size")
        self.mac = blob(row[10], "mac", 32)
        self.slots = _slots(connection)

    @property
    def is_test(self):
        return bool(self.incompat & TEST)

    @property
    def is_padded(self):
        return bool(self.incompat & PADDED)

    @property
    def has_attachments(self):
        return bool(self.incompat & ATTACHMENTS)

    @property
    def pin(self):
        pair = u64(self.rk_generation) + u64(self.phase)
        return "coffer-pin-3-" + (self.store_id + pair + self.rk_commit).hex()

    def check_bounds(self, secrets, allow_test):
        """Everything that is refused before work with keys: bounds that leave no slot to try, then the TEST rule."""
        tried = [slot for slot in self.slots if any(slot.kind == _SLOT_KIND.get(secret.kind) for secret in secrets)]
        for slots in (self.slots, tried):
            if slots and not any(slot.is_in_bounds(self.is_test) for slot in slots):
                slots[0].check_bounds(self.is_test)
        if any(secret.kind == "passphrase" for secret in secrets):
            passphrases = [slot for slot in tried if slot.kind == PASSPHRASE and slot.is_in_bounds(self.is_test)]
            if sum(slot.params[2] << slot.params[0] for slot in passphrases) > KDF_SUM_LIMIT:
                raise Refused("scrypt p and logN: the slots together are out of bounds")
        if (self.is_test or any(secret.is_test for secret in secrets)) and not allow_test:
            raise TestRefused("a TEST store or test key, and none is allowed here")
        if not self.is_test and any(secret.is_test for secret in secrets):
            raise TestRefused("a test key does not open a store that is not a TEST store")

    def unlock(self, secrets):
        """The root key from the first slot that opens and whose key is the committed one."""
        for secret in secrets:
            for slot in self.slots:
                if slot.kind != _SLOT_KIND.get(secret.kind) or not slot.is_in_bounds(self.is_test):
                    continue
                kek = slot.key_encryption_key(secret, self.store_id)
                root_key = kek and slot.unwrap(kek, self.store_id, self.rk_generation)
                if root_key and hmac_module.compare_digest(self.commitment(root_key, self.phase), self.rk_commit):
                    return root_key
        raise CannotUnlock("no slot opens with this key")

    def commitment(self, root_key, phase):
        """The root key's commitment for any phase of this `rk_generation`."""
        return hkdf(root_key, self.store_id, b"coffer3/commit" + u64(self.rk_generation) + u64(phase))

    def key(self, root_key, label):
        return hkdf(root_key, self.store_id, b"coffer3/" + label.encode())

    def authenticate(self, root_key):
        """Checks the MAC, then gives the epochs of the keyring, the active one, and the family key."""
        mac = hmac(self.key(root_key, "header-mac"), pae(*self._elements))
        if not hmac_module.compare_digest(mac, self.mac):
            raise Damaged("the header is damaged, or an older one was put back")
        return self._open_keyring(root_key)

    @property
    def _elements(self):
        return [
            b"coffer3/header", u32(self.format), self.store_id, u64(self.incompat), u64(self.ro_compat),
            u64(self.compat), u32(self.titles), u64(self.rk_generation), u64(self.phase), self.rk_commit, self.keyring,
            *(pae(u32(slot.slot), u32(slot.kind), slot.label, slot.params, slot.wrapped) for slot in self.slots),
        ]

    @property
    def spare(self):
        """The copy of header and slots in `coffer_spare`."""
        return b"coffer3/spare" + pae(*self._elements, self.mac)

    def _open_keyring(self, root_key):
        data = pae(b"coffer3/keyring", self.store_id, u64(self.rk_generation), u64(self.phase))
        plaintext = XAES(self.key(root_key, "keyring")).open_blob(self.keyring, data, "keyring")
        fields = Cursor(plaintext, "keyring")
        active, family, epochs = fields.unsigned(4), fields.take(32), {}
        for _ in range(len(plaintext) // EPOCH_SIZE):
            number = short(fields.unsigned(4), "keyring: epoch")
            if epochs and number <= max(epochs):
                raise Damaged("keyring: epochs do not rise")
            key, is_closed = fields.take(32), number != active
            epochs[number] = Epoch(
                key, integer(fields.unsigned(8), "keyring: closed", is_closed, GENERATION_LIMIT if is_closed else 0),
                integer(fields.unsigned(8), "keyring: ceiling", is_closed, 2**63 - 1 if is_closed else 0),
                integer(fields.unsigned(8), "keyring: floor", 1, 2**63 - 1 if is_closed else 1))
        if active != max(epochs):
            raise Damaged("keyring: the active epoch is not the highest")
        return epochs, active, family


def _slots(connection):
    rows = connection.execute(
        "SELECT slot, kind, label, params, wrapped FROM coffer_slot ORDER BY slot LIMIT ?", (SLOT_LIMIT + 1,)
    ).fetchall()
    if not 1 <= len(rows) <= SLOT_LIMIT:
        raise Damaged("not 1 to 64 slots")
    return [
        Slot(
            short(slot, "slot"), short(kind, "slot kind"), text(label, "slot label", 255),
            blob(params, "slot params", most=4096), blob(wrapped, "wrapped key", most=4096),
        )
        for slot, kind, label, params, wrapped in rows
    ]
