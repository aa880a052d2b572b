"""FORMAT, "Release folders": the files that lead to a publisher's newest release."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from .attachments import readable
from .changesets import Changeset, Contents, Entry, Names, opened_parts
from .contenthash import content_hash_of
from .errors import (
    CannotUnlock, Damaged, KeyNeeded, Mismatch, NoSuchFile, NotApplicable, Refused, RolledBack, StoreError, TestRefused)
from .header import RECIPIENT, TITLES, Slot
from .keyfiles import key_line
from .primitives import SEAL_OVERHEAD, XAES, hkdf, pae, u32, u64
from .records import IS_VALUE
from .releases import NUMBER_LIMIT, Release, data_set, newest_of, releases_of
from .signednotes import SignedNote

INDEX_LIMIT, LIST_LIMIT, KEY_FILE_LIMIT, SIZE_LIMIT = 64 << 20, 4 << 20, 1024, 1 << 48
_NUMBER = r"(?:0|[1-9]\d*)"
_UPDATE = re.compile(
    rf"update (?P<start>{_NUMBER}) (?P<to>{_NUMBER}) (?P<identity>[0-9a-f]{{32}}) (?P<payload>{_NUMBER})"
    rf" (?P<commit>[0-9a-f]{{64}}) (?P<earlier>none|[0-9a-f]{{{2 * (32 + SEAL_OVERHEAD)}}}) (?P<size>{_NUMBER})"
    r" (?P<digest>[0-9a-f]{64})")
_KEY_FILE = re.compile(r"coffer-release-key-1\nparams (?P<params>(?:[0-9a-f]{2})*)\nwrapped (?P<wrapped>(?:[0-9a-f]{2})*)\n")
_CUSTOMER = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True)
class Update:
    """A line of the index. `start` is the release that the file leads from, or 0."""

    start: int
    to: int
    identity: bytes
    payload: int
    commit: bytes
    earlier: bytes
    size: int
    digest: str

    @property
    def name(self):
        return f"{self.start}-{self.to}.update"

    @classmethod
    def read(cls, line):
        found = _UPDATE.fullmatch(line)
        if not found:
            raise ValueError("not the line of an update")
        numbers = {name: int(found[name]) for name in ("start", "to", "payload", "size")}
        if not numbers["start"] < numbers["to"] <= NUMBER_LIMIT or not (
                1 <= numbers["payload"] <= SIZE_LIMIT and 1 <= numbers["size"] <= SIZE_LIMIT):
            raise ValueError("numbers of an update out of bounds")
        earlier = None if found["earlier"] == "none" else bytes.fromhex(found["earlier"])
        return cls(
            **numbers, identity=bytes.fromhex(found["identity"]), commit=bytes.fromhex(found["commit"]), earlier=earlier,
            digest=found["digest"])

    def key(self, release_key, purpose):
        return XAES(hkdf(release_key, self.identity, b"coffer3/update-" + purpose))


class Index:
    """The signed list of a folder, and the releases, of which nothing is proved yet; ValueError for anything else."""

    def __init__(self, content):
        if len(content) > INDEX_LIMIT:
            raise ValueError("the index is too long")
        parts = content.decode("utf-8").split("\n\n")
        notes = [f"{text}\n\n{signatures}\n" for text, signatures in zip(parts[::2], parts[1::2])]
        if len(parts) % 2 or len(notes) < 2:
            raise ValueError("not a list and notes")
        notes[-1] = notes[-1][:-1]
        self._list = SignedNote(notes[0], LIST_LIMIT)
        self.releases = [Release(note) for note in notes[1:]]
        numbers = [release.number for release in self.releases]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            raise ValueError("releases are missing")
        for former, release in zip(self.releases, self.releases[1:]):
            if release.fields["previous"] != former.note.digest:
                raise ValueError(f"release {release.number} names another text before it")
        newest = self.newest = self.releases[-1]
        first = f"coffer-index-1\nset {newest.fields['set']}\nrelease {newest.number} {newest.note.digest}\n"
        if not self._list.text.startswith(first):
            raise ValueError("not the list of the newest release")
        self.updates = [Update.read(line) for line in self._list.text[len(first):].split("\n")[:-1]]
        order = [(update.start, update.to) for update in self.updates]
        if order != sorted(set(order)) or any(to > newest.number for _, to in order):
            raise ValueError("files out of order")

    def prove(self, publisher, now, allow_older=False, own=(), family_key=None):
        """Raises unless the index is the publisher's, continues the releases `own`, and hasn't expired."""
        numbers = {release.number: release.note.digest for release in own}
        for release in self.releases:
            if numbers.get(release.number, release.note.digest) != release.note.digest:
                raise Mismatch(f"release {release.number} isn't the store's")
        known = [release for release in own if release.number <= self.newest.number]
        last = known[-1].number if known else 0
        chain = known + [release for release in self.releases if release.number > last]
        newest, signer = newest_of(chain, publisher)
        if newest.note.digest != self.newest.note.digest or not self._list.is_signed_by(signer):
            raise Mismatch("the index isn't signed by the publisher")
        if family_key is not None and data_set(family_key) != newest.fields["set"]:
            raise Mismatch("the index is of another data set")
        expires = newest.fields["expires"]
        if not allow_older and (own and own[-1].number > newest.number or expires != "none" and expires <= now):
            raise RolledBack("the newest release is older than the store's, or has expired")

    def way(self, number):
        """The files with the fewest bytes that lead to the newest release, from a release or from none."""
        ways = {self.newest.number: (0, [])}
        for update in sorted(self.updates, key=lambda one: one.to, reverse=True):
            if update.to in ways:
                size, rest = ways[update.to]
                ways[update.start] = min(
                    ways.get(update.start, (SIZE_LIMIT, [])), (size + update.size, [update, *rest]), key=lambda way: way[0])
        found = [ways[start] for start in {number, 0} if start in ways]
        if not found:
            raise Mismatch("no files lead to the newest release")
        return min(found, key=lambda way: way[0])[1]


class Folder:
    """A release folder, which anyone may have written."""

    def __init__(self, path):
        self.path = Path(path)
        content = self._content("index")
        if content is None:
            raise NoSuchFile("the index is missing")
        try:
            self.index = Index(content)
        except (ValueError, Damaged) as error:
            raise Mismatch(f"not an index: {error}") from None

    def _content(self, name):
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def sealed(self, update):
        """The bytes of a file, proved by its line."""
        content = self._content(update.name)
        if content is None:
            raise NoSuchFile(f"{update.name} is missing")
        if len(content) != update.size or hashlib.sha256(content).hexdigest() != update.digest:
            raise Mismatch(f"{update.name} isn't the file that the index lists")
        return content

    def release_keys(self, customer, secrets, is_test):
        """The keys of releases by number, from the customer's key file."""
        newest = self.index.newest
        if not _CUSTOMER.fullmatch(customer):
            raise ValueError("not a customer's name")
        content = self._content(f"{newest.number}.{customer}.key")
        if content is None:
            raise KeyNeeded(f"release {newest.number} has no key file for the customer")
        found = _KEY_FILE.fullmatch(content.decode("utf-8", "replace"))
        if not found or len(content) > KEY_FILE_LIMIT:
            raise CannotUnlock("not the key file of a release")
        slot = Slot(1, RECIPIENT, b"", bytes.fromhex(found["params"]), bytes.fromhex(found["wrapped"]))
        slot.check_bounds(is_test)
        set_id = bytes.fromhex(newest.fields["set"])
        for secret in secrets:
            if secret.kind != "identity" or secret.is_test != is_test:
                continue
            kek = slot.key_encryption_key(secret, set_id)
            key = kek and slot.unwrap(kek, set_id, newest.number)
            if key:
                return self._keys(newest.number, key, set_id)
        raise CannotUnlock("the key file is another customer's, or another release's")

    def _keys(self, number, key, set_id):
        keys = {number: key}
        for update in sorted(self.index.updates, key=lambda one: one.to, reverse=True):
            if update.to not in keys:
                continue
            commit = hkdf(keys[update.to], set_id, b"coffer3/commit" + u64(update.to) + u64(1))
            if not hmac.compare_digest(commit, update.commit):
                raise CannotUnlock(f"the key isn't that of release {update.to}")
            if update.earlier is not None:
                data = pae(b"coffer3/update-earlier", u64(update.start), u64(update.to))
                earlier = update.key(keys[update.to], b"earlier").open_blob(
                    update.earlier, data, f"{update.name}: key of release {update.start}")
                if keys.setdefault(update.start, earlier) != earlier:
                    raise Damaged(f"release {update.start} has two keys")
        return keys

    def payload(self, update, keys):
        """What a file with all documents says of new stores, or None, and the changeset."""
        key = keys[update.to]
        payload = opened_parts(
            self.sealed(update), update.key(key, b"file"), b"coffer3/update", update.identity, update.payload, update.name)
        if update.start:
            return None, Changeset(payload, update.name)
        size = 32 + SEAL_OVERHEAD
        family = update.key(key, b"family").open_blob(
            payload[:size], pae(b"coffer3/update-family", u64(update.to)), f"{update.name}: family key")
        titles, is_padded = payload[size], payload[size + 1]
        if titles not in TITLES or is_padded > 1:
            raise Damaged(f"{update.name}: the beginning of the documents is invalid")
        return (family, TITLES[titles], bool(is_padded)), Changeset(payload[size + 2:], update.name)

    def read(self, way, keys, contents, family_key=None):
        """Takes the files of a way; gives the family key, and the changesets by the names of their files."""
        taken = {}
        for update in way:
            preamble, changeset = self.payload(update, keys)
            if preamble:
                if family_key not in (None, preamble[0]) or data_set(preamble[0]) != self.index.newest.fields["set"]:
                    raise Mismatch(f"{update.name} is of another data set")
                family_key = preamble[0]
            if any(counter > contents.vector.get(identity, 0) for identity, counter in changeset.base.items()):
                raise NotApplicable(f"the copy lacks changes that release {update.start} has")
            contents.take(changeset)
            taken[update.name] = changeset
        return family_key, taken


def require_release(release, family_key, contents):
    """Raises unless the contents are those of a release."""
    listed = contents.listed()
    if not release.is_of(
            family_key, content_hash_of(family_key, contents.hashed(), listed), len(contents.documents), len(listed)):
        raise Mismatch(f"the documents aren't those of release {release.number}")


def contents_of(store):
    """The contents of a store as those of a copy that nobody edited."""
    contents, named = Contents(), Names([replica.identity for replica in store.replicas.list])
    contents.vector = dict(zip((one.identity for one in store.replicas.list), store.replicas.vector.counters))
    collections = store.all_collections()
    for collection in collections.values():
        contents.collections[collection.uid] = (collection, named.dots(collection.dots))
    for deletion in store.deletions().values():
        contents.deletions[deletion.uid] = named.deletion(deletion)
    attached = {}
    for attachment in readable(store):
        attached.setdefault(attachment.document, []).append(attachment)
    for values in store.record_rows():
        row, head, text = store.verified_document(values)
        contents.documents[head.uid] = Entry(
            row.flags & IS_VALUE, row.pos, collections[row.coll].uid, head, named.dots(head.dots), text,
            {one.uid: (one, named.attachment(one)) for one in attached.get(row.id, [])})
    return contents


def differences(one, other):
    """Sentences on what differs in two contents; empty if both read alike and merge alike."""
    found = []
    for what, ours, theirs, plain in (
        ("document", one.documents, other.documents, _plain_document),
        ("collection", one.collections, other.collections, lambda pair: (pair[0].name, pair[0].settings, pair[1])),
        ("deletion", one.deletions, other.deletions, lambda deletion: deletion),
    ):
        for uid in sorted(ours.keys() | theirs.keys()):
            if uid not in ours or uid not in theirs:
                found.append(f"{what} {uid.hex()}: only in one of both")
            elif plain(ours[uid]) != plain(theirs[uid]):
                found.append(f"{what} {uid.hex()}: differs")
    return found


def _plain_document(document):
    head = document.head
    attached = {
        uid: (one.name, one.media_type, one.date, one.length, one.digest, dots)
        for uid, (one, dots) in document.attachments.items()}
    return (
        document.flags, document.pos, document.collection, document.dots, document.text, head.title, head.key,
        head.attributes, head.created, head.modified, head.parent, head.extension, attached)
