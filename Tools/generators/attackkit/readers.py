"""Readers that the kit is held against: each says, in the kit's words, what it finds in a store."""

import base64
import json
import os
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from storereader import keyfiles
from storereader.errors import StoreError
from storereader.store import Store

from .bases import KEYS

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def option(key):
    kind = "passphrase-file" if key == "passphrase.txt" else "identity" if key == "identity.key" else "key-file"
    return f"--{kind}", str(KEYS / key)


class SecondReader:
    """Tools/read_store.py, from within."""

    name = "second reader"

    def open(self, path, key):
        parse = keyfiles.passphrase_file if key == "passphrase.txt" else keyfiles.key_file
        try:
            self.store = Store(path, [parse((KEYS / key).read_bytes())], allow_test=True)
        except StoreError as error:
            return error.kind
        return "ok"

    @staticmethod
    def _kind(action):
        try:
            return action() or "ok"
        except StoreError as error:
            return error.kind

    def get(self, ids, readable):
        return {id: self._get(id) for id in ids}

    def _get(self, id):
        try:
            found = self.store.document(int(id))
        except StoreError as error:
            return error.kind, None
        if found is None:
            return "missing", None
        row, head, text = found
        return "ok", {
            "coll": row.coll, "pos": row.pos, "parent": row.parent, "flags": row.flags, "title": head.title,
            "key": None if head.key is None else head.key.hex(), "created": head.created, "modified": head.modified,
            "attributes": json.loads(head.attributes) if head.attributes else None, "text": text,
        }

    def list(self):
        return self._kind(lambda: [list(self.store.listing(coll)) for coll in self.store.collections()] and None)

    def verify(self, is_quick):
        if self.store.set_hash_problems():
            return "mismatch"
        return "damaged" if self.store.quick_problems() or not is_quick and self.store.deep_problems() else "ok"

    def anchor(self, line):
        return self._kind(lambda: self.store.check_anchor(line))

    def put(self):
        if self.store.header.ro_compat:
            return "read-only"
        return self._kind(self.store.check_writable)

    def close(self):
        self.store.connection.close()


class Dbtool:
    """The command, judged by its exit codes and what it prints; a second of the processor ends it."""

    name = "dbtool"
    # By exit code, and where that says two things, by the kind of the error.
    KINDS = {
        0: "ok", 10: "not-a-store", 12: "cannot-unlock", 14: "missing", 15: "newer", 16: "refused", 20: "damaged",
        21: "mismatch"}
    BY_NAME = {"parameters-refused": "refused", "rolled-back": "rolled-back", "read-only": "read-only"}

    def __init__(self, program):
        self.program = str(program)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DBTOOL_")}
        self.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"

    def run(self, verb, *arguments):
        command = [
            "sh", "-c", 'ulimit -t 1; exec "$@"', "sh", self.program, verb, str(self.path), *option(self.key),
            "--no-input", "--quiet", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=60)
        lines = done.stderr.decode().splitlines()
        error = json.loads(lines[-1])["error"] if lines and lines[-1].startswith('{"error"') else {}
        kind = self.KINDS.get(done.returncode, f"exit {done.returncode}")
        return self.BY_NAME.get(error.get("kind"), kind), done.stdout.decode()

    def open(self, path, key):
        """By what verify says: it prints a report where the store opened."""
        self.path, self.key = path, key
        kind, report = self.run("verify", "--json")
        self.verdict = kind if report else None
        return "ok" if report else kind

    def get(self, ids, readable):
        """One process for all that should be readable, and one for each of the others, or for each where that fails."""
        together = [part for id in ids if id in readable for part in ("--id", id)]
        kind, output = self.run("export", "--to", "ndjson", *together) if together else ("ok", "")
        got = {}
        if kind == "ok":
            got = {str(json.loads(line)["id"]): ("ok", self._document(line)) for line in output.split("\n") if line}
        for id in ids:
            if id not in got:
                # The text alone: a collection's name may be what is damaged.
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
            "pos": found["position"], "parent": found.get("parent"), "flags": int(found.get("json", False)),
            "title": found.get("title"), "key": key, "text": found["text"], "attributes": found.get("attributes"),
        }
        for name in ("created", "modified"):
            # Python has no dates before the year 1 or after 9999.
            if found[name][0].isdigit():
                moment = datetime.fromisoformat(found[name].replace("Z", "+00:00")) - EPOCH
                document[name] = round(moment.total_seconds() * 1000)
        return document

    def list(self):
        return self.run("ls", "--all", "--json")[0]

    def verify(self, is_quick):
        return self.run("verify", "--quick", "--json")[0] if is_quick else self.verdict

    def anchor(self, line):
        return self.run("anchor", "--check", line, "--json")[0]

    def put(self):
        """On a copy: what is read is not written."""
        original, self.path = self.path, Path(f"{self.path}-put.coffer")
        shutil.copy(original, self.path)
        try:
            return self.run("put", "-c", "Notes", "--text", "new", "--json")[0]
        finally:
            self.path.unlink()
            self.path = original

    def close(self):
        pass
