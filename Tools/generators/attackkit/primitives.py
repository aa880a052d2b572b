"""Every value of FORMAT.md once, from fixed inputs: keys, slots, keyring, header, frames, dots, rows, set hash, attachments,
content hash, replicas, ring, state; and the forms of key lines, pins and anchors."""

import hashlib
import unicodedata

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from storereader.primitives import XAES, hkdf, hmac, label16, padme, pae, u8, u32, u64

from . import contenthash, layout
from .contents import entries
from .dots import ZERO, CollectionDots, DocumentDots, order
from .extensions import ill_formed
from .keys import Epoch, Slot
from .layout import ATTACHMENTS, MUST_UNDERSTAND, PADDED, TEST, extension_part
from .mergestores import copy_dots, copy_position, copy_title, copy_uid
from .positions import place
from .secrets import OTHER_PASSPHRASE, PASSPHRASE, key_line
from .writer import CLEAR, SEALED, Collection, Deletion, Record, Replica, Writer

EPOCH, LAST = 3, layout.LAST_GENERATION


def primitives():
    writer = Writer("coffer primitives")
    writer.active, writer.epochs = EPOCH, {EPOCH: writer.epochs[1]}
    writer.rk_generation, writer.phase = 2, 5
    writer.replicas = [
        Replica(b"\x80" * 16, 300, 0, 3, [(200, b"mark 200"), (299, b"mark 299")]),
        Replica(b"\x7f" * 16, 12, 0, 6, [(number, bytes([number]) * 8) for number in range(1, 12)]),
        Replica(bytes(range(16)), LAST, 8191, 9), Replica(bytes(range(1, 17)), 0, 127, 0)]
    writer.own, writer.lead, writer.generation = 1, 6, 9
    found = {
        "note": "all values hex unless said", "store_id": writer.store_id.hex(), "rk": writer.root.hex(),
        "ek": writer.epochs[EPOCH].key.hex(), "epoch": EPOCH, "xaes": {"accumulated_10000": xaes(10_000)},
        "rk_keys": {name: writer._key(name.encode()).hex() for name in ("keyring", "header-mac", "state", "anchor", "replicas")},
        "commitments": [_commitment(writer, *pair) for pair in ((1, 1), (1, 2), (2, 1), (2, 5), (2**62, 2**62))],
        "ek_keys": {
            name: writer.epoch_key(name.encode(), EPOCH).hex() for name in ("body", "head", "name", "lookup", "set")},
        "pae": [{"parts": [part.hex() for part in parts], "out": pae(*parts).hex()} for parts in (
            (), (b"",), (b"a", b""), (b"coffer3/slot", writer.store_id, u32(1)))],
        "slots": list(slots(writer)),
        "x25519_all_zero": {"public": bytes(32).hex(), "expected": "refused: the shared secret is all zero"},
    }
    return found | header(writer, found["slots"]) | frames() | extensions() | dots(writer) | rows(writer) | ring() | {"key_lines": key_lines()}


def xaes(rounds):
    """C2SP's accumulated test: inputs from one SHAKE-128 stream, ciphertexts into another."""
    stream, offset, results = hashlib.shake_128().digest(rounds * (32 + 24 + 2 * 256)), 0, hashlib.shake_128()

    def take(count):
        nonlocal offset
        offset += count
        return stream[offset - count : offset]

    for _ in range(rounds):
        key, nonce = take(32), take(24)
        plaintext, data = take(take(1)[0]), take(take(1)[0])
        results.update(XAES(key).seal(nonce, data, plaintext))
    return results.digest(32).hex()


def _commitment(writer, rk_generation, phase):
    value = hkdf(writer.root, writer.store_id, b"coffer3/commit" + u64(rk_generation) + u64(phase))
    return {"rk_generation": rk_generation, "phase": phase, "commitment": value.hex()}


def slots(writer):
    random, store_id = writer.random, writer.store_id

    def wrapped(slot, kind, params, kek, label, **more):
        data = pae(b"coffer3/slot", store_id, u32(slot), u32(kind), u64(writer.rk_generation), params)
        sealed = AESGCM(kek).encrypt(bytes(12), writer.root, data)
        return {
            "slot": slot, "kind": kind, "params": params.hex(), "kek": kek.hex(), "aad": data.hex(),
            "wrapped": sealed.hex(), "label": label} | more

    for slot, log_n, p, text, label, is_test in (
        (1, 10, 1, PASSPHRASE, "pass", True), (2, 10, 2, OTHER_PASSPHRASE, "p\u00e4ss", True),
        (1, 17, 1, PASSPHRASE, "", False),
    ):
        salt = random(16)
        kdf = Scrypt(salt=b"coffer3/scrypt" + store_id + salt, length=32, n=1 << log_n, r=8, p=p)
        more = {"passphrase": text, "test": is_test}
        if unicodedata.normalize("NFD", text) != text:
            more["passphrase_nfd"] = unicodedata.normalize("NFD", text)
        yield wrapped(slot, 1, bytes([log_n, 8, p]) + salt, kdf.derive(text.encode()), label, **more)
    key, salt = random(32), random(16)
    fingerprint = hkdf(key, store_id, b"coffer3/fingerprint")[:8]
    for kind, label in (("test-key", "test key"), ("key", "")):
        kek = hkdf(key, salt, f"coffer3/{kind}".encode() + store_id)
        yield wrapped(
            3, 2, salt + fingerprint, kek, label, key_line=key_line("key", key, is_test=kind != "key"),
            fingerprint=fingerprint.hex())
    identity, ephemeral = (X25519PrivateKey.from_private_bytes(random(32)) for _ in range(2))
    public, sent = (
        secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) for secret in (identity, ephemeral))
    shared, params = ephemeral.exchange(X25519PublicKey.from_public_bytes(public)), sent + public
    lines = {
        "ephemeral_secret": ephemeral.private_bytes_raw().hex(),
        "identity_line": key_line("identity", identity.private_bytes_raw()),
        "recipient_line": key_line("recipient", public), "fingerprint": hashlib.sha256(public).digest()[:8].hex()}
    for kind, label, more in (
        ("test-x25519", "recipient", lines),
        ("x25519", "", {"note": "the same with the label of a store without TEST"}),
    ):
        kek = hkdf(shared, params, f"coffer3/{kind}".encode() + store_id)
        yield wrapped(4, 3, params, kek, label, shared=shared.hex(), **more)
    answer, salt = random(32), random(16)
    kek = hkdf(answer, salt, b"coffer3/external" + store_id)
    yield wrapped(5, 4, salt + u8(7) + b"my-prov" + b"blob bytes", kek, "external", answer=answer.hex())


def header(writer, slots):
    writer.epochs |= {4: Epoch(writer.random(32), 0, 0, 1)}
    writer.epochs[EPOCH].closed, writer.epochs[EPOCH].ceiling, writer.epochs[EPOCH].floor = 7, 12, 5
    writer.active = 4
    writer.incompat = TEST | PADDED
    writer.slots = [
        Slot(s["slot"], s["kind"], s["label"].encode(), bytes.fromhex(s["params"]), bytes.fromhex(s["wrapped"]))
        for s in slots if s["label"]]
    writer._commit_header({})
    plain = writer.keyring_plain()
    label = len(b"coffer3/spare")
    # Without the last element, and with one element less in its count: the MAC's own message.
    message = writer.spare[label : -36]
    message = u32(int.from_bytes(message[:4], "big") - 1) + message[4:]
    assert hmac(writer._key(b"header-mac"), message) == writer.mac
    writer.active = EPOCH
    return {
        "keyring": {
            "rk_generation": 2, "phase": 5, "active": 4, "family": writer.family.hex(),
            "epochs": {str(number): epoch.key.hex() for number, epoch in writer.epochs.items()},
            "entries": [
                {"epoch": number, "closed": epoch.closed, "ceiling": epoch.ceiling, "floor": epoch.floor}
                for number, epoch in writer.epochs.items()],
            "aad": pae(b"coffer3/keyring", writer.store_id, u64(2), u64(5)).hex(), "plain": plain.hex(),
            "sealed": writer.keyring.hex()},
        "header": {
            "format": 3, "store_id": writer.store_id.hex(), "incompat": 3, "ro_compat": 0, "compat": 0, "titles": 0,
            "rk_generation": 2, "phase": 5, "rk_commit": writer.rk_commit.hex(), "keyring": writer.keyring.hex(),
            "slots": "those of \"slots\" with a non-empty label, by slot", "mac_input": message.hex(),
            "mac": writer.mac.hex(), "spare": writer.spare.hex()},
        "pin": writer.pin,
    }


def frames():
    found = []
    for length in (0, 1, 3, 8, 55, 56, 57, 64, 100, 1000, 1024, 2039, 2040, 2041, 65536):
        data = hashlib.shake_128(b"f").digest(length)
        frame = bytes(1) + length.to_bytes(7, "big") + data
        sizes = [max(padme(8 + length), least) for least in (64, 128)]
        frame = frame.ljust(sizes[0], b"\0")
        found.append({
            "length": length, "padme": padme(8 + length), "padded_least_64": sizes[0], "padded_least_128": sizes[1],
            "unpadded": 8 + length, "data": "SHAKE-128(\"f\"), first length bytes",
            "sha256_padded_64": hashlib.sha256(frame).hexdigest(),
            "body_in": {
                "padded": "row" if sizes[0] <= 2048 else "table", "unpadded": "row" if length <= 2040 else "table"},
        } | ({"frame_64": frame.hex()} if length <= 100 else {}))
    abc = bytes(1) + (3).to_bytes(7, "big") + b"abc"
    refused = [
        {"why": why, "padded": padded, "least": 64, "frame": frame.hex()} for why, padded, frame in (
            ("codec 1", True, b"\1" + abc[1:].ljust(63, b"\0")),
            ("length above the frame", True, bytes(7) + u8(57) + b"abc".ljust(56, b"\0")),
            ("non-zero padding", True, abc.ljust(63, b"\0") + b"\1"), ("one step too long", True, abc.ljust(72, b"\0")),
            ("shorter than 64", True, abc), ("padding in an unpadded store", False, abc.ljust(64, b"\0")),
            ("7 bytes", True, bytes(7)), ("length 2^56-1", True, b"\0" + b"\xff" * 7 + b"abc".ljust(56, b"\0")))]
    return {"frames": found, "frames_refused": refused}


EXTENSIONS = (
    {}, {1: b"a"}, {0: b""}, {1: b"", 0xFF: b"bc", 0x105: b"text", 0x2FF: b"", 0x301: b"", 0x400: b"", 0x501: b"place"},
    {0x5FF: bytes(300)}, {1: b"a", 0x8001: b"must be understood"}, {0x8501: b""},
)


def extensions():
    """Extension parts of head data, and ill-formed ones there and elsewhere."""
    return {
        "extension_parts": [
            {"entries": entries(part), "bytes": extension_part(part).hex(),
             "newer": any(kind & MUST_UNDERSTAND for kind in part)} for part in EXTENSIONS],
        "extension_parts_refused": [
            {"why": why, "in": place, "bytes": part.hex()} for place in ("head", "collection", "attachment", "deletion", "state", "replicas")
            for why, part in ill_formed(place).values() if len(part) < 1000]}


DOTS = (
    DocumentDots((0, 1)), DocumentDots((1, 15)), DocumentDots((0, 2), {"text": (0, 2)}), DocumentDots((0, 2), {"place": ZERO}),
    DocumentDots((0, 300), {"text": (1, 15), "title": (2, 127), "key": (2, 128), "attributes": (2, 2**14), "place": (2, LAST)}),
    DocumentDots((0, 1), members={b"a": (1, 2)}), DocumentDots((0, 1), members={b"": ZERO, "\u00e9".encode(): (2, 5)}),
    # Of equal counters that of the greater number is greater.
    DocumentDots((0, 9), {"text": (1, 9), "title": (2, 9)}), DocumentDots((2, 9), {"text": (1, 9)}),
    DocumentDots((0, 1), stamp=(1, 15)), DocumentDots((0, 9), stamp=(0, 1)), DocumentDots((0, 1), kept=(1, 1)),
    DocumentDots((1, 1), {"text": (0, 2), "key": ZERO}, (2, 3), {b"k": ZERO}, (0, 300)),
)


def dots(writer):
    """Dots of documents under the replicas of "replicas", collections' uids, and what becomes of a text that lost."""
    vector = [one.counter for one in writer.replicas]
    vector[writer.own] = writer.generation + writer.lead
    born = "0001"
    refused = {
        "no mask": born, "born is zero": "000000", "counter 0": "010000", "counter 0 of no replica": "040000",
        "counter 2^48": "00" + layout.varint(LAST + 1).hex() + "00", "a long form": "80000100", "a zero dot in a long form": born + "01008000",
        "no dot for the mask": born + "01", "no members": born + "2000", "members fall": born + "2002016200010161000101",
        "members twice": born + "200201610001016100" + "01", "a name cut": born + "20010561", "a zero stamp": born + "400000",
        "never kept": born + "800000"}
    # A reader of a document takes these, and a verify does not.
    uncovered = {
        "replica 4": "040100", "a stamp of replica 4": born + "400401", "above the vector": "030100",
        "above the own counter": "011000", "the greatest counter": "00" + layout.varint(LAST).hex() + "00"}
    several = [(0, 9), (1, 9), (2, 9), (3, 9), (0, 10), (2, 1)]
    text, name, title = DocumentDots((2, 77)), "Notes".encode(), "Gr\u00fc\u00dfe".encode()
    uid = copy_uid(bytes(range(16)), writer.replicas[2].identity, 77)
    return {
        "replicas": {"own": writer.own, "vector": vector, "identities": [one.identity.hex() for one in writer.replicas]},
        "dots": [{"bytes": one.encoded().hex(), "dots": one.plain()} for one in DOTS],
        "dots_refused": [{"why": why, "bytes": data} for why, data in refused.items()],
        "dots_uncovered": [{"why": why, "bytes": data} for why, data in uncovered.items()],
        "dots_sorted": {
            "in_one_store": sorted(several, key=order), "of_two_stores": sorted(several, key=writer.order_of_names)},
        "collection_uids": [
            {"name": name.decode(), "k": number, "uid": writer.collection_uid(name, number).hex()} for number in (0, 1, 2)],
        "conflict_copy": {
            "uid_of_document": bytes(range(16)).hex(), "dot_of_text": text.born,
            "position_of_document": place(5, 7, b"tag").hex(), "uid": uid.hex(),
            "position": copy_position(place(5, 7, b"tag"), uid).hex(), "title_of_document": title.decode(),
            "title": copy_title(title).decode(), "merging_transaction": (1, 15), "dots": copy_dots(text.born, (1, 15)).encoded().hex()}}


RECORDS = (
    {"titles": SEALED, "id": 1, "coll": 1, "rev": 5, "pos": place(-(2**32), 0, b"run"), "title": "Hello",
     "text": "Some text", "dots": DocumentDots((0, 5))},
    {"titles": SEALED, "id": 2, "coll": 1, "rev": 6, "pos": place(2**40, 300) + place(-1, 63, b"\xff\0\x80"),
     "parent": 1, "flags": 1, "key": b"key-2", "title": "Gr\u00fc\u00dfe", "text": '{"a":1}',
     "attributes": '{"color":"red"}', "parent_uid": bytes(range(16)), "dots": DocumentDots(
         (1, 12), {"text": (0, 300), "place": (2, 2**40)}, (1, 15), {b"color": (0, 128), b"shape": (2, 1)}, (1, 14))},
    {"titles": CLEAR, "id": 7, "coll": 2, "rev": 9, "pos": place(0), "parent": 2, "flags": 2, "key": "\u00e9".encode(),
     "title": "", "text": "", "parent_uid": b"\xff" * 16, "dots": DocumentDots(
         (2, LAST), {"text": ZERO, "title": (0, 1), "key": ZERO, "attributes": ZERO, "place": (1, 1)})},
)


def rows(writer):
    total, found = 0, []
    for fields in RECORDS:
        total, record = _record(writer, fields, total)
        found.append(record)
    three = total
    coll = Collection(
        1, 2, writer.collection_uid(b"Notes"), CollectionDots((0, 2), {"name": (2, 77)}, (1, 13)), b"Notes",
        b'{"folding":0,"title":0}')
    writer.seal_collection(coll)
    element = writer.element(coll)[1]
    d = hmac(writer.epoch_key(b"set", EPOCH), element)
    total = layout.add_lanes(total, layout.lanes(d))
    data = label16(b"coffer3/name") + writer.store_id + u64(1) + u32(EPOCH) + u64(2)
    collection = {
        "coll": 1, "epoch": EPOCH, "rev": 2, "uid": coll.uid.hex(), "name": "Notes", "dropped": False,
        "dots": coll.dots.plain(), "aad": data.hex(),
        "frame": _opened(writer, b"name", coll.sealed, data).hex(), "sealed": coll.sealed.hex(),
        "element": element.hex(), "h": d.hex(), "lanes_sha256": _lanes(d)}
    with_collection = total
    deletion = Deletion(7, 6, writer.random(16), [(0, 3), (0, 9), (1, 9)], (0, 9), extension={1: b"later"})
    writer.seal_deletion(deletion)
    element = writer.element(deletion)[1]
    d = hmac(writer.epoch_key(b"set", EPOCH), element)
    total = layout.add_lanes(total, layout.lanes(d))
    data = label16(b"coffer3/gone") + writer.store_id + u64(7) + u32(EPOCH) + u64(6)
    gone = {
        "gone": 7, "epoch": EPOCH, "rev": 6, "uid": deletion.uid.hex(), "dots": deletion.dots, "stamp": deletion.stamp,
        "extension": entries(deletion.extension), "aad": data.hex(),
        "frame": _opened(writer, b"name", deletion.sealed, data).hex(), "sealed": deletion.sealed.hex(),
        "element": element.hex(), "h": d.hex(), "lanes_sha256": _lanes(d)}
    plain, data = writer.replicas_plain(), pae(b"coffer3/replicas", writer.store_id)
    writer.sealed_replicas = writer.xseal(writer._key(b"replicas"), data, plain)
    row = {"aad": data.hex(), "plain": plain.hex(), "sealed": writer.sealed_replicas.hex()}
    state, plain = _state(writer, total)
    writer.state_plain = plain
    digest = lambda value: value.to_bytes(layout.SET_HASH_SIZE, "little").hex()  # noqa: E731
    return {
        "records": found, "acc_of_three_records": digest(three), "collection": collection,
        "acc_with_collection": digest(with_collection), "deletion": gone, "replicas_row": row,
        "state": {"acc_with_deletion": digest(total)} | state, "mark": writer.mark.hex(), "anchor": writer.anchor,
    } | attachments(writer)


def attachments(writer):
    """Rows and chunks of attachments, and the elements of the content hash of a document that has them."""
    writer.incompat, writer.generation, uid = TEST | ATTACHMENTS, 9, writer.random(16)
    records = {1: Record(
        1, 1, EPOCH, 5, place(0), uid, DocumentDots((0, 5)), b"Some text", b"Hello", b"key", attributes=b'{"a":1}',
        parent_uid=bytes(range(16)), created=1700000000123, modified=-5)}
    writer.titles, writer.records = SEALED, records
    writer.collections = {1: Collection(
        1, 2, writer.collection_uid(b"Notes"), CollectionDots((0, 2)), b"Notes", b'{"folding":0,"title":0}')}
    found = []
    for padded, name, media_type, content, keys in (
        (False, "empty", "", b"", 1), (True, "one byte", "text/plain", b"x", 1),
        (False, "Gr\u00fc\u00dfe.txt", "text/plain;charset=utf-8", hashlib.shake_128(b"a").digest(4097), 1),
        (True, "padded, during a rekey", "application/octet-stream", hashlib.shake_128(b"b").digest(10_000), 2),
    ):
        writer.incompat = TEST | ATTACHMENTS | (PADDED if padded else 0)
        row = writer.attach(
            1, name.encode(), content, media_type.encode(), (0, 9), (2, 300), chunk_size=4096, date=-1,
            extension={1: b"later"} if padded else {})
        if keys == 2:
            row.keys.append((2, writer.random(32)))
            writer.seal_chunks(row, [2])
            writer.seal_attachment(row)
        found.append(_attachment(writer, row, padded))
    writer.incompat = TEST | PADDED
    return {
        "attachments": found, "contents": [element.hex() for element in contenthash.elements(writer)],
        "content_hash": contenthash.content_hash(writer).hex()}


def _attachment(writer, row, padded):
    element = writer.element(row)[1]
    d = hmac(writer.epoch_key(b"set", EPOCH), element)
    aad = label16(b"coffer3/attach") + writer.store_id + u64(row.number) + u32(EPOCH) + u64(row.rev)
    content = writer.padded_content(row)
    return {
        "padded": padded, "attachment": row.number, "id": row.document, "epoch": EPOCH, "rev": row.rev,
        "uid": row.uid.hex(), "born": row.born, "name_dot": row.name_dot, "date": row.date, "name": row.name.decode(),
        "media_type": row.media_type.decode(), "length": row.length, "sha256": row.digest.hex(), "size": len(content),
        "chunk_size": row.chunk_size, "key_epoch": row.key_epoch,
        "keys": [{"first": first, "key": key.hex()} for first, key in row.keys], "extension": entries(row.extension),
        "aad": aad.hex(), "data": writer.attachment_plain(row).hex(),
        "frame": _opened(writer, b"name", row.sealed, aad).hex(), "sealed": row.sealed.hex(), "element": element.hex(),
        "h": d.hex(), "lanes_sha256": _lanes(d),
        "chunks": [
            {"chunk": writer.chunk_number(row, index), "aad": writer.chunk_binding(row, index, is_last).hex(),
             "plain_sha256": hashlib.sha256(content[index * row.chunk_size :][: row.chunk_size]).hexdigest(), "ct": ct.hex()}
            for index, ct in row.chunks.items() for is_last in [index == len(row.chunks) - 1]]}


def _lanes(d):
    return hashlib.sha256(layout.lanes(d).to_bytes(layout.SET_HASH_SIZE, "little")).hexdigest()


def _opened(writer, label, sealed, data):
    return XAES(writer.epoch_key(label, EPOCH)).open(sealed[:24], sealed[24:-16], sealed[-16:], data, "vector")


def _record(writer, fields, total):
    writer.titles = fields["titles"]
    key = fields.get("key")
    record = Record(
        fields["id"], fields["coll"], EPOCH, fields["rev"], fields["pos"], writer.random(16), fields["dots"],
        fields["text"].encode(), fields["title"].encode(), key, fields.get("parent"), fields.get("parent_uid"),
        fields.get("flags", 0), fields.get("attributes", "").encode(), 1700000000123, -5)
    writer.seal(record)
    row, t = writer.row(record), writer.t(record)
    body = label16(b"coffer3/body") + writer.store_id + u32(record.coll) + u64(record.id) + u32(EPOCH)
    body_sealed = record.body_nt[:24] + record.ct + record.body_nt[24:]
    head = label16(b"coffer3/head") + row + t
    head_frame = _opened(writer, b"head", record.head, head)
    element = writer.element(record)[1]
    d = hmac(writer.epoch_key(b"set", EPOCH), element)

    def sealed(value, aad, frame, **more):
        return {
            "aad": aad.hex(), "frame": frame.hex(), "N": value[:24].hex(), "C": value[24:-16].hex(),
            "T": value[-16:].hex()} | more

    return layout.add_lanes(total, layout.lanes(d)), {
        "titles_mode": fields["titles"], "id": record.id, "coll": record.coll, "epoch": EPOCH, "rev": record.rev,
        "pos": record.pos.hex(), "parent": record.parent, "flags": record.flags,
        "external_key": None if key is None else key.hex(),
        "title": fields["title"], "text": fields["text"], "attributes": fields.get("attributes", ""),
        "created": record.created, "modified": record.modified, "uid": record.uid.hex(),
        "parent_uid": None if record.parent_uid is None else record.parent_uid.hex(),
        "dots": record.dots.plain(), "lookup": None if record.lookup is None else record.lookup.hex(),
        "body": sealed(body_sealed, body, _opened(writer, b"body", body_sealed, body), body_nt=record.body_nt.hex()),
        "row": row.hex(), "t": t.hex(),
        "head": sealed(
            record.head, head, head_frame, data=head_frame[8 : 8 + int.from_bytes(head_frame[1:8], "big")].hex()),
        "element": element.hex(), "h": d.hex(), "lanes_sha256": _lanes(d)}


def _state(writer, total):
    record, _ = layout.ring_generation(bytes(range(32)), {(layout.INSERTED, 1): {1, 2}, (layout.COLLECTION, 1): set()})
    plain = layout.state_plain(
        9, 8, 77, 3, 1, total.to_bytes(layout.SET_HASH_SIZE, "little"), 4, 2, writer.mac, writer.lead,
        hashlib.sha256(writer.sealed_replicas).digest(), 6, 1, 0, bytes(range(0xA0, 0xC0)), 9, record)
    data = pae(b"coffer3/state", writer.store_id)
    return {
        "plain": plain.hex(), "aad": data.hex(), "sealed": writer.xseal(writer._key(b"state"), data, plain).hex()}, plain


RINGS = (
    {}, {(1, 1): {1}}, {(1, 1): {1, 2, 3, 7, 8, 300}, (5, 1): {4}},
    {(2, 200): {2**40, 2**40 + 1}, (3, 2**31 - 1): {2**63 - 2}},
    {(6, 1): set(), (6, 128): set()}, {(4, 5): set(range(1, 129)) | {2**62}},
    {(kind, 1): {2**50 * number for number in range(1, 221)} for kind in (2, 3, 4)},
)


def ring():
    mark, found = bytes(range(32)), []
    for changes in RINGS:
        record, kept = layout.ring_generation(mark, changes)
        found.append({"record": record.hex(), "entries": [
            [kind, coll, layout.ranges(ids)] for (kind, coll), ids in sorted(kept.items())]})
    varints = [{"value": value, "bytes": layout.varint(value).hex()} for value in (
        0, 1, 127, 128, 300, 16383, 16384, 2**31 - 1, 2**35, 2**63 - 2)]
    return {
        "ring": {"note": "records of one generation each; an entry: kind, collection, ranges of ids, both ends included",
                 "mark_before": mark.hex(), "records": found},
        "varints": varints}


def key_lines():
    value = bytes(range(32))
    lines = {
        (kind, is_test): key_line(kind, value, is_test)
        for is_test in (False, True) for kind in ("key", "identity", "recipient")}
    line, test_line = lines["key", False], lines["key", True]
    digits = line.removeprefix("coffer-key-1-")
    return {
        "valid": [
            {"line": line, "kind": kind, "test": is_test, "bytes": value.hex()}
            for (kind, is_test), line in lines.items()],
        "valid_files": [
            {"file": file, "bytes": value.hex()} for file in (f"# c\n{line}\n", line, f"# c\r\n{line}\r\n")],
        "invalid": [{"why": why, "file": file} for why, file in (
            ("check digits", line[:-1] + "0"), ("upper case", "coffer-key-1-" + digits.upper()), ("71 digits", line[:-1]),
            ("prefix of another kind", "coffer-test-identity-1-" + digits),
            ("test prefix over a real check", "coffer-test-key-1-" + digits), ("two key lines", f"{line}\n{test_line}\n"),
            ("trailing space", line + " "), ("unknown version", "coffer-key-2-" + digits),
            ("no key line", "# only a comment\n"), ("byte order mark", "\ufeff" + line))]}


def lines(writer):
    """Lines of pins and anchors: valid ones of a sound store, and malformed ones (a usage error)."""
    pin, anchor = writer.pin, writer.anchor
    prefix, digits = pin[:13], pin[13:]
    store_id, numbers = digits[:32], digits[64:]

    def with_numbers(rk_generation, phase):
        return prefix + store_id + u64(rk_generation).hex() + u64(phase).hex() + numbers

    fields = anchor.split(":")

    def with_field(place, value):
        return ":".join([*fields[:place], value, *fields[place + 1 :]])

    return {
        "pins": {
            "valid": [pin, with_numbers(2**62, 2**62)],
            "invalid": [
                "", pin[:-1], pin + "0", pin.upper(), " " + pin, pin.replace("pin-3", "pin-2"), pin.replace("pin-3", "pin-4"),
                with_numbers(0, 1), with_numbers(1, 0), with_numbers(2**62 + 1, 1), with_numbers(1, 2**62 + 1),
                pin[:-32], "coffer-pin-2-" + digits[:96]]},
        "anchors": {
            "valid": [anchor, with_field(2, str(2**62)), with_field(4, str(2**62))],
            "invalid": [
                "", anchor[:-1], anchor + "0", anchor.upper(), anchor + ":", ":".join(fields[:-1]), with_field(0, "coffer1"),
                with_field(0, "coffer2"), with_field(0, "coffer4"), f"coffer1:{fields[1]}:8:{fields[6][:32]}", with_field(6, fields[6][:32]),
                with_field(1, fields[1][:-1]), with_field(5, fields[5] * 2), with_field(5, fields[5][:32]),
                *(with_field(place, value) for place in (2, 3, 4) for value in (
                    "0", "01", "", "-1", "+1", " 1", "1e3", str(2**62 + 1), "9" * 20))]},
    }
