"""The readers that the kit can test: each gives its results for a store in the kit's words."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from storereader import attachments, keyfiles, verifying
from storereader.contenthash import content_hash
from storereader.database import GENERATION_LIMIT
from storereader.errors import StoreError
from storereader.releases import proved_release
from storereader.state import ID_LIMIT
from storereader.store import (
    Store, plain, plain_attachment, plain_deletion, plain_dots, plain_entries, plain_replicas)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class SecondReader:
    """The code of Tools/read_store.py, called in this process."""

    name = "second reader"
    # The features of `incompat` that it has, and whether it reads an attachment without its document.
    FEATURES, FINDS_BY_NUMBER = frozenset({"attachments"}), True
    KINDS = {"rekey-unfinished": "unfinished", "descent-not-proved": "mismatch"}

    def _kind(self, action):
        try:
            return action(), "ok"
        except StoreError as error:
            return None, self.KINDS.get(error.kind, error.kind)

    def open(self, path, name, value, pin=None, allow_test=True, publisher=None):
        parse = keyfiles.passphrase if "passphrase" in name else keyfiles.key_line
        self.path, self.secret = path, parse(value.encode())
        self.store, kind = self._kind(lambda: Store(path, [self.secret], allow_test=allow_test, pin=pin))
        if publisher and self.store:
            _, kind = self._kind(lambda: proved_release(self.store, publisher))
            if kind != "ok":
                self.close()
        return kind

    def get(self, ids, readable):
        return {id: self._get(id) for id in ids}

    def _get(self, id):
        found, kind = self._kind(lambda: self.store.document(int(id)))
        if found is None:
            return "missing" if kind == "ok" else kind, None
        return "ok", plain(*found)

    def list(self):
        """Titles by id, and the outcome."""
        return self._kind(lambda: {
            str(row.id): head.title for coll in self.store.collections() for row, head in self.store.listing(coll)})

    def attachments(self, document):
        """The attachments of a document, and the outcome."""
        return self._kind(lambda: [plain_attachment(one) for one in attachments.listing(self.store, document)])

    def attachment(self, number, stored=None):
        """An attachment and the SHA-256 of its whole content, and the outcome."""

        def read():
            row = attachments.attachment(self.store, number)
            if row is None:
                return None
            digest = hashlib.sha256()
            for data in attachments.Content(self.store, row).chunks():
                digest.update(data)
            return plain_attachment(row), digest.hexdigest()

        found, kind = self._kind(read)
        return found, "missing" if found is None and kind == "ok" else kind

    def attachment_part(self, number, start, end):
        """The length of a part of a content, and the outcome."""
        return self._kind(lambda: len(attachments.Content(
            self.store, attachments.attachment(self.store, number)).part(start, end)))

    def verify(self, is_quick):
        if verifying.set_hash_problems(self.store):
            return "mismatch"
        if verifying.quick_problems(self.store):
            return "damaged"
        faults, kind = ([], "ok") if is_quick else self._kind(lambda: verifying.deep_problems(self.store))
        return "damaged" if faults else kind

    def anchor(self, line, descends=False, pin=None):
        if pin is None:
            return self._kind(lambda: self.store.check_anchor(line, descends=descends))[1]
        store, kind = self._kind(lambda: Store(
            self.path, [self.secret], allow_test=True, pin=pin, anchor=line, descends=descends))
        if store:
            store.connection.close()
        return kind

    def put(self):
        if self.store.header.ro_compat:
            return "read-only"
        state = self.store.state
        if state.counter == GENERATION_LIMIT or state.next_id == ID_LIMIT:
            return "error"  # The second reader does not know the limits of writers.
        return self._kind(self.store.check_writable)[1]

    def contents(self):
        """The members of a sound store's expectation that are neither documents nor verdicts."""
        store, state, header = self.store, self.store.state, self.store.header
        collections = store.collections()
        rows = store.all_collections()
        return {
            "anchor": store.anchor, "pin": header.pin, "titles": store.titles, "padded": header.is_padded,
            "rk_generation": header.rk_generation, "phase": header.phase, "generation": state.generation,
            "epochs": sorted(store.epochs),
            "state": self._state(state) | {"mark": store.mark.hex()},
            "replicas": plain_replicas(store.replicas),
            "collections": {str(coll): name for coll, name in store.names().items()},
            "collection_rows": {str(coll): self._collection(row) for coll, row in rows.items()},
            "deletions": {str(gone): plain_deletion(deletion) for gone, deletion in store.deletions().items()},
            "order": {str(coll): store.order(coll) for coll in collections}, "newer": store.newer_documents(),
            "attachments": self._attachments(),
            "newer_attachments": [one.number for one in attachments.readable(store) if one.is_newer],
            "content_hash": self._kind(lambda: content_hash(store).hex())[0],
        }

    def _attachments(self):
        found = {}
        for one in attachments.readable(self.store):
            if not one.is_newer:
                found.setdefault(str(one.document), []).append(plain_attachment(one))
        return found

    @staticmethod
    def _collection(collection):
        names = ("rev", "name", "settings")
        return {name: getattr(collection, name) for name in names} | {
            "uid": collection.uid.hex(), "dropped": collection.dots.is_dropped, "dots": plain_dots(collection.dots),
            "extension": plain_entries(collection.extension)}

    @staticmethod
    def _state(state):
        return {
            "generation": state.generation, "next": state.next_id, "bound": state.bound, "count": state.count,
            "gone_count": state.gone_count, "next_attachment": state.next_attachment,
            "attachment_count": state.attachment_count,
            "index_identities": [identity.hex() for identity in state.index_identities],
            "set_hash_sha256": hashlib.sha256(state.set_hash).hexdigest(),
            "target": state.target, "cursor": state.cursor, "mac": state.header_mac.hex(), "lead": state.lead,
            "replicas_sha256": state.replicas_digest.hex(), "known": state.known, "unwiped": state.unwiped,
            "ring": [
                {"generation": number, "mark_before": commit.mark.hex(),
                 "entries": [SecondReader._entry(change) for change in commit.changes]}
                for number, commit in state.ring.items()],
            "extension": plain_entries(state.extension)}

    @staticmethod
    def _entry(change):
        found = {"kind": change.kind}
        if change.coll:
            found["coll"] = change.coll
        if change.ranges:
            found["ids"] = [[first, end - 1] for first, end in change.ranges]
        return found

    def find(self, coll, key):
        return self.store.find(coll, key.encode())

    def close(self):
        self.store.connection.close()


class Dbtool:
    """The command, judged by its exit codes and its output. A second of CPU time or 16 GiB of memory ends its process."""

    name = "dbtool"
    FEATURES, FINDS_BY_NUMBER = frozenset({"attachments"}), False
    # Keyed by exit code and, if that has two meanings, by the kind of the error.
    KINDS = {
        0: "ok", 10: "not-a-store", 12: "cannot-unlock", 14: "missing", 15: "newer", 16: "refused", 20: "damaged",
        21: "mismatch", 23: "unfinished"}
    BY_NAME = {
        "parameters-refused": "refused", "rolled-back": "rolled-back", "read-only": "read-only",
        "rekey-unfinished": "unfinished", "pin-unfinished": "unfinished"}

    # The members of a list of attachments, and those of the kit that they equal.
    ATTACHED = {"name": "name", "type": "media_type", "size": "length", "sha256": "sha256"}

    def __init__(self, program):
        # Commands run in the folder of a store.
        self.program = str(Path(program).resolve())
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DBTOOL_")}
        self.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
        self._secrets = tempfile.TemporaryDirectory(prefix="coffer-secrets-")

    def _key(self, name, value):
        """The option for a secret, which this writes to a file."""
        path = Path(self._secrets.name, hashlib.sha256(value.encode()).hexdigest())
        if not path.exists():
            path.write_text(value + "\n", encoding="utf-8")
            path.chmod(0o600)
        kind = "passphrase-file" if "passphrase" in name else "key-file"
        return f"--{kind}", str(path)

    def run(self, verb, *arguments):
        kind, output = self.run_bytes(verb, *arguments)
        return kind, output.decode()

    def run_bytes(self, verb, *arguments):
        command = [
            "sh", "-c", 'ulimit -t 1; ulimit -v 16777216 2>&-; exec "$@"', "sh", self.program, *verb.split(), str(self.path), *self.key,
            "--no-input", "--quiet", *arguments]
        environment = self.environment if self.allow_test else {
            name: value for name, value in self.environment.items() if name != "DBTOOL_ALLOW_TEST_KEYS"}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=30, cwd=Path(self.path).parent)
        except subprocess.TimeoutExpired:
            return "hangs", b""
        lines = done.stderr.decode().splitlines()
        error = json.loads(lines[-1])["error"] if lines and lines[-1].startswith('{"error"') else {}
        kind = self.KINDS.get(done.returncode, f"exit {done.returncode}")
        return self.BY_NAME.get(error.get("kind"), kind), done.stdout

    def open(self, path, name, value, pin=None, allow_test=True, publisher=None):
        """The verdict from verify's output: it prints a report if the store opened."""
        self.path, self.key, self.allow_test = path, self._key(name, value), allow_test
        options = (("--pin", pin) if pin else ()) + (("--publisher", publisher) if publisher else ())
        kind, report = self.run("verify", "--json", *options)
        self.verdict = kind if report else None
        return "ok" if report else kind

    def get(self, ids, readable):
        """Runs one process for all readable documents, and one for each other one, or for each if the first fails."""
        together = [id for id in ids if id in readable]
        kind, output = self.run("export", "--to", "ndjson", "--", *together) if together else ("ok", "")
        got = {}
        if kind == "ok":
            got = {str(json.loads(line)["id"]): ("ok", self._document(line)) for line in output.split("\n") if line}
        for id in ids:
            if id not in got:
                # Only the text: the name of the collection may be damaged.
                kind, text = self.run("show", "--", id)
                got[id] = (kind, {"text": text} if kind == "ok" else None)
        return got

    @staticmethod
    def _document(line):
        found = json.loads(line)
        key = found.get("key")
        if isinstance(key, dict):  # no text
            key = base64.b64decode(key["$base64"]).hex()
        elif key is not None:
            key = key.encode().hex()
        document = {
            "parent": found.get("parent"), "json": found.get("json", False),
            "title": found.get("title"), "key": key, "text": found["text"], "attributes": found.get("attributes"),
            "length": len(found["text"].encode()),
        }
        for name in ("created", "modified"):
            # Python has no year 0.
            if not found[name].startswith("0000-"):
                moment = datetime.fromisoformat(found[name].replace("Z", "+00:00")) - EPOCH
                document[name] = round(moment.total_seconds() * 1000)
        return document

    def list(self):
        """Titles by id, and the outcome."""
        kind, output = self.run("ls", "--json")
        if kind != "ok":
            return None, kind
        return {str(header["id"]): header.get("title") for header in json.loads(output)}, kind

    def attachments(self, document):
        """The attachments of a document, and the outcome."""
        kind, output = self.run("attachment ls", "--json", "--", str(document))
        return (json.loads(output), kind) if kind == "ok" else (None, kind)

    def attachment(self, number, stored):
        """The listed attachment and the SHA-256 of its whole content, and the outcome. `stored` is its document and the description."""
        document, expected = stored
        listed, kind = self.attachments(document)
        if kind != "ok":
            return None, kind
        found = [one for one in listed if one["number"] == number]
        if not found:
            return None, "missing"
        kind, content = self.run_bytes("attachment get", "--", str(document), f"#{number}")
        is_same = {name: found[0].get(name) for name in self.ATTACHED} == {
            name: expected[member] for name, member in self.ATTACHED.items()}
        return (expected if is_same else None, hashlib.sha256(content).hexdigest()), kind

    def search(self, text):
        """The documents of the first collection that hold a text, by a scan or an index, as it is."""
        kind, output = self.run("search", "-c", "Notes", "--json", "--", text)
        return kind, [match["id"] for match in json.loads(output)] if kind == "ok" and output else []

    def verify(self, is_quick):
        return self.run("verify", "--quick", "--json")[0] if is_quick else self.verdict

    def anchor(self, line, descends=False, pin=None):
        options = (["--require", "descent"] if descends else []) + (["--pin", pin] if pin else [])
        return self.run("verify", "--anchor-only", "--anchor", line, *options, "--json")[0]

    def put(self):
        """Writes to a copy, so that the store stays as it is."""
        original, self.path = self.path, Path(f"{self.path}-put.coffer")
        shutil.copy(original, self.path)
        try:
            return self.run("put", "-c", "Notes", "--text", "new", "--json")[0]
        finally:
            self.path.unlink()
            self.path = original

    def close(self):
        pass
