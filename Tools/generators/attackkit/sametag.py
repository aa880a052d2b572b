"""Attacks by holders of a key who make another content with the same nonce and tag: GCM binds nothing against them.

The tag of GCM is a polynomial of the ciphertext's blocks, evaluated at a point that a holder of the key knows. Any change
of some blocks is made up for by one more block, whose new content the equation gives; text that varies elsewhere is
tried until that block is ASCII.
"""

import itertools

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from storereader.primitives import XAES, label16, u32, u64

from .attack import Attack
from .contents import document

BLOCK = 16
LETTERS = b"abcdefghijklmnop"
HIGH_BITS = int.from_bytes(b"\x80" * BLOCK, "big")
ONE = 1 << 127  # the field's 1, in GCM's order of bits
TRUE, FALSE = b"Payment of 1,000 francs to account CH11. ", b"Payment of 999,999 francs to XX66 at once. "
LONG_TRUE = TRUE * 4


def _times(a, b):
    """The product in GCM's field of 2^128 elements."""
    product = 0
    for bit in range(127, -1, -1):
        if b >> bit & 1:
            product ^= a
        a = a >> 1 ^ (0xE1 << 120 if a & 1 else 0)
    return product


def _power(a, exponent):
    result = ONE
    while exponent:
        if exponent & 1:
            result = _times(result, a)
        a = _times(a, a)
        exponent >>= 1
    return result


def _blocks(data):
    return [int.from_bytes(data[at : at + BLOCK].ljust(BLOCK, b"\0"), "big") for at in range(0, len(data), BLOCK)]


def forged(key, nonce, old, new, vary, solve):
    """The ciphertext's change (to XOR) that turns the plaintext `old` into nearly `new`, as long, under the same tag.

    `vary` and `solve` are numbers of whole blocks: six bytes of the first are tried until the second comes out as ASCII.
    """
    point = int.from_bytes(
        Cipher(algorithms.AES(XAES(key).derived_key(nonce)), modes.ECB()).encryptor().update(bytes(BLOCK)), "big")
    before, after = _blocks(old), _blocks(new)
    weights = [_power(point, len(before) - number + 1) for number in range(len(before))]
    rest = 0
    for number, weight in enumerate(weights):
        if number not in (vary, solve):
            rest ^= _times(before[number] ^ after[number], weight)
    inverse = _power(weights[solve], 2**128 - 2)
    rest, factor = _times(rest, inverse), _times(weights[vary], inverse)
    rest ^= before[solve] ^ _times(before[vary] ^ after[vary] >> 48 << 48, factor)
    # Products are linear, so one for each letter in each place is enough.
    products = [{letter: _times(letter << 8 * place, factor) for letter in LETTERS} for place in range(5, -1, -1)]
    for letters in itertools.product(LETTERS, repeat=6):
        found = rest
        for letter, product in zip(letters, products):
            found ^= product[letter]
        if not found & HIGH_BITS:
            break
    tried = after[vary] >> 48 << 48 | int.from_bytes(bytes(letters), "big")
    after[vary], after[solve] = tried, found
    change = b"".join((a ^ b).to_bytes(BLOCK, "big") for a, b in zip(before, after))[: len(old)]
    return change, bytes(a ^ b for a, b in zip(old, change))


def _xor(data, change):
    return bytes(a ^ b for a, b in zip(data, change))


def _middle(plain, content):
    """The numbers of two whole blocks inside of the content, for `vary` and `solve`."""
    last = (plain.index(content) + len(content)) // BLOCK - 1
    return last - 1, last


def exchanged(key, sealed, data, content):
    """A sealed blob with another content and the same tag, and its plaintext; `content` is a part of the old one."""
    nonce = sealed[:24]
    old = XAES(key).open_blob(sealed, data, "blob")
    new = old.replace(content, FALSE.ljust(len(content)))
    change, plain = forged(key, nonce, old, new, *_middle(old, content))
    made = nonce + _xor(sealed[24:-16], change) + sealed[-16:]
    assert XAES(key).open_blob(made, data, "blob") == plain != old
    return made, plain


def found(plain, content):
    """What a forged plaintext has in the place of the content."""
    start = plain.index(FALSE[:16])
    return plain[start : start + len(content)]


def attacks(kit):
    yield from _bodies(kit)
    yield from _heads(kit)
    yield _name()


# A document of epoch 1 in the base `keys-only`, whose epoch 2 is active.
OLD = 7


def _true(writer, id, **fields):
    """The document as its owner sealed it, long enough for a forger."""
    record = writer.records[id]
    for name, value in fields.items():
        setattr(record, name, value)
    writer.seal(record)
    writer.commit()
    return record


def _bodies(kit):
    def forge(writer, id=OLD):
        record = _true(writer, id, text=LONG_TRUE)
        data = label16(b"coffer3/body") + writer.store_id + u32(record.coll) + u64(record.id) + u32(record.epoch)
        key, nonce, tag = writer.epoch_key(b"body", record.epoch), record.body_nt[:24], record.body_nt[24:]
        made, plain = exchanged(key, nonce + record.ct + tag, data, LONG_TRUE)
        record.ct, record.text = made[24:-16], found(plain, LONG_TRUE)

    assert kit.base("keys-only").records[OLD].epoch == 1
    yield Attack(
        "same-tag-body", "keys-only", f"document {OLD}: another text with the same tag, by a holder of its closed key",
        forge=forge, get={OLD: "damaged"}, verify="damaged", quick="ok")
    yield Attack(
        "same-tag-body-active", "sealed", "document 2: the same by a holder of the active key: verify sees it",
        forge=lambda writer: forge(writer, 2), verify="damaged", quick="ok", also={"get_of_2": ["damaged"]})


def _heads(kit):
    def forge(writer):
        _forge_head(writer, _true(writer, OLD, title=LONG_TRUE))

    forged_store = kit.base("keys-only").copy()
    forge(forged_store)
    yield Attack(
        "same-tag-head", "keys-only", f"document {OLD}: another title with the same tag, by a holder of its closed key",
        forge=forge, reads={OLD: document(forged_store, forged_store.records[OLD])})


def _forge_head(writer, record):
    data = label16(b"coffer3/head") + writer.row(record) + writer.t(record)
    record.head, plain = exchanged(writer.epoch_key(b"head", record.epoch), record.head, data, LONG_TRUE)
    record.title = found(plain, LONG_TRUE)


def _name():
    def forge(writer):
        row = writer.collections[1]
        writer.change_collection(1, name=LONG_TRUE)
        writer.commit()
        data = label16(b"coffer3/name") + writer.store_id + u64(row.coll) + u32(writer.active) + u64(row.rev)
        row.sealed, _ = exchanged(writer.epoch_key(b"name", writer.active), row.sealed, data, LONG_TRUE)

    return Attack(
        "same-tag-name", "sealed", "collection 1: another name with the same tag, by a holder of the active epoch's key",
        forge=forge)
