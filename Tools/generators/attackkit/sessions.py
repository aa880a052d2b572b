"""Attacks on an open session. A file can't contain them: each is a description, with the values that a test needs.

A test makes the edit between two transactions of the session. Files and histories are those of the published vectors.
"""

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .secrets import OUTSIDER, REMOVED, key_line

_PUBLIC = X25519PrivateKey.from_private_bytes(OUTSIDER).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _session(name, attack, expected, base="sealed", edit="", **values):
    return {"name": name, "attack": attack, "base": f"{base}.coffer", "edit": edit, "expected": expected} | values


SESSIONS = [
    _session(
        "slot-put-back", "a removed slot is put back, the mac column as it is; the session then adds a slot",
        "the write is refused: damaged header; the removed key never opens",
        edit="INSERT INTO coffer_slot: slot 4 of attacks/rollback-removed-slot", removed_key=REMOVED),
    _session(
        "recipient-exchanged", "the recipient of a slot becomes the attacker's, the mac column as it is; the session then rekeys",
        "the rekey is refused before its first write: damaged header; the new root key is never wrapped to that key",
        edit="UPDATE coffer_slot SET params = its first 32 bytes || attacker_public WHERE kind=3",
        attacker_secret=OUTSIDER.hex(), attacker_public=_PUBLIC.hex(),
        attacker_identity=key_line("identity", OUTSIDER), attacker_recipient=key_line("recipient", _PUBLIC)),
    _session(
        "state-put-back", "the state row is that of an older generation",
        "the next transaction: rolled back (a generation lower than seen)",
        edit="UPDATE coffer_state SET sealed: that of attacks/rollback-state"),
    _session(
        "rekeyed-by-another", "another process rekeys",
        "the next transaction: a session by passphrase or key file unlocks again; one by identity, provider or pin says that the "
        "key was changed, and the caller gives the new pin"),
    _session(
        "rekey-ended-by-another", "a session is open in the middle of a rekey, by key, identity, provider and with the pin of its "
        "beginning; another process ends it",
        "all of them go on: the same root key, the next phase; the pin of the beginning still fits", base="mid-rekey",
        edit="the whole file becomes rekeyed.coffer; before: attacks/rekeyed-file-of-before-end"),
    _session(
        "phase-put-back", "after the end of a rekey, the whole file is put back as before its last transaction",
        "the next transaction: rolled back (a lower phase)", base="rekeyed",
        edit="the whole file becomes attacks/rekeyed-file-of-before-end"),
    _session(
        "commitment-of-another-root", "the header becomes one of the same root key generation and another root key",
        "the next transaction: mismatch", base="rekeyed", edit="the whole file becomes attacks/insider-recipient-same-pair"),
    _session(
        "own-recipient-under-a-friendly-label", "an insider adds a slot for a recipient of theirs, labelled \"backup\"; its owner rekeys",
        "without --keep-recipient or --drop-slots the rekey stops before its first write: exit 13, naming slot, "
        "label and fingerprint; with --keep-recipient all it is listed on standard error", attacker_recipient=key_line("recipient", _PUBLIC)),
    _session(
        "verify-looks-at-the-header", "a slot's label is edited", "verify in the open session: damaged; a list of keys: damaged",
        edit="UPDATE coffer_slot SET label='mine' WHERE slot=1"),
    _session(
        "replayed-text", "document 2 is replayed after its text was read, and verify has run",
        "verify: mismatch; texts that were kept in memory are gone after it",
        edit="the row of document 2 as in attacks/replay-document"),
    _session(
        "planted-changes", "rows are deleted and moved by an outsider, and a row of an unknown number is planted",
        "changes tells none of it; exists is false for the planted row",
        edit="DELETE FROM coffer_record WHERE id=2; UPDATE coffer_record SET pos=x'03' WHERE id=1; "
        "INSERT INTO coffer_record SELECT 6, ... WHERE id=3"),
    _session(
        "export-of-an-incomplete-store", "a document is missing", "export --to store: mismatch, no new store",
        edit="DELETE FROM coffer_record WHERE id=2"),
    _session(
        "slot-removed-beside-a-reader", "in write-ahead mode, a reader stays open while a slot is removed",
        "unfinished until a TRUNCATE checkpoint succeeds; unwiped is that generation, rekey --status is 23", base="unwiped"),
    _session(
        "unknown-compat-features", "a document is deleted; then the store is rekeyed",
        "coffer_x_later is empty and bit 2^40 is cleared after the first; sqlite_stat1 is empty after the second", base="compat"),
    _session(
        "counters-at-their-ends", "anything is written",
        "an error before the first write: the generation is 2^48 - 1; so too a rekey: epoch 2^31 - 1", base="greatest-counters"),
    _session(
        "counter-at-its-end", "anything is written", "an error before the first write: generation + lead is 2^48 - 1",
        base="greatest-lead"),
    _session(
        "restored", "the file was copied over another by a program without a key; anything is written",
        "the transaction adds a replica with a random identity and a range of its own, makes it the own one, and sets "
        "restored to 0; the counter of the old one stays", base="restored"),
    _session(
        "replicas-put-back", "the row of replicas is that of an older generation",
        "the session may go on with the replicas that it holds, which the state names; the next opening: damaged",
        edit="UPDATE coffer_replica SET sealed: that of attacks/replay-replicas", base="united"),
]
